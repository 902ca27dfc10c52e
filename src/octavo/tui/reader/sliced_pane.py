"""A pane whose units are made a while at a time: what is on show stays until all of them are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from octavo.tui.reader.pane_state import Stateful
from octavo.tui.render.page_units import UnitReader
from octavo.tui.render.virtual_lines import VirtualLines

FEW, FIRST = 2_000, 0.012
"""Steps that are made at once in any case, and seconds of work before the first pause."""


class Sliced(Stateful):
    """A reader of units that take long to be made. A subclass says which are wanted (`wanted_units`), and sets those that
    are there (`units_there`) in a width."""

    units_there: VirtualLines[Any] = VirtualLines((), lambda unit: 0, lambda unit: [])
    """All units, about as high as they are guessed to be."""
    _coming: VirtualLines[Any] = units_there
    """Those that are made so far."""
    _making: UnitReader[Any] | None = None
    """Makes them. None while nothing is made."""
    _then: Callable[[], object] | None = None

    def wanted_units(self) -> UnitReader[Any]:
        """What makes the units that are to be shown."""
        raise NotImplementedError

    def guess_unit(self, unit: Any) -> int:
        """About how many lines a unit takes, without setting it."""
        raise NotImplementedError

    def made(self, units: UnitReader[Any]) -> None:
        """All units that were wanted are there: set them instead of what is on show."""
        raise NotImplementedError

    @property
    def why_empty(self) -> str:
        return "This page is still being laid out." if self.is_making else super().why_empty

    @property
    def is_making(self) -> bool:
        """Whether other units than those on show are wanted, and not all made yet."""
        return self._making is not None

    def make_units(self, then: Callable[[], object] | None = None) -> None:
        """Make all units anew, and do `then` once they are on show: at once where they are few. What was to be done with
        those that were being made is done with these, unless something else is."""
        self._then = then or self._then
        self._coming, self._making = VirtualLines((), self.guess_unit, lambda unit: []), self.wanted_units()
        self._make_on(FIRST, FEW)
        self.refine_soon()

    def no_units(self) -> None:
        """Show none, and make none."""
        self._making = self._then = None
        self.units_there = VirtualLines((), self.guess_unit, lambda unit: [])

    def _make_on(self, seconds: float, steps: int = 0) -> None:
        if (cutting := self._making) is None:
            return
        is_done = cutting.cut(seconds / 2, steps)  # to guess how high they are takes no longer than to make them
        self._coming.extend(cutting.units[len(self._coming) :])
        if is_done:
            self._making, self.units_there = None, self._coming
            then, self._then = self._then, None
            self.made(cutting)
            if then is not None:
                then()

    @property
    def has_work(self) -> bool:
        return self._making is not None or super().has_work

    def work(self, seconds: float) -> bool:
        if self._making is None:
            return super().work(seconds)
        self._make_on(seconds if len(self.galley) else max(seconds, FIRST))
        return False
