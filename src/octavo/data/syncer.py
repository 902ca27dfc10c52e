"""Fetches the responses that parts of Octavo need. `sync_queue.py` decides the order.

    page = await syncer.get(op)                         # the user waits
    syncer.run(planner)                                 # a sync: fetches what the planner needs, in the background
    await syncer.wait_planned("inbox")                  # until the needed responses are known and the disk is read
    await syncer.wait_idle("inbox", Rank.PREFETCH)      # until the responses are fetched
    syncer.progress("inbox"), syncer.failures("inbox")
    syncer.drop("inbox")                                # cancels the requests

A planner says which responses it needs, and never sends a request:

    class ReadingListPlanner:
        owner = "reading list"
        def needed_responses(self):  # all, even if they are cached. The queue fetches only outdated responses
            url = encode(tree_op).url
            yield NeededResponse(tree_op, url, self.owner, Rank.INBOX, fingerprint=revision, needs_cached_value=True)
        def on_response(self, needed, value):  # called with each response; returns more needed responses
            return [...] if isinstance(value, PageTree) else ()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from octavo.api.errors import ApiError, LocalFailure, NotSent
from octavo.api.operation import ListPage, Operation
from octavo.api.wire import encode
from octavo.concurrency import Tasks
from octavo.data.live_response import Observers
from octavo.data.response_cache import ResponseCache
from octavo.data.sync_queue import NeededResponse, Rank, RunningRequest, SyncQueue, Version, affects_all_requests

T = TypeVar("T")
R = TypeVar("R")

NEEDED_PER_SLICE = 500
"""Number of needed responses that are processed before other tasks may run."""
READS_PER_SLICE = 40
"""Number of responses that are read from disk before other tasks may run."""
RATE_LIMIT_CHECK = 5.0
"""Maximum seconds until Octavo checks again whether the rate limit is nearly reached."""
SESSION_ENDED = "This session has ended."


class Planner(Protocol):
    """Decides which responses a part of Octavo needs. `owner` is the name of this part."""

    owner: str

    def needed_responses(self) -> Iterable[NeededResponse]:
        """Return the responses that this part needs at first. If a URL is returned twice, its last response counts."""
        ...

    def on_response(self, needed: NeededResponse, value: Any) -> Iterable[NeededResponse]:
        """Use a response. Return the responses that are needed because of `value`. Called with each fetched response,
        and if `needed.needs_cached_value`, also with a cached response."""
        ...


class Progress(NamedTuple):
    """Counts of the responses that an owner (`Planner.owner`) needs: all, the missing and the due responses."""

    needed_count: int
    missing_count: int
    """Number of needed responses that are not fetched yet. Failed requests are included."""
    due_count: int
    """Number of responses that the last sync had to fetch."""


class LoadFailure(NamedTuple):
    """A needed response that could not be fetched."""

    needed: NeededResponse
    cause: str
    """The error message, a sentence."""
    is_unreached: bool = False
    """True if the server could not be reached."""


@dataclass(eq=False)
class _OwnerState:
    """State of an owner, such as the inbox: the planner, the responses that the planner needs, and running syncs."""

    planner: Planner | None = None
    root_urls: frozenset[str] = frozenset()
    """URLs that `Planner.needed_responses` returned. The other URLs came from `Planner.on_response`."""
    needed_responses: dict[str, NeededResponse] = field(default_factory=dict)
    dependents: dict[str, list[NeededResponse]] = field(default_factory=dict)
    """Responses that `Planner.on_response` returned, by the URL of the response that it was called with."""
    used_versions: dict[str, Version | None] = field(default_factory=dict)
    """Version of each response when the planner last got the response, by URL."""
    due_ranks: dict[str, Rank] = field(default_factory=dict)
    """Rank of each response that the last sync had to fetch, by URL."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Running tasks that call the planner."""
    last_sync: asyncio.Task[None] | None = None


