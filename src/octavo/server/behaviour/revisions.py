"""Revisions: what a space or change request held at one moment. They are made here and never change.

A revision is a document of ids, titles and hashes; texts and files are blobs, which revisions share.
"""

from __future__ import annotations

from collections.abc import Sequence

from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef
from octavo.documents import page_trees
from octavo.server.behaviour import search
from octavo.server.rest import without
from octavo.server.store import Json
from octavo.server.world import Refused, World

UNTITLED = "Untitled page"
"""What a page is called that was given no title."""


def get(world: World, space_id: str, revision_id: str) -> Json:
    """One revision. Raises Missing."""
    return world.store.get(f"/spaces/{space_id}/revisions/{revision_id}")


def current(world: World, space_id: str) -> Json:
    """The revision the primary content of a space stands at."""
    return get(world, space_id, world.store.get(f"/spaces/{space_id}")["revision"])


def page_of(revision: Json, page_id: str) -> Json:
    """One page of a revision. Raises Refused."""
    page = page_trees.find(revision["pages"], page_id)
    if page is None:
        raise Refused(404, f"The page “{page_id}” was not found. It may have been deleted.")
    return page


def file_of(revision: Json, file_id: str) -> Json:
    """One file of a revision. Raises Refused."""
    file: Json | None = next((each for each in revision["files"] if each["id"] == file_id), None)
    if file is None:
        raise Refused(404, f"The file “{file_id}” was not found. It may have been deleted.")
    return file


def at(world: World, place: ContentRef) -> Json:
    """The revision that the content of a space, change request or revision stands at."""
    match place:
        case RevisionRef():
            return get(world, place.space_id, place.revision_id)
        case ChangeRequestRef():
            path = f"/spaces/{place.space_id}/change-requests/{place.change_request_id}"
            return get(world, place.space_id, world.store.get(path)["revision"])
        case _:
            return current(world, place.space_id)


def first(world: World, space: Json, markdown: str = "") -> Json:
    """Make the revision a space begins with: one page, which says `markdown`."""
    page = new_page(world, page_trees.leading_heading(markdown) or UNTITLED, markdown)
    return add(world, space["id"], {"pages": [page]}, type="edits", parents=[])


def add(
    world: World, space_id: str, held: Json, *, type: str, parents: Sequence[str], merged_from: str | None = None
) -> Json:
    """Make a revision of `type` edits, merge, rollback or update that holds what `held` has under the names in HELD.

    Slugs and paths of its pages are settled here. `merged_from` is the id of the change request a merge brings in.
    Nothing stands at the revision yet.
    """
    revision: Json = {
        "id": world.new_id(),
        "space": space_id,
        "type": type,
        "parents": list(parents),
        "createdAt": world.timestamp(),
        "author": world.caller,
        **{name: held.get(name, empty()) for name, empty in HELD.items()},
        "pages": page_trees.with_paths(held["pages"]),
    }
    if merged_from is not None:
        revision["mergedFrom"] = merged_from
    return world.store.put(f"/spaces/{space_id}/revisions/{revision['id']}", revision)


def next_after(world: World, revision: Json, **changes: object) -> Json:
    """Make a revision of edits that follows `revision` and differs from it in `changes`, such as `pages=`."""
    return add(world, revision["space"], {**revision, **changes}, type="edits", parents=[revision["id"]])


HELD: dict[str, type] = {"pages": list, "files": list, "reusableContents": list, "variables": dict}
"""What a revision holds, each of a kind that may be empty."""


def move_primary(world: World, space_id: str, revision: Json, *, found_later: bool = False) -> Json:
    """Let the primary content of a space stand at `revision`, and be found by search. Returns the space.

    `found_later`: what it says is found once `search.reindex_rest` has run.
    """
    path = f"/spaces/{space_id}"
    space = world.store.get(path)
    before = world.store.find(f"{path}/revisions/{space['revision']}") if space.get("revision") else None
    space = world.store.change(path, revision=revision["id"], updatedAt=world.timestamp())
    if found_later:
        search.reindex_later(world, space_id, before)
    else:
        search.reindex(world, space_id, before, revision)
    return space


def new_page(world: World, title: str, markdown: str = "", **fields: object) -> Json:
    """A document page that is in no tree yet."""
    now = world.timestamp()
    page: Json = {"id": world.new_id(), "type": "document", "title": title, "slug": page_trees.page_slug(title)}
    page |= {"createdAt": now, "updatedAt": now, **fields, "pages": []}
    return written(world, page, markdown)


def written(world: World, page: Json, markdown: str) -> Json:
    """`page` with another text. An empty one leaves it without."""
    rest = without(page, "text")
    return {**rest, "text": world.store.put_blob(markdown)} if markdown else rest


def text(world: World, page: Json) -> str:
    """What a page says, as markdown."""
    return world.store.text(page["text"]) if page.get("text") else ""
