"""Pages beside others of the same title or address: of two pages with one address the later one gets another."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from octavo.api.content import Page
from octavo.api.folding import fold
from octavo.documents import trees
from octavo.documents.trees import Json, Pages


@dataclass(frozen=True)
class DuplicatePage:
    """A page beside another of the same title or address, which it was not beside before."""

    id: str
    titles: tuple[str, str]
    """The titles of the other page and of this one."""
    paths: tuple[str, str]
    """The paths that both get."""
    is_other_in_main: bool


def find_duplicates(main: Iterable[Page], after: Iterable[Page] | Pages) -> list[DuplicatePage]:
    """Return the pages of `after` that are beside others of the same name, and are not in `main`."""
    held, before = _nodes(after), _nodes(main)
    stood = {page["id"]: (page["title"], _wanted_slug(page)) for page in trees.walk(before)}
    parents = trees.parents(before)
    paths = {page["id"]: page.get("path", "") for page in trees.walk(trees.with_paths(held))}
    found = []
    for siblings in [held, *(page.get("pages", []) for page in trees.walk(held))]:
        named = [page for page in siblings if page["type"] in ("document", "group")]
        for number, page in enumerate(named):
            other = next((each for each in named[:number] if _are_duplicates(each, page)), None)
            if other is None:
                continue
            pair = (other["id"], page["id"])
            is_old = all(stood.get(each["id"]) == (each["title"], _wanted_slug(each)) for each in (other, page))
            if not is_old or parents[pair[0]] != parents[pair[1]]:
                titles, at = (other["title"], page["title"]), (f"/{paths[pair[0]]}", f"/{paths[pair[1]]}")
                found.append(DuplicatePage(page["id"], titles, at, other["id"] in stood))
    return found


def _wanted_slug(page: Json) -> str:
    return str(page.get("slug") or trees.page_slug(page["title"]))


def _are_duplicates(one: Json, other: Json) -> bool:
    return _wanted_slug(one) == _wanted_slug(other) or fold(one["title"]).strip() == fold(other["title"]).strip()


def _nodes(pages: Iterable[Page] | Pages) -> Pages:
    """Return a page tree as nodes, each page once, whatever the server says."""
    seen: set[str] = set()

    def below(siblings: Iterable[Page | Json]) -> Pages:
        found = []
        for page in siblings:
            node = page if isinstance(page, dict) else {**vars(page), "title": page.title or ""}
            if node["id"] not in seen:
                seen.add(node["id"])
                kept = {name: node[name] for name in ("id", "type", "title", "slug") if node.get(name) is not None}
                found.append({**kept, "pages": below(node.get("pages") or ())})
        return found

    return below(pages)
