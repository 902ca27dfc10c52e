"""The diffs of a change request with its threads. Also finds out whether the words that threads quote have changed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from textual.worker import WorkType

from octavo.api import comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import ChangeRequestRef, ContentRef, SpaceRef
from octavo.data.drafts import UnsentText, comment_drafts_by_block, unsent_draft
from octavo.data.loaders import page_to_read_op
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import OutboxEntry
from octavo.documents import links
from octavo.documents.anchors import page_anchors
from octavo.documents.blocks import EMPTY_PAGE, Block, Document
from octavo.documents.page_trees import WHOLE_REQUEST, ChangedPage
from octavo.documents.suggestions import TwoVersionAnchors, WordChange, block_source, find_suggestions, quoted_text
from octavo.tui.comments.diff_threads import DiffThreads
from octavo.tui.comments.page_comments import PageDiscussion, SelectedBlocks
from octavo.tui.core.item_labels import items_in_block
from octavo.tui.core.routes import ToPage
from octavo.tui.core.view import View
from octavo.tui.reader import link_opening
from octavo.tui.reader.diff_contents import PAGE_ROW
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_dialogs import ImageScreen
from octavo.tui.reader.page_navigation import why_not_found
from octavo.tui.reader.reading_position import BlockSpan
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.deferred import DeferredContent, LinkContext, LinkTargets, app_origins
from octavo.tui.render.embeds import ImageReference
from octavo.tui.render.layout import LinkFollowed
from octavo.tui.render.threads import DRAFT_PREFIX, WORD_CHANGES, WORD_MARKS, ThreadSummary
from octavo.tui.review.changed_pages import next_with_threads, no_more_threads, open_threads_on, page_key_of
from octavo.tui.review.changed_tree import ChangedTree
from octavo.tui.review.diff_layouts import AllPagesLayout, SinglePageLayout
from octavo.tui.review.page_findings import PageFindings
from octavo.tui.review.request_comparison import Comparison
from octavo.tui.widgets.commands import StillLoading
from octavo.tui.widgets.short_texts import plural

_UNKNOWN_CHANGE = "Words changed or are gone since this comment."


_JumpTarget = int | str | Comment | links.AnchorLink
"""Target of a jump: a thread, a heading, a block key, or the first (1) or last (-1) open thread."""


class _PendingJump(NamedTuple):
    """Jump that waits until the page `page_key` is loaded."""

    page_key: str
    target: _JumpTarget


class WordChanges:
    """Finds out whether quoted words were changed, moved or deleted. Moves unsent comments to the changed words."""

    def __init__(self, view: View, threads: DiffThreads, pages: ChangedTree) -> None:
        self._view, self._threads, self._pages = view, threads, pages
        self._changes_by_thread: dict[str, WordChange] = {}
        self._added_texts: dict[str, tuple[str, frozenset[str]]] = {}
        """Title and added texts of each compared page, by page ID."""
        self._started_moves: set[tuple[str, str]] = set()
        """Started moves of unsent comments to new blocks: (ID of the outbox entry, key of the new block)."""

    def add_page(self, page_id: str, title: str, added_texts: frozenset[str]) -> bool:
        """Store the texts that a page adds. Return True if `new_page_title` then has another result for any thread."""
        moved_before = list(map(self.new_page_title, self._threads.comments))
        self._added_texts[page_id] = title, added_texts
        return moved_before != list(map(self.new_page_title, self._threads.comments))

    def new_page_title(self, thread: Comment) -> str:
        """Return the title of the other page to which the words quoted by `thread` moved. Empty if there is none."""
        if self._changes_by_thread.get(thread.id) != "gone":
            return ""
        quote = quoted_text(thread)
        texts = (
            (title, added) for page, (title, added) in self._added_texts.items() if page in self._pages.changed_pages
        )
        return next((title for title, added in texts if quote in added), "")

    def update(self, page_id: str, anchors: TwoVersionAnchors) -> None:
        """Find out how words quoted by the threads of a page changed, and move unsent comments to the changed words."""
        for thread in self._threads.threads_on_page(page_id):
            self._changes_by_thread[thread.id] = anchors.word_change(thread)
            entry = self._view.shell.session.outbox.entry_creating(thread.id)
            if entry is not None and self._changes_by_thread[thread.id] == "changed":
                self._move(entry, anchors.new_key(thread))

    def _move(self, entry: OutboxEntry, key: str) -> None:
        op = entry.op
        if not isinstance(op, comments.Create) or op.node == key or find_suggestions(op.body.markdown):
            return
        if (entry.id, key) not in self._started_moves:
            self._started_moves.add((entry.id, key))
            self._view.shell.background(self._store_move(entry.id, op.model_copy(update={"node": key})))

    async def _store_move(self, entry_id: str, op: comments.Create) -> None:
        # If this fails, the comment stays on the old block.
        with suppress(NotSaved):
            await self._view.shell.session.outbox.move_comment(entry_id, op)

    def change_sentence(self, thread: Comment, head: str | None) -> str:
        """Return a sentence about changes to the words quoted by `thread`, or an empty text. If the sentence ends with
        a colon, the caller must show the old words after it. `head` is the ID of the shown revision."""
        node, page = thread.target.node, thread.target.page
        if node is None or page is None:
            return ""
        change = self._changes_by_thread.get(thread.id)
        if change is None:
            return _UNKNOWN_CHANGE if page.outdated else ""
        if change:
            title = self.new_page_title(thread)
            sentence = f"Words moved to {title}" if title else WORD_CHANGES[change].capitalize()
            return f"{sentence}. They were:" if node.preview else f"{sentence}."
        is_on_earlier_revision = thread.target.revision not in (None, head)
        return "Words have not changed since this comment." if is_on_earlier_revision else ""

    def pending_mark(self, entry: OutboxEntry) -> str:
        """Return how a pending comment's quote changed, such as `words are gone`. Empty if unchanged or unknown."""
        change = self._changes_by_thread.get(entry.created_id)
        thread = next((each for each in self._threads.comments if each.id == entry.created_id), None)
        if thread is not None and (title := self.new_page_title(thread)):
            return f"words moved to {title}"
        return WORD_MARKS[change] if change else ""


