"""Downloads files from URLs that users enter, for imports and OpenAPI specifications. Limits their size, their time and
the network.

The connection uses the IP address that was checked, because a second lookup of the host could return a private address.
"""

from __future__ import annotations

import codecs
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any, Literal, TypeVar
from urllib.parse import SplitResult, urljoin, urlsplit

from octavo.api.safety import is_public, request_target
from octavo.concurrency import Overdue, run_with_timeout

T = TypeVar("T")

SIZE_LIMIT = 20 << 20
"""Default maximum size of a download, in bytes."""
TIME_LIMIT_SECONDS = 10.0
"""Default maximum time for a download with all its redirects, in seconds."""
REDIRECT_LIMIT = 5

_REDIRECT_STATUSES = {301, 302, 303, 307, 308}


class FetchFailure(Exception):
    """A URL could not be downloaded. The message has no full stop. `code` is the error code for the API."""

    def __init__(self, message: str, code: Literal["FETCH_TIMEOUT", "FETCH_ERROR"] = "FETCH_ERROR") -> None:
        super().__init__(message)
        self.code = code


class PrivateAddressFailure(FetchFailure):
    """A URL was not requested, because its host is in a private network."""


@dataclass(frozen=True)
class FetchedFile:
    """A downloaded file. `url` is the URL after all redirects. `media_type` is for example `text/html`."""

    url: str
    media_type: str
    charset: str | None
    data: bytes

    @property
    def text(self) -> str:
        """The data as text, in the declared encoding if it is known, else in UTF-8. Invalid bytes become U+FFFD."""
        # A byte order mark proves UTF-8, even if another encoding is declared.
        charset = None if self.data.startswith(codecs.BOM_UTF8) else self.charset
        try:
            encoding = codecs.lookup(charset or "utf-8").name
            if encoding in ("idna", "punycode"):
                raise LookupError(encoding)  # These encodings are for host names, and slow for a long text.
            # Browsers decode Latin-1 and ASCII as windows-1252, because many pages declare a wrong encoding.
            text = self.data.decode("cp1252" if encoding in ("iso8859-1", "ascii") else encoding, "replace")
        except (LookupError, ValueError):  # The encoding is unknown, or not for text.
            text = self.data.decode("utf-8", "replace")
        return text.removeprefix("\ufeff")


