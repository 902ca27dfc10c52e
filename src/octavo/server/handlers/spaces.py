"""Spaces: made, changed, copied, moved, deleted and brought back."""

from __future__ import annotations

from typing import Any

from octavo.api import spaces
from octavo.server.handlers import arranging, revisions, site_tree
from octavo.server.handlers.merge_rules import refuse_malformed
from octavo.server.handlers.permissions import need, role, space_permissions
from octavo.server.rest import given, handle, page, path_of, shows, without
from octavo.server.store import Json
from octavo.server.world import Refused, World

EMOJI = "📘"
"""The emoji of a space that was given none."""
TITLE_LIMIT = 50


@shows(spaces.Space)
def present_space(world: World, document: Json) -> Json:
    """A space as the caller sees it, with what is open in it counted."""
    path = f"/spaces/{document['id']}"
    threads = world.store.tally(f"{path}/comments", "status")
    proposed = world.store.tally(f"{path}/change-requests", "status")
    return {
        "object": "space",
        "visibility": "private",
        "editMode": "live",
        "defaultLevel": "inherit",
        "mergeRules": {"type": "inherit"},
        **without(document, "position", "nextNumber", "icon"),
        "emoji": document.get("emoji") or EMOJI,
        "comments": threads["open"],
        "changeRequests": proposed.total(),
        "changeRequestsOpen": proposed["open"],
        "changeRequestsDraft": proposed["draft"],
        "urls": _urls(world, document),
        "permissions": space_permissions(world, document),
    }


def _urls(world: World, document: Json) -> Json:
    identifier, icon = document["id"], document.get("icon")
    app = world.url(f"/o/{document['organization']}/s/{identifier}")
    return {"location": world.url(f"/v1/spaces/{identifier}"), "app": app, **({"icon": icon} if icon else {})}


def purge(world: World) -> None:
    """Remove the spaces that were deleted too long ago to be restored, with all they hold."""
    for space in world.store.all("/spaces"):
        if arranging.is_gone(world, space):
            with world.store.transaction():
                world.store.unindex(space["id"])
                site_tree.forget(world, space)
                world.store.delete(f"/spaces/{space['id']}")


def new(world: World, organization: str, **fields: Any) -> Json:
    """File a space of an organization, still without a revision: `revisions.move_primary` gives it one."""
    now = world.timestamp()
    space: Json = {"id": world.new_id(), "title": "Untitled", "organization": organization, "createdAt": now}
    visibility = "in-collection" if fields.get("parent") else "private"
    level = {"visibility": visibility, "editMode": "live", "defaultLevel": "inherit", "revision": "", "nextNumber": 1}
    space |= {"updatedAt": now, **level, **fields}
    return world.store.put(f"/spaces/{space['id']}", space)


@handle.register
def _list(op: spaces.List, world: World) -> Json:
    return page(op, arranging.visible_spaces(world, op.at.organization_id), lambda space: present_space(world, space))


@handle.register
def _create(op: spaces.Create, world: World) -> Json:
    arranging.need_to_add(world, op.at.organization_id, op.parent)
    space = new(world, op.at.organization_id, **given(op))
    return present_space(world, revisions.move_primary(world, space["id"], revisions.first(world, space)))


@handle.register
def _get_git_info(op: spaces.GetGitInfo, world: World) -> Json:
    space = world.store.get(f"/spaces/{op.at.space_id}")
    state: Json | None = space.get("gitSync")
    if state is None:
        raise Refused(404, f"“{space['title']}” is not synced with a Git repository.")
    return state


@handle.register
def _update(op: spaces.Update, world: World) -> Json:
    need(world, world.store.get(path_of(op)), "admin")
    fields = given(op)
    if fields.get("emoji") and fields.get("icon"):
        raise Refused(400, "emoji and icon cannot both be set. Choose one.")
    if "mergeRules" in fields:
        refuse_malformed(fields["mergeRules"], kinds=("inherit", "none", "rules"))
    for one, other in (("emoji", "icon"), ("icon", "emoji")):
        if fields.get(one):
            fields[other] = None
    return present_space(world, world.store.change(path_of(op), **fields, updatedAt=world.timestamp()))


@handle.register
def _delete(op: spaces.Delete, world: World) -> None:
    need(world, world.store.get(path_of(op)), "admin")
    world.store.change(path_of(op), deletedAt=world.timestamp())


@handle.register
def _restore(op: spaces.Restore, world: World) -> Json:
    path = path_of(op).removesuffix("/restore")
    space = world.store.get(path)
    need(world, space, "admin")
    space.pop("deletedAt", None)
    return present_space(world, world.store.put(path, space))


@handle.register
def _duplicate(op: spaces.Duplicate, world: World) -> Json:
    original = world.store.get(path_of(op).removesuffix("/duplicate"))
    arranging.need_to_add(world, original["organization"], original.get("parent"))
    kept = {name: original[name] for name in ("emoji", "icon", "parent", "defaultLevel") if name in original}
    space = new(world, original["organization"], **kept, title=f"Copy of {original['title']}"[:TITLE_LIMIT])
    if role(world, space) is None:
        # Roles that were given on the original are not copied, and a copy that its maker cannot see is lost.
        grant = {"id": world.caller, "role": "admin"}
        world.store.put(f"/spaces/{space['id']}/permissions/users/{world.caller}", grant)
    held = revisions.current(world, original["id"])
    revision = revisions.add(world, space["id"], held, type="edits", parents=[])
    return present_space(world, revisions.move_primary(world, space["id"], revision))
