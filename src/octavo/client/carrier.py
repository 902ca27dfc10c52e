"""The interface between the client and a transport, and requests whose responses are returned as JSON instead of as a model."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable
from urllib.parse import parse_qsl, urlencode


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


@dataclass(frozen=True)
class RawRequest:
    """A request to an operation or to a path."""

    sent: Outgoing
    route: str
    """Path with parameter names, for logs and errors."""
    is_read: bool
    """True if the request changes nothing. In read-only mode, other requests are not sent."""

    def for_page(self, cursor: str) -> RawRequest:
        """Return the request for another page of the same list."""
        path, _, query = self.sent.target.partition("?")
        pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "page"]
        target = f"{path}?{urlencode([*pairs, ('page', cursor)])}"
        return replace(self, sent=replace(self.sent, target=target))


@dataclass(frozen=True)
class RawResponse:
    """A successful response."""

    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    value: Any
    """The JSON value of the body. None if the body is empty."""
