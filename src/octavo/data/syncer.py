"""Runs the queue of what is to be fetched (`sync_queue.py`) on asyncio.

    page = await syncer.get(op)                      # the user waits
    syncer.run(planner, "poll")                      # a round: what the planner wants is fetched in the background
    await syncer.wait_idle("inbox", Rank.AHEAD)
    syncer.progress("inbox"), syncer.failures("inbox")
    syncer.drop("inbox")                             # cancels its requests

A planner tells what it wants and never sends a request:

    class ShelfPlan:
        keeper = "shelf"

        def wants(self, round):                      # all wants, due or not: the queue fetches the due ones
            yield Want(tree_op, url_of(tree_op), self.keeper, Rank.NEEDED, stamp=revision, needs_value=True)

        def follow(self, want, value):               # called with each response; returns the wants it leads to
            return [...] if isinstance(value, PageTree) else ()
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

from octavo.api.errors import ApiError, LocalFailure, NotSent
from octavo.api.operation import ListPage, Operation
from octavo.api.urgency import asked_for
from octavo.api.wire import encode
from octavo.concurrency import Tasks
from octavo.data.observers import Observers
from octavo.data.response_cache import ResponseCache
from octavo.data.sync_queue import Flight, Rank, SyncQueue, Version, Want, affects_all_requests

T = TypeVar("T")
R = TypeVar("R")

SLICE = 500
"""Wants that are processed before the event loop has its turn."""
READ_SLICE = 40
"""Responses that are read from disk before the event loop has its turn."""
RATE_LIMIT_CHECK = 5.0
"""Longest time in seconds until it is looked again whether the rate limit still runs low."""
ENDED = "This session has ended."

RoundKind = Literal["start", "poll", "refresh", "moved"]
"""Why wants are computed: a start, a poll, the user asked for it, or a list has changed meanwhile. Only `poll` and
`refresh` recheck responses that no list tells of. Only `refresh` repeats requests that were refused."""


class Planner(Protocol):
    """Tells which responses a part of Octavo needs."""

    keeper: str

    def wants(self, round_kind: RoundKind) -> Iterable[Want]:
        """Return all wants that lists and facts lead to, whether they are due or not. Of two wants for the same URL, the
        second counts."""
        ...

    def follow(self, want: Want, value: Any) -> Iterable[Want]:
        """Take the response to a want, and return the wants that it leads to."""
        ...


class Progress(NamedTuple):
    """How far the wants of a keeper are satisfied."""

    wanted: int
    """Number of wants."""
    missing: int
    """Number of wants whose response is not here as it is wanted, also those that failed."""
    due: int
    """Number of wants that were due in this round."""


class LoadFailure(NamedTuple):
    """A response that could not be fetched."""

    want: Want
    cause: str
    """The cause, as a sentence."""
    is_unreached: bool = False
    """Whether the server was not reached."""


@dataclass(eq=False)
class _KeeperState:
    """The wants of a keeper."""

    planner: Planner | None = None
    roots: frozenset[str] = frozenset()
    """The URLs that lists and facts lead to."""
    wants: dict[str, Want] = field(default_factory=dict)
    """All wants, by URL."""
    children: dict[str, list[Want]] = field(default_factory=dict)
    """The wants that each response leads to, by its URL."""
    followed: dict[str, Version | None] = field(default_factory=dict)
    """The version of each response that the planner had last, by URL. It is not read from disk again."""
    due: dict[str, Rank] = field(default_factory=dict)
    """The ranks of the wants that were due in this round, by URL."""
    planning_tasks: int = 0
    """Number of tasks that are planning: rounds, and responses whose wants are being taken."""
    task: asyncio.Task[None] | None = None
    """The last round."""


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
        """`read` fetches a response, of a list as many items as given. `accept` stores it and returns its value; it is told
        whether the response is fetched once more because of a write. `fail` is told of an error.

        `rate_limit_wait` returns the seconds that background requests have to wait because the rate limit runs rate_limit_wait.
        """
        self.queue = SyncQueue(lambda url: cache.versions.get(url))
        self.changed: Observers[[str]] = Observers()
        """Called with the keeper when its progress or its failures have changed."""
        self._cache, self._read, self._accept, self._fail = cache, read, accept, fail
        self._now, self.rate_limit_wait = now, rate_limit_wait
        self._states: dict[str, _KeeperState] = {}
        self._waiters: dict[str, list[asyncio.Future[Any]]] = {}
        """Callers of `get`, by URL."""
        self._calls = count(1)
        self._tasks = Tasks("A refresh")
        self._running: dict[Flight, asyncio.Task[None]] = {}
        self._pump_timer: asyncio.Handle | None = None
        self._pump_scheduled = self._is_hidden = self._is_closed = False
        self._change = asyncio.Event()
        """Set, and replaced, when a request has started or ended."""

    # What callers and planners want

    async def get(self, op: Operation[T], rank: Rank = Rank.NOW) -> T:
        """Fetch a response, or wait for the request that runs. A cancelled caller leaves others their request. Raises
        ApiError."""
        if self._is_closed:
            raise NotSent(ENDED)
        url, keeper = encode(op).url, f"call {next(self._calls)}"
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiters.setdefault(url, []).append(future)
        self.add(Want(op, url, keeper, rank, max_age=timedelta()))
        try:
            return await future
        finally:
            self._remove_waiter(url, future)
            self._cancel(self.queue.drop(keeper, (url,)))

    def add(self, want: Want) -> None:
        """Fetch the response of one want soon, even if that failed before."""
        if not self._is_closed:
            self.queue.add(want, self._now())
            self._schedule_pump()

    def set_wants(self, keeper: str, wants: Iterable[Want]) -> None:
        """Replace all wants of `keeper`. Requests for responses that nobody wants any more are cancelled."""
        self._cancel_round(keeper)
        new = {want.url: want for want in wants}
        self._states[keeper] = plan = _KeeperState(roots=frozenset(new), wants=new)
        self._set_state(keeper, plan)

    def drop(self, keeper: str) -> None:
        """Remove all wants of `keeper`, and cancel the requests for responses that nobody else wants."""
        self._cancel_round(keeper)
        self._cancel(self.queue.set_wants(keeper, (), self._now()))

    def run(self, planner: Planner, round_kind: RoundKind) -> None:
        """Begin a round of a planner. It waits for the round before."""
        if self._is_closed:
            return
        plan = self._states.setdefault(planner.keeper, _KeeperState())
        if plan.planner is not planner:
            plan.planner, plan.followed = planner, {}
        plan.planning_tasks += 1
        work = self._run_round(planner, plan, round_kind, plan.task)
        plan.task = self._tasks.start(work, name=f"{planner.keeper}, {round_kind}")
        plan.task.add_done_callback(partial(self._planning_ended, plan))

    async def wait_idle(self, keeper: str, lowest: Rank = Rank.OFFLINE) -> None:
        """Wait until no request for `keeper` runs or will start, as far as ranks up to `lowest` go: all is here or failed,
        or the background pauses."""
        while not self.is_idle(keeper, lowest):
            await self._change.wait()

    def is_idle(self, keeper: str, lowest: Rank = Rank.OFFLINE) -> bool:
        """Return what `wait_idle` waits for."""
        plan = self._states.get(keeper)
        if self._is_closed:
            return True
        return not (plan and plan.planning_tasks) and self.queue.is_idle(keeper, lowest, self._now(), self._may_start)

    async def wait_change(self) -> None:
        """Wait until a request has started or ended."""
        await self._change.wait()

    async def wait_all_idle(self) -> None:
        """Wait until no request runs or is about to start. Raises the error of a request that is a bug."""
        while self.is_busy:
            await self._tasks.wait_idle()
            if self._pump_scheduled:
                await self._change.wait()

    def progress(self, keeper: str, lowest: Rank = Rank.OFFLINE) -> Progress:
        """Return how far the wants of `keeper` of ranks up to `lowest` are satisfied."""
        plan = self._states.get(keeper) or _KeeperState()
        urls = {url for url, want in plan.wants.items() if want.rank <= lowest}
        due = sum(rank <= lowest for rank in plan.due.values())
        return Progress(len(urls), len(urls & self.queue.waiting(keeper)), due)

    def pause_reason(self, keeper: str) -> str | None:
        """Return why an idle keeper has requests left: the error before the pause, empty if the rate limit runs low. None
        if it has none left."""
        if not self.queue.unfinished(keeper):
            return None
        return str(self.queue.paused_by) if self.queue.paused_by is not None else ""

    def failures(self, keeper: str) -> tuple[LoadFailure, ...]:
        """Return the wants of `keeper` whose responses could not be fetched."""
        found = []
        for url, want in self._states[keeper].wants.items() if keeper in self._states else ():
            version = self._cache.versions.get(url)
            if (error := self.queue.errors.get(url)) is not None:
                found.append(LoadFailure(want, str(error), isinstance(error, NotSent)))
            elif version is not None and version.error and version.stamp == want.stamp:
                found.append(LoadFailure(want, version.error))
        return tuple(found)

    # What else has happened

    def invalidate(self, is_near: Callable[[Operation[Any]], bool]) -> None:
        """Do not count responses to running requests for operations that a write may have changed. They are fetched once
        more."""
        for flight in self.queue.flights.values():
            if is_near(flight.op):
                flight.is_stale = True

    def prioritize(self, url: str) -> None:
        """Let the request for `url` go before others: now the user waits for it."""
        self.queue.prioritize(url)
        self._schedule_pump()

    def end_pause(self) -> None:
        """End the pause: the server has responded to some request, such as a write."""
        self.queue.end_pause()
        self._schedule_pump()

    def hide(self) -> None:
        """Start no requests for what is on screen, or may be soon: the terminal is hidden."""
        self._is_hidden = True

    def show(self) -> None:
        """Start all requests again: the terminal is shown."""
        self._is_hidden = False
        self._schedule_pump()

    @property
    def is_busy(self) -> bool:
        """Return whether a request runs or is about to start."""
        return bool(self._tasks) or self._pump_scheduled

    async def close(self) -> None:
        """Cancel all requests and start no more. Callers of `get` are cancelled."""
        self._is_closed = True
        if self._pump_timer is not None:
            self._pump_timer.cancel()
        self._pump_scheduled = False
        for future in [each for waiters in self._waiters.values() for each in waiters]:
            future.cancel()
        await self._tasks.close()
        self._notify_change()

    # Rounds

    async def _run_round(
        self, planner: Planner, plan: _KeeperState, round_kind: RoundKind, before: asyncio.Task[None] | None
    ) -> None:
        if before is not None:
            await asyncio.wait([before])
        roots: dict[str, Want] = {}
        async for want in _in_slices(planner.wants(round_kind)):
            roots[want.url] = self._due_again(want) if round_kind == "refresh" else want
        if self._states.get(planner.keeper) is not plan:
            return  # dropped meanwhile
        self.queue.retry(planner.keeper)
        plan.roots, plan.wants = frozenset(roots), dict(roots)
        reached, children = list(roots), dict[str, list[Want]]()
        for url in reached:
            if url in plan.children:
                children[url] = plan.children[url]
                reached += [each.url for each in children[url] if each.url not in plan.wants]
                plan.wants |= {each.url: each for each in children[url] if each.url not in plan.wants}
        plan.children = children
        plan.followed = {url: version for url, version in plan.followed.items() if url in plan.wants}
        self._set_state(planner.keeper, plan)
        await self._follow_cached(plan, roots.values())

    def _planning_ended(self, plan: _KeeperState, task: asyncio.Task[None]) -> None:
        plan.planning_tasks -= 1
        self._notify_change()

    def _set_state(self, keeper: str, plan: _KeeperState) -> None:
        self._cancel(self.queue.set_wants(keeper, plan.wants.values(), self._now()))
        plan.due = {url: plan.wants[url].rank for url in self.queue.waiting(keeper)}
        self._schedule_pump()
        self.changed.notify(keeper)

    def _due_again(self, want: Want) -> Want:
        """Return a want that is due although its request was refused before."""
        version = self._cache.versions.get(want.url)
        return replace(want, max_age=timedelta()) if version is not None and version.error else want

    async def _follow_cached(self, plan: _KeeperState, wants: Iterable[Want]) -> None:
        """Read responses that lead on and are not due from disk, and take the wants that they lead to. Those that are not
        on disk are fetched again. A response that the planner had before is not read."""
        versions, leading = self._cache.versions, [want for want in wants if want.needs_value]
        for start in range(0, len(leading), READ_SLICE):
            if self._states.get(leading[start].keeper) is not plan:
                return  # dropped meanwhile
            waiting, some = self.queue.waiting(leading[start].keeper), list[tuple[Want, Version, Any]]()
            for want in leading[start : start + READ_SLICE]:
                version = versions.get(want.url)
                is_new = version is not None and not version.error and plan.followed.get(want.url) != version
                if is_new and version is not None and want.url not in waiting:
                    some.append((want, version, self._cache.read_body(want.op)))
            if not some:
                await asyncio.sleep(0)
                continue
            for (want, version, _), value in zip(some, await asyncio.to_thread(self._decoded, some), strict=True):
                if self._states.get(want.keeper) is not plan:
                    return  # dropped meanwhile
                if self._cache.versions.get(want.url) != version:
                    continue  # it was fetched meanwhile
                if value is not None:
                    await self._take_children(plan, want, value, version)
                else:
                    self._cache.drop_version(want.url)
                    self.queue.add(want, self._now())
                    plan.due[want.url] = want.rank
                    self._schedule_pump()

    def _decoded(self, wants: Iterable[tuple[Want, Version, Any]]) -> list[Any]:
        """Return the responses with these bodies. None for those that cannot be used. From any thread."""
        found = []
        for want, _, body in wants:
            decoded = self._cache.decode(want.op, *body) if body is not None else None
            value = decoded[0] if decoded is not None else None
            is_cut = want.min_items and isinstance(value, ListPage) and value.next is not None
            found.append(None if is_cut else value)
        return found

    async def _take_children(self, plan: _KeeperState, want: Want, value: Any, version: Version | None) -> None:
        """Take the wants that a response leads to, and remove those that it does not lead to any more."""
        if self._states.get(want.keeper) is not plan or plan.planner is None:
            return  # dropped meanwhile
        plan.followed[want.url] = version
        children = [child async for child in _in_slices(plan.planner.follow(want, value))]
        if self._states.get(want.keeper) is not plan:
            return  # dropped meanwhile
        not_due = list[Want]()
        if want.needs_value:
            gone = {each.url for each in plan.children.get(want.url, ())} - {each.url for each in children} - plan.roots
            plan.children[want.url] = children
            for url in gone:
                plan.wants.pop(url, None)
                plan.followed.pop(url, None)
            self._cancel(self.queue.drop(want.keeper, gone))
        async for child in _in_slices(children):
            is_outdated = want.needs_value and plan.children.get(want.url) is not children
            if is_outdated or self._states.get(want.keeper) is not plan:
                return  # a later response leads elsewhere, or the plan was dropped
            plan.wants[child.url] = child
            if self.queue.add(child, self._now()):
                plan.due[child.url] = child.rank
                self._schedule_pump()
            else:
                not_due.append(child)
        if not_due:
            await self._follow_cached(plan, not_due)
        self.changed.notify(want.keeper)

    def _cancel_round(self, keeper: str) -> None:
        plan = self._states.pop(keeper, None)
        if plan is not None and plan.task is not None:
            plan.task.cancel()

    # Requests

    def _may_start(self, rank: Rank) -> bool:
        is_for_the_screen = rank in (Rank.VISIBLE, Rank.LATER)
        return not (self.rate_limit_wait() > 0 or (self._is_hidden and is_for_the_screen))

    def _schedule_pump(self) -> None:
        """Start requests on the next turn of the loop, so that wants of the same turn are compared."""
        if not (self._pump_scheduled or self._is_closed):
            if self._pump_timer is not None:
                self._pump_timer.cancel()
            self._pump_scheduled, self._pump_timer = True, asyncio.get_running_loop().call_soon(self._pump)

    def _pump(self) -> None:
        self._pump_scheduled, now = False, self._now()
        while (flight := self.queue.next(now, self._may_start)) is not None:
            task = self._running[flight] = self._tasks.start(self._run(flight), name=flight.url)
            # Also called if the task is cancelled before its first step.
            task.add_done_callback(partial(self._flight_ended, flight))
        at, low = self.queue.wake_at(now), self.rate_limit_wait()
        waits = ([(at - now).total_seconds()] if at is not None else []) + (
            [min(low, RATE_LIMIT_CHECK)] if low > 0 else []
        )
        self._pump_timer = asyncio.get_running_loop().call_later(min(waits), self._pump) if waits else None
        self._notify_change()

    async def _run(self, flight: Flight) -> None:
        try:
            with asked_for(partial(self.queue.is_urgent, flight.url)):
                response = await self._read(flight.op, flight.min_items)
        except ApiError as error:
            if self.queue.flights.get(flight.url) is flight:
                self._accept_failure(flight, error)
        else:
            if self.queue.flights.get(flight.url) is flight:
                self._accept_response(flight, response)

    def _accept_response(self, flight: Flight, response: R) -> None:
        """Store a response and its version, and tell those who wait for it. Without an await, so that both are one step."""
        version = self.queue.end(flight, None, self._now())
        value = self._accept(flight.op, response, flight.is_stale)
        self._store_version(flight, version)
        if not flight.is_stale:
            for future in self._waiters.pop(flight.url, ()):
                if not future.done():
                    future.set_result(value)
            for plan in self._states.values():
                want = plan.wants.get(flight.url)
                if want is not None and plan.planner is not None and flight.satisfies(want):
                    plan.planning_tasks += 1
                    task = self._tasks.start(self._take_children(plan, want, value, version))
                    task.add_done_callback(partial(self._planning_ended, plan))
        self._notify_keepers(flight.url)

    def _accept_failure(self, flight: Flight, error: ApiError) -> None:
        version = self.queue.end(flight, error, self._now())
        self._fail(flight.op, error)
        self._store_version(flight, version)
        if not flight.is_stale or affects_all_requests(error):
            for future in self._waiters.pop(flight.url, ()):
                if not future.done():
                    future.set_exception(error)
        self._notify_keepers(flight.url)

    def _store_version(self, flight: Flight, version: Version | None) -> None:
        if version is not None:
            self._cache.put_version(flight.url, version.stamp, version.error, version.requested_at)

    def _notify_keepers(self, url: str) -> None:
        for keeper in [keeper for keeper, plan in self._states.items() if url in plan.wants]:
            self.changed.notify(keeper)

    def _flight_ended(self, flight: Flight, task: asyncio.Task[None]) -> None:
        del self._running[flight]
        if (
            self.queue.flights.get(flight.url) is flight
        ):  # cancelled by the client, or a bug: no caller may wait for ever
            error = None if task.cancelled() else task.exception()
            self.queue.end(flight, error or asyncio.CancelledError(), self._now())
            if not self._is_closed:
                why = "The request was canceled." if error is None else "This is a bug in Octavo."
                self._fail(flight.op, LocalFailure(f"Could not load the response. {why}"))
            for future in self._waiters.pop(flight.url, ()):
                if error is None:
                    future.cancel()
                elif not future.done():
                    future.set_exception(error)
        self._schedule_pump()
        self._notify_change()

    def _cancel(self, flights: Iterable[Flight]) -> None:
        for flight in flights:
            if flight in self._running:
                self._running[flight].cancel()

    def _remove_waiter(self, url: str, future: asyncio.Future[Any]) -> None:
        waiters = self._waiters.get(url, [])
        if future in waiters:
            waiters.remove(future)
        if not waiters:
            self._waiters.pop(url, None)

    def _notify_change(self) -> None:
        self._change.set()
        self._change = asyncio.Event()


async def _in_slices(wants: Iterable[Want]) -> AsyncIterator[Want]:
    for number, want in enumerate(wants, 1):
        yield want
        if number % SLICE == 0:
            await asyncio.sleep(0)
