from __future__ import annotations

import math
import random
from collections.abc import Callable
from datetime import timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.api.errors import ApiError, BadResponse, Lost, NotSent, ProxyError, TimedOut, TlsError, Trace
from octavo.client import policy
from octavo.client.policy import RateLimit, RetryBudget, TruncatedResponse, Unsendable
from tests.client.conftest import NOON, Time

ODD_VALUES = (
    *[
        "3",
        "0",
        "-5",
        "1.5",
        "nan",
        "inf",
        "1e9",
        "999999999999",
        "١٢",
        "soon",
        "0x10",
        "+3",
        "1_0",
        "3;",
        "3,5",
        ".5",
        "5.",
        "1.1234567",
    ],
    *("", "  7 ", "3, 5", "\x003", "Wed, 21 Oct 2015 07:28:00 GMT", "Wed, 21 Oct 2099 07:28:00 GMT"),
    *("Wed, 21 Oct 2015 07:28:00", "Wed, 99 Foo 2015", "Thu, 01 Jan 99999 00:00:00 GMT"),
    *("Fri, 31 Dec 9999 23:59:59 -2359", "Mon, 01 Jan 0001 00:00:00 +2359"),
)


def delay_after_status(
    status: int,
    headers: dict[str, str] | None = None,
    *,
    only_reads: bool = True,
    attempt: int = 1,
    seconds_left: float = 30.0,
    rng: Callable[[], float] = lambda: 0.5,
) -> float | None:
    if not policy.is_retried_after_status(status, only_reads=only_reads):
        return None
    return policy.retry_delay(attempt, policy.requested_wait(headers or {}, NOON), seconds_left, rng)


@pytest.mark.parametrize(("only_reads", "expected"), [(True, {408, 425, 429, 500, 502, 503, 504}), (False, {429})])
def test_only_temporary_statuses_are_retried(only_reads: bool, expected: set[int]) -> None:
    assert {
        status for status in range(100, 600) if delay_after_status(status, only_reads=only_reads) is not None
    } == expected


@pytest.mark.parametrize(
    ("error", "read", "write"),
    [
        (NotSent("x"), True, True),
        (ProxyError("x"), True, True),
        (ProxyError("x", Trace(status=407)), False, False),
        (ProxyError("x", Trace(status=403)), True, True),
        (TimedOut("x"), True, False),
        (Lost("x"), True, False),
        (TruncatedResponse("x"), True, False),
        (BadResponse("x"), False, False),
        (TlsError("x"), False, False),
        (Unsendable("x"), False, False),
    ],
)
def test_write_is_retried_only_if_it_was_never_sent(error: ApiError, read: bool, write: bool) -> None:
    assert policy.is_retried_after_error(error, only_reads=True) is read
    assert policy.is_retried_after_error(error, only_reads=False) is write


def test_no_retry_after_four_attempts() -> None:
    assert [delay_after_status(503, attempt=attempt) for attempt in (1, 2, 3, 4, 5)] == [0.25, 0.5, 1.0, None, None]


def test_delays_grow_to_eight_seconds_with_full_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = [delay_after_status(503, attempt=attempt, rng=lambda: 1.0) for attempt in (1, 2, 3)]
    assert longest == [0.5, 1.0, 2.0]
    assert policy.retry_delay(1, None, 30.0, lambda: 0.0) == 0.0
    monkeypatch.setattr(policy, "MAX_ATTEMPTS", 10)
    assert policy.retry_delay(9, None, 30.0, lambda: 1.0) == 8.0


def test_waits_are_uniform() -> None:
    draws = random.Random(1)
    waits = sorted((delay_after_status(503, attempt=3, rng=draws.random) or 0.0) / 2.0 for _ in range(10_000))
    distance = max(max(abs(wait - n / 10_000), abs(wait - (n + 1) / 10_000)) for n, wait in enumerate(waits))
    assert distance < 1.63 / math.sqrt(10_000)  # Kolmogorov–Smirnov test at the 1 % level.
    assert waits[-1] < 1.0


@pytest.mark.parametrize("seconds_left", [0.1, 0.4])
def test_no_retry_after_the_deadline(seconds_left: float) -> None:
    assert delay_after_status(503, attempt=3, seconds_left=seconds_left, rng=lambda: 1.0) is None


def test_delay_may_end_at_the_deadline() -> None:
    assert delay_after_status(503, seconds_left=0.25) == 0.25
    assert delay_after_status(503, seconds_left=0.24) is None


def test_partial_rate_limit_headers_are_accepted() -> None:
    assert policy.read_limits({"x-ratelimit-limit": "100"}, NOON) == RateLimit(100, None, None)
    assert policy.read_limits({"x-ratelimit-remaining": "7"}, NOON) == RateLimit(None, 7, None)
    assert policy.read_limits({"x-ratelimit-reset": "1777896000"}, NOON) is None


def test_retry_is_not_earlier_than_retry_after() -> None:
    assert delay_after_status(429, {"retry-after": "7"}, rng=lambda: 0.0) == 7.0
    assert delay_after_status(429, {"retry-after": "7"}, rng=lambda: 1.0) == 7.5


