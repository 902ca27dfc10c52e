"""Choose the journeys that only long runs go: those for which cheaper tests reach nearly all that they reach.

    .venv/bin/pip install coverage
    .venv/bin/pytest -p tests.covered_elsewhere -m "not long or covered_elsewhere" --ignore tests/tui/test_benchmarks.py
    .venv/bin/python -m tests.covered_elsewhere

The first run, in one process, takes an hour, and writes which lines of the program each test reaches and the processor time
it takes. The second chooses, the most lines for the least time first, as long as that is worth it, and writes the others to
`covered_elsewhere.txt`. Of each command that writes something (`pressed.tsv`) one journey is always gone that shows it, the
other things it writes are shown in long runs. Those of `ALWAYS` are always gone.
"""

from __future__ import annotations

import resource
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

from screenshots import operations

HERE = Path(__file__).parent
LIST, BUILD = HERE / "covered_elsewhere.txt", HERE.parent / "build"
REACHED, SECONDS = BUILD / "coverage-of-tests", BUILD / "seconds-of-tests"
ALWAYS = (
    *(
        "test_moods",
        "test_roles",
        "test_typed_ahead",
        "test_bursts",
        "_no_burst_of_",
        "test_hostile",
        "test_what_waits_from_before_waits_on",
    ),
    *("_none_sends_anything[a page]", "_none_sends_anything[threads]", "_when_octavo_is_killed_is_a_draft"),
    *("_is_kept_over_a_kill_", "test_when_the_terminal_goes_", "-120x36]"),
)
"""Of what nobody may lose, send or do, and of how it looks, more is held than that the lines for it are gone through. Some of
it is seen in programs that a test starts, whose lines are not counted."""
WORTH = 40
"""Lines that no other test reaches, for a second of each run."""
OPENED = 0.2
"""Seconds that it takes to open the app at the least. What takes less is no journey, and always gone."""
LEAST = 0.05
"""Seconds below which all tests cost the same."""

_measured = coverage.Coverage(data_file=str(REACHED), source=["octavo"], config_file=False, concurrency=["thread"])


def pytest_configure() -> None:
    BUILD.mkdir(exist_ok=True)
    SECONDS.unlink(missing_ok=True)
    # What modules do when they are loaded, they do for all tests.
    _measured.set_option("run:disable_warnings", ["module-not-measured"])
    _measured.erase()
    _measured.start()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _measured.switch_context(item.nodeid)
    before = _processor_time()
    found = yield
    with SECONDS.open("a", encoding="utf-8") as lines:
        lines.write(f"{_processor_time() - before:.2f}\t{item.nodeid}\n")
    return found


def pytest_sessionfinish() -> None:
    _measured.stop()
    _measured.save()


def _processor_time() -> float:
    """Of this process and of the programs that it started and saw end."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def showing_writes(journeys: set[str], seconds: dict[str, float], always: set[str]) -> set[str]:
    """Those of `journeys` that show, beside those that are always gone, each command that writes, cheaply."""
    shown: dict[str, set[str]] = defaultdict(set)
    for each in operations.pressed():
        if each.writes and each.journey in journeys:
            shown[each.journey].add(each.commands)
    left = set().union(*shown.values()) - set().union(*(shown[test] for test in always & shown.keys()))
    taken: set[str] = set()
    while left:
        best = max(shown, key=lambda test: (len(shown[test] & left) / max(seconds[test], LEAST), test))
        taken.add(best)
        left -= shown[best]
    return taken


def chosen(lines: dict[str, set[tuple[str, int]]], seconds: dict[str, float], always: set[str]) -> set[str]:
    """The tests that are to be run for nearly all lines to be reached, cheaply."""
    taken = {test for test in lines if test in always}
    left = set().union(*lines.values()) - set().union(*(lines[test] for test in taken))
    rest = lines.keys() - taken

    def worth(test: str) -> float:
        return len(lines[test] & left) / max(seconds[test], LEAST)

    while rest and worth(best := max(rest, key=lambda test: (worth(test), test))) >= WORTH:
        taken.add(best)
        rest.remove(best)
        left -= lines[best]
    return taken


def main() -> None:
    """Write the list anew."""
    times = (line.split("\t") for line in SECONDS.read_text("utf-8").splitlines())
    seconds = {test: float(took) for took, test in times}
    reached = coverage.CoverageData(str(REACHED))
    reached.read()
    lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for file in reached.measured_files():
        for line, tests in reached.contexts_by_lineno(file).items():
            for test in tests:
                if test:
                    lines[test].add((file, line))
    journeys = {test for test in lines if test.startswith("tests/journeys/")}
    cheaper = {test for test in lines if test not in journeys}
    always = {test for test in journeys if seconds[test] < OPENED or any(name in test for name in ALWAYS)}
    always |= cheaper | showing_writes(journeys, seconds, always)
    elsewhere = journeys - chosen(lines, seconds, always)
    LIST.write_text("".join(f"{test}\n" for test in sorted(elsewhere)), "utf-8")
    print(
        f"{len(elsewhere)} of {len(journeys)} journeys, {sum(seconds[test] for test in elsewhere):.0f} s of a processor"
    )


if __name__ == "__main__":
    main()
