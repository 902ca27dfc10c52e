"""Run slow or blocking functions in daemon threads.

The executor of the event loop is not used for what may block for ever: the interpreter waits for its threads
when it exits. A keyring that waits for a prompt nobody answers would keep the program from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


class Overdue(Exception):
    """The function did not return in time. Its thread goes on, and holds nothing up."""


async def aside(function: Callable[[], T]) -> T:
    """What `function` returns or raises, while the event loop goes on."""
    return await asyncio.wrap_future(_started(function))


def within(seconds: float, function: Callable[[], T], *, after: tuple[float, Callable[[], object]] | None = None) -> T:
    """What `function` returns or raises. Raises Overdue after `seconds`.

    `after`: seconds, fewer than those, and what is called once they have passed without an answer.
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
    future.set_running_or_notify_cancel()  # it cannot be taken back: who stops waiting leaves it behind

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:  # noqa: BLE001  # it is raised again where it is waited for
            future.set_exception(raised)

    threading.Thread(target=run, daemon=True, name="octavo-aside").start()
    return future
