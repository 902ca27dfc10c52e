"""`octavo operations`: every operation of the interface, as a table or as JSON."""

from __future__ import annotations

import argparse
import json
import re
import sys
from typing import Any

from octavo.api.operation import AREAS, Spec, load
from octavo.api.wire import Route, body_fields, query_fields, routes


def run(options: argparse.Namespace) -> int:
    if options.json:
        described = [describe(route) for route in all_routes()]
        sys.stdout.write(json.dumps(described, indent=2, ensure_ascii=False) + "\n")
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
    """The operations as text, area by area."""
    lines: list[str] = []
    for area in AREAS:
        routes_here = [route for route in all_routes() if _area(route.spec) == area]
        lines += [area.replace("_", " ").upper(), ""]
        width = max(len(route.spec.name) for route in routes_here)
        for route in routes_here:
            lines.append(f"  {route.spec.name:<{width}}  {route.spec.method:<6} {route.path}")
            lines.append(f"  {'':<{width}}  {route.spec.summary}")
        lines.append("")
    return "\n".join(lines)


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
