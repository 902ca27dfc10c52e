"""What differs between two texts, line by line.

Lines that occur once in both are the fixed points (they are what a reader recognises), the longest common
subsequence fills what lies between them.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

LARGEST_GAP = 200_000_000
"""Lines times lines between two fixed points that are still compared; the memory is this many bits."""


@dataclass(frozen=True)
class Hunk:
    """Lines `start` to `end` (not included) of the base become `lines`."""

    start: int
    end: int
    lines: list[str]


def compare(base: list[str], other: list[str]) -> list[Hunk]:
    """What makes `other` of `base`, in order. Between two hunks there is at least one line that stays."""
    hunks = []
    at, there = 0, 0
    for start, match, length in [*sorted(_matches(base, other)), (len(base), len(other), 0)]:
        if start > at or match > there:
            hunks.append(Hunk(at, start, other[there:match]))
        at, there = start + length, match + length
    return hunks


def _matches(base: list[str], other: list[str]) -> Iterator[tuple[int, int, int]]:
    """(line of base, line of other, length) of the runs that are the same, none of them twice."""
    numbers: dict[str, int] = {}
    a = [numbers.setdefault(line, len(numbers)) for line in base]
    b = [numbers.setdefault(line, len(numbers)) for line in other]
    gaps = [(0, len(a), 0, len(b))]
    while gaps:
        a_start, a_end, b_start, b_end = gaps.pop()
        same = 0
        while a_start + same < a_end and b_start + same < b_end and a[a_start + same] == b[b_start + same]:
            same += 1
        if same:
            yield a_start, b_start, same
            a_start, b_start = a_start + same, b_start + same
        same = 0
        while a_start + same < a_end and b_start + same < b_end and a[a_end - same - 1] == b[b_end - same - 1]:
            same += 1
        if same:
            a_end, b_end = a_end - same, b_end - same
            yield a_end, b_end, same
        if a_start == a_end or b_start == b_end:
            continue
        if fixed := _fixed_points(a, a_start, a_end, b, b_start, b_end):
            # A fixed point is the start of the gap that follows it, where it is found again as what both begin with.
            edges = [(a_start, b_start), *fixed, (a_end, b_end)]
            gaps += [(i, j, k, m) for (i, k), (j, m) in itertools.pairwise(edges)]
        elif (a_end - a_start) * (b_end - b_start) <= LARGEST_GAP:
            for start, match, length in _longest_common(a[a_start:a_end], b[b_start:b_end]):
                yield a_start + start, b_start + match, length


def _fixed_points(
    a: list[int], a_start: int, a_end: int, b: list[int], b_start: int, b_end: int
) -> list[tuple[int, int]]:
    """The longest series of lines that occur once in each range and come in the same order."""
    once_in_a = {line for line, count in Counter(a[a_start:a_end]).items() if count == 1}
    count_in_b = Counter(b[b_start:b_end])
    place = {b[j]: j for j in range(b_start, b_end) if b[j] in once_in_a and count_in_b[b[j]] == 1}
    pairs = [(i, place[a[i]]) for i in range(a_start, a_end) if a[i] in place]
    tops: list[int] = []
    ends: list[int] = []
    before: list[int] = []
    for number, (_, j) in enumerate(pairs):
        pile = bisect_left(tops, j)
        before.append(ends[pile - 1] if pile else -1)
        if pile == len(tops):
            tops.append(j)
            ends.append(number)
        else:
            tops[pile], ends[pile] = j, number
    series = []
    last = ends[-1] if ends else -1
    while last >= 0:
        series.append(pairs[last])
        last = before[last]
    return series[::-1]


def _longest_common(a: list[int], b: list[int]) -> Iterator[tuple[int, int, int]]:
    from rapidfuzz.distance import LCSseq  # not needed before the first merge

    for code in LCSseq.opcodes(a, b):
        if code.tag == "equal":
            yield code.src_start, code.dest_start, code.src_end - code.src_start


def in_order(before: list[str], after: list[str]) -> set[str]:
    """Of names that each occur once, those that need not move to get from one order to the other."""
    return {before[start + each] for start, _, length in _matches(before, after) for each in range(length)}
