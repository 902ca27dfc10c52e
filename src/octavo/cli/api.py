"""`octavo api`: call one API operation, or a path, and print the response."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from http import HTTPStatus
from typing import Any

from octavo.api.errors import ApiError, Unauthorized
from octavo.api.safety import json as safe_json
from octavo.api.safety import line
from octavo.cli.access import read_settings, resolve, signed_in
from octavo.cli.api_requests import request_of
from octavo.cli.arguments import (
    FAILED,
    NOT_SIGNED_IN,
    Failure,
    tell,
    why_read_only,
    write_out,
)
from octavo.client.client import Client
from octavo.client.raw import RawRequest, RawResponse
from octavo.settings import Settings
from octavo.untrusted_input import parse_json


def run(options: argparse.Namespace) -> int:
    request, is_list = request_of(options)
    settings = read_settings()
    if options.dry_run:
        return _dry_run(settings, options, request)
    access, key = signed_in(settings, options)
    read_only = why_read_only(options) or access.why_read_only
    try:
        client = Client(access.origin, key, ca_file=settings.ca_file, read_only=read_only)
    except ValueError as error:
        raise Failure(str(error)) from error
    failure = asyncio.run(_send(client, request, options, everything=options.all and is_list))
    if failure is not None:
        raise Failure(str(failure), _code(failure)) from failure
    return 0


def _dry_run(settings: Settings, options: argparse.Namespace, request: RawRequest) -> int:
    """Print the request without sending it. This needs no account and reads no API key."""
    try:
        access = resolve(settings, options)
    except (ApiError, ValueError) as error:
        raise Failure(str(error)) from error
    sent = request.sent
    headers = {**sent.headers, "authorization": "Bearer (your API key)"}
    lines = [f"{sent.method} {access.origin}{sent.target}", *(f"{name}: {value}" for name, value in headers.items())]
    write_out("\n".join(lines) + "\n")
    if isinstance(sent.content, bytes):
        write_out("\n")
        _print(parse_json(sent.content))
    return 0


async def _send(
    client: Client, request: RawRequest, options: argparse.Namespace, *, everything: bool
) -> ApiError | None:
    """Send the request and print the response. If reading a list fails, print the items that were read before, and return
    the error."""
    items: list[Any] = []
    try:
        if not everything:
            _print_response(await client.raw(request), options)
            return None
        async for item in client.raw_each(request):
            if options.ndjson:
                _print(item, is_line=True)
            else:
                items.append(item)
        if not options.ndjson:
            _print({"items": items})
        return None
    except ApiError as error:
        if items:
            _print({"items": items})
        return error
    finally:
        await client.aclose()


def _print_response(response: RawResponse, options: argparse.Namespace) -> None:
    if options.include:
        write_out(_head(response))
    value = response.value
    if value is None:
        return
    if not options.ndjson:
        _print(value)
        return
    items = value.get("items") if isinstance(value, dict) else None
    for each in items if isinstance(items, list) else [value]:
        _print(each, is_line=True)
    if isinstance(items, list) and value.get("next"):
        tell(f"Showing the first {len(items)}. For all items, use --all.")


def _head(response: RawResponse) -> str:
    """Return the status and the headers of a response as text."""
    phrase = {each.value: each.phrase for each in HTTPStatus}.get(response.status, "")
    headers = (line(f"{name}: {value}") for name, value in sorted(response.headers.items()))
    return "\n".join([f"HTTP {response.status} {phrase}".rstrip(), *headers, "", ""])


def _code(error: ApiError) -> int:
    if isinstance(error, Unauthorized):
        return NOT_SIGNED_IN
    return FAILED


def _print(value: Any, *, is_line: bool = False) -> None:
    # Text from the server must not control the terminal. In a pipe the text stays unchanged.
    out = sys.stdout
    shown = safe_json(value) if out is not None and out.isatty() else value
    is_utf8 = out is not None and (out.encoding or "").lower().replace("-", "") == "utf8"
    try:
        text = json.dumps(shown, indent=None if is_line else 2, ensure_ascii=not is_utf8, allow_nan=False)
    except ValueError:
        raise Failure("Could not print the response: it contains NaN or a number that is too large for JSON.") from None
    write_out(text + "\n")
