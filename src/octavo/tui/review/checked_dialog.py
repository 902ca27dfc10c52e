"""The dialog before something that cannot be taken back: the server is asked how it stands, and asked again before it is
sent (D16)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from textual.screen import Screen

from octavo.api.errors import ApiError
from octavo.tui.widgets import wording
from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.text_widgets import Fact

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

FRESH_SECONDS = 5.0
"""What was seen longer ago than this is looked at again before anything is sent."""

Seen = TypeVar("Seen")


@dataclass(frozen=True)
class Shown:
    """What a dialog shows of what was found."""

    facts: tuple[Fact, ...]
    intro: str | None = None
    """Instead of what it says while the server is asked."""
    after: str = ""
    blocked: str = ""
    """Why it cannot be done, if it cannot."""
    typed: str = ""
    """What has to be typed to do it, where one key is not enough."""
    why_typed: str = ""
    show_diff: Callable[[], None] | None = None
    """Shows the changes in full, in place of the dialog."""
    archive: Callable[[], None] | None = None
    """Asks whether to archive the change request, in place of the dialog."""


@dataclass(frozen=True)
class CheckedWrite(Generic[Seen]):
    """What is confirmed once the server has said how it stands."""

    title: str
    verb: str
    intro: str
    label: str
    """What is asked, as the label of a fact."""
    not_yet: str
    """Why it cannot be done before the answer is here."""
    unknown: str
    """Why it cannot be done where no answer came."""
    ask: Callable[[], Awaitable[Seen]]
    """Raises ApiError."""
    shown: Callable[[Seen], Shown]
    send: Callable[[Seen], Coroutine[Any, Any, str | None]]
    """Returns what changed since the answer, in sentences, if nothing was sent because of that."""
    again: str
    """What to do when something changed since the answer, in a sentence."""
    what_changed: Callable[[Seen, Seen], Awaitable[str]] | None = None
    """Returns what changed between two answers, in sentences. Empty if that is not known."""
    goes_live: bool = False
    """Whether readers see it at once: then it is said how old the checks are, and a yes right after them does nothing."""


OFFERS: Commands[CheckedDialog[Any]] = Commands(
    "checked",
    (
        Command("diff", "d", "Incoming changes", "Show the incoming changes page by page", run=lambda _, dialog: dialog.show_diff(),
                is_available=lambda _, dialog: dialog.shown is not None and dialog.shown.show_diff is not None),
        Command("archive", "L", "Archive", "Archive the change request instead", run=lambda _, dialog: dialog.archive(),
                is_available=lambda _, dialog: dialog.shown is not None and dialog.shown.archive is not None),
    ),
    find=lambda dialog: dialog,
)  # fmt: skip


class CheckedDialog(ConfirmDialog, Generic[Seen]):
    """Asks the server, shows what it said, and is confirmed by `y`: another key than opened it."""

    CONTEXT: ClassVar[str] = "checks before merging, updating, or reverting"
    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (OFFERS,)

    def __init__(self, app: Shell, write: CheckedWrite[Seen]) -> None:
        super().__init__(
            write.title,
            verb=write.verb,
            intro=write.intro,
            facts=(Fact("asking", write.label, "loading…"),),
            blocked=write.not_yet,
            check_again=self._look,
        )
        self._octavo, self._write = app, write
        self._seen: Seen | None = None
        self.shown: Shown | None = None
        self._checked_at = wording.clock()
        """When the server was asked."""

    def on_mount(self) -> None:
        self._look()
        if self._write.goes_live:
            self.set_interval(1.0, self._say_age)

    def _look(self) -> None:
        self.run_worker(self._ask(), exclusive=True, group="checks")

    async def _ask(self) -> None:
        checked_at, write = wording.clock(), self._write
        try:
            seen = await write.ask()
        except ApiError as error:
            self._seen = None
            foot = "not checked · r check again" if write.goes_live else None
            self.update(facts=(Fact("bad", write.label, str(error)),), blocked=write.unknown, foot=foot)
            return
        self._seen, self._checked_at = seen, checked_at
        if write.goes_live:
            self.require_reading()
        shown = self.shown = write.shown(seen)
        self.update(
            facts=shown.facts,
            intro=shown.intro,
            after=shown.after,
            blocked=shown.blocked,
            word=shown.typed,
            word_reason=shown.why_typed,
        )
        self._say_age()

    def _say_age(self) -> None:
        if self._write.goes_live and self._seen is not None:
            seconds = int(_since(self._checked_at))
            age = f"{seconds}s ago" if seconds else "just now"
            self.update(foot=f"checked {age} · r check again")

    def confirm(self) -> None:
        if self._is_answered or self._seen is None:
            return
        if _since(self._checked_at) > FRESH_SECONDS:
            # What was shown may not hold any more: look again, and go on only if it is still the same.
            self.run_worker(self._confirm_fresh(), exclusive=True, group="checks")
        else:
            self._go(self._seen)

    async def _confirm_fresh(self) -> None:
        before, shown = self._seen, self.shown
        await self._ask()
        after = self._seen
        if before is None or after is None or self.shown is None or self.shown.blocked:
            return
        if shown == self.shown:
            self._go(before)  # `send` compares what the first answer was made for
            return
        compare = self._write.what_changed
        said = await compare(before, after) if compare is not None else ""
        self._octavo.say(
            f"{said or 'Something has changed since the checks were loaded.'} {self._write.again}", tone="care"
        )

    def _go(self, seen: Seen) -> None:
        stack = self.app.screen_stack
        if self._is_answered or self not in stack:
            return  # it was closed while it was looked again
        self._is_answered = True
        self._octavo.background(self._send(seen, stack[stack.index(self) - 1]))
        self.dismiss(Confirmed())

    async def _send(self, seen: Seen, below: Screen[Any]) -> None:
        """Send the request. Open the dialog again, with new checks, if something changed since the answer."""
        if changed := await self._write.send(seen):
            self._octavo.say(changed, tone="care")
            if self._octavo.screen is below:
                self._octavo.push_screen(CheckedDialog(self._octavo, self._write))

    def show_diff(self) -> None:
        """Show the changes in full. The dialog opens again, with new checks, when they are closed."""
        if self.shown is not None and self.shown.show_diff is not None:
            self.shown.show_diff()

    def archive(self) -> None:
        """Close the dialog, and ask whether to archive the change request."""
        if self.shown is not None and (archive := self.shown.archive) is not None:
            self.cancel()
            archive()

    def cancel(self) -> None:
        self.workers.cancel_group(self, "checks")
        super().cancel()


def _since(moment: datetime) -> float:
    return (wording.clock() - moment).total_seconds()
