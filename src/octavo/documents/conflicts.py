"""Conflicts between a change request and the main content: where they may come, and the marks that the platform
leaves around both sides where they came:

<<<<<<< main
what the main content says
=======
what the change request says
>>>>>>> #12
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from octavo.documents.sequences import Stretch, stretches

_FIRST = re.compile(r"<<<<<<< (.{1,200}?)[ \t]*$")
_MIDDLE = re.compile(r"=======[ \t]*$")
_LAST = re.compile(r">>>>>>> (.{1,200}?)[ \t]*$")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s")
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+|\d{1,9}[.)][ \t]+)?(`{3,}|~{3,})(.*)")


@dataclass(frozen=True, slots=True)
class Markers:
    """One conflict: the lines its three marks stand on, counted from 0, and the names of its sides."""

    first: int
    middle: int
    last: int
    ours: str
    theirs: str


def markers(text: str) -> list[Markers]:
    """The conflicts in a text, in order. Marks that are not complete are words like others."""
    if "<<<<<<< " not in text:
        return []
    found: list[Markers] = []
    start: tuple[int, str] | None = None
    middle: int | None = None
    for number, line in enumerate(text.split("\n")):
        if first := _FIRST.match(line):
            start, middle = (number, first[1]), None
        elif start and middle is None and _MIDDLE.match(line):
            middle = number
        elif start and middle is not None and (last := _LAST.match(line)):
            found.append(Markers(start[0], middle, number, start[1], last[1]))
            start = middle = None
    return found


@dataclass(frozen=True, slots=True)
class Overlap:
    """Blocks that both sides changed since their common base, each in its way. The lines are those of the base:
    first, and the one after the last, counted from 0."""

    lines: tuple[int, int]
    base: str
    mine: str
    main: str


def forecast(base: str, mine: str, main: str) -> list[Overlap]:
    """Where a merge of `mine` into `main` may leave conflicts, in the order of the page. Empty if it will be clean.

    Blocks are compared, not lines: both sides having changed one paragraph counts, whatever they did to it.
    """
    if mine in (base, main) or main == base:
        return []
    old = _pieces(base)
    sides = [_pieces(mine), _pieces(main)]
    found: list[Overlap] = []
    for region in _colliding(*(_hunks(old, side) for side in sides)):
        first, last = region.first, region.last
        ours, theirs = (_text(_side(region, old, side, which)) for which, side in enumerate(sides))
        if ours != theirs:
            start = old[first].line if first < len(old) else base.count("\n") + 1
            end = old[last - 1].line + old[last - 1].text.count("\n") + 1 if last > first else start
            found.append(Overlap((start, end), _text(old[first:last]), ours, theirs))
    return found


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    line: int


@dataclass(slots=True)
class _Region:
    """A stretch of the base that both sides changed, and their hunks in it."""

    first: int
    last: int
    hunks: tuple[list[Stretch], list[Stretch]]


def _hunks(old: Sequence[_Piece], new: Sequence[_Piece]) -> list[Stretch]:
    found = stretches([piece.text for piece in old], [piece.text for piece in new])
    return [stretch for stretch in found if not stretch.equal]


def _colliding(mine: list[Stretch], main: list[Stretch]) -> list[_Region]:
    regions: list[_Region] = []
    every = [(hunk, 0) for hunk in mine] + [(hunk, 1) for hunk in main]
    for hunk, which in sorted(every, key=lambda each: (each[0].i1, each[0].i2)):
        last = regions[-1] if regions else None
        if last is None or not (hunk.i1 < last.last or hunk.i1 == last.first):
            last = _Region(hunk.i1, hunk.i2, ([], []))
            regions.append(last)
        last.last = max(last.last, hunk.i2)
        last.hunks[which].append(hunk)
    return [region for region in regions if all(region.hunks)]


def _side(region: _Region, old: Sequence[_Piece], new: Sequence[_Piece], which: int) -> list[_Piece]:
    """What a side made of a region."""
    found: list[_Piece] = []
    position = region.first
    for hunk in region.hunks[which]:
        found += [*old[position : hunk.i1], *new[hunk.j1 : hunk.j2]]
        position = hunk.i2
    return [*found, *old[position : region.last]]


def _text(pieces: Sequence[_Piece]) -> str:
    return "\n\n".join(piece.text for piece in pieces)


def _pieces(text: str) -> list[_Piece]:
    """The blocks of a text as blank lines divide it; code stays whole, and each item of a list is one."""
    found: list[_Piece] = []
    lines: list[str] = []
    start = 0
    fence = ""
    for number, line in enumerate(text.split("\n")):
        if lines and not fence and (not line.strip() or _ITEM.match(line)):
            found.append(_Piece("\n".join(lines), start))
            lines = []
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        if fence or line.strip():
            start = start if lines else number
            lines.append(line.rstrip())
    return [*found, _Piece("\n".join(lines), start)] if lines else found
