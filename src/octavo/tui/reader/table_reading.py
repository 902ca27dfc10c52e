"""Tables of a page: which table and row a selected block belongs to, and the sticky head of a long table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.style import Style
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.moves import Top
from octavo.tui.reader.pane import Stop
from octavo.tui.render.block_slices import SliceBounds, slice_bounds, whole_block
from octavo.tui.render.layout_context import path_to_block
from octavo.tui.render.painting import paint_line, restyle
from octavo.tui.render.styled_lines import ClickableSpan, Line

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader

_HIGHEST = 4
"""Most lines of a sticky head. It also covers at most a quarter of the rows."""


class Leaving(NamedTuple):
    """Result of the dialog for a table row: the last row, and the link or comment that was requested."""

    row: Block
    opened: ClickableSpan | None = None
    outside: bool = False
    comment: bool = False


class TableReading:
    """Tables of a page."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._head_over: tuple[int, Sequence[Line], int] = (0, (), 0)
        """Unit, lines and width of the sticky table head."""

    def path_to(self, stop: Stop) -> list[Block]:
        """Return the blocks around a selectable block, outermost first, and the block itself."""
        unit = self.pane.galley.units[stop[0]]
        return [whole_block(each) for each in path_to_block(unit.slice or unit.block, stop[3].key)] or [stop[3]]

    def table_of(self, stop: Stop) -> Block | None:
        """Return the table that contains a row. None if the block is not a row."""
        if stop[3].kind != "row":
            return None
        return next((block for block in reversed(self.path_to(stop)) if block.kind == "table"), None)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        """Return a selectable block and the tables around it: these may be wider than the reader."""
        return (stop[3], *(block for block in self.path_to(stop) if block.kind == "table"))

    # The head of a long table

    def _head_at(self, top: Top) -> tuple[int, Sequence[Line], int]:
        """Return the unit, the lines and the width of the head of the table whose rows are at the top.

        No lines are returned if the head itself is visible or too high."""
        none: tuple[int, Sequence[Line], int] = (0, (), 0)
        if not len(self.pane.galley):
            return none
        unit, place = top
        lines = self.pane.galley.lines(unit)
        kinds = _kinds(lines[: place + 1])
        if set(kinds) == {"row"}:
            unit = self._first_slice(unit)
            lines = self.pane.galley.lines(unit)
            kinds = _kinds(lines)
        if not kinds or kinds[-1] != "row" or "table" not in kinds:
            return none
        rule = max(at for at, kind in enumerate(kinds) if kind == "table")
        table, first = lines[rule].block, rule
        while first and lines[first - 1].block is table:
            first -= 1
        head = lines[first:rule]
        if set(kinds[rule + 1 :]) != {"row"} or len(head) > min(_HIGHEST, self.pane.rows // 4):
            return none
        return unit, head, lines[rule].width

    def _first_slice(self, unit: int) -> int:
        """Return the index of the unit with the head of the table that a unit begins with."""
        inner = self._table_in(unit)
        if inner is None:
            return unit
        slices = ((each, self._table_in(each)) for each in self.pane.contents.together(unit))
        return next((each for each, cut in slices if cut and cut.is_first and cut.whole is inner.whole), unit)

    def _table_in(self, unit: int) -> SliceBounds | None:
        """Return the bounds of the table slice that a unit begins with. None if it begins with another block."""
        block = self.pane.galley.units[unit].slice
        while block is not None and block.kind != "table":
            at = self.pane.folds.chosen_tab(block) if block.kind == "tabs" else 0
            block = block.children[at] if block.children else None
        return slice_bounds(block) if block is not None else None

    def before_painting(self) -> None:
        """Prepare for the next frame."""
        self._head_over = self._head_at(self.pane.top)

    def veiled(self, strip: Strip, row: int) -> Strip:
        """Return the strip of a row, or of the table head that covers the row."""
        unit, head, wide = self._head_over
        if row < len(head):
            look, margin = self.pane.look, self.pane.contents.margin_of(unit)
            strip = paint_line(head[row], margin, strip.cell_length, self.pane.ground)
            style = Style(underline=True) if look.mono else look.panel
            strip = restyle(strip, [(margin, margin + wide + 1, style)])
        return strip

    def covered(self, top: Top) -> int:
        """Return how many rows the sticky table head covers when `top` is in the first row."""
        return len(self._head_at(top)[1])


def _kinds(lines: Sequence[Line]) -> list[str]:
    return [line.block.kind if line.block is not None else "" for line in lines]
