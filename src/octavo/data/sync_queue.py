"""Decides which response is fetched next. Uses no clock, no tasks and no disk.

    queue = SyncQueue(versions.get)
    queue.set_needed("inbox", needed_responses, now)    # all that the inbox needs. Current responses are not fetched
    while (request := queue.start_one(now, is_allowed)):  # the started request
        ...
    version = queue.end(request, error, now)            # to be cached with the response

If several parts of Octavo need the response at a URL, one request is sent, with the most urgent rank.
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
"""One in this number of background requests fetches the response that has waited longest, whatever its rank."""
MAX_FAILURES = 3
"""Number of failed requests in a row after which background requests pause."""
FIRST_PAUSE, MAX_PAUSE = timedelta(seconds=5), timedelta(minutes=5)
MAX_UNREACHED_PAUSE = timedelta(minutes=1)
"""Maximum pause while the server cannot be reached. It is short, because such requests are no burden for the server."""
LATER_INTERVAL = timedelta(seconds=0.15)
LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Rank(IntEnum):
    """Urgency of a needed response, the most urgent first. Only requests of rank NOW always start at once. Requests
    of ranks after AWAITED pause after failures."""

    NOW = 0
    """The user waits for the response."""
    AWAITED = 1
    """Octavo waits for the response, but the user does not."""
    VISIBLE = 2
    """A view shows the response, so the response is refreshed."""
    INBOX = 3
    """The response may add a row to the inbox."""
    PREFETCH = 4
    """The user will probably need the response soon."""
    LATER = 5
    """Replies that may mention the user. Thousands of threads may have such replies."""
    OFFLINE = 6
    """The response belongs to a space that is available offline."""


MAX_REQUESTS_BY_RANK = {Rank.LATER: 1, Rank.OFFLINE: 2}
"""Maximum number of requests of a rank that run at the same time. The maximum of other ranks is `MAX_BACKGROUND`."""


@dataclass(frozen=True, slots=True)
class NeededResponse:
    """A response that a part of Octavo needs, how urgently, and how current it must be."""

    op: Operation[Any]
    url: str
    owner: str
    """Name of the part of Octavo that needs the response, such as `inbox`."""
    rank: Rank
    fingerprint: str = ""
    """Text that usually changes when the response changes (`inbox_plan.py`). Empty to always fetch the response."""
    order: float = 0.0
    """Order among the responses with the same rank. The smallest number is fetched first."""
    label: str = ""
    """Name of the response in error messages, such as `the page Tides`."""
    max_age: timedelta | None = None
    """A cached response older than this is fetched again. None if the age does not matter."""
    needs_cached_value: bool = False
    """True if the planner also gets the value from the cache, because other needed responses depend on this value."""
    min_items: int = 0
    """Number of items of a list to load. 0 loads the first page only."""
    is_unverified: bool = False
    """True if the fingerprint was copied from the cached response. The cached response may be outdated."""

    def as_due(self) -> NeededResponse:
        """Return a copy for which any cached response is too old, so that the response is fetched again."""
        return replace(self, max_age=timedelta())


class Version(NamedTuple):
    """The version of a cached response: its fingerprint, and the time of its request."""

    fingerprint: str
    """Fingerprint of the response when it was fetched. Empty in data of old versions of Octavo."""
    requested_at: datetime
    error: str = ""
    """Error message if the server refused the request. Otherwise empty."""


def is_due(needed: NeededResponse, version: Version | None, now: datetime) -> bool:
    """Return whether a needed response must be fetched. `version` is the cached version of the response, or None."""
    if version is None or not needed.fingerprint or version.fingerprint != needed.fingerprint:
        return True
    # If the clock was set back, a version may be from the future.
    return needed.max_age is not None and not timedelta() <= now - version.requested_at < needed.max_age


def recheck(
    needed_responses: Iterable[NeededResponse],
    versions: Callable[[str], Version | None],
    max_pages: int,
    now: datetime,
    *,
    page_counts: Mapping[str, int] | None = None,
    expected_interval: Callable[[NeededResponse], timedelta] = lambda needed: timedelta(seconds=1),
) -> list[NeededResponse]:
    """Return responses to fetch although their fingerprints are unchanged, the most overdue first. Each response is a
    copy from `as_due`. Together, they have at most `max_pages` pages, but the first is returned even if it has more.
    `page_counts` has the number of pages by URL (1 if missing). `expected_interval` returns the expected time between
    changes of a response."""
    page_counts = page_counts or {}

    def overdue(needed: NeededResponse) -> float:
        version = versions(needed.url)
        return (now - (version.requested_at if version is not None else LONG_AGO)) / expected_interval(needed)

    chosen_responses: list[NeededResponse] = []
    for needed in sorted(needed_responses, key=overdue, reverse=True):
        page_count = page_counts.get(needed.url, 1)
        if chosen_responses and page_count > max_pages:
            break
        chosen_responses.append(needed.as_due())
        max_pages -= page_count
    return chosen_responses


@dataclass(eq=False, slots=True)
class RunningRequest:
    """A request to the server that has started."""

    op: Operation[Any]
    url: str
    fingerprint: str
    """Fingerprint to cache with the response. Empty if no part of Octavo gave a fingerprint."""
    fingerprints: frozenset[str]
    """All fingerprints that parts of Octavo gave for this response before the request started."""
    min_items: int
    started_at: datetime
    is_stale: bool = False
    """True if a write may have changed the response after the request was sent."""

    def satisfies(self, needed: NeededResponse) -> bool:
        """Return whether the response will match the fingerprint and `min_items` of `needed`. False if `is_stale`."""
        is_current = not needed.fingerprint or needed.fingerprint in self.fingerprints
        return not self.is_stale and is_current and needed.min_items <= self.min_items


def affects_all_requests(error: BaseException) -> bool:
    """Return whether other requests would fail too, for example without a connection."""
    return isinstance(error, RateLimited | Unauthorized) or _is_not_sent(error)


class SyncQueue:
    """The responses to fetch, the running requests, and the pause after failures."""

    def __init__(self, version_of: Callable[[str], Version | None]) -> None:
        """`version_of` returns the version of the cached response at a URL, or None."""
        self.requests: dict[str, RunningRequest] = {}
        """The running requests, by URL."""
        self.errors: dict[str, BaseException] = {}
        """Errors of failed requests for responses that are still needed, by URL."""
        self._version_of = version_of
        self._needed: dict[str, dict[str, NeededResponse]] = {}
        """Responses that must still be fetched, by URL and then by owner. The URL that was needed first comes first."""
        self._urls_by_owner: dict[str, set[str]] = {}
        self._ready: dict[Rank, dict[str, float]] = {rank: {} for rank in Rank}
        """For each rank, the responses that may be fetched now: `NeededResponse.order` by URL."""
        self._general_failures: set[str] = set()
        """URLs of requests that failed for a reason that affects all requests. They are retried after this pause."""
        self._paused_until = self._limited_until = self._limited_at = self._next_later_at = LONG_AGO
        self.paused_by: BaseException | None = None
        """The error that caused the last pause. None as soon as the server responds again."""
        self._pauses_in_a_row = self._failures_in_a_row = self._background_starts = 0

    def set_needed(self, owner: str, needed_responses: Iterable[NeededResponse], now: datetime) -> list[RunningRequest]:
        """Replace the responses that `owner` needs by `needed_responses`. Return the running requests to cancel."""
        new_responses = {needed.url: needed for needed in needed_responses}
        old_urls = self.waiting_urls(owner)
        for url in old_urls - new_responses.keys():
            self._remove(url, owner)
        for needed in new_responses.values():
            self._set_needed(needed, now)
        return self._take_unneeded(old_urls)

    def drop(self, owner: str, urls: Iterable[str]) -> list[RunningRequest]:
        """Record that `owner` no longer needs `urls`. Remove and return the running requests that no owner needs."""
        removed_urls = set(urls) & self.waiting_urls(owner)
        for url in removed_urls:
            self._remove(url, owner)
        return self._take_unneeded(removed_urls)

    def add(self, needed: NeededResponse, now: datetime) -> bool:
        """Add a needed response, and clear its request's failure. Return False if the cached response is current."""
        self._clear_failure(needed)
        return self._set_needed(needed, now)

    def prioritize(self, url: str) -> None:
        """Raise the response at `url` to rank NOW."""
        for owner, needed in self._needed.get(url, {}).items():
            self._needed[url][owner] = replace(needed, rank=Rank.NOW)
        self._update_ready(url)

    def retry(self, owner: str) -> None:
        """Let failed requests for `owner` start again, except `_general_failures`, which wait for the pause to end."""
        for url in self.waiting_urls(owner) & (self.errors.keys() - self._general_failures):
            del self.errors[url]
            self._update_ready(url)

    def mark_stale(self, url: str) -> None:
        """Record that a write may have changed the response to the running request for `url`."""
        if url in self.requests:
            self.requests[url].is_stale = True

    def start_one(self, now: datetime, is_allowed: Callable[[Rank], bool] = lambda rank: True) -> RunningRequest | None:
        """Start the next request, and return it. None if no request may start. `is_allowed` returns whether background
        requests of a rank may start."""
        ranks = [rank for rank in Rank if self._ready[rank] and self._may_start(rank, now, is_allowed)]
        if not ranks:
            return None
        ready = self._ready[ranks[0]]
        url = min(ready, key=ready.__getitem__)
        if ranks[0] > Rank.AWAITED:
            self._background_starts += 1
            if self._background_starts % STARTS_PER_OLDEST == 0:
                url = next(url for url in self._needed if any(url in self._ready[rank] for rank in ranks))
        if url in self._ready[Rank.LATER]:
            self._next_later_at = now + LATER_INTERVAL
        return self._start(url, now)

    def wake_at(self, now: datetime) -> datetime | None:
        """Return when the next delayed background request may start. None if no background request is delayed."""
        times = [self._paused_until, self._limited_until]
        times += [self._next_later_at] if self._ready[Rank.LATER] else []
        has_background_requests = any(self._ready[rank] for rank in Rank if rank > Rank.AWAITED)
        return min((time for time in times if time > now), default=None) if has_background_requests else None

    def end(self, request: RunningRequest, error: BaseException | None, now: datetime) -> Version | None:
        """Record the end of a request. Return the version to cache with the response, also for status 403 or 404. None
        after another error, without a fingerprint, or if a write may have changed the response."""
        if self.requests.get(request.url) is not request:
            return None
        url, version = request.url, None
        del self.requests[url]
        if error is None or isinstance(error, NotFound | Forbidden):
            self.end_pause()
            self._clear_error(url)
            if request.fingerprint and not request.is_stale:
                version = Version(request.fingerprint, request.started_at, str(error) if error is not None else "")
            needed_responses = self._needed.get(url, {})
            for owner in [owner for owner, needed in needed_responses.items() if request.satisfies(needed)]:
                self._remove(url, owner)
        else:
            self._record_failure(request, error, now)
        self._update_ready(url)
        return version

    def end_pause(self) -> None:
        """End the pause after failures, because the server has responded. A pause due to Retry-After continues."""
        self._pauses_in_a_row = self._failures_in_a_row = 0
        self._paused_until, self.paused_by = LONG_AGO, None
        for url in [url for url in self._general_failures if _is_not_sent(self.errors[url])]:
            self._clear_error(url)
            self._update_ready(url)

    def is_needed(self, url: str) -> bool:
        """Return whether the response at `url` must still be fetched."""
        return url in self._needed

    def is_in_flight(self, url: str) -> bool:
        """Return whether a request for `url` is running or about to start."""
        return url in self.requests or url in self._ready[Rank.NOW] or url in self._ready[Rank.AWAITED]

    def waiting_urls(self, owner: str) -> frozenset[str]:
        """Return the URLs that `owner` needs and that are not fetched yet. URLs of failed requests are included."""
        return frozenset(self._urls_by_owner.get(owner, ()))

    def unfinished_urls(self, owner: str) -> frozenset[str]:
        """Return the `waiting_urls` of `owner`, except failed requests that are not retried after the pause."""
        return frozenset(
            url for url in self.waiting_urls(owner) if url not in self.errors or url in self._general_failures
        )

    def is_idle(self, owner: str, lowest: Rank, now: datetime, is_allowed: Callable[[Rank], bool]) -> bool:
        """Return whether no request for `owner` is running or can start. Ranks after `lowest` are ignored. See
        `start_one` for `is_allowed`."""
        urls = self.waiting_urls(owner)
        is_running = any(url in urls and self._rank(url) <= lowest for url in self.requests)
        is_paused = self._is_paused(now)
        startable = [
            rank for rank in Rank if rank <= lowest and (rank <= Rank.AWAITED or (is_allowed(rank) and not is_paused))
        ]
        return not is_running and all(self._ready[rank].keys().isdisjoint(urls) for rank in startable)

    def _may_start(self, rank: Rank, now: datetime, is_allowed: Callable[[Rank], bool]) -> bool:
        if rank is Rank.NOW:
            return True
        running_ranks = [self._rank(url) if url in self._needed else Rank.OFFLINE for url in self.requests]
        background_count = sum(running_rank > Rank.NOW for running_rank in running_ranks)
        if background_count >= MAX_BACKGROUND or len(running_ranks) >= MAX_REQUESTS:
            return False  # otherwise, a later request of the user would wait behind this request
        if rank is Rank.AWAITED:
            return True
        if self._is_paused(now) or not is_allowed(rank):
            return False
        if rank is Rank.LATER and timedelta() < self._next_later_at - now <= LATER_INTERVAL:
            return False
        if self._pauses_in_a_row and any(running_rank > Rank.AWAITED for running_rank in running_ranks):
            return False  # a single request shows whether the server responds again
        return running_ranks.count(rank) < MAX_REQUESTS_BY_RANK.get(rank, MAX_BACKGROUND)

    def _is_paused(self, now: datetime) -> bool:
        """Return whether background requests are paused. Pauses are ignored if the clock was set back."""
        is_limited = self._limited_at <= now < self._limited_until
        return is_limited or timedelta() < self._paused_until - now <= MAX_PAUSE

    def _take_unneeded(self, urls: Iterable[str]) -> list[RunningRequest]:
        return [self.requests.pop(url) for url in urls if url in self.requests and url not in self._needed]

    def _start(self, url: str, now: datetime) -> RunningRequest:
        needed_responses = self._needed[url].values()
        fingerprints = [needed.fingerprint for needed in needed_responses]
        # The last owner in the dict has read the newest list, so its fingerprint is cached with the response.
        known_fingerprints = [fingerprint for fingerprint in fingerprints if fingerprint]
        request = self.requests[url] = RunningRequest(
            self._most_urgent(url).op,
            url,
            known_fingerprints[-1] if known_fingerprints else "",
            frozenset(fingerprints),
            max(needed.min_items for needed in needed_responses),
            now,
        )
        self._update_ready(url)
        return request

    def _record_failure(self, request: RunningRequest, error: BaseException, now: datetime) -> None:
        """Record a failure. Pause background requests if `error` affects all requests, or after `MAX_FAILURES` failures
        in a row. Otherwise, ignore a stale request, which is repeated, and end the pause if the outcome is known."""
        self._clear_error(request.url)
        if affects_all_requests(error):
            self._general_failures.add(request.url)
        elif request.is_stale:
            return  # the request is repeated, because a write has changed the response
        elif isinstance(error, ApiError) and error.outcome is not Outcome.UNKNOWN:
            self.end_pause()
        self.errors[request.url] = error
        self._failures_in_a_row += isinstance(error, ApiError) and error.outcome is Outcome.UNKNOWN
        if isinstance(error, ApiError) and error.trace.retry_at is not None:
            self._limited_until, self._limited_at = max(self._limited_until, error.trace.retry_at), now
        is_new_failure = not self._pauses_in_a_row or request.started_at >= self._paused_until
        if is_new_failure and (affects_all_requests(error) or self._failures_in_a_row >= MAX_FAILURES):
            max_pause = MAX_UNREACHED_PAUSE if _is_not_sent(error) else MAX_PAUSE
            self._paused_until = now + min(max_pause, FIRST_PAUSE * 2 ** min(self._pauses_in_a_row, 10))
            self._pauses_in_a_row += 1
            self.paused_by = error

    def _set_needed(self, needed: NeededResponse, now: datetime) -> bool:
        earlier_needed = self._needed.get(needed.url, {}).get(needed.owner)
        if needed.fingerprint and not is_due(needed, self._version_of(needed.url), now):
            if earlier_needed is not None:
                self._remove(needed.url, needed.owner)
                self._update_ready(needed.url)
            return False
        if earlier_needed is None or earlier_needed.fingerprint != needed.fingerprint:
            self._clear_failure(needed)
            if earlier_needed is not None:
                self._needed[needed.url].pop(needed.owner)  # the newest must be the last in the dict
        self._needed.setdefault(needed.url, {})[needed.owner] = needed
        self._urls_by_owner.setdefault(needed.owner, set()).add(needed.url)
        self._update_ready(needed.url)
        return True

    def _clear_failure(self, needed: NeededResponse) -> None:
        if needed.url not in self._general_failures or needed.rank <= Rank.AWAITED:
            self._clear_error(needed.url)

    def _clear_error(self, url: str) -> None:
        self.errors.pop(url, None)
        self._general_failures.discard(url)

    def _remove(self, url: str, owner: str) -> None:
        del self._needed[url][owner]
        self._urls_by_owner[owner].discard(url)
        if not self._urls_by_owner[owner]:
            del self._urls_by_owner[owner]
        if not self._needed[url]:
            del self._needed[url]
            self._clear_error(url)
        self._update_ready(url)

    def _most_urgent(self, url: str) -> NeededResponse:
        return min(self._needed[url].values(), key=lambda needed: (needed.rank, needed.order))

    def _rank(self, url: str) -> Rank:
        """Return the rank for `url`. After a failure that affects all requests, the rank is VISIBLE or less urgent."""
        rank = self._most_urgent(url).rank
        return max(rank, Rank.VISIBLE) if url in self._general_failures else rank

    def _update_ready(self, url: str) -> None:
        for ready in self._ready.values():
            ready.pop(url, None)
        has_failed = url in self.errors and url not in self._general_failures
        if url in self._needed and url not in self.requests and not has_failed:
            self._ready[self._rank(url)][url] = self._most_urgent(url).order


def _is_not_sent(error: BaseException) -> bool:
    return isinstance(error, ApiError) and error.outcome is Outcome.NOT_SENT
