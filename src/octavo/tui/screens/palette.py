"""The command palette: everything that can be done where it was opened, by name, and the colours to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.screen import Screen

from octavo.tui.commands import Command, active_commands
from octavo.tui.screens.chooser import Choice, Chooser
from octavo.tui.trying_on import TryingOn

_NOT_HERE = ("app.palette",)
_STEPS = ("down", "up", "top", "bottom", "page_down", "page_up")
"""What nobody looks for by name: the last in each place."""


class PaletteScreen(Chooser[None, Command | str]):
    """Lists the commands of the screen below, then the themes by name. Enter closes it and runs a command there, or keeps
    the theme: one that the cursor is on is tried on."""

    PLACEHOLDER: ClassVar[str] = "What do you want to do?"
    FOOT: ClassVar[str] = "enter runs it · esc close"

    def __init__(self, below: Screen[Any], themes: TryingOn) -> None:
        super().__init__("Commands")
        self._below, self._themes = below, themes

    def choices(self) -> Sequence[Choice[Command | str]]:
        commands: list[Choice[Command | str]] = [
            Choice(
                command,
                command.title,
                detail=command.help if command.help != command.title else "",
                right=command.key,
                group=command.context.upper(),
                off=command.reason or "",
            )
            for command in active_commands(self._below)
            if command.id not in _NOT_HERE
        ]
        places = list(dict.fromkeys(each.group for each in commands))
        commands.sort(key=lambda each: (places.index(each.group), _is_step(each)))
        now = self._themes.before
        themes: list[Choice[Command | str]] = [
            Choice(name, f"Theme {name}", right="now" if name == now else "", group="THEMES")
            for name in self._themes.names
        ]
        return [*commands, *themes]

    def looked_at(self, choice: Choice[Command | str]) -> None:
        self._themes.try_on(choice.value if isinstance(choice.value, str) else None)

    def take(self, choice: Choice[Command | str]) -> None:
        self._themes.keep(choice.value if isinstance(choice.value, str) else None)
        self.dismiss(None)
        if isinstance(choice.value, Command):
            self.app.call_later(choice.value.run)

    def action_close(self) -> None:
        self._themes.keep(None)
        super().action_close()


def _is_step(choice: Choice[Command | str]) -> bool:
    return isinstance(choice.value, Command) and choice.value.id.rpartition(".")[2] in _STEPS
