"""Names of stored values do not change, because a new version of Octavo must find the values of the previous version."""

from __future__ import annotations

import ast
from pathlib import Path

import octavo

NAMES = {
    "ages of blocks",
    "base ",
    "conflict ",
    "continuous diff",
    "count of the inbox",
    "deleted spaces",
    "file chosen last",
    "folder to save to",
    "greeted",
    "offline",
    "once ",
    "open words of reviews",
    "order of change requests",
    "order of files",
    "order of the inbox",
    "order of threads",
    "organization",
    "page ",
    "places on pages",
    "reactions used",
    "recent reviewers",
    "resolved in ",
    "resolves ",
    "space",
    "theme",
    "tour",
    "update ",
    "view",
}


CONSTANTS = ("ORDER_KEY", "ONCE_PREFIX")
"""Constants with a name, or with its beginning, that other modules use."""


def names_of_stored_values() -> set[str]:
    """Return the texts that the source passes to `get_value` and `set_value`, directly or as a named constant. For an
    f-string, return its beginning."""
    names = set()
    for path in Path(octavo.__file__).parent.rglob("*.py"):
        source = path.read_text("utf-8")
        if not any(each in source for each in ("get_value(", "set_value(", *CONSTANTS)):
            continue
        tree = ast.parse(source)
        constants: dict[str, str] = {
            target.id: node.value.value
            for node in ast.walk(tree)
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
            for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("get_value", "set_value")
                and node.args
            ):
                match node.args[0]:
                    case ast.Constant(value=str() as name):
                        names.add(name)
                    case ast.JoinedStr(values=[ast.Constant(value=str() as beginning), *_]):
                        names.add(beginning)
                    case ast.Name(id=name) | ast.Attribute(attr=name) if name in constants:
                        names.add(constants[name])
        names.update(value for name, value in constants.items() if name in CONSTANTS)
    return names - {""}


def test_no_stored_name_is_renamed() -> None:
    assert names_of_stored_values() == NAMES
