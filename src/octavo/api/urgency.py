"""The urgency of requests, passed in a context variable from the caller to the client."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IsWaitedFor = Callable[[], bool]
"""Returns whether a caller waits for the response. The result can change while the request is queued."""


def _always() -> bool:
    return True


_waited_for: ContextVar[IsWaitedFor] = ContextVar("is_waited_for", default=_always)


@contextmanager
def with_urgency(is_waited_for: IsWaitedFor) -> Iterator[None]:
    """Apply `is_waited_for` to requests sent in this context. Other requests always count as awaited."""
    token = _waited_for.set(is_waited_for)
    try:
        yield
    finally:
        _waited_for.reset(token)


def current_urgency() -> IsWaitedFor:
    """Return the function that tells whether a caller waits for requests sent now."""
    return _waited_for.get()
