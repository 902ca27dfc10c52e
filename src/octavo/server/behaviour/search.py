"""Full-text search over the primary content of spaces.

A page is found by its sections: what comes before its first heading, which goes by the title of the page, and what
follows each heading. What people type is never read as a query language: its words are looked for, all of them,
the last one as a beginning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from urllib.parse import quote

from octavo.api import search
from octavo.api.folding import fold
from octavo.api.searchable import SIGNED, apart, mentions, part_starts, together, whole_mention, with_titles
from octavo.documents import links, page_trees
from octavo.server.behaviour.arranging import visible_spaces
from octavo.server.including import dereferenced
from octavo.server.rest import handle, page
from octavo.server.sections import sections
from octavo.server.store import Found, Json
from octavo.server.world import World

SECTION_LIMIT = 1000
"""At most this many sections are looked at, the best first."""
SECTIONS_OF_PAGE = 5
PAGES_OF_SPACE = 20
"""At most this many are shown of each."""

AT_ONCE = 20
"""Pages that are indexed between two answers."""
SHOWN = 200
"""Characters of a section that are shown where only parts of its words were found."""

_WORD = re.compile(rf"\w+(?:{SIGNED})?")


def reindex(world: World, space_id: str, old: Json | None, new: Json) -> None:
    """Let search find what `new` says in place of what `old` said. Looks only at pages that differ, or include something
    when that does."""
    for _ in _reindexed(world, space_id, old, new):
        pass


def reindex_later(world: World, space_id: str, old: Json | None) -> None:
    """Note that search shall find what the content of a space says in place of what `old` said: `reindex_rest` does it."""
    path = f"/spaces/{space_id}/unindexed"
    if world.store.find(path) is None:
        world.store.put(path, {"id": "unindexed", "since": old["id"] if old is not None else ""})


def reindex_rest(world: World, space_id: str, told: Callable[[int, int], bool]) -> None:
    """Do what `reindex_later` noted, some pages at a time, so that others are answered between them.

    `told` hears how many pages are done, of how many, and says whether to go on.
    """
    path = f"/spaces/{space_id}/unindexed"
    while (record := world.store.find(path)) is not None:
        space = world.store.get(f"/spaces/{space_id}")
        old, new = (
            world.store.find(f"/spaces/{space_id}/revisions/{each}") for each in (record["since"], space["revision"])
        )
        assert new is not None, "a space with content must have a revision"
        pages = _reindexed(world, space_id, old, new)
        count, done = len(_indexed(new)), 0
        is_over = False
        while not is_over:
            with world.store.transaction():
                if world.store.get(f"/spaces/{space_id}")["revision"] != new["id"]:
                    break  # what was merged meanwhile was indexed with that: begin again with the rest
                done += len(list(islice(pages, AT_ONCE)))
                if is_over := next(pages, None) is None:
                    world.store.delete(path)
                done += not is_over
            if not told(min(done, count), count):
                return


def _reindexed(world: World, space_id: str, old: Json | None, new: Json) -> Iterator[str]:
    """Index one page after the other, and yield its id."""
    before, after = _indexed(old), _indexed(new)
    includes_differ = old is None or old["reusableContents"] != new["reusableContents"]
    pages = {page["id"]: page for page in page_trees.walk(new["pages"])}
    for page_id in before.keys() - after.keys():
        world.store.unindex(space_id, page_id)
    for page_id, says in after.items():
        if (differs := before.get(page_id) != says) or includes_differ:
            name, title, description = says
            text = world.store.text(name) if name else ""
            if not differs and "include" not in text:
                continue
            whole = dereferenced(world.store, text, pages[page_id], new)
            found = sections(whole, title, description)
            world.store.index(space_id, page_id, [(anchor, apart(head), apart(body)) for anchor, head, body in found])
            yield page_id


@handle.register
def _in_space(op: search.InSpace, world: World) -> Json:
    space = world.store.get(f"/spaces/{op.at.space_id}")
    hits = _pages(world, space, _found(world, [space["id"]], op.query), op.query)
    return page(op, enumerate(hits))


@handle.register
def _in_organization(op: search.InOrganization, world: World) -> Json:
    return across(op, world, {space["id"]: space for _, space in visible_spaces(world, op.at.organization_id)})


def across(op: search.InOrganization | search.InSite, world: World, spaces: dict[str, Json]) -> Json:
    """The pages of several spaces that are found, the space with the best first."""
    by_space: dict[str, list[Found]] = {}
    for found in _found(world, list(spaces), op.query):
        by_space.setdefault(found.space, []).append(found)
    return page(op, enumerate(by_space.items()), lambda pair: _space_hit(world, spaces[pair[0]], pair[1], op.query))


def _found(world: World, spaces: list[str], typed: str) -> list[Found]:
    words = [apart(word) for word in _words(typed)]
    if not words or not spaces:
        return []
    query = " AND ".join(f'"{word}"' for word in words) + "*"
    return world.store.search(spaces, query, SECTION_LIMIT)


def _words(typed: str) -> list[str]:
    return _WORD.findall(fold(typed))


def _space_hit(world: World, space: Json, found: Iterable[Found], typed: str) -> Json:
    pages = _pages(world, space, found, typed)[:PAGES_OF_SPACE]
    return {"id": space["id"], "title": space["title"], "pages": pages}


def _pages(world: World, space: Json, found: Iterable[Found], typed: str) -> list[Json]:
    """The pages of a space that were found, in the order of their best sections."""
    revision = world.store.get(f"/spaces/{space['id']}/revisions/{space['revision']}")
    tree = {each["id"]: each for each in page_trees.walk(revision["pages"])}
    places: links.LinkTargets | None = None
    app = world.url(f"/o/{space['organization']}/s/{space['id']}")
    hits: dict[str, Json] = {}
    for section in found:
        document = tree[section.page]
        url = f"{app}/{quote(document['path'])}"
        start = {"id": document["id"], "title": document["title"], "path": document["path"], "sections": []}
        hit = hits.setdefault(section.page, {**start, "urls": {"app": url}})
        shown = {each["id"] for each in hit["sections"]}
        if len(shown) < SECTIONS_OF_PAGE and section.anchor not in shown:
            at = f"#{section.anchor}" if section.anchor else ""
            body = _parts_found(world, section, typed) if section.unmarked else together(section.snippet)
            if next(mentions(body), None):
                places = places or page_trees.link_targets_of(revision)
                body, _ = with_titles(body, partial(_title, tree, places, document))
            words = {"title": together(section.title), "body": body}
            path = document["path"] + at
            hit["sections"].append(
                {"id": section.anchor, "path": path, **words, "urls": {"app": url + quote(at, safe="#")}}
            )
    return list(hits.values())


def _parts_found(world: World, section: Found, typed: str) -> str:
    """The words around the first part of a word that was found, of a section that has no word as it was typed."""
    body, words = together(world.store.body(section.unmarked)), _words(typed)
    found = (at for at in part_starts(body) if any(fold(body[at : at + len(word)]) == word for word in words))
    start = max(0, next(found, 0) - SHOWN // 3)
    start = body.find(" ", start) + 1 if start else 0
    end = whole_mention(body, start + SHOWN)
    return f"{'…' if start else ''}{body[start:end]}{'…' if end < len(body) else ''}"


def _title(tree: dict[str, Json], places: links.LinkTargets, page: Json, address: str) -> str | None:
    """How the page is called that a mention on `page` leads to. None if it is not in this space."""
    target = links.resolve(address, page_trees.link_base(page), places)
    return str(tree[target.page]["title"]) if isinstance(target, links.ToPage) else None


def _indexed(revision: Json | None) -> dict[str, tuple[str, str, str]]:
    """What search knows of each page: the hash of its text, its title and its description."""
    pages = page_trees.walk(revision["pages"]) if revision else ()
    return {
        each["id"]: (each.get("text", ""), each["title"], each.get("description") or "")
        for each in pages
        if each["type"] == "document"
    }
