"""Loads a page in the thread and shows it in two phases: first screen, then the whole page."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

from octavo.documents.blocks import Document
from octavo.tui.reader.contents import SHORT, WAIT, drop_lines, fail
from octavo.tui.reader.moves import position_of
from octavo.tui.reader.page_contents import Head, top_blocks
from octavo.tui.render.layout import PageUnit, split_into_units
from octavo.tui.render.layout_context import Folds, path_to_block
from octavo.tui.render.reading_position import ReadingPosition
from octavo.tui.render.unit_layout import LaidUnits, UnitLayout, lay_out_units
from octavo.tui.terminal import polite_thread

if TYPE_CHECKING:
    from octavo.documents.parse import IncrementalParse
    from octavo.tui.reader.page_view import PageView

FIRST = 24
"""Blocks of the first screen."""
TO_PLACE = 0.06
"""Seconds that the first screen waits for the position to restore. The previous page stays visible."""
PAINTED = 0.1
"""Seconds that the thread waits until the first screen is painted."""
_FREED_AT_ONCE = 4


class PageLoaded(Message):
    """The whole page is shown."""


class ReadPage(NamedTuple):
    """A parsed page or its first screen, split into units."""

    document: Document
    units: list[PageUnit]
    laid: LaidUnits | None = None
    """Units that the thread laid out. None if the reader had no width."""


class PageReading:
    """A page that the thread parses: `first` and `whole` are set when they are ready."""

    def __init__(self, markdown: str, head: Head, key: str, place: str, folds: Folds, *, replaces: bool) -> None:
        """`place`: key of the block to restore, which the first screen waits for. `folds`: expanded blocks. `replaces`:
        the page on screen stays until the whole page is parsed."""
        self.markdown, self.head, self.key, self.folds, self.replaces = markdown, head, key, folds, replaces
        self.layout: UnitLayout | None = None
        """Layout for the thread. None if the thread does not lay out the page."""
        self._place = place
        self._units: list[PageUnit] = []
        self._cut = 0
        """Number of blocks that are split into units."""
        self.first: ReadPage | None = None
        self.whole: ReadPage | None = None
        self.is_painted = False
        """True once the first screen is painted."""
        self.has_first = threading.Event()
        """Set once the first screen or the whole page is ready."""

    def steps(self) -> Iterator[None]:
        """Parse the page, and yield after each block."""
        from octavo.documents.parse import IncrementalParse  # lazy: the parser, 30 ms

        reading = IncrementalParse(self.markdown)
        until = time.perf_counter() + TO_PLACE
        first = FIRST
        for block in reading.read():
            if self._place and (path_to_block(block, self._place) or time.perf_counter() > until):
                self._place, first = "", max(first, len(reading.blocks) + FIRST)
            if self.first is None and not self._place and len(reading.blocks) >= first:
                self.first = self._page(reading)
                self.has_first.set()
                yield from self._wait_until_painted()
            yield
        whole = self._page(reading)
        if self.layout is not None:
            whole = whole._replace(laid=(yield from lay_out_units(self.layout, whole.units, range(len(whole.units)))))
        self.whole = whole
        self.has_first.set()

    def _wait_until_painted(self) -> Iterator[None]:
        """Wait until the first screen is painted: the thread would slow down the event loop."""
        until = time.perf_counter() + PAINTED
        while not (self.replaces or self.is_painted) and time.perf_counter() < until:
            time.sleep(0.001)
            yield

    def _page(self, reading: IncrementalParse) -> ReadPage:
        blocks, known, self._cut = reading.blocks, self._cut, len(reading.blocks)
        if known:
            self._units += split_into_units(blocks[known:], blocks[known - 1])
        else:
            self._units += split_into_units(top_blocks(blocks, self.head, whole=reading.is_done))
        return ReadPage(reading.document, [*self._units])


class PageStream:
    """Loads and shows the pages of a `PageView`."""

    def __init__(self, pane: PageView) -> None:
        self.pane, self.contents, self.place, self.threads = pane, pane.contents, pane.place, pane.threads
        self._reading: PageReading | None = None
        self._work: polite_thread.Work | None = None
        self.to_end: ReadingPosition | None = None
        """Reading position after a jump to the end of an incomplete page. None without such a jump."""

    def show(self, document: Document, head: Head, key: str) -> None:
        """Show a parsed page."""
        self.stop_reading()
        page = ReadPage(document, list(split_into_units(top_blocks(document.blocks, head, whole=True))))
        self._show_whole(page, head, key, Folds())

    def read(self, markdown: str, head: Head, key: str) -> None:
        """Show the first screen of a page, then the whole page. A page with the same `key` stays visible until the
        whole page is parsed."""
        is_on_show = key == self.contents.key and self.contents.document is not None
        before = self._reading
        if is_on_show and before is not None and (before.head, before.key, before.markdown) == (head, key, markdown):
            return
        self.stop_reading()
        self.to_end = None
        coming_back = self.place.coming_back
        place = coming_back[1].block if coming_back is not None and coming_back[0] == key and not is_on_show else ""
        folds = self.pane.folds if is_on_show else Folds()
        reading = PageReading(markdown, head, key, place, folds, replaces=is_on_show)
        if len(markdown) < SHORT:
            for _ in reading.steps():
                pass
        else:
            if not is_on_show:
                reading.layout = self.pane.background.prepare(reading.folds, len(markdown))
            self._work = polite_thread.thread.begin(self.steps(reading), self._failed)
            if not is_on_show:
                reading.has_first.wait(WAIT)
        if reading.whole is not None:
            self._work = None
            self._show_whole(reading.whole, head, key, reading.folds)
            return
        self._reading = reading
        if not is_on_show:
            if reading.first is None:
                self.pane.painter.keep_frame(TO_PLACE)
            self._show(reading.first or ReadPage(Document("", (), ""), []), head, key, reading.folds, whole=False)

    def steps(self, reading: PageReading) -> Iterator[None]:
        """Parse a page in the thread, and show it on the event loop."""
        is_told = False
        for _ in reading.steps():
            if reading.first is not None and not is_told:
                is_told = True
                self.pane.call_later(self._take_first, reading)
            yield
        self.pane.call_later(self._take_whole, reading)

    def _failed(self, error: Exception) -> None:
        fail(self.pane, error)

    def _show(self, page: ReadPage, head: Head, key: str, folds: Folds, *, whole: bool) -> None:
        """Show a page or its first screen."""
        pane, contents, document = self.pane, self.contents, page.document
        same = key == contents.key and contents.document is not None
        if same and document is contents.document and head == contents.head and not pane.state.has_failed:
            return
        pane.state.settled()
        anchor = position_of(pane.galley, pane.top, pane.set_width) if same else None
        if not same:
            self.place.wanted = self.place.wanted if contents.document is None else None
            pane.selection.stop_copying()
            self.leave()
        contents.document, contents.head, contents.is_whole = document, head, whole
        contents.page_units = page.units
        contents.forget_source()
        if not same:
            contents.key, contents.shows_source = key, False
            pane.folds, pane.cursor.at = folds, None
            self.threads.forget()
            pane.finder.clear()
            drop_lines(pane)
            for late in contents.sources:
                late.clear_requests()
        pane.reset(anchor=anchor, laid=page.laid)
        pane.finder.content_changed()
        self.threads.read(document)
        if self.place.wanted is not None and not same:  # The jump was requested before the first page was shown.
            self.place.go_to_anchor(self.place.wanted.anchor)
        pane.refresh_bindings()
        pane.tell()

    def _show_whole(self, page: ReadPage, head: Head, key: str, folds: Folds) -> None:
        self._show(page, head, key, folds, whole=True)
        self._all_read(page.document)

    def _all_read(self, document: Document) -> None:
        """Restore positions and post `PageLoaded` after the whole page is shown."""
        self.threads.read(document)
        self.place.look_for_wanted()
        self.place.go_back()
        self.place.stand_again()
        self.pane.refresh_bindings()
        self.pane.tell()
        self.pane.post_message(PageLoaded())

    def go_to_end(self) -> None:
        """Scroll to the end, and again once the whole page is shown, unless the user has moved."""
        self.pane.cursor.go_to_edge(1)
        self.to_end = self.place.here() if self.is_reading else None

    def painted(self) -> None:
        """Let the thread continue after the first screen is painted."""
        if self._reading is not None:
            self._reading.is_painted = True

    def stop_reading(self) -> None:
        """Cancel the page that is loading."""
        if self._work is not None:
            self._work.stop()
        self._reading = self._work = None

    def leave(self) -> None:
        """Free the page that was shown. The thread does it: freeing a long page is slow."""
        if (document := self.contents.document) is not None and len(document.source) > SHORT:
            left: list[object] = [*document.blocks, *self.pane.galley.kept, *self.contents.page_units]
            free = partial(polite_thread.thread.begin, _free(left), self._failed, soon=False)
            self.pane.call_later(free)  # Later: the reader still refers to the blocks now.
        self.place.left()

    @property
    def is_reading(self) -> bool:
        """True while a page is loading."""
        return self._reading is not None

    def _take_first(self, reading: PageReading) -> None:
        """Show the first screen, if the event loop did not wait for it."""
        first, contents = reading.first, self.contents
        if reading is not self._reading or first is None or reading.replaces or contents.page_units:
            return
        contents.document, contents.page_units = first.document, first.units
        contents.forget_source()
        self.threads.read(first.document)
        self.pane.reset()
        self.pane.tell()

    def _take_whole(self, reading: PageReading) -> None:
        """Show the whole page."""
        whole, contents, pane = reading.whole, self.contents, self.pane
        if reading is not self._reading or whole is None:
            return
        self._reading = self._work = None
        wants_end = self.to_end is not None and not self.place.here().has_moved(self.to_end)
        if reading.replaces:
            self._show(whole, reading.head, reading.key, reading.folds, whole=True)
        else:
            known = len(pane.galley)
            contents.document, contents.page_units, contents.is_whole = whole.document, whole.units, True
            if contents.shows_source:
                self.place.source_known()
            elif known and whole.laid is not None:
                pane.background.take(whole.laid, whole.units[known:])
            else:
                pane.reset(laid=whole.laid)
            pane.tell_length()
            pane.finder.content_changed()
        if wants_end:
            pane.cursor.go_to_edge(1)
        self._all_read(whole.document)
        pane.work_soon()


def _free(left: list[object]) -> Iterator[None]:
    while left:
        del left[-_FREED_AT_ONCE:]
        yield
