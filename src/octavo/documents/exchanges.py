"""Blocks that others took the place of, such as paragraphs that were translated."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.setting_diff import changed_attributes
from octavo.documents.steps import DiffStep

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
