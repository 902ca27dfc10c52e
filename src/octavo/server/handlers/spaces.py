"""Spaces and collections, their order, and their revisions.

A revision is a document with the page tree. It contains hashes instead of texts and files, which are stored as blobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from octavo.api import collections, spaces
from octavo.api.operation import ChangeRequestRef, ContentRef, RevisionRef
from octavo.documents import page_trees
from octavo.server.handlers import site_tree
from octavo.server.handlers.organizations import refuse_malformed_merge_rules
from octavo.server.handlers.permissions import (
    can_see,
    can_see_collection,
    collection_permissions,
    membership,
    require,
    require_in_organization,
    role,
    space_permissions,
)
from octavo.server.page_texts import mark_for_reindexing, reindex
from octavo.server.rest import (
    Refusal,
    RequestContext,
    SortKey,
    StoredDocument,
    handle,
    insert_in_order,
    omit,
    order_key,
    paginate,
    path_of,
    present,
    presents,
    request_fields,
    save_next_to,
)
from octavo.server.store import Json, MissingResource

UNTITLED = "Untitled page"
"""Title of a page that was created without a title."""


def get_revision(context: RequestContext, space_id: str, revision_id: str) -> Json:
    """Return a revision of a space. Raises MissingResource if it does not exist."""
    return context.store.get(f"/spaces/{space_id}/revisions/{revision_id}")


def get_current(context: RequestContext, space_id: str) -> Json:
    """Return the revision with the current main content of a space. Raises MissingResource."""
    return get_revision(context, space_id, context.store.get(f"/spaces/{space_id}")["revision"])


def page_of(revision: Json, page_id: str) -> Json:
    """Return a page of a revision. Raises Refusal if it does not exist."""
    page = page_trees.find_page(revision["pages"], page_id)
    if page is None:
        raise Refusal(404, f"The page “{page_id}” was not found. It may have been deleted.")
    return page


def file_of(revision: Json, file_id: str) -> Json:
    """Return a file of a revision. Raises Refusal if it does not exist."""
    file: Json | None = next((each for each in revision["files"] if each["id"] == file_id), None)
    if file is None:
        raise Refusal(404, f"The file “{file_id}” was not found. It may have been deleted.")
    return file


def get_revision_at(context: RequestContext, at: ContentRef) -> Json:
    """Return the revision `at`, or the current revision of the space or change request `at`. Raises MissingResource."""
    match at:
        case RevisionRef():
            return get_revision(context, at.space_id, at.revision_id)
        case ChangeRequestRef():
            path = f"/spaces/{at.space_id}/change-requests/{at.change_request_id}"
            return get_revision(context, at.space_id, context.store.get(path)["revision"])
        case _:
            return get_current(context, at.space_id)


def add_first_revision(context: RequestContext, space: Json, markdown: str = "") -> Json:
    """Create and return the first revision of a space, with one page that contains `markdown`."""
    page = new_page(context, page_trees.leading_heading(markdown) or UNTITLED, markdown)
    return add_revision(context, space["id"], {"pages": [page]}, type="edits", parents=[])


def add_revision(
    context: RequestContext,
    space_id: str,
    fields: Json,
    *,
    type: str,
    parents: Sequence[str],
    merged_from: str | None = None,
) -> Json:
    """Create and return a revision with the content `fields`. The caller must make it current on main or in a change
    request. `type` is edits, merge, rollback or update. `merged_from` is the ID of the merged change request."""
    revision: Json = {
        "id": context.new_id(),
        "space": space_id,
        "type": type,
        "parents": list(parents),
        "createdAt": context.timestamp(),
        "author": context.caller,
        **{name: fields.get(name, build_empty()) for name, build_empty in CONTENT_FIELDS.items()},
        "pages": page_trees.with_paths(fields["pages"]),
    }
    if merged_from is not None:
        revision["mergedFrom"] = merged_from
    return context.store.put(f"/spaces/{space_id}/revisions/{revision['id']}", revision)


def add_edit_revision(context: RequestContext, revision: Json, **changes: object) -> Json:
    """Create and return a revision after an edit of `revision`. `changes` are new values of `CONTENT_FIELDS`."""
    return add_revision(context, revision["space"], {**revision, **changes}, type="edits", parents=[revision["id"]])


CONTENT_FIELDS: dict[str, type] = {"pages": list, "files": list, "reusableContents": list, "variables": dict}
"""The fields with the content of a revision, each with its type. A call of the type returns an empty value."""


def set_current(context: RequestContext, space_id: str, revision: Json, *, index_later: bool = False) -> Json:
    """Make `revision` the main content of a space. Index it, or mark the space if `index_later`. Return the space."""
    path = f"/spaces/{space_id}"
    space = context.store.get(path)
    old_revision = context.store.find(f"{path}/revisions/{space['revision']}") if space.get("revision") else None
    space = context.store.update(path, revision=revision["id"], updatedAt=context.timestamp())
    if index_later:
        mark_for_reindexing(context, space_id, old_revision)
    else:
        reindex(context, space_id, old_revision, revision)
    return space


def new_page(context: RequestContext, title: str, markdown: str = "", **fields: object) -> Json:
    """Create a page with text, and return it. The caller must add it to a page tree."""
    now = context.timestamp()
    page: Json = {"id": context.new_id(), "type": "document", "title": title, "slug": page_trees.page_slug(title)}
    page |= {"createdAt": now, "updatedAt": now, **fields, "pages": []}
    return with_stored_text(context, page, markdown)


def with_stored_text(context: RequestContext, page: Json, markdown: str) -> Json:
    """Save `markdown` as a blob. Return `page` with the hash of the blob as `text`. For empty text, omit `text`."""
    bare_page = omit(page, "text")
    return {**bare_page, "text": context.store.put_blob(markdown)} if markdown else bare_page


def page_text(context: RequestContext, page: Json) -> str:
    """Return the Markdown of a page."""
    return context.store.text(page["text"]) if page.get("text") else ""


RETENTION = timedelta(days=7)
"""Time after its deletion during which a space can be restored."""


def list_ordered(context: RequestContext, path: str, organization_id: str) -> list[tuple[SortKey, Json]]:
    """Return all spaces or collections of an organization, also deleted spaces, as pairs of a sort key and a document,
    sorted by this key. `path` is `/spaces` or `/collections`."""
    documents = context.store.items(path)
    matching_documents = [
        (order_key(position, each), each) for position, each in documents if each["organization"] == organization_id
    ]
    return sorted(matching_documents, key=lambda pair: pair[0])


def visible_spaces(context: RequestContext, organization_id: str) -> list[tuple[SortKey, Json]]:
    """Return sort key and document of each space in which the caller has a role, in order, without deleted spaces."""
    spaces = list_ordered(context, "/spaces", organization_id)
    return [(key, space) for key, space in spaces if not space.get("deletedAt") and role(context, space)]


def is_expired(context: RequestContext, space: Json) -> bool:
    """Return whether a space was deleted so long ago that it cannot be restored."""
    deleted_at = space.get("deletedAt")
    return deleted_at is not None and context.now() - datetime.fromisoformat(deleted_at) >= RETENTION


def list_contents(context: RequestContext, organization_id: str, parent_id: str | None) -> list[StoredDocument]:
    """Return the spaces (also deleted) and collections that are directly in `parent_id` (None: the root), in order."""
    kinds = ("/collections", "/spaces")
    items = [(key, kind, each) for kind in kinds for key, each in list_ordered(context, kind, organization_id)]
    contents = sorted((item for item in items if item[2].get("parent") == parent_id), key=lambda item: item[0])
    return [(f"{kind}/{each['id']}", each) for _, kind, each in contents]


def list_descendants(context: RequestContext, collection: Json) -> Iterator[StoredDocument]:
    """Yield the spaces and collections in a collection at any depth."""
    for path, each in list_contents(context, collection["organization"], collection["id"]):
        yield path, each
        if path.startswith("/collections/"):
            yield from list_descendants(context, each)


def require_can_add(context: RequestContext, organization_id: str, parent_id: str | None) -> None:
    """Raise Refusal or MissingResource if the caller may not add spaces to a collection, or to the root. `parent_id` is
    the ID of the collection, or None for the root."""
    if parent_id is None:
        require_in_organization(context, organization_id, "create")
        return
    collection = context.store.get(f"/collections/{parent_id}")
    if collection["organization"] != organization_id or not can_see(context, collection):
        raise MissingResource(f"/collections/{parent_id}")
    require(context, collection, "create")


@handle.register(spaces.Move)
@handle.register(collections.Move)
def _move(op: spaces.Move | collections.Move, context: RequestContext) -> Json:
    path = path_of(op).removesuffix("/move")
    document = context.store.get(path)
    require(context, document, "admin")
    if not request_fields(op):
        raise Refusal(400, "parent or position is required: say where to move this.")
    next_to = _neighbor(op.position, context) if op.position else None
    if next_to and (next_to[1]["organization"] != document["organization"] or next_to[0] == path):
        raise Refusal(400, "position must name another space or collection in this organization.")
    names_parent = "parent" in op.model_fields_set or next_to is None
    parent_id = op.parent if "parent" in op.model_fields_set else (next_to[1] if next_to else document).get("parent")
    if names_parent and next_to and next_to[1].get("parent") != parent_id:
        raise Refusal(
            409, f"“{next_to[1]['title']}” is not at the new location. position must name an item at the new location."
        )
    if parent_id != document.get("parent"):
        require_can_add(context, document["organization"], parent_id)
    _refuse_cycle(context, path, document, parent_id)
    set_parent(document, parent_id)
    siblings = list_contents(context, document["organization"], parent_id)
    is_before = bool(op.position and op.position.before)
    save_next_to(context, siblings, (path, document), next_to, is_before=is_before)
    return present(op, context, context.store.get(path))


def set_parent(document: Json, parent_id: str | None) -> None:
    """Set the collection that contains a space or collection, or the root if `parent_id` is empty. At the root, the
    visibility `in-collection` becomes `private`. The caller must save `document`."""
    document.pop("parent", None)
    if parent_id:
        document["parent"] = parent_id
    elif document.get("visibility") == "in-collection":
        document["visibility"] = "private"


@handle.register(spaces.Transfer)
@handle.register(collections.Transfer)
def _transfer(op: spaces.Transfer | collections.Transfer, context: RequestContext) -> Json:
    path = path_of(op).removesuffix("/transfer")
    transferred = context.store.get(path)
    require(context, transferred, "admin")
    if membership(context, op.organization) is None:
        raise MissingResource(f"/orgs/{op.organization}")
    if op.organization == transferred["organization"]:
        raise Refusal(409, f"“{transferred['title']}” is already in this organization.")
    require_can_add(context, op.organization, None)
    moved = [(path, transferred), *(list_descendants(context, transferred) if path.startswith("/collections/") else ())]
    for moved_path, document in moved:
        if moved_path.startswith("/spaces/") and (sites := site_tree.sites_with(context, document)):
            sentence = f"“{document['title']}” is on the site “{sites[0]['title']}” in this organization."
            raise Refusal(412, f"{sentence} Remove the space from the site first.")
        for grant in context.store.all(f"{moved_path}/permissions/users"):
            if membership(context, op.organization, grant["id"]) is None:
                sentence = f"“{transferred['title']}” is shared with people who are not members of that organization. Invite them"
                raise Refusal(412, f"{sentence} there, or remove their roles first.")
        if context.store.count(f"{moved_path}/permissions/teams"):
            raise Refusal(412, f"“{transferred['title']}” is shared with teams. Remove the roles of the teams first.")
    set_parent(transferred, None)
    transferred.pop("position", None)
    for moved_path, document in moved:
        context.store.put(moved_path, {**document, "organization": op.organization})
    return present(op, context, context.store.get(path))


def _neighbor(position: spaces.Position, context: RequestContext) -> StoredDocument:
    if (position.before is None) == (position.after is None):
        raise Refusal(400, "position must have either before or after.")
    pointer: Any = position.before or position.after
    path = f"/spaces/{pointer.space}" if pointer.type == "space" else f"/collections/{pointer.collection}"
    document = context.store.get(path)
    if not can_see(context, document):
        raise MissingResource(path)
    return path, document


def _refuse_cycle(context: RequestContext, path: str, document: Json, parent_id: str | None) -> None:
    if path.startswith("/collections/"):
        paths_inside = {each for each, _ in list_descendants(context, document)}
        if f"/collections/{parent_id}" in {path, *paths_inside}:
            raise Refusal(409, f"“{document['title']}” cannot be moved into itself. Choose another collection.")


DEFAULT_EMOJI = "📘"
"""Emoji of a space that has no emoji of its own."""
TITLE_LIMIT = 50


@presents(spaces.Space)
def present_space(context: RequestContext, space: Json) -> Json:
    """Convert a stored space to the API resource. Adds the caller's permissions, and numbers such as open comments."""
    path = f"/spaces/{space['id']}"
    thread_counts = context.store.count_by_status(f"{path}/comments")
    request_counts = context.store.count_by_status(f"{path}/change-requests")
    return {
        "object": "space",
        "visibility": "private",
        "editMode": "live",
        "defaultLevel": "inherit",
        "mergeRules": {"type": "inherit"},
        **omit(space, "position", "nextNumber", "icon"),
        "emoji": space.get("emoji") or DEFAULT_EMOJI,
        "comments": thread_counts["open"],
        "changeRequests": request_counts.total(),
        "changeRequestsOpen": request_counts["open"],
        "changeRequestsDraft": request_counts["draft"],
        "urls": _urls(context, space),
        "permissions": space_permissions(context, space),
    }


