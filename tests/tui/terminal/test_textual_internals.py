"""Only one module overrides and uses private parts of Textual."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections import defaultdict
from functools import cache
from importlib.util import find_spec
from inspect import CORO_CLOSED, getcoroutinestate
from pathlib import Path
from typing import NamedTuple

import pytest
from rich.segment import Segment
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from octavo.tui.terminal import replaced_parts, textual_internals
from tests.test_layers import FILES, imports, nodes, tree
from tests.tui.widgets.scratch import until

INTERNALS = textual_internals.__name__
OUR_MODULES = [each for each in FILES if each.startswith("octavo.tui.")]


class ClassFacts(NamedTuple):
    """Base classes, members and uses of all classes with one name."""

    bases: set[str]
    defines: set[str]
    """Private names that the class defines as methods or fields, or that its methods assign."""
    uses: set[str]
    """Names that the class uses on `self` or `cls`."""


def test_no_other_module_overrides_private_parts_of_textual() -> None:
    assert {each for module in OUR_MODULES if module != INTERNALS for each in overrides(module)} == set()


def test_no_other_module_uses_private_parts_of_textual() -> None:
    assert {each for module in OUR_MODULES if module != INTERNALS for each in uses(module)} == set()


def test_known_overrides_and_uses_are_found() -> None:
    assert {"CachedStylesheet._parse_cache"} <= overrides(INTERNALS)
    found = uses(INTERNALS)
    known = {
        "_pruning",
        "_compositor",
        "textual._compositor",
        "__watchers",
    }
    assert known <= found


def overrides(module: str) -> set[str]:
    """Return the private names of Textual that classes of a module define again, for example `View._closing`."""
    kinds = classes_of_module(module)
    return {
        f"{name}.{each}"
        for name, kind in kinds.items()
        for each in kind.defines
        & {it for base in base_classes(name) for it in textual_classes().get(base, NO_FACTS).defines}
    }


def uses(module: str) -> set[str]:
    """Return the private names of Textual that a module uses: on its own classes, on other objects, or as imported
    modules."""
    found = {each for each in imports(module) if each.startswith("textual._")}
    for name, kind in classes_of_module(module).items():
        own = {each for base in (name, *base_classes(name)) for each in our_classes().get(base, NO_FACTS).defines}
        theirs = {each for base in base_classes(name) for each in textual_classes().get(base, NO_FACTS).defines}
        found |= {f"{name}.{each}" for each in kind.uses & theirs - own}
    # The class of an object other than `self` is not known here. A name that none of our classes defines counts as a
    # name of Textual.
    elsewhere = {node.attr for node in nodes(module) if isinstance(node, ast.Attribute) and not is_self(node.value)}
    own = {each for kind in classes_of_module(module).values() for each in kind.defines}
    texts = {node.value for node in nodes(module) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    found |= {each for each in texts if each.startswith("__") and each.isidentifier() and not each.endswith("__")}
    elsewhere |= texts - {"_id"}  # the end of the names of many fields
    return found | (elsewhere & {it for kind in textual_classes().values() for it in kind.defines} - own)


NO_FACTS = ClassFacts(set(), set(), set())


@cache
def base_classes(name: str) -> frozenset[str]:
    """Return the names of all base classes."""
    found: set[str] = set()
    new = {name}
    while new:
        new = {
            base
            for each in new
            for table in (our_classes(), textual_classes())
            for base in table.get(each, NO_FACTS).bases
        } - found
        found |= new
    return frozenset(found)


@cache
def our_classes() -> dict[str, ClassFacts]:
    return merged([classes_of_module(each) for each in OUR_MODULES])


@cache
def textual_classes() -> dict[str, ClassFacts]:
    """Return the classes of the imported modules of Textual, and of the modules of their base classes."""
    named = {each for module in OUR_MODULES for each in imports(module) if each.partition(".")[0] == "textual"}
    specs = [spec for each in sorted(named) if (spec := find_spec(each)) is not None]
    paths = {Path(str(spec.origin)) for spec in specs}
    inner = {path for path in paths for path in path.parent.glob("_*.py") if path.parent.name == "widgets"}
    return merged([classes_in_source(ast.parse(each.read_text(encoding="utf-8"))) for each in paths | inner])


def merged(modules: list[dict[str, ClassFacts]]) -> dict[str, ClassFacts]:
    found: dict[str, ClassFacts] = defaultdict(lambda: ClassFacts(set(), set(), set()))
    for kinds in modules:
        for name, kind in kinds.items():
            for assigned, more in zip(found[name], kind, strict=True):
                assigned.update(more)
    return dict(found)


@cache
def classes_of_module(module: str) -> dict[str, ClassFacts]:
    """Return the classes of one of our modules."""
    return classes_in_source(tree(module))


def classes_in_source(source: ast.Module) -> dict[str, ClassFacts]:
    """Return the classes of a module. Classes inside another class count as part of it."""
    found = {}
    for node in source.body:
        if isinstance(node, ast.ClassDef):
            bases = {ast.unparse(each).partition("[")[0].rpartition(".")[2] for each in node.bases}
            fields = {name for each in node.body for name in fields_of(each)}
            attributes = [each for each in ast.walk(node) if isinstance(each, ast.Attribute) and is_self(each.value)]
            assigned = {each.attr for each in attributes if isinstance(each.ctx, ast.Store)}
            found[node.name] = ClassFacts(
                bases, private(fields | assigned), private({each.attr for each in attributes})
            )
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


def test_strip_makes_a_cache_when_it_is_first_used() -> None:
    strip = Strip([Segment("harbour"), Segment(" master")])
    caches = {name for name in Strip.__slots__ if name.endswith("_cache")} - {"_render_cache"}
    assert not [name for name in caches if is_set(strip, name)]

    assert strip.crop(3, 9) is strip.crop(3, 9)

    assert [name for name in caches if is_set(strip, name)] == ["_crop_cache"]
    textuals = Strip([])
    inspect.unwrap(Strip.__init__)(textuals, [])
    assert {name: getattr(strip, name)._maxsize for name in caches} == {
        name: getattr(textuals, name)._maxsize for name in caches
    }
    with pytest.raises(AttributeError):
        getattr(strip, "_unknown_cache")  # noqa: B009  # A type checker would refuse `strip._unknown_cache`.


def is_set(strip: Strip, name: str) -> bool:
    """Return whether an attribute of a strip has a value. `hasattr` would make the cache."""
    try:
        object.__getattribute__(strip, name)
    except AttributeError:
        return False
    return True


def test_installed_textual_has_all_known_parts() -> None:
    assert set() == replaced_parts.UNREPLACED_PARTS


CHANGED_TEXTUAL = """
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
from octavo.tui.terminal import replaced_parts, textual_internals
assert len(replaced_parts.UNREPLACED_PARTS) == len(found), replaced_parts.UNREPLACED_PARTS
assert all(vars(kind).get(part) is was for kind, part, was in found.values())
"""


@pytest.mark.parametrize("change", ["other", "gone"])
def test_changed_parts_of_textual_are_not_replaced(change: str) -> None:
    named = [f"{kind.__module__}:{kind.__name__}:{name}" for kind, name in replaced_parts.REPLACED_PARTS]
    subprocess.run([sys.executable, "-c", CHANGED_TEXTUAL, change, *named], check=True)


class CountingPane(Static):
    """A pane that counts its resizes and how often it is prepared for painting."""

    resizes = preparations = 0

    def on_resize(self) -> None:
        self.resizes += 1

    def before_paint(self) -> None:
        self.preparations += 1


class PaneBelowScrollApp(App[None]):
    """An app with lines that scroll, and with a pane below them."""

    CSS = "#lines { height: 10; }"

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="lines"):
            yield Static("line\n" * 50)
        yield CountingPane("pane")


async def test_pane_shown_after_a_scroll_gets_a_resize_event() -> None:
    app = PaneBelowScrollApp()
    async with app.run_test() as pilot:
        pane = app.query_one(CountingPane)
        pane.display = False
        await pilot.pause()
        pane.resizes = 0
        app.query_one("#lines").scroll_to(y=5, animate=False, immediate=True)
        await pilot.pause()
        pane.display = True
        await until(pilot, lambda: pane.resizes == 1)


async def test_resize_to_the_same_size_does_not_lay_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out: list[object] = []
    lay_out = Compositor.reflow

    def count(compositor: Compositor, parent: Widget, size: Size) -> object:
        laid_out.append(parent)
        return lay_out(compositor, parent, size)

    monkeypatch.setattr(Compositor, "reflow", count)
    app = PaneBelowScrollApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        laid_out.clear()
        app.screen.post_message(Resize(app.size, app.size))
        await pilot.pause()
        assert laid_out == []
        await pilot.resize_terminal(60, 20)
        await until(pilot, lambda: app.screen in laid_out)


async def test_batched_updates_prepare_no_widget_for_painting() -> None:
    app = PaneBelowScrollApp()
    async with app.run_test() as pilot:
        pane = app.query_one(CountingPane)
        await pilot.pause()
        pane.preparations = 0
        with app.batch_update():
            pane.refresh()
            await pilot.resize_terminal(60, 20)
            await until(pilot, lambda: app.screen.outer_size == (60, 20))
            assert pane.preparations == 0
        await until(pilot, lambda: pane.preparations > 0)
