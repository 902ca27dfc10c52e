"""Collections, which may lie in each other."""

from __future__ import annotations

from octavo.api import collections
from octavo.server.handlers import arranging
from octavo.server.handlers.permissions import collection_permissions, need, sees_collection
from octavo.server.handlers.spaces import present_space
from octavo.server.rest import given, handle, page, path_of, settle, shows, without
from octavo.server.store import Json
from octavo.server.world import World


@shows(collections.Collection)
def present_collection(world: World, document: Json) -> Json:
    """A collection as the caller sees it."""
    facts = without(document, "position")
    identifier, organization = document["id"], document["organization"]
    urls = {
        "location": world.url(f"/v1/collections/{identifier}"),
        "app": world.url(f"/o/{organization}/c/{identifier}"),
    }
    permissions = collection_permissions(world, document)
    return {"object": "collection", "defaultLevel": "inherit", **facts, "urls": urls, "permissions": permissions}


@handle.register
def _list(op: collections.List, world: World) -> Json:
    found = arranging.arranged(world, "/collections", op.at.organization_id)
    shown = [pair for pair in found if (op.nested or not pair[1].get("parent")) and sees_collection(world, pair[1])]
    return page(op, shown, lambda each: present_collection(world, each))


@handle.register
def _create(op: collections.Create, world: World) -> Json:
    arranging.need_to_add(world, op.at.organization_id, op.parent)
    identity = {"id": world.new_id(), "title": "Untitled", "organization": op.at.organization_id}
    collection = {**identity, "defaultLevel": "inherit", **given(op)}
    return present_collection(world, world.store.put(f"/collections/{collection['id']}", collection))


@handle.register
def _update(op: collections.Update, world: World) -> Json:
    need(world, world.store.get(path_of(op)), "admin")
    fields = given(op)
    return present_collection(world, world.store.change(path_of(op), **fields))


@handle.register
def _delete(op: collections.Delete, world: World) -> None:
    path = path_of(op)
    collection = world.store.get(path)
    need(world, collection, "admin")
    inside = arranging.contents(world, collection["organization"], collection["id"])
    row = arranging.contents(world, collection["organization"], collection.get("parent"))
    here = next(index for index, filed in enumerate(row) if filed[0] == path)
    level = collection.get("defaultLevel", "inherit")
    for _, document in inside:
        arranging.put_into(document, collection.get("parent"))
        if level != "inherit" and document.get("defaultLevel", "inherit") == "inherit":
            document["defaultLevel"] = level  # nobody is let in who was kept out by what lay around it
    row[here : here + 1] = inside
    settle(world, row)
    world.store.delete(path)


@handle.register
def _list_spaces(op: collections.ListSpaces, world: World) -> Json:
    collection = world.store.get(path_of(op).removesuffix("/spaces"))
    visible = arranging.visible_spaces(world, collection["organization"])
    inside = [(key, space) for key, space in visible if space.get("parent") == collection["id"]]
    return page(op, inside, lambda space: present_space(world, space))
