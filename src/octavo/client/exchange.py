"""Sends one API request, with all attempts, waits and redirects. Also downloads files from URLs in responses, and uploads
files to such URLs.

The token is sent only to its own origin, and never with an upload. URLs of other hosts must use https. The name of such
a host is resolved once, and its IP address must be public. So a hostile response cannot make Octavo connect to a
machine in the local network. Redirects of downloads are checked in the same way. Redirects of uploads are not followed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit, urlunsplit

from pydantic import SecretStr

from octavo.api.activity import Activity
from octavo.api.addresses import is_public, request_target
from octavo.api.errors import ApiError, BadResponse, NotSent, TimedOut, Trace, rejected
from octavo.api.safety import safe_line
from octavo.client import policy, responses
from octavo.client.origin import PORTS, host_of, proxy_for, triple
from octavo.client.responses import Answer, Carrier, Outgoing
from octavo.concurrency import run_in_thread

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport

NO_CONTENT_STATUSES = frozenset({204, 205})
"""Statuses without a body. After a delete, both mean that the object is deleted."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})
HOPS = 3
_REQUEST_IDS = ("x-request-id", "request-id", "x-correlation-id", "cf-ray")


@dataclass(frozen=True)
class ExchangeContext:
    """The origin, clock, random numbers and retry budget that exchanges use. Tests replace them."""

    origin: str
    sleep: Callable[[float], Awaitable[None]]
    clock: Callable[[], float]
    now: Callable[[], datetime]
    rng: Callable[[], float]
    budget: policy.Budget

    @property
    def host(self) -> str:
        return host_of(self.origin)


class _RetryNeeded(Exception):
    """Raised to send the request again after `delay` seconds."""

    def __init__(self, delay: float) -> None:
        self.delay = delay


