"""Work that is done ahead, a slice at a time between keys: setting and painting what will be looked at next."""

from __future__ import annotations

import time

from textual.timer import Timer

from octavo.tui.reader.line_painter import LinePainter
from octavo.tui.reader.pane import Pane
from octavo.tui.reader.viewport import Viewport

SLICE, EVERY, REACH, PAGES = 0.004, 0.01, 300, 3
"""Seconds of work at a time, seconds between, how many units on each side are set ahead of being looked at, and how
many pages from the one on show on are painted."""

BRIEF, LATELY = 0.0015, 0.15
"""Seconds of work at a time while one moves about, which is for so many seconds after each move: the next key comes soon."""


class Prefetch:
    """Sets the units of a pane, and paints those near, before they are looked at."""

    is_outdated = False
    """Whether all was to be set anew while the pane was hidden, and had no width to be set in."""

    def __init__(self, pane: Pane, viewport: Viewport, painter: LinePainter) -> None:
        self.pane, self.viewport, self.painter = pane, viewport, painter
        self._timer: Timer | None = None
        self._ahead_of = (-1, 0, 0)
        """Where one was and what was on show when the pages next to it were painted."""

    def work_soon(self) -> None:
        """Work, while nothing else happens, if there is something to do."""
        if self._timer is None and self.pane.is_running and self.pane.has_work:
            self._timer = self.pane.set_timer(EVERY, self._work)

    @property
    def has_work(self) -> bool:
        """Whether something can be set or painted ahead."""
        return self.pane.galley.unset > 0 or self._ahead_of != self._place

    @property
    def _place(self) -> tuple[int, int, int]:
        return self.pane.scroll_offset.y, self.pane.pane_width, self.pane.changes

    def work(self, seconds: float) -> bool:
        """Set and paint ahead, for so long. True when nothing is left."""
        until = time.perf_counter() + seconds
        return self.paint_ahead(seconds) and self.set_ahead(until - time.perf_counter())

    def _work(self) -> None:
        self._timer = None
        pane = self.pane
        if len(pane.galley) and not self.painter.was_painted and pane.pane_width > 0:
            return  # to paint it comes back to this
        galley, top = pane.galley, pane.scroll_offset.y
        unit, place = galley.at(top)
        total = galley.total
        done = pane.work(BRIEF if time.perf_counter() - pane.moved_at < LATELY else SLICE)
        now = galley.top(unit) + place if galley is pane.galley and len(galley) else top
        if galley is not pane.galley:
            pass  # set anew, and told
        elif now != top:
            self.viewport.sync()
            self.viewport.scroll_there(now)
        elif galley.total != total:
            self.viewport.sync_after_refresh()
        if not done:
            self.work_soon()

    def set_ahead(self, seconds: float) -> bool:
        """Set units from the one on show on, for so long. True when none near is left."""
        until = time.perf_counter() + seconds
        galley = self.pane.galley
        count = len(galley)
        here = galley.at(self.pane.scroll_offset.y)[0] if count else 0
        reach = REACH if count > 4 * REACH else count
        while (unit := galley.unset_from(here, here + reach)) is not None or (
            unit := galley.unset_before(max(0, here - reach), here)
        ) is not None:
            if time.perf_counter() >= until:
                return False
            galley.lines(unit)
        return True

    def paint_ahead(self, seconds: float) -> bool:
        """Paint what the next pages show, for so long, so that a key only has to put it on show. True when that is
        done."""
        until = time.perf_counter() + seconds
        pane = self.pane
        galley, width, ground = pane.galley, pane.pane_width, pane.ground
        if not len(galley) or width <= 0:
            return True
        top = pane.scroll_offset.y
        for start, end in ((top + pane.rows, top + PAGES * pane.rows), (top - pane.rows, top)):
            unit, place = galley.at(max(0, start))
            while unit < len(galley) and galley.top(unit) < end:
                for line in galley.lines(unit)[place:]:
                    if line.strip is None or line.strip.cell_length != width:
                        pane.filtered([self.painter.painted_line(unit, line, width, ground)])
                        if time.perf_counter() >= until:
                            return False
                unit, place = unit + 1, 0
        self._ahead_of = self._place
        return True
