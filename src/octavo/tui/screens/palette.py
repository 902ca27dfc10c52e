"""The command palette: everything that can be done where it was opened, by name, and the colours to choose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.screen import Screen

from octavo.tui.commands import Command, active_commands, key_bar
from octavo.tui.screens.chooser import Choice, Chooser
from octavo.tui.trying_on import TryingOn

_NOT_HERE = ("app.palette",)
_STEPS = ("down", "up", "top", "bottom", "page_down", "page_up", "read_back", "prev_block", "next_block")
"""What nobody looks for by name: it comes after all there is to do."""
_MOVING = "MOVING ABOUT"


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
                group=place,
                off=command.reason or "",
            )
            for place, command in _most_wanted_first(self._below)
        ]
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


def _most_wanted_first(below: Screen[Any]) -> list[tuple[str, Command]]:
    """The commands, each with what it stands under: nearest place first, there first what the key bar shows; steps last."""
    commands = [command for command in active_commands(below) if command.id not in _NOT_HERE]
    ids = {command.id for command in commands}
    shown = [command.id for command in key_bar(below)]

    def heading(command: Command) -> str:
        place, _, name = command.id.rpartition(".")
        # An `up` without a `down` is a way back.
        return _MOVING if name in _STEPS and f"{place}.down" in ids else command.context.upper()

    places = dict.fromkeys(command.context.upper() for command in commands)
    order = [*places, _MOVING]

    def rank(command: Command) -> tuple[int, int]:
        at = shown.index(command.id) if command.id in shown else len(shown)
        return (order.index(heading(command)), at)

    return [(heading(command), command) for command in sorted(commands, key=rank)]
