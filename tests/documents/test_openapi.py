"""OpenAPI descriptions, as a page shows them."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octavo.documents.openapi import Specification
from octavo.documents.openapi_schemas import MAX_FIELDS, MAX_SCHEMA_DEPTH, ReferenceResolver, SchemaField, example
from octavo.server.demo import library

HARBOUR = Specification(json.loads((Path(library.__file__).parent / "openapi" / "harbour.json").read_text("utf-8")))


def outline(field: SchemaField) -> str:
    """Return a field with its inner fields in brackets."""
    inner = " ".join(outline(child) for child in field.children)
    more = f" {field.cut_off_reason}" if field.cut_off_reason else ""
    return f"{field.name}:{field.type}{'!' if field.required else ''}{f'({inner})' if inner else ''}{more}"


def count_fields(field: SchemaField) -> int:
    return 1 + sum(map(count_fields, field.children))


def with_schemas(**schemas: Any) -> Specification:
    return Specification({"openapi": "3.1.0", "info": {"title": "T"}, "components": {"schemas": schemas}})


def test_long_lists_of_values_are_counted() -> None:
    many = [f"v{number}" for number in range(15)]
    shown = f"{', '.join(many[:12])} and 3 more"
    found = with_schemas(A={"type": "array", "default": many}, B={"enum": many})
    notes = [schema.note for name in "AB" if (schema := found.schema(name)) is not None]
    assert notes == [f"default {shown}", f"one of {shown}"]


def test_limit_of_1_is_singular() -> None:
    limits = {"minLength": 1, "maxLength": 1, "minItems": 2, "maxItems": 1, "minimum": 1}
    schema = with_schemas(A={"type": "string", **limits}).schema("A")
    assert schema is not None
    assert schema.note == "at least 1; at least 1 character; at most 1 character; at least 2 items; at most 1 item"


def test_exclusive_limit_of_openapi_3_0_is_not_allowed_itself() -> None:
    schema = with_schemas(A={"minimum": 0, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}).schema(
        "A"
    )
    assert schema is not None
    assert schema.note == "more than 0; at most 9"


def test_nullable_keeps_the_type() -> None:
    person = {"title": "Person", "properties": {"name": {"type": "string"}}}
    choice = {"nullable": True, "oneOf": [{"type": "string"}, {"type": "integer"}]}
    date = {"nullable": True, "type": "string", "format": "date"}
    found = with_schemas(Person={**person, "nullable": True}, Choice=choice, Date=date)
    kinds = [schema.type for name in ("Person", "Choice", "Date") if (schema := found.schema(name)) is not None]
    assert kinds == ["Person or null", "Choice (one of) or null", "string or null (date)"]


def test_example_has_the_first_allowed_value_with_its_type() -> None:
    properties = {"a": {"type": "integer", "enum": [3, 4]}, "b": {"enum": ["x, y", "z"]}, "c": {"const": True}}
    schema = with_schemas(A={"properties": properties}).schema("A")
    assert schema is not None
    assert example(schema) == {"a": 3, "b": "x, y", "c": True}


def test_example_has_no_choices_among_its_properties_and_nested_lists() -> None:
    point = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {"properties": {"a": {"type": "string"}}, "oneOf": [{"type": "object"}, {"type": "string"}]}
    lists = {"type": "array", "items": {"type": "array", "items": {"$ref": "#/components/schemas/Point"}}}
    found = with_schemas(A=schema, B=lists, Point=point)
    choice, nested = found.schema("A"), found.schema("B")
    assert choice is not None
    assert nested is not None
    assert example(choice) == {"a": "string"}
    assert (nested.type, example(nested)) == ("list of list of Point", [[{"x": 0}]])


def test_example_of_a_nullable_type_or_a_schema_named_listing_has_its_type() -> None:
    listing = {"type": "object", "properties": {"x": {"type": ["null", "integer"]}}}
    one, many = {"$ref": "#/components/schemas/listing"}, {"type": ["null", "array"], "items": listing}
    schema = with_schemas(listing=listing, A={"properties": {"one": one, "many": many}}).schema("A")
    assert schema is not None
    assert example(schema) == {"one": {"x": 0}, "many": [{"x": 0}]}


def test_names_of_authentication_schemes_have_any_case() -> None:
    document = {
        "paths": {"/a": {"get": {"security": [{"key": []}]}}},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "Bearer"}}},
    }
    found = Specification(document).operation("get", "/a")
    assert found is not None
    assert found.security == ("Bearer token in the Authorization header",)
    assert "Bearer $TOKEN" in found.curl


def test_operation_has_all_displayed_parts() -> None:
    found = HARBOUR.operation("get", "/stations/{name}/levels")
    assert found is not None
    assert (found.summary, found.server) == ("Measured levels", "https://api.saltmarsh.example/v2")
    assert [(each.location, each.field.name) for each in found.parameters][:3] == [
        ("path", "station"),
        ("query", "from"),
        ("query", "to"),
    ]
    every = found.parameters[3].field
    assert (every.type, every.note) == ("string", "one of 6m, 1h, 1d; default 6m")
    assert [response.status for response in found.responses] == ["200", "404", "429"]
    assert found.security == ("Bearer token in the Authorization header",)
    assert HARBOUR.operation("delete", "/stations") is None
    assert HARBOUR.operation("get", "/nowhere") is None


def test_webhook_has_no_curl_command() -> None:
    found = HARBOUR.webhook("alert.raised", "post")
    assert found is not None
    assert (found.bodies[0].schema and found.bodies[0].schema.type, found.curl) == ("AlertEvent", "")


def test_webhook_without_the_method_has_its_own_method() -> None:
    found = HARBOUR.webhook("alert.raised", "get")
    assert found is not None
    assert found.method == "post"


def test_curl_command_is_quoted_and_has_a_json_body() -> None:
    found = HARBOUR.operation("post", "/alerts")
    assert found is not None
    words = shlex.split(found.curl.replace("\\\n", " "))
    assert words[:4] == ["curl", "-X", "POST", "https://api.saltmarsh.example/v2/alerts"]
    assert json.loads(words[-1])["kind"] == "height"


def test_allof_is_merged_and_oneof_is_listed() -> None:
    interface = with_schemas(
        Pet={"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}},
        Dog={"allOf": [{"$ref": "#/components/schemas/Pet"}, {"properties": {"bark": {"type": ["string", "null"]}}}]},
        Any={"oneOf": [{"$ref": "#/components/schemas/Pet"}, {"type": "string", "format": "uuid"}]},
        Map={"type": "object", "additionalProperties": {"type": "array", "items": {"type": "number"}}},
    )
    shown = {name: outline(found) for name in ("Dog", "Any", "Map") if (found := interface.schema(name)) is not None}
    assert shown == {
        "Dog": "Dog:Dog(id:integer! bark:string or null)",
        "Any": "Any:Any (one of)(:Pet(id:integer!) or :string (uuid))",
        "Map": "Map:Map(any other name:list of number)",
    }


def test_recursive_schemas_end_at_the_repetition() -> None:
    node = {
        "properties": {
            "next": {"$ref": "#/components/schemas/Node"},
            "all": {"items": {"$ref": "#/components/schemas/Node"}, "type": "array"},
        }
    }
    loop = {"$ref": "#/components/schemas/Loop"}
    interface = with_schemas(Node=node, Loop=loop, Own={"allOf": [{"$ref": "#/components/schemas/Own"}]})
    found = interface.schema("Node")
    assert found is not None
    assert outline(found) == "Node:Node(next:Node as above all:list of Node as above)"
    assert interface.schema("Loop") is None
    assert interface.schema("Own") is not None


def test_depth_and_size_of_schemas_are_limited() -> None:
    deep: Any = {"type": "string"}
    for _ in range(200):
        deep = {"properties": {"in": deep}}
    wide: Any = {
        "properties": {f"f{number}": {"properties": {f"g{each}": {} for each in range(100)}} for number in range(100)}
    }
    interface = with_schemas(Deep=deep, Wide=wide)
    found, large = interface.schema("Deep"), interface.schema("Wide")
    assert found is not None
    assert large is not None
    assert count_fields(found) <= MAX_SCHEMA_DEPTH + 1
    assert "deeper levels are not shown" in outline(found)
    assert count_fields(large) <= MAX_FIELDS + 2
    assert "more fields are not shown" in outline(large)


def test_swagger_2_is_read() -> None:
    old = Specification(
        {
            "swagger": "2.0",
            "host": "api.example",
            "basePath": "/v1",
            "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
            "security": [{"key": []}],
            "paths": {
                "/pets/{id}": {
                    "put": {
                        "parameters": [
                            {"in": "path", "name": "id", "required": True, "type": "integer"},
                            {"in": "body", "name": "pet", "required": True, "schema": {"$ref": "#/definitions/Pet"}},
                        ],
                        "responses": {"200": {"description": "ok", "schema": {"$ref": "#/definitions/Pet"}}},
                        "produces": ["application/xml"],
                    }
                }
            },
            "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
        }
    )
    found = old.operation("put", "/pets/{id}")
    assert found is not None
    assert (found.server, found.security) == ("https://api.example/v1", ("API key in header X-Key",))
    assert [each.field.type for each in found.parameters] == ["integer"]
    assert [body.schema and body.schema.type for body in (*found.bodies, *found.responses[0].bodies)] == ["Pet", "Pet"]
    assert [body.media_type for body in (*found.bodies, *found.responses[0].bodies)] == [
        "application/json",
        "application/xml",
    ]
    assert "-H 'X-Key: '\"$KEY\"" in found.curl


NAMES = (
    *("type", "properties", "items", "allOf", "oneOf", "required", "enum", "parameters", "schema", "content", "name"),
    *("responses", "200", "requestBody", "security", "servers", "url", "description", "in", "default", "title"),
)
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8) | st.just({"$ref": "#/components/schemas/A"}),
    lambda below: (
        st.lists(below, max_size=3)
        | st.dictionaries(
            st.sampled_from(NAMES),
            below,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JUNK, JUNK)
def test_values_of_wrong_types_are_skipped(said: Any, schema: Any) -> None:
    interface = Specification(
        {"paths": {"/a": {"get": said}}, "components": {"schemas": {"A": schema}}, "security": said}
    )
    interface.operation("get", "/a")
    interface.schema("A")


@pytest.mark.parametrize("hostile", ["\x1b]52;c;aGk=\x07", "a\u202eb", "x" * 100_000])
def test_untrusted_text_is_sanitized_and_cut(hostile: str) -> None:
    found = Specification({"paths": {"/a": {"get": {"summary": hostile, "description": hostile}}}}).operation(
        "get", "/a"
    )
    assert found is not None
    assert all(part.isprintable() and len(part) <= 4000 for part in (found.summary, found.description))


def operation_of(operation: dict[str, Any], **more: Any) -> Specification:
    return Specification({"paths": {"/a": {"get": operation}}, **more})


def body_of(schema: dict[str, Any], **schemas: Any) -> Specification:
    body = {"content": {"application/json": {"schema": schema}}}
    return operation_of({"requestBody": body}, components={"schemas": schemas})


def reference_to(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


LETTERS = "abcdefgh"
BOMBS = {
    "places": operation_of({"parameters": [{"in": [], "name": {}, "schema": {"type": "string"}}] * 90_000}),
    "servers": operation_of(
        {
            "servers": [
                {
                    "url": "{a}" * 99,
                    "variables": {each: {"default": f"{{{chr(ord(each) + 1)}}}" * 99} for each in LETTERS},
                }
            ]
        }
    ),
    "parts": body_of(
        reference_to("A0"), **{f"A{at}": {"allOf": [reference_to(f"A{at + 1}")] * 150} for at in range(8)}
    ),
    "values": body_of(
        {"properties": {f"p{at}": reference_to("A") for at in range(200)}},
        A={"default": {"a": ["x" * 999] * 9_999}, "type": ["a"] * 99_999, "description": "é" * 999_999},
    ),
}


def test_twenty_references_are_followed_but_not_more() -> None:
    schemas = {f"s{at}": {"$ref": f"#/s{at + 1}"} for at in range(21)} | {"s21": {"type": "string"}}
    resolver = ReferenceResolver(schemas)
    assert resolver.resolve({"$ref": "#/s2"})[0] == {"type": "string"}
    assert resolver.resolve({"$ref": "#/s1"})[0] == {}


@pytest.mark.parametrize("name", BOMBS)
def test_growing_specification_hits_the_limits(name: str) -> None:
    found = BOMBS[name].operation("get", "/a")
    assert found is not None
    assert len(found.server) <= 2000
    assert len(found.parameters) <= 1
    fields = [field for body in found.bodies if body.schema for field in body.schema.children]
    assert all(len(field.note) < 500 for field in fields)
    assert sum(len(field.description) for field in fields) < 70_000


@pytest.mark.parametrize(
    ("server", "url"),
    [("/api/v3", "https://…/api/v3/a"), ("//a.example/b", "https://a.example/b/a"), ("", "https://…/a")],
)
def test_curl_command_has_an_absolute_url(server: str, url: str) -> None:
    found = Specification({"servers": [{"url": server}], "paths": {"/a": {"get": {}}}}).operation("get", "/a")
    assert found is not None
    assert shlex.split(found.curl) == ["curl", url]


def test_curl_command_cannot_be_injected() -> None:
    method = "get;touch${ifs}x"
    hostile = Specification({"paths": {"-oX": {method: {}, "get": {"servers": [{"url": "-K/etc/x"}]}}}})
    assert hostile.operation(method, "-oX") is None
    found = hostile.operation("get", "-oX")
    assert found is not None
    assert shlex.split(found.curl) == ["curl", "https://…-oX"]
