"""Teams of an organization. Administrators manage every team, owners theirs."""

from __future__ import annotations

from octavo.api import teams
from octavo.api.folding import fold
from octavo.server.handlers.members import need_to_manage, present_member, shared_places, team_path, teams_of
from octavo.server.handlers.permissions import around, organization_role, refuse_guests
from octavo.server.handlers.users import by_address
from octavo.server.rest import completes, guards, handle, page, path_of, shows, without
from octavo.server.store import Json
from octavo.server.world import Refused, World


@shows(teams.Team)
def present_team(world: World, document: Json) -> Json:
    """A team, with its members and the spaces it has a role in counted."""
    facts = without(document, "organization")
    members = world.store.count(f"{team_path(document)}/members")
    permissions = {"view": True, "admin": manages(world, document)}
    return {
        "object": "team",
        **facts,
        "members": members,
        "spaces": _spaces(world, document),
        "permissions": permissions,
    }


def _spaces(world: World, team: Json) -> int:
    of_organization = (space for space in world.store.all("/spaces") if space["organization"] == team["organization"])
    grant = f"permissions/teams/{team['id']}"
    return sum(
        1
        for space in of_organization
        if not space.get("deletedAt") and any(world.store.find(f"{path}/{grant}") for path, _ in around(world, space))
    )


@shows(teams.TeamMember)
def _present_member(world: World, document: Json) -> Json:
    organization = document["organization"]
    member = world.store.get(f"/orgs/{organization}/members/{document['id']}")
    person = present_member(world, organization, member)
    return {"organization": person, "team": {"role": document["role"]}, "permissions": {"view": True}}


def manages(world: World, team: Json, user: str | None = None) -> bool:
    """Whether `user` (or the caller) may change a team: as an administrator, or as its owner."""
    if organization_role(world, team["organization"], user) == "admin":
        return True
    membership = world.store.find(f"{team_path(team)}/members/{user or world.caller}")
    return membership is not None and membership["role"] == "owner"


@guards(teams.Get, teams.ListMembers)
def _may_see(op: teams.Get | teams.ListMembers | teams.List, world: World) -> None:
    refuse_guests(world, op.at.organization_id, "see the teams")
    if not isinstance(op, teams.List):
        world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")


@guards(teams.Update, teams.DeleteMember)
def _may_manage(
    op: teams.Update | teams.Delete | teams.UpdateMembers | teams.AddMember | teams.DeleteMember, world: World
) -> None:
    team = world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")
    leaves = isinstance(op, teams.DeleteMember) and op.user_id == world.caller
    if not leaves and not manages(world, team):
        sentence = f"Only owners of the team “{team['title']}” and admins can change the team."
        raise Refused(403, f"{sentence} Ask an owner or an admin to change the team, or to make you an owner.")


@guards(teams.Create)
def _may_create(op: teams.Create, world: World) -> None:
    need_to_manage(world, op.at.organization_id)


@completes(teams.Team)
def _complete(op: teams.Create | teams.Update, world: World, team: Json) -> Json:
    if isinstance(op, teams.Update):
        return team
    team |= {"organization": op.at.organization_id, "createdAt": world.timestamp()}
    for user in team.pop("members", ()):
        _put_in(world, team, user, "owner" if user == world.caller else "member")
    return team


def _put_in(world: World, team: Json, user: str, role: str | None = None) -> None:
    """Let a member of the organization be in a team: as what they are already, or a plain member, if not told."""
    world.store.get(f"/orgs/{team['organization']}/members/{user}")
    path = f"{team_path(team)}/members/{user}"
    held = world.store.find(path) or {"role": "member"}
    world.store.put(path, {"id": user, "organization": team["organization"], "role": role or held["role"]})


@handle.register
def _list(op: teams.List, world: World) -> Json:
    _may_see(op, world)
    every = world.store.positioned(path_of(op))
    wanted = ((place, team) for place, team in every if _titled(team, op.title))
    found = [pair for pair in wanted if op.owner is None or manages(world, pair[1], op.owner)]
    return page(op, found, lambda team: present_team(world, team))


def _titled(team: Json, words: str | None) -> bool:
    return fold(words or "") in fold(team["title"])


@handle.register
def _delete(op: teams.Delete, world: World) -> None:
    _may_manage(op, world)
    for path in shared_places(world, op.at.organization_id):
        world.store.delete(f"{path}/permissions/teams/{op.team_id}")
    world.store.delete(path_of(op))


@handle.register
def _add_member(op: teams.AddMember, world: World) -> None:
    _may_manage(op, world)
    _put_in(world, world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}"), op.user_id, op.role)


@handle.register
def _update_members(op: teams.UpdateMembers, world: World) -> None:
    _may_manage(op, world)
    team = world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")
    people = by_address(world)
    for named in op.remove or ():
        world.store.delete(f"{team_path(team)}/members/{people.get(fold(named), named)}")
    for named in dict.fromkeys(op.add or ()):
        _put_in(world, team, people.get(fold(named), named))
    for user, membership in (op.memberships or {}).items():
        _put_in(world, team, user, membership.role)


@handle.register
def _list_of_member(op: teams.ListOfMember, world: World) -> Json:
    organization = op.at.organization_id
    if op.user_id != world.caller:
        refuse_guests(world, organization, "see the teams of other members")
    world.store.get(f"/orgs/{organization}/members/{op.user_id}")
    found = [pair for pair in teams_of(world, organization, op.user_id) if _titled(pair[1], op.title)]
    return page(op, found, lambda team: _membership(world, team, op.user_id))


def _membership(world: World, team: Json, user: str) -> Json:
    role = world.store.get(f"{team_path(team)}/members/{user}")["role"]
    return {"team": present_team(world, team), "member": {"role": role}}
