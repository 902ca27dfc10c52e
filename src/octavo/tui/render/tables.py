"""Tables: columns as wide as they need, narrowed by wrapping, moved when even that is too wide. Each row is a block one
can stand on. Rows that are hard to tell apart lie on two grounds, and have hairlines between them where there are none."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from itertools import accumulate, zip_longest
from typing import TYPE_CHECKING

from rich.style import Style

from octavo.documents.blocks import Block, Column, plain_text
from octavo.tui.render.block_slices import cut_of, leveled, shortened, weight, whole_of
from octavo.tui.render.inline import inline, unbroken
from octavo.tui.render.kept_results import KeptResults
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.merged_cells import MOST_COLUMNS, is_merged, placed
from octavo.tui.render.styled_lines import Line, Piece, Spot, cells, fit, off_side, on, padded, panned, steady, width_of
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap_items
from octavo.tui.terminal.text_direction import reads_from_right

if TYPE_CHECKING:
    from octavo.tui.render.link_targets import Targets

GAP = 3
NARROW, MOST_CELLS = 10, 20_000
_SHORT, _NARROWEST = 20, 6
"""A column of so few cells may be as narrow as its longest word, but no narrower than that."""
_WIDEST_COLUMN = 100
"""Cells of a column of prose: longer lines are hard to read."""
_LONG_WORD = 16
"""Cells from which on a word is rather broken than the table moved."""
_ANY, _LABEL = 2000, 32
_COMFORTS = (
    *((16, _ANY, 48, 1), (16, _ANY, 40, 1), (16, _ANY, 32, 1), (16, _ANY, 24, 1), (12, _ANY, 24, 1), (12, _ANY, 24, 2)),
    *((12, 32, 16, 1), (12, 32, 16, 2), (8, 32, 16, 1), (8, 32, 16, 2)),
    *((12, 24, 16, 1), (8, 24, 16, 1), (12, 18, 16, 1), (8, 14, 16, 1)),
)
"""Columns up to so wide stay whole, wider ones are left so many cells for their longest word, and so many for prose: the first
for which there is room. The last number is the one of `_longest` that counts: whether addresses are words. Those that leave
all words but addresses whole are for tables with words longer than `_LABEL`: shorter addresses stay whole beside little
prose."""
_BETWEEN_WORDS = "[ \n\u0e01-\u115f\u2e80-\ua4cf\uf900-\ufaff\uff00-\uff60\U00020000-\U0003fffd]+"
"""A pattern that is compiled for the first table: that takes a millisecond."""
_WITHIN_WORDS = re.compile(r"[/\-_]|[.,](?!\d)")
_HALVINGS = 24
_FIRST_ROWS, _LONGEST_ROWS, _LETTERS = 60, 8, 20_000
"""The widths of a table that is set in slices are told by so many rows: the longest in each column, and its first, until
they hold so many letters."""
_told: KeptResults[Block, Block] = KeptResults()
_MANY_ROWS = 8
"""Rows of a longer table lie on two grounds, even when each is one line."""
_PIXELS = 8
"""How many pixels of a column's width, as the web has it, are a cell."""


@dataclass
class Grid:
    """The cells of a table in pieces, and how wide each column is set."""

    head: list[list[list[Piece]]]
    body: list[list[list[Piece]]]
    aligns: list[str | None]
    widths: list[int]
    rows: list[Block] = field(default_factory=list)
    """The blocks of `body`."""
    cut_rows: int = 0
    """Rows left out because the table is too big."""

    @property
    def width(self) -> int:
        return sum(self.widths) + GAP * (len(self.widths) - 1)

    def off(self, pan: int, room: int) -> tuple[int, int]:
        """How many columns begin left of the cell `pan`, and how many end right of the `room` cells from there on."""
        ends = [end + GAP * at for at, end in enumerate(accumulate(self.widths))]
        left = sum(end - width < pan for end, width in zip(ends, self.widths, strict=True))
        return left, sum(end > pan + room for end in ends)


def columns_of(block: Block) -> list[tuple[int, Column]]:
    """The columns that are shown, with their places in a row."""
    given, rows = list(block.attrs.get("columns") or ()), block.children
    wide = map(len, placed(rows)) if is_merged(rows) else (len(row.children) for row in rows)
    given += [Column()] * (max(wide, default=0) - len(given))
    return [(index, column) for index, column in enumerate(given[:MOST_COLUMNS]) if not column.hidden]


