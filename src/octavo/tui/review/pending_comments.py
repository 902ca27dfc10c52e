"""The list of your pending comments, which can be read, edited, removed, or sent without a review."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from octavo.api.places import ChangeRequestRef
from octavo.data.writes.machine import OutboxEntry
from octavo.tui.comments import pending_comments
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, Row, RowList
from octavo.tui.widgets.safe_text import safe
from octavo.tui.widgets.wording import plural, short_age

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


_EMPTY_TEXT = "No pending comments. To add a comment to your review, press ctrl+t while you write the comment."

COMMENT_COMMANDS: Commands[OutboxEntry] = Commands(
    "held",
    (
        Command(
            "show",
            "enter",
            "Show on page",
            "Show the comment on its page",
            run=lambda app, entry: app.screen.dismiss(entry),
        ),
        Command("edit", "e", "Edit", "Edit the pending comment", writes=True, run=pending_comments.edit_pending),
        Command(
            "drop",
            "X",
            "Remove",
            "Remove the comment from the review and keep it as a draft",
            run=pending_comments.remove_pending,
        ),
    ),
    no_target=_EMPTY_TEXT,
    find=lambda dialog: dialog.rows.item,
)
"""Commands on a pending comment."""
LIST_COMMANDS: Commands[PendingCommentsScreen] = Commands(
    "held",
    (
        Command("send", "ctrl+s", "Send all", "Send all pending comments without submitting a review",
                writes=True, run=lambda _, dialog: dialog.send_all(), why_not=lambda _, dialog: _EMPTY_TEXT if dialog.rows.item is None else None),
        Command("close", "escape,q,H", "Close", "Close the list and keep the comments pending", run=lambda _, dialog: dialog.close()),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class PendingCommentsScreen(Dialog[OutboxEntry | None]):
    """Dialog with the pending comments in the order of sending. Its result is the comment to show on its page."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("pending_comments.tcss"),
    ]
    CONTEXT: ClassVar[str] = "pending comments"
    HELP: ClassVar[str] = (
        "This list shows the pending comments in your review, in the order in which they will be sent. "
        "Press enter to show a comment on its page, e to edit the comment, X to remove the comment from the review, "
        "or ctrl+s to send all comments without submitting a review. Press esc to close the list."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (COMMENT_COMMANDS, LIST_COMMANDS)

    def __init__(self, at: ChangeRequestRef, name: str, titles: Mapping[str, str]) -> None:
        """`name` is the name of the change request. `titles` has the titles of its pages by page ID."""
        super().__init__()
        self._at, self._request_name, self._titles = at, name, titles

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def body(self) -> ComposeResult:
        rows: RowList[OutboxEntry] = RowList(
            self._draw,
            key=lambda entry: entry.id,
            columns=(Column("", 22), Column("", min_width=20), Column("", 6, right=True, drop_order=1)),
            empty="No pending comments.",
            id="held",
        )
        with DialogFrame():
            yield rows
            with VerticalScroll(id="words", can_focus=False):
                yield Static()

    @property
    def rows(self) -> RowList[OutboxEntry]:
        return self.query_one("#held", RowList)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        self._show()
        self.rows.focus()

    def _show(self) -> None:
        if not self.shell.has_session:
            return  # The session has ended.
        comments = self.shell.session.outbox.pending_comments(self._at)
        self.query_one(DialogFrame).set_border_texts(
            f"{plural(len(comments), 'pending comment')} in your review of {self._request_name}"
        )
        self.rows.show(comments)
        self._show_text()

    def _draw(self, entry: OutboxEntry) -> Row:
        words = " ".join(entry.facts.text.split())
        return Row(cells=(pending_comments.location_label(entry, self._titles), words, short_age(entry.created_at)))

    @on(LineList.Highlighted)
    def _show_text(self) -> None:
        entry = self.rows.item
        self.query_one("#words Static", Static).update(safe(entry.facts.text if entry is not None else ""))
        self.refresh_bindings()

    @on(LineList.Opened)
    def _chosen(self) -> None:
        if self.rows.item is not None:
            self.dismiss(self.rows.item)

    def close(self) -> None:
        """Close the dialog. The comments stay pending."""
        self.dismiss(None)

    def send_all(self) -> None:
        """Send all pending comments without a review."""
        self.close()
        pending_comments.send_pending(self.shell, self._at, self._request_name)
