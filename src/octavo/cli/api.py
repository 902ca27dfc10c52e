"""`octavo api`: builds the request from an operation and its values, or from a method and a path, sends it, and prints the
response."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import stat
import sys
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlencode

from pydantic import ValidationError

from octavo.api.errors import ApiError
from octavo.api.operation import Listing, Operation, Spec, find_spec, load
from octavo.api.safety import safe_json, safe_line
from octavo.api.wire import VERSION, Route, body_fields, is_list_field, operation_for_route, query_fields, routes
from octavo.api.wrong_values import error_sentence, null_error
from octavo.cli.access import open_client, read_settings, resolve
from octavo.cli.api_values import (
    STDIN_HINT,
    Files,
    Values,
    checked_json,
    read_json,
    text_field,
    title_of,
    typed_field,
    values_of,
)
from octavo.cli.failures import USAGE, Failure
from octavo.cli.late_client import LazyClient
from octavo.cli.output import compiled_filter
from octavo.cli.standard_streams import tell, write_out
from octavo.client.carrier import RawRequest, RawResponse
from octavo.client.client import outgoing_json, raw_request
from octavo.client.policy import READS
from octavo.settings import Settings, did_you_mean
from octavo.untrusted_input import parse_json

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SAFE_IN_PATH = "/%:@!$&'()*+,;=~"
_SAFE_IN_QUERY = _SAFE_IN_PATH + "?[]"


def request_of(options: argparse.Namespace) -> tuple[RawRequest, bool]:
    """Return the request of the command line, and whether its response can be a list. Raises Failure."""
    files = Files()
    arguments = [*options.values, *map(text_field, options.text_fields), *map(typed_field, options.typed_fields)]
    if options.name.upper() in METHODS:
        if not options.values:
            raise Failure(f"{options.name} needs a path, such as /v1/user.", USAGE)
        return _path_request(options.name.upper(), options.values[0], arguments[1:], options.input, files)
    op = operation(options.name, values_of(arguments, files), options.input, files)
    try:
        return raw_request(op), isinstance(op, Listing)
    except ApiError as error:
        raise Failure(str(error), USAGE) from error


def spec_of(name: str) -> Spec:
    """Return the operation called `name`. Raises Failure with a suggestion if there is none."""
    spec = find_spec(name)
    if spec is not None:
        return spec
    if name.upper() in METHODS:
        raise Failure(f"{name} is a method. For its help, run: octavo help api", USAGE)
    if name.startswith("/"):
        raise Failure(f"Write the method before the path: octavo api GET {name[:80]}", USAGE)
    hint = did_you_mean(name, [each.name for each in load().values()]) or " For a list, run: octavo operations"
    raise Failure(f"Unknown operation {name[:80]!r}.{hint}", USAGE)


def operation(name: str, values: Values, body_file: str, files: Files) -> Operation[Any]:
    """Return the operation called `name` with these values. Raises Failure if a value is missing, unknown or wrong."""
    spec, fields = spec_of(name), values.fields
    if values.query:
        key = values.query[0][0]
        raise Failure(f"{key}== is only for METHOD {VERSION}/PATH. Write {key}=VALUE.", USAGE)
    if body_file:
        fields = _with_body(spec, fields, body_file, files)
    route = _route(spec, fields)
    known = _in_path(route) | query_fields(spec) | body_fields(spec)
    if unknown := sorted(fields.keys() - known):
        hint = did_you_mean(unknown[0], known) or _parameters_hint(known)
        raise _not_run(spec, f"no parameter {unknown[0]}.{hint}")
    if wrong := null_error(spec, fields):
        raise _not_run(spec, wrong)
    lacks_body = bool(body_fields(spec)) and not body_fields(spec) & fields.keys()
    body_hint = f" {STDIN_HINT}" if lacks_body and _has_unread_stdin(body_file) else ""
    if spec.changes and lacks_body:
        raise _not_run(spec, f"nothing to change. Add KEY=VALUE.{body_hint}")
    try:
        return operation_for_route(route, {key: _as_list(spec, key, value) for key, value in fields.items()})
    except ValidationError as error:
        hint = _choice_hint(error, fields) or body_hint
        raise _not_run(spec, f"{error_sentence(error, fields)}{hint}") from None


def _not_run(spec: Spec, cause: str) -> Failure:
    return Failure(f"Could not run {spec.name}: {cause}", USAGE)


def _route(spec: Spec, fields: dict[str, Any]) -> Route:
    """Return the route whose path parameters are all in `fields`. If there are several, return the one with the most
    parameters. Raises Failure if there is none."""
    matching = [route for route in routes(spec) if _in_path(route) <= fields.keys()]
    if matching:
        return max(matching, key=lambda route: len(_in_path(route)))
    missing = min((sorted(_in_path(route) - fields.keys()) for route in routes(spec)), key=len)
    raise _not_run(spec, f"{', '.join(missing)} is missing. Add {' '.join(f'{each}=VALUE' for each in missing)}")


def _with_body(spec: Spec, fields: dict[str, Any], body_file: str, files: Files) -> dict[str, Any]:
    """Return `fields` together with the fields of the JSON object in `body_file`. Raises Failure."""
    known = body_fields(spec)
    if not known:
        raise _not_run(spec, "it has no body. Leave out --input.")
    if both := sorted(fields.keys() & known):
        raise _not_run(spec, f"{both[0]} belongs to the body. Use either --input or {both[0]}=VALUE.")
    body = read_json(body_file, files)
    if not isinstance(body, dict):
        raise _not_run(spec, f"{title_of(body_file)} must contain a JSON object.")
    if unknown := sorted(body.keys() - known):
        hint = did_you_mean(unknown[0], known) or _parameters_hint(known)
        raise _not_run(spec, f"no parameter {unknown[0][:80]} in the body.{hint}")
    return {**fields, **body}


def _path_request(
    method: str, path: str, arguments: list[str], body_file: str, files: Files
) -> tuple[RawRequest, bool]:
    values, content = values_of(arguments, files), None
    if values.fields and (method in READS or body_file):
        key = next(iter(values.fields))
        cause = "--input" if body_file else f"{method}, which has no body"
        raise Failure(f"{key} cannot be sent with {cause}. For a query parameter, write {key}==VALUE.", USAGE)
    if body_file:
        if method in READS:
            raise Failure(f"{method} has no body. Leave out --input.", USAGE)
        content = _json_content(body_file, files)
    elif values.fields:
        content = json.dumps(values.fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
    sent = outgoing_json(method, target_of(path, values.query), content)
    return RawRequest(sent, f"{VERSION}/…", method in READS), method in READS


def _json_content(file: str, files: Files) -> bytes:
    content = files.read(file)
    try:
        checked_json(content)
    except ValueError as error:
        raise Failure(f"Could not send {title_of(file)}: {error}.", USAGE) from None
    return content


def target_of(path: str, query: list[tuple[str, str]]) -> str:
    """Return a path with its query as it is sent. Raises Failure if the path could lead to another server or out of the
    API."""
    path, _, own = path.partition("?")
    parts = path.removeprefix(VERSION).split("/")
    if not path.startswith(f"{VERSION}/"):
        raise Failure(f"Could not use the path {path[:80]!r}: it must start with {VERSION}/.", USAGE)
    if any(each in ("", ".", "..") for part in parts[1:] for each in re.split(r"[/\\]", unquote(part))):
        raise Failure(f"Could not use the path {path[:80]!r}: it must not have empty parts, “.” or “..”.", USAGE)
    try:
        pairs = filter(None, [quote(own, safe=_SAFE_IN_QUERY), urlencode(query)])
        return "?".join(filter(None, [quote(path, safe=_SAFE_IN_PATH), "&".join(pairs)]))
    except UnicodeEncodeError:
        raise Failure(f"Could not use the path {path[:80]!r}: it is not valid UTF-8.", USAGE) from None


def _choice_hint(error: ValidationError, fields: dict[str, Any]) -> str:
    """Return a sentence that suggests the choice most similar to a wrong value. Empty if no choice is similar, or for
    other errors."""
    details = error.errors(include_url=False)
    first = details[0]
    value = fields.get(str(first["loc"][-1])) if first["loc"] else None
    if first["type"] != "literal_error" or not isinstance(value, str):
        return ""
    expected = " ".join(each["ctx"]["expected"] for each in details if each["type"] == "literal_error")
    return did_you_mean(value, re.findall(r"'([^']*)'", expected))


def _has_unread_stdin(body_file: str) -> bool:
    """Return whether standard input is a pipe or a file that the command does not read."""
    if body_file or sys.stdin is None:
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _in_path(route: Route) -> set[str]:
    return set(re.findall(r"{(\w+)}", route.path))


def _parameters_hint(known_names: set[str] | frozenset[str]) -> str:
    return (
        f" Its parameters are {', '.join(sorted(known_names))}."
        if known_names
        else " This operation has no parameters."
    )


def _as_list(spec: Spec, name: str, value: Any) -> Any:
    takes_list = name in query_fields(spec) | body_fields(spec) and is_list_field(spec, name)
    return [value] if takes_list and not isinstance(value, list) else value


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
    """Send the request and print the response. If the request fails, print the items of the list that were read
    before, and return the error. None if it succeeds."""
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
    """Return the value to print. On a terminal, it is sanitized, because text from the server must not control the
    terminal. Elsewhere, it is unchanged."""
    return safe_json(value) if sys.stdout is not None and sys.stdout.isatty() else value


def _json(value: Any, *, indent: int | None) -> str:
    is_utf8 = sys.stdout is not None and (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    try:
        return json.dumps(_printable_value(value), indent=indent, ensure_ascii=not is_utf8, allow_nan=False)
    except ValueError:
        raise Failure("Could not print the response: it contains NaN or a number that is too large for JSON.") from None
