"""Servers on a real port that respond with faults, or that change the responses of the platform."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tests.server.refusing_platform import Platform


@dataclass(frozen=True)
class Fault:
    """A fault: the status and the body of a response. With status 0, there is no response. Without a body, the
    response is an error with a message."""

    status: int = 0
    body: bytes | None = None
    headers: tuple[tuple[str, str], ...] = ()
    delay: float = 0.0
    """Delay in seconds, after which the platform responds normally."""
    method: str = ""
    """Method of the requests that get the fault. If empty, all requests get the fault."""
    writes_anyway: bool = False
    """Whether the platform handles the request, so that only its response is lost."""

    async def answer(self, send: Send) -> None:
        if not self.status:
            await asyncio.Event().wait()
        error = {"error": {"code": self.status, "message": "The harbour master says no."}}
        body = json.dumps(error).encode() if self.body is None else self.body
        headers = [("content-type", "application/json"), *self.headers]
        lines = [(name.encode(), value.encode()) for name, value in headers]
        await send({"type": "http.response.start", "status": self.status, "headers": lines})
        await send({"type": "http.response.body", "body": body})


@dataclass
class FaultyServer:
    """An ASGI application in front of the platform. While `fault` is None, the platform responds normally."""

    platform: ASGIApp
    fault: Fault | None = None
    faulted_requests: list[str] = field(default_factory=list)
    """Methods and paths of the requests that got a fault."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        fault = self.fault
        if fault is not None and fault.method in ("", scope["method"]):
            self.faulted_requests.append(f"{scope['method']} {scope['path']}")
            if fault.writes_anyway:
                await self.platform(scope, receive, _discard)
                return await fault.answer(send)
            if not fault.delay:
                await _read_request(receive)
                return await fault.answer(send)
            await asyncio.sleep(fault.delay)
        await self.platform(scope, receive, send)


@dataclass
class Altered:
    """An ASGI application in front of the platform that changes the responses of paths that match `where`."""

    platform: Platform
    where: str
    change: Callable[[Any], None]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not re.fullmatch(self.where, scope["path"]):
            return await self.platform(scope, receive, send)
        answer: list[Message] = []

        async def keep(message: Message) -> None:
            answer.append(message)

        await self.platform(scope, receive, keep)
        start, body = answer[0], json.loads(b"".join(each.get("body", b"") for each in answer[1:]))
        self.change(body)
        headers = [each for each in start["headers"] if each[0].lower() != b"content-length"]
        await send({**start, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(body).encode()})


async def _discard(message: Message) -> None:
    """Discard the messages of the response."""


async def _read_request(receive: Receive) -> None:
    """Read the complete request, so that the connection does not close while the client sends."""
    message: Message = {"more_body": True}
    while message.get("more_body"):
        message = await receive()


@asynccontextmanager
async def serving(application: ASGIApp) -> AsyncIterator[str]:
    """Serve an application on a free port, and yield its origin."""
    config = uvicorn.Config(
        application, http="h11", ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = asyncio.create_task(server._serve(sockets=[listener]))
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:  # Stop the server after a failed test too, because open connections would hide the error.
            server.should_exit = server.force_exit = True
            await running


def altered(where: str, change: Callable[[Any], None]) -> Callable[[Platform], AbstractAsyncContextManager[str]]:
    """Return an `over` argument for `Stage.play` that changes the responses of the platform."""
    return lambda platform: serving(Altered(platform, where, change))
