"""Reads and decompresses response bodies, with a limit on their size."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

from pydantic_core import from_json

from octavo.api.errors import ApiError, BadResponse
from octavo.api.safety import safe_line
from octavo.client.carrier import Answer
from octavo.client.policy import Truncated
from octavo.redaction import redact

MIB = 1024 * 1024
LIST_CAP = 8 * MIB
PAGE_CAP = 16 * MIB
ERROR_CAP = 64 * 1024
LARGE = 2 * MIB
"""Size in bytes from which a client reads only one body at a time, because parsing needs many times their size in
memory."""
_STEP = MIB
"""Number of bytes that are decompressed in one step, so that the event loop is not blocked."""
_GZIP = 31
"""The `wbits` of zlib for gzip with the largest window."""


class LargeTurn:
    """The permission to have a large body in memory. Each exchange has a `LargeTurn`, and all share one lock."""

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock = lock
        self._has = False

    async def take(self) -> None:
        """Wait until no other exchange has a large body."""
        if not self._has:
            await self._lock.acquire()
            self._has = True

    def give_back(self) -> None:
        """Let another exchange have a large body in memory."""
        if self._has:
            self._has = False
            self._lock.release()


async def read(answer: Answer, cap: int, host: str, turn: LargeTurn) -> bytes:
    """Return the decompressed body. Raises BadResponse if it is damaged or larger than `cap` bytes.

    For a large body, this takes `turn`. The caller must give it back.
    """
    chunks = limited_chunks(answer, cap, _too_large(host, cap))
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        decoded = chunks
    elif encoding in ("gzip", "x-gzip"):
        decoded = _decompress(chunks, host)
    else:
        raise BadResponse(f"{host} sent a response in an unsupported encoding. Report this to the server admin.")
    parts: list[bytes] = []
    size = 0
    async for part in decoded:
        size += len(part)
        if size > cap:
            parts.clear()  # free the memory now, because the traceback of the error keeps this frame alive
            raise _too_large(host, cap)
        if size > LARGE:
            await turn.take()
        parts.append(part)
    return b"".join(parts)


async def limited_chunks(answer: Answer, most: int, too_large: BadResponse) -> AsyncGenerator[bytes, None]:
    """Yield the body as sent, not decompressed. Raises `too_large` if the body or its declared length exceeds `most`
    bytes."""
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
    """Read a body that is not needed, so that the connection can be reused. A long or broken body is not read."""
    size = 0
    try:
        async for chunk in answer.chunks:
            size += len(chunk)
            if size > ERROR_CAP:
                return
    except ApiError:
        return  # ignored, because the body is not needed


async def error_message(answer: Answer, host: str) -> str:
    """Return the sanitized error message of a response. Empty if it has no message."""
    try:
        return message_in(await read(answer, ERROR_CAP, host, LargeTurn(asyncio.Lock())), answer.headers)
    except ApiError:
        return ""


def message_in(body: bytes, headers: Mapping[str, str]) -> str:
    """Return the message in an error body. It may have the form `{"error": {"message"}}`, or forms that other servers
    use."""
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
    return redact(safe_line(value.strip())) if isinstance(value, str) else ""


async def _decompress(chunks: AsyncIterator[bytes], host: str) -> AsyncGenerator[bytes, None]:
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
