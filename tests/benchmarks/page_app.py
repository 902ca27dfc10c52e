"""One page in the page view, and nothing else: `page_app.py FILE [FIGURES]`.

With FIGURES the app watches how long its event loop works before it comes round, opens FILE (a page, or a folder of them),
goes to the end of each page by page, and writes what it saw to FIGURES as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from textual.app import ComposeResult
from textual.driver import Driver

from octavo.tui.app import garbage_collection
from octavo.tui.app.garbage_collection import Garbage
from octavo.tui.app.preloading import DELAY, FOR_PAGES
from octavo.tui.reader.page_view import PageView
from octavo.tui.terminal.driver import TerminalDriver
from octavo.tui.terminal.textual_internals import CachedStylesheet
from octavo.tui.widgets.commands import HostApp
from octavo.tui.widgets.themes import themes

PROBE = 0.002


class PageApp(HostApp[None]):
    """Shows one page."""

    CSS = "PageView, DiffView, ThreeWayView { height: 1fr; }"

    def __init__(self, path: Path, view: Any = None) -> None:
        super().__init__()
        self.path = path
        self.view = view or PageView()
        for theme in themes():
            self.register_theme(theme)
        self.theme = themes()[0].name
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())  # as the app does

    def get_driver_class(self) -> type[Driver]:
        chosen = super().get_driver_class()
        return TerminalDriver if chosen.__name__ == "LinuxDriver" else chosen  # as the app does

    def compose(self) -> ComposeResult:
        yield self.view

    def on_mount(self) -> None:
        self.view.focus()
        self.collect_garbage()
        if self.path.is_file():
            self.view.show_markdown(self.path.read_text("utf-8"), key=self.path.name)

    def collect_garbage(self) -> None:
        """As the app does: from the first picture on, and the rest of it once that is there for a while, in a thread."""
        if not self.is_headless:
            garbage = Garbage()
            self.call_after_refresh(garbage.enable)
            self.set_timer(DELAY, threading.Thread(target=garbage.start, daemon=True).start)


class Probed(PageApp):
    """Reads its pages by itself, once what pages need is there: the app loads it while its first one is looked at."""

    def __init__(self, path: Path, figures: Path, view: Any = None) -> None:
        super().__init__(path, view)
        self.figures = figures
        self.stalls: list[float] = []
        self.loaded = asyncio.Event()

    def on_page_loaded(self) -> None:
        self.loaded.set()

    def on_mount(self) -> None:
        self.view.focus()
        self.collect_garbage()
        self.run_worker(self._probe())
        self.run_worker(self._read())

    async def _probe(self) -> None:
        at, spent = time.perf_counter(), self.worked()
        while True:
            await asyncio.sleep(PROBE)
            now, by_now = time.perf_counter(), self.worked()
            # Others may have had the processor meanwhile: that is no fault of the app.
            self.stalls.append(min(now - at - PROBE, by_now - spent))
            at, spent = now, by_now

    def worked(self) -> float:
        """The processor time of the event loop, and of what it waits for: a page is read in a thread of its own."""
        names = {thread.ident for thread in threading.enumerate() if thread.name == "octavo-reading"}
        readers = [time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in names if ident is not None]
        return time.thread_time() + sum(readers)

    async def _read(self) -> None:
        found: dict[str, Any] = {}
        await asyncio.to_thread(lambda: [import_module(name) for name in FOR_PAGES])
        paths = sorted(self.path.glob("*.md")) if self.path.is_dir() else [self.path]
        for again, path in enumerate([paths[0], *paths]):
            text = path.read_text("utf-8")
            await asyncio.sleep(0.05)
            self.stalls.clear()
            self.loaded.clear()
            begun = time.perf_counter()
            self.view.show_markdown(text, key=f"{again}")
            await asyncio.sleep(0.05)
            steps = 0
            while (
                self.view.scroll_offset.y < self.view.virtual_lines.total - self.view.rows or not self.loaded.is_set()
            ):
                self.view.go_by(self.view.rows - 2)
                steps += 1
                await asyncio.sleep(0.015)
            found[path.name] = {
                "size": len(text),
                "stall": max(self.stalls),
                "p99": sorted(self.stalls)[len(self.stalls) * 99 // 100],
                "steps": steps,
                "seconds": time.perf_counter() - begun,
            }
        self.figures.write_text(json.dumps(found), "utf-8")
        self.exit()


def main() -> None:
    """Show the page."""
    gc.disable()  # as the app does until it is drawn
    garbage_collection.use_one_arena()  # as the app does
    path = Path(sys.argv[1])
    app = Probed(path, Path(sys.argv[2])) if len(sys.argv) > 2 else PageApp(path)
    app.run()


if __name__ == "__main__":
    main()
