"""Counts the added and removed words of a comparison, and joins the changes of replaced sections. A Chinese or Japanese
character counts as a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from octavo.documents.blocks import Block, Run
from octavo.documents.diff_model import (
    AddedBlock,
    ChangedBlock,
    ChangeSize,
    CodeChange,
    ContainerChange,
    Entry,
    MovedBlock,
    Parts,
    RemovedBlock,
    RestructuredBlocks,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
    UnchangedBlocks,
)
from octavo.documents.diff_nodes import DiffStep, changed_attributes, to_entries
from octavo.documents.diff_text import SLICE_LENGTH, WIDE_LETTERS, slices

_WORD = re.compile(rf"[{WIDE_LETTERS}]|[^\W_{WIDE_LETTERS}]+(?:['’][^\W_{WIDE_LETTERS}]+)*")
_COUNTED_RUNS = frozenset({"image", "icon", "math", "emoji"})
_COUNTED_BLOCKS = frozenset(
    {"image", "file", "embed", "content-ref", "openapi", "divider", "include", "integration", "unknown"}
)
"""Kinds of blocks that count as one word in addition to their text."""


def change_size(entries: Iterable[Entry], old: Iterable[Block]) -> ChangeSize:
    """Count the words that `entries` add and remove. `old` are the blocks before the change."""
    added, removed = _entries_size(entries)
    before = sum(map(_count_words, old))
    return ChangeSize(added, removed, before, before - removed + added)


def _entries_size(entries: Iterable[Entry]) -> tuple[int, int]:
    added = removed = 0
    for entry in entries:
        added_here, removed_here = _entry_size(entry)
        added, removed = added + added_here, removed + removed_here
    return added, removed


def _entry_size(entry: Entry) -> tuple[int, int]:
    match entry:
        case AddedBlock(block=block, entries=inner_entries):
            added, removed = _entries_size(inner_entries)
            return (added + _count_own(block), removed) if inner_entries else (_count_words(block), 0)
        case RemovedBlock(block=block, entries=inner_entries):
            added, removed = _entries_size(inner_entries)
            return (added, removed + _count_own(block)) if inner_entries else (0, _count_words(block))
        case MovedBlock(is_arrival=True, old=old, new=new, parts=parts) if parts is not None:
            # Compare the text of the container as a whole, so that children which moved by themselves are not counted
            # twice.
            added, removed = _parts_size(parts)
            kept = min(_count_words(old) - removed, _count_words(new) - added)
            return _count_words(new) - kept, _count_words(old) - kept
        case ChangedBlock(parts=None, old=old, new=new):
            return (0, 0) if _has_same_text(old, new) else (_count_words(new), _count_words(old))
        case ChangedBlock(parts=parts, old=old, new=new):
            added, removed = _parts_size(parts)
            if isinstance(parts, ContainerChange) and parts.title is None:
                # Two kinds of text have no entry, so they are counted here: a heading whose text became a title, and
                # the fallback text of an operation.
                removed += 0 if old.children else _count_own(old) - (old.kind in _COUNTED_BLOCKS)
                added += 0 if new.children else _count_own(new) - (new.kind in _COUNTED_BLOCKS)
            if old.kind == new.kind:
                return added, removed
            return added + (new.kind in _COUNTED_BLOCKS), removed + (old.kind in _COUNTED_BLOCKS)
        case RestructuredBlocks(old=before, new=after, entries=inner_entries):
            # No entry covers the own text of containers that were removed or added.
            added, removed = _entries_size(inner_entries)
            old_words, new_words = _count_sides(inner_entries)
            # Text that is an attribute on one side and words on the other counts as added or removed.
            extra_new, extra_old = sum(map(_count_words, after)) - new_words, sum(map(_count_words, before)) - old_words
            return added + max(0, extra_new) + max(0, -extra_old), removed + max(0, extra_old) + max(0, -extra_new)
    return 0, 0


def _count_sides(entries: Iterable[Entry]) -> tuple[int, int]:
    old = new = 0
    for entry in entries:
        match entry:
            case UnchangedBlocks() | RestructuredBlocks():
                old += sum(map(_count_words, entry.old))
                new += sum(map(_count_words, entry.new))
            case AddedBlock(block=block, entries=inner_entries):
                before, after = _count_sides(inner_entries)
                old += before
                new += after + _count_own(block) if inner_entries else _count_words(block)
            case RemovedBlock(block=block, entries=inner_entries):
                before, after = _count_sides(inner_entries)
                old += before + _count_own(block) if inner_entries else _count_words(block)
                new += after
            case ChangedBlock(old=old_block, new=new_block, parts=ContainerChange(entries=inner_entries)) if (
                not old_block.children
            ):
                before, after = _count_sides(inner_entries)
                old += before + _count_words(old_block)
                new += after + _count_own(new_block)
            case ChangedBlock():
                old += _count_words(entry.old)
                new += _count_words(entry.new)
            case MovedBlock(is_arrival=True):
                new += _count_words(entry.new)
            case MovedBlock():
                old += _count_words(entry.old)
    return old, new


def _parts_size(parts: Parts) -> tuple[int, int]:
    match parts:
        case TextChange(words=found):
            return _text_size(found)
        case CodeChange(lines=lines):
            added = removed = 0
            for line in lines:
                if line.op == "change":
                    added_here, removed_here = _text_size(line.words)
                else:
                    added_here = _count_in_text(line.new) if line.op == "insert" else 0
                    removed_here = _count_in_text(line.old) if line.op == "delete" else 0
                added, removed = added + added_here, removed + removed_here
            return added, removed
        case RowChange(cells=cells):
            sizes = [_parts_size(cell.words) for cell in cells]
            return sum(added_here for added_here, _ in sizes), sum(removed_here for _, removed_here in sizes)
        case TableChange(rows=rows):
            return _entries_size(rows)
        case ContainerChange(entries=inner_entries, title=title):
            added_here, removed_here = _parts_size(title)
            added, removed = _entries_size(inner_entries)
            return added + added_here, removed + removed_here
    return 0, 0


def _text_size(words: Iterable[TextPart]) -> tuple[int, int]:
    added = removed = 0
    for word in words:
        if word.op == "insert":
            added += _count_words_in_run(word.run)
        elif word.op == "delete":
            removed += _count_words_in_run(word.run)
    return added, removed


def _has_same_text(old: Block, new: Block) -> bool:
    if old.kind in ("image", "figure"):
        return old.attrs == new.attrs and old.children == new.children
    return old.plain() == new.plain()


def _count_words(block: Block) -> int:
    """Return the number of words of a block and its descendants. An image or other visible content counts as one
    word."""
    return _count_own(block) + sum(map(_count_words, block.children)) if block.children else _count_own(block)


def _count_own(block: Block) -> int:
    return _count_in_text(block.text) + sum(map(_count_words_in_run, block.runs)) + (block.kind in _COUNTED_BLOCKS)


def _count_words_in_run(run: Run) -> int:
    return 1 if run.kind in _COUNTED_RUNS else _count_in_text(run.text)


def _count_in_text(text: str) -> int:
    if len(text) <= SLICE_LENGTH:
        return len(_WORD.findall(text))
    return sum(len(_WORD.findall(part)) for part in slices(text))


_MIN_EDITS = 4
"""Minimum number of edits of a section that is shown as replaced. Fewer edits are readable one by one."""
_MIN_RENAMED_SHARE = 0.3
"""Changed share of a heading, from 0 to 1, above which its section may be about another topic."""


def join_replaced_sections(steps: Sequence[DiffStep]) -> list[DiffStep]:
    """Join all steps of a replaced section into one step."""
    found: list[DiffStep] = []
    run: list[DiffStep] = []
    for step in steps:
        is_edit = _is_whole_edit(step)
        if not is_edit or _is_heading(step):
            found += _join_replaced(run)
            run = []
        if is_edit and (not _is_heading(step) or _is_renamed(step)):
            run.append(step)
        else:
            found.append(step)
    return found + _join_replaced(run)


def _is_whole_edit(step: DiffStep) -> bool:
    """Return whether a step changes the words of a block, or adds or removes a whole block."""
    if step.status == "changed":
        return not isinstance(step.parts, TextChange) or "words" in step.parts.kinds
    return step.status in ("added", "removed") and step.inside is None


def _is_heading(step: DiffStep) -> bool:
    return all(node is not None and node.kind == "heading" for node in (step.old, step.new))


def _is_renamed(step: DiffStep) -> bool:
    return isinstance(step.parts, TextChange) and step.parts.changed > _MIN_RENAMED_SHARE


def _join_replaced(run: list[DiffStep]) -> list[DiffStep]:
    old = [step.old for step in run if step.old is not None]
    new = [step.new for step in run if step.new is not None]
    # If the kinds are equal and in the same order, the text may be a translation. Then each block is compared alone.
    if (
        len(run) < _MIN_EDITS
        or min(len(old), len(new)) < 2
        or [each.kind for each in old] == [each.kind for each in new]
    ):
        return run
    size = change_size(to_entries(run), [node.block for node in old])
    if not size.is_rewritten:
        return run
    step = DiffStep("restructured", old_nodes=tuple(old), new_nodes=tuple(new))
    step.note = f"section replaced: {size.removed} of {size.before} words removed, {size.added} added"
    step.inside = [*(DiffStep("removed", old=node) for node in old), *(DiffStep("added", new=node) for node in new)]
    return [step]


_TEXT_KINDS = frozenset({"paragraph", "heading", "code"})


def pair_replaced_blocks(steps: Sequence[DiffStep]) -> list[DiffStep]:
    """Turn removed blocks followed by added blocks of the same kinds into changed blocks."""
    found: list[DiffStep] = []
    run: list[DiffStep] = []
    for step in steps:
        if step.status in ("removed", "added") and step.inside is None:
            run.append(step)
            continue
        found += _pair_in_order(run)
        run = []
        if step.inside is not None:
            step.inside = pair_replaced_blocks(step.inside)
        found.append(step)
    return found + _pair_in_order(run)


def _pair_in_order(run: list[DiffStep]) -> list[DiffStep]:
    old = [step.old for step in run if step.old]
    new = [step.new for step in run if step.new]
    kinds = [node.kind for node in old]
    if kinds != [node.kind for node in new] or not _TEXT_KINDS.issuperset(kinds):
        return run
    return [
        DiffStep("changed", ours, theirs, settings=changed_attributes(ours.block, theirs.block))
        for ours, theirs in zip(old, new, strict=True)
    ]
