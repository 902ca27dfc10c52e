"""Background tasks whose errors are reported, and limited concurrency."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

T = TypeVar("T")
R = TypeVar("R")
MAX_REQUESTS = 6
"""Maximum number of requests that a client sends at the same time."""


class Tasks:
    """The background tasks of an object. The object must call `close` at its end."""

    def __init__(self, subject: str, on_error: Callable[[BaseException], None] | None = None) -> None:
        """`on_error` is called with the error of a failed task. Without it, the exception handler of the event loop gets
        the error. Its message says that `subject` failed."""
        self._subject, self._on_error = subject, on_error
        self._tasks: set[asyncio.Task[Any]] = set()

    def __bool__(self) -> bool:
        """Return whether a task runs."""
        return bool(self._tasks)

    def start(self, work: Coroutine[Any, Any, T], name: str | None = None) -> asyncio.Task[T]:
        """Start `work` as a background task, and return the task."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def wait_idle(self) -> None:
        """Wait until no task runs. Raises the error of a task that fails while waiting."""
        while self._tasks:
            for ended in await asyncio.gather(*self._tasks, return_exceptions=True):
                if isinstance(ended, Exception):
                    raise ended
            await asyncio.sleep(0)  # let the callback of the finished tasks remove them

    async def close(self) -> None:
        """Cancel all tasks but the current one, and wait until they have ended."""
        tasks = self._tasks - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if self._on_error is None:
            report_error(task, self._subject)
        elif not task.cancelled() and (error := task.exception()) is not None:
            self._on_error(error)


def report_error(task: asyncio.Task[Any], subject: str) -> None:
    """Report the error of an ended task to the exception handler of its event loop, with a message that `subject` failed.
    Does nothing if the task succeeded or was canceled."""
    if not task.cancelled() and (error := task.exception()) is not None:
        context = {"message": f"{subject} failed", "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)


async def gather_bounded(work: Callable[[T], Awaitable[R]], items: Iterable[T], limit: int = MAX_REQUESTS) -> list[R]:
    """Return the result of `work` for each item, in the order of the items. At most `limit` calls run at the same time.
    Raises the first error, as `asyncio.gather` does."""
    semaphore = asyncio.Semaphore(limit)

    async def run_one(item: T) -> R:
        async with semaphore:
            return await work(item)

    return await asyncio.gather(*map(run_one, items))


class Overdue(Exception):
    """The function did not return in time. Its thread continues, but Python can exit meanwhile."""


async def run_in_thread(function: Callable[[], T]) -> T:
    """Run `function` in a daemon thread, and return its result without blocking the event loop."""
    return await asyncio.wrap_future(_start_in_thread(function))


def run_with_timeout(
    seconds: float, function: Callable[[], T], *, after: tuple[float, Callable[[], object]] | None = None
) -> T:
    """Run `function` in a daemon thread, and return its result. Raises Overdue after `seconds`.

    `after=(2, warn)` calls `warn` if there is no result after 2 seconds.
    """
    future = _start_in_thread(function)
    if after is not None:
        delay, on_delay = after
        if delay < seconds and not wait((future,), delay).done:
            on_delay()
            seconds -= delay
    if not wait((future,), seconds).done:
        raise Overdue
    return future.result()


def _start_in_thread(function: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # not cancelable, because the thread would continue anyway

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:  # noqa: BLE001  # raised again by `Future.result`
            future.set_exception(raised)

    threading.Thread(target=run, daemon=True, name="octavo-aside").start()
    return future
