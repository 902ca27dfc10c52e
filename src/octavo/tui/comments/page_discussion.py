"""Comments on the open page and on its selected block, and the threads there."""

from __future__ import annotations

from typing import Protocol

from octavo.api.comments import Comment
from octavo.api.places import Discussion
from octavo.documents.blocks import Block
from octavo.tui.comments import thread_actions
from octavo.tui.comments.thread_commands import THREAD, ThreadTarget
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.threads import DRAFT
from octavo.tui.shell.permissions import why_not_in_discussion
from octavo.tui.shell.view import View, is_covered
from octavo.tui.widgets.commands import Command, Commands


class ShowsDiscussion(Protocol):
    """What shows pages that people talk about: where, which page, and which block of it the cursor is on."""

    @property
    def discussion(self) -> Discussion | None:
        """Where comments go."""

    @property
    def page_on_show(self) -> tuple[str, str] | None:
        """The id and title of the page whose blocks are on show."""

    @property
    def page_at_hand(self) -> tuple[str, str] | None:
        """The id and title of the page that is spoken of as a whole."""

    @property
    def block_on_show(self) -> Block | None:
        """The block the cursor is on."""

    @property
    def is_on_old_side(self) -> bool:
        """Whether that block is of the page as it was."""

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        """The threads on show."""

    @property
    def pane(self) -> Reader:
        """Where the page is read."""

    def go_to_thread(self, thread: Comment) -> bool:
        """Put the cursor on the block a thread hangs on. False where it is on no block of this page."""

    def threads_on(self, block: Block) -> list[Comment]:
        """The threads that hang on a block, or on what is in it; of a block of the kind `thread`, that thread."""

    def since(self, thread: Comment) -> str:
        """Return what happened to the block of an outdated thread, in a sentence. Empty if the block is unchanged."""

    def source_of(self, block: Block) -> str:
        """How a block is written, where another wording of it can be suggested. Empty elsewhere."""

    def why_no_block(self) -> str | None:
        """Why no key is about the block on show, in a sentence: the cursor is elsewhere."""

    def why_nothing_to_say(self, *, whole: bool) -> str | None:
        """Why nothing can be said about the block on show, or about the `whole` page, in a sentence."""


class PageDiscussion:
    """Comments on what is on show in a view, and the threads on the block the cursor is on."""

    def __init__(self, view: View, shown: ShowsDiscussion) -> None:
        self._view, self._shown = view, shown

    def thread_on(self, block: Block) -> Comment | None:
        """The thread on a block: an open one before a resolved one."""
        found = self._shown.threads_on(block)
        return next((thread for thread in found if thread.is_open), found[0] if found else None)

    @property
    def _why_no_block(self) -> str | None:
        pane = self._view.key_fallback
        if pane is not None and is_covered(self._view, pane):
            return "The page is not on the screen. Press tab to go to the page."
        return self._shown.why_no_block()

    @property
    def thread_here(self) -> ThreadTarget | None:
        """The thread on the block the cursor is on."""
        at, block = self._shown.discussion, self._shown.block_on_show
        if at is None or block is None or self._why_no_block is not None:
            return None
        thread = self.thread_on(block)
        return ThreadTarget(at, thread, thread) if thread is not None else None

    @property
    def why_no_thread_here(self) -> str:
        """Return why the selected block has no thread to act on."""
        return self._why_no_block or "The selected block has no thread. Press t to go to the next thread."

    def thread_under_cursor(self) -> Comment | None:
        """The thread that is itself under the cursor, between the lines of a diff: one replies to it."""
        block = self._shown.block_on_show
        return self.thread_on(block) if block is not None and block.kind == "thread" else None

    def why_no_comment(self, *, whole: bool = False) -> str | None:
        """Return why you cannot comment on the selected block, or on the `whole` page. None if you can."""
        shown = self._shown
        if why := (None if whole else self._why_no_block) or shown.why_nothing_to_say(whole=whole):
            return why
        at, page = shown.discussion, shown.page_at_hand if whole else shown.page_on_show
        if at is None or page is None:
            return "To comment on a page, open the page first."
        thread = None if whole else self.thread_under_cursor()
        return why_not_in_discussion(self._view.shell, at, "reply" if thread else "comment", thread)

    def comment(self) -> None:
        """Write a comment on the block the cursor is on; on a thread, a reply."""
        shown = self._shown
        block, page, at = shown.block_on_show, shown.page_on_show, shown.discussion
        if at is not None and block is not None and block.kind == "thread":
            if (thread := self.thread_on(block)) is not None:
                thread_actions.reply(self._view.shell, at, thread)
        elif at is not None and page is not None:
            thread_actions.start_thread(
                self._view.shell,
                at,
                page=page[0],
                node=block.key if block is not None else None,
                title=f"the old version of {page[1]}" if shown.is_on_old_side else page[1],
                excerpt=block.plain() if block is not None else page[1],
                source=shown.source_of(block) if block is not None else "",
                quote=shown.is_on_old_side,
                is_code=block is not None and block.kind == "code",
            )

    def comment_on_page(self) -> None:
        """Write a comment on the page as a whole."""
        page, at = self._shown.page_at_hand, self._shown.discussion
        if at is not None and page is not None:
            thread_actions.start_thread(
                self._view.shell, at, page=page[0], node=None, title=f"the page {page[1]}", excerpt=page[1]
            )

    def open_thread_on(self, block: Block) -> None:
        """Show the thread on a block beside or below it, if there is one. Of what is no thread yet, go on with the draft."""
        if (thread := self.thread_on(block)) is not None:
            self.open_thread(thread.id)
        elif block.key.startswith(DRAFT) and self.why_no_comment() is None:
            self.comment()

    def open_thread(self, comment_id: str) -> None:
        """Show a thread beside or below the words it hangs on."""
        from octavo.tui.comments.thread_sheet import ThreadSheet

        shown, threads = self._shown, {each.id: each for each in self._shown.known_threads}
        if shown.discussion is not None and comment_id in threads:
            sheet = ThreadSheet(
                shown.discussion, list(threads.values()), comment_id, shown.since, shown.pane, shown.go_to_thread
            )
            self._view.app.push_screen(sheet)


COMMENTING: Commands[PageDiscussion] = Commands(
    "comment",
    (
        Command("block", "c", "Comment", "Comment on the block or reply to its thread",
                writes=True, run=lambda app, here: here.comment(), why_not=lambda app, here: here.why_no_comment()),
        Command("page", "C", "Comment on page", "Comment on the page", shown=False,
                writes=True, run=lambda app, here: here.comment_on_page(), why_not=lambda app, here: here.why_no_comment(whole=True)),
    ),
    context="pages and diffs",
    find=lambda view: view.page_discussion,
)  # fmt: skip
"""Commands that comment on the open page. A view provides it as its `page_discussion`."""
THREAD_HERE: Commands[ThreadTarget] = (
    THREAD.only("resolve", "reply_resolve", "react")
    .with_changed("resolve", id="comment.resolve_here", help="Resolve the thread on this block", shown=False)
    .with_changed(
        "reply_resolve", id="comment.reply_resolve_here", help="Reply to the thread on this block and resolve it"
    )
    .with_changed("react", id="comment.react_here", help="React to the thread on this block")
    .for_target(
        lambda view: view.page_discussion.thread_here,
        context="pages and diffs",
        no_target=lambda view: view.page_discussion.why_no_thread_here,
    )
)
"""Commands for the thread on the selected block."""
