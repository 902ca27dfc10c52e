"""Renders tables, and single rows as records. Also returns tables as text for the clipboard.

A table that is too wide scrolls sideways. If it is long or has rows of several lines, every other row has a background.
Without colors, rules separate rows of several lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style

from octavo.documents.blocks import Block, Document, Run, TableColumn, plain_text
from octavo.tui.render.block_slices import (
    MAX_TABLE_COLUMNS,
    cells_by_column,
    first_index,
    has_end,
    has_merged_cells,
    has_start,
    layout_cost,
    shorten_row,
    slice_bounds,
    unmerge_cells,
    whole_block,
)
from octavo.tui.render.layout_context import LayoutContext, non_breaking, render_runs
from octavo.tui.render.styled_lines import (
    Clickable,
    Line,
    StyledText,
    breakable_parts,
    cells,
    decoration,
    flatten_emoji,
    hidden_columns_text,
    item_lines,
    pad,
    pan_pieces,
    truncate,
    width_of,
    with_background,
    wrap,
    wrap_items,
)
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.terminal.display import is_text_right_to_left
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.tui.render.deferred import LinkTargets

COLUMN_GAP = 3
_NARROW_COLUMN = 10
_SHORT_COLUMN = 20
"""A column whose longest line is at most this wide may become narrower than `_NARROW_COLUMN`."""
_MIN_COLUMN_WIDTH = 6
_MIN_PROSE_WIDTH = 24
"""Columns of prose may be narrowed to this width, so that columns with a width hint keep their words whole."""
_MIN_PROSE_WIDTH_OF_SHORT_WORDS = 16
"""Like `_MIN_PROSE_WIDTH`, but for tables in which no word is wider than `_LONG_PLAIN_WORD`."""
_MAX_PROSE_WIDTH = 100
"""Maximum width in cells of a column of prose, because longer lines are hard to read."""
_ITEM_INDENT = 2
"""Width in columns of the terminal of the bullet of a list item inside a table cell."""
_LONG_WORD = 16
"""Maximum width in cells of a part of a word that is broken only if the table does not fit otherwise."""
_ANY_LENGTH, _LONG_PLAIN_WORD = 2000, 32
_LINES_PER_ADDED_LINE = 4
"""To keep words whole, a table may get one more line per this number of its lines, and at least one more line."""


class _LongestWords(NamedTuple):
    """Widths in cells of the longest words in a column."""

    part: int
    """Width of the longest part of a word, such as `some/` in `some/path`, but at most `_LONG_WORD`."""
    word: int
    plain_word: int
    """Width of the longest word that is not a URL."""


class _ColumnLimits(NamedTuple):
    """Limits for narrowing the columns of a table that is too wide."""

    max_unshrunk: int
    """A column that is at most this wide is not narrowed."""
    max_whole_word: int
    """Maximum width of a word that stays whole in a column wider than `max_unshrunk`."""
    prose_width: int
    """Width of columns of prose. If the table does not fit with this width, the next limits are tried."""
    counts_urls: bool
    """True if a URL counts as a word, which is not broken."""


_COLUMN_LIMITS = (
    _ColumnLimits(16, _ANY_LENGTH, 48, True),
    _ColumnLimits(16, _ANY_LENGTH, 40, True),
    _ColumnLimits(16, _ANY_LENGTH, 32, True),
    _ColumnLimits(16, _ANY_LENGTH, 24, True),
    _ColumnLimits(12, _ANY_LENGTH, 24, True),
    _ColumnLimits(12, _ANY_LENGTH, 24, False),
    _ColumnLimits(12, 32, 16, True),
    _ColumnLimits(12, 32, 16, False),
    _ColumnLimits(8, 32, 16, True),
    _ColumnLimits(8, 32, 16, False),
    _ColumnLimits(12, 24, 16, True),
    _ColumnLimits(8, 24, 16, True),
    _ColumnLimits(12, 18, 16, True),
    _ColumnLimits(8, 14, 16, True),
)
"""Limits that are tried one after the other until the table fits."""
_BETWEEN_WORDS = "[ \n\u0e01-\u115f\u2e80-\ua4cf\uf900-\ufaff\uff00-\uff60\U00020000-\U0003fffd]+"
"""Pattern for blanks, and for characters of scripts without spaces. Compiled on first use."""
_WITHIN_WORDS = re.compile(r"[/\-_]|[.,](?!\d)")
_HALVING_COUNT = 24


@dataclass
class TableGrid:
    """A table as styled text: its cells, and the width of each column in terminal cells."""

    head: list[list[list[StyledText]]]
    """Header rows. Each is a list of cells, and each cell is a list of styled texts."""
    body: list[list[list[StyledText]]]
    aligns: list[str | None]
    widths: list[int]
    rows: list[Block] = field(default_factory=list)
    """The block of each row in `body`."""
    omitted_row_count: int = 0
    """Number of rows at the end that are left out because the table is too large."""
    gap: int = COLUMN_GAP
    broken_column_count: int = 0
    """Number of columns in which a word is broken, plus 1 if the table is too wide."""

    @property
    def width(self) -> int:
        return sum(self.widths) + self.gap * (len(self.widths) - 1)

    def hidden_column_counts(self, pan: int, available_width: int) -> tuple[int, int]:
        """Return how many columns are not fully visible at the left and right if the table is scrolled `pan` cells."""
        ends = [end + self.gap * index for index, end in enumerate(accumulate(self.widths))]
        left = sum(end - width < pan for end, width in zip(ends, self.widths, strict=True))
        return left, sum(end > pan + available_width for end in ends)


def fit_columns(
    head: list[list[list[StyledText]]],
    body: list[list[list[StyledText]]],
    aligns: list[str | None],
    available_width: int,
    hints: Sequence[int] = (),
) -> TableGrid:
    """Return the table with column widths that fit into `available_width` cells if possible. Words are broken only if
    necessary. `hints` has for each column the width in cells that the page sets, or 0."""
    all_rows = head + body
    texts = [[cell_text(row[index]) for row in all_rows] for index in range(len(aligns))]
    sizes = [list(map(_natural_width, column)) for column in texts]
    natural_widths = [
        _readable_width(column, max(column_sizes, default=1)) for column, column_sizes in zip(texts, sizes, strict=True)
    ]
    if _excess_width(natural_widths, available_width) <= 0:
        return TableGrid(head, body, aligns, natural_widths)
    longest_words_by_column = list(map(_longest_words, texts, natural_widths))
    least_widths = [longest.part for longest in longest_words_by_column]
    plain_words = [max(longest.part, longest.plain_word) for longest in longest_words_by_column]
    all_hints = [*hints[: len(least_widths)], *[0] * (len(least_widths) - len(hints))]
    prose_width = _MIN_PROSE_WIDTH_OF_SHORT_WORDS if max(plain_words) <= _LONG_PLAIN_WORD else _MIN_PROSE_WIDTH
    narrow_widths = [max(low, min(wide, prose_width)) for low, wide in zip(plain_words, natural_widths, strict=True)]
    # Columns with a width hint break words only if the table does not fit with whole words.
    lowest_widths = plain_words if _excess_width(narrow_widths, available_width) <= 0 else least_widths
    hinted_widths = [
        max(low, min(wide, hint)) if hint else wide
        for low, wide, hint in zip(lowest_widths, natural_widths, all_hints, strict=True)
    ]
    text_sizes = [sum(column) for column in sizes]
    widths = _share_widths(natural_widths, hinted_widths, text_sizes, available_width)
    parts = _WordPartWidths(texts)
    has_long_words = any(longest.word > _LONG_PLAIN_WORD for longest in longest_words_by_column)
    for limits in _COLUMN_LIMITS:
        if not limits.counts_urls and limits.max_whole_word == _ANY_LENGTH and not has_long_words:
            continue
        kept_widths = [
            wide
            if wide <= limits.max_unshrunk
            else min(
                max(longest.part, longest.word if limits.counts_urls else longest.plain_word), limits.max_whole_word
            )
            for wide, longest in zip(widths, longest_words_by_column, strict=True)
        ]
        narrow_widths = [max(low, min(wide, limits.prose_width)) for wide, low in zip(widths, kept_widths, strict=True)]
        if _excess_width(narrow_widths, available_width) <= 0:
            break
    else:
        # Narrow columns are narrowed, too, such as numbers below a title of two words, if the table then fits.
        kept_widths = [
            max(min(low, _MIN_COLUMN_WIDTH), parts.longest(index, low)) if wide <= _NARROW_COLUMN else low
            for index, (low, wide) in enumerate(zip(least_widths, natural_widths, strict=True))
        ]
        kept_widths = kept_widths if _excess_width(kept_widths, available_width) <= 0 else least_widths
    widths = _share_widths(widths, kept_widths, text_sizes, available_width)
    if _excess_width(widths, available_width) > 0:
        # Break long words if the table then needs no scrolling.
        words = [each.word if each.word <= _NARROW_COLUMN + 2 else None for each in longest_words_by_column]
        least_widths = _widths_with_broken_words(widths, words, parts, available_width)
        tight_widths = _share_widths(widths, least_widths, text_sizes, available_width)
        widths = tight_widths if _excess_width(tight_widths, available_width) <= 0 else widths
    if _excess_width(widths, available_width) <= 0:
        longest_words = [each.word for each in longest_words_by_column]
        widths = _widths_with_whole_words(all_rows, widths, natural_widths, longest_words, text_sizes, available_width)
    broken_words = {index: each.word for index, each in enumerate(longest_words_by_column) if each.word > widths[index]}
    if broken_words and _excess_width(widths, available_width) <= 0:
        minimums = _widths_for_longest_words(all_rows, widths, broken_words, parts, available_width)
        max_widths = [minimums[index] if index in broken_words else wide for index, wide in enumerate(natural_widths)]
        widths = _share_widths(max_widths, minimums, text_sizes, available_width)
    broken_column_count = sum(each.word > width for each, width in zip(longest_words_by_column, widths, strict=True))
    is_too_wide = _excess_width(widths, available_width) > 0
    return TableGrid(head, body, aligns, widths, broken_column_count=broken_column_count + is_too_wide)


class _WordPartWidths:
    """Widths in cells of the unbreakable parts of words, by column. Computed when first needed."""

    def __init__(self, texts: Sequence[Sequence[str]]) -> None:
        self._texts = texts
        self._widths: dict[int, Counter[int]] = {}

    def of_column(self, index: int) -> Counter[int]:
        if index not in self._widths:
            self._widths[index] = Counter(
                indent + cells(part)
                for text in self._texts[index]
                for line, indent in item_lines(text)
                for word in re.split(_BETWEEN_WORDS, line)
                for part in breakable_parts(word)
            )
        return self._widths[index]

    def longest(self, index: int, limit: int) -> int:
        return max((width for width in self.of_column(index) if width <= limit), default=0)


def longest_word_part(texts: Sequence[str]) -> int:
    """Return the width in cells of the longest unbreakable part of a word. 0 without words."""
    return max(_WordPartWidths([texts]).of_column(0), default=0)


def _widths_with_broken_words(
    widths: Sequence[int], whole_word_widths: Sequence[int | None], parts: _WordPartWidths, available_width: int
) -> list[int]:
    """Return the column widths if words must be broken. Narrow columns until they fit into `available_width`, if
    possible. Narrow first where the fewest words break. A number in `whole_word_widths` is the minimum width of a
    column whose words stay whole. None if words of the column may break."""
    least_widths = [
        min(width, max(_NARROW_COLUMN, parts.longest(index, _LONG_WORD)) if word is None else word)
        for index, (width, word) in enumerate(zip(widths, whole_word_widths, strict=True))
    ]
    shrinkable_indexes = [index for index, word in enumerate(whole_word_widths) if word is None]
    while _excess_width(least_widths, available_width) > 0:
        steps = []
        for index in shrinkable_indexes:
            if (narrower := max(_NARROW_COLUMN, parts.longest(index, least_widths[index] - 1))) < least_widths[index]:
                broken_count = sum(
                    number
                    for width, number in parts.of_column(index).items()
                    if narrower < width <= least_widths[index]
                )
                steps.append((broken_count / (least_widths[index] - narrower), index, narrower))
        if not steps:
            break
        _, index, narrower = min(steps)
        least_widths[index] = narrower
    return least_widths


def _widths_with_whole_words(
    rows: list[list[list[StyledText]]],
    widths: list[int],
    natural_widths: Sequence[int],
    longest_words: Sequence[int],
    text_sizes: Sequence[int],
    available_width: int,
) -> list[int]:
    """Return column widths with which fewer columns break their longest word, or `widths` if there are none.
    `longest_words` has the width of the longest word by column. The table may become slightly longer."""
    broken_indexes = [index for index, width in enumerate(widths) if longest_words[index] > width]
    max_lines = 0
    for index in sorted(broken_indexes, key=lambda index: longest_words[index] - widths[index]):
        least_widths = [*map(min, longest_words, widths)]
        least_widths[index] = longest_words[index]
        if _excess_width(least_widths, available_width) <= 0:
            lines = _line_count(rows, widths) if not max_lines else 0
            max_lines = max_lines or lines + max(1, lines // _LINES_PER_ADDED_LINE)
            wider = _share_widths(natural_widths, least_widths, text_sizes, available_width)
            widths = wider if _line_count(rows, wider) <= max_lines else widths
    return widths


def _line_count(rows: list[list[list[StyledText]]], widths: Sequence[int]) -> int:
    return sum(max([len(wrap_items(cell, width)) for cell, width in zip(row, widths, strict=True)]) for row in rows)


def _widths_for_longest_words(
    rows: list[list[list[StyledText]]],
    widths: list[int],
    broken: dict[int, int],
    parts: _WordPartWidths,
    available_width: int,
) -> list[int]:
    """Return minimum column widths: the width of the wrapped text, or more if the spare width lets long words be broken
    less often. `broken` maps the index of a column whose longest word is broken to the width of this word."""
    lines = [[wrap_items(row[index], width) for row in rows] for index, width in enumerate(widths)]
    least_widths = [max(width_of(line) for cell in column for line in cell) for column in lines]
    spare_width = -_excess_width(least_widths, available_width)
    for index, word in sorted(broken.items(), key=lambda each: each[1] - least_widths[each[0]]):
        wider = (
            word
            if word - least_widths[index] <= spare_width
            else parts.longest(index, least_widths[index] + spare_width)
        )
        if wider > least_widths[index]:
            spare_width -= wider - least_widths[index]
            least_widths[index] = wider
        else:
            even_width = max(-(-word // -(-word // widths[index])), parts.longest(index, widths[index]))
            if sum(len(wrap_items(row[index], even_width)) for row in rows) <= sum(map(len, lines[index])):
                spare_width += least_widths[index] - even_width
                least_widths[index] = even_width
    return least_widths


def _excess_width(widths: Sequence[int], available_width: int) -> int:
    return sum(widths) + COLUMN_GAP * (len(widths) - 1) - available_width


def cell_text(cell: list[StyledText]) -> str:
    return "".join([piece.text for piece in cell])


def _natural_width(text: str) -> int:
    return max(1, cells(text) if "\n" not in text else max(cells(line) for line in text.split("\n")))


def _readable_width(texts: Sequence[str], natural: int) -> int:
    return natural if natural <= _MAX_PROSE_WIDTH else max(_MAX_PROSE_WIDTH, _longest_words(texts, natural).word)


def _longest_words(texts: Sequence[str], natural: int) -> _LongestWords:
    if natural <= _NARROW_COLUMN:
        return _LongestWords(natural, natural, natural)
    part_width = _NARROW_COLUMN if natural > _SHORT_COLUMN else _MIN_COLUMN_WIDTH
    word_width = plain_word_width = longest_known = _MIN_COLUMN_WIDTH
    for text in texts:
        is_ascii = text.isascii()
        if len(text) > longest_known // (1 if is_ascii else 2):
            indent = _ITEM_INDENT if "• " in text else 0
            for candidate in text.split() if is_ascii else re.split(_BETWEEN_WORDS, text):
                length = (len(candidate) if is_ascii else cells(candidate)) + indent
                if length <= longest_known:
                    continue
                if length > plain_word_width and "://" not in candidate:
                    plain_word_width = max(plain_word_width, cells(candidate) + indent)
                if length > min(word_width, part_width):
                    word_width = max(word_width, cells(candidate) + indent)
                    *parts_with_sign, last = _WITHIN_WORDS.split(candidate)
                    part_width = max(
                        part_width,
                        min(cells(last), _LONG_WORD) + indent,
                        *[min(cells(piece) + 1, _LONG_WORD) + indent for piece in parts_with_sign],
                    )
                longest_known = min(plain_word_width, word_width, part_width)
    return _LongestWords(min(natural, part_width), min(natural, word_width), min(natural, plain_word_width))


def _share_widths(
    natural: Sequence[int], least: Sequence[int], text_sizes: Sequence[int], available_width: int
) -> list[int]:
    """Return column widths between `least` and `natural` that fit into `available_width` cells. Columns with more text
    become wider. Return `least` if the widths in `least` do not fit."""
    if _excess_width(natural, available_width) <= 0 or _excess_width(least, available_width) >= 0:
        return list(natural if _excess_width(natural, available_width) <= 0 else least)

    def widths_at(level: float) -> list[int]:
        return [
            max(low, min(wide, int(text * level))) for low, wide, text in zip(least, natural, text_sizes, strict=True)
        ]

    low, high = 0.0, 1.0  # 1.0 gives each column its natural width.
    for _ in range(_HALVING_COUNT):
        level = (low + high) / 2
        low, high = (low, level) if _excess_width(widths_at(level), available_width) > 0 else (level, high)
    widths = widths_at(low)
    for index in sorted(range(len(widths)), key=lambda index: (-text_sizes[index], -index))[
        : -_excess_width(widths, available_width)
    ]:
        widths[index] += widths[index] < natural[index]
    return widths


def is_row_wrapped(row: list[list[StyledText]], widths: list[int]) -> bool:
    return any(
        _natural_width(text) > width or "\n" in text for text, width in zip(map(cell_text, row), widths, strict=True)
    )


def row_lines(row: list[list[StyledText]], table_grid: TableGrid) -> list[list[StyledText]]:
    """Return a table row as lines of padded cells, without spaces at the end of a line."""
    wrapped_cells: list[list[list[StyledText]]] = [
        wrap_items(cell, width) if cell else [[]] for cell, width in zip(row, table_grid.widths, strict=True)
    ]
    lines_of_row = []
    for number in range(max(map(len, wrapped_cells), default=0)):
        line: list[StyledText] = []
        for index, lines in enumerate(wrapped_cells):
            if index:
                line.append(decoration(" " * table_grid.gap))
            pieces = lines[number] if number < len(lines) else []
            line += pad(pieces, table_grid.widths[index], PLAIN, table_grid.aligns[index])
        while line and line[-1].is_decoration and not line[-1].text.strip():
            line.pop()
        lines_of_row.append(line)
    return lines_of_row


_SAMPLED_FIRST_ROWS = 60
"""Number of rows at the start of a long table that are measured to find the column widths."""
_SAMPLED_LONGEST_ROWS = 8
"""For each column, number of rows with the longest texts that are measured to find the widths of a long table."""
_SAMPLE_COST = 20_000
MAX_CELLS = 20_000
_MANY_ROWS = 8
"""In a table with more rows, every other row has a background."""
_PIXELS_PER_CELL = 8
"""Assumed width of a cell in pixels, to convert column widths that are set in the page."""


def visible_columns(block: Block) -> list[tuple[int, TableColumn]]:
    """Return those of the first `MAX_TABLE_COLUMNS` columns that are not hidden, each with its index in a row."""
    columns, rows = list(block.attrs.get("columns") or ()), block.children
    row_lengths = map(len, cells_by_column(rows)) if has_merged_cells(rows) else (len(row.children) for row in rows)
    columns += [TableColumn()] * (max(row_lengths, default=0) - len(columns))
    return [(index, column) for index, column in enumerate(columns[:MAX_TABLE_COLUMNS]) if not column.hidden]


def cell_pieces(
    cell: Block | None,
    column: TableColumn,
    styles: Styles,
    base: Style | None = None,
    targets: LinkTargets | None = None,
) -> list[StyledText]:
    """Return a cell as styled text. Empty if `cell` is None: another cell covers it. For `base`, see `render_runs`."""
    if cell is None:
        return []
    glyphs, value = styles.glyphs, cell.attrs.get("value")
    if column.type == "checkbox" and value is not None:
        sign = glyphs.done if value else glyphs.todo
        return [StyledText(f"[{sign}]" if styles.ascii else sign, styles.success if value else styles.muted)]
    if column.type == "rating" and isinstance(value, int):
        star_count = max(0, min(value, column.max))
        return [
            StyledText(glyphs.star * star_count, styles.warning),
            StyledText(glyphs.empty_star * (column.max - star_count), styles.muted),
        ]
    if column.type == "select" and (labels := select_labels(cell, column)):
        edge = non_breaking(" ", styles)
        # Short options are never wrapped. Longer ones may be, because columns are narrow.
        texts = [non_breaking(label, styles) if len(label) <= _LONG_WORD else label for label in labels]
        chips = [[StyledText(f"{edge}{text}{edge}", styles.chip), decoration(" ")] for text in texts]
        return [piece for chip in chips for piece in chip][:-1]
    pieces = render_runs(cell.runs, styles, base, targets)
    if column.type == "users":
        return (
            [StyledText(f"@{flatten_emoji(plain_text(cell.runs)).strip().removeprefix('@')}", styles.note)]
            if pieces
            else []
        )
    if column.type in ("files", "image") and pieces:
        kind, sign = ("file", glyphs.download) if column.type == "files" else ("image", glyphs.image)
        clickables = {
            id(piece.clickable): Clickable(kind, piece.clickable.target)
            for piece in pieces
            if piece.clickable is not None
        }
        pieces = [piece._replace(clickable=clickables.get(id(piece.clickable))) for piece in pieces]
        return (
            [decoration(f"{sign} ", styles.muted, pieces[0].clickable), *pieces]
            if pieces[0].text[:1] != sign
            else pieces
        )
    return pieces


def select_labels(cell: Block, column: TableColumn) -> list[str]:
    """Return the labels of the selected options in a cell of a select column."""
    ids = (part.strip() for part in plain_text(cell.runs).split(","))
    return [flatten_emoji(" ".join(column.options.get(each, each).split())) for each in ids if each]


def grid_by_width(
    block: Block, columns: Sequence[tuple[int, TableColumn]], styles: Styles, targets: LinkTargets | None = None
) -> Callable[[int], TableGrid]:
    """Return a function that takes a width in cells, and returns the table with columns that fit. The table is wider if
    its columns cannot be narrowed enough."""
    rows = block.children[: max(1, MAX_CELLS // max(1, len(columns)))]
    is_first = has_start(block)
    cells_of_rows = cells_by_column(rows)
    head: list[list[list[StyledText]]] = []
    if not block.attrs.get("header_hidden") and any(column.has_title for _, column in columns):
        head.append([render_runs(column.title, styles, styles.strong, targets) for _, column in columns])
    body: list[list[list[StyledText]]] = []
    body_rows: list[Block] = []
    for row, cells_of_row in zip(rows, cells_of_rows, strict=True):
        base_style = styles.strong if row.attrs.get("head") else None
        row_cells = [
            cell_pieces(cells_of_row[index] if index < len(cells_of_row) else None, column, styles, base_style, targets)
            for index, column in columns
        ]
        if base_style and not body and is_first:
            head.append(row_cells)
        else:
            body.append(row_cells)
            body_rows.append(row)
    aligns = [
        column.align or ("right" if column.type == "number" or _reads_from_right(body, position) else None)
        for position, (_, column) in enumerate(columns)
    ]
    hints = [column.width // _PIXELS_PER_CELL if column.width else 0 for _, column in columns]

    def grid(available_width: int) -> TableGrid:
        table_grid = fit_columns(head, body, aligns, available_width, hints)
        if table_grid.broken_column_count:
            closer_grid = fit_columns(head, body, aligns, available_width + len(aligns) - 1, hints)
            if closer_grid.broken_column_count < table_grid.broken_column_count:
                table_grid, closer_grid.gap = closer_grid, COLUMN_GAP - 1
        table_grid.rows, table_grid.omitted_row_count = body_rows, len(block.children) - len(rows)
        return table_grid

    return grid


def _reads_from_right(rows: Sequence[Sequence[list[StyledText]]], position: int) -> bool:
    texts = [text for row in rows if (text := cell_text(row[position])) and not text.isascii()]
    return 2 * sum(map(is_text_right_to_left, texts)) > len(rows) if texts else False


def render_table(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a table or a slice of one. All slices of a table have the same column widths."""
    styles, glyphs = context.styles, context.styles.glyphs
    bounds, full_table = slice_bounds(block), whole_block(block)
    columns = context.shared_by_slices("columns", full_table, visible_columns)
    if not columns:
        return []
    available_width = context.max_width(width)
    if bounds is None:
        table_grid, has_tall_rows = _fit_table(context, block, columns, width, available_width)
    else:
        table_grid = grid_by_width(block, columns, styles, context.link_targets)(available_width - 2)
        sample_grid, has_tall_rows = context.shared_by_slices(
            "shape",
            full_table,
            lambda block: _fit_table(context, sample_rows(block), columns, width, available_width),
            width,
        )
        table_grid.widths, table_grid.gap = sample_grid.widths, sample_grid.gap
        table_grid.head = table_grid.head if bounds.is_first else []
    table_width = max(width, min(table_grid.width + 2, available_width))
    overflow = max(0, table_grid.width - (table_width - 2))
    pan = context.view_state.pan_offset(block.key, overflow)
    visible_width = min(table_grid.width, table_width - 2)
    blank = decoration(" ")
    row_rule = [blank, decoration(glyphs.horizontal * visible_width, styles.line)]
    is_striped = (
        (has_tall_rows or len(full_table.children) > _MANY_ROWS) and bool(styles.surface) and not context.has_background
    )

    def visible_lines(row: list[list[StyledText]]) -> list[list[StyledText]]:
        lines = row_lines(row, table_grid)
        return [
            [blank, *(pan_pieces(line, pan, table_width - 1, glyphs.ellipsis, at_words=True) if overflow else line)]
            for line in lines
        ]

    all_lines = [Line(line, block) for row in table_grid.head for line in visible_lines(row)]
    if table_grid.head and has_start(block):
        all_lines.append(Line(row_rule, block))
    body = zip(table_grid.body, table_grid.rows, strict=True)
    for index, (row, row_block) in enumerate(body, first_index(block)):
        lines = visible_lines(row)
        if is_striped and index % 2:
            lines = [pad(with_background(styles.surface, line), visible_width + 2, styles.surface) for line in lines]
        elif has_tall_rows and not is_striped and index:
            all_lines.append(Line(row_rule, all_lines[-1].block if all_lines else whole_block(row_block)))
        all_lines += [Line(line, whole_block(row_block)) for line in lines]
    if table_grid.omitted_row_count:
        omitted_text = (
            f"{glyphs.ellipsis} {plural(table_grid.omitted_row_count, 'more row')} not shown (see the page source)"
        )
        all_lines.append(Line([blank, decoration(omitted_text, styles.muted)], block))
    if overflow and has_end(block):
        note = hidden_columns_text(*table_grid.hidden_column_counts(pan, table_width - 2), glyphs)
        all_lines.append(Line(truncate([decoration(note.rjust(table_width - 1), styles.muted)], table_width), block))
    return all_lines


