"""Press random keys in the app and print its memory early and at the end: python -m
tests.journeys.random_keys_memory COUNT

The measurement needs its own process, because the test suite keeps parsed style sheets and other objects that the
app releases."""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

from pydantic import BaseModel

import octavo
from octavo.api.operation import SPECS
from octavo.cli.running_app import use_one_arena
from octavo.data import sync_queue
from octavo.documents import emoji
from octavo.documents.sequences import most_similar
from octavo.server.demo.library import build
from octavo.server.rest import RequestContext
from octavo.server.store import Store
from octavo.tui.render.deferred import tokenize
from tests.journeys.stage import Run, Stage
from tests.journeys.test_soak import Soak

LANGUAGES = ("bash", "html", "http", "javascript", "json", "markdown", "python", "sql", "yaml")
"""Languages of code blocks in the demo."""


def models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """Yield all models of Octavo that are below `base`. A model can be below several others."""
    for model in base.__subclasses__():
        if model.__module__.startswith("octavo."):
            yield model
        yield from models(model)


def load_all() -> None:
    """Import all modules and load all tables that are otherwise loaded at first use, because they stay in memory."""
    for module in walk_packages(octavo.__path__, "octavo."):
        if not module.name.endswith(".__main__"):
            with suppress(ModuleNotFoundError):  # a library of an extra that is not installed
                import_module(module.name)
    for spec in SPECS.values():
        _ = spec.codec
    for model in models(BaseModel):
        model.model_rebuild()
    for language in LANGUAGES:
        tokenize(language, "text")
    most_similar("words", ("wards",), 0.0)
    emoji.search("smile")


async def show_inbox(run: Run) -> None:
    """Close all dialogs and views above the inbox, and wait until nothing is loading."""
    for _ in range(9):
        if len(run.app.screen_stack) > 1:
            await run.press("escape")
    await run.press("1")
    await run.settle()


def memory() -> float:
    """Return the memory of this process in MiB, without garbage."""
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


async def measure(folder: Path, count: int) -> tuple[float, float]:
    """Return the memory after a tenth of the keys and after all keys."""
    use_one_arena()  # The app does so in a terminal. Each other arena keeps freed memory of its own.
    # The clock of the stage stands still, so the pause between these requests would never end.
    sync_queue.LATER_INTERVAL = timedelta()
    store = Store(library := folder / "library.db")
    build(RequestContext(store))
    store.set_setting("library", "demo")
    store.close()
    async with Stage(folder / "stage", library).play() as run:
        await run.see("Your first tide")
        load_all()
        run.app.teardown.garbage.start()
        soak = Soak(run, 1)
        await soak.act(count // 10)
        await show_inbox(run)
        early = memory()
        await soak.act(count - count // 10)
        await show_inbox(run)
        return early, memory()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="octavo-memory-") as home:
        os.environ |= {"HOME": home, "EDITOR": "true", "DISPLAY": "", "WAYLAND_DISPLAY": ""}
        os.chdir(home)
        print(*asyncio.run(measure(Path(home), int(sys.argv[1]))))
