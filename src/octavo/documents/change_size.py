"""How much a page changed: the words that came and went. A Chinese or Japanese character is a word."""

from __future__ import annotations

import re
from collections.abc import Iterable

from octavo.documents.blocks import Block, Run
from octavo.documents.changes import (
    Added,
    Cells,
    Changed,
    Entry,
    Inside,
    Lines,
    Moved,
    Parts,
    Removed,
    Restructured,
    Same,
    Size,
    Table,
    Word,
    Words,
)
from octavo.documents.word_diff import AT_ONCE, WIDE, slices

_WORD = re.compile(rf"[{WIDE}]|[^\W_{WIDE}]+(?:['’][^\W_{WIDE}]+)*")
_WHOLE = frozenset({"image", "icon", "math", "emoji"})
_SHOWN = frozenset({"image", "file", "embed", "content-ref", "openapi", "divider", "include", "integration", "unknown"})
"""What counts as a word besides those it has."""


def size_of(entries: Iterable[Entry], old: Iterable[Block]) -> Size:
    """What came and went in `entries`, which lead from the blocks `old` to others."""
    added, removed = _of_entries(entries)
    before = sum(map(_count, old))
    return Size(added, removed, before, before - removed + added)


def _of_entries(entries: Iterable[Entry]) -> tuple[int, int]:
    added = removed = 0
    for entry in entries:
        more, less = _of_entry(entry)
        added, removed = added + more, removed + less
    return added, removed


def _of_entry(entry: Entry) -> tuple[int, int]:
    match entry:
        case Added(block=block, entries=within):
            added, removed = _of_entries(within)
            return (added + _own(block), removed) if within else (_count(block), 0)
        case Removed(block=block, entries=within):
            added, removed = _of_entries(within)
            return (added, removed + _own(block)) if within else (0, _count(block))
        case Moved(arrives=True, old=old, new=new, parts=parts) if parts is not None:
            # The words of a container that moved are compared as one text, without what else is in it.
            added, removed = _of_parts(parts)
            kept = min(_count(old) - removed, _count(new) - added)
            return _count(new) - kept, _count(old) - kept
        case Changed(parts=None, old=old, new=new):
            return (0, 0) if _same_words(old, new) else (_count(new), _count(old))
        case Changed(parts=parts, old=old, new=new):
            added, removed = _of_parts(parts)
            if isinstance(parts, Inside) and parts.title is None:
                # A heading whose words are no words of the text any more, and the fallback of an operation.
                removed += 0 if old.children else _own(old) - (old.kind in _SHOWN)
                added += 0 if new.children else _own(new) - (new.kind in _SHOWN)
            if old.kind == new.kind:
                return added, removed
            return added + (new.kind in _SHOWN), removed + (old.kind in _SHOWN)
        case Restructured(old=before, new=after, entries=within):
            # What the containers that went say is in none of the entries.
            added, removed = _of_entries(within)
            old_words, new_words = _sides(within)
            # What one side says with its tags, and the other in words, came or went.
            come, gone = sum(map(_count, after)) - new_words, sum(map(_count, before)) - old_words
            return added + max(0, come) + max(0, -gone), removed + max(0, gone) + max(0, -come)
    return 0, 0


def _sides(entries: Iterable[Entry]) -> tuple[int, int]:
    """The words of the old and of the new blocks of entries."""
    old = new = 0
    for entry in entries:
        match entry:
            case Same() | Restructured():
                old += sum(map(_count, entry.old))
                new += sum(map(_count, entry.new))
            case Added(block=block, entries=within):
                before, after = _sides(within)
                old += before
                new += after + _own(block) if within else _count(block)
            case Removed(block=block, entries=within):
                before, after = _sides(within)
                old += before + _own(block) if within else _count(block)
                new += after
            case Changed(old=was, new=now, parts=Inside(entries=within)) if not was.children:
                before, after = _sides(within)
                old += before + _count(was)
                new += after + _own(now)
            case Changed():
                old += _count(entry.old)
                new += _count(entry.new)
            case Moved(arrives=True):
                new += _count(entry.new)
            case Moved():
                old += _count(entry.old)
    return old, new


def _of_parts(parts: Parts) -> tuple[int, int]:
    match parts:
        case Words(words=found):
            return _of_words(found)
        case Lines(lines=lines):
            added = removed = 0
            for line in lines:
                if line.op == "change":
                    more, less = _of_words(line.words)
                else:
                    more = _in_text(line.new) if line.op == "insert" else 0
                    less = _in_text(line.old) if line.op == "delete" else 0
                added, removed = added + more, removed + less
            return added, removed
        case Cells(cells=cells):
            sizes = [_of_parts(cell.words) for cell in cells]
            return sum(more for more, _ in sizes), sum(less for _, less in sizes)
        case Table(rows=rows):
            return _of_entries(rows)
        case Inside(entries=within, title=title):
            more, less = _of_parts(title)
            added, removed = _of_entries(within)
            return added + more, removed + less
    return 0, 0


def _of_words(words: Iterable[Word]) -> tuple[int, int]:
    added = removed = 0
    for word in words:
        if word.op == "insert":
            added += _in_run(word.run)
        elif word.op == "delete":
            removed += _in_run(word.run)
    return added, removed


def _same_words(old: Block, new: Block) -> bool:
    if old.kind in ("image", "figure"):
        return old.attrs == new.attrs and old.children == new.children
    return old.plain() == new.plain()


def _count(block: Block) -> int:
    """The words of a block; something else on show is one."""
    return _own(block) + sum(map(_count, block.children)) if block.children else _own(block)


def _own(block: Block) -> int:
    """The words of a block without those of what is in it."""
    return _in_text(block.text) + sum(map(_in_run, block.runs)) + (block.kind in _SHOWN)


def _in_run(run: Run) -> int:
    return 1 if run.kind in _WHOLE else _in_text(run.text)


def _in_text(text: str) -> int:
    if len(text) <= AT_ONCE:
        return len(_WORD.findall(text))
    return sum(len(_WORD.findall(part)) for part in slices(text))
