"""One response in memory, and its snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from octavo.api.errors import ApiError
from octavo.api.operation import ListPage, Operation

T = TypeVar("T")

MOST_PAGES = 40
"""Pages of a list that is read whole. Each is a request, at each refresh again, and a server may put one item on a
page."""


@dataclass(frozen=True)
class Snapshot(Generic[T]):
    """A response as it is shown. An old value may come with a new error."""

    value: T | None = None
    """The last response with unconfirmed writes applied."""
    error: ApiError | None = None
    loading: bool = False
    fetched_at: datetime | None = None
    """When the response was fetched."""
    pending: int = 0
    """Number of applied writes that are being sent. Writes that wait for the user do not count."""
    pages: int = 0
    """Number of pages of a list."""

    def goes_on(self, most: int) -> bool:
        """Return whether further pages of a list are to be fetched: it is not whole, has fewer than `most` items and
        `MOST_PAGES` pages, no request for it runs, and the last one did not fail."""
        value = self.value
        if not isinstance(value, ListPage) or value.next is None or self.loading or self.error is not None:
            return False
        return len(value.items) < most and self.pages < MOST_PAGES


@dataclass(eq=False)
class Edit:
    """A change of a response by a write that is not confirmed, and the number of its confirmation, 0 until then."""

    change: Callable[[Any], Any]
    confirmed: int = 0


@dataclass(eq=False)
class Answer:
    """The last response to one read, as the server sent it, and its watchers."""

    op: Operation[Any]
    final_once_known: bool = False
    value: Any = None
    error: ApiError | None = None
    unpacked: bool = False
    """Whether the disk was read."""
    loading: bool = False
    fetched_at: datetime | None = None
    as_of: datetime | None = None
    """When the response was last known to be current: it was fetched, or no list told of a change."""
    pages: int = 0
    wanted: int = 1
    """Number of pages that a refresh fetches."""
    mark: int = 0
    """Number of confirmed writes when this was requested: the response contains them."""
    asked: int = 0
    """Number of requests. Only the response to the last one counts."""
    stale: bool = False
    freshening: asyncio.Task[None] | None = None
    """Fetches in the background while there are watchers."""
    asked_behind: int = 0
    """The number of the request that `freshening` sent."""
    extending: bool = False
    behind: bool = False
    """Whether nobody waits for the running request."""
    told_loading: bool = False
    differed: int = 0
    """Number of responses that differed from the one before."""
    learned: object = None
    """The value that is in the search index."""
    put: float | None = None
    """What `ResponseCache.put` returned for this value."""
    shown: Snapshot[Any] = Snapshot()
    edits: list[Edit] = field(default_factory=list)
    watchers: list[Callable[[Snapshot[Any]], None]] = field(default_factory=list)
    patient: list[Callable[[Snapshot[Any]], None]] = field(default_factory=list)
    """The watchers whose request may wait for others."""
    most: dict[Callable[[Snapshot[Any]], None], int] = field(default_factory=dict)
    """Items of a list that a watcher wants, of those that want more than its first page."""
    reading_on: asyncio.Task[None] | None = None
    """Fetches further pages for `most`."""
    _resting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def final(self) -> bool:
        """Return whether the response is here and never changes."""
        return self.final_once_known and self.value is not None

    @property
    def last_known(self) -> datetime | None:
        """Return when the response was last known to be current. None if there is none, or if it never changes."""
        return self.as_of if self.value is not None and not self.final else None

    @property
    def idle_now(self) -> bool:
        """Return whether the response may be removed from memory."""
        return not (self.watchers or self.loading or self.edits)

    @property
    def waits(self) -> bool:
        """Return whether a watcher waits for the response."""
        return any(each not in self.patient for each in self.watchers)

    def lists(self, item_id: str) -> bool:
        """Return whether the response is a list that contains an item with this id."""
        return isinstance(self.value, ListPage) and any(
            getattr(item, "id", None) == item_id for item in self.value.items
        )

    def keep(self, value: Any, fetched_at: datetime) -> None:
        """Take the response on disk."""
        self.value, self.fetched_at, self.as_of, self.pages = value, fetched_at, fetched_at, 1
        self.put = fetched_at.timestamp()  # when the server says the same, it need not be written again
        if isinstance(value, ListPage) and value.next is None and (limit := getattr(self.op, "limit", None)):
            # It was kept whole, however many questions that took: as many are asked again, or it would be cut short meanwhile.
            self.pages = self.wanted = max(1, -(-len(value.items) // limit))

    def accept(self, value: Any, pages: int, now: datetime, mark: int) -> None:
        """Take a response to a request that was sent when `mark` writes were confirmed."""
        self.differed += not (value is self.value or value == self.value)
        self.value, self.pages, self.fetched_at, self.as_of, self.mark = value, pages, now, now, mark
        self.wanted = max(1, pages) if not self.extending else self.wanted
        self.edits = [edit for edit in self.edits if not edit.confirmed or edit.confirmed > mark]

    async def idle(self) -> None:
        """Wait until no request runs."""
        while self.loading:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._resting.append(waiting)
            await waiting

    def rest(self) -> None:
        """Wake those who wait until no request runs."""
        resting, self._resting = self._resting, []
        for waiting in resting:
            if not waiting.done():
                waiting.set_result(None)
