"""Where the cells of a table stand that are merged over several columns or rows."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.blocks import Block

MOST_COLUMNS = 200
"""Of a table no more are shown."""


def has_merged_cells(rows: Sequence[Block]) -> bool:
    """Whether any cell goes over several columns or rows."""
    return any(
        "colspan" in cell.attrs or "rowspan" in cell.attrs for row in rows for cell in row.children if cell.attrs
    )


def cells_by_column(rows: Sequence[Block]) -> list[list[Block | None]]:
    """The cells of rows by their columns. What is beside or below a merged cell is None. One merged over more columns than
    any row has cells in ends with the last of those."""
    if not has_merged_cells(rows):
        return [list(row.children) for row in rows]
    out: list[list[Block | None]] = []
    taken: list[int] = []
    for row in rows:
        line: list[Block | None] = []
        for cell in row.children:
            while len(line) < len(taken) and taken[len(line)]:
                line.append(None)
            wide = min(int(cell.attrs.get("colspan", 1)), MOST_COLUMNS)
            taken += [0] * (len(line) + wide - len(taken))
            taken[len(line) : len(line) + wide] = [int(cell.attrs.get("rowspan", 1))] * wide
            line += [cell, *[None] * (wide - 1)]
        taken = [max(0, rows_left - 1) for rows_left in taken]
        out.append(line)
    # `colspan="100"` is how people write "all the way across".
    count = max([at + 1 for line in out for at, cell in enumerate(line) if cell is not None], default=0)
    return [line[:count] for line in out]
