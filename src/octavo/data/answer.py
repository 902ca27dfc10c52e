"""One answer in memory, and what is shown of it."""

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
"""Pages of a list that is read whole: each is a question of its own, again at each refresh, and a server may put one item
on each."""


@dataclass(frozen=True)
class Snapshot(Generic[T]):
    """What there is to show right now. An old value may come with a new error."""

    value: T | None = None
    """The last answer with unconfirmed writes on top."""
    error: ApiError | None = None
    loading: bool = False
    fetched_at: datetime | None = None
    """When the answer was read from the server."""
    pending: int = 0
    """How many writes it shows that are on their way: those that wait for a person are not."""
    pages: int = 0
    """How many pages of a list it is made of."""

    def goes_on(self, most: int) -> bool:
        """Return whether further pages of a list are to be fetched: it is not whole, has fewer than `most` items and
        `MOST_PAGES` pages, no request for it runs, and the last one did not fail."""
        value = self.value
        if not isinstance(value, ListPage) or value.next is None or self.loading or self.error is not None:
            return False
        return len(value.items) < most and self.pages < MOST_PAGES


@dataclass(eq=False)
class Edit:
    """How an answer will look once a write is confirmed, and when it was: 0 as long as it is not."""

    change: Callable[[Any], Any]
    confirmed: int = 0


@dataclass(eq=False)
class Answer:
    """The last answer to one read, as the server gave it, and who watches it."""

    op: Operation[Any]
    final_once_known: bool = False
    value: Any = None
    error: ApiError | None = None
    unpacked: bool = False
    """Whether what is on the shelf was looked for."""
    loading: bool = False
    fetched_at: datetime | None = None
    as_of: datetime | None = None
    """The last time at which it was known to be as it is, because it was read or because nothing speaks of a change."""
    pages: int = 0
    wanted: int = 1
    """How many pages a refresh reads."""
    mark: int = 0
    """How many writes were confirmed when this was asked: those are in it."""
    asked: int = 0
    """How many times we asked. Only the reply to the last question counts."""
    stale: bool = False
    freshening: asyncio.Task[None] | None = None
    """Asks behind, for as long as anybody watches."""
    asked_behind: int = 0
    """The question of `freshening`."""
    extending: bool = False
    behind: bool = False
    """Whether nobody waits for the question that is open."""
    told_loading: bool = False
    differed: int = 0
    """How many times an answer was another one than that before it."""
    learned: object = None
    """The value whose words can be found."""
    put: float | None = None
    """What the shelf said when this value was put there."""
    shown: Snapshot[Any] = Snapshot()
    edits: list[Edit] = field(default_factory=list)
    watchers: list[Callable[[Snapshot[Any]], None]] = field(default_factory=list)
    patient: list[Callable[[Snapshot[Any]], None]] = field(default_factory=list)
    """Those of `watchers` that do not wait for it before anything else."""
    most: dict[Callable[[Snapshot[Any]], None], int] = field(default_factory=dict)
    """Items of a list that a watcher wants, of those that want more than its first page."""
    reading_on: asyncio.Task[None] | None = None
    """Fetches further pages for `most`."""
    _resting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def final(self) -> bool:
        """Whether there is no use in asking again."""
        return self.final_once_known and self.value is not None

    @property
    def last_known(self) -> datetime | None:
        """The last time at which it was known to be as it is. None: there is nothing, or it never changes."""
        return self.as_of if self.value is not None and not self.final else None

    @property
    def idle_now(self) -> bool:
        """Whether it may be forgotten."""
        return not (self.watchers or self.loading or self.edits)

    @property
    def waits(self) -> bool:
        """Whether anybody who watches it waits for it."""
        return any(each not in self.patient for each in self.watchers)

    def lists(self, item_id: str) -> bool:
        """Whether it is a list with something called `item_id`."""
        return isinstance(self.value, ListPage) and any(
            getattr(item, "id", None) == item_id for item in self.value.items
        )

    def keep(self, value: Any, fetched_at: datetime) -> None:
        """Take over what was kept on the shelf."""
        self.value, self.fetched_at, self.as_of, self.pages = value, fetched_at, fetched_at, 1
        self.put = fetched_at.timestamp()  # when the server says the same, it need not be written again
        if isinstance(value, ListPage) and value.next is None and (limit := getattr(self.op, "limit", None)):
            # It was kept whole, however many questions that took: as many are asked again, or it would be cut short meanwhile.
            self.pages = self.wanted = max(1, -(-len(value.items) // limit))

    def accept(self, value: Any, pages: int, now: datetime, mark: int) -> None:
        """Take over what the server answered to a question asked when `mark` writes were confirmed."""
        self.differed += not (value is self.value or value == self.value)
        self.value, self.pages, self.fetched_at, self.as_of, self.mark = value, pages, now, now, mark
        self.wanted = max(1, pages) if not self.extending else self.wanted
        self.edits = [edit for edit in self.edits if not edit.confirmed or edit.confirmed > mark]

    async def idle(self) -> None:
        """Wait until no question is open."""
        while self.loading:
            waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._resting.append(waiting)
            await waiting

    def rest(self) -> None:
        """No question is open."""
        resting, self._resting = self._resting, []
        for waiting in resting:
            if not waiting.done():
                waiting.set_result(None)
