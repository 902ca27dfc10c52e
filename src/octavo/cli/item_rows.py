"""Change requests, pages, spaces and users as rows of `octavo changes`, `octavo show` and `octavo review`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Any

from octavo.api.change_requests import ChangeRequest
from octavo.api.content import ListChanges, Page
from octavo.api.places import ChangeRequestRef, ContentRef
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.cli.output import Field
from octavo.cli.refs import Ref, References, Target, short_name
from octavo.data.loaders import get_page_to_read
from octavo.data.queries import PAGE_LIMIT, UNDECIDED, open_threads_of, requested_of, reviews_of
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.data.live import Live

_parse = lazy("octavo.documents.source_reader:parse")  # lazy: for the outline only


CHANGE_FIELDS = (
    Field("number", "integer"),
    Field("id", "string"),
    Field("ref", "string"),
    Field("space", "object"),
    Field("subject", "string"),
    Field("status", "string"),
    Field("author", "string?"),
    Field("createdAt", "time?"),
    Field("updatedAt", "time?"),
    Field("revision", "string?"),
    Field("outdated", "boolean"),
    Field("url", "string?"),
    Field("description", "string", is_extra=True),
    Field("reviewers", "object[]", is_extra=True),
    Field("threadsOpen", "integer", is_extra=True),
    Field("pagesChanged", "integer", is_extra=True),
    Field("mergedAt", "time?", is_extra=True),
)


async def change_row(
    references: References, change_request: ChangeRequest, space: Space | None, wanted: AbstractSet[str]
) -> dict[str, Any]:
    """Return the row of a change request. `space` is None if its space is unknown. Fields that cost a request are only
    loaded if they are in `wanted`. Raises ApiError."""
    live = references.live
    space_id = space.id if space is not None else change_request.space or ""
    name = await references.name_of(space_id)
    row: dict[str, Any] = {
        "number": change_request.number,
        "id": change_request.id,
        "ref": str(Ref(name, change_request.number)),
        "space": {"id": space_id, "title": space.title if space is not None else ""},
        "subject": change_request.title,
        "status": change_request.status,
        "author": change_request.created_by.name if change_request.created_by is not None else None,
        "createdAt": change_request.created_at,
        "updatedAt": change_request.updated_at,
        "revision": change_request.revision,
        "outdated": change_request.outdated,
        "url": change_request.urls.app,
        "description": change_request.description_text,
        "mergedAt": change_request.merged_at,
    }
    at = ChangeRequestRef(space_id=space_id, change_request_id=change_request.id)
    if wanted & {"reviewers", "review"} and (change_request.status in UNDECIDED or "reviewers" in wanted):
        row["reviewers"] = reviewers = await load_reviewers(live, at, change_request)
        row["review"] = review_state(change_request, reviewers)
    if "threadsOpen" in wanted:
        threads = await live.fetch(open_threads_of(at))
        row["threadsOpen"] = sum(each.is_open_thread for each in threads.items)
    if "pagesChanged" in wanted:
        changes = await live.fetch(ListChanges(at=at, limit=PAGE_LIMIT))
        pages = {each.page.id for each in changes.changes if each.page is not None}
        row["pagesChanged"] = len(pages) + changes.more
    return row


async def load_reviewers(live: Live, at: ChangeRequestRef, change_request: ChangeRequest) -> list[dict[str, Any]]:
    """Return the reviewers of a change request and the requested reviewers, each with `id`, `name`, `status` and
    `outdated`. Raises ApiError."""
    reviews, requested = await asyncio.gather(live.fetch(reviews_of(at)), live.fetch(requested_of(at)))
    found = [
        {
            "id": each.reviewer.id,
            "name": each.reviewer.name,
            "status": each.status,
            "outdated": each.revision is not None and each.revision != change_request.revision,
        }
        for each in reviews.items
        if not each.outdated
    ]
    return found + [
        {"id": each.user.id, "name": each.user.name, "status": "requested", "outdated": False}
        for each in requested.items
        if each.user is not None
    ]


def review_state(change_request: ChangeRequest, reviewers: Sequence[Mapping[str, Any]]) -> str:
    """Return the first of these states that applies: `changes requested`, `outdated`, `approved`, `approval outdated`,
    `review requested`. Empty if none applies."""
    statuses = {(each["status"], each["outdated"]) for each in reviewers}
    if ("changes-requested", False) in statuses or ("changes-requested", True) in statuses:
        return "changes requested"
    if change_request.outdated:
        return "outdated"
    if ("approved", False) in statuses:
        return "approved"
    if ("approved", True) in statuses:
        return "approval outdated"
    return "review requested" if reviewers else ""


PAGE_FIELDS = (
    Field("id", "string"),
    Field("ref", "string"),
    Field("title", "string"),
    Field("path", "string?"),
    Field("space", "object"),
    Field("revision", "string?"),
    Field("updatedAt", "time?"),
    Field("url", "string?"),
    Field("description", "string?", is_extra=True),
    Field("markdown", "string", is_extra=True),
    Field("outline", "object[]", is_extra=True),
    Field("threads", "object[]", is_extra=True),
)
SPACE_FIELDS = (
    Field("id", "string"),
    Field("ref", "string"),
    Field("title", "string"),
    Field("organization", "string?"),
    Field("revision", "string?"),
    Field("updatedAt", "time?"),
    Field("changesOpen", "integer"),
    Field("threadsOpen", "integer"),
    Field("url", "string?"),
    Field("pages", "object[]", is_extra=True),
)
USER_FIELDS = (
    Field("id", "string"),
    Field("ref", "string"),
    Field("name", "string"),
    Field("email", "string?"),
    Field("url", "string?"),
)


async def load_page(live: Live, at: ContentRef, page_id: str) -> Page:
    """Return a page with its text, as readers see it. Raises ApiError."""
    page: Page = await live.fetch(get_page_to_read(at, page_id))
    return page


def page_row(target: Target, page: Page, revision: str | None) -> dict[str, Any]:
    """Return the row of a page that was loaded with its text, without `threads`."""
    return {
        "id": page.id,
        "ref": str(target.ref),
        "title": page.title,
        "path": page.path,
        "space": {"id": target.space.id, "title": target.space.title},
        "revision": revision,
        "updatedAt": page.updated_at,
        "url": page.urls.app,
        "description": page.description,
        "markdown": page.markdown or "",
    }


def outline_of(markdown: str) -> list[dict[str, Any]]:
    """Return the headings of a page, each with `level`, `title` and `anchor`."""
    return [{"level": each.level, "title": each.title, "anchor": each.anchor} for each in _parse(markdown).headings]


def space_row(space: Space, spaces: Sequence[Space]) -> dict[str, Any]:
    """Return the row of a space, without `pages`."""
    return {
        "id": space.id,
        "ref": short_name(space, spaces),
        "title": space.title,
        "organization": space.organization,
        "revision": space.revision,
        "updatedAt": space.updated_at,
        "changesOpen": space.change_requests_open,
        "threadsOpen": space.comments,
        "url": space.urls.app,
    }


def user_row(user: User) -> dict[str, Any]:
    """Return the row of a user."""
    return {"id": user.id, "ref": f"@{user.id}", "name": user.name, "email": user.email, "url": user.urls.app}
