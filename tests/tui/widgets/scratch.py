"""A test app for widgets, and functions that read its screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Hashable, Iterable
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.message import Message
from textual.pilot import Pilot
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from octavo.tui.terminal.textual_internals import painted_rows
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.themes import themes

PICTURES = Path(__file__).parent / "pictures"

HOSTILE = (
    "[@click=app.quit]x[/]",
    "[/x]",
    "[bold",
    "a\x1b]52;c;aGk=\x07b",
    "\x1b[2J\x1b[31mred",
    "\x9b31m",
    "\u202eevil\u2066",
    "$octavo-note[$primary]x",
)


class Scratch(HostApp[None]):
    """A test app that shows widgets one below the other, and records the messages that it gets."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, *widgets: Widget) -> None:
        super().__init__()
        self._widgets = widgets
        self.got: list[Message] = []
        self.explained: list[str] = []
        for theme in themes():
            self.register_theme(theme)
        self.theme = themes()[0].name

    def compose(self) -> ComposeResult:
        yield from self._widgets or (Static(),)

    def explain(self, sentence: str) -> None:
        self.explained.append(sentence)

    def keep(self, message: Message) -> None:
        """Record a message."""
        self.got.append(message)

    def got_of(self, kind: type[Any]) -> list[Any]:
        """Return the recorded messages of one kind, in order."""
        return [message for message in self.got if type(message) is kind]


def strips(screen: Screen[Any]) -> list[Strip]:
    """Return the lines of `screen` with styles."""
    return painted_rows(screen)


def lines(app: Scratch) -> list[str]:
    """Return the lines of the terminal without trailing spaces."""
    return [strip.text.rstrip() for strip in strips(app.screen)]


def shown(app: Scratch) -> str:
    """Return the text of the terminal."""
    return "\n".join(lines(app)).rstrip() + "\n"


async def check_picture(name: str, app: Scratch) -> None:
    """Compare the idle screen with its picture. With OCTAVO_PICTURES=new, write the picture instead."""
    path = PICTURES / f"{name}.txt"
    await wait_idle(app)
    if os.environ.get("OCTAVO_PICTURES") == "new":
        path.write_text(shown(app), encoding="utf-8")
    assert shown(app) == path.read_text(encoding="utf-8")


async def wait_idle(app: Scratch) -> None:
    """Wait until the screen stays the same for three frames."""
    before, same = "", 0
    while same < 3:
        await asyncio.sleep(1 / 60)
        now = shown(app)
        before, same = now, same + 1 if now == before else 0


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Wait until `holds` returns True. The time limit of the test ends the wait otherwise."""
    while not holds():
        await pilot.pause(0.01)


def harmless(texts: Iterable[str]) -> bool:
    """Return whether no text has a control character."""
    bad = {*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
    return not any(ord(character) in bad for text in texts for character in text)


def selected_key(lines: LineList) -> Hashable | None:
    """Return the key of the selected row."""
    return lines.key