def test_retry_after_longer_than_a_minute_is_not_awaited() -> None:
    assert delay_after_status(429, {"retry-after": "60"}, seconds_left=120.0) == 60.25
    assert delay_after_status(429, {"retry-after": "61"}, seconds_left=120.0) is None


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "  7 "}, 7.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "999999999"}, 999999999.0),
        ({"retry-after": "9999999999"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "1e9"}, None),
        ({"retry-after": "١٢"}, None),
        ({"retry-after": "3, 5"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": format_datetime(NOON + timedelta(seconds=20), usegmt=True)}, 20.0),
        ({"retry-after": format_datetime(NOON.replace(tzinfo=None) + timedelta(seconds=20))}, 20.0),
        ({"retry-after": "Mon, 04 May 2026 14:00:20 +0200"}, 20.0),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"x-ratelimit-reset": str(int(NOON.timestamp()) + 9)}, None),
        ({"x-ratelimit-reset": str(int(NOON.timestamp()) + 9), "x-ratelimit-remaining": "1"}, None),
        ({"x-ratelimit-reset": str(int(NOON.timestamp()) + 9), "x-ratelimit-remaining": "0"}, 9.0),
        ({"x-ratelimit-reset": "-9", "x-ratelimit-remaining": "0"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_parsed_or_ignored(headers: dict[str, str], seconds: float | None) -> None:
    assert policy.requested_wait(headers, NOON) == seconds


@settings(max_examples=300, deadline=None)
@given(*[st.one_of(st.text(max_size=40), st.sampled_from(ODD_VALUES), st.integers().map(str))] * 4)
def test_any_header_gives_no_wait_or_a_finite_wait(wait: str, milliseconds: str, reset: str, date: str) -> None:
    headers = {"retry-after": wait, "retry-after-ms": milliseconds, "date": date}
    headers |= {"x-ratelimit-reset": reset, "x-ratelimit-remaining": "0", "x-ratelimit-limit": wait}
    for kept in (headers, {**headers, "retry-after-ms": ""}, {**headers, "retry-after-ms": "", "retry-after": ""}):
        wait_seconds = policy.requested_wait(kept, NOON)
        assert wait_seconds is None or (math.isfinite(wait_seconds) and wait_seconds >= 0)
    policy.read_limits(headers, NOON)


@pytest.mark.long
@settings(max_examples=20_000, deadline=None)
@given(st.one_of(st.text(max_size=40), st.sampled_from(ODD_VALUES)))
def test_any_retry_after_gives_no_wait_or_a_finite_wait(value: str) -> None:
    wait_seconds = policy.requested_wait({"retry-after": value, "date": value}, NOON)
    assert wait_seconds is None or (math.isfinite(wait_seconds) and wait_seconds >= 0)


@settings(max_examples=500, deadline=None)
@given(
    st.booleans(),
    st.integers(1, 6),
    st.floats(0, 60),
    st.integers(100, 599),
    st.one_of(st.integers(0, 90).map(str), st.text(max_size=10)),
    st.floats(0, 1, exclude_max=True),
)
def test_retries_stay_within_attempts_and_deadline(
    only_reads: bool, attempt: int, seconds_left: float, status: int, wait: str, chance: float
) -> None:
    headers = {"retry-after": wait}
    delay = delay_after_status(
        status, headers, only_reads=only_reads, attempt=attempt, seconds_left=seconds_left, rng=lambda: chance
    )
    if delay is not None:
        assert attempt < policy.MAX_ATTEMPTS
        assert delay <= seconds_left
        assert status in policy.TEMPORARY_STATUSES
        assert only_reads or status == 429
        assert delay >= (policy.requested_wait(headers, NOON) or 0)


@pytest.mark.parametrize("skew", [timedelta(hours=-1), timedelta(0), timedelta(hours=1)])
def test_rate_limit_reset_uses_the_clock_of_the_server(skew: timedelta) -> None:
    server_now = NOON + skew
    headers = {
        "date": format_datetime(server_now, usegmt=True),
        "x-ratelimit-remaining": "0",
        "x-ratelimit-reset": str(int(server_now.timestamp()) + 12),
    }
    assert policy.requested_wait(headers, NOON) == 12.0
    limits = policy.read_limits(headers, NOON)
    assert limits is not None
    assert limits.reset == NOON + timedelta(seconds=12)
    headers = {"date": headers["date"], "retry-after": format_datetime(server_now + timedelta(seconds=5), usegmt=True)}
    assert policy.requested_wait(headers, NOON) == 5.0


def test_rate_limit_with_an_impossible_date_has_no_reset() -> None:
    headers = {"date": "Fri, 31 Dec 9999 23:00:00 GMT", "x-ratelimit-remaining": "3", "x-ratelimit-reset": "1777896000"}
    assert policy.read_limits(headers, NOON) == RateLimit(None, 3, None)


def test_retry_budget_limits_retries_per_second(time: Time) -> None:
    budget = RetryBudget(time.clock)
    taken = 0
    for _ in range(200):
        taken += budget.take()
        time.seconds += 10 / 200
    assert 10 <= taken <= 15


def test_retry_budget_refills_up_to_ten(time: Time) -> None:
    budget = RetryBudget(time.clock)
    assert [budget.take() for _ in range(11)] == [True] * 10 + [False]
    time.seconds += 2
    assert [budget.take() for _ in range(2)] == [True, False]
    time.seconds += 3600
    assert sum(budget.take() for _ in range(20)) == 10


@pytest.mark.parametrize(
    ("limit", "remaining", "seconds"),
    [
        (1000, 250, 300.0),
        (1000, 251, 0.0),
        (10, 5, 300.0),
        (10, 6, 0.0),
        (None, 5, 300.0),
        (None, 6, 0.0),
        (1000, None, 0.0),
    ],
)
def test_quarter_of_the_rate_limit_is_reserved_for_the_user(
    limit: int | None, remaining: int | None, seconds: float
) -> None:
    assert policy.background_wait(RateLimit(limit, remaining, NOON + timedelta(minutes=5)), NOON) == seconds
    assert policy.background_wait(RateLimit(limit, remaining, NOON), NOON) == 0.0, "the limit was reset at this time"
    assert policy.background_wait(RateLimit(limit, remaining, None), NOON) == 0.0, "the time of the reset is unknown"
    assert policy.background_wait(None, NOON) == 0.0
