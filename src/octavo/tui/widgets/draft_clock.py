"""When what is typed is kept as a draft, and the app that says when it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class SavesOnExit(Protocol):
    """An app that calls these when the terminal goes away."""

    before_end: set[Callable[[], None]]


class DraftClock:
    """When to keep a draft: 300 ms after the last key, and at most 1 s after the first that is not kept. In seconds."""

    AFTER_LAST = 0.3
    AT_MOST = 1.0

    def __init__(self) -> None:
        self._first: float | None = None

    def typed(self, now: float) -> float:
        """How long to wait from `now` on, if no other key comes; never no time at all."""
        if self._first is None:
            self._first = now
        return max(0.01, min(self.AFTER_LAST, self._first + self.AT_MOST - now))

    def kept(self) -> None:
        """Everything typed so far is kept."""
        self._first = None
