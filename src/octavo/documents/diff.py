"""Compares two pages: pairs their blocks, then compares the words in each pair. Start reading at `diff`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Literal

from octavo.documents.blocks import FALLBACK_KINDS, Block, Document, kinds_with, plain_text
from octavo.documents.diff_alignment import Pair, align_without, moved_sections
from octavo.documents.diff_model import (
    AddedBlock,
    AttributeChange,
    CellChange,
    ChangedBlock,
    CodeChange,
    ColumnPair,
    ContainerChange,
    ContentChange,
    Diff,
    DiffEntry,
    MovedBlock,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
    UnchangedBlocks,
)
from octavo.documents.diff_moves import change_size, find_moves, join_replaced_sections, pair_replaced_blocks
from octavo.documents.diff_nodes import (
    CompareNodes,
    DraftEntry,
    Node,
    NodeFactory,
    changed_attributes,
    changed_metadata,
    changed_run_attributes,
    runs_key,
    to_entries,
    value_changes,
)
from octavo.documents.diff_operations import uses_old_tags, with_new_notation
from octavo.documents.diff_restructuring import join_restructured
from octavo.documents.diff_tables import cell_at, column_changes, column_pairs, is_same_column, join_rows, row_pairs
from octavo.documents.diff_text import diff_lines, diff_runs
from octavo.documents.sequences import diff_ranges

_CODE_KINDS = frozenset({"code", "math"})
_TABLE_KINDS = kinds_with("grid")
_TEXT_KINDS = frozenset({"paragraph", "heading", "tab"})
_EMPTY_CELL = Block("cell")


def diff(old: Document, new: Document) -> Diff:
    """Return the changes between two pages. If they look the same, `unseen_line_count` counts changed source lines."""
    nodes = NodeFactory()
    old_side, new_side = ([nodes.node(block) for block in document.blocks] for document in (old, new))
    drafts = _compare_siblings(old_side, new_side)
    find_moves(drafts, compare_nodes)
    entries = to_entries(pair_replaced_blocks(join_replaced_sections(drafts)))
    size = change_size(entries, old.blocks, new.blocks)
    result = Diff(entries, changed_metadata(old.metadata, new.metadata), size=size)
    if not result.is_empty or old.source == new.source:
        return result
    ranges = diff_ranges(old.source.split("\n"), new.source.split("\n"))
    return replace(
        result, unseen_line_count=sum(max(i2 - i1, j2 - j1) for equal, i1, i2, j1, j2 in ranges if not equal)
    )


def _compare_siblings(old: Sequence[Node], new: Sequence[Node]) -> list[DraftEntry]:
    moved_versions: dict[int, Node | None] = {}
    for pair in moved_sections(old, new):
        for node, other in (pair, pair[::-1]):
            if node is not None:
                moved_versions[id(node)] = other
    drafts = _drafts_of(align_without(old, new, moved_versions.keys()), moved_versions, compare_nodes)
    return join_restructured(drafts, compare_nodes)


def _drafts_of(pairs: Iterable[Pair], versions: Mapping[int, Node | None], compare: CompareNodes) -> list[DraftEntry]:
    """Return a draft for each pair. `versions` has the other version, if any, of each moved block, by block `id()`."""
    drafts = []
    for old, new in pairs:
        if old is not None and new is not None:
            drafts.append(_draft_of(old, new, compare))
        elif new is not None and (old_version := versions.get(id(new))) is not None:
            drafts.append(replace(_draft_of(old_version, new, compare), status="arrived"))
        elif old is not None and (new_version := versions.get(id(old))) is not None:
            drafts.append(DraftEntry("left", old, new_version))
        else:
            drafts.append(DraftEntry("added" if old is None else "removed", old, new))
    return drafts


def _draft_of(old: Node, new: Node, compare: CompareNodes) -> DraftEntry:
    return DraftEntry("same", old, new) if old.look_id == new.look_id else compare(old, new)


def compare_nodes(old: Node, new: Node) -> DraftEntry:
    """Compare two blocks, and return a draft of their diff entry. Its status is `same` if the blocks look the same."""
    if old.kind == new.kind == "api-method" and uses_old_tags(old) is not uses_old_tags(new):
        draft = DraftEntry(
            "restructured", old_nodes=(old,), new_nodes=(new,), note="same operation, written with other tags"
        )
        draft.children = [compare_nodes(with_new_notation(old), with_new_notation(new))]
        return draft
    draft = DraftEntry("changed", old, new, settings=changed_attributes(old.block, new.block))
    if new.kind in _TABLE_KINDS and old.kind in _TABLE_KINDS:
        columns = column_pairs(old.block, new.block)
        draft.content_change = TableChange(columns, ())
        draft.rows = _compare_rows(old, new, columns)
        draft.settings += column_changes(columns)
    elif new.kind in _CODE_KINDS and old.kind in _CODE_KINDS:
        draft.content_change = CodeChange(diff_lines(old.block.text, new.block.text))
    elif old.kind == new.kind and new.kind in FALLBACK_KINDS and not (old.children or new.children):
        draft.settings += _fallback_changes(old.block, new.block)
    elif old.children or new.children:
        if old.block.text != new.block.text:
            draft.settings += (AttributeChange("content", old.block.text or None, new.block.text or None),)
        if new.kind in FALLBACK_KINDS:
            draft.settings += _fallback_changes(old.block, new.block)
        elif old.block.runs or new.block.runs:
            draft.title = diff_runs(old.block.runs, new.block.runs)
        draft.children = _compare_siblings(old.children, new.children)
        if draft.settings and new.kind == "figure" and all(inner.status == "same" for inner in draft.children):
            draft.children = None  # Show the image, because its settings changed. Unchanged images are collapsed.
    elif "code" in (old.kind, new.kind):
        pass  # The code block is shown with all its lines below the paragraph, so its text is not compared.
    elif old.block.runs or new.block.runs:
        if runs_key(old.block.runs) != runs_key(new.block.runs):
            draft.content_change = diff_runs(old.block.runs, new.block.runs)
    elif old.block.text != new.block.text:
        draft.content_change = CodeChange(diff_lines(old.block.text, new.block.text))
    if old.kind == new.kind and _is_unchanged(draft):
        draft.status = "same"
    return draft


def _fallback_changes(old: Block, new: Block) -> tuple[AttributeChange, ...]:
    """Return the changes of the fallback text of a block, such as a page link. This text is shown only if the block
    cannot be shown. Leave out changes that the attributes of the block already show."""
    old_text, new_text = plain_text(old.runs), plain_text(new.runs)
    if old_text != new_text:
        return (AttributeChange("fallback text", old_text or None, new_text or None),)
    shown_changes = {(attribute.old, attribute.new) for attribute in changed_attributes(old, new)}
    changes = changed_run_attributes(diff_runs(old.runs, new.runs).words)
    if not changes and runs_key(old.runs) != runs_key(new.runs):
        changes = tuple(_changes_of_equal_text(old, new))
    # The link of a content reference, for example, is left out: `changed_attributes` already shows its change.
    return tuple(each for each in changes if (each.old, each.new) not in shown_changes)


def _changes_of_equal_text(old: Block, new: Block) -> Iterator[AttributeChange]:
    old_kinds, new_kinds = (", ".join(run.kind for run in side.runs) or None for side in (old, new))
    if old_kinds != new_kinds:
        yield AttributeChange("fallback", old_kinds, new_kinds)
    else:
        for old_run, new_run in zip(old.runs, new.runs, strict=True):
            yield from value_changes(old_run.attrs, new_run.attrs)


def _is_unchanged(draft: DraftEntry) -> bool:
    if draft.settings or (draft.title and draft.title.kinds):
        return False
    match draft.content_change:
        case TextChange(kinds=change_kinds):
            return not change_kinds
        case CodeChange(lines=lines):
            return all(line.op == "equal" for line in lines)
        case RowChange(cells=cells):
            return all(cell.words is None and not cell.settings for cell in cells)
        case TableChange(columns=columns):
            return all(map(is_same_column, columns)) and all(row.status == "same" for row in draft.rows)
    if draft.children is not None:
        return all(each.status == "same" for each in draft.children)
    assert draft.old is not None
    assert draft.new is not None
    # Only texts are compared completely. Other blocks may differ in other parts, so they count as changed.
    old, new = draft.old.block, draft.new.block
    is_text = old.kind in _TEXT_KINDS and old.kind == new.kind
    return is_text and runs_key(old.runs) == runs_key(new.runs) and old.text == new.text


def _compare_rows(old: Node, new: Node, columns: tuple[ColumnPair, ...]) -> list[DraftEntry]:
    pairs, moved_rows = row_pairs(old.children, new.children, columns)
    return join_rows(_drafts_of(pairs, moved_rows, partial(_compare_row, columns)), columns)


def _compare_row(columns: tuple[ColumnPair, ...], old: Node, new: Node) -> DraftEntry:
    draft = DraftEntry("changed", old, new, RowChange(tuple(_compare_cell(old, new, pair) for pair in columns)))
    draft.settings = changed_attributes(old.block, new.block)
    if _is_unchanged(draft):
        draft.status = "same"
    return draft


def _compare_cell(old: Node, new: Node, pair: ColumnPair) -> CellChange:
    old_node, new_node = cell_at(old, pair.old_index), cell_at(new, pair.new_index)
    old_cell, new_cell = old_node.block if old_node else None, new_node.block if new_node else None
    if (old_node is None and new_node is None) or (old_node and new_node and old_node.look_id == new_node.look_id):
        return CellChange(old_cell, new_cell)
    cell_settings = changed_attributes(old_cell or _EMPTY_CELL, new_cell or _EMPTY_CELL)
    if pair.old and pair.new and pair.old.type != pair.new.type:
        # The value differs because the type of the column changed, which the column already shows.
        cell_settings = tuple(each for each in cell_settings if each.name != "value")
    text_change = diff_runs(old_cell.runs if old_cell else (), new_cell.runs if new_cell else ())
    return CellChange(old_cell, new_cell, text_change if text_change.kinds else None, cell_settings)


Word = tuple[Literal["same", "ins", "del"], str]
"""A piece of text with its change: `ins` if only the new version has it, `del` if only the old version has it."""
BlockStatus = Literal["same", "added", "edited", "deleted", "moved"]

_SIGNS: dict[str, Literal["same", "ins", "del"]] = {"insert": "ins", "delete": "del"}


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A block of a diff with its status. `old` or `new` is None if the block is in one version of the page only."""

    status: BlockStatus
    old: Block | None
    new: Block | None
    words: tuple[Word, ...] = ()
    """The text of an edited block in pieces, each with its change. Empty if its words were not compared."""

    @property
    def block(self) -> Block:
        """The new version of the block, or the old version if the block was deleted."""
        block = self.new or self.old
        assert block is not None, "a change has a block"
        return block


