"""The demo library: an invented maker of tide gauges, its manuals, its docs site and the people who write them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from octavo.api import collections, openapi, site_structure, sites
from octavo.api.operation import Operation
from octavo.api.places import CollectionRef, OrganizationRef, SiteRef
from octavo.server import handlers
from octavo.server.demo import large as large_demo
from octavo.server.demo import people, register
from octavo.server.demo.history import DemoClock, DemoIds, list_actions
from octavo.server.dispatch import run_operation
from octavo.server.handlers import spaces
from octavo.server.loader import load
from octavo.server.world import World, iso


@dataclass(frozen=True)
class DemoSection:
    """Section of the docs site, with one space."""

    id: str
    space: str
    title: str
    icon: str


SITE = SiteRef(organization_id=people.ORGANIZATION, site_id="docs")
TITLE = "Saltmarsh Docs"
SECTIONS = (
    DemoSection("docs-instruments", "limpet", "Instruments", "ruler"),
    DemoSection("docs-software", "harbour-api", "Harbour software", "anchor"),
)


def site_operations() -> Iterator[tuple[str, Operation[Any]]]:
    """Yield the operations that create and publish the docs site, each with the ID for its new resource."""
    yield SITE.site_id, sites.Create(at=OrganizationRef(organization_id=people.ORGANIZATION), title=TITLE)
    for section in SECTIONS:
        operation = site_structure.CreateSection(
            at=SITE, space_id=section.space, title=section.title, icon=section.icon
        )
        yield section.id, operation
    yield SITE.site_id, sites.Update(at=SITE, basename=SITE.site_id)
    yield SITE.site_id, sites.Publish(at=SITE)


TODAY = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
"""Default date of the demo, a Monday."""

_FOLDER = Path(__file__).parent
_SPACES_AGE = timedelta(days=1300)
_PAGES_AGE = timedelta(days=120)
"""Age of the spaces, and age of the last complete load of their pages."""


@dataclass(frozen=True)
class DemoCollection:
    """Collection, with its parent."""

    id: str
    title: str
    description: str
    parent: str | None = None


@dataclass(frozen=True)
class DemoSpace:
    """Space, with its collection and default level. Its pages are in the folder with the same name."""

    id: str
    title: str
    emoji: str
    parent: str
    level: str = "inherit"


COLLECTIONS = (
    DemoCollection("products", "Products", "What we make, and how to use it"),
    DemoCollection("harbour-software", "Harbour software", "For developers who use our levels", "products"),
    DemoCollection("instruments", "Instruments", "For people who work on the quay", "products"),
    DemoCollection("field-work", "Field work", "Where our gauges stand"),
    DemoCollection("company", "Company", "How we work"),
)
SPACES = (
    DemoSpace("harbour-api", "Harbour API", "⚓", "harbour-software"),
    DemoSpace("limpet", "Limpet manual", "📏", "instruments", level="review"),
    DemoSpace("stations", "Station register", "🗼", "field-work"),
    DemoSpace("handbook", "Handbook", "🛟", "company"),
)


def build(world: World, today: datetime = TODAY, *, large: float = 0.0) -> None:
    """Fill an empty store with the demo library, as if people had worked on it until `today`.

    `large` is the share of the large demo to add, from 0 to 1. The store contains no access token: callers add one for
    `people.DEFAULT_PERSON` or another of `people.PEOPLE`.
    """
    handlers.load()
    clock, names = DemoClock(today - _SPACES_AGE), DemoIds()
    past = replace(world, now=clock, new_id=names)
    with world.store.transaction():
        _create_organization(past, today)
        _create_places(past.for_user(people.PEOPLE[0].id), names)
        clock.moment = today - _PAGES_AGE
        _load_pages(past.for_user(people.DEFAULT_PERSON.id), names)
        for path in sorted((_FOLDER / "openapi").glob("*.json")):
            names.name = path.stem
            _upload_specification(past.for_user(people.PEOPLE[0].id), path)
        for names.name, op in site_operations():
            run_operation(op, past.for_user(people.PEOPLE[0].id))
        for action in list_actions():
            clock.moment, names.name = today - action.age, action.name
            for op in action.operations(past.for_user(action.person)):
                run_operation(op, past.for_user(action.person))
        if large:
            large_demo.fill(past, clock, names, today, large)


def _create_organization(world: World, today: datetime) -> None:
    """Create the organization and its members, which no operation can create."""
    organization = {
        "id": people.ORGANIZATION,
        "title": "Saltmarsh Instruments",
        "createdAt": iso(today - timedelta(days=4400)),
        "hostname": "saltmarsh",
        "emailDomains": ["saltmarsh.example"],
        "type": "business",
        "useCase": "productDocs",
        "plan": "pro",
        "defaultRole": "read",
        "inviteLinks": False,
        "mergeRules": {"type": "none"},
    }
    world.store.put(f"/orgs/{people.ORGANIZATION}", organization)
    people.add_people(world, today)


def _create_places(world: World, names: DemoIds) -> None:
    """Create collections, empty spaces, teams and guests. Loading the folders adds the first revisions of the spaces."""
    at = OrganizationRef(organization_id=people.ORGANIZATION)
    for shelf in COLLECTIONS:
        names.name = shelf.id
        placed = {"parent": shelf.parent} if shelf.parent else {}
        run_operation(collections.Create(at=at, title=shelf.title, **placed), world)
        run_operation(
            collections.Update(at=CollectionRef(collection_id=shelf.id), description=shelf.description), world
        )
    for manual in SPACES:
        names.name = manual.id
        placed = {"emoji": manual.emoji, "parent": manual.parent, "defaultLevel": manual.level}
        spaces.create_space(world, people.ORGANIZATION, title=manual.title, **placed)
    for crew in people.TEAMS:
        names.name = crew.id
        people.create_team(world, crew)
    for guest in (person for person in people.members() if person.role is None):
        world.store.put(f"/spaces/{SPACES[0].id}/permissions/users/{guest.id}", {"id": guest.id, "role": "comment"})


def _load_pages(world: World, names: DemoIds) -> None:
    """Load the pages of each space from its folder. The generated pages of the station register are written first."""
    with tempfile.TemporaryDirectory() as temporary:
        folder_copy = Path(temporary) / "stations"
        shutil.copytree(_FOLDER / "stations", folder_copy)
        for path, text in register.generated_files().items():
            (folder_copy / path).parent.mkdir(parents=True, exist_ok=True)
            (folder_copy / path).write_text(text, encoding="utf-8")
        for manual in SPACES:
            names.name = f"{manual.id}-page"
            folder = folder_copy if manual.id == "stations" else _FOLDER / manual.id
            load(world, folder, organization=people.ORGANIZATION, author=world.caller, space_id=manual.id)


def _upload_specification(world: World, path: Path) -> None:
    """Upload an OpenAPI specification that pages refer to, and process it immediately."""
    source = openapi.Source(text=path.read_text(encoding="utf-8"))
    at = OrganizationRef(organization_id=people.ORGANIZATION)
    work = run_operation(openapi.Create(at=at, slug=path.stem, source=source), world)
    work.finish(work.run())
