"""The people of the demo organization, and their teams.

Six people can be signed in to. Three hundred other members fill the lists.
"""

from __future__ import annotations

import tomllib
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from octavo.api import permissions, teams
from octavo.api.places import CollectionRef, OrganizationRef
from octavo.api.roles import Role
from octavo.server.dispatch import run_operation
from octavo.server.store import Json
from octavo.server.world import World, iso

ORGANIZATION = "saltmarsh"
MEMBERS = 300
NEVER_DISABLED = 21
"""Number of members, counted from the first, who are never disabled."""


@dataclass(frozen=True)
class DemoPerson:
    """Person with a role in the organization. Guests have no role."""

    id: str
    name: str
    role: str | None

    @property
    def email(self) -> str:
        return f"{self.id.replace('-', '.')}@saltmarsh.example"


PEOPLE = (
    DemoPerson("noor-haddad", "Noor Haddad", "admin"),
    DemoPerson("mara-lindqvist", "Mara Lindqvist", "create"),
    DemoPerson("tomas-okafor", "Tomás Okafor", "review"),
    DemoPerson("yuki-tanabe", "Yuki Tanabe", "edit"),
    DemoPerson("sipho-dlamini", "Sipho Dlamini", "comment"),
    DemoPerson("elin-brandt", "Elin Brandt", "read"),
)
"""People who can be signed in to, highest role first."""

DEFAULT_PERSON = PEOPLE[1]
"""Person who opens the demo. She may review and merge, but not administer."""


def members() -> list[DemoPerson]:
    """Return the three hundred other members in the order they joined. The authors of threads come first."""
    names = tomllib.loads((Path(__file__).parent / "names.toml").read_text(encoding="utf-8"))
    people = [
        DemoPerson(_person_id(name, place), name, role) for place, (name, role) in enumerate(names["named"].items())
    ]
    first, last = names["lists"]["first"], names["lists"]["last"]
    chance, used_ids = Random("members"), {person.id for person in (*PEOPLE, *people)}
    while len(people) < MEMBERS:
        name = f"{chance.choice(first)} {chance.choice(last)}"
        role = chance.choices(("read", "comment", "edit", "review", None), weights=(66, 24, 6, 2, 2))[0]
        if _person_id(name, 0) not in used_ids:
            used_ids.add(_person_id(name, 0))
            people.append(DemoPerson(_person_id(name, 0), name, role))
    return people


def add_people(world: World, today: datetime) -> None:
    """Add all people to the organization, with dates over the years until `today`."""
    chance = Random("days")
    for person in PEOPLE:
        _save_person(world, person, joined_at=today - timedelta(days=chance.randrange(200, 4000)), seen_at=today)
    for place, person in enumerate(members()):
        joined_at = today - timedelta(days=4400 * (1 - place / MEMBERS) + 3, minutes=chance.randrange(1440))
        seen_at = joined_at + (today - joined_at) * chance.random() ** 0.1 if chance.random() < 0.94 else None
        _save_person(
            world,
            person,
            joined_at=joined_at,
            seen_at=seen_at,
            disabled=chance.random() < 0.02 and place >= NEVER_DISABLED,
        )


def _save_person(
    world: World, person: DemoPerson, *, joined_at: datetime, seen_at: datetime | None, disabled: bool = False
) -> None:
    user: Json = {"id": person.id, "displayName": person.name, "email": person.email}
    member: Json = {
        "id": person.id,
        "role": person.role,
        "joinedAt": iso(joined_at),
        "disabled": disabled,
        "sso": False,
    }
    if seen_at:
        member["lastSeenAt"] = iso(seen_at)
    world.store.put(f"/users/{person.id}", user)
    world.store.put(f"/orgs/{ORGANIZATION}/members/{person.id}", member)


def _person_id(name: str, place: int) -> str:
    """Return an ID made from the Latin letters of a name, or from its position if it has none."""
    plain = unicodedata.normalize("NFKD", name.lower().translate(_TRANSLITERATION))
    words = "".join(letter if letter.isascii() and letter.isalpha() else " " * letter.isspace() for letter in plain)
    return "-".join(words.replace("-", " ").split()) or f"member-{place + 1}"


_TRANSLITERATION = str.maketrans({"đ": "d", "ł": "l", "ı": "i", "ø": "o", "-": " "})


@dataclass(frozen=True)
class DemoTeam:
    """Team with its owner, its members, and its role in a collection.

    In the demo, no team gives a member more access than the member has in the organization.
    """

    id: str
    title: str
    owner: str
    members: tuple[str, ...]
    collection: str
    role: Role


TEAMS = (
    DemoTeam(
        "software",
        "Harbour software",
        "mara-lindqvist",
        ("yuki-tanabe", "jonas-weidmann", "priya-raman"),
        "harbour-software",
        "edit",
    ),
    DemoTeam(
        "makers",
        "Instrument makers",
        "tomas-okafor",
        ("mara-lindqvist", "ruta-vaitkute", "kwabena-boateng", "leilani-akana", "dalia-peretz"),
        "instruments",
        "comment",
    ),
    DemoTeam("field-crew", "Field crew", "sipho-dlamini", ("elin-brandt", "ingrid-aasen"), "field-work", "read"),
    DemoTeam(
        "handbook-editors", "Handbook editors", "yuki-tanabe", ("mara-lindqvist", "jonas-weidmann"), "company", "edit"
    ),
)
_READER_STEP = 11
"""Every eleventh reader is a member of the team with the Reader role."""


def create_team(world: World, crew: DemoTeam) -> None:
    """Create a team, and grant its role on its collection."""
    at = OrganizationRef(organization_id=ORGANIZATION)
    readers = [person.id for person in members() if person.role == "read"][::_READER_STEP]
    crew_members = (*crew.members, *(readers if crew.role == "read" else ()))
    run_operation(teams.Create(at=at, title=crew.title, members=crew_members), world)
    run_operation(teams.AddMember(at=at, team_id=crew.id, user_id=crew.owner, role="owner"), world)
    shared = CollectionRef(collection_id=crew.collection)
    run_operation(permissions.Grant(at=shared, role=crew.role, teams=(crew.id,)), world)
