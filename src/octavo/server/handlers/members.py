"""Members of organizations, guests too."""

from __future__ import annotations

from octavo.api import organizations
from octavo.api.folding import fold
from octavo.server.handlers.permissions import need_in_organization, refuse_guests, role
from octavo.server.handlers.users import present_user
from octavo.server.rest import given, handle, page, path_of
from octavo.server.store import Json
from octavo.server.world import Refused, World


def present_member(world: World, organization: str, document: Json) -> Json:
    """A member of an organization, with how many of its spaces they can see and teams they are in."""
    user = document["id"]
    spaces = (space for space in world.store.all("/spaces") if space["organization"] == organization)
    return {
        "object": "member",
        "disabled": False,
        "sso": False,
        **document,
        "user": present_user(world, user),
        "spaces": sum(1 for space in spaces if not space.get("deletedAt") and role(world, space, user)),
        "teams": sum(1 for team in teams_of(world, organization, user)),
    }


def teams_of(world: World, organization: str, user: str) -> list[tuple[int, Json]]:
    """The teams of an organization that a member is in, with their places."""
    every = world.store.positioned(f"/orgs/{organization}/teams")
    return [(place, team) for place, team in every if world.store.find(f"{team_path(team)}/members/{user}")]


def team_path(team: Json) -> str:
    """Where a team is filed."""
    return f"/orgs/{team['organization']}/teams/{team['id']}"


def shared_places(world: World, organization: str) -> list[str]:
    """The paths of the spaces and collections of an organization, on which roles may be given."""
    kinds = ("/spaces", "/collections")
    every = ((kind, each) for kind in kinds for each in world.store.all(kind))
    return [f"{kind}/{each['id']}" for kind, each in every if each["organization"] == organization]


def need_to_manage(world: World, organization: str) -> None:
    """Refuse all but administrators of an organization."""
    need_in_organization(world, world.store.get(f"/orgs/{organization}"), "admin")


@handle.register
def _list(op: organizations.ListMembers, world: World) -> Json:
    refuse_guests(world, op.at.organization_id, "list the members")
    found = (
        ((member.get(op.sort, ""), member["id"]), member)
        for member in world.store.all(path_of(op))
        if _wanted(op, member, world)
    )
    ordered = sorted(found, key=lambda pair: pair[0], reverse=op.order == "desc")
    show = lambda member: present_member(world, op.at.organization_id, member)  # noqa: E731  # it is said once
    return page(op, ordered, show, descending=op.order == "desc")


def _wanted(op: organizations.ListMembers, member: Json, world: World) -> bool:
    if op.role and member["role"] != (None if op.role == "guest" else op.role):
        return False
    if op.sort == "lastSeenAt" and not member.get("lastSeenAt"):
        return False
    if not op.search:
        return True
    person, words = present_user(world, member["id"]), fold(op.search)
    return any(words in fold(person.get(field) or "") for field in ("displayName", "email"))


@handle.register
def _get(op: organizations.GetMember, world: World) -> Json:
    if op.user_id != world.caller:
        refuse_guests(world, op.at.organization_id, "see other members")
    return present_member(world, op.at.organization_id, world.store.get(path_of(op)))


@handle.register
def _update(op: organizations.UpdateMember, world: World) -> Json:
    need_to_manage(world, op.at.organization_id)
    fields = given(op)
    if fields.get("role", "admin") != "admin":
        _refuse_last_administrator(world, op)
    return present_member(world, op.at.organization_id, world.store.change(path_of(op), **fields))


@handle.register
def _enroll(op: organizations.EnrollMember, world: World) -> Json:
    need_to_manage(world, op.at.organization_id)
    path = path_of(op).removesuffix("/sso")
    return present_member(world, op.at.organization_id, world.store.change(path, sso=True))


@handle.register
def _ping(op: organizations.Ping, world: World) -> Json:
    world.store.change(f"/orgs/{op.at.organization_id}/members/{world.caller}", lastSeenAt=world.timestamp())
    # Claims are of visitors who signed in to a site elsewhere; a platform on this machine has none of them.
    return {}


@handle.register
def _delete(op: organizations.DeleteMember, world: World) -> None:
    organization = op.at.organization_id
    if op.user_id != world.caller:
        need_to_manage(world, organization)
    world.store.get(path_of(op))
    _refuse_last_administrator(world, op)
    for _, team in teams_of(world, organization, op.user_id):
        world.store.delete(f"{team_path(team)}/members/{op.user_id}")
    for path in shared_places(world, organization):
        world.store.delete(f"{path}/permissions/users/{op.user_id}")
        for change_request in world.store.all(f"{path}/change-requests"):
            world.store.delete(f"{path}/change-requests/{change_request['id']}/requested-reviewers/{op.user_id}")
    world.store.delete(path_of(op))


def _refuse_last_administrator(world: World, op: organizations.UpdateMember | organizations.DeleteMember) -> None:
    """Refuse to leave an organization without an administrator who could change anything again."""
    everybody = list(world.store.all(f"/orgs/{op.at.organization_id}/members"))
    able = {member["id"] for member in everybody if member["role"] == "admin" and not member.get("disabled")}
    if able == {op.user_id}:
        name = present_user(world, op.user_id)["displayName"]
        raise Refused(409, f"{name} is the only admin of the organization. Give another member the Admin role first.")
