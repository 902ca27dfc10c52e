"""Finds the line of a block in the text of a page. Pure function."""

from __future__ import annotations

from octavo.documents.blocks import Block
from octavo.tui.comments.thread_anchoring import ThreadAnchors


def line_of(text: str, block: Block) -> int:
    """Return the 1-based line of a block in a text: of the block with the same key, else of the most similar block,
    else of its old line. Takes as long as parsing the text."""
    from octavo.documents.parse import parse  # lazy: the parser, 30 ms

    document = parse(text)
    found = document.find(block.key) if block.key else None
    if found is None and (like := ThreadAnchors(document).like(block.plain())):
        found = document.find(like)
    first = found.lines[0] if found is not None else block.lines[0]
    return min(first, text.count("\n")) + 1
