"""Rows of a table of which one was made, or that were made of one: told as that, each word where it went."""

from __future__ import annotations

import re
from collections.abc import Sequence

from octavo.documents.alignment import text_similarity
from octavo.documents.blocks import Block, Run, plain_text
from octavo.documents.changes import CellChange, ColumnPair, RowChange
from octavo.documents.nodes import Node
from octavo.documents.steps import DiffStep
from octavo.documents.word_diff import diff_runs

_MIN_SHARE_FOUND = 0.5
"""The share of the letters of a row that are in another now, from which on it went there."""
_MIN_JOINED_LENGTH = 10
_MIN_CELL_SIMILARITY = 0.7
_LETTER = re.compile(r"[^\W\d_]")


def join_rows(steps: list[DiffStep], columns: Sequence[ColumnPair]) -> list[DiffStep]:
    """The steps of the rows of a table. A row that changed, and those beside it whose words it took or gave, are one."""
    found: list[DiffStep] = []
    at = 0
    while at < len(steps):
        step, at = steps[at], at + 1
        if step.fate == "changed":
            for fate in ("removed", "added"):
                end = at
                while end < len(steps) and steps[end].fate == fate and _is_part_of_row(steps[end], step, fate):
                    end += 1
                if end > at:
                    step, at = _join_step(step, steps[at:end], columns), end
                    break
        found.append(step)
    return found


def _is_part_of_row(beside: DiffStep, row: DiffStep, fate: str) -> bool:
    """Whether most words of a row that went are in one that stayed, and were not before; or the other way round."""
    gone = fate == "removed"
    part, whole, rest = (beside.old, row.new, row.old) if gone else (beside.new, row.old, row.new)
    assert part is not None
    assert whole is not None
    assert rest is not None
    texts = [text for cell in part.children if _LETTER.search(text := _cell_text(cell))]
    there, before = ([_cell_text(cell) for cell in node.children] for node in (whole, rest))
    new = ["" if text in before else text for text in there]
    found = sum(len(text) for text in texts if _find_cell(text, new) is not None)
    return found >= max(_MIN_JOINED_LENGTH, _MIN_SHARE_FOUND * sum(map(len, texts)))


def _join_step(row: DiffStep, others: Sequence[DiffStep], columns: Sequence[ColumnPair]) -> DiffStep:
    assert row.old is not None
    assert row.new is not None
    is_join = others[0].fate == "removed"
    parts = [node for step in others if (node := step.old if is_join else step.new) is not None]
    some, one = (row.old, row.new) if is_join else (row.new, row.old)
    indices = [(pair.old_index, pair.new_index) if is_join else (pair.new_index, pair.old_index) for pair in columns]
    own = {mine: at for at, (mine, _) in enumerate(indices) if mine is not None}
    there = [_cell_text(cell) if (cell := _cell_at(one, index)) else "" for _, index in indices]
    before = [_cell_text(cell) for cell in some.children]
    runs = [cell.block.runs if (cell := _cell_at(some, index)) else () for index, _ in indices]
    for part in parts:
        for stood_in, given in enumerate(part.children):
            if text := _cell_text(given):
                into = _find_cell(text, ["" if said in before else said for said in there])
                place = into if into is not None else own.get(stood_in, 0)
                runs[place] = (*runs[place], *((Run("\n", kind="break"),) if runs[place] else ()), *given.block.runs)
    stood = [Block("cell", runs=each, lines=some.block.lines) for each in runs]
    cells = []
    for block, (_, index) in zip(stood, indices, strict=True):
        cell = _cell_at(one, index)
        other = cell.block if cell is not None else None
        was, now = (block, other) if is_join else (other, block)
        changed = diff_runs(was.runs if was else (), now.runs if now else ())
        cells.append(CellChange(was, now, changed if changed.sorts else None))
    made = some.block._replace(children=tuple(stood))
    virtual = Node(made, [], -id(made), " ".join(plain_text(each) for each in runs))
    told = DiffStep(
        "changed", virtual if is_join else row.old, row.new if is_join else virtual, RowChange(tuple(cells))
    )
    told.settings = row.settings
    count = 1 + len(parts)
    nodes = ((row.old, *parts), (row.new,)) if is_join else ((row.old,), (row.new, *parts))
    note = f"{count} rows joined into 1" if is_join else f"1 row split into {count}"
    return DiffStep("restructured", old_nodes=nodes[0], new_nodes=nodes[1], note=note, inside=[told])


def _cell_text(cell: Node) -> str:
    return " ".join(plain_text(cell.block.runs).split())


def _find_cell(text: str, cells: Sequence[str]) -> int | None:
    """Which of some cells has a text, or one much like it."""
    best, found = 0.0, None
    for at, said in enumerate(cells):
        alike = 1.0 if text in said else text_similarity(text, said, _MIN_CELL_SIMILARITY) if said else 0.0
        if alike > best:
            best, found = alike, at
    return found


def _cell_at(row: Node, index: int | None) -> Node | None:
    return row.children[index] if index is not None and index < len(row.children) else None
