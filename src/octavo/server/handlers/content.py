"""Pages, files and reusable content, and the changes between revisions. Each edit creates one revision."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from functools import singledispatchmethod
from typing import Any
from urllib.parse import quote

from octavo.api import content
from octavo.api.content import GetPage, GetPageByPath
from octavo.api.operation import ChangeRequestRef, ContentRef, RevisionRef
from octavo.documents import front_matter, links, page_trees
from octavo.documents.folders.folder import rewrite_links
from octavo.documents.markdown_to_json import content_body
from octavo.documents.page_trees import DEFAULT_LAYOUT, EMPTY_REVISION, Pages, document_id, revision_differences
from octavo.documents.suggestions import UnknownBlock, revert_blocks
from octavo.lazy_import import lazy
from octavo.server.handlers import change_requests, spaces
from octavo.server.handlers.change_requests import base_revision_id, present_change_request
from octavo.server.handlers.permissions import require
from octavo.server.page_texts import evaluate_text, expand_includes
from octavo.server.rest import Refusal, RequestContext, handle, omit, paginate
from octavo.server.store import Json, MissingResource, image_size

_to_markdown = lazy("octavo.documents.json_to_markdown:to_markdown")  # lazy: few clients send documents

CHANGES_LIMIT = 10
"""Number of changes in a response to `content.ListChanges`, unless the request has a limit."""

_REVISION_KINDS = {"document": "sheet", "group": "group", "link": "link"}
_PAGE_FIELDS = ("id", "type", "title", "emoji", "icon", "createdAt", "updatedAt", "hidden")
_TYPE_FIELDS = {
    "document": ("description", "slug", "path", "noIndex", "noRobotsIndex", "cover", "variables", "git", "linkTitle"),
    "group": ("slug", "path", "noIndex", "noRobotsIndex"),
    "link": ("target",),
}


def present_page(page: Json, app_url: str, *, metadata: bool = True) -> Json:
    """Convert a page and its subpages to API resources, with URLs below `app_url`. If `metadata`, include `git`."""
    kind = page["type"]
    field_names = (*_PAGE_FIELDS, *_TYPE_FIELDS.get(kind, ("computed",)))
    result = {name: page[name] for name in field_names if page.get(name) is not None and (metadata or name != "git")}
    if kind in _REVISION_KINDS:
        result["kind"] = _REVISION_KINDS[kind]
    target = page.get("target")
    if kind == "link" and isinstance(target, dict) and target.get("kind") == "url" and target.get("url"):
        result["href"] = target["url"]
    if kind in ("document", "group"):
        result["pages"] = [present_page(child, app_url, metadata=metadata) for child in page["pages"]]
    if kind == "document":
        result["layout"] = {**DEFAULT_LAYOUT, **(page.get("layout") or {})}
        result["urls"] = {"app": f"{app_url}/{quote(page['path'])}"}
        if page_document_id := document_id(page):
            result["documentId"] = page_document_id
    return result


def present_file(context: RequestContext, file: Json, *, metadata: bool = True) -> Json:
    """Convert a stored file to the API resource. Without `metadata`, the field `git` is left out."""
    field_names = ("id", "name", "contentType", "size", "dimensions", *(("git",) if metadata else ()))
    result = {name: file[name] for name in field_names if file.get(name) is not None}
    return {**result, "downloadURL": file_url(context, file)}


def file_url(context: RequestContext, file: Json) -> str:
    """Return the URL from which a file can be downloaded."""
    return context.url(f"/~/files/{file['blob']}/{quote(file['name'], safe='')}")


def _present_revision(context: RequestContext, revision: Json, at: ContentRef, *, metadata: bool = True) -> Json:
    app = app_url(context, at)
    result: Json = {
        "object": "revision",
        "id": revision["id"],
        "type": revision["type"],
        "parents": revision["parents"],
        "createdAt": revision["createdAt"],
        "pages": [present_page(page, app, metadata=metadata) for page in revision["pages"]],
        "files": [present_file(context, file, metadata=metadata) for file in revision["files"]],
        "reusableContents": [present_reusable(each, metadata=metadata) for each in revision["reusableContents"]],
        "variables": revision["variables"],
        "urls": {"app": context.url(f"/o/{_organization(context, at)}/s/{at.space_id}/~/revisions/{revision['id']}")},
    }
    if merged_request := _present_merged_change_request(context, revision):
        result["mergedFrom"] = merged_request
    return result


def _present_merged_change_request(context: RequestContext, revision: Json) -> Json | None:
    if revision["type"] != "merge":
        return None
    path = f"/spaces/{revision['space']}/change-requests/{revision.get('mergedFrom')}"
    change_request = context.store.find(path)
    return present_change_request(context, change_request) if change_request else None


def _organization(context: RequestContext, at: ContentRef) -> str:
    return str(context.store.get(f"/spaces/{at.space_id}")["organization"])


def app_url(context: RequestContext, at: ContentRef) -> str:
    """Return the URL that opens a space, change request or revision in a web browser."""
    space = f"/o/{_organization(context, at)}/s/{at.space_id}"
    match at:
        case ChangeRequestRef():
            change_request = context.store.get(f"/spaces/{at.space_id}/change-requests/{at.change_request_id}")
            return context.url(f"{space}/~/changes/{change_request['number']}")
        case RevisionRef():
            return context.url(f"{space}/~/revisions/{at.revision_id}")
        case _:
            return context.url(space)


def present_reusable(item: Json, *, metadata: bool = True) -> Json:
    """Convert stored reusable content to the API resource. Without `metadata`, the field `git` is left out."""
    item_document_id = document_id(item)
    field_names = ("id", "title", *(("git",) if metadata else ()))
    result: Json = {name: item[name] for name in field_names if name in item}
    return {**result, **({"document": item_document_id} if item_document_id else {})}


@handle.register
def _get(op: content.Get, context: RequestContext) -> Json:
    return _present_revision(context, spaces.get_revision_at(context, op.at), op.at, metadata=op.metadata)


@handle.register
def _list_pages(op: content.ListPages, context: RequestContext) -> Json:
    app = app_url(context, op.at)
    return {
        "pages": [
            present_page(page, app, metadata=op.metadata) for page in spaces.get_revision_at(context, op.at)["pages"]
        ]
    }


@handle.register
def _get_page(op: content.GetPage, context: RequestContext) -> Json:
    revision = spaces.get_revision_at(context, op.at)
    return _with_body(context, revision, spaces.page_of(revision, op.page_id), op)


@handle.register
def _get_page_by_path(op: content.GetPageByPath, context: RequestContext) -> Json:
    revision = spaces.get_revision_at(context, op.at)
    page = page_trees.find_by_path(revision["pages"], op.page_path)
    if page is None:
        raise Refusal(404, f"There is no page at “{op.page_path[:300]}”. The page may have been moved or deleted.")
    return _with_body(context, revision, page, op)


def _with_body(
    context: RequestContext, revision: Json, page: Json, op: content.GetPage | content.GetPageByPath
) -> Json:
    result = present_page(page, app_url(context, op.at), metadata=op.metadata)
    if page["type"] != "document":
        return result
    return result | content_body(_requested_text(context, revision, page, op), op.format)


@handle.register
def _list_files(op: content.ListFiles, context: RequestContext) -> Json:
    files = sorted(((each["name"], each["id"]), each) for each in spaces.get_revision_at(context, op.at)["files"])
    return paginate(op, files, lambda file: present_file(context, file, metadata=op.metadata))


@handle.register
def _get_file(op: content.GetFile, context: RequestContext) -> Json:
    return present_file(
        context, spaces.file_of(spaces.get_revision_at(context, op.at), op.file_id), metadata=op.metadata
    )


@handle.register
def _get_reusable_content(op: content.GetReusableContent, context: RequestContext) -> Json:
    items = spaces.get_revision_at(context, op.at)["reusableContents"]
    item = next((each for each in items if each["id"] == op.reusable_content_id), None)
    if item is None:
        raise Refusal(404, f"This space has no reusable content “{op.reusable_content_id}”.")
    return present_reusable(item, metadata=op.metadata)


@handle.register
def _list_changes(op: content.ListChanges, context: RequestContext) -> Json:
    new_revision = spaces.get_revision_at(context, op.at)
    if isinstance(op.at, ChangeRequestRef):
        path = f"/spaces/{op.at.space_id}/change-requests/{op.at.change_request_id}"
        old_revision = spaces.get_revision(context, op.at.space_id, base_revision_id(context.store.get(path)))
    else:
        parents = new_revision["parents"]
        old_revision = spaces.get_revision(context, op.at.space_id, parents[0]) if parents else EMPTY_REVISION
    changes = revision_differences(old_revision, new_revision, lambda file: file_url(context, file))
    limit = CHANGES_LIMIT if op.limit is None else op.limit
    response: Json = {"changes": changes[:limit]}
    if len(changes) > limit:
        response["more"] = len(changes) - limit
    if isinstance(op.at, RevisionRef) and (merged_request := _present_merged_change_request(context, new_revision)):
        response["mergedFrom"] = merged_request
    return response


def _requested_text(context: RequestContext, revision: Json, page: Json, op: GetPage | GetPageByPath) -> str:
    text = spaces.page_text(context, page)
    if op.dereferenced:
        text = expand_includes(context.store, text, page, revision)
    if op.evaluated:
        variables = {"space": revision["variables"], "page": page.get("variables") or {}}
        text = evaluate_text(text, variables, keeps_claims=op.evaluated == "deterministic-only")
    return with_stable_links(text, page, revision) if op.refs == "stable" else text


def with_stable_links(text: str, page: Json, revision: Json) -> str:
    """Return `text`, with links to pages and files of the space turned into `/pages/ID` and `/files/ID`."""
    link_targets, page_path = page_trees.space_index_of_json(revision), page_trees.link_base(page)

    def rewrite(address: str) -> str | None:
        match links.resolve(address, page_path, link_targets):
            case links.PageLink(page_id=name, anchor=anchor):
                return f"/pages/{name}#{anchor}" if anchor else f"/pages/{name}"
            case links.FileLink(file_id=name):
                return f"/files/{name}"
            case _:
                return None

    return rewrite_links(text, rewrite)


FILE_LIMIT = 1_000_000
"""Maximum size of a file in an edit, in bytes."""
DEPTH_LIMIT = 30
"""Maximum depth of the page tree."""

_API_NAMES = {
    "emoji": "emoji",
    "icon": "icon",
    "description": "description",
    "hidden": "hidden",
    "no_index": "noIndex",
    "no_robots_index": "noRobotsIndex",
}
_FRONT_MATTER_FIELDS = ("description", "icon", "emoji")
_REQUIRED_FIELDS = ("title", "slug", "hidden", "no_index", "no_robots_index", "at")


@handle.register
def _edit(op: content.Edit, context: RequestContext) -> Json:
    require(context, context.store.get(f"/spaces/{op.at.space_id}"), "edit")
    change_request = context.store.get(change_requests.change_request_path(op.at))
    change_requests.refuse_closed(change_request, "be edited")
    editor = ContentEditor(context, change_request)
    for number, change in enumerate(op.changes):
        editor.apply(change, f"changes[{number}]")
    result = change_requests.present_change_request(context, editor.finish())
    if op.compat:
        return result
    files = [present_file(context, file) for file in editor.inserted_files]
    return {"changeRequest": result, "changes": editor.results, **({"insertedFiles": files} if files else {})}


class ContentEditor:
    """Applies the changes of one edit to a change request. `finish` saves them as a new revision."""

    def __init__(self, context: RequestContext, change_request: Json) -> None:
        self._context = context
        self._change_request = change_request
        self._old_revision = spaces.get_revision(context, change_request["space"], change_request["revision"])
        self._pages: Pages = self._old_revision["pages"]
        self._files: list[Json] = self._old_revision["files"]
        self._texts: dict[str, str] = {}
        """New Markdown by page ID."""
        self._refs: dict[str, str] = {}
        """URLs of new pages and files by `ref`. Texts in the same edit can link to them with `./REF`."""
        self._change_name = ""
        """Name of the change that is being applied, for error messages. For example `changes[0]`."""
        self.results: list[Json] = []
        """The result of each change, for the response."""
        self.inserted_files: list[Json] = []

    def apply(self, change: content.ContentEdit, name: str) -> None:
        """Apply one change. Raises Refusal, whose message starts with `name`, such as `changes[0]`."""
        self._change_name = name
        self._apply(change)

    def finish(self) -> Json:
        """Save the new revision of the change request. Return the change request."""
        for page_id, markdown in self._texts.items():
            if page := page_trees.find_page(self._pages, page_id):
                self._replace_page(spaces.with_stored_text(self._context, page, self._resolve_references(markdown)))
        revision = spaces.add_edit_revision(self._context, self._old_revision, pages=self._pages, files=self._files)
        return change_requests.record_edit(self._context, self._change_request, revision)

    @singledispatchmethod
    def _apply(self, change: Any) -> None:
        raise TypeError(f"{type(change).__name__} is not a change of content")

    @_apply.register
    def _update(self, change: content.UpdatePage) -> None:
        page = self._page(change.page)
        markdown = self._markdown(change.document) if change.document is not None else None
        if markdown is not None and page["type"] != "document":
            raise self._refusal(400, f"“{page['title']}” is a {page['type']}, which has no text")
        page = self._with_fields(page, self._field_values(change), markdown)
        self._replace_page({**page, "updatedAt": self._context.timestamp()})
        if change.model_fields_set & {"into", "at"}:
            into = change.into if "into" in change.model_fields_set else page_trees.parent_ids(self._pages)[page["id"]]
            self._move(page["id"], into, change.at)
        self.results.append({"object": "updated_page", "page": self._present_reference(page["id"])})

    def _field_values(self, change: content.PageFields) -> Json:
        fields = {name: getattr(change, name) for name in change.model_fields_set}
        for name in _REQUIRED_FIELDS:
            if name in fields and fields[name] is None:
                raise self._refusal(400, f"{name} cannot be null")
        return fields

    def _with_fields(self, page: Json, fields: Json, markdown: str | None) -> Json:
        """Return `page` with new `fields`. Remember the new text `markdown` for `finish`, unless it is None. If the
        title is also the first heading, and only `title` or only `markdown` is given, change title and heading."""
        old_title = page["title"]
        text = self._text(page) if page["type"] == "document" else ""
        if markdown is not None:
            heading = page_trees.leading_heading(markdown)
            if "title" not in fields and heading and page_trees.leading_heading(text) == old_title:
                fields = {**fields, "title": heading}
            self._texts[page["id"]] = markdown
        elif "title" in fields and text:
            self._texts[page["id"]] = page_trees.change_leading_heading(text, old_title, fields["title"])
        page = {**page, **{_API_NAMES[name]: value for name, value in fields.items() if name in _API_NAMES}}
        page["title"] = fields.get("title", old_title)
        if "slug" in fields and "slug" in page:
            page["slug"] = page_trees.page_slug(fields["slug"] or page["title"])
        return {name: value for name, value in page.items() if value is not None}

    @_apply.register
    def _insert(self, change: content.InsertPage) -> None:
        markdown = self._markdown(change.document)
        try:
            matter, body = front_matter.parse_page(markdown)
        except front_matter.FrontMatterError:
            matter, body = {}, markdown
        fields = {
            **self._field_values(change),
            **{name: matter[name] for name in _FRONT_MATTER_FIELDS if _is_text(matter.get(name))},
        }
        heading = page_trees.leading_heading(markdown[front_matter.split_page(markdown)[1] :])
        title = matter.get("title") if _is_text(matter.get("title")) else heading
        page = spaces.new_page(self._context, title or change.title or spaces.UNTITLED)
        page = self._with_fields(page, omit(fields, "title"), None)
        self._insert_into(page, change.into, change.at)
        self._texts[page["id"]] = body
        self._add_reference(change.ref, f"/pages/{page['id']}")
        ref_field = {"ref": change.ref} if change.ref else {}
        self.results.append({"object": "created_page", **ref_field, "page": self._present_reference(page["id"])})

    @_apply.register
    def _delete(self, change: content.DeletePage) -> None:
        for page in page_trees.walk([self._page(change.page)]):
            self._texts.pop(page["id"], None)  # A later change may restore the page, without this text.
        self._pages = page_trees.remove_pages(self._pages, {change.page})
        self.results.append({"object": "deleted_page", "page": change.page})

    @_apply.register
    def _revert(self, change: content.RevertPage) -> None:
        base_id = change.revision or change_requests.base_revision_id(self._change_request)
        try:
            revision = spaces.get_revision(self._context, self._change_request["space"], base_id)
        except MissingResource:
            raise self._refusal(404, f"there is no revision “{base_id}” in this space") from None
        earlier_page, current_page = (
            page_trees.find_page(revision["pages"], change.page),
            page_trees.find_page(self._pages, change.page),
        )
        if earlier_page is None:
            # The page does not exist in the revision, so the revert deletes it.
            self._delete(content.DeletePage(page=self._page(change.page)["id"]))
            return
        if change.block is not None:
            self._revert_blocks(earlier_page, self._page(change.page), set(change.block))
        elif current_page is None:
            self._restore_page(earlier_page, revision["pages"])
        else:
            self._texts.pop(current_page["id"], None)
            self._replace_page(
                {
                    **earlier_page,
                    "updatedAt": self._context.timestamp(),
                    **({"pages": current_page["pages"]} if "pages" in current_page else {}),
                }
            )
            self._move_back(earlier_page["id"], revision["pages"])
        self.results.append({"object": "updated_page", "page": self._present_reference(earlier_page["id"])})

    def _revert_blocks(self, earlier_page: Json, current_page: Json, keys: set[str]) -> None:
        try:
            text = revert_blocks(spaces.page_text(self._context, earlier_page), self._text(current_page), keys)
        except UnknownBlock as unknown:
            raise self._refusal(
                400, f"there is no block “{unknown}” in “{current_page['title']}”, before or after the changes"
            ) from None
        self._texts[current_page["id"]] = text
        self._replace_page({**current_page, "updatedAt": self._context.timestamp()})

    def _restore_page(self, earlier_page: Json, earlier_pages: Pages) -> None:
        current_ids = {page["id"] for page in page_trees.walk(self._pages)}
        restored = page_trees.remove_pages([earlier_page], current_ids)[0]
        parent_id, index = page_trees.position_of(earlier_pages, earlier_page["id"])
        parent_id = parent_id if parent_id in current_ids else None
        self._pages = page_trees.insert_page(self._pages, restored, parent_id, index)

    def _move_back(self, page_id: str, earlier_pages: Pages) -> None:
        """Move a page to its parent and position in `earlier_pages`. Do nothing if the page still has this parent, or
        if the parent was deleted or is now below the page."""
        parent_id, index = page_trees.position_of(earlier_pages, page_id)
        current_parents = page_trees.parent_ids(self._pages)
        page = self._page(page_id)
        ids_below = {each["id"] for each in page_trees.walk([page])}
        parent_exists = parent_id is None or parent_id in current_parents
        if current_parents[page_id] != parent_id and parent_exists and parent_id not in ids_below:
            other_pages = page_trees.remove_pages(self._pages, {page_id})
            self._pages = page_trees.insert_page(other_pages, page, parent_id, index)

    @_apply.register
    def _insert_files(self, change: content.InsertFiles) -> None:
        for number, file in enumerate(change.files):
            data = self._bytes(file, f"files[{number}]")
            document: Json = {"id": self._context.new_id(), "name": file.name, "contentType": file.content_type}
            document |= {"size": len(data), "blob": self._context.store.put_blob(data)}
            if size := image_size(data):
                document["dimensions"] = size
            self._files = [*self._files, document]
            self.inserted_files.append(document)
            self._add_reference(file.ref, f"/files/{document['id']}")

    def _bytes(self, file: content.NewFile, where: str) -> bytes:
        if file.url is not None:
            raise self._refusal(
                400, f"{where}.url is not supported: this server does not fetch files. Send the file as base64"
            )
        if file.base64 is None:
            raise self._refusal(400, f"{where}.base64 is required")
        if not file.content_type:
            raise self._refusal(400, f"{where}.contentType is required with base64")
        try:
            data = b64decode(file.base64, validate=True)
        except (binascii.Error, ValueError):
            raise self._refusal(400, f"{where}.base64 is not valid base64") from None
        if len(data) > FILE_LIMIT:
            raise self._refusal(400, f"{where} is larger than the limit of 1 MB")
        return data

    def _insert_into(self, page: Json, parent_id: str | None, index: int | None) -> None:
        if parent_id is not None:
            parent = self._page(parent_id)
            if parent["type"] not in ("document", "group"):
                raise self._refusal(
                    400, f"pages cannot be placed below “{parent['title']}”, which is a {parent['type']}"
                )
            if page["type"] == "group":
                raise self._refusal(400, f"“{page['title']}” is a group, and groups can only be at the top level")
            if len(page_trees.path_to(self._pages, parent_id)) + _depth(page) > DEPTH_LIMIT:
                raise self._refusal(400, f"pages can be nested at most {DEPTH_LIMIT} levels deep")
        self._pages = page_trees.insert_page(self._pages, page, parent_id, index)

    def _move(self, page_id: str, into: str | None, at: int | None) -> None:
        page = self._page(page_id)
        if into in {each["id"] for each in page_trees.walk([page])}:
            raise self._refusal(400, f"“{page['title']}” cannot be moved below itself")
        if into is not None:
            self._page(into)
        self._pages = page_trees.remove_pages(self._pages, {page_id})
        self._insert_into(page, into, at)

    def _page(self, page_id: str) -> Json:
        page = page_trees.find_page(self._pages, page_id)
        if page is None:
            raise self._refusal(404, f"there is no page “{page_id}” in this change request")
        return page

    def _replace_page(self, page: Json) -> None:
        self._pages = page_trees.replace_page(self._pages, page)

    def _text(self, page: Json) -> str:
        new_text = self._texts.get(page["id"])
        return spaces.page_text(self._context, page) if new_text is None else new_text

    def _markdown(self, document: content.DocumentBody) -> str:
        if document.document is not None and document.document.get("object") != "document":
            raise self._refusal(400, "document.document must be a JSON object with object set to document")
        markdown = document.markdown if document.document is None else _to_markdown(document.document)
        if markdown is None:
            raise self._refusal(400, "document.markdown or document.document is required")
        return markdown.replace("\r\n", "\n").replace("\r", "\n")

    def _add_reference(self, ref: str | None, url: str) -> None:
        if ref is None:
            return
        if ref in self._refs:
            raise self._refusal(400, f"ref “{ref}” is used twice")
        self._refs[ref] = url

    def _resolve_references(self, markdown: str) -> str:
        for ref, url in self._refs.items():
            markdown = _reference_pattern(ref).sub(rf"\g<1>{url}", markdown)
        return markdown

    def _present_reference(self, page_id: str) -> Json:
        space, change_request = self._change_request["space"], self._change_request["id"]
        path = f"/v1/spaces/{space}/change-requests/{change_request}/content/page/{page_id}"
        return {"object": "page", "id": page_id, "urls": {"location": self._context.url(path)}}

    def _refusal(self, status: int, message: str) -> Refusal:
        return Refusal(status, f"{self._change_name}: {message}. Nothing was changed.")


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _depth(page: Json) -> int:
    return 1 + max(map(_depth, page.get("pages", ())), default=0)


def _reference_pattern(ref: str) -> re.Pattern[str]:
    """Return a pattern for links to `ref` in Markdown or HTML, such as `](./new-page.md)` for `new-page`."""
    return re.compile(rf"""(\]\(<?|\]:\s*<?|(?:href|src|url)=["'])\./{re.escape(ref)}(?:\.md)?(?=[)>#\s"']|$)""")
