"""Run slow or blocking functions in daemon threads.

The executor of the event loop is not used for what may block for ever: the interpreter waits for its threads
when it exits. A keyring that waits for a prompt nobody answers would keep the program from ending.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")
P = TypeVar("P")


class Overdue(Exception):
    """The function did not return in time. Its thread goes on, and holds nothing up."""


async def aside(function: Callable[[], T]) -> T:
    """What `function` returns or raises, while the event loop goes on."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[T] = loop.create_future()

    def settle(result: T | None, error: BaseException | None) -> None:
        if done.cancelled():
            return
        if error is None:
            done.set_result(result)  # type: ignore[arg-type]  # without an error there is a result
        else:
            done.set_exception(error)

    def run() -> None:
        result: T | None = None
        error: BaseException | None = None
        try:
            result = function()
        except BaseException as raised:  # noqa: BLE001  # it is raised again where it is awaited
            error = raised
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=run, daemon=True, name="octavo-aside").start()
    return await done


def within(seconds: float, function: Callable[[], T]) -> T:
    """What `function` returns or raises. Raises Overdue after `seconds`."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as raised:  # noqa: BLE001  # it is raised again by the caller's thread
            errors.append(raised)

    thread = threading.Thread(target=run, daemon=True, name="octavo-within")
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if results:
        return results[0]
    raise Overdue
