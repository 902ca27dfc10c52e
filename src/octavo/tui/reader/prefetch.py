"""Work that is done ahead, a slice at a time between keys: setting and painting what will be looked at next."""

from __future__ import annotations

import time

from textual.events import Resize
from textual.timer import Timer

from octavo.tui.reader.line_pane import GalleyPane
from octavo.tui.render.virtual_lines import ScrollAnchor

SLICE, EVERY, REACH, PAGES = 0.004, 0.01, 300, 3
"""Seconds of work at a time, seconds between, how many units on each side are set ahead of being looked at, and how
many pages from the one on show on are painted."""

BRIEF, LATELY = 0.0015, 0.15
"""Seconds of work at a time while one moves about, which is for so many seconds after each move: the next key comes soon."""


class AheadPane(GalleyPane):
    """A pane that sets its units, and paints those near, before they are looked at."""

    _refining: Timer | None = None
    _ahead_of = (-1, 0, 0)
    """Where one was and what was on show when the pages next to it were painted."""
    is_outdated = False
    """Whether it was to be set anew while it was hidden, and had no width to be set in."""

    def reset(self, *, anchor: ScrollAnchor | None = None) -> None:
        self.is_outdated = self.pane_width <= 0
        super().reset(anchor=anchor)

    def on_resize(self, event: Resize) -> None:
        if self.is_outdated and self.pane_width > 0:
            self.reset()

    def set_ahead(self, seconds: float) -> bool:
        """Set units from the one on show on, for so long. True when none near is left."""
        until = time.perf_counter() + seconds
        count = len(self.galley)
        here = self.galley.at(self.scroll_offset.y)[0] if count else 0
        reach = REACH if count > 4 * REACH else count
        unset_from, unset_before = self.galley.unset_from, self.galley.unset_before
        while (unit := unset_from(here, here + reach)) is not None or (
            unit := unset_before(max(0, here - reach), here)
        ) is not None:
            if time.perf_counter() >= until:
                return False
            self.galley.lines(unit)
        return True

    def refine_soon(self) -> None:
        if self._refining is None and self.is_running and self.has_work:
            self._refining = self.set_timer(EVERY, self._refine)

    @property
    def has_work(self) -> bool:
        """Whether something can be done ahead."""
        return self.galley.unset > 0 or self._ahead_of != self._place

    @property
    def _place(self) -> tuple[int, int, int]:
        return self.scroll_offset.y, self.pane_width, self._changes

    def work(self, seconds: float) -> bool:
        """Do what can be done ahead, for so long. True when nothing is left."""
        until = time.perf_counter() + seconds
        return self.paint_ahead(seconds) and self.set_ahead(until - time.perf_counter())

    def _refine(self) -> None:
        self._refining = None
        if len(self.galley) and not self.was_painted and self.pane_width > 0:
            return  # to paint it comes back to this
        galley, top = self.galley, self.scroll_offset.y
        unit, place = galley.at(top)
        total = galley.total
        done = self.work(BRIEF if time.perf_counter() - self.moved_at < LATELY else SLICE)
        now = self.galley.top(unit) + place if galley is self.galley and len(galley) else top
        if galley is not self.galley:
            pass  # set anew, and told
        elif now != top:
            self._sync()
            self.scroll_to(y=now, animate=False, immediate=True, force=True)
        elif self.galley.total != total:
            self.sync_after_refresh()
        if not done:
            self.refine_soon()

    def paint_ahead(self, seconds: float) -> bool:
        """Paint what the next pages show, for so long, so that a key only has to put it on show. True when that is
        done."""
        until = time.perf_counter() + seconds
        galley, width, ground = self.galley, self.pane_width, self.ground
        if not len(galley) or width <= 0:
            return True
        top = self.scroll_offset.y
        for start, end in ((top + self.rows, top + PAGES * self.rows), (top - self.rows, top)):
            unit, place = galley.at(max(0, start))
            while unit < len(galley) and galley.top(unit) < end:
                for line in galley.lines(unit)[place:]:
                    if line.strip is None or line.strip.cell_length != width:
                        self.filtered([self.painted_line(unit, line, width, ground)])
                        if time.perf_counter() >= until:
                            return False
                unit, place = unit + 1, 0
        self._ahead_of = self._place
        return True
