"""What can go wrong with an operation. `str(error)` is a sentence fit to show.

ApiError
├── ReadOnly            nothing was sent: only reads are, as it was started
├── Unreachable         no answer came
│   ├── NotSent         the server cannot have acted
│   ├── LocalFailure    something on this machine keeps Octavo from asking
│   ├── TlsError        its certificate was not accepted
│   ├── ProxyError      the proxy did not let us through
│   ├── TimedOut        it took too long
│   └── Lost            the connection broke; the server may have acted
├── Rejected            the server answered with an error
│   ├── Invalid         400, 422
│   ├── Unauthorized    401
│   ├── Forbidden       403
│   ├── NotFound        404
│   ├── Conflict        409, 412
│   ├── RateLimited     429
│   └── ServerError     5xx
├── BadResponse         an answer that cannot be read: too large, truncated, not JSON, not as documented
└── PaginationError     a list that does not end, or repeats itself
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from octavo.api.safety import line
from octavo.api.text import Moment

MAY_BE_DONE = "The change may have been made. Check the current state before you try again."
"""End of the message of a write whose outcome is unknown."""


class Outcome(Enum):
    """What is known about the effect of a request that failed."""

    NOT_SENT = "not sent"
    """The server cannot have acted: safe to send again."""
    REFUSED = "refused"
    """The server answered that it did not act."""
    UNKNOWN = "unknown"
    """The server may have acted: read back before sending again."""


@dataclass(frozen=True)
class Trace:
    """Which request it was. Never holds a URL with values, a header or a key."""

    method: str = ""
    route: str = ""
    """The path with its parameter names, `/spaces/{spaceId}`."""
    status: int | None = None
    request_id: str = ""
    attempts: int = 1
    elapsed: float = 0.0
    """Seconds, all attempts and waits together."""
    retry_at: Moment | None = None
    """When the server is ready to be asked again, if it said so."""


class ApiError(Exception):
    """The operation failed. `str(error)` is a sentence; `trace` says which request; `outcome` what is known."""

    outcome = Outcome.UNKNOWN

    def __init__(self, message: str, trace: Trace | None = None) -> None:
        super().__init__(line(message))
        self.trace = trace or Trace()

    def traced(self, **changes: object) -> Self:
        """The same error with more known about its request."""
        self.trace = replace(self.trace, **changes)  # type: ignore[arg-type]  # the caller names fields of Trace
        return self

    @property
    def status(self) -> int | None:
        return self.trace.status


class ReadOnly(ApiError):
    """Nothing was sent: Octavo was started so that it only reads. To wait and try again is of no use."""

    outcome = Outcome.REFUSED


class Unreachable(ApiError):
    """No answer came."""


class NotSent(Unreachable):
    """The request never reached the server."""

    outcome = Outcome.NOT_SENT


class LocalFailure(Unreachable):
    """Something on this machine keeps Octavo from asking: the key cannot be read, a setting is wrong, the embedded
    platform cannot be opened. Not NotSent: it does not pass by itself, so every screen says why."""

    outcome = Outcome.NOT_SENT


class TlsError(Unreachable):
    """The certificate of the server was not accepted."""

    outcome = Outcome.NOT_SENT


class ProxyError(Unreachable):
    """The proxy did not let the request through."""

    outcome = Outcome.NOT_SENT


class TimedOut(Unreachable):
    """No whole answer came in time."""


class Lost(Unreachable):
    """The connection broke after the request was under way."""


class Rejected(ApiError):
    """The server answered with an error."""

    outcome = Outcome.REFUSED


class Invalid(Rejected):
    """The server does not accept a value of the request."""


class Unauthorized(Rejected):
    """The key is missing, wrong, expired or revoked."""


class Forbidden(Rejected):
    """The key is fine, but may not do this."""


class NotFound(Rejected):
    """There is nothing there, or nothing this key may see."""


class Conflict(Rejected):
    """The resource is not in a state that allows this."""


class RateLimited(Rejected):
    """Too many requests. `trace.retry_at` says when to come back, if the server said so."""


class ServerError(Rejected):
    """The server failed. It may have acted before it did."""

    outcome = Outcome.UNKNOWN


class BadResponse(ApiError):
    """The answer cannot be read."""


class PaginationError(ApiError):
    """A list does not end, or repeats itself. What was read so far stays usable."""

    outcome = Outcome.REFUSED


_BY_STATUS: dict[int, type[Rejected]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    412: Conflict,
    422: Invalid,
    429: RateLimited,
}
_UNKNOWN_STATUS = {408, 409, 425}
"""Statuses below 500 after which the server may have acted all the same (1.3)."""


def rejected(message: str, trace: Trace) -> Rejected:
    """The error for `trace.status`, which is 400 or above."""
    status = trace.status or 0
    kind = ServerError if status >= 500 else _BY_STATUS.get(status, Rejected)
    error = kind(message, trace)
    if status in _UNKNOWN_STATUS:
        error.outcome = Outcome.UNKNOWN
    return error
