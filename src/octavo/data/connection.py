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
        self._key_refused = False
        self._last = ""

    @property
    def why(self) -> str:
        """Why nothing is sent just now. A sentence; empty when all is well."""
        return self.paused or (self._last if self._now() < self.quiet_until else "")

    @property
    def is_limited(self) -> bool:
        """Whether nothing is sent before `quiet_until` because the server was asked too often."""
        return self._limited and self._now() < self.quiet_until

    @property
    def is_key_refused(self) -> bool:
        """Whether nothing is sent because the server does not take the key."""
        return self._key_refused and bool(self.paused)

    @property
    def is_quiet(self) -> bool:
        """Whether sending pauses, because no request would get through."""
        return bool(self.paused) or self._now() < self.quiet_until

    def failed(self, error: ApiError) -> datetime:
        """Return when to try again. If no request would get through, all requests wait until then."""
        now = self._now()
        self._misses += 1
        until = now + timedelta(seconds=0.5 + self._jitter() * min(LONGEST_WAIT, 2.0**self._misses))
        if isinstance(error, Unauthorized):
            self.paused = f"{error} Unsent changes are kept until you sign in again."
            self._key_refused, self._limited, self.quiet_until = True, False, until
            return now
        if error.trace.retry_at is not None:
            until = max(until, error.trace.retry_at)
        if _concerns_all(error):
            self._last = f"Not sent yet. {error}"
            self.quiet_until, self._limited = until, isinstance(error, RateLimited)
            return now
        return until

    def reached(self) -> None:
        """The server answered."""
        self._misses, self._limited, self._key_refused = 0, False, False

    def try_again(self) -> None:
        """A person asks to, or the key was changed."""
        self.paused, self.quiet_until = "", _LONG_AGO
        self.reached()

    def online(self) -> bool:
        """The server answers somebody again. Whether anything waited for that."""
        if self._key_refused and self._now() < self.quiet_until:
            return False  # one that takes the key for reads alone is not asked with each of them
        waited = bool(self._misses) and not self._limited
        if waited:
            if self._key_refused:
                self.paused, self._key_refused = "", False
            self._misses, self.quiet_until = 0, _LONG_AGO
        return waited


def _concerns_all(error: ApiError) -> bool:
    """Whether no other request would get through either."""
    return error.outcome is Outcome.NOT_SENT or isinstance(error, RateLimited)
