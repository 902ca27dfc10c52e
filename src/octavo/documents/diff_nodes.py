"""The data of a comparison of two pages: blocks as `Node`, and drafts of diff entries. Also compares attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal

from octavo.documents.anchors import is_anchor_of
from octavo.documents.blocks import Block, Run, plain_text
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    ChangedBlock,
    ContainerChange,
    ContentChange,
    DiffEntry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    TableChange,
    TextChange,
    TextPart,
    UnchangedBlocks,
)

_EMPTY_VALUES: tuple[object, ...] = (None, "", (), [], {})
"""Attribute values that count as not set."""
ATOMIC_KINDS = frozenset({"image", "icon", "math", "break", "emoji", "button", "mention", "expression"})
"""Kinds of text runs that are compared as a whole, not word by word."""
_TEXT_ATTRIBUTE_NAMES = "title alt url src path name spec date expression target description label"
_TEXT_ATTRIBUTES = tuple(_TEXT_ATTRIBUTE_NAMES.split())


@dataclass(slots=True, eq=False)
class Node:
    """A block with its children, its whole text, and an ID to find blocks that look the same."""

    block: Block
    children: list[Node]
    look_id: int
    """Equal for blocks that look the same, if the same `NodeFactory` created their nodes."""
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
        """Yield this node and its descendants if they have text outside their children. None below a `block.text`."""
        if self.block.runs or self.block.text or not self.children:
            if self.text:
                yield self
            if self.block.text:
                return
        for child in self.children:
            yield from child.leaves()


class NodeFactory:
    """Creates the nodes of both versions of a page. Blocks that look the same get the same `look_id`."""

    def __init__(self) -> None:
        self._look_ids: dict[Hashable, int] = {}

    def node(self, block: Block) -> Node:
        """Return the node of a block, with the nodes of its descendants."""
        children = [self.node(child) for child in block.children]
        identity = (
            block.kind,
            runs_key(block.runs),
            block.text,
            _attributes_key(block) if block.attrs else (),
            tuple([child.look_id for child in children]),
        )
        look_id = self._look_ids.setdefault(identity, len(self._look_ids))
        text = " ".join([*" ".join(_own_texts(block)).split(), *[child.text for child in children if child.text]])
        return Node(block, children, look_id, text)


def leaf_node(block: Block) -> Node:
    """Return a node for a text block that a comparison has made. The `look_id` of the node is unique."""
    return Node(block, [], -id(block), plain_text(block.runs))


def container_node(block: Block, children: Sequence[Node]) -> Node:
    """Return a node for a container that a comparison has made. No other node has its `look_id`."""
    block = block._replace(children=tuple(child.block for child in children))
    titles = [plain_text(column.title) for column in block.attrs.get("columns", ())]
    own_texts = [str(block.attrs[name]) for name in ("title", "name", "summary", "path") if block.attrs.get(name)]
    text = " ".join([*own_texts, *filter(None, titles), *(child.text for child in children if child.text)])
    return Node(block, list(children), -id(block), text)


def _attributes_key(block: Block) -> Hashable:
    attributes = tuple((name, _freeze(value)) for name, value in sorted(compared_attributes(block).items()))
    columns = tuple((runs_key(each.title), *map(_freeze, each[1:])) for each in block.attrs.get("columns", ()))
    return (attributes, columns) if attributes or columns else ()


def compared_attributes(block: Block) -> dict[str, Any]:
    """Return the attributes that a diff compares: no `columns` or defaults, and `spaced` in place of `tight`."""
    return {
        ("spaced" if name == "tight" else name): _compared_value(name, value)
        for name, value in block.attrs.items()
        if name != "columns" and not _is_default(block, name, value)
    }


def _compared_value(name: str, value: Any) -> Any:
    match name:
        case "tight":
            return not value
        case "highlighted":  # Blocks count lines from 0, people from 1.
            return tuple(line + 1 for line in value)
        case "notes":
            return tuple(f"{label} on line {line + 1}" for line, label in value)
    return value


def _is_default(block: Block, name: str, value: Any) -> bool:
    match name:
        case "tight":
            return value is not False
        case "value":
            return value is None  # A checkbox that is off is visible, so False is no default.
        case "id" if block.kind == "heading":
            return value in _EMPTY_VALUES or is_anchor_of(plain_text(block.runs), str(value))
        case "slug" if block.kind == "tab":
            return value in _EMPTY_VALUES or is_anchor_of(str(block.attrs.get("title") or ""), str(value))
    return value is False or value in _EMPTY_VALUES


def runs_key(runs: Iterable[Run]) -> tuple[Hashable, ...]:
    """Return a key for a text. Texts that look the same have equal keys."""
    key_parts: list[tuple[Hashable, ...]] = []
    if isinstance(runs, tuple) and len(runs) < 2:
        return tuple([(run.text, *style(run)) for run in runs if run.text or run.kind in ATOMIC_KINDS])
    text, last_style, is_atomic = "", None, True
    for run in runs:
        if run.kind in ATOMIC_KINDS or run.text:
            run_style = style(run)
            if run_style == last_style and not is_atomic and run.kind not in ATOMIC_KINDS:
                text += run.text
                key_parts[-1] = (text, *run_style)
            else:
                text, last_style, is_atomic = run.text, run_style, run.kind in ATOMIC_KINDS
                key_parts.append((text, *run_style))
    return tuple(key_parts)


def style(run: Run) -> tuple[Hashable, ...]:
    """Return the format of a run: marks, kind, attributes and link. Code has the same format as a kind and as a mark.
    Bold icons look like other icons."""
    kind = "text" if run.kind == "code" and "code" in run.marks else run.kind
    marks = run.marks - {"bold"} if kind == "icon" else run.marks
    return (marks, kind, _freeze(run.attrs) if run.attrs else (), run.link or "")


def _own_texts(block: Block) -> list[str]:
    texts = []
    if block.text:
        texts.append(block.text)
    elif block.runs:
        texts.append("".join([run.text or str(run.attrs.get("src", "")).rpartition("/")[2] for run in block.runs]))
    if block.attrs:
        for name in _TEXT_ATTRIBUTES:
            value = block.attrs.get(name)
            if isinstance(value, str) and value:
                texts.append(value.rpartition("/")[2] if block.kind == "image" else value)
        texts += [plain_text(column.title) for column in block.attrs.get("columns", ())]
    return texts


def _freeze(value: Any) -> Hashable:
    if isinstance(value, Mapping):
        return tuple((str(key), _freeze(each)) for key, each in sorted(value.items()))
    if isinstance(value, (list, tuple)):
        return tuple(map(_freeze, value))
    return value if isinstance(value, Hashable) else str(value)


Status = Literal["same", "added", "removed", "changed", "left", "arrived", "restructured"]
CompareNodes = Callable[[Node, Node], "DraftEntry"]


@dataclass(slots=True, eq=False)
class DraftEntry:
    """A diff entry that may still change while two pages are compared. `to_entries` returns the final entries."""

    status: Status
    """Change of the block. A moved block has two drafts: `left` at its old position, `arrived` at its new one."""
    old: Node | None = None
    new: Node | None = None
    content_change: ContentChange = None
    settings: tuple[AttributeChange, ...] = ()
    children: list[DraftEntry] | None = None
    """The drafts of the child blocks. None if child blocks are not compared one by one, for example because the
    container was added or removed with all its content."""
    title: TextChange | None = None
    move_number: int = 0
    old_nodes: tuple[Node, ...] = ()
    """The old blocks of a `restructured` draft, whose `old` and `new` are None."""
    new_nodes: tuple[Node, ...] = ()
    note: str = ""
    rows: list[DraftEntry] = field(default_factory=list)

    def descendants(self) -> Iterator[DraftEntry]:
        """Yield the drafts of the blocks inside the block, at any depth."""
        for draft in (*(self.children or ()), *self.rows):
            yield draft
            yield from draft.descendants()


def to_entries(drafts: Iterable[DraftEntry]) -> tuple[DiffEntry, ...]:
    """Convert drafts to final diff entries. Adjacent unchanged blocks become one entry."""
    entries: list[DiffEntry] = []
    for is_same, group in groupby(drafts, lambda draft: draft.status == "same"):
        adjacent_drafts = list(group)
        entries += [_unchanged_blocks(adjacent_drafts)] if is_same else map(_entry, adjacent_drafts)
    return tuple(entries)


def _unchanged_blocks(drafts: Sequence[DraftEntry]) -> UnchangedBlocks:
    return UnchangedBlocks(
        tuple(draft.old.block for draft in drafts if draft.old), tuple(draft.new.block for draft in drafts if draft.new)
    )


def _entry(draft: DraftEntry) -> DiffEntry:
    old, new = draft.old, draft.new
    if draft.status == "restructured":
        before, after = (tuple(node.block for node in nodes) for nodes in (draft.old_nodes, draft.new_nodes))
        return RestructuredBlocks(before, after, draft.note, to_entries(draft.children or ()))
    if draft.status == "added" and new:
        return AddedBlock(new.block, to_entries(draft.children or ()))
    if draft.status == "removed" and old:
        return RemovedBlock(old.block, to_entries(draft.children or ()))
    assert old is not None
    assert new is not None
    content_change = draft.content_change
    if isinstance(content_change, TableChange):
        content_change = TableChange(content_change.columns, to_entries(draft.rows))
    elif draft.children is not None:
        content_change = ContainerChange(to_entries(draft.children), draft.title)
    if draft.status in ("left", "arrived"):
        return MovedBlock(
            old.block, new.block, draft.move_number, draft.status == "arrived", content_change, draft.settings
        )
    return ChangedBlock(old.block, new.block, draft.settings, content_change)


_MAX_NAME = 40
_SIGNATURE_PARAMETER = re.compile(
    r"token|sig|signature|expires|policy|key-pair-id|googleaccessid|awsaccesskeyid|x-(?:amz|goog|ms)-.+|s[eprtv]",
    re.IGNORECASE,
)
"""Query parameters of signed URLs that contain the signature or its expiry."""
_MAX_SIGNATURE = 16
_WHITESPACE_NAMES = {" ": "space", "\n": "line break", "\t": "tab", "\u00a0": "non-breaking space"}


def changed_attributes(old: Block, new: Block) -> tuple[AttributeChange, ...]:
    """Return a change for each attribute that differs. If the kinds differ, ignore `level` and `language`."""
    before, after = compared_attributes(old), compared_attributes(new)
    if old.kind != new.kind:
        for name in ("level", "language"):
            before.pop(name, None)
            after.pop(name, None)
    return value_changes(before, after)


def changed_metadata(old: Mapping[str, Any], new: Mapping[str, Any]) -> tuple[AttributeChange, ...]:
    """Return a change for each value that differs between two front matters."""
    sides = (
        {name: _value_text(value) if isinstance(value, bool) else value for name, value in _flatten(side).items()}
        for side in (old, new)
    )
    return value_changes(*sides)


def changed_run_attributes(words: Sequence[TextPart]) -> tuple[AttributeChange, ...]:
    """Return the changed links, formats, images, buttons and white space in `words`, a compared text."""
    changes: dict[AttributeChange, None] = {}
    removed_runs: list[Run] = []
    inserted_runs: list[Run] = []
    for word, run in zip(words, _with_whole_links(words), strict=True):
        if word.op == "delete":
            removed_runs.append(word.run)
        elif word.op == "insert":
            inserted_runs.append(run)
        else:
            changes |= dict.fromkeys(_replaced_run_changes(removed_runs, inserted_runs))
            removed_runs, inserted_runs = [], []
            if word.old is not None:
                changes |= dict.fromkeys(_style_changes(word, run))
    return tuple(changes | dict.fromkeys(_replaced_run_changes(removed_runs, inserted_runs)))


def _with_whole_links(words: Sequence[TextPart]) -> list[Run]:
    """Return the run of each word. In a link that is new for all its words, each run has the text of the whole link."""
    runs = [word.run for word in words]
    kept_indexes = [index for index, word in enumerate(words) if word.op != "delete"]
    for link, group in groupby(kept_indexes, lambda index: runs[index].link):
        indexes = list(group)
        old_runs = (words[index].old or runs[index] for index in indexes if words[index].op != "insert")
        if link and not any(old.link == link for old in old_runs):
            text = "".join(runs[index].text for index in indexes)
            for index in indexes:
                runs[index] = runs[index]._replace(text=text)
    return runs


def _style_changes(word: TextPart, run: Run) -> Iterator[AttributeChange]:
    """Yield the changes of a word other than its letters. `run` is `word.run` with the text of the whole link."""
    old, new = word.old or word.run, word.run
    if (old.link or None) != (new.link or None):
        yield _link_change(old, run)
    if (old.marks, old.kind) != (new.marks, new.kind):
        name = "space formatting" if new.text.isspace() else "formatting"
        yield AttributeChange(name, _style_name(old), _style_name(new))
    yield from _run_attribute_changes(old, new)
    if old.text != new.text:
        yield AttributeChange("white space", describe_whitespace(old.text), describe_whitespace(new.text))


def _replaced_run_changes(removed: Iterable[Run], inserted: Iterable[Run]) -> Iterator[AttributeChange]:
    for old, new in zip(*([run for run in side if run.link] for side in (removed, inserted)), strict=False):
        if old.link != new.link:
            yield _link_change(old, new)
    for kind in ("image", "button"):
        for old, new in zip(*([run for run in side if run.kind == kind] for side in (removed, inserted)), strict=False):
            yield from _run_attribute_changes(old, new)


def _link_change(old: Run, new: Run) -> AttributeChange:
    return _attribute_change(f"link “{shorten(new.text or old.text or new.kind)}”", old.link or None, new.link or None)


def _attribute_change(name: str, old: str | None, new: str | None) -> AttributeChange:
    """Return the change of an attribute. If only the signature of a URL changed, return the change of the signature."""
    before, after = (str(side).partition("?") for side in (old, new))
    if old is None or new is None or not (before[1] and after[1]) or before[0] != after[0]:
        return AttributeChange(name, old, new)
    old_parts, new_parts = before[2].split("&"), after[2].split("&")
    old_only, new_only = (
        [part for part in old_parts if part not in new_parts],
        [part for part in new_parts if part not in old_parts],
    )
    names = [each.partition("=")[0] for each in (*old_only, *new_only)]
    if not (old_only and new_only) or not all(map(_SIGNATURE_PARAMETER.fullmatch, names)) or "#" in f"{old}{new}":
        return AttributeChange(name, old, new)
    short_values = [", ".join(_short_signature(each) for each in side) for side in (old_only, new_only)]
    values = short_values if short_values[0] != short_values[1] else ["&".join(side) for side in (old_only, new_only)]
    return AttributeChange(f"{name}, only its signature", values[0], values[1])


def _short_signature(signature: str) -> str:
    name, _, value = signature.partition("=")
    return f"{name} {value if len(value) <= _MAX_SIGNATURE else value[: _MAX_SIGNATURE - 1] + '…'}"


def shorten(text: str) -> str:
    """Return a text as one line of at most 40 characters, cut off with `…`."""
    name = " ".join(text.split())
    return name if len(name) <= _MAX_NAME else name[: _MAX_NAME - 1] + "…"


def _style_name(run: Run) -> str:
    names = sorted(run.marks)
    return ", ".join(names if run.kind in ("text", *names) else [*names, run.kind]) or "plain"


def _run_attribute_changes(old: Run, new: Run) -> Iterator[AttributeChange]:
    for changed_value in value_changes(old.attrs, new.attrs):
        name = (
            changed_value.name.replace("src", "URL", 1)
            if changed_value.name.partition(",")[0] == "src"
            else changed_value.name
        )
        yield AttributeChange(
            name if new.kind == "text" else f"{new.kind} {name}", changed_value.old, changed_value.new
        )


def describe_whitespace(text: str) -> str:
    """Return the invisible characters of a text in words, such as `2 spaces, line break`. `none` if there are none."""
    counts = []
    for char, group in groupby(char for char in text if not char.isprintable() or char.isspace()):
        count = len(list(group))
        name = _WHITESPACE_NAMES.get(char, f"U+{ord(char):04X}")
        counts.append(name if count == 1 else f"{count} {name}s")
    return ", ".join(counts) or "none"


def value_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[AttributeChange, ...]:
    """Return a change for each name whose values in the two mappings differ."""
    names = [*before, *(name for name in after if name not in before)]
    changes = []
    for name in names:
        old, new = before.get(name), after.get(name)
        if old != new:
            # A missing boolean is shown as “no” only if the other version has “yes”.
            if isinstance(old or new, bool) and bool(old) is not bool(new):
                old, new = old or False, new or False
            texts = [_value_text(side) for side in (old, new)]
            if texts[0] == texts[1] and isinstance(old, float) and isinstance(new, float):
                texts = [f"{side:g} %" for side in (old, new)]
            changes.append(_attribute_change(name, *texts))
    return tuple(changes)


def _flatten(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            attributes |= _flatten(value, f"{prefix}{name}.")
        else:
            attributes[f"{prefix}{name}"] = value
    return attributes


def _value_text(value: Any) -> str | None:
    if value is None or value == {}:
        return None
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(filter(None, map(_value_text, value)))
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_value_text(each)}" for name, each in value.items())
    return f"{value:.0f} %" if isinstance(value, float) else str(value)  # Every float is a width in percent.


def insert_in_order(drafts: Sequence[DraftEntry], replacements: Sequence[DraftEntry]) -> list[DraftEntry]:
    """Return removed and added `drafts` in the order of both versions. Each of `replacements` takes the place of the
    drafts of the blocks that it pairs."""
    removed_drafts = [draft for draft in drafts if draft.old is not None]
    added_drafts = [draft for draft in drafts if draft.old is None]
    ordered_drafts: list[DraftEntry] = []
    for draft in replacements:
        for side, nodes in ((removed_drafts, draft.old_nodes), (added_drafts, draft.new_nodes)):
            node_ids = set(map(id, nodes))
            while side and id(side[0].old or side[0].new) not in node_ids:
                ordered_drafts.append(side.pop(0))
            del side[: len(nodes)]
        ordered_drafts.append(draft)
    return [*ordered_drafts, *removed_drafts, *added_drafts]
