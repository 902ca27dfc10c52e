"""Sites for tests of published content."""

from __future__ import annotations

from octavo.api import site_structure as structure
from octavo.api import sites
from octavo.api.operation import SiteRef
from octavo.api.site_structure import Pointer, Position, SectionGroup, SiteSection, SiteSpace
from octavo.api.spaces import Space
from tests.server.small_platform import ACME, Ask, space_with

Titles = list[object]
"""Titles of parts. The title of a group is followed by the list of its parts."""


async def create_site(ask: Ask, *spaces: Space) -> SiteRef:
    """Create a site of acme with these spaces, as ada."""
    site = await ask(sites.Create(at=ACME, title="Docs", spaces=tuple(space.id for space in spaces)))
    return SiteRef(organization_id="acme", site_id=site.id)


async def add_section(ask: Ask, at: SiteRef, title: str) -> SiteSection:
    """Add a section to a site, with one new space of the same title."""
    return await ask(structure.CreateSection(at=at, space_id=(await space_with(ask, title)).id))


async def create_site_with_sections(ask: Ask, *titles: str) -> tuple[SiteRef, dict[str, SiteSection]]:
    """Create a site with these sections, each with one space of the same title."""
    at = await create_site(ask)
    return at, {title: await add_section(ask, at, title) for title in titles}


def outline(parts: tuple[structure.SitePart, ...]) -> Titles:
    """Return the titles of the parts. Each group is followed by the list of its parts."""
    found: Titles = []
    for part in parts:
        found.append(part.title)
        if isinstance(part, SectionGroup):
            found.append(outline(part.children))
    return found


async def tree_of(ask: Ask, at: SiteRef) -> Titles:
    """Return the titles of all parts of a site, in order."""
    return outline((await ask(structure.Get(at=at))).structure)


async def site_spaces_of(ask: Ask, at: SiteRef, **wanted: bool) -> dict[str, SiteSpace]:
    """Return the site spaces of a site by title."""
    return {each.title: each for each in (await ask(structure.ListSiteSpaces(at=at, **wanted))).items}


def before_part(part: SiteSection | SectionGroup | SiteSpace) -> Position:
    """Return the position before a part."""
    return Position(before=pointer_to(part))


def after_part(part: SiteSection | SectionGroup | SiteSpace) -> Position:
    """Return the position after a part."""
    return Position(after=pointer_to(part))


def pointer_to(part: SiteSection | SectionGroup | SiteSpace) -> Pointer:
    """Return the pointer to a part."""
    return Pointer(type=part.object, id=part.id)
