"""Pages in the page view, one after the other, in which keys are pressed: `block_app.py FOLDER FIGURES`.

The app opens each page of FOLDER, presses keys while it is being read and when it is, and writes to FIGURES for each how
long its event loop worked at most before it came round, and what the keys took to their frames, as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from textual import events
from textual.keys import _character_to_key
from textual.screen import Screen

from tests.benchmarks.page_app import PROBE, Probed, worked

EARLY = ["j"] * 6 + ["ctrl+d"] * 4
LATER = [
    *(["j"] * 6 + ["ctrl+d"] * 6 + [")"] * 4 + ["space"] * 3 + ["}"] * 2 + ["{"]),
    *(["G"] + ["k"] * 4 + ["ctrl+u"] * 4 + ["("] * 3 + ["g", "j"]),
    *(["/", "a", "enter"] + ["n"] * 4 + ["N", "escape"]),
    *("Wf", "escape", "right", "left", "\\", "j", "ctrl+d", "G", "g", "\\", "W", "G", "y", "W", "g", "j"),
]
LONGEST = 60.0
"""Seconds that a page may take to be read."""
NO_FRAME = 0.06
"""Seconds after which a key is taken to have led to no frame, if nothing was done in them."""


class Pressed(Probed):
    """Reads its pages by itself, with the keys a person has."""

    framed = 0.0
    """The processor time of the loop when a frame was last given to the terminal."""

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        super()._display(screen, renderable)
        self.framed = worked()

    async def _read(self) -> None:
        found: dict[str, Any] = {}
        for path in sorted(self.path.glob("*.md")):
            text = path.read_text("utf-8")
            self.view.clear()
            await asyncio.sleep(0.3)
            self.stalls.clear()
            self.loaded.clear()
            begun = time.perf_counter()
            self.view.show_markdown(text, key=path.name)
            await asyncio.sleep(0.05)
            shown, self.stalls[:] = max(self.stalls), []
            keys = [await self._press(key) for key in EARLY]
            with suppress(TimeoutError):
                await asyncio.wait_for(self.loaded.wait(), LONGEST)
            read, self.stalls[:] = max(self.stalls), []
            keys += [await self._press(key) for key in LATER]
            await asyncio.sleep(0.5)
            longest = max(keys)
            found[path.stem] = {
                "size": len(text),
                "shown": shown,
                "read": read,
                "keys": max(self.stalls),
                "p95": sorted(each for each, _ in keys)[len(keys) * 95 // 100],
                "longest": longest[0],
                "at": longest[1],
                "loaded": self.loaded.is_set(),
                "seconds": time.perf_counter() - begun,
            }
            self.figures.write_text(json.dumps(found), "utf-8")
        self.exit()

    async def _press(self, key: str) -> tuple[float, str]:
        """The processor time from a key to its frame."""
        await asyncio.sleep(0.02)
        character = key if len(key) == 1 else " " if key == "space" else None
        event = events.Key(_character_to_key(key) if len(key) == 1 else key, character)
        assert self._driver is not None, "The app runs"
        at, begun, self.framed = time.perf_counter(), worked(), 0.0
        self._driver.send_message(event)
        while not self.framed:
            spent = worked()
            await asyncio.sleep(PROBE)
            if time.perf_counter() > at + NO_FRAME and worked() - spent < PROBE:
                return 0.0, key
        return self.framed - begun, key


if __name__ == "__main__":
    gc.disable()  # as the app does until it is drawn
    Pressed(Path(sys.argv[1]), Path(sys.argv[2])).run()
