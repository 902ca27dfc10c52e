"""A TCP proxy that applies a fault, a `Toxic`, to each connection."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, Self

Kind = Literal[
    "ok",
    "refuse",  # reset before a byte is read
    "hang_up",  # close at once
    "lose_request",  # nothing reaches the server
    "lose_response",  # the server handles the request, and the connection is reset instead of a response
    "cut_up",  # only `after` bytes of the request reach the server
    "cut_down",  # only `after` bytes of the response arrive, then the connection is closed
    "late",  # everything arrives after `seconds`
    "drip",  # the response arrives byte by byte, `seconds` apart
    "hole_up",  # the request is dropped, and the connection stays open
    "hole_down",  # the response is dropped, and the connection stays open
    "flip",  # one bit of the response is wrong, in byte `after`
    "hold",  # The connection is reset immediately; the request still reaches the server after `seconds`
]
TOXICS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]  # a Literal has its arguments


@dataclass(frozen=True)
class Toxic:
    kind: Kind = "ok"
    after: int = 0
    seconds: float = 0.0


class FaultProxy:
    """A proxy on `proxy.port`: `async with FaultProxy(host, port, script) as proxy`.

    Connections get the faults in `script` in order, then those of `otherwise()`. `log` has the kinds of the faults.
    """

    def __init__(
        self,
        host: str,
        port: int,
        script: Iterable[Toxic] = (),
        otherwise: Callable[[], Toxic] = Toxic,
    ) -> None:
        self.log: list[Kind] = []
        self.port = 0
        self._upstream = (host, port)
        self._script = list(script)
        self._otherwise = otherwise
        self._more = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._holding: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._server.close()
        tasks = (*self._tasks, *self._holding)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        toxic = self._script.pop(0) if self._script else self._otherwise()
        self.log.append(toxic.kind)
        self._more.set()
        self._more = asyncio.Event()
        task = asyncio.get_running_loop().create_task(self._carry(toxic, reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.close())  # A task that is canceled before it starts runs no `finally`.

    async def _carry(self, toxic: Toxic, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream: asyncio.StreamWriter | None = None
        try:
            if toxic.kind == "refuse":
                return _reset(writer)
            if toxic.kind == "hang_up":
                return
            if toxic.kind == "late":
                await asyncio.sleep(toxic.seconds)
            if toxic.kind == "hold":
                return await self._hold(toxic, reader, writer)
            if toxic.kind == "hole_up":
                await asyncio.Event().wait()
            from_server, upstream = await asyncio.open_connection(*self._upstream)
            up = asyncio.create_task(_up(toxic, reader, upstream))
            down = asyncio.create_task(_down(toxic, from_server, writer))
            ends = toxic.kind.startswith(("lose", "cut"))
            when = asyncio.FIRST_COMPLETED if ends else asyncio.ALL_COMPLETED
            try:
                await asyncio.wait([up, down], return_when=when)
            finally:
                up.cancel()
                down.cancel()
                await asyncio.gather(up, down, return_exceptions=True)
        except OSError:
            return
        finally:
            if upstream is not None:
                upstream.close()

    async def _hold(self, toxic: Toxic, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await _read_request(reader)
        _reset(writer)
        if request is not None:
            task = asyncio.get_running_loop().create_task(self._deliver(toxic.seconds, request))
            self._holding.add(task)
            task.add_done_callback(self._holding.discard)

    async def _deliver(self, seconds: float, request: bytes) -> None:
        await asyncio.sleep(seconds)
        from_server, upstream = await asyncio.open_connection(*self._upstream)
        try:
            upstream.write(request)
            await from_server.readline()  # The server has handled the request when it responds.
        finally:
            upstream.close()

    async def wait_for_connections(self, number: int) -> None:
        """Wait until this many connections were accepted."""
        while len(self.log) < number:
            await self._more.wait()

    async def wait_until_delivered(self) -> None:
        """Wait until no request is delayed."""
        await asyncio.gather(*self._holding)


async def _read_request(reader: asyncio.StreamReader) -> bytes | None:
    """Return a request with its body. None if it ended too early."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *([0-9]+)", head)
        return head + (await reader.readexactly(int(length[1])) if length else b"")
    except asyncio.IncompleteReadError:
        return None


async def _up(toxic: Toxic, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    passed = 0
    while data := await reader.read(65536):
        if toxic.kind == "lose_request":
            return
        if toxic.kind == "cut_up" and passed + len(data) >= toxic.after:
            writer.write(data[: toxic.after - passed])
            await writer.drain()
            return _reset(writer)
        writer.write(data)
        await writer.drain()
        passed += len(data)
    with contextlib.suppress(OSError):
        writer.write_eof()


async def _down(toxic: Toxic, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    passed = 0
    while data := await reader.read(1 if toxic.kind == "drip" else 65536):
        if toxic.kind == "lose_response":
            return _reset(writer)
        if toxic.kind == "hole_down":
            await asyncio.Event().wait()
        if toxic.kind == "cut_down" and passed + len(data) >= toxic.after:
            writer.write(data[: toxic.after - passed])
            await writer.drain()
            return
        if toxic.kind == "flip" and passed <= toxic.after < passed + len(data):
            at = toxic.after - passed
            data = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        writer.write(data)
        await writer.drain()
        passed += len(data)
        if toxic.kind == "drip":
            await asyncio.sleep(toxic.seconds)
    with contextlib.suppress(OSError):
        writer.write_eof()


def _reset(writer: asyncio.StreamWriter) -> None:
    connection = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
