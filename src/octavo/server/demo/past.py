"""What the demo is built with, as if in the past: a clock that is set, and ids that are given."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime


@dataclass
class Clock:
    """Shows the moment that is told."""

    moment: datetime

    def __call__(self) -> datetime:
        return self.moment


@dataclass
class Names:
    """Makes ids of the name of what is being made: `retries`, then `retries-2`, ..."""

    name: str = ""
    _made: Counter[str] = field(default_factory=Counter)

    def __call__(self) -> str:
        self._made[self.name] += 1
        number = self._made[self.name]
        return self.name if number == 1 else f"{self.name}-{number}"
