"""Bodies in the two forms they travel in."""

from __future__ import annotations

from octavo.api.bodies import Format
from octavo.server.json_document import json_document
from octavo.server.store import Json


def body(markdown: str, format: Format | None) -> Json:
    """A body as it was asked for: as markdown, unless as a JSON document."""
    return {"document": json_document(markdown)} if format == "document" else {"markdown": markdown}
