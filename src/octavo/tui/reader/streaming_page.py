"""A page whose blocks arrive while it is read: its beginning is on show before its end is known."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from octavo.documents.blocks import Block, Document
from octavo.tui.reader.opening import Opening, ReadingPoint
from octavo.tui.render.layout import Unit, units
from octavo.tui.render.layout_context import trail
from octavo.tui.render.page_units import UnitReader
from octavo.tui.render.styled_lines import Line

if TYPE_CHECKING:
    from octavo.documents.parse import Reading

AT_ONCE = 2_500
"""Pages of fewer characters are read before anything of them is shown."""
BLOCKS, FIRST = 12, 0.012
"""Of a longer one so many are read first, as far as they can be in so many seconds."""
TO_PLACE = 0.03
"""Seconds one who comes back to a place further down waits for it at most, before the beginning is shown."""
ALONE = 0.012
"""Seconds of work at a time while nothing is on show that one could move in."""
STILL = "The rest of this page is still being read."
Head = tuple[str, str]
"""The title and the description of a page."""


class PendingJump(NamedTuple):
    """A heading or a block that was asked for and is not read yet, and where one was then."""

    anchor: str
    """What it is called; of a note its label."""
    asked_at: ReadingPoint
    by_link: bool = False
    """Whether a link asks for it: when there is none, that is said."""
    show: Callable[[Block | None], None] | None = None
    """What is done with a note once it is there, or known to be nowhere."""


class Arriving(Opening):
    """A view of a page that is read in slices, between which keys are answered."""

    is_whole = True
    """Whether all of the page on show is read."""
    _reading: Reading | None = None
    _arriving: tuple[Head, str] = (("", ""), "")
    _shown = 0
    """How many blocks of what is being read are on show."""
    _replaces = False
    """Whether what is being read takes the place of what is on show once it is all read."""
    _markdown = ""
    """What is being read, as it came."""
    _cutting: UnitReader[Unit] = UnitReader()
    page_cut: UnitReader[Unit] = _cutting
    """The units of what is being read, and of the page on show."""
    _to_end: ReadingPoint | None = None
    """Where one was when one went to the end of a page that was not all read."""
    _left: list[Block | Unit | list[Line]] | None = None
    """The blocks, units and lines of pages that were left and are not let go yet: to let go of a long page takes long."""

    is_latest = True
    """Whether the page on show is the latest: while it is not, what is nowhere on it may be on the one that comes."""
    _wanted: PendingJump | None = None

    # What a subclass says

    def _show(self, document: Document, head: Head, key: str, cutting: UnitReader[Unit], *, whole: bool) -> None:
        raise NotImplementedError

    def top_blocks(self, blocks: Sequence[Block], head: Head, *, whole: bool) -> list[Block]:
        """The blocks of a page below its title."""
        raise NotImplementedError

    def source_known(self) -> None:
        """All of the page is read of which the source is on show."""
        raise NotImplementedError

    def all_read(self, document: Document) -> None:
        """All of the page is on show."""
        raise NotImplementedError

    # Reading

    def read(self, markdown: str, head: Head, key: str) -> None:
        """Show the beginning of a page, all of it soon. What is on show of the same `key` stays until all is read."""
        from octavo.documents.parse import Reading  # the parser takes 30 ms to load, and no frame needs it

        is_on_show = key == self.key and self.document is not None
        if is_on_show and self._reading is not None and (self._arriving, self._markdown) == ((head, key), markdown):
            return
        self.stop_reading()
        self._to_end = None
        reading = Reading(markdown)
        at_once = len(markdown) < AT_ONCE
        if at_once:
            reading.read()
        elif not is_on_show:
            reading.read(FIRST, BLOCKS)
            if not reading.blocks:
                reading.read(FIRST, BLOCKS)  # a frame of nothing takes longer than to wait for something to show
            self._read_to_place(reading, key)
        self._cutting = UnitReader(units(self.top_blocks(reading.blocks, head, whole=reading.is_done)))
        is_cut = self._cutting.cut(FIRST)
        if reading.is_done and is_cut:
            self._show(reading.document, head, key, self._cutting, whole=True)
            self.all_read(reading.document)
            return
        if not is_on_show:
            self._show(reading.document, head, key, self._cutting, whole=False)
        self._reading, self._arriving, self._shown = reading, (head, key), len(reading.blocks)
        self._replaces, self._markdown = is_on_show, markdown
        self.refine_soon()

    def _read_to_place(self, reading: Reading, key: str) -> None:
        """Read on to the place one comes back to: who was there need not see the beginning first."""
        if self._coming_back is None or self._coming_back[0] != key:
            return
        wanted, known, until = self._coming_back[1].block, 0, time.perf_counter() + TO_PLACE
        while not reading.is_done and not _has(reading.blocks[known:], wanted):
            known = len(reading.blocks)
            if (left := until - time.perf_counter()) <= 0:
                return
            reading.read(min(left, FIRST / 3))
        reading.read(FIRST / 3)  # what stands below it

    def stop_reading(self) -> None:
        """What was being read is not wanted any more."""
        if self._reading is not None:
            self._reading.end()
        self._reading, self._markdown = None, ""

    def on_unmount(self) -> None:
        self.stop_reading()

    def leave(self) -> None:
        """The page on show is not shown any more."""
        if self.document is not None:
            self._left = [*(self._left or ()), *self.document.blocks, *self.galley.kept, *self.page_cut.units]
        self._anchors = None

    def _let_go(self, seconds: float) -> bool:
        """Let go of pages that were left, for so long. True when none is left."""
        until = time.perf_counter() + seconds
        while self._left and time.perf_counter() < until:
            del self._left[-4:]
        return not self._left

    @property
    def _grows(self) -> bool:
        return self._reading is not None and not self._replaces

    @property
    def has_work(self) -> bool:
        return self._reading is not None or bool(self._left) or super().has_work

    def work(self, seconds: float) -> bool:
        if self._reading is not None and not len(self.galley):
            seconds = max(seconds, ALONE)
        until = time.perf_counter() + seconds
        if (reading := self._reading) is None:
            return super().work(seconds) and self._let_go(until - time.perf_counter())
        self.paint_ahead(seconds)
        left = until - time.perf_counter()
        if left > 0 and self._cutting.is_done and reading.read(left) and time.perf_counter() > until + ALONE / 2:
            return False  # it was a long block: to show it is work for another time
        self._take(reading)
        if (left := until - time.perf_counter()) > 0:
            self._cutting.cut(left)
        if self._grows:
            self._grow()
        if reading.is_done and self._cutting.is_done:
            self._end_reading(reading)
        return False

    def _take(self, reading: Reading) -> None:
        """Let what was read since be cut."""
        known, self._shown = self._shown, len(reading.blocks)
        if not known and self._shown:
            self._cutting.add(units(self.top_blocks(reading.blocks, self._arriving[0], whole=reading.is_done)))
        elif self._shown > known:
            self._cutting.add(units(reading.blocks[known:], reading.blocks[known - 1]))
        if self._coming_back is not None and _has(reading.blocks[known:], self._coming_back[1].block):
            self._place_is_read = True

    def _grow(self) -> None:
        """Put what was cut since below what is on show."""
        known = len(self.galley)
        if self.shows_source or known == len(self._cutting.units):
            return  # it is known already
        if not known:
            self.reset()
            return
        was = self.galley.total
        self.galley.extend(self._cutting.units[known:])
        if self._coming_back is not None and self._place_is_read:
            self.go_back()
        if was < self.scroll_offset.y + self.size.height:
            self._sync()
            self.repaint()
        else:
            self.sync_after_refresh()

    def _end_reading(self, reading: Reading) -> None:
        self._reading, self._markdown = None, ""
        if self._replaces:
            self._show(reading.document, *self._arriving, self._cutting, whole=True)
        else:
            self.document, self.is_whole = reading.document, True
            if self.shows_source:
                self.source_known()
            elif not self.top_blocks(reading.document.blocks, self._arriving[0], whole=True):
                self.page_cut = UnitReader()  # its title says all there is
                self.reset()
            elif not len(self.galley):
                self.reset()
            self._sync()
            self.content_changed()
        if self._to_end is not None and not self.has_moved(self._to_end):
            self.action_scroll_edge(1)
        self.all_read(reading.document)

    def units_so_far(self) -> list[Unit]:
        """The units of the page on show, as far as it is read."""
        if self._grows and self._reading is not None:
            self.document = self._reading.document
        else:
            self.page_cut.cut()
        return self.page_cut.units

    # What is asked for before it is read

    def with_note(self, label: str, show: Callable[[Block | None], None]) -> None:
        """Do something with a note of the page, or with none, once that is known, if nobody has moved meanwhile."""
        if (note := self.note(label)) is not None or self.is_whole:
            show(note)
        else:  # notes stand at the end of a page
            self._wanted = PendingJump(label, self._here(), show=show)
            self.explain(STILL)

    def miss(self, anchor: str) -> None:
        if self._wanted is not None and self._wanted.anchor == anchor.lstrip("#"):
            self._wanted = self._wanted._replace(by_link=True)  # it may be still to come
        else:
            super().miss(anchor)

    def _look_for_wanted(self) -> None:
        """Go to what was asked for before it was there, if it is now, and nobody has moved meanwhile."""
        wanted, self._wanted = self._wanted, None
        if wanted is None or self.has_moved(wanted.asked_at):
            return
        if wanted.show is not None:
            wanted.show(self.note(wanted.anchor))
        elif not self.go_to_anchor(wanted.anchor) and wanted.by_link:
            self.miss(wanted.anchor)

    # Moving

    def action_scroll_edge(self, end: int) -> None:
        super().action_scroll_edge(end)
        self._to_end = self._here() if end and self._grows else None

    def action_read_on(self) -> None:
        if self._grows and self.scroll_offset.y >= self.galley.total - self.rows:
            self.explain(STILL)
        else:
            super().action_read_on()


def _has(blocks: Iterable[Block], key: str) -> bool:
    """Whether one of the blocks, or one within them, is called `key`."""
    return any(trail(block, key) for block in blocks)
