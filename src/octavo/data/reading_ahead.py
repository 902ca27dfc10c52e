"""How threads are that many are resolved of at once: read as one list, instead of one after the other before each write."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, TypeVar

from octavo.api import comments
from octavo.api.operation import Operation
from octavo.api.places import Discussion
from octavo.data.pending import Pending
from octavo.data.sending import Send
from octavo.data.writes.machine import Entry

T = TypeVar("T")

FEW = 3
"""So many are asked one by one."""
HOLDS = timedelta(seconds=10)
"""How long a list is good for. After that somebody else may have been there."""
PAGE = 200


class ReadingAhead:
    """Answers what is asked of a thread before it is resolved or reopened for the first time."""

    def __init__(self, send: Send, pending: Pending) -> None:
        self._send, self._pending = send, pending
        self._read: dict[Discussion, tuple[datetime, dict[str, comments.Comment]]] = {}

    async def before(self, entry: Entry) -> Send:
        """What to ask with before `entry` is sent. Raises ApiError."""
        if not _is_alike(entry, entry):
            return self._send
        now = self._pending.now()
        self._read = {at: each for at, each in self._read.items() if now - each[0] < HOLDS}
        if entry.at not in self._read:
            if sum(_is_alike(each, entry) for each in self._pending.entries) <= FEW:
                return self._send
            op = comments.List(at=entry.at, status="all", format="markdown", limit=PAGE)
            self._read[entry.at] = now, {each.id: each for each in (await self._send(op)).items}
        return _Answering(self._send, self._read[entry.at][1])


class _Answering:
    """Asks, but for what is known: that is good for once, since what is sent next changes it."""

    def __init__(self, send: Send, known: dict[str, comments.Comment]) -> None:
        self._send, self._known = send, known

    async def __call__(self, op: Operation[T]) -> T:
        known: Any = self._known.pop(op.comment_id, None) if isinstance(op, comments.Get) else None
        return known if known is not None else await self._send(op)


def _is_alike(entry: Entry, other: Entry) -> bool:
    """Whether `entry` resolves or reopens a thread in the place of `other`, and was never sent."""
    return entry.state == "queued" and entry.facts.only_resolves and entry.tries == 0 and entry.at == other.at
