"""Calls that wait until the user pauses, such as saving a draft or loading the details of the selected row."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual.message_pump import MessagePump
from textual.timer import Timer


class Delay:
    """A call that is made after a delay. At most one call waits at a time."""

    def __init__(self, pump: MessagePump) -> None:
        """`pump` is the widget, screen or app for the call. Its removal cancels the call."""
        self._pump = pump
        self._timer: Timer | None = None

    @property
    def is_waiting(self) -> bool:
        return self._timer is not None

    def start(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call` after `seconds`. Cancel a waiting call."""

        def run() -> object:
            self._timer = None
            return call()

        self.stop()
        self._timer = self._pump.set_timer(seconds, run)

    def start_once(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call` after `seconds`. Do nothing if a call is already waiting."""
        if self._timer is None:
            self.start(seconds, call)

    def stop(self) -> None:
        """Cancel the waiting call."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None


class DraftDelay(Delay):
    """Saves a draft 0.3 seconds after the last key, but within 1 second."""

    AFTER_LAST = 0.3
    AT_MOST = 1.0

    def __init__(self, pump: MessagePump) -> None:
        super().__init__(pump)
        self._first_unsaved: float | None = None

    @property
    def has_unsaved(self) -> bool:
        """True if typed text is not saved yet."""
        return self._first_unsaved is not None

    def seconds_until_save(self, now: float) -> float:
        """Record a key press at `now`. Return the seconds to wait before saving, which are never 0."""
        if self._first_unsaved is None:
            self._first_unsaved = now
        return max(0.01, min(self.AFTER_LAST, self._first_unsaved + self.AT_MOST - now))

    def save_soon(self, save: Callable[[], object]) -> None:
        """Call `save` when the user pauses. Must be called after each key."""
        self.start(self.seconds_until_save(monotonic()), save)

    def mark_saved(self) -> None:
        """Record that all typed text is saved."""
        self._first_unsaved = None
        self.stop()
