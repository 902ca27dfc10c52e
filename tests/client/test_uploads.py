from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.api.errors import ApiError, BadResponse, Lost, ReadOnly, Rejected
from octavo.client import exchange
from octavo.client.client import Client
from tests.client.conftest import Connect
from tests.client.http_server import HttpServer, ReceivedRequest, Reply, reply
from tests.client.test_tls import Authority

FILE = b"wOF2" + bytes(200_000)


async def parts() -> AsyncIterator[bytes]:
    for start in range(0, len(FILE), 1 << 16):
        yield FILE[start : start + (1 << 16)]


async def upload(client: Client, url: str) -> None:
    await client.upload(url, parts(), len(FILE), "font/woff2")


async def test_upload_is_sent_once_and_without_the_key(connect: Connect) -> None:
    received: list[ReceivedRequest] = []

    def answer(request: ReceivedRequest) -> Reply:
        received.append(request)
        if request.target == "/on":
            return reply(307, headers=[("location", "/there")])
        if request.target == "/no":
            return reply(410, {"error": {"code": 410, "message": "It waited too long."}})
        return b"" if request.target == "/gone" else reply()

    async with HttpServer(answer) as server:
        client = connect(server.origin)
        await upload(client, f"{server.origin}/there?signed=1")
        assert (received[0].method, received[0].target, received[0].body) == ("PUT", "/there?signed=1", FILE)
        assert received[0].headers["content-length"] == str(len(FILE))
        assert received[0].headers["content-type"] == "font/woff2"
        with pytest.raises(BadResponse, match="does not follow"):
            await upload(client, f"{server.origin}/on")
        with pytest.raises(Rejected, match="It waited too long"):
            await upload(client, f"{server.origin}/no")
        with pytest.raises(Lost):
            await upload(client, f"{server.origin}/gone")
        assert [each.target for each in received] == ["/there?signed=1", "/on", "/no", "/gone"]
        assert not any("authorization" in each.headers for each in received)
        with pytest.raises(ReadOnly):
            await upload(
                connect(server.origin, read_only_reason="This session is read-only."), f"{server.origin}/there"
            )
        assert len(received) == 4


async def test_upload_to_another_host_never_sends_the_key(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    received: list[ReceivedRequest] = []
    authority = Authority(tmp_path)
    # Only this check is replaced: the test server stands for a public host.
    monkeypatch.setattr(exchange, "is_public", lambda place: True)

    def answer(request: ReceivedRequest) -> Reply:
        received.append(request)
        return reply(403, {"error": {"message": "No."}}) if request.target == "/no" else reply()

    async with HttpServer(answer, tls=authority.server()) as store:
        port = store.origin.rpartition(":")[2]
        client = connect("https://api.example.com", ca_file=authority.file)
        await upload(client, f"https://127.0.0.1:{port}/bucket/key?X-Signature=abc")
        with pytest.raises(Rejected, match="responded with status 403"):
            await upload(client, f"https://127.0.0.1:{port}/no")
    assert [each.target for each in received] == ["/bucket/key?X-Signature=abc", "/no"]
    assert received[0].body == FILE
    assert not any("authorization" in each.headers for each in received)


@pytest.mark.parametrize("url", ["http://elsewhere.example/x", "https://127.0.0.1:9/x", "https://", "file:///x"])
async def test_upload_to_a_forbidden_address_is_refused(connect: Connect, url: str) -> None:
    with pytest.raises(ApiError) as refused:
        await upload(connect("https://api.example.com"), url)
    assert "download" not in str(refused.value)


async def test_stopped_upload_sends_no_more(connect: Connect) -> None:
    begun, gone = asyncio.Event(), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield FILE
            begun.set()
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with HttpServer(lambda _: reply()) as server:
        sending = asyncio.ensure_future(connect(server.origin).upload(f"{server.origin}/x", endless(), 1 << 30, "a/b"))
        await begun.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(gone.wait(), 5)
