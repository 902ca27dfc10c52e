"""Layout that no key waits for: in the thread before units scroll into view, and again when deferred content arrives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.tui.reader.contents import raise_in_pane
from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.styled_lines import Line
from octavo.tui.render.virtual_lines import KEPT_WHOLE, LaidUnits, UnitLayout, VirtualLines, lay_out_units
from octavo.tui.terminal import polite_thread

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader
    from octavo.tui.render.virtual_lines import LaidUnits

Missing = list[tuple[AsyncCache[Any, Any], Any]]
"""Deferred content: the cache that loads it, and its key."""
FEW_LINES = 300
"""Pages with fewer lines are laid out without the thread."""


class BackgroundLayout:
    """Lays out units before they are visible, and again when deferred content such as link titles arrives."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._layout: UnitLayout | None = None
        """Layout of the units that are shown."""
        self._prepared: UnitLayout | None = None
        self._work: polite_thread.Work | None = None
        self._virtual_lines: VirtualLines[Any] | None = None
        """Lines that the thread works on."""
        self._missing: dict[int, Missing] = {}
        """Deferred content that each unit lacked when it was laid out, by the identity of the unit."""

    @property
    def is_busy(self) -> bool:
        """True while the thread lays out units of the pane."""
        return self._virtual_lines is not None and self._virtual_lines is self.pane.virtual_lines

    def prepare(self, folds: Folds, size: int) -> UnitLayout | None:
        """Return the layout of a page of `size` characters, for use in a thread. None if the pane has no width yet.

        The next call of `lines` uses the same layout if the pane has not changed."""
        self._prepared = None
        if self.pane.pane_width > 0:
            layout = self.pane.contents.layout_for(self.pane.pane_width, folds)
            self._prepared = layout._replace(keeps_lines=size <= KEPT_WHOLE)
        return self._prepared

    def lines(self, laid: LaidUnits | None) -> VirtualLines[Any]:
        """Return the lines of the pane's contents. `laid` has the units that a thread laid out."""
        contents, prepared, self._prepared = self.pane.contents, self._prepared, None
        layout = contents.layout_for(self.pane.layout_width, self.pane.folds)
        if prepared is not None and prepared.key == layout.key:
            layout = prepared
        if laid is not None and laid.layout is not layout:
            laid = None  # The width or the theme has changed since.
        contents.margin, contents.line_width, self._layout = layout.margin, layout.measure, layout
        render, self._missing = layout.renderer_with(layout.sources), {}
        if layout.sources is not None:
            self._missing = {**laid.missing} if laid is not None else {}
            render = self._recording(render, layout.sources, self._missing)
        return VirtualLines(contents.units(), layout.estimate_height, render, laid, keeps_all=layout.keeps_lines)

    def lay_out_short(self) -> None:
        """Lay out a short page completely."""
        if self.pane.virtual_lines.total <= FEW_LINES:
            self.pane.virtual_lines.lay_out_some(FEW_LINES)

    def begin(self) -> None:
        """Lay out the units that have an estimated height: a short page immediately, a longer page in the thread."""
        virtual_lines, layout = self.pane.virtual_lines, self._layout
        if self.is_busy or not virtual_lines.unset or layout is None:
            return
        self.lay_out_short()
        if not virtual_lines.unset or not self.pane.contents.is_whole:
            self.pane.update_scroll_bar()
            return  # The thread lays out the whole page after parsing it.
        self.stop()
        virtual_lines.forgotten.clear()
        self._virtual_lines = virtual_lines
        self._work = polite_thread.thread.begin(self._steps(virtual_lines, layout), partial(raise_in_pane, self.pane))

    def stop(self) -> None:
        """Stop the layout in the thread."""
        if self._work is not None:
            self._work.stop()
        self._work = self._virtual_lines = None

    def _steps(self, virtual_lines: VirtualLines[Any], layout: UnitLayout) -> Iterator[None]:
        laid = yield from lay_out_units(layout, [*virtual_lines.units], virtual_lines.unset_units())
        self.pane.call_later(self._take, virtual_lines, laid)

    def _take(self, virtual_lines: VirtualLines[Any], laid: LaidUnits) -> None:
        if virtual_lines is not self._virtual_lines:
            return
        self.stop()
        if virtual_lines is self.pane.virtual_lines:
            self.take(laid)
            self.pane.continue_work()

    def take(self, laid: LaidUnits, more: Sequence[Any] = ()) -> None:
        """Use the units that a thread laid out, and append the units `more`."""
        if laid.layout is self._layout:
            self._missing |= {unit: missing for unit, missing in laid.missing.items() if unit not in self._missing}
        else:
            laid = laid._replace(heights={}, lines={})  # The width or the theme has changed since.
        self.pane.virtual_lines.extend(more, laid)
        self.pane.update_scroll_bar()
        if more:
            self.pane.repaint()

    # Deferred content

    def _recording(
        self, render: Callable[[Any], list[Line]], deferred: DeferredContent, missing: dict[int, Missing]
    ) -> Callable[[Any], list[Line]]:
        """Return a function that lays out a unit with `render` and records the deferred content it lacks."""

        def render_and_record(unit: Any) -> list[Line]:
            deferred.take_missing()
            lines = render(unit)
            if missed := deferred.take_missing():
                missing[id(unit)] = missed
            return lines

        return render_and_record

    def request_deferred(self) -> None:
        """Request the deferred content of the visible units."""
        pane = self.pane
        if not self._missing or self._layout is None or self._layout.sources is None or not pane.is_running:
            return
        for unit in {row[0] for row in pane.painter.visible_rows}:
            for cache, key in self._missing.get(id(pane.virtual_lines.units[unit]), ()):
                cache.request(key)
        for cache in self._layout.sources:
            if cache.has_requests:
                pane.run_worker(self._load(cache), group="late")

    async def _load(self, cache: AsyncCache[Any, Any]) -> None:
        """Load requested content, and lay out the units that lacked it."""
        pane = self.pane
        while await cache.load_requested():
            virtual_lines, total = pane.virtual_lines, pane.virtual_lines.total
            affected = {
                unit
                for unit, missing in self._missing.items()
                if any(source is cache and cache.knows(key) for source, key in missing)
            }
            for index, unit in enumerate(virtual_lines.units) if affected else ():
                if id(unit) in affected:
                    self._missing.pop(id(unit))
                    virtual_lines.forget(index)
            for index in {row[0] for row in pane.painter.visible_rows if row[0] < len(virtual_lines)}:
                virtual_lines.lines(index)
            if virtual_lines.total != total:
                pane.lines_changed()
                pane.update_scroll_bar()
                pane.cursor.keep_visible()
            pane.repaint()
            pane.continue_work()
