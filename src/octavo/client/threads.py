"""Running of slow or blocking functions in daemon threads.

The executor of the event loop is not used for functions that may block forever, because the interpreter waits for its
threads at exit. For example, a keyring may wait for a password that nobody types.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


class Overdue(Exception):
    """The function did not return in time. Its daemon thread keeps running, and does not prevent the exit."""


async def run_in_thread(function: Callable[[], T]) -> T:
    """Run `function` in a thread and return its result. The event loop is not blocked."""
    return await asyncio.wrap_future(_started(function))


def run_with_timeout(
    seconds: float, function: Callable[[], T], *, after: tuple[float, Callable[[], object]] | None = None
) -> T:
    """Run `function` in a thread and return its result. Raises Overdue after `seconds`.

    `after` is a shorter time in seconds, and a function to call if there is no result by then.
    """
    future = _started(function)
    if after is not None and after[0] < seconds and not wait((future,), after[0]).done:
        after[1]()
        seconds -= after[0]
    if not wait((future,), seconds).done:
        raise Overdue
    return future.result()


def _started(function: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # the thread cannot be canceled, so a canceled caller leaves it running

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:  # noqa: BLE001  # it is raised again where it is waited for
            future.set_exception(raised)

    threading.Thread(target=run, daemon=True, name="octavo-aside").start()
    return future
