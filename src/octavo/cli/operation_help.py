"""`octavo api NAME --help`: the parameters of one operation, with an example."""

from __future__ import annotations

import argparse
import shlex
from inspect import getdoc
from textwrap import wrap
from typing import Any

from octavo.api.openapi_document import Json, document
from octavo.api.operation import Listing, Spec
from octavo.api.text import FORMS
from octavo.api.wire import routes
from octavo.cli.api import spec_of
from octavo.cli.operations import parameters
from octavo.cli.standard_streams import write_out

_WIDTH = 100
_LIMITS = {
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
    write_out(operation_help(spec_of(options.name)))
    return 0


def operation_help(spec: Spec) -> str:
    """Return the help of an operation as text."""
    openapi = document(spec)
    by_route = [parameters(route, openapi) for route in routes(spec)]
    described = {each["name"]: each for found in by_route for each in found}
    for name, each in described.items():
        # An operation can have two paths. A parameter of only one path is optional: it selects that path.
        each["required"] = each["required"] and all(name in {one["name"] for one in found} for found in by_route)
    more = (getdoc(spec.operation) or "").partition("\n")[2].strip()
    paragraphs = [f"{spec.name}: {spec.summary}", *(" ".join(each.split()) for each in more.split("\n\n") if each)]
    lines = [line for each in paragraphs for line in (*wrap(each, _WIDTH), "")]
    lines += [f"  {spec.method} {route.path}" for route in routes(spec)]
    if described:
        lines += ["", "parameters:", *(line for each in described.values() for line in _parameter(each, described))]
    lines += ["", "example:", f"  {example(spec, openapi)}"]
    if issubclass(spec.operation, Listing):
        lines.append(f"  {example(spec, openapi)} --all --ndjson")
    lines += ["", "For the options and the exit codes, run: octavo api --help", ""]
    return "\n".join(lines)


def example(spec: Spec, openapi: Json) -> str:
    """Return a call of the operation with all required parameters."""
    described = parameters(routes(spec)[0], openapi)
    needed = [each for each in described if each["required"]]
    if spec.changes and all(each["in"] != "body" for each in needed):
        needed += [each for each in described if each["in"] == "body"][:1]
    return shlex.join(["octavo", "api", spec.name, *map(_value, needed)])


def _value(parameter: Json) -> str:
    name, kind = parameter["name"], parameter["type"]
    if choices := parameter.get("enum"):
        return f"{name}={choices[0]}"
    if "markdown" in parameter.get("fields", ()):
        return f"{name}[markdown]=TEXT"
    if "object" in kind:
        return f"{name}:=@{name}.json"
    if kind in ("integer", "number", "boolean"):
        return f"{name}:={'true' if kind == 'boolean' else parameter.get('minimum', 1)}"
    if sample := FORMS.get(parameter.get("pattern", ""), "").partition("for example ")[2]:
        return f"{name}={sample}"
    return f"{name}={'ID' if name.endswith('Id') else 'TEXT'}"


def _parameter(parameter: Json, described: dict[str, Json]) -> list[str]:
    """Return the lines about one parameter, in two columns."""
    column = min(max(map(len, described)), 24) + 4
    facts = [parameter["type"], "required" if parameter["required"] else "optional", *_facts(parameter)]
    if inner := parameter.get("fields"):
        facts.append(f"fields {' '.join(inner)}")
    return wrap(
        f"{'  ' + parameter['name']:<{column}}{', '.join(facts)}",
        _WIDTH,
        subsequent_indent=" " * column,
        drop_whitespace=True,
    )


def _facts(description: dict[str, Any]) -> list[str]:
    facts = [f"in the {description['in']}"]
    if description.get("nullable"):
        facts.append("null allowed")
    for limits in (description, description.get("items", {})):
        if choices := limits.get("enum"):
            facts.append(f"one of {' '.join(map(str, choices))}")
        if form := FORMS.get(limits.get("pattern", "")):
            facts.append(form)
        facts += [text.format(limits[name]) for name, text in _LIMITS.items() if name in limits]
    return facts