def _fit_table(
    context: LayoutContext, block: Block, columns: Sequence[tuple[int, TableColumn]], width: int, available_width: int
) -> tuple[TableGrid, bool]:
    """Return the table with column widths that fit, and True if any row has several lines. If the table is too wide for
    `width`, or would wrap a row, up to `available_width` is used."""
    grid = grid_by_width(block, columns, context.styles, context.link_targets)
    table_grid = grid(width - 2)
    is_wrapped = any(is_row_wrapped(row, table_grid.widths) for row in table_grid.head + table_grid.body)
    if available_width > width and (table_grid.width > width - 2 or is_wrapped):
        table_grid = grid(available_width - 2)
    return table_grid, any(is_row_wrapped(row, table_grid.widths) for row in table_grid.body)


def sample_rows(block: Block) -> Block:
    """Return a long table with only its longest and first rows, shortened, to measure the column widths."""
    block = unmerge_cells(block)
    by_column = zip_longest(
        *(map(_text_length, row.children[:MAX_TABLE_COLUMNS]) for row in block.children), fillvalue=0
    )
    reversed_indexes = range(len(block.children) - 1, -1, -1)
    longest_rows = [nlargest(_SAMPLED_LONGEST_ROWS, reversed_indexes, key=lengths.__getitem__) for lengths in by_column]
    sample: dict[int, Block] = {}
    remaining_cost: float = _SAMPLE_COST
    for index in (
        *(index for ranked in zip(*longest_rows, strict=True) for index in ranked),
        *range(min(_SAMPLED_FIRST_ROWS, len(block.children))),
    ):
        if index not in sample and (remaining_cost > 0 or not sample):
            sample[index] = shorten_row(block.children[index])
            remaining_cost -= layout_cost(sample[index], _SAMPLE_COST)
    return block._replace(children=tuple(sample[index] for index in sorted(sample)))


