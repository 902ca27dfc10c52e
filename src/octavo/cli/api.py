"""`octavo api`: sends one request and prints the response. The command line names an operation, or a method and a path. The
values of the request come from arguments, files and standard input:

key=TEXT     text                      key[inner]=TEXT   a field of an object
key:=JSON    a JSON value              key[]=TEXT        an item of a list
key=@FILE    the text of a file        key==TEXT         a query parameter of METHOD /v1/PATH
key:=@FILE   the JSON value of a file  @-                standard input instead of a file
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import stat
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, unquote, urlencode

from pydantic import ValidationError

from octavo.api import safety
from octavo.api.errors import ApiError
from octavo.api.operation import Listing, Operation, Spec, find_spec, load
from octavo.api.safety import safe_json, safe_line
from octavo.api.wire import (
    VERSION,
    Route,
    body_fields,
    error_sentence,
    is_list_field,
    null_error,
    operation_for_route,
    query_fields,
    routes,
)
from octavo.cli.access import open_client, read_settings, refuse_several_sources, resolve_access
from octavo.cli.late_client import LazyClient
from octavo.cli.output import compile_filter, needs_ascii
from octavo.cli.platform_folders import ORIGIN
from octavo.cli.standard_streams import USAGE, Failure, OutputFailure, is_terminal, read_input, tell, write_out
from octavo.client.client import outgoing_json, raw_request
from octavo.client.policy import READS
from octavo.client.responses import RawRequest, RawResponse
from octavo.settings import Settings
from octavo.settings.file import did_you_mean
from octavo.untrusted_input import (
    MAX_DEPTH,
    DuplicateKeyError,
    LimitExceededError,
    is_too_deep,
    parse_json,
    parse_strict_json,
)

_MAX_INPUT_BYTES = 16 << 20
STDIN_HINT = "To send standard input as the body use --input -."

_ARGUMENT = re.compile(r"([A-Za-z][\w.]*)((?:\[[^\[\]=]*\])*)(:=|==|=)", re.ASCII)
_WHOLE_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_CONSTANTS = {"true": True, "false": False, "null": None}


@dataclass
class ArgumentFiles:
    """Reads the files in arguments such as `key=@FILE`. Only one argument may read standard input."""

    is_stdin_read: bool = False

    def read(self, name: str) -> bytes:
        """Return the content of a file, or of standard input for `-`. Raises Failure, also if `-` is read twice."""
        if name == "-":
            if self.is_stdin_read:
                raise Failure("Standard input is used twice. Use a file for one of the two values.", USAGE)
            self.is_stdin_read = True
        try:
            content = read_input(name, _MAX_INPUT_BYTES + 1)
        except OSError as error:
            cause = (error.strerror or "unknown cause").lower()
            raise Failure(f"Could not read {input_label(name)}: {cause}.") from None
        if len(content) > _MAX_INPUT_BYTES:
            raise Failure(f"Could not read {input_label(name)}: it is larger than {_MAX_INPUT_BYTES >> 20} MiB.", USAGE)
        return content


@dataclass
class RequestValues:
    """The values of a request from the command line: fields by name, and query parameters."""

    fields: dict[str, Any] = field(default_factory=dict)
    query: list[tuple[str, str]] = field(default_factory=list)
    """Name and value of each argument `KEY==TEXT`, in the order of the command line."""


def parse_values(arguments: Sequence[str], files: ArgumentFiles) -> RequestValues:
    """Parse `FIELD=TEXT`, `FIELD:=JSON` and `QUERY==TEXT`. Values of a repeated field become a list. Raises Failure."""
    values = RequestValues()
    for argument in arguments:
        match = _ARGUMENT.match(argument)
        if match is None:
            raise Failure(f"{argument[:40]!r} is not a parameter. Write KEY=VALUE or KEY:=JSON.", USAGE)
        name, keys, sign = match.groups()
        text = argument[match.end() :]
        if sign == "==":
            values.query.append((name + keys, text))
        else:
            path = [name, *re.findall(r"\[([^\]]*)\]", keys)]
            value = _json_value(name + keys, text, files) if sign == ":=" else _text_value(name + keys, text, files)
            _set_field(values.fields, path, value)
    if is_too_deep(values.fields):
        raise Failure(f"A parameter has more than {MAX_DEPTH} nested levels.", USAGE)
    return values


def convert_typed_field(argument: str) -> str:
    """Convert `name=3` to `name:=3`, so that a number is sent. Only whole numbers, true, false and null are converted.
    Return other arguments, and arguments with `:=`, unchanged."""
    name, sign, text = argument.partition("=")
    is_json = not name.endswith(":") and (text in _CONSTANTS or _WHOLE_NUMBER.fullmatch(text))
    return f"{name}:={text}" if sign and is_json else argument


def convert_text_field(argument: str) -> str:
    """Convert `name=@text` to `name:="@text"`, so that no file is read. Return other arguments unchanged."""
    name, sign, text = argument.partition("=")
    return f"{name}:={json.dumps(text)}" if sign and text.startswith("@") else argument


def input_label(file_name: str) -> str:
    """Return the name of a file for messages: `standard input` for `-`."""
    return "standard input" if file_name == "-" else safety.safe_line(file_name)


def read_json(file_name: str, files: ArgumentFiles) -> tuple[Any, bytes]:
    """Return the JSON value in a file, and the text of the file in UTF-8. Raises Failure."""
    content = files.read(file_name)
    try:
        return parse_json_to_send(content), content.decode(json.detect_encoding(content)).encode()
    except ValueError as error:
        raise Failure(f"Could not send {input_label(file_name)}: {error}.", USAGE) from None


def parse_json_to_send(content: bytes) -> Any:
    """Parse strict JSON for the body of a request. Raises ValueError, whose message has no full stop."""
    try:
        return parse_strict_json(content)
    except (DuplicateKeyError, LimitExceededError):
        raise
    except ValueError:
        raise ValueError("it is not JSON") from None


def _json_value(name: str, text: str, files: ArgumentFiles) -> Any:
    if text.startswith("@"):
        return read_json(text[1:], files)[0]
    try:
        return parse_json_to_send(text.encode("utf-8", "surrogateescape"))
    except ValueError as error:
        raise Failure(
            f"{name}:= needs a JSON value, but {text[:40]!r} cannot be used: {error}. For text, use {name}=VALUE.",
            USAGE,
        ) from None


def _text_value(name: str, text: str, files: ArgumentFiles) -> str:
    if not text.startswith("@"):
        return text
    if len(text) == 1:
        raise Failure(f"{name}=@ needs a file name. For the text “@”, use {name}:='\"@\"'.", USAGE)
    try:
        return files.read(text[1:]).decode("utf-8")
    except UnicodeDecodeError:
        raise Failure(f"Could not send {input_label(text[1:])} as {name}: it is not UTF-8 text.", USAGE) from None


def _set_field(fields: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set the field at `path`, such as `["body", "markdown"]`. An empty last name means a list, as in `["tags", ""]`.
    If the field has a value, it becomes a list with `value` added. Raises Failure if an outer field is no object."""
    *outer_keys, last_key = path
    is_item = last_key == "" and bool(outer_keys)
    if is_item:
        *outer_keys, last_key = outer_keys
    for name in outer_keys:
        fields = fields.setdefault(name, {})
        if not isinstance(fields, dict):
            raise Failure(f"{path[0]} has a value and also fields in brackets. Use one of the two.", USAGE)
    if last_key in fields:
        fields[last_key] = [*_items(fields[last_key]), *_items(value)]
    else:
        fields[last_key] = _items(value) if is_item else value


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SAFE_IN_PATH = "/%:@!$&'()*+,;=~"
_SAFE_IN_QUERY = _SAFE_IN_PATH + "?[]"


