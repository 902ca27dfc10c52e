"""Roles, and what each role allows.

A member's role in a space is the highest of these: the role in the organization, limited by the default level of the
space, and all roles granted to the member or their teams in the space or in a collection that contains the space. The
default level `inherit` stands for the level of the collection. At the root, `inherit` is no limit.

Admins always have full access. Guests have only granted roles. Non-members and disabled members have no role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from octavo.api.labels import label
from octavo.server.rest import Refusal, RequestContext
from octavo.server.store import Json

ROLES = ("read", "comment", "edit", "review", "create", "admin")
"""Roles from lowest to highest. Each role allows everything that lower roles allow."""

_LOWEST_ROLES = {
    "view": "read",
    "comment": "comment",
    "edit": "edit",
    "review": "review",
    "merge": "create",
    "create": "create",
    "admin": "admin",
}
"""Lowest role that allows an action, by action."""

_ACTION_PHRASES = {
    "view": "see this",
    "comment": "comment",
    "edit": "edit",
    "review": "review",
    "merge": "merge",
    "create": "create content",
    "admin": "change settings",
}


def organization_role(context: RequestContext, organization_id: str, user_id: str | None = None) -> str | None:
    """Return the organization role of `user_id` or the caller. None for guests, disabled members and non-members."""
    member = membership(context, organization_id, user_id)
    return member["role"] if member else None


def membership(context: RequestContext, organization_id: str, user_id: str | None = None) -> Json | None:
    """Return the stored member for `user_id`, by default the caller. None for non-members and disabled members."""
    member = context.store.find(f"/orgs/{organization_id}/members/{user_id or context.caller}")
    return None if member is None or member.get("disabled") else member


def role(context: RequestContext, resource: Json, user_id: str | None = None) -> str | None:
    """Return the role of `user_id`, by default the caller, in a space or collection. None if the user has no access."""
    member = membership(context, resource["organization"], user_id)
    if member is None:
        return None
    containers = list(with_containers(context, resource))
    roles: list[str | None] = [
        current_role
        for path, _ in containers
        for current_role in _granted_roles(context, path, resource["organization"], member["id"])
    ]
    if member_role := member["role"]:
        levels = (document.get("defaultLevel", "inherit") for _, document in containers)
        level = next((level for level in levels if level != "inherit"), "admin")
        if member_role == "admin":
            roles.append(member_role)
        elif level is not None:
            roles.append(min(member_role, level, key=ROLES.index))
    return max(filter(None, roles), key=ROLES.index, default=None)


def can_see_collection(context: RequestContext, collection: Json) -> bool:
    """Return whether the caller has a role in a collection, or in a space anywhere inside it."""
    if role(context, collection):
        return True
    path, spaces = f"/collections/{collection['id']}", context.store.all("/spaces")
    inside = (each for each in spaces if not each.get("deletedAt") and path in dict(with_containers(context, each)))
    return any(role(context, space) for space in inside)


def can_see(context: RequestContext, resource: Json) -> bool:
    """Return whether the caller can see a space or collection. False for a deleted space."""
    if "revision" not in resource:
        return can_see_collection(context, resource)
    return not resource.get("deletedAt") and role(context, resource) is not None


def allows(role: str | None, action: str) -> bool:
    """Return whether a role allows an action: view, comment, edit, review, merge, create or admin. False for None."""
    return role is not None and ROLES.index(role) >= ROLES.index(_LOWEST_ROLES[action])


def require(context: RequestContext, resource: Json, action: str) -> None:
    """Raise Refusal unless the caller's role in a space or collection allows `action`, such as `edit`."""
    current_role = role(context, resource)
    if not allows(current_role, action):
        raise _role_refusal(current_role, f"“{resource['title']}”", action)


