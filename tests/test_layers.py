"""Who may import whom. The arrows point down, none lead round in a circle, and each library has one home (src/octavo/README.md).

Every import counts: at the top of a file, within a function, for typing alone, and by the name of a module in a string.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from pathlib import Path
from types import FunctionType

SOURCE = Path(__file__).parent.parent / "src" / "octavo"

FREE = {"", "help", "settings", "redaction", "first_picture", "untrusted_input", "concurrency", "lazy_import"}
"""Modules of no room, which any room may use: they import nothing of ours but each other."""

MAY_IMPORT = {
    "api": {"api"},
    "documents": {"documents", "api"},
    "client": {"client", "api"},
    "data": {"data", "documents", "api"},
    "server": {"server", "documents", "api"},
    "files": {"files", "data", "documents", "api"},
    "tui": {"tui", "files", "data", "documents", "api"},
    "cli": {"cli", "tui", "files", "data", "documents", "client", "server", "api"},
    "__main__": {"cli"},
    "help": set[str](),
    "settings": set[str](),
    "redaction": set[str](),
    "first_picture": set[str](),
    "untrusted_input": set[str](),
    "concurrency": set[str](),
    "lazy_import": set[str](),
    "__init__": set[str](),
}
ROOMS = (
    "terminal",
    "widgets",
    "core",
    "render",
    "reader",
    "comments",
    "editing",
    "review",
    "resources",
    "content",
    "inbox",
    "app",
)
"""Those of the terminal app, from the ground up: each may use those before it."""
KNOWN_IN = {
    "terminal": {
        "octavo.settings",
        "octavo.redaction",
        "octavo.first_picture",
        "octavo.untrusted_input",
        "octavo.api.safety",
    },
    "widgets": {
        "octavo.api.folding",
        "octavo.api.safety",
        "octavo.concurrency",
        "octavo.settings",
        "octavo.lazy_import",
    },
}
"""All that these know of Octavo, beside themselves and the rooms of the terminal app below them."""
BOUNDED_READS = {"octavo.documents.openapi"}
"""Modules that the parsers of untrusted files run with. Their processes import nothing else."""
DRAWN_ELSEWHERE = ("textual.app", "textual.screen", "textual.widget", "textual.widgets")
"""Modules that rendering does not import."""
KNOW_MANY_SCREENS = {
    "octavo.tui.app.routes",
    "octavo.tui.app.keymap_contexts",
    "octavo.tui.app.preloading",
    "octavo.tui.app.destinations",
}
"""Modules that name screens of several rooms: the table of where to go, the table of all keys, the imports made ahead, and
the entries of the command palette."""
PARTS = ("bounded",)
"""Folders within a room: programs that run by themselves."""
HOME = {
    "textual": {"tui"},
    "rich": {"tui"},
    "pygments": {"tui"},
    "httpx": {"client"},
    "anyio": {"client"},
    "keyring": {"client"},
    "truststore": {"client"},
    "starlette": {"server"},
    "uvicorn": {"server"},
    "h11": {"server"},
    "yaml": {"documents"},
    "bs4": {"server"},
    "markdownify": {"server"},
    "mammoth": {"server"},
    "reportlab": {"server"},
    "PIL": {"server", "tui"},
    "termaid": {"tui"},
    "bidi": {"tui"},
    "pylatexenc": {"tui"},
    "resvg_py": {"tui"},
    "textual_image": {"tui"},
    "sqlite3": {"data", "server"},
    "markdown_it": {"documents"},
    "mdit_py_plugins": {"documents"},
    "linkify_it": {"documents"},
    "rapidfuzz": {"documents"},
    "shtab": {"cli"},
    "mcp": {"cli"},
    "mcp_types": {"cli"},
    "jq": {"cli"},
    "platformdirs": {"settings"},
    "pydantic": {"api", "server", "cli", "data", "client", "tui", "redaction"},
}
FILES = {
    ".".join(("octavo", *path.relative_to(SOURCE).with_suffix("").parts)).removesuffix(".__init__"): path
    for path in sorted(SOURCE.rglob("*.py"))
}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def test_arrows_point_down() -> None:
    for module in FILES:
        for imported in imports(module):
            package = imported.partition(".")[0]
            if package == "octavo":
                target = room(imported) if imported != "octavo" else ""
                assert target in MAY_IMPORT[room(module)] | FREE, f"{module} imports {imported}"
            elif package in HOME:
                assert room(module) in HOME[package], f"{package} is at home in {HOME[package]}, not in {module}"


def test_packages_of_tui_import_only_lower_packages() -> None:
    for module in FILES:
        match module.split("."):
            case "octavo", "tui", here, *inside:
                assert here in ROOMS, f"{module} stands in no room"
                assert inside or FILES[module].stem == "__init__", f"{module} stands in no room"
                assert len(inside) < 2 or inside[0] in PARTS, f"{module} lies too deep"
                above = set(ROOMS[ROOMS.index(here) + 1 :])
                assert not (found := {each for each in imports(module) if _room_of(each) in above}), (
                    f"{module}: {found}"
                )


def test_low_rooms_know_little() -> None:
    for module in FILES:
        here = _room_of(module)
        found = {each for each in imports(module) if each.partition(".")[0] == "octavo" and not _room_of(each)}
        if here in KNOWN_IN:
            known = KNOWN_IN[here] | (BOUNDED_READS if f".{PARTS[0]}." in module else set())
            assert found - known == set(), f"{module} stands in {here}"
        if here == "render":
            drawing = {each for each in imports(module) if each.startswith(DRAWN_ELSEWHERE)}
            assert drawing == set(), f"{module} makes lines of blocks, and no widgets"


def test_only_the_route_table_names_screens_of_several_packages() -> None:
    screens = {
        f"{module}.{node.name}"
        for module in FILES
        if _room_of(module) in ROOMS[4:]
        for node in tree(module).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Screen")
    }
    homes = {each.rpartition(".")[0] for each in screens}
    for module in set(FILES) - KNOW_MANY_SCREENS:
        rooms = {_room_of(each) for each in imports(module) & homes} - {_room_of(module)}
        assert len(rooms) < 2, f"{module} knows screens of {rooms}"


def _room_of(module: str) -> str:
    parts = module.split(".")
    return parts[2] if parts[:2] == ["octavo", "tui"] and len(parts) > 2 else ""


def test_packages_have_no_import_cycles() -> None:
    """Modules of one package may import each other for types: nothing is loaded then."""
    arrows = {
        module: {each for each in imports(module) - imported_for_types(module) if each in FILES and each != module}
        for module in FILES
    }
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        raise AssertionError(f"In a circle: {' <- '.join(error.args[1])}") from None


def test_names_of_lazy_imports_exist() -> None:
    for module in FILES:
        for node in ast.walk(tree(module)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name, _, value = node.value.partition(":")
                if name in FILES and "." in name and value:
                    assert hasattr(import_module(name), value), f"{module} names {node.value}"


MOST_BEHIND, MOST_METHODS = 3, 60
"""Maximum number of own base classes of a class, and of its methods with inherited ones."""


def test_classes_have_parts_and_are_no_slices() -> None:
    for kind in classes():
        ours = [each for each in kind.__mro__ if each.__module__.startswith("octavo.")]
        methods = {name for each in ours for name, value in vars(each).items() if isinstance(value, METHODS)}
        assert len(ours) - 1 <= MOST_BEHIND, (
            f"{kind.__name__} is put together of {[each.__name__ for each in ours[1:]]}"
        )
        assert len(methods) <= MOST_METHODS, f"{kind.__name__} has {len(methods)} methods"


def test_modules_have_descriptive_names() -> None:
    for module, path in FILES.items():
        assert not re.search(r"(utils?|helpers?|common|manager|service)", path.stem), module
        assert ast.get_docstring(tree(module)), f"{module} does not say what it is"


def test_every_home_is_a_room() -> None:
    assert {home for homes in HOME.values() for home in homes} <= set(MAY_IMPORT)


METHODS = (FunctionType, classmethod, staticmethod, property, cached_property)


def classes() -> Iterator[type]:
    """Every class of the project that a module defines."""
    for module in FILES:
        if not module.endswith("__main__"):
            for value in vars(import_module(module)).values():
                if isinstance(value, type) and value.__module__ == module:
                    yield value


def test_text_is_folded_in_one_module() -> None:
    folds = re.compile(
        r"casefold|\.lower\(\)(\.split\(\)|\.find\(| (==|!=|in) \w+\.(title|name|label)\b)|title\.lower\(\) (==|!=|in)"
    )
    found = {module for module, path in FILES.items() if folds.search(path.read_text(encoding="utf-8"))}
    assert found == {"octavo.api.folding"}


def test_suppressed_checks_name_their_rule_and_reason() -> None:
    unsaid = re.compile("# type: " + r"ignore(?!\[[a-z, -]+\]  # \w)")
    tests = Path(__file__).parent.rglob("*.py")
    assert [str(path) for path in (*FILES.values(), *tests) if unsaid.search(path.read_text(encoding="utf-8"))] == []


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


@cache
def imports(module: str) -> frozenset[str]:
    return frozenset(_imports(ast.walk(tree(module))))


@cache
def imported_for_types(module: str) -> frozenset[str]:
    """Return the modules of the same package that a module imports only under TYPE_CHECKING."""
    blocks = [
        node for node in tree(module).body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    inside = [node for block in blocks for node in ast.walk(block)]
    known = {*map(id, inside)}
    outside = [node for node in ast.walk(tree(module)) if id(node) not in known]
    found = frozenset(_imports(inside)) - frozenset(_imports(outside))
    return frozenset(each for each in found if each.rpartition(".")[0] == module.rpartition(".")[0])


def _imports(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                assert node.module, "Imports are absolute"
                assert not node.level, "Imports are absolute"
                for alias in node.names:
                    name = f"{node.module}.{alias.name}"
                    yield name if name in FILES else node.module
            case ast.Constant(value=str(value)) if (name := value.partition(":")[0]) in FILES and "." in name:
                yield name
