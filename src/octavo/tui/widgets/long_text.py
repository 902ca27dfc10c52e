"""What is written in a `TextEditor`, so held and wrapped that a key in a megabyte costs no more than one in a line of it.

A line that is too long is held in several rows: between them stands no end of line, only a cut, which is in no text that
leaves. Locations are Textual's, of a row and a column in it. Only rows that changed are wrapped anew.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, chain

from rich.cells import cell_len
from textual.expand_tabs import expand_tabs_inline, get_tab_widths
from textual.geometry import Offset, Size
from textual.widgets.text_area import Document, DocumentBase, EditResult, Location, WrappedDocument

from octavo.tui.terminal.textual_internals import find_lines_with

MOST = 2000
"""Characters of a row: so many are wrapped with each key in it, and read for each line of it that is painted."""
_CUT = 1500
"""Where a longer line is cut."""
_EXACT = 8000
"""Characters of other widths than one cell that are wrapped at a time just where they have to be."""
_TAB = 4

# Each takes one cell: Latin, Greek, Cyrillic, and the signs one writes with.
_USUAL = " -~¡-¬®-ʯͰ-ͷͺ-Ϳ΄-ΊΌΎ-ΡΣ-҂Ҋ-ԯ‐-‧‰-⁞"
UNUSUAL = re.compile(f"[^{_USUAL}]")
_SPACE = re.compile(r"\s(?=\S)")
_JOINED = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200d\u20d0-\u20ff\ufe00-\ufe2f\U0001f3fb-\U0001f3ff]")


class Taken(str):
    """A part of a text that knows where it was cut: put back, it is cut there again, and locations in it stay true."""

    rows: list[str]
    ends: list[str]


class LongText(DocumentBase):
    """A text in rows of `MOST` characters at most."""

    def __init__(self, text: str) -> None:
        self._rows, self._ends = _cut(text)
        self._ends.append("\n")  # of the last row, and in no text
        self._text: str | None = text
        self.changes: list[tuple[int, int, int]] = []
        """From which row on how many became how many, for who wraps them."""

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = "".join(chain.from_iterable(zip(self._rows, self._ends, strict=True)))[:-1]
        return self._text

    @property
    def newline(self) -> str:  # type: ignore[override]  # of three kinds of them, for Textual
        return "\n"

    @property
    def lines(self) -> list[str]:
        return self._rows

    @property
    def line_count(self) -> int:
        return len(self._rows)

    @property
    def start(self) -> Location:
        return (0, 0)

    @property
    def end(self) -> Location:
        return (len(self._rows) - 1, len(self._rows[-1]))

    def get_line(self, index: int) -> str:
        return self._rows[index]

    def __getitem__(self, line_index: int | slice) -> str | list[str]:  # type: ignore[override]  # two in one
        return self._rows[line_index]

    def get_size(self, indent_width: int) -> Size:
        return Size(max(cell_len(row.expandtabs(indent_width)) for row in self._rows), len(self._rows))

    def get_text_range(self, start: Location, end: Location) -> Taken:
        (first, begin), (last, stop) = sorted((start, end))
        there = len(self._rows)
        if first >= there:
            rows, ends = [""], []
        elif last >= there:
            rows, ends = [self._rows[first][begin:], *self._rows[first + 1 :]], self._ends[first:-1]
        elif first == last:
            rows, ends = [self._rows[first][begin:stop]], []
        else:
            rows = [self._rows[first][begin:], *self._rows[first + 1 : last], self._rows[last][:stop]]
            ends = self._ends[first:last]
        taken = Taken("".join(chain.from_iterable(zip(rows, [*ends, ""], strict=True))))
        taken.rows, taken.ends = rows, ends
        return taken

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        (first, begin), (last, stop) = top, bottom = sorted((start, end))
        taken = self.get_text_range(top, bottom)
        before = self._rows[first][:begin] if first < len(self._rows) else ""
        after, closing = (self._rows[last][stop:], self._ends[last]) if last < len(self._rows) else ("", "\n")
        put_back = isinstance(text, Taken)
        rows, ends = (list(text.rows), list(text.ends)) if isinstance(text, Taken) else _cut(text)
        # All cuts are made in what is put in, or at its ends: so they go with it when it is taken away again.
        if before and len(before) + len(rows[0]) > MOST and not put_back:
            rows.insert(0, before)
            ends.insert(0, "")
        else:
            rows[0] = before + rows[0]
        if after and len(rows[-1]) + len(after) > MOST and not put_back:
            rows.append("")
            ends.append("")
        reached = (first + len(rows) - 1, len(rows[-1]))
        rows[-1] += after
        there = len(self._rows)
        self._rows[first : last + 1] = rows
        self._ends[first : last + 1] = [*ends, closing]
        self.changes.append((first, min(last + 1, there) - first, len(rows)))
        self._text = None
        return EditResult(reached, taken)


def _cut(text: str) -> tuple[list[str], list[str]]:
    """The rows of a text, and what stands between them."""
    rows = text.split("\n")
    if len(text) <= MOST or max(map(len, rows)) <= MOST:
        return rows, ["\n"] * (len(rows) - 1)
    cut: list[str] = []
    ends: list[str] = []
    for row in rows:
        begin = 0
        while len(row) - begin > MOST:
            stop = _where(row, begin + _CUT)
            cut.append(row[begin:stop])
            ends.append("")
            begin = stop
        cut.append(row[begin:])
        ends.append("\n")
    return cut, ends[:-1]


def _where(row: str, about: int) -> int:
    """Where to cut: before a word, else at least not within a letter."""
    spaces = [found.end() for found in _SPACE.finditer(row, about - 200, about + 1)]
    if spaces:
        return spaces[-1]
    return next(
        (at for at in range(about, about + 50) if not _JOINED.match(row, at) and row[at - 1] != "\u200d"), about
    )


class WrappedRows:
    """Where the rows of a text are wrapped. It answers all that Textual asks of a `WrappedDocument`."""

    def __init__(self, document: LongText, width: int = 0, tab_width: int = _TAB) -> None:
        self.document, self.width, self.tab_width = document, width, tab_width
        self._offsets: list[Sequence[int]] = []
        find_lines_with(self, self.place)
        self.wrap(width)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Wrap the whole text to `width` cells. 0: one line for each row. Does nothing if it is wrapped so already."""
        tab_width = tab_width or self.tab_width
        if self._offsets and not self.document.changes and (width, tab_width) == (self.width, self.tab_width):
            return
        self.width, self.tab_width = width, tab_width
        self._offsets = self.wrapped(self.document.lines)
        self.document.changes.clear()
        self._count()

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Wrap what changed: the text itself knows what."""
        first, last, more = self.document.line_count, 0, 0
        for at, old, new in self.document.changes:
            first, last, more = min(first, at), max(last, at + old) + new - old, more + new - old
        self.document.changes.clear()
        wrapped = self.wrapped(self.document.lines[first:last])
        was = self._offsets[first : last - more]
        self._offsets[first : last - more] = wrapped
        if list(map(len, was)) != list(map(len, wrapped)):
            self._count()

    def _count(self) -> None:
        self._wraps = [0, *accumulate(map(len, self._offsets))]

    def _begin(self, row: int) -> int:
        """On which line a row begins."""
        return row + self._wraps[row]

    def wrapped(self, rows: list[str]) -> list[Sequence[int]]:
        """Where so many rows are to be wrapped."""
        width, tab = self.width, self.tab_width
        if not width or max(map(len, rows), default=0) * tab <= width:
            return [()] * len(rows)
        exact = _EXACT
        found: list[Sequence[int]] = []
        for row in rows:
            if len(row) * tab <= width:
                found.append(())
            elif (row.isascii() and row.isprintable()) or not UNUSUAL.search(row):
                found.append(_breaks(row, width) if len(row) > width else ())
            elif (exact := exact - len(row)) > 0:
                found.append(WrappedDocument(Document(row), width, tab).get_offsets(0))
            else:
                # To measure each letter of a megabyte takes a second: here none is wider than so many cells.
                found.append(_breaks(row, max(1, width // (tab if "\t" in row else 2))))
        return found

    @property
    def height(self) -> int:
        """How many lines it takes."""
        return self._begin(len(self._offsets))

    def place(self, y: int) -> tuple[int, int]:
        """The row that stands on a line, and which of its lines that is."""
        if not 0 <= y < self.height:
            raise IndexError(y)
        row = bisect_right(range(len(self._offsets)), y, key=self._begin) - 1
        return row, y - self._begin(row)

    def get_offsets(self, line_index: int) -> Sequence[int]:
        """Where a row is wrapped: the columns its lines begin at, without that of the first."""
        return self._offsets[line_index]

    def get_sections(self, line_index: int) -> list[str]:
        """The lines of a row."""
        row, offsets = self.document.get_line(line_index), self.get_offsets(line_index)
        return [row[begin:end] for begin, end in zip((0, *offsets), (*offsets, len(row)), strict=True)]

    def get_tab_widths(self, line_index: int) -> list[int]:
        """How wide the tabs of a row are, in cells."""
        return [width for _, width in get_tab_widths(self.document.get_line(line_index), self.tab_width)]

    def location_to_offset(self, location: Location) -> Offset:
        """Where a location stands when it is wrapped, in cells and lines."""
        row, column = location
        row = min(max(row, 0), len(self._offsets) - 1)
        offsets = self.get_offsets(row)
        section = bisect_right(offsets, column)
        begin = offsets[section - 1] if section else 0
        before = expand_tabs_inline(self.document.get_line(row)[begin:column], self.tab_width)
        return Offset(cell_len(before), self._begin(row) + section)

    def offset_to_location(self, offset: Offset) -> Location:
        """The location that stands there, or the nearest."""
        x, y = offset
        row, section = self.place(min(max(y, 0), self.height - 1))
        return row, self.get_target_document_column(row, max(x, 0), section)

    def get_target_document_column(self, line_index: int, x_offset: int, y_offset: int) -> int:
        """The column that stands so many cells into a line of a row; from the end on for one below zero."""
        row, offsets = self.document.get_line(line_index), self.get_offsets(line_index)
        section = y_offset if y_offset >= 0 else len(offsets) + 1 + y_offset
        begin = offsets[section - 1] if section else 0
        last = section == len(offsets)
        end = len(row) if last else offsets[section]
        cells = column = 0
        for part, tab in get_tab_widths(row[begin:end], self.tab_width):
            for letter in part:
                cells += cell_len(letter)
                if cells > x_offset:
                    return begin + column
                column += 1
            cells += tab
            if cells > x_offset:
                return begin + column
            column += 1
        # Beyond the last letter the cursor may stand only where the row ends.
        return end if last else end - 1


@lru_cache(16)
def _lines(width: int) -> re.Pattern[str]:
    # What has no beginning of a word is no place to look for one.
    return re.compile(rf"(?s:\S{{{width}}}|\s{{{width}}}|.{{1,{width}}}(?:(?<=\s)(?=\S)|\Z)|.{{1,{width}}})")


def _breaks(row: str, width: int) -> list[int]:
    """Where letters of one cell are wrapped, as Textual does it: before words, and within those that are too long."""
    return [found.end() for found in _lines(width).finditer(row)][:-1]
