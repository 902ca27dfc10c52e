"""Uploads to URLs in responses, each of which works once.

The token is never sent with an upload. URLs of other hosts need the same checks as downloads (`downloading.py`). A
redirect is not followed, because the content is sent only once.
"""

from __future__ import annotations

from collections.abc import AsyncIterable
from pathlib import Path

from octavo.api.addresses import request_target
from octavo.api.errors import BadResponse, Trace, rejected
from octavo.client import body, sentences
from octavo.client.carrier import Carrier, Outgoing
from octavo.client.downloading import carrier_to, is_at, parts_of
from octavo.client.exchange import REDIRECTS


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
    """Upload the `size` bytes of `content`, a file of the MIME type `kind`, to `url`, once. Raises ApiError. `keyless`
    sends requests to `origin` without a token."""
    parts = parts_of(url, url)
    home = is_at(parts, origin)
    asked = keyless if home else await carrier_to(parts, ca_file)
    headers = {"content-type": kind, "content-length": str(size), "user-agent": agent, "accept": "*/*"}
    try:
        async with asked.send(Outgoing("PUT", request_target(parts), headers, content)) as answer:
            status, host = answer.status, parts.netloc
            message = await body.error_message(answer, host) if home and status >= 400 else ""
            if status < 400:
                await body.discard(answer)
    finally:
        if not home:
            await asked.aclose()
    if status in REDIRECTS or status < 200:
        raise BadResponse(
            f"Could not upload the file: {host} redirected the upload. Octavo does not follow redirects when it uploads a file."
        )
    if status >= 400:
        sentence = (
            sentences.refusal(host, status, message)
            if home
            else f"Could not upload the file: {host} responded with status {status}."
        )
        raise rejected(sentence, Trace("PUT", "", status))
