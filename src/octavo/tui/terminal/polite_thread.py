"""The thread for long work, which pauses until the screen has shown the effect of the last key."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

THREAD_WAIT = 0.02
"""Seconds that the event loop waits for the background thread before it paints without the result."""
_LONGEST_WAIT = 0.1
"""Longest time for which work waits for a frame, in seconds."""
_is_written = threading.Event()
_is_written.set()


def expect_frame() -> None:
    """Return at once, but let the background thread pause before its next step, until a frame is written or for
    `_LONGEST_WAIT`. Called when a frame is expected soon: when a key is read, or when the first screen of a page is
    ready."""
    _is_written.clear()


def frame_written() -> None:
    """Let the background thread continue after `expect_frame`. Called when a frame is written to the terminal."""
    _is_written.set()


class Work:
    """A piece of work for the thread: its steps run one after the other, until the work is stopped."""

    def __init__(self, steps: Iterator[object], on_error: Callable[[Exception], object]) -> None:
        """`on_error` is called in the thread with an error that ends the steps."""
        self._steps, self._on_error = steps, on_error
        self._context = copy_context()
        self.is_stopped = False

    def stop(self) -> None:
        """Run no more steps."""
        self.is_stopped = True

    def step(self) -> bool:
        """Run one step, after the next frame if a frame is expected. Return False after the last step."""
        if not _is_written.wait(_LONGEST_WAIT):
            _is_written.set()  # No frame came in time: the last key probably changed nothing on the screen.
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
    """A thread that does the newest work first. It is started when the first work begins."""

    def __init__(self) -> None:
        self._works: list[Work] = []
        self._has_work = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        """True if no work is waiting or running."""
        return not self._works

    def begin(self, steps: Iterator[object], on_error: Callable[[Exception], object], *, soon: bool = True) -> Work:
        """Run steps in the thread: before all other work if `soon`, else after it. The caller can stop the returned work."""
        work = Work(steps, on_error)
        with self._has_work:
            self._works.insert(len(self._works) if soon else 0, work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="octavo-reading", daemon=True)
                self._thread.start()
            self._has_work.notify()
        return work

    def wait(self, is_done: threading.Event) -> bool:
        """Block the event loop until work sets `is_done`, for at most `THREAD_WAIT`. Return True if it is set. The work
        does not wait for a frame meanwhile, because a blocked event loop cannot write one."""
        frame_written()
        return is_done.wait(THREAD_WAIT)

    def _run(self) -> None:
        while True:
            with self._has_work:
                while not self._works:
                    self._has_work.wait()
                work = self._works[-1]
            if not work.step():
                with self._has_work:
                    self._works.remove(work)
                del work  # Otherwise its page stays in memory until the next work.


thread = PoliteThread()
"""The only `PoliteThread` of the app."""
