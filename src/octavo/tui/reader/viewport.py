"""Which part of its lines a pane shows: what stands at the top, and where lines are brought."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from textual.geometry import Size
from textual.timer import Timer

from octavo.tui.reader.pane import Bring, Pane
from octavo.tui.render.layout import block_ranges
from octavo.tui.render.reading_position import ReadingPosition

SYNC = 0.5
"""Seconds between two times that one is told how long all is: to be told paints everything anew."""


class Viewport:
    """What of its lines a pane shows."""

    def __init__(self, pane: Pane) -> None:
        self.pane = pane
        self._syncing: Timer | None = None

    # What is at the top

    def anchor(self) -> ReadingPosition | None:
        """What is at the top."""
        pane = self.pane
        if not len(pane.galley) or not pane.set_width:
            return None
        unit, place = pane.galley.at(pane.scroll_offset.y)
        lines = pane.galley.lines(unit)
        block = next((line.block for line in lines[place:] if line.block is not None), None)
        first = next((first for first, _, each in block_ranges(lines) if each is block), 0)
        return ReadingPosition(
            unit=unit,
            top=block.key if block is not None else "",
            offset=place - first,
            place=place,
            width=pane.set_width,
        )

    def hold(self, anchor: ReadingPosition) -> None:
        """Bring to the top what stood there."""
        pane = self.pane
        if not len(pane.galley):
            return
        unit = pane.contents.unit_of(min(anchor.unit, len(pane.galley) - 1), anchor.top)
        found = (first for first, _, block in block_ranges(pane.galley.lines(unit)) if block.key == anchor.top)
        first = next(found, -1) if anchor.top else -1
        if first < 0:
            first = anchor.place - anchor.offset if anchor.width == pane.set_width else 0
        within = anchor.offset if anchor.width == pane.set_width else min(0, anchor.offset)
        pane.galley.settle_above(pane.galley.top(unit), pane.rows)
        pane.galley.between(pane.galley.top(unit), pane.galley.top(unit) + 2 * pane.rows)  # it may be near the end
        self.show_line(pane.galley.top(unit) + max(0, first + within))

    @contextmanager
    def steady(self) -> Iterator[None]:
        """What is at the top stays there, though units above it are set meanwhile and get their true heights."""
        pane = self.pane
        galley, top = pane.galley, pane.scroll_offset.y
        unit, place = galley.at(top) if len(galley) else (0, 0)
        yield
        if galley is pane.galley and len(galley) and galley.top(unit) + place != top:
            self.show_line(galley.top(unit) + place)

    # How much there is

    def sync(self) -> None:
        """Tell how long all is, if that was told otherwise."""
        if self._syncing is not None:
            self._syncing.stop()
            self._syncing = None
        pane = self.pane
        size = Size(max(pane.set_width, 1), pane.galley.total + pane.foot_rows)
        if size != pane.virtual_size:
            pane.virtual_size = size
            pane.tell()  # how far one has read is of another whole now

    def sync_after_refresh(self) -> None:
        """There is more or less of it all than was told: tell it before long."""
        if self._syncing is None and self.pane.is_running:
            self._syncing = self.pane.set_timer(SYNC, self.sync)

    # Going

    def show_line(self, line: int) -> None:
        """Scroll to a line."""
        if line + self.pane.size.height > self.pane.virtual_size.height:
            self.sync()
        else:
            self.sync_after_refresh()
        self.scroll_there(max(0, line))

    def scroll_there(self, line: int) -> None:
        """Scroll to a line that is known to be there."""
        self.pane.scroll_to(y=line, animate=False, immediate=True, force=True)

    def go(self, line: int) -> None:
        """Bring `line` to the top, as far as that can be."""
        galley, rows = self.pane.galley, self.pane.rows
        if line >= galley.total - 2 * rows:
            at_end = line + rows >= galley.total
            galley.settle_end(2 * rows)
            line = galley.total - rows if at_end else line
        self.show_line(line)
        self.pane.work_soon()

    def go_by(self, step: int) -> None:
        """Move by so many lines. Those one comes upon above are set before: they are as high as they are."""
        here = self.pane.scroll_offset.y
        self.go((self.pane.galley.settle_above(here, -step) if step < 0 else here) + step)

    def go_by_half(self, step: int) -> None:
        """Move by so many half pages."""
        self.go_by(step * max(1, self.pane.rows // 2))

    def go_by_page(self, step: int) -> None:
        """Move by so many pages, of which two rows stay on show."""
        self.go_by(step * max(1, self.pane.rows - 2))

    @property
    def is_at_end(self) -> bool:
        """Whether the last line is on show."""
        return self.pane.scroll_offset.y >= self.pane.galley.total - self.pane.rows

    def show_lines(self, unit: int, first: int, last: int, bring: Bring) -> None:
        """Scroll to these lines of a unit as `bring` says."""
        self.settle_around(unit)
        room, height = self.pane.rows, last - first + 1
        low = self.pane.galley.top(unit) + first - self.pane.scroll_offset.y
        if bring == "third":
            if low < 0 or low + height > 2 * room // 3:
                self.go_to(unit, first, below=max(1, min(room // 3, room - height)))
        elif bring == "top" or height + 1 >= room or low < 0:
            self.go_to(unit, first, below=1)
        elif low + height >= room:
            self.go_to(unit, last, below=room - 2)
        top, line = self.pane.scroll_offset.y, self.pane.galley.top(unit) + first
        if top <= line < top + (covered := self.pane.contents.covered(top)):
            self.show_line(max(0, line - covered))

    def go_to(self, unit: int, place: int, *, below: int) -> None:
        """Bring a line of a unit to `below` rows from the top, as far as that can be. What is on show then is set first,
        so that it comes to stand right there."""
        self.settle_around(unit)
        self.show_line(self.pane.galley.top(unit) + place - below)
        self.pane.work_soon()

    def settle_around(self, unit: int) -> None:
        """Set what lies within two panes of a unit."""
        galley, rows = self.pane.galley, self.pane.rows
        with self.steady():
            galley.settle_above(galley.top(unit), 2 * rows)
            start = galley.top(unit)
            galley.between(start, start + 2 * rows)
