"""A page whose blocks arrive while it is read: its beginning is on show before its end is known."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.message import Message

from octavo.documents.blocks import Block, Document
from octavo.tui.reader.page_contents import Head, PageContents, top_blocks
from octavo.tui.reader.pane import no_lines
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_place import ReadingPlace
from octavo.tui.reader.thread_marks import PageThreads
from octavo.tui.render.layout import Unit, units
from octavo.tui.render.layout_context import Folds, trail
from octavo.tui.render.page_units import UnitReader
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.styled_lines import Line

if TYPE_CHECKING:
    from octavo.documents.parse import Reading

AT_ONCE = 2_500
"""Pages of fewer characters are read before anything of them is shown."""
BLOCKS, FIRST = 12, 0.010
"""Of a longer one so many are read first, as far as they can be in so many seconds."""
TO_PLACE = 0.03
"""Seconds one who comes back to a place further down waits for it at most, before the beginning is shown."""
ALONE = 0.012
"""Seconds of work at a time while nothing is on show that one could move in."""


class PageLoaded(Message):
    """All of a page is on show."""


class PageStream:
    """Reads a page in slices, between which keys are answered, and shows what is read."""

    def __init__(self, pane: Reader, contents: PageContents, place: ReadingPlace, threads: PageThreads) -> None:
        self.pane, self.contents, self.place, self.threads = pane, contents, place, threads
        self._reading: Reading | None = None
        self._arriving: tuple[Head, str] = (("", ""), "")
        self._shown = 0
        """How many blocks of what is being read are on show."""
        self._replaces = False
        """Whether what is being read takes the place of what is on show once it is all read."""
        self._markdown = ""
        """What is being read, as it came."""
        self._cutting: UnitReader[Unit] = UnitReader()
        """The units of what is being read."""
        self.to_end: ReadingPosition | None = None
        """Where one was when one went to the end of a page that was not all read."""
        self._left: list[Block | Unit | list[Line]] | None = None
        """The blocks, units and lines of pages that were left and are not let go yet: to let go of a long page takes long."""

    def show(self, document: Document, head: Head, key: str) -> None:
        """Show a page that is read."""
        self.stop_reading()
        self._show_whole(document, head, key, UnitReader(units(top_blocks(document.blocks, head, whole=True))))

    def read(self, markdown: str, head: Head, key: str) -> None:
        """Show the beginning of a page, all of it soon. What is on show of the same `key` stays until all is read."""
        from octavo.documents.parse import Reading  # the parser takes 30 ms to load, and no frame needs it

        is_on_show = key == self.contents.key and self.contents.document is not None
        if is_on_show and self._reading is not None and (self._arriving, self._markdown) == ((head, key), markdown):
            return
        self.stop_reading()
        self.to_end = None
        reading = Reading(markdown)
        at_once = len(markdown) < AT_ONCE
        if at_once:
            reading.read()
        elif not is_on_show:
            reading.read(FIRST, BLOCKS)
            if not reading.blocks:
                reading.read(FIRST, BLOCKS)  # a frame of nothing takes longer than to wait for something to show
            self._read_to_place(reading, key)
        self._cutting = UnitReader(units(top_blocks(reading.blocks, head, whole=reading.is_done)))
        is_cut = self._cutting.cut(FIRST)
        if reading.is_done and is_cut:
            self._show_whole(reading.document, head, key, self._cutting)
            return
        if not is_on_show:
            self._show(reading.document, head, key, self._cutting, whole=False)
        self._reading, self._arriving, self._shown = reading, (head, key), len(reading.blocks)
        self._replaces, self._markdown = is_on_show, markdown
        self.contents.arriving = None if is_on_show else reading
        self.pane.work_soon()

    def _show(self, document: Document, head: Head, key: str, cutting: UnitReader[Unit], *, whole: bool) -> None:
        """Show a page, or the beginning of it."""
        pane, contents = self.pane, self.contents
        same = key == contents.key and contents.document is not None
        if same and document is contents.document and head == contents.head and not pane.state.has_failed:
            return
        pane.state.settled()
        anchor = pane.viewport.anchor() if same else None
        if not same:
            self.place.wanted = self.place.wanted if contents.document is None else None
            pane.selection.stop_copying()
            self.leave()
        contents.document, contents.head, contents.is_whole, contents.cut = document, head, whole, cutting
        contents.forget_source()
        if not same:
            contents.key, contents.shows_source = key, False
            pane.folds, pane.cursor.at = Folds(), None
            self.threads.forget()
            pane.finder.clear()
            pane.galley = no_lines()
            for late in contents.sources:
                late.drop()
            pane.viewport.scroll_there(0)
        pane.reset(anchor=anchor)
        pane.finder.content_changed()
        self.threads.read(document)
        if self.place.wanted is not None and not same:  # asked for before anything was on show
            self.place.go_to_anchor(self.place.wanted.anchor)
        pane.refresh_bindings()
        pane.tell()

    def _show_whole(self, document: Document, head: Head, key: str, cutting: UnitReader[Unit]) -> None:
        self._show(document, head, key, cutting, whole=True)
        self._all_read(document)

    def _all_read(self, document: Document) -> None:
        """All of the page is on show."""
        self.threads.read(document)
        self.place.look_for_wanted()
        self.place.go_back()
        self.place.stand_again()
        self.pane.refresh_bindings()
        self.pane.tell()
        self.pane.post_message(PageLoaded())

    def go_to_end(self) -> None:
        """Go to the end, and again once all is read, if nobody has moved meanwhile."""
        self.pane.cursor.go_to_edge(1)
        self.to_end = self.place.here() if self.is_reading else None

    def _read_to_place(self, reading: Reading, key: str) -> None:
        """Read on to the place one comes back to: who was there need not see the beginning first."""
        if self.place.coming_back is None or self.place.coming_back[0] != key:
            return
        wanted, known, until = self.place.coming_back[1].block, 0, time.perf_counter() + TO_PLACE
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
        self._reading, self._markdown, self.contents.arriving = None, "", None

    def leave(self) -> None:
        """The page on show is not shown any more."""
        if self.contents.document is not None:
            self._left = [
                *(self._left or ()),
                *self.contents.document.blocks,
                *self.pane.galley.kept,
                *self.contents.cut.units,
            ]
        self.place.left()

    def let_go(self, seconds: float) -> bool:
        """Let go of pages that were left, for so long. True when none is left."""
        until = time.perf_counter() + seconds
        while self._left and time.perf_counter() < until:
            del self._left[-4:]
        return not self._left

    @property
    def is_growing(self) -> bool:
        """Whether there will be more of the page on show."""
        return self.contents.arriving is not None

    @property
    def is_reading(self) -> bool:
        """Whether a page is being read."""
        return self._reading is not None

    @property
    def has_left(self) -> bool:
        """Whether pages that were left are still to be let go of."""
        return bool(self._left)

    def read_on(self, seconds: float) -> None:
        """Read for so long, and show what was read."""
        reading = self._reading
        if reading is None:
            return
        if not len(self.pane.galley):
            seconds = max(seconds, ALONE)
        until = time.perf_counter() + seconds
        self.pane.prefetch.paint_ahead(seconds)
        left = until - time.perf_counter()
        if left > 0 and self._cutting.is_done and reading.read(left) and time.perf_counter() > until + ALONE / 2:
            return  # it was a long block: to show it is work for another time
        self._take(reading)
        if (left := until - time.perf_counter()) > 0:
            self._cutting.cut(left)
        if self.is_growing:
            self._grow()
        if reading.is_done and self._cutting.is_done:
            self._end_reading(reading)

    def _take(self, reading: Reading) -> None:
        """Let what was read since be cut."""
        known, self._shown = self._shown, len(reading.blocks)
        if not known and self._shown:
            self._cutting.add(units(top_blocks(reading.blocks, self._arriving[0], whole=reading.is_done)))
        elif self._shown > known:
            self._cutting.add(units(reading.blocks[known:], reading.blocks[known - 1]))
        if self.place.coming_back is not None and _has(reading.blocks[known:], self.place.coming_back[1].block):
            self.place.is_read = True

    def _grow(self) -> None:
        """Put what was cut since below what is on show."""
        known = len(self.pane.galley)
        if self.contents.shows_source or known == len(self._cutting.units):
            return  # it is known already
        if not known:
            self.pane.reset()
            return
        was = self.pane.galley.total
        self.pane.galley.extend(self._cutting.units[known:])
        if self.place.coming_back is not None and self.place.is_read:
            self.place.go_back()
        if was < self.pane.scroll_offset.y + self.pane.size.height:
            self.pane.viewport.sync()
            self.pane.repaint()
        else:
            self.pane.viewport.sync_after_refresh()

    def _end_reading(self, reading: Reading) -> None:
        self._reading, self._markdown, self.contents.arriving = None, "", None
        wants_end = self.to_end is not None and not self.place.here().has_moved(self.to_end)
        if self._replaces:
            self._show(reading.document, *self._arriving, self._cutting, whole=True)
        else:
            self.contents.document, self.contents.is_whole = reading.document, True
            if self.contents.shows_source:
                self.place.source_known()
            elif not top_blocks(reading.document.blocks, self._arriving[0], whole=True):
                self.contents.cut = UnitReader()  # its title says all there is
                self.pane.reset()
            elif not len(self.pane.galley):
                self.pane.reset()
            self.pane.viewport.sync()
            self.pane.finder.content_changed()
        if wants_end:
            self.pane.cursor.go_to_edge(1)
        self._all_read(reading.document)


def _has(blocks: Iterable[Block], key: str) -> bool:
    """Whether one of the blocks, or one within them, is called `key`."""
    return any(trail(block, key) for block in blocks)
