"""Who works at the demo organization: six people one can be, and three hundred members beside them."""

from __future__ import annotations

import tomllib
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from octavo.server.store import Json
from octavo.server.world import World, iso

ORGANIZATION = "saltmarsh"
MEMBERS = 300
NEVER_DISABLED = 21
"""So many of those who joined first are there still."""


@dataclass(frozen=True)
class Person:
    """Someone of the demo, and their role in the organization. None makes a guest."""

    id: str
    name: str
    role: str | None

    @property
    def email(self) -> str:
        return f"{self.id.replace('-', '.')}@saltmarsh.example"


PEOPLE = (
    Person("noor-haddad", "Noor Haddad", "admin"),
    Person("mara-lindqvist", "Mara Lindqvist", "create"),
    Person("tomas-okafor", "Tomás Okafor", "review"),
    Person("yuki-tanabe", "Yuki Tanabe", "edit"),
    Person("sipho-dlamini", "Sipho Dlamini", "comment"),
    Person("elin-brandt", "Elin Brandt", "read"),
)
"""Those one can be, from the highest role down."""

DEFAULT_PERSON = PEOPLE[1]
"""Who opens the demo: she may review and merge, but not administer."""


def members() -> list[Person]:
    """The three hundred others, in the order they joined. Those who speak in threads are the first."""
    names = tomllib.loads((Path(__file__).parent / "names.toml").read_text(encoding="utf-8"))
    found = [Person(_id(name, place), name, role) for place, (name, role) in enumerate(names["named"].items())]
    first, last = names["lists"]["first"], names["lists"]["last"]
    chance, taken = Random("members"), {person.id for person in (*PEOPLE, *found)}
    while len(found) < MEMBERS:
        name = f"{chance.choice(first)} {chance.choice(last)}"
        role = chance.choices(("read", "comment", "edit", "review", None), weights=(66, 24, 6, 2, 2))[0]
        if _id(name, 0) not in taken:
            taken.add(_id(name, 0))
            found.append(Person(_id(name, 0), name, role))
    return found


def move_in(world: World, today: datetime) -> None:
    """File the organization's people, as if they had joined over the years and been seen until `today`."""
    chance = Random("days")
    for person in PEOPLE:
        _file(world, person, joined=today - timedelta(days=chance.randrange(200, 4000)), seen=today)
    for place, person in enumerate(members()):
        joined = today - timedelta(days=4400 * (1 - place / MEMBERS) + 3, minutes=chance.randrange(1440))
        seen = joined + (today - joined) * chance.random() ** 0.1 if chance.random() < 0.94 else None
        _file(world, person, joined=joined, seen=seen, disabled=chance.random() < 0.02 and place >= NEVER_DISABLED)


def _file(world: World, person: Person, *, joined: datetime, seen: datetime | None, disabled: bool = False) -> None:
    user: Json = {"id": person.id, "displayName": person.name, "email": person.email}
    member: Json = {"id": person.id, "role": person.role, "joinedAt": iso(joined), "disabled": disabled, "sso": False}
    if seen:
        member["lastSeenAt"] = iso(seen)
    world.store.put(f"/users/{person.id}", user)
    world.store.put(f"/orgs/{ORGANIZATION}/members/{person.id}", member)


def _id(name: str, place: int) -> str:
    """An id made of the Latin letters of a name, or of its place where there are none."""
    plain = unicodedata.normalize("NFKD", name.lower().translate(_LETTERS))
    words = "".join(letter if letter.isascii() and letter.isalpha() else " " * letter.isspace() for letter in plain)
    return "-".join(words.replace("-", " ").split()) or f"member-{place + 1}"


_LETTERS = str.maketrans({"đ": "d", "ł": "l", "ı": "i", "ø": "o", "-": " "})
