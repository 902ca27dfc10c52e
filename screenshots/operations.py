"""Write which operations of the interface the app reaches, from where, or why it has no place for one.

.venv/bin/python -m screenshots.operations

What is read is the code: the calls of operations in the rooms of the app, those in modules of `data` that the app uses,
and the kinds of things that the browser of resources declares. An operation of two places counts for both.
"""

from __future__ import annotations

import ast
import csv
import io
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

from octavo.api.operation import SPECS, load
from octavo.api.wire import routes

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "octavo"
VERBS = {
    "list": (),
    "get": (),
    "create": ("new", "create", "add"),
    "update": ("edit", "change", "update"),
    "delete": ("delete",),
}
"""What a kind of thing may have, and what the browser's command for it may be called. Lists and things are opened."""
INTERFACE = ROOT / "tests" / "operations.tsv"
TABLE = ROOT / "tests" / "reached.tsv"

NO_PLACE = {
    "system.Get": "the version of a server does not tell what it has: that is learned by asking (data/availability.py)",
    "site_structure.MoveSection": "deprecated: structure/sort does it for all parts of a site (supplement 2.8)",
    "content.GetPageByPath": "pages are opened by their ids, which stay what they are when a page is moved",
    "links.ListOfPage": "the links of a page are among those of its space, which are read anyway",
    "teams.UpdateMembers": "people are taken into teams one by one: each is told of, and can be taken back",
    "comments.ListCommenters": "who speaks is known from the threads, which are read anyway",
    "organizations.Ping": "tells others that one is here: reading says nothing of the reader",
}
"""Why an operation is reached by no key, where that is meant to be so."""


def called_operations() -> dict[str, set[str]]:
    """The names of operations, and the rooms of the app that call each: `data` for what rooms have done by modules there."""
    load()
    found: defaultdict[str, set[str]] = defaultdict(set)
    of_data = {path.stem: Calls(path).names() for path in sorted((SOURCE / "data").glob("*.py"))}
    uses = {name: _data_modules(SOURCE / "data" / f"{name}.py") for name in of_data}
    for path in sorted((SOURCE / "tui").rglob("*.py")):
        if path.stem.endswith("_resources"):
            continue  # what is declared there is reached by the commands of the browser, as far as it has them
        room = path.relative_to(SOURCE / "tui").parts[0]
        for name in Calls(path).names():
            found[name].add(room)
        for module in _reached(_data_modules(path), uses):
            for name in of_data.get(module, ()):
                found[name].add("data")
    for name, where in declared_operations():
        found[name].add(where)
    return found


def declared_operations() -> Iterator[tuple[str, str]]:
    """The names of operations that kinds of things are made of, each with the kind, what it is there, and the key."""
    from octavo.tui import resources
    from octavo.tui.resources.browser import BrowserScreen
    from octavo.tui.resources.resource import Resource

    keys = {id.rpartition(".")[2]: command.keys for id, (_, command) in BrowserScreen._commands_by_id.items()}
    for info in iter_modules(resources.__path__):
        module = import_module(f"{resources.__name__}.{info.name}")
        for kind in vars(module).values():
            if not isinstance(kind, Resource):
                continue
            for verb, commands in VERBS.items():
                key = next((keys[each] for each in commands if each in keys), "")
                if (operation := getattr(kind, verb, None)) in SPECS and (key or not commands):
                    yield SPECS[operation].name, f"{kind.one}: {verb} {key}".rstrip()
            for operation in kind.lookups:
                yield SPECS[operation].name, f"{kind.one}: names"
            for action in kind.actions:
                yield SPECS[action.operation].name, f"{kind.one}: {action.name.lower()} {keys['act']}"
                if action.back is not None:
                    yield SPECS[action.back].name, f"{kind.one}: {action.name.lower()}, taken back"


class Calls(ast.NodeVisitor):
    """The operations that a file calls, or hands on to be called; not those it only speaks of in types and comparisons."""

    def __init__(self, path: Path) -> None:
        self._tree = ast.parse(path.read_text(encoding="utf-8"))
        self._areas: dict[str, str] = {}
        self._classes: dict[str, str] = {}
        self._known = {spec.name for spec in SPECS.values()}
        self._found: set[str] = set()

    def names(self) -> set[str]:
        """By the names the command line has for them."""
        for node in ast.walk(self._tree):
            if not isinstance(node, ast.ImportFrom) or node.module is None:
                continue
            for each in node.names:
                if node.module == "octavo.api":
                    self._areas[each.asname or each.name] = each.name
                elif node.module.startswith("octavo.api."):
                    area = node.module.rpartition(".")[2]
                    self._classes[each.asname or each.name] = f"{area}.{each.name}"
        self.visit(self._tree)
        again = {spec.name: spec for spec in SPECS.values() if spec.again}
        first = {(spec.method, spec.path): spec.name for spec in SPECS.values() if not spec.again}
        return {first[again[name].method, again[name].path] if name in again else name for name in self._found}

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        pass

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        for each in (*node.decorator_list, node.args, *node.body):
            self.visit(each)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "cast"):
            return
        self.generic_visit(node)

    def visit_match_case(self, node: ast.match_case) -> None:
        for each in node.body:
            self.visit(each)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in node.body:
            self.visit(each)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in self._areas:
            self._take(f"{self._areas[node.value.id]}.{node.attr}")
        self.visit(node.value)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self._classes:
            self._take(self._classes[node.id])

    def _take(self, name: str) -> None:
        if name in self._known:
            self._found.add(name)


def _data_modules(path: Path) -> set[str]:
    """The modules of `data` that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "octavo.data":
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("octavo.data."):
            found.add((node.module or "").split(".")[2])
    return found


def _reached(modules: set[str], uses: dict[str, set[str]]) -> set[str]:
    """Those modules, and all that they use."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        if (module := waiting.pop()) not in found:
            found.add(module)
            waiting += uses.get(module, set())
    return found


def rows() -> list[dict[str, str]]:
    """Every operation of the interface: what calls it, or why nothing does. Both empty: it has no place yet."""
    called = called_operations()
    names = {route.key: spec.name for spec in load().values() for route in routes(spec)}
    found = []
    with INTERFACE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            name = names[f"{row['method']} {row['path']}"]
            places = ", ".join(sorted(called.get(name, ())))
            found.append(
                {
                    "operation": name,
                    "method": row["method"],
                    "path": row["path"],
                    "reached from": places,
                    "why not": "" if places else NO_PLACE.get(name, ""),
                }
            )
    return found


def table(known: list[dict[str, str]]) -> str:
    """All rows, tab-separated."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(known[0]), delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(known)
    return text.getvalue()


def homeless(known: list[dict[str, str]]) -> list[str]:
    """The operations that have neither a place nor a reason, by their names."""
    return sorted({row["operation"] for row in known if not row["reached from"] and not row["why not"]})


if __name__ == "__main__":
    TABLE.write_text(table(rows()), encoding="utf-8")
