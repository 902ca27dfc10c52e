"""How fast trees of pages are shown, folded, filtered and walked, beside the smallest Textual app, in one run.

    .venv/bin/python tests/benchmarks/trees.py [--rounds 5] [--keys 12]

Each round starts anew, under a pseudo terminal: an app of ready-made lines (floor.py), and trees of 10 000 and 100 000
made pages, unfolded (tree_app.py), each right after hello.py. Making the pages is part of the first paint. Medians, and
medians of the ratios to what ran right beside it; trust processor time and ratios. The first round is thrown away.

- down: `j`, in turn with the same in ready-made lines
- fold, unfold: everything, with `-` and `=`
- filter: each letter of a word typed into the filter
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.figures import in_turn, percentile, prepare, ratios, spread, turns
from tests.benchmarks.terminal import Painted, Pressed, Terminal, peak_memory

HERE = Path(__file__).resolve().parent
FOLD, UNFOLD, SLASH = b"-", b"=", b"/"
WORD = "page 731"


@dataclass
class Shown:
    """One program: a figure for each round and for the smallest app right before it, every key by what it is for, and
    the down key with that in ready-made lines."""

    painted: list[Painted] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    hello: list[tuple[Painted, float]] = field(default_factory=list)
    pressed: dict[str, list[Pressed]] = field(default_factory=dict)
    down: list[list[tuple[Pressed, Pressed]]] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    options = _parser().parse_args(arguments)
    shown: dict[str, Shown] = {}
    for number in range(options.rounds + 1):
        _round(shown, [int(count) for count in options.counts.split(",")], options.keys, options.pace)
        if number == 0 and options.rounds:
            shown.clear()
        print(f"round {number} of {options.rounds}", file=sys.stderr)
    print("\n".join(_report(shown)))


def _round(shown: dict[str, Shown], counts: list[int], keys: int, pace: float) -> None:
    with _after_hello(shown, "ready-made lines", pace, "floor.py") as floor:
        _painted(shown["ready-made lines"], floor, "     0 the line")
    for count in counts:
        figures = shown.setdefault(name := f"{count:,} pages", Shown())
        with _after_hello(shown, name, pace, "tree_app.py", str(count)) as tree:
            _painted(figures, tree, "of the made tree")
            with _running(pace, "floor.py") as floor:
                floor.wait_for("     0 the line")
                floor.settle(0.5)
                figures.down.append(in_turn(tree, b"j", floor, b"j", keys))
            figures.pressed.setdefault("down", []).extend(pressed for pressed, _ in figures.down[-1])
            _press(figures, tree, "page", [b"\x1b[6~"] * keys)
            _press(figures, tree, "end", [b"G", b"g"] * 2)
            tree.write(b"g")
            tree.settle(0.5)
            _press(figures, tree, "fold", [FOLD, UNFOLD] * 3)
            tree.write(SLASH)
            tree.settle(0.5)
            _press(figures, tree, "filter", [letter.encode() for letter in WORD])


def _running(pace: float, script: str, *arguments: str) -> Terminal:
    return Terminal((sys.executable, str(HERE / script), *arguments), pace=pace)


def _after_hello(shown: dict[str, Shown], name: str, pace: float, script: str, *arguments: str) -> Terminal:
    with _running(pace, "hello.py") as hello:
        painted = hello.wait_for("HELLO, TERMINAL")
        hello.settle(0.5)
        shown.setdefault(name, Shown()).hello.append((painted, peak_memory(hello.pid)))
    return _running(pace, script, *arguments)


def _painted(figures: Shown, terminal: Terminal, text: str) -> None:
    figures.painted.append(terminal.wait_for(text))
    terminal.settle(0.5)
    figures.memory.append(peak_memory(terminal.pid))


def _press(figures: Shown, terminal: Terminal, what: str, keys: list[bytes]) -> None:
    pressed = [each for key in keys if (each := terminal.press(key)) is not None]
    figures.pressed.setdefault(what, []).extend(pressed)


def _report(shown: dict[str, Shown]) -> Iterator[str]:
    hello = [painted for figures in shown.values() for painted, _ in figures.hello]
    rounds = len(next(iter(shown.values())).painted)
    yield f"Python {sys.version.split()[0]}, {rounds} rounds. Milliseconds: median [least-most]."
    yield ""
    yield f"{'first paint':17} {'wall':>24} {'cpu':>24} {'cpu/hello':>18} {'MiB-hello':>9}"
    yield f"{'hello':17} {spread([each.wall for each in hello]):>24} {spread([each.cpu for each in hello]):>24}"
    for name, figures in shown.items():
        cpu = [each.cpu for each in figures.painted]
        more = statistics.median(a - b for a, (_, b) in zip(figures.memory, figures.hello, strict=True))
        yield (
            f"{name:17} {spread([each.wall for each in figures.painted]):>24} {spread(cpu):>24} "
            f"{spread(ratios(cpu, [each.cpu for each, _ in figures.hello]), 1, 2):>18} {more:9.1f}"
        )
    yield ""
    yield f"{'key':24} {'to the frame':>22} {'p95':>6} {'cpu':>22} {'most':>7} {'cpu/ready-made':>18}"
    for name, figures in shown.items():
        for what, every in figures.pressed.items():
            framed, cpu = [each.frame for each in every], [each.cpu for each in every]
            beside = spread([turns(pairs) for pairs in figures.down], 1, 2) if what == "down" else ""
            yield (
                f"{f'{name}: {what}':24} {spread(framed):>22} {percentile(framed, 0.95) * 1000:6.1f} {spread(cpu):>22} "
                f"{max(cpu) * 1000:7.1f} {beside:>18}"
            )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Trees of pages beside the smallest Textual app.")
    parser.add_argument("--rounds", type=int, default=5, help="times each program is started")
    parser.add_argument("--keys", type=int, default=12, help="times each key is pressed in a round")
    parser.add_argument("--counts", default="10000,100000", help="pages in a tree")
    parser.add_argument("--pace", type=float, default=1.0, help="how long silences are: below 1 figures say nothing")
    return parser


if __name__ == "__main__":
    prepare()
    main()
