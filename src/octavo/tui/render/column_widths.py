"""Column widths of tables: as wide as the text needs, and narrower with wrapped text where the table does not fit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, zip_longest
from typing import Literal, NamedTuple

from octavo.documents.blocks import Block
from octavo.tui.render.styled_lines import Piece, cells, pad, width_of
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.wrap import wrap_items

COLUMN_GAP = 3
_NARROW = 10
_SHORT, _NARROWEST = 20, 6
"""Widths in cells. A column of at most `_SHORT` cells may shrink to its longest word, but not below `_NARROWEST`
cells."""
_WIDEST_COLUMN = 100
"""Maximum width of a column of prose, in cells. Longer lines are hard to read."""
_LONG_WORD = 16
"""Maximum width in cells of a part of a word that stays whole. Before a table has to scroll, longer parts are
broken."""
_ANY_LENGTH, _LONG_LABEL = 2000, 32


class _Limits(NamedTuple):
    """Limits for the columns of a table that is too wide."""

    whole: int
    """A column up to this width does not shrink."""
    longest: int
    """Another column shrinks to its longest word, or to this width if that is smaller."""
    prose: int
    """The table must fit with each column shrunk to this width, or to the width from `whole` and `longest` if that is
    larger."""
    counted: Literal[1, 2]
    """Index in the result of `_longest_words`: 1 counts addresses as words, 2 leaves them out."""


_COLUMN_LIMITS = (
    _Limits(16, _ANY_LENGTH, 48, 1),
    _Limits(16, _ANY_LENGTH, 40, 1),
    _Limits(16, _ANY_LENGTH, 32, 1),
    _Limits(16, _ANY_LENGTH, 24, 1),
    _Limits(12, _ANY_LENGTH, 24, 1),
    _Limits(12, _ANY_LENGTH, 24, 2),
    _Limits(12, 32, 16, 1),
    _Limits(12, 32, 16, 2),
    _Limits(8, 32, 16, 1),
    _Limits(8, 32, 16, 2),
    _Limits(12, 24, 16, 1),
    _Limits(8, 24, 16, 1),
    _Limits(12, 18, 16, 1),
    _Limits(8, 14, 16, 1),
)
"""Limits that are tried in turn until the table fits. Limits with `_ANY_LENGTH` that leave addresses out are only tried
if a word is longer than `_LONG_LABEL`."""
_BETWEEN_WORDS = "[ \n\u0e01-\u115f\u2e80-\ua4cf\uf900-\ufaff\uff00-\uff60\U00020000-\U0003fffd]+"
"""Pattern for the places where a line may break: blanks, and characters of scripts without spaces. Not compiled here,
because that takes a millisecond: the first table compiles it."""
_WITHIN_WORDS = re.compile(r"[/\-_]|[.,](?!\d)")
_HALVINGS = 24


@dataclass
class TableGrid:
    """Cells of a table as styled text, with the width of each column."""

    head: list[list[list[Piece]]]
    body: list[list[list[Piece]]]
    aligns: list[str | None]
    widths: list[int]
    rows: list[Block] = field(default_factory=list)
    """Blocks of the rows in `body`."""
    omitted_rows: int = 0
    """Number of rows left out of a table that is too large."""

    @property
    def width(self) -> int:
        return sum(self.widths) + COLUMN_GAP * (len(self.widths) - 1)

    def hidden_columns(self, pan: int, available_width: int) -> tuple[int, int]:
        """Return how many columns begin left of cell `pan`, and how many end right of the `available_width` cells after
        it."""
        ends = [end + COLUMN_GAP * at for at, end in enumerate(accumulate(self.widths))]
        left = sum(end - width < pan for end, width in zip(ends, self.widths, strict=True))
        return left, sum(end > pan + available_width for end in ends)


def fit_columns(
    head: list[list[list[Piece]]],
    body: list[list[list[Piece]]],
    aligns: list[str | None],
    available_width: int,
    hints: Sequence[int] = (),
) -> TableGrid:
    """Return a grid with column widths that fit `available_width` cells, if possible.

    Columns that are wider than their hint shrink first. A hint of 0 means no hint. The remaining width is divided in
    proportion to the amount of text. Words are not broken if there is room.
    """
    every = head + body
    texts = [[cell_text(row[at]) for row in every] for at in range(len(aligns))]
    sizes = [list(map(_natural_width, column)) for column in texts]
    natural = [
        _readable_width(column, max(column_sizes, default=1)) for column, column_sizes in zip(texts, sizes, strict=True)
    ]
    if _excess(natural, available_width) <= 0:
        return TableGrid(head, body, aligns, natural)
    longest_of = list(map(_longest_words, texts, natural))
    least = [each[0] for each in longest_of]
    hinted = [
        max(low, min(wide, hint)) if hint else wide
        for low, wide, hint in zip_longest(least, natural, hints[: len(least)], fillvalue=0)
    ]
    text_sizes = [sum(column) for column in sizes]
    widths = _share_widths(natural, hinted, text_sizes, available_width)
    has_long_words = any(word > _LONG_LABEL for _, word, _ in longest_of)
    for limits in _COLUMN_LIMITS:
        if limits.counted == 2 and limits.longest == _ANY_LENGTH and not has_long_words:
            continue
        kept = [
            wide if wide <= limits.whole else min(max(each[0], each[limits.counted]), limits.longest)
            for wide, each in zip(widths, longest_of, strict=True)
        ]
        if (
            _excess(
                [max(low, min(wide, limits.prose)) for wide, low in zip(widths, kept, strict=True)], available_width
            )
            <= 0
        ):
            break
    else:
        kept = least
    widths = _share_widths(widths, kept, text_sizes, available_width)
    if _excess(widths, available_width) > 0:
        # Breaking long words is better than scrolling the table, if the table fits then.
        words = [word if word <= _NARROW + 2 else _NARROW for _, word, _ in longest_of]
        tight = _share_widths(
            widths, [min(width, word) for width, word in zip(widths, words, strict=True)], text_sizes, available_width
        )
        widths = tight if _excess(tight, available_width) <= 0 else widths
    broken = {at: word for at, (_, word, _) in enumerate(longest_of) if word > widths[at]}
    if broken and _excess(widths, available_width) <= 0:
        least = _widths_around_words(every, widths, broken, available_width)
        most = [least[at] if at in broken else wide for at, wide in enumerate(natural)]
        widths = _share_widths(most, least, text_sizes, available_width)
    return TableGrid(head, body, aligns, widths)


def _widths_around_words(
    rows: list[list[list[Piece]]], widths: list[int], broken: dict[int, int], available_width: int
) -> list[int]:
    """Return column widths that break fewer words than `widths`. They are as small as possible, but no cell takes more
    lines than with `widths`.

    `broken` maps each column whose longest word is broken to the width of that word. A word stays whole if the other
    columns can spare the cells for it. Otherwise it is broken into parts of equal length.
    """
    lines = [[wrap_items(row[at], width) for row in rows] for at, width in enumerate(widths)]
    least = [max(width_of(line) for cell in column for line in cell) for column in lines]
    free = -_excess(least, available_width)
    for at, word in sorted(broken.items(), key=lambda each: each[1] - least[each[0]]):
        if word - least[at] <= free:
            free -= word - least[at]
            least[at] = word
        else:
            even = -(-word // -(-word // widths[at]))
            if sum(len(wrap_items(row[at], even)) for row in rows) <= sum(map(len, lines[at])):
                free += least[at] - even
                least[at] = even
    return least


def _excess(widths: Sequence[int], available_width: int) -> int:
    return sum(widths) + COLUMN_GAP * (len(widths) - 1) - available_width


def cell_text(cell: list[Piece]) -> str:
    return "".join([piece.text for piece in cell])


def _natural_width(text: str) -> int:
    return max(1, cells(text) if "\n" not in text else max(cells(line) for line in text.split("\n")))


def _readable_width(texts: Sequence[str], natural: int) -> int:
    """Return the width that a column gets if all columns fit: at most `_WIDEST_COLUMN`, or the width of its longest
    word if that is wider."""
    return natural if natural <= _WIDEST_COLUMN else max(_WIDEST_COLUMN, _longest_words(texts, natural)[1])


def _longest_words(texts: Sequence[str], natural: int) -> tuple[int, int, int]:
    """Return three widths in cells: of the longest unbreakable part of a word, of the longest word, and of the longest
    word that is not an address."""
    if natural <= _NARROW:
        return natural, natural, natural
    part = _NARROW if natural > _SHORT else _NARROWEST
    word = label = longest_known = _NARROWEST
    for text in texts:
        if len(text) > longest_known:
            for each in text.split() if text.isascii() else re.split(_BETWEEN_WORDS, text):
                if len(each) <= longest_known:
                    continue
                if len(each) > label and "://" not in each:
                    label = max(label, cells(each))
                if len(each) > min(word, part):
                    word = max(word, cells(each))
                    *signed, last = _WITHIN_WORDS.split(each)
                    part = max(part, min(cells(last), _LONG_WORD), *[min(cells(e) + 1, _LONG_WORD) for e in signed])
                longest_known = min(label, word, part)
    return min(natural, part), min(natural, word), min(natural, label)


def _share_widths(
    natural: Sequence[int], least: Sequence[int], text_sizes: Sequence[int], available_width: int
) -> list[int]:
    """Return a width for each column, from its `least` to its `natural` width, that fits and is in proportion to the
    amount of text. Return `least` if even these widths do not fit."""
    if _excess(natural, available_width) <= 0 or _excess(least, available_width) >= 0:
        return list(natural if _excess(natural, available_width) <= 0 else least)

    def at(level: float) -> list[int]:
        return [
            max(low, min(wide, int(text * level))) for low, wide, text in zip(least, natural, text_sizes, strict=True)
        ]

    low, high = 0.0, 1.0  # With 1.0, each column has its natural width.
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        low, high = (low, level) if _excess(at(level), available_width) > 0 else (level, high)
    widths = at(low)
    for index in sorted(range(len(widths)), key=lambda index: (-text_sizes[index], -index))[
        : -_excess(widths, available_width)
    ]:
        widths[index] += widths[index] < natural[index]
    return widths


def row_wraps(row: list[list[Piece]], widths: list[int]) -> bool:
    return any(
        _natural_width(text) > width or "\n" in text for text, width in zip(map(cell_text, row), widths, strict=True)
    )


def row_lines(row: list[list[Piece]], table_grid: TableGrid) -> list[list[Piece]]:
    """Return the lines of one row."""
    parts: list[list[list[Piece]]] = [
        wrap_items(cell, width) if cell else [[]] for cell, width in zip(row, table_grid.widths, strict=True)
    ]
    out = []
    for number in range(max(map(len, parts), default=0)):
        line: list[Piece] = []
        for at, lines in enumerate(parts):
            if at:
                line.append(Piece(" " * COLUMN_GAP, PLAIN, None, True))
            part = lines[number] if number < len(lines) else []
            line += pad(part, table_grid.widths[at], PLAIN, table_grid.aligns[at])
        while line and line[-1].is_decoration and not line[-1].text.strip():
            line.pop()
        out.append(line)
    return out
