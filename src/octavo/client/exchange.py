"""Sends an API request with its retries and redirects. Downloads and uploads files at URLs that come from responses.

The token is sent only to its own origin, and never with an upload. Files of other hosts must have an https URL, and the
IP addresses of these hosts must be public. So a hostile response cannot make Octavo connect to a computer in the local
network. A host name is resolved only once, so that the checked address is also the address that is used. With a proxy,
addresses are not checked.

Redirects of downloads are checked like URLs. Redirects of uploads are not followed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from pydantic import SecretStr

from octavo import __version__
from octavo.api.activity import Activity
from octavo.api.errors import MAY_BE_DONE, ApiError, BadResponse, NotSent, TimedOut, Trace, rejected
from octavo.api.safety import is_public, request_target, safe_line
from octavo.client import policy, responses
from octavo.client.origin import PORTS, host_of, proxy_variable_for, split_origin
from octavo.client.responses import OutgoingRequest, StreamedResponse, Transport
from octavo.concurrency import run_in_thread

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

USER_AGENT = f"octavo/{__version__}"
NO_CONTENT_STATUSES = frozenset({204, 205})
"""HTTP statuses of responses without a body. After a delete, they mean that the item does not exist anymore."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 3
_REQUEST_ID_HEADERS = ("x-request-id", "request-id", "x-correlation-id", "cf-ray")


@dataclass(frozen=True)
class ExchangeContext:
    """Values that all requests of a client have in common: the origin, the clocks and the retry budget."""

    origin: str
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    now: Callable[[], datetime]
    rng: Callable[[], float]
    budget: policy.RetryBudget
    large_body_lock: asyncio.Lock
    """Lock that a request holds while its large response body is in memory."""

    @property
    def host(self) -> str:
        return host_of(self.origin)


class _RetryNeeded(Exception):
    """Raised if the request must be sent again after `delay` seconds."""

    def __init__(self, delay: float) -> None:
        self.delay = delay


