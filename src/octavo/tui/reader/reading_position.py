"""Reading positions in pages (`ReadingPosition`), which are restored later, and positions of lines in a pane
(`LinePosition`). The functions compute which line is first when a pane is scrolled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from octavo.documents.blocks import Block
from octavo.tui.render.layout import block_ranges
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.virtual_lines import VirtualLines

if TYPE_CHECKING:
    from octavo.data.state_db import StateDb
    from octavo.tui.render.layout_context import ViewState


MAX_STORED_PAGES = 60
"""Maximum number of pages whose reading positions are stored."""
_POSITIONS_KEY = "places on pages"


class ReadingPosition(NamedTuple):
    """Position of the user in a page. Only `block` and `row` are stored in `state.db`. The fields from `chunk_index` to
    `width` keep the first visible line in place when all lines are replaced."""

    block: str = ""
    """Key of the selected block. Empty if none is selected."""
    row: int = 0
    """Row of the pane in which `block` begins. Negative if it begins above the pane."""
    chunk_index: int = 0
    """Index of the chunk that the first visible line belongs to."""
    top_block: str = ""
    """Key of the block of the first visible line, else of the first block below it in the chunk. Empty if none."""
    offset: int = 0
    """Number of lines of the block `top_block` above the pane. Negative if the block begins below the first row."""
    chunk_offset: int = 0
    """Number of lines of the first visible chunk that are above the pane."""
    width: int = 0
    """Width in cells of the pane. `offset` and `chunk_offset` are only valid for lines of this width."""
    is_source: bool = False
    view_state: ViewState | None = None
    """Expanded blocks, selected tabs and scrolled wide blocks. None to leave all blocks as they are."""

    @property
    def stored_fields(self) -> list[str | int]:
        """Values that are stored in `state.db`. `position_from_json` reads them."""
        return [self.block, self.row]

    def has_moved(self, earlier: ReadingPosition) -> bool:
        """Return True if, since `earlier`, the user has scrolled, selected another block, or toggled source view."""
        if self.block != earlier.block or self.is_source != earlier.is_source:
            return True
        if self.top_block != earlier.top_block or not self.top_block:
            earlier_top = earlier.chunk_index, earlier.top_block, earlier.chunk_offset
            return (self.chunk_index, self.top_block, self.chunk_offset) != earlier_top
        return self.width == earlier.width and self.offset != earlier.offset


def position_from_json(value: object) -> ReadingPosition | None:
    """Return the reading position from a value in `state.db`. None if the value is something else."""
    match value:
        case [str(block), int(row)]:
            return ReadingPosition(block, row)
    return None


class ReadingPositions:
    """Reading positions in the pages that were read last, by page key. They are stored in `state.db`."""

    def __init__(self, state: StateDb) -> None:
        self._state = state

    def get(self, page_key: str) -> ReadingPosition | None:
        """Return the stored position in a page. None if there is none."""
        return position_from_json(_positions_in(self._state.get_value(_POSITIONS_KEY)).get(page_key))

    def remember(self, page_key: str, position: ReadingPosition | None) -> None:
        """Store the position in a page. If `position` is None, delete the stored position. If there are too many pages,
        the position that was stored the longest ago is deleted."""

        def change(stored: object) -> dict[str, Any]:
            other_positions = [each for each in _positions_in(stored).items() if each[0] != page_key]
            new_positions = [(page_key, position.stored_fields)] if position is not None else []
            return dict([*other_positions, *new_positions][-MAX_STORED_PAGES:])

        self._state.change_value(_POSITIONS_KEY, change)


def _positions_in(stored: object) -> dict[str, Any]:
    return stored if isinstance(stored, dict) else {}


Lines = VirtualLines[Any]
ScrollTo = Literal["near", "top", "third"]
"""Rule for scrolling to a block. `near` scrolls as little as possible. `top` leaves one row above the block. `third`
scrolls the block to a third of the pane, unless it is already in the upper two thirds."""


class LinePosition(NamedTuple):
    """Position of a line: the chunk, and the line in it. It stays valid if chunks above become taller."""

    chunk_index: int = 0
    line: int = 0
    """Index of the line in its chunk."""


class BlockSpan(NamedTuple):
    """A selectable block, and the indexes of its first and last line in a chunk."""

    chunk_index: int
    first: int
    last: int
    block: Block

    @property
    def start(self) -> LinePosition:
        """Position of the first line of the block."""
        return LinePosition(self.chunk_index, self.first)


START = LinePosition()


class PaneRow(NamedTuple):
    """A row of the pane, and the line that it shows."""

    chunk_index: int
    number: int
    """Index of the line in its chunk."""
    line: Line


def rows_from(lines: Lines, top: LinePosition, count: int) -> list[PaneRow]:
    """Return at most `count` rows of a pane, beginning with the line `top`."""
    rows: list[PaneRow] = []
    chunk_index, first = top
    while chunk_index < len(lines) and len(rows) < count:
        chunk_lines = lines.lines(chunk_index)
        last = min(len(chunk_lines), first + count - len(rows))
        rows += [PaneRow(chunk_index, number, chunk_lines[number]) for number in range(first, last)]
        chunk_index, first = chunk_index + 1, 0
    return rows


def position_after(lines: Lines, top: LinePosition, step: int) -> LinePosition:
    """Return the position of the line that is `step` lines below `top`, or above if `step` is negative. The result is
    never before the first line, but may be after the last line."""
    chunk_index, line = top.chunk_index, top.line + step
    while line < 0 and chunk_index > 0:
        chunk_index -= 1
        line += len(lines.lines(chunk_index))
    while chunk_index + 1 < len(lines) and line >= (height := len(lines.lines(chunk_index))):
        chunk_index, line = chunk_index + 1, line - height
    return LinePosition(chunk_index, max(0, line))


def count_lines(lines: Lines, top: LinePosition, limit: int) -> int:
    """Return how many lines there are from `top` to the end of the page. At most `limit`."""
    count = -top.line
    for chunk_index in range(top.chunk_index, len(lines)):
        count += len(lines.lines(chunk_index))
        if count >= limit:
            return limit
    return max(0, count)


def lines_between(lines: Lines, top: LinePosition, position: LinePosition, limit: int) -> int:
    """Return how many lines `position` is below `top`. Negative if it is above. Counting stops at about `limit`."""
    if position < top:
        return -lines_between(lines, position, top, limit)
    count = -top.line
    for chunk_index in range(top.chunk_index, position.chunk_index):
        count += len(lines.lines(chunk_index))
        if count > limit:
            return count
    return count + position.line


def top_at_end(lines: Lines, rows: int) -> LinePosition:
    """Return which line is the first in a pane of `rows` rows that is scrolled to the end."""
    if not len(lines):
        return START
    return position_after(lines, LinePosition(len(lines) - 1, len(lines.lines(len(lines) - 1))), -rows)


def clamped_top(lines: Lines, top: LinePosition, rows: int) -> LinePosition:
    """Return `top`, or an earlier line if fewer than `rows` lines follow, so that the pane is filled."""
    top = position_after(lines, top, 0)
    return top if count_lines(lines, top, rows) >= rows else min(top, top_at_end(lines, rows))


def top_showing_at(lines: Lines, position: LinePosition, row: int, rows: int) -> LinePosition:
    """Return the first line of a pane with `rows` rows that shows the line at `position` in the row `row` (from 0). At
    the start and the end of the page, the line at `position` is as near to `row` as possible."""
    return clamped_top(lines, position_after(lines, position, -row), rows)


def scrolled_top(
    lines: Lines, top: LinePosition, rows: int, position: LinePosition, target_height: int, scroll_to: ScrollTo
) -> LinePosition:
    """Return the first line of a pane with `rows` rows after scrolling from `top` to the target, by the rule
    `scroll_to`. The target is the `target_height` lines at `position`."""
    first_row = lines_between(lines, top, position, 2 * rows)
    if scroll_to == "third":
        if first_row < 0 or first_row + target_height > 2 * rows // 3:
            return top_showing_at(lines, position, max(1, min(rows // 3, rows - target_height)), rows)
    elif scroll_to == "top" or target_height + 1 >= rows or first_row < 0:
        return top_showing_at(lines, position, 0 if target_height == rows else 1, rows)
    elif first_row + target_height >= rows:
        return top_showing_at(lines, position_after(lines, position, target_height - 1), rows - 2, rows)
    return top


def reading_position_of(lines: Lines, top: LinePosition, width: int) -> ReadingPosition | None:
    """Return the reading position of a pane whose first line is `top`. The selected block is not set. None if there are
    no lines, or if `width` is 0."""
    if not len(lines) or not width:
        return None
    chunk_index, line = position_after(lines, top, 0)
    chunk_lines = lines.lines(chunk_index)
    block = next((each.block for each in chunk_lines[line:] if each.block is not None), None)
    first = next((first for first, _, each in block_ranges(chunk_lines) if each is block), 0)
    key = block.key if block is not None else ""
    return ReadingPosition(chunk_index=chunk_index, top_block=key, offset=line - first, chunk_offset=line, width=width)


def top_of_position(lines: Lines, position: ReadingPosition, chunk_index: int, width: int) -> LinePosition:
    """Return which line must be at the top of the pane to restore a reading position. `chunk_index` is the chunk that
    contains `position.top_block`. `width` is the current width in cells."""
    first_lines = (
        first for first, _, block in block_ranges(lines.lines(chunk_index)) if block.key == position.top_block
    )
    first = next(first_lines, -1) if position.top_block else -1
    is_same = position.width == width
    if first < 0:
        first = position.chunk_offset - position.offset if is_same else 0
    line = first + (position.offset if is_same else min(0, position.offset))
    return position_after(lines, LinePosition(chunk_index, max(0, line)), 0)
