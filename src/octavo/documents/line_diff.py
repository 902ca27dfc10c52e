"""Two texts compared line by line, and lines that are alike word by word."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from octavo.documents.alignment import best_pairs
from octavo.documents.blocks import Run
from octavo.documents.changes import Line
from octavo.documents.sequences import Stretch, stretches
from octavo.documents.word_diff import compare

_ALIKE = 0.5
_LONGEST_LINE = 4000
_MOST_PAIRS, _MOST_CHARACTERS = 4000, 20_000_000
"""Pairs of lines, and of characters, of a stretch whose lines are all compared with one another."""


def compare_lines(old: str, new: str) -> tuple[Line, ...]:
    """How one text became the other. Lines that end with other white space changed, and are never one that went and one
    that came."""
    before, after = old.split("\n"), new.split("\n")
    found: list[Line] = []
    sides = ([line.rstrip() for line in side] for side in (before, after))
    for stretch in stretches(*sides):
        if stretch.equal:
            for index in range(stretch.i2 - stretch.i1):
                i, j = stretch.i1 + index, stretch.j1 + index
                is_same = before[i] == after[j]
                found.append(Line("equal", before[i], after[j], (), i, j) if is_same else _changed(before, after, i, j))
        else:
            found += _replaced(before, after, stretch)
    return tuple(found)


def _replaced(before: Sequence[str], after: Sequence[str], stretch: Stretch) -> Iterator[Line]:
    _, i, i2, j, j2 = stretch
    for next_i, next_j in [*_pairs(before[i:i2], after[j:j2], i, j), (i2, j2)]:
        yield from (Line("delete", old=before[at], old_number=at, new_number=j) for at in range(i, next_i))
        yield from (Line("insert", new=after[at], old_number=next_i, new_number=at) for at in range(j, next_j))
        if next_i < i2:
            yield _changed(before, after, next_i, next_j)
        i, j = next_i + 1, next_j + 1


def _changed(before: Sequence[str], after: Sequence[str], i: int, j: int) -> Line:
    return Line("change", before[i], after[j], compare((Run(before[i]),), (Run(after[j]),)).words, i, j)


def _pairs(old: Sequence[str], new: Sequence[str], i: int, j: int) -> list[tuple[int, int]]:
    """Which lines became which, by their numbers."""
    if not old or not new:
        return []
    if len(old) * len(new) <= _MOST_PAIRS and sum(map(len, old)) * sum(map(len, new)) <= _MOST_CHARACTERS:
        worth = [{at: value for at, line in enumerate(new) if (value := _worth(each, line))} for each in old]
        return [(i + one, j + other) for one, other in best_pairs(worth, len(new))]
    if len(old) == len(new):
        return [(i + at, j + at) for at, (each, line) in enumerate(zip(old, new, strict=True)) if _worth(each, line)]
    return []


def _worth(old: str, new: str) -> float:
    """What it is worth to show one line as the other one changed; 0 when they are not alike."""
    # Loaded when there is something to compare: most pages are read, not compared.
    from rapidfuzz.distance import Indel

    if not old.strip() or not new.strip() or max(len(old), len(new)) > _LONGEST_LINE:
        return 0.0
    return Indel.normalized_similarity(old, new, score_cutoff=_ALIKE) ** 2
