"""The background thread for long work, such as parsing. After each key press, it pauses until a frame is written."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

THREAD_WAIT = 0.02
"""Seconds for which the event loop waits for a result of the background thread before going on without it."""
_MAX_FRAME_WAIT = 0.2
"""Maximum seconds for which the background thread pauses until a frame is written."""
_is_written = threading.Event()
_is_written.set()


def expect_frame() -> None:
    """Make the background thread pause before its next step, because a frame follows soon, for example after a key."""
    _is_written.clear()


def on_frame_written() -> None:
    """Let the background thread continue, for example because a frame was written to the terminal."""
    _is_written.set()


class Work:
    """Work that the background thread does in steps. Between two steps, the thread can pause or stop."""

    def __init__(self, steps: Iterator[object], on_error: Callable[[Exception], object]) -> None:
        """Each step is one `next` of `steps`. If a step raises an error, `on_error` is called in the thread with the
        error, and no more steps run."""
        self._steps, self._on_error = steps, on_error
        self._context = copy_context()
        self.is_stopped = False

    def stop(self) -> None:
        """Run no more steps of this work."""
        self.is_stopped = True

    def step(self) -> bool:
        """Run the next step, after the expected frame. Return False if the work is done, was stopped or failed."""
        if not _is_written.wait(_MAX_FRAME_WAIT):
            _is_written.set()  # No frame was written, so the last key probably changed nothing on the screen.
        if self.is_stopped:
            return False
        try:
            self._context.run(next, self._steps)
        except StopIteration:
            return False
        except Exception as error:  # noqa: BLE001  # The caller gets the error.
            self._context.run(self._on_error, error)
            return False
        return True


class PoliteThread:
    """A thread that does one piece of work after the other, the newest first."""

    def __init__(self) -> None:
        self._pending_works: list[Work] = []
        self._has_work = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        """True if no work is running or waiting."""
        return not self._pending_works

    def begin(self, steps: Iterator[object], on_error: Callable[[Exception], object]) -> Work:
        """Run `steps` in the thread, before earlier works continue. Return the new work. Parameters: see `Work`."""
        work = Work(steps, on_error)
        with self._has_work:
            self._pending_works.append(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="octavo-reading", daemon=True)
                self._thread.start()
            self._has_work.notify()
        return work

    def wait(self, is_done: threading.Event, extra_seconds: float = 0.0) -> bool:
        """Block the event loop until `is_done` is set, but at most `THREAD_WAIT` and `extra_seconds`. Return True if it
        is set. Otherwise, the thread pauses before its next step, because the event loop will now paint a frame."""
        on_frame_written()
        if not is_done.wait(THREAD_WAIT + extra_seconds):
            expect_frame()
        return is_done.is_set()

    def _run(self) -> None:
        while True:
            with self._has_work:
                while not self._pending_works:
                    self._has_work.wait()
                work = self._pending_works[-1]
            if not work.step():
                with self._has_work:
                    self._pending_works.remove(work)
                del work  # Otherwise, the variable keeps the page in memory while the thread waits.


background_thread = PoliteThread()
"""The background thread of the app. There is only one."""
