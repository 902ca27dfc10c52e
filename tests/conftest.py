"""Settings for all tests. `tests/speedups.py` documents the replacements that make them faster."""

from __future__ import annotations

import tests.speedups  # isort: skip  # noqa: F401  # First: other modules import the clocks that it replaces.

import gc
import logging
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import settings

from octavo.api.operation import load
from octavo.tui.terminal.crash_report import FaultReportHandler, fault_reports
from tests.benchmarks.terminal import THIS_TREE

# With PYTHONDONTWRITEBYTECODE, every worker would compile all tests again. Programs of tests write bytecode anyway.
sys.dont_write_bytecode = False

settings.register_profile("octavo", deadline=None, max_examples=50)  # No deadline: examples are slow on a busy machine.
settings.load_profile("octavo")

os.environ.update(THIS_TREE, TZ="UTC")  # The times in recorded pictures are in UTC.
time.tzset()

HERE = Path(__file__).parent
GARBAGE_LIMIT = 500_000
"""Number of new objects after which garbage is collected between two tests."""


class _RaisingHandler(logging.Handler):
    """Raises the exceptions that Octavo logs, so that a bug in the rendering of a block fails the test."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[1]:
            raise record.exc_info[1]


RAISING = _RaisingHandler()
logging.getLogger("octavo").addHandler(RAISING)


@pytest.fixture
def faults(tmp_path: Path) -> Iterator[FaultReportHandler]:
    """The reports of bugs in the rendering of blocks. The app continues after such a bug, as for a user."""
    logging.getLogger("octavo").removeHandler(RAISING)
    with fault_reports(tmp_path / "faults") as log:
        yield log
    logging.getLogger("octavo").addHandler(RAISING)


def pytest_xdist_auto_num_workers() -> int:
    """Return three workers for two processors: a quarter of the time, tests wait for programs that they start."""
    return 3 * (os.cpu_count() or 1) // 2


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import a different share of the tests first in each worker: pytest rewrites and caches the modules only once."""
    worker = getattr(session.config, "workerinput", None)
    if worker is not None and [Path(each).resolve() for each in session.config.args] == [HERE]:
        load()  # The order of these tests depends on the order in which operations are loaded.
        number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
        for path in sorted(HERE.rglob("test_*.py"))[number::count]:
            with suppress(pytest.skip.Exception):  # Skipped modules are reported at their collection.
                import_module(".".join(path.relative_to(HERE.parent).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with the marker `before_release` as `long`: all, or those with the parameters that the marker names."""
    for item in items:
        marker = item.get_closest_marker("before_release")
        if marker is not None and (not marker.args or item.name.partition("[")[2].removesuffix("]") in marker.args):
            item.add_marker("long")


def pytest_collection_finish() -> None:
    """Exempt imported objects from garbage collection, and collect only between tests."""
    gc.collect()
    gc.freeze()
    gc.disable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Collect garbage if there are many new objects. Exempt the other objects from the next collections."""
    if gc.get_count()[0] > GARBAGE_LIMIT:
        gc.collect()
        gc.freeze()
