"""The requests of a client: whether a caller waits for a request, and a record of the requests that were sent."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime

KEY = "key"
"""The `method` of an `Activity` for a slow or failed attempt to read the access token, without a request."""


@dataclass(frozen=True)
class Activity:
    """One request with all its attempts. Contains no parameter values, no headers and no token."""

    moment: datetime
    """When the request ended."""
    method: str
    route: str
    """The path with parameter names, such as `/v1/spaces/{spaceId}`."""
    status: int | None
    """The status of the last response. None if there was no response."""
    ms: float
    attempts: int
    request_id: str
    error: str
    """The error message. Empty if the request succeeded."""
    size: int
    """Size of the body of the last response in bytes, decompressed."""
    given_up: bool = False
    """Whether the request was canceled because no caller waited for it. Then it says nothing about the server."""


IsWaitedFor = Callable[[], bool]
"""A function that returns whether a caller waits for the response. Its result can change while the request is
queued."""


def _always() -> bool:
    return True


_is_waited_for: ContextVar[IsWaitedFor] = ContextVar("is_waited_for", default=_always)


@contextmanager
def with_urgency(is_waited_for: IsWaitedFor) -> Iterator[None]:
    """Use `is_waited_for` for requests that are sent inside the `with` block. Other requests count as waited for."""
    token = _is_waited_for.set(is_waited_for)
    try:
        yield
    finally:
        _is_waited_for.reset(token)


def current_urgency() -> IsWaitedFor:
    """Return the `IsWaitedFor` function of the innermost `with_urgency`. Outside of any, it always returns True."""
    return _is_waited_for.get()
