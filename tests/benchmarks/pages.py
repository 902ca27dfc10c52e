"""How fast pages are shown, and how fast a key is answered in them, beside the smallest Textual app, in one run.

    OCTAVO_CORPUS=FOLDER .venv/bin/python tests/benchmarks/pages.py [--rounds 5] [--keys 20] [--sizes 1000000,...]

Each round starts anew, in turn, under a pseudo terminal: hello.py; Textual's own Markdown with the real page; pages in
the page view alone (page_app.py): real pages of 190 KB in one when OCTAVO_CORPUS names a folder with `pages/*.md`, and
made ones. Keys are pressed twice, at once while the page is still being read, and once it is; beside them keys in an
app of ready-made lines (floor.py). Then all pages of the corpus are read to their ends in one app that watches how long
its event loop does not come round, and so are pages that are one long block each. `--stock` also measures Textual's
Markdown with a made page of that many characters.

Medians of each, and of the ratios inside each round; trust processor time and ratios. The first round is thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.benchmarks.figures import compile_all, percentile, ratios, spread
from tests.benchmarks.terminal import Painted, Pressed, Terminal, peak_memory
from tests.benchmarks.texts import TITLE, long_blocks, made_page, real_page

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
REAL = 190_000
_READ_TO_THE_END = 1_500_000
"""Bytes: longer pages are not gone through page by page."""


@dataclass
class Shown:
    """One program: a figure for each round, and every key."""

    painted: list[Painted] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    lines: list[list[Pressed]] = field(default_factory=list)
    pages: list[list[Pressed]] = field(default_factory=list)
    early: list[Pressed] = field(default_factory=list)


def main() -> None:
    """Measure, and print the tables."""
    options = _parser().parse_args()
    compile_all()
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as folder:
        files = dict(_files(Path(folder), [int(size) for size in options.sizes.split(",") if size]))
        stock = {"stock real": files["real"]} if "real" in files else {}
        if options.stock:
            stock["stock made"] = _written(Path(folder, "stock.md"), made_page(options.stock))
        shown: dict[str, Shown] = {}
        for number in range(options.rounds + 1):
            _round(shown, files, stock, options.keys, options.size)
            if number == 0 and options.rounds:
                shown.clear()
            print(f"round {number} of {options.rounds}", file=sys.stderr)
        print("\n".join(_report(shown)))
        if corpus := os.environ.get("OCTAVO_CORPUS"):
            print("\n".join(_stalls(Path(corpus, "pages"), Path(folder, "stalls.json"), options.size)))
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
        yield "real", _written(folder / "real.md", real_page(REAL))
    for size in sizes:
        yield f"made {size // 1000} KB", _written(folder / f"made-{size}.md", made_page(size))


def _written(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def _round(shown: dict[str, Shown], files: dict[str, Path], stock: dict[str, Path], keys: int, size: str) -> None:
    columns, rows = (int(part) for part in size.split("x"))

    def running(*command: str) -> Terminal:
        return Terminal((PYTHON, *command), columns=columns, rows=rows)

    with running(str(HERE / "hello.py")) as hello:
        figures = shown.setdefault("hello", Shown())
        figures.painted.append(hello.wait_for("HELLO, TERMINAL"))
        hello.settle(0.5)
        figures.memory.append(peak_memory(hello.pid))
    with running(str(HERE / "floor.py")) as floor:
        figures = shown.setdefault("floor", Shown())
        figures.painted.append(floor.wait_for("     0 the line"))
        floor.settle(0.5)
        figures.memory.append(peak_memory(floor.pid))
        figures.lines.append(_press(floor, b"n", keys))
        figures.pages.append(_press(floor, b" ", keys))
    for name, path in stock.items():
        with running(str(HERE / "markdown_app.py"), str(path)) as app:
            figures = shown.setdefault(name, Shown())
            figures.painted.append(app.wait_for(TITLE, limit=300.0))
            figures.memory.append(peak_memory(app.pid))
    for name, path in files.items():
        with running(str(HERE / "page_app.py"), str(path)) as app:
            figures = shown.setdefault(name, Shown())
            figures.painted.append(app.wait_for(TITLE))
            figures.early += _press(app, b"j", keys, quiet=0.05)
            app.settle(1.0, limit=20)
            figures.memory.append(peak_memory(app.pid))
            figures.lines.append(_press(app, b"j", keys))
            figures.pages.append(_press(app, b" ", keys))


def _press(terminal: Terminal, key: bytes, keys: int, quiet: float = 0.15) -> list[Pressed]:
    return [each for _ in range(keys) if (each := terminal.press(key, quiet=quiet)) is not None]


def _report(shown: dict[str, Shown]) -> Iterator[str]:
    hello, floor = shown["hello"], shown["floor"]
    yield f"Python {sys.version.split()[0]}, {len(hello.painted)} rounds. Milliseconds: median [least-most]."
    yield ""
    yield f"{'first paint':14} {'wall':>24} {'cpu':>24} {'cpu/hello':>18} {'MiB':>7} {'MiB-hello':>9} {'stock real/cpu':>20}"
    for name, figures in shown.items():
        cpu = [each.cpu for each in figures.painted]
        stock = shown.get("stock real")
        faster = spread(ratios([each.cpu for each in stock.painted], cpu), 1, 1) if stock and name == "real" else ""
        more = statistics.median(a - b for a, b in zip(figures.memory, hello.memory, strict=True))
        yield (
            f"{name:14} {spread([each.wall for each in figures.painted]):>24} {spread(cpu):>24} "
            f"{spread(ratios(cpu, [each.cpu for each in hello.painted]), 1, 2):>18} "
            f"{statistics.median(figures.memory):7.1f} {more:9.1f} {faster:>20}"
        )
    yield ""
    yield f"{'key':24} {'to the frame':>22} {'p95':>6} {'cpu':>22} {'cpu/floor':>18}"
    for name, figures in shown.items():
        for what, by_round, beside in (("line", figures.lines, floor.lines), ("page", figures.pages, floor.pages)):
            if by_round and all(by_round):
                yield f"{f'{name}: {what}':24} {_keys([each for row in by_round for each in row])} " + (
                    f"{spread(ratios(_medians(by_round), _medians(beside)), 1, 2):>18}"
                )
        if figures.early:
            yield f"{f'{name}: line, early':24} {_keys(figures.early)}"


def _keys(pressed: list[Pressed]) -> str:
    framed = [each.frame for each in pressed]
    return f"{spread(framed):>22} {percentile(framed, 0.95) * 1000:6.1f} {spread([each.cpu for each in pressed]):>22}"


def _medians(by_round: list[list[Pressed]]) -> list[float]:
    return [statistics.median(each.cpu for each in pressed) for pressed in by_round]


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
    parser.add_argument("--stock", type=int, default=0, help="characters of a made page for Textual's own Markdown")
    parser.add_argument("--size", default="120x36", help="of the terminal: columns x rows")
    return parser


if __name__ == "__main__":
    main()
