"""Give up what the HTTP library does, so that it can still give back its connections.

It shields what it gives back from scopes of anyio, not from tasks that are cancelled: cancelled in the wrong turn, or
twice, it forgets connections that are open. So its work is done in tasks that nobody cancels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from anyio import CancelScope

T = TypeVar("T")


async def to_its_end(work: Coroutine[Any, Any, T], give_up: Callable[[], None] = lambda: None) -> T:
    """What `work` returns, or raises. It ends before this does; `give_up` is called each time this is cancelled."""
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
        task.exception()  # who asked has left
    raise cancelled


class GivenUp(Exception):
    """The work was given up by another than who waited for it."""


async def in_scope(scope: CancelScope, work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns. Raises GivenUp once `scope` is cancelled. Ends before that is raised."""

    async def run() -> T:
        with scope:
            return await work
        raise GivenUp

    return await to_its_end(run(), scope.cancel)
