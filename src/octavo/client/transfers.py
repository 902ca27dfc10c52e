"""Downloads files from URLs in responses, and uploads files to such URLs.

The token is sent only to its own origin, and never with an upload. URLs of other hosts must use https. The name of such
a host is resolved once, and its IP address must be public. So a hostile response cannot make Octavo connect to a
machine in the local network. Redirects of downloads are checked in the same way. Redirects of uploads are not followed.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

from pydantic import SecretStr

from octavo.api.addresses import is_public, request_target
from octavo.api.errors import ApiError, BadResponse, NotSent, Trace, rejected
from octavo.client import policy, responses
from octavo.client.carrier import Answer, Carrier, Outgoing
from octavo.client.exchange import REDIRECTS
from octavo.client.origin import PORTS, proxy_for, triple
from octavo.concurrency import run_in_thread

if TYPE_CHECKING:
    from httpx import AsyncBaseTransport


HOPS = 5


async def download(
    url: str, most: int, *, origin: str, carrier: Carrier, agent: str, ca_file: Path | None
) -> AsyncGenerator[bytes, None]:
    """Download `url`, and yield its bytes. `carrier` is used for URLs of `origin`. Raises ApiError, also if there are
    more than `most` bytes."""
    base = url
    for _ in range(HOPS + 1):
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
