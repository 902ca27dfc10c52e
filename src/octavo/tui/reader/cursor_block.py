"""Commands for the selected block of a reader: open, copy, comment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from octavo.tui.render.tables import copied_text
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader

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


class CursorBlock:
    """Commands for the selected block."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self.why_no_comment_here: Callable[[], str | None] = lambda: None
        """Returns why comments are disabled on this screen, for example because of the user's role. None if comments
        are allowed."""

    def open(self) -> None:
        """Open the thread or the link of the block. If the block has several links, show hints. If it has neither,
        request its thread."""
        stop = self.pane.cursor.stop()
        if stop is None:
            return
        if (hangs := self.pane.contents.thread_at(stop)) is not None:
            self.pane.post_message(self.pane.ThreadWanted(hangs))
        elif hots := self.pane.spots.at_cursor():
            self.pane.spots.open_one(hots)
        else:
            self.pane.post_message(self.pane.ThreadWanted(stop[3]))

    def copy(self) -> None:
        """Copy the block."""
        if (stop := self.pane.cursor.stop()) is not None:
            self.copy_as(copied_text(stop[3]), _NAMES.get(stop[3].kind, stop[3].kind))

    def copy_as(self, text: str, what: str) -> None:
        """Copy text. `what` names the text in the message."""
        self.pane.app.copy_to_clipboard(text)
        self.pane.post_message(self.pane.Copied(text, what))

    def comment(self) -> None:
        """Request a comment on the block."""
        if (stop := self.pane.cursor.stop()) is not None:
            self.pane.post_message(self.pane.BlockChosen(stop[3]))

    @property
    def why_no_comment(self) -> str | None:
        """Disabled reason of the comment command. None if it is enabled."""
        return self.why_no_comment_here()


AT_CURSOR: Commands[CursorBlock] = Commands(
    "page",
    (
        Command("comment", "c", "Comment", "Comment on the block",
                writes=True, run=lambda _, block: block.comment(), why_not=lambda _, block: block.why_no_comment),
        Command("open", "enter", "Open", "Open the link, image, file, or thread in the block", run=lambda _, block: block.open(), shown=False),
        Command("yank", "y", "Copy", "Copy the block", run=lambda _, block: block.copy(), shown=False),
    ),
    find=lambda view: view.cursor_block,
)  # fmt: skip
