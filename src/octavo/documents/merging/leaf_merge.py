"""Merges what is not divided into blocks: a text, a row of a table, the head of a block."""

from __future__ import annotations

from octavo.documents.merging.merged_page import Choice, Conflict
from octavo.documents.merging.source_blocks import PROSE, SourceBlock, Versions, cells, is_html, row_frame, with_cells
from octavo.documents.merging.word_merge import merge_words

Context = tuple[str, str]
"""Text before and behind a conflict that makes it readable alone."""
NO_CONTEXT: Context = ("", "")


def merge_text(kind: str, texts: Versions[str], context: Context = NO_CONTEXT) -> str | Conflict:
    """Merge a text that both sides may have changed. A merge by words is a suggestion: a person looks at it."""
    if texts.is_settled:
        return texts.merged
    if kind == "heading" and (merged := _merge_heading(texts)):
        return merged
    words = merge_words(*texts) if kind in PROSE or kind == "heading" else None
    between = "\n" if kind in ("line", "item") else "\n\n"
    both = texts.main + between + texts.request if words is None else words
    is_suggested = words is not None and kind in PROSE
    return Conflict(kind, *texts, both=both, words=words, is_suggested=is_suggested, context=context)


def _merge_heading(texts: Versions[str]) -> str | None:
    """Merge a heading of which one side changed the level and the other the words."""
    levels = texts.map(lambda text: text[: len(text) - len(text.lstrip(" #"))])
    titles = texts.map(lambda text: text.lstrip(" #"))
    if levels.is_settled and titles.is_settled and all("#" in level for level in levels):
        return levels.merged + titles.merged
    return None


def merge_head(blocks: Versions[SourceBlock], context: Context) -> str | Conflict:
    """Merge the text that a block begins with."""
    heads, keys = blocks.map(lambda each: each.head), blocks.map(lambda each: each.head_key)
    if keys.is_settled:  # the numbers of items, and whitespace, are no change
        return heads.merged if keys.main == keys.base == keys.request else heads[keys.index(keys.merged, 1)]
    if blocks.base.kind == "item":
        return merge_text("item", heads, context)
    return Conflict("head", *heads, both=heads.main)


def merge_row(rows: Versions[str], context: Context = NO_CONTEXT) -> str | Conflict:
    """Merge a row cell by cell. If both sides changed one cell, the whole row is one conflict."""
    widths, frames = rows.map(lambda row: len(cells(row))), rows.map(row_frame)
    texts = rows
    if widths.base == widths.main == widths.request and frames.is_settled:
        ours, theirs = [], []
        for cell in zip(*rows.map(cells), strict=True):
            versions = Versions(*cell)
            words = versions.map(lambda text: " ".join(text.split()))
            taken = versions[words.index(words.merged, 1)] if words.is_settled else None
            ours.append(versions.main if taken is None else taken)
            theirs.append(versions.request if taken is None else taken)
        frame = rows[frames.index(frames.merged, 1)]
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
    main, request = (
        "\n".join(each if isinstance(each, str) else each.text(choice) or "" for each in merged)
        for choice in (Choice("main"), Choice("this"))
    )
    return main if main == request else Conflict("head", heads.base, main, request, both=main)
