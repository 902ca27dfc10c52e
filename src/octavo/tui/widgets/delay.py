"""Calls that are made later, when the user pauses: to save a draft, or to load the details of the selected row."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from textual.message_pump import MessagePump
from textual.timer import Timer


class Delay:
    """A function call that is made after some seconds. At most one call waits at a time."""

    def __init__(self, pump: MessagePump) -> None:
        """`pump` is the widget, screen or app that makes the calls. If it is removed, the waiting call is canceled."""
        self._pump = pump
        self._timer: Timer | None = None

    @property
    def is_waiting(self) -> bool:
        return self._timer is not None

    def start(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call` after `seconds`. If another call still waits, cancel it."""

        def run() -> object:
            self._timer = None
            return call()

        self.stop()
        self._timer = self._pump.set_timer(seconds, run)

    def start_once(self, seconds: float, call: Callable[[], object]) -> None:
        """Call `call` after `seconds`. If an earlier call is still scheduled, do nothing."""
        if self._timer is None:
            self.start(seconds, call)

    def stop(self) -> None:
        """Cancel the call that waits, if there is one."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None


class DraftDelay(Delay):
    """Saves a draft when the user has not typed for 0.3 seconds, or at the latest after 1 second."""

    SECONDS_AFTER_LAST_KEY = 0.3
    MAX_SECONDS = 1.0

    def __init__(self, pump: MessagePump) -> None:
        super().__init__(pump)
        self._first_unsaved: float | None = None

    @property
    def has_unsaved(self) -> bool:
        """True if the user has typed something that is not saved yet."""
        return self._first_unsaved is not None

    def record_typing(self, now: float) -> float:
        """Record that the user typed at the time `now`. Return the seconds until the draft must be saved, above 0."""
        if self._first_unsaved is None:
            self._first_unsaved = now
        return max(0.01, min(self.SECONDS_AFTER_LAST_KEY, self._first_unsaved + self.MAX_SECONDS - now))

    def save_soon(self, save: Callable[[], object]) -> None:
        """Call `save` when the user pauses, or after `MAX_SECONDS` of typing. Call this method after each key."""
        self.start(self.record_typing(monotonic()), save)

    def mark_saved(self) -> None:
        """Record that all typed text is saved, and cancel the waiting call."""
        self._first_unsaved = None
        self.stop()
