"""Who may do what in a space or collection: whom a role was given there, what it comes to, and why (`data/access.py`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from octavo.api import permissions, spaces, teams
from octavo.api.operation import Operation
from octavo.api.places import SpaceRef
from octavo.api.roles import Role
from octavo.data.access import MERGES, deeds
from octavo.data.live import Live
from octavo.tui.resources import access_reading
from octavo.tui.resources.resource import Column, Known, Resource, Rights, Unmaking, by, made
from octavo.tui.widgets.wording import plural


def _given(operation: type[Operation[Any]], known: Known, role: str, **ids: str) -> Operation[Any] | None:
    """What gives somebody the role again that was taken. None: it is one that cannot be written."""
    return made(operation, {**known, **ids, "role": role}) if role in get_args(Role) else None


def _unmaking(live: Live, known: Known) -> Unmaking:
    """What takes roles back that are given now: who had one before has that again."""
    sides: list[tuple[str, str, type[Operation[Any]], type[Operation[Any]], dict[str, str] | None]] = []
    for kind, ids, change, take in (
        (PEOPLE, "user", permissions.UpdateUser, permissions.DeleteUser),
        (TEAMS_WITH_A_ROLE, "team", permissions.UpdateTeam, permissions.DeleteTeam),
    ):
        found = live.peek(kind.list_op(known)).value
        held = {kind.key(each): each.permission for each in found.items} if found is not None else {}
        is_whole = found is not None and found.next is None
        sides.append((ids, f"{ids}_id", change, take, held if is_whole else None))

    def ops(op: permissions.Grant) -> list[Operation[Any]] | None:
        backs: list[Operation[Any] | None] = []
        for ids, name, change, take, before in sides:
            for each in getattr(op, f"{ids}s") or ():
                if before is None:
                    return None
                role = before.get(each)
                backs.append(
                    _given(change, known, role, **{name: each})
                    if role is not None
                    else made(take, {**known, name: each})
                )
        return None if None in backs else [each for each in backs if each is not None]

    return ops


_GIVING = "They have it here, and in all that lies below."


def _given_to(op: permissions.Grant, answer: None) -> str:
    """To how many a role was given."""
    counts = ((len(op.users or ()), "person", "people"), (len(op.teams or ()), "team", "teams"))
    who = " and ".join(plural(number, one, many) for number, one, many in counts if number) or "Nobody"
    return f"{who} may {deeds(op.role)} here now." if op.role else f"{who} may nothing here by a role of their own."


PEOPLE: Resource[permissions.UserPermission] = Resource(
    "person", "people", permissions.ListUsers,
    about="People who were given a role here.",
    create=permissions.Grant, update=permissions.UpdateUser, delete=permissions.DeleteUser,
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    named=by("user_id", "user.id"),
    columns=(Column("NAME", "user.name"), Column("ROLE", "permission", 10), Column("E-MAIL", "user.email", drop=1)),
    written=lambda each: teams.Membership(role=each.permission),
    again=lambda known, each: _given(permissions.UpdateUser, known, each.permission, user_id=each.user.id),
    lookups=(permissions.ListTeams,),
    unmaking=_unmaking,
    new="Give a role",
    making=_GIVING,
    said_new=_given_to,
    verbs=("take the role from", "without their role"),
)  # fmt: skip
TEAMS_WITH_A_ROLE: Resource[permissions.TeamPermission] = Resource(
    "team", "teams", permissions.ListTeams,
    about="Teams that were given a role here.",
    create=permissions.Grant, update=permissions.UpdateTeam, delete=permissions.DeleteTeam,
    title=lambda each: each.team.title,
    key=lambda each: each.team.id,
    named=by("team_id", "team.id"),
    columns=(Column("TEAM", "team.title"), Column("ROLE", "permission", 10), Column("MEMBERS", "team.members", 8, right=True)),
    written=lambda each: teams.Membership(role=each.permission),
    again=lambda known, each: _given(permissions.UpdateTeam, known, each.permission, team_id=each.team.id),
    lookups=(permissions.ListUsers,),
    unmaking=_unmaking,
    new="Give a role",
    making=_GIVING,
    said_new=_given_to,
    verbs=("take the role from", "without its role"),
)  # fmt: skip
EVERYBODY: Resource[permissions.UserPermission] = Resource(
    "person with a role", "everybody", permissions.ListAggregate,
    about="Everybody with a role here, wherever it comes from, with the highest they have.",
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    columns=(
        Column("NAME", "user.name"),
        Column("ROLE", "permission", 10),
        Column("MAY", lambda each: deeds(each.permission), drop=2),
        Column("E-MAIL", "user.email", drop=1),
    ),
    told=access_reading.of_person,
    none="Nobody has a role here.",
    elsewhere="Roles are given, changed and taken back among people and teams: ] goes there.",
    rights=Rights("", "", ""),
)  # fmt: skip
WHO_MERGES: Resource[permissions.UserPermission] = replace(
    EVERYBODY,
    one="person who may merge",
    many="who may merge",
    about="Everybody whose role lets them merge here, wherever it comes from.",
    none="Nobody may merge here.",
    items=lambda answer: tuple(each for each in answer.items if each.permission in MERGES),
)
ACCESS = (EVERYBODY, WHO_MERGES, PEOPLE, TEAMS_WITH_A_ROLE)
"""What there is to know of who may do what somewhere."""


def in_space(known: Known, space: str) -> Known:
    """What is known inside a space: which it is, and still whose."""
    organization = known.get("organization_id") or known["at"].organization_id
    return {"at": SpaceRef(space_id=space), "organization_id": organization}


IN_THE_TREE = "Spaces are made, changed and deleted in the tree of spaces: 2, then esc."

SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", spaces.List,
    about="Spaces of the organization, and who may do what in each.",
    title=lambda each: each.title or each.id,
    named=lambda known, each: in_space(known, each.id),
    columns=(
        Column("SPACE", lambda each: each.title or each.id),
        Column("IN", "parent", is_id=True, drop=1),
        Column("EVERYBODY MAY", "default_level", 13, none="nothing"),
        Column("VISIBILITY", "visibility", 13, drop=2),
        Column("CHANGED", "updated_at", 7, right=True, drop=3),
    ),
    elsewhere=IN_THE_TREE,
    children=ACCESS,
    rights=Rights("", "", ""),
)  # fmt: skip
MEMBER_SPACES: Resource[permissions.SpacePermission] = Resource(
    "space", "spaces", permissions.ListOfMember,
    about="Spaces this member can see, what they may do there, and why.",
    title=lambda each: each.space.title,
    key=lambda each: each.space.id,
    named=lambda known, each: in_space(known, each.space.id),
    columns=(
        Column("SPACE", "space.title"),
        Column("ROLE", "permission", 10),
        Column("MAY", lambda each: deeds(each.permission), drop=2),
        Column("VISIBILITY", "space.visibility", 12, drop=1),
    ),
    told=access_reading.of_space,
    elsewhere="Their role is given and changed in the space: enter, then people.",
    holder=lambda each: each.space,
    children=ACCESS,
    rights=Rights("", "", ""),
)  # fmt: skip
