"""Canceled requests leave no connection open. The tests cancel at each turn of the event loop, once or twice."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from octavo.api.errors import LocalFailure, Lost
from octavo.client.http import HttpTransport
from octavo.client.responses import OutgoingRequest
from tests.client.http_server import HttpServer, ReceivedRequest, reply

ASK = OutgoingRequest("GET", "/v1/user")
MAX_REQUESTS = 8
"""Most connections of a transport."""
TURNS = range(24)
"""Turns of the event loop. A request with a new connection takes fewer turns."""
AGAIN = (0, 1, 2)
"""Turns until the second cancellation; 0 for a single cancellation."""


@pytest.fixture(autouse=True)
def no_resource_warnings() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in said if issubclass(each.category, ResourceWarning)] == []


async def run_loop(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def send(transport: HttpTransport) -> bytes:
    async with transport.send(ASK) as answer:
        return b"".join([chunk async for chunk in answer.chunks])


async def cancel(task: asyncio.Task[bytes], again: int) -> None:
    task.cancel()
    if again:
        await run_loop(again)
        task.cancel()
    with suppress(asyncio.CancelledError, LocalFailure):
        await task


async def wait_until_closed(server: HttpServer) -> None:
    async with asyncio.timeout(60):
        while server.open:
            await run_loop(1)


async def slow_body() -> AsyncIterator[bytes]:
    """Yield a response whose body arrives in parts, so that the reader must wait."""
    yield b"HTTP/1.1 200 X\r\ncontent-length: 4\r\n\r\n"
    for _ in range(4):
        await run_loop(2)
        yield b"x"


def answer_whole(request: ReceivedRequest) -> bytes:
    return reply(200, {"id": "mia"})


def answer_in_parts(request: ReceivedRequest) -> AsyncIterator[bytes]:
    return slow_body()


@pytest.mark.parametrize("answer", [answer_whole, answer_in_parts])
@pytest.mark.parametrize("again", AGAIN)
async def test_canceled_request_frees_its_connection(again: int, answer) -> None:  # type: ignore[no-untyped-def]  # the two functions have different types
    async with HttpServer(answer) as server:
        transport = HttpTransport(server.origin, None)
        for turns in TURNS:
            task = asyncio.create_task(send(transport))
            await run_loop(turns)
            await cancel(task, again)
        assert len(await asyncio.gather(*(send(transport) for _ in range(MAX_REQUESTS)))) == MAX_REQUESTS
        await transport.aclose()
        await wait_until_closed(server)


@pytest.mark.parametrize("again", AGAIN)
async def test_dead_connections_are_closed_if_the_request_is_canceled(
    again: int,
) -> None:
    for turns in range(12):
        async with HttpServer(answer_whole) as server:
            transport = HttpTransport(server.origin, None)
            await asyncio.gather(*(send(transport) for _ in range(4)))
        await run_loop(3)
        task = asyncio.create_task(send(transport))
        await run_loop(turns)
        await cancel(task, again)
        await transport.aclose()


@pytest.mark.parametrize("again", AGAIN)
async def test_canceled_waiting_requests_take_no_connection(again: int) -> None:
    async with HttpServer(answer_in_parts) as server:
        transport = HttpTransport(server.origin, None)
        for turns in range(0, 40, 7):
            tasks = [asyncio.create_task(send(transport)) for _ in range(MAX_REQUESTS + 4)]
            await run_loop(turns)
            await asyncio.gather(*(cancel(task, again) for task in tasks[MAX_REQUESTS:]))
            await asyncio.gather(*tasks[:MAX_REQUESTS])
        assert len(await asyncio.gather(*(send(transport) for _ in range(MAX_REQUESTS)))) == MAX_REQUESTS
        await transport.aclose()
        await wait_until_closed(server)


@pytest.mark.parametrize("again", [0, 1])
async def test_canceled_close_still_closes_connections(again: int) -> None:
    for turns in range(0, 24, 2):
        async with HttpServer(answer_in_parts) as server:
            transport = HttpTransport(server.origin, None)
            tasks = [asyncio.create_task(send(transport)) for _ in range(3)]
            await run_loop(turns)
            closing = asyncio.create_task(transport.aclose())
            if again:
                await run_loop(again)
                closing.cancel()
            await asyncio.gather(closing, *tasks, return_exceptions=True)
            await wait_until_closed(server)


class SilentServer:
    """A server that reads and never responds."""

    def __init__(self) -> None:
        self.received = asyncio.Event()
        self.disconnected = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(OSError):
                while await reader.read(1000):
                    self.received.set()
            self.disconnected.set()
        finally:
            writer.close()


@pytest.mark.parametrize("again", AGAIN)
async def test_canceled_handshake_leaves_no_connection_open(again: int) -> None:
    silent = SilentServer()
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        transport = HttpTransport(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", None)
        task = asyncio.create_task(send(transport))
        await silent.received.wait()
        await cancel(task, again)
        async with asyncio.timeout(60):
            await silent.disconnected.wait()
        await transport.aclose()


async def test_request_canceled_by_close_is_unsent_or_lost() -> None:
    silent = SilentServer()
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        sent, connecting = HttpTransport(origin, None), HttpTransport(origin, None)
        first = asyncio.create_task(send(sent))
        await silent.received.wait()
        second = asyncio.create_task(send(connecting))
        await run_loop(2)
        await connecting.aclose()
        await sent.aclose()
        with pytest.raises(Lost):
            await first
        with pytest.raises(LocalFailure):
            await second
        with pytest.raises(LocalFailure):
            await send(connecting)
