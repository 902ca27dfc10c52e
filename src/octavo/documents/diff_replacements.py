"""How much a page changed: the words that came and went. A Chinese or Japanese character is a word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from octavo.documents.blocks import Block, Run
from octavo.documents.diff_attributes import changed_attributes
from octavo.documents.diff_model import (
    Added,
    Changed,
    ChangeSize,
    CodeChange,
    ContainerChange,
    Entry,
    Moved,
    Parts,
    Removed,
    Restructured,
    RowChange,
    TableChange,
    TextChange,
    TextPart,
    Unchanged,
)
from octavo.documents.diff_nodes import DiffStep, entries
from octavo.documents.diff_text import SLICE_LENGTH, WIDE_LETTERS, slices

_WORD = re.compile(rf"[{WIDE_LETTERS}]|[^\W_{WIDE_LETTERS}]+(?:['’][^\W_{WIDE_LETTERS}]+)*")
_COUNTED_RUNS = frozenset({"image", "icon", "math", "emoji"})
_COUNTED_BLOCKS = frozenset(
    {"image", "file", "embed", "content-ref", "openapi", "divider", "include", "integration", "unknown"}
)
"""What counts as a word besides those it has."""


def size_of(entries: Iterable[Entry], old: Iterable[Block]) -> ChangeSize:
    """What came and went in `entries`, which lead from the blocks `old` to others."""
    added, removed = _entries_size(entries)
    before = sum(map(_count_words, old))
    return ChangeSize(added, removed, before, before - removed + added)


def _entries_size(entries: Iterable[Entry]) -> tuple[int, int]:
    added = removed = 0
    for entry in entries:
        more, less = _entry_size(entry)
        added, removed = added + more, removed + less
    return added, removed


def _entry_size(entry: Entry) -> tuple[int, int]:
    match entry:
        case Added(block=block, entries=within):
            added, removed = _entries_size(within)
            return (added + _count_own(block), removed) if within else (_count_words(block), 0)
        case Removed(block=block, entries=within):
            added, removed = _entries_size(within)
            return (added, removed + _count_own(block)) if within else (0, _count_words(block))
        case Moved(arrives=True, old=old, new=new, parts=parts) if parts is not None:
            # The words of a container that moved are compared as one text, without what else is in it.
            added, removed = _parts_size(parts)
            kept = min(_count_words(old) - removed, _count_words(new) - added)
            return _count_words(new) - kept, _count_words(old) - kept
        case Changed(parts=None, old=old, new=new):
            return (0, 0) if _has_same_text(old, new) else (_count_words(new), _count_words(old))
        case Changed(parts=parts, old=old, new=new):
            added, removed = _parts_size(parts)
            if isinstance(parts, ContainerChange) and parts.title is None:
                # A heading whose words are no words of the text any more, and the fallback of an operation.
                removed += 0 if old.children else _count_own(old) - (old.kind in _COUNTED_BLOCKS)
                added += 0 if new.children else _count_own(new) - (new.kind in _COUNTED_BLOCKS)
            if old.kind == new.kind:
                return added, removed
            return added + (new.kind in _COUNTED_BLOCKS), removed + (old.kind in _COUNTED_BLOCKS)
        case Restructured(old=before, new=after, entries=within):
            # What the containers that went say is in none of the entries.
            added, removed = _entries_size(within)
            old_words, new_words = _count_sides(within)
            # What one side says with its tags, and the other in words, came or went.
            come, gone = sum(map(_count_words, after)) - new_words, sum(map(_count_words, before)) - old_words
            return added + max(0, come) + max(0, -gone), removed + max(0, gone) + max(0, -come)
    return 0, 0


def _count_sides(entries: Iterable[Entry]) -> tuple[int, int]:
    """The words of the old and of the new blocks of entries."""
    old = new = 0
    for entry in entries:
        match entry:
            case Unchanged() | Restructured():
                old += sum(map(_count_words, entry.old))
                new += sum(map(_count_words, entry.new))
            case Added(block=block, entries=within):
                before, after = _count_sides(within)
                old += before
                new += after + _count_own(block) if within else _count_words(block)
            case Removed(block=block, entries=within):
                before, after = _count_sides(within)
                old += before + _count_own(block) if within else _count_words(block)
                new += after
            case Changed(old=was, new=now, parts=ContainerChange(entries=within)) if not was.children:
                before, after = _count_sides(within)
                old += before + _count_words(was)
                new += after + _count_own(now)
            case Changed():
                old += _count_words(entry.old)
                new += _count_words(entry.new)
            case Moved(arrives=True):
                new += _count_words(entry.new)
            case Moved():
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
                    more, less = _text_size(line.words)
                else:
                    more = _count_in_text(line.new) if line.op == "insert" else 0
                    less = _count_in_text(line.old) if line.op == "delete" else 0
                added, removed = added + more, removed + less
            return added, removed
        case RowChange(cells=cells):
            sizes = [_parts_size(cell.words) for cell in cells]
            return sum(more for more, _ in sizes), sum(less for _, less in sizes)
        case TableChange(rows=rows):
            return _entries_size(rows)
        case ContainerChange(entries=within, title=title):
            more, less = _parts_size(title)
            added, removed = _entries_size(within)
            return added + more, removed + less
    return 0, 0


def _text_size(words: Iterable[TextPart]) -> tuple[int, int]:
    added = removed = 0
    for word in words:
        if word.op == "insert":
            added += _count_in_run(word.run)
        elif word.op == "delete":
            removed += _count_in_run(word.run)
    return added, removed


def _has_same_text(old: Block, new: Block) -> bool:
    if old.kind in ("image", "figure"):
        return old.attrs == new.attrs and old.children == new.children
    return old.plain() == new.plain()


def _count_words(block: Block) -> int:
    """The words of a block; something else on show is one."""
    return _count_own(block) + sum(map(_count_words, block.children)) if block.children else _count_own(block)


def _count_own(block: Block) -> int:
    """The words of a block without those of what is in it."""
    return _count_in_text(block.text) + sum(map(_count_in_run, block.runs)) + (block.kind in _COUNTED_BLOCKS)


def _count_in_run(run: Run) -> int:
    return 1 if run.kind in _COUNTED_RUNS else _count_in_text(run.text)


def _count_in_text(text: str) -> int:
    if len(text) <= SLICE_LENGTH:
        return len(_WORD.findall(text))
    return sum(len(_WORD.findall(part)) for part in slices(text))


_MIN_EDITS = 4
"""Edits: of fewer one sees at a glance what they are."""
_RENAMED = 0.3
"""The share of a heading that changed from which on it may name another topic."""


def join_replaced_sections(steps: Sequence[DiffStep]) -> list[DiffStep]:
    """The steps. Those of a section of whose words next to none stayed are told as one."""
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
    """Whether words went or came, and nothing stayed around them."""
    if step.fate == "changed":
        return not isinstance(step.parts, TextChange) or "words" in step.parts.sorts
    return step.fate in ("added", "removed") and step.inside is None


def _is_heading(step: DiffStep) -> bool:
    """Whether a heading of either side is still one."""
    return all(node is not None and node.kind == "heading" for node in (step.old, step.new))


def _is_renamed(step: DiffStep) -> bool:
    return isinstance(step.parts, TextChange) and step.parts.changed > _RENAMED


def _join_replaced(run: list[DiffStep]) -> list[DiffStep]:
    old = [step.old for step in run if step.old is not None]
    new = [step.new for step in run if step.new is not None]
    # As many of the same kinds are a translation: each is told with the one in its place.
    if (
        len(run) < _MIN_EDITS
        or min(len(old), len(new)) < 2
        or [each.kind for each in old] == [each.kind for each in new]
    ):
        return run
    size = size_of(entries(run), [node.block for node in old])
    if not size.is_rewritten:
        return run
    step = DiffStep("restructured", old_nodes=tuple(old), new_nodes=tuple(new))
    step.note = f"section replaced: {size.removed} of {size.before} words removed, {size.added} added"
    step.inside = [*(DiffStep("removed", old=node) for node in old), *(DiffStep("added", new=node) for node in new)]
    return [step]


_TEXT_KINDS = frozenset({"paragraph", "heading", "code"})


def pair_replaced_blocks(steps: Sequence[DiffStep]) -> list[DiffStep]:
    """The steps. Where as many blocks came as went, of the same kinds, each is told with the one in its place."""
    found: list[DiffStep] = []
    run: list[DiffStep] = []
    for step in steps:
        if step.fate in ("removed", "added") and step.inside is None:
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
