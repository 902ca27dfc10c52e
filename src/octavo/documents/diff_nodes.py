"""Prepares blocks for a comparison (`Node`), and holds its steps (`DiffStep`). Equal blocks have equal numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from octavo.documents.anchors import is_anchor_of
from octavo.documents.blocks import Block, Run, TableColumn, plain_text
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    ChangedBlock,
    ContainerChange,
    Entry,
    MovedBlock,
    Parts,
    RemovedBlock,
    RestructuredBlocks,
    TableChange,
    TextChange,
    UnchangedBlocks,
)

_EMPTY_VALUES: tuple[object, ...] = (None, "", False, (), [], {})
"""Attribute values that count as a missing attribute."""
ATOMIC_KINDS = frozenset({"image", "icon", "math", "break", "emoji", "button", "mention", "expression"})
"""Kinds of runs that are compared as a whole, not word by word."""
_TEXT_ATTRIBUTE_NAMES = "title alt url src path name spec date expression target description label"
_TEXT_ATTRIBUTES = tuple(_TEXT_ATTRIBUTE_NAMES.split())


@dataclass(slots=True, eq=False)
class Node:
    """A block with its children, prepared for a comparison. Nodes of one `NodeIndex` with equal numbers look the
    same."""

    block: Block
    children: list[Node]
    number: int
    text: str
    """The text of the block and its descendants."""

    @property
    def kind(self) -> str:
        return self.block.kind

    @property
    def size(self) -> int:
        return len(self.text)

    def walk(self) -> Iterator[Node]:
        """Yield the node and its descendants."""
        yield self
        for child in self.children:
            yield from child.walk()

    def leaves(self) -> Iterator[Node]:
        """Yield those of the node and its descendants that have text of their own."""
        if self.block.runs or self.block.text or not self.children:
            if self.text:
                yield self
            if self.block.text:
                return
        for child in self.children:
            yield from child.leaves()


class NodeIndex:
    """Creates nodes, with equal numbers for equal blocks."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def node(self, block: Block) -> Node:
        """Return the node of a block, with the nodes of its descendants."""
        children = [self.node(child) for child in block.children]
        identity = (
            block.kind,
            runs_key(block.runs),
            block.text,
            _attributes_key(block) if block.attrs else (),
            tuple(child.number for child in children),
        )
        number = self._numbers.setdefault(identity, len(self._numbers))
        text = " ".join([*" ".join(_own_text(block)).split(), *[child.text for child in children if child.text]])
        return Node(block, children, number, text)


def _attributes_key(block: Block) -> Hashable:
    attributes = tuple((name, _freeze(value)) for name, value in sorted(compared_attributes(block).items()))
    columns = tuple(map(_column_key, block.attrs.get("columns", ())))
    return (attributes, columns) if attributes or columns else ()


def compared_attributes(block: Block) -> dict[str, Any]:
    """Return the attributes of a block to compare. Columns are left out because they are compared separately. Anchors
    are left out if they follow from the text."""
    return {
        ("spaced" if name == "tight" else name): (not value if name == "tight" else value)
        for name, value in block.attrs.items()
        if name != "columns" and not _is_default(block, name, value)
    }


def _is_default(block: Block, name: str, value: Any) -> bool:
    match name:
        case "tight":
            return value is not False
        case "value":
            return value is None  # False and 0 are not defaults, because an unchecked box and zero stars are visible.
        case "id" if block.kind == "heading":
            return value in _EMPTY_VALUES or is_anchor_of(plain_text(block.runs), str(value))
        case "slug" if block.kind == "tab":
            return value in _EMPTY_VALUES or is_anchor_of(str(block.attrs.get("title") or ""), str(value))
    return value in _EMPTY_VALUES


