"""Finding words in a page, in what is folded too, and where they stand once it is set."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from octavo.api.folding import FoldedText, fold
from octavo.documents.blocks import Block, Run, plain_text
from octavo.tui.render.block_slices import begins
from octavo.tui.render.styled_lines import Line, cells

_NAMES = ("title", "description", "path", "name", "date", "summary", "url", "alt")
_PLACES_FOUND = 10_000
_LETTERS, _ENTRIES = 10_000, 200
"""A stretch of the words of a page is about so long."""


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
    """Finds `needle` literally in folded text, over line ends too."""
    parts = (r"\s+" if char.isspace() else re.escape(char) for char in " ".join(fold(needle).split()))
    return re.compile(r"\n?".join(parts).replace(r"\n?\s+\n?", r"\s+"))


class _Entry(NamedTuple):
    unit: int
    block: Block
    path: tuple[Block, ...]


class _Stretch(NamedTuple):
    """The words of some blocks as one folded text, and where those of each begin."""

    text: str
    starts: list[int]
    entries: list[_Entry]


class Finder:
    """The words of a page, read once, a stretch at a time as they are searched."""

    def __init__(
        self,
        blocks: Iterable[tuple[int, Block]],
        reads: Callable[[tuple[Run, ...]], str] = plain_text,
        letters: int = _LETTERS,
    ) -> None:
        """`blocks`: each top block, or slice of one, with the number of its unit. `reads` gives runs as they are shown. A
        stretch has about so many `letters`: few where it takes long to say what the words are."""
        self._blocks, self._reads, self._letters = iter(blocks), reads, letters
        self._known: list[_Stretch] = []

    def find(self, needle: str) -> Iterator[Find | None]:
        """Where `needle` is, in reading order; None wherever one may stop for a while."""
        counts: dict[int, int] = {}
        found = 0
        for stretch in self._stretches() if fold(needle).strip() else ():
            for match in pattern(needle).finditer(stretch.text):
                entry = stretch.entries[bisect_right(stretch.starts, match.start()) - 1]
                nth = counts.get(entry.unit, 0)
                counts[entry.unit] = nth + 1
                yield Find(entry.unit, nth, entry.block, entry.path)
                found += 1
                if found >= _PLACES_FOUND:
                    return
            yield None

    def _stretches(self) -> Iterator[_Stretch]:
        at = 0
        while True:
            while at < len(self._known):
                yield self._known[at]
                at += 1
            if not self._read_on():
                return

    def _read_on(self) -> bool:
        """Read another stretch. False at the end."""
        texts: list[str] = []
        starts: list[int] = []
        entries: list[_Entry] = []
        length = read = 0
        while max(length, read) < self._letters and len(entries) < _ENTRIES:
            unit, block = next(self._blocks, (-1, None))
            if block is None:
                break
            read += 1  # to see that one has no words may take as long
            for entry, text in self._words(unit, block, ()):
                text = fold(text)
                entries.append(entry)
                starts.append(length)
                texts.append(text)
                length += len(text) + 1
            if not texts:
                entries, starts, texts = [_Entry(unit, block, ())], [0], [""]
        if entries:
            self._known.append(_Stretch("\0".join(texts), starts, entries))
        return bool(entries)

    def _words(self, unit: int, block: Block, above: tuple[Block, ...]) -> Iterator[tuple[_Entry, str]]:
        path = (*above, block)
        own = [self._reads(block.runs), block.text]
        if begins(block):
            own += [value for name in _NAMES if isinstance(value := block.attrs.get(name), str)]
            if block.kind in ("table", "cards"):
                own += [plain_text(column.title) for column in block.attrs.get("columns") or () if not column.hidden]
        entry = _Entry(unit, block, path)
        for text in own:
            if text:
                yield entry, text
        for child in block.children:
            yield from self._words(unit, child, path)


def marks(lines: Sequence[Line], needle: str) -> list[Mark]:
    """Where `needle` stands in `lines` as they are set."""
    if not fold(needle).strip():
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
    folded = FoldedText("".join(parts))
    for nth, match in enumerate(pattern(needle).finditer(folded.text)):
        first, last = folded.within(match.start(), match.end())
        index = max(0, bisect_right(starts, first) - 1)
        while index < len(places) and places[index][0] < last:
            start, number, at, text = places[index]
            low, high = max(0, first - start), min(len(text), last - start)
            if high > low:
                out.append(Mark(number, at + cells(text[:low]), at + cells(text[:high]), nth))
            index += 1
    return out
