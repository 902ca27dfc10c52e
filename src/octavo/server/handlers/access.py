"""Access to spaces and collections: roles of users and teams, and invitations by email and by link."""

from __future__ import annotations

from collections.abc import Iterator

from octavo.api import invites, permissions
from octavo.api.folding import fold
from octavo.api.operation import Shared
from octavo.server.handlers.organizations import present_team, present_user, user_ids_by_email
from octavo.server.handlers.permissions import (
    ROLES,
    allows,
    can_see,
    organization_role,
    refuse_guests,
    require,
    require_in_organization,
    role,
)
from octavo.server.handlers.spaces import present_space, visible_spaces
from octavo.server.rest import Refusal, RequestContext, before_save, guards, handle, omit, paginate, path_of, presents
from octavo.server.store import Json, MissingResource


@presents(permissions.UserPermission)
def _present_user_permission(context: RequestContext, grant: Json) -> Json:
    return {"permission": grant["role"], "user": present_user(context, grant["id"])}


@presents(permissions.TeamPermission)
def _present_team_permission(context: RequestContext, grant: Json) -> Json:
    team = context.store.get(f"/orgs/{grant['organization']}/teams/{grant['id']}")
    return {"permission": grant["role"], "team": present_team(context, team)}


def _shared_document(context: RequestContext, at: Shared) -> Json:
    return context.store.get(at.path.format(**at.model_dump()))


@guards(permissions.ListUsers, permissions.ListTeams)
def _require_access_view(op: permissions.AtShared, context: RequestContext) -> None:
    resource = _shared_document(context, op.at)
    if not allows(role(context, resource), "admin"):
        refuse_guests(context, resource["organization"], "see who has access")


@guards(permissions.DeleteUser, permissions.DeleteTeam)
def _require_access_admin(op: permissions.AtShared, context: RequestContext) -> None:
    require(context, _shared_document(context, op.at), "admin")


@handle.register
def _grant(op: permissions.Grant, context: RequestContext) -> None:
    _require_access_admin(op, context)
    if op.users is None and op.teams is None:
        raise Refusal(400, "users or teams is required: choose who gets the role.")
    organization_id = _shared_document(context, op.at)["organization"]
    for user_id in dict.fromkeys(op.users or ()):
        context.store.get(f"/orgs/{organization_id}/members/{user_id}")
        _set_role(context, f"{path_of(op)}/users/{user_id}", {"id": user_id}, op.role)
    for team_id in dict.fromkeys(op.teams or ()):
        context.store.get(f"/orgs/{organization_id}/teams/{team_id}")
        _set_role(context, f"{path_of(op)}/teams/{team_id}", {"id": team_id, "organization": organization_id}, op.role)


@handle.register(permissions.UpdateUser)
@handle.register(permissions.UpdateTeam)
def _update(op: permissions.UpdateUser | permissions.UpdateTeam, context: RequestContext) -> None:
    _require_access_admin(op, context)
    current_role = context.store.get(path_of(op))
    _set_role(context, path_of(op), current_role, op.role if "role" in op.model_fields_set else current_role["role"])


def _set_role(context: RequestContext, path: str, grantee: Json, new_role: str | None) -> None:
    if new_role is None:
        context.store.delete(path)
    else:
        context.store.put(path, {**grantee, "role": new_role})


@handle.register
def _list_aggregate(op: permissions.ListAggregate, context: RequestContext) -> Json:
    _require_access_view(op, context)
    return paginate(
        op,
        _members_with_role(context, _shared_document(context, op.at), op.role),
        lambda grant: _present_user_permission(context, grant),
    )


def _members_with_role(context: RequestContext, resource: Json, only_role: str | None) -> Iterator[tuple[int, Json]]:
    """Yield a sort key and `{"id": …, "role": …}` for each member with access to a space or collection. With
    `only_role`, only for members with this role."""
    for position, member in context.store.items(f"/orgs/{resource['organization']}/members"):
        current_role = role(context, resource, member["id"])
        if current_role and only_role in (None, current_role):
            yield position, {"id": member["id"], "role": current_role}


@handle.register
def _list_of_member(op: permissions.ListOfMember, context: RequestContext) -> Json:
    organization_id, user_id = op.at.organization_id, op.user_id
    if user_id != context.caller:
        refuse_guests(context, organization_id, "see the spaces of other members")
    context.store.get(f"/orgs/{organization_id}/members/{user_id}")
    roles = [(space, role(context, space, user_id)) for _, space in visible_spaces(context, organization_id)]
    items = [((space["createdAt"], space["id"]), (space, role)) for space, role in roles if role]
    is_descending = op.order == "desc"
    items.sort(key=lambda pair: pair[0], reverse=is_descending)
    return paginate(
        op,
        items,
        lambda pair: {"permission": pair[1], "space": present_space(context, pair[0])},
        is_descending=is_descending,
    )


_TARGET_KINDS = ("space", "collection")
"""Fields of an invite link: ID of the space or collection to join. Without both, the link is for the organization."""


