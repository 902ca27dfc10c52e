"""What two sequences have in common, in bounded time."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

MOST_PAIRS = 40_000_000
"""Stretches of more pairs than this are compared by what occurs once in both."""


class Stretch(NamedTuple):
    """`old[i1:i2]` became `new[j1:j2]`; where they are equal, it stayed."""

    equal: bool
    i1: int
    i2: int
    j1: int
    j2: int


def stretches(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[Stretch]:
    """How `old` became `new`: equal and differing stretches that cover both, in turn."""
    found: list[Stretch] = []
    for equal, i1, i2, j1, j2 in _compared(old, new, 0, len(old), 0, len(new)):
        if i1 == i2 and j1 == j2:
            continue
        if found and found[-1].equal == equal:
            last = found[-1]
            found[-1] = Stretch(equal, last.i1, i2, last.j1, j2)
        else:
            found.append(Stretch(equal, i1, i2, j1, j2))
    return found


def _compared(
    old: Sequence[Hashable], new: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int
) -> Iterator[tuple[bool, int, int, int, int]]:
    start = 0
    while i1 + start < i2 and j1 + start < j2 and old[i1 + start] == new[j1 + start]:
        start += 1
    end = 0
    while i2 - end > i1 + start and j2 - end > j1 + start and old[i2 - end - 1] == new[j2 - end - 1]:
        end += 1
    yield True, i1, i1 + start, j1, j1 + start
    inner = (i1 + start, i2 - end, j1 + start, j2 - end)
    if inner[0] == inner[1] or inner[2] == inner[3]:
        yield False, *inner
    elif (inner[1] - inner[0]) * (inner[3] - inner[2]) <= MOST_PAIRS:
        yield from _longest_common(old, new, *inner)
    else:
        yield from _between_landmarks(old, new, *inner)
    yield True, i2 - end, i2, j2 - end, j2


def _longest_common(
    old: Sequence[Hashable], new: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int
) -> Iterator[tuple[bool, int, int, int, int]]:
    # Loaded when there is something to compare: most pages are read, not compared.
    from rapidfuzz.distance import LCSseq

    for operation in LCSseq.opcodes(old[i1:i2], new[j1:j2]):
        yield (
            operation.tag == "equal",
            i1 + operation.src_start,
            i1 + operation.src_end,
            j1 + operation.dest_start,
            j1 + operation.dest_end,
        )


def _between_landmarks(
    old: Sequence[Hashable], new: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int
) -> Iterator[tuple[bool, int, int, int, int]]:
    """Split where something stands that occurs once on both sides, in the same order."""
    landmarks = _landmarks(old, new, i1, i2, j1, j2)
    if not landmarks:
        yield False, i1, i2, j1, j2
        return
    for i, j in landmarks:
        yield from _compared(old, new, i1, i, j1, j)
        yield True, i, i + 1, j, j + 1
        i1, j1 = i + 1, j + 1
    yield from _compared(old, new, i1, i2, j1, j2)


def _landmarks(
    old: Sequence[Hashable], new: Sequence[Hashable], i1: int, i2: int, j1: int, j2: int
) -> list[tuple[int, int]]:
    in_old, in_new = Counter(old[i1:i2]), Counter(new[j1:j2])
    place = {new[j]: j for j in range(j1, j2) if in_new[new[j]] == 1 and in_old[new[j]] == 1}
    pairs = [(i, place[old[i]]) for i in range(i1, i2) if old[i] in place]
    return _rising(pairs)


def _rising(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The longest part of `pairs` whose second places rise too."""
    ends: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for index, (_, place) in enumerate(pairs):
        length = bisect_left(ends, place)
        before.append(at[length - 1] if length else -1)
        ends[length : length + 1] = [place]
        at[length : length + 1] = [index]
    found = []
    index = at[-1] if at else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]
