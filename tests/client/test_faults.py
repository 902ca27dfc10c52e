"""Network faults on real sockets. Waits and retry pauses use the clock of the test."""

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
from tests.client.http_server import HttpServer, ReceivedRequest, Reply, reply
from tests.client.test_client import COMMENT, MIA, POST
from tests.fault_proxy import TOXICS, FaultProxy, Kind, Toxic

ME = users.Me()


def answer(request: ReceivedRequest) -> Reply:
    return reply(200, MIA if request.method == "GET" else COMMENT)


def toxic_of(kind: Kind) -> Toxic:
    return Toxic(kind, after={"cut_up": 60, "cut_down": 100}.get(kind, 0), seconds=0.001)


HARMLESS = ("ok", "late", "drip")
SILENT = ("hole_up", "hole_down")


@pytest.fixture
def short_read_timeout(monkeypatch: pytest.MonkeyPatch, kind: Kind) -> None:
    """Reduce the read timeout to 0.1 s for faults where the connection stays open without a response."""
    if kind in SILENT:
        monkeypatch.setattr(http, "_TIMEOUT", httpx.Timeout(http.CONNECT_SECONDS, read=0.1))


@pytest.mark.parametrize("kind", TOXICS)
async def test_read_succeeds_after_a_fault(connect: Connect, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    if kind in SILENT:  # The second request has this timeout, too.
        monkeypatch.setattr(http, "_TIMEOUT", httpx.Timeout(http.CONNECT_SECONDS, read=2.0))
    async with HttpServer(answer) as server, FaultProxy("127.0.0.1", server.port, [toxic_of(kind)]) as proxy:
        assert (await connect(proxy.origin)(ME)).id == "mia"
    assert proxy.log == ([kind] if kind in HARMLESS else [kind, "ok"])


@pytest.mark.usefixtures("short_read_timeout")
@pytest.mark.parametrize("kind", [kind for kind in TOXICS if kind not in HARMLESS])
async def test_read_fails_with_a_message_after_four_faults(connect: Connect, kind: Kind) -> None:
    async with (
        HttpServer(answer) as server,
        FaultProxy("127.0.0.1", server.port, otherwise=lambda: toxic_of(kind)) as proxy,
    ):
        with pytest.raises(ApiError) as caught:
            await connect(proxy.origin)(ME)
    assert len(proxy.log) == caught.value.trace.attempts == 4
    assert str(caught.value).endswith("again.")
    if kind in SILENT:
        assert isinstance(caught.value, TimedOut)


@pytest.mark.usefixtures("short_read_timeout")
@pytest.mark.parametrize("kind", TOXICS)
async def test_write_is_never_sent_twice(connect: Connect, kind: Kind) -> None:
    async with HttpServer(answer) as server, FaultProxy("127.0.0.1", server.port, [toxic_of(kind)]) as proxy:
        client = connect(proxy.origin)
        if kind in HARMLESS:
            assert (await client(POST)).id == "c1"
        else:
            with pytest.raises((Lost, TimedOut, BadResponse)) as caught:
                await client(POST)
            assert caught.value.outcome is Outcome.UNKNOWN
            assert "Check the current state before you try again" in str(caught.value)
    assert proxy.log == [kind]
    assert len(server.requests) <= 1


async def test_unsent_write_is_sent_when_the_server_is_back(connect: Connect) -> None:
    server = HttpServer(answer)
    async with server:
        port = server.port
    restarted_peer = HttpServer(answer)
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        """Restart the server while the client waits."""
        waits.append(seconds)
        if len(waits) == 2:
            restarted_peer._server = await asyncio.start_server(restarted_peer._accept, "127.0.0.1", port)

    assert (await connect(f"http://127.0.0.1:{port}", sleep=sleep)(POST)).id == "c1"
    assert (len(waits), len(restarted_peer.requests)) == (2, 1)
    await restarted_peer.__aexit__()


async def test_unreachable_server_is_reported(connect: Connect) -> None:
    async with HttpServer(answer) as server:
        port = server.port
    with pytest.raises(NotSent, match=r"^The connection to 127.* was refused") as caught:
        await connect(f"http://127.0.0.1:{port}")(POST)
    assert caught.value.trace.attempts == 4


async def test_dripping_response_ends_at_the_deadline(connect: Connect) -> None:
    """Each byte arrives within the read timeout, so only the deadline ends the request."""

    async def drip_response() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 200 X\r\ncontent-length: 1000000\r\n\r\n"
        while True:
            yield b" "
            await asyncio.sleep(0.01)

    async with HttpServer(lambda _: drip_response()) as server:
        with pytest.raises(TimedOut, match=r"did not respond within 0\.2 s") as caught:
            await connect(server.origin, deadline=0.2)(ME)
    assert caught.value.trace.route == "/v1/user"


async def test_canceled_requests_leak_no_connection(connect: Connect) -> None:
    async def slow() -> AsyncIterator[bytes]:
        await asyncio.sleep(0.001)
        yield reply(200, MIA)

    kinds: list[Callable[[], Reply]] = [slow, lambda: reply(200, MIA)]
    chance = random.Random(3)
    async with HttpServer(lambda _: chance.choice(kinds)()) as server:
        client = connect(server.origin)
        await cancel_many(client, 150, chance)
        assert [(await client(users.Get(user_id=f"u{n}"))).id for n in range(20)] == ["mia"] * 20
        assert server.open <= 8


@pytest.mark.long
async def test_many_canceled_requests_leak_no_connection(connect: Connect) -> None:
    chance = random.Random(4)
    async with HttpServer(answer) as server:
        client = connect(server.origin)
        await cancel_many(client, 600, chance)
        assert [(await client(users.Get(user_id=f"u{n}"))).id for n in range(20)] == ["mia"] * 20
        assert server.open <= 8


async def cancel_many(client: Client, count: int, chance: random.Random) -> None:
    """Start `count` requests, and cancel most of them at random moments."""
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
    async with HttpServer(answer) as server:
        client = connect(server.origin)
        await client(ME)
        transport = client._shared_transport
        assert isinstance(transport, http.HttpTransport)
        pool = transport._http._transport._pool  # type: ignore[attr-defined]  # httpx does not publish its limits
        assert (pool._keepalive_expiry, pool._max_connections, pool._max_keepalive_connections) == (4.0, 8, 4)


@pytest.mark.long
async def test_no_write_is_lost_on_a_closing_connection(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes start when the server closes idle connections, after 0.4 s. The client closes them after 0.2 s to leave a slow machine time."""
    monkeypatch.setattr(http, "_POOL_LIMITS", httpx.Limits(max_connections=8, keepalive_expiry=0.2))

    chance = random.Random(5)

    async with HttpServer(answer, idle=0.4) as server:
        client = connect(server.origin)

        async def write_often() -> None:
            for _ in range(60):
                await client(POST)
                await asyncio.sleep(0.395 + chance.random() * 0.01)

        await asyncio.gather(*(write_often() for _ in range(6)))
        assert len(server.requests) == 360