class Exchange:
    """An API request with its retries and redirects."""

    def __init__(
        self, outgoing: OutgoingRequest, route: str, deadline: float, context: ExchangeContext, *, max_bytes: int
    ) -> None:
        """`max_bytes` is the maximum size of the body. If it is 0, the body of a successful response is ignored."""
        self.outgoing = outgoing
        self.headers: Mapping[str, str] = {}
        """Headers of the response to the last attempt, by lower-case name. Empty if there was no response."""
        self._route = route
        self._max_bytes = max_bytes
        self.locks = AsyncExitStack()
        """Holds the lock for a large body, until the caller closes this stack."""
        self._deadline = deadline
        self._context = context
        self._began = context.clock()
        self._attempt = 0
        self.status: int | None = None
        """Status of the response to the last attempt. None if there was no response."""
        self._size = 0
        self._error = ""
        self._given_up = False

    async def run(self, transport: Transport) -> bytes | None:
        """Send the request, with retries, and return the response body. None without a body. Raises ApiError."""
        limit = asyncio.timeout(self._deadline)
        try:
            async with limit:
                while True:
                    try:
                        return await self._attempt_once(transport)
                    except _RetryNeeded as again:
                        await self._context.sleep(again.delay)
        except TimeoutError:
            if not limit.expired():
                raise
        raise TimedOut(policy.timeout_message(self._context.host, self._deadline, self.outgoing.only_reads))

    def record_error(self, error: ApiError) -> ApiError:
        """Remember an error for the log. Return it with the method, route and number of attempts. If a response to a
        write is unreadable, the message no longer says to try again."""
        if isinstance(error, BadResponse) and not self.outgoing.only_reads:
            cause = str(error).removesuffix(MAY_BE_DONE).rstrip().removesuffix(" Try again.")
            error.args = (f"{cause.replace(', then try again.', '.')} {MAY_BE_DONE}",)
        self._error = str(error)
        request_fields = {"method": self.outgoing.method, "only_reads": self.outgoing.only_reads, "route": self._route}
        status_field = {} if self.status is None else {"status": self.status}
        attempt_fields = {"request_id": self._request_id, "attempts": self._attempt, "elapsed": self.elapsed}
        return error.with_trace(**request_fields, **status_field, **attempt_fields)

    def record_cancel(self) -> None:
        """Remember for the log that the caller canceled the request."""
        self._error, self._given_up = "The API request was canceled.", True

    def activity(self) -> Activity:
        """Return the log entry of this request."""
        return Activity(
            moment=self._context.now(),
            method=self.outgoing.method,
            route=self._route,
            status=self.status,
            ms=self.elapsed * 1000,
            attempts=self._attempt,
            request_id=self._request_id,
            error=self._error,
            size=self._size,
            only_reads=self.outgoing.only_reads,
            given_up=self._given_up,
        )

    @property
    def elapsed(self) -> float:
        """Seconds since the first attempt."""
        return self._context.clock() - self._began

    @property
    def _request_id(self) -> str:
        return next((safe_line(self.headers[name])[:128] for name in _REQUEST_ID_HEADERS if self.headers.get(name)), "")

    async def _attempt_once(self, transport: Transport) -> bytes | None:
        self._attempt += 1
        await self.locks.aclose()
        self.status, self.headers = None, {}
        try:
            return await self._follow_redirects(transport)
        except ApiError as error:
            if self.status is not None and self.status >= 400:
                raise
            if policy.is_retried_after_error(error, only_reads=self.outgoing.only_reads):
                self._retry_if_allowed(None)
            raise

    async def _follow_redirects(self, transport: Transport) -> bytes | None:
        outgoing = self.outgoing
        for _ in range(MAX_REDIRECTS + 1):
            async with transport.send(outgoing) as response:
                self.status, self.headers = response.status, response.headers
                if response.status in NO_CONTENT_STATUSES or (not self._max_bytes and 200 <= response.status < 300):
                    await responses.discard(response)
                    return None
                if 200 <= response.status < 300:
                    content = await responses.read_body(
                        response,
                        self._max_bytes,
                        self._context.host,
                        lambda: self.locks.enter_async_context(self._context.large_body_lock),
                    )
                    self._size = len(content)
                    return content
                if response.status >= 400:
                    await self._raise_for_status(response)
                target = self._redirect_target(response, outgoing)
                await responses.discard(response)
            outgoing = replace(outgoing, target=target)
        raise BadResponse(f"{self._context.host} sent too many redirects. Check the base URL.")

    async def _raise_for_status(self, response: StreamedResponse) -> None:
        """Raise the error for an error status, or `_RetryNeeded` if a retry may help."""
        now = self._context.now()
        message = await responses.error_message(response, self._context.host)
        if (
            response.status == 403
            and self.outgoing.only_reads
            and "html" in response.headers.get("content-type", "").lower()
        ):
            # The API sends JSON. So this response does not show that the user lacks a permission.
            raise BadResponse(f"A firewall before {self._context.host} blocked the request (403). Check your network.")
        wait = policy.requested_wait(response.headers, now)
        if policy.is_retried_after_status(response.status, only_reads=self.outgoing.only_reads):
            self._retry_if_allowed(wait)
        retry_at = None if wait is None else now + timedelta(seconds=min(wait, policy.MAX_RETRY_SECONDS))
        retry_hint = policy.retry_sentence(retry_at, now) if retry_at is not None else ""
        sentence = policy.refusal_message(
            self._context.host, response.status, message, retry_hint, only_reads=self.outgoing.only_reads
        )
        raise rejected(sentence, Trace(status=response.status, retry_at=retry_at))

    def _retry_if_allowed(self, wait: float | None) -> None:
        """Raise `_RetryNeeded` if time and budget allow a retry. `wait` is the time the server asks for, or None."""
        delay = policy.retry_delay(self._attempt, wait, self._deadline - self.elapsed, self._context.rng)
        if delay is not None and self._context.budget.take():
            raise _RetryNeeded(delay)

    def _redirect_target(self, response: StreamedResponse, outgoing: OutgoingRequest) -> str:
        """Return the path and query of a redirect. Raises BadResponse for other responses and forbidden redirects."""
        if response.status not in REDIRECTS:
            sentence = f"{self._context.host} sent an unexpected response ({response.status})."
            raise BadResponse(f"{sentence} Check the base URL and the proxy settings.")
        location = response.headers.get("location", "")
        other_host = "an invalid URL"
        try:
            new_url = urljoin(self._context.origin + outgoing.target, location)
            scheme, host, port = split_origin(new_url)
            other_host = "" if (scheme, host, port) == split_origin(self._context.origin) else host
        except ValueError:
            new_url = ""
        parts = urlsplit(new_url)
        is_allowed = outgoing.method in policy.READS and location and "@" not in parts.netloc
        if other_host or not is_allowed:
            raise BadResponse(policy.redirect_message(self._context.host, other_host, response.status))
        return urlunsplit(("", "", parts.path or "/", parts.query, ""))


