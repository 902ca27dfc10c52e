"""Background tasks whose errors are reported, and work done a few items at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Tasks:
    """Background tasks of one owner."""

    def __init__(self, what: str, failed: Callable[[BaseException], None] | None = None) -> None:
        """`what` begins the report of an error, which goes to the exception handler of the loop, or to `failed`."""
        self._what, self._failed = what, failed
        self._tasks: set[asyncio.Task[Any]] = set()

    def __bool__(self) -> bool:
        """Return whether a task runs."""
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, T], name: str | None = None) -> asyncio.Task[T]:
        """Run `work` as a task."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def wait_idle(self) -> None:
        """Wait until no task runs. Raises the error of a task that ends meanwhile."""
        while self._tasks:
            for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended
            await asyncio.sleep(0)  # a task that had ended before is removed by a callback that is still to come

    async def close(self) -> None:
        """Cancel all tasks but the current one, and wait until they have ended."""
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if self._failed is None:
            report_error(task, self._what)
        elif not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)


def report_error(task: asyncio.Task[Any], what: str) -> None:
    """Report the error of a task that ended to the exception handler of its loop: nobody awaits the task."""
    if not task.cancelled() and (error := task.exception()) is not None:
        told = {"message": f"{what} failed", "exception": error, "task": task}
        task.get_loop().call_exception_handler(told)


async def gather_bounded(work: Callable[[T], Awaitable[R]], items: Iterable[T], at_once: int) -> list[R]:
    """Await `work` for each item, at most `at_once` at the same time, and return the results in the order of the items.

    Raises the first error, as `asyncio.gather` does.
    """
    free = asyncio.Semaphore(at_once)

    async def one(item: T) -> R:
        async with free:
            return await work(item)

    return await asyncio.gather(*map(one, items))
