"""Commands for comments on the open page, on its selected block, and on several selected blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from octavo.api.bodies import Markdown
from octavo.api.comments import Comment, Create
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.data.writes.machine import NewWrite, OutboxEntry
from octavo.documents.blocks import Block
from octavo.documents.suggestions import ThreadAnchors
from octavo.lazy_import import lazy
from octavo.tui.comments import thread_actions
from octavo.tui.comments.thread_commands import THREAD, ThreadTarget
from octavo.tui.core.permissions import why_not_in_discussion
from octavo.tui.core.view import View, is_covered
from octavo.tui.core.write_queue import LocalChange
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.threads import DRAFT_PREFIX, FINDING_PREFIX, ThreadSummary, quote_markdown
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.row_list import RowList
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

_open_composer = lazy("octavo.tui.comments.composer:open_composer")
_thread_dialog = lazy("octavo.tui.comments.thread_dialog:ThreadDialog")


class DiscussionView(Protocol):
    """View that shows a page with threads, in a space or in a change request."""

    @property
    def discussion(self) -> Discussion | None:
        """Space or change request in which comments are written. None if no space or change request is open."""

    @property
    def visible_page(self) -> tuple[str, str] | None:
        """ID and title of the page whose blocks are visible. None if there is no such page."""

    @property
    def target_page(self) -> tuple[str, str] | None:
        """ID and title of the page that gets a comment on the whole page. None if there is no such page."""

    @property
    def visible_block(self) -> Block | None:
        """Selected block of the visible page. None if no block is selected."""

    @property
    def is_on_old_version(self) -> bool:
        """True if the selected block is in the old version of a page in a diff."""

    @property
    def ordered_threads(self) -> tuple[Comment, ...]:
        """Threads in the order in which the thread dialog steps through them."""

    @property
    def pane(self) -> Reader:
        """The pane that shows the page."""

    def go_to_thread(self, thread: Comment) -> bool:
        """Select the block of a thread. Return False if the block is not on the page."""

    def threads_on(self, block: Block) -> list[Comment]:
        """Return the threads on a block and its descendants. For a thread's line in a diff, return only this thread."""

    def outdated_note(self, thread: Comment) -> str:
        """Return a sentence about changes to the block of a thread since the comment, or an empty text."""

    def source_of(self, block: Block) -> str:
        """Return the Markdown of a block, for a suggested change. Empty if you cannot suggest a change to the block."""

    def why_no_block(self) -> str | None:
        """Return the reason why commands do not act on the selected block. None if they do."""

    def why_not_commentable(self, *, is_whole_page: bool) -> str | None:
        """Return why you cannot comment on the selected block, or on the page if `is_whole_page`. None if you can."""


