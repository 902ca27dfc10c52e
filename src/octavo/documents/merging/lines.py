"""What differs between two texts, line by line.

Lines that occur once in both are the fixed points (they are what a reader recognises), the longest common
subsequence fills what lies between them.
"""

from __future__ import annotations

from dataclasses import dataclass

from octavo.documents.sequences import stretches


@dataclass(frozen=True)
class Hunk:
    """Lines `start` to `end` (not included) of the base become `lines`."""

    start: int
    end: int
    lines: list[str]


def compare(base: list[str], other: list[str]) -> list[Hunk]:
    """What makes `other` of `base`, in order. Between two hunks there is at least one line that stays."""
    found = stretches(base, other, landmarks=True)
    return [Hunk(each.i1, each.i2, other[each.j1 : each.j2]) for each in found if not each.equal]


def in_order(before: list[str], after: list[str]) -> set[str]:
    """Of names that each occur once, those that need not move to get from one order to the other."""
    found = stretches(before, after, landmarks=True)
    return {name for each in found if each.equal for name in before[each.i1 : each.i2]}
