"""The interface through which operations are sent."""

from __future__ import annotations

from typing import Protocol, TypeVar

from octavo.api.operation import Operation

T = TypeVar("T")


class Send(Protocol):
    """Send one operation and return its response. Raises ApiError. The client is one such function."""

    async def __call__(self, op: Operation[T]) -> T: ...
