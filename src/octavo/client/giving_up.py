"""Cancellation of calls into the HTTP library without losing its connections.

The library releases connections correctly in a canceled anyio scope, but not in a canceled task: canceled at a wrong
moment, or twice, it forgets open connections. So its calls run in tasks that are never canceled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from anyio import CancelScope

T = TypeVar("T")


async def to_its_end(work: Coroutine[Any, Any, T], give_up: Callable[[], None] = lambda: None) -> T:
    """Run `work` to its end and return its result. `give_up` is called each time this task is canceled."""
    task = asyncio.create_task(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
            give_up()
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # the caller is gone, so the error is only marked as retrieved
    raise cancelled


class GivenUp(Exception):
    """The work was canceled by someone other than its caller."""


async def in_scope(scope: CancelScope, work: Coroutine[Any, Any, T]) -> T:
    """Run `work` in a cancel scope and return its result. Raises GivenUp after the work has ended, if `scope` was
    canceled."""

    async def run() -> T:
        with scope:
            return await work
        raise GivenUp

    return await to_its_end(run(), scope.cancel)
