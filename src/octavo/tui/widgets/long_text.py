"""The text of a `TextEditor`. With one megabyte of text, each key is handled as fast as with a short text.

A long line of the text is stored as several rows. The boundary between two such rows is called a cut. It is not part of
the text. As in Textual, a location is a row and a column.
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

from octavo.tui.terminal.textual_internals import use_as_lines

MAX_ROW_LENGTH = 2000
"""Maximum number of characters in a row. Each key press wraps one whole row again."""
_CUT_LENGTH = 1500
"""A line that is too long for one row is cut into rows of about this many characters."""
_MAX_MEASURED = 8000
"""Maximum number of characters with wide letters that one call of `wrap_positions` measures. Measuring is slow."""
_TAB = 4

# Characters one cell wide: Latin, Greek, Cyrillic, and common punctuation.
_ONE_CELL = " -~¡-¬®-ʯͰ-ͷͺ-Ϳ΄-ΊΌΎ-ΡΣ-҂Ҋ-ԯ‐-‧‰-⁞"
NOT_ONE_CELL = re.compile(f"[^{_ONE_CELL}]")
_WORD_START = re.compile(r"\s(?=\S)")
_COMBINING = re.compile(
    "[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u200d\u20d0-\u20ff\ufe00-\ufe2f\U0001f3fb-\U0001f3ff]"
)


class RemovedText(str):
    """A text that was removed. If it is inserted again, such as by undo, its long lines are cut at the same letters."""

    rows: list[str]
    separators: list[str]


class LongText(DocumentBase):
    """A text that is stored in rows of at most `MAX_ROW_LENGTH` characters."""

    def __init__(self, text: str) -> None:
        self._rows, self._separators = _split_rows(text)
        self._separators.append("\n")  # The separator after the last row is not part of the text.
        self._text: str | None = text
        self.changes: list[tuple[int, int, int]] = []
        """Edits since the rows were last wrapped: first row, number of replaced rows, and number of new rows."""

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = "".join(chain.from_iterable(zip(self._rows, self._separators, strict=True)))[:-1]
        return self._text

    @property
    def newline(self) -> str:  # type: ignore[override]  # Textual allows three kinds of line ends.
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

    def __getitem__(self, line_index: int | slice) -> str | list[str]:  # type: ignore[override]  # One method for both types of index.
        return self._rows[line_index]

    def get_size(self, indent_width: int) -> Size:
        return Size(max(cell_len(row.expandtabs(indent_width)) for row in self._rows), len(self._rows))

    def get_text_range(self, start: Location, end: Location) -> RemovedText:
        (first, first_column), (last, last_column) = sorted((start, end))
        row_count = len(self._rows)
        if first >= row_count:
            rows, separators = [""], []
        elif last >= row_count:
            rows, separators = [self._rows[first][first_column:], *self._rows[first + 1 :]], self._separators[first:-1]
        elif first == last:
            rows, separators = [self._rows[first][first_column:last_column]], []
        else:
            rows = [self._rows[first][first_column:], *self._rows[first + 1 : last], self._rows[last][:last_column]]
            separators = self._separators[first:last]
        removed_text = RemovedText("".join(chain.from_iterable(zip(rows, [*separators, ""], strict=True))))
        removed_text.rows, removed_text.separators = rows, separators
        return removed_text

    def replace_range(self, start: Location, end: Location, text: str) -> EditResult:
        (first, first_column), (last, last_column) = top, bottom = sorted((start, end))
        removed_text = self.get_text_range(top, bottom)
        text_before = self._rows[first][:first_column] if first < len(self._rows) else ""
        text_after, last_separator = (
            (self._rows[last][last_column:], self._separators[last]) if last < len(self._rows) else ("", "\n")
        )
        is_restored = isinstance(text, RemovedText)
        rows, separators = (
            (list(text.rows), list(text.separators)) if isinstance(text, RemovedText) else _split_rows(text)
        )
        # Cut only in or beside the inserted text. If this text is removed again, the cuts are removed, too.
        if text_before and len(text_before) + len(rows[0]) > MAX_ROW_LENGTH and not is_restored:
            rows.insert(0, text_before)
            separators.insert(0, "")
        else:
            rows[0] = text_before + rows[0]
        if text_after and len(rows[-1]) + len(text_after) > MAX_ROW_LENGTH and not is_restored:
            rows.append("")
            separators.append("")
        end_location = (first + len(rows) - 1, len(rows[-1]))
        rows[-1] += text_after
        row_count = len(self._rows)
        self._rows[first : last + 1] = rows
        self._separators[first : last + 1] = [*separators, last_separator]
        self.changes.append((first, min(last + 1, row_count) - first, len(rows)))
        self._text = None
        return EditResult(end_location, removed_text)


def _split_rows(text: str) -> tuple[list[str], list[str]]:
    """Return the rows of a text, and the separators between them. A separator is a newline, or empty for a cut."""
    rows = text.split("\n")
    if len(text) <= MAX_ROW_LENGTH or max(map(len, rows)) <= MAX_ROW_LENGTH:
        return rows, ["\n"] * (len(rows) - 1)
    split_rows: list[str] = []
    separators: list[str] = []
    for row in rows:
        start = 0
        while len(row) - start > MAX_ROW_LENGTH:
            cut_at = _cut_position(row, start + _CUT_LENGTH)
            split_rows.append(row[start:cut_at])
            separators.append("")
            start = cut_at
        split_rows.append(row[start:])
        separators.append("\n")
    return split_rows, separators[:-1]


def _cut_position(row: str, target_index: int) -> int:
    """Return an index near `target_index` at which a row can be cut. If possible, a word starts there."""
    word_starts = [match.end() for match in _WORD_START.finditer(row, target_index - 200, target_index + 1)]
    if word_starts:
        return word_starts[-1]
    return next(
        (
            position
            for position in range(target_index, target_index + 50)
            if not _COMBINING.match(row, position) and row[position - 1] != "\u200d"
        ),
        target_index,
    )


class WrappedRows:
    """Columns at which each row wraps on the screen. Has the methods of Textual's `WrappedDocument`."""

    def __init__(self, document: LongText, width: int = 0, tab_width: int = _TAB) -> None:
        self.document, self.width, self.tab_width = document, width, tab_width
        self._wrap_columns: list[Sequence[int]] = []
        use_as_lines(self)
        self.wrap(width)

    def wrap(self, width: int, tab_width: int | None = None) -> None:
        """Wrap all rows to a width in cells. If `width` is 0, do not wrap."""
        tab_width = tab_width or self.tab_width
        if self._wrap_columns and not self.document.changes and (width, tab_width) == (self.width, self.tab_width):
            return
        self.width, self.tab_width = width, tab_width
        self._wrap_columns = self.wrap_positions(self.document.lines)
        self.document.changes.clear()
        self._update_line_counts()

    def wrap_range(self, start: Location, old_end: Location, new_end: Location) -> None:
        """Wrap the rows that have changed. `LongText.changes` lists these rows, so the arguments are ignored."""
        start_row, end_row, added_rows = self.document.line_count, 0, 0
        for first_row, old_count, new_count in self.document.changes:
            start_row, end_row, added_rows = (
                min(start_row, first_row),
                max(end_row, first_row + old_count) + new_count - old_count,
                added_rows + new_count - old_count,
            )
        self.document.changes.clear()
        new_offsets = self.wrap_positions(self.document.lines[start_row:end_row])
        old_offsets = self._wrap_columns[start_row : end_row - added_rows]
        self._wrap_columns[start_row : end_row - added_rows] = new_offsets
        if list(map(len, old_offsets)) != list(map(len, new_offsets)):
            self._update_line_counts()

    def _update_line_counts(self) -> None:
        self._wraps_before_row = [0, *accumulate(map(len, self._wrap_columns))]

    def _first_line(self, row: int) -> int:
        return row + self._wraps_before_row[row]

    def wrap_positions(self, rows: list[str]) -> list[Sequence[int]]:
        """Return the columns at which each of `rows` wraps. The letters of very long rows with wide letters are not
        measured, so their lines may be shorter than the width."""
        width, tab_width = self.width, self.tab_width
        if not width or max(map(len, rows), default=0) * tab_width <= width:
            return [()] * len(rows)
        measurable_count = _MAX_MEASURED
        positions: list[Sequence[int]] = []
        for row in rows:
            if len(row) * tab_width <= width:
                positions.append(())
            elif (row.isascii() and row.isprintable()) or not NOT_ONE_CELL.search(row):
                positions.append(_breaks_of_narrow_letters(row, width) if len(row) > width else ())
            elif (measurable_count := measurable_count - len(row)) > 0:
                positions.append(WrappedDocument(Document(row), width, tab_width).get_offsets(0))
            else:
                # Measuring each letter is slow, so each counts as two cells, or as a tab if the row has tabs.
                positions.append(_breaks_of_narrow_letters(row, max(1, width // (tab_width if "\t" in row else 2))))
        return positions

    @property
    def height(self) -> int:
        """Number of screen lines that all rows need."""
        return self._first_line(len(self._wrap_columns))

    def __getitem__(self, y: int) -> tuple[int, int]:
        """Return the row on the screen line `y`, and the line's index in it. Raises IndexError outside the text."""
        if not 0 <= y < self.height:
            raise IndexError(y)
        row = bisect_right(range(len(self._wrap_columns)), y, key=self._first_line) - 1
        return row, y - self._first_line(row)

    def get_offsets(self, line_index: int) -> Sequence[int]:
        """Return the columns at which the row `line_index` wraps."""
        return self._wrap_columns[line_index]

    def get_sections(self, line_index: int) -> list[str]:
        """Return the wrapped lines of the row `line_index`."""
        row, offsets = self.document.get_line(line_index), self.get_offsets(line_index)
        return [row[begin:end] for begin, end in zip((0, *offsets), (*offsets, len(row)), strict=True)]

    def get_tab_widths(self, line_index: int) -> list[int]:
        """Return the widths of the tabs in the row `line_index`, in cells."""
        return [width for _, width in get_tab_widths(self.document.get_line(line_index), self.tab_width)]

    def location_to_offset(self, location: Location) -> Offset:
        """Return where a location is in the wrapped text, in cells and screen lines."""
        row, column = location
        row = min(max(row, 0), len(self._wrap_columns) - 1)
        offsets = self.get_offsets(row)
        line_index = bisect_right(offsets, column)
        line_start = offsets[line_index - 1] if line_index else 0
        text_before = expand_tabs_inline(self.document.get_line(row)[line_start:column], self.tab_width)
        return Offset(cell_len(text_before), self._first_line(row) + line_index)

    def offset_to_location(self, offset: Offset) -> Location:
        """Return the location that is nearest to a cell and screen line of the wrapped text."""
        x, y = offset
        row, line_index = self[min(max(y, 0), self.height - 1)]
        return row, self.get_target_document_column(row, max(x, 0), line_index)

    def get_target_document_column(self, line_index: int, x_offset: int, y_offset: int) -> int:
        """Return the column of the row `line_index` that is at the cell `x_offset` of its wrapped line `y_offset`. A
        `y_offset` of -1 stands for the last wrapped line."""
        row, offsets = self.document.get_line(line_index), self.get_offsets(line_index)
        line_number = y_offset if y_offset >= 0 else len(offsets) + 1 + y_offset
        start = offsets[line_number - 1] if line_number else 0
        is_last_line = line_number == len(offsets)
        end = len(row) if is_last_line else offsets[line_number]
        cells = column = 0
        for part, tab_width in get_tab_widths(row[start:end], self.tab_width):
            for letter in part:
                cells += cell_len(letter)
                if cells > x_offset:
                    return start + column
                column += 1
            cells += tab_width
            if cells > x_offset:
                return start + column
            column += 1
        # The column after the last letter of a wrapped line is already on the next line.
        return end if is_last_line else end - 1


@lru_cache(16)
def _line_pattern(width: int) -> re.Pattern[str]:
    # The first two alternatives match long words and long runs of spaces, for which the third is slow.
    return re.compile(rf"(?s:\S{{{width}}}|\s{{{width}}}|.{{1,{width}}}(?:(?<=\s)(?=\S)|\Z)|.{{1,{width}}})")


def _breaks_of_narrow_letters(row: str, width: int) -> list[int]:
    """Return the columns at which a row wraps if each letter needs one cell."""
    return [match.end() for match in _line_pattern(width).finditer(row)][:-1]
