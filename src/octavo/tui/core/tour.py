"""The tour of the demo: its steps and their progress."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from octavo.data.state_db import StateDb
from octavo.tui.core.session import Session
from octavo.tui.widgets.commands import HostApp, key_name

_FACT = "tour"
"""Name under which the state of the session stores the number of completed steps."""


class TourStep(NamedTuple):
    """A step of the tour."""

    commands: tuple[str, ...]
    """Ids of the commands that complete the step."""
    key: str
    """Default key of the first command."""
    purpose: str
    """End of the sentence “Press KEY to …”."""
    place: str = ""
    """Start of the sentence, if the key works only in some views."""


STEPS = (
    TourStep(("view.changes",), "3", "list the change requests"),
    TourStep(("list.open",), "enter", "open a change request", "In that list, "),
    TourStep(("diff.next_thread",), "t", "see the next thread", "In a change request, "),
    TourStep(("comment.block", "diff.comment"), "c", "comment or reply", "In a change request, "),
    TourStep(("app.palette",), ":", "find any command by name"),
)


class Tour:
    """Progress of the tour, stored with the session. Only the demo has a tour."""

    def __init__(self, app: HostApp[Any], on_change: Callable[[], None]) -> None:
        self._app, self._on_change = app, on_change
        self._state: StateDb | None = None
        """State of the session. None outside the demo."""

    def follow(self, session: Session | None) -> None:
        """Use the progress stored in `session`."""
        self._state = session.state if session is not None and session.kind == "demo" else None

    @property
    def is_offered(self) -> bool:
        return self._state is not None

    @property
    def next_step(self) -> int | None:
        """Index of the next step. None if no tour is active."""
        step_count = self._state.get_fact(_FACT, 0) if self._state is not None else None
        return step_count if isinstance(step_count, int) and 0 <= step_count < len(STEPS) else None

    @property
    def instruction(self) -> str:
        """The next step in a sentence. Empty if no tour is active."""
        if (index := self.next_step) is None:
            return ""
        step = STEPS[index]
        press = f"{'press' if step.place else 'Press'} {self._key(step.commands[0], step.key)}"
        return f"Tour {index + 1}/{len(STEPS)}  {step.place}{press} to {step.purpose}."

    @property
    def exit_hint(self) -> str:
        """The key that leaves the tour, and its label."""
        return f"{self._key('app.tour', 'f6')} leave tour"

    def _key(self, id: str, default: str) -> str:
        keys = self._app.keys_of_user.get(id)
        return key_name(keys.split(",")[0].strip()) if keys else default

    def complete_step(self, id: str) -> None:
        """Complete the next step if the command `id` is one of its commands."""
        index = self.next_step
        if index is None or id not in STEPS[index].commands:
            return
        self._save(index + 1)
        if index + 1 == len(STEPS):
            self._app.say("Tour complete. In any view, press ? to see its keyboard shortcuts.")

    def toggle(self) -> None:
        """Start the tour at its first step, or leave it."""
        self._save(0 if self.next_step is None else len(STEPS))

    def _save(self, step_count: int) -> None:
        if self._state is not None:
            self._state.set_fact(_FACT, step_count)
        self._on_change()
