"""A site with its sections, groups and site spaces, as the caller sees it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from octavo.api import site_structure
from octavo.api.places import SiteRef
from octavo.server.handlers import site_tree
from octavo.server.handlers.permissions import allows, organization_role, role
from octavo.server.handlers.site_tree import SitePart, SiteParts, SiteTree
from octavo.server.handlers.spaces import present_space
from octavo.server.rest import omit, presents
from octavo.server.store import Json
from octavo.server.world import World


@dataclass(frozen=True)
class SiteView:
    """Parts of a site that are visible to the caller.

    Audiences of a published site see all its spaces, others only the spaces they have a role in. Empty sections and
    groups are visible to people who may edit the site.
    """

    world: World
    tree: SiteTree
    share_key: str | None = None
    as_visitor: bool = False
    """True if a member sees only what the audience of the site sees."""

    @cached_property
    def _is_public(self) -> bool:
        return site_tree.is_in_audience(self.world, self.tree, self.share_key)

    @cached_property
    def _shows_empty(self) -> bool:
        # Visitors do not see empty sections, whose titles may reveal the title of a hidden space.
        return not self.as_visitor and allows(organization_role(self.world, self.tree.site["organization"]), "create")

    def sees(self, part: SitePart) -> bool:
        """Return whether the caller may see `part`, a site space."""
        return self._is_public or role(self.world, self.tree.spaces[part.document["space"]]) is not None

    def site_spaces(self) -> SiteParts:
        """Return the visible site spaces in the order of the site."""
        return [part for part in self.tree.existing_site_spaces() if self.sees(part)]

    def sections(self) -> SiteParts:
        """Return the visible sections in the order of the site."""
        return [
            part for part in self.tree.sections() if self._shows_empty or self._visible_site_spaces_in(part.document)
        ]

    def structure(self) -> Json:
        """Return the structure of the site."""
        root = self.tree.existing_site_spaces_in(None)
        if self.tree.parts and not root:
            return {"type": "sections", "structure": self._children(None)}
        return {"type": "siteSpaces", "structure": [self.site_space(part.document) for part in root if self.sees(part)]}

    def part(self, document: Json) -> Json:
        """Return the API resource of a site space, section or group, by the type of its document."""
        match document["object"]:
            case "site-space":
                return self.site_space(document)
            case "site-section":
                return self.section(document)
            case _:
                return self.group(document)

    def site_space(self, document: Json) -> Json:
        """Return a site space with its space."""
        space = self.tree.spaces[document["space"]]
        return {
            **_public_fields(document),
            "title": space["title"],
            "default": document["id"] == self.tree.default_space(document.get("section")),
            "space": present_space(self.world, space),
            "urls": self._urls(site_tree.site_space_url, document),
        }

    def section(self, document: Json) -> Json:
        """Return a section with its site spaces."""
        return {
            **_public_fields(document),
            "default": document["id"] == self.tree.default_section(),
            "siteSpaces": self._visible_site_spaces_in(document),
            "urls": self._urls(site_tree.section_url, document),
        }

    def group(self, document: Json) -> Json:
        """Return a group with its sections and groups."""
        children = self._children(document["id"])
        sections = [child for child in children if child["object"] == "site-section"]
        return {**_public_fields(document), "sections": sections, "children": children}

    def _children(self, group: str | None) -> list[Json]:
        children = (self.part(part.document) for part in self.tree.parts_in("site-section", group))
        return [child for child in children if self._shows_empty or child.get("siteSpaces") or child.get("children")]

    def _visible_site_spaces_in(self, section: Json) -> list[Json]:
        return [
            self.site_space(part.document)
            for part in self.tree.existing_site_spaces_in(section["id"])
            if self.sees(part)
        ]

    def _urls(self, address: Any, document: Json) -> Json:
        return site_tree.published_urls(self.tree, address(self.world, self.tree, document, self.share_key))


def site_view(world: World, at: SiteRef, share_key: str | None = None, *, as_visitor: bool = False) -> SiteView:
    """Return the view of a site for the caller."""
    tree = site_tree.load_site(world, f"/orgs/{at.organization_id}/sites/{at.site_id}")
    return SiteView(world, tree, share_key, as_visitor)


def _public_fields(document: Json) -> Json:
    return omit(document, "organization", "site", "position", "defaultSiteSpace")


@presents(site_structure.SiteSpace)
@presents(site_structure.SiteSection)
@presents(site_structure.SectionGroup)
def present_part(world: World, document: Json) -> Json:
    """Return a site space, section or group as the caller sees it."""
    return SiteView(world, site_tree.load_site_of(world, document)).part(document)
