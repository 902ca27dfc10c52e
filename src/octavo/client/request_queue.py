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


class _Flight:
    def __init__(self, key: Hashable) -> None:
        self.key = key
        self.task: asyncio.Task[Any]
        self.aboard: list[IsWaitedFor] = []

    def is_waited_for(self) -> bool:
        """Return whether the user is waiting for this read."""
        return any(each() for each in self.aboard)


class RequestsInFlight:
    """The reads in progress. A read is canceled when its last caller stops waiting."""

    def __init__(self, boarded: Callable[[], None]) -> None:
        """`boarded` is called when a caller joins a read. The read may then be more urgent."""
        self._boarded = boarded
        self._open: dict[Hashable, _Flight] = {}
        self._all: set[asyncio.Task[Any]] = set()

    async def join(
        self, key: Hashable, is_waited_for: IsWaitedFor, start: Callable[[IsWaitedFor], Coroutine[Any, Any, T]]
    ) -> T:
        """Return the result of the read with this key. If no such read is in progress, `start` starts it. A read is as
        urgent as its most urgent caller."""
        flight = self._open.get(key)
        if flight is None:
            flight = self._open[key] = _Flight(key)
            # Use an empty context, because the context of the caller would keep its dialog in memory.
            flight.task = asyncio.get_running_loop().create_task(start(flight.is_waited_for), context=Context())
            self._all.add(flight.task)
            flight.task.add_done_callback(partial(self._landed, flight))
            flight.aboard.append(is_waited_for)
        else:
            flight.aboard.append(is_waited_for)
            self._boarded()
        try:
            result: T = await asyncio.shield(flight.task)
            return result
        finally:
            flight.aboard.remove(is_waited_for)
            if not flight.aboard and not flight.task.done() and not flight.task.cancelling():
                flight.task.cancel()
                self._forget(flight)

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

    def _landed(self, flight: _Flight, task: asyncio.Task[Any]) -> None:
        self._all.discard(task)
        self._forget(flight)
        if not task.cancelled():
            task.exception()  # mark the error as retrieved, because all callers may have left

    def _forget(self, flight: _Flight) -> None:
        if self._open.get(flight.key) is flight:
            del self._open[flight.key]


@dataclass(eq=False)
class _Turn:
    is_waited_for: IsWaitedFor
    comes: asyncio.Future[None]


class Turns:
    """Limits the number of requests at the same time to `at_once`, and of background requests to `behind`."""

    def __init__(self, at_once: int, behind: int) -> None:
        self._at_once, self._behind = at_once, behind
        self._line: dict[_Turn, None] = {}
        self._under_way: set[_Turn] = set()

    @asynccontextmanager
    async def turn(self, is_waited_for: IsWaitedFor) -> AsyncIterator[None]:
        """Wait until the request may be sent. It counts as running until the end of the `with` block."""
        turn = _Turn(is_waited_for, asyncio.get_running_loop().create_future())
        self._line[turn] = None
        self.look()
        try:
            await turn.comes
            yield
        finally:
            self._line.pop(turn, None)
            self._under_way.discard(turn)
            self.look()

    def look(self) -> None:
        """Start waiting requests if the limits allow it. Called when a request has ended or has become more urgent."""
        while len(self._under_way) < self._at_once and (turn := self._next()) is not None:
            del self._line[turn]
            self._under_way.add(turn)
            if not turn.comes.done():
                turn.comes.set_result(None)

    def _next(self) -> _Turn | None:
        waited_for = next((each for each in self._line if each.is_waited_for()), None)
        if waited_for is not None:
            return waited_for
        behind = sum(not each.is_waited_for() for each in self._under_way)
        return next(iter(self._line), None) if behind < self._behind else None
