"""Commands for the selected block of a pane: open, copy and comment."""

from __future__ import annotations

from collections.abc import Callable

from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.text_selection import TextCopied
from octavo.tui.render.tables import copied_text
from octavo.tui.widgets.commands import Command, Commands

_NAMES = {
    "row": "table row",
    "item": "list item",
    "content-ref": "page link",
    "include": "reusable content",
    "openapi": "OpenAPI block",
    "api-method": "API operation",
    "api-section": "API section",
    "api-parameter": "API parameter",
    "api-response": "API response",
    "if": "conditional content",
    "else": "conditional content",
}
"""Names of block kinds in messages, if they differ from the kind."""


class BlockCommands:
    """Commands for the selected block."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self.why_no_comment_here: Callable[[], str | None] = lambda: None
        """Function that returns why comments are disabled on this screen, for example because of the user's role. None
        if comments are allowed."""

    def open(self) -> None:
        """Open the block: request its open thread, or else open its link. If the block has several links,
        show hints. Without an open thread or a link, post `ThreadRequested` for the block, for example to
        continue an unsent comment."""
        span = self.pane.cursor.current()
        if span is None:
            return
        if (thread_block := self.pane.contents.block_with_thread(span)) is not None:
            self.pane.post_message(self.pane.ThreadRequested(thread_block))
        elif clickables := self.pane.clickables.at_cursor():
            self.pane.clickables.open_one(clickables)
        else:
            self.pane.post_message(self.pane.ThreadRequested(span.block))

    def copy(self) -> None:
        """Copy the block."""
        if (span := self.pane.cursor.current()) is not None:
            self.copy_as(copied_text(span.block), _NAMES.get(span.block.kind, span.block.kind))

    def copy_as(self, text: str, content_kind: str) -> None:
        """Copy `text` to the clipboard. `content_kind` names it in the notification."""
        self.pane.app.copy_to_clipboard(text)
        self.pane.post_message(TextCopied(text, content_kind))

    def comment(self) -> None:
        """Request a comment on the block."""
        if (span := self.pane.cursor.current()) is not None:
            self.pane.post_message(self.pane.CommentRequested(span.block))

    @property
    def why_no_comment(self) -> str | None:
        """Disabled reason of the comment command. None if it is enabled."""
        return self.why_no_comment_here()


AT_CURSOR: Commands[BlockCommands] = Commands(
    "page",
    (
        Command("comment", "c", "Comment", "Comment on the block",
                writes=True, run=lambda _, block: block.comment(), why_not=lambda _, block: block.why_no_comment),
        Command("open", "enter", "Open", "Open the link, image, file, or thread in the block", run=lambda _, block: block.open(), shown=False),
        Command("yank", "y", "Copy", "Copy the block", run=lambda _, block: block.copy(), shown=False),
    ),
    find=lambda view: view.block_commands,
)  # fmt: skip
