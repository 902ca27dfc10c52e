"""The adaptive schema of a site, and the conditions it gives."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from octavo.api import adaptive_schema
from octavo.server.handlers.permissions import in_organization
from octavo.server.rest import given, guards, handle, path_of, shows
from octavo.server.store import Json
from octavo.server.world import World

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_need_to_see = guards(adaptive_schema.Get)(in_organization("view"))
_need_to_write = in_organization("admin")


@shows(adaptive_schema.AdaptiveSchema)
def present_schema(world: World, document: Json) -> Json:
    """An adaptive schema, as it was written."""
    return {"object": "site-adaptive-schema", **document}


@handle.register
def _update(op: adaptive_schema.Update, world: World) -> Json:
    _need_to_write(op, world)
    document = {**given(op), "updatedAt": world.timestamp()}
    return present_schema(world, world.store.put(path_of(op), document))


@handle.register
def _list_template_conditions(op: adaptive_schema.ListTemplateConditions, world: World) -> Json:
    _need_to_see(op, world)
    schema = world.store.find(path_of(op).removesuffix("/template-conditions"))
    return {"items": list(_conditions("visitor.claims", schema["jsonSchema"])) if schema else []}


def _conditions(expression: str, claim: Json) -> Iterator[Json]:
    """What can be asked about a claim, of which `expression` is the value."""
    description = claim.get("description") or expression
    match claim["type"]:
        case "object":
            for name, inside in claim["properties"].items():
                yield from _conditions(_member(expression, name), inside)
        case "boolean":
            yield _condition(description, expression)
        case "number":
            yield _condition(description, f"{expression} > 0")
        case "string":
            for value in claim.get("enum", ()):
                yield _condition(f"{description}: {value}", f"{expression} == {_literal(value)}")
            if "enum" not in claim:
                yield _condition(description, f'{expression} != ""')
        case "array":
            for value in claim["items"].get("enum", ()):
                yield _condition(f"{description}: {value}", f"{expression}.includes({_literal(value)})")
            if "enum" not in claim["items"]:
                yield _condition(description, f"{expression}.length > 0")


def _condition(description: str, condition: str) -> Json:
    return {"description": description, "condition": condition}


def _member(expression: str, name: str) -> str:
    return f"{expression}.{name}" if _NAME.fullmatch(name) else f"{expression}[{_literal(name)}]"


def _literal(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