class PageDiscussion:
    """Commands for comments on the page of a view, and for the thread on its selected block."""

    def __init__(self, view: View, pages: DiscussionView) -> None:
        self._view, self._pages = view, pages

    def thread_on(self, block: Block) -> Comment | None:
        """Return the first open thread on a block, else the first thread. None if the block has no thread."""
        threads = self._pages.threads_on(block)
        return next((thread for thread in threads if thread.is_open), threads[0] if threads else None)

    @property
    def _why_no_block(self) -> str | None:
        pane = self._view.main_pane
        if pane is not None and is_covered(self._view, pane):
            return "The page is not on the screen. Press tab to go to the page."
        return self._pages.why_no_block()

    @property
    def selected_thread(self) -> ThreadTarget | None:
        """Target of commands: in a focused list of threads, the selected thread, else the thread on the selected block.
        None without such a thread, or if block commands are disabled."""
        at, block, focused = self._pages.discussion, self._pages.visible_block, self._view.focused
        listed_thread = focused.item if isinstance(focused, RowList) else None
        if isinstance(listed_thread, Comment):
            return ThreadTarget(at, listed_thread, listed_thread) if at is not None else None
        if at is None or block is None or self._why_no_block is not None:
            return None
        thread = self.thread_on(block)
        return ThreadTarget(at, thread, thread) if thread is not None else None

    @property
    def why_no_thread(self) -> str:
        """Reason why thread commands are disabled while `selected_thread` is None."""
        return self._why_no_block or "The selected block has no thread. Press t to go to the next thread."

    def thread_of_selected_line(self) -> Comment | None:
        """Return the thread whose line in the diff is selected. None if no line of a thread is selected."""
        block = self._pages.visible_block
        return self.thread_on(block) if block is not None and block.kind == "thread" else None

    def why_no_comment(self, *, is_whole_page: bool = False) -> str | None:
        """Return why you cannot comment on the selected block, or on the page if `is_whole_page`. None if you can."""
        pages = self._pages
        if why := (None if is_whole_page else self._why_no_block) or pages.why_not_commentable(
            is_whole_page=is_whole_page
        ):
            return why
        at, page = pages.discussion, pages.target_page if is_whole_page else pages.visible_page
        if at is None or page is None:
            return "To comment on a page, open the page first."
        thread = None if is_whole_page else self.thread_of_selected_line()
        return why_not_in_discussion(self._view.shell, at, "reply" if thread else "comment", thread)

    def comment(self, block: Block | None = None) -> None:
        """Open the composer for a comment on `block`, else on the selected block, else on the page. If the block
        is the line of a thread in a diff, open the composer for a reply to this thread."""
        pages = self._pages
        block, page, at = block or pages.visible_block, pages.visible_page, pages.discussion
        if at is not None and block is not None and block.kind == "thread":
            if (thread := self.thread_on(block)) is not None:
                thread_actions.reply(self._view.shell, at, thread)
        elif at is not None and page is not None:

            def current_node() -> str | None:
                document = pages.pane.document
                if block is None or document is None or pages.visible_page != page or document.find(block.key):
                    return block.key if block is not None else None
                return ThreadAnchors(document).most_similar_key(block.plain()) or None

            thread_actions.start_thread(
                self._view.shell,
                at,
                page_id=page[0],
                node=block.key if block is not None else None,
                title=f"the old version of {page[1]}" if pages.is_on_old_version else page[1],
                excerpt=block.plain() if block is not None else page[1],
                source=pages.source_of(block) if block is not None else "",
                quotes_excerpt=pages.is_on_old_version,
                current_node=current_node if not pages.is_on_old_version else None,
                is_code=block is not None and block.kind == "code",
            )

    def comment_on_page(self) -> None:
        page, at = self._pages.target_page, self._pages.discussion
        if at is not None and page is not None:
            thread_actions.start_thread(
                self._view.shell, at, page_id=page[0], node=None, title=f"the page {page[1]}", excerpt=page[1]
            )

    def open_block_thread(self, block: Block) -> None:
        """Show the thread on a block. If `block` is the line of an unsent comment or a finding, open the composer. Tell
        the user if there is nothing to open."""
        if (thread := self.thread_on(block)) is not None:
            self.open_thread(thread.id)
        elif not block.key.startswith((DRAFT_PREFIX, FINDING_PREFIX)):
            self._view.shell.explain("This block has no link, image, file, or thread to open.")
        elif (reason := self.why_no_comment()) is not None:
            self._view.shell.explain(reason)
        else:
            self.comment()

    def open_thread(self, comment_id: str) -> None:
        """Show a thread in a dialog beside or below the text. Do nothing if the thread is not on the page."""
        pages, threads = self._pages, {thread.id: thread for thread in self._pages.ordered_threads}
        if pages.discussion is not None and comment_id in threads:
            dialog = _thread_dialog(
                pages.discussion,
                list(threads.values()),
                comment_id,
                pages.outdated_note,
                pages.pane,
                pages.go_to_thread,
            )
            self._view.app.push_screen(dialog)


@dataclass(frozen=True)
class _SelectedBlock:
    """Block that is selected for a remark. Instances are equal if page, block and version are the same."""

    page_id: str
    key: str
    page_title: str = field(compare=False)
    text: str = field(compare=False)
    is_code: bool = field(compare=False)
    is_old: bool
    """True if the block is in the old version of the page."""