def runs_key(runs: Iterable[Run]) -> tuple[Hashable, ...]:
    """Return a key that is equal for texts that look the same, even if they are split into runs differently."""
    found: list[tuple[Hashable, ...]] = []
    if isinstance(runs, tuple) and len(runs) < 2:
        return tuple((run.text, *style(run)) for run in runs if run.text or run.kind in ATOMIC_KINDS)
    text, last_style, is_atomic = "", None, True
    for run in runs:
        if run.kind in ATOMIC_KINDS or run.text:
            run_style = style(run)
            if run_style == last_style and not is_atomic and run.kind not in ATOMIC_KINDS:
                text += run.text
                found[-1] = (text, *run_style)
            else:
                text, last_style, is_atomic = run.text, run_style, run.kind in ATOMIC_KINDS
                found.append((text, *run_style))
    return tuple(found)


def style(run: Run) -> tuple[Hashable, ...]:
    """Return the format of a run: marks, kind, attributes and link. Code as a mark and code as a kind count as
    equal."""
    kind = "text" if run.kind == "code" and "code" in run.marks else run.kind
    return (run.marks, kind, _freeze(run.attrs) if run.attrs else (), run.link or "")


def _column_key(column: TableColumn) -> Hashable:
    return (runs_key(column.title), *map(_freeze, column[1:]))


def _own_text(block: Block) -> Iterator[str]:
    if block.text:
        yield block.text
    elif block.runs:
        yield "".join(run.text or str(run.attrs.get("src", "")).rpartition("/")[2] for run in block.runs)
    for name in _TEXT_ATTRIBUTES if block.attrs else ():
        value = block.attrs.get(name)
        if isinstance(value, str) and value:
            yield value.rpartition("/")[2] if block.kind == "image" else value
    for column in block.attrs.get("columns", ()):
        yield plain_text(column.title)


def _freeze(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return tuple((str(key), _freeze(each)) for key, each in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_freeze, value))
    return value if isinstance(value, Hashable) else str(value)


Status = Literal["same", "added", "removed", "changed", "left", "arrived", "restructured"]
CompareNodes = Callable[[Node, Node], "DiffStep"]


@dataclass(slots=True, eq=False)
class DiffStep:
    """The change of one node while a comparison is running. `to_entries` turns steps into entries.

    A moved block has two steps: `left` at the old position, and `arrived` at the new position. A restructured step
    covers several nodes. An added or removed step with steps inside is a container that was added around existing
    blocks, or removed from around them."""

    status: Status
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
        """Yield all steps below this one."""
        for step in (*(self.inside or ()), *self.rows):
            yield step
            yield from step.all_inside()


def to_entries(steps: Iterable[DiffStep]) -> tuple[Entry, ...]:
    """Convert steps to entries. Adjacent unchanged blocks become one entry."""
    found: list[Entry] = []
    for is_same, group in groupby(steps, lambda step: step.status == "same"):
        run = list(group)
        found += [_unchanged(run)] if is_same else map(_entry, run)
    return tuple(found)


def _unchanged(steps: Sequence[DiffStep]) -> UnchangedBlocks:
    return UnchangedBlocks(
        tuple(step.old.block for step in steps if step.old), tuple(step.new.block for step in steps if step.new)
    )


def _entry(step: DiffStep) -> Entry:
    old, new = step.old, step.new
    if step.status == "restructured":
        before, after = (tuple(node.block for node in nodes) for nodes in (step.old_nodes, step.new_nodes))
        return RestructuredBlocks(before, after, step.note, to_entries(step.inside or ()))
    if step.status == "added" and new:
        return AddedBlock(new.block, to_entries(step.inside or ()))
    if step.status == "removed" and old:
        return RemovedBlock(old.block, to_entries(step.inside or ()))
    assert old is not None
    assert new is not None
    parts = step.parts
    if isinstance(parts, TableChange):
        parts = TableChange(parts.columns, to_entries(step.rows))
    elif step.inside is not None:
        parts = ContainerChange(to_entries(step.inside), step.title)
    if step.status in ("left", "arrived"):
        return MovedBlock(old.block, new.block, step.number, step.status == "arrived", parts, step.settings)
    return ChangedBlock(old.block, new.block, step.settings, parts)
