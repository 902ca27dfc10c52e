"""The tables of access to a space or collection: who has which role there, and why (`data/access.py`)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

from octavo.api import permissions, spaces, teams
from octavo.api.labels import label
from octavo.api.operation import Operation
from octavo.api.places import SpaceRef
from octavo.api.roles import Role
from octavo.data.access import MERGE_ROLES, actions
from octavo.data.live import Live
from octavo.tui.resources import access_reading
from octavo.tui.resources.resource import Column, Known, Resource, Rights, Unmaking, by, made
from octavo.tui.widgets.wording import plural


def _given(operation: type[Operation[Any]], known: Known, role: str, **ids: str) -> Operation[Any] | None:
    """Return the operation that gives a removed role again. None if the role is not one that requests can hold."""
    return made(operation, {**known, **ids, "role": role}) if role in get_args(Role) else None


def _unmaking(live: Live, known: Known) -> Unmaking:
    """Return the operations that undo a grant: users and teams get their previous roles again."""
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


_GIVING = "The role applies to this space or collection and to everything in it."


def _given_to(op: permissions.Grant, answer: None) -> str:
    """Return how many members and teams a role was given to."""
    counts = ((len(op.users or ()), "member"), (len(op.teams or ()), "team"))
    whom = " and ".join(plural(number, one) for number, one in counts if number)
    return f"Assigned the {label(op.role)} role to {whom}." if op.role else f"Removed the role from {whom}."


PEOPLE: Resource[permissions.UserPermission] = Resource(
    "member", "members", permissions.ListUsers,
    about="Members with a role that was assigned to them directly, not through a team.",
    create=permissions.Grant, update=permissions.UpdateUser, delete=permissions.DeleteUser,
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    named=by("user_id", "user.id"),
    columns=(Column("NAME", "user.name"), Column("ROLE", "permission", 10, coded=True), Column("EMAIL", "user.email", drop=1)),
    written=lambda each: teams.Membership(role=each.permission),
    again=lambda known, each: _given(permissions.UpdateUser, known, each.permission, user_id=each.user.id),
    lookups=(permissions.ListTeams,),
    unmaking=_unmaking,
    new="Assign a role",
    making=_GIVING,
    said_new=_given_to,
    verbs=("remove the role from", "removed the role from"),
)  # fmt: skip
TEAMS_WITH_A_ROLE: Resource[permissions.TeamPermission] = Resource(
    "team", "teams", permissions.ListTeams,
    about="Teams that have an assigned role. The role applies to all members of the team.",
    create=permissions.Grant, update=permissions.UpdateTeam, delete=permissions.DeleteTeam,
    title=lambda each: each.team.title,
    key=lambda each: each.team.id,
    named=by("team_id", "team.id"),
    columns=(Column("TEAM", "team.title"), Column("ROLE", "permission", 10, coded=True), Column("MEMBERS", "team.members", 8, right=True)),
    written=lambda each: teams.Membership(role=each.permission),
    again=lambda known, each: _given(permissions.UpdateTeam, known, each.permission, team_id=each.team.id),
    lookups=(permissions.ListUsers,),
    unmaking=_unmaking,
    new="Assign a role",
    making=_GIVING,
    said_new=_given_to,
    verbs=("remove the role from", "removed the role from"),
)  # fmt: skip
EVERYBODY: Resource[permissions.UserPermission] = Resource(
    "member with access", "everyone with access", permissions.ListAggregate,
    about="Everyone who has access, with each person's highest role. The details show where the role comes from.",
    title=lambda each: each.user.name,
    key=lambda each: each.user.id,
    columns=(
        Column("NAME", "user.name"),
        Column("ROLE", "permission", 10, coded=True),
        Column("CAN", lambda each: actions(each.permission), drop=2),
        Column("EMAIL", "user.email", drop=1),
    ),
    told=access_reading.of_person,
    none="No one has a role here. To assign a role, go to Members or Teams.",
    elsewhere="To change roles, press ] to go to Members or Teams.",
    rights=Rights("", "", ""),
)  # fmt: skip
WHO_MERGES: Resource[permissions.UserPermission] = replace(
    EVERYBODY,
    one="member who can merge",
    many="members who can merge",
    about="Members whose role lets them merge change requests.",
    none="No one can merge change requests here. In Members or Teams, assign the Creator or Admin role to a member or team.",
    items=lambda answer: tuple(each for each in answer.items if each.permission in MERGE_ROLES),
)
ACCESS = (EVERYBODY, WHO_MERGES, PEOPLE, TEAMS_WITH_A_ROLE)
"""The tables of access, in their order."""


def in_space(known: Known, space: str) -> Known:
    """Return what names a space and its organization to operations."""
    organization = known.get("organization_id") or known["at"].organization_id
    return {"at": SpaceRef(space_id=space), "organization_id": organization}


IN_THE_TREE = (
    "To create, edit, or delete spaces, go to the list of spaces. Press 2, then press esc until the list appears."
)

SPACES: Resource[spaces.Space] = Resource(
    "space", "spaces", spaces.List,
    about="Spaces in the organization. Press enter to see who has access.",
    title=lambda each: each.title or each.id,
    named=lambda known, each: in_space(known, each.id),
    columns=(
        Column("SPACE", lambda each: each.title or each.id),
        Column("IN", "parent", is_id=True, drop=1),
        Column("DEFAULT ACCESS", "default_level", 14, none="none", coded=True),
        Column("VISIBILITY", "visibility", 15, drop=2, coded=True),
        Column("UPDATED", "updated_at", 7, right=True, drop=3),
    ),
    elsewhere=IN_THE_TREE,
    children=ACCESS,
    rights=Rights("", "", ""),
)  # fmt: skip
MEMBER_SPACES: Resource[permissions.SpacePermission] = Resource(
    "space", "spaces", permissions.ListOfMember,
    about="Spaces this member can see, and the member's role in each space. The details show where the role comes from.",
    title=lambda each: each.space.title,
    key=lambda each: each.space.id,
    named=lambda known, each: in_space(known, each.space.id),
    columns=(
        Column("SPACE", "space.title"),
        Column("ROLE", "permission", 10, coded=True),
        Column("CAN", lambda each: actions(each.permission), drop=2),
        Column("VISIBILITY", "space.visibility", 15, drop=1, coded=True),
    ),
    told=access_reading.of_space,
    elsewhere="To change the role, press enter to open the space, then go to Members.",
    holder=lambda each: each.space,
    children=ACCESS,
    rights=Rights("", "", ""),
)  # fmt: skip
