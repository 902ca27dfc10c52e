"""The embedded platform on a port of this machine, for its owner only.

Other programs of this machine can reach the port, and so can web pages through a browser. The key keeps the first
out. Against the second, requests must name this very address as their host (a page may let its own name point
here) and must not say that a page sent them. There are no CORS headers.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from octavo.server.app import Platform, error

LOOPBACK = "127.0.0.1"
AT_ONCE = 64
"""How many requests may be under way. More are told to come again, with a sentence and before their bodies are read."""
CONNECTIONS = 4 * AT_ONCE
"""How many connections may be open. More are refused in a word."""
HEADER_CAP = 16 << 10
"""The most bytes of a request line with its headers."""

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def serve(platform: Platform, port: int, announce: Callable[[str], None]) -> None:
    """Answer on `port` of 127.0.0.1 (0: any that is free) until SIGINT, SIGTERM or SIGHUP, or until cancelled.

    `announce` is called with the origin once it answers, such as http://127.0.0.1:8311. Requests under way are
    answered first. Raises OSError when the port is taken.
    """
    with socket.create_server((LOOPBACK, port), backlog=CONNECTIONS) as listener:
        # asyncio does so only for sockets that were made for TCP by name. Without it each body waits 40 ms for its head.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        origin = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        platform.world = replace(platform.world, origin=origin)
        server = _Server(_config(_Guard(platform, origin)), lambda: announce(origin))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            with _told_to_end(server.end):
                await asyncio.wait({running})
        finally:
            server.end()
            await running


class _Server(uvicorn.Server):
    """Says when it answers, and leaves signals alone: uvicorn would raise them again when all is done."""

    def __init__(self, config: uvicorn.Config, started: Callable[[], None]) -> None:
        super().__init__(config)
        self._say_started = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._say_started()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """Answer what is under way, then end. Told again, end at once."""
        self.force_exit = self.should_exit and not self.force_exit
        self.should_exit = True


@contextmanager
def _told_to_end(end: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for each in _ENDING:
        loop.add_signal_handler(each, end)
    try:
        yield
    finally:
        for each in _ENDING:
            loop.remove_signal_handler(each)


class _Guard:
    """Lets through what is addressed to this very server and was not sent by a web page."""

    def __init__(self, app: ASGIApp, origin: str) -> None:
        self._app = app
        port = origin.rpartition(":")[2]
        self._under_way = 0
        self._hosts = {f"{LOOPBACK}:{port}".encode(), f"localhost:{port}".encode()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = [name for name, _ in scope["headers"]]
        headers = dict(scope["headers"])
        if names.count(b"host") != 1 or headers[b"host"] not in self._hosts or names.count(b"authorization") > 1:
            refusal = error(421, "This request is addressed to another server.")
        elif b"origin" in headers or headers.get(b"sec-fetch-site", b"none") != b"none":
            refusal = error(403, "Web pages may not use this server.")
        elif self._under_way >= AT_ONCE:
            sentence = f"This platform answers {AT_ONCE} requests at once, and there are more. Try again in a second."
            refusal = error(503, sentence, {"retry-after": "1"})
        else:
            self._under_way += 1
            try:
                return await self._app(scope, receive, send)
            finally:
                self._under_way -= 1
        await refusal(scope, receive, send)


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        h11_max_incomplete_event_size=HEADER_CAP,
        timeout_keep_alive=15,
        timeout_graceful_shutdown=5,
    )