def _text_length(cell: Block) -> int:
    return sum([len(run.text) for run in cell.runs])


_MAX_NAME_WIDTH = 24
"""Maximum width in cells of the field names left of the values. In narrow panes, names are above values."""


def document_of_row(table: Block, row: Block) -> Document:
    """Return a document that shows a row as a record: one field per column with a title or value, even if hidden."""
    row_cells = _cells_of_row(table, row)
    columns_of_table = list(table.attrs.get("columns") or ())
    fields: list[Block] = []
    columns: list[TableColumn] = []
    for number, (column, cell) in enumerate(zip_longest(columns_of_table, row_cells), 1):
        cell = cell or Block("cell", key=f"{row.key} field {number}")
        column = column or TableColumn()
        title = column.title if plain_text(column.title).strip() else (Run(f"Column {number}"),)
        if plain_text(column.title).strip() or cell.runs or cell.attrs:
            columns.append(column._replace(title=title))
            fields.append(cell._replace(key=cell.key or f"{row.key} field {number}"))
    block = Block("record", {"columns": tuple(columns)}, children=tuple(fields), lines=row.lines, key=row.key)
    return Document("", (block,), "")


def _cells_of_row(table: Block, row: Block) -> list[Block | None]:
    """Return the cells of a row, one for each column. None in a column that a merged cell covers."""
    index = next((index for index, each in enumerate(table.children) if each is row), None)
    return list(row.children) if index is None else cells_by_column(table.children[: index + 1])[index]