def block_changes(diff: Diff) -> Iterator[BlockChange]:
    """Yield each block with its change, in reading order. Leave out containers whose only change is inside them."""
    yield from _changes(diff.entries)


def _changes(entries: Iterable[DiffEntry]) -> Iterator[BlockChange]:
    for entry in entries:
        match entry:
            case UnchangedBlocks(old, new):
                yield from (BlockChange("same", *pair) for pair in zip(old, new, strict=False))
            case AddedBlock(block, inner):
                yield BlockChange("added", None, block)
                yield from _changes(inner)
            case RemovedBlock(block, inner):
                yield BlockChange("deleted", block, None)
                yield from _changes(inner)
            case ChangedBlock():
                yield from _edited_block(entry)
            case MovedBlock(old_block, new_block, is_arrival=True, content_change=content_change):
                yield BlockChange("moved", old_block, new_block, _joined_words(content_change))
            case RestructuredBlocks(old, new, entries=inner):
                if all(isinstance(each, UnchangedBlocks) for each in inner):
                    yield from (BlockChange("deleted", block, None) for block in old)
                    yield from (BlockChange("added", None, block) for block in new)
                else:
                    listed_keys = {each.key for each in _old_blocks(inner)}
                    removed_containers = (block for block in old if block.children and block.key not in listed_keys)
                    yield from (BlockChange("deleted", block, None) for block in removed_containers)
                    yield from _changes(inner)


