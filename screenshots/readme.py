"""The README, and the parts of it that are written by programs."""

from __future__ import annotations

from pathlib import Path

PATH = Path(__file__).resolve().parent.parent / "README.md"


def between(text: str, begin: str, end: str, part: str) -> str:
    """`text` with `part` between two markers. Raises ValueError when they are not there."""
    before, found, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"The README has no place for this: {begin} and {end}")
    return f"{before}{begin}\n\n{part}\n\n{end}{after}"


def write(text: str) -> None:
    """Replace it."""
    PATH.write_text(text, encoding="utf-8")


def read() -> str:
    """What it holds."""
    return PATH.read_text(encoding="utf-8")
