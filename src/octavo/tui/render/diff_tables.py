"""Rows of a table that changed, with their head."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from rich.style import Style

from octavo.documents import diff_model as model
from octavo.documents.blocks import Block, Column, Run
from octavo.documents.diff_attributes import changed_run_attributes, shorten
from octavo.tui.render.diff_sides import Part, SideWidths
from octavo.tui.render.diff_words import gutter, in_place, marked, notes, settings, unseen
from octavo.tui.render.inline import inline_parts
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import Line, Piece, fit, off_side, panned
from octavo.tui.render.styles import Styles
from octavo.tui.render.tables import Grid, cell_pieces, fitted, row_lines, telling

_MOST_COLUMNS = 40
_NO_COLUMN = Column()

Cells = list[list[Piece]]


@dataclass(frozen=True)
class _Row:
    """A row of the old table, of the new one, or of both, behind their signs. With the same sign its words are the same
    on both sides."""

    old: Cells | None
    new: Cells | None
    old_block: Block
    new_block: Block
    signs: tuple[str, str] = ("-", "+")
    numbers: tuple[int | None, int | None] = (None, None)


def changed_table(
    setting: LayoutContext, old: Block, new: Block, table: model.TableChange, room: SideWidths, part: int = 0
) -> list[Part]:
    """The rows of a table that changed, below its head, or of its slice `part`; rows between them are counted."""
    look, inner = setting.look, room.words
    pairs = table.columns[:_MOST_COLUMNS]
    was = [_plain(_title_of(pair.old), look, look.strong) for pair in pairs]
    now = [_plain(_title_of(pair.new), look, look.strong) for pair in pairs]
    goes_on = part > 1
    is_same = list(map(_text, was)) == list(map(_text, now))
    head = _Row(was, now, old, new, (" ", " ") if is_same else ("-", "+"), (old.lines[0] + 1, new.lines[0] + 1))
    rows, elsewhere = _rows(table, pairs, look)
    body = [cells for row in rows if isinstance(row, _Row) for cells in (row.old, row.new) if cells is not None]
    aligns = [(pair.new or pair.old or _NO_COLUMN).align for pair in pairs]

    def shaped(new: Block) -> list[int]:
        """The widths of the columns of all slices."""
        olds, news = [pair.old_index for pair in pairs], [pair.new_index for pair in pairs]
        rows = [(row, olds) for row in telling(old).children] + [(row, news) for row in telling(new).children]
        every = [_row(row, places, pairs, look) for row, places in rows] if part else body
        return fitted([was, now], every, aligns, inner).widths

    widths = setting.known("changed", new, shaped, inner) if part else shaped(new)
    grid = Grid([was, now], body, aligns, widths)
    over = max(0, grid.width - inner)
    pan = setting.folds.pan(new.key, over)

    def side(cells: Cells | None, block: Block, sign: str, number: int | None) -> list[Line]:
        lines = row_lines(cells, grid) if cells is not None else []
        seen = [Line(panned(line, pan, inner, look.glyphs.more, at_words=True), block) for line in lines]
        return gutter(seen, sign, number, look, room.side)

    def shown(row: _Row) -> Part:
        before = side(row.old, row.old_block, row.signs[0], row.numbers[0])
        after = side(row.new, row.new_block, row.signs[1], row.numbers[1])
        return Part(before, after, is_same=row.signs[0] == row.signs[1])

    def both(piece: Piece) -> Part:
        pieces = fit([piece], inner, look.glyphs.more)
        lines = [gutter([Line(pieces, block)], " ", None, look, room.side) for block in (old, new)]
        return Part(lines[0], lines[1], is_same=True)

    hair = both(Piece(look.glyphs.across * min(inner, grid.width), look.line, None, True))
    parts = [shown(head), hair] if (any(was) or any(now)) and not goes_on else []
    # Rows of several lines are hard to tell apart.
    is_tall = any(len(row_lines(cells, grid)) > 1 for cells in body)
    for index, row in enumerate(rows):
        if isinstance(row, _Row):
            is_below_row = isinstance(rows[index - 1], _Row) if index else goes_on
            parts += [hair] if is_tall and is_below_row else []
            parts.append(shown(row))
        else:
            words = f"{look.glyphs.more} {row} unchanged {'row' if row == 1 else 'rows'}"
            parts.append(both(Piece(words, look.muted, None, True)))
    if over:
        parts.append(both(Piece(off_side(*grid.off(pan, inner), look.glyphs).rjust(inner), look.muted, None, True)))
    parts += settings(dict.fromkeys(elsewhere), "", look, room, new)
    parts += notes(
        dict.fromkeys(entry.note for entry in table.rows if isinstance(entry, model.Restructured)), look, room, new
    )
    moved = sum(isinstance(entry, model.Moved) and entry.arrives for entry in table.rows)
    rows_moved, places = ("1 row", "position") if moved == 1 else (f"{moved} rows", "positions")
    said = f"{rows_moved} moved. {look.glyphs.into} marks the old {places}."
    return parts + notes([said] * bool(moved), look, room, new)


def _rows(
    table: model.TableChange, pairs: Sequence[model.ColumnPair], look: Styles
) -> tuple[list[_Row | int], list[model.AttributeChange]]:
    """The rows that changed, how many unchanged ones are between them, and which links in them lead elsewhere."""
    rows: list[_Row | int] = []
    elsewhere: list[model.AttributeChange] = []
    olds, news = [pair.old_index for pair in pairs], [pair.new_index for pair in pairs]
    for given in table.rows:
        # Rows of which one was made, or that were made of one, are compared as one.
        entry = given.entries[0] if isinstance(given, model.Restructured) else given
        match entry:
            case model.Unchanged(new=same):
                rows.append(len(same))
            case model.Added(block=row):
                rows.append(_Row(None, _row(row, news, pairs, look), row, row))
            case model.Removed(block=row):
                rows.append(_Row(_row(row, olds, pairs, look), None, row, row))
            case model.Moved(old=row, arrives=False):
                faint = [[Piece("".join(p.text for p in cell), look.muted)] for cell in _row(row, olds, pairs, look)]
                rows.append(_Row(faint, None, row, row, (">", "")))
            case (
                model.Changed(old=was, new=now, parts=model.RowChange(cells=cells))
                | model.Moved(old=was, new=now, parts=model.RowChange(cells=cells))
            ):
                cells = cells[:_MOST_COLUMNS]
                both = [
                    [_cell(cell, pair, op, look) for cell, pair in zip(cells, pairs, strict=False)]
                    for op in ("delete", "insert")
                ]
                is_same = list(map(_text, both[0])) == list(map(_text, both[1]))
                has_words = any(cell.words is not None and "words" in cell.words.sorts for cell in cells)
                is_same = is_same or not (has_words or any(cell.settings for cell in cells))
                rows.append(_Row(both[0], both[1], was, now, ("~", "~") if is_same else ("-", "+")))
                elsewhere += _said(entry, cells, is_same=is_same)
            case model.Moved(new=row):
                rows.append(_Row(None, _row(row, news, pairs, look), row, row, ("", ">")))
    return rows, elsewhere


def _said(
    entry: model.Changed | model.Moved, cells: Sequence[model.CellChange], *, is_same: bool
) -> Iterator[model.AttributeChange]:
    """What differs in a row beside what is on show; `is_same`: both of its sides look the same."""
    title = shorten(next((child.plain() for child in entry.new.children if child.plain()), ""))
    name = f"{entry.new.kind} “{title}” " if title else f"{entry.new.kind} "
    for each in (*entry.settings, *(setting for cell in cells for setting in cell.settings)):
        if is_same or each.name != "value":  # a box or stars are on show
            yield replace(each, name=name + each.name)
    said = {(each.old, each.new) for each in entry.settings}  # the target of a card is in a cell as well
    for cell in cells:
        if cell.words is not None:
            yield from (each for each in changed_run_attributes(cell.words.words) if (each.old, each.new) not in said)
            if is_same and "words" in cell.words.sorts:
                yield unseen(cell.words.words)


def _title_of(column: Column | None) -> tuple[Run, ...]:
    return column.title if column is not None else ()


def _plain(runs: Iterable[Run], look: Styles, base: Style | None = None) -> list[Piece]:
    return [piece for part in inline_parts(runs, look, base) for piece in part]


def _row(row: Block, places: Sequence[int | None], pairs: Sequence[model.ColumnPair], look: Styles) -> Cells:
    out = []
    for place, pair in zip(places, pairs, strict=True):
        cell = row.children[place] if place is not None and place < len(row.children) else None
        out.append(cell_pieces(cell, pair.new or pair.old or _NO_COLUMN, look))
    return out


def _cell(cell: model.CellChange, pair: model.ColumnPair, op: str, look: Styles) -> list[Piece]:
    side, column = (cell.old, pair.old) if op == "delete" else (cell.new, pair.new)
    if side is None:
        return []
    style = look.remove_word if op == "delete" else look.add_word
    if cell.words is None:
        pieces = cell_pieces(side, column or _NO_COLUMN, look)
        return [piece._replace(style=piece.style + style) for piece in pieces] if cell.settings else pieces
    words = [word for word in cell.words.words if word.op not in ("insert", "delete") or word.op == op]
    runs = [word.old or word.run if op == "delete" else word.run for word in words]
    return marked(words, runs, look, None, {op: style, **in_place(look)})


def _text(pieces: Iterable[Piece]) -> str:
    return "".join(piece.text for piece in pieces).rstrip()
