"""A line for the path of a file: what goes on with what is typed is shown behind it, and tab or → takes it."""

from __future__ import annotations

import asyncio
import os
from itertools import islice

from textual.events import Key
from textual.suggester import Suggester

from octavo.api.folding import fold
from octavo.tui.terminal.textual_internals import has_suggestion
from octavo.tui.widgets.text_inputs import LineInput

MOST = 5000
"""Names of a folder that are looked through."""


class PathInput(LineInput):
    """Completes paths. What is no path, such as an address, it lets be."""

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(value, placeholder=placeholder, id=id)
        self.suggester = Paths()
        self.select_on_focus = not value.endswith("/")  # a folder is gone on with

    def on_key(self, event: Key) -> None:
        if event.key == "tab" and has_suggestion(self) and self.cursor_position == len(self.value):
            event.stop()
            event.prevent_default()
            self.action_cursor_right()


class Paths(Suggester):
    """Goes on with paths by what there is."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        if not value.startswith(("~/", "/", "./", "../")):
            return None
        return await asyncio.to_thread(completed, value)


def completed(written: str) -> str | None:
    """`written` with the rest of the first name in its folder that begins so. It may take a while."""
    folder, _, begun = written.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(f"{folder}/")) as found:
            named = [
                each
                for each in islice(found, MOST)
                if fold(each.name).startswith(fold(begun)) and each.name.isprintable()
            ]
            shown = [each for each in named if begun or not each.name.startswith(".")]
            first = min(shown, key=lambda each: (not each.name.startswith(begun), fold(each.name)), default=None)
            whole = f"{folder}/{first.name}{'/' if first.is_dir() else ''}" if first is not None else written
            return None if whole == written else whole
    except (OSError, ValueError):
        return None
