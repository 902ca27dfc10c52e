"""Compares two sequences of lines, words or blocks in bounded time (`diff_ranges`), and computes how similar texts are.
All comparisons of pages, texts and page trees use it."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar


def text_similarity(old: str, new: str, at_least: float = 0.3, max_length: int = 1_500) -> float:
    """Return how similar the first `max_length` characters of two texts are, from 0 to 1. 0 if below `at_least`."""
    scorer = _rapidfuzz().distance.Indel.normalized_similarity
    return float(scorer(old[:max_length], new[:max_length], score_cutoff=at_least))


def most_similar(text: str, texts: Sequence[str], at_least: float) -> int | None:
    """Return the index of the most similar text in `texts`. None if no similarity (0 to 1) reaches `at_least`."""
    scorer = _rapidfuzz().distance.Indel.normalized_similarity
    match = _rapidfuzz().process.extractOne(text, texts, scorer=scorer, score_cutoff=at_least)
    return None if match is None else int(match[2])


def similar_parts(text: str, texts: Sequence[str], at_least: float, limit: int) -> list[tuple[float, int]]:
    """Return at most `limit` pairs (similarity, index) of texts that contain a part similar to `text`, best first.
    Similarities are between `at_least` and 100."""
    library = _rapidfuzz()
    matches = library.process.extract(
        text, texts, scorer=library.fuzz.partial_ratio, score_cutoff=at_least, limit=limit
    )
    return [(match[1], match[2]) for match in matches]


def closest_name(name: str, names: Sequence[str], at_least: float, *, ignores_word_order: bool = False) -> str | None:
    """Return the most similar name in `names`. None if no similarity (0 to 100) reaches `at_least`. With
    `ignores_word_order`, the order of words does not matter."""
    library = _rapidfuzz()
    scorer = library.fuzz.WRatio if ignores_word_order else library.fuzz.ratio
    match = library.process.extractOne(name, names, scorer=scorer, score_cutoff=at_least)
    return None if match is None else str(match[0])


@cache
def _rapidfuzz() -> Any:
    import rapidfuzz  # lazy: reading a page does not need it

    return rapidfuzz


MAX_PAIRS = 50_000_000
"""Maximum number of pairs of items for an exact comparison, which blocks all threads for ten milliseconds."""


T = TypeVar("T", bound=Hashable)


class DiffRange(NamedTuple):
    """Corresponding ranges of two sequences: `old[i1:i2]` was replaced by `new[j1:j2]`, or both ranges are equal."""

    equal: bool
    i1: int
    i2: int
    j1: int
    j2: int


def diff_ranges(old: Sequence[Hashable], new: Sequence[Hashable], *, unique_first: bool = False) -> list[DiffRange]:
    """Return the equal and the different ranges of two sequences, in order. With `unique_first`, items that occur once
    in each sequence are matched first. Else, as many items as possible are matched, if the sequences are not long."""
    ranges: list[DiffRange] = []
    i = j = 0
    for i1, j1, length in [*sorted(_matches(old, new, unique_first)), (len(old), len(new), 0)]:
        if i1 > i or j1 > j:
            ranges.append(DiffRange(False, i, i1, j, j1))
        elif ranges and length:
            i1, j1 = ranges[-1].i1, ranges[-1].j1
            length += i - i1
            ranges.pop()
        i, j = i1 + length, j1 + length
        if length:
            ranges.append(DiffRange(True, i1, i, j1, j))
    return ranges


def unmoved_items(before: Sequence[T], after: Sequence[T]) -> set[T]:
    """Return the largest set of items that keep their order. Both sequences have the same unique items."""
    return {
        each
        for diff_range in diff_ranges(before, after, unique_first=True)
        if diff_range.equal
        for each in before[diff_range.i1 : diff_range.i2]
    }


def _matches(old: Sequence[Hashable], new: Sequence[Hashable], unique_first: bool) -> Iterator[tuple[int, int, int]]:
    """Yield the equal ranges of two sequences, unsorted, as (index in `old`, index in `new`, length). With
    `unique_first`, or for over `MAX_PAIRS` pairs of items, items that occur once in each sequence are matched first."""
    numbers: dict[Hashable, int] = {}
    a = [numbers.setdefault(each, len(numbers)) for each in old]
    b = [numbers.setdefault(each, len(numbers)) for each in new]
    gaps = [(0, len(a), 0, len(b))]
    while gaps:
        i1, i2, j1, j2 = gaps.pop()
        start = 0
        while i1 + start < i2 and j1 + start < j2 and a[i1 + start] == b[j1 + start]:
            start += 1
        if start:
            yield i1, j1, start
            i1, j1 = i1 + start, j1 + start
        end = 0
        while i1 < i2 - end and j1 < j2 - end and a[i2 - end - 1] == b[j2 - end - 1]:
            end += 1
        if end:
            i2, j2 = i2 - end, j2 - end
            yield i2, j2, end
        if i1 == i2 or j1 == j2:
            continue
        is_small = (i2 - i1) * (j2 - j1) <= MAX_PAIRS
        if (unique_first or not is_small) and (unique_pairs := _unique_pairs(a, i1, i2, b, j1, j2)):
            # Each gap but the first begins with a unique pair. The loop that yields equal beginnings also yields this
            # pair.
            gap_edges = [(i1, j1), *unique_pairs, (i2, j2)]
            gaps += [(i, k, j, m) for (i, j), (k, m) in pairwise(gap_edges)]
        elif is_small:
            for each in _rapidfuzz().distance.LCSseq.opcodes(a[i1:i2], b[j1:j2]):
                if each.tag == "equal":
                    yield i1 + each.src_start, j1 + each.dest_start, each.src_end - each.src_start
        else:
            i, j = (i1 + i2) // 2, (j1 + j2) // 2
            gaps += [(i1, i, j1, j), (i, i2, j, j2)]


def _unique_pairs(a: list[int], i1: int, i2: int, b: list[int], j1: int, j2: int) -> list[tuple[int, int]]:
    """Return the longest series of index pairs, in order, of items that occur once in `a[i1:i2]` and in `b[j1:j2]`."""
    counts_a, counts_b = Counter(a[i1:i2]), Counter(b[j1:j2])
    positions_in_b = {b[j]: j for j in range(j1, j2) if counts_b[b[j]] == 1 and counts_a[b[j]] == 1}
    return _longest_increasing([(i, positions_in_b[a[i]]) for i in range(i1, i2) if a[i] in positions_in_b])


def _longest_increasing(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    last_positions: list[int] = []
    last_indices: list[int] = []
    predecessors: list[int] = []
    for index, (_, position) in enumerate(pairs):
        length = bisect_left(last_positions, position)
        predecessors.append(last_indices[length - 1] if length else -1)
        last_positions[length : length + 1] = [position]
        last_indices[length : length + 1] = [index]
    index_pairs = []
    index = last_indices[-1] if last_indices else -1
    while index >= 0:
        index_pairs.append(pairs[index])
        index = predecessors[index]
    return index_pairs[::-1]
