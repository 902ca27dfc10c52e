"""What links lead to beyond the pages of their space: names, kinds and sizes, asked of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from textual.color import Color

from octavo.api import content, spaces
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef, CollectionRef, OrganizationRef, SiteRef, SpaceRef
from octavo.documents import links
from octavo.documents.emoji import to_emoji
from octavo.tui.reader.linked_files import file_of
from octavo.tui.render.caches import AsyncCache
from octavo.tui.render.link_targets import NOT_HERE, LinkContext, LinkTargets, LinkTitle, TitleQuery, app_origins
from octavo.tui.shell.item_labels import file_summary

if TYPE_CHECKING:
    from octavo.api.content import Page, PageTree
    from octavo.api.spaces import Space
    from octavo.data.live import Live
    from octavo.documents.openapi import Specification
    from octavo.tui.reader.page_view import PageView
    from octavo.tui.shell.shell import Shell


_SPECIFICATIONS = 8
"""How many descriptions of interfaces are kept: one may be of some megabytes."""


class ShowsPage(Protocol):
    """A view of the pages of a space, with one of them on show."""

    space: Space | None
    pages: PageTree | None
    page: Page | None

    @property
    def shell(self) -> Shell: ...

    @property
    def view(self) -> PageView: ...


def name_targets(screen: ShowsPage) -> None:
    """Let the links of the page on show be called by what they lead to."""
    space, tree, page, view = screen.space, screen.pages, screen.page, screen.view
    if space is None or tree is None or page is None:
        return
    sources, octavo = view.contents.sources, screen.shell
    read = (space.organization or "", octavo.session.live.specifications_parsed)
    if sources.specifications is None or sources.specifications_of != read:
        at = OrganizationRef(organization_id=space.organization)
        sources.specifications = AsyncCache(lambda asked: _specification(screen, at, asked), capacity=_SPECIFICATIONS)
        sources.specifications_of = read
    if sources.titles is None:
        is_folder = octavo.session.kind == "folder"
        sources.titles = AsyncCache(
            lambda asked: find(octavo.session.live, asked, octavo.workspace.organization, is_folder=is_folder)
        )
    if octavo.settings.thumbnails and sources.thumbnails is None:
        from octavo.tui.reader.picture_files import thumbnails

        sources.thumbnails = thumbnails(octavo.session, Color.parse(octavo.theme_variables["background"]).rgb)
    before = sources.targets
    ground = before.context if before is not None else None
    if ground is None or ground.tree is not tree or ground.page_ref != space.ref or ground.origins != app_origins(page):
        ground = LinkContext(tree, space.ref, app_origins(page), octavo.session.kind == "folder")

    def space_of(space_id: str) -> LinkTitle | None:
        known = octavo.workspace.space(space_id)
        return LinkTitle(known.title or "Untitled", to_emoji(known.emoji), "space") if known is not None else None

    if before is not None and before.page_id == page.id and before.context is ground:
        return
    sources.targets = LinkTargets(ground, page.id, sources.titles, space_of)
    if before is not None and before.page_id == page.id and before.context.tree != tree:
        view.reset()  # what is on show was set with the names there were


def look_for_new_specifications(screen: ShowsPage) -> None:
    """Show what is described anew, where a specification was read since the page was made."""
    sources, read = screen.view.contents.sources, screen.shell.session.live.specifications_parsed
    if sources.specifications is not None and sources.specifications_of and sources.specifications_of[1] != read:
        name_targets(screen)
        screen.view.reset()


def name_again(screen: ShowsPage) -> None:
    """Ask anew what could not be found when it was asked: the network may be back, or the file."""
    sources = screen.view.contents.sources
    sources.titles = sources.specifications = sources.thumbnails = sources.targets = None
    name_targets(screen)
    screen.view.reset()


async def _specification(screen: ShowsPage, at: OrganizationRef, asked: str | links.Target) -> Specification:
    """What is described under a name, or where an address leads."""
    from octavo.tui.reader import openapi_files  # few pages describe interfaces

    if isinstance(asked, str):
        return await openapi_files.filed(screen.shell.session.live, at, asked)
    place = screen.space.ref if screen.space is not None else None
    return await openapi_files.at_address(screen.shell.session, at, place, asked)


async def find(
    live: Live, asked: TitleQuery, organization: Organization | None, *, is_folder: bool = False
) -> LinkTitle | None:
    """What a link leads to. None when nobody can say now; with a trouble when it leads nowhere. `is_folder`: what is asked
    is a folder, and what is not in it may be elsewhere."""
    from octavo.api import change_requests, collections, sites, users  # what few pages link to is loaded when one does

    target = asked.target
    try:
        match target:
            case links.ToSpace():
                return await _space(live, target)
            case links.ToChangeRequest(space=space, number=number):
                at = ChangeRequestRef(space_id=space, change_request_id=str(number))
                found = await live.cached_or_fetch(change_requests.Get(at=at))
                return LinkTitle(f"#{number} {found.subject or 'Untitled'}", where=f"change request, {found.status}")
            case links.ToFile(name=name):
                file = await file_of(live, asked.page_ref, target)
                return (
                    LinkTitle(file.name or name, where=file_summary(file))
                    if file is not None
                    else LinkTitle(problem=_NO_FILE)
                )
            case links.ToCollection(collection=name):
                collection = await live.cached_or_fetch(collections.Get(at=CollectionRef(collection_id=name)))
                return LinkTitle(collection.title or "Untitled", where="collection")
            case links.ToSite(site=name, organization=within):
                within = within or (organization.id if organization is not None else None)
                if within is None:
                    return None
                site = await live.cached_or_fetch(sites.Get(at=SiteRef(organization_id=within, site_id=name)))
                return LinkTitle(site.title or "Untitled", where="site")
            case links.ToUser(user=name):
                user = await live.cached_or_fetch(users.Get(user_id=name))
                return LinkTitle(f"@{user.display_name or name}", where="member")
    except (NotFound, Forbidden):
        if is_folder:
            return LinkTitle(where=NOT_HERE)
        return LinkTitle(problem=f"The {_CALLED.get(type(target), 'page')} was deleted, or you do not have access.")
    except (ApiError, ValueError):
        return None  # it keeps its own words
    return None


_NO_FILE = "The file was deleted."
_CALLED: dict[type[object], str] = {
    links.ToSpace: "space",
    links.ToChangeRequest: "change request",
    links.ToFile: "file",
    links.ToCollection: "collection",
    links.ToSite: "site",
    links.ToUser: "member",
}


async def _space(live: Live, target: links.ToSpace) -> LinkTitle:
    at = SpaceRef(space_id=target.space)
    space = await live.cached_or_fetch(spaces.Get(at=at))
    where = space.title or "Untitled"
    if target.page is None:
        return LinkTitle(where, to_emoji(space.emoji), "space")
    page = (await live.cached_or_fetch(content.ListPages(at=at))).find_by_name(target.page)
    if page is None:
        return LinkTitle(problem=f"There is no page {target.page} in {where}.")
    return LinkTitle(page.title or "Untitled", to_emoji(page.emoji), f"{where} › {page.path}" if page.path else where)
