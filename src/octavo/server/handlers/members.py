"""Users, members of organizations and teams."""

from __future__ import annotations

from octavo.api import organizations, teams, users
from octavo.api.folding import fold
from octavo.server.handlers.permissions import (
    containers,
    membership,
    organization_role,
    refuse_guests,
    require_in_organization,
    role,
)
from octavo.server.rest import before_save, guards, handle, omit, paginate, path_of, presents, request_fields
from octavo.server.store import Json, MissingResource
from octavo.server.world import Refusal, World


def present_user(world: World, user_id: str) -> Json:
    """Return a user in the form that is embedded in other resources. Works for deleted users too."""
    document = world.store.find(f"/users/{user_id}") or {"id": user_id, "displayName": "Former member"}
    return {"object": "user", **document, "urls": {"location": world.url(f"/v1/users/{user_id}")}}


def user_ids_by_email(world: World) -> dict[str, str]:
    """Return the IDs of users by case-folded email address."""
    return {fold(user["email"]): user["id"] for user in world.store.all("/users") if user.get("email")}


@handle.register
def _get_me(op: users.Me, world: World) -> Json:
    return present_user(world, world.caller)


@handle.register
def _get_user(op: users.Get, world: World) -> Json:
    user = world.store.get(f"/users/{op.user_id}")
    if op.user_id != world.caller and not _have_common_organization(world, op.user_id):
        raise MissingResource(f"/users/{op.user_id}")
    return present_user(world, user["id"])


def _have_common_organization(world: World, user_id: str) -> bool:
    organizations = [organization["id"] for organization in world.store.all("/orgs")]
    return any(membership(world, each) and membership(world, each, user_id) for each in organizations)


def present_member(world: World, organization: str, document: Json) -> Json:
    """Return a member of an organization, with the number of spaces they can see and of teams they are in."""
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
    """Return the teams of a member with their positions."""
    every = world.store.items(f"/orgs/{organization}/teams")
    return [(place, team) for place, team in every if world.store.find(f"{team_path(team)}/members/{user}")]


def team_path(team: Json) -> str:
    """Return the path in the store of a team."""
    return f"/orgs/{team['organization']}/teams/{team['id']}"


def shareable_paths(world: World, organization: str) -> list[str]:
    """Return the paths of all spaces and collections of an organization, where roles can be granted."""
    kinds = ("/spaces", "/collections")
    every = ((kind, each) for kind in kinds for each in world.store.all(kind))
    return [f"{kind}/{each['id']}" for kind, each in every if each["organization"] == organization]


def require_admin(world: World, organization: str) -> None:
    """Raise Refusal unless the caller is an admin of the organization."""
    require_in_organization(world, world.store.get(f"/orgs/{organization}"), "admin")


@handle.register
def _list_members(op: organizations.ListMembers, world: World) -> Json:
    refuse_guests(world, op.at.organization_id, "list the members")
    members = (
        ((member.get(op.sort, ""), member["id"]), member)
        for member in world.store.all(path_of(op))
        if _is_listed(op, member, world)
    )
    ordered = sorted(members, key=lambda pair: pair[0], reverse=op.order == "desc")
    show = lambda member: present_member(world, op.at.organization_id, member)  # noqa: E731  # it is said once
    return paginate(op, ordered, show, descending=op.order == "desc")


def _is_listed(op: organizations.ListMembers, member: Json, world: World) -> bool:
    if op.role and member["role"] != (None if op.role == "guest" else op.role):
        return False
    if op.sort == "lastSeenAt" and not member.get("lastSeenAt"):
        return False
    if not op.search:
        return True
    person, words = present_user(world, member["id"]), fold(op.search)
    return any(words in fold(person.get(field) or "") for field in ("displayName", "email"))


@handle.register
def _get_member(op: organizations.GetMember, world: World) -> Json:
    if op.user_id != world.caller:
        refuse_guests(world, op.at.organization_id, "see other members")
    return present_member(world, op.at.organization_id, world.store.get(path_of(op)))


