"""Time in which nothing can happen passes at once: who waits for the next timer gets it now, as if the time had gone by.

Tests wait for what an app does a moment later (a frame, a pause in typing, the second look of a pilot), and a run slept
through a third of itself. All these waits stay, and what happens in them does so in the same order and at the same
distance on the clocks of this process. They are put forward only while a loop sleeps and nothing but its next timer can
wake it: no thread works for it, no socket or pipe is open, no program runs. What those take is waited for as it is.
"""

from __future__ import annotations

import asyncio
import os
import selectors
import threading
import time
from concurrent.futures import Future
from typing import TypeVar

from octavo.tui.terminal import polite_thread

T = TypeVar("T")

AT_MOST = 10.0
"""Seconds that pass so until a loop hears of something else than a timer. Who waits longer than that may wait for what was
not seen coming: the rest of the time it is given is real."""

AT_REST = 0.02
"""The share of a processor that an app may use while nothing happens."""

SELDOM = 50
"""How many looks of a busy loop are spared until the system is asked."""

_monotonic, _perf_counter = time.monotonic, time.perf_counter
_passed = 0.0
"""Seconds that the clocks were put forward."""


def passed() -> float:
    """Seconds that the clocks were put forward until now."""
    return _passed


async def share_at_rest(seconds: float = 5.0) -> float:
    """How much of a processor is used while nobody does anything for so many seconds on the clocks: 1 is all of it."""
    began, used = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    return (time.process_time() - used) / (time.monotonic() - began)


def _put_forward_monotonic() -> float:
    return _monotonic() + _passed


def _put_forward_perf_counter() -> float:
    return _perf_counter() + _passed


class _Selector(selectors.DefaultSelector):
    """What a loop sleeps in."""

    def __init__(self) -> None:
        super().__init__()
        self.in_threads = 0
        """How much is awaited of threads."""
        self._left = AT_MOST
        self._unasked = 0
        """How often the system was not asked since it was."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        global _passed
        if self._can_hear_nothing(timeout):
            return []
        passes = timeout is not None and 0 < timeout <= self._left and self._waits_for_timers_only()
        if ready := super().select(0 if passes else timeout):
            self._left = AT_MOST
        elif passes and timeout is not None:
            self._left -= timeout
            _passed += timeout
        return ready

    def _can_hear_nothing(self, timeout: float | None) -> bool:
        """Whether a look, for a loop that has something to do, finds nothing: to ask the system for it was an eighth of a run.

        It is asked at times: only it knows of a signal.
        """
        if timeout is None or timeout > 0 or self.in_threads or len(self.get_map()) > 1 or self._unasked == SELDOM:
            self._unasked = 0
            return False
        self._unasked += 1
        return True

    def _waits_for_timers_only(self) -> bool:
        return (
            not self.in_threads
            and polite_thread.thread.is_idle
            and len(self.get_map()) == 1  # what wakes it from threads, which is always there
            and threading.current_thread() is threading.main_thread()
            and not _has_children()
        )


def _has_children() -> bool:
    """Whether this process has started programs that it has not seen end."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


_wrap_future = asyncio.wrap_future


def _counted(
    future: Future[T] | asyncio.Future[T], *, loop: asyncio.AbstractEventLoop | None = None
) -> asyncio.Future[T]:
    """What a loop awaits of a thread: all of it is made by this."""
    awaited = _wrap_future(future, loop=loop)
    selector = getattr(awaited.get_loop(), "_selector", None)
    if isinstance(future, Future) and isinstance(selector, _Selector):
        selector.in_threads += 1

        def done(_: asyncio.Future[T]) -> None:
            selector.in_threads -= 1

        awaited.add_done_callback(done)
    return awaited


if hasattr(os, "waitid"):
    time.monotonic, time.perf_counter = _put_forward_monotonic, _put_forward_perf_counter
    selectors.DefaultSelector = _Selector  # type: ignore[misc]  # of the library, for all loops
    asyncio.wrap_future = asyncio.futures.wrap_future = _counted
