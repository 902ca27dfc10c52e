"""Background tasks whose errors are reported (`Tasks`), functions in threads, and bounded parallel calls."""

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
    """Background tasks that belong to an object. The object must call `close` when it is no longer needed."""

    def __init__(self, subject: str, on_error: Callable[[BaseException], None] | None = None) -> None:
        """A failed task calls `on_error` with its error. By default, the event loop reports “SUBJECT failed”."""
        self._subject, self._on_error = subject, on_error
        self._tasks: set[asyncio.Task[Any]] = set()

    def __bool__(self) -> bool:
        """Return True if a task is running."""
        return bool(self._tasks)

    def start(self, coroutine: Coroutine[Any, Any, T], name: str | None = None) -> asyncio.Task[T]:
        """Start a coroutine as a background task, and return the task."""
        task = asyncio.get_running_loop().create_task(coroutine, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    async def wait_idle(self) -> None:
        """Wait until no task is running. Raises the error of a task that fails while this method waits."""
        while self._tasks:
            for result in await asyncio.gather(*self._tasks, return_exceptions=True):
                if isinstance(result, Exception):
                    raise result
            await asyncio.sleep(0)  # let the callback that removes finished tasks run first

    async def close(self) -> None:
        """Cancel all tasks, and wait until they have ended. A task that calls this method is not canceled."""
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
    """If a finished task failed, report “SUBJECT failed” with its error to the event loop."""
    if not task.cancelled() and (error := task.exception()) is not None:
        context = {"message": f"{subject} failed", "exception": error, "task": task}
        task.get_loop().call_exception_handler(context)


async def gather_bounded(
    function: Callable[[T], Awaitable[R]], items: Iterable[T], limit: int = MAX_REQUESTS
) -> list[R]:
    """Return the results of `function` for `items`, in order. Up to `limit` run in parallel. Raises the first error."""
    semaphore = asyncio.Semaphore(limit)

    async def run_one(item: T) -> R:
        async with semaphore:
            return await function(item)

    return await asyncio.gather(*map(run_one, items))


class Overdue(Exception):
    """A function did not return in time. Its thread still runs, but does not keep the process from ending."""


async def run_in_thread(function: Callable[[], T]) -> T:
    """Run `function` in a thread and return its result. The process can end while the thread is still running."""
    return await asyncio.wrap_future(_start_in_thread(function))


def run_with_timeout(
    seconds: float, function: Callable[[], T], *, delay: float = 0, on_delay: Callable[[], object] | None = None
) -> T:
    """Return the result of `function`, which runs in a thread. If it still runs after `delay` seconds, call `on_delay`.
    Raises Overdue if it still runs after `seconds`."""
    future = _start_in_thread(function)
    if on_delay is not None and delay < seconds and not wait((future,), delay).done:
        on_delay()
        seconds -= delay
    if not wait((future,), seconds).done:
        raise Overdue
    return future.result()


def _start_in_thread(function: Callable[[], T]) -> Future[T]:
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()  # the thread cannot be stopped, so the future must not look canceled

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as raised:  # noqa: BLE001  # raised again by `Future.result`
            future.set_exception(raised)

    threading.Thread(target=run, daemon=True, name="octavo-aside").start()
    return future
