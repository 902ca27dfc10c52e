"""Share links of sites. They are an administrator's: whoever reads one can pass it on."""

from __future__ import annotations

from octavo.api import share_links
from octavo.server.handlers import site_tree
from octavo.server.handlers.permissions import in_organization
from octavo.server.rest import completes, guards, shows, without
from octavo.server.store import Json
from octavo.server.world import World

guards(share_links.List, share_links.Create, share_links.Update, share_links.Delete)(in_organization("admin"))


@shows(share_links.ShareLink)
def present_share_link(world: World, document: Json) -> Json:
    """A share link, with its address once the site is published."""
    tree = site_tree.of(world, document)
    urls = site_tree.urls(tree, site_tree.address(world, tree, document["key"]))
    facts = without(document, "organization", "site", "key")
    return {"object": "share-link", **facts, "urls": urls}


@completes(share_links.ShareLink)
def _complete(op: share_links.Create | share_links.Update, world: World, document: Json) -> Json:
    if isinstance(op, share_links.Update):
        return document
    place = {"organization": op.at.organization_id, "site": op.at.site_id}
    return {**document, **place, "createdAt": world.timestamp(), "active": True, "key": world.new_id()}
