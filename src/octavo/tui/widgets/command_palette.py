"""The command palette: everything that can be done where it was opened, by name, and the colours to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.screen import Screen

from octavo.tui.widgets.chooser import Choice, Chooser
from octavo.tui.widgets.commands import ActiveCommand, by_relevance
from octavo.tui.widgets.theme_picker import ThemePicker

_NOT_HERE = ("app.palette",)


class PaletteScreen(Chooser[None, ActiveCommand | str]):
    """Lists the commands of the screen below, then the themes by name. Enter closes it and runs a command there, or keeps
    the theme: one that the cursor is on is tried on."""

    PLACEHOLDER: ClassVar[str] = "Type a command"
    FOOT: ClassVar[str] = "enter run"
    EXPLAINS: ClassVar[bool] = True

    def __init__(self, below: Screen[Any], themes: ThemePicker) -> None:
        super().__init__("Command palette")
        self._below, self._themes = below, themes

    def choices(self) -> Sequence[Choice[ActiveCommand | str]]:
        commands: list[Choice[ActiveCommand | str]] = [
            Choice(
                command,
                command.title,
                detail=command.help if command.help != command.title else "",
                right=command.key,
                group=place,
                off=command.reason or "",
            )
            for place, command in by_relevance(self._below)
            if command.id not in _NOT_HERE
        ]
        now = self._themes.before
        themes: list[Choice[ActiveCommand | str]] = [
            Choice(name, f"Theme {name}", right="current" if name == now else "", group="THEMES")
            for name in self._themes.names
        ]
        return [*commands, *themes]

    def looked_at(self, choice: Choice[ActiveCommand | str]) -> None:
        self._themes.try_on(choice.value if isinstance(choice.value, str) else None)

    def take(self, choice: Choice[ActiveCommand | str]) -> None:
        self._themes.keep(choice.value if isinstance(choice.value, str) else None)
        self.dismiss(None)
        if isinstance(choice.value, ActiveCommand):
            self.app.call_later(choice.value.run)

    def close_empty(self) -> None:
        self._themes.keep(None)
        super().close_empty()
