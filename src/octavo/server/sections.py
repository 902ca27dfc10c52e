"""The sections of a page, as search keeps them."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.documents.blocks import words
from octavo.server.store import Section


def sections(markdown: str, title: str, description: str) -> Iterator[Section]:
    """Anchor, heading and words of each section. The first has no anchor, and the title of the page."""
    # Parsing brings markdown-it with it: a platform that only reads has no use for that.
    from octavo.documents.parse import parse

    anchor, heading, lines = "", title, [description]
    for block in parse(markdown).walk():
        says = block.text or words(block.runs)
        if block.kind != "heading":
            lines.append(says)
        elif says != title or anchor:
            yield anchor, heading, _joined(lines)
            anchor, heading, lines = block.attrs["id"], says, []
    yield anchor, heading, _joined(lines)


def _joined(lines: list[str]) -> str:
    return "\n".join(line for line in lines if line)
