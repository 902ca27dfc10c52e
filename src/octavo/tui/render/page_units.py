"""A page cut into the units that are set at once: each block once, and a while at a time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from octavo.documents.blocks import Block
from octavo.tui.render.layout import Unit, units


class UnitReader:
    """Units of blocks, as these come."""

    def __init__(self, blocks: Sequence[Block] = ()) -> None:
        self.units: list[Unit] = []
        """Those that are cut so far."""
        self._blocks = list(blocks)
        self._taken = 0
        self._now: Iterator[Unit] = iter(())

    @property
    def is_done(self) -> bool:
        """Whether all that came is cut, as far as that was tried."""
        return self._taken == len(self._blocks) and self._is_through

    _is_through = True

    def add(self, blocks: Sequence[Block]) -> None:
        """Take more blocks, which stand below the others."""
        self._blocks += blocks

    def cut(self, seconds: float = math.inf) -> bool:
        """Cut for about so long. True when all that came is cut."""
        until = time.perf_counter() + seconds
        while not self.is_done:
            unit = next(self._now, None)
            if unit is None and self._taken < len(self._blocks):
                before = self._blocks[self._taken - 1] if self._taken else None
                self._now, self._is_through = units(self._blocks[self._taken : self._taken + 1], before), False
                self._taken += 1
            elif unit is None:
                self._is_through = True
            else:
                self.units.append(unit)
            if time.perf_counter() >= until:
                break
        return self.is_done
