"""Figures of several rounds: medians and spreads, and ratios taken inside each round."""

from __future__ import annotations

import compileall
import signal
import statistics
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import octavo
from tests.benchmarks.terminal import Pressed, Terminal


def ratios(values: Sequence[float], beside: Sequence[float]) -> list[float]:
    """Each value as a multiple of the one measured beside it."""
    return [value / max(other, 1e-6) for value, other in zip(values, beside, strict=True)]


def in_turn(
    terminal: Terminal, key: bytes, beside: Terminal, its_key: bytes, times: int
) -> list[tuple[Pressed, Pressed]]:
    """Press a key in two programs, in one right after the other: both meet the machine as it is then."""
    pairs = ((terminal.press(key), beside.press(its_key)) for _ in range(times))
    return [(pressed, other) for pressed, other in pairs if pressed is not None and other is not None]


def spread(values: Sequence[float], scale: float = 1000.0, digits: int = 1) -> str:
    """The median of values, and between which they lie."""
    shown = [f"{value * scale:.{digits}f}" for value in (statistics.median(values), min(values), max(values))]
    return f"{shown[0]} [{shown[1]}-{shown[2]}]"


def turns(pairs: Sequence[tuple[Pressed, Pressed]]) -> float:
    """The median of how many times as much processor time the first of two keys took as the one pressed beside it."""
    return statistics.median(pressed.cpu / max(beside.cpu, 1e-6) for pressed, beside in pairs)


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` of all values do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def prepare() -> None:
    """Compile the app and its libraries to bytecode: not to have it costs more than anything that is measured. And let the
    programs end with this one when it is told to end: one that was left reading by itself ate a processor for an hour."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    for folder in (sysconfig.get_path("purelib"), str(Path(octavo.__file__).parent), str(Path(__file__).parent)):
        compileall.compile_dir(folder, quiet=2, workers=1)
