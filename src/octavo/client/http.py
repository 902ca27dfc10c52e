"""Sends requests over HTTP. Only this module uses httpx, whose types and errors do not leave it.

If an asyncio task is canceled twice or at a bad moment, httpx does not close its connection. httpx handles the cancel
of an anyio scope correctly. So all calls of httpx run in tasks that are never canceled, inside such scopes
(`run_to_end`).
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Generator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import Context
from http.cookiejar import CookieJar, DefaultCookiePolicy
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import httpx
import truststore
from anyio import CancelScope
from anyio.lowlevel import checkpoint_if_cancelled
from pydantic import SecretStr

from octavo.api.errors import ApiError, Lost, NotSent, ProxyError, TimedOut, TlsError, Trace
from octavo.client.origin import (
    NO_PROXY_PROBLEM,
    PORTS,
    environment_problem,
    host_of,
    is_loopback,
    proxy_variable_for,
    split_origin,
)
from octavo.client.policy import PROXY_WANTS_SIGN_IN, TruncatedResponse, Unsendable, next_step_after
from octavo.client.responses import OutgoingRequest, StreamedResponse

CONNECT_SECONDS = 5.0
READ_SECONDS = 20.0
_TIMEOUT = httpx.Timeout(connect=CONNECT_SECONDS, read=READ_SECONDS, write=READ_SECONDS, pool=CONNECT_SECONDS)
_POOL_LIMITS = httpx.Limits(max_connections=8, max_keepalive_connections=4, keepalive_expiry=4.0)
"""Idle connections are closed after 4 s. Many servers close them after 5 s, and a write on them would then be lost."""

_LOCATION = "octavo.location"

# httpcore would search all module folders for sniffio at each request.
if "sniffio" not in sys.modules and find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]  # Python accepts None, although its type stubs do not

# httpx and httpcore would log URLs, which may contain secrets.
for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class OriginAuth(httpx.Auth):
    """Adds the token to requests. Raises Unsendable for a request to another origin."""

    def __init__(self, origin: str, token: SecretStr) -> None:
        self._origin = split_origin(origin)
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if _origin_of(request.url) != self._origin:
            raise Unsendable("Octavo blocked an API request because your API key is for a different server.")
        request.headers["Authorization"] = f"Bearer {self._token.get_secret_value()}"
        yield request


class _OpenRequest:
    def __init__(self, *, may_have_been_sent: bool) -> None:
        self.scope = CancelScope()
        self.may_have_been_sent = may_have_been_sent
        """True if a part of the request may have been sent."""
        self.settled = asyncio.Event()
        """Set when the response has begun, or the request has failed."""
        self.response: httpx.Response | None = None
        self._streams: list[Any] = []

    async def send(self, http: httpx.AsyncClient, request: httpx.Request, auth: OriginAuth | None) -> httpx.Response:
        request.extensions = {**request.extensions, "trace": self._trace}
        try:
            self.response = await http.send(request, stream=True, auth=auth, follow_redirects=False)
            return self.response
        finally:
            if self.response is None:
                with CancelScope(shield=True):
                    for stream in self._streams:  # httpx does not close the stream if its handshake is canceled
                        await stream.aclose()
            self.settled.set()

    async def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(".connect_tcp.complete"):
            self._streams.append(info["return_value"])
        if event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            # A later cancel would leave the connection in use forever.
            await checkpoint_if_cancelled()
        if event.endswith(".send_request_headers.started"):
            self.may_have_been_sent = True


class HttpTransport:
    """Sends requests to one origin over HTTP, with httpx."""

    def __init__(
        self,
        origin: str,
        token: SecretStr | None,
        *,
        httpx_transport: httpx.AsyncBaseTransport | None = None,
        ca_file: Path | None = None,
        ip_address: str = "",
    ) -> None:
        """`httpx_transport` replaces the network. If `ip_address` is not empty, connections go to this address, and the
        host name is not resolved. Raises Unsendable if environment variables or `ca_file` prevent connections."""
        self._origin = origin
        self._ip_address = ip_address
        self._auth = OriginAuth(origin, token) if token else None
        self._host = host_of(origin)
        scheme, host, _ = split_origin(origin)
        is_this_machine = is_loopback(host)
        if httpx_transport is None and (
            problem := environment_problem(proxies=not is_this_machine, certificates=scheme == "https")
        ):
            raise Unsendable(problem)
        proxy = "" if httpx_transport is not None or is_this_machine else proxy_variable_for(scheme, host)
        self._open_requests: set[_OpenRequest] = set()
        self._closed = False
        self._is_untraced = httpx_transport is not None
        """True if Octavo cannot see whether a request was sent. A request that fails then counts as possibly sent."""
        self._connected_host = f"the proxy in {proxy}" if proxy else self._host
        try:
            self._http = httpx.AsyncClient(
                verify=_ssl_context(ca_file),
                transport=httpx_transport,
                trust_env=not is_this_machine,
                timeout=_TIMEOUT,
                limits=_POOL_LIMITS,
                follow_redirects=False,
                event_hooks={"response": [_hide_location]},
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        except (ValueError, ImportError, httpx.InvalidURL) as error:
            raise Unsendable(NO_PROXY_PROBLEM) from error

    @asynccontextmanager
    async def send(self, outgoing: OutgoingRequest) -> AsyncIterator[StreamedResponse]:
        if self._closed:
            raise self._closed_error()
        open_request = _OpenRequest(may_have_been_sent=self._is_untraced)
        chunks = None
        self._open_requests.add(open_request)
        try:
            with self._translate_errors(outgoing.only_reads):
                work = open_request.send(self._http, self._request(outgoing), self._auth)
                response = await run_in_scope(open_request.scope, work)
            chunks = self._chunks(response, outgoing.only_reads)
            yield StreamedResponse(response.status_code, {**response.headers, **response.extensions[_LOCATION]}, chunks)
        except Canceled:
            if not open_request.may_have_been_sent:
                raise self._closed_error() from None
            step = next_step_after(outgoing.only_reads)
            raise Lost(f"The connection to {self._host} was closed before the response arrived. {step}") from None
        finally:
            self._open_requests.discard(open_request)
            await run_to_end(_release(chunks, open_request.response))

    async def aclose(self) -> None:
        """Close the connections. A running `send` raises Lost if its request may have been sent, else Unsendable."""
        self._closed = True
        await run_to_end(self._cancel_all())

    async def _cancel_all(self) -> None:
        open_requests = tuple(self._open_requests)
        for open_request in open_requests:
            open_request.scope.cancel()
        for open_request in open_requests:
            await open_request.settled.wait()
        await self._http.aclose()

    def _closed_error(self) -> ApiError:
        return Unsendable(f"The connection to {self._host} was closed. Restart Octavo to connect again.")

    def _request(self, outgoing: OutgoingRequest) -> httpx.Request:
        url = self._url_of(outgoing.target)
        if not self._ip_address:
            return self._http.build_request(outgoing.method, url, headers=outgoing.headers, content=outgoing.content)
        # The URL has an IP address, but the certificate has the host name.
        headers = {**outgoing.headers, "host": url.netloc.decode("ascii")}
        return self._http.build_request(
            outgoing.method,
            url.copy_with(host=self._ip_address),
            headers=headers,
            content=outgoing.content,
            extensions={"sni_hostname": url.host},
        )

    def _url_of(self, target: str) -> httpx.URL:
        if target.startswith("/") and not target.startswith("//"):
            url = httpx.URL(self._origin + target)
            if _origin_of(url) == split_origin(self._origin) and url.raw_path.decode("ascii") == target:
                return url
        raise Unsendable(f"This is not a valid path on {self._host}. Nothing was sent.")

    async def _chunks(self, response: httpx.Response, only_reads: bool) -> AsyncGenerator[bytes, None]:
        with self._translate_errors(only_reads, has_response=True):
            raw_chunks = response.aiter_raw()
            while (chunk := await run_in_scope(CancelScope(), _next_chunk(raw_chunks))) is not None:
                yield chunk

    @contextmanager
    def _translate_errors(self, only_reads: bool, *, has_response: bool = False) -> Iterator[None]:
        try:
            yield
        except (httpx.RequestError, httpx.InvalidURL) as error:
            raise _to_api_error(
                error, self._host, self._connected_host, only_reads, has_response=has_response
            ) from error


async def _next_chunk(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


async def _release(chunks: AsyncGenerator[bytes, None] | None, response: httpx.Response | None) -> None:
    if chunks is not None:
        await chunks.aclose()
    if response is not None:
        await response.aclose()


async def _hide_location(response: httpx.Response) -> None:
    """Move the location header of a response to its extensions, because httpx fails at an invalid URL in the header."""
    location = response.headers.pop("location", None)
    response.extensions[_LOCATION] = {} if location is None else {"location": location}


def _origin_of(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.raw_host.decode("ascii"), url.port or PORTS.get(url.scheme)


def _ssl_context(ca_file: Path | None) -> ssl.SSLContext:
    context = truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if ca_file is not None:
        try:
            context.load_verify_locations(cafile=str(ca_file))
        except (OSError, ValueError) as error:  # an SSLError is an OSError
            is_there = not isinstance(error, FileNotFoundError | ValueError)
            why = "contains no readable certificates" if is_there else "does not exist"
            raise Unsendable(
                f"The certificate file {ca_file} {why}. Correct or remove the ca_file setting or the OCTAVO_CA_FILE variable."
            ) from None
    return context


def _to_api_error(
    error: Exception, host: str, connected_host: str, only_reads: bool, *, has_response: bool
) -> ApiError:
    """Return the ApiError for an error of httpx. `connected_host` is the name of the
    proxy. Without a proxy, it equals `host`. If `only_reads`, the message says to try again. `has_response` is True if
    a response has begun."""
    match error:
        case httpx.ProxyError():
            if str(PROXY_WANTS_SIGN_IN) in str(error):
                trace = Trace(status=PROXY_WANTS_SIGN_IN)
                return ProxyError(
                    f"The proxy for {host} requires a user name and password. Check your proxy settings.", trace
                )
            return ProxyError(
                f"The proxy for {host} refused the API request. Check your proxy settings, then try again."
            )
        case httpx.ConnectTimeout():
            return NotSent(
                f"The connection to {host} took longer than {CONNECT_SECONDS:g} s. Check your network, then try again."
            )
        case httpx.PoolTimeout():
            return NotSent(f"Too many API requests to {host} at the same time. Try again.")
        case httpx.ConnectError():
            return _no_connection(error, host, connected_host)
        case httpx.TimeoutException():
            return TimedOut(f"{host} did not respond within {READ_SECONDS:g} s. {next_step_after(only_reads)}")
        case httpx.RemoteProtocolError() if has_response:
            return TruncatedResponse(f"The response from {host} is incomplete. {next_step_after(only_reads)}")
        case httpx.NetworkError() | httpx.RemoteProtocolError():
            return Lost(f"The connection to {host} was lost before the response arrived. {next_step_after(only_reads)}")
        case _:
            return Unsendable(f"The API request could not be sent to {host}. Check the base URL.")


def _no_connection(error: Exception, host: str, connected_host: str) -> ApiError:
    causes = list(_causes(error))
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return TlsError(
                f"The certificate of {host} is not trusted: {cause.verify_message}. "
                "Check the URL. For a private certificate authority, set SSL_CERT_FILE or ca_file."
            )
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return TlsError(f"The TLS connection to {host} failed. Check the URL and its port.")
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return NotSent(f"There is no address for {connected_host}. Check the name and your network, then try again.")
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        step = "Check the URL, and check that the server is running."
        if connected_host != host:
            step = f"Start the proxy, or correct or unset {connected_host.rpartition(' ')[2]}."
        return NotSent(f"The connection to {connected_host} was refused. {step}")
    return NotSent(f"There is no connection to {connected_host}. Check your network, then try again.")


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    seen_ids: set[int] = set()
    waiting_errors: list[Any] = [error]
    while waiting_errors:
        each = waiting_errors.pop()
        if each is None or id(each) in seen_ids:
            continue
        seen_ids.add(id(each))
        yield each
        waiting_errors += [each.__cause__, each.__context__, *getattr(each, "exceptions", ())]


T = TypeVar("T")


async def run_to_end(coroutine: Coroutine[Any, Any, T], give_up: Callable[[], None] = lambda: None) -> T:
    """Return the result of `coroutine`, which runs to its end even if the calling task is canceled. Each time the task
    is canceled, call `give_up`, which must make `coroutine` end soon. After this end, raise CancelledError."""
    # An open connection keeps its context in memory. An empty context cannot keep a closed dialog there.
    task = asyncio.create_task(coroutine, context=Context())
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
            give_up()
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # Otherwise, asyncio would report an error that is never read.
    raise cancelled


class Canceled(Exception):
    """Raised by `run_in_scope` if its scope was canceled, and not the task that called it."""


async def run_in_scope(scope: CancelScope, coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of `coroutine`. If `scope` is canceled, wait for the end of `coroutine`, and raise Canceled."""

    async def run() -> T:
        with scope:
            return await coroutine
        raise Canceled

    return await run_to_end(run(), scope.cancel)
