"""An input for a file path with completion: the rest of a matching name is shown in gray, and tab or → accepts it."""

from __future__ import annotations

import asyncio
import os
from itertools import islice

from textual.events import Key
from textual.suggester import Suggester

from octavo.api.folding import fold
from octavo.tui.terminal.textual_internals import is_gone_on_with
from octavo.tui.widgets.text_inputs import LineInput

MAX_ENTRIES = 5000
"""Maximum entries read from a folder."""


class PathInput(LineInput):
    """An input that completes file paths, but no other text, such as a URL."""

    def __init__(self, value: str = "", *, placeholder: str = "", id: str | None = None) -> None:
        super().__init__(value, placeholder=placeholder, id=id)
        self.suggester = PathSuggester()
        self.select_on_focus = not value.endswith("/")  # the user continues a path that ends with a folder

    def on_key(self, event: Key) -> None:
        if event.key == "tab" and is_gone_on_with(self) and self.cursor_position == len(self.value):
            event.stop()
            event.prevent_default()
            self.action_cursor_right()


class PathSuggester(Suggester):
    """Suggests how to continue a path, from the files that exist."""

    def __init__(self) -> None:
        super().__init__(use_cache=False, case_sensitive=True)

    async def get_suggestion(self, value: str) -> str | None:
        if not value.startswith(("~/", "/", "./", "../")):
            return None
        return await asyncio.to_thread(complete_path, value)


def complete_path(written: str) -> str | None:
    """Return the path completed with the first matching name in its folder. None if there is none. Reads the disk."""
    folder, _, begun = written.rpartition("/")
    try:
        with os.scandir(os.path.expanduser(f"{folder}/")) as found:
            named = [
                each
                for each in islice(found, MAX_ENTRIES)
                if fold(each.name).startswith(fold(begun)) and each.name.isprintable()
            ]
            shown = [each for each in named if begun or not each.name.startswith(".")]
            first = min(shown, key=lambda each: (not each.name.startswith(begun), fold(each.name)), default=None)
            whole = f"{folder}/{first.name}{'/' if first.is_dir() else ''}" if first is not None else written
            return None if whole == written else whole
    except (OSError, ValueError):
        return None
