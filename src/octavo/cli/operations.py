"""`octavo operations`: prints all API operations as a table, as JSON or as an OpenAPI document.

`operation_help` returns the text of `octavo api NAME --help`: the parameters of one operation, and an example.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
from collections.abc import Collection, Iterator
from inspect import getdoc
from textwrap import wrap
from typing import Any

from octavo.api.folding import fold
from octavo.api.openapi_document import Json, area_description, document
from octavo.api.operation import AREAS, Listing, Spec, camel, load
from octavo.api.text import PATTERN_DESCRIPTIONS
from octavo.api.wire import Route, body_fields, query_fields, routes
from octavo.cli.output import indented_json
from octavo.cli.standard_streams import is_terminal, tell, write_out

PIPE_COLUMNS = 120
"""Width of the table in characters if the output is no terminal. Then only lists of parameters are wrapped."""
MIN_COLUMNS = 60
"""Minimum width of the table in characters, even if the terminal is narrower."""
SCHEMA_LIMITS = ("default", "format", "pattern", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")
"""JSON Schema keywords, such as `maxLength`, that `--json` shows for each parameter."""
_HELP_COLUMNS = 100
_LIMIT_TEXTS = {
    "default": "default {}",
    "format": "format {}",
    "minLength": "minimum length {}",
    "maxLength": "maximum length {}",
    "minimum": "minimum {}",
    "maximum": "maximum {}",
    "minItems": "minimum number of items {}",
    "maxItems": "maximum number of items {}",
}


def run(options: argparse.Namespace) -> int:
    if options.command == "api":
        from octavo.cli.api import spec_of  # lazy: the client, which the list does not need

        write_out(operation_help(spec_of(options.name)))
        return 0
    words = [fold(each) for each in options.words]
    specs = [spec for spec in load().values() if all(word in fold(f"{spec.name} {spec.summary}") for word in words)]
    if options.openapi:
        write_out(indented_json(document()) + "\n")
    elif options.json:
        write_out(indented_json([describe(route) for spec in specs for route in routes(spec)]) + "\n")
    elif not specs:
        tell(f"No operations match {' '.join(options.words)[:80]!r}. For a list, run: octavo operations")
    else:
        write_out(operation_list(specs, shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None))
    return 0


def describe(route: Route) -> Json:
    """Return a route as a JSON object, as `octavo operations --json` prints it."""
    return {
        "name": route.spec.name,
        "method": route.spec.method,
        "path": route.path,
        "success": route.spec.success,
        "summary": route.spec.summary,
        "parameters": parameters(route),
    }


def parameters(route: Route, openapi: Json | None = None) -> list[Json]:
    """Return the parameters of a route as JSON objects. `openapi` is an OpenAPI document that contains the route."""
    openapi = openapi or document()
    schemas = openapi["components"]["schemas"]
    operation_schema = openapi["paths"][route.path][route.spec.method.lower()]
    parameters_found = [
        {
            "name": each["name"],
            "in": each["in"],
            **_describe_value(each["schema"], schemas, is_required=each["required"]),
        }
        for each in operation_schema.get("parameters", ())
    ]
    body = operation_schema.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    required_names = body.get("required", ())
    for name, schema in body.get("properties", {}).items():
        parameters_found.append(
            {"name": name, "in": "body", **_describe_value(schema, schemas, is_required=name in required_names)}
        )
    return parameters_found


def _describe_value(schema: Json, schemas: Json, *, is_required: bool) -> Json:
    """Return the type, limits and fields of a value with this schema, which may refer to `schemas`."""
    shapes = list(_alternatives(schema, schemas))
    description: Json = {"type": _type_names(schema, schemas), "required": is_required}
    if {"type": "null"} in shapes:
        description["nullable"] = True
    description |= _limits([schema, *shapes])
    if limits := _limits([each for shape in shapes for each in _alternatives(shape.get("items", {}), schemas)]):
        description["items"] = limits
    if fields := dict.fromkeys(name for shape in shapes for name in shape.get("properties", ())):
        description["fields"] = list(fields)
    return description


def _limits(shapes: list[Json]) -> Json:
    choices = [value for each in shapes for value in each.get("enum", [each["const"]] if "const" in each else [])]
    description = {"enum": list(dict.fromkeys(choices))} if choices else {}
    return description | {limit: each[limit] for each in shapes for limit in SCHEMA_LIMITS if limit in each}


def operation_list(operations: Collection[Spec], columns: int | None = None) -> str:
    """Return operations as text, by area, wrapped at `columns`. If `columns` is None, wrap only parameters."""
    lines: list[str] = []
    width = max(columns, MIN_COLUMNS) if columns else PIPE_COLUMNS
    for area in AREAS:
        specs = [spec for spec in operations if spec.name.partition(".")[0] == area]
        if not specs:
            continue
        column = max(len(spec.name) for spec in specs)
        indent = " " * (column + 4 if width >= PIPE_COLUMNS else 6)
        heading = f"{area.replace('_', ' ').upper()}: {area_description(area)}"
        lines += [*(wrap(heading, width, subsequent_indent="  ") if columns else [heading]), ""]
        for spec in specs:
            first_line = f"  {spec.name:<{column}}  {spec.summary}"
            lines += wrap(first_line, width, subsequent_indent=" " * (column + 4)) if columns else [first_line]
            for route in routes(spec):
                parts = re.findall(rf".{{1,{width - len(indent) - 7}}}(?=/|$)", route.path) if columns else [route.path]
                lines += [f"{indent}{spec.method if part is parts[0] else '':<6} {part}" for part in parts]
            if parameter_line := _parameter_names(spec):
                lines += wrap(
                    parameter_line, width, initial_indent=indent + "takes  ", subsequent_indent=indent + "       "
                )
        lines.append("")
    return "\n".join(lines)


def _parameter_names(spec: Spec) -> str:
    names = query_fields(spec) | body_fields(spec)
    fields = {field.alias or camel(name): field for name, field in spec.operation.model_fields.items()}
    return " ".join(name if field.is_required() else f"[{name}]" for name, field in fields.items() if name in names)


def _alternatives(schema: Json, schemas: Json) -> Iterator[Json]:
    """Yield the alternatives for a value: the schemas in `anyOf` or `oneOf`, else only `schema`. Resolves `$ref`."""
    if "$ref" in schema:
        schema = schemas[schema["$ref"].rpartition("/")[2]]
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        for each in alternatives:
            yield from _alternatives(each, schemas)
    else:
        yield schema


def _type_names(schema: Json, schemas: Json) -> str:
    kinds = dict.fromkeys(_type_of_shape(each, schemas) for each in _alternatives(schema, schemas))
    return "|".join(kind for kind in kinds if kind != "null") or "null"


def _type_of_shape(shape: Json, schemas: Json) -> str:
    match shape.get("type"):
        case "array":
            return _type_names(shape.get("items", {}), schemas) + "[]"
        case str(kind):
            return kind
        case _:
            return "string" if "enum" in shape or "const" in shape else "object"


def operation_help(spec: Spec) -> str:
    """Return the text that `octavo api NAME --help` prints for an operation."""
    openapi = document(spec)
    by_route = [parameters(route, openapi) for route in routes(spec)]
    parameters_by_name = {each["name"]: each for found in by_route for each in found}
    for name, each in parameters_by_name.items():
        # If an operation has two paths, a parameter that only one of them has is optional.
        each["required"] = each["required"] and all(name in {one["name"] for one in found} for found in by_route)
    details = (getdoc(spec.operation) or "").partition("\n")[2].strip()
    paragraphs = [f"{spec.name}: {spec.summary}", *(" ".join(each.split()) for each in details.split("\n\n") if each)]
    lines = [line for each in paragraphs for line in (*wrap(each, _HELP_COLUMNS), "")]
    lines += [f"  {spec.method} {route.path}" for route in routes(spec)]
    if parameters_by_name:
        lines += [
            "",
            "parameters:",
            *(line for each in parameters_by_name.values() for line in _parameter_lines(each, parameters_by_name)),
        ]
    lines += ["", "example:", f"  {example(spec, openapi)}"]
    if issubclass(spec.operation, Listing):
        lines.append(f"  {example(spec, openapi)} --all --ndjson")
    lines += ["", "For the options and the exit codes, run: octavo api --help", ""]
    return "\n".join(lines)


def example(spec: Spec, openapi: Json) -> str:
    """Return a command that sets all required parameters, and in an update at least one field of the body."""
    described_parameters = parameters(routes(spec)[0], openapi)
    required = [each for each in described_parameters if each["required"]]
    if spec.is_update and all(each["in"] != "body" for each in required):
        required += [each for each in described_parameters if each["in"] == "body"][:1]
    return shlex.join(["octavo", "api", spec.name, *map(_sample_argument, required)])


def _sample_argument(parameter: Json) -> str:
    name, kind = parameter["name"], parameter["type"]
    if choices := parameter.get("enum"):
        return f"{name}={choices[0]}"
    if "markdown" in parameter.get("fields", ()):
        return f"{name}[markdown]=TEXT"
    if "object" in kind:
        return f"{name}:=@{name}.json"
    if kind in ("integer", "number", "boolean"):
        return f"{name}:={'true' if kind == 'boolean' else parameter.get('minimum', 1)}"
    if sample := PATTERN_DESCRIPTIONS.get(parameter.get("pattern", ""), "").partition("for example ")[2]:
        return f"{name}={sample}"
    return f"{name}={'ID' if name.endswith('Id') else 'TEXT'}"


def _parameter_lines(parameter: Json, parameters_by_name: dict[str, Json]) -> list[str]:
    column = min(max(map(len, parameters_by_name)), 24) + 4
    facts = [parameter["type"], "required" if parameter["required"] else "optional", *_facts(parameter)]
    if inner_fields := parameter.get("fields"):
        facts.append(f"fields {' '.join(inner_fields)}")
    parameter_line = f"{'  ' + parameter['name']:<{column}}{', '.join(facts)}"
    return wrap(parameter_line, _HELP_COLUMNS, subsequent_indent=" " * column)


def _facts(description: dict[str, Any]) -> list[str]:
    facts = [f"in the {description['in']}"]
    if description.get("nullable"):
        facts.append("null allowed")
    for limits in (description, description.get("items", {})):
        if choices := limits.get("enum"):
            facts.append(f"one of {' '.join(map(str, choices))}")
        if form := PATTERN_DESCRIPTIONS.get(limits.get("pattern", "")):
            facts.append(form)
        facts += [text.format(limits[name]) for name, text in _LIMIT_TEXTS.items() if name in limits]
    return facts
