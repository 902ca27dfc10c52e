"""Each command that sends a write is pressed in a journey of the ordinary run, not only in long runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from screenshots import operations

JOURNEYS = Path(__file__).parent / "journeys"
LONG_MARKERS = ("long", "before_release")


def long_tests() -> Iterator[str]:
    """Yield the ids of the journeys that only long runs include: of functions, or of functions with one parameter."""
    for path in JOURNEYS.glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            for decorator in node.decorator_list:
                call = decorator if isinstance(decorator, ast.Call) else None
                marker = call.func if call is not None else decorator
                if isinstance(marker, ast.Attribute) and marker.attr in LONG_MARKERS:
                    function = f"tests/journeys/{path.name}::{node.name}"
                    parameters = [f"[{ast.literal_eval(each)}]" for each in call.args] if call is not None else []
                    yield from (f"{function}{each}" for each in parameters or [""])


def test_each_command_that_writes_is_pressed_in_the_ordinary_run() -> None:
    long = set(long_tests())
    writes = [each for each in operations.pressed() if each.writes]
    ordinary = {each.commands for each in writes if not {each.journey, each.journey.partition("[")[0]} & long}
    assert ordinary == {each.commands for each in writes}
