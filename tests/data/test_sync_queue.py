"""Random events in the sync queue: each needed is fetched once for its fingerprint, and no needed is forgotten.

No background request starts before a request of the user, above the budget, or during a pause.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from octavo.api.errors import (
    ApiError,
    BadResponse,
    Forbidden,
    Lost,
    NotFound,
    NotSent,
    Outcome,
    PaginationError,
    RateLimited,
    ServerError,
    Trace,
    Unauthorized,
)
from octavo.api.operation import SpaceRef
from octavo.api.spaces import Get
from octavo.concurrency import MAX_REQUESTS
from octavo.data.sync_queue import (
    FIRST_PAUSE,
    LATER_INTERVAL,
    MAX_BACKGROUND,
    MAX_FAILURES,
    MAX_PAUSE,
    MAX_REQUESTS_BY_RANK,
    MAX_UNREACHED_PAUSE,
    STARTS_PER_OLDEST,
    NeededResponse,
    Rank,
    RunningRequest,
    SyncQueue,
    Version,
    affects_all_requests,
    is_due,
    recheck,
)
from tests.server.small_platform import START

URLS = [f"u{number}" for number in range(14)]
OWNERS = {
    "poll": Rank.VISIBLE,
    "inbox": Rank.INBOX,
    "ahead": Rank.PREFETCH,
    "slow": Rank.LATER,
    "offline": Rank.OFFLINE,
}
READERS = {"view": Rank.NOW, "caller": Rank.AWAITED}
ERRORS: list[type[ApiError] | None] = [None, None, None, NotFound, Forbidden, Lost, ServerError, BadResponse]
ERRORS += [PaginationError, NotSent, RateLimited, Unauthorized]
HIDDEN = {Rank.VISIBLE, Rank.INBOX, Rank.LATER}
MAX_AGE = timedelta(minutes=10)
"""Age at which offline copies are fetched again."""
MOST = dict.fromkeys(URLS[::3], 100)
"""Lists that planners needed completely. Views needed the first page."""


def get(url: str) -> Get:
    return Get(at=SpaceRef(space_id=url))


class SyncQueueRun(RuleBasedStateMachine):
    """A queue, the versions on disk, and the state of the server."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self.is_low = self.is_hidden = False
        self.fingerprints = dict.fromkeys(URLS, 0)
        self.writes = dict.fromkeys(URLS, 0)
        """Number of writes that touched each response."""
        self.disk: dict[str, Version] = {}
        self.known: dict[str, int] = {}
        """Number of writes that each response on disk includes."""
        self.sent: dict[RunningRequest, int] = {}
        """Number of writes that the response to each running request includes."""
        self.plans: dict[str, list[str]] = {owner: [] for owner in OWNERS}
        self.open_reads: dict[tuple[str, str], int] = {}
        """Reads without a response, with the number of writes that the response must include."""
        self.fetched: dict[tuple[str, str, int], datetime] = {}
        """Time at which each version was fetched, by URL, fingerprint and number of included writes."""
        self.ages: dict[str, None] = {}
        """Needed responses in the model, the oldest first."""
        self.passed: tuple[str, int] = ("", 0)
        """The oldest needed that could start, and the requests that started before it."""
        self.late: list[RunningRequest] = []
        self.paused_until = self.limited_until = self.spaced_until = START
        self.misses = self.in_a_row = self.starts = 0
        self.queue = SyncQueue(self.disk.get)

    # Needed responses

    @rule(owner=st.sampled_from([*OWNERS]), urls=st.lists(st.sampled_from(URLS), max_size=9, unique=True))
    def plan(self, owner: str, urls: list[str]) -> None:
        self.plans[owner] = urls
        self.plan_again(owner)

    @rule(owner=st.sampled_from([*OWNERS]))
    def drop(self, owner: str) -> None:
        self.plan(owner, [])

    @rule(reader=st.sampled_from([*READERS]), url=st.sampled_from(URLS))
    def read(self, reader: str, url: str) -> None:
        self.needed(reader, url)
        self.open_reads.setdefault((reader, url), self.writes[url])
        self.open_reads[reader, url] = self.writes[url]
        self.pump()

    def needed(self, reader: str, url: str) -> None:
        assert self.queue.add(NeededResponse(get(url), url, reader, READERS[reader], max_age=timedelta()), self.now)

    @rule(data=st.data())
    @precondition(lambda self: self.open_reads)
    def stop_reading(self, data: st.DataObject) -> None:
        reader, url = data.draw(st.sampled_from(sorted(self.open_reads)))
        del self.open_reads[reader, url]
        self.cancelled(self.queue.drop(reader, [url]))
        self.pump()

    @rule(url=st.sampled_from(URLS))
    def hurry(self, url: str) -> None:
        if url in self.queue.requests:
            self.queue.prioritize(url)
            for reader in [reader for reader in READERS if (reader, url) in self.open_reads]:
                self.needed(reader, url)
            self.plan_again(*OWNERS)

    @rule(url=st.sampled_from(URLS))
    def move(self, url: str) -> None:
        """Change the fingerprint that lists report for a response."""
        self.fingerprints[url] += 1
        self.plan_again(*OWNERS)

    @rule(url=st.sampled_from(URLS))
    def write(self, url: str) -> None:
        """Confirm a write of this instance, which makes its responses outdated."""
        self.writes[url] += 1
        self.fingerprints[url] += 1
        self.queue.mark_stale(url)
        self.plan_again(*OWNERS)

    @rule(owner=st.sampled_from([*OWNERS, *READERS]))
    def retry(self, owner: str) -> None:
        self.queue.retry(owner)
        self.pump()

    # Events

    @rule(data=st.data(), kind=st.sampled_from(ERRORS))
    @precondition(lambda self: self.queue.requests)
    def answer(self, data: st.DataObject, kind: type[ApiError] | None) -> None:
        request = self.queue.requests[data.draw(st.sampled_from(sorted(self.queue.requests)))]
        retry_at = self.now + timedelta(seconds=7) if kind is RateLimited else None
        self.end(request, kind("No.", Trace(retry_at=retry_at)) if kind is not None else None)
        self.pump()

    @rule()
    @precondition(lambda self: self.late)
    def answer_late(self) -> None:
        before = dict(self.queue.requests)
        assert self.queue.end(self.late.pop(), None, self.now) is None
        assert self.queue.requests == before

    @rule(seconds=st.sampled_from([0.01, 0.2, 6.0, 70.0, 700.0]))
    def tick(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.pump()

    @rule()
    def toggle_low(self) -> None:
        self.is_low = not self.is_low
        self.pump()

    @rule()
    def toggle_hidden(self) -> None:
        self.is_hidden = not self.is_hidden
        self.pump()

    @rule()
    def write_elsewhere(self) -> None:
        """Let the server respond to a request of the outbox."""
        self.queue.end_pause()
        self.reached()
        self.pump()

    @rule()
    def restart(self) -> None:
        """Restart Octavo: only the versions on disk remain."""
        self.queue, self.late, self.sent, self.open_reads = SyncQueue(self.disk.get), [], {}, {}
        self.ages, self.starts, self.passed = {}, 0, ("", 0)
        self.paused_until = self.limited_until = self.spaced_until = self.now
        self.reached()
        self.plan_again(*OWNERS)

    # The model

    def needed_responses(self, owner: str) -> list[NeededResponse]:
        max_age = MAX_AGE if owner == "offline" else None
        return [
            NeededResponse(
                get(url),
                url,
                owner,
                OWNERS[owner],
                f"s{self.fingerprints[url]}",
                URLS.index(url) % 3,
                max_age=max_age,
                min_items=MOST.get(url, 0),
            )
            for url in self.plans[owner]
        ]

    def plan_again(self, *owners: str) -> None:
        for owner in owners:
            self.cancelled(self.queue.set_needed(owner, self.needed_responses(owner), self.now))
            self.note_ages(self.plans[owner])
        self.pump()

    def cancelled(self, requests: list[RunningRequest]) -> None:
        for request in requests:
            assert not self.owners(request.url), "A request that somebody needs is not cancelled"
            self.late.append(request)
            del self.sent[request]

    def owners(self, url: str) -> list[str]:
        return [owner for owner in (*OWNERS, *READERS) if url in self.queue.waiting_urls(owner)]

    def end(self, request: RunningRequest, error: ApiError | None) -> None:
        url, knew = request.url, self.sent.pop(request)
        before = {owner for owner in READERS if url in self.queue.waiting_urls(owner)}
        version = self.queue.end(request, error, self.now)
        is_answer = error is None or isinstance(error, NotFound | Forbidden)
        if is_answer or (
            error is not None and error.outcome is not Outcome.UNKNOWN and not affects_all_requests(error)
        ):
            if is_answer or not request.is_stale:
                self.reached()
        elif error is not None and (affects_all_requests(error) or not request.is_stale):
            self.failed(request, error)
        assert version is None or (is_answer and knew == self.writes[url]), "Only a current response has a version"
        if version is not None:
            key = url, version.fingerprint, knew
            is_old = self.now - self.fetched[key] >= MAX_AGE if key in self.fetched else True
            assert is_old, f"{key} was fetched twice"
            assert request.min_items >= MOST.get(url, 0), "The whole list is here"
            self.fetched[key] = version.requested_at
            self.disk[url], self.known[url] = version, knew
        for reader in before - {owner for owner in READERS if url in self.queue.waiting_urls(owner)}:
            assert is_answer, "A failed read stays"
            assert self.open_reads.pop((reader, url)) <= knew, "A read after a write sees the write"

    def failed(self, request: RunningRequest, error: ApiError) -> None:
        if isinstance(error, RateLimited) and error.trace.retry_at is not None:
            self.limited_until = max(self.limited_until, error.trace.retry_at)
        self.in_a_row += error.outcome is Outcome.UNKNOWN
        is_news = not self.misses or request.started_at >= self.paused_until
        if is_news and (affects_all_requests(error) or self.in_a_row >= MAX_FAILURES):
            longest = MAX_UNREACHED_PAUSE if isinstance(error, NotSent) else MAX_PAUSE
            self.paused_until = self.now + min(longest, FIRST_PAUSE * 2**self.misses)
            self.misses += 1

    def reached(self) -> None:
        self.paused_until, self.misses, self.in_a_row = START, 0, 0

    def note_ages(self, urls: list[str]) -> None:
        for url in [url for url in self.ages if not self.queue.is_needed(url)]:
            del self.ages[url]
        for url in (*urls, *URLS):
            if self.queue.is_needed(url):
                self.ages.setdefault(url)

    def rank(self, url: str) -> Rank:
        best = min({**OWNERS, **READERS}[owner] for owner in self.owners(url))
        return max(best, Rank.VISIBLE) if self.affects_all_requests(url) else best

    def affects_all_requests(self, url: str) -> bool:
        error = self.queue.errors.get(url)
        return error is not None and affects_all_requests(error)

    def free(self) -> dict[str, Rank]:
        """Return the requests that may start now in the model."""
        busy = [self.rank(url) for url in self.queue.requests]
        room = 1 if self.misses else MAX_BACKGROUND
        rechecked = {}
        for url in self.ages:
            if not self.queue.is_needed(url) or url in self.queue.requests:
                continue
            if url in self.queue.errors and not self.affects_all_requests(url):
                continue
            rank = self.rank(url)
            is_full = len(busy) >= MAX_REQUESTS or sum(each > Rank.NOW for each in busy) >= MAX_BACKGROUND
            if rank > Rank.NOW and is_full:
                continue
            if rank > Rank.AWAITED:
                if self.now < max(self.paused_until, self.limited_until) or self.is_low:
                    continue
                if (self.is_hidden and rank in HIDDEN) or (rank is Rank.LATER and self.now < self.spaced_until):
                    continue
                if sum(each > Rank.AWAITED for each in busy) >= room or busy.count(rank) >= MAX_REQUESTS_BY_RANK.get(
                    rank, 4
                ):
                    continue
            rechecked[url] = rank
        return rechecked

    def allowed(self, rank: Rank) -> bool:
        return not self.is_low and not (self.is_hidden and rank in HIDDEN)

    def pump(self) -> None:
        self.note_ages([])
        while True:
            free, ranks = self.free(), {url: self.rank(url) for url in self.queue.requests}
            request = self.queue.start_one(self.now, self.allowed)
            if request is None:
                assert not any(rank <= Rank.AWAITED for rank in free.values()), "The user waits for a request only"
                return
            url, rank = request.url, self.rank(request.url)
            self.sent[request] = self.writes[url]
            assert url not in ranks, "One request for each URL at a time"
            known = {f"s{self.fingerprints[url]}"} if any(owner in OWNERS for owner in self.owners(url)) else {""}
            assert {request.fingerprint} == known, "The fingerprint of the newest lists"
            if rank > Rank.AWAITED:
                assert url in free, "Budget and politeness"
                self.check_order(url, rank, free)
            if rank is Rank.LATER:
                self.spaced_until = self.now + LATER_INTERVAL

    def check_order(self, url: str, rank: Rank, free: dict[str, Rank]) -> None:
        self.starts += 1
        oldest = next(iter(free))
        if self.starts % STARTS_PER_OLDEST == 0:
            assert url == oldest, "Every eighth request is for the oldest needed"
        else:
            assert rank == min(free.values()), "By rank"
        count = self.passed[1] + 1 if self.passed[0] == oldest else 1
        self.passed = ("", 0) if url == oldest else (oldest, count)
        assert self.passed[1] < STARTS_PER_OLDEST, "Nothing starves"

    @invariant()
    def no_want_is_lost(self) -> None:
        for owner, urls in self.plans.items():
            waiting = self.queue.waiting_urls(owner)
            assert waiting <= set(urls), "dropped owners needed nothing"
            for needed in self.needed_responses(owner):
                assert needed.url in waiting or not is_due(
                    needed, self.disk.get(needed.url), self.disk[needed.url].requested_at
                ), "No needed is forgotten"
        for reader in READERS:
            assert self.queue.waiting_urls(reader) == {url for name, url in self.open_reads if name == reader}

    @invariant()
    def every_request_has_an_owner(self) -> None:
        assert all(self.owners(url) for url in self.queue.requests)
        assert self.sent.keys() == set(self.queue.requests.values())

    def teardown(self) -> None:
        """Let the server respond to everything. Then no needed may be open."""
        self.is_low = self.is_hidden = False
        for _ in range(200):
            for owner in (*OWNERS, *READERS):
                self.queue.retry(owner)
            self.pump()
            for request in tuple(self.queue.requests.values()):
                self.end(request, None)
            self.now = self.queue.wake_at(self.now) or self.now
        assert not self.queue.requests
        assert not any(map(self.queue.is_needed, URLS)), "All needed responses are fetched"
        assert not self.queue.errors
        assert self.queue.wake_at(self.now) is None
        wanted = {url for urls in self.plans.values() for url in urls}
        assert all(self.known[url] == self.writes[url] for url in wanted), "cached responses include every write"
        self.plan_again(*OWNERS)
        assert not self.queue.requests or any(
            self.now - self.disk[url].requested_at >= MAX_AGE for url in self.queue.requests
        ), "An unchanged pass fetches nothing"


def test_each_want_is_satisfied_once() -> None:
    run_state_machine_as_test(SyncQueueRun, settings=settings(max_examples=40, stateful_step_count=40, deadline=None))


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_each_want_is_satisfied_once_in_long_runs() -> None:
    run_state_machine_as_test(
        SyncQueueRun, settings=settings(max_examples=20_000, stateful_step_count=60, deadline=None)
    )


def test_two_requests_of_the_six_stay_free_for_the_user() -> None:
    queue = SyncQueue(lambda url: None)
    queue.set_needed("prefetch", [NeededResponse(get(u), u, "prefetch", Rank.AWAITED) for u in URLS[:6]], START)
    started = [request.url for request in iter(lambda: queue.start_one(START), None)]
    assert started == URLS[:MAX_BACKGROUND]
    queue.prioritize(URLS[5])
    assert [request.url for request in iter(lambda: queue.start_one(START), None)] == URLS[5:6]
    queue.prioritize(URLS[0])
    started = [request.url for request in iter(lambda: queue.start_one(START), None)]
    assert started == URLS[4:5], "a request that the user waits for uses no place of the background"


def test_no_request_of_the_background_waits_before_the_next_of_the_user() -> None:
    queue = SyncQueue(lambda url: None)
    for url in URLS[:MAX_REQUESTS]:
        queue.add(NeededResponse(get(url), url, "view", Rank.NOW), START)
    queue.set_needed("prefetch", [NeededResponse(get(URLS[6]), URLS[6], "prefetch", Rank.AWAITED)], START)
    started = [request.url for request in iter(lambda: queue.start_one(START), None)]
    assert started == URLS[:MAX_REQUESTS]
    queue.drop("view", URLS[:1])
    request = queue.start_one(START)
    assert request is not None
    assert request.url == URLS[6]


class TestPauses:
    """Failed requests pause the background."""

    def queue(self, number: int = 6) -> SyncQueue:
        queue = SyncQueue(lambda url: None)
        queue.set_needed("inbox", [NeededResponse(get(u), u, "inbox", Rank.INBOX, "s") for u in URLS[:number]], START)
        return queue

    def test_pause_doubles_once_for_requests_that_fail_together(self) -> None:
        queue, now, pauses = self.queue(), START, []
        together = [queue.start_one(now) for _ in range(MAX_BACKGROUND)]
        for request in filter(None, together):
            queue.end(request, NotSent("No."), now)
        for _ in range(6):
            at = queue.wake_at(now)
            assert at is not None
            assert queue.start_one(at - timedelta(seconds=0.1)) is None
            pauses.append((at - now).total_seconds())
            now = at
            probe = queue.start_one(now)
            assert probe is not None
            assert queue.start_one(now) is None, "One request probes"
            queue.end(probe, NotSent("No."), now)
        assert pauses == [5, 10, 20, 40, 60, MAX_UNREACHED_PAUSE.total_seconds()]

    @pytest.mark.parametrize("error", [RateLimited, Unauthorized])
    def test_pause_after_refusals_of_all_requests_grows_to_five_minutes(self, error: type[ApiError]) -> None:
        queue, now = self.queue(1), START
        for _ in range(9):
            request = queue.start_one(now)
            assert request is not None
            queue.end(request, error("No."), now)
            before, now = now, queue.wake_at(now) or now
        assert now - before == MAX_PAUSE

    @pytest.mark.parametrize("error", [RateLimited, ServerError])
    def test_retry_after_is_respected_despite_other_responses(self, error: type[ApiError]) -> None:
        queue = self.queue(3)
        one, other = queue.start_one(START), queue.start_one(START)
        assert one is not None
        assert other is not None
        retry_at = START + timedelta(minutes=20)
        queue.end(one, error("No.", Trace(retry_at=retry_at)), START)
        queue.end(other, None, START)
        assert queue.wake_at(START) == retry_at
        assert queue.start_one(retry_at - timedelta(seconds=1)) is None
        assert queue.start_one(retry_at) is not None

    def test_three_failures_in_a_row_cause_a_pause(self) -> None:
        queue = self.queue(14)
        for error in [*[ServerError("No.")] * (MAX_FAILURES - 1), None, *[Lost("No.")] * MAX_FAILURES]:
            request = queue.start_one(START)
            assert request is not None
            queue.end(request, error, START)
        assert queue.start_one(START) is None
        assert queue.wake_at(START) == START + FIRST_PAUSE

    def test_requests_of_the_user_ignore_the_pause_and_end_it(self) -> None:
        queue = self.queue()
        request = queue.start_one(START)
        assert request is not None
        queue.end(request, NotSent("No."), START)
        assert queue.start_one(START) is None
        queue.add(NeededResponse(get("view"), "view", "view", Rank.NOW), START)
        open_reads = queue.start_one(START)
        assert open_reads is not None
        assert open_reads.url == "view"
        queue.end(open_reads, None, START)
        assert queue.start_one(START) is not None

    @pytest.mark.parametrize("error", [NotSent("No."), RateLimited("No.", Trace(retry_at=START + timedelta(hours=1)))])
    def test_clock_that_is_set_back_does_not_stop_the_background(self, error: ApiError) -> None:
        queue = self.queue()
        request = queue.start_one(START)
        assert request is not None
        queue.end(request, error, START)
        assert queue.start_one(START - timedelta(days=1)) is not None


def test_oldest_want_starts_after_at_most_eight_better_ones() -> None:
    queue, started = SyncQueue(lambda url: None), list[str]()
    queue.add(NeededResponse(get("old"), "old", "offline", Rank.OFFLINE, "s"), START)
    for number in range(2 * STARTS_PER_OLDEST):
        queue.add(NeededResponse(get(f"n{number}"), f"n{number}", "inbox", Rank.INBOX, "s", order=-number), START)
        queue.add(NeededResponse(get(f"v{number}"), f"v{number}", "poll", Rank.VISIBLE, "s"), START)
        request = queue.start_one(START)
        assert request is not None
        queue.end(request, None, START)
        started.append(request.url)
    assert started.index("old") == STARTS_PER_OLDEST - 1


def test_a_short_response_does_not_satisfy_a_want_for_the_whole_list() -> None:
    queue = SyncQueue(lambda url: None)
    queue.add(NeededResponse(get("u"), "u", "poll", Rank.VISIBLE, "s"), START)
    short = queue.start_one(START)
    queue.add(NeededResponse(get("u"), "u", "inbox", Rank.INBOX, "s", min_items=1000), START)
    assert short is not None
    queue.end(short, None, START)
    whole = queue.start_one(START)
    assert whole is not None
    assert (whole.min_items, whole.fingerprint) == (1000, "s")


def test_request_that_fails_twice_waits_for_the_next_pass() -> None:
    queue = SyncQueue(lambda url: None)
    queue.add(NeededResponse(get("u"), "u", "inbox", Rank.INBOX, "s"), START)
    for now, error in ((START, Unauthorized("No.")), (START + FIRST_PAUSE, PaginationError("It never ends."))):
        request = queue.start_one(now)
        assert request is not None
        queue.end(request, error, now)
    assert queue.start_one(START + MAX_PAUSE) is None
    queue.retry("inbox")
    assert queue.start_one(START + MAX_PAUSE) is not None


def test_recheck_takes_the_most_overdue_within_its_limit() -> None:
    ages = {"u0": 60, "u1": 50, "u2": 40, "u3": 10}
    versions = {url: Version("s", START - timedelta(minutes=age)) for url, age in ages.items()}
    needed_responses = [NeededResponse(get(url), url, "inbox", Rank.INBOX, "s") for url in ages]

    def rechecked(room: int, **options: Any) -> list[str]:
        chosen = recheck(needed_responses, versions.get, room, START, **options)
        assert all(is_due(needed, versions[needed.url], START) for needed in chosen)
        return [needed.url for needed in chosen]

    assert rechecked(2) == ["u0", "u1"]
    assert rechecked(2, page_counts={"u0": 5}) == ["u0"]
    assert rechecked(1, expected_interval=lambda needed: timedelta(minutes=1 if needed.url == "u3" else 100)) == ["u3"]
    assert recheck([], versions.get, 5, START) == []
