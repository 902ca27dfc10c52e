"""Proves of a merged page that no text is lost, doubled or brought back."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TypeAlias

from octavo.documents.merging.merged_page import SIDES, MergedPage, side_of
from octavo.documents.source_blocks import MARKER, PROSE, WORD, SourceBlock, Versions, cells, is_html
from octavo.documents.source_reader import read_page

Run: TypeAlias = "tuple[str, ...]"
"""Words in a row: five of a sentence, or a shorter sentence with each two of its words."""
_RUN = 5
_SENTENCE_END = re.compile(r"(?<![.!?…])[.!?…]+[\"')\]]*\s+|[。！？]")
_HTML_TAG = re.compile(r"<[^<>]*>")


def unproved_runs(page: MergedPage, versions: Versions[SourceBlock]) -> set[Run]:
    """Return the runs of words that are lost or doubled when every conflict is decided for main, or for the change request.

    Each run must be there as often as that side has it, or as often as that side with the change of the other.
    """
    sentences = versions.map(lambda block: Counter(_sentences([block])))
    unproved: set[Run] = set()
    for side, own, other in zip(SIDES, sentences[1:], sentences[:0:-1], strict=True):
        every = (sentences.base, own, other, Counter(_sentences([read_page(side_of(page.root, side) or "")])))
        differing = {each for each in set().union(*every) if len({count[each] for count in every}) > 1}
        was, ours, theirs, found = (_count_runs({each: count[each] for each in differing}) for count in every)
        base = sentences.base
        dropped_by_both = _count_runs({each: base[each] - max(own[each], other[each]) for each in differing})
        for run in found.keys() | ours.keys() | theirs.keys():
            with_other = ours[run] + theirs[run] - was[run]
            least, most = max(0, with_other), max(0, with_other + dropped_by_both[run])
            if not min(ours[run], least) <= found[run] <= max(ours[run], most):
                unproved.add(run)
    return unproved


def _count_runs(sentences: Mapping[str, int]) -> Counter[Run]:
    return Counter(run for sentence, count in sentences.items() for run in _runs(sentence) for _ in range(count))


def runs_of(blocks: Iterable[SourceBlock]) -> Iterator[Run]:
    """Yield the runs of words of blocks."""
    return (run for sentence in _sentences(blocks) for run in _runs(sentence))


def _runs(sentence: str) -> Iterator[Run]:
    words = tuple(WORD.findall(sentence))
    if len(words) < _RUN:
        yield from pairwise(words)
    yield from (words[at : at + _RUN] for at in range(max(1, len(words) - _RUN + 1)))


def _sentences(blocks: Iterable[SourceBlock]) -> Iterator[str]:
    """Yield the sentences, cells and lines of blocks."""
    for block in (each for top in blocks for each in top.walk()):
        text = MARKER.sub("", block.head, count=1) if block.kind == "item" else block.head
        if block.kind in ("row", "table"):
            rows = [text] if is_html(text) else text.split("\n")
            parts = [_HTML_TAG.sub(" ", cell) for row in rows for cell in cells(row)]
        else:
            texts = [text] if block.kind in PROSE else text.split("\n")
            parts = [part for each in texts for part in _SENTENCE_END.split(each)]
        yield from (part for part in parts if WORD.search(part))
