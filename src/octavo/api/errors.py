"""Errors of operations. `str(error)` is a sentence for the user.

ApiError
├── ReadOnly            nothing was sent, because Octavo is read-only
├── Unreachable         no response
│   ├── NotSent         the server cannot have received the request
│   ├── LocalFailure    a problem on this computer prevents the request
│   ├── TlsError        the certificate of the server was rejected
│   ├── ProxyError      the proxy rejected the request
│   ├── TimedOut        no complete response in time
│   └── Lost            the connection broke; the server may have acted
├── Rejected            the server responded with an error
│   ├── Invalid         400, 422
│   ├── Unauthorized    401
│   ├── Forbidden       403
│   ├── NotFound        404
│   ├── Conflict        409, 412
│   ├── RateLimited     429
│   └── ServerError     5xx
├── BadResponse         an unreadable response: too large, truncated, not JSON, or of a wrong type
└── PaginationError     a list that never ends or repeats itself
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Self

from octavo.api.safety import safe_line
from octavo.api.text import Moment

MAY_BE_DONE = "The change may have been made. Check the current state before you try again."
"""Last sentences of the error message if the outcome of a write is unknown."""


class Outcome(Enum):
    """The effect of a failed request on the server, as far as it is known."""

    NOT_SENT = "not sent"
    """The server cannot have acted. The request can be sent again."""
    REFUSED = "refused"
    """The server, or Octavo itself, refused to act."""
    UNKNOWN = "unknown"
    """The server may have acted. Check the current state before you send the request again."""


@dataclass(frozen=True)
class Trace:
    """The request that failed, for error messages and the log. Contains no URL with values, no headers and no token."""

    method: str = ""
    route: str = ""
    """The path with parameter names, such as `/spaces/{spaceId}`."""
    status: int | None = None
    request_id: str = ""
    attempts: int = 1
    elapsed: float = 0.0
    """Seconds from the first attempt to the error, including waits."""
    retry_at: Moment | None = None
    """Time from which the server accepts the next request. None if the server did not send it."""
    only_reads: bool = True
    """False if the request may change something on the server."""


class ApiError(Exception):
    """An operation failed. `trace` identifies the request, and `outcome` says whether it may have had an effect."""

    outcome = Outcome.UNKNOWN

    def __init__(self, message: str, trace: Trace | None = None) -> None:
        super().__init__(safe_line(message))
        self.trace = trace or Trace()

    def with_trace(self, **changes: object) -> Self:
        """Change fields of `trace`, and return the error."""
        self.trace = replace(self.trace, **changes)  # type: ignore[arg-type]  # the caller names fields of Trace
        return self

    @property
    def status(self) -> int | None:
        return self.trace.status


class ReadOnly(ApiError):
    """Nothing was sent, because Octavo is read-only. Retrying does not help."""

    outcome = Outcome.REFUSED


class Unreachable(ApiError):
    """There was no response."""


class NotSent(Unreachable):
    """The request never reached the server."""

    outcome = Outcome.NOT_SENT


class LocalFailure(Unreachable):
    """A problem on this computer prevents the request, for example a wrong setting or an unreadable token."""

    outcome = Outcome.NOT_SENT


class TlsError(Unreachable):
    """The certificate of the server was rejected."""

    outcome = Outcome.NOT_SENT


class ProxyError(Unreachable):
    """The proxy rejected the request."""

    outcome = Outcome.NOT_SENT


class TimedOut(Unreachable):
    """There was no complete response in time."""


class Lost(Unreachable):
    """The connection broke after the request was sent."""


class Rejected(ApiError):
    """The server responded with an error."""

    outcome = Outcome.REFUSED


class Invalid(Rejected):
    """The server rejected a value of the request, or Octavo rejected it before sending."""


class Unauthorized(Rejected):
    """The token is missing, unknown, expired or revoked."""


class Forbidden(Rejected):
    """The token is valid, but lacks the permission."""


class NotFound(Rejected):
    """The resource does not exist, or the token cannot see it."""


class Conflict(Rejected):
    """The state of the resource does not allow the operation."""


class RateLimited(Rejected):
    """Too many requests. `trace.retry_at` is the time of the next attempt, if the server sent one."""


class ServerError(Rejected):
    """The server failed. It may have acted before that."""

    outcome = Outcome.UNKNOWN


class BadResponse(ApiError):
    """The response is unreadable."""


class PaginationError(ApiError):
    """A list does not end, or a page comes twice. The items read before are valid."""

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
_STATUSES_WITH_UNKNOWN_OUTCOME = {408, 409, 425}
"""HTTP statuses below 500 after which the server may still have made the change."""


def rejected(message: str, trace: Trace) -> Rejected:
    """Return an error of the class that belongs to `trace.status`. The status must be 400 or above."""
    status = trace.status or 0
    kind = ServerError if status >= 500 else _BY_STATUS.get(status, Rejected)
    error = kind(message, trace)
    if status in _STATUSES_WITH_UNKNOWN_OUTCOME:
        error.outcome = Outcome.UNKNOWN
    return error
