"""What a page, or its diff, is set by: its units, made a while at a time."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

U = TypeVar("U")


class UnitReader(Generic[U]):
    """Units, as they come."""

    def __init__(self, coming: Iterator[U | None] | None = None) -> None:
        """`coming` gives them one by one, and None wherever one may stop for a while."""
        self.units: list[U] = []
        """Those that are made so far."""
        self._coming = deque([coming] if coming is not None else [])

    @property
    def is_done(self) -> bool:
        """Whether all that came is cut, as far as that was tried."""
        return not self._coming

    def add(self, coming: Iterator[U | None]) -> None:
        """Take more units, which stand below the others."""
        self._coming.append(coming)

    def cut(self, seconds: float = math.inf, steps: int = 0) -> bool:
        """Cut for about so long, and so many steps in any case. True when all that came is cut."""
        until = time.perf_counter() + seconds
        while self._coming:
            for unit in self._coming[0]:
                if unit is not None:
                    self.units.append(unit)
                steps -= 1
                if steps < 0 and time.perf_counter() >= until:
                    return False
            self._coming.popleft()
        return True
