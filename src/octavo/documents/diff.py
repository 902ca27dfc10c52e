"""What changed from one page to another: blocks are matched with their likes, and words within them compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from octavo.documents.alignment import align
from octavo.documents.blocks import Document
from octavo.documents.changes import Cell, Cells, ColumnPair, Diff, Lines, Setting, Table
from octavo.documents.moves import find_moves, share_changed
from octavo.documents.nodes import Node, Register, runs_key, settings
from octavo.documents.restructuring import restructured
from octavo.documents.sequences import stretches
from octavo.documents.steps import Step, entries
from octavo.documents.table_diff import column_pairs
from octavo.documents.word_diff import compare, compare_lines

_EXACT = frozenset({"code", "math"})
_TABLES = frozenset({"table", "cards"})


def diff(old: Document, new: Document) -> Diff:
    """What changed from `old` to `new`."""
    register = Register()
    before, after = ([register.node(block) for block in document.blocks] for document in (old, new))
    steps = _compared(before, after)
    find_moves(steps)
    changed = entries(steps)
    metadata = _metadata(old.metadata, new.metadata)
    found = Diff(changed, metadata, 0, share_changed(steps))
    if not found.is_empty or old.source == new.source:
        return found
    return Diff(changed, metadata, _differing_lines(old.source, new.source), 0.0)


def _compared(old: Sequence[Node], new: Sequence[Node]) -> list[Step]:
    steps = []
    for ours, theirs in align(old, new):
        if ours is None:
            steps.append(Step("added", new=theirs))
        elif theirs is None:
            steps.append(Step("removed", old=ours))
        elif ours.number == theirs.number:
            steps.append(Step("same", ours, theirs))
        else:
            steps.append(change(ours, theirs))
    return restructured(steps, change)


def change(old: Node, new: Node) -> Step:
    """What changed from one block to the other."""
    step = Step("changed", old, new, settings=_settings(old, new))
    if new.kind in _TABLES and old.kind in _TABLES:
        columns = column_pairs(old.block, new.block)
        step.parts = Table(columns, ())
        step.rows = _rows(old, new, columns)
    elif new.kind in _EXACT and old.kind in _EXACT:
        step.parts = Lines(compare_lines(old.block.text, new.block.text))
    elif old.children or new.children:
        if old.block.runs or new.block.runs:
            step.title = compare(old.block.runs, new.block.runs)
        step.inside = _compared(old.children, new.children)
    elif old.block.runs or new.block.runs:
        if runs_key(old.block.runs) != runs_key(new.block.runs):
            step.parts = compare(old.block.runs, new.block.runs)
    elif old.block.text != new.block.text:
        step.parts = Lines(compare_lines(old.block.text, new.block.text))
    return step


def _rows(old: Node, new: Node, columns: tuple[ColumnPair, ...]) -> list[Step]:
    steps = []
    for ours, theirs in align(old.children, new.children):
        if ours is None:
            steps.append(Step("added", new=theirs))
        elif theirs is None:
            steps.append(Step("removed", old=ours))
        elif ours.number == theirs.number:
            steps.append(Step("same", ours, theirs))
        else:
            cells = Cells(tuple(_cell(ours, theirs, pair) for pair in columns))
            steps.append(Step("changed", ours, theirs, cells, _settings(ours, theirs)))
    return steps


def _cell(old: Node, new: Node, pair: ColumnPair) -> Cell:
    ours, theirs = _at(old, pair.old_index), _at(new, pair.new_index)
    before, after = ours.block if ours else None, theirs.block if theirs else None
    if before and after and runs_key(before.runs) == runs_key(after.runs):
        return Cell(before, after)
    if not before and not after:
        return Cell(None, None)
    return Cell(before, after, compare(before.runs if before else (), after.runs if after else ()))


def _at(row: Node, index: int | None) -> Node | None:
    return row.children[index] if index is not None and index < len(row.children) else None


def _settings(old: Node, new: Node) -> tuple[Setting, ...]:
    before, after = settings(old.block), settings(new.block)
    if old.kind != new.kind:
        before.pop("level", None)
        after.pop("level", None)
    return _differences(before, after)


def _metadata(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[Setting, ...]:
    return _differences(_flat(old), _flat(new))


def _differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Setting, ...]:
    names = [*before, *(name for name in after if name not in before)]
    found = []
    for name in names:
        old, new = before.get(name), after.get(name)
        if old != new:
            # What can be yes or no is no where it is not said.
            switch = isinstance(old, bool) or isinstance(new, bool)
            found.append(Setting(name, _said(old or False if switch else old), _said(new or False if switch else new)))
    return tuple(found)


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _said(value: Any) -> str | None:
    """An attribute as a reader may see it."""
    if value is None or value == {}:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, map(_said, value)))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_said(each)}" for name, each in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _differing_lines(old: str, new: str) -> int:
    differing = (each for each in stretches(old.split("\n"), new.split("\n")) if not each.equal)
    return sum(max(each.i2 - each.i1, each.j2 - each.j1) for each in differing)