@handle.register
def _invite(op: invites.Invite, context: RequestContext) -> Json:
    """Add people as members, by email address. They need not accept, because this platform sends no email."""
    organization_id = op.at.organization_id
    require_in_organization(context, organization_id, "admin")
    settings = context.store.get(f"/orgs/{organization_id}")
    default_role = op.role if "role" in op.model_fields_set else settings.get("defaultRole")
    domains = {fold(domain) for domain in settings.get("emailDomains", ())}
    ids_by_email = user_ids_by_email(context)
    user_ids: dict[str, None] = {}
    failed_addresses, invited_count = [], 0
    for each in op.emails:
        email, new_role = (each.email, each.role) if isinstance(each, invites.Invitation) else (each, default_role)
        if op.sso and fold(email).rpartition("@")[2] not in domains:
            failed_addresses.append(email)
            continue
        address = fold(email)
        user_id = ids_by_email[address] = ids_by_email.get(address) or _new_user(context, email)
        user_ids[user_id] = None
        invited_count += _add_member(context, f"/orgs/{organization_id}/members/{user_id}", new_role, sso=bool(op.sso))
    return {
        "users": list(user_ids),
        "invited": invited_count,
        **({"failedSSOEmails": failed_addresses} if failed_addresses else {}),
    }


def _new_user(context: RequestContext, email: str) -> str:
    user = {"id": context.new_id(), "displayName": email.partition("@")[0], "email": email}
    return str(context.store.put(f"/users/{user['id']}", user)["id"])


def _add_member(context: RequestContext, path: str, role: str | None, *, sso: bool) -> bool:
    """Save a new member at `path`. With `sso`, the member signs in through SAML. Return False if the member exists."""
    if context.store.find(path):
        return False
    joined = context.timestamp()
    member = {"id": path.rpartition("/")[2], "role": role, "disabled": False, "joinedAt": joined, "sso": sso}
    context.store.put(path, member)
    return True


@presents(invites.InviteLink)
def _present_link(context: RequestContext, link: Json) -> Json:
    public_fields = omit(link, "organization")
    return {"object": "invite", **public_fields, "redundant": _is_redundant(context, link)}


def _is_redundant(context: RequestContext, link: Json) -> bool:
    """Return whether an invite link is useless, because its target was deleted or a better link to this target exists.
    A better link has a higher role, or it has the same role and is older."""
    if _target_kind(link) and _find_target(context, link) is None:
        return True
    other_links = list(context.store.all(f"/orgs/{link['organization']}/link-invites"))
    same_target = [other for other in other_links if all(other.get(kind) == link.get(kind) for kind in _TARGET_KINDS)]
    # If several links have the highest role, `max` returns the first, which is the oldest.
    highest_link = max(same_target, key=lambda each: (None, *ROLES).index(each.get("level", each.get("role"))))
    return bool(highest_link["id"] != link["id"])


def _target_kind(link: Json) -> str | None:
    return next((kind for kind in _TARGET_KINDS if link.get(kind)), None)


def _find_target(context: RequestContext, link: Json) -> Json | None:
    kind = _target_kind(link)
    target = context.store.find(f"/{kind}s/{link[kind]}") if kind else None
    is_gone = target is None or target.get("deletedAt") or target["organization"] != link["organization"]
    return None if is_gone else target


def _can_administer(context: RequestContext, link: Json) -> bool:
    target = _find_target(context, link)
    return organization_role(context, link["organization"]) == "admin" or bool(
        target and allows(role(context, target), "admin")
    )


@guards(invites.GetLink, invites.UpdateLink, invites.DeleteLink)
def _require_link_admin(op: invites.GetLink | invites.UpdateLink | invites.DeleteLink, context: RequestContext) -> None:
    link = context.store.get(path_of(op))
    if target := _find_target(context, link):
        if not can_see(context, target):
            raise MissingResource(path_of(op))
        require(context, target, "admin")
    else:
        require_in_organization(context, link["organization"], "admin")


@guards(invites.CreateLink)
def _require_link_creator(op: invites.CreateLink, context: RequestContext) -> None:
    organization_id = op.at.organization_id
    if op.space is None and op.collection is None:
        require_in_organization(context, organization_id, "admin")
        return
    for kind, identifier in (("space", op.space), ("collection", op.collection)):
        if identifier is not None:
            target = _find_target(context, {kind: identifier, "organization": organization_id})
            if target is None or not can_see(context, target):
                raise MissingResource(f"/{kind}s/{identifier}")
            require(context, target, "admin")


@before_save(invites.InviteLink)
def _fill_in_link(op: invites.CreateLink | invites.UpdateLink, context: RequestContext, link: Json) -> Json:
    if link.keys() - {"id", "organization"} not in _FIELD_SETS:
        raise Refusal(400, "Give either a role, or a level with a space or a collection.")
    return {**link, "organization": op.at.organization_id}


_FIELD_SETS = ({"role"}, {"level", "space"}, {"level", "collection"})
"""The allowed combinations of fields in an invite link."""


@handle.register
def _list_links(op: invites.ListLinks, context: RequestContext) -> Json:
    all_links = context.store.items(path_of(op))
    return paginate(
        op, [pair for pair in all_links if _can_administer(context, pair[1])], lambda link: _present_link(context, link)
    )
