"""What is known of the way to the server: whether anything would get through, and when to try again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from octavo.api.errors import ApiError, Outcome, RateLimited, Unauthorized

LONGEST_WAIT = 60.0
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class Connection:
    """Waits longer after each request that failed, and not at all once one got through."""

    def __init__(self, now: Callable[[], datetime], jitter: Callable[[], float]) -> None:
        self.paused = ""
        """Why nothing is sent until `resume`. A sentence; empty when all is well."""
        self.quiet_until = _LONG_AGO
        self._now = now
        self._jitter = jitter
        self._misses = 0
        self._limited = False

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is sent just now, because nothing would get through."""
        return bool(self.paused) or self._now() < self.quiet_until

    def failed(self, error: ApiError) -> datetime:
        """When to try again. Where nothing would get through, nothing is tried at all before that time is over."""
        now = self._now()
        if isinstance(error, Unauthorized):
            self.paused = f"{error} What you wrote waits until you sign in again."
            return now
        self._misses += 1
        until = now + timedelta(seconds=0.5 + self._jitter() * min(LONGEST_WAIT, 2.0**self._misses))
        if error.trace.retry_at is not None:
            until = max(until, error.trace.retry_at)
        if _concerns_all(error):
            self.quiet_until, self._limited = until, isinstance(error, RateLimited)
            return now
        return until

    def reached(self) -> None:
        """The server answered."""
        self._misses, self._limited = 0, False

    def online(self) -> bool:
        """The server answers somebody again. Whether anything waited for that."""
        waited = bool(self._misses) and not self._limited
        if waited:
            self._misses, self.quiet_until = 0, _LONG_AGO
        return waited


def _concerns_all(error: ApiError) -> bool:
    """Whether no other request would get through either."""
    return error.outcome is Outcome.NOT_SENT or isinstance(error, RateLimited)
