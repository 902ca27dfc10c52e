"""The time at which typed text is saved as a draft."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable


@runtime_checkable
class SavesOnExit(Protocol):
    """An app that calls the functions in `before_end` before it exits or when its terminal is closed."""

    before_end: set[Callable[[], None]]


class DraftClock:
    """Computes when to save a draft: 0.3 seconds after the last key, and at most 1 second after the first unsaved key."""

    AFTER_LAST = 0.3
    AT_MOST = 1.0

    def __init__(self) -> None:
        self._first_unsaved: float | None = None

    def seconds_until_save(self, now: float) -> float:
        """Return how many seconds to wait before saving if no other key follows. The result is never 0."""
        if self._first_unsaved is None:
            self._first_unsaved = now
        return max(0.01, min(self.AFTER_LAST, self._first_unsaved + self.AT_MOST - now))

    def mark_saved(self) -> None:
        """Note that all typed text is saved."""
        self._first_unsaved = None