@dataclass(frozen=True)
class Fetcher:
    """Downloads files within limits. Refuses hosts in private networks, unless `allows_private` is True."""

    allows_private: bool = False
    size_limit: int = SIZE_LIMIT
    time_limit: float = TIME_LIMIT_SECONDS

    def fetch(self, url: str) -> FetchedFile:
        """Download an http or https URL, and follow redirects. Raises FetchFailure."""
        return self._request(url, self._read)

    def fetch_status(self, url: str) -> int:
        """Return the HTTP status of an http or https URL after all redirects. Raises FetchFailure."""
        return self._request(url, lambda final_url, parts, response: response.status)

    def _request(self, url: str, read: Callable[[str, SplitResult, HTTPResponse], T]) -> T:
        """Send a GET request, and return the result of `read` for the response after all redirects. This runs in a
        thread. After the time limit, the connections are closed, so that the thread ends. Raises FetchFailure."""
        deadline, sockets = time.monotonic() + self.time_limit, list[socket.socket]()

        def follow_redirects() -> T:
            next_url = url
            for _ in range(REDIRECT_LIMIT + 1):
                parts = _split_url(next_url)
                with self._open_response(parts, deadline, sockets) as response:
                    if response.status not in _REDIRECT_STATUSES or not (location := response.getheader("location")):
                        return read(next_url, parts, response)
                    next_url = urljoin(next_url, location)
            raise FetchFailure(f"the URL redirects more than {REDIRECT_LIMIT} times")

        try:
            return run_with_timeout(self.time_limit, follow_redirects)
        except Overdue:
            for each in sockets:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
            raise _time_limit_failure(urlsplit(url).hostname) from None

    def _read(self, url: str, parts: SplitResult, response: HTTPResponse) -> FetchedFile:
        if response.status != 200:
            raise FetchFailure(f"{parts.hostname} responded with status {response.status}")
        coding = response.getheader("content-encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            raise FetchFailure(f"{parts.hostname} sent compressed text, which was not requested")
        data = response.read(self.size_limit + 1)
        if len(data) > self.size_limit:
            raise FetchFailure(f"the file is larger than the limit of {self.size_limit >> 20} MiB")
        if response.length:
            raise FetchFailure(f"{parts.hostname} closed the connection before the file was complete")
        headers = response.headers
        headers.set_default_type("application/octet-stream")
        return FetchedFile(url, headers.get_content_type(), headers.get_content_charset(), data)

    @contextmanager
    def _open_response(
        self, parts: SplitResult, deadline: float, sockets: list[socket.socket]
    ) -> Iterator[HTTPResponse]:
        """Send a GET request, and yield its response. `sockets` gets the socket. Raises FetchFailure."""
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        connected_socket = _connect(host, self._allowed_addresses(host, port), self.time_limit + 1)
        context = ssl.create_default_context() if parts.scheme == "https" else None
        connection = HTTPSConnection(host, port, context=context) if context else HTTPConnection(host, port)
        connection.sock = connected_socket
        sockets.append(connected_socket)
        try:
            if time.monotonic() > deadline:
                raise _time_limit_failure(
                    host
                )  # The caller has closed its sockets already, so it would not end this request.
            if context is not None:
                # The handshake is a separate step, so that `sockets` already has the socket.
                tls_socket = context.wrap_socket(connected_socket, server_hostname=host, do_handshake_on_connect=False)
                connection.sock = tls_socket
                sockets.append(tls_socket)
                tls_socket.do_handshake()
            connection.request("GET", request_target(parts), headers=_HEADERS)
            # Closing the connection does not close the response, so `with` does.
            with connection.getresponse() as response:
                yield response
        except (OSError, HTTPException, ValueError) as failure:
            raise FetchFailure(f"the connection to {host} failed: {_reason(failure)}") from None
        finally:
            connection.close()

    def _allowed_addresses(self, host: str, port: int) -> list[Any]:
        try:
            found = socket.getaddrinfo(host.encode("idna").decode(), port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as failure:
            raise FetchFailure(f"the host {host} was not found: {_reason(failure)}") from None
        addresses: list[Any] = [address for *_, address in found]
        if not self.allows_private and not all(is_public(address[0]) for address in addresses):
            raise PrivateAddressFailure(
                f"{host} is on a private network, and this server was started without access to private networks"
            )
        return addresses


_HEADERS = {"Accept": "*/*", "Accept-Encoding": "identity", "Connection": "close", "User-Agent": "octavo"}


def _split_url(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
        host = (parts.hostname or "").encode("idna").decode()
    except ValueError:
        raise FetchFailure("the URL is not valid") from None
    if parts.scheme not in ("http", "https"):
        raise FetchFailure("only http and https URLs can be fetched")
    if not host or "@" in parts.netloc or any(ord(letter) < 0x21 for letter in url):
        raise FetchFailure("the URL is not valid")
    return parts


def _connect(host: str, addresses: list[Any], seconds: float) -> socket.socket:
    last_error: OSError = OSError("the host has no IP address")
    for address in addresses:
        try:
            return socket.create_connection(address[:2], seconds)
        except OSError as error:
            last_error = error
    raise FetchFailure(f"could not connect to {host}: {_reason(last_error)}")


def _time_limit_failure(host: str | None) -> FetchFailure:
    return FetchFailure(f"{host} took too long to respond", "FETCH_TIMEOUT")


def _reason(failure: Exception) -> str:
    reason = (failure.strerror if isinstance(failure, OSError) else None) or str(failure) or type(failure).__name__
    return " ".join(reason.split())[:200]