def build_request(options: argparse.Namespace) -> tuple[RawRequest, bool]:
    """Return the request, and whether `--all` is possible: True for list operations and `GET PATH`. Raises Failure."""
    files, body_file = ArgumentFiles(), options.input or ""
    arguments = [
        *options.values,
        *map(convert_text_field, options.text_fields),
        *map(convert_typed_field, options.typed_fields),
    ]
    if options.name.upper() in METHODS:
        if not options.values:
            raise Failure(f"{options.name} needs a path, such as /v1/user.", USAGE)
        return _path_request(options.name.upper(), options.values[0], arguments[1:], body_file, files)
    op = build_operation(options.name, parse_values(arguments, files), body_file, files)
    try:
        return raw_request(op), isinstance(op, Listing)
    except ApiError as error:
        raise Failure(str(error), USAGE) from error


def spec_of(name: str) -> Spec:
    """Return the declaration of an operation such as `comments.List`. Raises Failure with a suggestion if unknown."""
    spec = find_spec(name)
    if spec is not None:
        return spec
    if name.upper() in METHODS:
        raise Failure(f"{name} is a method. For its help, run: octavo help api", USAGE)
    if name.startswith("/"):
        raise Failure(f"Write the method before the path: octavo api GET {name[:80]}", USAGE)
    hint = did_you_mean(name, [each.name for each in load().values()]) or " For a list, run: octavo operations"
    raise Failure(f"Unknown operation {name[:80]!r}.{hint}", USAGE)


