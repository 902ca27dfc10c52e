"""Converts operations to HTTP requests and back. Also writes error messages about invalid values.

The client encodes operations, and the embedded server decodes them. The command line checks values before it sends a
request, the embedded server when it gets one.

Fields in the path of the operation or of its `at` are sent in the URL. Other fields of a GET or DELETE are sent in the
query. For other methods, they are sent in the JSON body, except for the `query` fields of the declaration. Unset fields
are not sent, so a PATCH changes only fields that were set. None is sent as null in a body, and left out of a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from urllib.parse import parse_qs, quote, unquote, urlencode

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails

from octavo.api.operation import SPECS, Operation, Ref, Spec, camel, load
from octavo.api.text import PATTERN_DESCRIPTIONS

VERSION = "/v1"
_NAME = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Request:
    """An HTTP request for an operation."""

    method: str
    url: str
    """Path and query, beginning with `/v1`. Responses are cached under this URL."""
    body: dict[str, Any] | None = None


class NoSuchOperation(LookupError):
    """No operation has this method and path. `methods` are the methods that the path has, if any."""

    def __init__(self, method: str, path: str, methods: tuple[str, ...]) -> None:
        super().__init__(f"No operation answers {method} {path}")
        self.methods = methods


@dataclass(frozen=True)
class Route:
    """A method and path of an operation. Operations have a route for each type of `at`."""

    spec: Spec
    at_type: type[Ref] | None
    path: str
    """The path with parameter names, such as `/v1/spaces/{spaceId}/comments`."""

    @property
    def key(self) -> str:
        """The method and path, such as `GET /v1/user`. Unique, while routes of one operation share its name."""
        return f"{self.spec.method} {self.path}"


class NothingChanged(ValueError):
    """An update with no field set, so there is nothing to send."""

    def __init__(self) -> None:
        super().__init__("nothing was changed")


def encode(op: Operation[Any]) -> Request:
    """Convert an operation to a request. Raises NothingChanged for an empty update, ValueError for a bad path value."""
    spec = SPECS[type(op)]
    fields = op.model_dump(mode="json", by_alias=True, exclude=path_fields(spec) | {"at"}, exclude_unset=True)
    query_names = query_fields(spec)
    query = {name: value for name, value in fields.items() if name in query_names and value is not None}
    body = {name: value for name, value in fields.items() if name not in query_names} if body_fields(spec) else None
    if spec.is_update and body == {}:
        raise NothingChanged
    url = url_path(op)
    query_pairs = [
        (name, str(each).lower() if isinstance(each, bool) else each)
        for name, value in query.items()
        for each in (value if isinstance(value, list) else [value])
    ]
    if query_pairs:
        url += "?" + urlencode(query_pairs)
    return Request(spec.method, url, body)


def decode(request: Request) -> Operation[Any]:
    """Convert a request to an operation. Raises NoSuchOperation, NothingChanged, or pydantic's ValidationError."""
    path, _, query = request.url.partition("?")
    matching_routes = _find_routes(path)
    if all(route.spec.method != request.method for route, _ in matching_routes):
        load()  # The operation may be in a module that is not imported yet.
        matching_routes = _find_routes(path)
    for route, values in matching_routes:
        if route.spec.method == request.method:
            return _decode_operation(route, values, query, request.body)
    raise NoSuchOperation(request.method, path, tuple(dict.fromkeys(route.spec.method for route, _ in matching_routes)))


def operation_for_route(route: Route, values: dict[str, Any]) -> Operation[Any]:
    """Return the operation for a route with the field values `values`, by API name. Raises ValidationError."""
    at_field = {"at": route.at_type.model_validate(values)} if route.at_type else {}
    field_values = {name: values[name] for name in _aliases(route.spec) if name in values and name != "at"}
    return route.spec.operation.model_validate({**field_values, **at_field})


def url_path(op: Operation[Any]) -> str:
    """Return the path to which an operation is sent, beginning with `/v1`."""
    spec = SPECS[type(op)]
    at: Ref | None = getattr(op, "at", None)
    prefix, content = (_fill(at.path, at), at.content) if at else ("", "")
    return VERSION + prefix + _fill(spec.path.replace("{content}", content), op)


def routes(spec: Spec) -> list[Route]:
    """Return the routes of an operation: one for each type of its field `at`, or a single route without this field."""
    if not spec.at_types:
        return [Route(spec, None, VERSION + _with_wire_names(spec.path))]
    return [
        Route(spec, at_type, VERSION + _with_wire_names(at_type.path + spec.path.replace("{content}", at_type.content)))
        for at_type in spec.at_types
    ]