def _urls(context: RequestContext, document: Json) -> Json:
    space_id, icon = document["id"], document.get("icon")
    app_url = context.url(f"/o/{document['organization']}/s/{space_id}")
    return {"location": context.url(f"/v1/spaces/{space_id}"), "app": app_url, **({"icon": icon} if icon else {})}


def delete_expired_spaces(context: RequestContext) -> None:
    """Delete the spaces that can no longer be restored."""
    for space in context.store.all("/spaces"):
        if is_expired(context, space):
            with context.store.transaction():
                context.store.unindex(space["id"])
                site_tree.remove_from_sites(context, space)
                context.store.delete(f"/spaces/{space['id']}")


def create_space(context: RequestContext, organization_id: str, **fields: Any) -> Json:
    """Create a space without a revision, and return it. The caller sets its first revision with `set_current`."""
    now = context.timestamp()
    space: Json = {"id": context.new_id(), "title": "Untitled", "organization": organization_id, "createdAt": now}
    visibility = "in-collection" if fields.get("parent") else "private"
    defaults = {"editMode": "live", "defaultLevel": "inherit", "revision": "", "nextNumber": 1}
    space |= {"updatedAt": now, "visibility": visibility, **defaults, **fields}
    return context.store.put(f"/spaces/{space['id']}", space)


