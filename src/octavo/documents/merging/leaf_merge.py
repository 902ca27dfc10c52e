"""Merges what is not divided into blocks: a text, a row of a table, the head of a block."""

from __future__ import annotations

import re

from octavo.api.folding import fold
from octavo.documents.merging.block_alignment import matching_runs
from octavo.documents.merging.merged_page import SIDES, Conflict, side_of
from octavo.documents.source_blocks import (
    PROSE,
    WORD,
    SourceBlock,
    Versions,
    cells,
    is_html,
    row_frame,
    with_cells,
)

Context = tuple[str, str]
"""Text before and behind a conflict that makes it readable alone."""
NO_CONTEXT: Context = ("", "")
_TOKEN = re.compile(rf"\s+|#+|\]\[[^\[\]\n]*\]|{WORD.pattern}|.", re.S)
"""What is merged as a whole: a word, the name of a link's target, whitespace or a sign."""
_DASHES = re.compile(r"(?<![^\s:|])-+(?![^\s:|])")
"""The line below a cell of the head of a table. Its length means nothing."""
_LEAST_KEPT = 0.5
"""Share of the words of a sentence that a side must have kept. A sentence written anew is not merged with another."""


def merge_text(kind: str, texts: Versions[str], context: Context = NO_CONTEXT) -> str | Conflict:
    """Merge a text that both sides may have changed. A merge by words is a suggestion: a person looks at it."""
    if texts.is_settled:
        return texts.merged
    if kind == "heading" and (merged := _merge_heading(texts)):
        return merged
    words = merge_words(*texts) if kind in PROSE or kind == "heading" else None
    between = "\n" if kind in ("line", "item") else "\n\n"
    both = texts.main + between + texts.request if words is None else words
    if kind == "field":
        both = texts.main  # front matter has each field once
    is_suggested = words is not None and kind in PROSE
    return Conflict(kind, *texts, both=both, words=words, is_suggested=is_suggested, context=context)


def _merge_heading(texts: Versions[str]) -> str | None:
    """Merge a heading of which one side changed the level and the other some of the words."""
    levels = texts.map(lambda text: text[: len(text) - len(text.lstrip(" #"))])
    titles = texts.map(lambda text: text.lstrip(" #"))
    words = [WORD.findall(fold(title)) for title in titles]
    is_same = all(2 * len(set(words[0]) & set(each)) >= len(set(words[0])) for each in words[1:])
    if is_same and levels.is_settled and titles.is_settled and all("#" in level for level in levels):
        return levels.merged + titles.merged
    return None


def merge_head(blocks: Versions[SourceBlock], context: Context) -> str | Conflict:
    """Merge the text that a block begins with."""
    heads, keys = blocks.map(lambda each: each.head), blocks.map(lambda each: each.head_key)
    if keys.is_settled:  # the numbers of items, and whitespace, are no change
        return heads.merged if keys.main == keys.base == keys.request else heads.merged_by(keys)
    if blocks.base.kind == "item":
        return merge_text("item", heads, context)
    return Conflict("head", *heads, both=heads.main)


def merge_row(rows: Versions[str], context: Context = NO_CONTEXT) -> str | Conflict:
    """Merge a row cell by cell. The row is one conflict if both sides changed the same cell."""
    widths, frames = rows.map(lambda row: len(cells(row))), rows.map(row_frame)
    texts = rows
    if widths.base == widths.main == widths.request and frames.is_settled:
        ours, theirs = [], []
        for cell in zip(*rows.map(cells), strict=True):
            versions = Versions(*cell)
            words = versions.map(lambda text: _DASHES.sub("-", " ".join(text.split())))
            taken = versions.merged_by(words) if words.is_settled else None
            ours.append(versions.main if taken is None else taken)
            theirs.append(versions.request if taken is None else taken)
        frame = rows.merged_by(frames)
        texts = Versions(rows.base, with_cells(frame, ours), with_cells(frame, theirs))
        if ours == theirs:
            return texts.main
    between = "" if is_html(rows.main) else "\n"
    return Conflict("row", *texts, both=texts.main + between + texts.request, context=context)


def merge_table_head(heads: Versions[str]) -> str | Conflict:
    """Merge the head of a table: its names, and in markdown the marks below them."""
    if heads.is_settled:
        return heads.merged
    lines = heads.map(lambda head: [head] if is_html(head) else head.split("\n"))
    merged = [merge_row(Versions(*each)) for each in zip(*lines, strict=True)]
    main, request = ("\n".join(side_of(each, side) or "" for each in merged) for side in SIDES)
    return main if main == request else Conflict("head", heads.base, main, request, both=main)


def merge_words(base: str, main: str, request: str) -> str | None:
    """Return the text with the changes of both sides. None if they changed the same or neighbouring words, or if a side wrote
    most of the text anew."""
    old, sides = _TOKEN.findall(base), [_TOKEN.findall(text) for text in (main, request)]
    edits: dict[tuple[int, int, str], set[int]] = {}
    for side, new in enumerate(sides):
        runs = matching_runs(old, new)
        kept = sum(bool(WORD.search(token)) for start, _, size in runs for token in old[start : start + size])
        if kept < _LEAST_KEPT * sum(bool(WORD.search(token)) for token in old):
            return None
        i = j = 0
        for start, place, size in [*runs, (len(old), len(new), 0)]:
            if start > i or place > j:
                edits.setdefault((i, start, "".join(new[j:place])), set()).add(side)
            i, j = start + size, place + size
    texts = [
        {text.strip() for (_, _, text), by in edits.items() if by == {side} and WORD.search(text)} for side in (0, 1)
    ]
    if any(len(WORD.findall(text)) > 1 for text in texts[0] & texts[1]):
        return None  # both added it, at different places
    merged, end = "", 0
    before: set[int] = set()
    for (start, stop, text), by in sorted(edits.items(), key=lambda each: each[0]):
        is_by_another = bool(before) and not before & by
        if start < end or (is_by_another and not WORD.search("".join(old[end:start]))):
            return None
        merged += "".join(old[end:start]) + text
        before, end = by, stop
    return merged + "".join(old[end:])
