"""Survey of the links in a revision: their targets, their locations and the broken ones."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from octavo.documents import anchors, links, trees
from octavo.documents.parse import parse
from octavo.documents.usages import Usage, usages
from octavo.server.handlers import revisions
from octavo.server.handlers.permissions import can_see_collection, role
from octavo.server.includes import find_reusable
from octavo.server.store import Json
from octavo.server.world import World

ID_PATTERN = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_:@.+-]{0,127}")
"""Valid form of an ID."""
_CACHE_LIMIT = 5000
_INCLUDE_LIMIT = 100
"""Number of pieces of reusable content in a page that are searched for a heading."""
_CACHE: dict[str, TextLinks] = {}
"""Links by hash of the text. A text never changes, and parsing it is slow."""


@dataclass(frozen=True)
class TextLinks:
    """Links and includes of a text, with the anchors of its headings."""

    usages: tuple[Usage, ...] = ()
    anchors: tuple[str, ...] = ()


@dataclass(frozen=True)
class LinkTarget:
    """Target of a link. `name` identifies it among the resources of its kind."""

    status: str
    kind: str
    name: str
    space: str = ""
    """Space of a page or file."""
    anchor: str = ""


@dataclass(frozen=True)
class LinkPlace:
    """Location of a link. Without `block`, the link is in the page tree: a link page, or the cover of a page."""

    page: str
    block: str = ""


@dataclass
class LinkedResource:
    """Target of links, with the locations of these links."""

    target: LinkTarget
    relation: str
    spots: list[LinkPlace] = field(default_factory=list)

    @property
    def key(self) -> tuple[str, ...]:
        """Sort key that puts broken links first."""
        rank = {"broken": "0", "in-app": "1"}.get(self.target.status, "2")
        return rank, self.target.kind, self.target.space, self.target.name, self.target.anchor, self.relation


class LinkSurvey:
    """Links of a revision as visible to the caller. Targets that the caller cannot see count as broken."""

    def __init__(self, world: World, revision: Json) -> None:
        self._world = world
        self._revision = revision
        self._space = world.store.get(f"/spaces/{revision['space']}")
        self.pages = {page["id"]: page for page in trees.walk(revision["pages"])}
        self._places = trees.places_of(revision)

    def found(self, page_id: str | None = None) -> list[LinkedResource]:
        """Return the targets linked from all pages, or from one page."""
        by_key: dict[tuple[LinkTarget, str], LinkedResource] = {}
        for page in self.pages.values() if page_id is None else [self.pages[page_id]]:
            for relation, target, spot in self._of_page(page):
                by_key.setdefault((target, relation), LinkedResource(target, relation)).spots.append(spot)
        return sorted(by_key.values(), key=lambda each: each.key)

    def leading_to(self, kind: str, name: str) -> list[LinkPlace]:
        """Return the locations of links to a page or file of this space, in the order of the page tree."""
        spots = [
            spot
            for page in self.pages.values()
            for _, target, spot in self._of_page(page)
            if (target.kind, target.name, target.space) == (kind, name, self._space["id"])
        ]
        return list(dict.fromkeys(spots))

    def broken(self) -> set[tuple[str, str]]:
        """Return the broken links as pairs of page ID and URL."""
        found = self.found()
        return {
            (spot.page, each.target.name) for each in found if each.target.status == "broken" for spot in each.spots
        }

    def _of_page(self, page: Json) -> Iterator[tuple[str, LinkTarget, LinkPlace]]:
        if page["type"] == "link" and isinstance(page.get("target"), dict):
            yield "reference", self._referred(page["target"], page), LinkPlace(page["id"])
        cover = page.get("cover") or {}
        for reference in (cover.get("ref"), cover.get("refDark")):
            if isinstance(reference, dict):
                yield "reference", self._referred(reference, page), LinkPlace(page["id"])
        for usage in text_links(self._world, page).usages:
            relation = "reference" if usage.kind == "address" else "dependsOn"
            yield relation, self._led(usage, page), LinkPlace(page["id"], usage.block)

    def _led(self, usage: Usage, page: Json) -> LinkTarget:
        if usage.kind == "spec":
            return self._spec(usage.says)
        if usage.kind == "include":
            return self._reusable(usage.says, page)
        return self._addressed(usage.says, page)

    def _addressed(self, href: str, page: Json) -> LinkTarget:
        """Return the target of a URL. URLs of the app count as paths within the app."""
        origin = f"{self._world.origin}/o/"
        in_app = href.startswith((origin, *(f"https://{host}/" for host in links.APP_HOSTS)))
        there = href.removeprefix(self._world.origin) if in_app else href
        status = "in-app" if in_app else "ok"
        match links.resolve(there, trees.link_base(page), self._places):
            case links.ToPage(page=name, anchor=anchor):
                target = self._page(self._space["id"], name, anchor or "", status)
            case links.ToAnchor(anchor=anchor):
                target = self._page(self._space["id"], page["id"], anchor, status)
            case links.ToFile(file=name):
                target = LinkTarget(status, "file", name, self._space["id"])
            case links.ToSpace(space=name, page=wanted, anchor=anchor):
                target = self._elsewhere(name, wanted, anchor or "", status)
            case links.ToChangeRequest(space=name, number=number):
                numbered = self._world.store.find_by(f"/spaces/{name}/change-requests", "number", number)
                target = self._elsewhere(name, None, "", status) if numbered else None
            case links.ToCollection(collection=name):
                target = self._collection(name, status)
            case links.ToUser(user=name):
                target = LinkTarget(status, "user", name) if self._known("users", name) else None
            case links.Broken():
                target = None
            case _:
                target = LinkTarget("ok", "url", href)
        return target or LinkTarget("broken", "url", href)

    def _referred(self, reference: Json, page: Json) -> LinkTarget:
        """Return the target of a reference in the page tree, such as a link page."""
        kind, here = reference.get("kind"), self._space["id"]
        name = str(reference.get(_ID_FIELDS.get(str(kind), "")) or "")
        space = str(reference.get("space") or here)
        target: LinkTarget | None
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
                target = LinkTarget("ok", "file", name, here) if known else None
            case "space":
                target = self._elsewhere(name, None, "", "ok")
            case "collection":
                target = self._collection(name, "ok")
            case "user":
                target = LinkTarget("ok", "user", name) if self._known("users", name) else None
            case _:
                known = any(each["id"] == name for each in self._revision["reusableContents"])
                target = LinkTarget("ok", "reusable-content", name, here) if known else None
        return target or LinkTarget("broken", "url", f"/{'page' if kind == 'anchor' else kind}s/{name}")

    def _page(self, space: str, name: str, anchor: str, status: str) -> LinkTarget | None:
        page = self.pages.get(name)
        if page is None or not has_anchor(self._world, self._revision, page, anchor):
            return None
        return LinkTarget(status, "page", name, space, anchor)

    def _elsewhere(self, space: str, wanted: str | None, anchor: str, status: str) -> LinkTarget | None:
        """Return another space, or a page in it by path or ID, as a target. None if the caller cannot see it."""
        document = self._known("spaces", space)
        if document is None or document.get("deletedAt") or role(self._world, document) is None:
            return None
        if not wanted:
            return LinkTarget(status, "space", space)
        revision = revisions.get_current(self._world, space)
        found = trees.at_path(revision["pages"], wanted) or trees.find(revision["pages"], wanted)
        if found is None or not has_anchor(self._world, revision, found, anchor):
            return None
        return LinkTarget(status, "page", found["id"], space, anchor)

    def _collection(self, name: str, status: str) -> LinkTarget | None:
        collection = self._known("collections", name)
        seen = collection is not None and can_see_collection(self._world, collection)
        return LinkTarget(status, "collection", name) if seen else None

    def _spec(self, slug: str) -> LinkTarget:
        known = self._known(f"orgs/{self._space['organization']}/openapi", slug)
        return LinkTarget("ok", "openapi", slug) if known else LinkTarget("broken", "url", slug)

    def _known(self, collection: str, name: str) -> Json | None:
        """Return a document by ID, None if it does not exist.

        Pages can contain arbitrary names, so names that are not valid IDs are not looked up as paths.
        """
        return self._world.store.find(f"/{collection}/{name}") if ID_PATTERN.fullmatch(name) else None

    def _reusable(self, says: str, page: Json) -> LinkTarget:
        item = find_reusable(self._revision, says, posixpath.dirname(trees.place_of(page)))
        return (
            LinkTarget("ok", "reusable-content", item["id"], self._space["id"])
            if item
            else LinkTarget("broken", "url", says)
        )


_ID_FIELDS = {
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
"""Name of the ID field for each kind of reference."""


def has_anchor(world: World, revision: Json, page: Json, anchor: str) -> bool:
    """Return whether `anchor` exists in a page or in the reusable content that the page includes."""
    if not anchor or page["type"] != "document":
        return True
    found, left, known = list(text_links(world, page).anchors), [page], set[str]()
    while left and len(known) < _INCLUDE_LIMIT:
        part = left.pop()
        folder = posixpath.dirname(trees.place_of(part))
        for usage in text_links(world, part).usages:
            item = find_reusable(revision, usage.says, folder) if usage.kind == "include" else None
            if item is not None and item["id"] not in known:
                known.add(item["id"])
                left.append(item)
                found += text_links(world, item).anchors
    return anchors.match(anchor, found) is not None


def text_links(world: World, page: Json) -> TextLinks:
    """Return the links of a page or a piece of reusable content."""
    name = page.get("text")
    if not name:
        return TextLinks()
    known = _CACHE.get(name)
    if known is None:
        document = parse(world.store.text(name))
        known = TextLinks(tuple(usages(document)), tuple(heading.anchor for heading in document.headings))
        if len(_CACHE) >= _CACHE_LIMIT:
            _CACHE.clear()
        _CACHE[name] = known
    return known
