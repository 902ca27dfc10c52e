"""Decides which response is fetched next. Uses no clock, no tasks and no disk.

    queue = SyncQueue(versions.get)
    queue.set_wants("inbox", wants, now)          # all wants of the inbox. Only due wants are queued
    while (flight := queue.next(now, allowed)):   # the request to start now
        ...
    version = queue.end(flight, error, now)       # to be stored with the response

All owners share one request for each URL. The request has the rank of the most urgent want.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import Any, NamedTuple

from octavo.api.errors import ApiError, Forbidden, NotFound, Outcome, RateLimited, Unauthorized
from octavo.api.operation import Operation
from octavo.concurrency import MAX_REQUESTS

MAX_BACKGROUND = 4
"""Maximum number of background requests at the same time. The rest of `MAX_REQUESTS` is for the user."""
STARTS_PER_OLDEST = 8
"""One of this number of background requests is for the oldest want of any rank."""
MAX_FAILURES = 3
"""Number of failed requests, one after another, after which background requests pause."""
FIRST_PAUSE, MAX_PAUSE = timedelta(seconds=5), timedelta(minutes=5)
MAX_UNREACHED_PAUSE = timedelta(minutes=1)
"""Maximum pause while the server cannot be reached. Such requests do not load the server."""
LATER_INTERVAL = timedelta(seconds=0.15)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Rank(IntEnum):
    """Urgency of a want, the most urgent first. Only requests of rank NOW always start at once. Ranks after AWAITED
    pause after failures."""

    NOW = 0
    """The user waits for the response."""
    AWAITED = 1
    """The program waits for the response, but the user does not."""
    VISIBLE = 2
    """Refresh of a response with watchers."""
    NEEDED = 3
    """The response may lead to a row of the inbox."""
    PREFETCH = 4
    """The user will probably need the response soon."""
    LATER = 5
    """Replies that may mention the user. Thousands of threads may have such replies."""
    OFFLINE = 6
    """The response belongs to an offline space."""


MAX_REQUESTS_BY_RANK = {Rank.LATER: 1, Rank.OFFLINE: 2}
"""Maximum number of requests at the same time for a rank. Other ranks have the maximum `MAX_BACKGROUND`."""


@dataclass(frozen=True, slots=True)
class Want:
    """A response that a part of Octavo needs, and how current it must be."""

    op: Operation[Any]
    url: str
    owner: str
    """Name of the part of Octavo that needs the response, such as `inbox`."""
    rank: Rank
    stamp: str = ""
    """Text that usually changes when the response changes (`inbox_plan.py`). A want without a stamp is always due."""
    order: float = 0.0
    """Order of the wants with the same rank, the smallest number first."""
    label: str = ""
    """Name of the response in error messages, such as `the page Tides`."""
    max_age: timedelta | None = None
    """A stored response older than this is fetched again. None for no maximum age."""
    needs_value: bool = False
    """True if the planner needs the value, also of a stored response."""
    min_items: int = 0
    """Number of items that a list must have. 0 for the first page only."""
    is_unverified: bool = False
    """True if the stamp was copied from the stored response, which may be outdated."""

    def as_due(self) -> Want:
        """Return a copy of the want that is always due."""
        return replace(self, max_age=timedelta())


class Version(NamedTuple):
    """The version of a response on disk."""

    stamp: str
    """Stamp of the response when it was fetched. Empty in data of old versions of Octavo."""
    requested_at: datetime
    error: str = ""
    """Error message if the server refused the request. Otherwise empty."""


def is_due(want: Want, version: Version | None, now: datetime) -> bool:
    """Return whether the response of a want must be fetched. `version` is None if it is not stored."""
    if version is None or not want.stamp or version.stamp != want.stamp:
        return True
    # If the clock was set back, a version may be from the future.
    return want.max_age is not None and not timedelta() <= now - version.requested_at < want.max_age


def recheck(
    wants: Iterable[Want],
    versions: Callable[[str], Version | None],
    max_pages: int,
    now: datetime,
    *,
    pages: Mapping[str, int] | None = None,
    expected_interval: Callable[[Want], timedelta] = lambda want: timedelta(seconds=1),
) -> list[Want]:
    """Return the most overdue wants as due, with at most `max_pages` pages, but at least one. `expected_interval`
    returns the expected time between changes. `pages` by URL are by default 1."""
    pages = pages or {}

    def overdue(want: Want) -> float:
        version = versions(want.url)
        return (now - (version.requested_at if version is not None else LONG_AGO)) / expected_interval(want)

    chosen: list[Want] = []
    for want in sorted(wants, key=overdue, reverse=True):
        page_count = pages.get(want.url, 1)
        if chosen and page_count > max_pages:
            break
        chosen.append(want.as_due())
        max_pages -= page_count
    return chosen


@dataclass(eq=False, slots=True)
class Flight:
    """A running request."""

    op: Operation[Any]
    url: str
    stamp: str
    """Stamp to store with the response. Empty if no want has a stamp."""
    stamps: frozenset[str]
    """Stamps of all wants for the URL at the start of the request."""
    min_items: int
    started_at: datetime
    is_stale: bool = False
    """True if a write may have changed the response after the request was sent."""

    def satisfies(self, want: Want) -> bool:
        """Return whether the response to this request is current enough and has enough items for `want`."""
        is_current = not want.stamp or want.stamp in self.stamps
        return not self.is_stale and is_current and want.min_items <= self.min_items


def affects_all_requests(error: BaseException) -> bool:
    """Return whether the error would stop all other requests too."""
    return isinstance(error, RateLimited | Unauthorized) or _is_not_sent(error)


class SyncQueue:
    """The wants that are not satisfied yet, the running requests, and the pause after failures."""

    def __init__(self, version_of: Callable[[str], Version | None]) -> None:
        """`version_of` returns the version of the stored response at a URL."""
        self.flights: dict[str, Flight] = {}
        """The running requests, by URL."""
        self.errors: dict[str, BaseException] = {}
        """Errors of the wanted responses that could not be fetched, by URL."""
        self._version_of = version_of
        self._wants: dict[str, dict[str, Want]] = {}
        """Unsatisfied wants by URL, then by owner, in the order of adding."""
        self._urls_by_owner: dict[str, set[str]] = {}
        self._ready: dict[Rank, dict[str, float]] = {rank: {} for rank in Rank}
        """`Want.order` of URLs that may be fetched now, by rank."""
        self._general_failures: set[str] = set()
        """URLs of failed requests that are retried after the pause."""
        self._paused_until = self._limited_until = self._limited_at = self._next_later_at = LONG_AGO
        self.paused_by: BaseException | None = None
        """The error that caused the last pause. None after the server has responded again."""
        self._pauses_in_a_row = self._failures_in_a_row = self._background_starts = 0

    def set_wants(self, owner: str, wants: Iterable[Want], now: datetime) -> list[Flight]:
        """Replace all wants of `owner`. Return the running requests to cancel."""
        new = {want.url: want for want in wants}
        before = self.waiting_urls(owner)
        for url in before - new.keys():
            self._remove(url, owner)
        for want in new.values():
            self._set_want(want, now)
        return self._take_unwanted(before)

    def drop(self, owner: str, urls: Iterable[str]) -> list[Flight]:
        """Remove the wants of `owner` for some URLs. Return the running requests to cancel."""
        removed = set(urls) & self.waiting_urls(owner)
        for url in removed:
            self._remove(url, owner)
        return self._take_unwanted(removed)

    def add(self, want: Want, now: datetime) -> bool:
        """Add or replace a want. A failed request is retried. Return False if the stored response satisfies the
        want."""
        self._clear_failure(want)
        return self._set_want(want, now)

    def prioritize(self, url: str) -> None:
        """Raise all wants for the response at `url` to rank NOW."""
        for owner, want in self._wants.get(url, {}).items():
            self._wants[url][owner] = replace(want, rank=Rank.NOW)
        self._update_ready(url)

    def retry(self, owner: str) -> None:
        """Allow the failed requests of `owner` again."""
        for url in self.waiting_urls(owner) & (self.errors.keys() - self._general_failures):
            del self.errors[url]
            self._update_ready(url)

    def mark_stale(self, url: str) -> None:
        """Record that a write may have changed the response of the running request for `url`."""
        if url in self.flights:
            self.flights[url].is_stale = True

    def next(self, now: datetime, allowed: Callable[[Rank], bool] = lambda rank: True) -> Flight | None:
        """Return the request to start now. None if no request may start. `allowed` returns whether background requests
        of a rank may start."""
        ranks = [rank for rank in Rank if self._ready[rank] and self._may_start(rank, now, allowed)]
        if not ranks:
            return None
        ready = self._ready[ranks[0]]
        url = min(ready, key=ready.__getitem__)
        if ranks[0] > Rank.AWAITED:
            self._background_starts += 1
            if self._background_starts % STARTS_PER_OLDEST == 0:
                url = next(url for url in self._wants if any(url in self._ready[rank] for rank in ranks))
        if url in self._ready[Rank.LATER]:
            self._next_later_at = now + LATER_INTERVAL
        return self._start(url, now)

    def wake_at(self, now: datetime) -> datetime | None:
        """Return when the delay of background requests ends. None if no background request is delayed."""
        times = [self._paused_until, self._limited_until]
        times += [self._next_later_at] if self._ready[Rank.LATER] else []
        has_background = any(self._ready[rank] for rank in Rank if rank > Rank.AWAITED)
        return min((time for time in times if time > now), default=None) if has_background else None

    def end(self, flight: Flight, error: BaseException | None, now: datetime) -> Version | None:
        """Record the end of a request. Return the version to store with the response, or None. Status 403 and 404 count
        as responses."""
        if self.flights.get(flight.url) is not flight:
            return None
        url, version = flight.url, None
        del self.flights[url]
        if error is None or isinstance(error, NotFound | Forbidden):
            self.end_pause()
            self._clear_error(url)
            if flight.stamp and not flight.is_stale:
                version = Version(flight.stamp, flight.started_at, str(error) if error is not None else "")
            wants = self._wants.get(url, {})
            for owner in [owner for owner, want in wants.items() if flight.satisfies(want)]:
                self._remove(url, owner)
        else:
            self._record_failure(flight, error, now)
        self._update_ready(url)
        return version

    def end_pause(self) -> None:
        """End the pause, because the server has responded. A rate limit stays."""
        self._pauses_in_a_row = self._failures_in_a_row = 0
        self._paused_until, self.paused_by = LONG_AGO, None
        for url in [url for url in self._general_failures if _is_not_sent(self.errors[url])]:
            self._clear_error(url)
            self._update_ready(url)

    def is_wanted(self, url: str) -> bool:
        """Return whether there is a want for `url` that is not satisfied."""
        return url in self._wants

    def is_in_flight(self, url: str) -> bool:
        """Return whether a request for `url` is running or about to start."""
        return url in self.flights or url in self._ready[Rank.NOW] or url in self._ready[Rank.AWAITED]

    def waiting_urls(self, owner: str) -> frozenset[str]:
        """Return the URLs of the wants of `owner` that are not satisfied. Failed requests are included."""
        return frozenset(self._urls_by_owner.get(owner, ()))

    def unfinished_urls(self, owner: str) -> frozenset[str]:
        """Return the URLs that will still be fetched for `owner`."""
        return frozenset(
            url for url in self.waiting_urls(owner) if url not in self.errors or url in self._general_failures
        )

    def is_idle(self, owner: str, lowest: Rank, now: datetime, allowed: Callable[[Rank], bool]) -> bool:
        """Return whether nothing runs or can start for the wants of `owner` with rank `lowest` or more urgent."""
        urls = self.waiting_urls(owner)
        is_running = any(url in urls and self._rank(url) <= lowest for url in self.flights)
        is_paused = self._is_paused(now)
        startable = [
            rank for rank in Rank if rank <= lowest and (rank <= Rank.AWAITED or (allowed(rank) and not is_paused))
        ]
        return not is_running and all(self._ready[rank].keys().isdisjoint(urls) for rank in startable)

    def _may_start(self, rank: Rank, now: datetime, allowed: Callable[[Rank], bool]) -> bool:
        if rank is Rank.NOW:
            return True
        running_ranks = [self._rank(url) if url in self._wants else Rank.OFFLINE for url in self.flights]
        background_count = sum(running_rank > Rank.NOW for running_rank in running_ranks)
        if background_count >= MAX_BACKGROUND or len(running_ranks) >= MAX_REQUESTS:
            return False  # otherwise, a later request of the user would wait behind this request
        if rank is Rank.AWAITED:
            return True
        if self._is_paused(now) or not allowed(rank):
            return False
        if rank is Rank.LATER and timedelta() < self._next_later_at - now <= LATER_INTERVAL:
            return False
        if self._pauses_in_a_row and any(running_rank > Rank.AWAITED for running_rank in running_ranks):
            return False  # a single request shows whether the server responds again
        return running_ranks.count(rank) < MAX_REQUESTS_BY_RANK.get(rank, MAX_BACKGROUND)

    def _is_paused(self, now: datetime) -> bool:
        """Return whether background requests are paused. The clock may be set back."""
        is_limited = self._limited_at <= now < self._limited_until
        return is_limited or timedelta() < self._paused_until - now <= MAX_PAUSE

    def _take_unwanted(self, urls: Iterable[str]) -> list[Flight]:
        return [self.flights.pop(url) for url in urls if url in self.flights and url not in self._wants]

    def _start(self, url: str, now: datetime) -> Flight:
        wants = self._wants[url].values()
        stamps = [want.stamp for want in wants]
        # The last want is the newest, and its stamp comes from the newest list.
        known_stamps = [stamp for stamp in stamps if stamp]
        flight = self.flights[url] = Flight(
            self._best_want(url).op,
            url,
            known_stamps[-1] if known_stamps else "",
            frozenset(stamps),
            max(want.min_items for want in wants),
            now,
        )
        self._update_ready(url)
        return flight

    def _record_failure(self, flight: Flight, error: BaseException, now: datetime) -> None:
        """Record a failed request. Pause if other requests would fail too."""
        self._clear_error(flight.url)
        if affects_all_requests(error):
            self._general_failures.add(flight.url)
        elif flight.is_stale:
            return  # the request is repeated, because a write has changed the response
        elif isinstance(error, ApiError) and error.outcome is not Outcome.UNKNOWN:
            self.end_pause()
        self.errors[flight.url] = error
        self._failures_in_a_row += isinstance(error, ApiError) and error.outcome is Outcome.UNKNOWN
        if isinstance(error, RateLimited) and error.trace.retry_at is not None:
            self._limited_until, self._limited_at = max(self._limited_until, error.trace.retry_at), now
        is_new_failure = not self._pauses_in_a_row or flight.started_at >= self._paused_until
        if is_new_failure and (affects_all_requests(error) or self._failures_in_a_row >= MAX_FAILURES):
            max_pause = MAX_UNREACHED_PAUSE if _is_not_sent(error) else MAX_PAUSE
            self._paused_until = now + min(max_pause, FIRST_PAUSE * 2 ** min(self._pauses_in_a_row, 10))
            self._pauses_in_a_row += 1
            self.paused_by = error

    def _set_want(self, want: Want, now: datetime) -> bool:
        earlier = self._wants.get(want.url, {}).get(want.owner)
        if want.stamp and not is_due(want, self._version_of(want.url), now):
            if earlier is not None:
                self._remove(want.url, want.owner)
                self._update_ready(want.url)
            return False
        if earlier is None or earlier.stamp != want.stamp:
            self._clear_failure(want)
            if earlier is not None:
                self._wants[want.url].pop(want.owner)  # added at the end, because it is now the newest
        self._wants.setdefault(want.url, {})[want.owner] = want
        self._urls_by_owner.setdefault(want.owner, set()).add(want.url)
        self._update_ready(want.url)
        return True

    def _clear_failure(self, want: Want) -> None:
        if want.url not in self._general_failures or want.rank <= Rank.AWAITED:
            self._clear_error(want.url)

    def _clear_error(self, url: str) -> None:
        self.errors.pop(url, None)
        self._general_failures.discard(url)

    def _remove(self, url: str, owner: str) -> None:
        del self._wants[url][owner]
        self._urls_by_owner[owner].discard(url)
        if not self._urls_by_owner[owner]:
            del self._urls_by_owner[owner]
        if not self._wants[url]:
            del self._wants[url]
            self._clear_error(url)
        self._update_ready(url)

    def _best_want(self, url: str) -> Want:
        return min(self._wants[url].values(), key=lambda want: (want.rank, want.order))

    def _rank(self, url: str) -> Rank:
        """Return the most urgent rank, at most VISIBLE after a general failure."""
        best = self._best_want(url).rank
        return max(best, Rank.VISIBLE) if url in self._general_failures else best

    def _update_ready(self, url: str) -> None:
        for ready in self._ready.values():
            ready.pop(url, None)
        has_failed = url in self.errors and url not in self._general_failures
        if url in self._wants and url not in self.flights and not has_failed:
            self._ready[self._rank(url)][url] = self._best_want(url).order


def _is_not_sent(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.outcome is Outcome.NOT_SENT
