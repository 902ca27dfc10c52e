"""Blocks that others took the place of, such as paragraphs that were translated."""

from __future__ import annotations

from collections.abc import Sequence

from octavo.documents.setting_diff import changed_settings
from octavo.documents.steps import Step

_TEXTS = frozenset({"paragraph", "heading", "code"})


def exchanged(steps: Sequence[Step]) -> list[Step]:
    """The steps. Where as many blocks came as went, of the same kinds, each is told with the one in its place."""
    found: list[Step] = []
    run: list[Step] = []
    for step in steps:
        if step.fate in ("removed", "added") and step.inside is None:
            run.append(step)
            continue
        found += _paired(run)
        run = []
        if step.inside is not None:
            step.inside = exchanged(step.inside)
        found.append(step)
    return found + _paired(run)


def _paired(run: list[Step]) -> list[Step]:
    old = [step.old for step in run if step.old]
    new = [step.new for step in run if step.new]
    kinds = [node.kind for node in old]
    if kinds != [node.kind for node in new] or not _TEXTS.issuperset(kinds):
        return run
    return [
        Step("changed", ours, theirs, settings=changed_settings(ours.block, theirs.block))
        for ours, theirs in zip(old, new, strict=True)
    ]
