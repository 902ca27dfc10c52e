"""Looks up the pages with a term in the database of the search index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from octavo.api.folding import fold_to_index_text

_MAX_LETTERS = 200_000
"""Number of indexed characters above which the index may not have the whole text of a page."""


@dataclass(frozen=True)
class IndexedPages:
    """The pages of a space whose text is in the index, and those of them that may have a term."""

    updated_at: dict[str, float] = field(default_factory=dict)
    """Time of the last change of each indexed page, by page id. The time belongs to the version in the index. Pages
    without a time are left out, because their version is unknown."""
    found: frozenset[str] = frozenset()
    """Ids of the pages that have all words of at least one query."""

    def has_version(self, page_id: str, updated_at: datetime | None) -> bool:
        """Return whether the index has the version of a page that was last changed at `updated_at`. False if a time is
        unknown."""
        indexed = self.updated_at.get(page_id)
        return indexed is not None and updated_at is not None and abs(indexed - updated_at.timestamp()) < 0.001


def indexed_pages(space: str, queries: Iterable[tuple[str, ...]], db: sqlite3.Connection) -> IndexedPages:
    """Return the indexed pages of a space, and those that have all words of one of the queries."""
    rows = db.execute(
        "SELECT page, at FROM documents WHERE space = ? AND kind = 'page' AND length(stamp) > 0 AND at IS NOT NULL"
        " AND letters <= ?",
        (space, _MAX_LETTERS),
    )
    updated_at = {str(page): float(at) for page, at in rows}
    found: set[str] = set()
    for query in queries:
        found |= set.intersection(*(_pages_with(space, word, db) for word in query))
    return IndexedPages(updated_at, frozenset(found))


def _pages_with(space: str, word: str, db: sqlite3.Connection) -> set[str]:
    quoted = '"' + fold_to_index_text(word).replace('"', '""') + '"'
    rows = db.execute(
        "SELECT DISTINCT documents.page FROM texts JOIN passages ON passages.id = texts.rowid"
        " JOIN documents ON documents.id = passages.document WHERE texts MATCH ? AND space = ? AND kind = 'page'",
        (quoted, space),
    )
    return {str(page) for (page,) in rows}
