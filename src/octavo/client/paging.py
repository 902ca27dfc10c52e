"""Walk a list page by page, and not for ever (C10)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TypeVar

from octavo.api.errors import PaginationError

Item = TypeVar("Item")

MAX_PAGES = 1000
MAX_ITEMS = 100_000
MAX_STALE = 3
"""Pages in a row without anything new."""
MAX_CURSOR = 4096


async def walk(
    fetch: Callable[[str | None], Awaitable[tuple[Sequence[Item], object]]],
    identity: Callable[[Item], str],
    *,
    max_pages: int = MAX_PAGES,
    max_items: int = MAX_ITEMS,
) -> AsyncIterator[list[Item]]:
    """The new items of each page. `fetch(cursor)` answers the items and the next cursor, None at the end.

    An empty page that has a cursor is not the end. Raises PaginationError when the list does not end.
    """
    cursors: set[str] = set()
    seen: set[str] = set()
    cursor: str | None = None
    pages = stale = 0
    while True:
        items, following = await fetch(cursor)
        pages += 1
        fresh: list[Item] = []
        for item in items:
            key = identity(item)
            if key not in seen:
                seen.add(key)
                fresh.append(item)
        yield fresh
        if following is None:
            return
        stale = 0 if fresh else stale + 1
        reason = _refusal(following, cursors) or _excess(pages, len(seen), stale, max_pages, max_items)
        if reason:
            items_read = "1 item" if len(seen) == 1 else f"{len(seen)} items"
            raise PaginationError(f"Could not load the whole list: {reason}. Only {items_read} could be loaded.")
        cursor = str(following)
        cursors.add(cursor)


def _refusal(following: object, cursors: set[str]) -> str:
    if not isinstance(following, str) or not 0 < len(following) <= MAX_CURSOR:
        return "the page cursor is invalid"
    return "the server repeated pages" if following in cursors else ""


def _excess(pages: int, items: int, stale: int, max_pages: int, max_items: int) -> str:
    if stale > MAX_STALE:
        return "the server sent no new items"
    return "the list is too long" if pages >= max_pages or items >= max_items else ""
