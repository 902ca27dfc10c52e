"""The command palette: everything that can be done where it was opened, by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.screen import Screen

from octavo.tui.commands import Command, active_commands
from octavo.tui.screens.chooser import Choice, Chooser

_NOT_HERE = ("app.palette",)


class PaletteScreen(Chooser[None, Command]):
    """Lists the commands of the screen below. Enter closes it and runs one there."""

    PLACEHOLDER: ClassVar[str] = "What do you want to do?"
    FOOT: ClassVar[str] = "enter runs it · esc close"

    def __init__(self, below: Screen[Any]) -> None:
        super().__init__("Commands")
        self._below = below

    def choices(self) -> Sequence[Choice[Command]]:
        commands = active_commands(self._below)
        return [
            Choice(
                command,
                command.title,
                detail=command.help if command.help != command.title else "",
                right=command.key,
                group=command.context.upper(),
                off=command.reason or "",
            )
            for command in commands
            if command.id not in _NOT_HERE
        ]

    def take(self, choice: Choice[Command]) -> None:
        self.dismiss(None)
        self.app.call_later(choice.value.run)