def build_operation(name: str, values: RequestValues, body_file: str, files: ArgumentFiles) -> Operation[Any]:
    """Return the operation `name` with the given fields. Raises Failure for a missing, unknown or wrong field."""
    spec, fields = spec_of(name), values.fields
    if values.query:
        key = values.query[0][0]
        raise Failure(f"{key}== is only for METHOD {VERSION}/PATH. Write {key}=VALUE.", USAGE)
    if body_file:
        fields = _with_body(spec, fields, body_file, files)
    route = _most_specific_route(spec, fields)
    parameters = _path_parameter_names(route) | query_fields(spec) | body_fields(spec)
    if unknown_names := sorted(fields.keys() - parameters):
        hint = did_you_mean(unknown_names[0], parameters) or _parameters_hint(parameters)
        raise _not_run_failure(spec, f"no parameter {unknown_names[0]}.{hint}")
    if null_message := null_error(spec, fields):
        raise _not_run_failure(spec, null_message)
    lacks_body = bool(body_fields(spec)) and not body_fields(spec) & fields.keys()
    body_hint = f" {STDIN_HINT}" if lacks_body and _has_unread_stdin(body_file) else ""
    if spec.is_update and lacks_body:
        raise _not_run_failure(spec, f"nothing to change. Add KEY=VALUE.{body_hint}")
    try:
        return operation_for_route(route, {key: _as_list(spec, key, value) for key, value in fields.items()})
    except ValidationError as error:
        hint = _choice_hint(error, fields) or body_hint
        raise _not_run_failure(spec, f"{error_sentence(error, fields)}{hint}") from None


def _not_run_failure(spec: Spec, cause: str) -> Failure:
    return Failure(f"Could not run {spec.name}: {cause}", USAGE)


def _most_specific_route(spec: Spec, fields: dict[str, Any]) -> Route:
    """Return the route with the most path parameters that are all in `fields`. Raises Failure if there is none."""
    matching_routes = [route for route in routes(spec) if _path_parameter_names(route) <= fields.keys()]
    if matching_routes:
        return max(matching_routes, key=lambda route: len(_path_parameter_names(route)))
    missing_names = min((sorted(_path_parameter_names(route) - fields.keys()) for route in routes(spec)), key=len)
    raise _not_run_failure(
        spec, f"{', '.join(missing_names)} is missing. Add {' '.join(f'{each}=VALUE' for each in missing_names)}"
    )


def _with_body(spec: Spec, fields: dict[str, Any], body_file: str, files: ArgumentFiles) -> dict[str, Any]:
    body_names = body_fields(spec)
    if not body_names:
        raise _not_run_failure(spec, "it has no body. Leave out --input.")
    if both := sorted(fields.keys() & body_names):
        raise _not_run_failure(spec, f"{both[0]} belongs to the body. Use either --input or {both[0]}=VALUE.")
    body, _ = read_json(body_file, files)
    if not isinstance(body, dict):
        raise _not_run_failure(spec, f"{input_label(body_file)} must contain a JSON object.")
    if unknown_names := sorted(body.keys() - body_names):
        hint = did_you_mean(unknown_names[0], body_names) or _parameters_hint(body_names)
        raise _not_run_failure(spec, f"no parameter {unknown_names[0][:80]} in the body.{hint}")
    return {**fields, **body}


def _path_request(
    method: str, path: str, arguments: list[str], body_file: str, files: ArgumentFiles
) -> tuple[RawRequest, bool]:
    values, content = parse_values(arguments, files), None
    if values.fields and (method in READS or body_file):
        key = next(iter(values.fields))
        cause = "--input" if body_file else f"{method}, which has no body"
        raise Failure(f"{key} cannot be sent with {cause}. For a query parameter, write {key}==VALUE.", USAGE)
    if body_file:
        if method in READS:
            raise Failure(f"{method} has no body. Leave out --input.", USAGE)
        _, content = read_json(body_file, files)
    elif values.fields:
        content = json.dumps(values.fields, ensure_ascii=False).encode("utf-8", "surrogatepass")
    outgoing = outgoing_json(method, encode_target(path, values.query), content)
    return RawRequest(outgoing, f"{VERSION}/…"), outgoing.only_reads


def encode_target(path: str, query: list[tuple[str, str]]) -> str:
    """Return the percent-encoded path and query. Raises Failure if the path could leave the API, or is not UTF-8."""
    path, _, own_query = path.partition("?")
    segments = path.removeprefix(VERSION).split("/")
    if not path.startswith(f"{VERSION}/"):
        raise Failure(f"Could not use the path {path[:80]!r}: it must start with {VERSION}/.", USAGE)
    if any(each in ("", ".", "..") for part in segments[1:] for each in re.split(r"[/\\]", unquote(part))):
        raise Failure(f"Could not use the path {path[:80]!r}: it must not have empty parts, “.” or “..”.", USAGE)
    try:
        query_parts = filter(None, [quote(own_query, safe=_SAFE_IN_QUERY), urlencode(query)])
        return "?".join(filter(None, [quote(path, safe=_SAFE_IN_PATH), "&".join(query_parts)]))
    except UnicodeEncodeError:
        raise Failure(f"Could not use the path {path[:80]!r}: it is not valid UTF-8.", USAGE) from None


