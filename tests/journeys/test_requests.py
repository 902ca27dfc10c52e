"""Every operation of the API is sent in a journey, and every command that sends an operation is pressed in an
ordinary run."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from pathlib import Path

from octavo.api.operation import load
from octavo.api.wire import routes
from tests.help_tables import API
from tests.journeys.request_log import read_table

ROOT = Path(__file__).parents[2]
LONG_MARKERS = ("long", "before_release")
NO_JOURNEY = {
    "site_structure.MoveSection": "Deprecated: structure/sort moves all parts of a site.",
    "content.GetPageByPath": "Octavo gets pages by id, because the path changes when a page is moved.",
    "content.GetReusableContent": "Octavo gets a page together with its reusable content.",
    "links.ListOfPage": "The links of the space include the links of its pages.",
    "links.ListToPage": "Octavo lists links to a page from the index of the space.",
    "links.ListToFile": "Octavo lists uses of a file from the index of the space.",
    "organizations.Ping": "Octavo does not tell others what you read.",
}
"""Operations that no journey sends, with the reason."""


def journeys_with_markers() -> Iterator[tuple[str, bool]]:
    """Yield the id of each journey, and whether only long runs include the journey. A marker with parameters yields
    a separate id for each parameter."""
    for path in sorted((ROOT / "tests" / "journeys").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.AsyncFunctionDef | ast.FunctionDef) and node.name.startswith("test_"):
                id = f"tests/journeys/{path.name}::{node.name}"
                marks = [long_parameters(each) for each in node.decorator_list]
                yield id, [] in marks
                yield from ((f"{id}[{name}]", True) for names in marks if names for name in names)


def long_parameters(decorator: ast.expr) -> list[str] | None:
    """Return the parameters that a marker restricts to long runs. Empty if the marker applies to all parameters.
    None if the decorator is not such a marker."""
    marker, names = (decorator.func, decorator.args) if isinstance(decorator, ast.Call) else (decorator, [])
    if not isinstance(marker, ast.Attribute) or marker.attr not in LONG_MARKERS:
        return None
    return [ast.literal_eval(each) for each in names]


def test_every_operation_is_sent_in_a_journey_or_has_a_reason() -> None:
    names = {route.key: spec.name for spec in load().values() if not spec.repeats_request for route in routes(spec)}
    sent = {f"{each.method} {each.path}" for each in read_table()}
    with API.open(encoding="utf-8", newline="") as lines:
        api = {f"{row['method']} {row['path']}" for row in csv.DictReader(lines, delimiter="\t")}
    assert {names[route] for route in api - sent} == NO_JOURNEY.keys()


def test_every_command_in_the_table_is_pressed_in_an_ordinary_run() -> None:
    is_long = dict(journeys_with_markers())
    commands = {each.command for each in read_table()}
    ordinary = {
        each.command
        for each in read_table()
        if not is_long.get(each.journey, False) and not is_long.get(each.journey.partition("[")[0], False)
    }
    assert commands == ordinary


def test_journeys_in_the_table_exist() -> None:
    known = {id.partition("[")[0] for id, _ in journeys_with_markers()}
    assert {each.journey for each in read_table() if each.journey.partition("[")[0] not in known} == set()
