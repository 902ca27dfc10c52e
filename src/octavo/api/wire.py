"""How an operation travels as HTTP. The client encodes, the embedded platform decodes.

The fields named in its path, and those of the place it happens `at`, travel in the URL. The others travel
as the query of a GET or DELETE, and as the JSON body of everything else, but for those a declaration sends
by `query`. A field that was never set stays at home, so a PATCH changes only what it names; a field set to
None travels as null in a body and stays out of a query.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, get_origin
from urllib.parse import parse_qs, quote, unquote, urlencode

from octavo.api.operation import SPECS, Operation, Ref, Spec, camel, load

VERSION = "/v1"
_NAME = re.compile(r"{(\w+)}")


@dataclass(frozen=True)
class Request:
    """An operation as HTTP has it."""

    method: str
    url: str
    """Path, from `/v1`, and query. For a read this is its identity: the key of the cache."""
    body: dict[str, Any] | None = None


class NoSuchOperation(LookupError):
    """No operation answers this path. `methods` are those that others of the same path answer to."""

    def __init__(self, method: str, path: str, methods: tuple[str, ...]) -> None:
        super().__init__(f"No operation answers {method} {path}")
        self.methods = methods


@dataclass(frozen=True)
class Route:
    """One method and path of an operation."""

    spec: Spec
    place: type[Ref] | None
    path: str
    """With the parameter names of the interface: `/v1/spaces/{spaceId}/comments`."""

    @property
    def key(self) -> str:
        """What identifies it to a person: `comments.List` may have two of these."""
        return f"{self.spec.method} {self.path}"


class NothingChanged(ValueError):
    """An operation that changes something does not say what."""

    def __init__(self) -> None:
        super().__init__("nothing was changed")


def encode(op: Operation[Any]) -> Request:
    """`op` as HTTP. Raises ValueError for what cannot travel, NothingChanged for a change of nothing."""
    spec = SPECS[type(op)]
    sent = op.model_dump(mode="json", by_alias=True, exclude=in_path(spec) | {"at"}, exclude_unset=True)
    queried = query_fields(spec)
    query = {name: value for name, value in sent.items() if name in queried and value is not None}
    body = {name: value for name, value in sent.items() if name not in queried} if body_fields(spec) else None
    if spec.changes and body == {}:
        raise NothingChanged
    url = location(op)
    if query:
        many = (_pairs(name, *(value if isinstance(value, list) else [value])) for name, value in query.items())
        url += "?" + "&".join(filter(None, many))
    return Request(spec.method, url, body)


def decode(request: Request) -> Operation[Any]:
    """The operation a request stands for. Raises NoSuchOperation, NothingChanged, or pydantic's ValidationError."""
    path, _, query = request.url.partition("?")
    others: list[str] = []
    for route, pattern in _patterns():
        found = pattern.fullmatch(path)
        if found is None:
            continue
        if route.spec.method != request.method:
            others.append(route.spec.method)
            continue
        return _decoded(route, {name: unquote(value) for name, value in found.groupdict().items()}, query, request.body)
    raise NoSuchOperation(request.method, path, tuple(dict.fromkeys(others)))


def build(route: Route, values: dict[str, Any]) -> Operation[Any]:
    """The operation of `route` with `values` under their wire names. Raises ValidationError."""
    at = {"at": route.place.model_validate(values)} if route.place else {}
    own = {name: values[name] for name in _aliases(route.spec) if name in values and name != "at"}
    return route.spec.operation.model_validate({**own, **at})


def location(op: Operation[Any]) -> str:
    """The path of the resource the operation is about, filled in, from `/v1`."""
    spec = SPECS[type(op)]
    at: Ref | None = getattr(op, "at", None)
    place, content = (_fill(at.path, at), at.content) if at else ("", "")
    return VERSION + place + _fill(spec.path.replace("{content}", content), op)


def arguments(op: Operation[Any]) -> dict[str, Any]:
    """What the caller set, by field name, apart from what says where."""
    names = op.model_fields_set - in_path(SPECS[type(op)]) - {"at"}
    return {name: getattr(op, name) for name in names}