def render_record(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a table row as a record: the name of each field, next to or above its value."""
    styles = context.styles
    bounds, columns = slice_bounds(block), block.attrs["columns"]
    if bounds is not None:
        columns = columns[bounds.start : bounds.start + len(block.children)]
    names = [" ".join(plain_text(column.title).split()) for column in columns]
    name_width = min(_MAX_NAME_WIDTH, max(map(cells, names), default=0))
    if width < 2 * name_width or width < 40:
        name_width = 0
    lines: list[Line] = []
    for name, column, cell in zip(names, columns, block.children, strict=True):
        value = cell_pieces(cell, column, styles, None, context.link_targets) or [decoration("empty", styles.muted)]
        if name_width:
            name_lines = wrap([StyledText(name, styles.muted)], name_width)
            value_lines = wrap_items(value, width - name_width - 2)
            nothing: list[StyledText] = []
            for first, second in zip_longest(name_lines, value_lines, fillvalue=nothing):
                gap = decoration(" " * (name_width + 2 - sum(cells(piece.text) for piece in first)))
                lines.append(Line([*first, gap, *second], cell))
        else:
            lines += [Line(part, cell) for part in wrap([StyledText(name, styles.muted)], width)]
            lines += [Line([decoration("  "), *part], cell) for part in wrap_items(value, width - 2)]
    return lines


def copied_text(block: Block, container: Block | None = None) -> str:
    """Return the text that is copied for a block. Cells of a row are separated by tabs. `container` is the table that
    contains a row, or the record that contains a field."""
    columns = tuple((block if container is None else container).attrs.get("columns") or ())
    if block.kind == "table":
        head = (
            []
            if block.attrs.get("header_hidden")
            else ["\t".join(_one_line(plain_text(each.title)) for each in columns)]
        )
        return "\n".join([*head, *(_row_text(row, columns) for row in cells_by_column(block.children))])
    if block.kind == "row":
        return _row_text(_cells_of_row(container, block) if container is not None else block.children, columns)
    if container is not None and container.kind == "record":
        fields = zip(container.children, columns, strict=True)
        column = next((column for field, column in fields if field is block), TableColumn())
        return ", ".join(select_labels(block, column)) if column.type == "select" else block.plain()
    return block.plain()


def _row_text(row: Sequence[Block | None], columns: Sequence[TableColumn]) -> str:
    fields = []
    for cell, column in zip_longest(row, columns[: len(row)], fillvalue=None):
        if cell is None:
            fields.append("")
        elif (value := cell.attrs.get("value")) is not None:
            fields.append(str(value).lower())
        elif column is not None and column.type == "select":
            fields.append(", ".join(select_labels(cell, column)))
        else:
            fields.append(_one_line(plain_text(cell.runs)))
    return "\t".join(fields)


def _one_line(text: str) -> str:
    return " ".join(text.split())
