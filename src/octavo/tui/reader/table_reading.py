"""Reading the tables of a page row by row: a row opens as a record, the head of a long table stays on show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.style import Style
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.moves import Top
from octavo.tui.reader.pane import Pane, Stop
from octavo.tui.render.block_slices import SliceBounds, slice_bounds, whole_block
from octavo.tui.render.layout_context import path_to_block
from octavo.tui.render.painting import paint_line, restyle
from octavo.tui.render.styled_lines import ClickableSpan, Line

_HIGHEST = 4
"""Lines of a head that stay on show at most, and no more than a quarter of the rows."""


class Leaving(NamedTuple):
    """How a row was left: on which one, what of it was opened, whether something is to be said about it."""

    row: Block
    opened: ClickableSpan | None = None
    outside: bool = False
    comment: bool = False


class TableReading:
    """The tables of a page."""

    def __init__(self, pane: Pane) -> None:
        self.pane = pane
        self._head_over: tuple[int, Sequence[Line], int] = (0, (), 0)
        """The unit and the lines of the head that lies over the first rows, while its own place is above."""

    def path_to(self, stop: Stop) -> list[Block]:
        """The blocks around the one of a stop, outermost first, and that itself."""
        unit = self.pane.galley.units[stop[0]]
        return [whole_block(each) for each in path_to_block(unit.slice or unit.block, stop[3].key)] or [stop[3]]

    def table_of(self, stop: Stop) -> Block | None:
        """The table of which the stop is a row."""
        if stop[3].kind != "row":
            return None
        return next((block for block in reversed(self.path_to(stop)) if block.kind == "table"), None)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        """A stop and the tables around it, which may be too wide."""
        return (stop[3], *(block for block in self.path_to(stop) if block.kind == "table"))

    # The head of a long table

    def _head_at(self, top: Top) -> tuple[int, Sequence[Line], int]:
        """The unit and the lines of the head of the table of which a row is at the top, if that is above and not high; and
        how wide the table is."""
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
        """The unit with the head of the table that a unit begins within."""
        inner = self._table_in(unit)
        if inner is None:
            return unit
        slices = ((each, self._table_in(each)) for each in self.pane.contents.together(unit))
        return next((each for each, cut in slices if cut and cut.is_first and cut.whole is inner.whole), unit)

    def _table_in(self, unit: int) -> SliceBounds | None:
        """Where in a table lies the slice of it that a unit begins with."""
        block = self.pane.galley.units[unit].slice
        while block is not None and block.kind != "table":
            at = self.pane.folds.chosen_tab(block) if block.kind == "tabs" else 0
            block = block.children[at] if block.children else None
        return slice_bounds(block) if block is not None else None

    def before_painting(self) -> None:
        """A frame is about to be painted."""
        self._head_over = self._head_at(self.pane.top)

    def veiled(self, strip: Strip, row: int) -> Strip:
        """The strip of a row, or of the head that lies over it."""
        unit, head, wide = self._head_over
        if row < len(head):
            look, margin = self.pane.look, self.pane.contents.margin_of(unit)
            strip = paint_line(head[row], margin, strip.cell_length, self.pane.ground)
            style = Style(underline=True) if look.mono else look.panel
            strip = restyle(strip, [(margin, margin + wide + 1, style)])
        return strip

    def covered(self, top: Top) -> int:
        """Return how many of the first rows the head of a table covers when `top` is in the first."""
        return len(self._head_at(top)[1])


def _kinds(lines: Sequence[Line]) -> list[str]:
    return [line.block.kind if line.block is not None else "" for line in lines]
