"""Reads under way that others may join instead of asking again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Hashable
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class _Flight:
    def __init__(self, key: Hashable, task: asyncio.Task[Any]) -> None:
        self.key, self.task = key, task
        self.aboard = 0


class RequestsInFlight:
    """Each goes on while anyone still waits for it, and is cancelled when the last one leaves."""

    def __init__(self) -> None:
        self._open: dict[Hashable, _Flight] = {}
        self._all: set[asyncio.Task[Any]] = set()

    async def join(self, key: Hashable, start: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What the flight called `key` brings; `start` begins it when there is none."""
        flight = self._open.get(key)
        if flight is None:
            # It belongs to nobody who asks: their context, and the dialog in it, would be kept until its deadline.
            task = asyncio.get_running_loop().create_task(start(), context=Context())
            flight = self._open[key] = _Flight(key, task)
            self._all.add(flight.task)
            flight.task.add_done_callback(partial(self._landed, flight))
        flight.aboard += 1
        try:
            result: T = await asyncio.shield(flight.task)
            return result
        finally:
            flight.aboard -= 1
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
