"""A picture made small enough for the cells of a terminal."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ScaledPicture:
    """A picture made small, and what its file says of it. Without pixels `trouble` says why there are none."""

    columns: int = 0
    rows: int = 0
    pixels: bytes = b""
    """Three bytes for each of `columns` times `rows`."""
    format: str = ""
    width: int = 0
    height: int = 0
    frames: int = 1
    trouble: str = ""