def path_template(op: Operation[Any]) -> str:
    """Return the path of an operation with the names of its parameters, not their values, for logs and errors."""
    at = type(getattr(op, "at", None))
    return next(route.path for route in routes(SPECS[type(op)]) if route.at_type in (at, None))


@cache
def query_fields(spec: Spec) -> frozenset[str]:
    """Return the API names of the fields that are sent in the query."""
    aliases = _aliases(spec)
    if spec.method in ("GET", "DELETE"):
        return frozenset(aliases) - {camel(name) for name in path_fields(spec)} - {"at"}
    return frozenset(name for name, field in aliases.items() if field in spec.query)


@cache
def body_fields(spec: Spec) -> frozenset[str]:
    """Return the API names of the fields that are sent in the body."""
    return frozenset(_aliases(spec)) - query_fields(spec) - {camel(name) for name in path_fields(spec)} - {"at"}


def _decode_operation(route: Route, values: dict[str, str], query: str, body: dict[str, Any] | None) -> Operation[Any]:
    query_names, body_names = query_fields(route.spec), body_fields(route.spec)
    values_by_name: dict[str, Any] = {name: value for name, value in (body or {}).items() if name in body_names}
    for name, texts in parse_qs(query, keep_blank_values=True).items():
        if name in query_names:
            values_by_name[name] = texts if is_list_field(route.spec, name) else texts[-1]
    if route.spec.is_update and body_names and not body:
        raise NothingChanged
    op = operation_for_route(route, {**values_by_name, **values})
    if errors := list(_type_errors(op, {name: value for name, value in values_by_name.items() if name in body_names})):
        raise ValidationError.from_exception_data(type(op).__name__, errors)
    return op


def _type_errors(decoded: Any, given: Any, *loc: int | str) -> Iterator[InitErrorDetails]:
    """Yield an error for each value of a body that pydantic converted to a boolean or number, such as "yes" to true."""
    if decoded is given:  # This field takes any JSON, which may be large.
        return
    match decoded, given:
        case BaseModel(), dict():
            for name, field in type(decoded).model_fields.items():
                if (alias := field.alias or camel(name)) in given:
                    yield from _type_errors(getattr(decoded, name), given[alias], *loc, alias)
        case dict(), dict():
            for name, value in given.items():
                yield from _type_errors(decoded.get(name), value, *loc, name)
        case tuple(), list():
            for number, pair in enumerate(zip(decoded, given, strict=False)):
                yield from _type_errors(*pair, *loc, number)
        case bool(), _ if not isinstance(given, bool):
            yield InitErrorDetails(type="bool_type", loc=loc, input=given)
        case int() | float(), str() | bool() if not isinstance(decoded, bool):
            kind = "int_type" if isinstance(decoded, int) else "float_type"
            yield InitErrorDetails(type=kind, loc=loc, input=given)


def _find_routes(path: str) -> list[tuple[Route, dict[str, str]]]:
    """Return the routes that match a path, each with its path parameters. Routes with fewer parameters come first."""
    # The pattern is matched last, because comparing the fixed parts is faster.
    matching_routes = [
        (route, {name: unquote(value) for name, value in match.groupdict().items()})
        for route, start, end in _routes_of_all(len(SPECS))
        if path.startswith(start) and path.endswith(end) and (match := _pattern(route.path).fullmatch(path))
    ]
    return sorted(matching_routes, key=lambda each: each[0].path.count("{"))


@lru_cache(maxsize=1)
def _routes_of_all(_count: int) -> list[tuple[Route, str, str]]:
    """Return all routes, each with the first and last fixed part of its path. `_count` is the number of operations,
    which a later import increases."""
    specs = [spec for spec in tuple(SPECS.values()) if not spec.repeats_request]  # Another thread may add operations.
    paths = [(route, _NAME.split(route.path)[::2]) for spec in specs for route in routes(spec)]
    return [(route, parts[0], parts[-1]) for route, parts in paths]


@cache
def _pattern(path: str) -> re.Pattern[str]:
    """Return a pattern that matches the paths of the route `path`, with a named group for each parameter."""
    return re.compile(_NAME.sub(_capturing_group, path))


def _capturing_group(found: re.Match[str]) -> str:
    # Octavo encodes the slashes in a page path, but other clients may not.
    return f"(?P<{found[1]}>.+)" if found[1] == "pagePath" else f"(?P<{found[1]}>[^/]+)"


@cache
def _aliases(spec: Spec) -> dict[str, str]:
    fields = spec.operation.model_fields
    return {field.alias or camel(name): name for name, field in fields.items()}


@cache
def path_fields(spec: Spec) -> set[str]:
    return set(_NAME.findall(spec.path)) - {"content"}


