"""Passes the urgency of requests from the caller to the client, in a context variable."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IsWaitedFor = Callable[[], bool]
"""A function that returns whether a caller waits for the response. Its result can change while the request is
queued."""


def _always() -> bool:
    return True


_waited_for: ContextVar[IsWaitedFor] = ContextVar("is_waited_for", default=_always)


@contextmanager
def with_urgency(is_waited_for: IsWaitedFor) -> Iterator[None]:
    """Use `is_waited_for` for requests that are sent inside the `with` block. Other requests count as waited for."""
    token = _waited_for.set(is_waited_for)
    try:
        yield
    finally:
        _waited_for.reset(token)


def current_urgency() -> IsWaitedFor:
    """Return the function that says whether a caller waits for a request that is sent now."""
    return _waited_for.get()
