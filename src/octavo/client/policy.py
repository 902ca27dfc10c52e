"""Decisions about retries, and the error messages of failed requests. Pure functions without a clock or a connection.

A read is retried after any temporary failure. A write is retried only if the server cannot have processed it: the
request was not sent, or the server refused it with 429. After a lost response to a write, the caller must check the
outcome.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from octavo.api.errors import (
    MAY_BE_DONE,
    ApiError,
    BadResponse,
    LocalFailure,
    Outcome,
    ProxyError,
    TlsError,
    Unreachable,
)
from octavo.local_time import localize

READS = frozenset({"GET", "HEAD"})
TEMPORARY_STATUSES = frozenset({408, 425, 429, 500, 502, 503, 504})
PROXY_WANTS_SIGN_IN = 407

MAX_ATTEMPTS = 4
FIRST_PAUSE = 0.5
MAX_PAUSE = 8.0
MAX_REQUESTED_WAIT = 60.0
"""Maximum seconds of a pause that the server asks for. If it asks for a longer pause, the request fails, and the message
says when to try again."""
MAX_RETRY_SECONDS = 86400.0
"""Maximum seconds from now to the retry time in an error. If the server names a later time, this limit is used."""
RESERVED_SHARE = 0.25
"""Share of the rate limit that is reserved for requests of the user."""
MIN_RESERVED_REQUESTS = 5
"""Minimum number of requests that are reserved for the user, even if `RESERVED_SHARE` is less."""
RETRY_SPREAD = 0.5
"""Seconds over which simultaneous retries are spread."""

_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_EPOCH = re.compile(r"[0-9]{9,11}")
_COUNT = re.compile(r"[0-9]{1,9}")


class Unsendable(LocalFailure):
    """The request cannot be sent in this environment. A retry would fail too."""


class TruncatedResponse(BadResponse):
    """The response ended early."""


@dataclass(frozen=True)
class Limits:
    """A rate limit, as the headers of a response state it."""

    limit: int | None
    remaining: int | None
    reset: datetime | None
    """When the rate limit resets, by the clock of this machine. None if the server does not send the time."""


class Budget:
    """A budget of at most ten retries. Every two seconds, one retry is added. So retries cannot flood the server."""

    SIZE = 10.0
    PER_SECOND = 0.5

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._left = self.SIZE
        self._at = clock()

    def take(self) -> bool:
        """Take one retry from the budget. Return False if the budget is empty."""
        now = self._clock()
        self._left = min(self.SIZE, self._left + (now - self._at) * self.PER_SECOND)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def delay_after_error(
    error: ApiError, *, is_read: bool, attempt: int, elapsed: float, deadline: float, rng: Callable[[], float]
) -> float | None:
    """Return the seconds until the next attempt after a request without a complete response. None if there must be no
    retry.

    `attempt` is the number of the last attempt, from 1. `elapsed` and `deadline` are in seconds.
    """
    if attempt >= MAX_ATTEMPTS or not _may_be_temporary(error):
        return None
    if not is_read and error.outcome is not Outcome.NOT_SENT:
        return None
    return _retry_before(deadline, elapsed, _pause(attempt, rng))


def delay_after_status(
    status: int,
    headers: Mapping[str, str],
    *,
    is_read: bool,
    attempt: int,
    elapsed: float,
    deadline: float,
    now: datetime,
    rng: Callable[[], float],
) -> float | None:
    """Return the seconds until the next attempt after an error status. None if there must be no retry. The names of
    `headers` are lower-case."""
    wait = requested_wait(headers, now)
    if attempt >= MAX_ATTEMPTS or status not in TEMPORARY_STATUSES or (not is_read and status != 429):
        return None
    if wait is None:
        return _retry_before(deadline, elapsed, _pause(attempt, rng))
    return _retry_before(deadline, elapsed, wait + rng() * RETRY_SPREAD) if wait <= MAX_REQUESTED_WAIT else None


def requested_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the server asks to wait. None if the headers contain no valid time."""
    milliseconds = headers.get("retry-after-ms", "").strip(" \t")
    if _SECONDS.fullmatch(milliseconds):
        return float(milliseconds) / 1000
    retry_after = headers.get("retry-after", "").strip(" \t")
    if _SECONDS.fullmatch(retry_after):
        return float(retry_after)
    if retry_after:
        moment = _date(retry_after)
        return None if moment is None else _seconds(moment - _server_time(headers, now))
    reset = _reset_time(headers)
    if reset is None or headers.get("x-ratelimit-remaining", "").strip(" \t") != "0":
        return None
    return _seconds(reset - _server_time(headers, now))


def background_wait(limits: Limits | None, now: datetime) -> float:
    """Return the seconds for which background requests must wait, because the rest of the rate limit is for the user. 0
    if they need not wait."""
    if limits is None or limits.remaining is None or limits.reset is None:
        return 0.0
    reserved = max(MIN_RESERVED_REQUESTS, RESERVED_SHARE * (limits.limit or 0))
    return max(0.0, _seconds(limits.reset - now)) if limits.remaining <= reserved else 0.0


