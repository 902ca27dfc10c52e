"""The API client. It sends operations, and limits the number of simultaneous requests and of retries.

    client = Client("https://api.gitbook.com", token)
    comment = await client(comments.Get(at=space, comment_id=...))
    async for page in client.pages(comments.List(at=space)): ...

Every failure raises an `ApiError` whose message is a sentence. httpx is loaded with the first request.
`octavo.data.sync_queue` decides the order of background requests.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic import SecretStr

from octavo import redaction
from octavo.api.activity import Activity
from octavo.api.errors import ApiError, BadResponse, Invalid, ReadOnly, Rejected, TimedOut
from octavo.api.operation import SPECS, Listing, ListPage, Operation, identity, read_pages, walk_pages
from octavo.api.wire import NothingChanged, encode, path_template
from octavo.client import exchange, policy, responses
from octavo.client.exchange import Exchange, ExchangeContext
from octavo.client.origin import origin_of
from octavo.client.policy import RateLimit, RetryBudget, Unsendable, background_wait, clock_offset, read_limits
from octavo.client.responses import (
    MAX_PAGE_BYTES,
    Application,
    InProcessTransport,
    OutgoingRequest,
    RawRequest,
    RawResponse,
    Transport,
)
from octavo.concurrency import MAX_REQUESTS

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport


T = TypeVar("T")
Item = TypeVar("Item")
_Read: TypeAlias = Callable[[bytes | None, Exchange], Awaitable[T]]
"""Function that converts a response body, or None if there is no body, to the result of a request."""
DEFAULT_DEADLINE = 30.0
MAX_ACTIVITIES = 200
MAX_DOWNLOAD_SECONDS = 1800
"""Maximum time of a download, in seconds."""


class Client:
    """Sends operations: `await client(op)` returns the response of `op`, or raises an `ApiError`."""

    def __init__(
        self,
        origin: str,
        token: SecretStr | None,
        *,
        transport: Application | AsyncBaseTransport | None = None,
        ca_file: Path | None = None,
        read_only_reason: str = "",
        on_activity: Callable[[Activity], None] | None = None,
        deadline: float = DEFAULT_DEADLINE,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        rng: Callable[[], float] = random.random,
    ) -> None:
        """`transport` replaces the network, for example in tests. `read_only_reason` is a sentence that says
        why changes are not allowed, or empty. `deadline` is the time for all attempts of a request, in
        seconds. Without `transport`, raises ValueError if `origin_of` does not accept `origin`."""
        self.origin = origin if transport is not None else origin_of(origin)
        self.activity: deque[Activity] = deque(maxlen=MAX_ACTIVITIES)
        self.on_activity = on_activity
        self.limits: RateLimit | None = None
        """The newest rate limit in the headers of a response. None if no response had one."""
        self._limits_at = (now(), clock())
        """Time at which `limits` was stored, by the clocks `now` and `clock`."""
        self.clock_offset: float | None = None
        """Seconds by which the clock of this machine is ahead of the server's clock. None if unknown."""
        self._running: dict[Exchange, asyncio.Task[Any] | None] = {}
        """The running requests, each with the task that waits for its response. None if no task waits."""
        self._token = token
        self._given_transport = transport
        self._ca_file = ca_file
        self._read_only_reason = read_only_reason
        self._deadline = deadline
        self._context = ExchangeContext(self.origin, sleep, clock, now, rng, RetryBudget(clock), asyncio.Lock())
        self._shared_transport: Transport | None = None
        self._closed = False
        self._transport_lock = asyncio.Lock()
        self._free_requests = asyncio.Semaphore(MAX_REQUESTS)
        if token is not None:
            redaction.remember_token(token.get_secret_value())

    async def __call__(self, op: Operation[T]) -> T:
        """Send `op` and return its response. Raises ApiError, such as ReadOnly for a write that is not allowed."""
        spec, host = SPECS[type(op)], self._context.host
        if not spec.only_reads:
            self._check_writable()

        async def read(body: bytes | None, exchange: Exchange) -> T:
            if spec.method == "DELETE" and exchange.status == 202:
                raise Rejected(f"{host} asks the organization's admins first, so nothing was removed yet.")
            response: T = await responses.parse_response(spec, body, host)
            return response

        return await self._exchange(outgoing_request(op), path_template(op), responses.max_body_bytes(spec), read)

    async def raw(self, request: RawRequest) -> RawResponse:
        """Send `request`, and return the response as JSON with all its fields. Raises ApiError."""
        if not request.outgoing.only_reads:
            self._check_writable()
        return await self._exchange(request.outgoing, request.route, MAX_PAGE_BYTES, self._raw_response)

    def pages(self, op: Listing[Item]) -> AsyncGenerator[ListPage[Item], None]:
        """Yield the pages of a list on demand, without repeated items. Raises ApiError, also for an endless list."""
        return read_pages(self, op, identity=identity)

    async def raw_each(self, request: RawRequest) -> AsyncIterator[Any]:
        """Yield every item of a list as JSON. Raises ApiError, also for an endless list."""

        async def fetch(cursor: str | None) -> tuple[list[Any], object]:
            page = await self.raw(request if cursor is None else request.for_page(cursor))
            return responses.items_of(page.value, self._context.host)

        async for items in walk_pages(fetch, identity):
            for item in items:
                yield item

    async def download(self, url: str, max_bytes: int) -> AsyncGenerator[bytes, None]:
        """Yield the bytes of the file at `url`. After a lost connection, download it again, and leave out what was
        yielded. Raises ApiError, also if the file has more than `max_bytes`, or after `MAX_DOWNLOAD_SECONDS`."""
        options: dict[str, Any] = {"origin_transport": await self._get_transport(), "ca_file": self._ca_file}
        context, size, digest = self._context, 0, sha256()
        ends_at, changed = context.clock() + MAX_DOWNLOAD_SECONDS, BadResponse("The file changed during the download.")
        for attempt in count(1):
            left, repeated = size, sha256()
            try:
                async with aclosing(exchange.download(url, max_bytes, origin=self.origin, **options)) as chunks:
                    async for chunk in chunks:
                        if context.clock() > ends_at:
                            raise TimedOut(f"The download took longer than {MAX_DOWNLOAD_SECONDS // 60} minutes.")
                        new, left = chunk[left:], max(0, left - len(chunk))
                        repeated.update(chunk)
                        digest.update(new)
                        if new and repeated.digest() != digest.digest():
                            raise changed
                        size += len(new)
                        yield new
                if left:
                    raise changed
                return
            except ApiError as error:
                delay = policy.retry_delay(attempt, None, ends_at - context.clock(), context.rng)
                is_retried = policy.is_retried_after_error(error, only_reads=True) and delay is not None
                if not is_retried or not context.budget.take():
                    raise
            await context.sleep(delay or 0.0)

    async def upload(self, url: str, content: AsyncIterable[bytes], size: int, media_type: str) -> None:
        """Upload `size` bytes to a URL from a response, without the token and without a retry. Raises ApiError."""
        self._check_writable()
        transport = await self._build_transport(None)
        try:
            await exchange.upload(
                url, content, size, media_type, origin=self.origin, origin_transport=transport, ca_file=self._ca_file
            )
        finally:
            await transport.aclose()

    async def aclose(self) -> None:
        """Cancel all reads, and close the connections. The client cannot be used again."""
        self._closed = True
        read_tasks = [task for each, task in self._running.items() if task is not None and each.outgoing.only_reads]
        for task in read_tasks:
            if not task.cancelling():  # a second cancel would interrupt the release of the connection
                task.cancel()
        await asyncio.gather(*read_tasks, return_exceptions=True)
        async with self._transport_lock:
            if self._shared_transport is not None:
                await self._shared_transport.aclose()
                self._shared_transport = None

    async def _exchange(self, outgoing: OutgoingRequest, route: str, max_bytes: int, read: _Read[T]) -> T:
        async with self._free_requests:
            exchange = Exchange(outgoing, route, self._deadline, self._context, max_bytes=max_bytes)
            self._running[exchange] = asyncio.current_task()
            try:
                return await read(await exchange.run(await self._get_transport()), exchange)
            except ApiError as error:
                raise exchange.record_error(error) from error.__cause__
            except asyncio.CancelledError:
                exchange.record_cancel()
                raise
            finally:
                await exchange.locks.aclose()
                del self._running[exchange]
                self._record(exchange)

    async def _raw_response(self, body: bytes | None, exchange: Exchange) -> RawResponse:
        assert exchange.status is not None, "there is a response"
        return RawResponse(
            exchange.status, exchange.headers, await responses.parse_body(body or b"", self._context.host)
        )

    def _check_writable(self) -> None:
        if self._read_only_reason:
            raise ReadOnly(self._read_only_reason)

    @property
    def response_wait(self) -> float:
        """Seconds since the oldest running request was sent. 0 if no request is running."""
        return max((each.elapsed for each in self._running), default=0.0)

    @property
    def background_wait(self) -> float:
        """Seconds that background requests must wait because the rate limit is nearly used up. Otherwise 0."""
        stored_at, clock_time = self._limits_at
        # `now` may be set back. `clock` may stop while the computer sleeps.
        now = max(self._context.now(), stored_at + timedelta(seconds=self._context.clock() - clock_time))
        return background_wait(self.limits, now)

    def _record(self, exchange: Exchange) -> None:
        now = self._context.now()
        if (limits := read_limits(exchange.headers, now)) is not None:
            self.limits, self._limits_at = limits, (now, self._context.clock())
        offset = clock_offset(exchange.headers, now)
        self.clock_offset = self.clock_offset if offset is None else offset
        activity = exchange.activity()
        self.activity.append(activity)
        if self.on_activity is not None:
            self.on_activity(activity)

    async def _get_transport(self) -> Transport:
        async with self._transport_lock:
            if self._closed:
                raise Unsendable(f"The connection to {self._context.host} was closed. Restart Octavo to connect again.")
            if self._shared_transport is None:
                self._shared_transport = await self._build_transport(self._token)
            return self._shared_transport

    async def _build_transport(self, token: SecretStr | None) -> Transport:
        given_transport = self._given_transport
        if callable(given_transport):
            return InProcessTransport(self.origin, token, given_transport)
        return await exchange.open_transport(self.origin, token, httpx_transport=given_transport, ca_file=self._ca_file)


