"""Revisions: immutable snapshots of the content of a space or change request.

A revision is a document with IDs, titles and hashes. Texts and files are blobs, which revisions share.
"""

from __future__ import annotations

from collections.abc import Sequence

from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef
from octavo.documents import page_trees
from octavo.server import search_index
from octavo.server.rest import omit
from octavo.server.store import Json
from octavo.server.world import Refusal, World

UNTITLED = "Untitled page"
"""Title of pages without one."""


def get(world: World, space_id: str, revision_id: str) -> Json:
    """Return a revision. Raises MissingResource."""
    return world.store.get(f"/spaces/{space_id}/revisions/{revision_id}")


def get_current(world: World, space_id: str) -> Json:
    """Return the current revision of a space's main content."""
    return get(world, space_id, world.store.get(f"/spaces/{space_id}")["revision"])


def page_of(revision: Json, page_id: str) -> Json:
    """Return a page of a revision. Raises Refusal if it does not exist."""
    page = page_trees.find(revision["pages"], page_id)
    if page is None:
        raise Refusal(404, f"The page “{page_id}” was not found. It may have been deleted.")
    return page


def file_of(revision: Json, file_id: str) -> Json:
    """Return a file of a revision. Raises Refusal if it does not exist."""
    file: Json | None = next((each for each in revision["files"] if each["id"] == file_id), None)
    if file is None:
        raise Refusal(404, f"The file “{file_id}” was not found. It may have been deleted.")
    return file


def get_at(world: World, place: ContentRef) -> Json:
    """Return the current revision of a space or change request, or the revision that `place` names."""
    match place:
        case RevisionRef():
            return get(world, place.space_id, place.revision_id)
        case ChangeRequestRef():
            path = f"/spaces/{place.space_id}/change-requests/{place.change_request_id}"
            return get(world, place.space_id, world.store.get(path)["revision"])
        case _:
            return get_current(world, place.space_id)


def add_first_revision(world: World, space: Json, markdown: str = "") -> Json:
    """Create the first revision of a space, with one page that contains `markdown`."""
    page = new_page(world, page_trees.leading_heading(markdown) or UNTITLED, markdown)
    return add(world, space["id"], {"pages": [page]}, type="edits", parents=[])


def add(
    world: World, space_id: str, fields: Json, *, type: str, parents: Sequence[str], merged_from: str | None = None
) -> Json:
    """Create a revision with the fields of `fields` that `CONTENT_FIELDS` names.

    `type` is edits, merge, rollback or update. `merged_from` is the ID of the merged change request. Slugs and paths of
    pages are set here. Spaces and change requests do not refer to the revision yet.
    """
    revision: Json = {
        "id": world.new_id(),
        "space": space_id,
        "type": type,
        "parents": list(parents),
        "createdAt": world.timestamp(),
        "author": world.caller,
        **{name: fields.get(name, empty()) for name, empty in CONTENT_FIELDS.items()},
        "pages": page_trees.with_paths(fields["pages"]),
    }
    if merged_from is not None:
        revision["mergedFrom"] = merged_from
    return world.store.put(f"/spaces/{space_id}/revisions/{revision['id']}", revision)


def add_next(world: World, revision: Json, **changes: object) -> Json:
    """Create a revision of type edits that follows `revision`, with the fields in `changes` replaced."""
    return add(world, revision["space"], {**revision, **changes}, type="edits", parents=[revision["id"]])


CONTENT_FIELDS: dict[str, type] = {"pages": list, "files": list, "reusableContents": list, "variables": dict}
"""Content fields of a revision, with the types of their empty values."""


def set_current(world: World, space_id: str, revision: Json, *, index_later: bool = False) -> Json:
    """Set the revision of a space's main content, update the search index and return the space.

    With `index_later`, the pages are only marked, and indexed by `search_index.finish_reindexing`.
    """
    path = f"/spaces/{space_id}"
    space = world.store.get(path)
    before = world.store.find(f"{path}/revisions/{space['revision']}") if space.get("revision") else None
    space = world.store.update(path, revision=revision["id"], updatedAt=world.timestamp())
    if index_later:
        search_index.mark_for_reindexing(world, space_id, before)
    else:
        search_index.reindex(world, space_id, before, revision)
    return space


def new_page(world: World, title: str, markdown: str = "", **fields: object) -> Json:
    """Return a document page that is not in a page tree yet."""
    now = world.timestamp()
    page: Json = {"id": world.new_id(), "type": "document", "title": title, "slug": page_trees.page_slug(title)}
    page |= {"createdAt": now, "updatedAt": now, **fields, "pages": []}
    return with_text(world, page, markdown)


def with_text(world: World, page: Json, markdown: str) -> Json:
    """Return `page` with another text. Without text, the page has no `text` field."""
    bare_page = omit(page, "text")
    return {**bare_page, "text": world.store.put_blob(markdown)} if markdown else bare_page


def page_text(world: World, page: Json) -> str:
    """Return the Markdown of a page."""
    return world.store.text(page["text"]) if page.get("text") else ""