@handle.register
def _update_member(op: organizations.UpdateMember, world: World) -> Json:
    require_admin(world, op.at.organization_id)
    fields = request_fields(op)
    if fields.get("role", "admin") != "admin":
        _refuse_last_administrator(world, op)
    return present_member(world, op.at.organization_id, world.store.update(path_of(op), **fields))


@handle.register
def _enroll_member(op: organizations.EnrollMember, world: World) -> Json:
    require_admin(world, op.at.organization_id)
    path = path_of(op).removesuffix("/sso")
    return present_member(world, op.at.organization_id, world.store.update(path, sso=True))


@handle.register
def _ping(op: organizations.Ping, world: World) -> Json:
    world.store.update(f"/orgs/{op.at.organization_id}/members/{world.caller}", lastSeenAt=world.timestamp())
    # Visitor claims come from sign-in on a site, which the embedded platform does not offer.
    return {}


@handle.register
def _delete_member(op: organizations.DeleteMember, world: World) -> None:
    organization = op.at.organization_id
    if op.user_id != world.caller:
        require_admin(world, organization)
    world.store.get(path_of(op))
    _refuse_last_administrator(world, op)
    for _, team in teams_of(world, organization, op.user_id):
        world.store.delete(f"{team_path(team)}/members/{op.user_id}")
    for path in shareable_paths(world, organization):
        world.store.delete(f"{path}/permissions/users/{op.user_id}")
        for change_request in world.store.all(f"{path}/change-requests"):
            world.store.delete(f"{path}/change-requests/{change_request['id']}/requested-reviewers/{op.user_id}")
    world.store.delete(path_of(op))


def _refuse_last_administrator(world: World, op: organizations.UpdateMember | organizations.DeleteMember) -> None:
    """Raise Refusal if the operation would leave the organization without an active admin."""
    everybody = list(world.store.all(f"/orgs/{op.at.organization_id}/members"))
    active_admins = {member["id"] for member in everybody if member["role"] == "admin" and not member.get("disabled")}
    if active_admins == {op.user_id}:
        name = present_user(world, op.user_id)["displayName"]
        raise Refusal(409, f"{name} is the only admin of the organization. Give another member the Admin role first.")


@presents(teams.Team)
def present_team(world: World, document: Json) -> Json:
    """Return a team with the number of its members and of spaces it has a role in."""
    facts = omit(document, "organization")
    members = world.store.count(f"{team_path(document)}/members")
    permissions = {"view": True, "admin": can_manage_team(world, document)}
    return {
        "object": "team",
        **facts,
        "members": members,
        "spaces": _count_spaces(world, document),
        "permissions": permissions,
    }


def _count_spaces(world: World, team: Json) -> int:
    of_organization = (space for space in world.store.all("/spaces") if space["organization"] == team["organization"])
    grant = f"permissions/teams/{team['id']}"
    return sum(
        1
        for space in of_organization
        if not space.get("deletedAt")
        and any(world.store.find(f"{path}/{grant}") for path, _ in containers(world, space))
    )


@presents(teams.TeamMember)
def _present_team_member(world: World, document: Json) -> Json:
    organization = document["organization"]
    member = world.store.get(f"/orgs/{organization}/members/{document['id']}")
    person = present_member(world, organization, member)
    return {"organization": person, "team": {"role": document["role"]}, "permissions": {"view": True}}


def can_manage_team(world: World, team: Json, user: str | None = None) -> bool:
    """Return whether `user`, by default the caller, may change a team. Only admins and owners of the team may."""
    if organization_role(world, team["organization"], user) == "admin":
        return True
    membership = world.store.find(f"{team_path(team)}/members/{user or world.caller}")
    return membership is not None and membership["role"] == "owner"


