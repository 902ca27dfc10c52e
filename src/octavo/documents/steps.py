"""The entries of a diff while it is worked out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from octavo.documents.changes import (
    Added,
    AttributeChange,
    Changed,
    ContainerChange,
    Entry,
    Moved,
    Parts,
    Removed,
    Restructured,
    TableChange,
    TextChange,
    Unchanged,
)
from octavo.documents.nodes import Node

Status = Literal["same", "added", "removed", "changed", "left", "arrived", "restructured"]


@dataclass(slots=True, eq=False)
class DiffStep:
    """What became of a node. A restructured step stands for several nodes at once. One that was added or removed, and has
    steps inside, is a container that came or went around them."""

    fate: Status
    old: Node | None = None
    new: Node | None = None
    parts: Parts = None
    settings: tuple[AttributeChange, ...] = ()
    inside: list[DiffStep] | None = None
    title: TextChange | None = None
    number: int = 0
    old_nodes: tuple[Node, ...] = ()
    new_nodes: tuple[Node, ...] = ()
    note: str = ""
    rows: list[DiffStep] = field(default_factory=list)

    def all_inside(self) -> Iterator[DiffStep]:
        """The steps below this one, all the way down."""
        for step in (*(self.inside or ()), *self.rows):
            yield step
            yield from step.all_inside()


def entries(steps: Iterable[DiffStep]) -> tuple[Entry, ...]:
    """Steps as entries: what stayed is put together."""
    found: list[Entry] = []
    for is_same, group in groupby(steps, lambda step: step.fate == "same"):
        run = list(group)
        found += [_unchanged(run)] if is_same else map(_entry, run)
    return tuple(found)


def _unchanged(steps: Sequence[DiffStep]) -> Unchanged:
    return Unchanged(
        tuple(step.old.block for step in steps if step.old), tuple(step.new.block for step in steps if step.new)
    )


def _entry(step: DiffStep) -> Entry:
    old, new = step.old, step.new
    if step.fate == "restructured":
        before, after = (tuple(node.block for node in nodes) for nodes in (step.old_nodes, step.new_nodes))
        return Restructured(before, after, step.note, entries(step.inside or ()))
    if step.fate == "added" and new:
        return Added(new.block, entries(step.inside or ()))
    if step.fate == "removed" and old:
        return Removed(old.block, entries(step.inside or ()))
    assert old is not None
    assert new is not None
    parts = step.parts
    if isinstance(parts, TableChange):
        parts = TableChange(parts.columns, entries(step.rows))
    elif step.inside is not None:
        parts = ContainerChange(entries(step.inside), step.title)
    if step.fate in ("left", "arrived"):
        return Moved(old.block, new.block, step.number, step.fate == "arrived", parts, step.settings)
    return Changed(old.block, new.block, step.settings, parts)
