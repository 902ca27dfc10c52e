"""Roles that are given on spaces and collections, to people and to teams, and what they come to."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.api import permissions
from octavo.api.places import Shared
from octavo.server.handlers.arranging import visible_spaces
from octavo.server.handlers.members import present_team, present_user
from octavo.server.handlers.permissions import allows, need, refuse_guests, role
from octavo.server.handlers.spaces import present_space
from octavo.server.rest import guards, handle, page, path_of, shows
from octavo.server.store import Json
from octavo.server.world import Refused, World


@shows(permissions.UserPermission)
def _present_user_permission(world: World, grant: Json) -> Json:
    return {"permission": grant["role"], "user": present_user(world, grant["id"])}


@shows(permissions.TeamPermission)
def _present_team_permission(world: World, grant: Json) -> Json:
    team = world.store.get(f"/orgs/{grant['organization']}/teams/{grant['id']}")
    return {"permission": grant["role"], "team": present_team(world, team)}


def _holder(world: World, at: Shared) -> Json:
    """The space or collection that is shared."""
    return world.store.get(at.path.format(**at.model_dump()))


@guards(permissions.ListUsers, permissions.ListTeams)
def _may_see(op: permissions.AtShared, world: World) -> None:
    holder = _holder(world, op.at)
    if not allows(role(world, holder), "admin"):
        refuse_guests(world, holder["organization"], "see who has access")


@guards(permissions.DeleteUser, permissions.DeleteTeam)
def _may_manage(op: permissions.AtShared, world: World) -> None:
    need(world, _holder(world, op.at), "admin")


@handle.register
def _grant(op: permissions.Grant, world: World) -> None:
    _may_manage(op, world)
    if op.users is None and op.teams is None:
        raise Refused(400, "users or teams is required: choose who gets the role.")
    organization = _holder(world, op.at)["organization"]
    for user in dict.fromkeys(op.users or ()):
        world.store.get(f"/orgs/{organization}/members/{user}")
        _give(world, f"{path_of(op)}/users/{user}", {"id": user}, op.role)
    for team in dict.fromkeys(op.teams or ()):
        world.store.get(f"/orgs/{organization}/teams/{team}")
        _give(world, f"{path_of(op)}/teams/{team}", {"id": team, "organization": organization}, op.role)


@handle.register(permissions.UpdateUser)
@handle.register(permissions.UpdateTeam)
def _update(op: permissions.UpdateUser | permissions.UpdateTeam, world: World) -> None:
    _may_manage(op, world)
    held = world.store.get(path_of(op))
    _give(world, path_of(op), held, op.role if "role" in op.model_fields_set else held["role"])


def _give(world: World, path: str, whom: Json, given: str | None) -> None:
    """Keep a role given on a space or collection, or take it back."""
    if given is None:
        world.store.delete(path)
    else:
        world.store.put(path, {**whom, "role": given})


@handle.register
def _list_aggregate(op: permissions.ListAggregate, world: World) -> Json:
    _may_see(op, world)
    return page(
        op, _everybody(world, _holder(world, op.at), op.role), lambda held: _present_user_permission(world, held)
    )


def _everybody(world: World, holder: Json, wanted: str | None) -> Iterator[tuple[int, Json]]:
    """The members with a role in a space or collection, with what orders them."""
    for place, member in world.store.positioned(f"/orgs/{holder['organization']}/members"):
        held = role(world, holder, member["id"])
        if held and wanted in (None, held):
            yield place, {"id": member["id"], "role": held}


@handle.register
def _list_of_member(op: permissions.ListOfMember, world: World) -> Json:
    """Only spaces that the caller can see too."""
    organization, user = op.at.organization_id, op.user_id
    if user != world.caller:
        refuse_guests(world, organization, "see the spaces of other members")
    world.store.get(f"/orgs/{organization}/members/{user}")
    held = [(space, role(world, space, user)) for _, space in visible_spaces(world, organization)]
    found = [((space["createdAt"], space["id"]), (space, role)) for space, role in held if role]
    descending = op.order == "desc"
    found.sort(key=lambda pair: pair[0], reverse=descending)
    show = lambda pair: {"permission": pair[1], "space": present_space(world, pair[0])}  # noqa: E731  # it is said once
    return page(op, found, show, descending=descending)