@handle.register
def _list_spaces(op: spaces.List, context: RequestContext) -> Json:
    return paginate(op, visible_spaces(context, op.at.organization_id), lambda space: present_space(context, space))


@handle.register
def _create(op: spaces.Create, context: RequestContext) -> Json:
    require_can_add(context, op.at.organization_id, op.parent)
    space = create_space(context, op.at.organization_id, **request_fields(op))
    return present_space(context, set_current(context, space["id"], add_first_revision(context, space)))


@handle.register
def _get_git_info(op: spaces.GetGitInfo, context: RequestContext) -> Json:
    space = context.store.get(f"/spaces/{op.at.space_id}")
    git_sync: Json | None = space.get("gitSync")
    if git_sync is None:
        raise Refusal(404, f"“{space['title']}” is not synced with a Git repository.")
    return git_sync


@handle.register
def _update_space(op: spaces.Update, context: RequestContext) -> Json:
    require(context, context.store.get(path_of(op)), "admin")
    fields = request_fields(op)
    if fields.get("emoji") and fields.get("icon"):
        raise Refusal(400, "emoji and icon cannot both be set. Choose one.")
    if "mergeRules" in fields:
        refuse_malformed_merge_rules(fields["mergeRules"], kinds=("inherit", "none", "rules"))
    for field, other_field in (("emoji", "icon"), ("icon", "emoji")):
        if fields.get(field):
            fields[other_field] = None
    return present_space(context, context.store.update(path_of(op), **fields, updatedAt=context.timestamp()))


