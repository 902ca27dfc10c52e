"""Bodies in the two forms they travel in."""

from __future__ import annotations

from octavo.api.bodies import Format
from octavo.server.store import Json


def body(markdown: str, format: Format | None) -> Json:
    """A body as it was asked for: as markdown, unless as a JSON document."""
    return {"document": document(markdown)} if format == "document" else {"markdown": markdown}


def document(markdown: str) -> Json:
    """A JSON document with a paragraph for each stretch of lines that blank ones divide, marks and all."""
    paragraphs = [text for text in markdown.replace("\r\n", "\n").split("\n\n") if text.strip()]
    return {"object": "document", "data": {"schemaVersion": 1}, "nodes": [_paragraph(text) for text in paragraphs]}


def _paragraph(text: str) -> Json:
    leaf = {"object": "leaf", "text": text.strip("\n"), "marks": []}
    return {
        "object": "block",
        "type": "paragraph",
        "data": {},
        "nodes": [{"object": "text", "leaves": [leaf]}],
    }
