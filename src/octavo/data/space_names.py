"""Names of spaces for the command line, and cached items for shell completion. Imports no API models, to be fast."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from octavo.api.folding import fold
from octavo.data.database import connect
from octavo.untrusted_input import parse_json

_READABLE_ID = re.compile(r"[a-z]{2,}(-[a-z0-9]+)*")
_QUERY = "SELECT body FROM answers WHERE namespace = ? AND url GLOB ? ORDER BY kept_at"
_MAX_LISTS = 200


def space_name(space_id: str, titles: Mapping[str, str]) -> str:
    """Return a short unique name of a space, such as `tide-tables`. It is the ID if the ID is readable, or if the title
    gives no unique name. `titles` has the titles of all spaces by ID."""
    if _READABLE_ID.fullmatch(space_id):
        return space_id
    own_slug = slug(titles[space_id])
    same_slug_count = sum(own_slug in (slug(title), each) for each, title in titles.items())
    return own_slug if own_slug and not own_slug.isdecimal() and same_slug_count == 1 else space_id


def slug(title: str) -> str:
    """Return a title in lower case, with hyphens between words."""
    return re.sub(r"[\W_]+", "-", fold(title)).strip("-")


def cached_space_titles(folder: Path, namespace: str) -> dict[str, str]:
    """Return the titles of all cached spaces by space ID. Empty if the cache cannot be read."""
    spaces = _cached_list_items(folder, namespace, "/v1/orgs/*/spaces[?]*")
    names = ((space.get("id"), space.get("title")) for space in spaces)
    return {space_id: title for space_id, title in names if isinstance(space_id, str) and isinstance(title, str)}


def cached_change_requests(folder: Path, namespace: str) -> list[tuple[str, int]]:
    """Return the space ID and the number of each cached change request. Empty if the cache cannot be read."""
    change_requests = _cached_list_items(folder, namespace, "/v1/orgs/*/change-requests[?]*")
    numbers = ((each.get("space"), each.get("number")) for each in change_requests)
    return list(dict.fromkeys((space, n) for space, n in numbers if isinstance(space, str) and isinstance(n, int)))


def _cached_list_items(folder: Path, namespace: str, url_pattern: str) -> Iterator[dict[str, Any]]:
    path = max(folder.glob("cache-v*.db"), default=None)
    if path is None:
        return
    try:
        with closing(connect(path, read_only=True)) as db:
            bodies = [body for (body,) in db.execute(_QUERY, (namespace, url_pattern)).fetchmany(_MAX_LISTS)]
    except sqlite3.Error:
        return
    for body in bodies:
        try:
            response = parse_json(body)
        except (ValueError, TypeError):
            continue
        items = response.get("items") if isinstance(response, dict) else None
        yield from (item for item in items or () if isinstance(item, dict))