MAX_TRANSFER_REDIRECTS = 5


async def download(
    url: str, max_bytes: int, *, origin: str, origin_transport: Transport, ca_file: Path | None
) -> AsyncGenerator[bytes, None]:
    """Yield the bytes of the file at `url`. Requests to `origin` use `origin_transport`. Requests to other servers use
    new connections that trust `ca_file`. Raises ApiError, also after more than `max_bytes`."""
    base = url
    for _ in range(MAX_TRANSFER_REDIRECTS + 1):
        parts = split_url(base, url)
        base = parts.geturl()
        is_own_origin = is_of_origin(parts, origin)
        chosen_transport = origin_transport if is_own_origin else await connect_to(parts, ca_file)
        headers = {"accept": "*/*", "accept-encoding": "identity", "user-agent": USER_AGENT}
        try:
            async with chosen_transport.send(OutgoingRequest("GET", request_target(parts), headers)) as response:
                location = response.headers.get("location", "") if response.status in REDIRECTS else ""
                if not location:
                    async with aclosing(
                        await _content_chunks(response, max_bytes, parts.netloc, is_own_origin=is_own_origin)
                    ) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
                await responses.discard(response)
                url = location
        finally:
            if not is_own_origin:
                await chosen_transport.aclose()
    raise BadResponse("Could not download the file: too many redirects. Refresh the view, then try again.")


async def _content_chunks(
    response: StreamedResponse, max_bytes: int, host: str, *, is_own_origin: bool
) -> AsyncGenerator[bytes, None]:
    if response.status != 200:
        raise await _refusal_error(response, host, is_own_origin=is_own_origin)
    if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise BadResponse(
            f"Could not download the file: {host} sent the file compressed, which Octavo does not support. Open the link in a browser."
        )
    too_large = BadResponse(f"The file is larger than {max_bytes // responses.MIB} MiB, the download limit.")
    return responses.limited_chunks(response, max_bytes, too_large)


async def _refusal_error(response: StreamedResponse, host: str, *, is_own_origin: bool) -> ApiError:
    status = response.status
    if status < 400:
        return BadResponse(f"Could not download the file: {host} responded with status {status}. Try again.")
    if is_own_origin:
        return rejected(
            policy.refusal_message(host, status, await responses.error_message(response, host)),
            Trace("GET", "", status),
        )
    await responses.discard(response)
    sentence = f"Could not download the file from {host} ({status}): the link may have expired. Refresh the view."
    return rejected(sentence, Trace("GET", "", status))


def is_of_origin(parts: SplitResult, origin: str) -> bool:
    """Return whether a URL has the scheme, host and port of `origin`."""
    return _split_origin_of(parts) == split_origin(origin)


def _split_origin_of(parts: SplitResult) -> tuple[str, str, int]:
    return split_origin(f"{parts.scheme}://{parts.netloc}")


