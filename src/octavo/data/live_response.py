"""A response in memory with its watchers, the snapshots that screens get, and lists of callbacks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, ParamSpec, TypeVar

from octavo.api.errors import ApiError
from octavo.api.operation import ListPage, Operation
from octavo.data.sync_queue import Rank

T = TypeVar("T")

MAX_PAGES = 40
"""Maximum number of pages of a list that are fetched. A refresh sends a request for each page."""


@dataclass(frozen=True)
class Snapshot(Generic[T]):
    """A response as screens show it. After a failed refresh, it has the old value and the error."""

    value: T | None = None
    """The response, with the changes of the user's newest writes added. None if no response is loaded."""
    error: ApiError | None = None
    is_loading: bool = False
    fetched_at: datetime | None = None
    """When the response was fetched, perhaps by an earlier run of Octavo. None if no response is loaded."""
    pending_count: int = 0
    """Number of unconfirmed writes that `value` shows. Writes that wait for the user do not count."""
    page_count: int = 0
    """Number of loaded pages of the list. 0 if nothing is loaded."""

    def needs_more(self, min_items: int) -> bool:
        """Return whether the list needs another page to have `min_items` items. False while loading, after an error, or
        after `MAX_PAGES` pages."""
        value = self.value
        if not isinstance(value, ListPage) or value.next is None or self.is_loading or self.error is not None:
            return False
        return len(value.items) < min_items and self.page_count < MAX_PAGES


@dataclass(eq=False)
class Edit:
    """A change of a response that screens show before the server confirms the write."""

    change: Callable[[Any], Any]
    confirmed_number: int = 0
    """Position of the write among all confirmed writes, from 1. 0 while the write is not confirmed."""


@dataclass(eq=False)
class Watcher:
    """A callback that gets each snapshot of a response."""

    callback: Callable[[Snapshot[Any]], None]
    rank: Rank
    min_items: int
    """Number of items of a list that the watcher needs. 0 for the first page only."""


@dataclass(eq=False)
class LiveResponse:
    """A response in memory, as the server sent it, with its watchers."""

    op: Operation[Any]
    url: str
    is_immutable: bool = False
    value: Any = None
    error: ApiError | None = None
    is_disk_read: bool = False
    """True if Octavo has looked for the response on disk."""
    decoding_task: asyncio.Task[None] | None = None
    """Task that decodes a large response from disk. None if no large response was on disk."""
    is_loading: bool = False
    """True while a request is running that a view waits for. Requests of polls do not count."""
    fetched_at: datetime | None = None
    requested_at: datetime | None = None
    """When the request for this value was sent. None if the value was read from disk."""
    checked_at: datetime | None = None
    """When the response was last known to be current. None if no response is loaded."""
    page_count: int = 0
    needed_page_count: int = 1
    """Number of pages of a list that a refresh fetches."""
    is_extending: bool = False
    """True while the next page of the list is being fetched."""
    included_write_count: int = 0
    """Number of writes that were confirmed before the request for this value. The value shows their changes."""
    writes_at_request: int = 0
    """Number of writes that were confirmed before the last request."""
    indexed_value: object = None
    """The value that was last added to the search index, usually `value`."""
    last_snapshot: Snapshot[Any] = Snapshot()
    edits: list[Edit] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    next_page_task: asyncio.Task[None] | None = None
    """Task that fetches more pages of the list, because watchers need more items. None while no such task runs."""

    @property
    def owner(self) -> str:
        """Name under which the syncer records that a view needs this response, such as `view /v1/spaces`."""
        return f"view {self.url}"

    @property
    def is_decoding(self) -> bool:
        """True while the response from disk is being decoded."""
        return self.decoding_task is not None and not self.decoding_task.done()

    @property
    def is_final(self) -> bool:
        """True if the response is loaded and never changes."""
        return self.is_immutable and self.value is not None

    @property
    def current_as_of(self) -> datetime | None:
        """When the response was last known to be current. None if it is not loaded or never changes."""
        return self.checked_at if self.value is not None and not self.is_final else None

    def contains_item(self, item_id: str) -> bool:
        """Return whether the response is a list that contains an item with this ID."""
        return isinstance(self.value, ListPage) and any(
            getattr(item, "id", None) == item_id for item in self.value.items
        )

    def load_stored(self, value: Any, requested_at: datetime, included_write_count: int) -> None:
        """Set `value`, read from disk. It contains the changes of the first `included_write_count` confirmed writes."""
        self.value, self.fetched_at, self.checked_at, self.page_count = value, requested_at, requested_at, 1
        self.included_write_count = included_write_count
        if isinstance(value, ListPage) and value.next is None and (limit := getattr(self.op, "limit", None)):
            # A refresh must fetch all stored pages: otherwise the list would become shorter.
            self.page_count = self.needed_page_count = max(1, -(-len(value.items) // limit))

    def accept(self, value: Any, page_count: int, now: datetime, included_write_count: int) -> None:
        """Store `value`, or keep an equal old one. Drop edits by the first `included_write_count` confirmed writes."""
        if value != self.value:
            self.value = value
        self.page_count, self.fetched_at, self.checked_at = page_count, now, now
        self.included_write_count = included_write_count
        self.needed_page_count = max(1, page_count) if not self.is_extending else self.needed_page_count
        self.edits = [
            edit for edit in self.edits if not edit.confirmed_number or edit.confirmed_number > included_write_count
        ]


P = ParamSpec("P")


class Observers(Generic[P]):
    """The callbacks for an event, in the order in which they were added."""

    def __init__(self) -> None:
        self._callbacks: list[Callable[P, object]] = []

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def add(self, callback: Callable[P, object]) -> Callable[[], None]:
        """Call `callback` at each `notify`. Return a function that ends the calls, and that may be called twice."""
        self._callbacks.append(callback)

        def remove() -> None:
            if callback in self._callbacks:
                self._callbacks.remove(callback)

        return remove

    def notify(self, *args: P.args, **kwargs: P.kwargs) -> None:
        """Call all callbacks with these arguments. Callbacks that are added meanwhile wait for the next `notify`."""
        for callback in tuple(self._callbacks):
            callback(*args, **kwargs)
