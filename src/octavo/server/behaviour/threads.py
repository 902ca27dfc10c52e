"""How comments and replies are shown: who wrote them, what they hang on, and what the caller may do with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from octavo.api.bodies import Format
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.documents import page_trees
from octavo.documents.markdown_to_json import content_body
from octavo.server.behaviour import revisions
from octavo.server.behaviour.change_requests import base_of, path_of
from octavo.server.behaviour.permissions import allows, role
from octavo.server.behaviour.users import present_user
from octavo.server.including import dereferenced
from octavo.server.store import Json
from octavo.server.world import World


@dataclass(frozen=True)
class Threads:
    """The comments of one place, for one caller."""

    world: World
    at: Discussion
    _said: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)
    """What the blocks of pages say, by the id of the page, what names its text, and the key of the block."""

    @property
    def path(self) -> str:
        """The collection they are filed in."""
        place = f"/spaces/{self.at.space_id}"
        if isinstance(self.at, ChangeRequestRef):
            place += f"/change-requests/{self.at.change_request_id}"
        return f"{place}/comments"

    @cached_property
    def role(self) -> str | None:
        """The role of the caller."""
        return role(self.world, self.world.store.get(f"/spaces/{self.at.space_id}"))

    @cached_property
    def revision(self) -> Json:
        """The revision the content of the place stands at."""
        return revisions.at(self.world, self.at)

    @cached_property
    def pages(self) -> dict[str, Json]:
        """The pages of the place by id."""
        return {each["id"]: each for each in page_trees.walk(self.revision["pages"])}

    @cached_property
    def base(self) -> Json | None:
        """The revision a change request started from: what it removes is spoken of too."""
        if not isinstance(self.at, ChangeRequestRef):
            return None
        base = base_of(self.world.store.get(path_of(self.at)))
        return self.world.store.find(f"/spaces/{self.at.space_id}/revisions/{base}")

    def comment(self, document: Json, format: Format | None = None) -> Json:
        """A comment as the caller sees it."""
        path = f"{self.path}/{document['id']}"
        shown = self._message("comment", path, document, format)
        shown["replies"] = self.world.store.count(f"{path}/replies")
        shown["target"] = self._target(document["target"])
        if document.get("resolvedBy"):
            shown["resolvedBy"] = present_user(self.world, document["resolvedBy"])
        return shown

    def reply(self, comment_id: str, document: Json, format: Format | None = None) -> Json:
        """A reply as the caller sees it."""
        return self._message("comment-reply", f"{self.path}/{comment_id}/replies/{document['id']}", document, format)

    def may_edit(self, document: Json) -> bool:
        """Whether the caller may change what a comment or reply says: their own, while they may comment."""
        return bool(document["postedBy"] == self.world.caller) and allows(self.role, "comment")

    def may_delete(self, document: Json) -> bool:
        """Whether the caller may delete a comment or reply: their own, and administrators any."""
        return bool(document["postedBy"] == self.world.caller) or allows(self.role, "admin")

    def may_resolve(self, document: Json) -> bool:
        """Whether the caller may resolve and reopen a thread: their own, and those who may edit any."""
        return self.may_edit(document) or allows(self.role, "edit")

    def _message(self, kind: str, path: str, document: Json, format: Format | None) -> Json:
        return {
            "object": kind,
            **document,
            "body": content_body(document["body"]["markdown"], format),
            "postedBy": present_user(self.world, document["postedBy"]),
            "reactions": [self._reaction(each) for each in document.get("reactions", ())],
            "urls": {"location": self.world.url(f"/v1{path}")},
            "permissions": {
                "view": True,
                "edit": self.may_edit(document),
                "reply": allows(self.role, "comment"),
                "delete": self.may_delete(document),
            },
        }

    def _reaction(self, reaction: Json) -> Json:
        users = [{**each, "user": present_user(self.world, each["user"])} for each in reaction["users"]]
        return {"emoji": reaction["emoji"], "count": len(users), "users": users}

    def _target(self, target: Json) -> Json:
        shown: Json = {**target, "space": self.at.space_id}
        if isinstance(self.at, ChangeRequestRef):
            shown["changeRequest"] = self.at.change_request_id
        if page_id := target.get("page"):
            shown["page"] = self._page(page_id, target)
        return shown

    def _page(self, page_id: str, target: Json) -> Json:
        page, node = self.pages.get(page_id), target.get("node", {}).get("id")
        outdated = page is None or (node is not None and self.says(page, node) is None)
        if outdated and self.base is not None and not self.has(self._then(target), page_id, node):
            outdated = not self.has(self.base, page_id, node)  # it was made on what the change request removes
        if page is None:
            places = filter(None, (self._then(target), self.base))
            found = (page_trees.find(place["pages"], page_id) for place in places)
            page = next(filter(None, found), None) or {"id": page_id, "title": "Deleted page", "path": ""}
        names = ("id", "title", "path", "emoji", "icon", "createdAt", "updatedAt")
        return {**{name: page[name] for name in names if page.get(name) is not None}, "outdated": outdated}

    def _then(self, target: Json) -> Json | None:
        """The revision a comment was made on."""
        return self.world.store.find(f"/spaces/{self.at.space_id}/revisions/{target['revision']}")

    def has(self, revision: Json | None, page_id: str, node: str | None) -> bool:
        """Whether a revision has a page, and in it a block if one is named."""
        page = page_trees.find(revision["pages"], page_id) if revision is not None else None
        return page is not None and (node is None or self.says(page, node, revision) is not None)

    def said(self, page_id: str, node: str) -> str | None:
        """What a block says, or said before the change request removed it."""
        for revision in (self.revision, self.base):
            page = page_trees.find(revision["pages"], page_id) if revision is not None else None
            if page is not None and (said := self.says(page, node, revision)) is not None:
                return said
        return None

    def says(self, page: Json, node: str, revision: Json | None = None) -> str | None:
        """What a block of a page says, also one of what the page includes. None when it has no such block."""
        name = page["id"], page.get("text", "")
        if name not in self._said:
            text = self.world.store.text(page["text"]) if page.get("text") else ""
            whole = dereferenced(self.world.store, text, page, revision or self.revision)
            self._said[name] = _blocks(text) if whole is text else {**_blocks(whole), **_blocks(text)}
        return self._said[name].get(node)


@lru_cache(maxsize=256)
def _blocks(text: str) -> dict[str, str]:
    """What each block of a text says, by the key of the block."""
    # Parsing brings markdown-it with it: only comments on blocks have use for that.
    from octavo.documents.parse import parse

    found: dict[str, Any] = {}
    for block in parse(text).walk():
        found.setdefault(block.key, block)
    return {key: block.plain() for key, block in found.items()}
