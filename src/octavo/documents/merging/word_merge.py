"""Merges a paragraph word by word, where both sides changed different words of it."""

from __future__ import annotations

import re

from octavo.documents.merging.block_alignment import matching_runs
from octavo.documents.merging.source_blocks import WORD

_TOKEN = re.compile(rf"\s+|#+|{WORD.pattern}|.", re.S)
_LEAST_KEPT = 0.5
"""Share of the words of a sentence that a side must have kept. A sentence written anew is not merged with another."""


def merge_words(base: str, main: str, request: str) -> str | None:
    """Return the text with the changes of both sides. None if they changed the same or neighbouring words, or if a side wrote
    most of the text anew."""
    old, sides = _TOKEN.findall(base), [_TOKEN.findall(text) for text in (main, request)]
    edits: dict[tuple[int, int, str], set[int]] = {}
    for side, new in enumerate(sides):
        runs = matching_runs(old, new)
        kept = sum(bool(WORD.match(token)) for start, _, size in runs for token in old[start : start + size])
        if kept < _LEAST_KEPT * sum(bool(WORD.match(token)) for token in old):
            return None
        i = j = 0
        for start, place, size in [*runs, (len(old), len(new), 0)]:
            if start > i or place > j:
                edits.setdefault((i, start, "".join(new[j:place])), set()).add(side)
            i, j = start + size, place + size
    merged, end = "", 0
    before: set[int] = set()
    for (start, stop, text), by in sorted(edits.items(), key=lambda each: each[0]):
        is_by_another = bool(before) and not before & by
        if start < end or (is_by_another and not WORD.search("".join(old[end:start]))):
            return None
        merged += "".join(old[end:start]) + text
        before, end = by, stop
    return merged + "".join(old[end:])
