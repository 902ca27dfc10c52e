"""A row of a table by itself: its fields one below the other, and rows as lines of text for a spreadsheet."""

from __future__ import annotations

from itertools import zip_longest

from octavo.documents.blocks import Block, Column, Document, Run, plain_text
from octavo.tui.render.block_slices import cut_of
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.merged_cells import placed
from octavo.tui.render.styled_lines import Line, Piece, cells
from octavo.tui.render.styles import PLAIN
from octavo.tui.render.tables import cell_pieces, select_labels
from octavo.tui.render.wrap import wrap, wrap_items

_LABEL = 24
"""Cells that the names of fields take at most beside the values; where there is no room for both they stand above."""


def record_of(table: Block, row: Block) -> Document:
    """A row as a document of its own, whose one block has a cell for each column of the table, hidden ones too."""
    at = next((index for index, each in enumerate(table.children) if each is row), 0)
    line = placed(table.children[: at + 1])[at] if row in table.children else list(row.children)
    given = list(table.attrs.get("columns") or ())
    fields: list[Block] = []
    columns: list[Column] = []
    for number, (column, cell) in enumerate(zip_longest(given, line), 1):
        cell = cell or Block("cell", key=f"{row.key} field {number}")
        column = column or Column()
        title = column.title if plain_text(column.title).strip() else (Run(f"Column {number}"),)
        if plain_text(column.title).strip() or cell.runs or cell.attrs:
            columns.append(column._replace(title=title))
            fields.append(cell._replace(key=cell.key or f"{row.key} field {number}"))
    block = Block("record", {"columns": tuple(columns)}, children=tuple(fields), lines=row.lines, key=row.key)
    return Document("", (block,), "")


def record(setting: LayoutContext, block: Block, width: int) -> list[Line]:
    """The fields of a row: their names, and beside or below them their values."""
    look = setting.look
    cut, columns = cut_of(block), block.attrs["columns"]
    if cut is not None:
        columns = columns[cut.start : cut.start + len(block.children)]
    names = [" ".join(plain_text(column.title).split()) for column in columns]
    beside = min(_LABEL, max(map(cells, names), default=0))
    if width < 2 * beside or width < 40:
        beside = 0
    out: list[Line] = []
    for name, column, cell in zip(names, columns, block.children, strict=True):
        value = cell_pieces(cell, column, look, None, setting.targets) or [Piece("empty", look.muted, None, True)]
        if beside:
            left = wrap([Piece(name, look.muted)], beside)
            right = wrap_items(value, width - beside - 2)
            nothing: list[Piece] = []
            for first, second in zip_longest(left, right, fillvalue=nothing):
                gap = Piece(" " * (beside + 2 - sum(cells(piece.text) for piece in first)), PLAIN, None, True)
                out.append(Line([*first, gap, *second], cell))
        else:
            out += [Line(part, cell) for part in wrap([Piece(name, look.muted)], width)]
            out += [Line([Piece("  ", PLAIN, None, True), *part], cell) for part in wrap_items(value, width - 2)]
    return out


def as_text(block: Block) -> str:
    """What is copied of a block: of a table and its rows lines of fields between tabs, of others the words."""
    if block.kind == "table":
        columns: tuple[Column, ...] = tuple(block.attrs.get("columns") or ())
        head = (
            [] if block.attrs.get("header_hidden") else ["\t".join(_field(plain_text(each.title)) for each in columns)]
        )
        return "\n".join([*head, *(_row(row, columns) for row in block.children)])
    if block.kind == "row":
        return _row(block, ())
    return block.plain()


def _row(row: Block, columns: tuple[Column, ...]) -> str:
    fields = []
    for at, cell in enumerate(row.children):
        value = cell.attrs.get("value")
        column = columns[at] if at < len(columns) else Column()
        text = plain_text(cell.runs)
        if column.type == "select":
            text = ", ".join(select_labels(cell, column))
        fields.append(_field(text) if value is None else str(value).lower())
    return "\t".join(fields)


def _field(text: str) -> str:
    return " ".join(text.split())
