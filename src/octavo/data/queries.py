"""Operations for the lists and pages that several callers request. Equal operations share one request and one cached
response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from octavo.api import comments, content
from octavo.api.collections import List as ListCollections
from octavo.api.content import File, GetPage, Page
from octavo.api.errors import NotFound
from octavo.api.folding import fold
from octavo.api.places import ChangeRequestRef, ContentRef, Discussion, OrganizationRef, RevisionRef
from octavo.api.spaces import List as ListSpaces
from octavo.data.sync_queue import Rank

if TYPE_CHECKING:
    from octavo.api import reviews
    from octavo.api.change_requests import ListOfOrganization, Status
    from octavo.data.live import Live
    from octavo.documents.links import FileLink

PAGE_LIMIT = 1000
"""Number of items on a page: the maximum that the API allows."""
UNDECIDED: tuple[Literal["open", "draft"], ...] = ("open", "draft")
"""Statuses of a change request that is neither merged nor archived."""
_DECIDED_LIMIT = 100
"""Number of merged or archived change requests on a page. Views show only the first page."""
MOST_FILES = 1000
"""Maximum number of files that are listed to find a file by its name."""


def spaces_of(organization_id: str) -> ListSpaces:
    """Return the operation that lists all spaces of an organization."""
    return ListSpaces(at=OrganizationRef(organization_id=organization_id), limit=PAGE_LIMIT)


def collections_of(organization_id: str) -> ListCollections:
    """Return the operation that lists all collections of an organization."""
    return ListCollections(at=OrganizationRef(organization_id=organization_id), nested=True, limit=PAGE_LIMIT)


def change_requests_of(organization_id: str, status: Status) -> ListOfOrganization:
    """Return the operation that lists the change requests of an organization with a status."""
    from octavo.api.change_requests import ListOfOrganization  # lazy: not on the first screen

    at = OrganizationRef(organization_id=organization_id)
    return ListOfOrganization(at=at, status=status, limit=PAGE_LIMIT if status in UNDECIDED else _DECIDED_LIMIT)


def reviews_of(at: ChangeRequestRef) -> reviews.List:
    """Return the operation that lists the reviews of a change request."""
    from octavo.api import reviews  # lazy: not on the first screen

    return reviews.List(at=at, format="markdown", limit=PAGE_LIMIT)


def requested_of(at: ChangeRequestRef) -> reviews.ListRequested:
    """Return the operation that lists the requested reviewers of a change request."""
    from octavo.api import reviews  # lazy: not on the first screen

    return reviews.ListRequested(at=at, limit=PAGE_LIMIT)


def open_threads_of(at: Discussion) -> comments.List:
    """Return the operation that lists the open threads of a space or change request."""
    return comments.List(at=at, status="open", format="markdown", limit=PAGE_LIMIT)


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


async def file_of(live: Live, at: ContentRef, target: FileLink) -> File | None:
    """Return the file of a link by its id, path or name. None if there is none. Raise ApiError if it cannot be
    loaded."""
    if target.file:
        try:
            op = content.GetFile(at=at, file_id=target.file)
        except ValueError:
            return None
        return await live.cached_or_fetch(op)
    files = (await live.cached_or_fetch(content.ListFiles(at=at, limit=MOST_FILES))).items
    same_path = (file for file in files if file.git is not None and file.git.path == target.path)
    same_name = (file for file in files if file.name == target.name)
    similar_path = (file for file in files if file.git is not None and fold(file.git.path or "") == fold(target.path))
    similar_name = (file for file in files if fold(file.name) == fold(target.name))
    return next(same_path, None) or next(same_name, None) or next(similar_path, None) or next(similar_name, None)
