"""Makes the units of a diff and lays them out, in the thread if the page is long."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial

from octavo.tui.reader.pane import SHORT, WAIT, Pane, fail
from octavo.tui.render.diff_units import DiffUnits
from octavo.tui.render.layout_context import Folds
from octavo.tui.render.unit_layout import LaidUnits, UnitLayout, lay_out_units
from octavo.tui.terminal import polite_thread


class _Making:
    """Units that are being made."""

    def __init__(self, changes: DiffUnits, layout: UnitLayout | None) -> None:
        self.changes, self._layout = changes, layout
        self.laid: LaidUnits | None = None
        self.is_done = threading.Event()

    def steps(self) -> Iterator[object]:
        """Make the units, lay them out, and pause after each."""
        yield from self.changes.build()
        if self._layout is not None:
            self.laid = yield from lay_out_units(self._layout, self.changes.units, range(len(self.changes.units)))
        self.is_done.set()


class DiffMaking:
    """Makes the units of a diff. The units on show stay until the others are made."""

    def __init__(
        self,
        pane: Pane,
        prepare: Callable[[Folds, int], UnitLayout | None],
        wanted: Callable[[], tuple[DiffUnits, int]],
        made: Callable[[DiffUnits, LaidUnits | None], None],
    ) -> None:
        """`prepare` is that of `BackgroundLayout`. `wanted` returns the changes to make and the size of the page. `made` is
        called with the changes that are made."""
        self.pane, self._prepare, self._wanted, self._made = pane, prepare, wanted, made
        self._making: _Making | None = None
        self._work: polite_thread.Work | None = None
        self._then: Callable[[], object] | None = None

    @property
    def is_making(self) -> bool:
        """Whether other units than those on show are wanted, and not all made yet."""
        return self._making is not None

    def make(self, then: Callable[[], object] | None = None) -> None:
        """Make all units anew, and call `then` once they are on show. Without it, call what was to be called for the units
        that were being made."""
        self._then = then or self._then
        self.stop()
        changes, size = self._wanted()
        if size < SHORT:
            self._take(_Making(changes.complete(), None))
            return
        self._making = making = _Making(changes, self._prepare(self.pane.folds, size))
        self._work = polite_thread.thread.begin(self._steps(making), partial(fail, self.pane))
        if making.is_done.wait(WAIT):
            self._take(making)

    def stop(self) -> None:
        """Make no more units."""
        if self._work is not None:
            self._work.stop()
        self._making = self._work = None

    def drop(self) -> None:
        """Make no more units, and call nothing."""
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
        self._made(making.changes, making.laid)
        if then is not None:
            then()
