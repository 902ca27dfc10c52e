"""Code size of operations: plain operations need no code, and no two handlers are equal. `-s` prints the figures."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import octavo.api
import octavo.server.handlers
from octavo.api.operation import AREAS, Listing, Operation, load
from octavo.api.wire import routes
from octavo.server import handlers
from octavo.server.rest import GUARDS, handle

handlers.load()
SPECS = load()
PLAIN = {Operation, Listing, object}
HANDLERS: dict[type[Any], Callable[..., Any]] = {
    kind: handler for kind, handler in handle.registry.items() if kind not in PLAIN
}


def count_lines(package: Any, names: tuple[str, ...] | None = None) -> int:
    """Return the number of lines of the modules of a package, without empty lines and comments."""
    folder = Path(inspect.getfile(package)).parent
    files = [folder / f"{name}.py" for name in names] if names else sorted(folder.glob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    return sum(bool(line.strip()) and not line.strip().startswith("#") for text in texts for line in text.splitlines())


def normalized_code(function: Callable[..., Any]) -> str:
    """Return the syntax tree of a function without the name of its operation and its own name."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    node.name, node.args, node.decorator_list = "it", ast.parse("lambda: 0", mode="eval").body.args, []  # type: ignore[attr-defined]  # the parsed lambda has arguments
    node.body = [each for each in node.body if not isinstance(getattr(each, "value", None), ast.Constant)] or node.body
    return ast.dump(node)


def test_plain_operations_need_no_handler() -> None:
    assert set(HANDLERS) <= set(SPECS), "a handler without an operation"
    plain = [spec for kind, spec in SPECS.items() if kind not in HANDLERS]
    vocabulary = count_lines(octavo.api, ("operation", "wire", "bodies", "text", *AREAS))
    handling = count_lines(octavo.server.handlers)
    paths = sum(len(routes(spec)) for spec in SPECS.values())
    functions = len(set(HANDLERS.values()))
    print(
        f"\n{len(SPECS)} operations at {paths} methods and paths: {len(plain)} plain, {len(HANDLERS)} with one of "
        f"{functions} handlers of their own, {len(GUARDS)} guarded.\n"
        f"Vocabulary {vocabulary} lines, {vocabulary / paths:.1f} for each method and path; "
        f"behaviour {handling} lines, {handling / paths:.1f}; together {(vocabulary + handling) / paths:.1f}."
    )
    assert len(plain) >= len(SPECS) / 4, "too few operations are plain REST"
    assert (vocabulary + handling) / paths <= 45


def test_no_two_handlers_have_the_same_code() -> None:
    alike = defaultdict(set)
    for handler in set(HANDLERS.values()):
        alike[normalized_code(handler)].add(f"{handler.__module__}.{handler.__name__}")
    assert [sorted(names) for names in alike.values() if len(names) > 1] == []


def test_plain_writes_have_a_guard() -> None:
    writes = {kind for kind, spec in SPECS.items() if spec.method != "GET" and kind not in HANDLERS}
    assert [SPECS[kind].name for kind in writes - GUARDS.keys()] == []


def test_modules_of_an_area_have_all_handlers_of_its_operations() -> None:
    code = """
import os
from octavo.api.operation import load
from octavo.server import app, handlers, rest

def print_registered(area):
    for kind, spec in specs.items():
        if kind.__module__ == area:
            models = [spec.response_type, *getattr(spec.response_type, "__pydantic_generic_metadata__", {}).get("args", ())]
            print(spec.name, rest.handle.dispatch(kind).__name__, kind in rest.GUARDS, *(m in rest.PRESENTERS for m in models),
                  *(m in rest.BEFORE_SAVE for m in models), flush=True)

specs = load()
areas = list(dict.fromkeys(kind.__module__ for kind in specs))
for area in areas:
    if not os.fork():
        for kind in specs:
            if kind.__module__ == area:
                handlers.load_for(kind)
        print_registered(area)
        os._exit(0)
    os.wait()
handlers.load()
for area in areas:
    print_registered(area)
"""
    listed = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    alone, together = listed[: len(SPECS)], listed[len(SPECS) :]
    assert alone == together