def raw_request(op: Operation[Any]) -> RawRequest:
    """Return the request of `op` for `Client.raw`. Raises Invalid as `outgoing_request` does."""
    return RawRequest(outgoing_request(op), path_template(op))


def outgoing_request(op: Operation[Any]) -> OutgoingRequest:
    """Return the HTTP request for `op`, without the token. Raises Invalid if `op` updates no field, or if `op`
    cannot be sent."""
    try:
        request = encode(op)
        content = (
            None if request.body is None else json.dumps(request.body, ensure_ascii=False, allow_nan=False).encode()
        )
    except NothingChanged:
        raise Invalid("Nothing was changed, so nothing was sent.") from None
    except ValueError as error:
        cause = "it is not valid UTF-8" if isinstance(error, UnicodeError) else str(error)
        raise Invalid(f"Could not send this text: {cause}. Correct the text, then try again.") from None
    return replace(outgoing_json(request.method, request.url, content), changes_nothing=SPECS[type(op)].only_reads)


def outgoing_json(method: str, target: str, content: bytes | None) -> OutgoingRequest:
    """Return an HTTP request without the token. `content` is JSON, or None if the request has no body."""
    headers = {"accept": "application/json", "accept-encoding": "gzip", "user-agent": exchange.USER_AGENT}
    if content is not None:
        headers["content-type"] = "application/json"
    return OutgoingRequest(method, target, headers, content)
