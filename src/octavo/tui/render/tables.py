"""Rendering of tables, of single rows as records, and of copied tables as text.

A table that is too wide scrolls sideways. Each row is a block for the cursor. In long tables and in tables with tall
rows, every other row has a background, or rows have lines between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import nlargest
from itertools import zip_longest
from typing import TYPE_CHECKING

from rich.style import Style

from octavo.documents.blocks import Block, Document, Run, TableColumn, plain_text
from octavo.tui.render.block_slices import (
    MOST_COLUMNS,
    cells_by_column,
    has_merged_cells,
    layout_cost,
    shorten_row,
    slice_bounds,
    unmerge_cells,
    whole_block,
)
from octavo.tui.render.caches import RecentResults
from octavo.tui.render.column_widths import TableGrid, cell_text, fit_columns, row_lines, row_wraps
from octavo.tui.render.inline import non_breaking, render_runs
from octavo.tui.render.layout_context import LayoutContext
from octavo.tui.render.styled_lines import (
    Clickable,
    Line,
    Piece,
    cells,
    flatten_emoji,
    hidden_columns_text,
    pad,
    pan_pieces,
    truncate,
    with_background,
)
from octavo.tui.render.styles import PLAIN, Styles
from octavo.tui.render.wrap import wrap, wrap_items
from octavo.tui.terminal.line_filters import reads_from_right

if TYPE_CHECKING:
    from octavo.tui.render.link_targets import LinkTargets

_FIRST_ROWS, _LONGEST_ROWS, _SAMPLE_TEXT = 60, 8, 20_000
"""Size of the sample that decides the column widths of a long table: number of first rows, number of longest rows of
each column, and approximate number of letters in all."""
_recent_samples: RecentResults[Block, Block] = RecentResults()
MOST_CELLS = 20_000
_MANY_ROWS = 8
"""Minimum number of rows of a table in which every other row has a background."""
_PIXELS_PER_CELL = 8
"""Pixels of a column width that make a cell."""


def visible_columns(block: Block) -> list[tuple[int, TableColumn]]:
    """Return the visible columns with their index in a row."""
    given, rows = list(block.attrs.get("columns") or ()), block.children
    wide = map(len, cells_by_column(rows)) if has_merged_cells(rows) else (len(row.children) for row in rows)
    given += [TableColumn()] * (max(wide, default=0) - len(given))
    return [(index, column) for index, column in enumerate(given[:MOST_COLUMNS]) if not column.hidden]


def cell_pieces(
    cell: Block | None,
    column: TableColumn,
    styles: Styles,
    base: Style | None = None,
    targets: LinkTargets | None = None,
) -> list[Piece]:
    """Return the styled text of a cell, by the type of its column."""
    if cell is None:
        return []
    glyphs, value = styles.glyphs, cell.attrs.get("value")
    if column.type == "checkbox" and value is not None:
        sign = glyphs.done if value else glyphs.todo
        return [Piece(f"[{sign}]" if styles.ascii else sign, styles.success if value else styles.muted)]
    if column.type == "rating" and isinstance(value, int):
        stars = max(0, min(value, column.max))
        return [Piece(glyphs.star * stars, styles.warning), Piece(glyphs.no_star * (column.max - stars), styles.muted)]
    if column.type == "select" and (labels := select_labels(cell, column)):
        chips = [
            [Piece(non_breaking(f" {label} ", styles), styles.chip), Piece(" ", PLAIN, None, True)] for label in labels
        ]
        return [piece for chip in chips for piece in chip][:-1]
    pieces = render_runs(cell.runs, styles, base, targets)
    if column.type == "users":
        return (
            [Piece(f"@{flatten_emoji(plain_text(cell.runs)).strip().removeprefix('@')}", styles.note)] if pieces else []
        )
    if column.type in ("files", "image") and pieces:
        kind, sign = ("file", glyphs.down_load) if column.type == "files" else ("image", glyphs.picture)
        spots = {
            id(piece.clickable): Clickable(kind, piece.clickable.target)
            for piece in pieces
            if piece.clickable is not None
        }
        pieces = [piece._replace(clickable=spots.get(id(piece.clickable))) for piece in pieces]
        return (
            [Piece(f"{sign} ", styles.muted, pieces[0].clickable, True), *pieces]
            if pieces[0].text[:1] != sign
            else pieces
        )
    return pieces


def select_labels(cell: Block, column: TableColumn) -> list[str]:
    """Return the labels of the options that are selected in a cell."""
    ids = (part.strip() for part in plain_text(cell.runs).split(","))
    return [flatten_emoji(" ".join(column.options.get(each, each).split())) for each in ids if each]


def grid_for(
    block: Block, columns: Sequence[tuple[int, TableColumn]], styles: Styles, targets: LinkTargets | None = None
) -> Callable[[int], TableGrid]:
    """Return a function that lays out a table in a number of cells. The grid is wider than this number only if the
    columns cannot be narrower."""
    rows = block.children[: max(1, MOST_CELLS // max(1, len(columns)))]
    cut_at = slice_bounds(block)
    is_first = cut_at is None or cut_at.is_first
    by_column = cells_by_column(rows)
    head: list[list[list[Piece]]] = []
    if not block.attrs.get("header_hidden") and any(plain_text(column.title).strip() for _, column in columns):
        head.append([render_runs(column.title, styles, styles.strong, targets) for _, column in columns])
    body: list[list[list[Piece]]] = []
    shown: list[Block] = []
    for row, line in zip(rows, by_column, strict=True):
        bold = styles.strong if row.attrs.get("head") else None
        row_cells = [
            cell_pieces(line[index] if index < len(line) else None, column, styles, bold, targets)
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
    hints = [column.width // _PIXELS_PER_CELL if column.width else 0 for _, column in columns]

    def grid(available_width: int) -> TableGrid:
        table_grid = fit_columns(head, body, aligns, available_width, hints)
        table_grid.rows, table_grid.omitted_rows = shown, len(block.children) - len(rows)
        return table_grid

    return grid


def _reads_from_right(rows: Sequence[Sequence[list[Piece]]], position: int) -> bool:
    """Return True if most cells of a column read from right to left."""
    texts = [text for row in rows if (text := cell_text(row[position])) and not text.isascii()]
    return 2 * sum(map(reads_from_right, texts)) > len(rows) if texts else False


def render_table(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render a table."""
    styles, glyphs = context.styles, context.styles.glyphs
    cut_at, whole = slice_bounds(block), whole_block(block)
    columns = context.shared_by_slices("columns", whole, visible_columns)
    if not columns:
        return []
    room = context.max_width(width)
    if cut_at is None:
        table_grid, has_tall_rows = _fit_table(context, block, columns, width, room)
    else:
        table_grid = grid_for(block, columns, styles, context.link_targets)(room - 2)
        shape, has_tall_rows = context.shared_by_slices(
            "shape", whole, lambda block: _fit_table(context, sample_rows(block), columns, width, room), width
        )
        table_grid.widths = shape.widths
        table_grid.head = table_grid.head if cut_at.is_first else []
    full = max(width, min(table_grid.width + 2, room))
    over = max(0, table_grid.width - (full - 2))
    pan = context.folds.pan_offset(block.key, over)
    across = min(table_grid.width, full - 2)
    blank = Piece(" ", PLAIN, None, True)
    hair = [blank, Piece(glyphs.across * across, styles.line, None, True)]
    striped = (
        (has_tall_rows or len(whole.children) > _MANY_ROWS) and bool(styles.surface) and not context.has_background
    )

    def visible_lines(row: list[list[Piece]]) -> list[list[Piece]]:
        lines = row_lines(row, table_grid)
        return [
            [blank, *(pan_pieces(line, pan, full - 1, glyphs.more, at_words=True) if over else line)] for line in lines
        ]

    out = [Line(line, block) for row in table_grid.head for line in visible_lines(row)]
    if table_grid.head and (cut_at is None or cut_at.is_first):
        out.append(Line(hair, block))
    first = cut_at.start if cut_at is not None else 0
    for index, (row, row_block) in enumerate(zip(table_grid.body, table_grid.rows, strict=True), first):
        lines = visible_lines(row)
        if striped and index % 2:
            lines = [pad(with_background(styles.surface, line), across + 2, styles.surface) for line in lines]
        elif has_tall_rows and not striped and index:
            out.append(Line(hair, out[-1].block if out else whole_block(row_block)))
        out += [Line(line, whole_block(row_block)) for line in lines]
    if table_grid.omitted_rows:
        said = f"{glyphs.more} {table_grid.omitted_rows} more {'row' if table_grid.omitted_rows == 1 else 'rows'} not shown (see the page source)"
        out.append(Line([blank, Piece(said, styles.muted, None, True)], block))
    if over and (cut_at is None or cut_at.is_last):
        off = hidden_columns_text(*table_grid.hidden_columns(pan, full - 2), glyphs)
        out.append(Line(truncate([Piece(off.rjust(full - 1), styles.muted, None, True)], full), block))
    return out