def routes(spec: Spec) -> list[Route]:
    """The methods and paths an operation answers at, one for each kind of place it accepts."""
    if not spec.places:
        return [Route(spec, None, VERSION + _camel(spec.path))]
    return [
        Route(spec, place, VERSION + _camel(place.path + spec.path.replace("{content}", place.content)))
        for place in spec.places
    ]


def route_of(op: Operation[Any]) -> str:
    """The path of `op` with parameter names instead of values: fit for logs and errors."""
    at = type(getattr(op, "at", None))
    return next(route.path for route in routes(SPECS[type(op)]) if route.place in (at, None))


@cache
def query_fields(spec: Spec) -> frozenset[str]:
    """The wire names of the fields that travel in the query."""
    aliases = _aliases(spec)
    if spec.method in ("GET", "DELETE"):
        return frozenset(aliases) - {camel(name) for name in in_path(spec)} - {"at"}
    return frozenset(name for name, field in aliases.items() if field in spec.query)


@cache
def body_fields(spec: Spec) -> frozenset[str]:
    """The wire names of the fields that travel in the body."""
    return frozenset(_aliases(spec)) - query_fields(spec) - {camel(name) for name in in_path(spec)} - {"at"}


def _decoded(route: Route, values: dict[str, str], query: str, body: dict[str, Any] | None) -> Operation[Any]:
    queried, bodied = query_fields(route.spec), body_fields(route.spec)
    given: dict[str, Any] = {name: value for name, value in (body or {}).items() if name in bodied}
    for name, texts in parse_qs(query, keep_blank_values=True).items():
        if name in queried:
            given[name] = texts if _is_many(route.spec, name) else texts[-1]
    if route.spec.changes and bodied and not body:
        raise NothingChanged
    return build(route, {**given, **values})


@cache
def _patterns() -> list[tuple[Route, re.Pattern[str]]]:
    """Literal paths come first: /content/pages must not be read as /content/{anything}."""
    found = [route for spec in load().values() for route in routes(spec)]
    found.sort(key=lambda route: route.path.count("{"))
    return [(route, re.compile(_NAME.sub(_capture, route.path))) for route in found]


def _capture(name: re.Match[str]) -> str:
    # A page path may come with its slashes as they are, though we send them encoded (2.4).
    return f"(?P<{name[1]}>.+)" if name[1] == "pagePath" else f"(?P<{name[1]}>[^/]+)"


@cache
def _aliases(spec: Spec) -> dict[str, str]:
    fields = spec.operation.model_fields
    return {field.alias or camel(name): name for name, field in fields.items()}


@cache
def in_path(spec: Spec) -> set[str]:
    return set(_NAME.findall(spec.path)) - {"content"}


def _is_many(spec: Spec, name: str) -> bool:
    annotation = spec.operation.model_fields[_aliases(spec)[name]].annotation
    return any(get_origin(each) is tuple for each in _union(annotation))


def _union(annotation: Any) -> Iterator[Any]:
    yield from getattr(annotation, "__args__", ()) if get_origin(annotation) is not tuple else ()
    yield annotation


def _camel(path: str) -> str:
    return _NAME.sub(lambda name: "{" + camel(name[1]) + "}", path)


def _fill(path: str, values: Operation[Any] | Ref) -> str:
    return _NAME.sub(lambda name: _segment(str(getattr(values, name[1]))), path)


def _segment(value: str) -> str:
    """A path segment that cannot climb: `..` would reach another resource with our key (C11)."""
    if value in ("", ".", ".."):
        raise ValueError(f"{value!r} cannot be used in a path")
    return quote(value, safe="")


@lru_cache(maxsize=500, typed=True)
def _pairs(name: str, *values: Any) -> str:
    """A field in a query: thousands of questions differ by nothing but their path."""
    return urlencode([(name, _query_text(value)) for value in values])


def _query_text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return value
