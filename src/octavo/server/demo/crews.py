"""Teams of the demo organization. What they are given is no more than each of their members has anyway."""

from __future__ import annotations

from dataclasses import dataclass

from octavo.api import permissions, teams
from octavo.api.places import CollectionRef, OrganizationRef
from octavo.api.roles import Role
from octavo.server.demo import people
from octavo.server.dispatch import answer
from octavo.server.world import World


@dataclass(frozen=True)
class Crew:
    """A team, who owns it, who else is in it, and its role in a collection."""

    id: str
    title: str
    owner: str
    members: tuple[str, ...]
    collection: str
    role: Role


CREWS = (
    Crew(
        "software",
        "Harbour software",
        "mara-lindqvist",
        ("yuki-tanabe", "jonas-weidmann", "priya-raman"),
        "harbour-software",
        "edit",
    ),
    Crew(
        "makers",
        "Instrument makers",
        "tomas-okafor",
        ("mara-lindqvist", "ruta-vaitkute", "kwabena-boateng", "leilani-akana", "dalia-peretz"),
        "instruments",
        "comment",
    ),
    Crew("field-crew", "Field crew", "sipho-dlamini", ("elin-brandt", "ingrid-aasen"), "field-work", "read"),
    Crew(
        "handbook-editors", "Handbook editors", "yuki-tanabe", ("mara-lindqvist", "jonas-weidmann"), "company", "edit"
    ),
)
_FIELD = 11
"""Every how manieth of the members who only read is in the crew that only reads."""


def gather(world: World, crew: Crew) -> None:
    """Make a team, as an administrator, and give it its role."""
    at = OrganizationRef(organization_id=people.ORGANIZATION)
    readers = [person.id for person in people.members() if person.role == "read"][::_FIELD]
    members = (*crew.members, *(readers if crew.role == "read" else ()))
    answer(teams.Create(at=at, title=crew.title, members=members), world)
    answer(teams.AddMember(at=at, team_id=crew.id, user_id=crew.owner, role="owner"), world)
    shared = CollectionRef(collection_id=crew.collection)
    answer(permissions.Grant(at=shared, role=crew.role, teams=(crew.id,)), world)
