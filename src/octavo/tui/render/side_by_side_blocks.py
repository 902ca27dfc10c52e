"""Lines on which blocks stand beside one another, each with a cursor stop of its own: cards, columns."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from octavo.documents.blocks import Block
from octavo.tui.render.styled_lines import Line, Piece, width_of


class BlockCells(NamedTuple):
    """The cells of a line, from `start` to before `end`, that are about one block."""

    start: int
    end: int
    block: Block


@dataclass(slots=True)
class SplitLine(Line):
    """A line about several blocks. `block` is what holds them all."""

    block_cells: tuple[BlockCells, ...] = ()

    def prepend(self, prefix: list[Piece]) -> Line:
        """The line behind a prefix."""
        return SplitLine(prefix + self.pieces, self.block, None, tuple(shift_cells(self.block_cells, width_of(prefix))))


def shift_cells(parts: Iterable[BlockCells], by: int) -> list[BlockCells]:
    """Parts as far to the right as that."""
    return [BlockCells(start + by, end + by, block) for start, end, block in parts]


def block_cells(line: Line, width: int) -> list[BlockCells]:
    """What a line of at most `width` cells is about."""
    if isinstance(line, SplitLine) and line.block_cells:
        return list(line.block_cells)
    return [BlockCells(0, width, line.block)] if line.block is not None else []


def line_blocks(line: Line) -> list[Block]:
    """What a line is about."""
    return [part.block for part in block_cells(line, 0)]


def block_at_cell(line: Line, cell: int) -> Block | None:
    """What a line is about at a cell."""
    parts = line.block_cells if isinstance(line, SplitLine) else ()
    return next((part.block for part in parts if part.start - 1 <= cell < part.end), line.block)


def cursor_bar(line: Line, inside: Container[int]) -> int | None:
    """Where the bar of the cursor stands on a line: before the part that is about a block whose identity is `inside`."""
    before: int | None = None
    for start, end, block in line.block_cells if isinstance(line, SplitLine) else ():
        if id(block) in inside:
            return start - 2 if before is None or before < start - 1 else start - 1
        before = end
    return -2 if id(line.block) in inside else None