def read_limits(headers: Mapping[str, str], now: datetime) -> Limits | None:
    """Return the rate limit in the headers. None if they contain no rate limit."""
    remaining, limit = (_count(headers.get(f"x-ratelimit-{name}", "")) for name in ("remaining", "limit"))
    if remaining is None and limit is None:
        return None
    reset = _reset_time(headers)
    try:
        return Limits(limit, remaining, reset and now + (reset - _server_time(headers, now)))
    except OverflowError:  # the server's date is thousands of years away
        return Limits(limit, remaining, None)


def clock_offset(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds by which this machine's clock is ahead of the server's. None if the headers have no valid
    date."""
    moment = _date(headers.get("date", ""))
    return None if moment is None else (now - moment).total_seconds()


def _may_be_temporary(error: ApiError) -> bool:
    if isinstance(error, Unsendable | TlsError):
        return False
    if isinstance(error, ProxyError):
        return error.status != PROXY_WANTS_SIGN_IN
    return isinstance(error, Unreachable | TruncatedResponse)


def _pause(attempt: int, rng: Callable[[], float]) -> float:
    return rng() * min(MAX_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))


def _retry_before(deadline: float, elapsed: float, delay: float) -> float | None:
    return delay if elapsed + delay <= deadline else None


def _server_time(headers: Mapping[str, str], now: datetime) -> datetime:
    """Return the current time by the server's clock, or `now` if the headers have no valid date."""
    return _date(headers.get("date", "")) or now


def _reset_time(headers: Mapping[str, str]) -> datetime | None:
    reset = headers.get("x-ratelimit-reset", "").strip(" \t")
    return datetime.fromtimestamp(int(reset), UTC) if _EPOCH.fullmatch(reset) else None


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    try:
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):  # OverflowError: a time zone can move a date out of the calendar
        return None


def _seconds(span: timedelta) -> float:
    return max(0.0, span.total_seconds())


def _count(text: str) -> int | None:
    text = text.strip(" \t")
    return int(text) if _COUNT.fullmatch(text) else None


_WITHOUT_MESSAGE = {
    400: "{host} did not accept a value in the API request.",
    403: "You are not allowed to do this on {host}. Ask an admin for a role that allows it, or sign in with another API key.",
    404: "{host} could not find this, or you do not have access. Refresh the view.",
    409: "{host} refused the change, because the content has changed. Refresh, then try again.",
    412: "{host} refused the change, because the content has changed. Refresh, then try again.",
    413: "This is too large for {host}. Shorten the text, or send it in parts.",
    422: "{host} did not accept a value in the API request.",
}


def next_step_after(is_read: bool) -> str:
    """Return the next step after a lost response: for a write, to check whether the change was made."""
    return "Try again." if is_read else MAY_BE_DONE


def too_slow(host: str, seconds: float, is_read: bool) -> str:
    return f"{host} did not respond within {seconds:g} s. {next_step_after(is_read)}"


def redirected(host: str, elsewhere: str, status: int) -> str:
    """Return the message for a refused redirect. `elsewhere` is the other host, or empty for the same host."""
    if elsewhere:
        return f"{host} redirects API requests to {elsewhere} ({status}). Octavo does not send your API key there. Check the base URL."
    return f"{host} redirects API requests ({status}). Octavo does not follow the redirect. Check the base URL."


def refusal(host: str, status: int, message: str, retry_hint: str = "", *, is_read: bool = True) -> str:
    """Return the message for an error status. `message` is the message of the server, which may be empty. `retry_hint` is a
    sentence that says when to try again, for status 429."""
    server_sentence = _with_full_stop(message)
    if status == 401:
        cause = f" The server says: {server_sentence}" if server_sentence else ""
        return f"{host} did not accept your API key: it is wrong, expired, or revoked.{cause} Sign in again."
    if status == 429:
        return f"{host} received too many API requests. {retry_hint or 'Wait a moment, then try again.'}"
    if status >= 500:
        step = "Try again in a moment." if is_read else MAY_BE_DONE
        return f"{host} reported an error ({status}){': ' + server_sentence if server_sentence else '.'} {step}"
    if server_sentence:
        return server_sentence
    sentence = _WITHOUT_MESSAGE.get(status, "{host} refused the API request ({status}) and gave no reason.")
    return sentence.format(host=host, status=status)


def retry_sentence(moment: datetime, now: datetime) -> str:
    """Return a sentence that says when to try again."""
    here, today = localize(moment), localize(now).date()
    return f"Try again {'' if here.date() == today else 'tomorrow '}at {here:%H:%M:%S}."


def _with_full_stop(message: str) -> str:
    return message if not message or message[-1] in ".!?…。" else f"{message}."
