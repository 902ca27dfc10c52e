from __future__ import annotations

import pytest

from octavo.api.errors import ApiError, BadResponse, NotFound
from octavo.client.client import Client
from octavo.client.exchange import MAX_TRANSFER_REDIRECTS
from tests.client.conftest import Connect
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
