"""Work that must not hold others up: done in a thread of its own, away from the store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Errand(Generic[T]):
    """What a handler returns that waits for something slow: a fetch, or reading a large text.

    `work` touches nothing of the platform. `then` gets what it returned, in the thread of the handlers and in one
    transaction; its value is the answer. Raises Refused as handlers do. With `answered` that is the answer, given at
    once, and what `then` returns is dropped.
    """

    work: Callable[[], T]
    then: Callable[[T], Any]
    answered: Any = None
    is_large: bool = False
    """Whether `work` may unpack much: such errands are run one after the other."""
