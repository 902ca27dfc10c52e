"""Run benchmarks, and print one table. With `--against`, compare two installations of Octavo in alternating rounds."""

from __future__ import annotations

import argparse
import signal
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from tests.benchmarks.installation import Installation

BENCHMARKS = ("start", "keys", "pages", "diffs", "memory")
Round = tuple[dict[str, float], ...]
"""Figures of one round by name, for each installation."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmarks that the command line names, and print the table."""
    options = _parser().parse_args(arguments)
    signal.signal(
        signal.SIGTERM, lambda number, frame: sys.exit(128 + number)
    )  # The exception ends the measured programs too.
    interpreters = [sys.executable, *([options.against] if options.against else [])]
    with tempfile.TemporaryDirectory(prefix="octavo-benchmark-") as folder:
        installations = [
            Installation(interpreter, Path(folder, name), options.quick)
            for name, interpreter in zip("AB", interpreters, strict=False)
        ]
        for name, installation in zip("AB", installations, strict=False):
            installation.compile()
            print(f"{name}: {installation.source()}")
        print("\n".join(_head(len(installations))))
        for name in options.names:
            print("\n".join(_rows(name, _rounds(name, installations, options.rounds))), flush=True)


def _rounds(name: str, installations: list[Installation], count: int) -> list[Round]:
    """Run a benchmark `count` times, after one round that is not counted, because it fills caches."""
    benchmark = import_module(f"tests.benchmarks.{name}")
    for each in installations:
        benchmark.prepare(each)
    rounds: list[Round] = []
    for number in range(count + 1):
        order = installations[:: 1 if number % 2 else -1]
        figures = {each: benchmark.measure(each) for each in order}
        rounds.append(tuple(figures[each] for each in installations))
        print(f"{name}: round {number} of {count}", file=sys.stderr)
    return rounds[1:] or rounds


def _head(count: int) -> Iterator[str]:
    columns = [f"{name}: median [range]" for name in "AB"[:count]]
    yield f"\n{'':44}" + "".join(f"{each:>26}" for each in columns) + (f"{'A/B [range]':>22}" if count == 2 else "")


def _rows(name: str, rounds: Sequence[Round]) -> Iterator[str]:
    """Yield the lines of a benchmark: the figures of each installation, then the ratio within each round."""
    yield name
    for figure in rounds[0][0]:
        values = [[each[figure] for each in of_one] for of_one in zip(*rounds, strict=True)]
        row = f"  {figure:42}" + "".join(f"{_summary(each, 1):>26}" for each in values)
        if len(values) == 2:
            row += f"{_summary([a / b if b else 1.0 for a, b in zip(*values, strict=True)], 2):>22}"
        yield row


def _summary(values: Sequence[float], digits: int) -> str:
    """Return the median and the range of values."""
    median, least, most = (f"{value:.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{median} [{least}–{most}]"


def _benchmark(name: str) -> str:
    """Return `name`. Raises ArgumentTypeError if there is no such benchmark."""
    if name not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(BENCHMARKS)}")
    return name


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", type=_benchmark, default=BENCHMARKS, metavar="NAME", help=", ".join(BENCHMARKS)
    )
    parser.add_argument("--against", metavar="INTERPRETER", help="the Python of the installation to compare with")
    parser.add_argument("--rounds", type=int, default=5, help="number of rounds (default: 5)")
    parser.add_argument(
        "--quick", action="store_true", help="only check that the benchmarks run: the figures are useless"
    )
    return parser


if __name__ == "__main__":
    main()
