"""Operations that load a page for reading, comparing or exporting."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.content import GetPage, Page
from octavo.api.errors import NotFound
from octavo.api.places import ContentRef, RevisionRef
from octavo.data.sync_queue import Rank

if TYPE_CHECKING:
    from octavo.data.live import Live


def get_page_to_read(at: ContentRef, page_id: str) -> GetPage:
    """Return the operation that loads a page for reading. The server inserts reusable content if it supports that.
    Links are not rewritten, because users copy them and see them in the source."""
    return GetPage(at=at, page_id=page_id, format="markdown", dereferenced="reusable-contents")


def get_page_source(at: ContentRef, page_id: str) -> GetPage:
    """Return the operation that loads a page for comparing or exporting, without its reusable content."""
    return GetPage(at=at, page_id=page_id, format="markdown")


async def find_page(live: Live, op: GetPage, *, rank: Rank = Rank.NOW) -> Page | None:
    """Load a page, or return None if it does not exist. Pages of a revision come from the cache. Raises ApiError."""
    get = live.cached_or_fetch if isinstance(op.at, RevisionRef) else live.fetch
    try:
        page: Page = await get(op, rank=rank)
        return page
    except NotFound:
        return None


def page_markdown(page: Page | None) -> str:
    """Return the Markdown of a page. Empty if `page` is None."""
    return (page.markdown or "") if page is not None else ""
