"""Finding words in a page, in what is folded too, and where they stand once it is set."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from octavo.documents.blocks import Block, Run, words
from octavo.tui.page.lines import Line, cells

_NAMES = ("title", "description", "path", "name", "date", "summary", "url", "alt")
_MOST = 10_000


class Find(NamedTuple):
    """A place where the words were found: the unit, which of the finds in it, and the block that holds it."""

    unit: int
    nth: int
    block: Block
    path: tuple[Block, ...]
    """The blocks it stands in, from the top one down to its own."""


class Mark(NamedTuple):
    """A stretch of a line that belongs to a find, in cells."""

    line: int
    start: int
    end: int
    nth: int


def pattern(needle: str) -> re.Pattern[str]:
    """Finds `needle` literally, in either case, over line ends too."""
    parts = (r"\s+" if char.isspace() else re.escape(char) for char in " ".join(needle.split()))
    return re.compile(r"\n?".join(parts).replace(r"\n?\s+\n?", r"\s+"), re.IGNORECASE)


class _Entry(NamedTuple):
    unit: int
    block: Block
    path: tuple[Block, ...]


class Finder:
    """The words of a page, read once."""

    def __init__(self, blocks: Iterable[tuple[int, Block]], reads: Callable[[tuple[Run, ...]], str] = words) -> None:
        """`blocks`: each top block, or slice of one, with the number of its unit. `reads` gives runs as they are shown."""
        self._reads = reads
        self._entries: list[_Entry] = []
        self._starts: list[int] = []
        self._parts: list[str] = []
        self._length = 0
        for unit, block in blocks:
            self._read(unit, block, ())
        self._text = "\0".join(self._parts)

    def _read(self, unit: int, block: Block, above: tuple[Block, ...]) -> None:
        path = (*above, block)
        own = [self._reads(block.runs), block.text]
        own += [value for name in _NAMES if isinstance(value := block.attrs.get(name), str)]
        if block.kind in ("table", "cards"):
            own += [words(column.title) for column in block.attrs.get("columns") or () if not column.hidden]
        for text in filter(None, own):
            self._entries.append(_Entry(unit, block, path))
            self._starts.append(self._length)
            self._parts.append(text)
            self._length += len(text) + 1
        for child in block.children:
            self._read(unit, child, path)

    def find(self, needle: str) -> list[Find]:
        """Where `needle` is, in reading order."""
        if not needle.strip():
            return []
        out: list[Find] = []
        counts: dict[int, int] = {}
        for match in pattern(needle).finditer(self._text):
            entry = self._entries[bisect_right(self._starts, match.start()) - 1]
            nth = counts.get(entry.unit, 0)
            counts[entry.unit] = nth + 1
            out.append(Find(entry.unit, nth, entry.block, entry.path))
            if len(out) >= _MOST:
                break
        return out


def marks(lines: Sequence[Line], needle: str) -> list[Mark]:
    """Where `needle` stands in `lines` as they are set."""
    if not needle.strip():
        return []
    parts: list[str] = []
    places: list[tuple[int, int, int, str]] = []
    length = 0
    for number, line in enumerate(lines):
        at = 0
        for text, _, _, furniture in line.pieces:
            if not furniture:
                places.append((length, number, at, text))
                parts.append(text)
                length += len(text)
            at += cells(text)
        parts.append("\n")
        length += 1
    starts = [place[0] for place in places]
    out: list[Mark] = []
    for nth, match in enumerate(pattern(needle).finditer("".join(parts))):
        index = max(0, bisect_right(starts, match.start()) - 1)
        while index < len(places) and places[index][0] < match.end():
            start, number, at, text = places[index]
            low, high = max(0, match.start() - start), min(len(text), match.end() - start)
            if high > low:
                out.append(Mark(number, at + cells(text[:low]), at + cells(text[:high]), nth))
            index += 1
    return out
