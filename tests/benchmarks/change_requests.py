"""How soon the first diff of a change request is on show, and how long the app waits while the others are made.

    .venv/bin/python tests/benchmarks/change_requests.py [--rounds 7]

Opens the demo's change request of 60 pages and one of a single page of the same space, in turn, each in an app that knows
nothing yet (headless, 120x36), beside `octavo serve` in a process of its own. Prints, in milliseconds: from the key to the
first diff on the screen (median and range), the ratio inside each round, how long it takes until all 60 pages are
compared, and the longest time the event loop worked before it came round meanwhile. The first round is thrown away.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.places import SpaceRef
from octavo.server.demo.library import build
from octavo.server.dispatch import answer
from octavo.server.store import Store
from octavo.server.world import World
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.stage import MARA, Run, Stage

SPACE = SpaceRef(space_id="stations")
PROBE = 0.002


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as folder:
        library = Path(folder, "platform.db")
        one = prepare(library)
        with served(Path(folder)) as origin:
            figures = [asyncio.run(measure(Path(folder), origin, one, number)) for number in range(rounds + 1)][1:]
    ones, firsts, wholes, stalls = ([figure[at] for figure in figures] for at in range(4))
    ratios = [first / alone for alone, first in zip(ones, firsts, strict=True)]
    print(f"first diff of 1 page        {spread(ones)}")
    print(f"first diff of 60 pages      {spread(firsts)}")
    print(f"ratio in each round         {statistics.median(ratios):.2f}  ({min(ratios):.2f} - {max(ratios):.2f})")
    print(f"all 60 compared             {spread(wholes)}")
    print(f"longest stall meanwhile     {spread(stalls)}")


def spread(figures: list[float]) -> str:
    """The median of seconds in milliseconds, and their range."""
    ms = [each * 1000 for each in figures]
    return f"{statistics.median(ms):7.1f} ms  ({min(ms):.1f} - {max(ms):.1f})"


def prepare(library: Path) -> ChangeRequest:
    """Set out the demo library with a change request of one page beside that of sixty."""
    store = Store(library)
    build(World(store))
    one = one_page(World(store).for_user(MARA))
    store.add_key(f"key-of-{MARA}", MARA)
    store.set_setting("library", "demo")  # else it is taken to be new, and set out again
    store.close()
    return one


def one_page(world: World) -> ChangeRequest:
    """A new change request of one page."""
    with world.store.transaction():
        made = answer(change_requests.Create(at=SPACE, subject="One page"), world)
        at = ChangeRequest.model_validate(made).ref(SPACE)
        tree = content.PageTree.model_validate(answer(content.ListPages(at=SPACE), world))
        page = next(page for page in tree.walk() if page.title == "Tollan Quay")
        text = answer(content.GetPage(at=SPACE, page_id=page.id, format="markdown"), world)["markdown"]
        body = content.DocumentBody(markdown=text.replace("Limpet 3", "Limpet Classic"))
        answer(content.Edit(at=at, changes=(content.UpdatePage(page=page.id, document=body),), compat=False), world)
        return ChangeRequest.model_validate(answer(change_requests.Get(at=at), world))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The origin at which the library in `folder` is served."""
    places = {f"OCTAVO_{name}_DIR": str(folder / name) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    environ = {**os.environ, **places, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
    command = [sys.executable, "-m", "octavo", "serve", "--data", str(folder)]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        try:
            yield serving.stdout.readline().split()[-1]
        finally:
            serving.send_signal(signal.SIGINT)


async def measure(folder: Path, origin: str, one: ChangeRequest, number: int) -> tuple[float, float, float, float]:
    """Seconds to the first diff of one page and of sixty, to all sixty, and the longest stall meanwhile."""
    kinds = ["one", "sixty"] if number % 2 else ["sixty", "one"]
    found: dict[str, tuple[float, float, float]] = {}
    for kind in kinds:
        stage = Stage(folder / f"{number} {kind}", folder / "platform.db")
        async with stage.play(start="changes", over=lambda _: there(origin)) as run:
            listed = await run.app.session.live.fetch(change_requests.List(at=SPACE))
            sixty = next(each for each in listed.items if "Classic" in each.subject)
            run.app.teardown.garbage.start()  # as the app does where there is a terminal
            await asyncio.sleep(0.3)
            found[kind] = await opened(run, one if kind == "one" else sixty)
    return found["one"][0], found["sixty"][0], found["sixty"][1], found["sixty"][2]


async def opened(run: Run, change_request: ChangeRequest) -> tuple[float, float, float]:
    """Seconds to the first diff and to the last, and the longest stall."""
    stalls = [0.0]
    probe = asyncio.create_task(watch(stalls))
    begun = time.perf_counter()
    run.app.go(ToChangeRequest(change_request.ref(SPACE), change_request))
    await until(lambda: shows_diff(run))
    first = time.perf_counter() - begun
    await until(lambda: has_compared_all(run))
    whole = time.perf_counter() - begun
    await asyncio.sleep(0.5)
    probe.cancel()
    return first, whole, max(stalls)


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what is drawn or made by others."""
    while not holds():  # noqa: ASYNC110  # there is nothing that could be waited for
        await asyncio.sleep(PROBE)


def shows_diff(run: Run) -> bool:
    """Whether the diff is on the screen."""
    screen = run.app.screen
    is_there = isinstance(screen, ChangeRequestScreen) and screen.is_mounted and screen.view.contents.has_content
    return is_there and "Limpet Classic, since" in run.text


def has_compared_all(run: Run) -> bool:
    """Whether no page is left to compare."""
    screen = run.app.screen
    return isinstance(screen, ChangeRequestScreen) and len(screen.comparison.diffs.sizes) == len(
        screen.comparison.changed or ()
    )


async def watch(stalls: list[float]) -> None:
    """Note how long the event loop works before it comes round. Others may have the processor meanwhile: that is no
    fault of the app."""
    at, spent = time.perf_counter(), time.thread_time()
    while True:
        await asyncio.sleep(PROBE)
        now, worked = time.perf_counter(), time.thread_time()
        stalls.append(min(now - at - PROBE, worked - spent))
        at, spent = now, worked


@asynccontextmanager
async def there(origin: str) -> AsyncIterator[str]:
    """A server that is there already."""
    yield origin


if __name__ == "__main__":
    main()
