"""Activity: writes that wait or need a person, and the last requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from octavo.api import comments
from octavo.api.activity import Activity
from octavo.data.offline_spaces import OfflineSpace
from octavo.data.state_db import NotSaved
from octavo.data.writes.machine import OutboxEntry, blocked_by
from octavo.tui.app import editor_files
from octavo.tui.app.editor_files import KeptFile
from octavo.tui.comments.thread_actions import first_words
from octavo.tui.content import keeping_offline
from octavo.tui.shell.kept_words import mark_of, megabytes, said_of
from octavo.tui.shell.workspace import MAY_BE_SENT
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.dialog import STYLES, Dialog, DialogFrame
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, Heading, Row, RowList
from octavo.tui.widgets.wording import as_clause, plural, short_age

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed


@dataclass(frozen=True)
class Mistake:
    """A setting that cannot be used."""

    sentence: str


Line = tuple[str, OutboxEntry | Mistake | KeptFile | OfflineSpace | Activity]
STATES = {
    "pending": "pending comment",
    "held": "sending soon",
    "queued": "queued",
    "sending": "sending",
    "unknown": "checking",
    "failed": "failed",
}
_HEADINGS: dict[type, str] = {
    Mistake: "INVALID SETTINGS",
    KeptFile: "DRAFTS FROM YOUR EDITOR",
    OfflineSpace: "AVAILABLE OFFLINE",
    Activity: "API REQUESTS",
}
_OF_WRITES = ("WAITING FOR YOUR DECISION", "FAILED", "IN PROGRESS")
"""Headings of writes. Those that need a decision come first."""
_MOST_NAMED = 5
"""Writes that are named before they are discarded."""


def _why_not_sent(app: Shell, view: ActivityScreen) -> str | None:
    if others := [said for each in view.chosen if (said := app.session.outbox.other_account_reason(each))]:
        return f"{others[0]} Press X to discard the change and keep its text as a draft."
    if view.kept is not None and not view.chosen:
        return "Offline spaces are updated automatically. Press X to remove this offline copy."
    if view.file is not None and not view.chosen:
        return "This draft was not sent. Press enter to open the draft in your editor, then send it."
    return _why_not_changed(app, view)


def _why_not_discarded(app: Shell, view: ActivityScreen) -> str | None:
    return None if (view.file or view.kept) and not view.chosen else _why_not_changed(app, view)


def _why_not_changed(app: Shell, view: ActivityScreen) -> str | None:
    chosen = view.chosen
    if not chosen:
        return "You can retry or discard only unsent changes."
    if all(each.state == "sending" for each in chosen):
        return "This change is being sent. Wait a moment."
    return None


def _can_retry(app: Shell, view: ActivityScreen) -> bool:
    return any(each.state not in ("held", "sending") for each in view.chosen)


def _can_discard(app: Shell, view: ActivityScreen) -> bool:
    return bool(view.chosen or view.file or view.kept)


def _can_undo(app: Shell, view: ActivityScreen) -> bool:
    return any(each.state == "held" for each in app.session.outbox.entries)


ACTIVITY: Commands[ActivityScreen] = Commands(
    "activity",
    (
        Command("undo", "u", "Undo", "Undo your last change", run=lambda app, _: app.undo(), applies=_can_undo),
        Command("retry", "r", "Retry", "Retry the selected changes", writes=True, run=lambda _, view: view.retry(), why_not=_why_not_sent, applies=_can_retry),
        Command("discard", "X", "Discard", "Discard the selected changes, but keep their text as drafts",
                run=lambda _, view: view.discard(), why_not=_why_not_discarded, applies=_can_discard),
        Command("close", "escape,q,exclamation_mark", "Close", "Close the activity list", run=lambda _, view: view.dismiss(None)),
    ),
    find=lambda view: view,
)  # fmt: skip


class ActivityScreen(Dialog[None]):
    """What is under way, what went wrong, and what can be done about it."""

    CSS_PATH: ClassVar[str | PurePath | list[str | PurePath] | None] = [
        STYLES / "dialog.tcss",
        PurePath(__file__).with_name("activity.tcss"),
    ]
    CONTEXT: ClassVar[str] = "activity"
    HELP: ClassVar[str] = (
        "This list shows unsent changes, drafts from your editor, offline spaces, and recent API requests. "
        "Press r to retry a change, X to discard a change and keep its text as a draft, x to select a change, or enter to open a draft in your editor. "
        "If a change might already have been sent, check on the server whether the change was made before you retry it. "
        "Press esc to close the list."
    )
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (ACTIVITY,)

    _files: tuple[KeptFile, ...] = ()
    """What editors wrote and nobody took, when that was looked for last."""

    @property
    def shell(self) -> Shell:
        return cast("Shell", self.app)

    def body(self) -> ComposeResult:
        rows: RowList[Line] = RowList(
            self._draw,
            key=lambda line: line[0],
            groups=lambda line: [Heading(_heading(line[1]))],
            selectable=lambda line: (
                isinstance(line[1], OutboxEntry) and (line[1].needs_user or line[1].state == "failed")
            ),
            columns=(
                Column("", 18),
                Column("", min_width=30),
                Column("", 8, right=True),
                Column("", 6, right=True, drop_order=1),
            ),
            empty="No activity yet.",
            id="lines",
        )
        with DialogFrame() as frame:
            frame.set_border_texts("Activity")
            yield rows
            yield Static("", id="why")

    @property
    def rows(self) -> RowList[Line]:
        return self.query_one("#lines", RowList)

    def on_mount(self) -> None:
        self.shell.workspace.frame_changed.subscribe(self, lambda _: self._show())
        self._look_for_files()
        self.rows.focus()

    def on_screen_resume(self) -> None:
        self._look_for_files()

    def _look_for_files(self) -> None:
        if self.shell.has_session:
            self._files = editor_files.kept_files(self.shell)
            self._show()

    def _show(self) -> None:
        if not self.shell.has_session:
            return  # it ended meanwhile
        session = self.shell.session
        entries = sorted(session.outbox.entries, key=lambda entry: _OF_WRITES.index(_heading(entry)))
        lines: list[Line] = [(entry.id, entry) for entry in entries]
        lines += [(f"setting {at}", Mistake(each)) for at, each in enumerate(self.shell.mistakes)]
        lines += [(file.path.name, file) for file in self._files]
        lines += [(f"kept {kept.id}", kept) for kept in session.offline.all]
        asked = list(session.activity())
        lines += [(f"{len(asked) - at} {each.moment.timestamp()}", each) for at, each in enumerate(asked, 1)]
        self.rows.show(lines)
        self._say_why()

    def _draw(self, line: Line) -> Row:
        what = line[1]
        if isinstance(what, OutboxEntry):
            style = "$error" if what.needs_user else "$warning" if what.state != "failed" else "$octavo-muted"
            state = MAY_BE_SENT if what.needs_user and what.state == "unknown" else STATES.get(what.state, what.state)
            return Row(
                cells=(
                    Content.styled(state, style),
                    Content.assemble(what.action, (f"  {self._about(what)}", "$octavo-muted")),
                    "",
                    short_age(what.created_at),
                )
            )
        if isinstance(what, Mistake):
            return Row(cells=(Content.styled("ignored", "$warning"), what.sentence, "", ""))
        if isinstance(what, KeptFile):
            return Row(cells=(Content.styled("not sent", "$warning"), what.about.title, "", short_age(what.saved_at)))
        if isinstance(what, OfflineSpace):
            style = "$warning" if what.failed or what.state in ("waiting", "lost") else "$octavo-muted"
            detail = (f"  {said_of(what)}", "$octavo-muted")
            return Row(
                cells=(
                    Content.styled(mark_of(what), style),
                    Content.assemble(what.title, detail),
                    megabytes(what.bytes),
                    short_age(what.read_at),
                )
            )
        status = str(what.status) if what.status else "canceled" if what.given_up else "no response"
        style = "$octavo-muted" if what.given_up else "$error" if what.error else "$success"
        return Row(
            cells=(
                f"{what.method} {what.attempts}x" if what.attempts > 1 else what.method,
                what.route,
                Content.styled(status, style),
                f"{what.ms:.0f}ms",
            )
        )

    def _about(self, entry: OutboxEntry) -> str:
        """The thread and page it is done to, and the space. A new thread is called by its words."""
        space = self.shell.workspace.space(entry.at.space_id)
        begins = isinstance(entry.op, comments.Create) and entry.context
        about = f"{first_words(entry.facts.text)} on {entry.context}" if begins else entry.context
        return " ".join(filter(None, (about, f"in {space.title}" if space is not None else "")))

    def _why(self, entry: OutboxEntry) -> str:
        """Why it is not done yet, in a sentence. Empty when all goes well."""
        return self.shell.session.outbox.other_account_reason(entry) or entry.reason or self._waits_for(entry)

    def _waits_for(self, entry: OutboxEntry) -> str:
        """What it waits for, in a sentence: another write, or the server."""
        outbox = self.shell.session.outbox
        first = blocked_by(entry, outbox.entries) if entry.state == "queued" else None
        if first is None:
            return outbox.connection.pause_reason if entry.state == "queued" else ""
        named = f"{first.action} · {about}" if (about := self._about(first)) else first.action
        return f"Waiting for another change to be sent first: {named}."

    @property
    def chosen(self) -> list[OutboxEntry]:
        """The writes that are ticked, or else the one the cursor is on."""
        ticked = [
            what for key, what in self.rows.items if key in self.rows.selection.keys and isinstance(what, OutboxEntry)
        ]
        what = self.rows.item[1] if self.rows.item else None
        return ticked or ([what] if isinstance(what, OutboxEntry) else [])

    @property
    def file(self) -> KeptFile | None:
        """The text from an editor the cursor is on."""
        what = self.rows.item[1] if self.rows.item else None
        return what if isinstance(what, KeptFile) else None

    @property
    def kept(self) -> OfflineSpace | None:
        """The space kept for offline that the cursor is on."""
        what = self.rows.item[1] if self.rows.item else None
        return what if isinstance(what, OfflineSpace) else None

    @on(LineList.Opened)
    def _open_again(self) -> None:
        if (file := self.file) is not None:
            self.dismiss(None)
            self.app.call_later(editor_files.open_again, self.shell, file)
        elif self.rows.item is not None:
            self.shell.explain("You cannot open this item. For details, see the line below the list.")

    @on(RowList.SelectionChanged)
    @on(LineList.Highlighted)
    def _say_why(self) -> None:
        what = self.rows.item[1] if self.rows.item else None
        said = ""
        match what:
            case OutboxEntry():
                about = self._about(what)
                said = " ".join(
                    filter(
                        None,
                        (self._why(what), f"{about[:1].upper()}{about[1:]}." if about else ""),
                    )
                )
            case KeptFile() | Mistake():
                said = what.sentence
            case OfflineSpace():
                failed = "; ".join(f"{each.what}: {as_clause(each.why)}" for each in what.failed[:_MOST_NAMED])
                said = f"{what.title}: {said_of(what)}." + (f" {failed}." if failed else "")
            case Activity():
                said = what.error
        if self.rows.selection.keys:
            number = len(self.rows.selection.keys)
            them, draft = ("it", "a draft") if number == 1 else ("them", "drafts")
            said = f"{plural(number, 'change')} selected. Press r to retry {them}, or X to discard {them} and keep the text as {draft}."
        self.query_one("#why", Static).update(Content(said))
        self.refresh_bindings()

    def retry(self) -> None:
        """Send what is chosen again."""
        self._do("send", "again", self.chosen, self.shell.session.outbox.retry)

    def discard(self) -> None:
        """Ask whether what is chosen is to be thrown away, the text from the editor, or what is kept of a space."""
        if chosen := self.chosen:
            self._ask_to_discard(chosen)
        elif (file := self.file) is not None:
            editor_files.throw_away(self.shell, file)
        elif (kept := self.kept) is not None:
            keeping_offline.ask_to_let_go(self.shell, kept)

    def _ask_to_discard(self, chosen: Sequence[OutboxEntry]) -> None:
        from octavo.tui.widgets.confirm import ConfirmDialog

        def decided(answer: Confirmed | None) -> None:
            if answer is not None:
                self._do("discard", "", chosen, self.shell.session.outbox.discard)

        several = len(chosen) > 1
        named = "\n".join(f"{each.action}  {self._about(each)}".rstrip() for each in chosen[:_MOST_NAMED])
        more = f"\nand {len(chosen) - _MOST_NAMED} more" if len(chosen) > _MOST_NAMED else ""
        title = f"Discard {len(chosen)} changes?" if several else "Discard this change?"
        after = f"{'These changes' if several else 'This change'} will not be sent. Your text will be kept as a draft."
        if any(each.state == "unknown" for each in chosen):
            after += " If a change has already reached the server, it may still take effect."
        self.app.push_screen(ConfirmDialog(title, verb="Discard", intro=named + more, after=after), decided)

    def _do(self, verb: str, how: str, chosen: Sequence[OutboxEntry], step: Callable[[str], Awaitable[None]]) -> None:
        """Do it with one after the other: what was done stays done when the disk refuses the next."""
        app = self.shell
        self.rows.selection.clear()

        async def done() -> None:
            for entry in chosen:
                try:
                    await step(entry.id)
                except NotSaved as error:
                    app.say(f"Could not {f'{verb} “{entry.action}” {how}'.rstrip()}: {error}", tone="failed")
                    return

        app.background(done())


def _heading(what: OutboxEntry | Mistake | KeptFile | OfflineSpace | Activity) -> str:
    if not isinstance(what, OutboxEntry):
        return _HEADINGS[type(what)]
    decide, told, under_way = _OF_WRITES
    return decide if what.needs_user else told if what.state == "failed" else under_way
