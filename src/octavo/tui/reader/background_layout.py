"""Layout in the thread: lays out the units of a reader before they scroll into view."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.tui.reader.pane import fail
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.unit_layout import KEPT_WHOLE, LaidUnits, UnitLayout, lay_out_units
from octavo.tui.render.virtual_lines import VirtualLines
from octavo.tui.terminal import polite_thread

if TYPE_CHECKING:
    from octavo.tui.reader.reading_pane import Reader

FEW_LINES = 300
"""Pages with fewer lines are laid out without the thread."""


class BackgroundLayout:
    """Lays out the units of a reader that were not visible yet."""

    def __init__(self, pane: Reader) -> None:
        self.pane = pane
        self._layout: UnitLayout | None = None
        """Layout of the units that are shown."""
        self._prepared: UnitLayout | None = None
        self._work: polite_thread.Work | None = None
        self._galley: VirtualLines[Any] | None = None
        """Lines that the thread works on."""

    @property
    def is_busy(self) -> bool:
        """True while the thread lays out units of the reader."""
        return self._galley is not None and self._galley is self.pane.galley

    def prepare(self, folds: Folds, size: int) -> UnitLayout | None:
        """Return the layout of a page of `size` characters, for use in a thread. None if the reader has no width yet.

        The next call of `lines` uses the same layout if the reader has not changed."""
        self._prepared = None
        if self.pane.pane_width > 0:
            layout = self.pane.contents.layout_for(self.pane.pane_width, folds)
            self._prepared = layout._replace(keeps_lines=size <= KEPT_WHOLE)
        return self._prepared

    def lines(self, laid: LaidUnits | None) -> VirtualLines[Any]:
        """Return the lines of the reader's contents. `laid` has the units that a thread laid out."""
        contents, prepared, self._prepared = self.pane.contents, self._prepared, None
        layout = contents.layout_for(self.pane.set_width, self.pane.folds)
        if prepared is not None and prepared.key == layout.key:
            layout = prepared
        if laid is not None and laid.layout is not layout:
            laid = None  # The width or the theme has changed since.
        contents.margin, contents.measure, self._layout = layout.margin, layout.measure, layout
        set_unit = contents.set_unit_with(layout, laid)
        return VirtualLines(contents.units(), layout.estimate_height, set_unit, laid, keeps_all=layout.keeps_lines)

    def lay_out_short(self) -> None:
        """Lay out a short page completely."""
        if self.pane.galley.total <= FEW_LINES:
            self.pane.galley.lay_out_some(FEW_LINES)

    def begin(self) -> None:
        """Lay out the units that have an estimated height: a short page immediately, a longer page in the thread."""
        galley, layout = self.pane.galley, self._layout
        if self.is_busy or not galley.unset or layout is None:
            return
        self.lay_out_short()
        if not galley.unset or not self.pane.contents.is_whole:
            self.pane.tell_length()
            return  # The thread lays out the whole page after parsing it.
        self.stop()
        galley.forgotten.clear()
        self._galley = galley
        self._work = polite_thread.thread.begin(self._steps(galley, layout), partial(fail, self.pane))

    def stop(self) -> None:
        """Stop the layout in the thread."""
        if self._work is not None:
            self._work.stop()
        self._work = self._galley = None

    def _steps(self, galley: VirtualLines[Any], layout: UnitLayout) -> Iterator[None]:
        laid = yield from lay_out_units(layout, [*galley.units], galley.unset_units())
        self.pane.call_later(self._take, galley, laid)

    def _take(self, galley: VirtualLines[Any], laid: LaidUnits) -> None:
        if galley is not self._galley:
            return
        self.stop()
        if galley is self.pane.galley:
            self.take(laid)
            self.pane.work_soon()

    def take(self, laid: LaidUnits, more: Sequence[Any] = ()) -> None:
        """Use the units that a thread laid out, and append the units `more`."""
        if laid.layout is self._layout:
            self.pane.contents.laid_out(laid)
        else:
            laid = laid._replace(heights={}, lines={})  # The width or the theme has changed since.
        self.pane.galley.extend(more, laid)
        self.pane.tell_length()
        if more:
            self.pane.repaint()
