"""Who may import whom. The arrows point down, and each library has one home (CONTRIBUTING.md)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "octavo"

FREE = {"", "settings", "redaction", "first_picture"}
"""Modules of no room, which any room may use: they import nothing of ours but each other."""

MAY_IMPORT = {
    "api": {"api"},
    "documents": {"documents", "api"},
    "client": {"client", "api"},
    "data": {"data", "api"},
    "server": {"server", "documents", "api"},
    "tui": {"tui", "data", "documents", "api"},
    "cli": {"cli", "tui", "data", "documents", "client", "server", "api"},
    "__main__": {"cli"},
    "settings": set[str](),
    "redaction": set[str](),
    "first_picture": set[str](),
    "__init__": set[str](),
}
HOME = {
    "textual": {"tui"},
    "rich": {"tui"},
    "pygments": {"tui"},
    "httpx": {"client"},
    "keyring": {"client"},
    "truststore": {"client"},
    "starlette": {"server"},
    "uvicorn": {"server"},
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
    "pymdownx": {"documents"},
    "mdit_py_plugins": {"documents"},
    "linkify_it": {"documents"},
    "rapidfuzz": {"documents"},
    "shtab": {"cli"},
    "platformdirs": {"settings"},
    "pydantic": {"api", "server", "cli", "data", "client", "tui", "redaction"},
}
FILES = sorted(SOURCE.rglob("*.py"))


def room(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def test_arrows_point_down() -> None:
    for path in FILES:
        for module in imports(path):
            package, _, rest = module.partition(".")
            if package == "octavo":
                target = rest.partition(".")[0]
                assert target in MAY_IMPORT[room(path)] | FREE, f"{path.name} imports {module}"
            elif package in HOME:
                assert room(path) in HOME[package], f"{package} is at home in {HOME[package]}, not in {room(path)}"


def test_a_file_has_one_subject() -> None:
    for path in FILES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 420, path


def test_names_say_what_things_are() -> None:
    for path in FILES:
        assert not re.search(r"(utils?|helpers?|common|manager|service)", path.stem), path


def test_every_module_says_what_it_is() -> None:
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path


def test_every_home_is_a_room() -> None:
    assert {home for homes in HOME.values() for home in homes} <= set(MAY_IMPORT)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module, "Imports are absolute"
            assert not node.level, "Imports are absolute"
            yield node.module
