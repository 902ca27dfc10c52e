"""Tables between hairlines: columns as wide as they need, narrowed by wrapping, moved when even that is too wide."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import accumulate

from rich.style import Style

from octavo.documents.blocks import Block, Column, words
from octavo.tui.page.inline import inline
from octavo.tui.page.lines import Line, Piece, Spot, box, cells, cut, off_side, padded
from octavo.tui.page.look import PLAIN, Look
from octavo.tui.page.setting import Setting
from octavo.tui.page.wrap import wrap

GAP = 3
NARROW, MOST_COLUMNS, MOST_CELLS = 10, 200, 20_000
_LONG_WORD = 18


@dataclass
class Grid:
    """The cells of a table in pieces, and how wide each column is set."""

    head: list[list[list[Piece]]]
    body: list[list[list[Piece]]]
    aligns: list[str | None]
    widths: list[int]
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
    count = max((len(row.children) for row in block.children), default=0)
    given = list(block.attrs.get("columns") or ())
    given += [Column()] * (count - len(given))
    return [(index, column) for index, column in enumerate(given[:MOST_COLUMNS]) if not column.hidden]


def cell_pieces(cell: Block | None, column: Column, look: Look, base: Style | None = None) -> list[Piece]:
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
    if column.type == "select" and (text := words(cell.runs).strip()):
        return [Piece(f" {column.options.get(text, text)} ", look.chip)]
    return inline(cell.runs, look, base)


def grid(block: Block, look: Look, room: int) -> Grid:
    """The table set for `room` cells; it is wider only when its columns cannot be narrowed that far."""
    columns = columns_of(block)
    most = max(1, MOST_CELLS // max(1, len(columns)))
    rows = block.children[:most]
    head: list[list[list[Piece]]] = []
    if not block.attrs.get("header_hidden") and any(words(column.title).strip() for _, column in columns):
        head.append([inline(column.title, look, look.strong) for _, column in columns])
    body: list[list[list[Piece]]] = []
    for row in rows:
        bold = row.attrs.get("head")
        cells_ = [
            cell_pieces(
                row.children[index] if index < len(row.children) else None, column, look, look.strong if bold else None
            )
            for index, column in columns
        ]
        (head if bold and not body else body).append(cells_)
    aligns = [column.align for _, column in columns]
    return fitted(head, body, aligns, room, len(block.children) - len(rows))


def fitted(
    head: list[list[list[Piece]]],
    body: list[list[list[Piece]]],
    aligns: list[str | None],
    room: int,
    cut_rows: int = 0,
) -> Grid:
    """Rows of cells with widths for `room` cells."""
    every = head + body
    natural = [max((_natural(row[at]) for row in every), default=1) for at in range(len(aligns))]
    widths = _narrowed(natural, [_least(every, at, wide) for at, wide in enumerate(natural)], room)
    return Grid(head, body, aligns, widths, cut_rows)


def _natural(pieces: list[Piece]) -> int:
    text = "".join([piece.text for piece in pieces])
    return max(1, cells(text) if "\n" not in text else max(cells(line) for line in text.split("\n")))


def _least(rows: list[list[list[Piece]]], at: int, natural: int) -> int:
    """How narrow a column may get: its longest word, within reason."""
    if natural <= NARROW:
        return natural
    longest = NARROW
    for row in rows:
        for word in re.split(r"[ \n/\-_.]", "".join([piece.text for piece in row[at]])):
            if len(word) > longest:
                longest = max(longest, min(cells(word), _LONG_WORD))
    return min(natural, longest)


def _narrowed(natural: list[int], least: list[int], room: int) -> list[int]:
    """Widths that fit: the widest columns give way first, none below its least."""
    widths = list(natural)
    over = sum(widths) + GAP * (len(widths) - 1) - room
    while over > 0:
        wide = [index for index, width in enumerate(widths) if width > least[index]]
        if not wide:
            break
        top = max(widths[index] for index in wide)
        widest = [index for index in wide if widths[index] == top]
        following = max([least[index] for index in widest] + [widths[index] for index in wide if widths[index] < top])
        step = max(1, min(top - following, -(-over // len(widest))))
        for index in widest:
            taken = min(step, widths[index] - least[index], over)
            widths[index] -= taken
            over -= taken
    return widths


def table(setting: Setting, block: Block, width: int) -> list[Line]:
    """A table."""
    look, glyphs = setting.look, setting.look.glyphs
    if not columns_of(block):
        return []
    room = setting.wide(width)
    set_table = grid(block, look, width - 2)
    if set_table.width > width - 2 and room > width:
        set_table = grid(block, look, room - 2)
    elif room > width and any(_wraps(row, set_table.widths) for row in set_table.body):
        set_table = grid(block, look, min(room, 100) - 2)
    full = max(width, min(set_table.width + 2, room))
    lines = [line for row in set_table.head for line in row_lines(row, set_table)]
    hair = Piece(glyphs.across * set_table.width, look.line, None, True)
    if lines:
        lines.append([hair])
    airy = any(_wraps(row, set_table.widths) for row in set_table.body)
    for index, row in enumerate(set_table.body):
        if airy and index:
            lines.append([Piece(glyphs.across * set_table.width, look.line, None, True)])
        lines += row_lines(row, set_table)
    if set_table.cut_rows:
        lines.append([Piece(f"{glyphs.more} {set_table.cut_rows} more rows in the source", look.muted, None, True)])
    over = max(0, set_table.width - (full - 2))
    pan = setting.folds.pan(block.key, over)
    out = [Line([Piece(" ", PLAIN, None, True), *(cut(line, pan, pan + full - 2) if over else line)]) for line in lines]
    if over:
        words_ = off_side(*set_table.off(pan, full - 2), glyphs)
        out.append(Line([Piece(words_.rjust(full - 1), look.muted, None, True)]))
    return out


def _wraps(row: list[list[Piece]], widths: list[int]) -> bool:
    return any(
        _natural(cell) > width or any("\n" in piece.text for piece in cell)
        for cell, width in zip(row, widths, strict=True)
    )


def row_lines(row: list[list[Piece]], set_table: Grid) -> list[list[Piece]]:
    """The lines of one row."""
    parts: list[list[list[Piece]]] = [
        wrap(cell, width) if cell else [[]] for cell, width in zip(row, set_table.widths, strict=True)
    ]
    out = []
    for number in range(max(map(len, parts))):
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


def cards(setting: Setting, block: Block, width: int) -> list[Line]:
    """Cards side by side, as many as have room."""
    look = setting.look
    room = max(width, min(setting.wide(width), 100))
    large = block.attrs.get("size") == "large"
    count = max(1, min(2 if large else 3, (room + 1) // 25, len(block.children) or 1))
    if room > width and (width + 1) // 25 >= count:
        room = width
    wide = (room - (count - 1)) // count
    out: list[Line] = []
    columns = columns_of(block)
    for start in range(0, len(block.children), count):
        group = [_card(card, columns, block, wide, look) for card in block.children[start : start + count]]
        height = max(map(len, group))
        framed = [
            _framed(lines, card, wide, height, look)
            for lines, card in zip(group, block.children[start : start + count], strict=True)
        ]
        for row in zip(*framed, strict=True):
            pieces: list[Piece] = []
            for line in row:
                pieces += [*([Piece(" ", PLAIN, None, True)] if pieces else []), *line]
            out.append(Line(pieces))
    return out


def _card(card: Block, columns: list[tuple[int, Column]], block: Block, wide: int, look: Look) -> list[list[Piece]]:
    inner = wide - 4
    lines: list[list[Piece]] = []
    for place, (index, column) in enumerate(columns):
        if index >= len(card.children):
            continue
        pieces = cell_pieces(card.children[index], column, look, look.strong if place == 0 else None)
        if any(piece.text.strip() for piece in pieces):
            lines += wrap(pieces, inner)
    return lines


def _framed(lines: list[list[Piece]], card: Block, wide: int, height: int, look: Look) -> list[list[Piece]]:
    target, cover = card.attrs.get("target"), card.attrs.get("cover")
    spot = Spot("link", str(target)) if target else None
    title = []
    if cover:
        name = str(cover).split("?")[0].rsplit("/", 1)[-1]
        title = [
            Piece(f"{look.glyphs.picture} {name}", look.muted + Style(italic=True), Spot("image", str(cover)), True)
        ]
    foot = [Piece(look.glyphs.into, look.accent, spot, True)] if spot else []
    rows = [Line([piece if piece.spot or not spot else piece._replace(spot=spot) for piece in line]) for line in lines]
    rows += [Line([]) for _ in range(height - len(lines))]
    border = look.accent if spot and not look.mono else None
    return [line.pieces for line in box(rows, wide, look, title=title, foot=foot, border=border)]