def _fit_table(
    context: LayoutContext, block: Block, columns: Sequence[tuple[int, TableColumn]], width: int, available_width: int
) -> tuple[TableGrid, bool]:
    """Return the table with its column widths, and True if any row takes several lines. All `available_width` cells are
    used only if the table does not fit `width` or has rows of several lines."""
    grid = grid_for(block, columns, context.styles, context.link_targets)
    table_grid = grid(width - 2)
    if available_width > width and (
        table_grid.width > width - 2 or any(row_wraps(row, table_grid.widths) for row in table_grid.body)
    ):
        table_grid = grid(available_width - 2)
    return table_grid, any(row_wraps(row, table_grid.widths) for row in table_grid.body)


def sample_rows(block: Block) -> Block:
    """Return a long table with only the rows that decide its column widths. The result is cached, because reading 10
    000 rows takes as long as drawing a frame."""
    return _recent_samples.get(block) or _recent_samples.put(block, _sample_rows(unmerge_cells(block)))


def _sample_rows(block: Block) -> Block:
    by_column = zip_longest(*(map(_text_length, row.children[:MOST_COLUMNS]) for row in block.children), fillvalue=0)
    last_first = range(len(block.children) - 1, -1, -1)
    longest = [nlargest(_LONGEST_ROWS, last_first, key=lengths.__getitem__) for lengths in by_column]
    sample: dict[int, Block] = {}
    left: float = _SAMPLE_TEXT
    for index in (
        *(index for ranked in zip(*longest, strict=True) for index in ranked),
        *range(min(_FIRST_ROWS, len(block.children))),
    ):
        if index not in sample and (left > 0 or not sample):
            sample[index] = shorten_row(block.children[index])
            left -= layout_cost(sample[index], _SAMPLE_TEXT)
    return block._replace(children=tuple(sample[index] for index in sorted(sample)))


