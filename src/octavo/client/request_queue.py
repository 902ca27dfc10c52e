"""Orders requests (`Turns`), and lets equal reads share one request (`RequestsInFlight`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Hashable
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from octavo.api.urgency import IsWaitedFor

T = TypeVar("T")


class _SharedRead:
    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.task: asyncio.Task[Any]
        self.aboard: list[IsWaitedFor] = []

    def is_waited_for(self) -> bool:
        """Return whether the user is waiting for this read."""
        return any(each() for each in self.aboard)


class RequestsInFlight:
    """The reads in progress. A read is canceled when its last caller stops waiting."""

    def __init__(self, on_joined: Callable[[], None]) -> None:
        """`on_joined` is called when a caller joins a read. The read may then be more urgent."""
        self._on_joined = on_joined
        self._open: dict[Hashable, _SharedRead] = {}
        self._all: set[asyncio.Task[Any]] = set()

    async def join(
        self, key: Hashable, is_waited_for: IsWaitedFor, start: Callable[[IsWaitedFor], Coroutine[Any, Any, T]]
    ) -> T:
        """Return the result of the read with this key. If no such read is in progress, `start` starts it. A read is as
        urgent as its most urgent caller."""
        shared_read = self._open.get(key)
        if shared_read is None:
            shared_read = self._open[key] = _SharedRead(key)
            # Use an empty context, because the context of the caller would keep its dialog in memory.
            shared_read.task = asyncio.get_running_loop().create_task(
                start(shared_read.is_waited_for), context=Context()
            )
            self._all.add(shared_read.task)
            shared_read.task.add_done_callback(partial(self._on_done, shared_read))
            shared_read.aboard.append(is_waited_for)
        else:
            shared_read.aboard.append(is_waited_for)
            self._on_joined()
        try:
            result: T = await asyncio.shield(shared_read.task)
            return result
        finally:
            shared_read.aboard.remove(is_waited_for)
            if not shared_read.aboard and not shared_read.task.done() and not shared_read.task.cancelling():
                shared_read.task.cancel()
                self._forget(shared_read)

    def close(self) -> None:
        """Keep later callers from joining the current reads."""
        self._open.clear()

    async def end(self) -> None:
        """Cancel all reads and wait until they have released their connections."""
        self._open.clear()
        ending = tuple(self._all)
        for task in ending:
            if not task.cancelling():  # do not cancel twice, which would interrupt the release of connections
                task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _on_done(self, shared_read: _SharedRead, task: asyncio.Task[Any]) -> None:
        self._all.discard(task)
        self._forget(shared_read)
        if not task.cancelled():
            task.exception()  # mark the error as retrieved, because all callers may have left

    def _forget(self, shared_read: _SharedRead) -> None:
        if self._open.get(shared_read.key) is shared_read:
            del self._open[shared_read.key]


@dataclass(eq=False)
class _Turn:
    is_waited_for: IsWaitedFor
    comes: asyncio.Future[None]


class Turns:
    """Limits the number of requests at the same time to `max_requests`, and of background requests to
    `max_background_requests`."""

    def __init__(self, max_requests: int, max_background_requests: int) -> None:
        self._max_requests, self._max_background = max_requests, max_background_requests
        self._line: dict[_Turn, None] = {}
        self._under_way: set[_Turn] = set()

    @asynccontextmanager
    async def turn(self, is_waited_for: IsWaitedFor) -> AsyncIterator[None]:
        """Wait until the request may be sent. It counts as running until the end of the `with` block."""
        turn = _Turn(is_waited_for, asyncio.get_running_loop().create_future())
        self._line[turn] = None
        self.start_waiting()
        try:
            await turn.comes
            yield
        finally:
            self._line.pop(turn, None)
            self._under_way.discard(turn)
            self.start_waiting()

    def start_waiting(self) -> None:
        """Start waiting requests if the limits allow it. Called when a request has ended or has become more urgent."""
        while len(self._under_way) < self._max_requests and (turn := self._next()) is not None:
            del self._line[turn]
            self._under_way.add(turn)
            if not turn.comes.done():
                turn.comes.set_result(None)

    def _next(self) -> _Turn | None:
        waited_for = next((each for each in self._line if each.is_waited_for()), None)
        if waited_for is not None:
            return waited_for
        background_count = sum(not each.is_waited_for() for each in self._under_way)
        return next(iter(self._line), None) if background_count < self._max_background else None
