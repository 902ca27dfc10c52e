"""Pages in the page view, one after the other, in which keys are pressed: `block_app.py FOLDER FIGURES [HOW]`.

The app opens each page of FOLDER, presses keys while it is being read and when it is, makes the terminal wider and
narrower, and writes to FIGURES for each how long its event loop worked at most before it came round, and what the keys took
to their frames, as JSON. HOW is `--edited` for the diffs of the pages to slightly different ones, `--whole` to one without
them, `--merged` for what two changed of the pages in the view of conflicts, `--written` for them as one sees what one writes.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from textual import events
from textual.geometry import Size
from textual.keys import _character_to_key
from textual.screen import Screen

from octavo.documents.merging.page_merge import merge
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.three_way_view import ThreeWayView
from octavo.tui.render.comparison import compare
from octavo.tui.render.conflict_page import prepare_conflicts
from octavo.tui.render.threads import keep_quoted_lines
from tests.benchmarks.page_app import PROBE, Probed

EARLY = ["j"] * 6 + ["ctrl+d"] * 4
LATER = [
    *(["j"] * 6 + ["ctrl+d"] * 6 + [")"] * 4 + ["space"] * 3 + ["}"] * 2 + ["{"]),
    *(["G"] + ["k"] * 4 + ["ctrl+u"] * 4 + ["("] * 3 + ["g", "j"]),
    *(["/", "a", "enter"] + ["n"] * 4 + ["N", "escape"]),
    *("Wf", "escape", "right", "left", "\\", "j", "ctrl+d", "G", "g", "\\", "W", "G", "y", "W", "g", "j"),
]
LONGEST = 60.0
"""Seconds that a page may take to be read."""
CHANGED = [
    *(["n"] * 4 + ["j"] * 6 + ["ctrl+d"] * 6 + [")"] * 4 + ["space"] * 3),
    *(["G"] + ["k"] * 4 + ["ctrl+u"] * 4 + ["("] * 3 + ["N"] * 2 + ["g", "j"]),
    *(["/", "a", "enter"] + ["n"] * 4 + ["N", "escape"]),
    *("=", "j", "=", "ctrl+d", "G", "-", "-", "|", "j", "G", "g", "n", "|", "f", "escape", "right", "left"),
    *("\\", "j", "ctrl+d", "G", "g", "\\", "y", "j"),
]
IN_CONFLICT = [
    *("n", "j", "j", "ctrl+d", ")", ")", "=", "j", "ctrl+d", "space", "G", "k", "ctrl+u", "(", "g", "n", "N"),
    *("/", "a", "enter", "n", "n", "N", "escape", "right", "left", "y", "=", "g", "j"),
]
WIDTHS = (100, 160, 60, 120)
NO_FRAME = 0.06
"""Seconds after which a key is taken to have led to no frame, if nothing was done in them."""


class Pressed(Probed):
    """Reads its pages by itself, with the keys a person has."""

    EARLY, LATER = EARLY, LATER
    framed = 0.0
    """The processor time of the loop when a frame was last given to the terminal."""

    def _display(self, screen: Screen[Any], renderable: Any) -> None:
        super()._display(screen, renderable)
        self.framed = self.worked()

    async def show(self, text: str, name: str) -> None:
        """Show a page. Returns when its beginning is on show."""
        self.view.clear()
        await asyncio.sleep(0.3)
        self.stalls.clear()
        self.loaded.clear()
        self.view.show_markdown(text, key=name)
        await asyncio.sleep(0.05)

    async def _read(self) -> None:
        import_module("octavo.documents.parse")  # which the app loads before a page is asked for
        found: dict[str, Any] = {}
        for path in sorted(self.path.glob("*.md")):
            text = path.read_text("utf-8")
            begun = time.perf_counter()
            await self.show(text, path.name)
            shown, self.stalls[:] = max(self.stalls), []
            keys = [await self._press(key) for key in self.EARLY]
            with suppress(TimeoutError):
                await asyncio.wait_for(self.loaded.wait(), LONGEST)
            read, self.stalls[:] = max(self.stalls), []
            keys += [await self._press(key) for key in self.LATER]
            await asyncio.sleep(0.5)
            pressed, self.stalls[:] = max(self.stalls), []
            for columns in WIDTHS:
                await self._resize(columns)
            longest = max(keys)
            found[path.stem] = {
                "size": len(text),
                "shown": shown,
                "read": read,
                "keys": pressed,
                "resized": max(self.stalls),
                "p95": sorted(each for each, _ in keys)[len(keys) * 95 // 100],
                "longest": longest[0],
                "at": longest[1],
                "loaded": self.loaded.is_set(),
                "seconds": time.perf_counter() - begun,
            }
            self.figures.write_text(json.dumps(found), "utf-8")
        self.exit()

    async def _resize(self, columns: int) -> None:
        """Make the terminal so wide, and go about in it."""
        assert self._driver is not None, "The app runs"
        size = Size(columns, self.size.height)
        self._driver.send_message(events.Resize(size, size))
        await asyncio.sleep(0.5)
        for key in ("j", "k"):
            await self._press(key)

    async def _press(self, key: str) -> tuple[float, str]:
        """The processor time from a key to its frame."""
        await asyncio.sleep(0.02)
        character = key if len(key) == 1 else " " if key == "space" else None
        event = events.Key(_character_to_key(key) if len(key) == 1 else key, character)
        assert self._driver is not None, "The app runs"
        at, begun, self.framed = time.perf_counter(), self.worked(), 0.0
        self._driver.send_message(event)
        while not self.framed:
            spent = self.worked()
            await asyncio.sleep(PROBE)
            if time.perf_counter() > at + NO_FRAME and self.worked() - spent < PROBE:
                return 0.0, key
        return self.framed - begun, key


class Written(Pressed):
    """Reads its pages as one sees what one writes."""

    async def show(self, text: str, name: str) -> None:
        self.view.clear()
        await asyncio.sleep(0.3)
        self.stalls.clear()
        self.loaded.clear()
        self.view.show_markdown(keep_quoted_lines(text), key="preview")
        await asyncio.sleep(0.05)


class Merged(Pressed):
    """Reads what is in conflict where two changed each of its pages."""

    LATER = IN_CONFLICT
    view: ThreeWayView

    def __init__(self, path: Path, figures: Path) -> None:
        super().__init__(path, figures, ThreeWayView())

    def worked(self) -> float:
        return time.process_time()  # conflicts are found in a thread

    async def show(self, text: str, name: str) -> None:
        self.view.clear()
        await asyncio.sleep(0.3)
        self.loaded.clear()
        pieces = await asyncio.to_thread(
            lambda: prepare_conflicts(merge(text, edited(text), edited(text, "y")), edited(text))
        )
        self.stalls.clear()
        self.view.show(pieces, {}, key=name, sides=("main", "#1"))
        self.loaded.set()
        await asyncio.sleep(0.05)


class Compared(Pressed):
    """Reads what changed from each of its pages to one that is a little different, or came whole."""

    LATER = CHANGED
    view: DiffView

    def __init__(self, path: Path, figures: Path, *, whole: bool) -> None:
        super().__init__(path, figures, DiffView())
        self.whole = whole

    def worked(self) -> float:
        return time.process_time()  # pages are compared in a thread: what holds the loop up there is not its own

    async def show(self, text: str, name: str) -> None:
        self.view.clear()
        await asyncio.sleep(0.3)
        self.stalls.clear()
        self.loaded.clear()
        compared = await asyncio.to_thread(compare, "Words.\n" if self.whole else edited(text), text)
        self.view.show(compared, key=name)
        self.loaded.set()
        await asyncio.sleep(0.05)


def edited(text: str, word: str = "x") -> str:
    """A page with every fiftieth or so of its lines, or of its words where it has few lines, another; at least one letter."""
    rows = text.split("\n") if text.count("\n") > 200 else text.split(" ")
    for at in range(20, len(rows), 49):
        if rows[at].strip().isalnum() or len(rows[at].split()) > 2:
            rows[at] += f" {word}"
    found = ("\n" if text.count("\n") > 200 else " ").join(rows)
    if found != text:
        return found
    at = max(range(len(lines := text.split("\n"))), key=lambda line: len(lines[line]))
    middle = len(lines[at]) // 2
    lines[at] = f"{lines[at][:middle]}{word}{lines[at][middle:]}"  # a page of few words
    return "\n".join(lines)


def main() -> None:
    """Press the keys."""
    gc.disable()  # as the app does until it is drawn
    pages, figures, *rest = sys.argv[1:]
    match rest:
        case ["--merged"]:
            app: Pressed = Merged(Path(pages), Path(figures))
        case ["--written"]:
            app = Written(Path(pages), Path(figures))
        case [how]:
            app = Compared(Path(pages), Path(figures), whole=how == "--whole")
        case _:
            app = Pressed(Path(pages), Path(figures))
    app.run()


if __name__ == "__main__":
    main()
