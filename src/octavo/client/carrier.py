"""The interface of a carrier. A carrier sends requests for the client, over HTTP or to an application in this
process."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Outgoing:
    """A request without the token. The carrier adds the token, because it knows the origin that the token belongs
    to."""

    method: str
    target: str
    """Path and query of the URL. Never a full URL."""
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | AsyncIterable[bytes] | None = None
    """Request body. If it is an iterable, it can be sent only once, and its length is in the headers."""


@dataclass(frozen=True)
class Answer:
    """A response whose body is read as a stream."""

    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name. Repeated headers are joined by a comma."""
    chunks: AsyncIterator[bytes]
    """The body as sent, not decompressed."""


class Carrier(Protocol):
    def send(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Answer]:
        """Send the request once. Redirects are not followed, and nothing is retried. Raises ApiError, also while the
        chunks are read."""

    async def aclose(self) -> None:
        """Close the connections."""


@runtime_checkable
class Transport(Protocol):
    """A transport of httpx, which a caller may pass to the client."""

    def handle_async_request(self, request: Any) -> Any: ...
