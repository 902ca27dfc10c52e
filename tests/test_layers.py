"""Packages import only what they may, without cycles, and each library is used in few packages (src/octavo/README.md).

All imports count: at the top of a module, inside a function, for types only, and module names in strings.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType

SOURCE = Path(__file__).parent.parent / "src" / "octavo"

IMPORTED_EVERYWHERE = {
    "",
    "help",
    "settings",
    "redaction",
    "first_picture",
    "untrusted_input",
    "concurrency",
    "lazy_import",
    "local_time",
    "private_files",
}
"""Modules that all packages may import. They import only each other."""

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
    "local_time": set[str](),
    "private_files": set[str](),
    "__init__": set[str](),
}
TUI_PACKAGES = (
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
"""Packages of octavo.tui, lowest first. Each may import the packages before it."""
ALLOWED_IN = {
    "terminal": {
        "octavo.settings",
        "octavo.settings.programs",
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
        "octavo.local_time",
    },
}
"""Modules outside octavo.tui that a low package of octavo.tui may import."""
CHILD_PROGRAM_IMPORTS = {"octavo.documents.openapi"}
"""Modules that the child programs may import, too. They parse untrusted files, so they import nothing else."""
WIDGET_MODULES = ("textual.app", "textual.screen", "textual.widget", "textual.widgets")
"""Modules of Textual that octavo.tui.render does not import, because it makes lines and no widgets."""
IMPORT_SEVERAL_SCREENS = {
    "octavo.tui.app.routes",
    "octavo.tui.app.keymap_contexts",
    "octavo.tui.app.pauses",
    "octavo.tui.app.menus",
    "octavo.tui.app.user_programs",
}
"""Modules that may import screens of several packages: the tables of routes, keys and preloaded modules, the entries of
the command palette, and the targets of custom commands."""
CHILD_PROGRAMS = ("bounded",)
"""Folders inside a package of octavo.tui. They hold programs that run as child processes."""
USED_IN = {
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


def package_of(module: str) -> str:
    """Return the package of octavo that `module` belongs to, or the name of a module beside the packages."""
    return module.split(".")[1] if "." in module else "__init__"


def test_packages_import_only_what_they_may() -> None:
    for module in FILES:
        for imported in imports(module):
            package = imported.partition(".")[0]
            if package == "octavo":
                target = package_of(imported) if imported != "octavo" else ""
                assert target in MAY_IMPORT[package_of(module)] | IMPORTED_EVERYWHERE, f"{module} imports {imported}"
            elif package in USED_IN:
                assert package_of(module) in USED_IN[package], f"{module} imports {package}"


def test_packages_of_tui_import_only_lower_packages() -> None:
    for module in FILES:
        match module.split("."):
            case "octavo", "tui", here, *inside:
                assert here in TUI_PACKAGES, f"{module} is in no package of TUI_PACKAGES"
                assert inside or FILES[module].stem == "__init__", f"{module} is not in a package of octavo.tui"
                assert len(inside) < 2 or inside[0] in CHILD_PROGRAMS, f"{module} is nested too deep"
                higher = set(TUI_PACKAGES[TUI_PACKAGES.index(here) + 1 :])
                assert {name for name in imports(module) if tui_package_of(name) in higher} == set(), module


def test_low_packages_of_tui_import_little_else() -> None:
    for module in FILES:
        here = tui_package_of(module)
        found = {name for name in imports(module) if name.partition(".")[0] == "octavo" and not tui_package_of(name)}
        if here in ALLOWED_IN:
            allowed = ALLOWED_IN[here] | (CHILD_PROGRAM_IMPORTS if f".{CHILD_PROGRAMS[0]}." in module else set())
            assert found - allowed == set(), module
        if here == "render":
            assert {name for name in imports(module) if name.startswith(WIDGET_MODULES)} == set(), module


def test_only_the_route_table_names_screens_of_several_packages() -> None:
    screens = {
        f"{module}.{node.name}"
        for module in FILES
        if tui_package_of(module) in TUI_PACKAGES[4:]
        for node in tree(module).body
        if isinstance(node, ast.ClassDef) and node.name.endswith("Screen")
    }
    screen_modules = {name.rpartition(".")[0] for name in screens}
    for module in set(FILES) - IMPORT_SEVERAL_SCREENS:
        packages = {tui_package_of(name) for name in imports(module) & screen_modules} - {tui_package_of(module)}
        assert len(packages) < 2, f"{module} imports screens of {packages}"


def tui_package_of(module: str) -> str:
    """Return the package of octavo.tui that `module` belongs to. Empty for modules outside octavo.tui."""
    parts = module.split(".")
    return parts[2] if parts[:2] == ["octavo", "tui"] and len(parts) > 2 else ""


def test_packages_have_no_import_cycles() -> None:
    """Modules of one package may import each other for types, because that loads nothing."""
    imported = {
        module: {each for each in imports(module) - imported_for_types(module) if each in FILES and each != module}
        for module in FILES
    }
    try:
        TopologicalSorter(imported).prepare()
    except CycleError as error:
        raise AssertionError(f"Import cycle: {' <- '.join(error.args[1])}") from None


def names_in(module: str) -> set[str]:
    """Return the names that a module defines at its top level. The module is not imported, because it may need an
    extra."""
    names = set()
    for node in tree(module).body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        else:
            names |= {
                each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            }
    return names


def test_names_of_lazy_imports_exist() -> None:
    for module in FILES:
        for node in nodes(module):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                name, _, value = node.value.partition(":")
                if name in FILES and "." in name and value:
                    assert value in names_in(name), f"{module} names {node.value}"


MOST_BASES, MOST_METHODS = 3, 60
"""Maximum number of base classes from this project, and of methods including inherited ones."""


def test_classes_have_few_bases_and_methods() -> None:
    for kind in classes():
        own = [base for base in kind.__mro__ if base.__module__.startswith("octavo.")]
        methods = {name for base in own for name, value in vars(base).items() if isinstance(value, METHODS)}
        assert len(own) - 1 <= MOST_BASES, f"{kind.__name__} inherits from {[base.__name__ for base in own[1:]]}"
        assert len(methods) <= MOST_METHODS, f"{kind.__name__} has {len(methods)} methods"


def test_modules_have_a_docstring_and_no_vague_name() -> None:
    for module, path in FILES.items():
        assert not re.search(r"(utils?|helpers?|common|manager|service)", path.stem), module
        assert ast.get_docstring(tree(module)), f"{module} has no docstring"


def test_modules_give_each_name_one_value() -> None:
    for module in FILES:
        assigned = [
            target
            for statement in tree(module).body
            if isinstance(statement, ast.Assign | ast.AnnAssign)
            for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        ]
        names = Counter(name.id for each in assigned for name in ast.walk(each) if isinstance(name, ast.Name))
        assert [name for name, count in names.items() if count > 1] == [], f"{module} replaces its own value"


def test_packages_that_use_libraries_exist() -> None:
    assert {package for packages in USED_IN.values() for package in packages} <= set(MAY_IMPORT)


METHODS = (FunctionType, classmethod, staticmethod, property, cached_property)


def classes() -> Iterator[type]:
    """Yield all classes of the project, except those of a module whose optional library is not installed."""
    for module in FILES:
        is_importable = "mcp.server" not in imports(module) or find_spec("mcp") is not None
        if is_importable and not module.endswith("__main__"):
            for value in vars(import_module(module)).values():
                if isinstance(value, type) and value.__module__ == module:
                    yield value


def test_only_one_module_ignores_case_in_texts() -> None:
    ignores_case = re.compile(
        r"casefold|\.lower\(\)(\.split\(\)|\.find\(| (==|!=|in) \w+\.(title|name|label)\b)|title\.lower\(\) (==|!=|in)"
    )
    found = {module for module, path in FILES.items() if ignores_case.search(path.read_text(encoding="utf-8"))}
    assert found == {"octavo.api.folding"}


def test_only_one_module_converts_times_to_local_time() -> None:
    found = {module for module, path in FILES.items() if "astimezone()" in path.read_text(encoding="utf-8")}
    assert found == {"octavo.local_time"}, "Convert times with localize: some times have no local date"


def test_suppressed_checks_name_their_rule_and_reason() -> None:
    unexplained = re.compile("# type: " + r"ignore(?!\[[a-z, -]+\]  # \w)")
    tests = Path(__file__).parent.rglob("*.py")
    assert [
        str(path) for path in (*FILES.values(), *tests) if unexplained.search(path.read_text(encoding="utf-8"))
    ] == []


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text(encoding="utf-8"))


@cache
def nodes(module: str) -> tuple[ast.AST, ...]:
    """Return all nodes of the syntax tree of a module."""
    return tuple(ast.walk(tree(module)))


@cache
def imports(module: str) -> frozenset[str]:
    return frozenset(_imports(nodes(module)))


@cache
def imported_for_types(module: str) -> frozenset[str]:
    """Return the modules of the same package that a module imports only under TYPE_CHECKING."""
    blocks = [
        node for node in tree(module).body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    inside = [node for block in blocks for node in ast.walk(block)]
    known = {*map(id, inside)}
    outside = [node for node in nodes(module) if id(node) not in known] if inside else []
    only_for_types = frozenset(_imports(inside)) - frozenset(_imports(outside))
    return frozenset(name for name in only_for_types if name.rpartition(".")[0] == module.rpartition(".")[0])


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
