"""No connection is left open, whenever what uses it is given up: at every turn of the loop, once and twice."""

from __future__ import annotations

import asyncio
import gc
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from octavo.api.errors import LocalFailure, Lost
from octavo.client.carrier import Outgoing
from octavo.client.http import HttpCarrier
from tests.client.peer import Asked, Peer, reply

ASK = Outgoing("GET", "/v1/user")
MAX_REQUESTS = 8
"""Connections a carrier has at most."""
TURNS = range(24)
"""A whole exchange with a new connection takes fewer turns of the loop."""
AGAIN = (0, 1, 2)
"""Turns after which it is given up a second time, 0 for never."""


@pytest.fixture(autouse=True)
def nothing_left_to_the_garbage_collector() -> Iterator[None]:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", ResourceWarning)
        yield
        gc.collect()
    assert [str(each.message) for each in said if issubclass(each.category, ResourceWarning)] == []


async def turn(times: int) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


async def ask(carrier: HttpCarrier) -> bytes:
    async with carrier.send(ASK) as answer:
        return b"".join([chunk async for chunk in answer.chunks])


async def give_up(task: asyncio.Task[bytes], again: int) -> None:
    task.cancel()
    if again:
        await turn(again)
        task.cancel()
    with suppress(asyncio.CancelledError, LocalFailure):
        await task


async def all_closed(peer: Peer) -> None:
    async with asyncio.timeout(5):
        while peer.open:
            await turn(1)


async def bit_by_bit() -> AsyncIterator[bytes]:
    """An answer whose body comes in parts, so that what reads it has to wait."""
    yield b"HTTP/1.1 200 X\r\ncontent-length: 4\r\n\r\n"
    for _ in range(4):
        await turn(2)
        yield b"x"


def at_once(asked: Asked) -> bytes:
    return reply(200, {"id": "mia"})


def in_parts(asked: Asked) -> AsyncIterator[bytes]:
    return bit_by_bit()


@pytest.mark.parametrize("answer", [at_once, in_parts])
@pytest.mark.parametrize("again", AGAIN)
async def test_canceled_request_frees_its_connection(again: int, answer) -> None:  # type: ignore[no-untyped-def]  # one of two
    async with Peer(answer) as peer:
        carrier = HttpCarrier(peer.origin, None)
        for turns in TURNS:
            task = asyncio.create_task(ask(carrier))
            await turn(turns)
            await give_up(task, again)
        assert len(await asyncio.gather(*(ask(carrier) for _ in range(MAX_REQUESTS)))) == MAX_REQUESTS
        await carrier.aclose()
        await all_closed(peer)


@pytest.mark.parametrize("again", AGAIN)
async def test_dead_connections_are_closed_when_their_finder_is_canceled(
    again: int,
) -> None:
    for turns in range(12):
        async with Peer(at_once) as peer:
            carrier = HttpCarrier(peer.origin, None)
            await asyncio.gather(*(ask(carrier) for _ in range(4)))
        await turn(3)
        task = asyncio.create_task(ask(carrier))
        await turn(turns)
        await give_up(task, again)
        await carrier.aclose()


@pytest.mark.parametrize("again", AGAIN)
async def test_canceled_waiting_requests_take_no_connection(again: int) -> None:
    async with Peer(in_parts) as peer:
        carrier = HttpCarrier(peer.origin, None)
        for turns in range(0, 40, 7):
            tasks = [asyncio.create_task(ask(carrier)) for _ in range(MAX_REQUESTS + 4)]
            await turn(turns)
            await asyncio.gather(*(give_up(task, again) for task in tasks[MAX_REQUESTS:]))
            await asyncio.gather(*tasks[:MAX_REQUESTS])
        assert len(await asyncio.gather(*(ask(carrier) for _ in range(MAX_REQUESTS)))) == MAX_REQUESTS
        await carrier.aclose()
        await all_closed(peer)


@pytest.mark.parametrize("again", [0, 1])
async def test_canceled_close_still_closes_connections(again: int) -> None:
    for turns in range(0, 24, 2):
        async with Peer(in_parts) as peer:
            carrier = HttpCarrier(peer.origin, None)
            tasks = [asyncio.create_task(ask(carrier)) for _ in range(3)]
            await turn(turns)
            closing = asyncio.create_task(carrier.aclose())
            if again:
                await turn(again)
                closing.cancel()
            await asyncio.gather(closing, *tasks, return_exceptions=True)
            await all_closed(peer)


class Silent:
    """Takes what it is sent, and says nothing."""

    def __init__(self) -> None:
        self.spoken_to = asyncio.Event()
        self.left = asyncio.Event()

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while await reader.read(1000):
                self.spoken_to.set()
        self.left.set()
        writer.close()


@pytest.mark.parametrize("again", AGAIN)
async def test_a_handshake_given_up_leaves_no_connection_open(again: int) -> None:
    silent = Silent()
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        carrier = HttpCarrier(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", None)
        task = asyncio.create_task(ask(carrier))
        await silent.spoken_to.wait()
        await give_up(task, again)
        async with asyncio.timeout(5):
            await silent.left.wait()
        await carrier.aclose()


async def test_request_canceled_by_close_is_unsent_or_lost() -> None:
    silent = Silent()
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        origin = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        sent, connecting = HttpCarrier(origin, None), HttpCarrier(origin, None)
        first = asyncio.create_task(ask(sent))
        await silent.spoken_to.wait()
        second = asyncio.create_task(ask(connecting))
        await turn(2)
        await connecting.aclose()
        await sent.aclose()
        with pytest.raises(Lost):
            await first
        with pytest.raises(LocalFailure):
            await second
        with pytest.raises(LocalFailure):
            await ask(connecting)
