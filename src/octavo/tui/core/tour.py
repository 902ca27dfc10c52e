"""The tour of the demo. It has five steps; the next step is shown below the top bar."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from octavo.tui.terminal.textual_internals import keymap_of
from octavo.tui.widgets.commands import key_name

if TYPE_CHECKING:
    from textual.app import App

    from octavo.tui.core.shell import Shell

_FACT = "tour"
"""Name of the fact that stores the number of completed steps."""


class TourStep(NamedTuple):
    """A step of the tour."""

    commands: tuple[str, ...]
    """Ids of the commands that complete the step."""
    key: str
    """Default key of the first command."""
    purpose: str
    """End of the sentence “Press KEY to …”."""


STEPS = (
    TourStep(("view.changes",), "3", "list the change requests"),
    TourStep(("list.open",), "enter", "open the selected change request"),
    TourStep(("diff.next_thread",), "t", "go to the next thread in the diff"),
    TourStep(("comment.block", "diff.comment"), "c", "add a comment or a reply"),
    TourStep(("app.palette",), ":", "find any command by name"),
)


class Tour:
    """Progress of the tour, stored with the session. Only the demo has a tour."""

    def __init__(self, app: Shell, on_change: Callable[[], None]) -> None:
        self._app, self._on_change = app, on_change

    @property
    def is_offered(self) -> bool:
        return self._app.has_session and self._app.session.kind == "demo"

    @property
    def next_step(self) -> int | None:
        """Index of the next step. None if no tour is active."""
        step_count = self._app.session.state.get_fact(_FACT, 0) if self.is_offered else None
        return step_count if isinstance(step_count, int) and 0 <= step_count < len(STEPS) else None

    @property
    def instruction(self) -> str:
        """The next step in a sentence. Empty if no tour is active."""
        if (index := self.next_step) is None:
            return ""
        step = STEPS[index]
        return f"Tour {index + 1}/{len(STEPS)}  Press {self._key(step.commands[0], step.key)} to {step.purpose}."

    @property
    def exit_hint(self) -> str:
        """The key that leaves the tour, and its label."""
        return f"{self._key('app.tour', 'f6')} leave tour"

    def _key(self, id: str, default: str) -> str:
        chosen = keymap_of(cast("App[Any]", self._app)).get(id)
        return key_name(chosen.split(",")[0].strip()) if chosen else default

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
        self._app.session.state.set_fact(_FACT, step_count)
        self._on_change()
