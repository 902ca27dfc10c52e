"""Generates the OpenAPI 3.1 document of the API from its operations.

The document describes the responses of the embedded server. Generating it is slow, because it needs the schema of every
model, so import this module only where the document is needed.
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


_ERROR_RESPONSE: Json = {"content": {"application/json": {"schema": {"$ref": f"{_SCHEMAS}Error"}}}}
_MAY_BE_MISSING = frozenset(
    {
        *("Page.hidden", "Page.noIndex", "Page.noRobotsIndex", "Page.pages", "Page.urls"),
        *("Changes.more", "Invited.failedSSOEmails", "OpenApiSpec.lastProcessedErrors"),
        "SiteSpace.hasAdvancedCustomizationFeature",
    }
)
"""Fields that the embedded server does not always send. Other fields are always sent, unless they can be null."""


@cache
def document(only: Spec | None = None) -> Json:
    """Return the OpenAPI document of all operations, or of `only`. Do not modify it, because it is cached."""
    all_routes = [route for spec in ([only] if only else load().values()) for route in routes(spec)]
    schemas = _Schemas([route.spec for route in all_routes])
    paths: dict[str, Json] = {}
    for route in all_routes:
        paths.setdefault(route.path, {})[route.spec.method.lower()] = _operation(route, schemas)
    definitions = schemas.components()
    _require_sent_fields(paths, definitions)
    _require_tags([paths, definitions], definitions)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Octavo",
            "version": __version__,
            "description": "Documentation as spaces of pages, reviewed as change requests and published as sites.",
        },
        "servers": [{"url": "/"}],
        "security": [{"key": []}],
        "tags": [{"name": _title(area), "description": area_description(area)} for area in AREAS],
        "paths": paths,
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "responses": {
                _response_name(status): {"description": cause, **_ERROR_RESPONSE} for status, cause in _REFUSALS.items()
            },
            "schemas": {"Error": _ERROR, **definitions},
        },
    }


def error_statuses(route: Route) -> list[int]:
    """Return the statuses from 400 on with which the server may respond to a route."""
    statuses = {401, 503}
    if "{" in route.path or query_fields(route.spec) or body_fields(route.spec):
        statuses |= {400, 403, 404}
    if route.spec.method != "GET":
        statuses |= {409, 412}
    if body_fields(route.spec):
        statuses.add(413)
    return sorted(statuses)


def area_description(area: str) -> str:
    """Return the first line of the module docstring of an area, as its description."""
    return (getdoc(import_module(f"octavo.api.{area}")) or "").partition("\n")[0]


class _Schemas:
    """The JSON schemas of all requests and responses. Models that occur more than once have a shared definition."""

    def __init__(self, specs: list[Spec]) -> None:
        requested = {model: TypeAdapter[Any](model) for spec in specs for model in (spec.operation, *spec.at_types)}
        requested |= {spec.response_type: spec.codec for spec in specs}
        found, shared = TypeAdapter.json_schemas(
            [(model, "validation", adapter) for model, adapter in requested.items()],
            ref_template=_SCHEMAS + "{model}",
            schema_generator=_Generator,
        )
        self._found = {model: schema for (model, _), schema in found.items()}
        self._shared: Json = shared.get("$defs", {})
        self._inlined = {self._name(model) for spec in specs for model in (spec.operation, *spec.at_types)}
        for spec in specs:
            if isinstance(spec.response_type, type) and issubclass(spec.response_type, ListPage):
                _adapt_list_schema(self.model_schema(spec.response_type))

    def model_schema(self, model: Any) -> Json:
        """Return the schema of a model itself, and not a reference to a shared definition."""
        found: Json = self._found[model]
        shared: Json = self._shared.get(self._name(model), found)
        return shared

    def response_schema(self, spec: Spec) -> Json:
        schema: Json = _shorten_references(self._found[spec.response_type])
        return schema

    def field(self, model: Any, name: str) -> Json:
        schema: Json = _shorten_references(self.model_schema(model)["properties"][name])
        return schema

    def components(self) -> Json:
        used = {name: schema for name, schema in self._shared.items() if name not in self._inlined}
        return {_short_name(name): _shorten_references(used[name]) for name in sorted(used, key=_short_name)}

    def _name(self, model: Any) -> str:
        return str(self._found[model].get("$ref", "")).removeprefix(_SCHEMAS)


class _Generator(GenerateJsonSchema):
    """Generates JSON schemas without field titles and empty default values."""

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
        "operationId": _operation_id(route),
        "tags": [_title(spec.name.partition(".")[0])],
        "summary": spec.summary,
    }
    if details := (getdoc(spec.operation) or "").partition("\n")[2].strip():
        described["description"] = details
    if parameters := [*_path_parameters(route, schemas), *_query_parameters(spec, schemas)]:
        described["parameters"] = parameters
    if body := _body(spec, schemas):
        described["requestBody"] = body
    success: Json = {"description": HTTPStatus(spec.success).phrase}
    if spec.response_type not in (None, type(None)):
        success["content"] = {"application/json": {"schema": schemas.response_schema(spec)}}
    errors = {
        str(status): {"$ref": f"#/components/responses/{_response_name(status)}"} for status in error_statuses(route)
    }
    described["responses"] = {str(spec.success): success, **errors}
    return described


def _path_parameters(route: Route, schemas: _Schemas) -> Iterator[Json]:
    for name in _NAME.findall(route.path):
        is_field_of_at = route.at_type is not None and name in schemas.model_schema(route.at_type)["properties"]
        schema = schemas.field(route.at_type if is_field_of_at else route.spec.operation, name)
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def _query_parameters(spec: Spec, schemas: _Schemas) -> Iterator[Json]:
    model_schema, names = schemas.model_schema(spec.operation), query_fields(spec)
    for name in model_schema.get("properties", {}):
        if name in names:
            schema = _without_null(schemas.field(spec.operation, name))
            yield {"name": name, "in": "query", "required": name in model_schema.get("required", ()), "schema": schema}


def _body(spec: Spec, schemas: _Schemas) -> Json | None:
    body_names = body_fields(spec)
    if not body_names:
        return None
    model_schema = schemas.model_schema(spec.operation)
    nullable = {camel(name) for name in spec.nullable}
    fields = {name: schemas.field(spec.operation, name) for name in model_schema["properties"] if name in body_names}
    properties = {name: each if name in nullable else _without_null(each) for name, each in fields.items()}
    required = [name for name in model_schema.get("required", ()) if name in body_names]
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    elif spec.is_update:
        schema["minProperties"] = 1
    return {"required": bool(required) or spec.is_update, "content": {"application/json": {"schema": schema}}}


def _operation_id(route: Route) -> str:
    """Return a name such as `comments.Get`, or if the operation has several routes, `comments.List.Space`."""
    suffix = f".{route.at_type.__name__.removesuffix('Ref')}" if route.at_type and len(route.spec.at_types) > 1 else ""
    return route.spec.name + suffix


def _response_name(status: int) -> str:
    return HTTPStatus(status).phrase.title().replace(" ", "")


def _adapt_list_schema(schema: Json) -> None:
    """Change the schema of a list in place: remove `unreadable`, which only the client sets, and require `items`."""
    schema["properties"].pop("unreadable", None)
    schema["properties"]["items"].pop("default", None)
    schema["required"] = ["items"]


def _require_sent_fields(paths: Json, definitions: Json) -> None:
    """In models that only responses use, remove all defaults, and mark as required the fields that the embedded server
    always sends. The Python models do not require these fields, because other servers may omit them."""
    operations = [operation for methods in paths.values() for operation in methods.values()]
    in_responses = _referenced_names([operation["responses"] for operation in operations], definitions)
    requested = _referenced_names([operation.get("requestBody") for operation in operations], definitions)
    for name in in_responses - requested:
        fields: Json = definitions[name].get("properties", {})
        for schema in fields.values():
            schema.pop("default", None)
        sent_names = {
            each
            for each, schema in fields.items()
            if not _may_be_null(schema) and f"{name}.{each}" not in _MAY_BE_MISSING
        }
        if required := sent_names | set(definitions[name].get("required", ())):
            definitions[name]["required"] = sorted(required)


def _require_tags(value: Any, definitions: Json) -> None:
    """In `definitions`, make the tag of each tagged union in `value` required. The tag tells apart the types."""
    for each in _objects_in(value):
        for reference in each.get("discriminator", {}).get("mapping", {}).values():
            shape, tag = definitions[reference.removeprefix(_SCHEMAS)], each["discriminator"]["propertyName"]
            shape["properties"][tag].pop("default", None)
            shape["required"] = sorted({tag, *shape.get("required", ())})


def _objects_in(value: Any) -> Iterator[Json]:
    if isinstance(value, dict):
        yield value
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _objects_in(each)


def _may_be_null(schema: Json) -> bool:
    return {"type": "null"} in schema.get("anyOf", ()) or not schema.keys() & {"type", "$ref", "anyOf", "oneOf", "enum"}


def _referenced_names(value: Any, definitions: Json) -> set[str]:
    """Return the names of all definitions to which `value` refers, also indirectly."""
    names: set[str] = set()
    waiting_values = [value]
    while waiting_values:
        each = waiting_values.pop()
        if isinstance(each, dict | list):
            waiting_values += each.values() if isinstance(each, dict) else each
        elif isinstance(each, str) and each.startswith(_SCHEMAS) and (name := each.removeprefix(_SCHEMAS)) not in names:
            names.add(name)
            waiting_values.append(definitions[name])
    return names


def _without_null(schema: Json) -> Json:
    """Return a copy of `schema` without null in `anyOf`, for a field in which null means that the field is missing."""
    alternatives = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if not alternatives:
        return schema
    other_keywords = {name: value for name, value in schema.items() if name != "anyOf"}
    return (
        {**other_keywords, **alternatives[0]} if len(alternatives) == 1 else {**other_keywords, "anyOf": alternatives}
    )


def _shorten_references(schema: Any) -> Any:
    if isinstance(schema, dict):
        return {name: _shorten_references(value) for name, value in schema.items()}
    if isinstance(schema, list):
        return [_shorten_references(each) for each in schema]
    if isinstance(schema, str) and schema.startswith(_SCHEMAS):
        return _SCHEMAS + _short_name(schema.removeprefix(_SCHEMAS))
    return schema


def _short_name(name: str) -> str:
    """Return the short name of a definition, such as `spaces.Permissions` for `octavo__api__spaces__Permissions`."""
    return name.replace(_MODULES, "").replace("__", ".")


def _title(area: str) -> str:
    return area.replace("_", " ")
