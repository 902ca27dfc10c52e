"""Blocks that went in one place and came in another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from octavo.documents.alignment import text_similarity
from octavo.documents.blocks import Run
from octavo.documents.changes import Lines, Words
from octavo.documents.steps import Step
from octavo.documents.word_diff import compare, compare_lines

_LONG_ENOUGH = 25
_LONG_ENOUGH_EDITED = 60
_ALIKE = 0.85
_MOST_PAIRS = 4000


def find_moves(steps: Sequence[Step]) -> None:
    """Turn what was removed here and added there, at any depth, into moves, numbered from 1."""
    every = [each for step in steps for each in (step, *step.all_inside())]
    removed = [step for step in every if step.fate == "removed"]
    added = [step for step in every if step.fate == "added"]
    number = 0
    by_number: dict[int, list[Step]] = {}
    for step in reversed(removed):
        if step.old:
            by_number.setdefault(step.old.number, []).append(step)
    for step in added:
        assert step.new is not None
        found = by_number.get(step.new.number)
        if found and (step.new.size >= _LONG_ENOUGH or (step.new.kind == "heading" and step.new.size >= 3)):
            number += 1
            _move(found.pop(), step, number)
    _find_edited(
        [step for step in removed if step.fate == "removed" and step.old and step.old.size >= _LONG_ENOUGH_EDITED],
        [step for step in added if step.fate == "added" and step.new and step.new.size >= _LONG_ENOUGH_EDITED],
        number,
    )


def _find_edited(removed: list[Step], added: list[Step], number: int) -> None:
    if len(removed) * len(added) > _MOST_PAIRS:
        return
    for step in added:
        assert step.new is not None
        best, source = _ALIKE, None
        for candidate in removed:
            assert candidate.old is not None
            if candidate.old.kind == step.new.kind:
                alike = text_similarity(candidate.old.text, step.new.text)
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


def share_changed(steps: Iterable[Step]) -> float:
    """How much of the text came or went, 0 to 1."""
    changed, total = _weights(steps)
    return changed / total if total else 0.0


def _weights(steps: Iterable[Step]) -> tuple[float, float]:
    changed = total = 0.0
    for step in steps:
        below = [*(step.inside or ()), *step.rows]
        if below:
            inner, whole = _weights(below)
            changed, total = changed + inner, total + whole
            continue
        size = max(step.old.size if step.old else 0, step.new.size if step.new else 0, 1)
        total += size
        if step.fate in ("added", "removed"):
            changed += size
        elif step.fate == "changed":
            changed += size * (step.parts.changed if isinstance(step.parts, Words) else 0.5)
    return changed, total
