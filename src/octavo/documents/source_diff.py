"""Two texts compared line by line, for the view of a page's source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from octavo.documents.changes import LineChange
from octavo.documents.line_diff import diff_lines


@dataclass(frozen=True, slots=True)
class SourceHunk:
    """Lines that changed, with unchanged ones around them, and how many unchanged ones come before it."""

    skipped: int
    lines: tuple[LineChange, ...]


def source_diff(old: str, new: str, context: int = 3) -> tuple[SourceHunk, ...]:
    """What changed in a text, in hunks with up to `context` unchanged lines on both sides. None if it did not."""
    lines = diff_lines(old, new)
    keep = _kept(lines, context)
    hunks: list[SourceHunk] = []
    index = 0
    while index < len(lines):
        start = index
        while index < len(lines) and not keep[index]:
            index += 1
        skipped, start = index - start, index
        while index < len(lines) and keep[index]:
            index += 1
        if index > start:
            hunks.append(SourceHunk(skipped, lines[start:index]))
    return tuple(hunks)


def _kept(lines: Sequence[LineChange], context: int) -> list[bool]:
    keep = [False] * len(lines)
    for order in (range(len(lines)), range(len(lines) - 1, -1, -1)):
        near = 0
        for index in order:
            if lines[index].op != "equal":
                near = context + 1
            keep[index] = keep[index] or near > 0
            near = max(0, near - 1)
    return keep
