"""Search in a page, including collapsed content, and the cells of matches on rendered lines."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from octavo.api.folding import FoldedText, fold
from octavo.documents.blocks import Block, Run, plain_text
from octavo.tui.render.block_slices import has_start
from octavo.tui.render.styled_lines import Line, cells

_NAMES = ("title", "description", "path", "name", "date", "summary", "url", "alt")
_MOST_MATCHES = 10_000
_SECTION_LETTERS, _SECTION_ENTRIES = 10_000, 200
"""Approximate size of a section of the text, in letters and in blocks."""


class Match(NamedTuple):
    """A match: its unit, its number within the unit, and the block that contains the match."""

    unit_index: int
    nth: int
    block: Block
    path: tuple[Block, ...]
    """Blocks around the match, from the top-level block down to its own block."""


class MatchSpan(NamedTuple):
    """Range of cells on a line that belongs to a match."""

    line: int
    start: int
    end: int
    nth: int


def pattern(needle: str) -> re.Pattern[str]:
    """Return a pattern that finds `needle` literally in folded text, also across lines."""
    parts = (r"\s+" if char.isspace() else re.escape(char) for char in " ".join(fold(needle).split()))
    return re.compile(r"\n?".join(parts).replace(r"\n?\s+\n?", r"\s+"))


class _BlockText(NamedTuple):
    unit_index: int
    block: Block
    path: tuple[Block, ...]


class _Section(NamedTuple):
    """Text of some blocks as one folded text, with the offset of each block."""

    text: str
    starts: list[int]
    entries: list[_BlockText]


class BlockTextFinder:
    """Searchable text of a page, which is read in sections as the search advances."""

    def __init__(
        self,
        blocks: Iterable[tuple[int, Block]],
        text_of: Callable[[tuple[Run, ...]], str] = plain_text,
        letters: int = _SECTION_LETTERS,
    ) -> None:
        """`blocks`: each top-level block or slice with the index of its unit. `text_of` returns the visible text of
        runs. The blocks are read in sections of about `letters` letters, and a search may pause after each: pass a
        small number if iterating over `blocks` is slow."""
        self._blocks, self._text_of, self._letters = iter(blocks), text_of, letters
        self._sections: list[_Section] = []

    def find(self, needle: str) -> Iterator[Match | None]:
        """Yield the matches of `needle` in reading order, and None where the search may pause."""
        counts: dict[int, int] = {}
        found = 0
        for stretch in self._iterate_sections() if fold(needle).strip() else ():
            for match in pattern(needle).finditer(stretch.text):
                entry = stretch.entries[bisect_right(stretch.starts, match.start()) - 1]
                nth = counts.get(entry.unit_index, 0)
                counts[entry.unit_index] = nth + 1
                yield Match(entry.unit_index, nth, entry.block, entry.path)
                found += 1
                if found >= _MOST_MATCHES:
                    return
            yield None

    def _iterate_sections(self) -> Iterator[_Section]:
        at = 0
        while True:
            while at < len(self._sections):
                yield self._sections[at]
                at += 1
            if not self._read_section():
                return

    def _read_section(self) -> bool:
        """Read another section. Return False if there is none."""
        texts: list[str] = []
        starts: list[int] = []
        entries: list[_BlockText] = []
        length = read = 0
        while max(length, read) < self._letters and len(entries) < _SECTION_ENTRIES:
            unit, block = next(self._blocks, (-1, None))
            if block is None:
                break
            read += 1  # Blocks without text take time too.
            for entry, text in self._block_texts(unit, block, ()):
                text = fold(text)
                entries.append(entry)
                starts.append(length)
                texts.append(text)
                length += len(text) + 1
            if not texts:
                entries, starts, texts = [_BlockText(unit, block, ())], [0], [""]
        if entries:
            self._sections.append(_Section("\0".join(texts), starts, entries))
        return bool(entries)

    def _block_texts(
        self, unit_index: int, block: Block, ancestors: tuple[Block, ...]
    ) -> Iterator[tuple[_BlockText, str]]:
        path = (*ancestors, block)
        own = [self._text_of(block.runs), block.text]
        if has_start(block):
            own += [value for name in _NAMES if isinstance(value := block.attrs.get(name), str)]
            if block.kind in ("table", "cards"):
                own += [plain_text(column.title) for column in block.attrs.get("columns") or () if not column.hidden]
        entry = _BlockText(unit_index, block, path)
        for text in own:
            if text:
                yield entry, text
        for child in block.children:
            yield from self._block_texts(unit_index, child, path)


def match_spans(lines: Sequence[Line], needle: str) -> list[MatchSpan]:
    """Return the cells of `needle` on rendered lines."""
    if not fold(needle).strip():
        return []
    parts: list[str] = []
    places: list[tuple[int, int, int, str]] = []
    length = 0
    for number, line in enumerate(lines):
        at = 0
        for text, _, _, is_decoration in line.pieces:
            if not is_decoration:
                places.append((length, number, at, text))
                parts.append(text)
                length += len(text)
            at += cells(text)
        parts.append("\n")
        length += 1
    starts = [place[0] for place in places]
    out: list[MatchSpan] = []
    folded = FoldedText("".join(parts))
    for nth, match in enumerate(pattern(needle).finditer(folded.text)):
        first, last = folded.original_range(match.start(), match.end())
        index = max(0, bisect_right(starts, first) - 1)
        while index < len(places) and places[index][0] < last:
            start, number, at, text = places[index]
            low, high = max(0, first - start), min(len(text), last - start)
            if high > low:
                out.append(MatchSpan(number, at + cells(text[:low]), at + cells(text[:high]), nth))
            index += 1
    return out