class Exchange:
    """One request. It is sent until it succeeds or must not be retried."""

    def __init__(
        self,
        outgoing: Outgoing,
        route: str,
        deadline: float,
        context: ExchangeContext,
        *,
        cap: int,
        turn: responses.LargeTurn,
    ) -> None:
        """`cap` is the maximum size of the body in bytes. If it is 0, the body of a successful response is ignored.
        `turn` is given back before each attempt. The caller gives it back at the end."""
        self.outgoing = outgoing
        self.headers: Mapping[str, str] = {}
        """Headers of the last response."""
        self._route = route
        self._cap = cap
        self._turn = turn
        self._deadline = deadline
        self._context = context
        self._began = context.clock()
        self._attempt = 0
        self._status: int | None = None
        self._size = 0
        self._error = ""
        self._given_up = False

    async def run(self, carrier: Carrier) -> bytes | None:
        """Return the body, or None if the response has none. Raises ApiError."""
        limit = asyncio.timeout(self._deadline)
        try:
            async with limit:
                while True:
                    try:
                        return await self._attempt_once(carrier)
                    except _RetryNeeded as again:
                        await self._context.sleep(again.delay)
        except TimeoutError:
            if not limit.expired():
                raise
        raise TimedOut(policy.too_slow(self._context.host, self._deadline, self.outgoing.method))

    def failed(self, error: ApiError) -> ApiError:
        """Return `error` with the method, the route and the attempts of this request."""
        self._error = str(error)
        known = {"method": self.outgoing.method, "route": self._route, "request_id": self._request_id}
        status = {} if self._status is None else {"status": self._status}
        return error.with_trace(**known, **status, attempts=self._attempt, elapsed=self.elapsed)

    def record_cancel(self) -> None:
        """Record that the caller canceled the request."""
        self._error, self._given_up = "The API request was canceled.", True

    def activity(self) -> Activity:
        """Return the log entry of this request."""
        return Activity(
            moment=self._context.now(),
            method=self.outgoing.method,
            route=self._route,
            status=self._status,
            ms=self.elapsed * 1000,
            attempts=self._attempt,
            request_id=self._request_id,
            error=self._error,
            size=self._size,
            given_up=self._given_up,
        )

    @property
    def status(self) -> int | None:
        """Status of the last response. None if there was no response."""
        return self._status

    @property
    def elapsed(self) -> float:
        """Return the seconds since the first attempt."""
        return self._context.clock() - self._began

    @property
    def _request_id(self) -> str:
        return next((safe_line(self.headers[name])[:128] for name in _REQUEST_IDS if self.headers.get(name)), "")

    async def _attempt_once(self, carrier: Carrier) -> bytes | None:
        self._attempt += 1
        self._turn.give_back()
        self._status, self.headers = None, {}
        try:
            return await self._follow_redirects(carrier)
        except ApiError as error:
            if self._status is not None and self._status >= 400:
                raise
            decision = policy.decide_after_error(
                error,
                method=self.outgoing.method,
                attempt=self._attempt,
                elapsed=self.elapsed,
                deadline=self._deadline,
                rng=self._context.rng,
            )
            self._follow(decision)
            raise

    async def _follow_redirects(self, carrier: Carrier) -> bytes | None:
        outgoing = self.outgoing
        for _ in range(HOPS + 1):
            async with carrier.send(outgoing) as answer:
                self._status, self.headers = answer.status, answer.headers
                if answer.status in NO_CONTENT_STATUSES or (not self._cap and 200 <= answer.status < 300):
                    await responses.discard(answer)
                    return None
                if 200 <= answer.status < 300:
                    content = await responses.read_body(answer, self._cap, self._context.host, self._turn)
                    self._size = len(content)
                    return content
                if answer.status >= 400:
                    await self._raise_for_status(answer)
                target = self._redirect_target(answer, outgoing)
                await responses.discard(answer)
            outgoing = replace(outgoing, target=target)
        raise BadResponse(f"{self._context.host} sent too many redirects. Check the base URL.")

    async def _raise_for_status(self, answer: Answer) -> None:
        """Raise the error for an error status, or `_RetryNeeded` if the request must be retried."""
        now = self._context.now()
        message = await responses.error_message(answer, self._context.host)
        decision = policy.decide_after_status(
            answer.status,
            answer.headers,
            method=self.outgoing.method,
            attempt=self._attempt,
            elapsed=self.elapsed,
            deadline=self._deadline,
            now=now,
            rng=self._context.rng,
        )
        self._follow(decision)
        asked = policy.requested_wait(answer.headers, now)
        retry_at = None if asked is None else now + timedelta(seconds=min(asked, policy.MAX_RETRY_SECONDS))
        again = policy.retry_sentence(retry_at, now) if retry_at is not None else ""
        sentence = policy.refusal(self._context.host, answer.status, message, again, self.outgoing.method)
        raise rejected(sentence, Trace(status=answer.status, retry_at=retry_at))

    def _follow(self, decision: policy.Decision) -> None:
        if decision.retry and self._context.budget.take():
            raise _RetryNeeded(decision.delay)

    def _redirect_target(self, answer: Answer, outgoing: Outgoing) -> str:
        """Return the target of the redirect of a read in the same origin. Raises BadResponse for all other redirects,
        so that the token is not sent to another origin."""
        location = answer.headers.get("location", "")
        elsewhere = "an invalid URL"
        try:
            new = urljoin(self._context.origin + outgoing.target, location)
            scheme, host, port = triple(new)
            elsewhere = "" if (scheme, host, port) == triple(self._context.origin) else host
        except ValueError:
            new = ""
        parts = urlsplit(new)
        may = answer.status in REDIRECTS and outgoing.method in policy.READS and location and "@" not in parts.netloc
        if elsewhere or not may:
            raise BadResponse(policy.redirected(self._context.host, elsewhere, answer.status))
        return urlunsplit(("", "", parts.path or "/", parts.query, ""))


TRANSFER_HOPS = 5


async def download(
    url: str, most: int, *, origin: str, carrier: Carrier, agent: str, ca_file: Path | None
) -> AsyncGenerator[bytes, None]:
    """Download `url`, and yield its bytes. `carrier` is used for URLs of `origin`. Raises ApiError, also if there are
    more than `most` bytes."""
    base = url
    for _ in range(TRANSFER_HOPS + 1):
        parts = split_url(base, url)
        base = parts.geturl()
        home = is_of_origin(parts, origin)
        asked = carrier if home else await connect_to(parts, ca_file)
        headers = {"accept": "*/*", "accept-encoding": "identity", "user-agent": agent}
        try:
            async with asked.send(Outgoing("GET", request_target(parts), headers)) as answer:
                location = answer.headers.get("location", "") if answer.status in REDIRECTS else ""
                if not location:
                    async with aclosing(await _content(answer, most, parts.netloc, home=home)) as chunks:
                        async for chunk in chunks:
                            yield chunk
                    return
                await responses.discard(answer)
                url = location
        finally:
            if not home:
                await asked.aclose()
    raise BadResponse("Could not download the file: too many redirects. Refresh the view, then try again.")


async def _content(answer: Answer, most: int, host: str, *, home: bool) -> AsyncGenerator[bytes, None]:
    if answer.status != 200:
        raise await _refusal(answer, host, home=home)
    if answer.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise BadResponse(
            f"Could not download the file: {host} sent the file compressed, which Octavo does not support. Open the link in a browser."
        )
    too_large = BadResponse(f"The file is larger than {most // responses.MIB} MiB, the download limit.")
    return responses.limited_chunks(answer, most, too_large)


