"""Activity: writes that wait or need a person, and the last requests."""

from __future__ import annotations

from collections.abc import Awaitable
from pathlib import PurePath
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from octavo.data.entry import Entry
from octavo.data.state import NotSaved
from octavo.tui import kept_files
from octavo.tui.ages import short_age
from octavo.tui.kept_files import KeptFile
from octavo.tui.screens.dialog import STYLES, Dialog, Frame
from octavo.tui.session import Asked
from octavo.tui.widgets.keybar import KeyBar
from octavo.tui.widgets.lines import Lines
from octavo.tui.widgets.rows import Column, Heading, Row, Rows

if TYPE_CHECKING:
    from octavo.tui.app import Octavo

Line = tuple[str, Entry | KeptFile | Asked]
STATES = {
    "held": "held for undo",
    "queued": "waiting",
    "sending": "sending",
    "unknown": "looking for it",
    "failed": "failed",
}
_HEADINGS: dict[type, str] = {Entry: "WRITES", KeptFile: "TEXTS FROM YOUR EDITOR", Asked: "REQUESTS"}


class ActivityScreen(Dialog[None]):
    """What is under way, what went wrong, and what can be done about it."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        STYLES / "activity.tcss",
    ]
    CONTEXT: ClassVar[str] = "activity"
    HELP: ClassVar[str] = (
        "Writes that wait are on top: r sends one again, X throws one away and keeps its text as a draft. Below are texts "
        "that could not be taken from your editor: enter opens one again, X deletes it."
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "retry", "Send again", tooltip="Send this write again", id="activity.retry"),
        Binding("X", "discard", "Discard", tooltip="Do not send it; its text stays as a draft", id="activity.discard"),
        Binding("escape,q,exclamation_mark", "close", "Close", tooltip="Close", id="activity.close"),
    ]

    _files: tuple[KeptFile, ...] = ()
    """What editors wrote and nobody took, when that was looked for last."""

    @property
    def octavo(self) -> Octavo:
        return cast("Octavo", self.app)

    def compose(self) -> ComposeResult:
        rows: Rows[Line] = Rows(
            self._draw,
            key=lambda line: line[0],
            groups=lambda line: [Heading(_HEADINGS[type(line[1])])],
            columns=(
                Column("", 14),
                Column("", least=30),
                Column("", 8, right=True),
                Column("", 6, right=True, drop=1),
            ),
            empty="Nothing was asked of the server yet.",
            id="lines",
        )
        with Frame() as frame:
            frame.name_it("Activity")
            yield rows
            yield Static("", id="why")
        yield KeyBar()

    @property
    def rows(self) -> Rows[Line]:
        return self.query_one("#lines", Rows)

    def on_mount(self) -> None:
        self.octavo.known.frame_changed.subscribe(self, lambda _: self._show())
        self._look_for_files()
        self.rows.focus()

    def on_screen_resume(self) -> None:
        self._look_for_files()

    def _look_for_files(self) -> None:
        if self.octavo.has_session:
            self._files = kept_files.kept_files(self.octavo)
            self._show()

    def _show(self) -> None:
        if not self.octavo.has_session:
            return  # it ended meanwhile
        session = self.octavo.session
        lines: list[Line] = [(entry.id, entry) for entry in session.outbox.entries]
        lines += [(file.path.name, file) for file in self._files]
        asked = list(enumerate(session.activity()))
        lines += [(f"{number} {each.moment.timestamp()}", each) for number, each in reversed(asked)]
        self.rows.show(lines)
        self._say_why()

    def _draw(self, line: Line) -> Row:
        what = line[1]
        if isinstance(what, Entry):
            style = "$error" if what.asks else "$warning"
            return Row(
                cells=(
                    Content.styled(STATES.get(what.state, what.state), style),
                    what.doing,
                    "",
                    short_age(what.created_at),
                )
            )
        if isinstance(what, KeptFile):
            return Row(cells=(Content.styled("kept", "$warning"), what.about.title, "", short_age(what.saved_at)))
        status = str(what.status) if what.status else "given up" if what.given_up else "no answer"
        style = "$octavo-muted" if what.given_up else "$error" if what.error else "$success"
        return Row(
            cells=(
                f"{what.method} {what.attempts}x" if what.attempts > 1 else what.method,
                what.route,
                Content.styled(status, style),
                f"{what.milliseconds:.0f}ms",
            )
        )

    @property
    def entry(self) -> Entry | None:
        """The write the cursor is on."""
        what = self.rows.item[1] if self.rows.item else None
        return what if isinstance(what, Entry) else None

    @property
    def file(self) -> KeptFile | None:
        """The text from an editor the cursor is on."""
        what = self.rows.item[1] if self.rows.item else None
        return what if isinstance(what, KeptFile) else None

    @on(Lines.Chosen)
    def _open_again(self) -> None:
        if (file := self.file) is not None:
            self.dismiss(None)
            self.octavo.call_later(kept_files.open_again, self.octavo, file)
        elif self.rows.item is not None:
            self.octavo.explain("There is nothing to open here: the line below says all there is to know of it.")

    @on(Lines.Highlighted)
    def _say_why(self) -> None:
        what = self.rows.item[1] if self.rows.item else None
        said = ""
        match what:
            case Entry():
                said = what.reason
            case KeptFile():
                said = what.sentence
            case Asked():
                said = what.error or ""
        self.query_one("#why", Static).update(Content(said))
        self.refresh_bindings()

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if not self.is_mounted or (action == "discard" and self.file is not None):
            return None
        if action == "retry" and self.file is not None:
            return "This was never sent: enter opens it again in your editor, and sends it from there."
        if action in ("retry", "discard") and self.entry is None:
            return "Only a write that waits can be sent again or discarded. This is a request that was made."
        return None

    def action_retry(self) -> None:
        if (entry := self.entry) is not None:
            self._do(f"send “{entry.doing}” again", self.octavo.session.outbox.retry(entry.id))

    def action_discard(self) -> None:
        if (file := self.file) is not None:
            kept_files.throw_away(self.octavo, file)
            return
        if (entry := self.entry) is not None:
            self._do(f"discard “{entry.doing}”", self.octavo.session.outbox.discard(entry.id))

    def _do(self, doing: str, work: Awaitable[None]) -> None:
        app = self.octavo

        async def done() -> None:
            try:
                await work
            except NotSaved as error:
                app.say(f"Couldn't {doing}: {error}", tone="failed")

        app.background(done())

    def action_close(self) -> None:
        self.dismiss(None)