class SelectedBlocks:
    """Blocks of a change request that you selected to write the same comment on each of them."""

    def __init__(self, view: View, pages: DiscussionView, on_change: Callable[[], None]) -> None:
        self._view, self._pages, self._on_change = view, pages, on_change
        self._blocks: list[_SelectedBlock] = []
        self._notice = ""

    def __len__(self) -> int:
        return len(self._blocks)

    def marks(self, page_id: str) -> Iterator[tuple[str, ThreadSummary]]:
        """Yield the key of each selected block on a page, with the row `Selected` that the diff shows below it."""
        for block in self._blocks:
            if block.page_id == page_id:
                mark_text = "Selected in the old version" if block.is_old else "Selected"
                yield (
                    block.key,
                    ThreadSummary(mark_text, "", thread_actions.short_quote(block.text), is_open=False, sign="*"),
                )

    @property
    def _block_at_cursor(self) -> _SelectedBlock | None:
        page, block = self._pages.visible_page, self._pages.visible_block
        if page is None or block is None or not block.key or block.kind in ("thread", "note", "change"):
            return None
        is_code, is_old = block.kind == "code", self._pages.is_on_old_version
        return _SelectedBlock(page[0], block.key, page[1], block.plain(), is_code, is_old)

    def toggle(self) -> None:
        """Select the block under the cursor, or deselect it if it is selected."""
        if (block := self._block_at_cursor) is not None:
            if block in self._blocks:
                self._blocks.remove(block)
            else:
                self._blocks.append(block)
            self._on_change()
            shell, blocks_text = self._view.shell, plural(len(self), "block")
            shell.notices.close_text(self._notice)
            self._notice = f"{blocks_text} selected. Press A to write one remark." if self else "No block selected."
            shell.say(self._notice)

    def clear(self) -> bool:
        """Clear the selection. Return False if no block was selected."""
        was_selected = bool(self._blocks)
        self._blocks.clear()
        if was_selected:
            self._on_change()
        return was_selected

    def why_not_toggle(self) -> str | None:
        """Return the reason why the block under the cursor cannot be selected. None if it can be selected."""
        if (at := self._pages.discussion) is None or self._block_at_cursor is None:
            return "Select a block of a page first. Press ( or ) to go to the next block."
        return why_not_in_discussion(self._view.shell, at, "comment")

    def write_remark(self, app: Shell) -> None:
        """Open the composer for one remark on all selected blocks. The text becomes a pending comment on each block."""
        at, blocks = self._pages.discussion, list(self._blocks)
        if not isinstance(at, ChangeRequestRef) or not blocks:
            return
        draft_key = f"remark {at.space_id} {at.change_request_id}"
        outbox = app.session.outbox

        def send(text: str) -> None:
            remark = thread_actions.remark_on_blocks(text, [each.text for each in blocks])
            if len(blocks) == 1 and blocks[0].is_old:  # Several blocks are named in the remark, not quoted.
                remark = f"{quote_markdown(blocks[0].text, is_code=blocks[0].is_code)}\n\n{text}"
            body = Markdown(markdown=remark)
            writes = [
                NewWrite(
                    Create(at=at, body=body, page=each.page_id, node=each.key),
                    "comment",
                    f"comment {at.space_id} {at.change_request_id} {each.page_id} {each.key}",
                    context=each.page_title,
                    used_draft_keys=() if number else (draft_key,),
                    block_text="" if each.is_old else each.text[: thread_actions.MAX_BLOCK_TEXT],
                )
                for number, each in enumerate(blocks)
            ]
            added_entries: list[OutboxEntry] = []

            async def apply() -> None:
                added_entries.extend(await outbox.add_pending_comments(writes))
                self.clear()

            async def undo() -> bool:
                texts = {each.id: each.traits.text for each in outbox.pending_comments(at)}
                if not any(texts.get(each.id) == each.traits.text for each in added_entries):
                    return False
                newer = app.session.drafts.get(draft_key)
                await app.session.drafts.save(draft_key, text if newer in (None, text) else f"{text}\n\n{newer}")
                await outbox.remove_pending_comments(added_entries)
                self._blocks[:] = blocks
                self._on_change()
                return True

            label = plural(len(blocks), "pending comment")
            linked_note = " They will be resolved together." if len(blocks) > 1 else ""
            change = LocalChange(f"add {label}", apply, undo, f"Removed {label}. Press A to continue the remark.")
            pronoun = "them" if len(blocks) > 1 else "it"
            app.writes.apply_change(
                change, message=f"Added {label}.{linked_note} Submit your review to send {pronoun}."
            )

        excerpt = "\n".join(" ".join(each.text.split()) for each in blocks)
        title = f"Remark on {plural(len(blocks), 'block')}"
        _open_composer(app, at, draft_key, title, send, excerpt=excerpt, verb="add to review")


SELECT_COMMANDS: Commands[SelectedBlocks] = Commands(
    "comment",
    (
        Command("select", "asterisk", "Select block", "Select the block, to write one remark on several blocks with A",
                shown=False, key_display="*", run=lambda _, blocks: blocks.toggle(), why_not=lambda _, blocks: blocks.why_not_toggle()),
    ),
    context="pages and diffs",
    find_target=lambda view: view.page_diff.selected_blocks,
)  # fmt: skip
"""Command that selects blocks of a change request."""
COMMENTING: Commands[PageDiscussion] = Commands(
    "comment",
    (
        Command("block", "c", "Comment", "Comment on the block or reply to its thread",
                writes=True, run=lambda app, discussion: discussion.comment(), why_not=lambda app, discussion: discussion.why_no_comment()),
        Command("page", "C", "Comment on page", "Comment on the page", shown=False,
                writes=True, run=lambda app, discussion: discussion.comment_on_page(), why_not=lambda _, discussion: discussion.why_no_comment(is_whole_page=True)),
    ),
    context="pages and diffs",
    find_target=lambda view: view.page_discussion,
)  # fmt: skip
"""Commands that comment on the open page. They act on the `page_discussion` of a view."""
THREAD_HERE: Commands[ThreadTarget] = (
    THREAD.only("resolve", "reply_resolve", "react")
    .with_changed("resolve", id="comment.resolve_here", help="Resolve the thread on this block", shown=False)
    .with_changed(
        "reply_resolve", id="comment.reply_resolve_here", help="Reply to the thread on this block and resolve it"
    )
    .with_changed("react", id="comment.react_here", help="React to the thread on this block")
    .for_target(
        lambda view: view.page_discussion.selected_thread,
        context="pages and diffs",
        no_target=lambda view: view.page_discussion.why_no_thread,
    )
)
"""Commands for the thread on the selected block."""
