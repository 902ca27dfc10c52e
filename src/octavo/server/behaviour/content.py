"""Reading content: what a space, a change request or a revision holds."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from octavo.api import content
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef
from octavo.documents import page_trees
from octavo.documents.markdown_to_json import content_body
from octavo.documents.revision_changes import EMPTY_REVISION, document_id, revision_differences
from octavo.server import references
from octavo.server.behaviour import revisions
from octavo.server.behaviour.change_requests import base_of, present_change_request
from octavo.server.rest import handle, page
from octavo.server.store import Json
from octavo.server.world import Refused, World

CHANGES_LIMIT = 10
"""How many changes are listed when the caller does not say."""

_KIND = {"document": "sheet", "group": "group", "link": "link"}
_LAYOUT: Json = {
    "width": "default",
    "cover": True,
    "coverSize": "hero",
    "title": True,
    "description": True,
    "tableOfContents": True,
    "outline": True,
    "pagination": True,
    "metadata": True,
}
_OF_PAGE = ("id", "type", "title", "emoji", "icon", "createdAt", "updatedAt", "hidden")
_OF_TYPE = {
    "document": ("description", "slug", "path", "noIndex", "noRobotsIndex", "cover", "variables", "git"),
    "group": ("slug", "path", "noIndex", "noRobotsIndex"),
    "link": ("target",),
}


def present_page(shown: Json, app: str, *, metadata: bool = True) -> Json:
    """A page as it is shown, with those below it and without a body. `app` is the address of its content."""
    kind = shown["type"]
    names = (*_OF_PAGE, *_OF_TYPE.get(kind, ("computed",)))
    result = {name: shown[name] for name in names if shown.get(name) is not None and (metadata or name != "git")}
    if kind in _KIND:
        result["kind"] = _KIND[kind]
    if kind == "link" and (href := _href(shown.get("target"))):
        result["href"] = href
    if kind in ("document", "group"):
        result["pages"] = [present_page(below, app, metadata=metadata) for below in shown["pages"]]
    if kind == "document":
        result["layout"] = {**_LAYOUT, **(shown.get("layout") or {})}
        result["urls"] = {"app": f"{app}/{quote(shown['path'])}"}
        if document := document_id(shown):
            result["documentId"] = document
    return result


def present_file(world: World, file: Json, *, metadata: bool = True) -> Json:
    """A file as it is shown."""
    names = ("id", "name", "contentType", "size", "dimensions", *(("git",) if metadata else ()))
    shown = {name: file[name] for name in names if file.get(name) is not None}
    return {**shown, "downloadURL": file_address(world, file)}


def file_address(world: World, file: Json) -> str:
    """Where the bytes of a file are."""
    return world.url(f"/~/files/{file['blob']}/{quote(file['name'], safe='')}")


def present_revision(world: World, revision: Json, at: ContentRef, *, metadata: bool = True) -> Json:
    """A revision as it is shown, with its page tree and files."""
    app = app_of(world, at)
    shown: Json = {
        "object": "revision",
        "id": revision["id"],
        "type": revision["type"],
        "parents": revision["parents"],
        "createdAt": revision["createdAt"],
        "pages": [present_page(each, app, metadata=metadata) for each in revision["pages"]],
        "files": [present_file(world, each, metadata=metadata) for each in revision["files"]],
        "reusableContents": [present_reusable(each) for each in revision["reusableContents"]],
        "variables": revision["variables"],
        "urls": {"app": world.url(f"/o/{_organization(world, at)}/s/{at.space_id}/~/revisions/{revision['id']}")},
    }
    if merged := _merged_from(world, revision):
        shown["mergedFrom"] = merged
    return shown


def _merged_from(world: World, revision: Json) -> Json | None:
    if revision["type"] != "merge":
        return None
    path = f"/spaces/{revision['space']}/change-requests/{revision.get('mergedFrom')}"
    change_request = world.store.find(path)
    return present_change_request(world, change_request) if change_request else None


def _organization(world: World, at: ContentRef) -> str:
    return str(world.store.get(f"/spaces/{at.space_id}")["organization"])


def app_of(world: World, at: ContentRef) -> str:
    """The address in the app that the paths of pages follow."""
    space = f"/o/{_organization(world, at)}/s/{at.space_id}"
    match at:
        case ChangeRequestRef():
            change_request = world.store.get(f"/spaces/{at.space_id}/change-requests/{at.change_request_id}")
            return world.url(f"{space}/~/changes/{change_request['number']}")
        case RevisionRef():
            return world.url(f"{space}/~/revisions/{at.revision_id}")
        case _:
            return world.url(space)


def _href(target: Any) -> str | None:
    """Where a link page leads when that is an address."""
    is_address = isinstance(target, dict) and target.get("kind") == "url"
    return target.get("url") if is_address else None


def present_reusable(item: Json) -> Json:
    """A piece of reusable content as it is shown."""
    document = document_id(item)
    shown: Json = {name: item[name] for name in ("id", "title", "git") if name in item}
    return {**shown, **({"document": document} if document else {})}


@handle.register
def _get(op: content.Get, world: World) -> Json:
    return present_revision(world, revisions.at(world, op.at), op.at, metadata=op.metadata)


@handle.register
def _list_pages(op: content.ListPages, world: World) -> Json:
    app = app_of(world, op.at)
    return {"pages": [present_page(each, app, metadata=op.metadata) for each in revisions.at(world, op.at)["pages"]]}


@handle.register
def _get_page(op: content.GetPage, world: World) -> Json:
    revision = revisions.at(world, op.at)
    return _with_body(world, revision, revisions.page_of(revision, op.page_id), op)


@handle.register
def _get_page_by_path(op: content.GetPageByPath, world: World) -> Json:
    revision = revisions.at(world, op.at)
    found = page_trees.find_by_path(revision["pages"], op.page_path)
    if found is None:
        raise Refused(404, f"There is no page at “{op.page_path[:300]}”. The page may have been moved or deleted.")
    return _with_body(world, revision, found, op)


def _with_body(world: World, revision: Json, found: Json, op: content.GetPage | content.GetPageByPath) -> Json:
    shown = present_page(found, app_of(world, op.at), metadata=op.metadata)
    if found["type"] != "document":
        return shown
    return shown | content_body(references.as_asked(world, revision, found, op), op.format)


@handle.register
def _list_files(op: content.ListFiles, world: World) -> Json:
    files = sorted(((each["name"], each["id"]), each) for each in revisions.at(world, op.at)["files"])
    return page(op, files, lambda file: present_file(world, file, metadata=op.metadata))


@handle.register
def _get_file(op: content.GetFile, world: World) -> Json:
    return present_file(world, revisions.file_of(revisions.at(world, op.at), op.file_id), metadata=op.metadata)


@handle.register
def _get_reusable_content(op: content.GetReusableContent, world: World) -> Json:
    items = revisions.at(world, op.at)["reusableContents"]
    found = next((each for each in items if each["id"] == op.reusable_content_id), None)
    if found is None:
        raise Refused(404, f"This space has no reusable content “{op.reusable_content_id}”.")
    return present_reusable(found)


@handle.register
def _list_changes(op: content.ListChanges, world: World) -> Json:
    after = revisions.at(world, op.at)
    if isinstance(op.at, ChangeRequestRef):
        path = f"/spaces/{op.at.space_id}/change-requests/{op.at.change_request_id}"
        before = revisions.get(world, op.at.space_id, base_of(world.store.get(path)))
    else:
        parents = after["parents"]
        before = revisions.get(world, op.at.space_id, parents[0]) if parents else EMPTY_REVISION
    every = revision_differences(before, after, lambda file: file_address(world, file))
    limit = CHANGES_LIMIT if op.limit is None else op.limit
    answer: Json = {"changes": every[:limit]}
    if len(every) > limit:
        answer["more"] = len(every) - limit
    if isinstance(op.at, RevisionRef) and (merged := _merged_from(world, after)):
        answer["mergedFrom"] = merged
    return answer
