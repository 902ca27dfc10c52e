"""One response in memory, and its snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar

from octavo.api.errors import ApiError
from octavo.api.operation import ListPage, Operation
from octavo.data.sync_queue import Rank

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
class Watcher:
    """A callback that is told of a response."""

    callback: Callable[[Snapshot[Any]], None]
    rank: Rank
    most: int
    """Items of a list that are read. 0 for its first page."""


@dataclass(eq=False)
class Answer:
    """The last response to one read, as the server sent it, and its watchers."""

    op: Operation[Any]
    url: str
    final_once_known: bool = False
    value: Any = None
    error: ApiError | None = None
    unpacked: bool = False
    """Whether the disk was read."""
    loading: bool = False
    """Whether a request runs that watchers are told of. They are not told of a poll."""
    fetched_at: datetime | None = None
    requested_at: datetime | None = None
    """When the request was sent in this run whose response this is. None if there was none."""
    as_of: datetime | None = None
    """When the response was last known to be current: it was fetched, or no list told of a change."""
    pages: int = 0
    wanted: int = 1
    """Number of pages that a refresh fetches."""
    extending: bool = False
    mark: int = 0
    """Number of confirmed writes when this was requested: the response contains them."""
    mark_asked: int = 0
    """Number of confirmed writes when the last request was sent."""
    learned: object = None
    """The value that is in the search index."""
    put: float | None = None
    """What `ResponseCache.put` returned for this value."""
    shown: Snapshot[Any] = Snapshot()
    edits: list[Edit] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    reading_on: asyncio.Task[None] | None = None
    """Fetches further pages for watchers."""

    @property
    def keeper(self) -> str:
        """Return the name under which the response is wanted for its watchers."""
        return f"view {self.url}"

    @property
    def final(self) -> bool:
        """Return whether the response is here and never changes."""
        return self.final_once_known and self.value is not None

    @property
    def last_known(self) -> datetime | None:
        """Return when the response was last known to be current. None if there is none, or if it never changes."""
        return self.as_of if self.value is not None and not self.final else None

    @property
    def waits(self) -> bool:
        """Return whether the user waits for the response."""
        return any(each.rank is Rank.NOW for each in self.watchers)

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

    def accept(self, value: Any, pages: int, now: datetime, mark: int) -> bool:
        """Take a response to a request that was sent when `mark` writes were confirmed. Return whether it is the same as
        before: then `value` stays the same object."""
        is_same = bool(value is self.value or value == self.value)
        self.value = self.value if is_same else value
        self.pages, self.fetched_at, self.as_of, self.mark = pages, now, now, mark
        self.wanted = max(1, pages) if not self.extending else self.wanted
        self.edits = [edit for edit in self.edits if not edit.confirmed or edit.confirmed > mark]
        return is_same
