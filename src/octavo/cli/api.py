"""`octavo api`: call one API operation, or a path, and print the response."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from octavo.api.errors import ApiError
from octavo.api.safety import safe_json, safe_line
from octavo.cli.access import open_client, read_settings, resolve
from octavo.cli.api_requests import request_of
from octavo.cli.failures import Failure
from octavo.cli.late_client import LazyClient
from octavo.cli.output import compiled_filter
from octavo.cli.standard_streams import tell, write_out
from octavo.client.carrier import RawRequest, RawResponse
from octavo.settings import Settings
from octavo.untrusted_input import parse_json


def run(options: argparse.Namespace) -> int:
    run_filter = compiled_filter(options)
    request, is_list = request_of(options)
    settings = read_settings()
    if options.dry_run:
        return _dry_run(settings, options, request)
    client = open_client(options, settings)
    printer = _Printer(options, run_filter)
    failure = asyncio.run(_send(client, request, printer, everything=options.all and is_list))
    if failure is not None:
        from octavo.cli.connection import failure_of  # lazy: only for failures

        raise failure_of(failure, f"run {options.name}") from failure
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
        write_out(_json(parse_json(sent.content), indent=2) + "\n")
    return 0


async def _send(
    lazy_client: LazyClient, request: RawRequest, printer: _Printer, *, everything: bool
) -> ApiError | None:
    """Send the request and print the response. If reading a list fails, print the items that were read before, and return
    the error."""
    items: list[Any] = []
    try:
        client = await lazy_client.client()
        if not everything:
            printer.print_response(await client.raw(request))
            return None
        async for item in client.raw_each(request):
            if printer.is_by_line:
                printer.print_line(item)
            else:
                items.append(item)
        if not printer.is_by_line:
            printer.print({"items": items})
        return None
    except ApiError as error:
        if items:
            printer.print({"items": items})
        return error
    except ValueError as error:  # The API key must not be sent to this server.
        raise Failure(str(error)) from error
    finally:
        await lazy_client.aclose()


class _Printer:
    """Prints responses as the options request."""

    def __init__(self, options: argparse.Namespace, run_filter: Callable[[Any], None] | None) -> None:
        self.is_by_line: bool = options.ndjson
        self._has_head: bool = options.include
        self._filter = run_filter

    def print_response(self, response: RawResponse) -> None:
        """Print a response, with its status and headers if the options request that."""
        if self._has_head:
            write_out(_head(response))
        value = response.value
        items = value.get("items") if isinstance(value, dict) else None
        if value is None:
            return
        if not self.is_by_line:
            self.print(value)
        elif not isinstance(items, list):
            self.print_line(value)
        else:
            for each in items:
                self.print_line(each)
            if value.get("next"):
                tell(f"Showing the first {len(items)}. For all items, use --all.")

    def print(self, value: Any) -> None:
        """Print a value on several lines, or what the jq expression returns for the value."""
        if self._filter is not None:
            self._filter(_printable_value(value))
        else:
            write_out(_json(value, indent=2) + "\n")

    def print_line(self, value: Any) -> None:
        """Print a value on one line."""
        write_out(_json(value, indent=None) + "\n")


def _head(response: RawResponse) -> str:
    """Return the status and the headers of a response as text."""
    phrase = {each.value: each.phrase for each in HTTPStatus}.get(response.status, "")
    headers = (safe_line(f"{name}: {value}") for name, value in sorted(response.headers.items()))
    return "\n".join([f"HTTP {response.status} {phrase}".rstrip(), *headers, "", ""])


def _printable_value(value: Any) -> Any:
    """Return a value as it is printed: text from the server must not control the terminal. In a pipe, the text stays
    unchanged."""
    return safe_json(value) if sys.stdout is not None and sys.stdout.isatty() else value


def _json(value: Any, *, indent: int | None) -> str:
    is_utf8 = sys.stdout is not None and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    try:
        return json.dumps(_printable_value(value), indent=indent, ensure_ascii=not is_utf8, allow_nan=False)
    except ValueError:
        raise Failure("Could not print the response: it contains NaN or a number that is too large for JSON.") from None
