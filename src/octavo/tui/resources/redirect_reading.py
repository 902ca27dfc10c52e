"""Where a redirect of a site leads in the end, as its structure and its other redirects say (`data/redirect_chains.py`)."""

from __future__ import annotations

import asyncio

from octavo.api import redirects, site_structure, sites
from octavo.data.live import Live
from octavo.data.redirect_chains import follow
from octavo.tui.resources.access_reading import whole
from octavo.tui.resources.resource import AT_ONCE, Facts, Known


async def of_redirect(live: Live, known: Known, thing: redirects.Redirect) -> Facts:
    """The way from a redirect: through others, round in a circle, or to nothing."""
    at = known["at"]
    site, sections, spaces, listed = await asyncio.gather(
        live.known(sites.Get(at=at)),
        whole(live, site_structure.ListSections(at=at, limit=AT_ONCE)),
        whole(live, site_structure.ListSiteSpaces(at=at, limit=AT_ONCE)),
        whole(live, redirects.List(at=at, limit=AT_ONCE)),
    )
    parts = {each.id: each.urls.published or each.title or each.id for each in (*spaces, *sections)}
    targets = {each.source: _target(each.destination, parts) for each in listed}
    return (("leads", follow(thing.source, targets, site.urls.published or "").said),)


def _target(to: redirects.DestinationRead, parts: dict[str, str]) -> str | None:
    """What a redirect leads to. None: a part of the site that is gone."""
    match to.kind:
        case "site-section":
            return parts.get(to.site_section_id or "")
        case "site-space":
            return parts.get(to.site_space_id or "")
        case "site-page":
            space = parts.get(to.site_space_id or "")
            return None if space is None else f"a page of {space}"
    return to.url or to.kind
