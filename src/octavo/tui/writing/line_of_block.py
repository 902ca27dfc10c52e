"""At which line of its text a block of a page stands. Pure."""

from __future__ import annotations

from octavo.documents.blocks import Block
from octavo.tui.comments.thread_anchoring import ThreadAnchors


def line_of(text: str, block: Block) -> int:
    """The line of a text, counted from 1, at which a block stands: the one of its name, else one that says nearly the
    same, else where it stood in the text it is from. Takes as long as to parse it."""
    from octavo.documents.parse import parse  # the parser takes 30 ms to load, and no frame needs it

    document = parse(text)
    found = document.find(block.key) if block.key else None
    if found is None and (like := ThreadAnchors(document).most_similar_key(block.plain())):
        found = document.find(like)
    first = found.lines[0] if found is not None else block.lines[0]
    return min(first, text.count("\n")) + 1
