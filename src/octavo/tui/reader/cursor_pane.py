"""A pane with a cursor: a bar at the block that is spoken of. It is always on show."""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from typing import Literal

from textual.geometry import Region
from textual.strip import Strip

from octavo.documents.blocks import Block
from octavo.tui.reader.text_selection import SelectingPane
from octavo.tui.render.layout import stops
from octavo.tui.render.painting import over
from octavo.tui.render.styled_lines import Line

Stop = tuple[int, int, int, Block]
"""Unit, first and last line in it, block."""
Bring = Literal["near", "top", "third"]
"""Where lines are brought: on show by as little as it takes; below the first row; a third down the pane, unless they
are all in its upper two thirds already."""

_KEPT_STOPS, _KEPT_LINES, _KEPT_BARRED = 100, 1500, 300
"""How many units keep their stops, which keep their lines with them: so many lines, as to let go of many at once takes
long; and how many lines keep their strips with the bar."""


class CursorPane(SelectingPane):
    """A pane with a cursor on a block."""

    def __init__(
        self,
        *,
        ascii: bool = False,
        mono: bool = False,
        name: str | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(ascii=ascii, mono=mono, name=name, id=id, classes=classes)
        self.cursor: tuple[int, Block] | None = None
        """The unit and the block it was put on; None until it is moved."""
        self._cursor_block: Block | None = None
        self._in_cursor: frozenset[int] = frozenset()
        """The block under the cursor and those in it, by their identity: the bar goes along all of them."""
        self._stops: dict[int, tuple[list[Line], list[Stop]]] = {}
        self._stop_lines = 0
        """How many lines are kept with stops."""
        self._barred: dict[int, tuple[Strip, Strip]] = {}
        """Strips without and with the bar, by the line they are of, while bar and lines stay."""
        self._bar_key: tuple[int, bool] = (0, False)

    def relaid(self) -> None:
        self._stops, self._stop_lines = {}, 0
        self._barred = {}

    def before_painting(self) -> None:
        here = self.cursor_stop()
        self._cursor_block = here[3] if here is not None else None
        key = (id(self._cursor_block), self.has_focus)
        if key != self._bar_key:
            self._bar_key, self._barred = key, {}
            self._in_cursor = _inside(self._cursor_block)

    # What a subclass says, whose lines are about more than one block

    def stops_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        """First line, last line and block of what lines are about."""
        return stops(lines)

    def block_at(self, line: Line, cell: int) -> Block | None:
        """What a line is about at a cell."""
        return line.block

    def bar_at(self, line: Line, inside: Container[int]) -> int | None:
        """Where the bar stands on a line, counted from its first cell, if the block it is about is `inside`."""
        return -2 if id(line.block) in inside else None

    def decorate(self, strip: Strip, unit: int, place: int, line: Line) -> Strip:
        at = self.bar_at(line, self._in_cursor) if self._cursor_block is not None else None
        if at is None:
            return strip
        known = self._barred.get(id(line))
        if known is not None and known[0] is strip:
            return known[1]
        look = self.look
        style = self.ground + (look.accent if self.has_focus else look.muted)
        barred = over(strip, max(0, self.margin_of(unit) + at), look.glyphs.bar, style)
        if len(self._barred) >= _KEPT_BARRED:
            self._barred.clear()
        self._barred[id(line)] = (strip, barred)
        return barred

    def stops_of(self, unit: int) -> list[Stop]:
        """The blocks of a unit the cursor may be on."""
        lines = self.galley.lines(unit)
        known = self._stops.get(unit)
        if known is None or known[0] is not lines:
            if known is not None:
                self._forget_stops(unit)
            while self._stops and (len(self._stops) >= _KEPT_STOPS or self._stop_lines > _KEPT_LINES):
                self._forget_stops(next(iter(self._stops)))
            self._stop_lines += len(lines)
            known = self._stops[unit] = (
                lines,
                [(unit, first, last, block) for first, last, block in self.stops_in(lines)],
            )
        return known[1]

    def _forget_stops(self, unit: int) -> None:
        self._stop_lines -= len(self._stops.pop(unit)[0])

    def stops_from(self, unit: int, block: Block | None, step: int, among: Callable[[int], bool]) -> Iterator[Stop]:
        """The stops after (or before) a block, units that are not `among` left out without being set."""
        found = self.stops_of(unit) if 0 <= unit < len(self.galley) else []
        at = next((index for index, stop in enumerate(found) if stop[3] is block), -1 if step > 0 else len(found))
        yield from found[at + 1 :] if step > 0 else reversed(found[: max(0, at)])
        for following in range(unit + step, len(self.galley) if step > 0 else -1, step):
            if among(following):
                found = self.stops_of(following)
                yield from found if step > 0 else reversed(found)

    def cursor_stop(self) -> Stop | None:
        """Where the cursor is: at first on the first block on show."""
        if self.cursor is not None and self.cursor[0] < len(self.galley):
            unit, block = self.cursor
            found = self.stops_of(unit)
            named = (stop for stop in found if block.key and stop[3].key == block.key)
            if stop := next((stop for stop in found if stop[3] is block), None) or next(named, None):
                return stop
        return next(iter(self.visible_stops()), None)

    @property
    def cursor_region(self) -> Region:
        """Where the block under the cursor stands on the screen: what nothing may cover."""
        here = self.cursor_stop()
        if here is None:
            return Region()
        top = self.galley.top(here[0]) - self.scroll_offset.y
        block = Region(self.region.x, self.region.y + top + here[1], self.size.width, here[2] - here[1] + 1)
        return block.intersection(self.region)

    def visible_stops(self) -> list[Stop]:
        """The blocks that have a line on show."""
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.rows
        if not len(self.galley):
            return []
        out: list[Stop] = []
        unit = self.galley.at(top)[0]
        while unit < len(self.galley) and self.galley.top(unit) < bottom:
            start = self.galley.top(unit)
            out += [stop for stop in self.stops_of(unit) if start + stop[2] >= top and start + stop[1] < bottom]
            unit += 1
        return out

    def keep_in_view(self) -> None:
        if self.cursor is not None:
            self._bring_along(down=False)  # what is at the top stays there, so it was pushed out below

    def scrolled(self, *, down: bool) -> None:
        self._bring_along(down=down)

    def _bring_along(self, *, down: bool) -> None:
        """Put the cursor on a block on show, if its own is not."""
        on_show = self.visible_stops()
        here = self.cursor_stop()
        if on_show and here is not None and all(stop[3] is not here[3] for stop in on_show):
            self.put_cursor(on_show[0] if down else on_show[-1], bring=None)

    def put_cursor(self, stop: Stop, *, bring: Bring | None = "near") -> None:
        """Put the cursor on a block, and bring that on show if asked."""
        unit, first, last, block = stop
        self.cursor = (unit, block)
        self.moved_at = time.perf_counter()
        if bring is not None:
            self.show_lines(unit, first, last, bring)
        self.repaint()
        self.tell()

    def show_lines(self, unit: int, first: int, last: int, bring: Bring) -> None:
        """Scroll to these lines of a unit as `bring` says."""
        self.settle_around(unit)
        room, height = self.rows, last - first + 1
        low = self.galley.top(unit) + first - self.scroll_offset.y
        if bring == "third":
            if low < 0 or low + height > 2 * room // 3:
                self.go_to(unit, first, below=max(1, min(room // 3, room - height)))
        elif bring == "top" or height + 1 >= room or low < 0:
            self.go_to(unit, first, below=1)
        elif low + height >= room:
            self.go_to(unit, last, below=room - 2)

    def go_to(self, unit: int, place: int, *, below: int) -> None:
        """Bring a line of a unit to `below` rows from the top, as far as that can be. What is on show then is set first,
        so that it comes to stand right there."""
        self.settle_around(unit)
        self._show_line(self.galley.top(unit) + place - below)
        self.refine_soon()

    def settle_around(self, unit: int) -> None:
        """Set what lies within two panes of a unit."""
        with self.steady():
            self.galley.settle_above(self.galley.top(unit), 2 * self.rows)
            start = self.galley.top(unit)
            self.galley.between(start, start + 2 * self.rows)

    def action_scroll_edge(self, end: int) -> None:
        super().action_scroll_edge(end)
        if on_show := self.visible_stops():
            self.put_cursor(on_show[-1 if end else 0], bring=None)

    def action_move_cursor(self, step: int) -> None:
        here = self.cursor_stop()
        if here is not None:
            following = next(self.stops_from(here[0], here[3], step, lambda unit: True), None)
            self.put_cursor(following or here)


def _inside(block: Block | None) -> frozenset[int]:
    """A block and all in it, by their identity: row by row, as a huge table is walked thrice as fast."""
    found: set[int] = set()
    row = [block] if block is not None else []
    while row:
        found.update(map(id, row))
        row = [child for each in row for child in each.children]
    return frozenset(found)
