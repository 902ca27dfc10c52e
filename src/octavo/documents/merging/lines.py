"""What differs between two texts, line by line.

Lines that occur once in both are the fixed points (they are what a reader recognises), the longest common
subsequence fills what lies between them.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from octavo.documents.sequences import stretches

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True)
class Hunk:
    """Lines `start` to `end` (not included) of the base become `lines`."""

    start: int
    end: int
    lines: list[str]


def compare(base: list[str], other: list[str]) -> list[Hunk]:
    """What makes `other` of `base`, in order. Between two hunks there is at least one line that stays."""
    found = stretches(base, other, landmarks=True)
    return [Hunk(each.i1, each.i2, other[each.j1 : each.j2]) for each in found if not each.equal]


def in_order(before: Sequence[T], after: Sequence[T]) -> set[T]:
    """Of what occurs once in each, that which need not move to get from one order to the other."""
    found = stretches(before, after, landmarks=True)
    return {each for stretch in found if stretch.equal for each in before[stretch.i1 : stretch.i2]}


class Region(NamedTuple):
    """What a stretch of lines was, and what either side made of it."""

    base: list[str]
    main: list[str]
    proposed: list[str]

    @property
    def settled(self) -> list[str] | None:
        """What it becomes. None if both sides changed it, and not in the same way."""
        if self.main == self.proposed or self.proposed == self.base:
            return self.main
        return self.proposed if self.main == self.base else None


def regions(base: list[str], main: list[str], proposed: list[str]) -> list[Region]:
    """The lines in order, those together that are changed by both sides, or by one right beside the other's change."""
    hunks = [(hunk, 0) for hunk in compare(base, main)] + [(hunk, 1) for hunk in compare(base, proposed)]
    found: list[Region] = []
    end = 0
    together: list[tuple[Hunk, int]] = []

    def close(until: int) -> None:
        if together:
            start = together[0][0].start
            ours, theirs = ([hunk for hunk, side in together if side == wanted] for wanted in (0, 1))
            found.append(Region(base[start:end], _applied(base, start, end, ours), _applied(base, start, end, theirs)))
        if same := base[end:until]:
            found.append(Region(same, same, same))

    for hunk, side in sorted(hunks, key=lambda each: (each[0].start, each[0].end)):
        if not together or hunk.start > end:
            close(hunk.start)
            together = []
        together.append((hunk, side))
        end = max(end, hunk.end)
    close(len(base))
    return found


def _applied(lines: list[str], start: int, end: int, hunks: list[Hunk]) -> list[str]:
    """What a stretch becomes when `hunks` are applied to it."""
    result: list[str] = []
    for hunk in hunks:
        result += lines[start : hunk.start] + hunk.lines
        start = hunk.end
    return result + lines[start:end]
