"""Loads complete lists, pages, and the files that links lead to."""

from __future__ import annotations

from typing import TypeVar

from octavo.api import content
from octavo.api.content import File, GetPage, Page
from octavo.api.errors import NotFound
from octavo.api.folding import fold
from octavo.api.operation import MAX_ITEMS, ContentRef, Listing, ListPage, RevisionRef, read_pages
from octavo.data.live import Live
from octavo.data.sync_queue import Rank
from octavo.documents.links import ASSETS, FileLink

T = TypeVar("T")
FILES_PER_REQUEST = 1000
"""Number of files that each request returns when a file is searched by path or name."""


async def all_items(live: Live, op: Listing[T], *, is_fresh: bool = True) -> tuple[T, ...]:
    """Load all items of a list. If not `is_fresh`, accept cached items. Raises ApiError, also for an endless list."""
    value: ListPage[T] = await (live.fetch(op) if is_fresh else live.cached_or_fetch(op))
    if value.next is not None:
        await live.fetch_pages(op, MAX_ITEMS)
        snapshot = live.peek(op)
        if snapshot.error is not None:
            raise snapshot.error
        value = snapshot.value or value
    if value.next is None:
        return tuple(value.items)
    # `Live` loads at most `MAX_PAGES` pages, so the other pages are loaded here.
    further_items = [item async for page in read_pages(live.send, op, after=value) for item in page.items]
    return (*value.items, *further_items)


def page_to_read_op(at: ContentRef, page_id: str) -> GetPage:
    """Return the operation that loads a page for reading. The server inserts the reusable content if it can."""
    return GetPage(at=at, page_id=page_id, format="markdown", dereferenced="reusable-contents")


def page_source_op(at: ContentRef, page_id: str) -> GetPage:
    """Return the operation that loads a page for diffs and exports. References to reusable content stay references."""
    return GetPage(at=at, page_id=page_id, format="markdown")


async def find_page(live: Live, op: GetPage, *, rank: Rank = Rank.NOW) -> Page | None:
    """Load a page. A page of a revision may come from the cache. None if it does not exist. Raises ApiError."""
    load = live.cached_or_fetch if isinstance(op.at, RevisionRef) else live.fetch
    try:
        page: Page = await load(op, rank=rank)
        return page
    except NotFound:
        return None


def page_markdown(page: Page | None) -> str:
    """Return the Markdown of a page. Empty if `page` is None."""
    return (page.markdown or "") if page is not None else ""


async def find_file(live: Live, at: ContentRef, target: FileLink) -> File | None:
    """Return the linked file. None if the linked ID is invalid, or no file has the path or name. Raises ApiError."""
    if target.file_id:
        try:
            op = content.GetFile(at=at, file_id=target.file_id)
        except ValueError:
            return None
        return await live.cached_or_fetch(op)
    files = await all_items(live, content.ListFiles(at=at, limit=FILES_PER_REQUEST), is_fresh=False)
    named_files = [file for file in files if file.git is None or ASSETS in target.path]
    same_path = (file for file in files if file.git is not None and file.git.path == target.path)
    same_name = (file for file in named_files if file.name == target.name)
    similar_path = (file for file in files if file.git is not None and fold(file.git.path or "") == fold(target.path))
    similar_name = (file for file in named_files if fold(file.name) == fold(target.name))
    return next(same_path, None) or next(same_name, None) or next(similar_path, None) or next(similar_name, None)
