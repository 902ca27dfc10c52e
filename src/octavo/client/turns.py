"""Whose turn it is: what somebody waits for goes before what is asked in the background, which never takes all connections."""

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
    """At most `at_once` requests are under way, and at most `behind` of them are such that nobody waits for."""

    def __init__(self, at_once: int, behind: int) -> None:
        self._at_once, self._behind = at_once, behind
        self._line: dict[_Turn, None] = {}
        self._under_way: set[_Turn] = set()

    @asynccontextmanager
    async def turn(self, is_waited_for: IsWaitedFor) -> AsyncIterator[None]:
        """Wait for a turn, and have it."""
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
        """Let go ahead whoever can: somebody is done, or waits for what nobody waited for."""
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
