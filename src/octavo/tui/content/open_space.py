"""Loads and shows the open space: its page tree, its open page and its threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from octavo.api import content
from octavo.api.comments import Comment
from octavo.api.content import Page, PageTree
from octavo.api.errors import NotFound
from octavo.api.operation import ListPage, SpaceRef
from octavo.data.drafts import UnsentIndex, UnsentText, comment_drafts_by_block
from octavo.data.live import Snapshot
from octavo.data.loaders import page_to_read_op
from octavo.data.queries import all_threads_op
from octavo.documents.blocks import Block
from octavo.documents.page_trees import leading_heading
from octavo.documents.suggestions import ThreadAnchors
from octavo.lazy_import import lazy
from octavo.tui.content.cursor_target import CursorTarget
from octavo.tui.content.space_panes import ReadingHistory, SpacePanes, TreeName, VisitedPage
from octavo.tui.core.item_labels import PAGE_NOT_FOUND, adjacent_page, items_in_block, open_thread_counts, page_nodes
from octavo.tui.core.permissions import why_not_in_space
from octavo.tui.core.view import View, show_load_error
from octavo.tui.editing.page_drafts import page_drafts
from octavo.tui.reader.link_opening import follow_link_page, prepare_deferred_content
from octavo.tui.reader.page_view import PageView, show_page
from octavo.tui.reader.reading_position import ReadingPosition
from octavo.tui.widgets.commands import StillLoading

_page_edit = lazy("octavo.tui.editing.page_edit:PageEdit")


class SpaceThreads:
    """The threads of the open space and of its open page. Implements `DiscussionView`."""

    is_on_old_version = False

    def __init__(self, screen: View, panes: SpacePanes, target: CursorTarget) -> None:
        """`screen` loads the threads of the open space. `target` is the page that commands act on."""
        self._screen, self._panes, self._target = screen, panes, target
        self._anchors = ThreadAnchors()

    @property
    def _response(self) -> Snapshot[ListPage[Comment]]:
        return self._screen.subscriptions.snapshot("threads")

    @property
    def threads(self) -> tuple[Comment, ...]:
        """The threads of the open space, as far as they are loaded."""
        return self._response.value.items if self._response.value is not None else ()

    def draw(self) -> None:
        """Show the threads of the open page on its blocks and in the side panel, or why they could not be loaded."""
        page, view, side_panel = self._panes.page, self._panes.page_view, self._panes.side_panel
        if page is not None and view.document is not None and self._panes.shows_open_page:
            threads, is_complete = self.ordered_threads, view.contents.is_fully_parsed
            are_loaded = self._response.value is not None
            self._anchors = self._anchors.for_document(view.document, is_complete=is_complete)
            threads_by_block = self._anchors.by_likely_block(threads)
            unsent = self._drafts_by_block(page.id, threads_by_block)
            view.set_threads(
                threads_by_block, {key: len(drafts) for key, drafts in unsent.items()}, is_loaded=are_loaded
            )
            side_panel.show(
                view.document,
                threads if are_loaded else None,
                page,
                is_complete=is_complete,
                why_no_comment=self._why_no_comment,
                block_change=self._anchors.block_change,
                drafts_in=self.drafts_in,
            )
        if (error := self._response.error) is not None:
            verb = "load" if self._response.value is None else "refresh"
            show_load_error(side_panel.threads, f"Could not {verb} the threads", error)

    @property
    def _why_no_comment(self) -> str | None:
        at = self.discussion
        return why_not_in_space(self._panes.shell, at.space_id, "comment") if at is not None else None

    def drafts_by_page(self) -> dict[str, list[UnsentText]]:
        """Return your unsent drafts by page ID."""
        space, index = self._panes.space, self._panes.shell.workspace.unsent.index
        return index.by_page(space.ref, self.threads) if space is not None and index else {}

    def drafts_in(self, thread: Comment) -> Sequence[UnsentText]:
        """Return your unsent drafts in a thread."""
        at = self.discussion
        return self._panes.shell.workspace.unsent.index.of_thread(at, thread.id) if at is not None else ()

    def drafts_on(self, block: Block) -> Sequence[UnsentText]:
        """Return your unsent drafts on a block of the open page and on the blocks inside it."""
        page = self._panes.page
        if page is None or not self._panes.shows_open_page:
            return ()
        threads_by_block = self._anchors.by_likely_block(self.ordered_threads)
        return items_in_block(block, self._drafts_by_block(page.id, threads_by_block))

    def _drafts_by_block(
        self, page_id: str, threads_by_block: Mapping[str, Sequence[Comment]]
    ) -> dict[str, list[UnsentText]]:
        drafts = self.drafts_by_page().get(page_id, ())
        drafts_by_block = comment_drafts_by_block(drafts)
        if any(each.thread_id for each in drafts):
            key_by_thread = {
                thread.id: key for key, threads_of_block in threads_by_block.items() for thread in threads_of_block
            }
            for each in drafts:
                if each.thread_id in key_by_thread:
                    drafts_by_block.setdefault(key_by_thread[each.thread_id], []).append(each)
        return drafts_by_block

    @property
    def discussion(self) -> SpaceRef | None:
        return self._panes.space_ref

    @property
    def visible_page(self) -> tuple[str, str] | None:
        return self._panes.visible_page

    @property
    def target_page(self) -> tuple[str, str] | None:
        return self._target.page

    @property
    def visible_block(self) -> Block | None:
        return self._panes.visible_block

    @property
    def ordered_threads(self) -> tuple[Comment, ...]:
        """The threads of the open page: first the open threads, then the resolved threads."""
        if (page := self._panes.page) is None:
            return ()
        page_threads = [each for each in self.threads if each.target.page and each.target.page.id == page.id]
        return tuple(sorted(page_threads, key=lambda each: not each.is_open))

    def threads_on(self, block: Block) -> list[Comment]:
        return (
            items_in_block(block, self._anchors.by_likely_block(self.ordered_threads))
            if self._panes.shows_open_page
            else []
        )

    @property
    def pane(self) -> PageView:
        return self._panes.page_view

    def go_to_thread(self, thread: Comment) -> bool:
        if not self._panes.shows_open_page:
            return False
        key = next((key for key, threads in self._anchors.by_likely_block((thread,)).items() if threads), "")
        return bool(key) and self._panes.page_view.navigation.go_to_block(key, None)

    def outdated_note(self, thread: Comment) -> str:
        return self._anchors.outdated_note(thread) if self._panes.shows_open_page else ""

    def source_of(self, block: Block) -> str:
        return ""

    def why_no_block(self) -> str | None:
        return self._target.why_no_block()

    def why_not_commentable(self, *, is_whole_page: bool) -> str | None:
        page = self._panes.page
        if self._target.row is not None:
            return self._target.why_row_has_no("text to comment on") if is_whole_page else None
        if page is not None and not self._panes.shows_open_page:
            return StillLoading(f"{page.title or 'This page'} is still loading.")
        return None


PREVIOUS_PAGE_SECONDS = 0.15
"""Maximum seconds for which the previous page stays visible while the next page is loading."""

_EMPTY_FOLDER = (
    "No Markdown files in this folder.",
    "Octavo looks for .md, .markdown, and .mdx files in this folder and its subfolders. Files that you add appear here. "
    "To open another folder, quit Octavo and run: octavo open FOLDER",
)
"""Text and hint that the page tree shows if the open folder has no pages."""


class OpenSpace(SpacePanes):
    """Loads the open space, its page tree and its open page, and shows them in the panes."""

    def __init__(self, screen: View) -> None:
        super().__init__(screen)
        self.history = ReadingHistory(screen)
        self.target = CursorTarget(screen, self, self._show_editor_drafts)
        self.threads = SpaceThreads(screen, self, self.target)
        self._requested_position: ReadingPosition | None = None
        self._anchor = ""
        self._requested_page: tuple[str, str, ReadingPosition | None] | None = None
        """ID or path, anchor and reading position of the page that waits for the page tree. None if no page waits."""
        self._drawn_index: UnsentIndex | None = None
        """Index of unsent drafts for which the page tree was drawn last."""

    def show_tree(self, tree_name: TreeName) -> None:
        """Show the tree of spaces or of pages. Focus it, unless the page or the side panel has the focus."""
        takes_focus = self._screen.focused is None or self.nav.focused_tree is not None
        self.nav.show_tree(tree_name, self.space, takes_focus=takes_focus)

    @property
    def visited_page(self) -> VisitedPage | None:
        """The open page with its reading position. None if no page is open."""
        position = self._requested_position or (
            self.page_view.navigation.current_position if self.shows_open_page else None
        )
        return VisitedPage(self.space.id, self.page.id, position) if self.space and self.page else None

    def _remember_page(self, to_page: str | None = None) -> None:
        visit = self.visited_page
        if visit is not None and visit.page_id != to_page:
            self.shell.history.record(opens_item=False)

    def restore_visit(self, visit: VisitedPage) -> None:
        """Open a page of the navigation history at its reading position."""
        if self.space is not None and visit.space_id == self.space.id and self.pages is not None:
            self.open_page(visit.page_id, add_to_history=False, position=visit.position)
            self.pages_tree.select_hidden(visit.page_id)
        elif reason := self.shell.workspace.why_no_space(visit.space_id):
            self.shell.say(reason, tone="care")
        else:
            self.show_space(visit.space_id, visit.page_id, add_to_history=False, position=visit.position)

    def show_status(self) -> None:
        """Show the path of the selected row or page in the status line. Select the current heading in the outline."""
        self.side_panel.follow(self.page_view.navigation.current_anchor)
        current_id, in_spaces = self.page.id if self.page is not None else "", self.nav.focused_tree == "spaces"
        if (row := self.target.row) is not None:
            tree = self.nav.spaces_tree if in_spaces else self.nav.pages_tree
            current_id, path_titles = str(row.key), [str(each.label) for each in tree.outline.path(row.key)]
        else:
            trail_pages: Sequence[Page] = self.pages.path_to(current_id) if self.pages is not None else ()
            trail_pages = trail_pages or ([self.page] if self.page is not None else [])
            path_titles = [page.title or "Untitled" for page in trail_pages]
        if self.space is not None and not (in_spaces and path_titles):
            path_titles.insert(0, self.space.title or "Untitled")
        draft_note = "unsent draft (press e to continue)" if current_id in self.target.pages_with_editor_draft else ""
        is_open = self.page is not None and current_id == self.page.id
        page_error = self._screen.subscriptions.snapshot("page").error
        # The title in the path is clearer than the ID in the server's sentence.
        error_text = PAGE_NOT_FOUND if isinstance(page_error, NotFound) else str(page_error or "")
        notes = (draft_note, error_text or self.page_view.status_text if is_open else "")
        self._screen.show_location(" › ".join(path_titles) or "Content", " · ".join(filter(None, notes)))

    def show_space(
        self,
        space_id: str,
        page_id: str | None = None,
        anchor: str = "",
        *,
        add_to_history: bool = True,
        position: ReadingPosition | None = None,
    ) -> None:
        """Open a space at the page `page_id`, if the space is loaded. Without `page_id`, open the last page you read,
        else the first page. If the space is open already and there is no `page_id`, its open page stays. The page opens
        at `anchor` or `position`. With `add_to_history`, you can go back to the page of the previous space."""
        space = self.shell.workspace.space(space_id)
        if space is None:
            return
        if self.space is None or self.space.id != space.id:
            if add_to_history:
                self._remember_page()
            self.close()
            self.space = space
            self.shell.session.state.set_value("space", space.id)
            self._requested_page = (page_id, anchor, position) if page_id is not None else None
            self.show_tree("pages")
            if self.shell.session.kind == "folder":
                self.pages_tree.state.empty, self.pages_tree.state.hint = _EMPTY_FOLDER
            self.pages_tree.state.show_loading(f"the pages in {space.title}", titles=self.shell.session.first_titles())
            self._screen.follow("tree", content.ListPages(at=space.ref), self._show_tree)
            threads = all_threads_op(space.ref)
            self._screen.subscriptions.follow_whole("threads", threads, self._show_threads)
            self._screen.set_timer(PREVIOUS_PAGE_SECONDS, self._clear_previous_page)
        else:
            self.show_tree("pages")
            if page_id is not None:
                self._requested_page = page_id, anchor, position
                if self.pages is not None and self.pages.find_by_name(page_id) is not None:
                    self._open_requested_page()
                    self.page_view.focus()
                elif self.pages is not None:  # The page may be newer than the page tree.
                    self.shell.background(self._screen.live.refresh(content.ListPages(at=space.ref), repeats=True))

    def close(self) -> None:
        """Close the open space and stop loading it."""
        self.history.save()
        for slot in ("tree", "threads", "page"):
            self._screen.follow(slot, None)
        self.space, self.pages, self.page, self._requested_page, self._requested_position = None, None, None, None, None
        self.pages_tree.show(())

    def _show_tree(self, snapshot: Snapshot[PageTree]) -> None:
        if snapshot.value is None:
            if snapshot.error is not None:
                self.pages_tree.state.fail("Could not load the pages", str(snapshot.error))
            return
        self.pages = snapshot.value
        self.draw_pages()
        self.target.refresh_editor_drafts()
        prepare_deferred_content(self.shown_page)
        is_requested = self._requested_page is not None
        self._open_requested_page()
        if self.page is None and self.space is not None and self._requested_page is None:
            last_page = None if is_requested else self.history.last_page(self.space.id, self.pages)
            page = last_page or next((each for each in self.pages.walk() if each.type == "document"), None)
            if page is not None:
                self.open_page(page.id, add_to_history=False)
                self.pages_tree.select_hidden(page.id)

    def _show_threads(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if snapshot.value is not None:
            self.draw_pages()
        self.threads.draw()

    def _open_requested_page(self) -> None:
        """Open the requested page if the tree is loaded. If the current tree does not list the page, show a message."""
        requested, pages, space = self._requested_page, self.pages, self.space
        if requested is None or pages is None or space is None:
            return
        name, anchor, position = requested
        if (page := pages.find_by_name(name)) is not None:
            self.open_page(page.id, anchor=anchor, add_to_history=False, position=position)
            self.pages_tree.select_hidden(page.id)
        elif not self._screen.subscriptions.snapshot("tree").is_loading:
            self._requested_page = None
            space_title = space.title or "this space"
            self.shell.say(
                f"Could not find the page {name} in {space_title}: it may have been moved or deleted.", tone="care"
            )
            if drafts := page_drafts(self.shell.session.drafts, space.id, name):
                title = leading_heading(drafts[0].text.text) or "deleted page"
                self.shell.background(_page_edit(self.shell, space.ref, name, title).start())

    def draw_pages(self) -> None:
        """Draw the page tree again."""
        if self.pages is not None:
            self._drawn_index = self.shell.workspace.unsent.index
            editor_drafts = {page: [UnsentText("page", None)] for page in self.target.pages_with_editor_draft}
            drafts_by_page = {**editor_drafts, **self.threads.drafts_by_page()}
            self.pages_tree.show(page_nodes(self.pages.pages, open_thread_counts(self.threads.threads), drafts_by_page))
            self.pages_tree.state.show_unreadable(self.pages.unreadable)
            if (error := self._screen.subscriptions.snapshot("tree").error) is not None:
                show_load_error(self.pages_tree, "Could not refresh the pages", error)

    @property
    def drafts_in_selection(self) -> Sequence[UnsentText]:
        """Unsent drafts on the selected page if a tree has the focus, else on the selected block of the open page."""
        if not self.target.is_tree_focused:
            return self.threads.drafts_on(block) if (block := self.visible_block) is not None else ()
        page = self.target.selected_page
        if page is None:
            return ()
        drafts = self.threads.drafts_by_page().get(page[0], ())
        return drafts or [UnsentText("page", None)] * (page[0] in self.target.pages_with_editor_draft)

    def _show_editor_drafts(self) -> None:
        self.draw_pages()
        self.show_status()

    def update_unsent_marks(self) -> None:
        """Draw the marks of unsent drafts again if the drafts have changed."""
        self.target.refresh_editor_drafts()
        if self._drawn_index is not self.shell.workspace.unsent.index:
            self.draw_pages()
            self.threads.draw()

    def open_page(
        self,
        page_id: str,
        *,
        anchor: str = "",
        add_to_history: bool = True,
        position: ReadingPosition | None = None,
        from_top: bool = False,
    ) -> None:
        """Open a page of this space, or follow a link page. A page opens at `anchor`, at `position`, at the top if
        `from_top`, or else at the saved position. With `add_to_history`, you can go back to the previous page."""
        if self.space is None or self.pages is None:
            return
        self._requested_page = None
        page = self.pages.find(page_id)
        if page is None:
            self.shell.say("This page is no longer in the space.", tone="care")
            return
        if page.type == "link":
            if (target := follow_link_page(self.shown_page, page)) is not None:
                self.open_page(target.page, anchor=target.anchor)
            return
        if page.type != "document":
            return
        if add_to_history:
            self._remember_page(page.id)
        self.history.save()
        self.page, self._anchor, self._requested_position = page, anchor, position
        self.shell.session.state.set_value(f"page {self.space.id}", page.id)
        op = page_to_read_op(self.space.ref, page.id)
        if self._screen.subscriptions.operation("page") == op:
            self.go_to_requested_position()
        else:
            is_positioned = anchor or position is not None or from_top
            self.page_view.navigation.restore_later(
                self.key, None if is_positioned else self.history.positions.get(self.key)
            )
            self.page_view.state.show_loading(page.title)
            self._screen.follow("page", op, self._show_page)
            if not self.shows_open_page:
                self._screen.set_timer(PREVIOUS_PAGE_SECONDS, self._clear_previous_page)
        self.show_status()

    def clear_panes(self) -> None:
        """Remove the page and its threads from the panes."""
        self.page_view.clear()
        self.side_panel.clear()

    def _clear_previous_page(self) -> None:
        if self.page_view.document is not None and not self.shows_open_page:
            self.clear_panes()
            if self.page is not None:
                self.page_view.state.show_loading(self.page.title)
            self.show_status()

    def _show_page(self, snapshot: Snapshot[Page]) -> None:
        if self.page is None or self.space is None:
            return
        if snapshot.value is not None:
            self.page = snapshot.value
            prepare_deferred_content(self.shown_page)
            self.page_view.navigation.is_latest = not snapshot.is_loading
            show_page(self.page_view, snapshot.value, self.key)
            self.threads.draw()
            self.go_to_requested_position()
            self.shell.note_page_shown(self._screen)
        elif snapshot.error is not None:
            self._clear_previous_page()
            self.page_view.state.fail(f"Could not load {self.page.title or 'the page'}", str(snapshot.error))
        self.show_status()

    def go_to_requested_position(self) -> None:
        """Go to the requested anchor or reading position, if the page view already shows the open page."""
        if self.shows_open_page:  # Otherwise, the view shows the previous page, without the anchor or position.
            position, self._requested_position, anchor, self._anchor = self._requested_position, None, self._anchor, ""
            if position is not None:
                self.page_view.navigation.restore(position)
            if anchor and not self.page_view.navigation.go_to_anchor(anchor) and anchor.startswith("#"):
                self.page_view.navigation.report_missing(anchor)

    def open_neighbor(self, step: int, *, from_top: bool = False) -> None:
        """Open the page `step` pages after the open page in the tree. A negative `step` goes back. Do nothing if there
        is no such page. With `from_top`, the page opens at its top, not at its saved position."""
        if self.pages is not None and (page := adjacent_page(self.pages, self.page, step)) is not None:
            self.open_page(page.id, from_top=from_top)
            self.pages_tree.select_hidden(page.id)
