from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from octavo.api.errors import ApiError, BadResponse, Lost, ReadOnly, Rejected
from octavo.client import transfers
from octavo.client.client import Client
from tests.client.conftest import Connect
from tests.client.peer import Asked, Peer, Reply, reply
from tests.client.test_tls import Authority

FILE = b"wOF2" + bytes(200_000)


async def parts() -> AsyncIterator[bytes]:
    for start in range(0, len(FILE), 1 << 16):
        yield FILE[start : start + (1 << 16)]


async def put(client: Client, url: str) -> None:
    await client.upload(url, parts(), len(FILE), "font/woff2")


async def test_a_file_is_put_once_and_without_the_key_to_our_own_server_too(connect: Connect) -> None:
    asked: list[Asked] = []

    def answer(request: Asked) -> Reply:
        asked.append(request)
        if request.target == "/on":
            return reply(307, headers=[("location", "/there")])
        if request.target == "/no":
            return reply(410, {"error": {"code": 410, "message": "It waited too long."}})
        return b"" if request.target == "/gone" else reply()

    async with Peer(answer) as peer:
        client = connect(peer.origin)
        await put(client, f"{peer.origin}/there?signed=1")
        assert (asked[0].method, asked[0].target, asked[0].body) == ("PUT", "/there?signed=1", FILE)
        assert asked[0].headers["content-length"] == str(len(FILE))
        assert asked[0].headers["content-type"] == "font/woff2"
        with pytest.raises(BadResponse, match="does not follow"):
            await put(client, f"{peer.origin}/on")
        with pytest.raises(Rejected, match="It waited too long"):
            await put(client, f"{peer.origin}/no")
        with pytest.raises(Lost):
            await put(client, f"{peer.origin}/gone")
        assert [each.target for each in asked] == ["/there?signed=1", "/on", "/no", "/gone"]
        assert not any("authorization" in each.headers for each in asked)
        with pytest.raises(ReadOnly):
            await put(connect(peer.origin, read_only="This is to be read only."), f"{peer.origin}/there")
        assert len(asked) == 4


async def test_upload_to_another_host_never_sends_the_key(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Asked] = []
    authority = Authority(tmp_path)
    # The one thing that is not as outside: a host of the internet is one of this machine.
    monkeypatch.setattr(transfers, "is_public", lambda place: True)

    def answer(request: Asked) -> Reply:
        asked.append(request)
        return reply(403, {"error": {"message": "No."}}) if request.target == "/no" else reply()

    async with Peer(answer, tls=authority.server()) as store:
        port = store.origin.rpartition(":")[2]
        client = connect("https://api.example.com", ca_file=authority.file)
        await put(client, f"https://127.0.0.1:{port}/bucket/key?X-Signature=abc")
        with pytest.raises(Rejected, match="responded with status 403"):
            await put(client, f"https://127.0.0.1:{port}/no")
    assert [each.target for each in asked] == ["/bucket/key?X-Signature=abc", "/no"]
    assert asked[0].body == FILE
    assert not any("authorization" in each.headers for each in asked)


@pytest.mark.parametrize("url", ["http://elsewhere.example/x", "https://127.0.0.1:9/x", "https://", "file:///x"])
async def test_upload_to_a_forbidden_address_is_refused(connect: Connect, url: str) -> None:
    with pytest.raises(ApiError):
        await put(connect("https://api.example.com"), url)


async def test_stopped_upload_sends_no_more(connect: Connect) -> None:
    begun, gone = asyncio.Event(), asyncio.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            yield FILE
            begun.set()
            await asyncio.Event().wait()
        finally:
            gone.set()

    async with Peer(lambda asked: reply()) as peer:
        sending = asyncio.ensure_future(connect(peer.origin).upload(f"{peer.origin}/x", endless(), 1 << 30, "a/b"))
        await begun.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await asyncio.wait_for(gone.wait(), 5)
