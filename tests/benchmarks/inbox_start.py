"""How the inbox of the large demo starts, beside that of the demo, in one run: python tests/benchmarks/inbox_start.py

    --large FOLDER   where the large demo is (benchmarks/inbox.py makes it there); otherwise it is made, which takes half a minute
    --kept FOLDER    where what both keep between starts is, or is to be: the first start of the large demo reads everything
    --share 1.0      of the large demo, when it is made
    --rounds 5

A second start of each with 50 ms a request, under a pseudo terminal, without the picture of the start before: until the
rows are drawn by the app, and until the frame says that what is on show is live. Wall and processor time, which hardly
moves on a busy machine, in milliseconds; ratios are taken inside each round. The first round is thrown away.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from octavo.first_picture import PREFIX
from tests.benchmarks.figures import prepare, ratios, spread
from tests.benchmarks.inbox import make
from tests.benchmarks.terminal import Painted, Terminal, peak_memory

OCTAVO = (sys.executable, "-m", "octavo")
CTRL_Q = b"\x11"
ROWS = ("REVIEW REQUESTED", "To do")
LIVE = "● updated"
COMMANDS = {"demo": ("demo", "--latency", "50"), "large": ("demo", "--large", "--latency", "50")}


class Home:
    """Where one of the two keeps what it knows."""

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self._folder = name, folder / name
        self.data = self._folder / "data"
        kinds = ("config", "data", "state", "cache")
        self._environ = {f"OCTAVO_{kind.upper()}_DIR": str(self._folder / kind) for kind in kinds}
        self._environ["HOME"] = str(self._folder)

    def started(self, pace: float) -> Terminal:
        for picture in (self._folder / "cache").glob(f"{PREFIX}*"):
            picture.unlink()
        return Terminal((*OCTAVO, *COMMANDS[self.name]), self._environ, pace=pace)

    @property
    def is_new(self) -> bool:
        return not (self._folder / "state").exists()


def first_start(home: Home, pace: float) -> None:
    """Read everything there is to read."""
    with home.started(pace) as terminal:
        terminal.wait_for(*ROWS, "as of", limit=600.0)
        while re.search(r"asked \d+ of|not known|still being read", terminal.look()):
            if terminal.now() > 3600.0:
                raise TimeoutError(terminal.screen)
            terminal.settle(2.0)
        terminal.quit(CTRL_Q)


def second_start(home: Home, pace: float) -> tuple[Painted, Painted, float]:
    """Until the rows are there, until they are live, and the memory that took."""
    with home.started(pace) as terminal:
        rows = terminal.wait_for(*ROWS, limit=120.0)
        live = terminal.wait_for(*ROWS, LIVE, limit=120.0)
        terminal.settle(1.0)
        memory = peak_memory(terminal.pid)
        terminal.quit(CTRL_Q)
    return rows, live, memory


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--large", type=Path)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    parser.add_argument("--pace", type=float, default=1.0, help="how long silences are: below 1 figures say nothing")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="octavo-bench-") as made:
        homes = [Home(chosen.kept or Path(made), name) for name in COMMANDS]
        if homes[1].is_new:
            if chosen.large is not None:
                shutil.copytree(chosen.large, homes[1].data / "demo-large")
            make(homes[1].data / "demo-large", chosen.share)
        for home in homes:
            if home.is_new:
                first_start(home, chosen.pace)
        figures: dict[str, list[tuple[Painted, Painted, float]]] = {name: [] for name in COMMANDS}
        for number in range(chosen.rounds + 1):
            for home in homes:
                figure = second_start(home, chosen.pace)
                if number or not chosen.rounds:
                    figures[home.name].append(figure)
    print(f"{'':6} {'rows, wall':>20} {'rows, cpu':>20} {'live, wall':>20} {'live, cpu':>20} {'MiB':>16}")
    columns = {name: _columns(each) for name, each in figures.items()}
    for name, each in columns.items():
        memory = [figure[2] / 1000 for figure in figures[name]]
        print(f"{name:6} " + " ".join(f"{spread(values):>20}" for values in each) + f" {spread(memory):>16}")
    by = zip(columns["large"], columns["demo"], strict=True)
    print(f"{'ratio':6} " + " ".join(f"{spread(ratios(large, demo), 1, 2):>20}" for large, demo in by))


def _columns(figures: Sequence[tuple[Painted, Painted, float]]) -> list[list[float]]:
    return [
        [each[0].wall for each in figures],
        [each[0].cpu for each in figures],
        [each[1].wall for each in figures],
        [each[1].cpu for each in figures],
    ]


if __name__ == "__main__":
    prepare()
    main()
