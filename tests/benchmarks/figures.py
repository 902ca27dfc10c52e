"""Figures of several rounds: medians and spreads, and ratios taken inside each round."""

from __future__ import annotations

import compileall
import statistics
import sysconfig
from collections.abc import Sequence
from pathlib import Path

import octavo


def ratios(values: Sequence[float], beside: Sequence[float]) -> list[float]:
    """Each value as a multiple of the one measured beside it."""
    return [value / other for value, other in zip(values, beside, strict=True)]


def spread(values: Sequence[float], scale: float = 1000.0, digits: int = 1) -> str:
    """The median of values, and between which they lie."""
    shown = [f"{value * scale:.{digits}f}" for value in (statistics.median(values), min(values), max(values))]
    return f"{shown[0]} [{shown[1]}-{shown[2]}]"


def percentile(values: Sequence[float], part: float) -> float:
    """The value that `part` of all values do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * part))]


def compile_all() -> None:
    """Compile the app and its libraries to bytecode: not to have it costs more than anything that is measured."""
    for folder in (sysconfig.get_path("purelib"), str(Path(octavo.__file__).parent), str(Path(__file__).parent)):
        compileall.compile_dir(folder, quiet=2, workers=1)
