"""What pasted addresses of the app name."""

from __future__ import annotations

from urllib.parse import urlsplit

from octavo.api import urls
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.documents import links, page_trees
from octavo.server.behaviour import revisions
from octavo.server.behaviour.change_requests import present_change_request
from octavo.server.behaviour.collections import present_collection
from octavo.server.behaviour.content import app_of, present_page
from octavo.server.behaviour.permissions import role, sees_collection
from octavo.server.behaviour.spaces import present_space
from octavo.server.rest import handle
from octavo.server.store import Json, Missing
from octavo.server.surveying import NAME
from octavo.server.world import Refused, World


@handle.register
def _get_content(op: urls.GetContent, world: World) -> Json:
    parts = _parts(op.url, world)
    match parts:
        case [_, name, *_] if not NAME.fullmatch(name):
            raise Missing(f"/spaces/{name}")
        case ["c", collection, *_]:
            return {"collection": present_collection(world, _collection(world, collection))}
        case ["s", space, "~", "changes", number, *path]:
            return _in_space(world, space, number, path)
        case ["s", space, "~", "revisions", _, *path] | ["s", space, *path]:
            return _in_space(world, space, None, path)
    raise Refused(404, "This link does not lead to a space or collection on this server.")


def _parts(url: str, world: World) -> list[str]:
    """The steps of an address of the app that follow its organization. Raises Refused for others."""
    for origin in (world.origin, *(f"https://{host}" for host in links.APP_HOSTS)):
        if url.startswith(f"{origin}/"):
            parts = links.path_steps(urlsplit(url).path)
            parts = parts[2:] if parts[:1] == ["o"] else parts
            return ["s" if part == "spaces" and place == 0 else part for place, part in enumerate(parts)]
    raise Refused(400, f"url must be a link to this server: it must begin with {world.origin}/.")


def _collection(world: World, name: str) -> Json:
    collection = world.store.get(f"/collections/{name}")
    if not sees_collection(world, collection):
        raise Missing(f"/collections/{name}")
    return collection


def _in_space(world: World, name: str, number: str | None, path: list[str]) -> Json:
    space = world.store.get(f"/spaces/{name}")
    if space.get("deletedAt") or role(world, space) is None:
        raise Missing(f"/spaces/{name}")
    answer: Json = {"space": present_space(world, space)}
    at: SpaceRef | ChangeRequestRef = SpaceRef(space_id=name)
    if number is not None:
        known = number.isdecimal() and len(number) < 10
        found = world.store.first(f"/spaces/{name}/change-requests", "number", int(number)) if known else None
        if found is None:
            raise Missing(f"/spaces/{name}/change-requests/{number}")
        at = ChangeRequestRef(space_id=name, change_request_id=found["id"])
        answer["changeRequest"] = present_change_request(world, found)
    path = path[1:] if path[:1] == ["pages"] else path
    if path and path[0] != "~":
        pages = revisions.at(world, at)["pages"]
        page = page_trees.find_by_path(pages, "/".join(path)) or page_trees.find(pages, "/".join(path))
        if page is None:
            raise Missing(f"/spaces/{name}/pages/{'/'.join(path)}")
        answer["page"] = present_page(page, app_of(world, at))
    return answer
