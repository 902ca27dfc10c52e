"""Dialogs to pick an item from a list, such as a person, a space or a theme. Themes are previewed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from textual import on
from textual.timer import Timer
from textual.widgets import Input

from octavo.tui.widgets.chooser import MAX_TITLE_WIDTH, Choice, Chooser
from octavo.tui.widgets.dialog import DialogFrame
from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.safe_text import safe
from octavo.tui.widgets.themes import THEME_DETAILS, palettes

if TYPE_CHECKING:
    from textual.app import App

T = TypeVar("T")

NARROWEST_ROW = 64
"""Cells for the title and explanation in a row on the narrowest screen."""
SEARCH_DELAY = 0.3
"""Seconds after the last key press before `find_more` is called."""


class Picker(Chooser[T | None, T]):
    """A dialog whose result is the chosen value, or None if it was closed."""

    def __init__(
        self,
        title_width: str,
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
        super().__init__(title_width, choices, empty=empty, is_loading=is_loading)
        self._on_preview, self._initial, self._find_more = on_preview, initial, find_more
        self._search_timer: Timer | None = None
        widths = [
            (safe(each.title).cell_length, safe(each.disabled_reason or each.detail).cell_length) for each in choices
        ]
        title_column = min(
            max((title_width for title_width, detail_width in widths if detail_width), default=0), MAX_TITLE_WIDTH
        )
        self._has_long_details = any(title_column + detail_width > NARROWEST_ROW for _, detail_width in widths)

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
            search = partial(self._add_found, self._find_more, message.value.strip())
            self._search_timer = self.set_timer(SEARCH_DELAY, lambda: self.run_worker(search(), exclusive=True))

    async def _add_found(self, find_more: Callable[[str], Awaitable[Sequence[Choice[T]]]], words: str) -> None:
        found = await find_more(words)
        known_values = [each.value for each in self._choices]
        if new_choices := [each for each in found if each.value not in known_values]:
            self.show_choices([*self._choices, *new_choices])


class ThemePicker:
    """Previews themes in the app, and then keeps one or restores the theme before."""

    def __init__(self, app: App[Any], save: Callable[[str], None] = lambda name: None) -> None:
        """`save` saves the name of a chosen theme."""
        self._app, self._save = app, save
        self.chosen = app.theme
        """The chosen theme, which is restored after a preview."""

    @property
    def names(self) -> list[str]:
        """Names of all themes, those of Octavo first."""
        own = list(palettes())
        others = sorted(
            name for name in self._app.available_themes if name not in own and not name.startswith("textual-")
        )
        return own + others

    def preview(self, name: str | None) -> None:
        """Preview a theme. None restores the chosen theme."""
        if self._app.theme != (name := name or self.chosen):
            self._app.theme = name

    def choose(self) -> None:
        """Open a picker for the theme, which previews the theme under the cursor."""
        choices = [
            Choice(
                name,
                name,
                detail=THEME_DETAILS.get(name, ""),
                right="current" if name == self.chosen else "",
                group="OCTAVO THEMES" if name in palettes() else "POPULAR THEMES",
            )
            for name in self.names
        ]
        self._app.push_screen(Picker("Theme", choices, on_preview=self.preview, initial=self.chosen), self.keep)

    def keep(self, name: str | None) -> None:
        """Switch to a theme and save it. None restores the chosen theme."""
        self.preview(name)
        if name is not None:
            self.chosen = name
            self._save(name)
