"""The interface between the client and a transport, and the transport to an ASGI application in the same process. Also
has requests whose responses are returned as JSON instead of as a model."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlencode

from pydantic import SecretStr

from octavo.api.errors import MAY_BE_DONE, Lost
from octavo.client.origin import triple
from octavo.client.policy import Unsendable


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


@dataclass(frozen=True)
class RawRequest:
    """A request whose response is returned as JSON. It is made from an operation, or from a method and a path."""

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


Message = MutableMapping[str, Any]
Application = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]
"""An ASGI application."""


class InProcessCarrier:
    """Sends requests to `application`. An error raised inside the application is a bug, and is raised unchanged."""

    def __init__(self, origin: str, key: SecretStr | None, application: Application) -> None:
        self._scheme, self._host, self._port = triple(origin)
        self._key = key
        self._application = application

    @asynccontextmanager
    async def send(self, outgoing: Outgoing) -> AsyncIterator[Answer]:
        """Send the request. Raises Lost if the application ends without a response."""
        if not outgoing.target.startswith("/") or outgoing.target.startswith("//"):
            raise Unsendable(f"This is not a valid path on {self._host}. Nothing was sent.")
        status = 0
        headers: dict[str, str] = {}
        parts: list[bytes] = []

        asked, ended = False, asyncio.Event()
        content = outgoing.content
        coming = _iterate([content or b""]) if isinstance(content, bytes | None) else aiter(content)

        async def receive() -> Message:
            nonlocal asked
            if asked:
                await ended.wait()
                return {"type": "http.disconnect"}
            part = await anext(coming, None)
            asked = part is None
            return {"type": "http.request", "body": part or b"", "more_body": not asked}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                for raw_name, raw_value in message.get("headers", ()):
                    name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
                    headers[name] = f"{headers[name]}, {value}" if name in headers else value
            elif message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if not message.get("more_body", False):
                    ended.set()

        await self._application(self._scope(outgoing), receive, send)
        if not status:
            raise Lost(f"{self._host} did not respond. {MAY_BE_DONE}")
        yield Answer(status, headers, _iterate(parts))

    async def aclose(self) -> None:
        """Do nothing, because there are no connections."""

    def _scope(self, outgoing: Outgoing) -> Message:
        path, _, query = outgoing.target.partition("?")
        sent = {"host": f"{self._host}:{self._port}", **outgoing.headers}
        if isinstance(outgoing.content, bytes):
            sent["content-length"] = str(len(outgoing.content))
        if self._key is not None:
            sent["authorization"] = f"Bearer {self._key.get_secret_value()}"
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": outgoing.method,
            "scheme": self._scheme,
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in sent.items()],
            "client": ("127.0.0.1", 0),
            "server": (self._host, self._port),
        }


async def _iterate(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part