def cell_pieces(
    cell: Block | None, column: Column, look: Styles, base: Style | None = None, targets: Targets | None = None
) -> list[Piece]:
    """What stands in a cell, by the type of its column."""
    if cell is None:
        return []
    glyphs, value = look.glyphs, cell.attrs.get("value")
    if column.type == "checkbox" and value is not None:
        sign = glyphs.done if value else glyphs.todo
        return [Piece(f"[{sign}]" if look.ascii else sign, look.success if value else look.muted)]
    if column.type == "rating" and isinstance(value, int):
        stars = max(0, min(value, column.max))
        return [Piece(glyphs.star * stars, look.warning), Piece(glyphs.no_star * (column.max - stars), look.muted)]
    if column.type == "select" and (labels := select_labels(cell, column)):
        chips = [[Piece(unbroken(f" {label} ", look), look.chip), Piece(" ", PLAIN, None, True)] for label in labels]
        return [piece for chip in chips for piece in chip][:-1]
    pieces = inline(cell.runs, look, base, targets)
    if column.type == "users":
        return [Piece(f"@{steady(plain_text(cell.runs)).strip().removeprefix('@')}", look.note)] if pieces else []
    if column.type in ("files", "image") and pieces:
        kind, sign = ("file", glyphs.down_load) if column.type == "files" else ("image", glyphs.picture)
        spots = {id(piece.spot): Spot(kind, piece.spot.target) for piece in pieces if piece.spot is not None}
        pieces = [piece._replace(spot=spots.get(id(piece.spot))) for piece in pieces]
        return [Piece(f"{sign} ", look.muted, pieces[0].spot, True), *pieces] if pieces[0].text[:1] != sign else pieces
    return pieces


def select_labels(cell: Block, column: Column) -> list[str]:
    """What is chosen in a cell of a select, as people read it."""
    ids = (part.strip() for part in plain_text(cell.runs).split(","))
    return [steady(" ".join(column.options.get(each, each).split())) for each in ids if each]


