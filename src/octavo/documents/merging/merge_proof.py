"""Proves of a merged page that no text is lost, doubled or brought back."""

from __future__ import annotations

import re
from collections import Counter

from octavo.documents.merging.merged_page import SIDES, MergedPage, side_of
from octavo.documents.merging.source_blocks import MARKER, WORD, SourceBlock, Versions, cells, is_html
from octavo.documents.merging.source_reader import read_page

_RUN = 5
"""Words in a row that are counted together."""
_SENTENCE_END = re.compile(r"[.!?…]+[\"')\]]*\s+|[。！？]|\n")
_HTML_TAG = re.compile(r"<[^<>]*>")


def unproved_runs(page: MergedPage, versions: Versions[SourceBlock]) -> set[str]:
    """Return the runs of words that are lost or doubled when every conflict is decided for main, or for the change request.

    Each run must be there as often as that side has it, or as often as that side with the change of the other.
    """
    was, ours, theirs = versions.map(runs_of)
    unproved: set[str] = set()
    for side, own, other in zip(SIDES, (ours, theirs), (theirs, ours), strict=True):
        found = runs_of(read_page(side_of(page.root, side) or ""))
        for run in found.keys() | own.keys() | other.keys():
            with_other = max(0, own[run] + other[run] - was[run])
            if not min(own[run], with_other) <= found[run] <= max(own[run], with_other):
                unproved.add(run)
    return unproved


def runs_of(block: SourceBlock) -> Counter[str]:
    """Count the runs of words in the sentences, cells and lines of a block."""
    found: Counter[str] = Counter()
    for each in block.walk():
        text = MARKER.sub("", each.head, count=1) if each.kind == "item" else each.head
        if each.kind in ("row", "table"):
            rows = [text] if is_html(text) else text.split("\n")
            parts = [_HTML_TAG.sub(" ", cell) for row in rows for cell in cells(row)]
        else:
            parts = [text] if each.kind == "line" else _SENTENCE_END.split(text)
        for words in map(WORD.findall, parts):
            if words:
                found.update(" ".join(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1)))
    return found
