"""Contents of a diff view: the changes of a page, split or unified, with the threads between the lines."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from textual.content import Content

from octavo.documents.blocks import Block
from octavo.tui.reader.background_layout import LateSources
from octavo.tui.reader.contents import SHORT, WAIT, Contents, Stop, drop_lines, fail
from octavo.tui.render.block_slices import whole_block
from octavo.tui.render.comparison import PageComparison
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.deferred_loaders import deferred_content
from octavo.tui.render.diff_lines import estimate_height
from octavo.tui.render.diff_sequence import build_diff, build_side
from octavo.tui.render.diff_sides import SIDE_GAP, SideWidths, diff_block_at, diff_block_ranges, diff_cursor_bar
from octavo.tui.render.diff_units import ContextSize, DiffUnit, DiffUnits
from octavo.tui.render.failed_block import block_source
from octavo.tui.render.layout import render_block
from octavo.tui.render.layout_context import Folds, LayoutContext
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.thread_layout import render_diff_unit_or_threads
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.render.unit_layout import KEPT_WHOLE, LaidUnits, UnitLayout, lay_out_units
from octavo.tui.terminal import polite_thread
from octavo.tui.widgets.empty_states import nothing

if TYPE_CHECKING:
    from octavo.tui.reader.diff_view import DiffView

WIDEST = 108
"""Most cells of a side."""
SPLIT_FROM = 140
"""Columns that a terminal needs for a split diff."""
SPLIT_AT_FIRST_FROM = 200
"""Columns from which a diff is split until the user chooses another layout."""

Layout = Literal["changes", "sides", "new", "old"]


class DiffContents(Contents):
    """Changes of a page: unified, split, or only one version of a rewritten page."""

    pane: DiffView

    def __init__(self, pane: DiffView) -> None:
        super().__init__(pane)
        self._late = LateSources(pane)
        self.compared: PageComparison | None = None
        self.key = ""
        self.title = ""
        self.shows_source = False
        self.is_outcome = False
        """True for the preview of a merge result: comments are disabled."""
        self.threads: Mapping[str, Sequence[ThreadSummary]] = {}
        self.threads_elsewhere = False
        """True if other pages have open threads."""
        self.has_page_before = self.has_page_after = False
        """True if the change request has another page that K or J opens."""
        self.unfolding = ContextSize()
        self.changed = DiffUnits()
        """Units that are shown. The lines of the view belong to these units."""
        self.ready = DiffUnits()
        """Units that were built last. They are shown with the next layout."""
        self.making = DiffMaking(pane)
        self.of_source = DiffUnits()
        """Changes of the Markdown source, while they are shown."""
        self.made_for: Layout = "changes"
        """Layout of the units that are shown or being built."""
        self.sources = deferred_content(diagrams=False)  # Diagrams are compared as text.
        self.layout: Layout = "changes"
        self._chosen_split: bool | None = None
        """True if the user last chose the split layout. None before the first choice."""

    @property
    def has_any(self) -> bool:
        return self.compared is not None

    def empty_lines(self) -> list[Content]:
        if self.making.is_making:
            return []
        if self.is_outcome:
            said = "The resolved page and the version that it is compared with are identical."
            return nothing(said, "Press esc to go back to the conflicts")
        return nothing("No changes on this page.", "Press J for the next page" if self.has_page_after else "")

    # Layouts

    def is_old(self, block: Block) -> bool:
        """Return True if a block belongs to the old version."""
        return self.compared is not None and self.compared.is_old(block)

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """Layouts that are possible now, in the order of the `|` key."""
        is_rewritten = self.compared is not None and self.compared.diff.is_rewritten and not self.shows_source
        is_wide = self.pane.app.size.width >= SPLIT_FROM
        return (*(("new", "old") if is_rewritten else ()), "changes", *(("sides",) if is_wide else ()))

    @property
    def _is_split(self) -> bool:
        if self._chosen_split is None:
            return self.pane.app.size.width >= SPLIT_AT_FIRST_FROM
        return self._chosen_split

    @property
    def layout_now(self) -> Layout:
        """Layout that is shown."""
        wanted: Layout = self.layout if not self.shows_source else "sides" if self._is_split else "changes"
        return wanted if wanted in self.layouts else "changes"

    def lay_out_page(self) -> None:
        """Choose the layout of a newly opened page: the new version for a rewritten page, otherwise the last choice of
        the user."""
        is_rewritten = self.compared is not None and self.compared.diff.is_rewritten
        self.layout = "new" if is_rewritten else "sides" if self._is_split else "changes"

    def next_layout(self) -> None:
        """Switch to the next layout."""
        layouts = self.layouts
        self.layout = layouts[(layouts.index(self.layout_now) + 1) % len(layouts)]
        self._chosen_split = self.layout == "sides"
        self.making.make()

    @property
    def why_no_layout(self) -> str | None:
        """Disabled reason of the layout command. None if it is enabled."""
        if len(self.layouts) > 1:
            return None
        return f"The split view needs {SPLIT_FROM} columns. This terminal has only {self.pane.app.size.width}."

    # Laying out

    def units(self) -> Sequence[DiffUnit]:
        self.changed = self.ready
        return self.changed.units

    def layout_for(self, width: int, folds: Folds) -> UnitLayout:
        is_split, most = self.layout_now == "sides", max(24, width - 4)
        room = SideWidths.for_width(min(2 * WIDEST + SIDE_GAP if is_split else WIDEST, most), split=is_split)
        look, sources, written = self.pane.look, self.sources, self.written

        def set_with(sources: DeferredContent | None) -> Callable[[DiffUnit], list[Line]]:
            setting = LayoutContext(look, folds, render_block, room=room.side, deferred=sources, source_of=written)
            return lambda unit: render_diff_unit_or_threads(setting, unit, room)

        key = (width, is_split, look, id(folds), sources, sources.targets)
        return UnitLayout(key, estimate_height, set_with, 2, 0, sources, self.size <= KEPT_WHOLE)

    def set_unit_with(self, layout: UnitLayout, laid: LaidUnits | None) -> Callable[[Any], list[Line]]:
        return self._late.completed(self.sources, super().set_unit_with(layout, laid), laid)

    def laid_out(self, laid: LaidUnits) -> None:
        self._late.add(laid.missing)

    @property
    def size(self) -> int:
        """Number of characters of the longer version."""
        compared = self.compared
        return max(len(compared.old.source), len(compared.new.source)) if compared is not None else 0

    def wanted_units(self) -> tuple[DiffUnits, int]:
        """Return the changes to show, with units that are not built yet, and the size of the page."""
        layout = self.made_for = self.layout_now
        if self.compared is None:
            return DiffUnits(), 0
        if self.shows_source:
            return self.of_source, self.size
        if layout == "new" or layout == "old":
            return build_side(self.compared, layout, self.threads, self.title), self.size
        unfolding = deepcopy(self.unfolding)  # A copy: the thread reads it.
        is_split = layout == "sides"
        wanted = build_diff(self.compared.diff, unfolding, self.threads, self.title, side_by_side=is_split)
        return wanted, self.size

    def drop_units(self) -> None:
        """Show no units, and cancel building."""
        self.making.drop()
        self.changed = self.ready = DiffUnits()
        drop_lines(self.pane)

    def written(self, block: Block) -> str:
        if self.compared is None:
            return ""
        document = self.compared.old if self.compared.is_old(whole_block(block)) else self.compared.new
        return block_source(document.source, block)

    def together(self, unit: int) -> range:
        units, first, last = self.changed.units, unit, unit
        while units[first].slice_number > 1:
            first -= 1
        while last + 1 < len(units) and units[last + 1].slice_number > 1:
            last += 1
        return range(first, last + 1)

    @property
    def change_count(self) -> int:
        """Number of changes."""
        return self.changed.count

    # Selectable blocks and threads

    def stops_in(self, lines: list[Line]) -> list[tuple[int, int, Block]]:
        return diff_block_ranges(lines)

    def block_at(self, line: Line, cell: int) -> Block | None:
        return diff_block_at(line, cell)

    def bar_at(self, line: Line, inside: Container[int]) -> int | None:
        return diff_cursor_bar(line, inside)

    def reachable(self, found: list[Stop]) -> list[Stop]:
        # Scrolling never selects a block of the old version. Keys that move the cursor do.
        here = self.pane.cursor.at[1] if self.pane.cursor.at is not None else None
        return [stop for stop in found if stop[3] is here or not self.is_old(stop[3])] or found

    def set_threads(self, threads: Mapping[str, Sequence[ThreadSummary]]) -> None:
        """Show threads below their blocks, by block key. Threads with the key "" are at the top."""
        if threads != self.threads:
            self.threads = threads
            self.making.make()

    def has_open_on(self, key: str) -> bool:
        """Return True if the block `key` has an open thread."""
        return any(thread.is_open for thread in self.threads.get(key, ()))

    @property
    def thread_keys(self) -> set[str]:
        """Keys of all threads on the page."""
        return {each.key for row in self.threads.values() for each in row}

    @property
    def has_open_threads(self) -> bool:
        """True if the page has an open thread."""
        return any(map(self.has_open_on, self.threads))

    def thread_at(self, stop: Stop) -> Block | None:
        if stop[3].kind == "thread":
            return stop[3]
        return next((each for each in stop[3].walk() if each.key and self.has_open_on(each.key)), None)

    def wide_at(self, stop: Stop) -> Iterable[Block]:
        return [each for block in self.changed.units[stop[0]].blocks for each in block.walk()]

    def before_painting(self) -> None:
        self._late.ask(self.sources)


class _Making:
    """Units that are being built."""

    def __init__(self, changes: DiffUnits, layout: UnitLayout | None) -> None:
        self.changes, self._layout = changes, layout
        self.laid: LaidUnits | None = None
        self.is_done = threading.Event()

    def steps(self) -> Iterator[object]:
        """Build the units and lay them out. Yields after each unit."""
        yield from self.changes.build()
        if self._layout is not None:
            self.laid = yield from lay_out_units(self._layout, self.changes.units, range(len(self.changes.units)))
        self.is_done.set()


class DiffMaking:
    """Builds the units of a diff. Until they are complete, the previous units stay visible."""

    def __init__(self, pane: DiffView) -> None:
        self.pane = pane
        self._making: _Making | None = None
        self._work: polite_thread.Work | None = None
        self._then: Callable[[], object] | None = None

    @property
    def is_making(self) -> bool:
        """True while units are being built."""
        return self._making is not None

    def make(self, then: Callable[[], object] | None = None) -> None:
        """Build all units, and call `then` once they are shown. Without `then`, the callback of a canceled build is
        called."""
        self._then = then or self._then
        self.stop()
        changes, size = self.pane.contents.wanted_units()
        if size < SHORT:
            self._take(_Making(changes.complete(), None))
            return
        self._making = making = _Making(changes, self.pane.background.prepare(self.pane.folds, size))
        self._work = polite_thread.thread.begin(self._steps(making), partial(fail, self.pane))
        if making.is_done.wait(WAIT):
            self._take(making)

    def stop(self) -> None:
        """Cancel building."""
        if self._work is not None:
            self._work.stop()
        self._making = self._work = None

    def drop(self) -> None:
        """Cancel building, and the callback."""
        self.stop()
        self._then = None

    def _steps(self, making: _Making) -> Iterator[object]:
        yield from making.steps()
        self.pane.call_later(self._take_late, making)

    def _take_late(self, making: _Making) -> None:
        if making is self._making:
            self._take(making)

    def _take(self, making: _Making) -> None:
        self._making = self._work = None
        then, self._then = self._then, None
        self.pane.place.made(making.changes, making.laid)
        if then is not None:
            then()
