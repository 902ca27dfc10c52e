"""Work that stops when its time is up, however deep in it that is, and goes on from there later.

The parser of markdown reads a list or a table as one call. Such work has a thread of its own, which runs only while
whoever asked for it waits: nothing happens at the same time as anything else.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

_here = threading.local()


class _Ended(BaseException):
    """Nobody waits for this work any more."""


class Pausing:
    """Work that calls `breathe` often, done a while at a time (`go_on`). It is to be ended (`end`) when it is left."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.is_done = False
        self._work: Callable[[], None] | None = work
        self._until = math.inf
        self._thread: threading.Thread | None = None
        self._turn, self._back = threading.Lock(), threading.Lock()
        self._failure: BaseException | None = None
        self._is_left = False

    def go_on(self, seconds: float = math.inf) -> None:
        """Work for about so long. Raises what the work raises."""
        if self.is_done:
            return
        if self._thread is None and seconds == math.inf:
            self._do()
            return
        self._until = time.perf_counter() + seconds
        if self._thread is None:
            self._turn.acquire()
            self._back.acquire()
            self._thread = threading.Thread(target=self._run, name="octavo-reading", daemon=True)
            self._thread.start()
        else:
            self._turn.release()
        self._back.acquire()
        if self._failure is not None:
            raise self._failure

    def end(self) -> None:
        """Leave the work where it is."""
        if self._thread is not None and not self.is_done:
            self._is_left = True
            self._turn.release()
            self._thread.join()
            self.is_done = True

    def pause(self) -> None:
        """Stop here until somebody says to go on. For the work itself."""
        if self._thread is None:
            return
        self._back.release()
        self._turn.acquire()
        if self._is_left:
            raise _Ended

    def _do(self) -> None:
        work, self._work = self._work, None  # which may know this: nothing would let go of the two
        if work is not None:
            work()
        self.is_done = True

    def _run(self) -> None:
        _here.work = self
        try:
            self._do()
        except _Ended:
            pass
        except BaseException as failure:  # noqa: BLE001  # it is raised where the work is waited for
            self._failure = failure
        self.is_done = True
        self._back.release()

    def _breathe(self) -> None:
        if time.perf_counter() >= self._until:
            self.pause()


def breathe() -> None:
    """Stop here for now if the time is up of the work that this is part of."""
    work: Pausing | None = getattr(_here, "work", None)
    if work is not None:
        work._breathe()
