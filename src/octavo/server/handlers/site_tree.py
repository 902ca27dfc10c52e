"""The stored tree of a site, its audience, and its URLs.

Sections and groups are at the root or in a group. Site spaces are in a section, or at the root of a site without
sections. A deleted space is hidden, but keeps its position while it can be restored. Visitors start at the default section
and its default site space. Editors choose the defaults. Without a choice, the first visible section and space are the
defaults.

Members with a role can see every site of their organization. Guests can see a site if they have a role in one of its
spaces. A published site is also visible to its audience: everyone, or people with an active share link. A site with
visitor authentication has no audience on this platform, because its visitors have no API key.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote

from octavo.api.operation import SiteRef
from octavo.server.handlers.permissions import membership, organization_role, role
from octavo.server.rest import World, order_key
from octavo.server.store import Json, MissingResource

FOLDERS = {"site-space": "site-spaces", "site-section": "sections", "site-section-group": "section-groups"}
"""Name of the collection for parts of a site, by type of the part."""
PARENT_FIELDS = {"site-space": "section", "site-section": "sectionGroup", "site-section-group": "sectionGroup"}
"""Field with the ID of the parent of a part, by type of the part."""


class SitePart(NamedTuple):
    """Site space, section or group of a site, with its sort key and its path in the store."""

    key: tuple[int, ...]
    path: str
    document: Json


SiteParts = list[SitePart]


@dataclass(frozen=True)
class SiteTree:
    """A site with all its parts."""

    path: str
    site: Json
    site_spaces: dict[str | None, SiteParts]
    """Site spaces in order, by section. The key None is the root."""
    sections_and_groups: dict[str | None, SiteParts]
    """Sections and groups in order, by parent group. The key None is the root."""
    spaces: dict[str, Json]
    """Spaces of the site that are not deleted, by ID."""

    def walk(self, group: str | None = None, above: tuple[int, ...] = ()) -> Iterator[SitePart]:
        """Yield all sections and groups in `group` or on the site. Their sort keys start with `above`."""
        for part in self.sections_and_groups.get(group, ()):
            key = above + part.key
            yield part._replace(key=key)
            if part.document["object"] == "site-section-group":
                yield from self.walk(part.document["id"], key)

    def sections(self) -> SiteParts:
        """Return all sections in the order of the site."""
        return [part for part in self.walk() if part.document["object"] == "site-section"]

    def parts_in(self, kind: str, parent: str | None) -> SiteParts:
        """Return the parts of a kind in a section or group. `parent` None is the root."""
        rows = self.site_spaces if kind == "site-space" else self.sections_and_groups
        return rows.get(parent, [])

    def existing_site_spaces_in(self, section: str | None) -> SiteParts:
        """Return the site spaces in a section, or at the root if `section` is None, without deleted spaces."""
        return [part for part in self.parts_in("site-space", section) if part.document["space"] in self.spaces]

    def existing_site_spaces(self) -> SiteParts:
        """Return all site spaces in the order of the site, without deleted spaces."""
        below = (
            part._replace(key=section.key + part.key)
            for section in self.sections()
            for part in self.existing_site_spaces_in(section.document["id"])
        )
        return [*self.existing_site_spaces_in(None), *below]

    def default_section(self) -> str | None:
        """Return the ID of the section at which visitors start. None if the site has no sections."""
        sections = [part.document["id"] for part in self.sections()]
        candidates = [section for section in sections if self.existing_site_spaces_in(section)] or sections
        chosen = self.site.get("defaultSiteSection")
        return chosen if chosen in candidates else next(iter(candidates), None)

    def default_space(self, section: str | None) -> str | None:
        """Return the ID of the site space at which visitors start, or None. `section` None is the root."""
        parent = self.section(section) if section else self.site
        candidates = [part.document["id"] for part in self.existing_site_spaces_in(section)]
        chosen = parent.get("defaultSiteSpace")
        return chosen if chosen in candidates else next(iter(candidates), None)

    def section(self, section: str) -> Json:
        """Return the section with the ID `section`."""
        return next(part.document for part in self.sections() if part.document["id"] == section)

    def has_space(self, space_id: str) -> bool:
        """Return whether a space is on the site."""
        return any(part.document["space"] == space_id for row in self.site_spaces.values() for part in row)


def site_path(at: SiteRef) -> str:
    """Return the path in the store of a site."""
    return f"/orgs/{at.organization_id}/sites/{at.site_id}"


def load_site(world: World, path: str) -> SiteTree:
    """Return the site stored at `path`. Raises MissingResource."""
    site = world.store.get(path)
    site_spaces: dict[str | None, SiteParts] = defaultdict(list)
    sections_and_groups: dict[str | None, SiteParts] = defaultdict(list)
    for kind, folder in FOLDERS.items():
        rows = site_spaces if kind == "site-space" else sections_and_groups
        for position, document in world.store.items(f"{path}/{folder}"):
            part = SitePart(order_key(position, document), f"{path}/{folder}/{document['id']}", document)
            rows[document.get(PARENT_FIELDS[kind])].append(part)
    for row in (*site_spaces.values(), *sections_and_groups.values()):
        row.sort(key=lambda part: part.key)
    spaces_of_parts = (
        world.store.find(f"/spaces/{part.document['space']}") for row in site_spaces.values() for part in row
    )
    spaces = {space["id"]: space for space in spaces_of_parts if space and not space.get("deletedAt")}
    return SiteTree(path, site, dict(site_spaces), dict(sections_and_groups), spaces)


def load_site_of(world: World, document: Json) -> SiteTree:
    """Return the site to which a part or a share link belongs."""
    return load_site(world, f"/orgs/{document['organization']}/sites/{document['site']}")


def sites_with(world: World, space: Json) -> list[Json]:
    """Return the sites that contain a space."""
    sites = f"/orgs/{space['organization']}/sites"
    return [site for site in world.store.all(sites) if _site_space_paths(world, f"{sites}/{site['id']}", space)]


def remove_from_sites(world: World, space: Json) -> None:
    """Delete all site spaces with a space."""
    for site in sites_with(world, space):
        for path in _site_space_paths(world, f"/orgs/{space['organization']}/sites/{site['id']}", space):
            world.store.delete(path)


def _site_space_paths(world: World, site: str, space: Json) -> list[str]:
    site_spaces = world.store.all(f"{site}/site-spaces")
    return [
        f"{site}/site-spaces/{site_space['id']}" for site_space in site_spaces if site_space["space"] == space["id"]
    ]


def can_see_site(world: World, tree: SiteTree) -> bool:
    """Return whether the caller may see a site, published or not. Guests need a role in one of its spaces."""
    organization = tree.site["organization"]
    if organization_role(world, organization):
        return True
    guest = membership(world, organization) is not None
    return guest and any(role(world, tree.spaces[part.document["space"]]) for part in tree.existing_site_spaces())


def is_in_audience(world: World, tree: SiteTree, share_key: str | None) -> bool:
    """Return whether a site is published, and the caller is in its audience."""
    site = tree.site
    if not site["published"]:
        return False
    if site["visibility"] == "share-link":
        link = world.store.find_by(f"{tree.path}/share-links", "key", share_key) if share_key else None
        return link is not None and link["active"]
    return site["visibility"] in ("public", "unlisted")


def require_site_access(world: World, at: SiteRef, *, visits: bool, share_key: str | None) -> None:
    """Raise MissingResource unless the caller may see the site, or `visits` is True and the caller is in the audience
    of the published site. A wrong `share_key` for a published site shared by link is refused even for members."""
    path = site_path(at)
    tree = load_site(world, path)
    if visits and is_in_audience(world, tree, share_key):
        return
    by_key = share_key is not None and tree.site["visibility"] == "share-link" and tree.site["published"]
    if by_key or not can_see_site(world, tree):
        raise MissingResource(path)


def is_published_to(world: World, space: Json, share_key: str | None) -> bool:
    """Return whether a space is on a published site whose audience includes the caller."""
    if space.get("deletedAt"):
        return False
    paths = (f"/orgs/{site['organization']}/sites/{site['id']}" for site in sites_with(world, space))
    return any(is_in_audience(world, load_site(world, path), share_key) for path in paths)


def site_url(world: World, tree: SiteTree, share_key: str | None = None) -> str:
    """Return the URL of a site, published or not. For a site shared by link, it contains `share_key`."""
    site = tree.site
    secret = f"{quote(share_key, safe='')}/" if share_key and site["visibility"] == "share-link" else ""
    return f"https://{site['proxy']}/{secret}" if site.get("proxy") else f"{site_target_url(world, site)}{secret}"


def site_target_url(world: World, site: Json) -> str:
    """Return the URL of a site on this platform. A proxy forwards requests to this URL."""
    organization = world.store.get(f"/orgs/{site['organization']}")
    host = organization.get("hostname") or organization["id"]
    return world.url(f"/published/{quote(host, safe='')}/{quote(site.get('basename') or site['id'], safe='')}/")


def section_url(world: World, tree: SiteTree, section: Json, share_key: str | None = None) -> str:
    """Return the URL of a section, published or not. The default section has the site's URL."""
    start = site_url(world, tree, share_key)
    return start if section["id"] == tree.default_section() else f"{start}{quote(section['path'], safe='')}/"


def site_space_url(world: World, tree: SiteTree, site_space: Json, share_key: str | None = None) -> str:
    """Return the URL of a site space, published or not. A default site space has its parent's URL."""
    section = tree.section(site_space["section"]) if "section" in site_space else None
    if site_space["id"] == tree.default_space(site_space.get("section")):
        return section_url(world, tree, section, share_key) if section else site_url(world, tree, share_key)
    steps = [section["path"], site_space["path"]] if section else [site_space["path"]]
    return site_url(world, tree, share_key) + "".join(f"{quote(step, safe='')}/" for step in steps)


def published_urls(tree: SiteTree, url: str) -> Json:
    """Return `url` as the API field `urls`. Empty if the site is not published."""
    return {"published": url} if tree.site["published"] else {}
