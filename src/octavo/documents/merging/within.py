"""Merging what both sides changed within the same blocks, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from octavo.documents.merging.blocks import bounds, continues, worded
from octavo.documents.merging.lines import Hunk, compare


@dataclass(frozen=True)
class Conflict:
    """Blocks that both sides changed, each in its way. `line` is where they stood in the base, counted from 0."""

    line: int
    base: str | None
    """None where it is not known."""
    main: str
    proposed: str


def parts(base: list[str], main: list[str], proposed: list[str]) -> Iterator[list[str] | Conflict]:
    """What becomes of `base`, in order: lines that are decided, and blocks that are not."""
    position = 0
    for region in _regions(base, compare(base, main), compare(base, proposed)):
        yield base[position : region.start]
        position = region.end
        settled = region.settled(base)
        yield settled if settled is not None else region.conflict(base)
    yield base[position:]


@dataclass
class _Region:
    """A stretch of the base that is decided as one, and the hunks of either side that fall into it."""

    start: int
    end: int
    main: list[Hunk]
    proposed: list[Hunk]

    def side(self, lines: list[str], hunks: list[Hunk]) -> list[str]:
        """What the region becomes when `hunks` are applied to it."""
        result: list[str] = []
        position = self.start
        for hunk in hunks:
            result += lines[position : hunk.start]
            result += hunk.lines
            position = hunk.end
        return result + lines[position : self.end]

    def settled(self, lines: list[str]) -> list[str] | None:
        """What it becomes. None if both sides changed it, and not in the same way: blank lines alone are no change."""
        ours, theirs = self.side(lines, self.main), self.side(lines, self.proposed)
        if not self.proposed or ours == theirs:
            return ours
        if not self.main:
            return theirs
        before, here, there = (worded(each) for each in (lines[self.start : self.end], ours, theirs))
        if there in (here, before):
            return ours
        return theirs if here == before else None

    def conflict(self, lines: list[str]) -> Conflict:
        """Both sides of it."""
        sides = (lines[self.start : self.end], self.side(lines, self.main), self.side(lines, self.proposed))
        return Conflict(self.start, *("\n".join(side) for side in sides))


def _regions(lines: list[str], main: list[Hunk], proposed: list[Hunk]) -> list[_Region]:
    """The hunks of both sides: each by itself, or those together that one decision has to cover.

    Hunks of both sides collide when they overlap, insert at the same place, or touch within a block. A region
    in which they collide and differ is widened to whole blocks, with what else was changed in these.
    """
    blocks = _Blocks(lines)
    settled: list[_Region] = []
    for region in _collisions(blocks, main, proposed):
        if region.settled(lines) is None:
            blocks.widen(region)
        while settled and settled[-1].end > region.start:
            before = settled.pop()
            region.start = min(before.start, region.start)
            region.end = max(before.end, region.end)
            region.main[:0] = before.main
            region.proposed[:0] = before.proposed
            blocks.widen(region)
        settled.append(region)
    return settled


def _collisions(blocks: _Blocks, main: list[Hunk], proposed: list[Hunk]) -> list[_Region]:
    regions: list[_Region] = []
    reached = -1
    hunks = [(hunk, True) for hunk in main] + [(hunk, False) for hunk in proposed]
    for hunk, is_main in sorted(hunks, key=lambda each: (each[0].start, each[0].end)):
        start, end = blocks.reach(hunk)
        last = regions[-1] if regions else None
        if last is None or hunk.start > last.end:
            collides = False
        elif hunk.start < last.end:
            collides = True
        else:
            collides = last.start == hunk.end or start < hunk.start or reached > hunk.start
        if last is None or not collides:
            last = _Region(hunk.start, hunk.end, [], [])
            regions.append(last)
            reached = end
        last.end = max(last.end, hunk.end)
        reached = max(reached, end)
        (last.main if is_main else last.proposed).append(hunk)
    return regions


class _Blocks:
    """Where the blocks of a text begin and end. A blank line between blocks is its own block."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._starts, self._ends = bounds(lines)

    def reach(self, hunk: Hunk) -> tuple[int, int]:
        """First line and the line after the last of the blocks that a hunk changes a part of."""
        start, end, count = hunk.start, hunk.end, len(self._lines)
        if start < count and self._starts[start] < start:
            start = self._starts[start]
        elif start and hunk.lines and continues(self._lines[start - 1], hunk.lines[0]):
            start = self._starts[start - 1]
        if end < count and (self._starts[end] < end or (hunk.lines and continues(hunk.lines[-1], self._lines[end]))):
            end = self._ends[end]
        return start, end

    def widen(self, region: _Region) -> None:
        """Let the region begin and end where blocks do."""
        for hunk in (*region.main, *region.proposed):
            start, end = self.reach(hunk)
            region.start = min(region.start, start)
            region.end = max(region.end, end)
