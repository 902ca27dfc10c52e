"""What stands between the client and a way of sending requests: over a connection, or within the process."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Outgoing:
    """A request without its key: only a carrier knows the origin and the key that belongs to it."""

    method: str
    target: str
    """Path and query. Always a path of the origin, never an address."""
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | AsyncIterable[bytes] | None = None
    """What is sent as it is read says in its headers how long it is, and can be sent once."""


@dataclass(frozen=True)
class Answer:
    """The head of an answer, and its body as it comes."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name; those that came more than once are joined by a comma."""
    chunks: AsyncIterator[bytes]
    """As they were sent, not decompressed."""


class Carrier(Protocol):
    def send(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Answer]:
        """Send once, no redirect, no retry. Raises ApiError, also while the chunks are read."""

    async def aclose(self) -> None:
        """Let go of the connections."""


@runtime_checkable
class Transport(Protocol):
    """A transport of the HTTP library, for those who have one."""

    def handle_async_request(self, request: Any) -> Any: ...
