"""The command palette: every command, view and theme by name, the commands of the current view first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from textual.content import Content
from textual.screen import Screen

from octavo.tui.widgets.chooser import Choice, Chooser, MatchedChoice
from octavo.tui.widgets.commands import ActiveCommand, commands_by_relevance
from octavo.tui.widgets.palette_words import SYNONYMS
from octavo.tui.widgets.row_list import Row
from octavo.tui.widgets.theme_picker import ThemePicker

_OMITTED = ("app.palette",)


PaletteValue = ActiveCommand | Callable[[], object] | str
"""A command of the current view, a function that opens another view, or the name of a theme."""


class PaletteScreen(Chooser[None, PaletteValue]):
    """A palette of the commands of the current view, the choices in `destinations`, and the themes. Enter runs the
    command, opens the view, or keeps the theme. The theme under the cursor is previewed."""

    PLACEHOLDER: ClassVar[str] = "Type to filter"
    UNIT: ClassVar[str] = "command"
    FOOT: ClassVar[str] = "enter run"
    SHOWS_EXPLANATION: ClassVar[bool] = True

    def __init__(
        self, view: Screen[Any], themes: ThemePicker, destinations: Sequence[Choice[PaletteValue]] = ()
    ) -> None:
        super().__init__("Command palette")
        self._view, self._themes, self._destinations = view, themes, destinations

    def choices(self) -> Sequence[Choice[PaletteValue]]:
        commands: list[Choice[PaletteValue]] = [
            Choice(
                command,
                command.title,
                detail=command.help if command.help != command.title else "",
                right=command.key,
                group=place,
                disabled_reason=command.reason or "",
                synonyms=SYNONYMS.get(command.id, ""),
            )
            for place, command in commands_by_relevance(self._view)
            if command.id not in _OMITTED
        ]
        now = self._themes.chosen
        themes: list[Choice[PaletteValue]] = [
            Choice(name, f"Theme {name}", right="current" if name == now else "", group="THEMES")
            for name in self._themes.names
        ]
        return [*commands, *self._destinations, *themes]

    def draw(self, found: MatchedChoice[PaletteValue]) -> Row:
        """Return the row of a choice. Search results have no headings, so the row of another view's command names that
        view."""
        row, place = super().draw(found), found.choice.view
        if found.match is None or not place:
            return row
        return replace(row, right=Content.assemble((f"  {place.capitalize()}  ", "$octavo-muted"), row.right))

    def preview(self, choice: Choice[PaletteValue]) -> None:
        self._themes.preview(choice.value if isinstance(choice.value, str) else None)

    def accept(self, choice: Choice[PaletteValue]) -> None:
        self._themes.keep(choice.value if isinstance(choice.value, str) else None)
        self.dismiss(None)
        if isinstance(choice.value, ActiveCommand):
            self.app.call_later(choice.value.run)
        elif not isinstance(choice.value, str):
            self.app.call_later(choice.value)

    def cancel(self) -> None:
        self._themes.keep(None)
        super().cancel()
