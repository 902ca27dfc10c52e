"""Reads, decompresses and parses the bodies of responses. Declares the interface `Transport`, through which requests
are sent, and has the transport to an application in the same process."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlencode

from pydantic import SecretStr, ValidationError
from pydantic_core import from_json

from octavo.api.errors import ApiError, BadResponse, Lost
from octavo.api.operation import ListPage, Spec, decode_response
from octavo.api.reading import json_of
from octavo.api.safety import safe_line
from octavo.client.origin import split_origin
from octavo.client.policy import READS, TruncatedResponse, Unsendable, next_step_after
from octavo.concurrency import run_in_thread
from octavo.redaction import redact


@dataclass(frozen=True)
class OutgoingRequest:
    """An HTTP request without the token. A transport adds its token, but only for the origin of the token."""

    method: str
    target: str
    """Path and query of the URL, such as `/v1/user?x=1`."""
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | AsyncIterable[bytes] | None = None
    """The request body, None for no body. An iterable can be sent only once, and needs a header with its length."""
    changes_nothing: bool = False
    """True if the request is known to change nothing, such as a POST that only searches."""

    @property
    def only_reads(self) -> bool:
        """True if the request changes nothing, so that it can be sent again."""
        return self.changes_nothing or self.method in READS


@dataclass(frozen=True)
class StreamedResponse:
    """A response whose body has not been read yet."""

    status: int
    headers: Mapping[str, str]
    """Headers by lower-case name. The values of a repeated header are joined by commas."""
    chunks: AsyncIterator[bytes]
    """The body in chunks, still compressed as it was sent."""


class Transport(Protocol):
    """Sends requests to one origin. A transport with a token adds it to each request."""

    def send(self, outgoing: OutgoingRequest) -> AbstractAsyncContextManager[StreamedResponse]:
        """Send a request once, without redirects and retries. Raises ApiError, also while the body is read."""

    async def aclose(self) -> None:
        """Close the connections."""


@dataclass(frozen=True)
class RawRequest:
    """An HTTP request to send with `Client.raw`."""

    outgoing: OutgoingRequest
    route: str
    """Path with names instead of IDs, such as `/v1/spaces/{spaceId}`, for logs and errors."""

    def for_page(self, cursor: str) -> RawRequest:
        """Return a copy of this list request with the cursor of another page of the list."""
        path, _, query = self.outgoing.target.partition("?")
        pairs = [pair for pair in parse_qsl(query, keep_blank_values=True) if pair[0] != "page"]
        target = f"{path}?{urlencode([*pairs, ('page', cursor)])}"
        return replace(self, outgoing=replace(self.outgoing, target=target))


@dataclass(frozen=True)
class RawResponse:
    """A successful response to `Client.raw`."""

    status: int
    headers: Mapping[str, str]
    value: Any
    """The JSON value of the body. None if the body is empty."""


Message = MutableMapping[str, Any]
Application = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


class InProcessTransport:
    """Sends requests to an ASGI application in this process. Errors inside the application are raised unchanged."""

    def __init__(self, origin: str, token: SecretStr | None, application: Application) -> None:
        self._scheme, self._host, self._port = split_origin(origin)
        self._token = token
        self._application = application

    @asynccontextmanager
    async def send(self, outgoing: OutgoingRequest) -> AsyncIterator[StreamedResponse]:
        """Send a request to the application. Raises Lost if it does not respond, and Unsendable for an invalid path."""
        if not outgoing.target.startswith("/") or outgoing.target.startswith("//"):
            raise Unsendable(f"This is not a valid path on {self._host}. Nothing was sent.")
        status = 0
        headers: dict[str, str] = {}
        body_chunks: list[bytes] = []

        is_body_sent, ended = False, asyncio.Event()
        content = outgoing.content
        body_parts = _iterate([content or b""]) if isinstance(content, bytes | None) else aiter(content)

        async def receive() -> Message:
            nonlocal is_body_sent
            if is_body_sent:
                await ended.wait()
                return {"type": "http.disconnect"}
            part = await anext(body_parts, None)
            is_body_sent = part is None
            return {"type": "http.request", "body": part or b"", "more_body": not is_body_sent}

        async def send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                for raw_name, raw_value in message.get("headers", ()):
                    name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
                    headers[name] = f"{headers[name]}, {value}" if name in headers else value
            elif message["type"] == "http.response.body":
                body_chunks.append(message.get("body", b""))
                if not message.get("more_body", False):
                    ended.set()

        await self._application(self._scope(outgoing), receive, send)
        if not status:
            raise Lost(f"{self._host} did not respond. {next_step_after(outgoing.only_reads)}")
        yield StreamedResponse(status, headers, _iterate(body_chunks))

    async def aclose(self) -> None:
        """Do nothing, because there are no connections."""

    def _scope(self, outgoing: OutgoingRequest) -> Message:
        path, _, query = outgoing.target.partition("?")
        headers = {"host": f"{self._host}:{self._port}", **outgoing.headers}
        if isinstance(outgoing.content, bytes):
            headers["content-length"] = str(len(outgoing.content))
        if self._token is not None:
            headers["authorization"] = f"Bearer {self._token.get_secret_value()}"
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": outgoing.method,
            "scheme": self._scheme,
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [(name.lower().encode("ascii"), value.encode("latin-1")) for name, value in headers.items()],
            "client": ("127.0.0.1", 0),
            "server": (self._host, self._port),
        }


async def _iterate(parts: list[bytes]) -> AsyncIterator[bytes]:
    for part in parts:
        yield part


MIB = 1024 * 1024
MAX_LIST_BYTES = 8 * MIB
MAX_PAGE_BYTES = 16 * MIB
MAX_ERROR_BYTES = 64 * 1024
MAX_SMALL_BODY_BYTES = 2 * MIB
"""A body with more bytes than this is large. A client reads only one large body at a time."""
_DECOMPRESSION_STEP = MIB
"""Number of bytes that are decompressed before other tasks may run."""
_GZIP_WBITS = 31
THREAD_PARSING_BYTES = 256 * 1024
"""Maximum size, in bytes, of a body that is parsed on the event loop. A larger body is parsed in a thread."""


async def read_body(
    response: StreamedResponse, max_bytes: int, host: str, lock_large_body: Callable[[], Awaitable[object]]
) -> bytes:
    """Return the body, decompressed. Call `lock_large_body` once if the body is large. Raises BadResponse if the body
    is damaged, has an unsupported encoding, or has more than `max_bytes`."""
    chunks = limited_chunks(response, max_bytes, _too_large(host, max_bytes))
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("identity", ""):
        decoded_chunks = chunks
    elif encoding in ("gzip", "x-gzip"):
        decoded_chunks = _decompress(chunks, host)
    else:
        raise BadResponse(f"{host} sent a response in an unsupported encoding. Report this to the server admin.")
    parts: list[bytes] = []
    size = 0
    async for part in decoded_chunks:
        size += len(part)
        if size > max_bytes:
            parts.clear()  # frees the memory, because the traceback of the error keeps this function's variables
            raise _too_large(host, max_bytes)
        if size - len(part) <= MAX_SMALL_BODY_BYTES < size:
            await lock_large_body()
        parts.append(part)
    return b"".join(parts)


async def limited_chunks(
    response: StreamedResponse, max_bytes: int, too_large: BadResponse
) -> AsyncGenerator[bytes, None]:
    """Yield the body in chunks, still compressed. Raises `too_large` if they or `content-length` exceed `max_bytes`."""
    length = response.headers.get("content-length", "")
    if length.isascii() and length.isdecimal() and (len(length) > 15 or int(length) > max_bytes):
        raise too_large
    size = 0
    async for chunk in response.chunks:
        size += len(chunk)
        if size > max_bytes:
            raise too_large
        yield chunk


async def discard(response: StreamedResponse) -> None:
    """Read a body and ignore it, to use the connection again. Stops after `MAX_ERROR_BYTES` or an error."""
    size = 0
    try:
        async for chunk in response.chunks:
            size += len(chunk)
            if size > MAX_ERROR_BYTES:
                return
    except ApiError:
        return  # the body is not needed


async def error_message(response: StreamedResponse, host: str) -> str:
    """Return the sanitized error message in a response's body. Empty if there is none, or if the body is unreadable."""
    try:
        body = await read_body(response, MAX_ERROR_BYTES, host, asyncio.Lock().acquire)
        return message_in(body, response.headers)
    except ApiError:
        return ""


