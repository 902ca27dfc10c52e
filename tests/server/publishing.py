"""Sites to ask things of."""

from __future__ import annotations

from octavo.api.places import SiteRef
from tests.server.asking import Ask


async def a_site(ask: Ask) -> SiteRef:
    """A site of acme."""
    world = ask.platform.world
    site = {"id": world.new_id(), "title": "Docs", "organization": "acme"}
    world.store.put(f"/orgs/acme/sites/{site['id']}", site)
    return SiteRef(organization_id="acme", site_id=site["id"])
