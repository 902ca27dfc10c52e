"""The type of the function that sends operations."""

from __future__ import annotations

from typing import Protocol, TypeVar

from octavo.api.operation import Operation

T = TypeVar("T")


class Send(Protocol):
    """A function that sends one operation and returns its response. It raises ApiError. `Client` is such a function."""

    async def __call__(self, op: Operation[T]) -> T: ...
