"""What every view with threads can do: comment on what the cursor is on, and open a thread."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from octavo.api.comments import Comment
from octavo.api.places import Discussion
from octavo.documents.blocks import Block
from octavo.tui.comments import thread_actions
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.table_reading import Tabling
from octavo.tui.shell.permissions import not_allowed_with
from octavo.tui.shell.view import View

_ON_A_THREAD = ("resolve_here", "reply_resolve_here", "react_here")


class Discussing(View):
    """A view of pages people talk about. A subclass says where, which page, and which block the cursor is on."""

    CONTEXT: ClassVar[str] = "pages and diffs"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "comment", "Comment", tooltip="Comment on the block the cursor is on; on a thread, reply", id="comment.block"),
        Binding("C", "comment_page", "Comment on page", show=False, tooltip="Comment on the whole page", id="comment.page"),
        Binding("d", "resolve_here", "Done", show=False, tooltip="Resolve the thread on the block the cursor is on", id="comment.resolve_here"),
        Binding("D", "reply_resolve_here", "Reply, done", show=False, tooltip="Reply to the thread on this block, and resolve it", id="comment.reply_resolve_here"),
        Binding("plus", "react_here", "React", key_display="+", show=False, tooltip="React to the thread on this block", id="comment.react_here"),
    ]  # fmt: skip

    @property
    def discussion(self) -> Discussion | None:
        """Where comments go."""
        raise NotImplementedError

    @property
    def page_on_show(self) -> tuple[str, str] | None:
        """The id and title of the page comments are about."""
        raise NotImplementedError

    @property
    def page_at_hand(self) -> tuple[str, str] | None:
        """The id and title of the page that is spoken of as a whole."""
        return self.page_on_show

    @property
    def block_on_show(self) -> Block | None:
        """The block the cursor is on."""
        raise NotImplementedError

    @property
    def is_on_old_side(self) -> bool:
        """Whether the block the cursor is on is of the page as it was."""
        return False

    def source_of(self, block: Block) -> str:
        """How a block is written, where another wording of it can be suggested. Empty elsewhere."""
        return ""

    @property
    def known_threads(self) -> tuple[Comment, ...]:
        """The threads on show."""
        raise NotImplementedError

    def action_read_on(self, step: int) -> None:
        """Show the page after this one, or with -1 the one before."""
        raise NotImplementedError

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("comment", "comment_page"):
            page = self.page_on_show if action == "comment" else self.page_at_hand
            if self.discussion is None or page is None:
                return "Open a page first: a comment is about one."
            thread = self.thread_under_cursor() if action == "comment" else None
            return not_allowed_with(self.shell, self.discussion, "reply" if thread else "comment", thread)
        if action in _ON_A_THREAD:
            thread = self._thread_here()
            if thread is None or self.discussion is None:
                return "No thread hangs on the block under the cursor. t goes to the next one."
            return not_allowed_with(self.shell, self.discussion, action.removesuffix("_here"), thread)
        return super().why_not(action, parameters)

    def threads_on(self, block: Block) -> list[Comment]:
        """The threads that hang on a block, or on what is in it; of a block of the kind `thread`, that thread."""
        raise NotImplementedError

    def since(self, thread: Comment) -> str:
        """What became of the words a thread hangs on, in a sentence; empty while they are as they were."""
        return ""

    def thread_on(self, block: Block) -> Comment | None:
        """The thread on a block: an open one before a resolved one."""
        found = self.threads_on(block)
        return next((thread for thread in found if thread.is_open), found[0] if found else None)

    def _thread_here(self) -> Comment | None:
        return self.thread_on(self.block_on_show) if self.block_on_show is not None else None

    def thread_under_cursor(self) -> Comment | None:
        """The thread that is itself under the cursor, between the lines of a diff: one replies to it."""
        block = self.block_on_show
        return self.thread_on(block) if block is not None and block.kind == "thread" else None

    def action_resolve_here(self) -> None:
        if (thread := self._thread_here()) is not None and self.discussion is not None:
            thread_actions.toggle_resolved(self.shell, self.discussion, thread)

    def action_reply_resolve_here(self) -> None:
        if (thread := self._thread_here()) is not None and self.discussion is not None:
            thread_actions.reply(self.shell, self.discussion, thread, resolve=True)

    def action_react_here(self) -> None:
        if (thread := self._thread_here()) is not None and self.discussion is not None:
            thread_actions.choose_reaction(self.shell, self.discussion, thread, thread)

    def action_comment(self) -> None:
        block, page, at = self.block_on_show, self.page_on_show, self.discussion
        if at is not None and block is not None and block.kind == "thread":
            if (thread := self.thread_under_cursor()) is not None:
                thread_actions.reply(self.shell, at, thread)
        elif at is not None and page is not None:
            node = block.key if block is not None else None
            excerpt = block.plain() if block is not None else page[1]
            thread_actions.start_thread(
                self.shell,
                at,
                page=page[0],
                node=node,
                title=f"{page[1]}, as it was" if self.is_on_old_side else page[1],
                excerpt=excerpt,
                source=self.source_of(block) if block is not None else "",
                quote=self.is_on_old_side,
                is_code=block is not None and block.kind == "code",
            )

    def action_comment_page(self) -> None:
        page, at = self.page_at_hand, self.discussion
        if at is not None and page is not None:
            thread_actions.start_thread(
                self.shell, at, page=page[0], node=None, title=f"the page {page[1]}", excerpt=page[1]
            )

    @on(Reader.BlockChosen)
    def _block_chosen(self) -> None:
        self.action_comment()

    @on(Reader.ThreadWanted)
    def _thread_wanted(self, message: Reader.ThreadWanted) -> None:
        if thread := self.thread_on(message.block):
            self.open_thread(thread.id)

    @on(Reader.ReadOn)
    def _end_reached(self) -> None:
        self.read_on()

    def read_on(self) -> None:
        """Go on from the end of a page to the next."""
        self.action_read_on(1)

    @on(Tabling.RowWanted)
    def _row_wanted(self, message: Tabling.RowWanted) -> None:
        from octavo.tui.reader.record import open_row

        open_row(self.app, message)

    @on(Reader.Copied)
    def _copied(self, message: Reader.Copied) -> None:
        self.shell.say(f"Copied the {message.what}.")

    def open_thread(self, comment_id: str) -> None:
        """Show a thread over this view."""
        from octavo.tui.comments.thread_sheet import ThreadSheet

        threads = {each.id: each for each in self.known_threads}
        if self.discussion is not None and comment_id in threads:
            self.app.push_screen(ThreadSheet(self.discussion, list(threads.values()), comment_id, self.since))