def is_list_field(spec: Spec, name: str) -> bool:
    """Return whether the field with the API name `name` takes a list."""
    annotation = spec.operation.model_fields[_aliases(spec)[name]].annotation
    return any(get_origin(each) is tuple for each in _union_members(annotation))


def _union_members(annotation: Any) -> Iterator[Any]:
    """Yield the types in a union, without `Annotated`. For a type that is no union, yield the type."""
    members = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    for each in members:
        yield get_args(each)[0] if get_origin(each) is Annotated else each


def _with_wire_names(path: str) -> str:
    return _NAME.sub(lambda name: "{" + camel(name[1]) + "}", path)


def _fill(path: str, values: Operation[Any] | Ref) -> str:
    return _NAME.sub(lambda name: _encode_segment(str(getattr(values, name[1]))), path)


def _encode_segment(value: str) -> str:
    """Percent-encode a path segment. Raises ValueError if it is empty, `.` or `..`."""
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} cannot be used in a path")
    return quote(value, safe="")


_VALUE_RULES = {
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "date_from_datetime_parsing": "a date, for example 2026-11-23",
    "date_parsing": "a date, for example 2026-11-23",
    "datetime_from_date_parsing": "a date and time, for example 2026-11-23 or 2026-11-23T18:30Z",
    "datetime_parsing": "a date and time, for example 2026-11-23 or 2026-11-23T18:30Z",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
    "tuple_type": "a list",
}
"""Phrase for valid values, such as “text”, by the type of the pydantic error. Messages put “must be” before it."""


def error_sentence(invalid: ValidationError, given: Any) -> str:
    """Return the message for the first invalid value: which values are valid, without the invalid value itself."""
    details = invalid.errors(include_url=False, include_input=False)
    first = details[0]
    if first["type"] == "value_error" and not first["loc"]:
        return f"{first['ctx']['error']}."  # An error about several fields names them in its message.
    field = _field_path(first, given)
    same = [each for each in details if each["type"] == first["type"] and _field_path(each, given) == field]
    return f"{field or 'The body'} {value_rule(first, same)}."


def null_error(spec: Spec, given: Mapping[str, Any]) -> str | None:
    """Return the error message for the first field that is null but must not be null. None if all are valid."""
    in_body = body_fields(spec) - {camel(name) for name in spec.nullable}
    wrong = next((name for name, value in given.items() if value is None and name in in_body), None)
    return f"{wrong} cannot be null. Leave {wrong} out to keep its value." if wrong else None


def value_rule(error: ErrorDetails, same_errors: list[ErrorDetails]) -> str:
    """Return a rule such as `must be a whole number`. For a choice, `same_errors` name the allowed values, one each."""
    limits: dict[str, Any] = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "is required"
        case "string_too_long":
            return f"may have at most {_plural(limits['max_length'], 'character')}"
        case "string_too_short":
            return f"must have at least {_plural(limits['min_length'], 'character')}"
        case "too_long":
            return f"may have at most {_plural(limits['max_length'], 'item')}"
        case "too_short":
            return f"must have at least {_plural(limits['min_length'], 'item')}"
        case "less_than_equal":
            return f"may be at most {limits['le']}"
        case "greater_than_equal":
            return f"must be at least {limits['ge']}"
        case "literal_error":
            choices = ", ".join(str(each["ctx"]["expected"]) for each in same_errors)
            return f"must be one of {choices}" if "," in choices or " or " in choices else f"must be {choices}"
        case "string_pattern_mismatch":
            return f"must be {PATTERN_DESCRIPTIONS[limits['pattern']]}"
        case "union_tag_not_found":
            return f"must contain {limits['discriminator']}"
        case "union_tag_invalid":
            return f"must have {limits['discriminator']} set to one of {limits['expected_tags']}"
        case "value_error":
            return f"is not valid: {limits['error']}"
        case kind if kind in _VALUE_RULES:
            return f"must be {_VALUE_RULES[kind]}"
        case _:
            return "is not valid: " + error["msg"][:1].lower() + error["msg"][1:]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _field_path(error: ErrorDetails, given: Any) -> str:
    """Return the path of the wrong field in `given`, such as `position.before.space` or `changes[0].title`."""
    steps, path, value = error["loc"], "", given
    for depth, step in enumerate(steps):
        is_in_body = isinstance(value, list) if isinstance(step, int) else isinstance(value, dict) and step in value
        if isinstance(step, int):
            path += f"[{step}]"
        elif is_in_body or depth == 0 or (depth == len(steps) - 1 and error["type"] == "missing"):
            path += f".{step}" if path else step
        if is_in_body:
            value = value[step]
    return path
