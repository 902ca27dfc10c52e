"""What stands where on a site, as it is filed.

Sections and groups of sections stand in rows, at the root or in a group; site spaces stand in sections, or at the
root of a site that has no sections. A space that was deleted keeps its place on the site for as long as it can be
restored, and nobody is shown it there. The default one of a row is the one that was chosen, as long as it can be
shown; else the first that can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from octavo.api.places import SiteRef
from octavo.server.handlers.permissions import membership, organization_role, role
from octavo.server.rest import order_key
from octavo.server.store import Json, MissingResource
from octavo.server.world import World

FOLDERS = {"site-space": "site-spaces", "site-section": "sections", "site-section-group": "section-groups"}
"""Where the parts of a site are filed below it, by what they are."""
HOLDER_FIELDS = {"site-space": "section", "site-section": "sectionGroup", "site-section-group": "sectionGroup"}
"""The field that says what a part stands in."""


class SitePart(NamedTuple):
    """A site space, a section or a group, with what orders it and where it is filed."""

    key: tuple[int, ...]
    path: str
    document: Json


SiteRow = list[SitePart]


@dataclass(frozen=True)
class SiteTree:
    """A site and all its parts."""

    path: str
    site: Json
    site_spaces: dict[str | None, SiteRow]
    """By section, in their order. Those of no section are of the root."""
    parts: dict[str | None, SiteRow]
    """Sections and groups by group, in their order. Those of no group are of the root."""
    spaces: dict[str, Json]
    """The spaces that are not deleted, by id."""

    def walk(self, group: str | None = None, above: tuple[int, ...] = ()) -> Iterator[SitePart]:
        """Sections and groups in the order of the whole site, with what orders them there."""
        for part in self.parts.get(group, ()):
            key = above + part.key
            yield part._replace(key=key)
            if part.document["object"] == "site-section-group":
                yield from self.walk(part.document["id"], key)

    def sections(self) -> SiteRow:
        """All sections, in the order of the whole site."""
        return [part for part in self.walk() if part.document["object"] == "site-section"]

    def row(self, kind: str, holder: str | None) -> SiteRow:
        """The neighbours of a part of this kind in a section or group, or at the root."""
        rows = self.site_spaces if kind == "site-space" else self.parts
        return rows.get(holder, [])

    def live(self, section: str | None) -> SiteRow:
        """The site spaces of a section, or of the root, whose spaces are not deleted."""
        return [part for part in self.row("site-space", section) if part.document["space"] in self.spaces]

    def all_live(self) -> SiteRow:
        """Every site space whose space is not deleted, in the order of the whole site."""
        below = (
            part._replace(key=section.key + part.key)
            for section in self.sections()
            for part in self.live(section.document["id"])
        )
        return [*self.live(None), *below]

    def default_section(self) -> str | None:
        """The id of the section where visitors begin."""
        sections = [part.document["id"] for part in self.sections()]
        able = [section for section in sections if self.live(section)] or sections
        chosen = self.site.get("defaultSiteSection")
        return chosen if chosen in able else next(iter(able), None)

    def default_space(self, section: str | None) -> str | None:
        """The id of the site space where visitors begin in a section, or at the root."""
        holder = self.section(section) if section else self.site
        able = [part.document["id"] for part in self.live(section)]
        chosen = holder.get("defaultSiteSpace")
        return chosen if chosen in able else next(iter(able), None)

    def section(self, section: str) -> Json:
        """The section of this id."""
        return next(part.document for part in self.sections() if part.document["id"] == section)

    def holds(self, space_id: str) -> bool:
        """Whether a space is on the site."""
        return any(part.document["space"] == space_id for row in self.site_spaces.values() for part in row)


def load_site(world: World, path: str) -> SiteTree:
    """The site filed at `path`. Raises Missing."""
    site = world.store.get(path)
    site_spaces: dict[str | None, SiteRow] = defaultdict(list)
    parts: dict[str | None, SiteRow] = defaultdict(list)
    for kind, folder in FOLDERS.items():
        rows = site_spaces if kind == "site-space" else parts
        for place, document in world.store.items(f"{path}/{folder}"):
            part = SitePart(order_key(place, document), f"{path}/{folder}/{document['id']}", document)
            rows[document.get(HOLDER_FIELDS[kind])].append(part)
    for row in (*site_spaces.values(), *parts.values()):
        row.sort(key=lambda part: part.key)
    found = (world.store.find(f"/spaces/{part.document['space']}") for row in site_spaces.values() for part in row)
    spaces = {space["id"]: space for space in found if space and not space.get("deletedAt")}
    return SiteTree(path, site, dict(site_spaces), dict(parts), spaces)


def load_site_of(world: World, document: Json) -> SiteTree:
    """The site that a part, or a share link, belongs to."""
    return load_site(world, f"/orgs/{document['organization']}/sites/{document['site']}")


def sites_with(world: World, space: Json) -> list[Json]:
    """The sites a space is on."""
    sites = f"/orgs/{space['organization']}/sites"
    return [site for site in world.store.all(sites) if _site_space_paths(world, f"{sites}/{site['id']}", space)]


def remove_space(world: World, space: Json) -> None:
    """Take a space off all sites, for good."""
    for site in sites_with(world, space):
        for path in _site_space_paths(world, f"/orgs/{space['organization']}/sites/{site['id']}", space):
            world.store.delete(path)


def _site_space_paths(world: World, site: str, space: Json) -> list[str]:
    found = world.store.all(f"{site}/site-spaces")
    return [f"{site}/site-spaces/{each['id']}" for each in found if each["space"] == space["id"]]


def can_see_site(world: World, tree: SiteTree) -> bool:
    """Whether the caller may see a site before it is published."""
    organization = tree.site["organization"]
    if organization_role(world, organization):
        return True
    guest = membership(world, organization) is not None
    return guest and any(role(world, tree.spaces[part.document["space"]]) for part in tree.all_live())


def is_in_audience(world: World, tree: SiteTree, share_key: str | None) -> bool:
    """Whether the caller is among those a site is published to."""
    site = tree.site
    if not site["published"]:
        return False
    if site["visibility"] == "share-link":
        link = world.store.find_by(f"{tree.path}/share-links", "key", share_key) if share_key else None
        return link is not None and link["active"]
    return site["visibility"] in ("public", "unlisted")


def require_site_access(world: World, at: SiteRef, *, visits: bool, share_key: str | None) -> None:
    """Raise Missing unless the caller may see a site; as a visitor, if `visits`.

    Whoever comes with a wrong or idle share key sees nothing, so that members can tell whether one works.
    """
    path = f"/orgs/{at.organization_id}/sites/{at.site_id}"
    tree = load_site(world, path)
    if visits and is_in_audience(world, tree, share_key):
        return
    by_key = share_key is not None and tree.site["visibility"] == "share-link" and tree.site["published"]
    if by_key or not can_see_site(world, tree):
        raise MissingResource(path)


def is_published_to(world: World, space: Json, share_key: str | None) -> bool:
    """Whether the caller is among those a space is published to, on whichever site."""
    if space.get("deletedAt"):
        return False
    paths = (f"/orgs/{site['organization']}/sites/{site['id']}" for site in sites_with(world, space))
    return any(is_in_audience(world, load_site(world, path), share_key) for path in paths)


def site_url(world: World, tree: SiteTree, share_key: str | None = None) -> str:
    """Where a site is published, or would be, with the secret of a share link if it is shared by one."""
    site = tree.site
    secret = f"{quote(share_key, safe='')}/" if share_key and site["visibility"] == "share-link" else ""
    return f"https://{site['proxy']}/{secret}" if site.get("proxy") else f"{site_target_url(world, site)}{secret}"


def site_target_url(world: World, site: Json) -> str:
    """The address of a site on this platform, which a proxy stands before."""
    organization = world.store.get(f"/orgs/{site['organization']}")
    host = organization.get("hostname") or organization["id"]
    return world.url(f"/published/{quote(host, safe='')}/{quote(site.get('basename') or site['id'], safe='')}/")


def section_url(world: World, tree: SiteTree, section: Json, share_key: str | None = None) -> str:
    """Where a section is published, or would be: that of the site, for the default one."""
    start = site_url(world, tree, share_key)
    return start if section["id"] == tree.default_section() else f"{start}{quote(section['path'], safe='')}/"


def site_space_url(world: World, tree: SiteTree, site_space: Json, share_key: str | None = None) -> str:
    """Where a site space is published, or would be: that of its section or of the site, for the default one."""
    section = tree.section(site_space["section"]) if "section" in site_space else None
    if site_space["id"] == tree.default_space(site_space.get("section")):
        return section_url(world, tree, section, share_key) if section else site_url(world, tree, share_key)
    steps = [section["path"], site_space["path"]] if section else [site_space["path"]]
    return site_url(world, tree, share_key) + "".join(f"{quote(step, safe='')}/" for step in steps)


def published_urls(tree: SiteTree, published: str) -> Json:
    """The addresses of a part of a site: none before the site is published."""
    return {"published": published} if tree.site["published"] else {}
