"""Operations that load a page: to read it, and to compare or export it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.content import GetPage, Page
from octavo.api.errors import NotFound
from octavo.api.places import ContentRef, RevisionRef
from octavo.data.sync_queue import Rank

if TYPE_CHECKING:
    from octavo.data.live import Live


def get_page_to_read(at: ContentRef, page_id: str) -> GetPage:
    """Return the operation for a page to read, with reusable content inserted if the server can insert it.

    Links stay as written, because users copy them and see them in the source. Paths and names of pages and files are
    resolved by the app.
    """
    return GetPage(at=at, page_id=page_id, format="markdown", dereferenced="reusable-contents")


def get_page_source(at: ContentRef, page_id: str) -> GetPage:
    """Return the operation for a page to compare or export, without the text of its reusable content."""
    return GetPage(at=at, page_id=page_id, format="markdown")


async def find_page(live: Live, op: GetPage, *, rank: Rank = Rank.NOW) -> Page | None:
    """Return a page. None if it does not exist. A cached page of a revision is not fetched again. Raises ApiError."""
    get = live.cached_or_fetch if isinstance(op.at, RevisionRef) else live.fetch
    try:
        page: Page = await get(op, rank=rank)
        return page
    except NotFound:
        return None


def page_markdown(page: Page | None) -> str:
    """Return the Markdown of a page. Empty without a page."""
    return (page.markdown or "") if page is not None else ""
