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

MAX_PAGES = 40
"""Pages of a list that are fetched at most. Each page is a request in each refresh, and a server may return one item a
page."""


@dataclass(frozen=True)
class Snapshot(Generic[T]):
    """A response as screens show it. It may have both the last value and the error of a later request."""

    value: T | None = None
    """The last response with unconfirmed writes applied."""
    error: ApiError | None = None
    loading: bool = False
    fetched_at: datetime | None = None
    """When the response was fetched."""
    pending: int = 0
    """Number of applied writes that are not confirmed. Writes that wait for the user do not count."""
    pages: int = 0
    """Number of pages of a list."""

    def needs_more(self, min_items: int) -> bool:
        """Return whether the next page of a list is to be fetched for a caller who needs `min_items` items.

        False while a request for the list runs, after a request has failed, and from `MAX_PAGES` pages on.
        """
        value = self.value
        if not isinstance(value, ListPage) or value.next is None or self.loading or self.error is not None:
            return False
        return len(value.items) < min_items and self.pages < MAX_PAGES


@dataclass(eq=False)
class Edit:
    """A change that a write makes to a response."""

    change: Callable[[Any], Any]
    confirmed: int = 0
    """Number of confirmed writes at the confirmation of this write. 0 before it."""


@dataclass(eq=False)
class Watcher:
    """A callback that is called with each snapshot of a response."""

    callback: Callable[[Snapshot[Any]], None]
    rank: Rank
    min_items: int
    """Number of items of a list that are fetched. 0 for its first page."""


@dataclass(eq=False)
class LiveResponse:
    """The last response to an operation, as the server sent it, and its watchers."""

    op: Operation[Any]
    url: str
    is_immutable: bool = False
    value: Any = None
    error: ApiError | None = None
    is_disk_read: bool = False
    """Whether the response on disk was looked for."""
    loading: bool = False
    """Whether a request runs that watchers see. They do not see polls."""
    fetched_at: datetime | None = None
    requested_at: datetime | None = None
    """When the request for this value was sent. None if the value is from an earlier run."""
    checked_at: datetime | None = None
    """When the response was last known to be current: it was fetched, or its stamp had not changed."""
    pages: int = 0
    wanted_pages: int = 1
    """Number of pages that a refresh fetches."""
    is_extending: bool = False
    writes_included: int = 0
    """Number of confirmed writes that the response contains: those before its request."""
    writes_at_request: int = 0
    """Number of confirmed writes when the last request was sent."""
    indexed_value: object = None
    """The value that is in the search index."""
    stored_at: float | None = None
    """The result of `ResponseCache.put` for this value."""
    last_snapshot: Snapshot[Any] = Snapshot()
    edits: list[Edit] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    next_page_task: asyncio.Task[None] | None = None
    """Fetches further pages of the list for watchers."""

    @property
    def keeper(self) -> str:
        """Return the name under which the response is wanted for its watchers."""
        return f"view {self.url}"

    @property
    def is_final(self) -> bool:
        """Return whether the response is here and never changes."""
        return self.is_immutable and self.value is not None

    @property
    def current_as_of(self) -> datetime | None:
        """Return when the response was last known to be current. None if there is none, or if it never changes."""
        return self.checked_at if self.value is not None and not self.is_final else None

    def contains_item(self, item_id: str) -> bool:
        """Return whether the response is a list that contains an item with this id."""
        return isinstance(self.value, ListPage) and any(
            getattr(item, "id", None) == item_id for item in self.value.items
        )

    def load_stored(self, value: Any, fetched_at: datetime) -> None:
        """Use the response from disk."""
        self.value, self.fetched_at, self.checked_at, self.pages = value, fetched_at, fetched_at, 1
        self.stored_at = fetched_at.timestamp()  # an equal response need not be written again
        if isinstance(value, ListPage) and value.next is None and (limit := getattr(self.op, "limit", None)):
            # The whole list was stored: a refresh must fetch all its pages, or the list would be shorter meanwhile.
            self.pages = self.wanted_pages = max(1, -(-len(value.items) // limit))

    def accept(self, value: Any, pages: int, now: datetime, writes: int) -> bool:
        """Store a response whose request was sent when `writes` writes were confirmed. Return whether it is equal to the
        last one: then `value` stays the same object."""
        is_same = bool(value is self.value or value == self.value)
        self.value = self.value if is_same else value
        self.pages, self.fetched_at, self.checked_at, self.writes_included = pages, now, now, writes
        self.wanted_pages = max(1, pages) if not self.is_extending else self.wanted_pages
        self.edits = [edit for edit in self.edits if not edit.confirmed or edit.confirmed > writes]
        return is_same
