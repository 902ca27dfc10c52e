"""Sections that another topic took the place of: told as such, old and new, not as edits of what has nothing in common."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.change_size import size_of
from octavo.documents.changes import TextChange
from octavo.documents.steps import DiffStep, entries

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
