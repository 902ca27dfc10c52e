"""Sites to ask things of."""

from __future__ import annotations

from octavo.api import sites
from octavo.api.places import SiteRef
from octavo.api.spaces import Space
from tests.server.asking import ACME, Ask


async def a_site(ask: Ask, *spaces: Space) -> SiteRef:
    """A site of acme, made by ada, that publishes these spaces once it is published."""
    site = await ask(sites.Create(at=ACME, title="Docs", spaces=tuple(space.id for space in spaces)))
    return SiteRef(organization_id="acme", site_id=site.id)
