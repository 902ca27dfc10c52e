"""Serves the embedded platform over HTTP, only to programs of its owner on this computer.

Other programs and web pages on this computer can reach the port. Programs need the API key. Requests of web pages are
refused: their headers name a web page, or their Host header names another server. The server sends no CORS headers.

Clients without an API key must not block other clients. So the number of connections and the time for request headers,
bodies and responses are limited.
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from octavo.server.app import Platform, error_response

LOOPBACK = "127.0.0.1"
REQUEST_LIMIT = 64
"""Maximum number of requests that are handled at the same time. Further requests get the status 503."""
CONNECTION_LIMIT = 4 * REQUEST_LIMIT
"""Maximum number of open connections. A further connection closes the connection that waits longest for its client."""
HEADER_SIZE_LIMIT = 16 << 10
"""Maximum size of the request line and the headers together, in bytes."""

HEAD_SECONDS = 10.0
"""Seconds in which request headers must arrive. For a first request, they count from the start of the connection."""
BODY_SECONDS = 30.0
"""Seconds in which the body of a request must arrive."""
RESPONSE_SECONDS = 30.0
"""Seconds in which a client must read the response. The client then has the same time to close the connection."""
IDLE_SECONDS = 15
"""Maximum number of seconds between two requests on a connection."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def serve(platform: Platform, port: int, announce: Callable[[str], None]) -> None:
    """Serve on 127.0.0.1 until a signal. `port` 0 is any free port. Pass the URL to `announce`. Raises OSError."""
    with socket.create_server((LOOPBACK, port), backlog=CONNECTION_LIMIT) as listener:
        # asyncio does not set TCP_NODELAY for this socket. Without TCP_NODELAY, each body arrives 40 ms after its headers.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        origin = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        platform.context = replace(platform.context, origin=origin)
        server = _Server(_config(_OriginGuard(platform, origin)), lambda: announce(origin))
        server_task = asyncio.create_task(server.serve(sockets=[listener]))
        loop = asyncio.get_running_loop()
        for stop_signal in _STOP_SIGNALS:
            loop.add_signal_handler(stop_signal, server.end)
        try:
            await asyncio.wait({server_task})
        finally:
            for stop_signal in _STOP_SIGNALS:
                loop.remove_signal_handler(stop_signal)
            server.end()
            await server_task


class _Server(uvicorn.Server):
    """A uvicorn server that calls `on_start` when it is ready. Unlike uvicorn, it does not repeat the stop signal."""

    def __init__(self, config: uvicorn.Config, on_start: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_start = on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_start()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    def end(self) -> None:
        """Stop the server after the running requests. A second call stops it immediately."""
        self.force_exit = self.should_exit and not self.force_exit
        self.should_exit = True


class _OriginGuard:
    """ASGI middleware that refuses requests of web pages, for other servers, or beyond `REQUEST_LIMIT` at a time."""

    def __init__(self, app: ASGIApp, origin: str) -> None:
        self._app = app
        port = origin.rpartition(":")[2]
        self._running_requests = 0
        self._hosts = {f"{LOOPBACK}:{port}".encode(), f"localhost:{port}".encode()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        names = [name for name, _ in scope["headers"]]
        headers = dict(scope["headers"])
        if names.count(b"host") != 1 or headers[b"host"] not in self._hosts or names.count(b"authorization") > 1:
            refusal = error_response(421, "This request is addressed to another server.")
        elif b"origin" in headers or headers.get(b"sec-fetch-site", b"none") != b"none":
            refusal = error_response(403, "Web pages are not allowed to use this server.")
        elif self._running_requests >= REQUEST_LIMIT:
            sentence = f"This server handles at most {REQUEST_LIMIT} requests at once."
            refusal = error_response(503, sentence, {"retry-after": "1"})
        else:
            return await self._forward(scope, receive, send)
        await refusal(scope, receive, send)

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._running_requests += 1
        is_counted = True

        async def send_and_track_end(message: Message) -> None:
            nonlocal is_counted
            if is_counted and message["type"] == "http.response.body" and not message.get("more_body"):
                # The request is no longer counted, because a client that reads slowly must not block other clients.
                is_counted = False
                self._running_requests -= 1
            await send(message)

        try:
            await self._app(scope, receive, send_and_track_end)
        finally:
            self._running_requests -= is_counted


Phase = Literal["head", "body", "response", "end", "idle", "handled"]
"""What a connection waits for: the `head` or `body` of a request (or of the next request: `idle`), the handler
(`handled`), or the client, which must read the `response` or close the connection (`end`)."""


class _Connection(H11Protocol):
    _phase: Phase = "handled"
    phase_start = 0.0
    """Time at which the current phase began, by the clock of the event loop."""
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._restart_timer()
        if len(self.connections) >= CONNECTION_LIMIT:
            # The configuration of uvicorn names only this class, so all connections have this type.
            others: list[Any] = [connection for connection in self.connections if connection is not self]
            waiting_connections = [other for other in others if other.waits_for_client]
            if waiting_connections:
                min(waiting_connections, key=lambda each: each.phase_start).close_now()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._restart_timer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._restart_timer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._restart_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._restart_timer()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection between two requests, even if the client has not read the last response."""
        self.close_now()

    @property
    def waits_for_client(self) -> bool:
        return self._phase in ("head", "response", "end", "idle") or (
            self._phase == "body" and self.cycle.response_complete
        )

    def close_now(self) -> None:
        """Close the connection without sending the rest of a response."""
        self.transport.abort()

    def _restart_timer(self) -> None:
        """Restart the timer if the phase of the connection has changed."""
        phase = self._current_phase()
        if phase == self._phase:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._phase, self.phase_start = phase, self.loop.time()
        seconds = {
            "head": HEAD_SECONDS,
            "body": BODY_SECONDS,
            "response": RESPONSE_SECONDS,
            "end": RESPONSE_SECONDS,
        }.get(phase)
        self._timer = None if seconds is None else self.loop.call_later(seconds, self._close_if_late, seconds)

    def _current_phase(self) -> Phase:
        if self.transport.is_closing():
            return "end"
        if self.flow.write_paused:
            return "response"
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        if self.cycle is None or self.cycle.response_complete:  # type: ignore[redundant-expr]  # None before the first
            return "idle" if self.timeout_keep_alive_task is not None else "head"
        return "handled"

    def _close_if_late(self, seconds: float) -> None:
        has_responded = self._phase in ("response", "end") or (
            self.cycle is not None  # type: ignore[redundant-expr]  # None before the first request
            and self.cycle.response_started
        )
        if self._phase == "body" and not has_responded and self.flow.read_paused:
            # This server has stopped reading, so the client is not late, and the timer starts again.
            self._timer = self.loop.call_later(seconds, self._close_if_late, seconds)
            return
        has_data = self.conn.their_state is not h11.IDLE or self.conn.trailing_data[0]
        if has_data and (not has_responded or self._phase == "head"):
            sentence = f"The {self._phase} of the request did not arrive within {seconds:g} s."
            content = json.dumps({"error": {"code": 408, "message": sentence}}).encode()
            head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
            self.transport.write(f"{head}\r\nconnection: close\r\n\r\n".encode() + content)
            self.transport.close()
            self._restart_timer()
        else:
            self.close_now()


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTION_LIMIT,
        h11_max_incomplete_event_size=HEADER_SIZE_LIMIT,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=5,
    )
