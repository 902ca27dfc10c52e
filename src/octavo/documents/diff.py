"""What changed from one page to another: blocks are matched with their likes, and words within them compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from octavo.documents.alignment import align_others
from octavo.documents.blocks import Block, Document, kinds_with, words
from octavo.documents.change_size import size_of
from octavo.documents.changes import Cell, Cells, ColumnPair, Diff, Lines, Setting, Table, Words
from octavo.documents.exchanges import exchanged
from octavo.documents.joined_rows import joined_rows
from octavo.documents.line_diff import compare_lines
from octavo.documents.moves import find_moves
from octavo.documents.nodes import Node, Register, runs_key
from octavo.documents.operations_as_text import in_newer_tags, in_older_tags
from octavo.documents.replacing import replaced
from octavo.documents.restructuring import restructured
from octavo.documents.section_order import reordered
from octavo.documents.sequences import stretches
from octavo.documents.setting_diff import changed_metadata, changed_runs, changed_settings, differences
from octavo.documents.steps import Fate, Step, entries
from octavo.documents.table_diff import column_pairs, column_settings, row_pairs, same_title
from octavo.documents.word_diff import compare

_EXACT = frozenset({"code", "math"})
_GRIDS = kinds_with("grid")
_FALLBACKS = frozenset({"content-ref", "openapi"})
"""Blocks whose words are not shown where they can be."""
_WORDED = frozenset({"paragraph", "heading", "tab"})
_NO_CELL = Block("cell")


def diff(old: Document, new: Document) -> Diff:
    """What changed from `old` to `new`."""
    register = Register()
    before, after = ([register.node(block) for block in document.blocks] for document in (old, new))
    steps = _compared(before, after)
    find_moves(steps, change)
    changed = entries(exchanged(replaced(steps)))
    size = size_of(changed, old.blocks)
    found = Diff(changed, changed_metadata(old.metadata, new.metadata), size=size)
    if not found.is_empty or old.source == new.source:
        return found
    return replace(found, unseen_lines=_differing_lines(old.source, new.source))


def _compared(old: Sequence[Node], new: Sequence[Node]) -> list[Step]:
    steps = []
    moved = reordered(old, new)
    left = {id(ours): theirs for ours, theirs in moved if ours is not None}
    arrived = {id(theirs): ours for ours, theirs in moved if theirs is not None}
    for ours, theirs in align_others(old, new, left.keys() | arrived.keys()):
        if ours is None:
            assert theirs is not None, "a pair must have at least one side"
            source = arrived.get(id(theirs))
            steps.append(_arrived(source, theirs) if source else Step("added", new=theirs))
        elif theirs is None:
            target = left.get(id(ours))
            steps.append(Step("left", ours, target) if target else Step("removed", old=ours))
        elif ours.number == theirs.number:
            steps.append(Step("same", ours, theirs))
        else:
            steps.append(change(ours, theirs))
    return restructured(steps, change)


def _arrived(old: Node, new: Node) -> Step:
    """Return a block that moved, at its new place."""
    if old.number == new.number:
        return Step("arrived", old, new)
    return replace(change(old, new), fate="arrived")


def change(old: Node, new: Node) -> Step:
    """What changed from one block to the other."""
    if old.kind == new.kind == "api-method" and in_older_tags(old) is not in_older_tags(new):
        told = Step("restructured", old_nodes=(old,), new_nodes=(new,), note="same operation, written with other tags")
        told.inside = [change(in_newer_tags(old), in_newer_tags(new))]
        return told
    step = Step("changed", old, new, settings=changed_settings(old.block, new.block))
    if new.kind in _GRIDS and old.kind in _GRIDS:
        columns = column_pairs(old.block, new.block)
        step.parts = Table(columns, ())
        step.rows = _rows(old, new, columns)
        step.settings += column_settings(columns)
    elif new.kind in _EXACT and old.kind in _EXACT:
        step.parts = Lines(compare_lines(old.block.text, new.block.text))
    elif old.kind == new.kind and new.kind in _FALLBACKS and not (old.children or new.children):
        step.settings += _fallback(old.block, new.block)
    elif old.children or new.children:
        if old.block.text != new.block.text:
            step.settings += (Setting("content", old.block.text or None, new.block.text or None),)
        if new.kind in _FALLBACKS:
            step.settings += _fallback(old.block, new.block)
        elif old.block.runs or new.block.runs:
            step.title = compare(old.block.runs, new.block.runs)
        step.inside = _compared(old.children, new.children)
    elif old.block.runs or new.block.runs:
        if runs_key(old.block.runs) != runs_key(new.block.runs):
            step.parts = compare(old.block.runs, new.block.runs)
    elif old.block.text != new.block.text:
        step.parts = Lines(compare_lines(old.block.text, new.block.text))
    if old.kind == new.kind and _says_nothing(step):
        step.fate = "same"
    return step


def _fallback(old: Block, new: Block) -> tuple[Setting, ...]:
    """What became of words that are shown only where a link cannot be."""
    before, after = words(old.runs), words(new.runs)
    if before != after:
        return (Setting("fallback text", before or None, after or None),)
    said = {(each.old, each.new) for each in changed_settings(old, new)}
    found = changed_runs(compare(old.runs, new.runs).words)
    if not found and runs_key(old.runs) != runs_key(new.runs):
        found = tuple(_without_words(old, new))
    # Words that lead where the block itself does.
    return tuple(each for each in found if (each.old, each.new) not in said)


def _without_words(old: Block, new: Block) -> Iterator[Setting]:
    """What differs in signs that say no words: what they are, or else what is set at them."""
    before, after = (", ".join(run.kind for run in side.runs) or None for side in (old, new))
    if before != after:
        yield Setting("fallback", before, after)
    else:
        for ours, theirs in zip(old.runs, new.runs, strict=True):
            yield from differences(ours.attrs, theirs.attrs)


def _says_nothing(step: Step) -> bool:
    """Whether the sides of a change differ in nothing that a reader sees."""
    if step.settings or (step.title and step.title.sorts):
        return False
    match step.parts:
        case Words(sorts=sorts):
            return not sorts
        case Lines(lines=lines):
            return all(line.op == "equal" for line in lines)
        case Cells(cells=cells):
            return all(cell.words is None and not cell.settings for cell in cells)
        case Table(columns=columns):
            both = all(pair.old is not None and pair.new is not None and same_title(pair) for pair in columns)
            return both and all(row.fate == "same" for row in step.rows)
    if step.inside is not None:
        return all(each.fate == "same" for each in step.inside)
    assert step.old is not None
    assert step.new is not None
    # What is written out for the sake of a comparison has the words that it says, and none of its own.
    ours, theirs = step.old.block, step.new.block
    is_worded = ours.kind in _WORDED and ours.kind == theirs.kind
    return is_worded and runs_key(ours.runs) == runs_key(theirs.runs) and ours.text == theirs.text


def _rows(old: Node, new: Node, columns: tuple[ColumnPair, ...]) -> list[Step]:
    pairs, moved = row_pairs(old.children, new.children, columns)
    steps = []
    for ours, theirs in pairs:
        if ours is None:
            assert theirs is not None
            source = moved.get(id(theirs))
            steps.append(_row("arrived", source, theirs, columns) if source else Step("added", new=theirs))
        elif theirs is None:
            target = moved.get(id(ours))
            steps.append(Step("left", ours, target) if target else Step("removed", old=ours))
        elif ours.number == theirs.number:
            steps.append(Step("same", ours, theirs))
        else:
            steps.append(_row("changed", ours, theirs, columns))
    return joined_rows(steps, columns)


def _row(fate: Fate, old: Node, new: Node, columns: tuple[ColumnPair, ...]) -> Step:
    if old.number == new.number:
        return Step(fate, old, new)
    step = Step(fate, old, new, Cells(tuple(_cell(old, new, pair) for pair in columns)))
    step.settings = changed_settings(old.block, new.block)
    if fate == "changed" and _says_nothing(step):
        step.fate = "same"
    return step


def _cell(old: Node, new: Node, pair: ColumnPair) -> Cell:
    ours, theirs = _at(old, pair.old_index), _at(new, pair.new_index)
    before, after = ours.block if ours else None, theirs.block if theirs else None
    if (ours is None and theirs is None) or (ours and theirs and ours.number == theirs.number):
        return Cell(before, after)
    others = changed_settings(before or _NO_CELL, after or _NO_CELL)
    if pair.old and pair.new and pair.old.type != pair.new.type:
        others = tuple(each for each in others if each.name != "value")  # words are read as stars, and the like
    found = compare(before.runs if before else (), after.runs if after else ())
    return Cell(before, after, found if found.sorts else None, others)


def _at(row: Node, index: int | None) -> Node | None:
    return row.children[index] if index is not None and index < len(row.children) else None


def _differing_lines(old: str, new: str) -> int:
    differing = (each for each in stretches(old.split("\n"), new.split("\n")) if not each.equal)
    return sum(max(each.i2 - each.i1, each.j2 - each.j1) for each in differing)
