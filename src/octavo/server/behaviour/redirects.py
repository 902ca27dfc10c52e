"""Redirects of sites: one for each source, however it is spelled."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote, unquote_to_bytes

from octavo.api import redirects
from octavo.api.folding import fold
from octavo.documents import page_trees
from octavo.server.behaviour import published_sites, revisions, site_tree
from octavo.server.behaviour.permissions import in_organization
from octavo.server.rest import completes, guards, handle, page, path_of, shows
from octavo.server.store import Json, Missing
from octavo.server.world import Refused, World

_ESCAPE = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_UNRESERVED = "-._~"

guards(redirects.Create, redirects.Update, redirects.Delete)(in_organization("create"))


@shows(redirects.Redirect)
def present_redirect(world: World, document: Json) -> Json:
    """A redirect."""
    return {"object": "site-redirect", **document}


@completes(redirects.Redirect)
def _complete(op: redirects.Create | redirects.Update, world: World, document: Json) -> Json:
    """A redirect with its source in the one spelling of it, and a destination that is there. Raises Missing."""
    site = _site(op)
    source = normalised(document["source"])
    other = world.store.first(f"{site}/redirects", "source", source)
    if other and other["id"] != document["id"]:
        raise Refused(409, f"There is already a redirect from {source}. Edit that redirect, or choose another source.")
    _address(world, site, document["destination"])
    return {**document, "source": source}


@handle.register
def _list(op: redirects.List, world: World) -> Json:
    words = fold(op.search or "")
    found = world.store.positioned(path_of(op))
    wanted = ((place, each) for place, each in found if words in fold(each["source"]))
    return page(op, wanted, lambda each: present_redirect(world, each))


@handle.register
def _resolve(op: redirects.Resolve, world: World) -> Json:
    site = _site(op)
    source = normalised(op.source)
    redirect = world.store.first(f"{site}/redirects", "source", source)
    if redirect is None:
        raise Refused(404, f"No redirect on this site starts at {source}.")
    return {
        "redirect": present_redirect(world, redirect),
        "target": _address(world, site, redirect["destination"], op.share_key),
    }


def normalised(source: str) -> str:
    """The one spelling of a path: nothing escaped that need not be, no `.` and `..` in it. Raises Refused."""
    segments: list[str] = []
    for segment in source.split("/")[1:]:
        segment = _ESCAPE.sub(lambda escape: quote(unquote_to_bytes(escape[0]), safe=_UNRESERVED), segment)
        if segment == "..":
            del segments[-1:]
        elif segment != ".":
            segments.append(segment)
    if not segments:
        raise Refused(400, "source cannot be the home page of the site. Choose a path below it.")
    return "/" + "/".join(segments)


def _site(op: Any) -> str:
    return f"/orgs/{op.at.organization_id}/sites/{op.at.site_id}"


def _address(world: World, site: str, destination: Json, share_key: str | None = None) -> str:
    """The URL a destination has now. Raises Missing for what is not there."""
    tree = site_tree.load(world, site)
    if destination["kind"] == "site-section":
        section = world.store.get(f"{site}/sections/{destination['siteSectionId']}")
        return published_sites.address_of_section(world, tree, section, share_key)
    site_space = world.store.get(f"{site}/site-spaces/{destination['siteSpaceId']}")
    if site_space["space"] not in tree.spaces:
        raise Missing(f"/spaces/{site_space['space']}")
    start = published_sites.address_of_space(world, tree, site_space, share_key)
    if destination["kind"] == "site-space":
        return start
    page = page_trees.find(revisions.current(world, site_space["space"])["pages"], destination["pageId"])
    if page is None or "path" not in page:
        raise Missing(f"{site}/site-spaces/{site_space['id']}/pages/{destination['pageId']}")
    return start + quote(page["path"])
