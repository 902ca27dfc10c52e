"""What the pages of a revision link to, and where that leads."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from octavo.documents import anchors, links, page_trees
from octavo.documents.links import PageReference, references_in
from octavo.documents.parse import parse
from octavo.server.behaviour import revisions
from octavo.server.behaviour.permissions import role, sees_collection
from octavo.server.including import reusable
from octavo.server.store import Json
from octavo.server.world import World

NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_:@.+-]{0,127}")
"""What can be an id."""
_MOST_KNOWN = 5000
_MOST_INCLUDED = 100
"""Pieces of reusable content of one page in which a heading is looked for."""
_KNOWN: dict[str, Said] = {}
"""What texts speak of, by the hash that names them: texts never change, and reading one takes long."""


@dataclass(frozen=True)
class Said:
    """What a text speaks of, and the anchors of its headings."""

    usages: tuple[PageReference, ...] = ()
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Target:
    """Where a link leads. `name` is what identifies it among the things of its kind."""

    status: str
    kind: str
    name: str
    space: str = ""
    """The space a page or file is in."""
    anchor: str = ""


@dataclass(frozen=True)
class Spot:
    """Where a link stands. Without a block: in the tree itself, as a link page or the cover of a page."""

    page: str
    block: str = ""


@dataclass
class Found:
    """One thing that is linked to, and where it is."""

    target: Target
    relation: str
    spots: list[Spot] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, ...]:
        """What orders things linked to: the broken ones first."""
        rank = {"broken": "0", "in-app": "1"}.get(self.target.status, "2")
        return rank, self.target.kind, self.target.space, self.target.name, self.target.anchor, self.relation


class Survey:
    """The links of a revision as the caller sees them: what they may not see is not there."""

    def __init__(self, world: World, revision: Json) -> None:
        self._world = world
        self._revision = revision
        self._space = world.store.get(f"/spaces/{revision['space']}")
        self.pages = {page["id"]: page for page in page_trees.walk(revision["pages"])}
        self._places = page_trees.link_targets_of(revision)

    def found(self, page_id: str | None = None) -> list[Found]:
        """What the pages link to, or one of them."""
        by_key: dict[tuple[Target, str], Found] = {}
        for page in self.pages.values() if page_id is None else [self.pages[page_id]]:
            for relation, target, spot in self._of_page(page):
                by_key.setdefault((target, relation), Found(target, relation)).spots.append(spot)
        return sorted(by_key.values(), key=lambda each: each.key)

    def leading_to(self, kind: str, name: str) -> list[Spot]:
        """Where the pages link to a page or file of this space, in the order of the tree."""
        spots = [
            spot
            for page in self.pages.values()
            for _, target, spot in self._of_page(page)
            if (target.kind, target.name, target.space) == (kind, name, self._space["id"])
        ]
        return list(dict.fromkeys(spots))

    def broken(self) -> set[tuple[str, str]]:
        """What is broken, by the page it stands on and what it says."""
        found = self.found()
        return {
            (spot.page, each.target.name) for each in found if each.target.status == "broken" for spot in each.spots
        }

    def _of_page(self, page: Json) -> Iterator[tuple[str, Target, Spot]]:
        if page["type"] == "link" and isinstance(page.get("target"), dict):
            yield "reference", self._referred(page["target"], page), Spot(page["id"])
        cover = page.get("cover") or {}
        for reference in (cover.get("ref"), cover.get("refDark")):
            if isinstance(reference, dict):
                yield "reference", self._referred(reference, page), Spot(page["id"])
        for usage in said(self._world, page).usages:
            relation = "reference" if usage.kind == "address" else "dependsOn"
            yield relation, self._led(usage, page), Spot(page["id"], usage.block)

    def _led(self, usage: PageReference, page: Json) -> Target:
        if usage.kind == "spec":
            return self._spec(usage.says)
        if usage.kind == "include":
            return self._reusable(usage.says, page)
        return self._addressed(usage.says, page)

    def _addressed(self, href: str, page: Json) -> Target:
        """Where an address leads. Addresses of the app are read as the paths that follow its origin."""
        origin = f"{self._world.origin}/o/"
        in_app = href.startswith((origin, *(f"https://{host}/" for host in links.APP_HOSTS)))
        there = href.removeprefix(self._world.origin) if in_app else href
        status = "in-app" if in_app else "ok"
        match links.resolve(there, page_trees.link_base(page), self._places):
            case links.ToPage(page=name, anchor=anchor):
                target = self._page(self._space["id"], name, anchor or "", status)
            case links.ToAnchor(anchor=anchor):
                target = self._page(self._space["id"], page["id"], anchor, status)
            case links.ToFile(file=name):
                target = Target(status, "file", name, self._space["id"])
            case links.ToSpace(space=name, page=wanted, anchor=anchor):
                target = self._elsewhere(name, wanted, anchor or "", status)
            case links.ToChangeRequest(space=name, number=number):
                numbered = self._world.store.first(f"/spaces/{name}/change-requests", "number", number)
                target = self._elsewhere(name, None, "", status) if numbered else None
            case links.ToCollection(collection=name):
                target = self._collection(name, status)
            case links.ToUser(user=name):
                target = Target(status, "user", name) if self._known("users", name) else None
            case links.BrokenLink():
                target = None
            case _:
                target = Target("ok", "url", href)
        return target or Target("broken", "url", href)

    def _referred(self, reference: Json, page: Json) -> Target:
        """Where a reference of the tree leads (4.26)."""
        kind, here = reference.get("kind"), self._space["id"]
        name = str(reference.get(_NAMED.get(str(kind), "")) or "")
        space = str(reference.get("space") or here)
        target: Target | None
        match kind:
            case "url":
                return self._addressed(name, page)
            case "openapi":
                return self._spec(name)
            case "page" | "anchor":
                name = str(reference.get("page") or page["id"])
                anchor = str(reference.get("anchor") or "")
                target = (
                    self._page(here, name, anchor, "ok")
                    if space == here
                    else self._elsewhere(space, name, anchor, "ok")
                )
            case "file":
                known = any(each["id"] == name for each in self._revision["files"])
                target = Target("ok", "file", name, here) if known else None
            case "space":
                target = self._elsewhere(name, None, "", "ok")
            case "collection":
                target = self._collection(name, "ok")
            case "user":
                target = Target("ok", "user", name) if self._known("users", name) else None
            case _:
                known = any(each["id"] == name for each in self._revision["reusableContents"])
                target = Target("ok", "reusable-content", name, here) if known else None
        return target or Target("broken", "url", f"/{'page' if kind == 'anchor' else kind}s/{name}")

    def _page(self, space: str, name: str, anchor: str, status: str) -> Target | None:
        page = self.pages.get(name)
        if page is None or not has_anchor(self._world, self._revision, page, anchor):
            return None
        return Target(status, "page", name, space, anchor)

    def _elsewhere(self, space: str, wanted: str | None, anchor: str, status: str) -> Target | None:
        """Another space, or a page of it by path or id."""
        document = self._known("spaces", space)
        if document is None or document.get("deletedAt") or role(self._world, document) is None:
            return None
        if not wanted:
            return Target(status, "space", space)
        revision = revisions.current(self._world, space)
        found = page_trees.find_by_path(revision["pages"], wanted) or page_trees.find(revision["pages"], wanted)
        if found is None or not has_anchor(self._world, revision, found, anchor):
            return None
        return Target(status, "page", found["id"], space, anchor)

    def _collection(self, name: str, status: str) -> Target | None:
        collection = self._known("collections", name)
        seen = collection is not None and sees_collection(self._world, collection)
        return Target(status, "collection", name) if seen else None

    def _spec(self, slug: str) -> Target:
        known = self._known(f"orgs/{self._space['organization']}/openapi", slug)
        return Target("ok", "openapi", slug) if known else Target("broken", "url", slug)

    def _known(self, collection: str, name: str) -> Json | None:
        """A document by its id. Pages may name anything: what is no id could name what is filed below a document."""
        return self._world.store.find(f"/{collection}/{name}") if NAME.fullmatch(name) else None

    def _reusable(self, says: str, page: Json) -> Target:
        item = reusable(self._revision, says, posixpath.dirname(page_trees.source_path(page)))
        return (
            Target("ok", "reusable-content", item["id"], self._space["id"]) if item else Target("broken", "url", says)
        )


_NAMED = {
    "url": "url",
    "file": "file",
    "page": "page",
    "anchor": "anchor",
    "user": "user",
    "collection": "collection",
    "space": "space",
    "reusable-content": "reusableContent",
    "openapi": "spec",
}
"""The field that names what a reference of each kind leads to."""


def has_anchor(world: World, revision: Json, page: Json, anchor: str) -> bool:
    """Whether a link to `anchor` leads to a heading of a page, or of reusable content that the page includes."""
    if not anchor or page["type"] != "document":
        return True
    found, left, known = list(said(world, page).anchors), [page], set[str]()
    while left and len(known) < _MOST_INCLUDED:
        part = left.pop()
        folder = posixpath.dirname(page_trees.source_path(part))
        for usage in said(world, part).usages:
            item = reusable(revision, usage.says, folder) if usage.kind == "include" else None
            if item is not None and item["id"] not in known:
                known.add(item["id"])
                left.append(item)
                found += said(world, item).anchors
    return anchors.match_anchor(anchor, found) is not None


def said(world: World, page: Json) -> Said:
    """What a page, or reusable content, speaks of."""
    name = page.get("text")
    if not name:
        return Said()
    known = _KNOWN.get(name)
    if known is None:
        document = parse(world.store.text(name))
        known = Said(tuple(references_in(document)), tuple(heading.anchor for heading in document.headings))
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[name] = known
    return known