def _choice_hint(error: ValidationError, fields: dict[str, Any]) -> str:
    """Return a hint such as ` Did you mean open?`. Empty if the first invalid value resembles no valid value."""
    details = error.errors(include_url=False)
    first_error = details[0]
    value = fields.get(str(first_error["loc"][-1])) if first_error["loc"] else None
    if first_error["type"] != "literal_error" or not isinstance(value, str):
        return ""
    expected = " ".join(each["ctx"]["expected"] for each in details if each["type"] == "literal_error")
    return did_you_mean(value, re.findall(r"'([^']*)'", expected))


def _has_unread_stdin(body_file: str) -> bool:
    if body_file or sys.stdin is None:
        return False
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def _path_parameter_names(route: Route) -> set[str]:
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
    run_filter = compile_filter(options)
    if options.all and options.include:
        raise Failure("Could not print the headers: use --include without --all.", USAGE)
    request, is_list = build_request(options)
    settings = read_settings()
    if options.dry_run:
        return _dry_run(settings, options, request)
    write_out("")  # Fails if standard output is closed, before the request is sent.
    client = open_client(options, settings)
    printer = _Printer(options, run_filter)
    failure = asyncio.run(_send(client, request, printer, all_pages=options.all and is_list))
    if failure is not None:
        from octavo.cli.connection import failure_of  # lazy: needed only after a failure

        raise failure_of(failure, f"run {options.name}") from failure
    return 0


def _dry_run(settings: Settings, options: argparse.Namespace, request: RawRequest) -> int:
    refuse_several_sources(options)
    try:
        is_embedded = options.use_demo or options.pages_folder is not None
        origin = ORIGIN if is_embedded else resolve_access(settings, options).origin
    except (ApiError, ValueError) as error:
        raise Failure(str(error)) from error
    outgoing = request.outgoing
    headers = {**outgoing.headers, "authorization": "Bearer (your API key)"}
    header_lines = (f"{name}: {value}" for name, value in headers.items())
    lines = [f"{outgoing.method} {origin}{outgoing.target}", *header_lines]
    write_out("\n".join(lines) + "\n")
    if isinstance(outgoing.content, bytes):
        write_out("\n")
        write_out(_json(parse_json(outgoing.content), indent=2) + "\n")
    return 0


async def _send(lazy_client: LazyClient, request: RawRequest, printer: _Printer, *, all_pages: bool) -> ApiError | None:
    """Send the request and print its response, or all items of the list if `all_pages`. If the request fails, print the
    items loaded so far and return the ApiError, else None. Raises Failure if the server must not get the API key."""
    items: list[Any] = []
    try:
        client = await lazy_client.client()
        if not all_pages:
            response = await client.raw(request)
            try:
                printer.print_response(response)
            except OutputFailure as failure:
                raise (failure if request.outgoing.only_reads else failure.with_changes_note()) from failure
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
    except ValueError as error:  # The client refuses to send the API key to this server.
        raise Failure(str(error)) from error
    finally:
        await lazy_client.aclose()


class _Printer:
    def __init__(self, options: argparse.Namespace, run_filter: Callable[[Any], None] | None) -> None:
        self.is_by_line: bool = options.ndjson
        self._has_head: bool = options.include
        self._filter = run_filter

    def print_response(self, response: RawResponse) -> None:
        if self._has_head:
            write_out(_format_head(response))
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
        if self._filter is not None:
            self._filter(_sanitize_for_terminal(value))
        else:
            write_out(_json(value, indent=2) + "\n")

    def print_line(self, value: Any) -> None:
        write_out(_json(value, indent=None) + "\n")


def _format_head(response: RawResponse) -> str:
    phrase = {each.value: each.phrase for each in HTTPStatus}.get(response.status, "")
    headers = (safe_line(f"{name}: {value}") for name, value in sorted(response.headers.items()))
    return "\n".join([f"HTTP {response.status} {phrase}".rstrip(), *headers, "", ""])


def _sanitize_for_terminal(value: Any) -> Any:
    return safe_json(value) if is_terminal(sys.stdout) else value


def _json(value: Any, *, indent: int | None) -> str:
    try:
        return json.dumps(_sanitize_for_terminal(value), indent=indent, ensure_ascii=needs_ascii(), allow_nan=False)
    except ValueError:
        raise OutputFailure(
            "Could not print the response: it contains NaN or a number that is too large for JSON."
        ) from None
