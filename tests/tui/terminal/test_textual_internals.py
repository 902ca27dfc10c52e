"""Private parts of Textual are overridden and used in one module only."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from functools import cache
from importlib.util import find_spec
from inspect import CORO_CLOSED, getcoroutinestate
from pathlib import Path
from typing import NamedTuple

import pytest
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.css.stylesheet import Stylesheet
from textual.widgets import Static

from octavo.tui.terminal import textual_internals
from tests.test_layers import FILES, imports, tree
from tests.tui.widgets.scratch import until

INTERNALS = textual_internals.__name__
OURS = [each for each in FILES if each.startswith("octavo.tui.")]


class Kind(NamedTuple):
    """The classes of one name: their methods and base classes."""

    bases: set[str]
    defines: set[str]
    """The private names it has as methods, fields or what its methods set."""
    uses: set[str]
    """Names that the class uses of itself."""


def test_no_other_module_overrides_private_parts_of_textual() -> None:
    assert {each for module in OURS if module != INTERNALS for each in overrides(module)} == set()


def test_no_other_module_uses_private_parts_of_textual() -> None:
    assert {each for module in OURS if module != INTERNALS for each in uses(module)} == set()


def test_known_overrides_and_uses_are_found() -> None:
    assert {"CachedStylesheet._parse_cache"} <= overrides(INTERNALS)
    assert {"CachedStylesheet._variables", "_pruning", "_compositor", "textual._compositor"} <= uses(INTERNALS)


def overrides(module: str) -> set[str]:
    """Private names of Textual that a class of the module has as its own: `View._closing`."""
    kinds = kinds_in(module)
    return {
        f"{name}.{each}"
        for name, kind in kinds.items()
        for each in kind.defines & {it for base in behind(name) for it in textual().get(base, NOTHING).defines}
    }


def uses(module: str) -> set[str]:
    """Private names of Textual that the module asks for, of its own classes, of something else or of Textual's modules."""
    source = tree(module)
    found = {each for each in imports(module) if each.startswith("textual._")}
    for name, kind in kinds_in(module).items():
        own = {each for base in (name, *behind(name)) for each in ours().get(base, NOTHING).defines}
        theirs = {each for base in behind(name) for each in textual().get(base, NOTHING).defines}
        found |= {f"{name}.{each}" for each in kind.uses & theirs - own}
    # The class of what is no `self` is not known here: what nobody calls so but Textual is of Textual.
    elsewhere = {node.attr for node in ast.walk(source) if isinstance(node, ast.Attribute) and not is_self(node.value)}
    own = {each for kind in kinds_in(module).values() for each in kind.defines}
    return found | (elsewhere & {it for kind in textual().values() for it in kind.defines} - own)


NOTHING = Kind(set(), set(), set())


@cache
def behind(name: str) -> frozenset[str]:
    """Return the names of all base classes."""
    found: set[str] = set()
    new = {name}
    while new:
        new = {base for each in new for table in (ours(), textual()) for base in table.get(each, NOTHING).bases} - found
        found |= new
    return frozenset(found)


@cache
def ours() -> dict[str, Kind]:
    return merged([kinds_in(each) for each in OURS])


@cache
def textual() -> dict[str, Kind]:
    """Return the classes of the imported modules of Textual, and of the modules of their base classes."""
    named = {each for module in OURS for each in imports(module) if each.partition(".")[0] == "textual"}
    specs = [spec for each in sorted(named) if (spec := find_spec(each)) is not None]
    paths = {Path(str(spec.origin)) for spec in specs}
    inner = {path for path in paths for path in path.parent.glob("_*.py") if path.parent.name == "widgets"}
    return merged([kinds_of(ast.parse(each.read_text(encoding="utf-8"))) for each in paths | inner])


def merged(modules: list[dict[str, Kind]]) -> dict[str, Kind]:
    found: dict[str, Kind] = defaultdict(lambda: Kind(set(), set(), set()))
    for kinds in modules:
        for name, kind in kinds.items():
            for put, more in zip(found[name], kind, strict=True):
                put.update(more)
    return dict(found)


@cache
def kinds_in(module: str) -> dict[str, Kind]:
    """The classes of a module of ours."""
    return kinds_of(tree(module))


def kinds_of(source: ast.Module) -> dict[str, Kind]:
    """The classes of a module; those within others count with them."""
    found = {}
    for node in source.body:
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(each).partition("[")[0].rpartition(".")[2] for each in node.bases}
            fields = {name for each in node.body for name in fields_of(each)}
            asked = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and is_self(each.value)]
            put = {each.attr for each in asked if isinstance(each.ctx, ast.Store)}
            found[node.name] = Kind(bases, private(fields | put), private({each.attr for each in asked}))
    return found


def fields_of(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
            return {name}
        case ast.Assign(targets=[ast.Name(id=name)]):
            return {name}
    return set()


def private(names: set[str]) -> set[str]:
    return {each for each in names if each.startswith("_") and not each.startswith("__")}


def is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("self", "cls")


async def test_replaced_worker_that_never_started_is_closed() -> None:
    app, done = App[None](), []

    async def work(number: int) -> None:
        done.append(number)

    async with app.run_test():
        first, second = work(1), work(2)
        app.run_worker(first, exclusive=True, group="asked")
        last = app.run_worker(second, exclusive=True, group="asked")
        assert getcoroutinestate(first) == CORO_CLOSED
        await last.wait()
    assert done == [2]


def test_installed_textual_has_all_known_parts() -> None:
    assert set() == textual_internals.OTHER_PARTS


ALTERED = """
import importlib, sys
def other(*given): ...
kinds, found = {}, {}
for each in sys.argv[2:]:
    module, name, part = each.split(":")
    kind = getattr(importlib.import_module(module), name)
    if sys.argv[1] == "gone" and part in vars(kind):
        delattr(kind, part)
    else:
        setattr(kind, part, other)
    found[each] = kind, part, vars(kind).get(part)
from octavo.tui.terminal import textual_internals
assert len(textual_internals.OTHER_PARTS) == len(found), textual_internals.OTHER_PARTS
assert all(vars(kind).get(part) is was for kind, part, was in found.values())
"""


@pytest.mark.parametrize("how", ["other", "gone"])
def test_changed_parts_of_textual_are_not_replaced(how: str) -> None:
    named = [f"{kind.__module__}:{kind.__name__}:{name}" for kind, name in textual_internals.PARTS]
    subprocess.run([sys.executable, "-c", ALTERED, how, *named], check=True)


class Pane(Static):
    """A pane that counts its resizes."""

    resizes = 0

    def on_resize(self) -> None:
        self.resizes += 1


class Panes(App[None]):
    """An app with lines that scroll, and a pane below them."""

    CSS = "#lines { height: 10; }"

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="lines"):
            yield Static("line\n" * 50)
        yield Pane("pane")


async def test_pane_shown_after_a_scroll_gets_a_resize_event() -> None:
    app = Panes()
    async with app.run_test() as pilot:
        pane = app.query_one(Pane)
        pane.display = False
        await pilot.pause()
        pane.resizes = 0
        app.query_one("#lines").scroll_to(y=5, animate=False, immediate=True)
        await pilot.pause()
        pane.display = True
        await until(pilot, lambda: pane.resizes == 1)


async def test_stylesheet_of_textual_is_used_if_its_parts_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert type(textual_internals.new_stylesheet({})) is textual_internals.CachedStylesheet
    monkeypatch.setattr(textual_internals, "OTHER_PARTS", {(Stylesheet, "parse")})
    assert type(textual_internals.new_stylesheet({})) is Stylesheet
