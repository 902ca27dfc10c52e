"""Response bodies that are too large, damaged or truncated."""

from __future__ import annotations

import asyncio
import gzip
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Iterable
from itertools import chain, repeat
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octavo.api import comments, content, spaces, users
from octavo.api.bodies import Markdown
from octavo.api.errors import MAY_BE_DONE, ApiError, BadResponse
from octavo.api.operation import SPECS, SpaceRef
from octavo.client import responses
from octavo.client.client import raw_request
from octavo.client.policy import TruncatedResponse
from octavo.client.responses import MAX_LIST_BYTES, MAX_PAGE_BYTES, MIB, StreamedResponse
from tests.client.conftest import Connect, Time
from tests.client.http_server import HttpServer, ReceivedRequest, Reply, reply
from tests.client.test_client import MIA, answer_in_turn

ME = users.Me()


class Source:
    """Chunks of a response body. `taken` counts the bytes that were read."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = chunks
        self.taken = 0

    def answer(self, encoding: str = "", **headers: str) -> StreamedResponse:
        return StreamedResponse(200, {"content-encoding": encoding, **headers}, self._each())

    async def _each(self) -> AsyncIterator[bytes]:
        for chunk in self._chunks:
            self.taken += len(chunk)
            yield chunk


def split(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def compression_bomb(mib: int) -> Iterable[bytes]:
    """Return zeros that are compressed with gzip."""
    squeeze = zlib.compressobj(9, wbits=31)
    for _ in range(mib):
        yield squeeze.compress(bytes(MIB))
    yield squeeze.flush()


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=5000), st.integers(1, 400))
async def test_body_is_read_completely(content: bytes, size: int) -> None:
    assert (
        await responses.read_body(Source(split(content, size)).answer(), 5000, "x", asyncio.Lock().acquire) == content
    )
    assert (
        await responses.read_body(
            Source(split(gzip.compress(content), size)).answer("gzip"), 6000, "x", asyncio.Lock().acquire
        )
        == content
    )


async def test_compression_bomb_is_not_decompressed() -> None:
    source = Source(compression_bomb(1024))
    with pytest.raises(BadResponse, match="larger than 8 MiB"):
        await responses.read_body(source.answer("gzip"), MAX_LIST_BYTES, "x", asyncio.Lock().acquire)
    assert source.taken < 64 * 1024


async def test_endless_body_is_refused() -> None:
    source = Source(repeat(bytes(65536)))
    with pytest.raises(BadResponse, match="larger than 8 MiB"):
        await responses.read_body(source.answer(), MAX_LIST_BYTES, "x", asyncio.Lock().acquire)
    assert source.taken <= MAX_LIST_BYTES + 65536


async def test_empty_compressed_blocks_count_by_their_raw_size() -> None:
    empty_block = b"\x00\x00\x00\xff\xff"
    source = Source(chain([gzip.compress(b"")[:10]], repeat(empty_block * 1000)))
    with pytest.raises(BadResponse, match="larger than 8 MiB"):
        await responses.read_body(source.answer("gzip"), MAX_LIST_BYTES, "x", asyncio.Lock().acquire)


@pytest.mark.parametrize("length", [str(MAX_LIST_BYTES + 1), "9" * 5000])
async def test_body_with_a_large_content_length_is_not_read(length: str) -> None:
    source = Source([b"x"])
    answer = source.answer(**{"content-length": length})
    with pytest.raises(BadResponse, match="larger than 8 MiB"):
        await responses.read_body(answer, MAX_LIST_BYTES, "x", asyncio.Lock().acquire)
    assert source.taken == 0


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "deflate", "zstd", "gzip,br", "nonsense"])
async def test_nested_encodings_are_refused(encoding: str) -> None:
    with pytest.raises(BadResponse, match="unsupported encoding"):
        await responses.read_body(
            Source([gzip.compress(gzip.compress(b"{}"))]).answer(encoding), MAX_LIST_BYTES, "x", asyncio.Lock().acquire
        )


async def test_damaged_body_is_an_error() -> None:
    good = gzip.compress(b'{"id":"mia"}' * 100)
    for bad in (b"not gzip at all", good[:20] + b"\x00" + good[21:], good + b"more", good + good):
        with pytest.raises(BadResponse):
            await responses.read_body(Source(split(bad, 7)).answer("gzip"), MAX_LIST_BYTES, "x", asyncio.Lock().acquire)


async def test_truncated_body_is_an_error() -> None:
    good = gzip.compress(bytes(range(256)) * 20)
    for length in range(len(good)):
        with pytest.raises(TruncatedResponse):
            await responses.read_body(
                Source([good[:length]]).answer("gzip"), MAX_LIST_BYTES, "x", asyncio.Lock().acquire
            )


def truncated_response(how: str) -> bytes:
    """Return a response for `ME` without its end."""
    content = b'{"id":"mia","displayName":"Mia"}'
    if how == "gzip":
        return reply(200, None, [("content-encoding", "gzip")], body=gzip.compress(content * 200)[:-12])
    if how == "chunked":
        return reply(200, None, [("transfer-encoding", "chunked"), ("connection", "close")], body=b"20\r\n" + content)
    return reply(200, None, [("content-length", "99"), ("connection", "close")], body=content)


@pytest.mark.parametrize("how", ["gzip", "chunked", "content-length"])
async def test_truncated_response_is_requested_again(connect: Connect, time: Time, how: str) -> None:
    async with HttpServer(answer_in_turn(truncated_response(how), reply(200, MIA))) as server:
        assert (await connect(server.origin)(ME)).name == "Mia"
    async with HttpServer(answer_in_turn(truncated_response(how))) as server:
        with pytest.raises(BadResponse, match="is incomplete") as caught:
            await connect(server.origin)(ME)
    assert caught.value.trace.attempts == len(server.requests) == 4


@pytest.mark.parametrize(
    "response",
    [
        reply(200, None, body=b"<html>"),
        reply(200, None, body=b""),
        reply(200, None, [("content-encoding", "gzip")], body=b"damaged"),
        reply(200, None, [("content-encoding", "gzip")], body=gzip.compress(b"{}")[:-4]),
        reply(200, None, [("content-encoding", "gzip")], body=gzip.compress(b"{}") * 2),
        reply(200, None, [("content-length", "99"), ("connection", "close")], body=b"{"),
        reply(303, None, [("location", "/v1/spaces/new")]),
    ],
)
async def test_unreadable_response_to_a_write_does_not_say_to_try_again(connect: Connect, response: bytes) -> None:
    async with HttpServer(answer_in_turn(response)) as server:
        with pytest.raises(BadResponse) as caught:
            await connect(server.origin)(comments.Create(at=SpaceRef(space_id="s"), body=Markdown(markdown="Hello")))
    assert str(caught.value).endswith(f". {MAY_BE_DONE}")
    assert "ry again" not in str(caught.value).removesuffix(MAY_BE_DONE)
    assert len(server.requests) == 1


async def test_large_error_body_does_not_hide_the_status(connect: Connect) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b"HTTP/1.1 403 X\r\ntransfer-encoding: chunked\r\n\r\n"
        while True:
            yield b"10000\r\n" + b"x" * 65536 + b"\r\n"

    def answer(request: ReceivedRequest) -> Reply:
        return endless()

    async with HttpServer(answer) as server:
        with pytest.raises(ApiError, match="not allowed to do this") as caught:
            await connect(server.origin)(ME)
    assert caught.value.status == 403


async def test_list_has_a_lower_size_limit_than_a_page() -> None:
    from octavo.client.responses import max_body_bytes

    assert max_body_bytes(SPECS[spaces.List]) == 8 * MIB
    assert max_body_bytes(SPECS[content.GetPage]) == 16 * MIB


@pytest.mark.before_release("41943040")
@pytest.mark.parametrize("size", [40 * MIB, MAX_PAGE_BYTES - 64])
async def test_simultaneous_compression_bombs_need_the_memory_of_one(connect: Connect, size: int) -> None:
    unpacked = b'{"id":"s","title":"' + b"a" * size + b'"}'
    bomb_response = reply(200, None, [("content-encoding", "gzip")], body=gzip.compress(unpacked))
    del unpacked
    async with HttpServer(lambda _: bomb_response) as server:
        client = connect(server.origin)

        async def peak(numbers: range) -> int:
            tracemalloc.reset_peak()
            responses = (client.raw(raw_request(spaces.Get(at=SpaceRef(space_id=f"s{number}")))) for number in numbers)

            async def sizes(each: Awaitable[Any]) -> int:
                try:
                    return len((await each).value["title"])
                except BadResponse:  # A bomb that is too large has no title.
                    return 0

            assert set(await asyncio.gather(*map(sizes, responses))) == {size if size < MAX_PAGE_BYTES else 0}
            return tracemalloc.get_traced_memory()[1]

        tracemalloc.start()
        try:
            assert await peak(range(1, 9)) < 2 * await peak(range(1))
        finally:
            tracemalloc.stop()
