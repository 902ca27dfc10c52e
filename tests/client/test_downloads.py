from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from octavo.api.errors import ApiError, BadResponse, NotFound, TimedOut
from octavo.client.client import Client
from octavo.client.exchange import MAX_TRANSFER_REDIRECTS
from octavo.client.policy import MAX_ATTEMPTS
from tests.client.conftest import Connect, Time
from tests.client.http_server import KEY_TEXT, HttpServer, ReceivedRequest, Reply, reply


async def download(client: Client, url: str, most: int = 1000) -> bytes:
    return b"".join([chunk async for chunk in client.download(url, most)])


async def test_download_from_the_server_sends_the_key_and_follows_redirects(connect: Connect) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        assert request.headers["authorization"] == f"Bearer {KEY_TEXT}"
        if request.target == "/files/a%20b.png?x=1":
            return reply(302, headers=[("location", "/there")])
        assert request.target == "/there"
        return reply(body=b"bytes")

    async with HttpServer(answer) as server:
        assert await download(connect(server.origin), f"{server.origin}/files/a b.png?x=1") == b"bytes"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("http://127.0.0.1:9/x", "not be encrypted"),
        ("https://127.0.0.1:9/x", "on a private network"),
        ("https://[::1]/x", "on a private network"),
        ("https://[fec0::1]/x", "on a private network"),
        ("https://[", "invalid link"),
        ("https://169.254.169.254/latest", "on a private network"),
        ("https://user:word@example.com/x", "name or password"),
        ("file:///etc/passwd", "invalid link"),
        ("javascript:alert(1)", "invalid link"),
        ("", "invalid link"),
    ],
)
async def test_other_hosts_are_not_contacted_for_downloads(connect: Connect, url: str, says: str) -> None:
    async with HttpServer(
        lambda request: reply(302, headers=[("location", url)] if request.target == "/on" else ())
    ) as server:
        client = connect(server.origin)
        with pytest.raises(BadResponse, match=says):
            await download(client, url)
        if url:
            with pytest.raises(BadResponse, match=says):
                await download(client, f"{server.origin}/on")


async def test_download_larger_than_its_limit_is_refused(connect: Connect) -> None:
    def answer(request: ReceivedRequest) -> Reply:
        body = b"x" * 1001
        if request.target == "/chunked":
            return reply(headers=[("transfer-encoding", "chunked")], body=b"3e9\r\n" + body + b"\r\n0\r\n\r\n")
        return reply(body=body)

    async with HttpServer(answer) as server:
        client = connect(server.origin)
        for path in ("/declared", "/chunked"):
            with pytest.raises(BadResponse, match="the download limit"):
                await download(client, server.origin + path)


async def test_refused_and_circular_downloads_are_reported(connect: Connect) -> None:
    targets: list[str] = []

    def answer(request: ReceivedRequest) -> Reply:
        targets.append(request.target)
        if request.target == "/gone":
            return reply(404, {"error": {"message": "There is no file."}})
        return reply(302, headers=[("location", "/round")])

    async with HttpServer(answer) as server:
        client = connect(server.origin)
        with pytest.raises(NotFound, match="There is no file"):
            await download(client, f"{server.origin}/gone")
        with pytest.raises(ApiError, match="too many redirects"):
            await download(client, f"{server.origin}/round")
    assert targets.count("/round") == MAX_TRANSFER_REDIRECTS + 1


async def cut_after(count: int, body: bytes, announced: int) -> AsyncIterator[bytes]:
    """Send `count` bytes of a response that announces more, and close the connection."""
    yield reply(headers=[("content-length", str(announced))], body=b"") + body[:count]


@pytest.mark.parametrize("cuts", [(0,), (500,), (500, 200), (700, 700)])
async def test_interrupted_download_is_completed_without_repeated_bytes(
    connect: Connect, cuts: tuple[int, ...]
) -> None:
    body, left = bytes(range(250)) * 4, list(cuts)
    async with HttpServer(lambda request: cut_after(left.pop(0) if left else 1000, body, 1000)) as server:
        assert await download(connect(server.origin), f"{server.origin}/a.png") == body
        assert len(server.requests) == len(cuts) + 1


async def test_download_that_stays_incomplete_is_refused(connect: Connect) -> None:
    async with HttpServer(lambda request: cut_after(500, b"x" * 1000, 1000)) as server:
        with pytest.raises(BadResponse, match="incomplete"):
            await download(connect(server.origin), f"{server.origin}/a.png")
        assert len(server.requests) == MAX_ATTEMPTS


@pytest.mark.parametrize("second", [b"y" * 1000, b"x" * 400])
async def test_file_that_changes_during_an_interruption_is_refused(connect: Connect, second: bytes) -> None:
    async with HttpServer(
        lambda request: cut_after(500, b"x" * 1000, 1000) if len(server.requests) == 1 else reply(body=second)
    ) as server:
        with pytest.raises(BadResponse, match="The file changed during the download"):
            await download(connect(server.origin), f"{server.origin}/a.png")


async def test_endless_download_is_given_up(connect: Connect, time: Time) -> None:
    async def drip(request: ReceivedRequest) -> AsyncIterator[bytes]:
        yield reply(headers=[("content-length", "1000")], body=b"x")
        for _ in range(999):
            time.seconds += 60
            yield b"x"

    async with HttpServer(drip) as server:
        with pytest.raises(TimedOut, match="longer than 30 minutes"):
            await download(connect(server.origin), f"{server.origin}/a.png")
        assert len(server.requests) == 1
