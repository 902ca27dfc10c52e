"""Reading positions on a page, line positions in a pane, and functions that compute one position from another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from octavo.documents.blocks import Block
from octavo.tui.render.layout import block_ranges
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.virtual_lines import VirtualLines

if TYPE_CHECKING:
    from octavo.data.state_db import StateDb
    from octavo.tui.render.layout_context import Folds


MOST_PAGES = 60
"""Maximum number of pages whose positions are stored."""
_FACT = "places on pages"


class ReadingPosition(NamedTuple):
    """Position on a page.

    `block` and `below` are stored for the next start of Octavo. All fields but `below` restore a page to which the user
    goes back. The fields from `unit_index` to `width` keep the top in place when lines are laid out again.
    """

    block: str = ""
    """Key of the block under the cursor. Empty without a cursor."""
    below: int = 0
    """Rows between the top of the pane and `block`."""
    unit_index: int = 0
    """Index of the unit at the top of the pane. At the start of a page, this and the next four fields have their
    defaults."""
    top: str = ""
    """Key of the block at the top."""
    offset: int = 0
    """Lines between the first line of the block `top` and the top of the pane."""
    unit_offset: int = 0
    """Lines between the first line of the unit at the top and the top of the pane."""
    width: int = 0
    """Width of the lines in cells when `offset` and `unit_offset` were counted."""
    is_source: bool = False
    folds: Folds | None = None
    """Expanded blocks, selected tabs and scrolled blocks to restore. None to leave them unchanged."""

    @property
    def stored_fields(self) -> list[str | int]:
        """Fields that are stored as JSON. `position_from_json` reads them."""
        return [self.block, self.below]

    def has_moved(self, earlier: ReadingPosition) -> bool:
        """Return True if the position differs from an earlier one. A change of width alone is not a move."""
        if self.block != earlier.block or self.is_source != earlier.is_source:
            return True
        if self.top != earlier.top or not self.top:
            before = earlier.unit_index, earlier.top, earlier.unit_offset
            return (self.unit_index, self.top, self.unit_offset) != before
        return self.width == earlier.width and self.offset != earlier.offset


def position_from_json(value: object) -> ReadingPosition | None:
    """Return a stored position. None if the value is not a position."""
    match value:
        case [str(block), int(below)]:
            return ReadingPosition(block, below)
    return None


class ReadingPositions:
    """Positions on the pages read last, by page key. They are stored in `state.db`."""

    def __init__(self, state: StateDb) -> None:
        self._state = state
        self._positions: dict[str, ReadingPosition] | None = None

    def get(self, page: str) -> ReadingPosition | None:
        """Return the position on a page. None if none is stored."""
        return self._stored_positions().get(page)

    def remember(self, page: str, position: ReadingPosition | None) -> None:
        """Store the position on a page. If `position` is None, forget the stored one. The oldest positions are
        dropped."""
        positions = self._stored_positions()
        if positions.get(page) == position:
            return
        positions.pop(page, None)
        if position is not None:
            positions[page] = position
        for oldest in [*positions][:-MOST_PAGES]:
            del positions[oldest]
        self._state.set_fact(_FACT, {key: each.stored_fields for key, each in positions.items()})

    def _stored_positions(self) -> dict[str, ReadingPosition]:
        if self._positions is None:
            fact = self._state.get_fact(_FACT)
            items = fact.items() if isinstance(fact, dict) else ()
            self._positions = {
                str(key): position for key, each in items if (position := position_from_json(each)) is not None
            }
        return self._positions


Lines = VirtualLines[Any]
ScrollTo = Literal["near", "top", "third"]
"""Row to which a block is scrolled. With `near`, scroll as little as needed to show the whole block. `top` is the
second row, so that one row above stays visible. `third` is a third down the pane, but a block in the upper two thirds
stays where it is."""


class LinePosition(NamedTuple):
    """Position of a line: its unit and its number in the unit. It stays the same when units above are laid out."""

    unit_index: int = 0
    line: int = 0
    """Line within the unit, counted from 0."""


class BlockSpan(NamedTuple):
    """A selectable block and its lines in a unit."""

    unit_index: int
    first: int
    """First line in the unit."""
    last: int
    block: Block

    @property
    def start(self) -> LinePosition:
        """Position of the first line."""
        return LinePosition(self.unit_index, self.first)


START = LinePosition()


class PaneRow(NamedTuple):
    """A line that a row of the pane shows."""

    unit_index: int
    number: int
    """Number of the line in its unit, counted from 0."""
    line: Line


def rows_from(lines: Lines, top: LinePosition, count: int) -> list[PaneRow]:
    """Return the rows of at most `count` lines from a position on."""
    rows: list[PaneRow] = []
    unit, first = top
    while unit < len(lines) and len(rows) < count:
        unit_lines = lines.lines(unit)
        last = min(len(unit_lines), first + count - len(rows))
        rows += [PaneRow(unit, number, unit_lines[number]) for number in range(first, last)]
        unit, first = unit + 1, 0
    return rows


def position_after(lines: Lines, top: LinePosition, step: int) -> LinePosition:
    """Return the position `step` lines below `top`, or above if negative. It is never above the first unit or below the
    last."""
    unit, line = top.unit_index, top.line + step
    while line < 0 and unit > 0:
        unit -= 1
        line += len(lines.lines(unit))
    while unit + 1 < len(lines) and line >= (height := len(lines.lines(unit))):
        unit, line = unit + 1, line - height
    return LinePosition(unit, max(0, line))


def count_lines(lines: Lines, top: LinePosition, limit: int) -> int:
    """Return the number of lines from a position to the end, but at most `limit`."""
    count = -top.line
    for unit in range(top.unit_index, len(lines)):
        count += len(lines.lines(unit))
        if count >= limit:
            return limit
    return max(0, count)


def lines_between(lines: Lines, top: LinePosition, position: LinePosition, limit: int) -> int:
    """Return the number of lines from `top` down to `position`, negative if `position` is above `top`. Counting stops at
    about `limit`."""
    if position < top:
        return -lines_between(lines, position, top, limit)
    count = -top.line
    for unit in range(top.unit_index, position.unit_index):
        count += len(lines.lines(unit))
        if count > limit:
            return count
    return count + position.line


def last_top(lines: Lines, rows: int) -> LinePosition:
    """Return the top of a pane of `rows` rows that is scrolled to the end of the lines."""
    return (
        position_after(lines, LinePosition(len(lines) - 1, len(lines.lines(len(lines) - 1))), -rows)
        if len(lines)
        else START
    )


def limited_top(lines: Lines, top: LinePosition, rows: int) -> LinePosition:
    """Return `top`, but at most the position that shows the last line in the last row."""
    top = position_after(lines, top, 0)
    return top if count_lines(lines, top, rows) >= rows else min(top, last_top(lines, rows))


def top_showing_at(lines: Lines, position: LinePosition, row: int, rows: int) -> LinePosition:
    """Return the top that shows `position` in row `row`, or near it at the first and last lines."""
    return limited_top(lines, position_after(lines, position, -row), rows)


def scrolled_top(
    lines: Lines, top: LinePosition, rows: int, position: LinePosition, height: int, scroll_to: ScrollTo
) -> LinePosition:
    """Return the top of a pane that is scrolled to `height` lines from `position` on. Return `top` if the lines need not
    move for `scroll_to`."""
    first_row = lines_between(lines, top, position, 2 * rows)
    if scroll_to == "third":
        if first_row < 0 or first_row + height > 2 * rows // 3:
            return top_showing_at(lines, position, max(1, min(rows // 3, rows - height)), rows)
    elif scroll_to == "top" or height + 1 >= rows or first_row < 0:
        return top_showing_at(lines, position, 0 if height == rows else 1, rows)
    elif first_row + height >= rows:
        return top_showing_at(lines, position_after(lines, position, height - 1), rows - 2, rows)
    return top


def reading_position_of(lines: Lines, top: LinePosition, width: int) -> ReadingPosition | None:
    """Return the reading position for `top`, without the block under the cursor. `width` is the width of the lines in
    cells. None if there are no lines."""
    if not len(lines) or not width:
        return None
    unit, line = position_after(lines, top, 0)
    unit_lines = lines.lines(unit)
    block = next((each.block for each in unit_lines[line:] if each.block is not None), None)
    first = next((first for first, _, each in block_ranges(unit_lines) if each is block), 0)
    key = block.key if block is not None else ""
    return ReadingPosition(unit_index=unit, top=key, offset=line - first, unit_offset=line, width=width)


def top_of_position(lines: Lines, position: ReadingPosition, unit_index: int, width: int) -> LinePosition:
    """Return the top for a reading position. `unit_index` is the unit with the block `position.top`, and `width` the
    width of the lines in cells now."""
    first_lines = (first for first, _, block in block_ranges(lines.lines(unit_index)) if block.key == position.top)
    first = next(first_lines, -1) if position.top else -1
    is_same = position.width == width
    if first < 0:
        first = position.unit_offset - position.offset if is_same else 0
    line = first + (position.offset if is_same else min(0, position.offset))
    return position_after(lines, LinePosition(unit_index, max(0, line)), 0)
