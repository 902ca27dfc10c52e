"""Pages, spaces and users as rows of `octavo show`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from octavo.api.content import Page
from octavo.api.places import ContentRef
from octavo.api.spaces import Space
from octavo.api.users import User
from octavo.cli.output import Field
from octavo.cli.refs import Target, short_name
from octavo.data.loaders import get_page_to_read
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from octavo.data.live import Live

_parse = lazy("octavo.documents.source_reader:parse")  # lazy: for the outline only


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
