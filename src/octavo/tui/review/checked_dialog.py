"""The dialog before something that cannot be taken back: the server is asked how it stands, and asked again before it is
sent (D16)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from octavo.api.errors import ApiError
from octavo.tui.widgets import wording
from octavo.tui.widgets.confirm import Confirm, Confirmed
from octavo.tui.widgets.fact_list import Fact

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
    same: Callable[[Seen], object]
    """What has to be as it was when it was shown, beside what was shown."""
    send: Callable[[Seen], Coroutine[Any, Any, None]]
    changed: str
    """What is said where that is another now."""
    goes_live: bool = False
    """Whether readers see it at once: then it is said how old the checks are, and a yes right after them does nothing."""


class CheckedDialog(Confirm, Generic[Seen]):
    """Asks the server, shows what it said, and is confirmed by `y`: another key than opened it."""

    def __init__(self, app: Shell, write: CheckedWrite[Seen]) -> None:
        super().__init__(
            write.title,
            verb=write.verb,
            intro=write.intro,
            facts=(Fact("asking", write.label, "asking the server"),),
            blocked=write.not_yet,
            check_again=self._look,
        )
        self._octavo, self._write = app, write
        self._seen: Seen | None = None
        self._shown: Shown | None = None
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
            self.read_first()
        shown = self._shown = write.shown(seen)
        self.update(
            facts=shown.facts,
            intro=shown.intro,
            after=shown.after,
            blocked=shown.blocked,
            typed=shown.typed,
            why_typed=shown.why_typed,
        )
        self._say_age()

    def _say_age(self) -> None:
        if self._write.goes_live and self._seen is not None:
            self.update(foot=f"checked {int(_since(self._checked_at))} s ago · r check again")

    def confirm(self) -> None:
        if self._answered or self._seen is None:
            return
        if _since(self._checked_at) > FRESH_SECONDS:
            # What was shown may not hold any more: look again, and go on only if it is still the same.
            self.run_worker(self._confirm_fresh(), exclusive=True, group="checks")
        else:
            self._go(self._seen)

    async def _confirm_fresh(self) -> None:
        before, shown = self._seen, self._shown
        await self._ask()
        after = self._seen
        if before is None or after is None or self._shown is None or self._shown.blocked:
            return
        if (self._write.same(before), shown) == (self._write.same(after), self._shown):
            self._go(after)
        else:
            self._octavo.say(self._write.changed, tone="care")

    def _go(self, seen: Seen) -> None:
        if self._answered or self not in self.app.screen_stack:
            return  # it was closed while it was looked again
        self._answered = True
        self._octavo.background(self._write.send(seen))
        self.dismiss(Confirmed())

    def cancel(self) -> None:
        self.workers.cancel_group(self, "checks")
        super().cancel()


def _since(moment: datetime) -> float:
    return (wording.clock() - moment).total_seconds()