@handle.register
def _delete_space(op: spaces.Delete, context: RequestContext) -> None:
    require(context, context.store.get(path_of(op)), "admin")
    context.store.update(path_of(op), deletedAt=context.timestamp())


@handle.register
def _restore_space(op: spaces.Restore, context: RequestContext) -> Json:
    path = path_of(op).removesuffix("/restore")
    space = context.store.get(path)
    require(context, space, "admin")
    space.pop("deletedAt", None)
    return present_space(context, context.store.put(path, space))


@handle.register
def _duplicate_space(op: spaces.Duplicate, context: RequestContext) -> Json:
    original = context.store.get(path_of(op).removesuffix("/duplicate"))
    require_can_add(context, original["organization"], original.get("parent"))
    copied_names = ("emoji", "icon", "parent", "defaultLevel", "editMode", "language", "mergeRules")
    copied_fields = {name: original[name] for name in copied_names if name in original}
    space = create_space(
        context, original["organization"], **copied_fields, title=f"Copy of {original['title']}"[:TITLE_LIMIT]
    )
    if role(context, space) is None:
        # Granted roles are not copied, so the caller may have no role in the copy.
        grant = {"id": context.caller, "role": "admin"}
        context.store.put(f"/spaces/{space['id']}/permissions/users/{context.caller}", grant)
    content = get_current(context, original["id"])
    revision = add_revision(context, space["id"], content, type="edits", parents=[])
    return present_space(context, set_current(context, space["id"], revision))


