"""Reads under way that others may join instead of asking again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Context
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
        """Whether anybody does for whom it goes on."""
        return any(each() for each in self.aboard)


class RequestsInFlight:
    """Each goes on while anyone still waits for it, and is cancelled when the last one leaves."""

    def __init__(self, boarded: Callable[[], None]) -> None:
        """`boarded` is called when somebody joined one that others began: it may be more urgent now."""
        self._boarded = boarded
        self._open: dict[Hashable, _Flight] = {}
        self._all: set[asyncio.Task[Any]] = set()

    async def join(
        self, key: Hashable, is_waited_for: IsWaitedFor, start: Callable[[IsWaitedFor], Coroutine[Any, Any, T]]
    ) -> T:
        """What the flight called `key` brings; `start` begins it when there is none. It is as urgent as the most urgent
        of those who wait for it."""
        flight = self._open.get(key)
        if flight is None:
            flight = self._open[key] = _Flight(key)
            # It belongs to nobody who asks: their context, and the dialog in it, would be kept until its deadline.
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
        """Let nobody join those under way."""
        self._open.clear()

    async def end(self) -> None:
        """End those under way, and wait until they have: each gives back its connection, which takes some turns."""
        self._open.clear()
        ending = tuple(self._all)
        for task in ending:
            if not task.cancelling():  # who is told twice stops giving back what it has
                task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)

    def _landed(self, flight: _Flight, task: asyncio.Task[Any]) -> None:
        self._all.discard(task)
        self._forget(flight)
        if not task.cancelled():
            task.exception()  # nobody may be left to hear of it

    def _forget(self, flight: _Flight) -> None:
        if self._open.get(flight.key) is flight:
            del self._open[flight.key]
