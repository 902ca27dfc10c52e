"""How operations reach the interface."""

from __future__ import annotations

from typing import Protocol, TypeVar

from octavo.api.operation import Operation

T = TypeVar("T")


class Send(Protocol):
    """Sends one operation and returns its answer, or raises ApiError. The client is one."""

    async def __call__(self, op: Operation[T]) -> T: ...
