"""Pages as they are asked for: to be read, and as a place has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.content import GetPage, Page
from octavo.api.errors import NotFound
from octavo.api.places import ContentRef, RevisionRef
from octavo.data.sync_queue import Rank

if TYPE_CHECKING:
    from octavo.data.live import Live


def page_to_read(at: ContentRef, page_id: str) -> GetPage:
    """What is asked for a page that is read: with what it includes in its place, where the server can give that.

    Its links stay as they are written, for that is what one copies and sees as its source: pages and files are known
    by their paths and names as well as by their ids.
    """
    return GetPage(at=at, page_id=page_id, format="markdown", dereferenced="reusable-contents")


def page_as_written(at: ContentRef, page_id: str) -> GetPage:
    """What is asked for a page that is compared or taken along: what it includes is not its own."""
    return GetPage(at=at, page_id=page_id, format="markdown")


async def page_there(live: Live, op: GetPage, *, rank: Rank = Rank.NOW) -> Page | None:
    """Return a page. None if it does not exist. A cached page of a revision is not fetched again. Raises ApiError."""
    get = live.cached_or_fetch if isinstance(op.at, RevisionRef) else live.fetch
    try:
        page: Page = await get(op, rank=rank)
        return page
    except NotFound:
        return None


def text_of(page: Page | None) -> str:
    """The Markdown of a page, nothing where there is none."""
    return (page.markdown or "") if page is not None else ""
