"""Making the units of a pane a while at a time: what is on show stays until all of them are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from octavo.tui.reader.pane import Pane
from octavo.tui.render.page_units import UnitReader
from octavo.tui.render.virtual_lines import VirtualLines

FEW, FIRST = 2_000, 0.012
"""Steps that are made at once in any case, and seconds of work before the first pause."""
U = TypeVar("U")
R = TypeVar("R", bound=UnitReader[Any])


class UnitMaking(Generic[U, R]):
    """Units that take long to be made."""

    def __init__(
        self, pane: Pane, guess: Callable[[U], int], wanted: Callable[[], R], made: Callable[[R], None]
    ) -> None:
        """`guess` says about how many lines a unit takes, `wanted` gives what makes those that are to be shown, and `made`
        is told when all of them are there."""
        self.pane, self._guess, self._wanted, self._made = pane, guess, wanted, made
        self.units: VirtualLines[U] = VirtualLines((), guess, lambda unit: [])
        """All units, about as high as they are guessed to be."""
        self._coming = self.units
        """Those that are made so far."""
        self._making: R | None = None
        """Makes them. None while nothing is made."""
        self._then: Callable[[], object] | None = None

    @property
    def is_making(self) -> bool:
        """Whether other units than those on show are wanted, and not all made yet."""
        return self._making is not None

    def make(self, then: Callable[[], object] | None = None) -> None:
        """Make all units anew, and do `then` once they are on show: at once where they are few. What was to be done with
        those that were being made is done with these, unless something else is."""
        self._then = then or self._then
        self._coming, self._making = VirtualLines((), self._guess, lambda unit: []), self._wanted()
        self.make_on(FIRST, FEW)
        self.pane.work_soon()

    def drop(self) -> None:
        """Have none, and make none."""
        self._making = self._then = None
        self.units = VirtualLines((), self._guess, lambda unit: [])

    def make_on(self, seconds: float, steps: int = 0) -> None:
        """Make them for so long, and so many steps in any case."""
        if (cutting := self._making) is None:
            return
        is_done = cutting.cut(seconds / 2, steps)  # to guess how high they are takes no longer than to make them
        self._coming.extend(cutting.units[len(self._coming) :])
        if is_done:
            self._making, self.units = None, self._coming
            then, self._then = self._then, None
            self._made(cutting)
            if then is not None:
                then()
