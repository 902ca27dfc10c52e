"""Organizations and their members."""

from __future__ import annotations

from typing import Any

from octavo.api import organizations
from octavo.server.behaviour.merge_rules import refuse_malformed
from octavo.server.behaviour.permissions import (
    membership,
    need_in_organization,
    organization_permissions,
    organization_role,
    role,
)
from octavo.server.behaviour.users import present_user
from octavo.server.rest import given, handle, page, path_of, shows
from octavo.server.store import Json
from octavo.server.world import Refused, World


@shows(organizations.Organization)
def present_organization(world: World, document: Json) -> Json:
    """An organization as the caller sees it."""
    facts = {name: value for name, value in document.items() if name != "logo"}
    urls = {
        "location": world.url(f"/v1/orgs/{document['id']}"),
        "app": world.url(f"/o/{document['id']}"),
        **({"logo": document["logo"]} if document.get("logo") else {}),
    }
    return {
        "object": "organization",
        "emailDomains": [],
        "type": "business",
        "inviteLinks": False,
        "plan": "free",
        "mergeRules": {"type": "none"},
        "trial": {"status": "notapplicable"},
        **facts,
        "urls": urls,
        "permissions": organization_permissions(world, document),
    }


def present_member(world: World, organization: str, document: Json) -> Json:
    """A member of an organization, with how many of its spaces they can see."""
    user = document["id"]
    spaces = (space for space in world.store.all("/spaces") if space["organization"] == organization)
    return {
        "object": "member",
        "disabled": False,
        "sso": False,
        **document,
        "user": present_user(world, user),
        "spaces": sum(1 for space in spaces if not space.get("deletedAt") and role(world, space, user)),
        "teams": 0,
    }


@handle.register
def _list(op: organizations.List, world: World) -> Json:
    mine = ((place, each) for place, each in world.store.positioned("/orgs") if membership(world, each["id"]))
    return page(op, mine, lambda each: present_organization(world, each))


@handle.register
def _update(op: organizations.Update, world: World) -> Json:
    organization = world.store.get(path_of(op))
    need_in_organization(world, organization, "admin")
    fields = given(op, nullable=("defaultRole", "defaultContent", "logo"))
    if "mergeRules" in fields:
        refuse_malformed(fields["mergeRules"], kinds=("none", "rules"))
    return present_organization(world, world.store.change(path_of(op), **fields))


@handle.register
def _list_members(op: organizations.ListMembers, world: World) -> Json:
    if organization_role(world, op.at.organization_id) is None:
        raise Refused(403, "Guests may not list the members of an organization. Ask an administrator for a role in it.")
    found = ((_when(op, member), member) for member in world.store.all(path_of(op)) if _wanted(op, member, world))
    ordered = sorted(found, key=lambda pair: pair[0], reverse=op.order == "desc")
    show = lambda member: present_member(world, op.at.organization_id, member)  # noqa: E731  # it is said once
    return page(op, ordered, show, descending=op.order == "desc")


def _when(op: organizations.ListMembers, member: Json) -> tuple[Any, ...]:
    return (member.get(op.sort, ""), member["id"])


def _wanted(op: organizations.ListMembers, member: Json, world: World) -> bool:
    if op.role and member["role"] != (None if op.role == "guest" else op.role):
        return False
    if op.sort == "lastSeenAt" and not member.get("lastSeenAt"):
        return False
    if not op.search:
        return True
    person, words = present_user(world, member["id"]), op.search.casefold()
    return any(words in (person.get(field) or "").casefold() for field in ("displayName", "email"))


@handle.register
def _get_member(op: organizations.GetMember, world: World) -> Json:
    return present_member(world, op.at.organization_id, world.store.get(path_of(op)))