def message_in(body: bytes, headers: Mapping[str, str]) -> str:
    """Return the message in a body such as `{"error": {"message": "Not found"}}`, sanitized. Empty if there is none."""
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
    decompressor = zlib.decompressobj(_GZIP_WBITS)
    async for chunk in chunks:
        while chunk:
            if decompressor.eof:
                raise BadResponse(f"{host} sent more than one response body. Try again.")
            try:
                part = decompressor.decompress(chunk, _DECOMPRESSION_STEP)
            except zlib.error:
                raise BadResponse(f"The response from {host} is damaged. Try again.") from None
            yield part
            if len(part) == _DECOMPRESSION_STEP:
                await asyncio.sleep(0)
            chunk = decompressor.unconsumed_tail or decompressor.unused_data
    if not decompressor.eof:
        raise TruncatedResponse(f"The response from {host} is incomplete. Try again.")


def _too_large(host: str, max_bytes: int) -> BadResponse:
    return BadResponse(
        f"The response from {host} is larger than {max_bytes // MIB or 1} MiB and was not read. Request fewer items at a time."
    )


def has_no_body(spec: Spec) -> bool:
    """Return whether the response of an operation never has a body."""
    return spec.response_type in (None, type(None))


def max_body_bytes(spec: Spec) -> int:
    """Return the maximum size of the response body of an operation. 0 if there is no body."""
    response_type = spec.response_type
    if has_no_body(spec):
        return 0
    return MAX_LIST_BYTES if isinstance(response_type, type) and issubclass(response_type, ListPage) else MAX_PAGE_BYTES


