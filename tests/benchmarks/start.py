"""How fast Octavo starts, answers a key and ends, beside the smallest Textual app, in one run.

    .venv/bin/python tests/benchmarks/start.py [--rounds 9] [--keys 12] [--size 120x36]

Starts, in turn, each round anew and under a pseudo terminal:

- python       the interpreter, which prints a word: the least a Python program can take
- version      `octavo --version`
- hello        the smallest Textual app (hello.py)
- demo         a second start of `octavo demo`: its library is known from an earlier run, and the page tree and the
               page read last are on the first screen, which is drawn by the app and answers keys
- picture      the same with the picture of that screen that the run before kept: it is shown while the app is loaded,
               and what is typed under it waits. Until the app draws, it is `demo` and a few milliseconds
- 190 KB, 1 MB a second start of `octavo open FOLDER`, where the page read last has so many characters; no picture

and presses keys in the demo and in an app of ready-made lines (floor.py). The table gives medians, and the median of
the ratios taken inside each round, which is what holds on a busy machine: wall time doubles when others work,
processor time hardly moves. Everything is compiled to bytecode first, and PYTHONDONTWRITEBYTECODE is not passed on:
compiling costs more than all that is measured here. The first round is thrown away.

- painted: the first moment at which all that is waited for is on the screen
- a key: from pressing it to the first byte the app writes, and processor time to the end of the frame it leads to
- left: from ctrl+q until the alternate screen is left; gone: until the process is
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import octavo
from octavo.first_picture import PREFIX
from tests.benchmarks.figures import prepare, ratios, spread
from tests.benchmarks.terminal import Painted, Pressed, Terminal, peak_memory
from tests.benchmarks.texts import TITLE, made_page

HERE = Path(__file__).resolve().parent
PYTHON = sys.executable
OCTAVO = (PYTHON, "-m", "octavo")
CTRL_Q = b"\x11"
PAGE = "The Harbour API answers"
TREE = "Your first tide"
BEGINNING = "Part 0"
LONG = {"190 KB": 190_000, "1 MB": 1_000_000}


@dataclass
class Started:
    """One program: a figure for each round."""

    painted: list[Painted] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)
    left: list[float] = field(default_factory=list)
    gone: list[float] = field(default_factory=list)


@dataclass
class Bench:
    """What was measured so far."""

    environ: dict[str, str]
    cache: Path
    columns: int
    rows: int
    pace: float = 1.0
    only: Collection[str] | None = None
    """What is started, by its name; None for all."""
    started: dict[str, Started] = field(default_factory=dict)
    pressed: dict[str, list[list[Pressed]]] = field(default_factory=dict)

    def running(self, *command: str) -> Terminal:
        return Terminal(command, self.environ, columns=self.columns, rows=self.rows, pace=self.pace)

    def start(
        self,
        name: str,
        command: Sequence[str],
        *texts: str,
        quit_with: bytes | None = None,
        then: Callable[[Terminal], None] = lambda terminal: None,
    ) -> None:
        """Measure one start: until `texts` are on the screen, and from `quit_with` to the end."""
        if self.only is not None and name not in self.only:
            return
        figures = self.started.setdefault(name, Started())
        with self.running(*command) as terminal:
            figures.painted.append(terminal.wait_for(*texts))
            if quit_with is None:
                return
            terminal.settle(1.0)
            figures.memory.append(peak_memory(terminal.pid))
            then(terminal)
            left, gone = terminal.quit(quit_with)
            figures.left.append(left)
            figures.gone.append(gone)

    def press(self, name: str, terminal: Terminal, keys: Sequence[bytes]) -> None:
        """Measure what each of `keys` leads to. They belong to one round."""
        pressed = [each for key in keys if (each := terminal.press(key)) is not None]
        self.pressed.setdefault(name, []).append(pressed)

    def forget_picture(self) -> None:
        """Let the next start show nothing before it draws."""
        for picture in self.cache.glob(f"{PREFIX}*"):
            picture.unlink()

    def forget(self) -> None:
        """Begin again with nothing: what was measured was for warming up."""
        self.started.clear()
        self.pressed.clear()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the tables."""
    options = _parser().parse_args(arguments)
    columns, rows = (int(part) for part in options.size.split("x"))
    only = options.only.split(",") if options.only else None
    long = {name: size for name, size in LONG.items() if only is None or name in only}
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as folder:
        environ = {f"OCTAVO_{name}_DIR": f"{folder}/{name.lower()}" for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        bench = Bench({**environ, "HOME": folder}, Path(folder, "cache"), columns, rows, options.pace, only)
        if options.library is not None:
            (demo := Path(folder, "data", "demo")).mkdir(parents=True, mode=0o700)
            shutil.copyfile(options.library, demo / "platform.db")
        _first_start(bench)
        folders = {name: Path(folder, f"of {name}") for name in long}
        for name, of_pages in folders.items():
            of_pages.mkdir()
            (of_pages / "README.md").write_text(made_page(LONG[name]), "utf-8")
            _first_start(bench, of_pages)
        for number in range(options.rounds + 1):
            _round(bench, options.keys, folders)
            if number == 0 and options.rounds:
                bench.forget()
            print(f"round {number} of {options.rounds}", file=sys.stderr)
    print("\n".join(_report(bench)))


def _round(bench: Bench, keys: int, folders: dict[str, Path]) -> None:
    bench.start("python", (PYTHON, "-c", "print('HELLO'); input()"), "HELLO")
    bench.start("version", (*OCTAVO, "--version"), octavo.__version__)
    bench.start("hello", (PYTHON, str(HERE / "hello.py")), "HELLO, TERMINAL", quit_with=CTRL_Q)
    for name, of_pages in folders.items():
        bench.forget_picture()
        bench.start(name, (*OCTAVO, "open", str(of_pages)), TITLE, BEGINNING, quit_with=CTRL_Q)
    bench.forget_picture()
    bench.start("demo", (*OCTAVO, "demo"), PAGE, TREE, quit_with=CTRL_Q, then=lambda demo: _keys(bench, demo, keys))
    bench.start("picture", (*OCTAVO, "demo"), PAGE, TREE, quit_with=CTRL_Q)
    with bench.running(PYTHON, str(HERE / "floor.py")) as floor:
        floor.wait_for("     0 the line")
        floor.settle(0.5)
        bench.press("floor: cursor", floor, [b"j"] * keys)
        bench.press("floor: scroll", floor, [b"n"] * keys)


def _keys(bench: Bench, demo: Terminal, keys: int) -> None:
    """Begins and ends in the page tree."""
    bench.press("j in the tree", demo, [b"j"] * keys)
    demo.write(b"\t")
    demo.settle(0.3)
    bench.press("j in the page", demo, [b"j"] * keys)
    demo.write(b"g")  # the next start shows the page where it was left
    demo.settle(0.3)
    for _ in range(2):
        # The first time a view is shown it is imported and built: that is another figure.
        for view in (b"3", b"4", b"1", b"2"):
            demo.write(view)
            demo.settle(0.6)
    bench.press("switch views", demo, [b"3", b"2"] * max(keys // 4, 1))


def _first_start(bench: Bench, folder: Path | None = None) -> None:
    """Let the demo set out its library, or open a folder, and read until all that the first screen shows is kept. The demo
    begins with the inbox, and comes back to the page once one was left there."""
    command, texts = (("demo",), (PAGE, TREE, "updated")) if folder is None else (("open", str(folder)), (BEGINNING,))
    with bench.running(*OCTAVO, *command) as first:
        if folder is None:
            first.wait_for("To do")
            first.write(b"2")
        first.wait_for(*texts)
        first.settle(2.0)
        first.quit(CTRL_Q)


def _report(bench: Bench) -> Iterator[str]:
    hello = bench.started["hello"]
    rounds = len(hello.painted)
    yield f"Python {sys.version.split()[0]}, {bench.columns}x{bench.rows}, {rounds} rounds. Milliseconds: median [least-most]."
    yield ""
    yield f"{'first paint':14} {'wall':>20} {'cpu':>20} {'MiB':>6} {'wall/hello':>18} {'cpu/hello':>18} {'MiB/hello':>10}"
    for name, figures in bench.started.items():
        wall, cpu = [each.wall for each in figures.painted], [each.cpu for each in figures.painted]
        memory = f"{statistics.median(figures.memory):.1f}" if figures.memory else ""
        of_memory = f"{statistics.median(ratios(figures.memory, hello.memory)):.2f}" if figures.memory else ""
        ratio_wall = spread(ratios(wall, [each.wall for each in hello.painted]), 1, 2)
        ratio_cpu = spread(ratios(cpu, [each.cpu for each in hello.painted]), 1, 2)
        yield f"{name:14} {spread(wall):>20} {spread(cpu):>20} {memory:>6} {ratio_wall:>18} {ratio_cpu:>18} {of_memory:>10}"
    yield ""
    yield f"{'quit':14} {'screen left':>20} {'process gone':>20}"
    for name, figures in bench.started.items():
        if figures.left:
            yield f"{name:14} {spread(figures.left):>20} {spread(figures.gone):>20}"
    yield ""
    yield f"{'key':14} {'to first byte':>20} {'to last byte':>20} {'cpu':>20} {'bytes':>7} {'cpu/floor':>18}"
    for name, by_round in bench.pressed.items():
        every = [each for pressed in by_round for each in pressed]
        floor = bench.pressed["floor: scroll" if name == "j in the page" else "floor: cursor"]
        ratio = spread(ratios(_cpu_by_round(by_round), _cpu_by_round(floor)), 1, 2)
        yield (
            f"{name:14} {spread([each.first for each in every]):>20} {spread([each.last for each in every]):>20} "
            f"{spread([each.cpu for each in every]):>20} {statistics.median(each.size for each in every):>7.0f} {ratio:>18}"
        )


def _cpu_by_round(by_round: list[list[Pressed]]) -> list[float]:
    return [statistics.median(each.cpu for each in pressed) for pressed in by_round if pressed]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Start, keys and quit of Octavo beside the smallest Textual app.")
    parser.add_argument("--rounds", type=int, default=9, help="times each program is started")
    parser.add_argument("--keys", type=int, default=12, help="times each key is pressed in a round")
    parser.add_argument("--only", default="", help="what is started: names with commas between them, hello among them")
    parser.add_argument("--library", type=Path, help="a demo that was set out before, to be copied")
    parser.add_argument("--size", default="120x36", help="of the terminal: columns x rows")
    parser.add_argument("--pace", type=float, default=1.0, help="how long silences are: below 1 figures say nothing")
    return parser


if __name__ == "__main__":
    prepare()
    main()
