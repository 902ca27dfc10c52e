"""Two texts compared line by line, and lines that are alike word by word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from octavo.documents.alignment import best_pairs
from octavo.documents.blocks import Run
from octavo.documents.changes import LineChange
from octavo.documents.sequences import DiffRange, diff_ranges
from octavo.documents.word_diff import diff_runs

_MIN_LINE_SIMILARITY = 0.5
_MAX_LINE_LENGTH = 4000
_MAX_LINE_PAIRS, _MAX_CHARACTER_PAIRS = 4000, 20_000_000
"""Pairs of lines, and of characters, of a stretch whose lines are all compared with one another."""


def diff_lines(old: str, new: str) -> tuple[LineChange, ...]:
    """How one text became the other. Lines that end with other white space changed, and are never one that went and one
    that came."""
    before, after = old.split("\n"), new.split("\n")
    found: list[LineChange] = []
    sides = ([line.rstrip() for line in side] for side in (before, after))
    for stretch in diff_ranges(*sides):
        if stretch.equal:
            for index in range(stretch.i2 - stretch.i1):
                i, j = stretch.i1 + index, stretch.j1 + index
                is_same = before[i] == after[j]
                found.append(
                    LineChange("equal", before[i], after[j], (), i, j)
                    if is_same
                    else _changed_line(before, after, i, j)
                )
        else:
            found += _replaced_lines(before, after, stretch)
    return tuple(found)


def _replaced_lines(before: Sequence[str], after: Sequence[str], stretch: DiffRange) -> Iterator[LineChange]:
    _, i, i2, j, j2 = stretch
    for next_i, next_j in [*_line_pairs(before[i:i2], after[j:j2], i, j), (i2, j2)]:
        yield from (LineChange("delete", old=before[at], old_number=at, new_number=j) for at in range(i, next_i))
        yield from (LineChange("insert", new=after[at], old_number=next_i, new_number=at) for at in range(j, next_j))
        if next_i < i2:
            yield _changed_line(before, after, next_i, next_j)
        i, j = next_i + 1, next_j + 1


def _changed_line(before: Sequence[str], after: Sequence[str], i: int, j: int) -> LineChange:
    return LineChange("change", before[i], after[j], diff_runs((Run(before[i]),), (Run(after[j]),)).words, i, j)


def _line_pairs(old: Sequence[str], new: Sequence[str], i: int, j: int) -> list[tuple[int, int]]:
    """Which lines became which, by their numbers."""
    if not old or not new:
        return []
    if len(old) * len(new) <= _MAX_LINE_PAIRS and sum(map(len, old)) * sum(map(len, new)) <= _MAX_CHARACTER_PAIRS:
        worth = [{at: value for at, line in enumerate(new) if (value := _pair_value(each, line))} for each in old]
        return [(i + one, j + other) for one, other in best_pairs(worth, len(new))]
    if len(old) == len(new):
        return [
            (i + at, j + at) for at, (each, line) in enumerate(zip(old, new, strict=True)) if _pair_value(each, line)
        ]
    return []


def _pair_value(old: str, new: str) -> float:
    """What it is worth to show one line as the other one changed; 0 when they are not alike."""
    # Loaded when there is something to compare: most pages are read, not compared.
    from rapidfuzz.distance import Indel

    if not old.strip() or not new.strip() or max(len(old), len(new)) > _MAX_LINE_LENGTH:
        return 0.0
    return Indel.normalized_similarity(old, new, score_cutoff=_MIN_LINE_SIMILARITY) ** 2
