"""The tour of the demo: five steps, each done by a key, named in a strip below the top bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from octavo.tui.terminal.textual_internals import keymap_of
from octavo.tui.widgets.commands import key_name

if TYPE_CHECKING:
    from textual.app import App

    from octavo.tui.shell.host import Host

_FACT = "tour"
"""Name of the fact that keeps how many steps are done."""


class TourStep(NamedTuple):
    """A step of the tour."""

    commands: tuple[str, ...]
    """The ids of the commands that do the step."""
    key: str
    """The key of the first command, unless the settings name another key."""
    purpose: str
    """What the key is for, as it goes on from “Press KEY to”."""


STEPS = (
    TourStep(("view.changes",), "3", "list the change requests"),
    TourStep(("list.open",), "enter", "open the selected change request"),
    TourStep(("diff.next_thread",), "t", "go to the next thread in the diff"),
    TourStep(("comment.block", "diff.comment"), "c", "reply to a thread or comment on a block"),
    TourStep(("app.palette",), ":", "find any command by name"),
)


class Tour:
    """The step of the tour that comes next, kept with the session. Only the demo has a tour."""

    def __init__(self, app: Host, changed: Callable[[], None]) -> None:
        self._app, self._changed = app, changed

    @property
    def is_offered(self) -> bool:
        return self._app.has_session and self._app.session.kind == "demo"

    @property
    def next_step(self) -> int | None:
        """Index of the next step. None if no tour is on."""
        done = self._app.session.state.get_fact(_FACT, 0) if self.is_offered else None
        return done if isinstance(done, int) and 0 <= done < len(STEPS) else None

    @property
    def words(self) -> str:
        """The next step in a sentence. Empty if no tour is on."""
        if (at := self.next_step) is None:
            return ""
        step = STEPS[at]
        return f"Tour {at + 1}/{len(STEPS)}  Press {self._key(step.commands[0], step.key)} to {step.purpose}."

    @property
    def way_out(self) -> str:
        """The key that leaves the tour, and what the key does."""
        return f"{self._key('app.tour', 'f6')} leave tour"

    def _key(self, id: str, default: str) -> str:
        chosen = keymap_of(cast("App[Any]", self._app)).get(id)
        return key_name(chosen.split(",")[0].strip()) if chosen else default

    def command_ran(self, id: str) -> None:
        """Go on to the next step if a command does the step that is named."""
        at = self.next_step
        if at is None or id not in STEPS[at].commands:
            return
        self._keep(at + 1)
        if at + 1 == len(STEPS):
            self._app.say("Tour complete. Press ? to see the keys in any view.")

    def start_or_leave(self) -> None:
        """Start the tour at its first step, or leave it."""
        self._keep(0 if self.next_step is None else len(STEPS))

    def _keep(self, done: int) -> None:
        self._app.session.state.set_fact(_FACT, done)
        self._changed()
