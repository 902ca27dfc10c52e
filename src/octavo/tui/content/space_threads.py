"""The threads of the open space: counted in the page tree, shown on the open page, and listed in the side panel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from octavo.api.comments import Comment
from octavo.api.operation import ListPage
from octavo.api.places import SpaceRef
from octavo.data.live import Snapshot
from octavo.data.unsent_index import UnsentText, by_block
from octavo.documents.blocks import Block
from octavo.documents.thread_anchors import ThreadAnchors
from octavo.tui.content.cursor_target import CursorTarget
from octavo.tui.content.space_panes import SpacePanes
from octavo.tui.core.tree_rows import threads_in_block
from octavo.tui.reader.page_view import PageView


class SpaceThreads:
    """Threads of a space and of its open page (`DiscussionView`)."""

    is_old_version = False

    def __init__(self, panes: SpacePanes, target: CursorTarget) -> None:
        """Create the threads of a view. `target` is the target of its keys."""
        self._panes, self._target = panes, target
        self.threads: tuple[Comment, ...] = ()
        self._are_loaded = False
        self._refresh_error = ""
        """Error of the last refresh. Empty if it succeeded."""
        self._anchors = ThreadAnchors()

    def clear(self) -> None:
        """Remove the threads of a closed space."""
        self.threads, self._are_loaded, self._refresh_error = (), False, ""

    def set_threads(self, snapshot: Snapshot[ListPage[Comment]]) -> None:
        """Set the threads of the space, or the error of the last refresh."""
        self._refresh_error = str(snapshot.error) if snapshot.error is not None else ""
        if snapshot.value is not None:
            self.threads, self._are_loaded = snapshot.value.items, True

    def draw(self) -> None:
        """Show the threads of the open page on its blocks and in the side panel."""
        page, view, side_panel = self._panes.page, self._panes.view, self._panes.side_panel
        if page is not None and view.document is not None and self._panes.shows_open_page:
            threads, whole = self.known_threads, view.contents.is_whole
            self._anchors = self._anchors.for_document(view.document, whole=whole)
            threads_by_block = self._anchors.by_likely_block(threads)
            unsent = self._drafts_by_block(page.id, threads_by_block)
            view.set_threads(
                threads_by_block, {key: len(drafts) for key, drafts in unsent.items()}, is_loaded=self._are_loaded
            )
            known = threads if self._are_loaded else None
            side_panel.show(
                view.document,
                known,
                page,
                is_complete=whole,
                block_change=self._anchors.block_change,
                drafts_in=self.drafts_in,
            )
        if self._refresh_error:
            side_panel.show_threads_error(self._refresh_error, is_loaded=self._are_loaded)

    # Unsent drafts

    def drafts_by_page(self) -> dict[str, list[UnsentText]]:
        """Return your unsent drafts by the id of their page."""
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
        drafts_by_block = self._drafts_by_block(page.id, self._anchors.by_likely_block(self.known_threads))
        return [
            each for key in dict.fromkeys(part.key for part in block.walk()) for each in drafts_by_block.get(key, ())
        ]

    def _drafts_by_block(
        self, page: str, threads_by_block: Mapping[str, Sequence[Comment]]
    ) -> dict[str, list[UnsentText]]:
        """Return your unsent drafts on a page by the key of their block."""
        drafts = self.drafts_by_page().get(page, ())
        drafts_by_block = by_block(drafts)
        if any(each.thread for each in drafts):
            threads = {
                thread.id: key for key, threads_of_block in threads_by_block.items() for thread in threads_of_block
            }
            for each in drafts:
                if each.thread in threads:
                    drafts_by_block.setdefault(threads[each.thread], []).append(each)
        return drafts_by_block

    # Threads of the open page

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
    def known_threads(self) -> tuple[Comment, ...]:
        """The threads of the open page, open ones first."""
        if (page := self._panes.page) is None:
            return ()
        page_threads = [each for each in self.threads if each.target.page and each.target.page.id == page.id]
        return tuple(sorted(page_threads, key=lambda each: not each.is_open))

    def threads_on(self, block: Block) -> list[Comment]:
        return (
            threads_in_block(block, self._anchors.by_likely_block(self.known_threads))
            if self._panes.shows_open_page
            else []
        )

    @property
    def pane(self) -> PageView:
        return self._panes.view

    def go_to_thread(self, thread: Comment) -> bool:
        if not self._panes.shows_open_page:
            return False
        key = next(
            (key for key, threads_by_block in self._anchors.by_likely_block((thread,)).items() if threads_by_block), ""
        )
        return bool(key) and self._panes.view.navigation.go_to_block(key, None)

    def outdated_note(self, thread: Comment) -> str:
        return self._anchors.outdated_note(thread) if self._panes.shows_open_page else ""

    def source_of(self, block: Block) -> str:
        return ""

    def why_no_block(self) -> str | None:
        return self._target.why_no_block()

    def why_not_commentable(self, *, is_whole_page: bool) -> str | None:
        page = self._panes.page
        if self._target.row is not None:
            return self._target.why_no_page_text("text to comment on") if is_whole_page else None
        if page is not None and not self._panes.shows_open_page:
            return f"{page.title or 'This page'} is still loading."
        return None
