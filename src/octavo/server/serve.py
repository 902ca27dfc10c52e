"""The embedded platform on a port of this machine, for its owner only.

Other programs of this machine can reach the port, and so can web pages through a browser. The key keeps the first
out. Against the second, requests must name this very address as their host (a page may let its own name point
here) and must not say that a page sent them. There are no CORS headers.

A program without a key cannot keep others out either: each head, body and answer has a time in which it must arrive,
and a connection that is waited for gives way to a new one when there are too many.
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
"""How many requests may be under way. More are told to come again, with a sentence and before their bodies are read."""
CONNECTION_LIMIT = 4 * REQUEST_LIMIT
"""How many connections may be open. Beyond, those whose client is waited for are closed, the oldest first."""
HEADER_CAP = 16 << 10
"""The most bytes of a request line with its headers."""

HEAD_SECONDS = 10.0
"""How long a head may take, from its first byte or from the beginning of the connection."""
BODY_SECONDS = 30.0
"""How long a body may take, once it is read."""
ANSWER_SECONDS = 30.0
"""How long a client may take none of an answer, or may keep a connection that is being closed."""
IDLE_SECONDS = 15
"""How long a connection may wait for another request."""

_STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def serve(platform: Platform, port: int, announce: Callable[[str], None]) -> None:
    """Answer on `port` of 127.0.0.1 (0: any that is free) until SIGINT, SIGTERM or SIGHUP, or until cancelled.

    `announce` is called with the origin once it answers, such as http://127.0.0.1:8311. Requests under way are
    answered first. Raises OSError when the port is taken.
    """
    with socket.create_server((LOOPBACK, port), backlog=CONNECTION_LIMIT) as listener:
        # asyncio does so only for sockets that were made for TCP by name. Without it each body waits 40 ms for its head.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        origin = f"http://{LOOPBACK}:{listener.getsockname()[1]}"
        platform.world = replace(platform.world, origin=origin)
        server = _Server(_config(_OriginGuard(platform, origin)), lambda: announce(origin))
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            with _stop_on_signals(server.end):
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
def _stop_on_signals(end: Callable[[], None]) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    for each in _STOP_SIGNALS:
        loop.add_signal_handler(each, end)
    try:
        yield
    finally:
        for each in _STOP_SIGNALS:
            loop.remove_signal_handler(each)


class _OriginGuard:
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
            refusal = error_response(421, "This request is addressed to another server.")
        elif b"origin" in headers or headers.get(b"sec-fetch-site", b"none") != b"none":
            refusal = error_response(403, "Web pages are not allowed to use this server.")
        elif self._under_way >= REQUEST_LIMIT:
            sentence = f"This server handles at most {REQUEST_LIMIT} requests at once."
            refusal = error_response(503, sentence, {"retry-after": "1"})
        else:
            return await self._answer(scope, receive, send)
        await refusal(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._under_way += 1
        counts = True

        async def passed_on(message: Message) -> None:
            nonlocal counts
            if counts and message["type"] == "http.response.body" and not message.get("more_body"):
                # All is answered. How fast the client takes it must not keep others out.
                counts = False
                self._under_way -= 1
            await send(message)

        try:
            await self._app(scope, receive, passed_on)
        finally:
            self._under_way -= counts


Phase = Literal["head", "body", "answer", "end", "idle", "handled"]


class _Connection(H11Protocol):
    """A connection whose client has so long for each head and body, and for taking each answer."""

    _phase: Phase = "handled"
    _since = 0.0
    """When the phase began, by the clock of the loop."""
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._watch()
        if len(self.connections) >= CONNECTION_LIMIT:
            # uvicorn's set holds protocols of this class only: its configuration names no other.
            others: list[Any] = [each for each in self.connections if each is not self]
            waited_for = [each for each in others if each.is_waited_for]
            if waited_for:
                min(waited_for, key=lambda each: each.since).give_way()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unset_keepalive_if_required()
        if self._limit is not None:
            self._limit.cancel()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._watch()

    def timeout_keep_alive_handler(self) -> None:
        """Close the connection, also when the client leaves the last answer unread."""
        self.give_way()

    @property
    def is_waited_for(self) -> bool:
        """Whether nothing happens here until the client does something."""
        return self._phase in ("head", "answer", "end", "idle") or (
            self._phase == "body" and self.cycle.response_complete
        )

    @property
    def since(self) -> float:
        """When the client was waited for first, by the clock of the loop."""
        return self._since

    def give_way(self) -> None:
        """Close the connection at once."""
        self.transport.abort()

    def _watch(self) -> None:
        """Begin to wait if something else is waited for than before."""
        phase = self._now()
        if phase == self._phase:
            return
        if self._limit is not None:
            self._limit.cancel()
        self._phase, self._since = phase, self.loop.time()
        seconds = {"head": HEAD_SECONDS, "body": BODY_SECONDS, "answer": ANSWER_SECONDS, "end": ANSWER_SECONDS}.get(
            phase
        )
        self._limit = None if seconds is None else self.loop.call_later(seconds, self._overdue, seconds)

    def _now(self) -> Phase:
        if self.transport.is_closing():
            return "end"
        if self.flow.write_paused:
            return "answer"
        if self.conn.their_state is h11.SEND_BODY:
            return "body"
        if self.cycle is None or self.cycle.response_complete:  # type: ignore[redundant-expr]  # None before the first
            return "idle" if self.timeout_keep_alive_task is not None else "head"
        return "handled"

    def _overdue(self, seconds: float) -> None:
        answered = self._phase in ("answer", "end") or (
            self.cycle is not None  # type: ignore[redundant-expr]  # None before the first request
            and self.cycle.response_started
        )
        if self._phase == "body" and not answered and self.flow.read_paused:
            # It is not the client who is late: what it sent was not read yet.
            self._limit = self.loop.call_later(seconds, self._overdue, seconds)
            return
        came = self.conn.their_state is not h11.IDLE or self.conn.trailing_data[0]
        if came and (not answered or self._phase == "head"):
            sentence = f"The {self._phase} of the request did not arrive within {seconds:g} s."
            content = json.dumps({"error": {"code": 408, "message": sentence}}).encode()
            head = f"HTTP/1.1 408 Request Timeout\r\ncontent-type: application/json\r\ncontent-length: {len(content)}"
            self.transport.write(f"{head}\r\nconnection: close\r\n\r\n".encode() + content)
            self.transport.close()
            self._watch()
        else:
            self.give_way()


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
        h11_max_incomplete_event_size=HEADER_CAP,
        timeout_keep_alive=IDLE_SECONDS,
        timeout_graceful_shutdown=5,
    )
