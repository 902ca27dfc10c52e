"""Memory and processor time of an app that stays open: dialogs, views and pages are opened again and again."""

from __future__ import annotations

import os
from pathlib import Path

from tests.benchmarks.installation import Installation
from tests.benchmarks.terminal import Terminal, processor_time

LOOPS: dict[str, tuple[bytes, ...]] = {
    "open and close the help": (b"?", b"\x1b"),
    "open and close the activity": (b"!", b"\x1b"),
    "visit four views": (b"1", b"3", b"4", b"2"),
    "open the next page and return": (b"J", b"K"),
}
"""Keys of each loop. Each ends where it began, because the next start shows the last page. The pages come last, because
their keys leave the page tree."""
IDLE = 10.0
"""Seconds without keys at the end."""


def prepare(installation: Installation) -> None:
    """Open the demo once: its next start shows a page."""
    installation.prepare_demo()


def measure(installation: Installation) -> dict[str, float]:
    """Repeat each loop in one app, and then press no keys."""
    times = 3 if installation.is_quick else 30
    with installation.demo() as demo:
        figures = {"after the start, MiB": _memory(demo)}
        for name, keys in LOOPS.items():
            _repeat(demo, keys, times // 3)  # The first repetitions import modules and fill caches.
            before = _memory(demo)
            _repeat(demo, keys, times)
            figures[f"{name}, KiB each"] = (_memory(demo) - before) * 1024 / times
        figures["at the end, MiB"] = _memory(demo)
        spent, begin = processor_time(demo.pid), demo.now()
        demo.settle(IDLE, limit=1.0 if installation.is_quick else IDLE)
        figures["processor while idle, %"] = (processor_time(demo.pid) - spent) / (demo.now() - begin) * 100
    return figures


def _repeat(app: Terminal, keys: tuple[bytes, ...], times: int) -> None:
    for _ in range(times):
        for key in keys:
            app.press(key, quiet=0.05)
    app.rest()


def _memory(app: Terminal) -> float:
    """Return the memory of the app in MiB."""
    pages = int(Path(f"/proc/{app.pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
