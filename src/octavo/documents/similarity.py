"""Similarity of texts, and longest common subsequences. Computed by rapidfuzz."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any


def text_similarity(old: str, new: str, at_least: float = 0.3, max_length: int = 1_500) -> float:
    """Return the similarity of the first `max_length` characters of two texts, from 0 to 1. 0 if it is below
    `at_least`."""
    scorer = _rapidfuzz().distance.Indel.normalized_similarity
    return float(scorer(old[:max_length], new[:max_length], score_cutoff=at_least))


def most_similar(text: str, others: Sequence[str], at_least: float) -> int | None:
    """Return the index of the text in `others` that is most similar to `text`. None if all similarities are below
    `at_least`."""
    scorer = _rapidfuzz().distance.Indel.normalized_similarity
    match = _rapidfuzz().process.extractOne(text, others, scorer=scorer, score_cutoff=at_least)
    return None if match is None else int(match[2])


def similar_parts(text: str, others: Sequence[str], at_least: float, limit: int) -> list[tuple[float, int]]:
    """Return the texts in `others` that have a part similar to `text`, as similarities from 0 to 100 and indexes. The most
    similar text comes first."""
    library = _rapidfuzz()
    matches = library.process.extract(
        text, others, scorer=library.fuzz.partial_ratio, score_cutoff=at_least, limit=limit
    )
    return [(match[1], match[2]) for match in matches]


def longest_common(old: Sequence[int], new: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the longest common subsequence as positions in `old` and `new` and a length."""
    for operation in _rapidfuzz().distance.LCSseq.opcodes(old, new):
        if operation.tag == "equal":
            yield operation.src_start, operation.dest_start, operation.src_end - operation.src_start


@cache
def _rapidfuzz() -> Any:
    import rapidfuzz  # lazy: reading a page does not need it

    return rapidfuzz
