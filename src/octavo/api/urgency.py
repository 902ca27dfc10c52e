"""Whether anybody waits for the answer to a request: said by who asks, heard by who sends, through all that is between."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

IsWaitedFor = Callable[[], bool]
"""Whether somebody waits by now. It may become so while the request waits for its turn."""


def _always() -> bool:
    return True


_waited_for: ContextVar[IsWaitedFor] = ContextVar("is_waited_for", default=_always)


@contextmanager
def asked_for(is_waited_for: IsWaitedFor) -> Iterator[None]:
    """What is sent in here is as urgent as this says, each time it is looked at. All else is waited for."""
    token = _waited_for.set(is_waited_for)
    try:
        yield
    finally:
        _waited_for.reset(token)


def urgency() -> IsWaitedFor:
    """How urgent that is which is sent now."""
    return _waited_for.get()
