"""Decides whether a request is retried, and writes the error messages of failed requests. Uses no clock and no
connection.

A read is retried after any temporary failure. A write is retried only if the server has not processed it: the request
was not sent, or the server refused it with status 429. After a lost response to a write, the caller must find out
whether the write was made.
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
"""Longest wait in seconds that the server may ask for. A request that must wait longer fails."""
MAX_RETRY_SECONDS = 86400.0
"""Maximum number of seconds until `retry_at` of an error, even if the server asks for a later time."""
RESERVED_SHARE = 0.25
"""Share of the rate limit that is reserved for requests that the user waits for."""
MIN_RESERVED_REQUESTS = 5
"""Minimum number of requests of the rate limit that are reserved for requests that the user waits for."""
RETRY_SPREAD = 0.5
"""Number of seconds over which retries of several requests are spread."""

_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_EPOCH = re.compile(r"[0-9]{9,11}")
_COUNT = re.compile(r"[0-9]{1,9}")


class Unsendable(LocalFailure):
    """The request cannot be sent, and a retry would fail too."""


class TruncatedResponse(BadResponse):
    """The response is incomplete."""


@dataclass(frozen=True)
class RateLimit:
    """The rate limit in the headers of a response. A number is None if the headers lack it."""

    limit: int | None
    remaining: int | None
    reset: datetime | None
    """Time of the reset, by the clock of this machine. None if unknown."""


class RetryBudget:
    """Limits the retries of a client to ten in a row. Every two seconds, one more retry is allowed."""

    SIZE = 10.0
    PER_SECOND = 0.5

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._retries_left = self.SIZE
        self._at = clock()

    def take(self) -> bool:
        """Use one retry. Return False if none is left."""
        now = self._clock()
        self._retries_left = min(self.SIZE, self._retries_left + (now - self._at) * self.PER_SECOND)
        self._at = now
        if self._retries_left < 1:
            return False
        self._retries_left -= 1
        return True


def is_retried_after_error(error: ApiError, *, only_reads: bool) -> bool:
    """Return whether a request that got no complete response is sent again. `only_reads` is True if the request changes
    nothing. Other requests are sent again only if the server cannot have acted."""
    if not only_reads and error.outcome is not Outcome.NOT_SENT:
        return False
    if isinstance(error, Unsendable | TlsError):
        return False
    if isinstance(error, ProxyError):
        return error.status != PROXY_WANTS_SIGN_IN
    return isinstance(error, Unreachable | TruncatedResponse)


def is_retried_after_status(status: int, *, only_reads: bool) -> bool:
    """Return whether to repeat a request after an error status. `only_reads` is True if the request changes nothing."""
    return status in TEMPORARY_STATUSES if only_reads else status == 429


def retry_delay(attempt: int, wait: float | None, seconds_left: float, rng: Callable[[], float]) -> float | None:
    """Return the seconds until the next attempt. None if there were enough attempts, or if `wait` or the delay is too
    long. `attempt` is the number of the failed attempt. `wait` is the time that the server asks for, or None."""
    if attempt >= MAX_ATTEMPTS or (wait is not None and wait > MAX_REQUESTED_WAIT):
        return None
    longest_pause = min(MAX_PAUSE, FIRST_PAUSE * 2.0 ** (attempt - 1))
    delay = rng() * longest_pause if wait is None else wait + rng() * RETRY_SPREAD
    return delay if delay <= seconds_left else None


def requested_wait(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that the server asks the client to wait. None if the server does not ask."""
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


def background_wait(limits: RateLimit | None, now: datetime) -> float:
    """Return the seconds that background requests must wait because the rate limit is nearly used up. Otherwise 0."""
    if limits is None or limits.remaining is None or limits.reset is None:
        return 0.0
    reserved_count = max(MIN_RESERVED_REQUESTS, RESERVED_SHARE * (limits.limit or 0))
    return max(0.0, _seconds(limits.reset - now)) if limits.remaining <= reserved_count else 0.0


def read_limits(headers: Mapping[str, str], now: datetime) -> RateLimit | None:
    """Return the rate limit in the headers of a response. None if there is none."""
    remaining, limit = (_count(headers.get(f"x-ratelimit-{name}", "")) for name in ("remaining", "limit"))
    if remaining is None and limit is None:
        return None
    reset = _reset_time(headers)
    try:
        return RateLimit(limit, remaining, reset and now + (reset - _server_time(headers, now)))
    except OverflowError:  # the server's date is thousands of years away
        return RateLimit(limit, remaining, None)


def clock_offset(headers: Mapping[str, str], now: datetime) -> float | None:
    """Return the seconds that this machine's clock is ahead of the server's. None if `headers` have no valid date."""
    moment = _date(headers.get("date", ""))
    return None if moment is None else (now - moment).total_seconds()


def _server_time(headers: Mapping[str, str], now: datetime) -> datetime:
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
    except (ValueError, OverflowError):  # a time zone can move a date out of the calendar
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


def next_step_after(only_reads: bool) -> str:
    """Return what the user can do after a lost response. `only_reads` is True if the request changed nothing."""
    return "Try again." if only_reads else MAY_BE_DONE


def timeout_message(host: str, seconds: float, only_reads: bool) -> str:
    return f"{host} did not respond within {seconds:g} s. {next_step_after(only_reads)}"


def redirect_message(host: str, other_host: str, status: int) -> str:
    """Return the message for a redirect that is not followed. `other_host` is empty for a redirect to `host`."""
    if other_host:
        return f"{host} redirects API requests to {other_host} ({status}). Octavo does not send your API key there. Check the base URL."
    return f"{host} redirects API requests ({status}). Octavo does not follow the redirect. Check the base URL."


def refusal_message(host: str, status: int, message: str, retry_hint: str = "", *, only_reads: bool = True) -> str:
    """Return the message for an error status. `message` is from the server, or empty. `retry_hint` says after status
    429 when to try again, or is empty. `only_reads` is True if the request changed nothing."""
    server_sentence = _with_full_stop(message)
    if status == 401:
        cause = f" The server says: {server_sentence}" if server_sentence else ""
        return f"{host} did not accept your API key: it is wrong, expired, or revoked.{cause} Sign in again."
    if status == 429:
        return f"{host} received too many API requests. {retry_hint or 'Wait a moment, then try again.'}"
    if status >= 500:
        step = "Try again in a moment." if only_reads else MAY_BE_DONE
        return f"{host} reported an error ({status}){': ' + server_sentence if server_sentence else '.'} {step}"
    if server_sentence:
        return server_sentence
    sentence = _WITHOUT_MESSAGE.get(status, "{host} refused the API request ({status}) and gave no reason.")
    return sentence.format(host=host, status=status)


def retry_sentence(retry_at: datetime, now: datetime) -> str:
    """Return a sentence such as `Try again at 14:05:00.` The sentence names the day unless `retry_at` is today."""
    local_time = localize(retry_at)
    days = (local_time.date() - localize(now).date()).days
    day = "" if not days else "tomorrow " if days == 1 else f"on {local_time:%Y-%m-%d} "
    return f"Try again {day}at {local_time:%H:%M:%S}."


def _with_full_stop(message: str) -> str:
    return message if not message or message[-1] in ".!?…。" else f"{message}."
