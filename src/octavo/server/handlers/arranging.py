"""Where spaces and collections lie: in which collection, and in which order among their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from octavo.api import collections, spaces
from octavo.server.handlers import site_tree
from octavo.server.handlers.permissions import membership, need, need_in_organization, role, sees
from octavo.server.rest import Filed, given, handle, order, path_of, settle, shown
from octavo.server.store import Json, Missing
from octavo.server.world import Refused, World

RETENTION = timedelta(days=7)
"""How long a deleted space can be restored."""


def arranged(world: World, collection: str, organization: str) -> list[tuple[tuple[int, int], Json]]:
    """The spaces or collections of an organization in their order, deleted ones too, with what orders them."""
    found = world.store.positioned(collection)
    mine = [(order(place, each), each) for place, each in found if each["organization"] == organization]
    return sorted(mine, key=lambda pair: pair[0])


def visible_spaces(world: World, organization: str) -> list[tuple[tuple[int, int], Json]]:
    """The spaces of an organization the caller has a role in, in their order, with what orders them."""
    found = arranged(world, "/spaces", organization)
    return [(key, space) for key, space in found if not space.get("deletedAt") and role(world, space)]


def is_gone(world: World, space: Json) -> bool:
    """Whether a space was deleted so long ago that it cannot be restored."""
    deleted = space.get("deletedAt")
    return deleted is not None and world.now() - datetime.fromisoformat(deleted) >= RETENTION


def contents(world: World, organization: str, parent: str | None) -> list[Filed]:
    """What lies directly in a collection or at the root, in its order."""
    kinds = ("/collections", "/spaces")
    both = [(key, kind, each) for kind in kinds for key, each in arranged(world, kind, organization)]
    inside = sorted((item for item in both if item[2].get("parent") == parent), key=lambda item: item[0])
    return [(f"{kind}/{each['id']}", each) for _, kind, each in inside]


def all_inside(world: World, collection: Json) -> Iterator[Filed]:
    """What lies in a collection, at any depth."""
    for path, each in contents(world, collection["organization"], collection["id"]):
        yield path, each
        if path.startswith("/collections/"):
            yield from all_inside(world, each)


def need_to_add(world: World, organization: str, parent: str | None) -> None:
    """Refuse unless the caller may put something into a collection of an organization, or at its root."""
    if parent is None:
        need_in_organization(world, world.store.get(f"/orgs/{organization}"), "create")
        return
    collection = world.store.get(f"/collections/{parent}")
    if collection["organization"] != organization or not sees(world, collection):
        raise Missing(f"/collections/{parent}")
    need(world, collection, "create")


@handle.register(spaces.Move)
@handle.register(collections.Move)
def _move(op: spaces.Move | collections.Move, world: World) -> Json:
    path = path_of(op).removesuffix("/move")
    holder = world.store.get(path)
    need(world, holder, "admin")
    if not given(op):
        raise Refused(400, "parent or position is required: say where to move this.")
    next_to = _neighbour(op.position, world) if op.position else None
    if next_to and (next_to[1]["organization"] != holder["organization"] or next_to[0] == path):
        raise Refused(400, "position must name another space or collection in this organization.")
    named = "parent" in op.model_fields_set or next_to is None
    parent = op.parent if "parent" in op.model_fields_set else (next_to[1] if next_to else holder).get("parent")
    if named and next_to and next_to[1].get("parent") != parent:
        raise Refused(
            409, f"“{next_to[1]['title']}” is not at the new location. position must name an item at the new location."
        )
    if parent != holder.get("parent"):
        need_to_add(world, holder["organization"], parent)
    _refuse_cycle(world, path, holder, parent)
    put_into(holder, parent)
    row = [filed for filed in contents(world, holder["organization"], parent) if filed[0] != path]
    row.insert(_index(row, next_to, before=bool(op.position and op.position.before)), (path, holder))
    settle(world, row)
    return shown(op, world, world.store.get(path))


def put_into(holder: Json, parent: str | None) -> None:
    """Let a space or collection lie in another collection, or at the root."""
    holder.pop("parent", None)
    if parent:
        holder["parent"] = parent
    elif holder.get("visibility") == "in-collection":
        holder["visibility"] = "private"


@handle.register(spaces.Transfer)
@handle.register(collections.Transfer)
def _transfer(op: spaces.Transfer | collections.Transfer, world: World) -> Json:
    """Move a space, or a collection and all it holds, to the root of another organization."""
    path = path_of(op).removesuffix("/transfer")
    holder = world.store.get(path)
    need(world, holder, "admin")
    if membership(world, op.organization) is None:
        raise Missing(f"/orgs/{op.organization}")
    if op.organization == holder["organization"]:
        raise Refused(409, f"“{holder['title']}” is already in this organization.")
    need_to_add(world, op.organization, None)
    moved = [(path, holder), *(all_inside(world, holder) if path.startswith("/collections/") else ())]
    for each, document in moved:
        if each.startswith("/spaces/") and (on := site_tree.sites_with(world, document)):
            sentence = f"“{document['title']}” is on the site “{on[0]['title']}” in this organization."
            raise Refused(412, f"{sentence} Remove the space from the site first.")
        for grant in world.store.all(f"{each}/permissions/users"):
            if membership(world, op.organization, grant["id"]) is None:
                sentence = (
                    f"“{holder['title']}” is shared with people who are not members of that organization. Invite them"
                )
                raise Refused(412, f"{sentence} there, or remove their roles first.")
        if world.store.count(f"{each}/permissions/teams"):
            raise Refused(412, f"“{holder['title']}” is shared with teams. Remove the roles of the teams first.")
    put_into(holder, None)
    holder.pop("position", None)
    for each, document in moved:
        world.store.put(each, {**document, "organization": op.organization})
    return shown(op, world, world.store.get(path))


def _neighbour(position: spaces.Position, world: World) -> Filed:
    if (position.before is None) == (position.after is None):
        raise Refused(400, "position must have either before or after.")
    pointer: Any = position.before or position.after
    path = f"/spaces/{pointer.space}" if pointer.type == "space" else f"/collections/{pointer.collection}"
    document = world.store.get(path)
    if not sees(world, document):
        raise Missing(path)
    return path, document


def _refuse_cycle(world: World, path: str, holder: Json, parent: str | None) -> None:
    if path.startswith("/collections/"):
        inside = {each for each, _ in all_inside(world, holder)}
        if f"/collections/{parent}" in {path, *inside}:
            raise Refused(409, f"“{holder['title']}” cannot be moved into itself. Choose another collection.")


def _index(row: list[Filed], next_to: Filed | None, *, before: bool) -> int:
    if next_to is None:
        return len(row)
    found = next(index for index, (path, _) in enumerate(row) if path == next_to[0])
    return found if before else found + 1
