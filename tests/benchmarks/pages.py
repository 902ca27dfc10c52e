"""How fast pages are shown, and how fast a key is answered in them, beside the smallest Textual app, in one run.

    OCTAVO_CORPUS=FOLDER .venv/bin/python tests/benchmarks/pages.py [--rounds 5] [--keys 20] [--sizes 1000000,...]

Each round starts anew, in turn, under a pseudo terminal, each right after hello.py: Textual's own Markdown with the real
page; pages in the page view alone (page_app.py): real pages of 190 KB and of 1 MB in one when OCTAVO_CORPUS names a folder
with `pages/*.md`, and made ones. Started once more, keys are pressed at once, while the page is still being read, and when it
is, then in turn with those in an app of ready-made lines (floor.py). Then all pages of the corpus are read to their ends in one app that
watches how long its event loop does not come round, and so are pages that are one long block each. `--stock` also measures
Textual's Markdown with the pages of 1 MB: up to a minute and a gigabyte each.

Medians of each, and of the ratios to what ran right beside it; trust processor time and ratios. The first round is thrown
away.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.figures import in_turn, percentile, prepare, ratios, spread, turns
from tests.benchmarks.terminal import Painted, Pressed, Terminal, peak_memory
from tests.benchmarks.texts import TITLE, long_blocks, made_page, real_page

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
_READ_TO_THE_END = 1_500_000
"""Bytes: longer pages are not gone through page by page, and read for 20 seconds before memory is looked at."""


@dataclass
class Shown:
    """One program: a figure for each round and for the smallest app right before it, and every key, by what it does with
    that in ready-made lines."""

    painted: list[Painted] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    """Of a page once it is read to its end, if that is not long."""
    pressed: list[float] = field(default_factory=list)
    """And in another start, once all keys were pressed."""
    hello: list[tuple[Painted, float]] = field(default_factory=list)
    keys: dict[str, list[list[tuple[Pressed, Pressed]]]] = field(default_factory=dict)
    early: list[Pressed] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as folder:
        files = dict(_files(Path(folder), [int(size) for size in options.sizes.split(",") if size]))
        sizes = ("real 190 KB", "real 1000 KB", "made 1000 KB") if options.stock else ("real 190 KB",)
        stock = {f"stock {name}": files[name] for name in sizes if name in files}
        shown: dict[str, Shown] = {}
        for number in range(options.rounds + 1):
            _round(shown, files, stock, options.keys, options.size, options.pace)
            if number == 0 and options.rounds:
                shown.clear()
            print(f"round {number} of {options.rounds}", file=sys.stderr)
        print("\n".join(_report(shown)))
        if corpus := os.environ.get("OCTAVO_CORPUS"):
            print("\n".join(_stalls(Path(corpus, "pages"), Path(folder, "stalls.json"), options.size)))
        if not options.brief:
            blocks = Path(folder, "blocks")
            blocks.mkdir()
            for name, text in long_blocks().items():
                _written(blocks / f"{name}.md", text)
            print("\n".join(_stalls(blocks, Path(folder, "blocks.json"), options.size, most=len(long_blocks()))))
        for name, path in files.items():
            if path.stat().st_size <= _READ_TO_THE_END:
                print("\n".join(_stalls(path, Path(folder, f"{name}.json"), options.size)))


def _files(folder: Path, sizes: list[int]) -> Iterator[tuple[str, Path]]:
    if os.environ.get("OCTAVO_CORPUS"):
        for size in (190_000, 1_000_000):
            yield f"real {size // 1000} KB", _written(folder / f"real-{size}.md", real_page(size))
    for size in sizes:
        yield f"made {size // 1000} KB", _written(folder / f"made-{size}.md", made_page(size))


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def _round(
    shown: dict[str, Shown], files: dict[str, Path], stock: dict[str, Path], keys: int, size: str, pace: float
) -> None:
    columns, rows = (int(part) for part in size.split("x"))

    def running(*command: str) -> Terminal:
        return Terminal((PYTHON, *command), columns=columns, rows=rows, pace=pace)

    def after_hello(name: str) -> Shown:
        figures = shown.setdefault(name, Shown())
        with running(str(HERE / "hello.py")) as hello:
            painted = hello.wait_for("HELLO, TERMINAL")
            hello.settle(0.5)
            figures.hello.append((painted, peak_memory(hello.pid)))
        return figures

    for name, path in stock.items():
        figures = after_hello(name)
        with running(str(HERE / "markdown_app.py"), str(path)) as app:
            figures.painted.append(app.wait_for(TITLE, limit=300.0))
            figures.memory.append(peak_memory(app.pid))
    for name, path in files.items():
        limit = 60.0 if path.stat().st_size <= _READ_TO_THE_END else 20.0
        figures = after_hello(name)
        with running(str(HERE / "page_app.py"), str(path)) as app:
            figures.painted.append(app.wait_for(TITLE))
            app.rest(limit=limit)
            figures.memory.append(peak_memory(app.pid))
        with running(str(HERE / "page_app.py"), str(path)) as app:
            app.wait_for(TITLE)
            early = [app.press(b"j", quiet=0.05) for _ in range(keys)]
            figures.early += [each for each in early if each is not None]
            app.rest(limit=limit)
            with running(str(HERE / "floor.py")) as floor:
                floor.wait_for("     0 the line")
                floor.settle(0.5)
                for what, key, its_key in (("line", b"j", b"n"), ("page", b" ", b" ")):
                    figures.keys.setdefault(what, []).append(in_turn(app, key, floor, its_key, keys))
            figures.pressed.append(peak_memory(app.pid))


def _report(shown: dict[str, Shown]) -> Iterator[str]:
    hello = [painted for figures in shown.values() for painted, _ in figures.hello]
    rounds = len(next(iter(shown.values())).painted)
    yield f"Python {sys.version.split()[0]}, {rounds} rounds. Milliseconds: median [least-most]."
    yield ""
    yield f"{'first paint':18} {'wall':>24} {'cpu':>24} {'cpu/hello':>21} {'MiB-hello':>9} {'keys':>5} {'stock/cpu':>20}"
    yield f"{'hello':18} {spread([each.wall for each in hello]):>24} {spread([each.cpu for each in hello]):>24}"
    for name, figures in shown.items():
        cpu = [each.cpu for each in figures.painted]
        stock = shown.get(f"stock {name}")
        faster = spread(ratios([each.cpu for each in stock.painted], cpu), 1, 1) if stock else ""
        more, most = (
            statistics.median(a - b for a, (_, b) in zip(memory or [math.nan], figures.hello, strict=False))
            for memory in (figures.memory, figures.pressed)
        )
        yield (
            f"{name:18} {spread([each.wall for each in figures.painted]):>24} {spread(cpu):>24} "
            f"{spread(ratios(cpu, [each.cpu for each, _ in figures.hello]), 1, 2):>21} "
            f"{more:9.1f} {most:5.1f} {faster:>20}"
        )
    yield ""
    yield f"{'key':24} {'to the frame':>22} {'p95':>6} {'cpu':>22} {'cpu/ready-made':>18}"
    for name, figures in shown.items():
        for what, by_round in figures.keys.items():
            yield f"{f'{name}: {what}':24} {_keys([pressed for pairs in by_round for pressed, _ in pairs])} " + (
                f"{spread([turns(pairs) for pairs in by_round], 1, 2):>18}"
            )
        if figures.early:
            yield f"{f'{name}: line, early':24} {_keys(figures.early)}"
    beside = [other for figures in shown.values() for rows in figures.keys.values() for row in rows for _, other in row]
    yield f"{'ready-made lines':24} {_keys(beside)}"


def _keys(pressed: list[Pressed]) -> str:
    framed = [each.frame for each in pressed]
    return f"{spread(framed):>22} {percentile(framed, 0.95) * 1000:6.1f} {spread([each.cpu for each in pressed]):>22}"


def _stalls(pages: Path, figures: Path, size: str, most: int = 8) -> Iterator[str]:
    columns, rows = (int(part) for part in size.split("x"))
    with Terminal((PYTHON, str(HERE / "page_app.py"), str(pages), str(figures)), columns=columns, rows=rows) as app:
        app.end(600.0)
    found = sorted(json.loads(figures.read_text("utf-8")).items(), key=lambda item: -item[1]["stall"])
    yield ""
    yield f"longest time the event loop did not come round, {pages.name}: {len(found)} pages"
    for name, each in found[:most]:
        yield f"{each['stall'] * 1000:7.1f} ms, 99 % {each['p99'] * 1000:5.1f} ms, {each['size']:8} characters: {name}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Pages beside the smallest Textual app and Textual's own Markdown.")
    parser.add_argument("--rounds", type=int, default=5, help="times each program is started")
    parser.add_argument("--keys", type=int, default=20, help="times each key is pressed in a round")
    parser.add_argument("--sizes", default="1000000,10000000", help="of made pages, in characters")
    parser.add_argument("--stock", action="store_true", help="measure Textual's own Markdown with pages of 1 MB too")
    parser.add_argument("--brief", action="store_true", help="leave out the pages that are one long block each")
    parser.add_argument("--size", default="120x36", help="of the terminal: columns x rows")
    parser.add_argument("--pace", type=float, default=1.0, help="how long silences are: below 1 figures say nothing")
    return parser


if __name__ == "__main__":
    prepare()
    main()
