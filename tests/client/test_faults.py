"""A network that misbehaves, on real sockets. Waits and pauses are the clock's of the test; only the network is real."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from octavo.api import users
from octavo.api.errors import ApiError, BadResponse, Lost, NotSent, Outcome, TimedOut
from octavo.client import http
from octavo.client.client import Client
from tests.client.conftest import Connect
from tests.client.peer import Asked, Peer, Reply, reply
from tests.client.test_client import COMMENT, MIA, POST
from tests.fault_proxy import TOXICS, FaultProxy, Kind, Toxic

ME = users.Me()


def answer(asked: Asked) -> Reply:
    return reply(200, MIA if asked.method == "GET" else COMMENT)


def toxic(kind: Kind) -> Toxic:
    return Toxic(kind, after={"cut_up": 60, "cut_down": 100}.get(kind, 0), seconds=0.001)


PERMANENT = ("ok", "late", "drip")
HOLES = ("hole_up", "hole_down")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    """Reading gives up after a tenth of a second instead of twenty, where the answer never comes whole."""
    if kind in PERMANENT:
        return
    monkeypatch.setattr(http, "_TIMEOUT", httpx.Timeout(0.1))


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", TOXICS)
async def test_a_read_survives_a_spoiled_connection(connect: Connect, kind: Kind) -> None:
    async with Peer(answer) as peer, FaultProxy("127.0.0.1", peer.port, [toxic(kind)]) as proxy:
        assert (await connect(proxy.origin)(ME)).id == "mia"
    assert proxy.log == ([kind] if kind in PERMANENT else [kind, "ok"])


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", [kind for kind in TOXICS if kind not in PERMANENT])
async def test_a_read_is_given_up_with_a_sentence(connect: Connect, kind: Kind) -> None:
    async with Peer(answer) as peer, FaultProxy("127.0.0.1", peer.port, otherwise=lambda: toxic(kind)) as proxy:
        with pytest.raises(ApiError) as caught:
            await connect(proxy.origin)(ME)
    assert len(proxy.log) == caught.value.trace.attempts == 4
    assert str(caught.value).endswith("again.")
    if kind in HOLES:
        assert isinstance(caught.value, TimedOut)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("kind", TOXICS)
async def test_a_write_is_never_sent_twice(connect: Connect, kind: Kind) -> None:
    async with Peer(answer) as peer, FaultProxy("127.0.0.1", peer.port, [toxic(kind)]) as proxy:
        client = connect(proxy.origin)
        if kind in PERMANENT:
            assert (await client(POST)).id == "c1"
        else:
            with pytest.raises((Lost, TimedOut, BadResponse)) as caught:
                await client(POST)
            assert caught.value.outcome is Outcome.UNKNOWN
            assert "Check the current state before you try again" in str(caught.value)
    assert proxy.log == [kind]
    assert len(peer.asked) <= 1


async def test_unsent_write_is_sent_when_the_server_is_back(connect: Connect) -> None:
    peer = Peer(answer)
    async with peer:
        port = peer.port
    revived = Peer(answer)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        """The server comes back while the client waits."""
        waits.append(seconds)
        if len(waits) == 2:
            revived._server = await asyncio.start_server(revived._accept, "127.0.0.1", port)

    assert (await connect(f"http://127.0.0.1:{port}", sleep=sleep)(POST)).id == "c1"
    assert (len(waits), len(revived.asked)) == (2, 1)
    await revived.__aexit__()


async def test_unreachable_server_is_reported(connect: Connect) -> None:
    async with Peer(answer) as peer:
        port = peer.port
    with pytest.raises(NotSent, match="Could not connect to 127") as caught:
        await connect(f"http://127.0.0.1:{port}")(POST)
    assert caught.value.trace.attempts == 4


async def test_dripping_response_ends_at_the_deadline(connect: Connect) -> None:
    """Every byte comes in time, so that only the deadline can end it."""

    async def dripping() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 X\r\ncontent-length: 1000000\r\n\r\n"
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    async with Peer(lambda _: dripping()) as peer:
        with pytest.raises(TimedOut, match=r"did not respond within 0\.2 s") as caught:
            await connect(peer.origin, deadline=0.2)(ME)
    assert caught.value.trace.route == "/v1/user"


async def test_giving_up_leaks_no_connection(connect: Connect) -> None:
    async def slow() -> AsyncIterator[bytes]:
        await asyncio.sleep(0.001)
        yield reply(200, MIA)

    kinds: list[Callable[[], Reply]] = [slow, lambda: reply(200, MIA)]
    chance = random.Random(3)
    async with Peer(lambda _: chance.choice(kinds)()) as peer:
        client = connect(peer.origin)
        await cancel_many(client, 150, chance)
        assert [(await client(users.Get(user_id=f"u{n}"))).id for n in range(20)] == ["mia"] * 20
        assert peer.open <= 8


@pytest.mark.long
async def test_giving_up_very_often_leaks_no_connection(connect: Connect) -> None:
    chance = random.Random(4)
    async with Peer(answer) as peer:
        client = connect(peer.origin)
        await cancel_many(client, 600, chance)
        assert [(await client(users.Get(user_id=f"u{n}"))).id for n in range(20)] == ["mia"] * 20
        assert peer.open <= 8


async def cancel_many(client: Client, count: int, chance: random.Random) -> None:
    """Ask `count` times, and give up most of it at some point on the way."""
    tasks: list[asyncio.Task[Any]] = []
    for n in range(count):
        tasks.append(asyncio.create_task(client(users.Get(user_id=f"c{n}"))))
        for _ in range(chance.randrange(30)):
            await asyncio.sleep(0)
        if chance.random() < 0.77:
            chance.choice(tasks[-6:]).cancel()
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_idle_connections_close_before_the_server_closes_them(connect: Connect) -> None:
    async with Peer(answer) as peer:
        client = connect(peer.origin)
        await client(ME)
        carrier = client._carrier
        assert isinstance(carrier, http.HttpCarrier)
        pool = carrier._http._transport._pool  # type: ignore[attr-defined]  # no other way to see what is configured
        assert (pool._keepalive_expiry, pool._max_connections, pool._max_keepalive_connections) == (4.0, 8, 4)


@pytest.mark.long
async def test_no_write_is_lost_on_a_closing_connection(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server closes idle connections after 0.4 s, and writes come right then. We leave them after half of that: so
    long may a busy machine stand between the look at a connection and the write in it."""
    monkeypatch.setattr(http, "_LIMITS", httpx.Limits(max_connections=8, keepalive_expiry=0.2))

    chance = random.Random(5)

    async with Peer(answer, idle=0.4) as peer:
        client = connect(peer.origin)

        async def write_often() -> None:
            for _ in range(60):
                await client(POST)
                await asyncio.sleep(0.395 + chance.random() * 0.01)

        await asyncio.gather(*(write_often() for _ in range(6)))
        assert len(peer.asked) == 360
