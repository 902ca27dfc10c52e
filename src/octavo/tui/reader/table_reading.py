"""A page whose tables are read row by row: a row opens as a record, the head of a long table stays on show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.style import Style
from textual.message import Message
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.cursor_pane import Bring, Stop
from octavo.tui.reader.thread_marks import Marked
from octavo.tui.render.block_slices import SliceBounds, cut_of, whole_of
from octavo.tui.render.layout_context import trail
from octavo.tui.render.painting import painted, restyled
from octavo.tui.render.sources import Sources
from octavo.tui.render.styled_lines import HotSpot, Line

_HIGHEST = 4
"""Lines of a head that stay on show at most, and no more than a quarter of the rows."""


class Leaving(NamedTuple):
    """How a row was left: on which one, what of it was opened, whether something is to be said about it."""

    row: Block
    opened: HotSpot | None = None
    outside: bool = False
    comment: bool = False


class Tabling(Marked):
    """A reader of pages with tables in them. Whoever shows it opens a row (`RowWanted`), and says how that was left."""

    class RowWanted(Message):
        """A row of a table is to be read field by field."""

        def __init__(self, view: Tabling, table: Block, row: Block) -> None:
            super().__init__()
            self.view = view
            self.table = table
            self.row = row

    sources: Sources
    _head_over: tuple[int, Sequence[Line], int] = (0, (), 0)
    """The unit and the lines of the head that lies over the first rows, while its own place is above."""

    def path_to(self, stop: Stop) -> list[Block]:
        """The blocks around the one of a stop, outermost first, and that itself."""
        unit = self.galley.units[stop[0]]
        return [whole_of(each) for each in trail(unit.part or unit.block, stop[3].key)] or [stop[3]]

    def table_of(self, stop: Stop) -> Block | None:
        """The table of which the stop is a row."""
        if stop[3].kind != "row":
            return None
        return next((block for block in reversed(self.path_to(stop)) if block.kind == "table"), None)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        return (stop[3], *(block for block in self.path_to(stop) if block.kind == "table"))

    # Opening and copying

    def action_open(self) -> None:
        stop = self.cursor_stop()
        if stop is not None and stop[3].kind == "card" and self.thread_at(stop) is None:
            target = stop[3].attrs.get("target")
            whole = (hot for hot in self.visible_hot_spots() if hot.target == target and self.about(hot) is stop[3])
            if target and (hot := next(whole, None)) is not None:
                self.open_spot(hot, outside=False)
                return
        table = self.table_of(stop) if stop is not None else None
        if stop is None or table is None or self.thread_at(stop) is not None:
            super().action_open()
            return
        self.post_message(self.RowWanted(self, table, stop[3]))

    def row_left(self, leaving: Leaving | None) -> None:
        """Stand on the row that was left, and do what was wanted there."""
        if leaving is None:
            return
        self.go_to_block(leaving.row.key, bring="near")
        if leaving.opened is not None:
            self.open_spot(leaving.opened, outside=leaving.outside)
        elif leaving.comment:
            self.post_message(self.BlockChosen(leaving.row))

    # The head of a long table

    def _head_at(self, top: int) -> tuple[int, Sequence[Line], int]:
        """The unit and the lines of the head of the table of which a row is at the top, if that is above and not high; and
        how wide the table is."""
        none: tuple[int, Sequence[Line], int] = (0, (), 0)
        if not len(self.galley):
            return none
        unit, place = self.galley.at(top)
        lines = self.galley.lines(unit)
        kinds = _kinds(lines[: place + 1])
        if set(kinds) == {"row"}:
            unit = self._first_slice(unit)
            lines = self.galley.lines(unit)
            kinds = _kinds(lines)
        if not kinds or kinds[-1] != "row" or "table" not in kinds:
            return none
        rule = max(at for at, kind in enumerate(kinds) if kind == "table")
        table, first = lines[rule].block, rule
        while first and lines[first - 1].block is table:
            first -= 1
        head = lines[first:rule]
        if set(kinds[rule + 1 :]) != {"row"} or len(head) > min(_HIGHEST, self.rows // 4):
            return none
        return unit, head, lines[rule].width

    def _first_slice(self, unit: int) -> int:
        """The unit with the head of the table that a unit begins within."""
        inner = self._table_in(unit)
        if inner is None:
            return unit
        slices = ((each, self._table_in(each)) for each in self.together(unit))
        return next((each for each, cut in slices if cut and cut.is_first and cut.whole is inner.whole), unit)

    def _table_in(self, unit: int) -> SliceBounds | None:
        """Where in a table lies the slice of it that a unit begins with."""
        block = self.galley.units[unit].part
        while block is not None and block.kind != "table":
            at = self.folds.chosen(block) if block.kind == "tabs" else 0
            block = block.children[at] if block.children else None
        return cut_of(block) if block is not None else None

    def before_painting(self) -> None:
        super().before_painting()
        self._head_over = self._head_at(self.scroll_offset.y)

    def veiled(self, strip: Strip, row: int) -> Strip:
        unit, head, wide = self._head_over
        if row < len(head):
            look, margin = self.look, self.margin_of(unit)
            strip = painted(head[row], margin, strip.cell_length, self.ground)
            style = Style(underline=True) if look.mono else look.panel
            strip = restyled(strip, [(margin, margin + wide + 1, style)])
        return super().veiled(strip, row)

    def visible_hot_spots(self) -> list[HotSpot]:
        return [hot for hot in super().visible_hot_spots() if hot.line >= len(self._head_over[1])]

    def visible_stops(self) -> list[Stop]:
        top, stops = self.scroll_offset.y, super().visible_stops()
        covered = len(self._head_at(top)[1])
        return [stop for stop in stops if self.galley.top(stop[0]) + stop[2] >= top + covered] if covered else stops

    def show_lines(self, unit: int, first: int, last: int, bring: Bring) -> None:
        super().show_lines(unit, first, last, bring)
        top, line = self.scroll_offset.y, self.galley.top(unit) + first
        covered = len(self._head_at(top)[1])
        if top <= line < top + covered:
            self._show_line(max(0, line - covered))


def _kinds(lines: Sequence[Line]) -> list[str]:
    return [line.block.kind if line.block is not None else "" for line in lines]
