"""Who sees a site, where it is published, and what its audience finds there.

Members with a role see every site of their organization; guests those with a space they have a role in. A published
site is seen by its audience too: by anyone when it is public or unlisted, by whoever has the secret of an active
share link when it is shared by these. Visitors who sign in elsewhere have no key of this platform.
"""

from __future__ import annotations

from urllib.parse import quote

from octavo.api.places import SiteRef
from octavo.server.handlers import site_tree
from octavo.server.handlers.permissions import membership, organization_role, role
from octavo.server.handlers.site_tree import Tree
from octavo.server.store import Json, Missing
from octavo.server.world import World


def sees_site(world: World, tree: Tree) -> bool:
    """Whether the caller may see a site before it is published."""
    organization = tree.site["organization"]
    if organization_role(world, organization):
        return True
    guest = membership(world, organization) is not None
    return guest and any(role(world, tree.spaces[part.document["space"]]) for part in tree.all_live())


def is_in_audience(world: World, tree: Tree, share_key: str | None) -> bool:
    """Whether the caller is among those a site is published to."""
    site = tree.site
    if not site["published"]:
        return False
    if site["visibility"] == "share-link":
        link = world.store.first(f"{tree.path}/share-links", "key", share_key) if share_key else None
        return link is not None and link["active"]
    return site["visibility"] in ("public", "unlisted")


def let_in(world: World, at: SiteRef, *, visits: bool, share_key: str | None) -> None:
    """Raise Missing unless the caller may see a site; as a visitor, if `visits`.

    Whoever comes with a wrong or idle share key sees nothing, so that members can tell whether one works.
    """
    path = f"/orgs/{at.organization_id}/sites/{at.site_id}"
    tree = site_tree.load(world, path)
    if visits and is_in_audience(world, tree, share_key):
        return
    by_key = share_key is not None and tree.site["visibility"] == "share-link" and tree.site["published"]
    if by_key or not sees_site(world, tree):
        raise Missing(path)


def is_published_to(world: World, space: Json, share_key: str | None) -> bool:
    """Whether the caller is among those a space is published to, on whichever site."""
    if space.get("deletedAt"):
        return False
    paths = (f"/orgs/{site['organization']}/sites/{site['id']}" for site in site_tree.sites_with(world, space))
    return any(is_in_audience(world, site_tree.load(world, path), share_key) for path in paths)


def address(world: World, tree: Tree, share_key: str | None = None) -> str:
    """Where a site is published, or would be, with the secret of a share link if it is shared by one."""
    site = tree.site
    secret = f"{quote(share_key, safe='')}/" if share_key and site["visibility"] == "share-link" else ""
    return f"https://{site['proxy']}/{secret}" if site.get("proxy") else f"{target(world, site)}{secret}"


def target(world: World, site: Json) -> str:
    """The address of a site on this platform, which a proxy stands before."""
    organization = world.store.get(f"/orgs/{site['organization']}")
    host = organization.get("hostname") or organization["id"]
    return world.url(f"/published/{quote(host, safe='')}/{quote(site.get('basename') or site['id'], safe='')}/")


def address_of_section(world: World, tree: Tree, section: Json, share_key: str | None = None) -> str:
    """Where a section is published, or would be: that of the site, for the default one."""
    start = address(world, tree, share_key)
    return start if section["id"] == tree.default_section() else f"{start}{quote(section['path'], safe='')}/"


def address_of_space(world: World, tree: Tree, site_space: Json, share_key: str | None = None) -> str:
    """Where a site space is published, or would be: that of its section or of the site, for the default one."""
    section = tree.section(site_space["section"]) if "section" in site_space else None
    if site_space["id"] == tree.default_space(site_space.get("section")):
        return address_of_section(world, tree, section, share_key) if section else address(world, tree, share_key)
    steps = [section["path"], site_space["path"]] if section else [site_space["path"]]
    return address(world, tree, share_key) + "".join(f"{quote(step, safe='')}/" for step in steps)


def urls(tree: Tree, published: str) -> Json:
    """The addresses of a part of a site: none before the site is published."""
    return {"published": published} if tree.site["published"] else {}
