"""Makes a run of the suite shorter by what it would only repeat, or do for nobody to see.

Textual's pilot waits for the app in steps of 5 ms instead of 20: such waits were a third of a run. It waits for the
widgets that have something to do, and does not wake the others to hear that they have not. The style sheets of
widgets are parsed once, not again for each of the hundreds of apps. Garbage is looked for between tests, and not in what
was imported and collected before the first. What is drawn, and when, stands in `painting.py`.

And no loop sleeps through time in which nothing can happen (`idle_time.py`).

What is tried out with random values may take as long as it takes: on a busy machine each of them did too long at times.

And what the app goes on after, a bug in showing one block, is none that a test goes on after, unless it asks for `faults`.
"""

from __future__ import annotations

import tests.idle_time  # isort: skip  # noqa: F401  # first: who takes a clock then takes one that it puts forward

import gc
import logging
import os
from asyncio import sleep
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings
from textual import _wait, strip
from textual._compositor import Compositor
from textual._queue import Queue
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.css.types import CSSLocation
from textual.message_pump import MessagePump
from textual.pilot import Pilot
from textual.widget import Widget

from octavo.api.operation import load
from octavo.tui.terminal.crash_report import FaultLog, fault_reports
from tests.painting import draw_changed

settings.register_profile("house", deadline=None)
settings.load_profile("house")

_wait.SLEEP_GRANULARITY = 0.005
_wait.SLEEP_IDLE = 0.001

HERE = Path(__file__).parent
LEFT_OVER = 500_000
"""Objects that came and did not go, for which garbage is looked for: between two tests, as in the middle of them it was a
twelfth of a run."""

_parse = Stylesheet._parse_rules
_parsed: LRUCache[tuple[object, ...], list[RuleSet]] = LRUCache(512)
"""Those of a few themes: one that tries them all on shall not be found to keep them."""


def _parsed_once(
    sheet: Stylesheet,
    css: str,
    read_from: CSSLocation,
    is_default_rules: bool = False,
    tie_breaker: int = 0,
    scope: str = "",
) -> list[RuleSet]:
    key = (css, read_from, is_default_rules, tie_breaker, scope, *sorted(sheet._variables.items()))
    if (rules := _parsed.get(key)) is None:
        rules = _parsed[key] = _parse(sheet, css, read_from, is_default_rules, tie_breaker, scope)
    return rules


Stylesheet._parse_rules = _parsed_once  # type: ignore[assignment, method-assign]  # of a library, for all of its apps

strip.FIFOCache = lambda size: {}  # type: ignore[assignment, return-value, attr-defined]  # seven to a strip, most of them never used

Compositor.render_update = draw_changed  # type: ignore[assignment]  # of a library, for all of its apps


class _Raising(logging.Handler):
    """A bug in showing a block ends a test, as it would end the app if nobody caught it."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            raise record.exc_info[1]


RAISING = _Raising()
logging.getLogger("octavo").addHandler(RAISING)


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[FaultLog]:
    """What becomes of bugs in showing blocks for who uses the app: it goes on, and keeps reports of them."""
    logging.getLogger("octavo").removeHandler(RAISING)
    with fault_reports(tmp_path / "faults") as kept:
        yield kept
    logging.getLogger("octavo").addHandler(RAISING)


_wait_for = Pilot._wait_for_screen


async def _those_at_work_waited_for(pilot: Pilot[object], timeout: float = 30.0) -> bool:  # noqa: ASYNC109  # as the pilot's own
    await sleep(0)
    pumps: list[MessagePump] = [pilot.app]
    if pilot.app._screen_stack:
        pumps += pilot.app.screen.walk_children(Widget, with_self=True)
    return all(_is_at_rest(pump) for pump in pumps) or await _wait_for(pilot, timeout)


def _is_at_rest(pump: MessagePump) -> bool:
    waiting: Queue[object] = pump._message_queue
    return waiting.empty() and bool(waiting.ready_event._waiters) and not pump._next_callbacks


Pilot._wait_for_screen = _those_at_work_waited_for  # type: ignore[assignment, method-assign]  # of a library, for all of its apps


def pytest_xdist_auto_num_workers() -> int:
    """Three workers on two processors: a quarter of a run is spent waiting for programs that tests start."""
    return 3 * (os.cpu_count() or 1) // 2


def pytest_sessionstart(session: pytest.Session) -> None:
    """Begin with another share of all tests than the other workers: what one of them has rewritten, the others find."""
    worker = getattr(session.config, "workerinput", None)
    if worker is not None and [Path(each).resolve() for each in session.config.args] == [HERE]:
        load()  # tests of each operation come in the order in which these were loaded
        number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        for path in sorted(HERE.rglob("test_*.py"))[number::count]:
            with suppress(pytest.skip.Exception):  # what is not here is said when its tests are collected
                import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as `long` the tests with the marker `before_release`: all, or those whose parameters the marker names."""
    for item in items:
        marker = item.get_closest_marker("before_release")
        if marker is not None and (not marker.args or item.name.partition("[")[2].removesuffix("]") in marker.args):
            item.add_marker("long")


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    if gc.get_count()[0] > LEFT_OVER:
        gc.collect()
