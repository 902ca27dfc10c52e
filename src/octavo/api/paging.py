"""Reads lists page by page, and stops if a server sends an endless list."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any, TypeVar

from pydantic_core import to_json

from octavo.api.errors import PaginationError
from octavo.api.operation import Listing, ListPage

Item = TypeVar("Item")

MAX_PAGES = 1000
MAX_ITEMS = 100_000
MAX_STALE = 10
"""Maximum number of successive pages without a new item. An empty page is not the end of a list."""
MAX_CURSOR = 4096


def own_id(item: Any) -> str | None:
    """Return the id of an item. None if items of this type have no id."""
    own = item.get("id") if isinstance(item, dict) else getattr(item, "id", None)
    return own if isinstance(own, str) else None


def identity(item: Any) -> str:
    """Return the id of an item. If it has no id, return the whole item as JSON."""
    return own_id(item) or to_json(item).decode()


async def read_pages(
    send: Callable[[Listing[Item]], Awaitable[ListPage[Item]]],
    op: Listing[Item],
    *,
    after: ListPage[Item] | None = None,
    identity: Callable[[Item], str | None] = own_id,
    max_pages: int = MAX_PAGES,
    max_items: int = MAX_ITEMS,
) -> AsyncGenerator[ListPage[Item], None]:
    """Yield the pages of a list, without items that were on earlier pages. If `after` is set, start with the page that
    follows it.

    Raises PaginationError if the list does not end, and any error of `send`.
    """
    last = after

    async def fetch(cursor: str | None) -> tuple[Sequence[Item], object]:
        nonlocal last
        last = await send(op if cursor is None else op.model_copy(update={"page": cursor}))
        return last.items, last.next.page if last.next else None

    start = after.next.page if after is not None and after.next is not None else None
    read = after.items if after is not None else ()
    async for items in walk_pages(fetch, identity, start=start, read=read, max_pages=max_pages, max_items=max_items):
        assert last is not None, "a page was fetched"
        yield last if len(items) == len(last.items) else last.model_copy(update={"items": tuple(items)})


async def walk_pages(
    fetch: Callable[[str | None], Awaitable[tuple[Sequence[Item], object]]],
    identity: Callable[[Item], str | None],
    *,
    start: object = None,
    read: Sequence[Item] = (),
    max_pages: int = MAX_PAGES,
    max_items: int = MAX_ITEMS,
) -> AsyncGenerator[list[Item], None]:
    """Yield the new items of each page. `fetch(cursor)` returns the items and the next cursor. The cursor is None at
    the end of the list.

    `start` is the first cursor, and `read` has the items of earlier pages. An item without identity always counts as
    new. Raises PaginationError if the list does not end.
    """
    cursors: set[object] = set()
    seen = {identity(item) for item in read}
    count, pages, stale = len(read), 0, 0

    def check_cursor(cursor: object) -> str:
        if reason := _refusal(cursor, cursors) or _excess(stale, pages >= max_pages or count >= max_items):
            items = "1 item" if count == 1 else f"{count} items"
            raise PaginationError(f"Could not load the whole list: {reason}. Only {items} could be loaded.")
        cursors.add(cursor)
        return str(cursor)

    cursor = None if start is None else check_cursor(start)
    while True:
        items, next_cursor = await fetch(cursor)
        pages += 1
        fresh: list[Item] = []
        for item in items:
            key = identity(item)
            if key is None or key not in seen:
                seen.add(key)
                fresh.append(item)
        yield fresh
        if next_cursor is None:
            return
        count += len(fresh)
        stale = 0 if fresh else stale + 1
        cursor = check_cursor(next_cursor)


def _refusal(cursor: object, used: set[object]) -> str:
    if not isinstance(cursor, str) or not 0 < len(cursor) <= MAX_CURSOR:
        return "the server sent an invalid cursor"
    return "the server sent the same part of the list twice" if cursor in used else ""


def _excess(stale: int, is_long: bool) -> str:
    if stale >= MAX_STALE:
        return "the server sent no new items"
    return "the list is too long" if is_long else ""
