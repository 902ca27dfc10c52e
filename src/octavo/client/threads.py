"""Runs slow or blocking functions in daemon threads.

The executor of the event loop must not run functions that may block forever, because Python waits for its threads at
exit. For example, a keyring may wait for a password that nobody enters.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


class Overdue(Exception):
    """The function did not return in time. Its daemon thread continues, and does not prevent the exit of Python."""


async def run_in_thread(function: Callable[[], T]) -> T:
    """Run `function` in a daemon thread, and return its result without blocking the event loop."""
    return await asyncio.wrap_future(_start_in_thread(function))


def run_with_timeout(
    seconds: float, function: Callable[[], T], *, after: tuple[float, Callable[[], object]] | None = None
) -> T:
    """Run `function` in a daemon thread, and return its result. Raises Overdue after `seconds`.

    `after` is a pair of a shorter time in seconds and a function that is called if there is no result by then.
    """
    future = _start_in_thread(function)
    if after is not None and after[0] < seconds and not wait((future,), after[0]).done:
        after[1]()
        seconds -= after[0]
    if not wait((future,), seconds).done:
        raise Overdue
    return future.result()


def _start_in_thread(function: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # a thread cannot be canceled, so it continues if the caller is canceled

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:  # noqa: BLE001  # it is raised again where it is waited for
            future.set_exception(raised)

    threading.Thread(target=run, daemon=True, name="octavo-aside").start()
    return future
