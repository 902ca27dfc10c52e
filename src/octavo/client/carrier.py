"""The interface between the client and a transport, which sends requests over a connection or within the process."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Outgoing:
    """A request without its token. A carrier adds the token, because it knows to which origin the token belongs."""

    method: str
    target: str
    """Path and query. Never a full URL."""
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | AsyncIterable[bytes] | None = None
    """Request body. An iterable can be sent only once, and its length is in the headers."""


@dataclass(frozen=True)
class Answer:
    """The head of a response, with its body as a stream."""

    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name. Repeated headers are joined by a comma."""
    chunks: AsyncIterator[bytes]
    """The body as sent, not decompressed."""


class Carrier(Protocol):
    def send(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Answer]:
        """Send the request once, without redirects and retries. Raises ApiError, also while the chunks are read."""

    async def aclose(self) -> None:
        """Close the connections."""


@runtime_checkable
class Transport(Protocol):
    """A transport of the HTTP library, which a caller may pass to the client."""

    def handle_async_request(self, request: Any) -> Any: ...
