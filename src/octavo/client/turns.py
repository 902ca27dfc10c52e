"""The order of requests. Requests that the user waits for come first, and background requests never use all
connections."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from octavo.api.urgency import IsWaitedFor


@dataclass(eq=False)
class _Turn:
    is_waited_for: IsWaitedFor
    comes: asyncio.Future[None]


class Turns:
    """Limits requests to `at_once` at the same time, and background requests to `behind`."""

    def __init__(self, at_once: int, behind: int) -> None:
        self._at_once, self._behind = at_once, behind
        self._line: dict[_Turn, None] = {}
        self._under_way: set[_Turn] = set()

    @asynccontextmanager
    async def turn(self, is_waited_for: IsWaitedFor) -> AsyncIterator[None]:
        """Wait until the request may be sent. It counts as running until the context exits."""
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
        """Start waiting requests if the limits allow, after a request has ended or has become more urgent."""
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
