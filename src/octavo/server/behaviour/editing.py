"""Editing the content of a change request: several changes, all or none, as one new revision (10)."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from functools import singledispatchmethod
from typing import Any

from octavo.api import content
from octavo.documents import front_matter, page_trees
from octavo.documents.page_trees import Pages
from octavo.documents.suggestions import UnknownBlock, revert_blocks
from octavo.server.behaviour import change_requests, revisions
from octavo.server.behaviour.content import present_file
from octavo.server.behaviour.permissions import need
from octavo.server.pictures import dimensions
from octavo.server.rest import handle, without
from octavo.server.store import Json, Missing
from octavo.server.world import Refused, World

FILE_LIMIT = 1_000_000
"""The most bytes of a file that comes with an edit."""
DEPTH_LIMIT = 30
"""How deep pages may stand below each other."""

_FIELDS = {
    "emoji": "emoji",
    "icon": "icon",
    "description": "description",
    "hidden": "hidden",
    "no_index": "noIndex",
    "no_robots_index": "noRobotsIndex",
}
_IN_FRONT_MATTER = ("description", "icon", "emoji")
_NEVER_NULL = ("title", "slug", "hidden", "no_index", "no_robots_index", "at")


@handle.register
def _edit(op: content.Edit, world: World) -> Json:
    need(world, world.store.get(f"/spaces/{op.at.space_id}"), "edit")
    change_request = world.store.get(change_requests.path_of(op.at))
    change_requests.refuse_closed(change_request, "be edited")
    editing = Editing(world, change_request)
    for number, change in enumerate(op.changes):
        editing.apply(change, f"changes[{number}]")
    shown = change_requests.present_change_request(world, editing.finish())
    if op.compat:
        return shown
    files = [present_file(world, file) for file in editing.inserted]
    return {"changeRequest": shown, "changes": editing.done, **({"insertedFiles": files} if files else {})}


class Editing:
    """The content of a change request while it is edited. Nothing is filed before `finish`."""

    def __init__(self, world: World, change_request: Json) -> None:
        self._world = world
        self._change_request = change_request
        self._before = revisions.get(world, change_request["space"], change_request["revision"])
        self._pages: Pages = self._before["pages"]
        self._files: list[Json] = self._before["files"]
        self._texts: dict[str, str] = {}
        """What pages say that were written in this edit, by id."""
        self._refs: dict[str, str] = {}
        """Where the temporary names of this edit lead."""
        self._where = ""
        self.done: list[Json] = []
        """What was done, as it is answered."""
        self.inserted: list[Json] = []
        """The files that were added."""

    def apply(self, change: content.ContentEdit, where: str) -> None:
        """Make one change. `where` names it in sentences. Raises Refused."""
        self._where = where
        self._apply(change)

    def finish(self) -> Json:
        """File the revision with all that was done, and let the change request stand at it. Returns that."""
        for name, markdown in self._texts.items():
            if page := page_trees.find(self._pages, name):
                self._put(revisions.written(self._world, page, self._linked(markdown)))
        revision = revisions.next_after(self._world, self._before, pages=self._pages, files=self._files)
        return change_requests.edited(self._world, self._change_request, revision)

    @singledispatchmethod
    def _apply(self, change: Any) -> None:
        raise TypeError(f"{type(change).__name__} is not a change of content")

    @_apply.register
    def _update(self, change: content.UpdatePage) -> None:
        page = self._page(change.page)
        markdown = self._markdown(change.document) if change.document is not None else None
        if markdown is not None and page["type"] != "document":
            raise self._refused(400, f"“{page['title']}” is a {page['type']}, which has no text")
        page = self._described(page, self._given(change), markdown)
        self._put({**page, "updatedAt": self._world.timestamp()})
        if change.model_fields_set & {"into", "at"}:
            into = change.into if "into" in change.model_fields_set else page_trees.parents(self._pages)[page["id"]]
            self._move(page["id"], into, change.at)
        self.done.append({"object": "updated_page", "page": self._named(page["id"])})

    def _given(self, change: content.PageFields) -> Json:
        given = {name: getattr(change, name) for name in change.model_fields_set}
        for name in _NEVER_NULL:
            if name in given and given[name] is None:
                raise self._refused(400, f"{name} cannot be null")
        return given

    def _described(self, page: Json, given: Json, markdown: str | None) -> Json:
        """`page` with the fields that were given. Its title and the heading its text begins with stay the same."""
        before = page["title"]
        says = self._text(page) if page["type"] == "document" else ""
        if markdown is not None:
            heading = page_trees.leading_heading(markdown)
            if "title" not in given and heading and page_trees.leading_heading(says) == before:
                given = {**given, "title": heading}
            self._texts[page["id"]] = markdown
        elif "title" in given and says:
            self._texts[page["id"]] = page_trees.change_leading_heading(says, before, given["title"])
        page = {**page, **{_FIELDS[name]: value for name, value in given.items() if name in _FIELDS}}
        page["title"] = given.get("title", before)
        if "slug" in given and "slug" in page:
            page["slug"] = page_trees.page_slug(given["slug"] or page["title"])
        return {name: value for name, value in page.items() if value is not None}

    @_apply.register
    def _insert(self, change: content.InsertPage) -> None:
        markdown = self._markdown(change.document)
        try:
            matter, body = front_matter.parse_page(markdown)
        except front_matter.FrontMatterError:
            matter, body = {}, markdown  # the page shows why
        given = {
            **self._given(change),
            **{name: matter[name] for name in _IN_FRONT_MATTER if _is_words(matter.get(name))},
        }
        heading = page_trees.leading_heading(markdown[front_matter.split(markdown)[1] :])
        title = matter.get("title") if _is_words(matter.get("title")) else heading
        page = revisions.new_page(self._world, title or change.title or revisions.UNTITLED)
        page = self._described(page, without(given, "title"), None)
        self._insert_into(page, change.into, change.at)
        self._texts[page["id"]] = body
        self._refer(change.ref, f"/pages/{page['id']}")
        reference = {"ref": change.ref} if change.ref else {}
        self.done.append({"object": "created_page", **reference, "page": self._named(page["id"])})

    @_apply.register
    def _delete(self, change: content.DeletePage) -> None:
        self._page(change.page)
        self._pages = page_trees.remove_pages(self._pages, {change.page})
        self.done.append({"object": "deleted_page", "page": change.page})

    @_apply.register
    def _revert(self, change: content.RevertPage) -> None:
        base = change.revision or change_requests.base_of(self._change_request)
        try:
            revision = revisions.get(self._world, self._change_request["space"], base)
        except Missing:
            raise self._refused(404, f"there is no revision “{base}” in this space") from None
        then, now = page_trees.find(revision["pages"], change.page), page_trees.find(self._pages, change.page)
        if then is None:
            # It was made since then, so that putting it back as it was takes it away.
            self._delete(content.DeletePage(page=self._page(change.page)["id"]))
            return
        if change.block is not None:
            self._revert_blocks(then, self._page(change.page), set(change.block))
        elif now is None:
            self._restore(then, revision["pages"])
        else:
            self._texts.pop(now["id"], None)
            self._put(
                {**then, "updatedAt": self._world.timestamp(), **({"pages": now["pages"]} if "pages" in now else {})}
            )
            self._back(then["id"], revision["pages"])
        self.done.append({"object": "updated_page", "page": self._named(then["id"])})

    def _revert_blocks(self, then: Json, now: Json, keys: set[str]) -> None:
        try:
            text = revert_blocks(revisions.text(self._world, then), self._text(now), keys)
        except UnknownBlock as unknown:
            raise self._refused(
                400, f"there is no block “{unknown}” in “{now['title']}”, before or after the changes"
            ) from None
        self._texts[now["id"]] = text
        self._put({**now, "updatedAt": self._world.timestamp()})

    def _restore(self, then: Json, pages: Pages) -> None:
        """Bring back a deleted page, and those below it that are gone too."""
        here = {page["id"] for page in page_trees.walk(self._pages)}
        restored = page_trees.remove_pages([then], here)[0]
        above, place = page_trees.position_of(pages, then["id"])
        self._pages = page_trees.insert_page(self._pages, restored, above if above in here else None, place)

    def _back(self, page_id: str, pages: Pages) -> None:
        """Move a page below the one it stood below in `pages`, if that is there and can hold it."""
        above, place = page_trees.position_of(pages, page_id)
        stands = page_trees.parents(self._pages)
        page = self._page(page_id)
        inside = {each["id"] for each in page_trees.walk([page])}
        if stands[page_id] != above and (above is None or above in stands) and above not in inside:
            self._pages = page_trees.insert_page(page_trees.remove_pages(self._pages, {page_id}), page, above, place)

    @_apply.register
    def _insert_files(self, change: content.InsertFiles) -> None:
        for number, file in enumerate(change.files):
            data = self._bytes(file, f"files[{number}]")
            document: Json = {"id": self._world.new_id(), "name": file.name, "contentType": file.content_type}
            document |= {"size": len(data), "blob": self._world.store.put_blob(data)}
            if size := dimensions(data):
                document["dimensions"] = size
            self._files = [*self._files, document]
            self.inserted.append(document)
            self._refer(file.ref, f"/files/{document['id']}")

    def _bytes(self, file: content.NewFile, where: str) -> bytes:
        if file.url is not None:
            raise self._refused(
                400, f"{where}.url is not supported: this server does not fetch files. Send the file as base64"
            )
        if file.base64 is None:
            raise self._refused(400, f"{where}.base64 is required")
        if not file.content_type:
            raise self._refused(400, f"{where}.contentType is required with base64")
        try:
            data = b64decode(file.base64, validate=True)
        except (binascii.Error, ValueError):
            raise self._refused(400, f"{where}.base64 is not valid base64") from None
        if len(data) > FILE_LIMIT:
            raise self._refused(400, f"{where} is larger than the limit of 1 MB")
        return data

    def _insert_into(self, page: Json, into: str | None, at: int | None) -> None:
        if into is not None:
            holder = self._page(into)
            if holder["type"] not in ("document", "group"):
                raise self._refused(
                    400, f"pages cannot be placed below “{holder['title']}”, which is a {holder['type']}"
                )
            if page["type"] == "group":
                raise self._refused(400, f"“{page['title']}” is a group, and groups can only be at the top level")
            if len(page_trees.path_to(self._pages, into)) + _depth(page) > DEPTH_LIMIT:
                raise self._refused(400, f"pages can be nested at most {DEPTH_LIMIT} levels deep")
        self._pages = page_trees.insert_page(self._pages, page, into, at)

    def _move(self, page_id: str, into: str | None, at: int | None) -> None:
        page = self._page(page_id)
        if into in {each["id"] for each in page_trees.walk([page])}:
            raise self._refused(400, f"“{page['title']}” cannot be moved below itself")
        if into is not None:
            self._page(into)
        self._pages = page_trees.remove_pages(self._pages, {page_id})
        self._insert_into(page, into, at)

    def _page(self, page_id: str) -> Json:
        page = page_trees.find(self._pages, page_id)
        if page is None:
            raise self._refused(404, f"there is no page “{page_id}” in this change request")
        return page

    def _put(self, page: Json) -> None:
        self._pages = page_trees.replace_page(self._pages, page)

    def _text(self, page: Json) -> str:
        written = self._texts.get(page["id"])
        return revisions.text(self._world, page) if written is None else written

    def _markdown(self, document: content.DocumentBody) -> str:
        if document.markdown is None:
            raise self._refused(400, "document.markdown is required: this server accepts pages only as Markdown")
        return document.markdown.replace("\r\n", "\n").replace("\r", "\n")

    def _refer(self, ref: str | None, leads: str) -> None:
        if ref is None:
            return
        if ref in self._refs:
            raise self._refused(400, f"ref “{ref}” is used twice")
        self._refs[ref] = leads

    def _linked(self, markdown: str) -> str:
        """`markdown` with its links to the temporary names of this edit leading where these ended up."""
        for ref, leads in self._refs.items():
            markdown = _link_to(ref).sub(rf"\g<1>{leads}", markdown)
        return markdown

    def _named(self, page_id: str) -> Json:
        space, change_request = self._change_request["space"], self._change_request["id"]
        path = f"/v1/spaces/{space}/change-requests/{change_request}/content/page/{page_id}"
        return {"object": "page", "id": page_id, "urls": {"location": self._world.url(path)}}

    def _refused(self, status: int, message: str) -> Refused:
        return Refused(status, f"{self._where}: {message}. Nothing was changed.")


def _is_words(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _depth(page: Json) -> int:
    return 1 + max(map(_depth, page.get("pages", ())), default=0)


def _link_to(ref: str) -> re.Pattern[str]:
    """A markdown or HTML address that is a temporary name, from what comes before it to its end."""
    return re.compile(rf"""(\]\(<?|\]:\s*<?|(?:href|src|url)=["'])\./{re.escape(ref)}(?:\.md)?(?=[)>#\s"']|$)""")
