"""The OpenAPI document describes all operations completely, and validators can read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema_rs

from octavo.api.openapi_document import _MAY_BE_MISSING, document
from octavo.api.operation import camel, load
from octavo.api.wire import Route, body_fields, query_fields, routes

ROUTES = [route for spec in load().values() for route in routes(spec)]


def description_of(route: Route) -> dict[str, Any]:
    found: dict[str, Any] = document()["paths"][route.path][route.spec.method.lower()]
    return found


def find_references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inside in value.items():
            if name == "$ref":
                yield inside
            else:
                yield from find_references(inside)
    elif isinstance(value, list):
        for inside in value:
            yield from find_references(inside)


def test_document_has_exactly_the_operations() -> None:
    held = {(method.upper(), path) for path, methods in document()["paths"].items() for method in methods}
    assert held == {(route.spec.method, route.path) for route in ROUTES}


def test_operation_ids_are_unique() -> None:
    names = [description_of(route)["operationId"] for route in ROUTES]
    assert len(set(names)) == len(names)
    assert {"comments.List.Space", "comments.List.ChangeRequest", "users.Me"} <= set(names)


def test_all_references_can_be_resolved() -> None:
    found = set(find_references(document()))
    assert found
    for reference in found:
        value = document()
        for part in reference.removeprefix("#/").split("/"):
            value = value[part]


def test_component_names_are_valid() -> None:
    for kind in ("schemas", "responses", "securitySchemes"):
        assert all(re.fullmatch(r"[A-Za-z0-9._-]+", name) for name in document()["components"][kind])
    assert "octavo__" not in json.dumps(document())
    used = set(find_references(document()))
    assert {name for name in document()["components"]["schemas"] if f"#/components/schemas/{name}" not in used} == set()


def test_schemas_are_valid_json_schemas() -> None:
    for name in document()["components"]["schemas"]:
        whole = {"$ref": f"#/components/schemas/{name}", "components": document()["components"]}
        jsonschema_rs.Draft202012Validator(whole, validate_formats=True)


def find_schemas_with_defaults(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if "default" in value and ("type" in value or "anyOf" in value or "$ref" in value):
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for inside in value:
            yield from find_schemas_with_defaults(inside)


def test_defaults_are_valid_values() -> None:
    found = list(find_schemas_with_defaults(document()))
    assert found
    for schema in found:
        whole = {**schema, "components": document()["components"]}
        assert jsonschema_rs.Draft202012Validator(whole).is_valid(schema["default"]), schema


def test_every_parameter_is_described_in_its_location() -> None:
    for route in ROUTES:
        operation = description_of(route)
        named = {(each["in"], each["name"]) for each in operation.get("parameters", ())}
        in_path = {("path", name) for name in re.findall(r"{(\w+)}", route.path)}
        assert named == in_path | {("query", name) for name in query_fields(route.spec)}, route.key
        for each in operation.get("parameters", ()):
            assert each["schema"], route.key
            assert {"type": "null"} not in each["schema"].get("anyOf", ()), route.key
        body = operation.get("requestBody", {"content": {"application/json": {"schema": {"properties": {}}}}})
        assert set(body["content"]["application/json"]["schema"]["properties"]) == body_fields(route.spec), route.key


def test_operations_describe_their_responses() -> None:
    for route in ROUTES:
        responses = description_of(route)["responses"]
        assert str(route.spec.success) in responses, route.key
        assert ("content" in responses[str(route.spec.success)]) is (
            route.spec.response_type not in (None, type(None))
        ), route.key
        assert {"401", "503"} <= responses.keys(), route.key
        assert ("404" in responses) >= ("{" in route.path), route.key
        assert "500" not in responses, route.key


def test_limits_and_choices_are_described() -> None:
    parameters = {
        each["name"]: each for each in document()["paths"]["/v1/spaces/{spaceId}/comments"]["get"]["parameters"]
    }
    assert parameters["limit"]["schema"] == {"type": "integer", "minimum": 0, "maximum": 1000}
    assert parameters["status"]["schema"]["enum"] == ["all", "open", "resolved"]
    assert parameters["authors"]["schema"] == {"type": "array", "items": {"type": "string"}}
    assert (parameters["spaceId"]["required"], parameters["order"]["required"]) == (True, False)
    assert parameters["spaceId"]["schema"]["pattern"]
    status = document()["components"]["schemas"]["Comment"]["properties"]["status"]
    assert status["enum"] == ["open", "resolved"]


def test_fields_that_are_always_sent_are_required() -> None:
    schemas = document()["components"]["schemas"]
    assert {"id", "status", "body", "postedBy", "permissions"} <= set(schemas["Comment"]["required"])
    assert not {"editedAt", "resolvedBy"} & set(schemas["Comment"]["required"])
    assert schemas["Body"].keys() >= {"properties"}
    assert "required" not in schemas["Markdown"], "it is markdown or a document"


def test_union_tags_are_required() -> None:
    schemas = document()["components"]["schemas"]
    assert {"kind", "siteSectionId"} <= set(schemas["ToSection"]["required"])
    assert {"operation", "page"} <= set(schemas["UpdatePage"]["required"])


def test_optional_response_fields_exist() -> None:
    schemas = document()["components"]["schemas"]
    for named in _MAY_BE_MISSING:
        model, _, field = named.partition(".")
        assert field in schemas[model]["properties"]
        assert field not in schemas[model].get("required", ())


def test_list_schema_matches_the_response() -> None:
    schema = document()["components"]["schemas"]["ListPage_Comment_"]
    assert {"items", "next", "count"} <= set(schema["properties"])
    assert "unreadable" not in schema["properties"]
    assert schema["required"] == ["items"]


def test_null_is_described_only_where_it_has_a_meaning() -> None:
    for route in ROUTES:
        body = (
            description_of(route)
            .get("requestBody", {})
            .get("content", {})
            .get("application/json", {})
            .get("schema", {})
        )
        told = {
            name for name, schema in body.get("properties", {}).items() if {"type": "null"} in schema.get("anyOf", ())
        }
        assert told == {camel(name) for name in route.spec.nullable}, route.key


def test_required_fields_match_the_models() -> None:
    for route in ROUTES:
        operation = description_of(route)
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        required = {each["name"] for each in operation.get("parameters", ()) if each["required"]} | set(
            body.get("required", ())
        )
        says_something = bool(body.get("required")) or body.get("minProperties") == 1
        assert operation.get("requestBody", {}).get("required", False) is says_something, route.key
        declared = {camel(name) for name, field in route.spec.operation.model_fields.items() if field.is_required()}
        assert required == (declared - {"at"}) | set(re.findall(r"{(\w+)}", route.path)), route.key