def _old_blocks(entries: Iterable[DiffEntry]) -> Iterator[Block]:
    for entry in entries:
        match entry:
            case UnchangedBlocks(old) | RestructuredBlocks(old):
                yield from old
            case RemovedBlock(block):
                yield block
            case ChangedBlock(old_block) | MovedBlock(old_block):
                yield old_block
            case AddedBlock(entries=inner):
                yield from _old_blocks(inner)


def _edited_block(entry: ChangedBlock) -> Iterator[BlockChange]:
    inner: tuple[DiffEntry, ...] = ()
    is_edited = bool(entry.settings) or entry.old.kind != entry.new.kind
    match entry.content_change:
        case ContainerChange(inner, title):
            is_edited = is_edited or bool(title and title.kinds)
        case TableChange(columns, inner):
            is_edited = is_edited or not all(map(is_same_column, columns))
    if not inner or is_edited:
        yield BlockChange("edited", entry.old, entry.new, _joined_words(entry.content_change))
    yield from _changes(inner)


def _joined_words(content_change: ContentChange) -> tuple[Word, ...]:
    pieces = groupby(_words(content_change), key=lambda word: word[0])
    return tuple((sign, "".join(text for _, text in words)) for sign, words in pieces)


def _words(content_change: ContentChange) -> Iterator[Word]:
    """Yield the text of a changed block, or of the title of a changed container, in pieces with their change."""
    match content_change:
        case TextChange(words):
            yield from map(_word, words)
        case CodeChange(lines):
            for line in lines:
                if line.omitted_count:
                    continue
                if line.op == "change":
                    yield from map(_word, line.words)
                    yield "same", "\n"
                else:
                    yield _SIGNS.get(line.op, "same"), f"{line.old if line.op == 'delete' else line.new}\n"
        case RowChange(cells):
            for number, cell in enumerate(cells):
                if number:
                    yield "same", " | "
                if cell.words is not None:
                    yield from map(_word, cell.words.words)
                elif (block := cell.new or cell.old) is not None:
                    yield "same", block.plain()
        case ContainerChange(title=TextChange(words)):
            yield from map(_word, words)


