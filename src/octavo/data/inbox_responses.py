"""Keeps the responses that inbox rows are built from, decides when rows are built, and stores the rows for the next
start.

Only the parts of a response that rows need are kept, which take a tenth of the memory. Rows are stored, because
building rows from thousands of threads takes seconds.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from octavo.api.comments import Comment, List, ListReplies
from octavo.api.operation import Operation
from octavo.concurrency import Tasks
from octavo.data.inbox import Inbox, InboxRow, message_summary
from octavo.data.queries import PAGE_LIMIT

MAX_SHARED = 10_000
"""Maximum number of `_shared_values`. If there are more, all are removed."""
ListedItems: TypeAlias = tuple[Operation[Any], Sequence[Any]]


class InboxResponses:
    """The responses that the inbox needs, reduced to the parts that its rows need."""

    def __init__(self) -> None:
        self.values: dict[str, tuple[Any, ...]] = {}
        """Reduced items of each response, by URL. Replies are `MessageSummary`. The tuple stays if no item changes."""
        self.unreduced: dict[str, ListedItems] = {}
        """Fetched responses that are not reduced yet, by URL."""
        self._shared_values: dict[Any, Any] = {}
        """Authors, pages and permissions of comments. Each value is its own key, so equal values share one object."""

    @property
    def page_counts(self) -> dict[str, int]:
        """Number of pages of each list that has more than one page, by URL."""
        return {url: -(-len(items) // PAGE_LIMIT) for url, items in self.values.items() if len(items) > PAGE_LIMIT}

    def take_new_responses(self) -> dict[str, ListedItems]:
        """Return the responses in `unreduced` by URL, and clear `unreduced`."""
        new, self.unreduced = self.unreduced, {}
        return new

    def reduce(self, new: Mapping[str, ListedItems]) -> dict[str, tuple[Any, ...]]:
        """Return the items of `new` responses by URL, reduced to what rows need. Call this in one thread at a time."""
        if len(self._shared_values) > MAX_SHARED:
            self._shared_values.clear()
        return {url: self._reduce_response(self.values.get(url), *response) for url, response in new.items()}

    def put(self, reduced: Mapping[str, tuple[Any, ...]]) -> bool:
        """Store reduced responses by URL. Return whether any is new or differs from the stored response."""
        differs = any(self.values.get(url) is not items for url, items in reduced.items())
        self.values.update(reduced)
        return differs

    def keep_responses(self, urls: Collection[str]) -> None:
        """Forget all responses except those at `urls`."""
        for url in [url for url in self.values if url not in urls]:
            del self.values[url]
        self.unreduced = {url: response for url, response in self.unreduced.items() if url in urls}

    def last_post(self, op: Operation[Any], url: str, my_id: str, *, concerns_me: bool) -> datetime | None:
        """Return the time of the last post in the list `op` at `url` that matters to the user. In a list of threads,
        this is the user's newest comment. In a list of replies, it is the newest reply, if the thread concerns the user
        (`concerns_me`) or has a reply of the user. Otherwise None."""
        items = self.values.get(url, ())
        posts: Sequence[Any] = ()
        if isinstance(op, ListReplies):
            posts = items if concerns_me or any(item.author_id == my_id for item in items) else ()
        elif isinstance(op, List):
            posts = [item for item in items if item.posted_by.id == my_id]
        return max((post.posted_at for post in posts if post.posted_at is not None), default=None)

    def _reduce_response(
        self, old_items: tuple[Any, ...] | None, op: Operation[Any], response: Sequence[Any]
    ) -> tuple[Any, ...]:
        items: tuple[Any, ...] = tuple(map(message_summary, response) if isinstance(op, ListReplies) else response)
        if old_items is not None and items == old_items:
            return old_items
        return tuple(map(self._reuse_equal_parts, items)) if isinstance(op, List) else items

    def _reuse_equal_parts(self, comment: Comment) -> Comment:
        share, target = self._shared_values.setdefault, comment.target
        author, permissions, page = comment.posted_by, comment.permissions, target.page
        target = target.model_copy(update={"page": share(page, page)})
        return comment.model_copy(
            update={
                "posted_by": share(author, author),
                "permissions": share(permissions, permissions),
                "target": target,
            }
        )


MAX_STORED_ROWS = 1000


class InboxBuilder:
    """Builds the rows of the inbox. Responses that arrive shortly after each other cause only one build."""

    def __init__(self, build: Callable[[bool], Awaitable[Inbox | None]], on_built: Callable[[], None]) -> None:
        """`build(is_stale)` returns a new inbox, or None to keep the old one. With `is_stale=False`, `build`
        first checks whether anything has changed. `on_built` is called after each build."""
        self.inbox = Inbox()
        self.can_build = False
        """True if enough responses are loaded to build rows. Until then, the stored rows are shown."""
        self._build, self._on_built = build, on_built
        self._tasks = Tasks("Building the rows of the inbox")
        self._task: asyncio.Task[None] | None = None
        self._is_stale = self._is_due = self._is_building = False
        self._build_at = 0.0
        self._rescheduled = asyncio.Event()

    def schedule(self, wait: float, *, is_stale: bool = True) -> None:
        """Build the rows within `wait` seconds. With `is_stale=False`, build them only if they can have changed."""
        loop = asyncio.get_running_loop()
        build_at = loop.time() + wait
        self._build_at = min(self._build_at, build_at) if self._is_due else build_at
        self._is_stale, self._is_due = self._is_stale or is_stale, True
        self._rescheduled.set()
        if self.is_idle:
            self._task = self._tasks.start(self._run(), name="rows of the inbox")

    @property
    def is_idle(self) -> bool:
        """True if no build is running or scheduled."""
        return self._task is None or self._task.done()

    @property
    def is_building(self) -> bool:
        """True if a build is running, or must start now."""
        is_due = self._is_due and self._build_at <= asyncio.get_running_loop().time()
        return self._is_building or is_due

    async def wait_idle(self) -> None:
        """Build the rows now if they can have changed, and wait until no build is running or scheduled."""
        self.schedule(0.0, is_stale=False)
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Cancel the running or scheduled build."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self._is_due:
            self._rescheduled.clear()
            if (wait := self._build_at - loop.time()) > 0:
                timer = loop.call_later(wait, self._rescheduled.set)
                await self._rescheduled.wait()
                timer.cancel()
                continue
            is_stale, self._is_stale, self._is_due = self._is_stale, False, False
            self._is_building = True
            try:
                self.inbox = await self._build(is_stale) or self.inbox
            finally:
                self._is_building = False
            self._on_built()


@cache
def _row_codec() -> TypeAdapter[tuple[InboxRow, ...]]:
    return TypeAdapter(tuple[InboxRow, ...])


def pack_rows(rows: tuple[InboxRow, ...]) -> bytes:
    """Return the first `MAX_STORED_ROWS` rows as JSON."""
    return _row_codec().dump_json(rows[:MAX_STORED_ROWS])


def unpack_rows(stored: bytes) -> tuple[InboxRow, ...]:
    """Return the rows in the JSON of `pack_rows`. Empty if this version of Octavo cannot read the JSON."""
    try:
        return _row_codec().validate_json(stored)
    except ValueError:
        return ()