class Syncer(Generic[R]):
    """Fetches the responses that parts of Octavo need, and caches them with their versions."""

    def __init__(
        self,
        cache: ResponseCache,
        read: Callable[[Operation[Any], int], Awaitable[R]],
        accept: Callable[[Operation[Any], R, bool], Any],
        fail: Callable[[Operation[Any], ApiError], None],
        *,
        now: Callable[[], datetime],
        rate_limit_wait: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`read(op, min_items)` fetches a response. `accept(op, response, is_outdated)` stores the response and returns
        its value. `is_outdated` is True if the response will be fetched again. `fail(op, error)` handles an error.
        `rate_limit_wait()` returns the seconds that background requests must wait."""
        self.queue = SyncQueue(lambda url: cache.versions.get(url))
        self.changed: Observers[[str]] = Observers()
        """Called with the name of an owner when its progress or its failures have changed."""
        self._cache, self._read, self._accept, self._fail = cache, read, accept, fail
        self._now, self.rate_limit_wait = now, rate_limit_wait
        self._states: dict[str, _OwnerState] = {}
        self._urls_by_waiter: dict[asyncio.Future[Any], str] = {}
        """The URL that each caller of `get` waits for, by the future of the caller."""
        self._calls = count(1)
        self._tasks = Tasks("A refresh")
        self._running: dict[RunningRequest, asyncio.Task[None]] = {}
        self._start_timer: asyncio.Handle | None = None
        self._is_start_scheduled = self.is_hidden = self._is_closed = False
        self._change = asyncio.Event()
        """Set when a request starts or ends, or a sync ends. A new event then replaces it."""

    async def get(self, op: Operation[T], rank: Rank = Rank.NOW) -> T:
        """Fetch a response, or wait for the running request for it. Raises ApiError."""
        if self._is_closed:
            raise NotSent(SESSION_ENDED)
        url, owner = encode(op).url, f"call {next(self._calls)}"
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._urls_by_waiter[future] = url
        self.add(NeededResponse(op, url, owner, rank))
        try:
            return await future
        finally:
            del self._urls_by_waiter[future]
            self._cancel(self.queue.drop(owner, (url,)))

    def add(self, needed: NeededResponse) -> None:
        """Fetch a needed response soon, unless the cached response is current. A failed request is sent again."""
        if not self._is_closed:
            self.queue.add(needed, self._now())
            self._schedule_start()

    def drop(self, owner: str) -> None:
        """End the syncs of `owner`, and forget its needed responses. Cancel the requests that no other owner needs."""
        if (state := self._states.pop(owner, None)) is not None:
            for task in state.tasks:
                task.cancel()
        self._cancel(self.queue.set_needed(owner, (), self._now()))

    def run(self, planner: Planner, *, retries_refused: bool = False) -> None:
        """Start a sync in the background: fetch the responses that `planner` needs. The sync waits for a running sync
        of the same owner. With `retries_refused`, send requests again that the server refused earlier."""
        if self._is_closed:
            return
        state = self._states.setdefault(planner.owner, _OwnerState())
        if state.planner is not planner:
            state.planner, state.used_versions = planner, {}
        work = self._sync(planner, state, retries_refused, state.last_sync)
        state.last_sync = self._start_planning(state, work, f"sync of {planner.owner}")

    async def wait_idle(self, owner: str, lowest: Rank = Rank.OFFLINE) -> None:
        """Wait until all requests of `owner` have ended or are paused. Ranks after `lowest` are ignored."""
        while not self.is_idle(owner, lowest):
            await self._change.wait()

    async def wait_planned(self, owner: str) -> None:
        """Wait until the planner of `owner` has returned the responses it needs. Does not wait for requests."""
        while not self._is_closed and (state := self._states.get(owner)) is not None and state.tasks:
            await self._change.wait()

    def is_idle(self, owner: str, lowest: Rank = Rank.OFFLINE) -> bool:
        """Return whether `wait_idle` with the same arguments would return at once."""
        state = self._states.get(owner)
        if self._is_closed:
            return True
        return not (state and state.tasks) and self.queue.is_idle(owner, lowest, self._now(), self._may_start)

    async def wait_change(self) -> None:
        """Wait until a request starts or ends, or a sync ends."""
        await self._change.wait()

    def notify_change(self) -> None:
        """Wake all callers of `wait_change`."""
        self._change.set()
        self._change = asyncio.Event()

    def progress(self, owner: str, lowest: Rank = Rank.OFFLINE) -> Progress:
        """Count the needed responses of `owner`, those not fetched yet, and those due. Ignore ranks after `lowest`."""
        state = self._states.get(owner) or _OwnerState()
        urls = {url for url, needed in state.needed_responses.items() if needed.rank <= lowest}
        due_count = sum(rank <= lowest for rank in state.due_ranks.values())
        return Progress(len(urls), len(urls & self.queue.waiting_urls(owner)), due_count)

    def pause_reason(self, owner: str) -> str | None:
        """Return why the unfinished requests of `owner` wait, as an error message. Empty if they wait for the rate
        limit. None if no request waits. Call this only if the owner is idle."""
        if not self.queue.unfinished_urls(owner):
            return None
        return str(self.queue.paused_by) if self.queue.paused_by is not None else ""

    def failures(self, owner: str) -> tuple[LoadFailure, ...]:
        """Return the responses of `owner` that could not be fetched."""
        failures = []
        for url, needed in self._states[owner].needed_responses.items() if owner in self._states else ():
            version = self._cache.versions.get(url)
            if (error := self.queue.errors.get(url)) is not None:
                failures.append(LoadFailure(needed, str(error), isinstance(error, NotSent)))
            elif version is not None and version.error and version.fingerprint == needed.fingerprint:
                failures.append(LoadFailure(needed, version.error))
        return tuple(failures)

    def is_current(self, url: str) -> bool:
        """Return whether the cached response at `url` is known to be current, because its fingerprint is unchanged."""
        needed_responses = [
            state.needed_responses[url] for state in self._states.values() if url in state.needed_responses
        ]
        version = self._cache.versions.get(url)
        is_stored = version is not None and not version.error
        return (
            is_stored
            and any(needed.fingerprint and not needed.is_unverified for needed in needed_responses)
            and not self.queue.is_needed(url)
        )

    def mark_affected_stale(self, is_affected: Callable[[Operation[Any]], bool]) -> None:
        """Send the running requests again after they end, if `is_affected` returns True for their operation."""
        for url, request in self.queue.requests.items():
            if is_affected(request.op):
                self.queue.mark_stale(url)

    def prioritize(self, url: str) -> None:
        """Send the request for `url` before all waiting requests."""
        self.queue.prioritize(url)
        self._schedule_start()

    def end_pause(self) -> None:
        """End the pause after failures, because the server has responded to a request outside the Syncer."""
        self.queue.end_pause()
        self._schedule_start()

    def set_hidden(self, is_hidden: bool) -> None:
        """Record whether the terminal is hidden. While it is hidden, no requests of rank VISIBLE and LATER start."""
        self.is_hidden = is_hidden
        self._schedule_start()

    async def close(self) -> None:
        """Cancel all requests and all callers of `get`. Later requests do not start."""
        self._is_closed = True
        if self._start_timer is not None:
            self._start_timer.cancel()
        self._is_start_scheduled = False
        for future in self._urls_by_waiter:
            future.cancel()
        await self._tasks.close()
        self.notify_change()

    async def _sync(
        self, planner: Planner, state: _OwnerState, retries_refused: bool, last_sync: asyncio.Task[None] | None
    ) -> None:
        if last_sync is not None:
            await asyncio.wait([last_sync])
        root_responses: dict[str, NeededResponse] = {}
        async for needed in _in_slices(planner.needed_responses()):
            root_responses[needed.url] = self._due_if_refused(needed) if retries_refused else needed
        self.queue.retry(planner.owner)
        state.root_urls, state.needed_responses = frozenset(root_responses), dict(root_responses)
        urls_to_visit, dependents = list(root_responses), dict[str, list[NeededResponse]]()
        for url in urls_to_visit:
            if url in state.dependents:
                dependents[url] = state.dependents[url]
                urls_to_visit += [each.url for each in dependents[url] if each.url not in state.needed_responses]
                state.needed_responses |= {
                    each.url: each for each in dependents[url] if each.url not in state.needed_responses
                }
        state.dependents = dependents
        state.used_versions = {
            url: version for url, version in state.used_versions.items() if url in state.needed_responses
        }
        self._cancel(self.queue.set_needed(planner.owner, state.needed_responses.values(), self._now()))
        state.due_ranks = {url: state.needed_responses[url].rank for url in self.queue.waiting_urls(planner.owner)}
        self._schedule_start()
        self.changed.notify(planner.owner)
        await self._use_cached_responses(state, root_responses.values())

    def _start_planning(
        self, state: _OwnerState, coroutine: Coroutine[Any, Any, None], name: str | None = None
    ) -> asyncio.Task[None]:
        """Start a task for `coroutine`, which calls the planner. `drop` cancels this task."""
        task = self._tasks.start(coroutine, name=name)
        state.tasks.add(task)
        task.add_done_callback(partial(self._on_planning_ended, state))
        return task

    def _on_planning_ended(self, state: _OwnerState, task: asyncio.Task[None]) -> None:
        state.tasks.discard(task)
        self.notify_change()

    def _due_if_refused(self, needed: NeededResponse) -> NeededResponse:
        version = self._cache.versions.get(needed.url)
        return needed.as_due() if version is not None and version.error else needed

    async def _use_cached_responses(self, state: _OwnerState, needed_responses: Iterable[NeededResponse]) -> None:
        """Give the planner the cached values that it has not received yet. Fetch unreadable responses again."""
        versions = self._cache.versions
        with_value = [needed for needed in needed_responses if needed.needs_cached_value]
        for start in range(0, len(with_value), READS_PER_SLICE):
            waiting_urls = self.queue.waiting_urls(with_value[start].owner)
            batch: list[tuple[NeededResponse, Version, Any]] = []
            for needed in with_value[start : start + READS_PER_SLICE]:
                version = versions.get(needed.url)
                is_new = version is not None and not version.error and state.used_versions.get(needed.url) != version
                if is_new and version is not None and needed.url not in waiting_urls:
                    batch.append((needed, version, self._cache.read_body(needed.op)))
            if not batch:
                await asyncio.sleep(0)
                continue
            for (needed, version, _), value in zip(batch, await asyncio.to_thread(self._decode, batch), strict=True):
                if self._cache.versions.get(needed.url) != version:
                    continue  # A newer response was fetched while the body was decoded.
                if value is not None:
                    await self._add_dependents(state, needed, value, version)
                else:
                    self._cache.drop_version(needed.url)
                    self.queue.add(needed, self._now())
                    state.due_ranks[needed.url] = needed.rank
                    self._schedule_start()

    def _decode(self, needed_responses: Iterable[tuple[NeededResponse, Version, Any]]) -> list[Any]:
        """Return the values of cached response bodies. None for an unreadable body or an incomplete list."""
        values = []
        for needed, _, body in needed_responses:
            value = self._cache.decode(needed.op, body[0]) if body is not None else None
            is_incomplete = needed.min_items and isinstance(value, ListPage) and value.next is not None
            values.append(None if is_incomplete else value)
        return values

    async def _add_dependents(
        self, state: _OwnerState, needed: NeededResponse, value: Any, version: Version | None
    ) -> None:
        """Ask the planner which responses depend on `value`, the value of `needed`, and add them to the sync. If
        `needed.needs_cached_value`, these responses replace the dependents of an earlier value."""
        assert state.planner is not None, "the sync has a planner"
        state.used_versions[needed.url] = version
        dependents = [dependent async for dependent in _in_slices(state.planner.on_response(needed, value))]
        not_due = list[NeededResponse]()
        if needed.needs_cached_value:
            removed_urls = (
                {each.url for each in state.dependents.get(needed.url, ())}
                - {each.url for each in dependents}
                - state.root_urls
            )
            state.dependents[needed.url] = dependents
            for url in removed_urls:
                state.needed_responses.pop(url, None)
                state.used_versions.pop(url, None)
            self._cancel(self.queue.drop(needed.owner, removed_urls))
        async for dependent in _in_slices(dependents):
            if needed.needs_cached_value and state.dependents.get(needed.url) is not dependents:
                return  # the planner got a newer response meanwhile
            state.needed_responses[dependent.url] = dependent
            if self.queue.add(dependent, self._now()):
                state.due_ranks[dependent.url] = dependent.rank
                self._schedule_start()
            else:
                not_due.append(dependent)
        if not_due:
            await self._use_cached_responses(state, not_due)
        self.changed.notify(needed.owner)

    def _may_start(self, rank: Rank) -> bool:
        waits_while_hidden = rank in (Rank.VISIBLE, Rank.LATER)
        return not (self.rate_limit_wait() > 0 or (self.is_hidden and waits_while_hidden))

    def _schedule_start(self) -> None:
        """Start requests in the next turn of the event loop, when all needed responses are added."""
        if not (self._is_start_scheduled or self._is_closed):
            if self._start_timer is not None:
                self._start_timer.cancel()
            self._is_start_scheduled = True
            self._start_timer = asyncio.get_running_loop().call_soon(self._start_requests)

    def _start_requests(self) -> None:
        self._is_start_scheduled, now = False, self._now()
        while (request := self.queue.start_one(now, self._may_start)) is not None:
            task = self._running[request] = self._tasks.start(self._run(request), name=request.url)
            # Unlike `finally` in the task, a callback also runs if the task is canceled before its first step.
            task.add_done_callback(partial(self._on_request_ended, request))
        wake_at, limit_wait = self.queue.wake_at(now), self.rate_limit_wait()
        waits = ([(wake_at - now).total_seconds()] if wake_at is not None else []) + (
            [min(limit_wait, RATE_LIMIT_CHECK)] if limit_wait > 0 else []
        )
        self._start_timer = asyncio.get_running_loop().call_later(min(waits), self._start_requests) if waits else None
        self.notify_change()

    async def _run(self, request: RunningRequest) -> None:
        try:
            response = await self._read(request.op, request.min_items)
        except ApiError as error:
            if self.queue.requests.get(request.url) is request:
                self._accept_failure(request, error)
        else:
            if self.queue.requests.get(request.url) is request:
                self._accept_response(request, response)

    def _accept_response(self, request: RunningRequest, response: R) -> None:
        """Store a fetched response with its version. Pass it to callers and planners unless it is stale. Never wait."""
        version = self.queue.end(request, None, self._now())
        value = self._accept(request.op, response, request.is_stale)
        self._store_version(request, version)
        if not request.is_stale:
            self._end_waiting(request.url, lambda future: future.set_result(value))
            for state in self._states.values():
                needed = state.needed_responses.get(request.url)
                if needed is not None and state.planner is not None and request.satisfies(needed):
                    self._start_planning(state, self._add_dependents(state, needed, value, version))
        self._notify_owners(request.url)

    def _accept_failure(self, request: RunningRequest, error: ApiError) -> None:
        version = self.queue.end(request, error, self._now())
        self._fail(request.op, error)
        self._store_version(request, version)
        if not request.is_stale or affects_all_requests(error):
            self._end_waiting(request.url, lambda future: future.set_exception(error))
        self._notify_owners(request.url)

    def _store_version(self, request: RunningRequest, version: Version | None) -> None:
        if version is not None:
            self._cache.put_version(request.url, version.fingerprint, version.error, version.requested_at)

    def _notify_owners(self, url: str) -> None:
        for owner in [owner for owner, state in self._states.items() if url in state.needed_responses]:
            self.changed.notify(owner)

    def _on_request_ended(self, request: RunningRequest, task: asyncio.Task[None]) -> None:
        del self._running[request]
        if self.queue.requests.get(request.url) is request:
            # After a cancellation or an unexpected error, callers must not wait forever.
            error = None if task.cancelled() else task.exception()
            self.queue.end(request, error or asyncio.CancelledError(), self._now())
            if not self._is_closed:
                reason = "The request was canceled." if error is None else "This is a bug in Octavo."
                self._fail(request.op, LocalFailure(f"Could not load the response. {reason}"))
            self._end_waiting(
                request.url, lambda future: future.cancel() if error is None else future.set_exception(error)
            )
        self._schedule_start()
        self.notify_change()

    def _cancel(self, requests: Iterable[RunningRequest]) -> None:
        for request in requests:
            if request in self._running:
                self._running[request].cancel()

    def _end_waiting(self, url: str, end: Callable[[asyncio.Future[Any]], object]) -> None:
        for future, waited_url in self._urls_by_waiter.items():
            if waited_url == url and not future.done():
                end(future)


async def _in_slices(needed_responses: Iterable[NeededResponse]) -> AsyncIterator[NeededResponse]:
    for number, needed in enumerate(needed_responses, 1):
        yield needed
        if number % NEEDED_PER_SLICE == 0:
            await asyncio.sleep(0)
