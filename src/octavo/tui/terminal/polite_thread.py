"""One thread for long work on pages and diffs. The work gives way while a frame is awaited."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context

_LONGEST = 0.1
"""Seconds for which work waits for a frame."""
_is_written = threading.Event()
_is_written.set()


def expect_frame() -> None:
    """Let work wait for the next frame, which answers a key."""
    _is_written.clear()


def frame_written() -> None:
    """Let work go on."""
    _is_written.set()


class Work:
    """Steps that are done in the thread until there are no more, or until the work is stopped."""

    def __init__(self, steps: Iterator[object], failed: Callable[[Exception], object]) -> None:
        """`failed` is called in the thread with an error that ends the steps."""
        self._steps, self._failed = steps, failed
        self._context = copy_context()
        self.is_stopped = False

    def stop(self) -> None:
        """Do no more steps."""
        self.is_stopped = True

    def step(self) -> bool:
        """Do one step, after the frame that is awaited. Return whether there may be more steps."""
        if not _is_written.wait(_LONGEST):
            _is_written.set()  # the key changed nothing that is on the screen
        if self.is_stopped:
            return False
        try:
            self._context.run(next, self._steps)
        except StopIteration:
            return False
        except Exception as error:  # noqa: BLE001  # it is raised again where the work is wanted
            self._context.run(self._failed, error)
            return False
        return True


class PoliteThread:
    """A thread that does the work that was begun last first. It starts with the first work."""

    def __init__(self) -> None:
        self._works: list[Work] = []
        self._has_work = threading.Condition()
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        """Whether all work is done."""
        return not self._works

    def begin(self, steps: Iterator[object], failed: Callable[[Exception], object], *, soon: bool = True) -> Work:
        """Do these steps in the thread, before all other work, or after it if they need not be done `soon`."""
        work = Work(steps, failed)
        with self._has_work:
            self._works.insert(len(self._works) if soon else 0, work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="octavo-reading", daemon=True)
                self._thread.start()
            self._has_work.notify()
        return work

    def _run(self) -> None:
        while True:
            with self._has_work:
                while not self._works:
                    self._has_work.wait()
                work = self._works[-1]
            if not work.step():
                with self._has_work:
                    self._works.remove(work)
                del work  # else the page it read stays in memory until there is other work


thread = PoliteThread()
"""The thread of the app."""
