"""Choose one of anything: people, organizations, spaces, themes, reactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from octavo.tui.widgets.chooser import Choice, Chooser

T = TypeVar("T")


class Picker(Chooser[T | None, T]):
    """Choose one. None: nothing was chosen."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        *,
        empty: str = "Nothing to choose.",
        look: Callable[[T], None] | None = None,
        now: T | None = None,
    ) -> None:
        """`look` is called with each value the cursor comes to: a theme can be tried on. It begins on `now`."""
        super().__init__(title, choices, empty=empty)
        self._look, self._now = look, now

    def begin(self) -> None:
        number = next((number for number, choice in enumerate(self._choices) if choice.value == self._now), None)
        if number is not None:
            self.rows.go_to(number)

    def looked_at(self, choice: Choice[T]) -> None:
        if self._look is not None:
            self._look(choice.value)

    def take(self, choice: Choice[T]) -> None:
        self.dismiss(choice.value)
