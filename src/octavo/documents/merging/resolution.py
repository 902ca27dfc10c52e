"""Resolving a merge by hand: what of a text is decided, what is not, and the text with a choice made for each conflict.

The parts come from the three texts (`parts`), or from a text that has the marks in it (`parts_of_marked`). Without any
choice the text of the parts is what `text.merge` makes: both sides of each conflict between marks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from octavo.documents.conflicts import Markers, markers
from octavo.documents.merging.blocks import is_blank, is_item, split
from octavo.documents.merging.text import append, joined, pieces, undecided
from octavo.documents.merging.within import Conflict
from octavo.documents.sequences import stretches

Part: TypeAlias = str | Conflict
"""Text that is decided, or what is not."""
Side: TypeAlias = Literal["main", "this", "both", "own"]


@dataclass(frozen=True)
class Choice:
    """What becomes of a conflict: one of its sides, both, or words of one's own, which `text` says."""

    side: Side
    text: str = ""


def parts(base: str, main: str, proposed: str) -> tuple[Part, ...]:
    """What becomes of `base`, in order."""
    return tuple(part if isinstance(part, Conflict) else "\n".join(part) for part in pieces(base, main, proposed))


def parts_of_marked(text: str, known: Iterable[Conflict] = ()) -> tuple[Part, ...]:
    """The parts of a text with marks in it. What the base said is learned from `known` conflicts of the same sides."""
    lines = text.split("\n")
    bases = {_sides(each): each.base for each in known}
    found: list[Part] = []
    position = 0
    for each in markers(text):
        if each.first > position:
            found.append("\n".join(lines[position : each.first]))
        conflict = _between(lines, each)
        found.append(replace(conflict, base=bases.get(_sides(conflict))))
        position = each.last + 1
    if position < len(lines):
        found.append("\n".join(lines[position:]))
    return tuple(found)


def names(parts: Iterable[Part]) -> list[tuple[str, Conflict]]:
    """The conflicts in order, each with a name that stays the same while both its sides do."""
    seen: dict[str, int] = {}
    found = []
    for part in parts:
        if isinstance(part, Conflict):
            digest = hashlib.sha256("\0".join(_sides(part)).encode("utf-8", "surrogatepass")).hexdigest()[:16]
            seen[digest] = seen.get(digest, 0) + 1
            found.append((f"{digest}-{seen[digest]}", part))
    return found


def resolved(parts: Iterable[Part], choices: Mapping[str, Choice], name: str) -> str:
    """The text with the choices made, each under the name of its conflict. The others stay between marks, where `name`
    is that of the change request."""
    every = tuple(parts)
    keys = iter([key for key, _ in names(every)])

    def said(part: Part) -> tuple[list[str], bool]:
        if not isinstance(part, Conflict):
            return part.split("\n"), False
        choice = choices.get(next(keys))
        if choice is None:
            return undecided(part, name), True
        return chosen_lines(part, choice), False

    return "\n".join(joined(map(said, every)))


def chosen_lines(conflict: Conflict, choice: Choice) -> list[str]:
    """What a conflict becomes by a choice."""
    match choice.side:
        case "main":
            return _lines(conflict.main)
        case "this":
            return _lines(conflict.proposed)
        case "both":
            return _both(_lines(conflict.main), _lines(conflict.proposed))
        case "own":
            return _lines(choice.text)


def _both(main: list[str], proposed: list[str]) -> list[str]:
    """All that both say: blocks they share once, and where they differ those of the primary content first."""
    ours, theirs = split(main), split(proposed)
    result: list[str] = []
    for stretch in stretches(["\n".join(each.lines) for each in ours], ["\n".join(each.lines) for each in theirs]):
        more = [] if stretch.equal else theirs[stretch.j1 : stretch.j2]
        for block in (*ours[stretch.i1 : stretch.i2], *more):
            append(result, block.all, apart=bool(block.lines) and not is_item(block.lines[0]))
    return result


def _lines(text: str) -> list[str]:
    return text.split("\n") if text else []


def _sides(conflict: Conflict) -> tuple[str, str]:
    """What both sides say, but for blank lines around it: marks have some of their own."""
    return "\n".join(_bare(conflict.main.split("\n"))), "\n".join(_bare(conflict.proposed.split("\n")))


def _between(lines: list[str], marks: Markers) -> Conflict:
    main, proposed = _bare(lines[marks.first + 1 : marks.middle]), _bare(lines[marks.middle + 1 : marks.last])
    return Conflict(marks.first, None, "\n".join(main), "\n".join(proposed))


def _bare(lines: list[str]) -> list[str]:
    start, end = 0, len(lines)
    while start < end and is_blank(lines[start]):
        start += 1
    while start < end and is_blank(lines[end - 1]):
        end -= 1
    return lines[start:end]
