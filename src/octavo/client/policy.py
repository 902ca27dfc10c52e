"""Whether to try again, and when (C1 to C4). Pure decisions: no clock, no connection.

A read is repeated after anything that may pass. Anything else is repeated only when the server cannot have
acted: the request never left, or was refused with 429. A lost answer to a write is for the caller to sort out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from octavo.api.errors import ApiError, BadResponse, LocalFailure, Outcome, ProxyError, TlsError, Unreachable

READS = frozenset({"GET", "HEAD"})
PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Statuses that may be gone at the next try."""
PROXY_WANTS_SIGN_IN = 407

ATTEMPTS = 4
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 8.0
LONGEST_ASKED = 60.0
"""Seconds a server may ask us to wait before we give up and say when to come back."""
A_DAY = 86400.0
"""As long as any wait that is meant: who asks for more is asked again after it, and not never."""
LEAST_SPARED, SPARED = 5, 0.25
"""As few requests, or this part of what the server allows, are left for what somebody waits for."""
SPREAD = 0.5
"""Seconds over which those who were told the same moment come back."""

_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_EPOCH = re.compile(r"[0-9]{9,11}")
_COUNT = re.compile(r"[0-9]{1,9}")


class Unsendable(LocalFailure):
    """The request cannot be sent as things are; another try would not help."""


class Truncated(BadResponse):
    """The answer ended before it was whole."""


@dataclass(frozen=True)
class Limits:
    """The rate limit as the server last described it."""

    limit: int | None
    remaining: int | None
    reset: datetime | None
    """By our clock."""


@dataclass(frozen=True)
class Decision:
    """What to do after an attempt that failed."""

    retry: bool
    delay: float = 0.0
    """Seconds to wait before the next attempt, or that the server asks for when there is none."""


class Budget:
    """How many retries are left: ten at most, one back every two seconds, so that retries cannot become a storm."""

    SIZE = 10.0
    PER_SECOND = 0.5

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = self.SIZE
        self._at = clock()

    def take(self) -> bool:
        """Whether one more retry may be made; if so it is counted."""
        now = self._clock()
        self._left = min(self.SIZE, self._left + (now - self._at) * self.PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def after_error(
    error: ApiError, *, method: str, attempt: int, elapsed: float, deadline: float, rng: Callable[[], float]
) -> Decision:
    """What to do when no whole answer came. `attempt` counts from 1; `elapsed` and `deadline` in seconds."""
    if attempt >= ATTEMPTS or not _may_pass(error):
        return Decision(False)
    if method not in READS and error.outcome is not Outcome.NOT_SENT:
        return Decision(False)
    return _within(deadline, elapsed, _pause(attempt, rng))


def after_status(
    status: int,
    headers: Mapping[str, str],
    *,
    method: str,
    attempt: int,
    elapsed: float,
    deadline: float,
    now: datetime,
    rng: Callable[[], float],
) -> Decision:
    """What to do after an error status. `headers` by lower-case name."""
    asked = asked_wait(headers, now)
    if asked is not None and asked > LONGEST_ASKED:
        return Decision(False, asked)
    if attempt >= ATTEMPTS or status not in PASSING or (method not in READS and status != 429):
        return Decision(False, asked or 0.0)
    if asked is None:
        return _within(deadline, elapsed, _pause(attempt, rng))
    return _within(deadline, elapsed, asked + rng() * SPREAD)


def asked_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds the server asks to wait, 0 or more. None when it does not, or not in a way we know. Never raises."""
    milliseconds = headers.get("retry-after-ms", "").strip(" \t")
    if _SECONDS.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    asked = headers.get("retry-after", "").strip(" \t")
    if _SECONDS.fullmatch(asked):
        return float(asked)
    if asked:
        moment = _date(asked)
        return None if moment is None else _seconds(moment - _server_time(headers, now))
    reset = _reset(headers)
    if reset is None or headers.get("x-ratelimit-remaining", "").strip(" \t") != "0":
        return None
    return _seconds(reset - _server_time(headers, now))


def low(limits: Limits | None, now: datetime) -> float:
    """Seconds for which what nobody waits for is not asked, so that enough is left for what somebody waits for (C4)."""
    if limits is None or limits.remaining is None or limits.reset is None:
        return 0.0
    spared = max(LEAST_SPARED, SPARED * (limits.limit or 0))
    return max(0.0, _seconds(limits.reset - now)) if limits.remaining <= spared else 0.0


def limits(headers: Mapping[str, str], now: datetime) -> Limits | None:
    """The rate limit the headers describe, its reset by our clock. None when they describe none."""
    remaining, limit = (_count(headers.get(f"x-ratelimit-{name}", "")) for name in ("remaining", "limit"))
    if remaining is None and limit is None:
        return None
    reset = _reset(headers)
    return Limits(limit, remaining, reset and now + (reset - _server_time(headers, now)))


def _may_pass(error: ApiError) -> bool:
    if isinstance(error, Unsendable | TlsError):
        return False
    if isinstance(error, ProxyError):
        return error.status != PROXY_WANTS_SIGN_IN
    return isinstance(error, Unreachable | Truncated)


def _pause(attempt: int, rng: Callable[[], float]) -> float:
    return rng() * min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))


def _within(deadline: float, elapsed: float, delay: float) -> Decision:
    return Decision(elapsed + delay <= deadline, delay)


def _server_time(headers: Mapping[str, str], now: datetime) -> datetime:
    """By its own clock: it knows only that one."""
    return _date(headers.get("date", "")) or now


def _reset(headers: Mapping[str, str]) -> datetime | None:
    reset = headers.get("x-ratelimit-reset", "").strip(" \t")
    return datetime.fromtimestamp(int(reset), UTC) if _EPOCH.fullmatch(reset) else None


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # a zone can carry the first and the last days over the edge of the calendar
        return None


def _seconds(span: timedelta) -> float:
    return max(0.0, span.total_seconds())


def _count(text: str) -> int | None:
    text = text.strip(" \t")
    return int(text) if _COUNT.fullmatch(text) else None
