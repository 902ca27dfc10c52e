"""People."""

from __future__ import annotations

from octavo.api import users
from octavo.api.folding import fold
from octavo.server.handlers.permissions import membership
from octavo.server.rest import handle
from octavo.server.store import Json, Missing
from octavo.server.world import World


def present_user(world: World, user_id: str) -> Json:
    """A person as they appear inside other resources, also one who is gone."""
    document = world.store.find(f"/users/{user_id}") or {"id": user_id, "displayName": "Former member"}
    return {"object": "user", **document, "urls": {"location": world.url(f"/v1/users/{user_id}")}}


def by_address(world: World) -> dict[str, str]:
    """The ids of people by their e-mail addresses, in lower case."""
    return {fold(user["email"]): user["id"] for user in world.store.all("/users") if user.get("email")}


@handle.register
def _me(op: users.Me, world: World) -> Json:
    return present_user(world, world.caller)


@handle.register
def _get(op: users.Get, world: World) -> Json:
    user = world.store.get(f"/users/{op.user_id}")
    if op.user_id != world.caller and not _share_an_organization(world, op.user_id):
        raise Missing(f"/users/{op.user_id}")
    return present_user(world, user["id"])


def _share_an_organization(world: World, user_id: str) -> bool:
    organizations = [organization["id"] for organization in world.store.all("/orgs")]
    return any(membership(world, each) and membership(world, each, user_id) for each in organizations)
