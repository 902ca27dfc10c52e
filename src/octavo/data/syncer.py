"""Fetches the responses that parts of Octavo need. `sync_queue.py` decides the order.

    page = await syncer.get(op)                         # the user waits
    syncer.run(planner)                                 # a pass: fetches the wants of the planner in the background
    await syncer.wait_planned("inbox")                  # until the wants are known and the disk is read
    await syncer.wait_idle("inbox", Rank.PREFETCH)      # until the responses are fetched
    syncer.progress("inbox"), syncer.failures("inbox")
    syncer.drop("inbox")                                # cancels the requests

A planner returns wants and never sends a request:

    class ReadingListPlanner:
        owner = "reading list"
        def wants(self):  # all wants, due or not. The queue fetches only the due wants
            yield Want(tree_op, encode(tree_op).url, self.owner, Rank.NEEDED, stamp=revision, needs_value=True)
        def on_response(self, want, value):  # called with each response; returns more wants
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
from octavo.data.sync_queue import Flight, Rank, SyncQueue, Version, Want, affects_all_requests

T = TypeVar("T")
R = TypeVar("R")

WANTS_PER_SLICE = 500
"""Number of wants that are processed before other tasks may run."""
READS_PER_SLICE = 40
"""Number of responses that are read from disk before other tasks may run."""
RATE_LIMIT_CHECK = 5.0
"""Maximum seconds until Octavo checks again whether the rate limit is nearly reached."""
SESSION_ENDED = "This session has ended."


class Planner(Protocol):
    """Decides which responses a part of Octavo needs. `owner` is the name of this part."""

    owner: str

    def wants(self) -> Iterable[Want]:
        """Return the wants that the planner knows before it gets responses. The last want for a URL counts."""
        ...

    def on_response(self, want: Want, value: Any) -> Iterable[Want]:
        """Use a fetched response, and return the wants that depend on it. With `needs_value`, stored responses are
        passed too."""
        ...


class Progress(NamedTuple):
    """Number of wants of an owner, of missing responses, and of due wants."""

    wanted: int
    missing: int
    """Number of wants that are not satisfied. Failed requests are included."""
    due: int
    """Number of wants that were due in the last pass."""


class LoadFailure(NamedTuple):
    """A wanted response that could not be fetched."""

    want: Want
    cause: str
    """The error message, a sentence."""
    is_unreached: bool = False


@dataclass(eq=False)
class _OwnerState:
    """The planner of an owner, its wants and its running passes."""

    planner: Planner | None = None
    roots: frozenset[str] = frozenset()
    """URLs of the wants that `Planner.wants` returned. The other wants depend on responses."""
    wants: dict[str, Want] = field(default_factory=dict)
    dependent_wants: dict[str, list[Want]] = field(default_factory=dict)
    """The wants that depend on a response, by the URL of the response."""
    used_versions: dict[str, Version | None] = field(default_factory=dict)
    """Version of the last response that the planner got, by URL."""
    due: dict[str, Rank] = field(default_factory=dict)
    """Ranks of the wants that were due in the last pass, by URL."""
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    """Running tasks that call the planner."""
    last_pass: asyncio.Task[None] | None = None


class Syncer(Generic[R]):
    """Fetches wanted responses, and stores them with their versions."""

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
        """`read(op, min_items)` fetches a response. `accept(op, response, is_outdated)` stores it and returns its
        value. An outdated response is fetched again. `fail(op, error)` handles an error. `rate_limit_wait()` returns
        seconds."""
        self.queue = SyncQueue(lambda url: cache.versions.get(url))
        self.changed: Observers[[str]] = Observers()
        """Called with the name of an owner when its progress or its failures have changed."""
        self._cache, self._read, self._accept, self._fail = cache, read, accept, fail
        self._now, self.rate_limit_wait = now, rate_limit_wait
        self._states: dict[str, _OwnerState] = {}
        self._waiting: dict[asyncio.Future[Any], str] = {}
        """URL that each caller of `get` waits for, by its future."""
        self._calls = count(1)
        self._tasks = Tasks("A refresh")
        self._running: dict[Flight, asyncio.Task[None]] = {}
        self._start_timer: asyncio.Handle | None = None
        self._is_start_scheduled = self.is_hidden = self._is_closed = False
        self._change = asyncio.Event()
        """Set and replaced when requests start or end, or passes end."""

    # For callers and planners

    async def get(self, op: Operation[T], rank: Rank = Rank.NOW) -> T:
        """Fetch a response, or wait for a running request. Raises ApiError."""
        if self._is_closed:
            raise NotSent(SESSION_ENDED)
        url, owner = encode(op).url, f"call {next(self._calls)}"
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting[future] = url
        self.add(Want(op, url, owner, rank))
        try:
            return await future
        finally:
            del self._waiting[future]
            self._cancel(self.queue.drop(owner, (url,)))

    def add(self, want: Want) -> None:
        """Fetch the response of a want soon. A failed request is retried."""
        if not self._is_closed:
            self.queue.add(want, self._now())
            self._schedule_start()

    def drop(self, owner: str) -> None:
        """Remove all wants of `owner`. Cancel the requests that have no want anymore."""
        if (state := self._states.pop(owner, None)) is not None:
            for task in state.tasks:
                task.cancel()
        self._cancel(self.queue.set_wants(owner, (), self._now()))

    def run(self, planner: Planner, *, retries_refused: bool = False) -> None:
        """Start a pass of `planner` in the background, after the running pass of the same owner. `retries_refused` is
        True to repeat requests that the server refused."""
        if self._is_closed:
            return
        state = self._states.setdefault(planner.owner, _OwnerState())
        if state.planner is not planner:
            state.planner, state.used_versions = planner, {}
        work = self._run_pass(planner, state, retries_refused, state.last_pass)
        state.last_pass = self._start_planning(state, work, f"pass of {planner.owner}")

    async def wait_idle(self, owner: str, lowest: Rank = Rank.OFFLINE) -> None:
        """Wait until the wants of `owner` with rank `lowest` or more urgent are satisfied, failed or paused."""
        while not self.is_idle(owner, lowest):
            await self._change.wait()

    async def wait_planned(self, owner: str) -> None:
        """Wait until the planner of `owner` has computed its wants. Does not wait for requests."""
        while not self._is_closed and (state := self._states.get(owner)) is not None and state.tasks:
            await self._change.wait()

    def is_idle(self, owner: str, lowest: Rank = Rank.OFFLINE) -> bool:
        """Return whether `wait_idle` would not wait."""
        state = self._states.get(owner)
        if self._is_closed:
            return True
        return not (state and state.tasks) and self.queue.is_idle(owner, lowest, self._now(), self._may_start)

    async def wait_change(self) -> None:
        """Wait until a request starts or ends, or a pass ends."""
        await self._change.wait()

    def notify_change(self) -> None:
        """Wake all callers of `wait_change`."""
        self._change.set()
        self._change = asyncio.Event()

    def progress(self, owner: str, lowest: Rank = Rank.OFFLINE) -> Progress:
        """Count the wants of `owner` with rank `lowest` or more urgent."""
        state = self._states.get(owner) or _OwnerState()
        urls = {url for url, want in state.wants.items() if want.rank <= lowest}
        due = sum(rank <= lowest for rank in state.due.values())
        return Progress(len(urls), len(urls & self.queue.waiting_urls(owner)), due)

    def pause_reason(self, owner: str) -> str | None:
        """Return why the requests of an idle owner wait. Empty near the rate limit. None if no request waits."""
        if not self.queue.unfinished_urls(owner):
            return None
        return str(self.queue.paused_by) if self.queue.paused_by is not None else ""

    def failures(self, owner: str) -> tuple[LoadFailure, ...]:
        """Return the wants of `owner` whose requests have failed."""
        failures = []
        for url, want in self._states[owner].wants.items() if owner in self._states else ():
            version = self._cache.versions.get(url)
            if (error := self.queue.errors.get(url)) is not None:
                failures.append(LoadFailure(want, str(error), isinstance(error, NotSent)))
            elif version is not None and version.error and version.stamp == want.stamp:
                failures.append(LoadFailure(want, version.error))
        return tuple(failures)

    # Requests and the queue

    def is_current(self, url: str) -> bool:
        """Return whether a planner's verified stamp shows that the stored response is current."""
        wants = [state.wants[url] for state in self._states.values() if url in state.wants]
        version = self._cache.versions.get(url)
        is_stored = version is not None and not version.error
        return (
            is_stored and any(want.stamp and not want.is_unverified for want in wants) and not self.queue.is_wanted(url)
        )

    def mark_affected_stale(self, is_affected: Callable[[Operation[Any]], bool]) -> None:
        """Repeat each running request after its end if `is_affected` returns True."""
        for url, flight in self.queue.flights.items():
            if is_affected(flight.op):
                self.queue.mark_stale(url)

    def prioritize(self, url: str) -> None:
        """Send the request for `url` before all waiting requests."""
        self.queue.prioritize(url)
        self._schedule_start()

    def end_pause(self) -> None:
        """End the pause, because the server has responded to another request."""
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
        for future in self._waiting:
            future.cancel()
        await self._tasks.close()
        self.notify_change()

    # Passes

    async def _run_pass(
        self, planner: Planner, state: _OwnerState, retries_refused: bool, last_pass: asyncio.Task[None] | None
    ) -> None:
        if last_pass is not None:
            await asyncio.wait([last_pass])
        roots: dict[str, Want] = {}
        async for want in _in_slices(planner.wants()):
            roots[want.url] = self._due_if_refused(want) if retries_refused else want
        self.queue.retry(planner.owner)
        state.roots, state.wants = frozenset(roots), dict(roots)
        to_visit, children = list(roots), dict[str, list[Want]]()
        for url in to_visit:
            if url in state.dependent_wants:
                children[url] = state.dependent_wants[url]
                to_visit += [each.url for each in children[url] if each.url not in state.wants]
                state.wants |= {each.url: each for each in children[url] if each.url not in state.wants}
        state.dependent_wants = children
        state.used_versions = {url: version for url, version in state.used_versions.items() if url in state.wants}
        self._cancel(self.queue.set_wants(planner.owner, state.wants.values(), self._now()))
        state.due = {url: state.wants[url].rank for url in self.queue.waiting_urls(planner.owner)}
        self._schedule_start()
        self.changed.notify(planner.owner)
        await self._use_cached_responses(state, roots.values())

    def _start_planning(
        self, state: _OwnerState, coroutine: Coroutine[Any, Any, None], name: str | None = None
    ) -> asyncio.Task[None]:
        """Start a task that calls the planner. `drop` cancels such tasks."""
        task = self._tasks.start(coroutine, name=name)
        state.tasks.add(task)
        task.add_done_callback(partial(self._on_planning_ended, state))
        return task

    def _on_planning_ended(self, state: _OwnerState, task: asyncio.Task[None]) -> None:
        state.tasks.discard(task)
        self.notify_change()

    def _due_if_refused(self, want: Want) -> Want:
        version = self._cache.versions.get(want.url)
        return want.as_due() if version is not None and version.error else want

    async def _use_cached_responses(self, state: _OwnerState, wants: Iterable[Want]) -> None:
        """Pass new stored responses to the planner. Fetch unreadable responses again."""
        versions, wants_with_value = self._cache.versions, [want for want in wants if want.needs_value]
        for start in range(0, len(wants_with_value), READS_PER_SLICE):
            waiting, batch = self.queue.waiting_urls(wants_with_value[start].owner), list[tuple[Want, Version, Any]]()
            for want in wants_with_value[start : start + READS_PER_SLICE]:
                version = versions.get(want.url)
                is_new = version is not None and not version.error and state.used_versions.get(want.url) != version
                if is_new and version is not None and want.url not in waiting:
                    batch.append((want, version, self._cache.read_body(want.op)))
            if not batch:
                await asyncio.sleep(0)
                continue
            for (want, version, _), value in zip(batch, await asyncio.to_thread(self._decode, batch), strict=True):
                if self._cache.versions.get(want.url) != version:
                    continue  # a newer response was fetched while the body was decoded
                if value is not None:
                    await self._add_dependent_wants(state, want, value, version)
                else:
                    self._cache.drop_version(want.url)
                    self.queue.add(want, self._now())
                    state.due[want.url] = want.rank
                    self._schedule_start()

    def _decode(self, wants: Iterable[tuple[Want, Version, Any]]) -> list[Any]:
        """Return the values of stored bodies. None if unreadable or incomplete."""
        values = []
        for want, _, body in wants:
            value = self._cache.decode(want.op, body[0]) if body is not None else None
            is_incomplete = want.min_items and isinstance(value, ListPage) and value.next is not None
            values.append(None if is_incomplete else value)
        return values

    async def _add_dependent_wants(self, state: _OwnerState, want: Want, value: Any, version: Version | None) -> None:
        """Replace the wants that depend on a response."""
        assert state.planner is not None, "the pass has a planner"
        state.used_versions[want.url] = version
        children = [child async for child in _in_slices(state.planner.on_response(want, value))]
        not_due = list[Want]()
        if want.needs_value:
            removed = (
                {each.url for each in state.dependent_wants.get(want.url, ())}
                - {each.url for each in children}
                - state.roots
            )
            state.dependent_wants[want.url] = children
            for url in removed:
                state.wants.pop(url, None)
                state.used_versions.pop(url, None)
            self._cancel(self.queue.drop(want.owner, removed))
        async for child in _in_slices(children):
            if want.needs_value and state.dependent_wants.get(want.url) is not children:
                return  # the planner got a newer response meanwhile
            state.wants[child.url] = child
            if self.queue.add(child, self._now()):
                state.due[child.url] = child.rank
                self._schedule_start()
            else:
                not_due.append(child)
        if not_due:
            await self._use_cached_responses(state, not_due)
        self.changed.notify(want.owner)

    # Requests

    def _may_start(self, rank: Rank) -> bool:
        waits_while_hidden = rank in (Rank.VISIBLE, Rank.LATER)
        return not (self.rate_limit_wait() > 0 or (self.is_hidden and waits_while_hidden))

    def _schedule_start(self) -> None:
        """Start requests in the next turn, when all wants are added."""
        if not (self._is_start_scheduled or self._is_closed):
            if self._start_timer is not None:
                self._start_timer.cancel()
            self._is_start_scheduled, self._start_timer = (
                True,
                asyncio.get_running_loop().call_soon(self._start_requests),
            )

    def _start_requests(self) -> None:
        self._is_start_scheduled, now = False, self._now()
        while (flight := self.queue.next(now, self._may_start)) is not None:
            task = self._running[flight] = self._tasks.start(self._run(flight), name=flight.url)
            # A callback runs even if the task is canceled before its first step.
            task.add_done_callback(partial(self._on_flight_ended, flight))
        at, low = self.queue.wake_at(now), self.rate_limit_wait()
        waits = ([(at - now).total_seconds()] if at is not None else []) + (
            [min(low, RATE_LIMIT_CHECK)] if low > 0 else []
        )
        self._start_timer = asyncio.get_running_loop().call_later(min(waits), self._start_requests) if waits else None
        self.notify_change()

    async def _run(self, flight: Flight) -> None:
        try:
            response = await self._read(flight.op, flight.min_items)
        except ApiError as error:
            if self.queue.flights.get(flight.url) is flight:
                self._accept_failure(flight, error)
        else:
            if self.queue.flights.get(flight.url) is flight:
                self._accept_response(flight, response)

    def _accept_response(self, flight: Flight, response: R) -> None:
        """Store a response and its version, and pass it on. Never await between them."""
        version = self.queue.end(flight, None, self._now())
        value = self._accept(flight.op, response, flight.is_stale)
        self._store_version(flight, version)
        if not flight.is_stale:
            self._end_waiting(flight.url, lambda future: future.set_result(value))
            for state in self._states.values():
                want = state.wants.get(flight.url)
                if want is not None and state.planner is not None and flight.satisfies(want):
                    self._start_planning(state, self._add_dependent_wants(state, want, value, version))
        self._notify_owners(flight.url)

    def _accept_failure(self, flight: Flight, error: ApiError) -> None:
        version = self.queue.end(flight, error, self._now())
        self._fail(flight.op, error)
        self._store_version(flight, version)
        if not flight.is_stale or affects_all_requests(error):
            self._end_waiting(flight.url, lambda future: future.set_exception(error))
        self._notify_owners(flight.url)

    def _store_version(self, flight: Flight, version: Version | None) -> None:
        if version is not None:
            self._cache.put_version(flight.url, version.stamp, version.error, version.requested_at)

    def _notify_owners(self, url: str) -> None:
        for owner in [owner for owner, state in self._states.items() if url in state.wants]:
            self.changed.notify(owner)

    def _on_flight_ended(self, flight: Flight, task: asyncio.Task[None]) -> None:
        del self._running[flight]
        if self.queue.flights.get(flight.url) is flight:
            # After a cancellation or an unexpected error, callers must not wait forever.
            error = None if task.cancelled() else task.exception()
            self.queue.end(flight, error or asyncio.CancelledError(), self._now())
            if not self._is_closed:
                why = "The request was canceled." if error is None else "This is a bug in Octavo."
                self._fail(flight.op, LocalFailure(f"Could not load the response. {why}"))
            self._end_waiting(
                flight.url, lambda future: future.cancel() if error is None else future.set_exception(error)
            )
        self._schedule_start()
        self.notify_change()

    def _cancel(self, flights: Iterable[Flight]) -> None:
        for flight in flights:
            if flight in self._running:
                self._running[flight].cancel()

    def _end_waiting(self, url: str, end: Callable[[asyncio.Future[Any]], object]) -> None:
        for future, waited_url in self._waiting.items():
            if waited_url == url and not future.done():
                end(future)


async def _in_slices(wants: Iterable[Want]) -> AsyncIterator[Want]:
    for number, want in enumerate(wants, 1):
        yield want
        if number % WANTS_PER_SLICE == 0:
            await asyncio.sleep(0)
