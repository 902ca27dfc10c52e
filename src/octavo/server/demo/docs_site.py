"""The site of the demo library: what its customers read, in two sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from octavo.api import site_structure, sites
from octavo.api.operation import Operation
from octavo.api.places import OrganizationRef, SiteRef
from octavo.server.demo import people


@dataclass(frozen=True)
class Section:
    """A section that holds one space."""

    id: str
    space: str
    title: str
    icon: str


SITE = SiteRef(organization_id=people.ORGANIZATION, site_id="docs")
TITLE = "Saltmarsh Docs"
SECTIONS = (
    Section("docs-instruments", "limpet", "Instruments", "ruler"),
    Section("docs-software", "harbour-api", "Harbour software", "anchor"),
)


def steps() -> Iterator[tuple[str, Operation[Any]]]:
    """What an administrator asks to make the site and publish it, each with the name of what it makes."""
    yield SITE.site_id, sites.Create(at=OrganizationRef(organization_id=people.ORGANIZATION), title=TITLE)
    for section in SECTIONS:
        asked = site_structure.CreateSection(at=SITE, space_id=section.space, title=section.title, icon=section.icon)
        yield section.id, asked
    yield SITE.site_id, sites.Update(at=SITE, basename=SITE.site_id)
    yield SITE.site_id, sites.Publish(at=SITE)
