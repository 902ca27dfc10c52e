"""Titles of link targets outside the space, loaded from the server, with their kind and size."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.color import Color

from octavo.api import content, spaces
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef, CollectionRef, OrganizationRef, SiteRef, SpaceRef
from octavo.data.loaders import file_of
from octavo.documents import links
from octavo.documents.emoji import to_emoji
from octavo.lazy_import import lazy
from octavo.tui.core.item_labels import file_summary
from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.link_targets import (
    NOT_AVAILABLE_OFFLINE,
    LinkContext,
    LinkTargets,
    LinkTitle,
    TitleQuery,
    app_origins,
)

if TYPE_CHECKING:
    from octavo.api.content import Page, PageTree
    from octavo.api.spaces import Space
    from octavo.data.live import Live
    from octavo.documents.openapi import Specification
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell
    from octavo.tui.reader.page_view import PageView

_thumbnails = lazy("octavo.tui.reader.linked_files:thumbnails")
_load_by_slug = lazy("octavo.tui.reader.linked_files:load_by_slug")
_load_from_link = lazy("octavo.tui.reader.linked_files:load_from_link")
_get_change_request = lazy("octavo.api.change_requests:Get")
_get_collection = lazy("octavo.api.collections:Get")
_get_site = lazy("octavo.api.sites:Get")
_get_user = lazy("octavo.api.users:Get")

_SPECIFICATIONS = 8
"""Maximum number of cached OpenAPI specifications. Each may take some megabytes."""


class ShownPage(NamedTuple):
    """A page with everything that its links need: the view that shows the page, its space and the page tree."""

    shell: Shell
    view: PageView
    space: Space | None
    pages: PageTree | None
    page: Page | None


def set_link_targets(shown: ShownPage) -> None:
    """Set the sources from which the links of a page get their titles, images and OpenAPI specifications."""
    shell, view, space, tree, page = shown
    if space is None or tree is None or page is None:
        return
    deferred = view.contents.deferred
    version = (space.id, shell.session.live.specifications_parsed)
    if deferred.specifications is None or deferred.specifications_of != version:
        at = OrganizationRef(organization_id=space.organization)
        deferred.specifications = AsyncCache(
            lambda query: _specification(shell.session, at, space.ref, query), capacity=_SPECIFICATIONS
        )
        deferred.specifications_of = version
    if deferred.titles is None:
        is_folder = shell.session.kind == "folder"
        deferred.titles = AsyncCache(
            lambda query: find_title(shell.session.live, query, shell.workspace.organization, is_folder=is_folder)
        )
    if shell.settings.thumbnails and deferred.thumbnails is None:
        deferred.thumbnails = _thumbnails(shell.session, Color.parse(shell.theme_variables["background"]).rgb)
    before = deferred.targets
    context = before.context if before is not None else None
    if (
        context is None
        or context.tree is not tree
        or context.page_ref != space.ref
        or context.origins != app_origins(page)
    ):
        context = LinkContext(tree, space.ref, app_origins(page), shell.session.kind == "folder")

    def space_of(space_id: str) -> LinkTitle | None:
        known = shell.workspace.space(space_id)
        return LinkTitle(known.title or "Untitled", to_emoji(known.emoji), "space") if known is not None else None

    if before is not None and before.page_id == page.id and before.context is context:
        return
    deferred.targets = LinkTargets(context, page.id, deferred.titles, space_of)
    if before is not None and before.page_id == page.id and before.context.tree != tree:
        view.reset_lines()  # Visible links still have the old titles.


def show_new_specifications(shown: ShownPage) -> None:
    """Show new versions of OpenAPI specifications that were loaded since the page was shown."""
    deferred, version = shown.view.contents.deferred, shown.shell.session.live.specifications_parsed
    if deferred.specifications is not None and deferred.specifications_of and deferred.specifications_of[1] != version:
        set_link_targets(shown)
        shown.view.reset_lines()


def reload_link_titles(shown: ShownPage) -> None:
    """Request all titles again, including those that could not be loaded before."""
    deferred = shown.view.contents.deferred
    deferred.titles = deferred.specifications = deferred.thumbnails = deferred.targets = None
    set_link_targets(shown)
    shown.view.reset_lines()


async def _specification(
    session: Session, at: OrganizationRef, location: SpaceRef, query: str | links.Target
) -> Specification:
    """Return the OpenAPI specification with a slug, or the specification that a link on a page of `location` leads
    to."""
    found: Specification
    if isinstance(query, str):
        found = await _load_by_slug(session.live, at, query)
    else:
        found = await _load_from_link(session, at, location, query)
    return found


async def find_title(
    live: Live, query: TitleQuery, organization: Organization | None, *, is_folder: bool = False
) -> LinkTitle | None:
    """Return the title of a link target. None if the server cannot be reached."""
    target = query.target
    try:
        match target:
            case links.SpaceLink():
                return await _space(live, target)
            case links.ChangeRequestLink(space=space, number=number):
                at = ChangeRequestRef(space_id=space, change_request_id=str(number))
                found = await live.cached_or_fetch(_get_change_request(at=at))
                return LinkTitle(f"#{number} {found.subject or 'Untitled'}", where=f"change request, {found.status}")
            case links.FileLink(name=name):
                file = await file_of(live, query.page_ref, target)
                return (
                    LinkTitle(file.name or name, where=file_summary(file))
                    if file is not None
                    else LinkTitle(problem=_NO_FILE)
                )
            case links.CollectionLink(collection=name):
                collection = await live.cached_or_fetch(_get_collection(at=CollectionRef(collection_id=name)))
                return LinkTitle(collection.title or "Untitled", where="collection")
            case links.SiteLink(site=name, organization=within):
                within = within or (organization.id if organization is not None else None)
                if within is None:
                    return None
                site = await live.cached_or_fetch(_get_site(at=SiteRef(organization_id=within, site_id=name)))
                return LinkTitle(site.title or "Untitled", where="site")
            case links.UserLink(user=name):
                user = await live.cached_or_fetch(_get_user(user_id=name))
                return LinkTitle(f"@{user.display_name or name}", where="member")
    except (NotFound, Forbidden):
        if is_folder:
            return LinkTitle(where=NOT_AVAILABLE_OFFLINE)
        return LinkTitle(problem=f"The {_KIND_NAMES.get(type(target), 'page')} was deleted, or you do not have access.")
    except (ApiError, ValueError):
        return None  # The link keeps its own text.
    return None


_NO_FILE = "The file was deleted."
_KIND_NAMES: dict[type[object], str] = {
    links.SpaceLink: "space",
    links.ChangeRequestLink: "change request",
    links.FileLink: "file",
    links.CollectionLink: "collection",
    links.SiteLink: "site",
    links.UserLink: "member",
}


async def _space(live: Live, target: links.SpaceLink) -> LinkTitle:
    at = SpaceRef(space_id=target.space)
    space = await live.cached_or_fetch(spaces.Get(at=at))
    where = space.title or "Untitled"
    if target.page is None:
        return LinkTitle(where, to_emoji(space.emoji), "space")
    page = (await live.cached_or_fetch(content.ListPages(at=at))).find_by_name(target.page)
    if page is None:
        return LinkTitle(problem=f"There is no page {target.page} in {where}.")
    return LinkTitle(page.title or "Untitled", to_emoji(page.emoji), f"{where} › {page.path}" if page.path else where)
