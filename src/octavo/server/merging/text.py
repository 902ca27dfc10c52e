"""Three-way merge of the text of a page.

Lines are compared, blocks are kept whole. A block is what a blank line, or the start of a list item, divides; a
fenced code block, a block of math, an HTML table and a tag over several lines are one block each, with the blank
lines in them. What only one side changed is taken from that side. Where both sides changed the same block, or put
something at the same place, and not in the same way, both are kept whole:

    <<<<<<< main

    what the primary content says

    =======

    what the change request says

    >>>>>>> #42

The three marker lines stand alone between blank lines, the primary content always first, whichever way is merged.
A side that deleted the block has nothing between its markers. Every line that a side added is in the result, but
for blank ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from octavo.server.merging.lines import Hunk, compare

MAIN, DIVIDER = "<<<<<<< main", "======="

_BLANK = re.compile(r"\s*")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(r"\s*(?:[-*+]\s+|\d{1,9}[.)]\s+)?(`{3,}|~{3,})(.*)")
_ENCLOSED = (
    (re.compile(r"\s*\$\$\s*"), re.compile(r".*\$\$\s*")),
    (
        re.compile(r"\s*<(?:table|pre|figure)\b(?!.*</(?:table|pre|figure)>).*", re.I),
        re.compile(r".*</(?:table|pre|figure)>.*", re.I),
    ),
    (re.compile(r"\s*\{%(?!.*%\}).*"), re.compile(r".*%\}.*")),
)


def proposal_marker(name: str) -> str:
    """The line that ends a conflict with the change request called `name`, such as `#42`."""
    return f">>>>>>> {name}"


@dataclass(frozen=True)
class Conflict:
    """Blocks that both sides changed, each in its way. `line` is where they stood in the base, counted from 0."""

    line: int
    base: str
    main: str
    proposed: str


@dataclass(frozen=True)
class Merged:
    """The merged text, and what could not be decided in it."""

    text: str
    conflicts: tuple[Conflict, ...] = ()


def merge(base: str, main: str, proposed: str, name: str) -> Merged:
    """`main` with what `proposed` changed since `base`. `name` is that of the change request in the markers."""
    if main == proposed or proposed == base:
        return Merged(main)
    if main == base:
        return Merged(proposed)
    lines = base.split("\n")
    result: list[str] = []
    found: list[Conflict] = []
    position = 0
    for region in _regions(lines, compare(lines, main.split("\n")), compare(lines, proposed.split("\n"))):
        result += lines[position : region.start]
        position = region.end
        if (settled := region.settled(lines)) is not None:
            result += settled
        else:
            ours, theirs = region.side(lines, region.main), region.side(lines, region.proposed)
            before = lines[region.start : region.end]
            found.append(Conflict(region.start, "\n".join(before), "\n".join(ours), "\n".join(theirs)))
            _append(result, marked(ours, theirs, name))
            if region.end < len(lines) and not _is_blank(lines[region.end]):
                result.append("")
    result += lines[position:]
    return Merged("\n".join(result), tuple(found))


def conflicts(base: str, main: str, proposed: str) -> list[Conflict]:
    """What a merge of these could not decide. Empty when it would be clean."""
    return list(merge(base, main, proposed, "").conflicts)


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
        before, here, there = (_worded(each) for each in (lines[self.start : self.end], ours, theirs))
        if there in (here, before):
            return ours
        return theirs if here == before else None


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
        self._starts, self._ends = _blocks(lines)

    def reach(self, hunk: Hunk) -> tuple[int, int]:
        """First line and the line after the last of the blocks that a hunk changes a part of."""
        start, end, count = hunk.start, hunk.end, len(self._lines)
        if start < count and self._starts[start] < start:
            start = self._starts[start]
        elif start and hunk.lines and _continues(self._lines[start - 1], hunk.lines[0]):
            start = self._starts[start - 1]
        if end < count and (self._starts[end] < end or (hunk.lines and _continues(hunk.lines[-1], self._lines[end]))):
            end = self._ends[end]
        return start, end

    def widen(self, region: _Region) -> None:
        """Let the region begin and end where blocks do."""
        for hunk in (*region.main, *region.proposed):
            start, end = self.reach(hunk)
            region.start = min(region.start, start)
            region.end = max(region.end, end)


def _continues(line: str, following: str) -> bool:
    """Whether a line that comes right after another belongs to the same block."""
    return not (_is_blank(line) or _is_blank(following) or _ITEM.match(following))


def _blocks(lines: list[str]) -> tuple[list[int], list[int]]:
    """For each line, where its block starts and the line after its end. A blank line between blocks is its own."""
    starts: list[int] = []
    start = 0
    close: re.Pattern[str] | None = None
    for number, line in enumerate(lines):
        if close is not None:
            starts.append(start)
            if close.fullmatch(line):
                close = None
            continue
        close = _closing(line)
        if number == 0 or _is_blank(line) or _is_blank(lines[number - 1]) or _ITEM.match(line):
            start = number
        starts.append(start)
    ends = [0] * len(lines)
    end = len(lines)
    for number in range(len(lines) - 1, -1, -1):
        ends[number] = end
        if starts[number] == number:
            end = number
    return starts, ends


def _closing(line: str) -> re.Pattern[str] | None:
    """What ends the enclosure that `line` opens, if it opens one."""
    if fence := _FENCE.fullmatch(line):
        mark, info = fence[1], fence[2]
        if mark[0] == "~" or "`" not in info:
            return re.compile(rf"\s*{re.escape(mark[0])}{{{len(mark)},}}\s*")
    for opening, closing in _ENCLOSED:
        if opening.fullmatch(line):
            return closing
    return None


def marked(main: list[str], proposed: list[str], name: str) -> list[str]:
    """Both sides between markers, each marker between blank lines."""
    result: list[str] = []
    for part in ([MAIN], main, [DIVIDER], proposed, [proposal_marker(name)]):
        _append(result, part)
    return result


def _append(lines: list[str], more: list[str]) -> None:
    """Add lines, with a blank one between if there is none."""
    if lines and more and not _is_blank(lines[-1]) and not _is_blank(more[0]):
        lines.append("")
    lines += more


def _worded(lines: list[str]) -> list[str]:
    return [line for line in lines if not _is_blank(line)]


def _is_blank(line: str) -> bool:
    return _BLANK.fullmatch(line) is not None
