"""Why a member has a role in a space or collection: every way the role is given, in words. Pure.

A role is given on a place or on a collection around it, to a person or to a team they are in; or it is the one they have
in the organization, as far as the default level of the place lets that in. The highest of them counts (4.3, 4.4).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from octavo.api.labels import label

ROLES = ("read", "comment", "edit", "review", "create", "admin")
"""Roles, each allowing all that those before it allow."""
MERGE_ROLES = ("create", "admin")
"""Roles whose holders may merge."""
_DEEDS = {
    "read": "read",
    "comment": "comment",
    "edit": "edit",
    "review": "review",
    "create": "merge",
    "admin": "administer",
}
"""What each role allows beyond those before it."""


@dataclass(frozen=True)
class Place:
    """A space or collection, and who was given a role right there."""

    id: str
    title: str
    default_level: str | None = "inherit"
    """Up to which role those of the organization are let in. `inherit`: as around it. None: they are not."""
    people: Mapping[str, str] = field(default_factory=dict)
    """The roles of people, by their ids."""
    teams: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The titles of teams and their roles, by their ids."""
    unread: str = ""
    """Why it is not known who was given a role here."""


@dataclass(frozen=True)
class Person:
    """Somebody of the organization."""

    id: str
    name: str
    role: str | None
    """Theirs in the organization. None: they are a guest."""
    teams: frozenset[str] = frozenset()
    """The ids of the teams they are in."""
    disabled: bool = False


@dataclass(frozen=True)
class RoleSource:
    """How a role comes to somebody."""

    kind: str
    """`direct`, `team`, `inherited`, `inherited from team`, `organization` or `administrator`."""
    role: str
    description: str
    """For example `Editor in the collection Product through the team Docs, which includes Jun`."""


def rank(role: str | None) -> int:
    """How much a role allows. One nobody knows allows nothing that is known."""
    return ROLES.index(role) if role in ROLES else -1


def highest(sources: Sequence[RoleSource]) -> str | None:
    """The role that counts. None: there is none."""
    return max((each.role for each in sources), key=rank, default=None)


def role_sources(person: Person, chain: Sequence[Place], organization: str) -> tuple[RoleSource, ...]:
    """Every way a role in the first of `chain` comes to a person, what counts first. The others are the collections it
    lies in, from the inside out."""
    if person.disabled:
        return ()
    found: list[RoleSource] = []
    for depth, place in enumerate(chain):
        where = _where(chain, depth)
        if role := place.people.get(person.id):
            found.append(
                RoleSource(
                    "inherited" if depth else "direct",
                    role,
                    f"{role_name(role)}{where}, given directly to {person.name}",
                )
            )
        for team, (title, role) in place.teams.items():
            if team in person.teams:
                by = f"{',' if depth > 1 else ''} through the team {title}, which includes {person.name}"
                found.append(
                    RoleSource("inherited from team" if depth else "team", role, f"{role_name(role)}{where}{by}")
                )
    if (own := _by_organization(person, chain, organization)) is not None:
        found.append(own)
    return tuple(sorted(found, key=lambda way: -rank(way.role)))


def no_access_reason(person: Person, chain: Sequence[Place], organization: str) -> str:
    """Why the role somebody has in the organization does not reach here, in a sentence. Empty: it does, or they have none."""
    if person.disabled:
        return f"The account of {person.name} is disabled in {organization} and has no access."
    if person.role is None:
        return f"{person.name} is a Guest in {organization}. Guests have only the roles that are given to them."
    place = _deciding(chain)
    if person.role != "admin" and place is not None and place.default_level is None:
        return f"{person.name} has the {role_name(person.role)} role in {organization}, but {place.title} gives no default access."
    return ""


def access_sentence(person: Person, chain: Sequence[Place], organization: str, role: str | None) -> str:
    """Why somebody may do what they may, with the chain. `role` is what it comes to, as the server says."""
    here = chain[0].title
    found = role_sources(person, chain, organization)
    why = next((each for each in found if each.role == role), None)
    if why is not None:
        return f"{person.name} can {actions(role)} in {here}: {why.description}."
    if role is None:
        return f"{person.name} has no access to {here}. {no_access_reason(person, chain, organization)}".strip()
    unread = [f"{each.title} ({each.unread})" for each in chain if each.unread]
    known = f" Could not load the roles given in {' and '.join(unread)}." if unread else ""
    return f"{person.name} can {actions(role)} in {here} as {role_name(role)}. The server does not say where this role comes from.{known}"


def actions(role: str | None) -> str:
    """What a role allows, what takes most first: `merge, review, edit, comment and read`."""
    if role not in ROLES:
        return f"do what the role {role} allows"
    *others, last = [_DEEDS[each] for each in reversed(ROLES[: rank(role) + 1])]
    return f"{', '.join(others)} and {last}" if others else last


def role_name(role: str | None) -> str:
    """Return the name of a role. Without a role a member is a Guest."""
    return label(role or "guest")


def _where(chain: Sequence[Place], depth: int) -> str:
    """Where on the way up a role was given, as it goes on after the role."""
    if not depth:
        return " here"
    inside = f", which contains {chain[depth - 1].title}" if depth > 1 else ""
    return f" in the collection {chain[depth].title}{inside}"


def _deciding(chain: Sequence[Place]) -> Place | None:
    """The place whose default level counts. None: it is `inherit` up to the root, which lets every role in."""
    return next((each for each in chain if each.default_level != "inherit"), None)


def _by_organization(person: Person, chain: Sequence[Place], organization: str) -> RoleSource | None:
    own = person.role
    if own is None:
        return None
    if own == "admin":
        return RoleSource("administrator", own, f"Admin in {organization}, and Admins have access everywhere")
    place = _deciding(chain)
    if place is None:
        return RoleSource("organization", own, f"{role_name(own)} in {organization}, and this role is inherited here")
    level = place.default_level
    if level is None:
        return None
    which = "the default access here" if place is chain[0] else f"the default access of {place.title}"
    if rank(own) <= rank(level):
        return RoleSource(
            "organization",
            own,
            f"{role_name(own)} in {organization}, and {which} allows roles up to {role_name(level)}",
        )
    return RoleSource(
        "organization", level, f"{role_name(own)} in {organization}, but {which} limits this role to {role_name(level)}"
    )
