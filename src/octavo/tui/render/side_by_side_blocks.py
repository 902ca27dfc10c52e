"""Lines on which blocks stand beside one another, each with a cursor stop of its own: cards, columns."""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from octavo.documents.blocks import Block
from octavo.tui.render.styled_lines import Line, Piece, width_of


class Part(NamedTuple):
    """The cells of a line, from `start` to before `end`, that are about one block."""

    start: int
    end: int
    block: Block


@dataclass(slots=True)
class SplitLine(Line):
    """A line about several blocks. `block` is what holds them all."""

    parts: tuple[Part, ...] = ()

    def behind(self, prefix: list[Piece]) -> Line:
        """The line behind a prefix."""
        return SplitLine(prefix + self.pieces, self.block, None, tuple(moved(self.parts, width_of(prefix))))


def moved(parts: Iterable[Part], by: int) -> list[Part]:
    """Parts as far to the right as that."""
    return [Part(start + by, end + by, block) for start, end, block in parts]


def parts_of(line: Line, width: int) -> list[Part]:
    """What a line of at most `width` cells is about."""
    if isinstance(line, SplitLine) and line.parts:
        return list(line.parts)
    return [Part(0, width, line.block)] if line.block is not None else []


def blocks_of(line: Line) -> list[Block]:
    """What a line is about."""
    return [part.block for part in parts_of(line, 0)]


def block_apart(line: Line, cell: int) -> Block | None:
    """What a line is about at a cell."""
    parts = line.parts if isinstance(line, SplitLine) else ()
    return next((part.block for part in parts if part.start - 1 <= cell < part.end), line.block)


def bar_apart(line: Line, inside: Container[int]) -> int | None:
    """Where the bar of the cursor stands on a line: before the part that is about a block whose identity is `inside`."""
    before: int | None = None
    for start, end, block in line.parts if isinstance(line, SplitLine) else ():
        if id(block) in inside:
            return start - 2 if before is None or before < start - 1 else start - 1
        before = end
    return -2 if id(line.block) in inside else None