def _word(part: TextPart) -> Word:
    return _SIGNS.get(part.op, "same"), part.run.text


def new_keys(diff: Diff) -> dict[str, str]:
    """Return the new key of each block that both versions have, by the old key of the block."""
    return dict(_pairs(diff.entries))


def _pairs(entries: Iterable[DiffEntry]) -> Iterator[tuple[str, str]]:
    for entry in entries:
        match entry:
            case UnchangedBlocks(old, new):
                for pair in zip(old, new, strict=False):
                    yield from _equal_pairs(*pair)
            case AddedBlock(entries=inner) | RemovedBlock(entries=inner) | RestructuredBlocks(entries=inner):
                yield from _pairs(inner)
            case ChangedBlock(old_block, new_block, content_change=content_change) | MovedBlock(
                old_block, new_block, content_change=content_change
            ):
                yield from _block_pairs(old_block, new_block, content_change)


def _block_pairs(old: Block, new: Block, content_change: ContentChange) -> Iterator[tuple[str, str]]:
    yield old.key, new.key
    match content_change:
        case None:
            yield from _equal_pairs(old, new)
        case ContainerChange(entries):
            yield from _pairs(entries)
        case TableChange(rows=rows):
            yield from _pairs(rows)
        case RowChange(cells):
            yield from ((cell.old.key, cell.new.key) for cell in cells if cell.old is not None and cell.new is not None)


def _equal_pairs(old: Block, new: Block) -> Iterator[tuple[str, str]]:
    """Yield the keys of `old` and `new`, and of each pair of descendants. Empty if the kinds of any pair differ."""
    pairs = list(zip(old.walk(), new.walk(), strict=False))
    if all(before.kind == after.kind for before, after in pairs):
        yield from ((before.key, after.key) for before, after in pairs)
