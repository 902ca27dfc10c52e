"""Content of a space, change request or revision: its pages, files, reusable content and changes."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from octavo.api import content
from octavo.api.content import GetPage, GetPageByPath
from octavo.api.places import ChangeRequestRef, ContentRef, RevisionRef
from octavo.documents import links, page_trees
from octavo.documents.link_rewriting import change_outside_code, rewrite_links
from octavo.documents.markdown_to_json import content_body
from octavo.documents.page_trees import DEFAULT_LAYOUT, EMPTY_REVISION, document_id
from octavo.lazy_import import lazy
from octavo.server.handlers import revisions
from octavo.server.handlers.change_requests import base_of, present_change_request
from octavo.server.rest import handle, paginate
from octavo.server.store import Json
from octavo.server.text_expansion import evaluate_text, expand_includes
from octavo.server.world import Refusal, World

# lazy: the model of differences, 8 ms
_revision_differences = lazy("octavo.documents.revision_changes:revision_differences")

CHANGES_LIMIT = 10
"""Default number of changes in a list of changes."""

_KINDS = {"document": "sheet", "group": "group", "link": "link"}
_PAGE_FIELDS = ("id", "type", "title", "emoji", "icon", "createdAt", "updatedAt", "hidden")
_TYPE_FIELDS = {
    "document": ("description", "slug", "path", "noIndex", "noRobotsIndex", "cover", "variables", "git", "linkTitle"),
    "group": ("slug", "path", "noIndex", "noRobotsIndex"),
    "link": ("target",),
}


def present_page(page: Json, app: str, *, metadata: bool = True) -> Json:
    """Return a page without text, with its child pages. `app` is the base URL of the pages in the app."""
    kind = page["type"]
    names = (*_PAGE_FIELDS, *_TYPE_FIELDS.get(kind, ("computed",)))
    result = {name: page[name] for name in names if page.get(name) is not None and (metadata or name != "git")}
    if kind in _KINDS:
        result["kind"] = _KINDS[kind]
    if kind == "link" and (href := _link_url(page.get("target"))):
        result["href"] = href
    if kind in ("document", "group"):
        result["pages"] = [present_page(child, app, metadata=metadata) for child in page["pages"]]
    if kind == "document":
        result["layout"] = {**DEFAULT_LAYOUT, **(page.get("layout") or {})}
        result["urls"] = {"app": f"{app}/{quote(page['path'])}"}
        if document := document_id(page):
            result["documentId"] = document
    return result


def present_file(world: World, file: Json, *, metadata: bool = True) -> Json:
    """Return a file as an API resource."""
    names = ("id", "name", "contentType", "size", "dimensions", *(("git",) if metadata else ()))
    result = {name: file[name] for name in names if file.get(name) is not None}
    return {**result, "downloadURL": file_url(world, file)}


def file_url(world: World, file: Json) -> str:
    """Return the download URL of a file."""
    return world.url(f"/~/files/{file['blob']}/{quote(file['name'], safe='')}")


def present_revision(world: World, revision: Json, at: ContentRef, *, metadata: bool = True) -> Json:
    """Return a revision with its page tree and files."""
    app = app_url(world, at)
    result: Json = {
        "object": "revision",
        "id": revision["id"],
        "type": revision["type"],
        "parents": revision["parents"],
        "createdAt": revision["createdAt"],
        "pages": [present_page(page, app, metadata=metadata) for page in revision["pages"]],
        "files": [present_file(world, file, metadata=metadata) for file in revision["files"]],
        "reusableContents": [present_reusable(each) for each in revision["reusableContents"]],
        "variables": revision["variables"],
        "urls": {"app": world.url(f"/o/{_organization(world, at)}/s/{at.space_id}/~/revisions/{revision['id']}")},
    }
    if merged := _present_merged_change_request(world, revision):
        result["mergedFrom"] = merged
    return result


def _present_merged_change_request(world: World, revision: Json) -> Json | None:
    if revision["type"] != "merge":
        return None
    path = f"/spaces/{revision['space']}/change-requests/{revision.get('mergedFrom')}"
    change_request = world.store.find(path)
    return present_change_request(world, change_request) if change_request else None


def _organization(world: World, at: ContentRef) -> str:
    return str(world.store.get(f"/spaces/{at.space_id}")["organization"])


def app_url(world: World, at: ContentRef) -> str:
    """Return the base URL of the pages in the app."""
    space = f"/o/{_organization(world, at)}/s/{at.space_id}"
    match at:
        case ChangeRequestRef():
            change_request = world.store.get(f"/spaces/{at.space_id}/change-requests/{at.change_request_id}")
            return world.url(f"{space}/~/changes/{change_request['number']}")
        case RevisionRef():
            return world.url(f"{space}/~/revisions/{at.revision_id}")
        case _:
            return world.url(space)


def _link_url(target: Any) -> str | None:
    """Return the URL of a link page. None if it links to a resource."""
    is_address = isinstance(target, dict) and target.get("kind") == "url"
    return target.get("url") if is_address else None


def present_reusable(item: Json) -> Json:
    """Return a piece of reusable content as an API resource."""
    document = document_id(item)
    result: Json = {name: item[name] for name in ("id", "title", "git") if name in item}
    return {**result, **({"document": document} if document else {})}


@handle.register
def _get(op: content.Get, world: World) -> Json:
    return present_revision(world, revisions.get_at(world, op.at), op.at, metadata=op.metadata)


@handle.register
def _list_pages(op: content.ListPages, world: World) -> Json:
    app = app_url(world, op.at)
    return {
        "pages": [present_page(page, app, metadata=op.metadata) for page in revisions.get_at(world, op.at)["pages"]]
    }


@handle.register
def _get_page(op: content.GetPage, world: World) -> Json:
    revision = revisions.get_at(world, op.at)
    return _with_body(world, revision, revisions.page_of(revision, op.page_id), op)


@handle.register
def _get_page_by_path(op: content.GetPageByPath, world: World) -> Json:
    revision = revisions.get_at(world, op.at)
    page = page_trees.find_by_path(revision["pages"], op.page_path)
    if page is None:
        raise Refusal(404, f"There is no page at “{op.page_path[:300]}”. The page may have been moved or deleted.")
    return _with_body(world, revision, page, op)


def _with_body(world: World, revision: Json, page: Json, op: content.GetPage | content.GetPageByPath) -> Json:
    result = present_page(page, app_url(world, op.at), metadata=op.metadata)
    if page["type"] != "document":
        return result
    return result | content_body(requested_text(world, revision, page, op), op.format)


@handle.register
def _list_files(op: content.ListFiles, world: World) -> Json:
    files = sorted(((each["name"], each["id"]), each) for each in revisions.get_at(world, op.at)["files"])
    return paginate(op, files, lambda file: present_file(world, file, metadata=op.metadata))


@handle.register
def _get_file(op: content.GetFile, world: World) -> Json:
    return present_file(world, revisions.file_of(revisions.get_at(world, op.at), op.file_id), metadata=op.metadata)


@handle.register
def _get_reusable_content(op: content.GetReusableContent, world: World) -> Json:
    items = revisions.get_at(world, op.at)["reusableContents"]
    page = next((item for item in items if item["id"] == op.reusable_content_id), None)
    if page is None:
        raise Refusal(404, f"This space has no reusable content “{op.reusable_content_id}”.")
    return present_reusable(page)


@handle.register
def _list_changes(op: content.ListChanges, world: World) -> Json:
    after = revisions.get_at(world, op.at)
    if isinstance(op.at, ChangeRequestRef):
        path = f"/spaces/{op.at.space_id}/change-requests/{op.at.change_request_id}"
        before = revisions.get(world, op.at.space_id, base_of(world.store.get(path)))
    else:
        parents = after["parents"]
        before = revisions.get(world, op.at.space_id, parents[0]) if parents else EMPTY_REVISION
    every = _revision_differences(before, after, lambda file: file_url(world, file))
    limit = CHANGES_LIMIT if op.limit is None else op.limit
    response: Json = {"changes": every[:limit]}
    if len(every) > limit:
        response["more"] = len(every) - limit
    if isinstance(op.at, RevisionRef) and (merged := _present_merged_change_request(world, after)):
        response["mergedFrom"] = merged
    return response


def requested_text(world: World, revision: Json, page: Json, op: GetPage | GetPageByPath) -> str:
    """Return the text of a page. The request determines whether includes and expressions are expanded, and the form of
    links."""
    text = revisions.page_text(world, page)
    if op.dereferenced:
        text = expand_includes(world.store, text, page, revision)
    if op.evaluated:
        variables = {"space": revision["variables"], "page": page.get("variables") or {}}
        text = evaluate_text(text, variables, fixed_only=op.evaluated == "deterministic-only")
    return with_stable_links(text, page, revision) if op.refs == "stable" else text


def with_stable_links(text: str, page: Json, revision: Json) -> str:
    """Return `text` with links to pages and files of the space replaced by `/pages/<id>` and `/files/<id>`."""
    places, path = page_trees.link_targets_of(revision), page_trees.link_base(page)

    def rewrite(address: str) -> str | None:
        match links.resolve(address, path, places):
            case links.PageLink(page=name, anchor=anchor):
                return f"/pages/{name}#{anchor}" if anchor else f"/pages/{name}"
            case links.FileLink(file=name):
                return f"/files/{name}"
            case _:
                return None

    return change_outside_code(text, lambda part: rewrite_links(part, rewrite))
