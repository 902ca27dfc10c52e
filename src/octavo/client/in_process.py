"""Sends requests to an ASGI application in the same process. It needs no port, no connection and no httpx."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

from pydantic import SecretStr

from octavo.api.errors import MAY_BE_DONE, Lost
from octavo.client.carrier import Answer, Outgoing
from octavo.client.origin import triple
from octavo.client.policy import Unsendable

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