def split_url(base: str, url: str) -> SplitResult:
    """Return the parts of `url`, which may be relative to `base`. Raises BadResponse if invalid or with a user name."""
    try:
        parts = urlsplit(urljoin(base, url))
        _split_origin_of(parts)
        request_target(parts)
    except ValueError:
        raise BadResponse("The server sent an invalid link to the file. Refresh the view, then try again.") from None
    if "@" in parts.netloc:
        raise BadResponse("The link to the file contains a user name or password, so Octavo did not open it.")
    return parts


async def connect_to(parts: SplitResult, ca_file: Path | None) -> Transport:
    """Return a transport without a token to the host of a URL. Raises BadResponse if the connection is not allowed, and
    NotSent or Unsendable if it fails."""
    scheme, host, port = _split_origin_of(parts)
    if scheme != "https":
        raise BadResponse(f"Octavo did not open the link to the file: the connection to {host} would not be encrypted.")
    ip_address = "" if proxy_variable_for(scheme, host) else await run_in_thread(lambda: _resolve(host, port))
    authority = f"[{host}]" if ":" in host else host
    origin = f"https://{authority}" + ("" if port == PORTS["https"] else f":{port}")
    return await open_transport(origin, None, ca_file=ca_file, ip_address=ip_address)


async def open_transport(
    origin: str,
    token: SecretStr | None,
    *,
    httpx_transport: AsyncBaseTransport | None = None,
    ca_file: Path | None = None,
    ip_address: str = "",
) -> Transport:
    """Return a new `HttpTransport`. A thread creates it, because httpx loads slowly. Raises Unsendable."""

    def create() -> Transport:
        from octavo.client.http import HttpTransport  # lazy: loads httpx (0.1 s)

        return HttpTransport(origin, token, httpx_transport=httpx_transport, ca_file=ca_file, ip_address=ip_address)

    return await run_in_thread(create)


def _resolve(host: str, port: int) -> str:
    """Return the IP address of a host. Raises NotSent for an unknown host, BadResponse for a private address."""
    try:
        ip_addresses = [
            str(socket_address[0]) for *_, socket_address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        ]
    except (OSError, UnicodeError):
        raise NotSent(f"There is no address for {host}. Check your network, then try again.") from None
    if not ip_addresses or not all(map(is_public, ip_addresses)):
        raise BadResponse(f"Octavo did not open the link to the file: {host} is on a private network.")
    return ip_addresses[0]


async def upload(
    url: str,
    content: AsyncIterable[bytes],
    size: int,
    media_type: str,
    *,
    origin: str,
    origin_transport: Transport,
    ca_file: Path | None,
) -> None:
    """Upload `size` bytes to `url`, without a retry. For a `url` on the server `origin`, use `origin_transport`,
    a connection that sends no token. Raises ApiError."""
    parts = split_url(url, url)
    is_own_origin = is_of_origin(parts, origin)
    chosen_transport = origin_transport if is_own_origin else await connect_to(parts, ca_file)
    headers = {"content-type": media_type, "content-length": str(size), "user-agent": USER_AGENT, "accept": "*/*"}
    try:
        async with chosen_transport.send(OutgoingRequest("PUT", request_target(parts), headers, content)) as response:
            status, host = response.status, parts.netloc
            message = await responses.error_message(response, host) if is_own_origin and status >= 400 else ""
            if status < 400:
                await responses.discard(response)
    finally:
        if not is_own_origin:
            await chosen_transport.aclose()
    if status in REDIRECTS or status < 200:
        raise BadResponse(
            f"Could not upload the file: {host} redirected the upload. Octavo does not follow redirects when it uploads a file."
        )
    if status >= 400:
        sentence = (
            policy.refusal_message(host, status, message)
            if is_own_origin
            else f"Could not upload the file: {host} responded with status {status}."
        )
        raise rejected(sentence, Trace("PUT", "", status, only_reads=False))
