"""The generated blocks of tests cover the block model."""

from __future__ import annotations

import re

from octavo.documents import blocks as model
from tests.documents.block_model import CHILDREN, HAVE_RUNS, HAVE_TEXT, KINDS, RUNS


def _rows(first: str) -> dict[str, tuple[str, str]]:
    """Return the rows of the table with this first heading. A line without a name continues the row above."""
    table = next(part for part in (model.__doc__ or "").split("\n\n") if part.startswith(f"| {first} "))
    out: dict[str, tuple[str, str]] = {}
    last = ""
    for line in table.splitlines()[2:]:
        name, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        last = name or last
        before = out.get(last, ("", ""))
        out[last] = (f"{before[0]} {cells[0]}".strip(), f"{before[1]} {cells[1]}".strip())
    return out


def _names(said: str) -> set[str]:
    """Return the names of attributes without their descriptions."""
    plain = re.sub(r"\([^()]*(?:\([^()]*\)[^()]*)*\)", "", said).replace(";", ",")
    return {found for part in plain.split(",") if (found := part.strip().split(" ")[0])} - {"columns"}


def test_block_model_covers_all_documented_blocks() -> None:
    rows = {kind: row for kind, row in _rows("kind").items() if kind != "document"}
    assert {kind: set(attrs) for kind, attrs in KINDS.items()} == {
        kind: _names(attrs) for kind, (attrs, _) in rows.items()
    }
    assert set(CHILDREN) == {kind for kind, (_, holds) in rows.items() if "children" in holds}
    assert {kind for kind, (_, holds) in rows.items() if holds.startswith("runs")} == HAVE_RUNS
    assert set(HAVE_TEXT) == {kind for kind, (_, holds) in rows.items() if holds.startswith("text")}


def test_every_block_kind_with_children_has_diff_roles() -> None:
    assert set(model.ROLES) == set(CHILDREN)


def test_block_model_covers_all_documented_runs() -> None:
    assert {kind: set(attrs) for kind, attrs in RUNS.items()} == {
        kind: _names(attrs) for kind, (_, attrs) in _rows("run").items()
    }


def test_walk_yields_each_nested_block_once() -> None:
    deep = model.Block("paragraph", text="deep")
    for level in range(5000):
        deep = model.Block("quote", children=(model.Block("paragraph", text=f"{level}"), deep))
    assert [block.kind for block in deep.walk()].count("quote") == 5000
    assert deep.plain().split("\n") == [*map(str, reversed(range(5000))), "deep"]
