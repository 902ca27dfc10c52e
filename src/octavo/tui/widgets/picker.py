"""A dialog to pick an item from a list, such as a person, a space, a theme or a reaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TypeVar

from textual import on
from textual.timer import Timer
from textual.widgets import Input

from octavo.tui.widgets.chooser import MAX_TITLE_WIDTH, Choice, Chooser
from octavo.tui.widgets.dialog import DialogFrame
from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.safe_text import safe

T = TypeVar("T")

NARROWEST_ROW = 64
"""Cells for the title and explanation in a row on the narrowest screen."""
SEARCH_DELAY = 0.3
"""Seconds after the last key press before `find_more` is called."""


class Picker(Chooser[T | None, T]):
    """A dialog whose result is the chosen value, or None if it was closed."""

    def __init__(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        *,
        empty: str = "No items to choose from.",
        on_preview: Callable[[T], None] | None = None,
        initial: T | None = None,
        find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]] | None = None,
        is_loading: bool = False,
    ) -> None:
        """`on_preview` is called with each value that the cursor reaches, for example to preview a theme. `initial` is selected
        first. `find_more` searches for choices that are not in the list, for lists too long to load. With `is_loading`, the
        choices are still loading: the user can already type, and the caller passes them to `show_loaded`."""
        super().__init__(title, choices, empty=empty, is_loading=is_loading)
        self._on_preview, self._initial, self._find_more = on_preview, initial, find_more
        self._search_timer: Timer | None = None
        told = [
            (safe(each.title).cell_length, safe(each.disabled_reason or each.detail).cell_length) for each in choices
        ]
        titles = min(max((title for title, about in told if about), default=0), MAX_TITLE_WIDTH)
        self._has_long_details = any(titles + about > NARROWEST_ROW for _, about in told)

    @property
    def shows_explanation(self) -> bool:
        """Whether an explanation is too long for a row on the narrowest screen, and is shown below the list."""
        return self._has_long_details

    def select_initial(self) -> None:
        number = next((number for number, choice in enumerate(self._choices) if choice.value == self._initial), None)
        if number is not None:
            self.rows.go_to(number)

    def show_loaded(
        self,
        title: str,
        choices: Sequence[Choice[T]],
        find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]] | None = None,
    ) -> None:
        """Show the loaded choices. The typed text stays."""
        self._title, self._find_more, self.is_loading = title, find_more, False
        if not self.has_listed_choices:
            self._choices = choices
        elif self.is_attached:
            was_touched = bool(self.rows.cursor)
            self.show_choices(choices)
            self.query_one(DialogFrame).set_border_texts(title, self.FOOT)
            if not was_touched and not self.query_one(FilterInput).value:
                self.select_initial()

    def preview(self, choice: Choice[T]) -> None:
        if self._on_preview is not None:
            self._on_preview(choice.value)

    def accept(self, choice: Choice[T]) -> None:
        self.dismiss(choice.value)

    @on(Input.Changed)
    def _search_later(self, message: Input.Changed) -> None:
        if self._search_timer is not None:
            self._search_timer.stop()
            self._search_timer = None
        if self._find_more is not None and message.value.strip():
            add = partial(self._add_found, self._find_more, message.value.strip())
            self._search_timer = self.set_timer(SEARCH_DELAY, lambda: self.run_worker(add(), exclusive=True))

    async def _add_found(self, find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]], words: str) -> None:
        found = await find_more(words)
        here = [each.value for each in self._choices]
        if new := [each for each in found if each.value not in here]:
            self.show_choices([*self._choices, *new])
