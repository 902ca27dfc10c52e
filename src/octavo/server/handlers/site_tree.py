"""The stored tree of a site, its audience, and its URLs.

Sections and groups are at the root or in a group. Site spaces are in a section, or at the root of a site without
sections. A deleted space is hidden, but keeps its position while it can be restored. Visitors start at the default
section and its default site space. If no default is chosen, the first section that has a space is the default, and so
is the first space in a section. Deleted spaces do not count.

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
from octavo.server.rest import RequestContext, SortKey, order_key
from octavo.server.store import Json, MissingResource

COLLECTION_NAMES = {"site-space": "site-spaces", "site-section": "sections", "site-section-group": "section-groups"}
"""Name of the collection in the store, for each type of item on a site."""
PARENT_FIELDS = {"site-space": "section", "site-section": "sectionGroup", "site-section-group": "sectionGroup"}
"""Field with the ID of the parent, for each type of item on a site."""


class StoredSitePart(NamedTuple):
    """A site space, section or group, with its sort key and its path in the store."""

    sort_key: SortKey
    path: str
    document: Json


StoredSiteParts = list[StoredSitePart]


@dataclass(frozen=True)
class SiteTree:
    """A site with its site spaces, sections and groups."""

    path: str
    site: Json
    site_spaces: dict[str | None, StoredSiteParts]
    """Site spaces by ID of their section, in order. None stands for the root."""
    sections_and_groups: dict[str | None, StoredSiteParts]
    """Sections and groups by ID of the group that contains them, in order. None stands for the root."""
    spaces: dict[str, Json]
    """The spaces on the site, by ID, without deleted spaces."""

    def walk(self, group_id: str | None = None, sort_key_of_group: SortKey = ()) -> Iterator[StoredSitePart]:
        """Yield all sections and groups in a group, or in the site if None. Keys begin with `sort_key_of_group`."""
        for part in self.sections_and_groups.get(group_id, ()):
            key = sort_key_of_group + part.sort_key
            yield part._replace(sort_key=key)
            if part.document["object"] == "site-section-group":
                yield from self.walk(part.document["id"], key)

    def sections(self) -> StoredSiteParts:
        """Return all sections, also sections in groups, in the order of the site."""
        return [part for part in self.walk() if part.document["object"] == "site-section"]

    def parts_in(self, kind: str, parent_id: str | None) -> StoredSiteParts:
        """Return the site spaces in a section, if `kind` is `site-space`, else the sections and groups in a group.
        `parent_id` is the ID of this section or group, or None for the root."""
        parts_by_parent = self.site_spaces if kind == "site-space" else self.sections_and_groups
        return parts_by_parent.get(parent_id, [])

    def existing_site_spaces_in(self, section_id: str | None) -> StoredSiteParts:
        """Return the site spaces in a section, or at the root if `section_id` is None, without deleted spaces."""
        return [part for part in self.parts_in("site-space", section_id) if part.document["space"] in self.spaces]

    def existing_site_spaces(self) -> StoredSiteParts:
        """Return all site spaces in the order of the site, without deleted spaces."""
        parts_of_sections = (
            part._replace(sort_key=section.sort_key + part.sort_key)
            for section in self.sections()
            for part in self.existing_site_spaces_in(section.document["id"])
        )
        return [*self.existing_site_spaces_in(None), *parts_of_sections]

    def default_section_id(self) -> str | None:
        """Return the ID of the section at which visitors start. None if the site has no sections."""
        section_ids = [part.document["id"] for part in self.sections()]
        candidate_ids = [
            section_id for section_id in section_ids if self.existing_site_spaces_in(section_id)
        ] or section_ids
        default_id = self.site.get("defaultSiteSection")
        return default_id if default_id in candidate_ids else next(iter(candidate_ids), None)

    def default_site_space_id(self, section_id: str | None) -> str | None:
        """Return the ID of the default or else first site space of a section (None: the root). None if it has none."""
        parent = self.section(section_id) if section_id else self.site
        candidate_ids = [part.document["id"] for part in self.existing_site_spaces_in(section_id)]
        default_id = parent.get("defaultSiteSpace")
        return default_id if default_id in candidate_ids else next(iter(candidate_ids), None)

    def section(self, section_id: str) -> Json:
        """Return the section with this ID, which must exist."""
        return next(part.document for part in self.sections() if part.document["id"] == section_id)

    def has_space(self, space_id: str) -> bool:
        """Return whether a space is on the site."""
        return any(part.document["space"] == space_id for parts in self.site_spaces.values() for part in parts)


def site_path(at: SiteRef) -> str:
    """Return the path of a site in the store."""
    return f"/orgs/{at.organization_id}/sites/{at.site_id}"


def load_site(context: RequestContext, path: str) -> SiteTree:
    """Return the site stored at `path`, with its parts and their spaces. Raises MissingResource if there is none."""
    site = context.store.get(path)
    site_spaces: dict[str | None, StoredSiteParts] = defaultdict(list)
    sections_and_groups: dict[str | None, StoredSiteParts] = defaultdict(list)
    for kind, folder in COLLECTION_NAMES.items():
        parts_by_parent = site_spaces if kind == "site-space" else sections_and_groups
        for position, document in context.store.items(f"{path}/{folder}"):
            part = StoredSitePart(order_key(position, document), f"{path}/{folder}/{document['id']}", document)
            parts_by_parent[document.get(PARENT_FIELDS[kind])].append(part)
    for parts in (*site_spaces.values(), *sections_and_groups.values()):
        parts.sort(key=lambda part: part.sort_key)
    spaces_of_parts = (
        context.store.find(f"/spaces/{part.document['space']}") for parts in site_spaces.values() for part in parts
    )
    spaces = {space["id"]: space for space in spaces_of_parts if space and not space.get("deletedAt")}
    return SiteTree(path, site, dict(site_spaces), dict(sections_and_groups), spaces)


def load_site_of(context: RequestContext, document: Json) -> SiteTree:
    """Return the site that contains `document`, such as a section or a share link. Raises MissingResource."""
    return load_site(context, f"/orgs/{document['organization']}/sites/{document['site']}")


def sites_with(context: RequestContext, space: Json) -> list[Json]:
    """Return the sites that contain a space."""
    sites = f"/orgs/{space['organization']}/sites"
    return [site for site in context.store.all(sites) if _site_space_paths(context, f"{sites}/{site['id']}", space)]


def remove_from_sites(context: RequestContext, space: Json) -> None:
    """Remove a space from all sites."""
    for site in sites_with(context, space):
        for path in _site_space_paths(context, f"/orgs/{space['organization']}/sites/{site['id']}", space):
            context.store.delete(path)


def _site_space_paths(context: RequestContext, path: str, space: Json) -> list[str]:
    site_spaces = context.store.all(f"{path}/site-spaces")
    return [
        f"{path}/site-spaces/{site_space['id']}" for site_space in site_spaces if site_space["space"] == space["id"]
    ]


def can_see_site(context: RequestContext, tree: SiteTree) -> bool:
    """Return whether the caller may see a site, even if unpublished. Guests need a role in one of its spaces."""
    organization_id = tree.site["organization"]
    if organization_role(context, organization_id):
        return True
    is_guest = membership(context, organization_id) is not None
    return is_guest and any(role(context, tree.spaces[part.document["space"]]) for part in tree.existing_site_spaces())


def is_in_audience(context: RequestContext, tree: SiteTree, share_key: str | None) -> bool:
    """Return whether a site is published and is public, unlisted or shared by an active link with this `share_key`."""
    site = tree.site
    if not site["published"]:
        return False
    if site["visibility"] == "share-link":
        link = context.store.find_by(f"{tree.path}/share-links", "key", share_key) if share_key else None
        return link is not None and link["active"]
    return site["visibility"] in ("public", "unlisted")


def require_site_access(context: RequestContext, at: SiteRef, *, is_visit: bool, share_key: str | None) -> None:
    """Raise MissingResource unless the caller may see the site. If `is_visit`, the audience of the published site may
    see the site too. With a wrong `share_key`, even members may not see a published site that is shared by link."""
    path = site_path(at)
    tree = load_site(context, path)
    if is_visit and is_in_audience(context, tree, share_key):
        return
    needs_key = share_key is not None and tree.site["visibility"] == "share-link" and tree.site["published"]
    if needs_key or not can_see_site(context, tree):
        raise MissingResource(path)


def is_published_to(context: RequestContext, space: Json, share_key: str | None) -> bool:
    """Return whether the caller is in the audience of a published site with this space."""
    if space.get("deletedAt"):
        return False
    paths = (f"/orgs/{site['organization']}/sites/{site['id']}" for site in sites_with(context, space))
    return any(is_in_audience(context, load_site(context, path), share_key) for path in paths)


def site_url(context: RequestContext, tree: SiteTree, share_key: str | None = None) -> str:
    """Return the URL of a site, even if unpublished. If the site is shared by link, the URL contains `share_key`."""
    site = tree.site
    secret = f"{quote(share_key, safe='')}/" if share_key and site["visibility"] == "share-link" else ""
    return f"https://{site['proxy']}/{secret}" if site.get("proxy") else f"{site_target_url(context, site)}{secret}"


def site_target_url(context: RequestContext, site: Json) -> str:
    """Return the URL of a site on this platform. A proxy on another domain forwards its requests to this URL."""
    organization = context.store.get(f"/orgs/{site['organization']}")
    host = organization.get("hostname") or organization["id"]
    return context.url(f"/published/{quote(host, safe='')}/{quote(site.get('basename') or site['id'], safe='')}/")


def section_url(context: RequestContext, tree: SiteTree, section: Json, share_key: str | None = None) -> str:
    """Return the URL of a section, as `site_url` does for a site. The default section has the URL of the site."""
    root_url = site_url(context, tree, share_key)
    return root_url if section["id"] == tree.default_section_id() else f"{root_url}{quote(section['path'], safe='')}/"


def site_space_url(context: RequestContext, tree: SiteTree, site_space: Json, share_key: str | None = None) -> str:
    """Return the URL of a site space, even if unpublished. A default site space has the URL of its section or site."""
    section = tree.section(site_space["section"]) if "section" in site_space else None
    if site_space["id"] == tree.default_site_space_id(site_space.get("section")):
        return section_url(context, tree, section, share_key) if section else site_url(context, tree, share_key)
    segments = [section["path"], site_space["path"]] if section else [site_space["path"]]
    return site_url(context, tree, share_key) + "".join(f"{quote(each, safe='')}/" for each in segments)


def published_urls(tree: SiteTree, url: str) -> Json:
    """Return `{"published": url}` for the API. Empty if the site is not published."""
    return {"published": url} if tree.site["published"] else {}
