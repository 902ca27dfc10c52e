"""An HTTP server on a socket that sends the bytes that a test chooses."""

from __future__ import annotations

import asyncio
import gzip
import json
import ssl
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Self

KEY_TEXT = "gb_api_0123456789abcdefghij"


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that the server received. Header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Reply = bytes | AsyncIterator[bytes]


def reply(
    status: int = 200,
    value: Any = None,
    headers: Iterable[tuple[str, str]] = (),
    *,
    body: bytes | None = None,
    zipped: bool = False,
) -> bytes:
    """Return a response with `value` as JSON, or with `body`."""
    content = body if body is not None else b"" if value is None else json.dumps(value).encode()
    given = [("content-type", "application/json"), *headers]
    if zipped:
        content = gzip.compress(content)
        given.append(("content-encoding", "gzip"))
    if not any(name.lower() in ("content-length", "transfer-encoding") for name, _ in given) and status != 204:
        given.append(("content-length", str(len(content))))
    head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{name}: {text}\r\n" for name, text in given)
    return head.encode("latin-1") + b"\r\n" + content


class HttpServer:
    """A server: `answer(request)` returns the bytes of the response. Empty bytes close the connection."""

    def __init__(
        self,
        answer: Callable[[ReceivedRequest], Reply],
        *,
        tls: ssl.SSLContext | None = None,
        idle: float | None = None,
    ) -> None:
        """`idle`: seconds until an idle connection is closed."""
        self.answer = answer
        self.requests: list[ReceivedRequest] = []
        self.connections = 0
        self.open = 0
        self.port = 0
        self._tls = tls
        self._idle = idle
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def origin(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._tls, limit=2**20)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: writer.close())  # A task that is canceled before it starts runs no `finally`.

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.open += 1
        try:
            while (request := await asyncio.wait_for(_request(reader), self._idle)) is not None:
                self.requests.append(request)
                answer = self.answer(request)
                if isinstance(answer, bytes):
                    if not answer:
                        return
                    writer.write(answer)
                else:
                    async for part in answer:
                        writer.write(part)
                        await writer.drain()
                await writer.drain()
                if _ends_with_close(answer):
                    return
        except (TimeoutError, OSError, asyncio.IncompleteReadError):
            return
        finally:
            self.open -= 1


async def _request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    return ReceivedRequest(method, target, headers, await reader.readexactly(int(headers.get("content-length", "0"))))


def _ends_with_close(answer: Reply) -> bool:
    return not isinstance(answer, bytes) or b"connection: close" in answer[:2000].lower()
