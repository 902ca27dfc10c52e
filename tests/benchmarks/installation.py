"""An installation of Octavo to measure: its interpreter, and a home folder of its own."""

from __future__ import annotations

import statistics
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from octavo.first_picture import PREFIX
from tests.benchmarks.terminal import Painted, Terminal, environment

CTRL_Q = b"\x11"
F6 = b"\x1b[17~"
PAGE, TREE = "The Harbour API answers", "Your first tide"
"""Texts of the page and of the page tree that the demo shows at its second start."""


@dataclass(frozen=True)
class Installation:
    """A Python interpreter that imports Octavo, and the folder for its data."""

    interpreter: str
    home: Path
    is_quick: bool = False
    """Whether the figures do not matter, because a test checks that the benchmark runs."""

    @cached_property
    def environ(self) -> dict[str, str]:
        """Environment of the programs that are measured."""
        folders = {f"OCTAVO_{name}_DIR": str(self.home / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
        return {**folders, "HOME": str(self.home)}

    def run(self, *arguments: str) -> Terminal:
        """Start the interpreter in a terminal."""
        return Terminal((self.interpreter, *arguments), self.environ, pace=0.2 if self.is_quick else 1.0)

    def octavo(self, *arguments: str) -> Terminal:
        """Start Octavo in a terminal."""
        return self.run("-m", "octavo", *arguments)

    def output(self, *arguments: str) -> str:
        """Return what the interpreter prints. Raises CalledProcessError if it fails."""
        command = (self.interpreter, *arguments)
        return subprocess.run(
            command, env=environment(self.environ), stdout=subprocess.PIPE, text=True, check=True
        ).stdout

    def source(self) -> str:
        """Return the version of Python and the folder that Octavo is imported from."""
        code = "import sys, octavo; print(f'Octavo in {octavo.__path__[0]}, Python {sys.version.split()[0]}')"
        return self.output("-c", code).strip()

    def compile(self) -> None:
        """Compile Octavo and its libraries, because the first import would take longer than all that is measured."""
        code = "import compileall, octavo, textual; [compileall.compile_dir(each.__path__[0], quiet=2) for each in (octavo, textual)]"
        self.output("-c", code)

    @property
    def count(self) -> int:
        """Return how often a key is pressed in a round."""
        return 2 if self.is_quick else 12

    def prepare_demo(self) -> None:
        """Start the demo once, leave the tour, and open a page, which the next start shows."""
        if (self.home / "data").exists():
            return
        with self.octavo("demo") as demo:
            demo.wait_for("To do", "updated", limit=120.0)
            demo.press(F6)
            demo.write(b"2")
            demo.wait_for(PAGE, TREE, "updated")
            demo.settle(2.0)
            demo.quit(CTRL_Q)

    @contextmanager
    def demo(self) -> Iterator[Terminal]:
        """Open the demo with its page and page tree, and quit at the end."""
        with self.octavo("demo") as demo:
            demo.wait_for("updated")
            demo.write(b"2")
            demo.wait_for(PAGE, TREE)
            demo.rest()
            yield demo
            demo.quit(CTRL_Q)

    def forget_first_picture(self) -> None:
        """Delete the pictures that Octavo shows while it starts."""
        for picture in (self.home / "cache").glob(f"{PREFIX}*"):
            picture.unlink()


def times(name: str, painted: Painted) -> dict[str, float]:
    """Return the wall and processor times until a text is on the screen, as figures."""
    return {f"{name}, ms": painted.wall * 1000, f"{name}, CPU ms": painted.cpu * 1000}


def key_times(name: str, terminal: Terminal, keys: list[bytes]) -> dict[str, float]:
    """Press keys, and return their median time to the frame and their median processor time, as figures."""
    pressed = [each for key in keys if (each := terminal.press(key)) is not None]
    return {
        f"{name}, ms": statistics.median([each.frame for each in pressed]) * 1000,
        f"{name}, CPU ms": statistics.median([each.cpu for each in pressed]) * 1000,
    }
