"""Checks that a merge neither loses nor repeats text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

from octavo.documents.merging.merged_page import SIDES, MergedPage, side_of
from octavo.documents.source_blocks import MARKER, PROSE, WORD, SourceBlock, Versions, cells, is_html
from octavo.documents.source_reader import read_page

Run: TypeAlias = tuple[str, ...]
"""Five adjacent words of a sentence. A shorter sentence has these runs: the sentence, and each pair of adjacent
words."""
_RUN_LENGTH = 5
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"')\]]*\s+|[。！？]")
_HTML_TAG = re.compile(r"<[^<>]*>")


def miscounted_runs(page: MergedPage, versions: Versions[SourceBlock]) -> set[Run]:
    """Return the runs of words that are lost or repeated when all conflicts are resolved for one side.

    A run must occur at least and at most as often as two counts allow: its count on that side, and this count plus the
    difference between the other side and the base.
    """
    sentences = versions.map(lambda block: Counter(_sentences([block])))
    results = [side_of(page.root, side) or "" for side in SIDES]
    # Without conflicts, both results are equal and parsed only once.
    merged = {text: Counter(_sentences([read_page(text)])) for text in set(results)}
    miscounted: set[Run] = set()
    for result, own, other in zip(results, sentences[1:], sentences[:0:-1], strict=True):
        all_counts = (sentences.base, own, other, merged[result])
        differing = {each for each in set().union(*all_counts) if len({count[each] for count in all_counts}) > 1}
        in_base, in_own, in_other, in_merged = (
            _count_runs({each: count[each] for each in differing}) for count in all_counts
        )
        # If both sides deleted a sentence, they may have deleted the same occurrence.
        deleted = {each: sentences.base[each] - max(own[each], other[each]) for each in differing}
        deleted_by_both = _count_runs(deleted)
        for run in in_merged.keys() | in_own.keys() | in_other.keys():
            with_other = in_own[run] + in_other[run] - in_base[run]
            minimum, maximum = max(0, with_other), max(0, with_other + deleted_by_both[run])
            if not min(in_own[run], minimum) <= in_merged[run] <= max(in_own[run], maximum):
                miscounted.add(run)
    return miscounted


def _count_runs(sentences: Mapping[Run, int]) -> Counter[Run]:
    return Counter(run for sentence, count in sentences.items() for run in _runs(sentence) for _ in range(count))


def runs_of(blocks: Iterable[SourceBlock]) -> Iterator[Run]:
    """Yield the runs of five words, as `Run` defines them, in blocks."""
    return (run for sentence in _sentences(blocks) for run in _runs(sentence))


def _runs(words: Run) -> Iterator[Run]:
    if len(words) < _RUN_LENGTH:
        yield from pairwise(words)
    yield from (words[start : start + _RUN_LENGTH] for start in range(max(1, len(words) - _RUN_LENGTH + 1)))


def _sentences(blocks: Iterable[SourceBlock]) -> Iterator[Run]:
    for block in (each for top in blocks for each in top.walk()):
        text = MARKER.sub("", block.head, count=1) if block.kind == "item" else block.head
        if block.kind in ("row", "table"):
            rows = [text] if is_html(text) else text.split("\n")
            parts = [_HTML_TAG.sub(" ", cell) for row in rows for cell in cells(row)]
        else:
            texts = [text] if block.kind in PROSE else text.split("\n")
            parts = [part for each in texts for part in _SENTENCE_END.split(each)]
        yield from (words for words in (tuple(WORD.findall(part)) for part in parts) if words)