@guards(teams.Get, teams.ListMembers)
def _require_team_access(op: teams.Get | teams.ListMembers | teams.List, world: World) -> None:
    refuse_guests(world, op.at.organization_id, "see the teams")
    if not isinstance(op, teams.List):
        world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")


@guards(teams.Update, teams.DeleteMember)
def _require_team_manager(
    op: teams.Update | teams.Delete | teams.UpdateMembers | teams.AddMember | teams.DeleteMember, world: World
) -> None:
    team = world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")
    leaves = isinstance(op, teams.DeleteMember) and op.user_id == world.caller
    if not leaves and not can_manage_team(world, team):
        sentence = f"Only owners of the team “{team['title']}” and admins can change the team."
        raise Refusal(403, f"{sentence} Ask an owner or an admin to change the team, or to make you an owner.")


@guards(teams.Create)
def _require_team_creator(op: teams.Create, world: World) -> None:
    require_admin(world, op.at.organization_id)


@before_save(teams.Team)
def _fill_in_team(op: teams.Create | teams.Update, world: World, team: Json) -> Json:
    if isinstance(op, teams.Update):
        return team
    team |= {"organization": op.at.organization_id, "createdAt": world.timestamp()}
    for user in team.pop("members", ()):
        _add_to_team(world, team, user, "owner" if user == world.caller else "member")
    return team


def _add_to_team(world: World, team: Json, user: str, role: str | None = None) -> None:
    """Add a member of the organization to a team. Without `role`, the earlier role stays, or becomes “member”."""
    world.store.get(f"/orgs/{team['organization']}/members/{user}")
    path = f"{team_path(team)}/members/{user}"
    membership = world.store.find(path) or {"role": "member"}
    world.store.put(path, {"id": user, "organization": team["organization"], "role": role or membership["role"]})


@handle.register
def _list_teams(op: teams.List, world: World) -> Json:
    _require_team_access(op, world)
    every = world.store.items(path_of(op))
    with_title = ((place, team) for place, team in every if _has_title(team, op.title))
    matching = [pair for pair in with_title if op.owner is None or can_manage_team(world, pair[1], op.owner)]
    return paginate(op, matching, lambda team: present_team(world, team))


def _has_title(team: Json, words: str | None) -> bool:
    return fold(words or "") in fold(team["title"])


@handle.register
def _delete_team(op: teams.Delete, world: World) -> None:
    _require_team_manager(op, world)
    for path in shareable_paths(world, op.at.organization_id):
        world.store.delete(f"{path}/permissions/teams/{op.team_id}")
    world.store.delete(path_of(op))


@handle.register
def _add_member(op: teams.AddMember, world: World) -> None:
    _require_team_manager(op, world)
    _add_to_team(world, world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}"), op.user_id, op.role)


@handle.register
def _update_members(op: teams.UpdateMembers, world: World) -> None:
    _require_team_manager(op, world)
    team = world.store.get(f"/orgs/{op.at.organization_id}/teams/{op.team_id}")
    people = user_ids_by_email(world)
    for named in op.remove or ():
        world.store.delete(f"{team_path(team)}/members/{people.get(fold(named), named)}")
    for named in dict.fromkeys(op.add or ()):
        _add_to_team(world, team, people.get(fold(named), named))
    for user, member in (op.memberships or {}).items():
        _add_to_team(world, team, user, member.role)


@handle.register
def _list_of_member(op: teams.ListOfMember, world: World) -> Json:
    organization = op.at.organization_id
    if op.user_id != world.caller:
        refuse_guests(world, organization, "see the teams of other members")
    world.store.get(f"/orgs/{organization}/members/{op.user_id}")
    matching = [pair for pair in teams_of(world, organization, op.user_id) if _has_title(pair[1], op.title)]
    return paginate(op, matching, lambda team: _present_membership(world, team, op.user_id))


def _present_membership(world: World, team: Json, user: str) -> Json:
    role = world.store.get(f"{team_path(team)}/members/{user}")["role"]
    return {"team": present_team(world, team), "member": {"role": role}}
