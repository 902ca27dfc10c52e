"""Choose one of anything: people, organizations, spaces, themes, reactions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from textual import on
from textual.timer import Timer
from textual.widgets import Input

from octavo.tui.widgets.chooser import TITLE_MOST, Choice, Chooser
from octavo.tui.widgets.dialog import Frame
from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.safe_text import safe

T = TypeVar("T")

NARROWEST = 64
"""Cells of a row for title and explanation where the screen is as narrow as it may be."""
PAUSE = 0.3
"""Seconds after the last letter until those are looked for that are not on the list."""


class Picker(Chooser[T | None, T]):
    """Choose one. None: nothing was chosen."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        *,
        empty: str = "No items to choose from.",
        look: Callable[[T], None] | None = None,
        now: T | None = None,
        find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]] | None = None,
        waits: bool = False,
    ) -> None:
        """`look` is called with each value the cursor comes to: a theme can be tried on. It begins on `now`. `find_more`
        finds by what is typed what is not among the choices: there are too many. `waits`: the choices are being read,
        and brought by `arrived`; letters are typed meanwhile."""
        super().__init__(title, choices, empty=empty, waits=waits)
        self._look, self._now, self._find_more = look, now, find_more
        self._finding: Timer | None = None
        told = [(safe(each.title).cell_length, safe(each.off or each.detail).cell_length) for each in choices]
        titles = min(max((title for title, about in told if about), default=0), TITLE_MOST)
        self._is_cut = any(titles + about > NARROWEST for _, about in told)

    @property
    def explains(self) -> bool:
        """Where a row cannot hold on the narrowest screen what is told of what is chosen: what it means, or why it cannot be."""
        return self._is_cut

    def begin(self) -> None:
        number = next((number for number, choice in enumerate(self._choices) if choice.value == self._now), None)
        if number is not None:
            self.rows.go_to(number)

    def arrived(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]] | None = None,
    ) -> None:
        """What there is to choose is read: what was typed holds."""
        self._title, self._find_more, self.waits = title, find_more, False
        if not self.is_shown:
            self._choices = choices
        elif self.is_attached:
            was_touched = bool(self.rows.cursor)
            self.show_choices(choices)
            self.query_one(Frame).name_it(title, self.FOOT)
            if not was_touched and not self.query_one(FilterInput).value:
                self.begin()

    def looked_at(self, choice: Choice[T]) -> None:
        if self._look is not None:
            self._look(choice.value)

    def take(self, choice: Choice[T]) -> None:
        self.dismiss(choice.value)

    @on(Input.Changed)
    def _typed_for_more(self, message: Input.Changed) -> None:
        if self._finding is not None:
            self._finding.stop()
            self._finding = None
        if self._find_more is not None and message.value.strip():
            add = partial(self._add, self._find_more, message.value.strip())
            self._finding = self.set_timer(PAUSE, lambda: self.run_worker(add(), exclusive=True))

    async def _add(self, find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]], words: str) -> None:
        found = await find_more(words)
        here = [each.value for each in self._choices]
        if new := [each for each in found if each.value not in here]:
            self.show_choices([*self._choices, *new])
