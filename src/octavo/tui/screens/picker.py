"""Choose one or several of anything: people, organizations, spaces, themes, reactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from textual.binding import Binding, BindingType

from octavo.tui.screens.chooser import Choice, Chooser, Found
from octavo.tui.widgets.rows import Rows

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


class ManyPicker(Chooser[tuple[T, ...] | None, T]):
    """Choose several: tab ticks, enter takes what is ticked, or the one at the cursor. None: nothing was chosen."""

    FOOT: ClassVar[str] = "tab ticks · enter takes what is ticked · esc close"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("tab", "tick", "Tick", tooltip="Tick the one at the cursor", id="chooser.tick", priority=True),
    ]

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        *,
        ticked: Sequence[T] = (),
        empty: str = "Nothing to choose.",
    ) -> None:
        """`ticked` are the values that begin ticked."""
        super().__init__(title, choices, empty=empty)
        self._ticked = {number for number, choice in enumerate(choices) if choice.value in ticked}

    def rows_widget(self) -> Rows[Found[T]]:
        rows = super().rows_widget()
        rows.is_ticked = lambda key: key in self._ticked
        return rows

    def action_tick(self) -> None:
        found = self.rows.item
        if found is not None and not found.choice.off:
            self._ticked ^= {found.number}
            self.rows.redraw()
            self.rows.action_move(1)

    def take(self, choice: Choice[T]) -> None:
        ticked = tuple(each.value for number, each in enumerate(self._choices) if number in self._ticked)
        self.dismiss(ticked or (choice.value,))
