"""Read the body of an answer, and never more of it than we are ready to hold (C8)."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

from pydantic_core import from_json

from octavo.api.errors import ApiError, BadResponse
from octavo.api.safety import line
from octavo.client.carrier import Answer
from octavo.client.policy import Truncated
from octavo.redaction import redact

MIB = 1024 * 1024
LIST_CAP = 8 * MIB
PAGE_CAP = 16 * MIB
ERROR_CAP = 64 * 1024
LARGE = 2 * MIB
"""Larger bodies of a client are read one after the other: until each is understood, many times its size may be in memory."""
_STEP = MIB
"""Decompressed at a time, so that the event loop is not held up."""
_GZIP = 31
"""zlib's name for a window of the largest size with a gzip header."""


class LargeTurn:
    """The turn of one exchange to hold a large body, of all that share a lock."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._has = False

    async def take(self) -> None:
        """Wait until no other holds a large body."""
        if not self._has:
            await self._lock.acquire()
            self._has = True

    def give_back(self) -> None:
        """Let another hold a large body."""
        if self._has:
            self._has = False
            self._lock.release()


async def read(answer: Answer, cap: int, host: str, turn: LargeTurn) -> bytes:
    """The decompressed body. Raises BadResponse when it is larger than `cap` bytes, or damaged.

    Of a large body `turn` is kept.
    """
    chunks = bounded(answer, cap, _too_large(host, cap))
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        decoded = chunks
    elif encoding in ("gzip", "x-gzip"):
        decoded = _decompressed(chunks, host)
    else:
        raise BadResponse(f"{host} sent a response in an unsupported encoding. Report this to the server admin.")
    parts: list[bytes] = []
    size = 0
    async for part in decoded:
        size += len(part)
        if size > cap:
            parts.clear()  # the error may be kept for long, and this frame with it
            raise _too_large(host, cap)
        if size > LARGE:
            await turn.take()
        parts.append(part)
    return b"".join(parts)


async def bounded(answer: Answer, most: int, too_large: BadResponse) -> AsyncGenerator[bytes, None]:
    """The body as it is sent. Raises `too_large` where it says that it has more than `most` bytes, and where it has."""
    declared = answer.headers.get("content-length", "")
    if declared.isascii() and declared.isdecimal() and (len(declared) > 15 or int(declared) > most):
        raise too_large
    size = 0
    async for chunk in answer.chunks:
        size += len(chunk)
        if size > most:
            raise too_large
        yield chunk


async def discard(answer: Answer) -> None:
    """Read to the end what nobody needs, so that the connection can be used again; give up when that is not easy."""
    size = 0
    try:
        async for chunk in answer.chunks:
            size += len(chunk)
            if size > ERROR_CAP:
                return
    except ApiError:
        return  # the status has said it all


async def error_message(answer: Answer, host: str) -> str:
    """What the server says went wrong, safe to show; nothing when it says nothing we can read."""
    try:
        return message_in(await read(answer, ERROR_CAP, host, LargeTurn(asyncio.Lock())), answer.headers)
    except ApiError:
        return ""


def message_in(body: bytes, headers: Mapping[str, str]) -> str:
    """The message of an error body: `{"error": {"message"}}`, or what is usual elsewhere."""
    if "html" in headers.get("content-type", "").lower():
        return ""
    try:
        value = from_json(body)
    except ValueError:
        return ""
    if not isinstance(value, dict):
        return ""
    value = value.get("error", value)
    if isinstance(value, dict):
        value = value.get("message")
    return redact(line(value.strip())) if isinstance(value, str) else ""


async def _decompressed(chunks: AsyncIterator[bytes], host: str) -> AsyncGenerator[bytes, None]:
    inflate = zlib.decompressobj(_GZIP)
    async for chunk in chunks:
        while chunk:
            if inflate.eof:
                raise BadResponse(f"{host} sent more than one response body. Try again.")
            try:
                part = inflate.decompress(chunk, _STEP)
            except zlib.error:
                raise BadResponse(f"The response from {host} is damaged. Try again.") from None
            yield part
            if len(part) == _STEP:
                await asyncio.sleep(0)
            chunk = inflate.unconsumed_tail or inflate.unused_data
    if not inflate.eof:
        raise Truncated(f"The response from {host} is incomplete. Try again.")


def _too_large(host: str, cap: int) -> BadResponse:
    return BadResponse(
        f"The response from {host} is larger than {cap // MIB or 1} MiB and was not read. Request fewer items at a time."
    )
