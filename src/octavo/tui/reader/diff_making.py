"""Builds the units of a diff and lays them out: in the thread if the page is long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from octavo.tui.reader.pane import SHORT, WAIT, fail
from octavo.tui.render.diff_units import DiffUnits
from octavo.tui.render.unit_layout import LaidUnits, UnitLayout, lay_out_units
from octavo.tui.terminal import polite_thread

if TYPE_CHECKING:
    from octavo.tui.reader.diff_view import DiffView


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
