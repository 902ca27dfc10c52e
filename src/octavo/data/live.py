"""Provides the responses that screens show: first from the cache, then from the server, with unconfirmed writes
applied.

    unsubscribe = live.watch(comments.List(at=here), self.show)
    await live.write(spaces.Update(at=here, title="Guide"), (spaces.Get(at=here), rename))

A response is cached as the server sent it. Each snapshot applies the unconfirmed writes of the outbox, and the
functions passed to `Live.write` (such as `rename` above), to a copy. So undoing a write needs no change of the cache. A
confirmed write stays applied until a response requested after the write has arrived. Otherwise the old value would
appear for a moment. A response in memory has the number of writes that were confirmed before its request. For a
response from disk, the times of the writes are compared with the time of its request.

Ways to read a response:

    watch              snapshots for a callback: the cached response now, then each change. Fetches in the background
    peek               a snapshot from memory or disk. Sends nothing
    cached             the cached value, however old. Sends nothing
    cached_or_fetch    the cached value, however old. Fetches it if there is none. Raises ApiError
    fetch              the value from the server. Raises ApiError
    refresh            fetches again, and shows that it is loading. An error is in the snapshot
    wait_loaded        waits for a running request. Sends nothing
    fetch_next_page    fetches one more page of a list. An error is in the snapshot
    fetch_pages        fetches pages of a list up to a number of items. An error is in the snapshot
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from contextlib import aclosing
from copy import copy
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from octavo.api.errors import ApiError, Forbidden, NotFound, NotSent, Outcome, PaginationError
from octavo.api.operation import SPECS, Listing, ListPage, Operation, read_pages
from octavo.api.wire import encode, url_path
from octavo.concurrency import Tasks
from octavo.data.access import Availability, Send
from octavo.data.live_response import MAX_PAGES, Edit, LiveResponse, Observers, Snapshot, Watcher
from octavo.data.response_cache import ResponseCache, never_changes
from octavo.data.state_db import utc_now
from octavo.data.sync_queue import LONG_AGO, NeededResponse, Rank
from octavo.data.syncer import Syncer
from octavo.data.writes.machine import ExpectedState, OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.data.search_index import SearchIndex
    from octavo.data.writes.machine import DurableWrite

__all__ = ["Live", "Snapshot"]

T = TypeVar("T")

# lazy: needed only if there are unconfirmed writes
_apply_entries = lazy("octavo.data.writes.optimistic_updates:apply_entries")
_shown_state: Callable[..., ExpectedState] = lazy("octavo.data.writes.optimistic_updates:shown_state")

MAX_IDLE_RESPONSES = 12
"""Maximum number of responses without watchers in memory. Others are only on disk."""
MAX_CONFIRMED = 200
"""Maximum number of confirmed writes that Octavo remembers, to apply them to older responses."""
THREAD_DECODING_BYTES = 256 * 1024
"""A cached response with more bytes is decoded in a thread."""
RECENT_AGE = timedelta(seconds=5)
"""`watch` with `refetch=False` does not fetch a response that is younger than this."""
NOT_AVAILABLE_OFFLINE = "Not available offline: Octavo has not loaded this before."


class _FetchedResponse(NamedTuple):
    value: Any
    """The response. For a list, all fetched pages joined."""
    to_cache: Any
    """Value to store on disk: the response, or the first page of a longer list. None to store nothing."""
    page_count: int
    included_write_count: int
    """Number of writes that were confirmed before the request. The value shows their changes."""
    requested_at: datetime


class _ConfirmedWrite(NamedTuple):
    number: int
    """Position among all confirmed writes. The first write has number 1."""
    entry: OutboxEntry
    confirmed_at: datetime


class Live:
    """Keeps responses current while screens show them, and shows the user's writes at once."""

    def __init__(
        self,
        send: Send,
        cache: ResponseCache,
        outbox: Outbox,
        *,
        index: SearchIndex | None = None,
        now: Callable[[], datetime] = utc_now,
        rate_limit_wait: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`index` gets each response. `rate_limit_wait` returns the seconds that background requests must wait."""
        self.availability = Availability(send)
        self.send: Send = self.availability
        self.outbox = outbox
        self.can_revert_pages = True
        """False after the server refused to revert a page, but accepted edits that restore the page."""
        self.has_draft_status = True
        """False if responses have shown that the server has no draft status for change requests."""
        self.specification_version = 0
        """Increases when the server parses an OpenAPI specification again. Rendered pages may be outdated then."""
        self.before_update: Observers[[Operation[Any]]] = Observers()
        """Called with an operation before a response that was fetched in this run is replaced by a newer response."""
        self.unreadable_items: Observers[[Operation[Any], int]] = Observers()
        """Called with an operation and the number of items in its response that Octavo cannot read."""
        self.cache = cache
        self._index = index
        self.now = now
        self.syncer: Syncer[_FetchedResponse] = Syncer(
            cache, self._read, self._accept, self._handle_error, now=now, rate_limit_wait=rate_limit_wait
        )
        self._responses: OrderedDict[str, LiveResponse] = OrderedDict()
        self._tasks = Tasks("A refresh")
        self._confirmed: list[_ConfirmedWrite] = []
        self._confirmed_count = 0
        """Number of writes that the server has confirmed, whether the outbox or `write` sent them."""
        self._unrefreshed_writes: list[Operation[Any]] = []
        """Confirmed writes of the outbox. The responses that they changed have not been fetched again yet."""
        self._closed = False
        outbox.shown_state_of = self._shown_state_of
        outbox.done.add(self._on_write_done)
        outbox.changed.add(self._apply_outbox)

    def watch(
        self,
        op: Operation[T],
        watcher: Callable[[Snapshot[T]], None],
        *,
        rank: Rank = Rank.NOW,
        refetch: bool = True,
        min_items: int = 0,
    ) -> Callable[[], None]:
        """Call `watcher` with a snapshot now and after each change. Returns a function that ends the calls. With
        `refetch=False`, a response that is probably current is not fetched again. `min_items` is the number of items to
        load of a list."""
        self.outbox.start()  # this also sends the queued writes of earlier runs
        response = self._response(op)
        is_loaded = response.value is not None and response.error is None
        is_recent = bool(response.watchers) or self._contains_all_since(response, self.now() - RECENT_AGE)
        is_current = not refetch and is_loaded and is_recent
        if not refetch and is_loaded and not is_current and self.syncer.is_current(response.url):
            is_current, response.checked_at = True, self.now()
        new_watcher = Watcher(watcher, rank, min_items)
        response.watchers.append(new_watcher)
        is_on_disk = response.is_immutable and response.is_decoding
        if not (response.is_final or is_on_disk) and (response.is_loading or not is_current):
            self._add_needed(response)
        watcher(self._snapshot(response))
        self._fetch_needed_pages(response)
        return partial(self._remove_watcher, response, new_watcher)

    def peek(self, op: Operation[T]) -> Snapshot[T]:
        """Return a snapshot from memory or disk. Sends nothing. The value is None if not cached or not decoded yet."""
        return self._snapshot(self._response(op))

    @property
    def watched(self) -> tuple[LiveResponse, ...]:
        """The responses that have watchers and may change."""
        return tuple(
            response
            for response in self._responses.values()
            if response.watchers and not response.is_final and not _is_about_unsent_comment(response.op)
        )

    def current_as_of(self, op: Operation[Any]) -> datetime | None:
        """Return when a response was last known to be current. None if it is not in memory, or if it never changes."""
        response = self._responses.get(encode(op).url)
        return response.current_as_of if response is not None else None

    def watched_response(self, op: Operation[Any]) -> LiveResponse:
        """Return the response to a watched operation. It stays the same object while it has watchers."""
        return self._response(op)

    async def refresh(self, op: Operation[Any], *, repeats: bool = False) -> None:
        """Fetch a response again, unless it never changes. Watchers see the old value meanwhile. With `repeats`, a
        request that is already running is sent again, because its response may be outdated. Raises no ApiError."""
        response = self._response(op)
        if repeats:
            self.syncer.queue.mark_stale(response.url)
        if not response.is_final:
            try:
                await self._fetch(response, Rank.NOW)
            except ApiError:
                return  # Watchers get the error in the snapshot.

    async def fetch(self, op: Operation[T], *, rank: Rank = Rank.NOW, since: datetime | None = None) -> T:
        """Fetch a response, and return it as the server sent it, without unconfirmed writes. Raises ApiError. A
        response that was requested after `since`, and after all confirmed writes, is not fetched again."""
        response = self._response(op, read_disk=rank is Rank.NOW)
        is_current = since is not None and not response.is_loading and self._contains_all_since(response, since)
        value: T = response.value if is_current else await self._fetch(response, rank)
        return value

    def _contains_all_since(self, response: LiveResponse, since: datetime) -> bool:
        """Return whether a response was requested after `since` without an error, and shows all confirmed writes."""
        is_newer = response.requested_at is not None and since < response.requested_at <= self.now()
        return is_newer and response.error is None and response.included_write_count == self._confirmed_count

    async def _fetch(self, response: LiveResponse, rank: Rank) -> Any:
        if response.writes_at_request != self._confirmed_count:
            # A running request may miss confirmed writes, so it is repeated.
            self.syncer.queue.mark_stale(response.url)
        was_shown, response.is_loading = response.last_snapshot.is_loading and response.is_loading, True
        if response.watchers:
            self._add_needed(response)  # if the request fails, the Syncer retries it for the watchers
        if not was_shown:
            self._notify_watchers(response)
        try:
            return await self.syncer.get(response.op, rank)
        except asyncio.CancelledError:
            self._update_loading(response)
            raise

    async def cached_or_fetch(self, op: Operation[T], *, rank: Rank = Rank.NOW) -> T:
        """Return the cached response, however old. If there is none, fetch the response. Raises ApiError."""
        value = await self.cached(op)
        return value if value is not None else await self.fetch(op, rank=rank)

    async def cached(self, op: Operation[T]) -> T | None:
        """Return the cached response, however old. None if no response is cached. Sends nothing."""
        response = self._response(op)
        if response.decoding_task is not None:
            await asyncio.wait([response.decoding_task])
        value: T | None = self._snapshot(response).value
        return value

    def prioritize(self, op: Operation[Any]) -> None:
        """Send the request for `op` before all waiting requests."""
        self.syncer.prioritize(encode(op).url)

    async def wait_loaded(self, op: Operation[Any]) -> None:
        """Wait until no request for `op` is running."""
        await self._wait_until_loaded(self._response(op))

    def release(self, op: Operation[Any]) -> None:
        """Remove a response from memory if it is not in use. It stays on disk."""
        url = encode(op).url
        if (response := self._responses.get(url)) is not None and self._is_idle(response):
            del self._responses[url]

    async def fetch_next_page(self, op: Listing[Any], *, rank: Rank = Rank.NOW) -> None:
        """Fetch the next (or first) page of a list. If another caller is fetching a page, only wait for that page.
        Later refreshes fetch all pages loaded so far again. An error is in the snapshot."""
        response = self._response(op)
        if response.value is None:
            await self.refresh(op)
            return
        is_fetched_by_other = response.is_extending
        while response.is_extending and not self._closed:
            await self.syncer.wait_change()
        if is_fetched_by_other or response.value.next is None:
            return
        response.is_extending = True
        try:
            response.needed_page_count = response.page_count + 1
            await self._wait_until_loaded(response)
            if response.page_count < response.needed_page_count and response.value.next is not None:
                await self._fetch_next(response, rank)
        except (ApiError, asyncio.CancelledError) as error:
            response.needed_page_count = max(1, response.page_count)
            if not isinstance(error, ApiError):
                raise
        finally:
            response.is_extending = False
            self.syncer.notify_change()

    async def _fetch_next(self, response: LiveResponse, rank: Rank) -> None:
        assert isinstance(response.op, Listing), "only a list has pages"
        old_value = response.value
        # A list joined from several pages is as old as its first page.
        since = response.requested_at or response.fetched_at or self.now()
        response.is_loading = True
        self._notify_watchers(response)
        try:
            send = partial(self.syncer.get, rank=rank)
            _, value, page_count = await self._read_list(response.op, send, response=response, fetched_list=old_value)
        except ApiError as error:
            response.error = copy(error)
            raise
        else:
            if response.value is old_value:  # otherwise, the whole list was fetched meanwhile
                response.error = None
                self._store(
                    response,
                    _FetchedResponse(
                        value, value if value.next is None else None, page_count, response.included_write_count, since
                    ),
                )
        finally:
            self._update_loading(response, is_shown=False)
            self._notify_watchers(response)

    async def fetch_pages(self, op: Listing[Any], min_items: int, *, rank: Rank = Rank.NOW) -> None:
        """Fetch pages of a list until it ends, has `min_items` items or `MAX_PAGES` pages, or until a page fails."""
        response = self._response(op)
        await self._wait_until_loaded(response)  # another caller may be fetching a page
        while self._snapshot(response).needs_more(min_items):
            await self.fetch_next_page(op, rank=rank)
            await self._wait_until_loaded(response)

    async def write(self, op: Operation[T], *edits: tuple[Operation[Any], Callable[[Any], Any]]) -> T:
        """Send a write now, and return the response. Raises ApiError. Each of `edits` is an operation and a function
        that changes its response. Watchers see the changed responses at once. An error undoes the changes."""
        applied_edits = [(self._response(target), Edit(change)) for target, change in edits]
        for response, edit in applied_edits:
            response.edits.append(edit)
            self._notify_watchers(response)
        try:
            result = await self.send(op)
        except BaseException as error:
            for response, edit in applied_edits:
                response.edits.remove(edit)
                self._notify_watchers(response)
            if isinstance(error, asyncio.CancelledError) or (
                isinstance(error, ApiError) and error.outcome is Outcome.UNKNOWN
            ):
                self.refresh_affected(op)  # the server may have executed the write, and so changed the responses
            raise
        self._confirmed_count += 1
        self.syncer.end_pause()
        for response, edit in applied_edits:
            edit.confirmed_number = self._confirmed_count
            self._notify_watchers(response)
        self.refresh_affected(op)
        return result

    def refresh_affected(self, op: Operation[Any]) -> None:
        """Fetch watched responses that `op` may have changed. Remove an item deleted by `op` from the search index."""
        changed_path, path = affected_path(op), url_path(op)
        target_id = changed_path.rpartition("/")[2]
        self._remove_from_index(op)

        def is_affected(other: Operation[Any]) -> bool:
            other_path = url_path(other)
            is_on_path = f"{changed_path}/".startswith(f"{other_path}/") or f"{other_path}/".startswith(
                f"{changed_path}/"
            )
            response = self._responses.get(encode(other).url)
            return (
                is_on_path
                or _may_list_contain(other_path, path)
                or (response is not None and response.contains_item(target_id))
            )

        self.syncer.mark_affected_stale(is_affected)
        for response in tuple(self._responses.values()):
            if response.watchers and not response.is_final and is_affected(response.op):
                self._add_needed(response)
                if not response.last_snapshot.is_loading:
                    self._notify_watchers(response)

    def _remove_from_index(self, op: Operation[Any]) -> None:
        """Remove the target of `op` from the search index. Responses in memory are indexed again at the next fetch."""
        if self._index is not None:
            self._index.remove_target(op)
            for response in self._responses.values():
                response.indexed_value = None

    async def close(self) -> None:
        """Cancel all background requests. Later calls start no requests."""
        self._closed = True
        await self.syncer.close()
        await self._tasks.close()

    def _add_needed(self, response: LiveResponse) -> None:
        if not self._closed:
            response.is_loading = True
            rank = min(watcher.rank for watcher in response.watchers)
            self.syncer.add(NeededResponse(response.op, response.url, response.owner, rank))

    def _remove_watcher(self, response: LiveResponse, watcher: Watcher) -> None:
        if watcher in response.watchers:
            response.watchers.remove(watcher)
            # Requests are canceled in the next turn, because a view often adds another watcher first.
            asyncio.get_running_loop().call_soon(self._cancel_unwatched, response)

    def _cancel_unwatched(self, response: LiveResponse) -> None:
        if response.next_page_task is not None and not any(watcher.min_items for watcher in response.watchers):
            response.next_page_task.cancel()
        if not response.watchers:
            self.syncer.drop(response.owner)
            self._update_loading(response)

    def _update_loading(self, response: LiveResponse, *, is_shown: bool = True) -> None:
        was_loading, response.is_loading = response.is_loading, self.syncer.queue.is_in_flight(response.url)
        if is_shown and was_loading and not response.is_loading:
            self._notify_watchers(response)

    async def _wait_until_loaded(self, response: LiveResponse) -> None:
        while response.is_loading and not self._closed:
            await self.syncer.wait_change()

    async def _read(self, op: Operation[Any], min_items: int) -> _FetchedResponse:
        confirmed_count, now = self._confirmed_count, self.now()
        response = self._responses.get(encode(op).url)
        if response is not None:
            response.writes_at_request = confirmed_count
        if _is_about_unsent_comment(op):
            return _FetchedResponse(
                ListPage(items=()) if isinstance(op, Listing) else None, None, 1, confirmed_count, now
            )
        if not isinstance(op, Listing) or op.page is not None:
            value = await self.send(op)
            return _FetchedResponse(value, None if getattr(op, "page", None) else value, 1, confirmed_count, now)
        first, joined, page_count = await self._read_list(op, self.send, response=response, min_items=min_items)
        return _FetchedResponse(joined, joined if joined.next is None else first, page_count, confirmed_count, now)

    async def _read_list(
        self,
        op: Listing[Any],
        send: Send,
        *,
        response: LiveResponse | None = None,
        fetched_list: ListPage[Any] | None = None,
        min_items: int = 0,
    ) -> tuple[ListPage[Any], ListPage[Any], int]:
        """Fetch pages after `fetched_list`, if any, until there are `response.needed_page_count` pages and `min_items`
        items. Return the first page or `fetched_list`, the joined pages, and the number of nonempty pages (min. 1)."""
        first_page = joined = fetched_list
        page_count = response.page_count if response is not None and fetched_list is not None else 0
        async with aclosing(read_pages(send, op, after=fetched_list)) as pages_to_come:
            try:
                async for page in pages_to_come:
                    if first_page is None or joined is None:
                        first_page = joined = page
                        page_count = 1
                    else:
                        page_count += bool(page.items and joined.items)
                        items, unreadable = (*joined.items, *page.items), joined.unreadable + page.unreadable
                        joined = joined.model_copy(update={"items": items, "next": page.next, "unreadable": unreadable})
                    needed_count = response.needed_page_count if response is not None else 1
                    if (
                        page_count >= needed_count
                        and joined.items
                        and (len(joined.items) >= min_items or page_count >= MAX_PAGES)
                    ):
                        break
            except PaginationError:
                if not min_items or joined is None:
                    raise  # with `min_items`, the pages that were fetched before the error are enough
        assert first_page is not None, "a list must have a first page"
        assert joined is not None, "a list must have a first page"
        return first_page, joined, page_count

    def _accept(self, op: Operation[Any], fetched: _FetchedResponse, is_outdated: bool) -> Any:
        """Store a fetched response and return its value. Notify its watchers, unless they already saw this value as
        loaded. If `is_outdated`, the watchers still see it as loading. A further page of a list is not stored here."""
        if getattr(op, "page", None) is not None:
            return fetched.value  # `_fetch_next` stores this further page of a list
        response = self._response(op, read_disk=False)
        was_shown = not response.is_loading and response.error is None and response.value == fetched.value
        response.error, response.is_loading = None, is_outdated
        value = self._store(response, fetched)
        self.outbox.record_response()
        if not was_shown:
            self._notify_watchers(response)
        return value

    def _store(self, response: LiveResponse, fetched: _FetchedResponse) -> Any:
        if response.requested_at is not None:
            self.before_update.notify(response.op)
        response.accept(fetched.value, fetched.page_count, self.now(), fetched.included_write_count)
        response.requested_at = fetched.requested_at
        value, unreadable = response.value, getattr(fetched.value, "unreadable", 0)
        if fetched.to_cache is not None and not (unreadable and never_changes(response.op)):
            # An incomplete immutable response is not cached: a newer Octavo, which can read it, would not fetch it
            # again.
            self.cache.put(response.op, fetched.to_cache, fetched.requested_at)
        if self._index is not None and response.indexed_value is not value:
            self._index.add(response.op, value)
            response.indexed_value = value
        if unreadable:
            self.unreadable_items.notify(response.op, unreadable)
        return value

    def _handle_error(self, op: Operation[Any], error: ApiError) -> None:
        """Store an error in a watched response, and notify the watchers. Background requests store only the statuses
        403 and 404. After a 403 or 404, also remove the content from the search index."""
        if isinstance(error, NotFound | Forbidden):
            self._remove_from_index(op)
        response = self._responses.get(encode(op).url)
        if response is None or getattr(op, "page", None) is not None:
            return
        if (
            isinstance(error, NotSent)
            and not self._is_cached(response)
            and not str(error).startswith(NOT_AVAILABLE_OFFLINE)
        ):
            # All callers get this error object, so its message is changed instead of the object.
            error.args = (f"{NOT_AVAILABLE_OFFLINE} {error}",)
        was_loading, old_error = response.is_loading, response.error
        if was_loading or isinstance(error, NotFound | Forbidden):
            response.error = copy(error)  # A copy has no traceback, which would keep objects in memory.
        response.is_loading = False
        if was_loading or response.error is not old_error:
            self._notify_watchers(response)

    def _response(self, op: Operation[Any], *, read_disk: bool = True) -> LiveResponse:
        """Return the response to an operation from memory. If it is not in memory, create a response without a value.
        With `read_disk`, load a missing value from disk if possible."""
        if (spec := SPECS[type(op)]).method != "GET" or spec.repeats_request:
            raise TypeError(f"the responses of {spec.name} are not cached")
        url = encode(op).url
        response = self._responses.get(url)
        if response is None:
            response = self._responses[url] = LiveResponse(op, url, is_immutable=never_changes(op))
            self._evict_idle()
        if read_disk and not response.is_disk_read:
            response.is_disk_read = True
            if response.value is None and not _is_about_unsent_comment(op) and (body := self.cache.read_body(op)):
                self._load_stored(response, *body)
        self._responses.move_to_end(url)
        return response

    def _is_cached(self, response: LiveResponse) -> bool:
        if response.value is not None or response.is_decoding:
            return True
        return not response.is_disk_read and self.cache.read_body(response.op) is not None

    def _load_stored(self, response: LiveResponse, body: bytes, requested_at: datetime) -> None:
        if len(body) <= THREAD_DECODING_BYTES:
            if (value := self.cache.decode(response.op, body)) is not None:
                response.load_stored(value, requested_at, self._last_number_confirmed_before(requested_at))
            return

        async def load() -> None:
            value = await asyncio.to_thread(self.cache.decode, response.op, body)
            if response.value is not None:
                return  # a newer response was fetched meanwhile
            if value is not None:
                response.load_stored(value, requested_at, self._last_number_confirmed_before(requested_at))
                self._notify_watchers(response)
            elif response.watchers:
                self._add_needed(response)

        response.decoding_task = self._tasks.start(load())

    def _last_number_confirmed_before(self, moment: datetime) -> int:
        return max((each.number for each in self._confirmed if each.confirmed_at < moment), default=0)

    def _evict_idle(self) -> None:
        idle_urls = [url for url, response in self._responses.items() if self._is_idle(response)]
        for url in idle_urls[: max(0, len(idle_urls) - MAX_IDLE_RESPONSES)]:
            del self._responses[url]

    def _is_idle(self, response: LiveResponse) -> bool:
        return not (
            response.watchers or response.is_loading or response.edits or response.url in self.syncer.queue.requests
        )

    def _snapshot(self, response: LiveResponse) -> Snapshot[Any]:
        value, pending = response.value, 0
        if value is not None:
            applied_entries = [each.entry for each in self._confirmed if each.number > response.included_write_count]
            applied_entries += self.outbox.own_entries
            if applied_entries:
                value, pending = _apply_entries(response.op, value, applied_entries, self.outbox.me)
            for edit in response.edits:
                value = edit.change(value)
                pending += not edit.confirmed_number
        is_loading = response.is_loading or (value is None and response.is_decoding)
        response.last_snapshot = Snapshot(
            value, response.error, is_loading, response.fetched_at, pending, response.page_count
        )
        return response.last_snapshot

    def _notify_watchers(self, response: LiveResponse) -> None:
        snapshot = self._snapshot(response)
        for watcher in tuple(response.watchers):
            watcher.callback(snapshot)
        self._fetch_needed_pages(response)

    def _fetch_needed_pages(self, response: LiveResponse) -> None:
        min_items = max((watcher.min_items for watcher in response.watchers), default=0)
        if response.next_page_task is None and not self._closed and response.last_snapshot.needs_more(min_items):
            assert isinstance(response.op, Listing), "only a list has more pages"
            rank = min(watcher.rank for watcher in response.watchers if watcher.min_items)
            task = response.next_page_task = self._tasks.start(self.fetch_pages(response.op, min_items, rank=rank))
            task.add_done_callback(partial(self._on_next_page, response))

    def _on_next_page(self, response: LiveResponse, task: asyncio.Task[None]) -> None:
        response.next_page_task = None
        if not task.cancelled() and task.exception() is None:
            self._fetch_needed_pages(response)  # another watcher may need more items

    def _apply_outbox(self) -> None:
        self._refresh_written()
        for response in tuple(self._responses.values()):
            if response.watchers and response.last_snapshot != self._snapshot(response):
                self._notify_watchers(response)

    def _on_write_done(self, entry: OutboxEntry) -> None:
        self._confirmed_count += 1
        confirmed = _ConfirmedWrite(self._confirmed_count, entry, self.now())
        self._confirmed = [*self._confirmed[1 - MAX_CONFIRMED :], confirmed]
        self._unrefreshed_writes.append(entry.op)
        self.syncer.end_pause()

    def _refresh_written(self) -> None:
        """Fetch responses that confirmed writes have changed, if the outbox is idle or there are many such writes."""
        if self._unrefreshed_writes and (
            len(self._unrefreshed_writes) >= MAX_CONFIRMED // 2 or not self.outbox.is_sending
        ):
            writes, self._unrefreshed_writes = self._unrefreshed_writes, []
            for op in writes:
                self.refresh_affected(op)

    def _shown_state_of(self, op: DurableWrite) -> ExpectedState:
        loaded_responses = [
            response
            for response in self._responses.values()
            if response.value is not None and getattr(response.op, "at", None) == op.at
        ]
        # Watched responses come first, then the newest, which the user probably saw last.
        loaded_responses.sort(key=lambda each: (bool(each.watchers), each.fetched_at or LONG_AGO), reverse=True)
        shown_responses = (
            (each.op, (each.last_snapshot if each.watchers else self._snapshot(each)).value)
            for each in loaded_responses
        )
        return _shown_state(op, shown_responses)


def affected_path(op: Operation[Any]) -> str:
    """Return the path of the resource that a write changes, such as the path of the space for a merge."""
    spec, path = SPECS[type(op)], url_path(op)
    if spec.name.startswith("site_structure."):
        return "/".join(path.split("/")[:6])  # the path of the site, because several lists of a site have its sections
    if spec.path == "/merge":
        return path.partition("/change-requests/")[0]
    if spec.path == "{content}":
        return path.rpartition("/content")[0]
    is_list = any(other.method == "GET" and other.path == spec.path for other in SPECS.values())
    return path if spec.method != "POST" or is_list else path.rpartition("/")[0]


def _may_list_contain(list_path: str, path: str) -> bool:
    """Return whether `list_path` is an organization's list that may contain the resource at `path` or its ancestor."""
    return list_path.startswith("/v1/orgs/") and list_path.rpartition("/")[2] in path.split("/")[2::2]


def _is_about_unsent_comment(op: Operation[Any]) -> bool:
    return str(getattr(op, "comment_id", "")).startswith("pending-")