def read(
    block: Block, columns: Sequence[tuple[int, Column]], look: Styles, targets: Targets | None = None
) -> Callable[[int], Grid]:
    """What sets these columns of a table for so many cells; it is wider only when they cannot be narrowed that far."""
    rows = block.children[: max(1, MOST_CELLS // max(1, len(columns)))]
    cut_at = cut_of(block)
    is_first = cut_at is None or cut_at.is_first
    by_column = placed(rows)
    head: list[list[list[Piece]]] = []
    if not block.attrs.get("header_hidden") and any(plain_text(column.title).strip() for _, column in columns):
        head.append([inline(column.title, look, look.strong, targets) for _, column in columns])
    body: list[list[list[Piece]]] = []
    shown: list[Block] = []
    for row, line in zip(rows, by_column, strict=True):
        bold = look.strong if row.attrs.get("head") else None
        row_cells = [
            cell_pieces(line[index] if index < len(line) else None, column, look, bold, targets)
            for index, column in columns
        ]
        if bold and not body and is_first:
            head.append(row_cells)
        else:
            body.append(row_cells)
            shown.append(row)
    aligns = [
        column.align or ("right" if column.type == "number" or _reads_from_right(body, at) else None)
        for at, (_, column) in enumerate(columns)
    ]
    hints = [column.width // _PIXELS if column.width else 0 for _, column in columns]

    def grid(room: int) -> Grid:
        set_table = fitted(head, body, aligns, room, hints)
        set_table.rows, set_table.cut_rows = shown, len(block.children) - len(rows)
        return set_table

    return grid


def _reads_from_right(rows: Sequence[Sequence[list[Piece]]], at: int) -> bool:
    """Whether most cells of a column are read from right to left."""
    texts = [text for row in rows if (text := _text(row[at])) and not text.isascii()]
    return 2 * sum(map(reads_from_right, texts)) > len(rows) if texts else False


def fitted(
    head: list[list[list[Piece]]],
    body: list[list[list[Piece]]],
    aligns: list[str | None],
    room: int,
    hints: Sequence[int] = (),
) -> Grid:
    """Rows of cells with widths for `room` cells. Where columns have to give way, those go first that are wider than
    their hint; 0 is no hint. The rest is shared by how much they hold, with words kept whole where that leaves room."""
    every = head + body
    texts = [[_text(row[at]) for row in every] for at in range(len(aligns))]
    sizes = [list(map(_natural, column)) for column in texts]
    natural = [
        _readable(column, max(column_sizes, default=1)) for column, column_sizes in zip(texts, sizes, strict=True)
    ]
    if _over(natural, room) <= 0:
        return Grid(head, body, aligns, natural)
    longest_of = list(map(_longest, texts, natural))
    least = [each[0] for each in longest_of]
    hinted = [
        max(low, min(wide, hint)) if hint else wide
        for low, wide, hint in zip_longest(least, natural, hints[: len(least)], fillvalue=0)
    ]
    held = [sum(column) for column in sizes]
    widths = _shared(natural, hinted, held, room)
    has_long_words = any(word > _LABEL for _, word, _ in longest_of)
    for whole, longest, prose, counted in _COMFORTS:
        if counted == 2 and longest == _ANY and not has_long_words:
            continue
        kept = [
            wide if wide <= whole else min(max(each[0], each[counted]), longest)
            for wide, each in zip(widths, longest_of, strict=True)
        ]
        if _over([max(low, min(wide, prose)) for wide, low in zip(widths, kept, strict=True)], room) <= 0:
            break
    else:
        kept = least
    widths = _shared(widths, kept, held, room)
    if _over(widths, room) > 0:
        # Rather long words in two than a table to move, where that is enough.
        words = [word if word <= NARROW + 2 else NARROW for _, word, _ in longest_of]
        tight = _shared(widths, [min(width, word) for width, word in zip(widths, words, strict=True)], held, room)
        widths = tight if _over(tight, room) <= 0 else widths
    broken = {at: word for at, (_, word, _) in enumerate(longest_of) if word > widths[at]}
    if broken and _over(widths, room) <= 0:
        least = _around_words(every, widths, broken, room)
        most = [least[at] if at in broken else wide for at, wide in enumerate(natural)]
        widths = _shared(most, least, held, room)
    return Grid(head, body, aligns, widths)


def _around_words(rows: list[list[list[Piece]]], widths: list[int], broken: dict[int, int], room: int) -> list[int]:
    """The least widths in which no cell takes more lines than in `widths`, but for columns in which the longest word is broken.
    `broken`: these columns and the cells of their words. A word for which all columns leave enough cells free beside their
    lines stays whole, others are broken into parts of one length."""
    lines = [[wrap_items(row[at], width) for row in rows] for at, width in enumerate(widths)]
    least = [max(width_of(line) for cell in column for line in cell) for column in lines]
    free = -_over(least, room)
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


def _over(widths: Sequence[int], room: int) -> int:
    return sum(widths) + GAP * (len(widths) - 1) - room


def _text(cell: list[Piece]) -> str:
    return "".join([piece.text for piece in cell])


def _natural(text: str) -> int:
    return max(1, cells(text) if "\n" not in text else max(cells(line) for line in text.split("\n")))


def _readable(texts: Sequence[str], natural: int) -> int:
    """How wide a column becomes where there is room for all."""
    return natural if natural <= _WIDEST_COLUMN else max(_WIDEST_COLUMN, _longest(texts, natural)[1])


def _longest(texts: Sequence[str], natural: int) -> tuple[int, int, int]:
    """The longest part of the words of a column that is not broken, within reason, its longest word, and its longest word
    that is no address: in cells."""
    if natural <= NARROW:
        return natural, natural, natural
    part = NARROW if natural > _SHORT else _NARROWEST
    word = label = told = _NARROWEST
    for text in texts:
        if len(text) > told:
            for each in text.split() if text.isascii() else re.split(_BETWEEN_WORDS, text):
                if len(each) <= told:
                    continue
                if len(each) > label and "://" not in each:
                    label = max(label, cells(each))
                if len(each) > min(word, part):
                    word = max(word, cells(each))
                    *signed, last = _WITHIN_WORDS.split(each)
                    part = max(part, min(cells(last), _LONG_WORD), *[min(cells(e) + 1, _LONG_WORD) for e in signed])
                told = min(label, word, part)
    return min(natural, part), min(natural, word), min(natural, label)


def _shared(natural: Sequence[int], least: Sequence[int], held: Sequence[int], room: int) -> list[int]:
    """Widths that fit, from `least` to `natural`, by how much text the columns hold; `least` when even that is too wide."""
    if _over(natural, room) <= 0 or _over(least, room) >= 0:
        return list(natural if _over(natural, room) <= 0 else least)

    def at(level: float) -> list[int]:
        return [max(low, min(wide, int(text * level))) for low, wide, text in zip(least, natural, held, strict=True)]

    low, high = 0.0, 1.0  # no column needs more cells than it holds
    for _ in range(_HALVINGS):
        level = (low + high) / 2
        low, high = (low, level) if _over(at(level), room) > 0 else (level, high)
    widths = at(low)
    for index in sorted(range(len(widths)), key=lambda index: (-held[index], -index))[: -_over(widths, room)]:
        widths[index] += widths[index] < natural[index]
    return widths


def table(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """A table."""
    look, glyphs = setting.look, setting.look.glyphs
    cut_at, whole = cut_of(block), whole_of(block)
    columns = setting.known("columns", whole, columns_of)
    if not columns:
        return []
    room = setting.wide(width)
    if cut_at is None:
        set_table, airy = _shaped(setting, block, columns, width, room)
    else:
        set_table = read(block, columns, look, setting.targets)(room - 2)
        shape, airy = setting.known(
            "shape", whole, lambda block: _shaped(setting, telling(block), columns, width, room), width
        )
        set_table.widths = shape.widths
        set_table.head = set_table.head if cut_at.is_first else []
    full = max(width, min(set_table.width + 2, room))
    over = max(0, set_table.width - (full - 2))
    pan = setting.folds.pan(block.key, over)
    across = min(set_table.width, full - 2)
    blank = Piece(" ", PLAIN, None, True)
    hair = [blank, Piece(glyphs.across * across, look.line, None, True)]
    striped = (airy or len(whole.children) > _MANY_ROWS) and bool(look.surface) and not setting.tinted

    def shown(row: list[list[Piece]]) -> list[list[Piece]]:
        lines = row_lines(row, set_table)
        return [[blank, *(panned(line, pan, full - 1, glyphs.more, at_words=True) if over else line)] for line in lines]

    out = [Line(line, block) for row in set_table.head for line in shown(row)]
    if set_table.head and (cut_at is None or cut_at.is_first):
        out.append(Line(hair, block))
    first = cut_at.start if cut_at is not None else 0
    for index, (row, row_block) in enumerate(zip(set_table.body, set_table.rows, strict=True), first):
        lines = shown(row)
        if striped and index % 2:
            lines = [padded(on(look.surface, line), across + 2, look.surface) for line in lines]
        elif airy and not striped and index:
            out.append(Line(hair, out[-1].block if out else whole_of(row_block)))
        out += [Line(line, whole_of(row_block)) for line in lines]
    if set_table.cut_rows:
        said = f"{glyphs.more} {set_table.cut_rows} more {'row' if set_table.cut_rows == 1 else 'rows'} not shown (see the page source)"
        out.append(Line([blank, Piece(said, look.muted, None, True)], block))
    if over and (cut_at is None or cut_at.is_last):
        off = off_side(*set_table.off(pan, full - 2), glyphs)
        out.append(Line(fit([Piece(off.rjust(full - 1), look.muted, None, True)], full), block))
    return out


def _shaped(
    setting: LayoutContext, block: Block, columns: Sequence[tuple[int, Column]], width: int, room: int
) -> tuple[Grid, bool]:
    """The table in the room it gains from, and whether any of its rows takes several lines."""
    grid = read(block, columns, setting.look, setting.targets)
    set_table = grid(width - 2)
    if room > width and (set_table.width > width - 2 or any(_wraps(row, set_table.widths) for row in set_table.body)):
        set_table = grid(room - 2)
    return set_table, any(_wraps(row, set_table.widths) for row in set_table.body)


def telling(block: Block) -> Block:
    """A long table with only those of its rows that say how wide its columns are: the longest of each, and the first. Those
    of the tables asked for last are kept: to look at ten thousand rows takes as long as a frame."""
    return _told.of(block) or _told.keep(block, _telling(leveled(block)))


def _telling(block: Block) -> Block:
    by_column = zip_longest(*(map(_length, row.children[:MOST_COLUMNS]) for row in block.children), fillvalue=0)
    last_first = range(len(block.children) - 1, -1, -1)
    longest = [nlargest(_LONGEST_ROWS, last_first, key=lengths.__getitem__) for lengths in by_column]
    told: dict[int, Block] = {}
    left: float = _LETTERS
    for place in (
        *(place for ranked in zip(*longest, strict=True) for place in ranked),
        *range(min(_FIRST_ROWS, len(block.children))),
    ):
        if place not in told and (left > 0 or not told):
            told[place] = shortened(block.children[place])
            left -= weight(told[place], _LETTERS)
    return block._replace(children=tuple(told[place] for place in sorted(told)))


def _length(cell: Block) -> int:
    runs = cell.runs
    return len(runs[0].text) if len(runs) == 1 else sum([len(run.text) for run in runs])


def _wraps(row: list[list[Piece]], widths: list[int]) -> bool:
    return any(_natural(text) > width or "\n" in text for text, width in zip(map(_text, row), widths, strict=True))


def row_lines(row: list[list[Piece]], set_table: Grid) -> list[list[Piece]]:
    """The lines of one row."""
    parts: list[list[list[Piece]]] = [
        wrap_items(cell, width) if cell else [[]] for cell, width in zip(row, set_table.widths, strict=True)
    ]
    out = []
    for number in range(max(map(len, parts), default=0)):
        line: list[Piece] = []
        for at, lines in enumerate(parts):
            if at:
                line.append(Piece(" " * GAP, PLAIN, None, True))
            part = lines[number] if number < len(lines) else []
            line += padded(part, set_table.widths[at], PLAIN, set_table.aligns[at])
        while line and line[-1].furniture and not line[-1].text.strip():
            line.pop()
        out.append(line)
    return out
