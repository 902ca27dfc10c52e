"""`octavo operations`: every operation of the interface, as a table, as JSON or as an OpenAPI document."""

from __future__ import annotations

import argparse
import json
import re
import sys
from textwrap import wrap
from typing import Any

from octavo.api.openapi_document import about, document
from octavo.api.operation import AREAS, Spec, load
from octavo.api.wire import Route, alias, body_fields, query_fields, routes

WIDTH = 120
"""Columns of the table: what it names is longer than a narrow terminal, and is to be found by `grep`."""


def run(options: argparse.Namespace) -> int:
    if options.json:
        _print([describe(route) for route in all_routes()])
    elif options.openapi:
        _print(document())
    else:
        sys.stdout.write(table())
    return 0


def all_routes() -> list[Route]:
    """Every method and path, by area."""
    return [route for spec in load().values() for route in routes(spec)]


def describe(route: Route) -> dict[str, Any]:
    """What `--json` says of one method and path."""
    return {
        "name": route.spec.name,
        "method": route.spec.method,
        "path": route.path,
        "success": route.spec.success,
        "summary": route.spec.summary,
        "parameters": parameters(route),
    }


def parameters(route: Route) -> list[dict[str, Any]]:
    """Name, place, type and need of each value an operation takes, those in the path first."""
    spec = route.spec
    found = [
        {"name": name, "in": "path", "type": "string", "required": True} for name in re.findall(r"{(\w+)}", route.path)
    ]
    schema = spec.operation.model_json_schema(by_alias=True)
    required = set(schema.get("required", ()))
    for where, names in (("query", query_fields(spec)), ("body", body_fields(spec))):
        for name, described in schema.get("properties", {}).items():
            if name in names:
                found.append(
                    {"name": name, "in": where, "type": _type(described, schema), "required": name in required}
                )
    return found


def table() -> str:
    """The operations as text, area by area: what each is called, does and takes, and where it answers."""
    lines: list[str] = []
    for area in AREAS:
        specs = [spec for spec in load().values() if _area(spec) == area]
        width = max(len(spec.name) for spec in specs)
        indent = " " * (width + 4)
        lines += [f"{area.replace('_', ' ').upper()}: {about(area)}", ""]
        for spec in specs:
            lines.append(f"  {spec.name:<{width}}  {spec.summary}")
            lines += [f"{indent}{spec.method:<6} {route.path}" for route in routes(spec)]
            if taken := _taken(spec):
                lines += wrap(taken, WIDTH, initial_indent=indent + "takes  ", subsequent_indent=indent + "       ")
        lines.append("")
    return "\n".join(lines)


def _taken(spec: Spec) -> str:
    """The names of what an operation takes beside what its path names; those in brackets may be left out."""
    names = query_fields(spec) | body_fields(spec)
    fields = {field.alias or alias(name): field for name, field in spec.operation.model_fields.items()}
    return " ".join(name if field.is_required() else f"[{name}]" for name, field in fields.items() if name in names)


def _print(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def _area(spec: Spec) -> str:
    return spec.operation.__module__.rpartition(".")[2]


def _type(described: dict[str, Any], schema: dict[str, Any]) -> str:
    """A schema in one word: `string`, `integer`, `string[]`, `object`, or several with bars between."""
    if "$ref" in described:
        described = schema["$defs"][described["$ref"].rpartition("/")[2]]
    for union in ("anyOf", "oneOf"):
        if union in described:
            kinds = dict.fromkeys(_type(each, schema) for each in described[union])
            return "|".join(kind for kind in kinds if kind != "null") or "null"
    match described.get("type"):
        case "array":
            return _type(described.get("items", {}), schema) + "[]"
        case str(kind):
            return kind
        case _:
            return "string" if "enum" in described or "const" in described else "object"
