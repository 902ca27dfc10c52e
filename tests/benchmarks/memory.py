"""What an app that is left open keeps: its memory while the same is opened and closed again and again.

    .venv/bin/python tests/benchmarks/memory.py [help:2500 activity:500 views:500 pages:2000 keys:20000]

Each in a process of its own, headless, 120x36, on the demo, with the looks for garbage the app has where there is a
terminal. Prints memory after a tenth and at the end, in MiB, what each round left between, and the longest time the event
loop worked before it came round. `OCTAVO_MEMORY_LIBRARY` names a library that was set out before.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from textual import _wait

import octavo
from octavo.api.operation import SPECS
from octavo.documents import emoji
from octavo.documents.diff_alignment import most_similar
from octavo.server.demo.library import build
from octavo.server.store import Store
from octavo.server.world import World
from octavo.tui.app import garbage_collection
from octavo.tui.render.deferred import tokenize
from tests.journeys.stage import Run, Stage
from tests.journeys.test_soak import Soak

ALL = ("help:2500", "activity:500", "views:500", "pages:2000")
PROBE = 0.002
LANGUAGES = ("bash", "html", "http", "javascript", "json", "markdown", "python", "sql", "yaml")
"""Those code of the demo is in."""
IDLE = 5.0
"""Seconds nothing is pressed for at the end."""


async def help_once(run: Run) -> None:
    """Open the help and close it."""
    await opened_and_closed(run, "?")


async def activity_once(run: Run) -> None:
    """Open the activity and close it."""
    await opened_and_closed(run, "!")


async def views_once(run: Run) -> None:
    """Go round the views."""
    for key in "1342":
        await run.pilot.press(key)
        await run.pilot.pause(0.005)


async def pages_once(run: Run) -> None:
    """Open the page below, from the first again after the last."""
    before = run.app.screen.query_one("PageView").key  # type: ignore[attr-defined]  # of this screen
    await run.pilot.press("J")
    await run.pilot.pause(0.02)
    if run.app.screen.query_one("PageView").key == before:  # type: ignore[attr-defined]  # of this screen
        await run.pilot.press("escape", "g", "enter")
        await run.pilot.pause(0.02)


async def opened_and_closed(run: Run, key: str) -> None:
    """Press a key that opens a dialog, and leave it."""
    await run.pilot.press(key)
    while len(run.app.screen_stack) == 1:
        await run.pilot.pause(0.005)
    await run.pilot.press("escape")
    while len(run.app.screen_stack) > 1:
        await run.pilot.pause(0.005)


class Keys:
    """Somebody at random over all screens."""

    def __init__(self) -> None:
        self._soak: Soak | None = None

    async def __call__(self, run: Run) -> None:
        """Do one thing."""
        if self._soak is None:
            self._soak = Soak(run, 1)
        await self._soak.act(1)


ROUNDS: dict[str, Callable[[Run], Awaitable[None]]] = {
    "help": help_once,
    "activity": activity_once,
    "views": views_once,
    "pages": pages_once,
    "keys": Keys(),
}


def load_all() -> None:
    """Load the whole program, and what it looks things up in, which is loaded where it is first met: that stands in memory
    once, and is no growth."""
    for module in walk_packages(octavo.__path__, "octavo."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)
    for spec in SPECS.values():
        spec.operation.model_rebuild()
        _ = spec.codec
    for language in LANGUAGES:
        tokenize(language, "as it is")
    most_similar("words", ("wards",), 0.0)
    emoji.search("smile")


def memory() -> float:
    """What this process has in memory, in MiB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


async def watch(stalls: Counter[int]) -> None:
    """Count how long the event loop worked each time before it came round, in ms: a list of them all would be megabytes."""
    at, spent = time.perf_counter(), time.thread_time()
    while True:
        await asyncio.sleep(PROBE)
        now, worked = time.perf_counter(), time.thread_time()
        stalls[round(min(now - at - PROBE, worked - spent) * 1000)] += 1
        at, spent = now, worked


async def measure(folder: Path, name: str, times: int) -> None:
    """Print the figures of one kind."""
    garbage_collection.use_one_arena()  # as where there is a terminal
    if kept := os.environ.get("OCTAVO_MEMORY_LIBRARY"):
        library = Path(kept)
    else:
        library = folder / "library.db"
        store = Store(library)
        build(World(store))
        store.set_setting("library", "demo")
        store.close()
    async with Stage(folder / "stage", library).play() as run:
        await run.see("Your first tide")
        load_all()
        run.app.teardown.garbage.start()
        found = await rounds(run, name, times, IDLE)
    print(found, flush=True)  # as long as it runs the app takes what is printed


async def rounds(run: Run, name: str, times: int, pause: float) -> str:
    """Do the same again and again, then nothing for a while: the figures in a line."""
    if name == "pages":
        await run.press("enter")
    stalls: Counter[int] = Counter()
    probe = asyncio.create_task(watch(stalls))
    begun = time.perf_counter()
    early, tenth = 0.0, max(1, times // 10)
    for number in range(times):
        await ROUNDS[name](run)
        if number + 1 == tenth:
            early = memory()
        if (number + 1) % tenth == 0:
            print(f"{name} {number + 1}: {memory():.1f} MiB", file=sys.stderr, flush=True)
    late, took = memory(), time.perf_counter() - begun
    keys = sorted(stalls.elements())
    stalls.clear()
    await asyncio.sleep(pause)
    probe.cancel()
    idle = memory()
    worst = ", ".join(str(each) for each in keys[-3:])
    assert run.app.is_running
    return (
        f"{name:9} {early:7.1f} after {tenth:4}, {late:7.1f} after {times:4} "
        f"({(late - early) / max(1, times - tenth) * 1024:6.1f} KiB each), {idle:7.1f} at rest; "
        f"{took / times * 1000:5.0f} ms each, stalls ms: {worst}, 99.9 % {keys[int(len(keys) * 0.999)]}, "
        f"in the pause {max(stalls, default=0)}"
    )


def main() -> None:
    """Measure what was named, each in a process of its own."""
    if os.environ.get("OCTAVO_MEMORY_ROUND"):
        _wait.SLEEP_GRANULARITY, _wait.SLEEP_IDLE = 0.005, 0.001
        name, times = sys.argv[1].split(":")
        with tempfile.TemporaryDirectory(prefix="octavo-bench-") as folder:
            os.environ |= {"HOME": folder, "EDITOR": "sh -c 'sleep 1'", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
            os.chdir(folder)
            asyncio.run(measure(Path(folder), name, int(times)))
        return
    for each in sys.argv[1:] or ALL:
        subprocess.run([sys.executable, __file__, each], env={**os.environ, "OCTAVO_MEMORY_ROUND": "1"}, check=True)


if __name__ == "__main__":
    main()