def _text_length(cell: Block) -> int:
    runs = cell.runs
    return len(runs[0].text) if len(runs) == 1 else sum([len(run.text) for run in runs])


_LABEL = 24
"""Maximum width of a field name next to its value, in cells. Without room for both, the name is above the value."""


def document_of_row(table: Block, row: Block) -> Document:
    """Return a row as a document that contains one record block, with a cell for each column, including hidden
    columns."""
    at = next((index for index, each in enumerate(table.children) if each is row), 0)
    line = cells_by_column(table.children[: at + 1])[at] if row in table.children else list(row.children)
    given = list(table.attrs.get("columns") or ())
    fields: list[Block] = []
    columns: list[TableColumn] = []
    for number, (column, cell) in enumerate(zip_longest(given, line), 1):
        cell = cell or Block("cell", key=f"{row.key} field {number}")
        column = column or TableColumn()
        title = column.title if plain_text(column.title).strip() else (Run(f"Column {number}"),)
        if plain_text(column.title).strip() or cell.runs or cell.attrs:
            columns.append(column._replace(title=title))
            fields.append(cell._replace(key=cell.key or f"{row.key} field {number}"))
    block = Block("record", {"columns": tuple(columns)}, children=tuple(fields), lines=row.lines, key=row.key)
    return Document("", (block,), "")


def render_record(context: LayoutContext, block: Block, width: int) -> list[Line]:
    """Render the fields of a row: each name next to or above its value."""
    styles = context.styles
    cut, columns = slice_bounds(block), block.attrs["columns"]
    if cut is not None:
        columns = columns[cut.start : cut.start + len(block.children)]
    names = [" ".join(plain_text(column.title).split()) for column in columns]
    beside = min(_LABEL, max(map(cells, names), default=0))
    if width < 2 * beside or width < 40:
        beside = 0
    out: list[Line] = []
    for name, column, cell in zip(names, columns, block.children, strict=True):
        value = cell_pieces(cell, column, styles, None, context.link_targets) or [
            Piece("empty", styles.muted, None, True)
        ]
        if beside:
            left = wrap([Piece(name, styles.muted)], beside)
            right = wrap_items(value, width - beside - 2)
            nothing: list[Piece] = []
            for first, second in zip_longest(left, right, fillvalue=nothing):
                gap = Piece(" " * (beside + 2 - sum(cells(piece.text) for piece in first)), PLAIN, None, True)
                out.append(Line([*first, gap, *second], cell))
        else:
            out += [Line(part, cell) for part in wrap([Piece(name, styles.muted)], width)]
            out += [Line([Piece("  ", PLAIN, None, True), *part], cell) for part in wrap_items(value, width - 2)]
    return out


def copied_text(block: Block) -> str:
    """Return the text that is copied for a block: lines with tabs for a table or a row, else the plain text."""
    if block.kind == "table":
        columns: tuple[TableColumn, ...] = tuple(block.attrs.get("columns") or ())
        head = (
            []
            if block.attrs.get("header_hidden")
            else ["\t".join(_one_line(plain_text(each.title)) for each in columns)]
        )
        return "\n".join([*head, *(_row_text(row, columns) for row in block.children)])
    if block.kind == "row":
        return _row_text(block, ())
    return block.plain()


def _row_text(row: Block, columns: tuple[TableColumn, ...]) -> str:
    fields = []
    for at, cell in enumerate(row.children):
        value = cell.attrs.get("value")
        column = columns[at] if at < len(columns) else TableColumn()
        text = plain_text(cell.runs)
        if column.type == "select":
            text = ", ".join(select_labels(cell, column))
        fields.append(_one_line(text) if value is None else str(value).lower())
    return "\t".join(fields)


def _one_line(text: str) -> str:
    return " ".join(text.split())
