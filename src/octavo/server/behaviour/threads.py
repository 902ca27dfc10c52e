"""How comments and replies are shown: who wrote them, what they hang on, and what the caller may do with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

from octavo.api.bodies import Format
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.documents import trees
from octavo.server.behaviour import revisions
from octavo.server.behaviour.permissions import allows, role
from octavo.server.behaviour.users import present_user
from octavo.server.bodies import body
from octavo.server.references import dereferenced
from octavo.server.store import Json
from octavo.server.world import World


@dataclass(frozen=True)
class Threads:
    """The comments of one place, for one caller."""

    world: World
    at: Discussion
    _said: dict[str, dict[str, str]] = field(default_factory=dict)
    """What the blocks of pages say, by the id of the page and the key of the block."""

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
        return {each["id"]: each for each in trees.walk(self.revision["pages"])}

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
            "body": body(document["body"]["markdown"], format),
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
        page = self.pages.get(page_id)
        outdated = page is None or ("node" in target and self.says(page, target["node"]["id"]) is None)
        if page is None:
            then = self.world.store.find(f"/spaces/{self.at.space_id}/revisions/{target['revision']}")
            page = (then and trees.find(then["pages"], page_id)) or {"id": page_id, "title": "Deleted page", "path": ""}
        names = ("id", "title", "path", "emoji", "icon", "createdAt", "updatedAt")
        return {**{name: page[name] for name in names if page.get(name) is not None}, "outdated": outdated}

    def says(self, page: Json, node: str) -> str | None:
        """What a block of a page says, also one of what the page includes. None when it has no such block."""
        if page["id"] not in self._said:
            text = self.world.store.text(page["text"]) if page.get("text") else ""
            whole = dereferenced(self.world.store, text, page, self.revision)
            self._said[page["id"]] = _blocks(text) if whole is text else {**_blocks(whole), **_blocks(text)}
        return self._said[page["id"]].get(node)


@lru_cache(maxsize=256)
def _blocks(text: str) -> dict[str, str]:
    """What each block of a text says, by the key of the block."""
    # Parsing brings markdown-it with it: only comments on blocks have use for that.
    from octavo.documents.parse import parse

    found: dict[str, Any] = {}
    for block in parse(text).walk():
        found.setdefault(block.key, block)
    return {key: block.plain() for key, block in found.items()}
