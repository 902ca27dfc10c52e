"""The interface as an OpenAPI 3.1 document, made from the operations and nothing else.

Answers are described as the embedded platform gives them. Imported by whoever wants the document: making it builds
the schema of every model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from http import HTTPStatus
from importlib import import_module
from inspect import getdoc
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from octavo import __version__
from octavo.api.operation import AREAS, ListPage, Spec, camel, load
from octavo.api.wire import Route, body_fields, query_fields, routes

Json = dict[str, Any]

_SCHEMAS = "#/components/schemas/"
_MODULES = "octavo__api__"
_NAME = re.compile(r"{(\w+)}")
_REFUSALS = {
    400: "A value is invalid. The message names the value and what is allowed.",
    401: "The API key is missing or unknown.",
    403: "The caller does not have permission to do this.",
    404: "The resource does not exist, or the caller does not have access to it.",
    409: "The resource is not in a state that allows this.",
    412: "A precondition of this operation is not met.",
    413: "The request body is too large.",
    503: "The service is temporarily unavailable. Try again.",
}
_ERROR: Json = {
    "type": "object",
    "description": "Why a request was refused.",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": {"type": "integer", "description": "The HTTP status code."},
                "message": {"type": "string", "description": "A message for people."},
            },
        }
    },
}


_SAID: Json = {"content": {"application/json": {"schema": {"$ref": f"{_SCHEMAS}Error"}}}}
_MAY_BE_MISSING = frozenset(
    {
        *("Page.hidden", "Page.noIndex", "Page.noRobotsIndex", "Page.pages", "Page.urls"),
        *("Changes.more", "Invited.failedSSOEmails", "OpenApiSpec.lastProcessedErrors"),
        "SiteSpace.hasAdvancedCustomizationFeature",
    }
)
"""What is not in every answer although it is never null. Everything else that cannot be null is always there."""


@cache
def document() -> Json:
    """The whole document. Its paths begin with `/v1`. Everybody is given the same one: do not change it."""
    found = [route for spec in load().values() for route in routes(spec)]
    schemas = _Schemas([route.spec for route in found])
    paths: dict[str, Json] = {}
    for route in found:
        paths.setdefault(route.path, {})[route.spec.method.lower()] = _operation(route, schemas)
    described = schemas.components()
    _as_answers_are_sent(paths, described)
    _require_what_tells_apart([paths, described], described)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Octavo",
            "version": __version__,
            "description": "Documentation as spaces of pages, reviewed as change requests and published as sites.",
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "tags": [{"name": _title(area), "description": about(area)} for area in AREAS],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {_response(status): {"description": said, **_SAID} for status, said in _REFUSALS.items()},
            "schemas": {"Error": _ERROR, **described},
        },
    }


def refusals(route: Route) -> list[int]:
    """The statuses above 399 a route may be answered with."""
    may = {401, 503}
    if "{" in route.path or query_fields(route.spec) or body_fields(route.spec):
        may |= {400, 403, 404}
    if route.spec.method != "GET":
        may |= {409, 412}
    if body_fields(route.spec):
        may.add(413)
    return sorted(may)


def about(area: str) -> str:
    """What an area is about, in a sentence, without saying where that is specified."""
    sentence = (getdoc(import_module(f"octavo.api.{area}")) or "").partition("\n")[0]
    return re.sub(r" \([\d., ]+\)", "", sentence)


class _Schemas:
    """The JSON schemas of all that travels, which share their definitions."""

    def __init__(self, specs: list[Spec]) -> None:
        asked = {kind: TypeAdapter[Any](kind) for spec in specs for kind in (spec.operation, *spec.places)}
        asked |= {spec.answer: spec.codec for spec in specs}
        found, shared = TypeAdapter.json_schemas(
            [(kind, "validation", adapter) for kind, adapter in asked.items()],
            ref_template=_SCHEMAS + "{model}",
            schema_generator=_Generator,
        )
        self._found = {kind: schema for (kind, _), schema in found.items()}
        self._shared: Json = shared.get("$defs", {})
        self._inlined = {self._name(kind) for spec in specs for kind in (spec.operation, *spec.places)}
        for spec in specs:
            if _is_list(spec.answer):
                _as_a_list_is_sent(self.whole(spec.answer))

    def whole(self, kind: Any) -> Json:
        """The schema of a model itself, where one that answers refers to it."""
        found: Json = self._found[kind]
        shared: Json = self._shared.get(self._name(kind), found)
        return shared

    def answer(self, spec: Spec) -> Json:
        """The schema of what an operation answers."""
        described: Json = _renamed(self._found[spec.answer])
        return described

    def field(self, kind: Any, name: str) -> Json:
        """The schema of one field of a request, by its wire name."""
        described: Json = _renamed(self.whole(kind)["properties"][name])
        return described

    def components(self) -> Json:
        """The definitions that others refer to."""
        kept = {name: schema for name, schema in self._shared.items() if name not in self._inlined}
        return {_short(name): _renamed(kept[name]) for name in sorted(kept, key=_short)}

    def _name(self, kind: Any) -> str:
        return str(self._found[kind].get("$ref", "")).removeprefix(_SCHEMAS)


class _Generator(GenerateJsonSchema):
    """Says nothing that the name of a field says already, and no empty value for what may be missing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        described = super().default_schema(schema)
        if described.get("default", ...) in (None, "", []):
            del described["default"]
        return described