@presents(collections.Collection)
def present_collection(context: RequestContext, collection: Json) -> Json:
    """Convert a stored collection to the API resource. Adds the permissions of the caller."""
    fields = omit(collection, "position")
    collection_id, organization_id = collection["id"], collection["organization"]
    urls = {
        "location": context.url(f"/v1/collections/{collection_id}"),
        "app": context.url(f"/o/{organization_id}/c/{collection_id}"),
    }
    permissions = collection_permissions(context, collection)
    return {"object": "collection", "defaultLevel": "inherit", **fields, "urls": urls, "permissions": permissions}


@handle.register
def _list_collections(op: collections.List, context: RequestContext) -> Json:
    items = list_ordered(context, "/collections", op.at.organization_id)
    visible_collections = [
        pair for pair in items if (op.nested or not pair[1].get("parent")) and can_see_collection(context, pair[1])
    ]
    return paginate(op, visible_collections, lambda document: present_collection(context, document))


@handle.register
def _create_collection(op: collections.Create, context: RequestContext) -> Json:
    require_can_add(context, op.at.organization_id, op.parent)
    identity = {"id": context.new_id(), "title": "Untitled", "organization": op.at.organization_id}
    collection = {**identity, "defaultLevel": "inherit", **request_fields(op)}
    return present_collection(context, context.store.put(f"/collections/{collection['id']}", collection))


@handle.register
def _update_collection(op: collections.Update, context: RequestContext) -> Json:
    require(context, context.store.get(path_of(op)), "admin")
    fields = request_fields(op)
    return present_collection(context, context.store.update(path_of(op), **fields))


@handle.register
def _delete_collection(op: collections.Delete, context: RequestContext) -> None:
    path = path_of(op)
    collection = context.store.get(path)
    require(context, collection, "admin")
    contents = list_contents(context, collection["organization"], collection["id"])
    siblings = list_contents(context, collection["organization"], collection.get("parent"))
    position = next(index for index, sibling in enumerate(siblings) if sibling[0] == path)
    level = collection.get("defaultLevel", "inherit")
    for _, document in contents:
        set_parent(document, collection.get("parent"))
        if level != "inherit" and document.get("defaultLevel", "inherit") == "inherit":
            document["defaultLevel"] = level  # Spaces in the deleted collection keep their access restrictions.
    insert_in_order(context, siblings, position + 1, contents)
    context.store.delete(path)


@handle.register
def _list_spaces_inside(op: collections.ListSpaces, context: RequestContext) -> Json:
    collection = context.store.get(path_of(op).removesuffix("/spaces"))
    visible_pairs = visible_spaces(context, collection["organization"])
    spaces_inside = [(key, space) for key, space in visible_pairs if space.get("parent") == collection["id"]]
    return paginate(op, spaces_inside, lambda space: present_space(context, space))
