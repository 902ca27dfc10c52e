"""`octavo api`: call one API operation and print the response."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from octavo.api.errors import ApiError, Unauthorized
from octavo.api.operation import Listing, Operation
from octavo.api.safety import json as safe_json
from octavo.api.wire import Route, body_fields, build, query_fields
from octavo.api.wrong_values import error_sentence, null_error
from octavo.cli.access import read_settings, resolve, signed_in
from octavo.cli.arguments import FAILED, NOT_SIGNED_IN, USAGE, Failure, why_read_only, write_out
from octavo.cli.operations import all_routes
from octavo.client.client import Client, outgoing
from octavo.data.event_log import LOG
from octavo.settings import Settings
from octavo.untrusted_input import parse_json


def run(options: argparse.Namespace) -> int:
    op = operation(options.name, values_of(options.values))
    settings = read_settings()
    if options.dry_run:
        return _dry_run(settings, options, op)
    access, key = signed_in(settings, options)
    client = Client(
        access.origin,
        key,
        ca_file=settings.ca_file,
        read_only=why_read_only(options) or access.why_read_only,
        on_activity=LOG.add_request,
    )
    try:
        response, error = asyncio.run(_send(client, op, everything=options.all))
    except ValueError as wrong:
        raise Failure(str(wrong)) from wrong
    if response is not None:
        _print(response)
    if error is not None:
        raise Failure(str(error), NOT_SIGNED_IN if isinstance(error, Unauthorized) else FAILED) from error
    return 0


def _dry_run(settings: Settings, options: argparse.Namespace, op: Operation[Any]) -> int:
    """Print the request without sending it. This needs no account and reads no API key."""
    try:
        access = resolve(settings, options)
        sent = outgoing(op)
    except (ApiError, ValueError) as error:
        raise Failure(str(error)) from error
    headers = {**sent.headers, "authorization": "Bearer (your API key)"}
    lines = [f"{sent.method} {access.origin}{sent.target}", *(f"{name}: {value}" for name, value in headers.items())]
    write_out("\n".join(lines) + "\n")
    if isinstance(sent.content, bytes):
        write_out("\n")
        _print(parse_json(sent.content))
    return 0


def _print(value: Any) -> None:
    # Text from the server must not control the terminal. In a pipe the text stays unchanged.
    out = sys.stdout
    shown = safe_json(value) if out is not None and out.isatty() else value
    is_utf8 = out is not None and (out.encoding or "").lower().replace("-", "") == "utf8"
    try:
        text = json.dumps(shown, indent=2, ensure_ascii=not is_utf8, allow_nan=False)
    except ValueError:
        raise Failure("Could not print the response: it contains NaN or a number that is too large for JSON.") from None
    write_out(text + "\n")


def values_of(arguments: list[str]) -> dict[str, Any]:
    """Return the values: `key=value` is text, `key:=value` JSON, a repeated key a list. Raises Failure."""
    values: dict[str, Any] = {}
    for argument in arguments:
        name, sign, text = _split(argument)
        value: Any = text
        if sign == ":=":
            value = _json(name, text)
        if name in values:
            before = values[name] if isinstance(values[name], list) else [values[name]]
            value = [*before, value]
        values[name] = value
    return values


def operation(name: str, values: dict[str, Any]) -> Operation[Any]:
    """Return the operation called `name` with these values. Raises Failure if a value is missing, unknown or wrong."""
    routes = [route for route in all_routes() if route.spec.name == name]
    if not routes:
        suggestions = get_close_matches(name, {route.spec.name for route in all_routes()}, n=3)
        hint = f"Did you mean {' or '.join(suggestions)}?" if suggestions else "For a list, run: octavo operations"
        raise Failure(f"Unknown operation {name!r}. {hint}", USAGE)
    matching_routes = [route for route in routes if _in_path(route) <= values.keys()]
    if not matching_routes:
        missing = min((sorted(_in_path(route) - values.keys()) for route in routes), key=len)
        raise Failure(f"{name} needs {', '.join(f'{each}=…' for each in missing)}", USAGE)
    route = max(matching_routes, key=lambda route: len(_in_path(route)))
    known_names = _in_path(route) | query_fields(route.spec) | body_fields(route.spec)
    if unknown := sorted(values.keys() - known_names):
        raise Failure(f"{name} does not take {', '.join(unknown)}. {_parameters_hint(known_names)}", USAGE)
    if wrong := null_error(route.spec, values):
        raise Failure(wrong, USAGE)
    try:
        return build(route, {key: _as_list(route, key, value) for key, value in values.items()})
    except ValidationError as error:
        raise Failure(error_sentence(error, values), USAGE) from None


async def _send(client: Client, op: Operation[Any], *, everything: bool) -> tuple[Any, ApiError | None]:
    """Return the response and None. If reading fails, return the error, with the items of a list that were read before."""
    items: list[Any] = []
    try:
        if not (everything and isinstance(op, Listing)):
            return await client.raw(op), None
        async for item in client.raw_each(op):
            items.append(item)
        return {"items": items}, None
    except ApiError as error:
        return {"items": items} if items else None, error
    finally:
        await client.aclose()


def _json(name: str, text: str) -> Any:
    """Return the JSON value in `text`. Raises Failure if it is not JSON, has NaN, or has an object with the same key
    twice."""
    try:
        from_json(text.encode("utf-8", "surrogateescape"), allow_inf_nan=False)  # also limits the nesting
        value = json.loads(text, object_pairs_hook=_object)
        json.dumps(value, allow_nan=False)  # 1e999 is a JSON number that Python reads as infinity
    except _DuplicateKey as twice:
        raise Failure(
            f"{name}:= has the key {str(twice)[:40]!r} twice in its JSON value. Remove one of the two.", USAGE
        ) from None
    except ValueError:
        raise Failure(
            f"{name}:= needs a JSON value, but {text[:40]!r} is not JSON. For text, use {name}=VALUE.", USAGE
        ) from None
    return value


class _DuplicateKey(Exception):
    """Raised for an object that has a key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        raise _DuplicateKey(next(key for key in keys if keys.count(key) > 1))
    return mapping


def _split(argument: str) -> tuple[str, str, str]:
    found = re.match(r"([A-Za-z][\w.]*)(:=|=)", argument)
    if found is None:
        raise Failure(f"{argument[:40]!r} is not a parameter. Write KEY=VALUE or KEY:=JSON.", USAGE)
    return found[1], found[2], argument[found.end() :]


def _in_path(route: Route) -> set[str]:
    return set(re.findall(r"{(\w+)}", route.path))


def _parameters_hint(known_names: set[str]) -> str:
    return (
        f"Its parameters are {', '.join(sorted(known_names))}." if known_names else "This operation has no parameters."
    )


def _as_list(route: Route, name: str, value: Any) -> Any:
    """Return `value` as a list if the field takes a list."""
    schema = route.spec.operation.model_json_schema(by_alias=True)["properties"].get(name, {})
    kinds = [schema, *schema.get("anyOf", ())]
    takes_list = any(each.get("type") == "array" for each in kinds)
    return [value] if takes_list and not isinstance(value, list) else value
