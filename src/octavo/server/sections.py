"""The sections of a page, as search keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.api.searchable import diagram_labels, mention
from octavo.documents.blocks import Block
from octavo.server.store import Section

PIECE = 4000
"""A section of more characters is kept in several pieces: words are looked for in each, and found sooner."""


def sections(markdown: str, title: str, description: str) -> Iterator[Section]:
    """Anchor, heading and words of each section. The first has no anchor, and the title of the page."""
    # Parsing brings markdown-it with it: a platform that only reads has no use for that.
    from octavo.documents.parse import parse

    anchor, heading, lines = "", title, [description]
    for block in parse(markdown).walk():
        says = _words(block)
        if block.kind != "heading":
            lines.append(says)
        elif says != title or anchor:
            yield from ((anchor, heading, piece) for piece in _pieces(lines))
            anchor, heading, lines = block.attrs["id"], says, []
    yield from ((anchor, heading, piece) for piece in _pieces(lines))


def _pieces(lines: list[str]) -> Iterator[str]:
    piece = ""
    for line in lines:
        if piece and len(piece) + len(line) > PIECE:
            yield piece
            piece = ""
        piece = f"{piece}\n{line}" if piece and line else piece or line
    yield piece


def _words(block: Block) -> str:
    """What a block says: the titles of pages it leads to in place of their addresses, and of diagrams what they show."""
    if "mermaid" in (block.attrs.get("language"), str(block.attrs.get("name")).strip("@").partition("/")[0]):
        return "\n".join(filter(None, map(diagram_labels, block.text.split("\n"))))
    if block.kind == "content-ref":
        return mention(block.attrs.get("url") or "")
    return block.text or "".join(
        mention(run.link) if run.kind == "mention" and run.link else run.text for run in block.runs
    )