def _operation(route: Route, schemas: _Schemas) -> Json:
    spec = route.spec
    described: Json = {
        "operationId": _identity(route),
        "tags": [_title(spec.name.partition(".")[0])],
        "summary": spec.summary,
    }
    if more := (getdoc(spec.operation) or "").partition("\n")[2].strip():
        described["description"] = more
    if parameters := [*_path_parameters(route, schemas), *_query_parameters(spec, schemas)]:
        described["parameters"] = parameters
    if body := _body(spec, schemas):
        described["requestBody"] = body
    success: Json = {"description": HTTPStatus(spec.success).phrase}
    if spec.answer not in (None, type(None)):
        success["content"] = {"application/json": {"schema": schemas.answer(spec)}}
    refused = {str(status): {"$ref": f"#/components/responses/{_response(status)}"} for status in refusals(route)}
    described["responses"] = {str(spec.success): success, **refused}
    return described


def _path_parameters(route: Route, schemas: _Schemas) -> Iterator[Json]:
    for name in _NAME.findall(route.path):
        of_place = route.place is not None and name in schemas.whole(route.place)["properties"]
        schema = schemas.field(route.place if of_place else route.spec.operation, name)
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(spec: Spec, schemas: _Schemas) -> Iterator[Json]:
    whole, names = schemas.whole(spec.operation), query_fields(spec)
    for name in whole.get("properties", {}):
        if name in names:
            schema = _without_null(schemas.field(spec.operation, name))
            yield {"name": name, "in": "query", "required": name in whole.get("required", ()), "schema": schema}


def _body(spec: Spec, schemas: _Schemas) -> Json | None:
    names = body_fields(spec)
    if not names:
        return None
    whole = schemas.whole(spec.operation)
    nullable = {camel(name) for name in spec.nullable}
    fields = {name: schemas.field(spec.operation, name) for name in whole["properties"] if name in names}
    properties = {name: each if name in nullable else _without_null(each) for name, each in fields.items()}
    required = [name for name in whole.get("required", ()) if name in names]
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    elif spec.changes:
        schema["minProperties"] = 1
    return {"required": bool(required) or spec.changes, "content": {"application/json": {"schema": schema}}}


def _identity(route: Route) -> str:
    """`comments.List.Space`: the name of the operation, and the kind of place where there are several."""
    place = f".{route.place.__name__.removesuffix('Ref')}" if route.place and len(route.spec.places) > 1 else ""
    return route.spec.name + place


def _response(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "")


def _is_list(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, ListPage)


def _as_a_list_is_sent(schema: Json) -> None:
    """Without what only a reader counts, and never without items."""
    schema["properties"].pop("unreadable", None)
    schema["properties"]["items"].pop("default", None)
    schema["required"] = ["items"]


def _as_answers_are_sent(paths: Json, described: Json) -> None:
    """Models let everything of an answer be missing, for the sake of other servers. The platform is not like that.

    What a reader takes a missing value to be is no default that is sent either, and may be none of the documented values.
    """
    operations = [operation for methods in paths.values() for operation in methods.values()]
    answered = _reached([operation["responses"] for operation in operations], described)
    asked = _reached([operation.get("requestBody") for operation in operations], described)
    for name in answered - asked:
        fields: Json = described[name].get("properties", {})
        for schema in fields.values():
            schema.pop("default", None)
        always = {
            each
            for each, schema in fields.items()
            if not _may_be_null(schema) and f"{name}.{each}" not in _MAY_BE_MISSING
        }
        if required := always | set(described[name].get("required", ())):
            described[name]["required"] = sorted(required)


def _require_what_tells_apart(value: Any, described: Json) -> None:
    """Which of several shapes a value has is read off its tag, which therefore cannot be missing."""
    for each in _inside(value):
        for reference in each.get("discriminator", {}).get("mapping", {}).values():
            shape, tag = described[reference.removeprefix(_SCHEMAS)], each["discriminator"]["propertyName"]
            shape["properties"][tag].pop("default", None)
            shape["required"] = sorted({tag, *shape.get("required", ())})


def _inside(value: Any) -> Iterator[Json]:
    """Every object in a JSON value."""
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _inside(each)


def _may_be_null(schema: Json) -> bool:
    return {"type": "null"} in schema.get("anyOf", ()) or not schema.keys() & {"type", "$ref", "anyOf", "oneOf", "enum"}


def _reached(value: Any, described: Json) -> set[str]:
    """The names of definitions that `value` refers to, or that these refer to."""
    found: set[str] = set()
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict | list):
            waiting += each.values() if isinstance(each, dict) else each
        elif isinstance(each, str) and each.startswith(_SCHEMAS) and (name := each.removeprefix(_SCHEMAS)) not in found:
            found.add(name)
            waiting.append(described[name])
    return found


def _without_null(schema: Json) -> Json:
    """Where null stands for what may be left out, and means nothing itself."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if not kinds:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf"}
    return {**rest, **kinds[0]} if len(kinds) == 1 else {**rest, "anyOf": kinds}


def _renamed(schema: Any) -> Any:
    """`schema` with short names where it refers to others, as a value of its own."""
    if isinstance(schema, dict):
        return {name: _renamed(value) for name, value in schema.items()}
    if isinstance(schema, list):
        return [_renamed(each) for each in schema]
    if isinstance(schema, str) and schema.startswith(_SCHEMAS):
        return _SCHEMAS + _short(schema.removeprefix(_SCHEMAS))
    return schema


def _short(name: str) -> str:
    """`spaces.Permissions` where several modules have a model of one name, else just the name."""
    return name.replace(_MODULES, "").replace("__", ".")


def _title(area: str) -> str:
    return area.replace("_", " ")
