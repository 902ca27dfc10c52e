"""The comments one holds for the review of a change request: read, changed, dropped, or sent without a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from octavo.api.places import ChangeRequestRef
from octavo.data.entry import Entry
from octavo.tui.comments import held_comments
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, Frame
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.row_list import Column, Row, Rows
from octavo.tui.widgets.safe_text import safe
from octavo.tui.widgets.wording import plural, short_age

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def _show(app: Shell, entry: Entry) -> None:
    app.screen.dismiss(entry)


_NOTHING = "Nothing is held. In a comment ctrl+t holds it for the review."

HELD: Commands[Entry] = Commands(
    "held",
    (
        Command("show", "enter", "Where", "Show where it hangs", run=_show),
        Command("edit", "e", "Edit", "Change its words; it stays held", writes=True, run=held_comments.edit_held),
        Command("drop", "X", "Drop", "Hold it no more; its words stay as a draft", run=held_comments.drop_held),
    ),
    nothing=_NOTHING,
    find=lambda dialog: dialog.rows.item,
)
"""What can be done with a held comment."""
HELD_LIST: Commands[HeldScreen] = Commands(
    "held",
    (
        Command("send", "ctrl+s", "Send all", "Send them all now, without a verdict",
                writes=True, run=lambda _, dialog: dialog.send_all(), why_not=lambda _, dialog: _NOTHING if dialog.rows.item is None else None),
        Command("close", "escape,q,H", "Close", "Close; they stay held", run=lambda _, dialog: dialog.close()),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class HeldScreen(Dialog[Entry | None]):
    """What is held, in the order it is sent. The answer is the one that is to be shown where it hangs."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("held.tcss"),
    ]
    CONTEXT: ClassVar[str] = "held comments"
    HELP: ClassVar[str] = (
        "What you hold for your review, in the order it is sent: with the verdict (a or A), or with ctrl+s without one."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (HELD, HELD_LIST)

    def __init__(self, at: ChangeRequestRef, name: str, titles: Mapping[str, str]) -> None:
        """`name` is what to call the change request, `titles` those of its pages by their ids."""
        super().__init__()
        self._at, self._of, self._titles = at, name, titles

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def body(self) -> ComposeResult:
        rows: Rows[Entry] = Rows(
            self._draw,
            key=lambda entry: entry.id,
            columns=(Column("", 22), Column("", least=20), Column("", 6, right=True, drop=1)),
            empty="Nothing is held.",
            id="held",
        )
        with Frame():
            yield rows
            with VerticalScroll(id="words", can_focus=False):
                yield Static()

    @property
    def rows(self) -> Rows[Entry]:
        return self.query_one("#held", Rows)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        self._show()
        self.rows.focus()

    def _show(self) -> None:
        if not self.shell.has_session:
            return  # it ended meanwhile
        held = self.shell.session.outbox.gathered(self._at)
        self.query_one(Frame).name_it(f"{plural(len(held), 'comment')} held for your review of {self._of}")
        self.rows.show(held)
        self._show_words()

    def _draw(self, entry: Entry) -> Row:
        words = " ".join(entry.words.split())
        return Row(cells=(held_comments.named(entry, self._titles), words, short_age(entry.created_at)))

    @on(Lines.Highlighted)
    def _show_words(self) -> None:
        entry = self.rows.item
        self.query_one("#words Static", Static).update(safe(entry.words if entry is not None else ""))
        self.refresh_bindings()

    @on(Lines.Chosen)
    def _chosen(self) -> None:
        if self.rows.item is not None:
            self.dismiss(self.rows.item)

    def close(self) -> None:
        """Close it; what is held stays held."""
        self.dismiss(None)

    def send_all(self) -> None:
        """Send all that is held, without a verdict."""
        self.close()
        held_comments.send_held(self.shell, self._at, self._of)