async def parse_response(spec: Spec, body: bytes | None, host: str) -> Any:
    """Return a body as an object of the type that `spec` declares. Raises BadResponse if the body does not match."""
    if has_no_body(spec):
        return None
    if not body:
        raise BadResponse(f"{host} sent an empty response to {spec.name}. Refresh to see the current state.")
    try:
        if len(body) > THREAD_PARSING_BYTES:
            return await run_in_thread(lambda: decode_response(spec.codec, body))
        return decode_response(spec.codec, body)
    except ValidationError as error:
        raise BadResponse(_unreadable_message(error, spec, host)) from None
    except ValueError:
        raise BadResponse(_not_json_message(host)) from None


async def parse_body(body: bytes, host: str) -> Any:
    """Return the JSON value in a body. None if the body is empty. Raises BadResponse."""
    if not body:
        return None
    try:
        if len(body) > THREAD_PARSING_BYTES:
            return await run_in_thread(lambda: json_of(body))
        return json_of(body)
    except ValueError:
        raise BadResponse(_not_json_message(host)) from None


def items_of(page: Any, host: str) -> tuple[list[Any], object]:
    """Return the items on a page of a list, and the cursor of the next page: None on the last page, empty if the cursor
    is unreadable. Raises BadResponse."""
    if not isinstance(page, dict) or not isinstance(page.get("items"), list):
        raise BadResponse(f"{host} did not return a list. Check the base URL.")
    next_page = page.get("next")
    # An empty cursor says that there is a next page, but that its cursor is unreadable.
    return page["items"], (next_page.get("page") or "") if isinstance(next_page, dict) else next_page


def _unreadable_message(error: ValidationError, spec: Spec, host: str) -> str:
    first_error = error.errors(include_input=False, include_context=False, include_url=False)[0]
    where = ".".join(map(str, first_error["loc"]))
    problem = f"{where}: {first_error['msg']}" if where else first_error["msg"]
    return f"Could not read the response from {host} to {spec.name} ({problem}). Update Octavo, then try again."


def _not_json_message(host: str) -> str:
    return f"{host} did not return valid JSON. Check the base URL, then try again."