def require_in_organization(context: RequestContext, organization_id: str, action: str) -> None:
    """Raise Refusal unless the caller's role in an organization allows `action`, such as `admin`."""
    current_role = organization_role(context, organization_id)
    if not allows(current_role, action):
        title = context.store.get(f"/orgs/{organization_id}")["title"]
        raise _role_refusal(current_role, f"the organization “{title}”", action)


def organization_guard(action: str) -> Callable[[Any, RequestContext], None]:
    """Return a guard that raises Refusal unless the caller's role in the operation's organization allows `action`."""
    return lambda op, context: require_in_organization(context, op.at.organization_id, action)


def _role_refusal(current_role: str | None, where: str, action: str) -> Refusal:
    current = f"Your role in {where} is {label(current_role)}" if current_role else f"You have no role in {where}"
    needed_phrase = f"To {_ACTION_PHRASES[action]}, you need the {label(_LOWEST_ROLES[action])} role"
    higher = "" if action == "admin" else " or a higher role"
    return Refusal(403, f"{current}. {needed_phrase}{higher}. Ask an admin for this role.")


def space_permissions(context: RequestContext, space: Json) -> Json:
    """Return the caller's permissions in a space, as the API sends them."""
    current_role = role(context, space)
    return {
        "view": allows(current_role, "view"),
        "access": allows(current_role, "view"),
        "comment": allows(current_role, "comment"),
        "edit": allows(current_role, "edit"),
        "review": allows(current_role, "review"),
        "merge": allows(current_role, "merge"),
        "admin": allows(current_role, "admin"),
        "viewInviteLinks": allows(current_role, "admin"),
        "triggerGitSync": allows(current_role, "admin"),
        "installIntegration": allows(current_role, "admin"),
    }


def collection_permissions(context: RequestContext, collection: Json) -> Json:
    """Return the caller's permissions in a collection, as the API sends them."""
    current_role = role(context, collection)
    is_admin = allows(current_role, "admin")
    return {"view": True, "create": allows(current_role, "create"), "admin": is_admin, "viewInviteLinks": is_admin}


def organization_permissions(context: RequestContext, organization: Json) -> Json:
    """Return the caller's permissions in an organization, as the API sends them."""
    current_role = organization_role(context, organization["id"])
    is_admin, is_member = allows(current_role, "admin"), current_role is not None
    return {
        "view": True,
        "admin": is_admin,
        "ownTeam": is_admin,
        "createContent": allows(current_role, "create"),
        "createOpenAPISpec": allows(current_role, "create"),
        "ingestConversations": is_admin,
        "viewBilling": is_admin,
        "listMembers": is_member,
        "listTeams": is_member,
        "listIntegrations": is_member,
        "listInstallations": is_admin,
        "installIntegration": is_admin,
    }


def refuse_guests(context: RequestContext, organization_id: str, action: str) -> None:
    """Raise Refusal if the caller is a guest. `action` is for the message, for example `list the members`."""
    if organization_role(context, organization_id) is None:
        raise Refusal(403, f"Guests cannot {action}. Ask an admin for a role in the organization.")


def with_containers(context: RequestContext, resource: Json) -> Iterator[tuple[str, Json]]:
    """Yield the path and the document of a space or collection, then of the collections around it, innermost first."""
    yield f"/{'spaces' if 'revision' in resource else 'collections'}/{resource['id']}", resource
    while parent_id := resource.get("parent"):
        resource = context.store.get(f"/collections/{parent_id}")
        yield f"/collections/{parent_id}", resource


def _granted_roles(context: RequestContext, path: str, organization_id: str, user_id: str) -> Iterator[str]:
    # Not `find`: a list of members checks all members, and reads the grants of each space once.
    for grant in context.store.all(f"{path}/permissions/users"):
        if grant["id"] == user_id:
            yield grant["role"]
    for grant in context.store.all(f"{path}/permissions/teams"):
        if context.store.find(f"/orgs/{organization_id}/teams/{grant['id']}/members/{user_id}"):
            yield grant["role"]
