"""Blocks that went in one place and came in another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

from octavo.documents.alignment import text_similarity
from octavo.documents.blocks import Run
from octavo.documents.changes import Lines, Words
from octavo.documents.line_diff import compare_lines
from octavo.documents.nodes import Node
from octavo.documents.setting_diff import changed_settings
from octavo.documents.steps import Step
from octavo.documents.word_diff import compare

_PARTS = frozenset({"item", "task", "tab", "step", "update", "card"})
"""Those of a container are known again however short they are."""
_LONG_ENOUGH = 25
_LONG_ENOUGH_EDITED = 60
_ALIKE = 0.85
_MOST_PAIRS = 4000


def find_moves(steps: Sequence[Step]) -> None:
    """Turn what was removed here and added there, at any depth, into moves, numbered from 1."""
    every = [each for step in steps for each in (step, *step.all_inside())]
    number = _number(every)
    for within in [steps, *(step.inside for step in every if step.inside)]:
        parts = [step for step in within if _kind(step) in _PARTS]
        number = _find_equal(parts, number, lambda node: node.number)
    long = [step for step in every if _size(step) >= (3 if _kind(step) == "heading" else _LONG_ENOUGH)]
    number = _find_equal(long, number, lambda node: node.number)
    number = _find_equal([step for step in long if _kind(step) == "heading"], number, lambda node: node.text)
    _find_edited([step for step in every if _size(step) >= _LONG_ENOUGH_EDITED], number)


def _find_equal(steps: Sequence[Step], number: int, name: Callable[[Node], Hashable]) -> int:
    """Join what went and came by the same name; the last number."""
    by_name: dict[Hashable, list[Step]] = {}
    for step in reversed(steps):
        if step.fate == "removed" and step.old:
            by_name.setdefault(name(step.old), []).append(step)
    for step in steps:
        if step.fate == "added" and step.new and (found := by_name.get(name(step.new))):
            number += 1
            _move(found.pop(), step, number)
    return number


def _kind(step: Step) -> str:
    node = step.new or step.old
    return node.kind if node else ""


def _size(step: Step) -> int:
    node = step.new or step.old
    return node.size if node else 0


def _number(every: Sequence[Step]) -> int:
    """Number the moves that are known already; the last number."""
    numbers = {id(step.new): number for number, step in enumerate((s for s in every if s.fate == "arrived"), 1)}
    for step in every:
        if step.fate in ("left", "arrived"):
            step.number = numbers[id(step.new)]
    return len(numbers)


def _find_edited(steps: Sequence[Step], number: int) -> None:
    removed = [step for step in steps if step.fate == "removed"]
    added = [step for step in steps if step.fate == "added"]
    if len(removed) * len(added) > _MOST_PAIRS:
        return
    for step in added:
        assert step.new is not None
        best, source = _ALIKE, None
        for candidate in removed:
            assert candidate.old is not None
            if candidate.old.kind == step.new.kind:
                alike = text_similarity(candidate.old.text, step.new.text, best)
                if alike >= best:
                    best, source = alike, candidate
        if source:
            removed.remove(source)
            number += 1
            _move(source, step, number)
            assert step.old is not None
            step.parts = _edited(step)


def _edited(step: Step) -> Words | Lines:
    assert step.old is not None
    assert step.new is not None
    old, new = step.old.block, step.new.block
    if old.text or new.text:
        return Lines(compare_lines(old.text, new.text))
    if old.runs or new.runs:
        return compare(old.runs, new.runs)
    return compare((Run(step.old.text),), (Run(step.new.text),))


def _move(left: Step, arrived: Step, number: int) -> None:
    left.new, arrived.old = arrived.new, left.old
    left.fate, arrived.fate = "left", "arrived"
    left.number = arrived.number = number
    assert left.old is not None
    assert arrived.new is not None
    arrived.settings = changed_settings(left.old.block, arrived.new.block)
