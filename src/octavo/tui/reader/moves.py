"""Line positions in a reader, and functions that compute one position from another. Their only side effect is the
layout of lines."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from octavo.tui.render.layout import block_ranges
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.virtual_lines import VirtualLines

Lines = VirtualLines[Any]
Bring = Literal["near", "top", "third"]
"""Where a block is scrolled to: `near`, by the shortest way into view; `top`, below the first row; `third`, a third
down the reader unless the block is in the upper two thirds."""


class Top(NamedTuple):
    """A line of a unit, usually that of the first row. Layout of lines above does not change it."""

    unit: int = 0
    line: int = 0
    """Line within the unit, counted from 0."""


START = Top()


def line_number(lines: Lines, top: Top) -> int:
    """Return the number of lines above a position. Estimated if lines above are not laid out."""
    return lines.top(top.unit) + top.line


def rows_from(lines: Lines, top: Top, count: int) -> list[tuple[int, int, Line]]:
    """Return at most `count` lines from a position on, each with its unit and its line number in the unit."""
    rows: list[tuple[int, int, Line]] = []
    unit, first = top
    while unit < len(lines) and len(rows) < count:
        found = lines.lines(unit)
        last = min(len(found), first + count - len(rows))
        rows += [(unit, at, found[at]) for at in range(first, last)]
        unit, first = unit + 1, 0
    return rows


def moved(lines: Lines, top: Top, step: int) -> Top:
    """Return the position `step` lines further down, or up if negative, limited to the first and last unit."""
    unit, line = top.unit, top.line + step
    while line < 0 and unit > 0:
        unit -= 1
        line += len(lines.lines(unit))
    while unit + 1 < len(lines) and line >= (height := len(lines.lines(unit))):
        unit, line = unit + 1, line - height
    return Top(unit, max(0, line))


def lines_from(lines: Lines, top: Top, most: int) -> int:
    """Return the number of lines from a position to the end, at most `most`."""
    count = -top.line
    for unit in range(top.unit, len(lines)):
        count += len(lines.lines(unit))
        if count >= most:
            return most
    return max(0, count)


def distance(lines: Lines, top: Top, place: Top, most: int) -> int:
    """Return how many lines `place` is below `top`, negative if above. Counting stops beyond `most`."""
    if place < top:
        return -distance(lines, place, top, most)
    count = -top.line
    for unit in range(top.unit, place.unit):
        count += len(lines.lines(unit))
        if count > most:
            return count
    return count + place.line


def end_of(lines: Lines, rows: int) -> Top:
    """Return the last position from which all rows are filled."""
    return moved(lines, Top(len(lines) - 1, len(lines.lines(len(lines) - 1))), -rows) if len(lines) else START


def within(lines: Lines, top: Top, rows: int) -> Top:
    """Return a position, or the last position from which all rows are filled if that is further up."""
    top = moved(lines, top, 0)
    return top if lines_from(lines, top, rows) >= rows else min(top, end_of(lines, rows))


def above(lines: Lines, place: Top, below: int, rows: int) -> Top:
    """Return the top that shows `place` in the row `below`, limited by the first and last line."""
    return within(lines, moved(lines, place, -below), rows)


def top_showing(lines: Lines, top: Top, rows: int, place: Top, height: int, bring: Bring) -> Top:
    """Return the top that shows `height` lines from `place` on, scrolled as `bring` says."""
    low = distance(lines, top, place, 2 * rows)
    if bring == "third":
        if low < 0 or low + height > 2 * rows // 3:
            return above(lines, place, max(1, min(rows // 3, rows - height)), rows)
    elif bring == "top" or height + 1 >= rows or low < 0:
        return above(lines, place, 0 if height == rows else 1, rows)
    elif low + height >= rows:
        return above(lines, moved(lines, place, height - 1), rows - 2, rows)
    return top


def position_of(lines: Lines, top: Top, width: int) -> ReadingPosition | None:
    """Return the reading position of a top, by its block, in lines of `width` cells. None if there are no lines."""
    if not len(lines) or not width:
        return None
    unit, line = moved(lines, top, 0)
    found = lines.lines(unit)
    block = next((each.block for each in found[line:] if each.block is not None), None)
    first = next((first for first, _, each in block_ranges(found) if each is block), 0)
    key = block.key if block is not None else ""
    return ReadingPosition(unit=unit, top=key, offset=line - first, place=line, width=width)


def top_of(lines: Lines, position: ReadingPosition, unit: int, width: int) -> Top:
    """Return the top of a reading position in lines of `width` cells. The block of the position is in `unit`."""
    found = (first for first, _, block in block_ranges(lines.lines(unit)) if block.key == position.top)
    first = next(found, -1) if position.top else -1
    is_same = position.width == width
    if first < 0:
        first = position.place - position.offset if is_same else 0
    return moved(lines, Top(unit, max(0, first + (position.offset if is_same else min(0, position.offset)))), 0)