async def _refusal(answer: Answer, host: str, *, home: bool) -> ApiError:
    status = answer.status
    if status < 400:
        return BadResponse(f"Could not download the file: {host} responded with status {status}. Try again.")
    if home:
        return rejected(
            policy.refusal(host, status, await responses.error_message(answer, host)), Trace("GET", "", status)
        )
    await responses.discard(answer)
    sentence = f"Could not download the file from {host} ({status}): the link may have expired. Refresh the view."
    return rejected(sentence, Trace("GET", "", status))


def is_of_origin(parts: SplitResult, origin: str) -> bool:
    """Return whether a URL belongs to `origin`."""
    return _triple(parts) == triple(origin)


def _triple(parts: SplitResult) -> tuple[str, str, int]:
    return triple(f"{parts.scheme}://{parts.netloc}")


def split_url(base: str, url: str) -> SplitResult:
    """Parse `url`, which may be relative to `base`. Raises BadResponse if it is invalid."""
    try:
        parts = urlsplit(urljoin(base, url))
        _triple(parts)
        request_target(parts)
    except ValueError:
        raise BadResponse("The server sent an invalid link to the file. Refresh the view, then try again.") from None
    if "@" in parts.netloc:
        raise BadResponse("The link to the file contains a user name or password, so Octavo did not open it.")
    return parts


async def connect_to(parts: SplitResult, ca_file: Path | None) -> Carrier:
    """Return a carrier for another host, without the token. Raises NotSent, BadResponse or Unsendable."""
    scheme, host, port = _triple(parts)
    if scheme != "https":
        raise BadResponse(f"Could not download the file: the connection to {host} would not be encrypted.")
    ip_address = "" if proxy_for(scheme, host) else await run_in_thread(lambda: _resolve(host, port))
    at = f"[{host}]" if ":" in host else host
    origin = f"https://{at}" + ("" if port == PORTS["https"] else f":{port}")
    return await open_carrier(origin, None, ca_file=ca_file, ip_address=ip_address)


async def open_carrier(
    origin: str,
    token: SecretStr | None,
    *,
    transport: AsyncBaseTransport | None = None,
    ca_file: Path | None = None,
    ip_address: str = "",
) -> Carrier:
    """Return an `HttpCarrier` with these arguments, created in a background thread. Raises Unsendable."""

    def create() -> Carrier:
        from octavo.client.http import HttpCarrier  # lazy: httpx, 0.1 s

        return HttpCarrier(origin, token, transport=transport, ca_file=ca_file, ip_address=ip_address)

    return await run_in_thread(create)


def _resolve(host: str, port: int) -> str:
    """Return the public IP address of a host. Raises NotSent if the name cannot be resolved, and BadResponse if the
    address is not public."""
    try:
        ip_addresses = [
            str(socket_address[0]) for *_, socket_address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        ]
    except (OSError, UnicodeError):
        raise NotSent(f"Could not find {host}. Check your network, then try again.") from None
    if not ip_addresses or not all(map(is_public, ip_addresses)):
        raise BadResponse(f"Could not download the file: {host} is on a private network.")
    return ip_addresses[0]


async def upload(
    url: str,
    content: AsyncIterable[bytes],
    size: int,
    kind: str,
    *,
    origin: str,
    keyless: Carrier,
    agent: str,
    ca_file: Path | None,
) -> None:
    """Upload `size` bytes of the media type `kind` to `url`, without retries. `keyless` is the carrier for URLs of
    `origin`, without a token. Raises ApiError."""
    parts = split_url(url, url)
    home = is_of_origin(parts, origin)
    asked = keyless if home else await connect_to(parts, ca_file)
    headers = {"content-type": kind, "content-length": str(size), "user-agent": agent, "accept": "*/*"}
    try:
        async with asked.send(Outgoing("PUT", request_target(parts), headers, content)) as answer:
            status, host = answer.status, parts.netloc
            message = await responses.error_message(answer, host) if home and status >= 400 else ""
            if status < 400:
                await responses.discard(answer)
    finally:
        if not home:
            await asked.aclose()
    if status in REDIRECTS or status < 200:
        raise BadResponse(
            f"Could not upload the file: {host} redirected the upload. Octavo does not follow redirects when it uploads a file."
        )
    if status >= 400:
        sentence = (
            policy.refusal(host, status, message)
            if home
            else f"Could not upload the file: {host} responded with status {status}."
        )
        raise rejected(sentence, Trace("PUT", "", status))