class PageDiff:
    """Controls the diffs of a change request: one page at a time, or all pages one below the other."""

    def __init__(
        self,
        view: View,
        comparison: Comparison,
        pages: ChangedTree,
        threads: DiffThreads,
        findings: PageFindings,
        show_position: Callable[[], None],
        thread: Comment | None = None,
        block: tuple[str, str] | None = None,
    ) -> None:
        """`thread` is the thread to open first. `block` has the IDs of a page and of the block to select first."""
        self._view, self._show_position = view, show_position
        self._comparison, self._pages, self._threads, self._findings = comparison, pages, threads, findings
        self.page_discussion = PageDiscussion(view, self)
        """Commands for comments on the shown page."""
        self.selected_blocks = SelectedBlocks(view, self, self.draw_threads)
        """Blocks that you selected for one comment."""
        self.word_changes = WordChanges(view, threads, pages)
        """Finds out whether the words that threads quote were changed, moved or deleted."""
        self._shown_head: ContentRef | None = None
        """Revision of the change request for which a diff was shown last. None before the first diff."""
        self._pending_jump: _PendingJump | None = None
        self._initial_jump = _PendingJump(*block) if block is not None else None
        """Jump that starts as soon as its page is in the tree. None if there is none."""
        if thread is not None:
            self._initial_jump = _PendingJump(page_key_of(thread), thread)
        comparison.why_outdated = self._why_outdated
        parts = view, comparison, pages
        self.all_pages = AllPagesLayout(*parts, threads, self._summaries_of, self._on_page_loaded)
        """Layout that shows all changed pages one below the other."""
        self._single_page = SinglePageLayout(*parts, self._summaries_of, self._on_page_loaded)

    @property
    def _layout(self) -> SinglePageLayout | AllPagesLayout:
        return self.all_pages if self.all_pages.is_on else self._single_page

    @property
    def pane(self) -> DiffView:
        return self._layout.pane

    @property
    def _documents(self) -> tuple[Document, Document] | None:
        anchors = self._layout.anchors(self._pages.key)
        return anchors.documents if anchors is not None else None

    def toggle_layout(self) -> None:
        """Switch between one page and all pages."""
        has_focus = self._view.focused is self.pane
        if not self.all_pages.is_on:
            self._single_page.clear()  # This also stores the reading position, from which the diff of all pages starts.
        self.all_pages.toggle()
        self.show()
        if has_focus:
            self.pane.focus()
        self._view.refresh_bindings()

    def _on_page_loaded(self) -> None:
        if not self.is_loading_diff:
            self._shown_head = self._comparison.head
        self._update_thread_commands()
        self.run_pending_jump()
        self._show_position()

    @property
    def compared(self) -> PageComparison | None:
        """Comparison of the current page. None if its diff is not shown."""
        return self.pane.contents.page.compared if self._layout.has_cursor(self._pages.key) else None

    @property
    def is_loading_diff(self) -> bool:
        """True while the diff of the current page is loading."""
        is_shown = self._documents is not None or self._layout.is_described(self._pages.key)
        return not is_shown and not self.pane.state.has_failed

    def _why_outdated(self) -> str | None:
        is_diff_outdated = self.is_loading_diff and self._shown_head not in (None, self._comparison.head)
        if not is_diff_outdated and not self._comparison.is_loading_revision:
            return None
        edited = f"#{self.change_request.number} was edited"
        if self._comparison.error_text:
            return f"{edited}, and the new changes could not be loaded. Press r to retry."
        return StillLoading(f"{edited}. The new changes are still loading.")

    def shows(self, page_key: str) -> bool:
        """Return True if the diff of a page may be on the screen."""
        return self.all_pages.is_on or page_key == self._pages.key

    def show(self) -> None:
        """Show the current page. Cancel the pending jump if the user has selected a page other than its target."""
        earlier_key = self._layout.shown_key
        self._layout.show()
        shown_key = self._layout.shown_key
        if self._pending_jump is not None and shown_key not in ("", earlier_key, self._pending_jump.page_key):
            self._pending_jump = None  # The user selected another page meanwhile.
        self._show_position()

    def retry(self) -> None:
        """Load the pages again that could not be loaded."""
        self._layout.retry()

    def follow_link(self, message: LinkFollowed) -> None:
        """Open the target of a link in the diff."""
        change, tree, shell = self._pages.selected, self._comparison.tree.value, self._view.shell
        if change is None or change.page is None:
            return
        if tree is None:
            cause = self._comparison.tree.error or "the pages are still loading. Try again in a moment."
            shell.say(f"Could not open the link: {cause}", tone="care")
            return
        origins, folder_root = app_origins(next(tree.walk(), None)), shell.session.folder_root()
        context = LinkContext(tree, self._comparison.head, origins, folder_root)
        targets = LinkTargets(context, change.page.id)
        if message.kind == "image" and not message.in_browser:
            self._view.app.push_screen(ImageScreen((ImageReference(message.href),), targets))
            return
        match targets.resolve(message.href):
            case links.PageLink(page_id=page_id, anchor=anchor) if page_id != change.page.id:
                if not self._pages.select_page(page_id):
                    shell.go(ToPage(self._comparison.space.space_id, page_id, link_opening.with_hash(anchor)))
                elif anchor:
                    self._start_jump(_PendingJump(page_id, links.AnchorLink(anchor)))
            case links.PageLink(anchor=anchor) | links.AnchorLink(anchor=anchor) if anchor and change.exists_after:
                self._go_to_heading(anchor)
            case links.PageLink() | links.AnchorLink() if not change.exists_before:
                shell.say(f"Could not open the link: {change.title} is not in main yet.", tone="care")
            case links.PageLink(anchor=anchor) | links.AnchorLink(anchor=anchor):
                shell.go(ToPage(self._comparison.space.space_id, change.page.id, link_opening.with_hash(anchor)))
            case links.ReusableContentLink() as target if (compared := self._comparison.revisions) is not None:
                revisions = [revision for revision in (compared.new, compared.old) if revision is not None]
                pages = [page_to_read_op(revision, change.page.id) for revision in revisions]
                shown = link_opening.show_reusable_content(
                    shell, target, pages, DeferredContent(targets=targets), self.follow_link
                )
                shell.background(shown)
            case target:
                link_opening.open_target(shell, target, href=message.href, text=message.text, at=self._comparison.at)

    def update_word_changes(self, change: ChangedPage, compared: PageComparison) -> None:
        """Find out how quoted words changed on a compared page, and start to find quoted words that moved to this
        page."""
        if change.page is not None:
            anchors = TwoVersionAnchors((compared.old, compared.new))
            self.word_changes.update(change.page.id, anchors)
            work: WorkType[None] = partial(self._store_added_texts, change.page.id, change.title, anchors)
            self._view.run_worker(work, group=f"added texts of {change.page.id}", exclusive=True)

    async def _store_added_texts(self, page_id: str, title: str, anchors: TwoVersionAnchors) -> None:
        added_texts = await asyncio.to_thread(anchors.added_texts)  # Takes 60 ms for a page of 3 900 blocks.
        if self.word_changes.add_page(page_id, title, added_texts):
            self.draw_threads()

    def draw_threads(self) -> None:
        """Draw the threads in the diff again, and run the pending jump if its page is loaded."""
        self._layout.draw_threads()
        self._update_thread_commands()
        self.run_pending_jump()

    def _summaries_of(self, change: ChangedPage, anchors: TwoVersionAnchors) -> Mapping[str, Sequence[ThreadSummary]]:
        if change.page is not None:
            self.word_changes.update(change.page.id, anchors)
        threads = self._threads_of(change)
        lines = self._threads.summaries(
            anchors.by_block(threads), anchors.word_change, self.word_changes.new_page_title
        )
        for key, drafts in comment_drafts_by_block(self._pages.unsent_of(change.key)).items():
            block_key = key if key and any(side.find(key) for side in anchors.documents) else ""
            lines[block_key] = [*lines.get(block_key, []), *self._threads.draft_summaries(drafts)]
        for key, rows in self._findings.summaries(change.key).items():
            block_key = key if key and anchors.documents[1].find(key) else ""
            lines[block_key] = [*rows, *lines.get(block_key, ())]
        for key, mark in self.selected_blocks.marks(change.key):
            if any(side.find(key) for side in anchors.documents):
                lines[key] = [mark, *lines.get(key, ())]
        return lines

    def _update_thread_commands(self) -> None:
        has_open = any(each.is_open_thread for each in self._threads.comments)
        if self.pane.contents.has_threads_elsewhere != has_open:
            self.pane.contents.has_threads_elsewhere = has_open
            self._view.refresh_bindings()

    def go_to_page_with_thread(self, step: int) -> None:
        """Go to the next page with an open thread (the previous if `step` is -1), or tell the user there is none."""
        change, threads = self._pages.selected, self._threads.comments
        key = next_with_threads(self._pages.keys, change.key if change else "", step, threads)
        if key is None:
            self._view.shell.explain(no_more_threads(self._comparison.change_request.number, step))
            return
        self._pages.select_page(key)
        self._start_jump(_PendingJump(key, step))

    def show_block(self, page_id: str, block_key: str) -> None:
        """Show a page, and select a block once the page is loaded."""
        self._pages.select_page(page_id)
        self._start_jump(_PendingJump(page_id, block_key))

    def _start_jump(self, jump: _PendingJump) -> None:
        self._pending_jump = jump
        self.show()
        self.run_pending_jump()

    def _select_block(self, key: str) -> None:
        blocks = (document.find(key) for document in reversed(self._documents or ()))
        if (block := next(filter(None, blocks), None)) is not None:
            self.pane.navigation.select_block(block)
            self.pane.cursor.scroll_into_view()

    def run_pending_jump(self) -> None:
        """Start the jump for which the view was opened. Then run the pending jump if its page is loaded."""
        self._start_initial_jump()
        if self._pending_jump is None or self._layout.shown_key != self._pending_jump.page_key:
            return
        key, target = self._pending_jump
        if self._documents is not None:
            self._pending_jump = None
            self._view.call_after_refresh(self._go_to_target, target)
        elif self._layout.is_described(key):
            self._pending_jump = None
            threads = open_threads_on(key, self._threads.comments)[:1] if isinstance(target, int) else []
            threads = [target] if isinstance(target, Comment) else threads
            for thread in threads:
                self.page_discussion.open_thread(thread.id)  # There is no diff in which to select the thread.

    def _go_to_target(self, target: _JumpTarget) -> None:
        jump: Callable[[], object]
        match target:
            case int():
                jump = partial(self.pane.navigation.go_to_thread, target, starts_at_edge=True)
            case str():
                jump = partial(self._select_block, target)
            case links.AnchorLink(anchor):
                jump = partial(self._go_to_heading, anchor)
            case _:
                jump = partial(self._show_thread, target)
        self.pane.waiting_commands += (jump,)
        self.pane.run_waiting_commands()

    def _go_to_heading(self, anchor: str) -> None:
        if not self.pane.navigation.go_to_anchor(anchor):
            document = self.compared.new if self.compared is not None else EMPTY_PAGE
            anchors = page_anchors(document)
            if any(block.kind == "include" for block in document.walk()):
                anchors = anchors._replace(are_complete=False)  # The diff does not show reusable content.
            self._view.shell.explain(why_not_found(anchor.lstrip("#"), anchors))

    def _start_initial_jump(self) -> None:
        if (jump := self._initial_jump) is None:
            return
        target = jump.target
        if isinstance(target, Comment) and all(each.id != target.id for each in self._threads.comments):
            return
        if self._pages.select_page(jump.page_key):
            self._initial_jump, self._pending_jump = None, jump
            self.show()
            if target and isinstance(target, str):
                self._view.call_after_refresh(self.pane.focus)

    def _show_thread(self, thread: Comment) -> None:
        if self.go_to_thread(thread):
            self.pane.focus()
            self.pane.cursor.scroll_into_view()
        else:
            # The diff does not show this thread: it may be the source diff.
            self.page_discussion.open_thread(thread.id)

    @property
    def drafts_in_selection(self) -> Sequence[UnsentText]:
        """Unsent drafts on the selected thread or block. If the line of a draft is selected, only this draft."""
        change, span = self._pages.selected, self._selected_span
        if change is None or span is None:
            return ()
        drafts, block = self._pages.unsent_of(change.key), span.block
        if block.kind == "thread":
            return [each for each in drafts if block.key in (each.thread_id, f"{DRAFT_PREFIX}{each.draft_key}")]
        keys, threads = {each.key for each in block.walk()}, {each.id for each in self.threads_on(block)}
        return [
            each for each in drafts if (each.kind == "comment" and each.block_key in keys) or each.thread_id in threads
        ]

    @property
    def page_threads(self) -> tuple[Comment, ...]:
        """The threads on the current page. Empty if no page is selected."""
        change = self._pages.selected
        return self._threads_of(change) if change is not None else ()

    def _threads_of(self, change: ChangedPage) -> tuple[Comment, ...]:
        if change.key == WHOLE_REQUEST:
            return self._threads.threads_on_page(None)
        return self._threads.threads_on_page(change.page.id) if change.page is not None else ()

    @property
    def discussion(self) -> ChangeRequestRef:
        return self._comparison.at

    @property
    def visible_page(self) -> tuple[str, str] | None:
        change = self._pages.selected
        return (change.page.id, change.page.title) if change and change.page else None

    @property
    def target_page(self) -> tuple[str, str] | None:
        return self.visible_page

    @property
    def visible_block(self) -> Block | None:
        span = self._selected_span
        if span is None or self._documents is None or span.block.kind in ("fold", PAGE_ROW):
            return None
        if (draft_block := self._commented_block_key(span.block)) is None:
            return span.block
        blocks = (side.find(draft_block) for side in reversed(self._documents) if draft_block)
        return next((block for block in blocks if block is not None), None)

    @property
    def is_on_old_version(self) -> bool:
        if self._documents is None or (span := self._selected_span) is None:
            return False
        if (draft_block := self._commented_block_key(span.block)) is not None:
            old, new = self._documents
            return bool(draft_block) and new.find(draft_block) is None and old.find(draft_block) is not None
        return self.pane.block_commands.side == "old"

    @property
    def _selected_span(self) -> BlockSpan | None:
        if self._documents is None or not self._layout.has_cursor(self._pages.key):
            return None
        return self.pane.cursor.current()

    def _commented_block_key(self, row: Block) -> str | None:
        """Return the key of the block whose draft or finding `row` shows. Empty if the draft or finding is on the whole
        page. None if `row` shows neither."""
        if (finding := self._findings.finding_of_row(row)) is not None:
            return finding.finding.block_key
        draft_key = row.key.removeprefix(DRAFT_PREFIX)
        return unsent_draft(draft_key).block_key if row.kind == "thread" and draft_key != row.key else None

    def source_of(self, block: Block) -> str:
        if self._documents is None or self.is_on_old_version:
            return ""
        new_document = self._documents[1]
        return block_source(new_document.source, new_document.find(block.key) or block)

    def threads_on(self, block: Block) -> list[Comment]:
        if block.kind == "thread":
            return [thread for thread in self.page_threads if thread.id == block.key]
        anchors = self._layout.anchors(self._pages.key)
        return items_in_block(block, anchors.by_block(self.page_threads)) if anchors is not None else []

    @property
    def ordered_threads(self) -> tuple[Comment, ...]:
        """The threads on the current page, then the threads on other pages."""
        page_threads = self.page_threads
        ids = {thread.id for thread in page_threads}
        return page_threads + tuple(thread for thread in self._threads.comments if thread.id not in ids)

    def go_to_thread(self, thread: Comment) -> bool:
        return self._documents is not None and self.pane.navigation.select_thread(thread.id)

    def outdated_note(self, thread: Comment) -> str:
        return self.word_changes.change_sentence(thread, self.change_request.revision)

    def why_no_block(self) -> str | None:
        return None

    def why_not_commentable(self, *, is_whole_page: bool) -> str | None:
        change = self._pages.selected
        if change is None or is_whole_page:
            return None
        if self.selected_blocks:
            blocks_text = plural(len(self.selected_blocks), "block")
            return f"{blocks_text} selected. Press A to write one remark on the selection, or esc to clear it."
        if self.is_loading_diff:
            return StillLoading(f"{change.title} is still loading.")
        if self.pane.state.has_failed:
            return f"{change.title} could not be loaded. Press r to retry."
        if change.page is None:
            return "This is not a page, so it has no blocks to comment on. Press C to comment on the change request."
        if self.all_pages.is_on and self.visible_block is None:
            return f"Select a block of {change.title} first. Press ( or ) to go to the next block."
        return None

    @property
    def space_ref(self) -> SpaceRef:
        return self._comparison.space

    @property
    def change_request(self) -> ChangeRequest:
        return self._comparison.change_request

    @property
    def selected_page(self) -> tuple[str, str, str] | None:
        change = self._pages.selected
        if change is None or change.page is None or not change.exists_after:
            return None
        return change.page.id, change.title, change.page.type

    @property
    def selected_block(self) -> Block | None:
        if self._selected_span is None or self.visible_page is None:
            return None
        return self.pane.block_commands.nearest_block

    def why_not_on_page(self) -> str | None:
        change = self._pages.selected
        if change is not None and not change.exists_after:
            return f"{change.title} is deleted in this change request. Press Q to revert the deletion."
        return None

    def refresh_editor_drafts(self) -> None:
        """Do nothing, because diffs do not show drafts of page edits."""

    def show_saved_page(self, change_request: ChangeRequest, page_id: str) -> None:
        """Select `page_id` as soon as it is in the tree. A page that was just created is not in the tree yet."""
        if page_id and page_id != self._pages.key:
            self._initial_jump = _PendingJump(page_id, "")
