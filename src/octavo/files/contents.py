"""Compares and merges tables of contents. Their entries have the IDs of pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from octavo.documents import page_trees
from octavo.documents.folders.folder import Entry, walk_entries
from octavo.documents.merging.revision_merge import PageOrder, TreeVersion, merge_page_order
from octavo.documents.page_trees import Json, Pages, parents
from octavo.documents.sequences import unmoved_items

NEW = "new:"
"""Start of the ID of a page that is not in the space yet. The rest is its path."""
Entries = list[Entry]


def identify(entries: Entries, ids: Mapping[str, str], known: Iterable[Entry]) -> None:
    """Set the ID of each entry. A page gets the ID that `ids` has for its path, else `NEW` and its path. A group or
    link gets the ID of the matching entry in `known`."""
    others: dict[str, list[Entry]] = {"group": [], "link": []}
    for entry in walk_entries(list(known)):
        if entry.kind in others:
            others[entry.kind].append(entry)
    every = list(walk_entries(entries))
    for number, entry in enumerate(every):
        if entry.kind == "document":
            path = entry.path.as_posix() if entry.path is not None else ""
            entry.id = ids.get(path) or (f"{NEW}{path}" if path else f"text:{number}:{entry.title}")
        else:
            entry.id = ""
    for same in (_title_and_address, lambda entry: entry.title, lambda entry: entry.address):
        for entry in every:
            if entry.kind in others and not entry.id:
                _take(entry, others[entry.kind], same)
    # If a group is missing and a group with another title is in its place, the group was renamed.
    unknown = [entry for entry in every if entry.kind == "group" and not entry.id]
    if len(unknown) == len(others["group"]):
        for entry, before in zip(unknown, others["group"], strict=True):
            entry.id = before.id
    for number, entry in enumerate(every):
        entry.id = entry.id or f"{entry.kind}:{number}:{entry.title}"


def _title_and_address(entry: Entry) -> object:
    return entry.title, entry.address


def _take(entry: Entry, others: list[Entry], same: Callable[[Entry], object]) -> None:
    found = next((each for each in others if same(each) and same(each) == same(entry)), None)
    if found is not None:
        entry.id = found.id
        others.remove(found)


def flatten(entries: Iterable[Entry], depth: int = 0) -> Iterator[tuple[Any, ...]]:
    """Yield a tuple for each entry, with everything that `SUMMARY.md` contains about the entry. Two tables of contents
    are equal if their tuples are equal."""
    for entry in entries:
        slug = entry.slug if entry.slug != page_trees.page_slug(entry.title) else ""
        address = unquote(entry.address).strip("<>")
        yield depth, entry.kind, entry.id, entry.title, entry.path, address, entry.link_title, slug
        yield from flatten(entry.children, depth + 1)


def structure(entries: Iterable[Entry]) -> list[tuple[Any, ...]]:
    """Return the depth, kind, ID and URL of each entry, and the titles of groups. Titles of pages are left out, because
    the files of the pages contain them too."""
    return [
        (depth, kind, name, title if kind == "group" else "", address)
        for depth, kind, name, title, _, address, *_ in flatten(entries)
    ]


def without(entries: Iterable[Entry], ids: Collection[str]) -> Entries:
    """Return a table of contents without some entries. Their children stay in their place."""
    result: Entries = []
    for entry in entries:
        children = without(entry.children, ids)
        result += children if entry.id in ids else [replace(entry, children=children)]
    return result


def with_missing(entries: Entries, known: Entries, missing: Collection[str]) -> Entries:
    """Return `entries` with the entries added whose IDs are in `missing`. The added entries, and their places, come
    from `known`."""
    pages, sources = nodes(entries), {entry.id: entry for entry in walk_entries(known)}
    sources |= {entry.id: entry for entry in walk_entries(entries)}
    known_pages = nodes(known)
    above = page_trees.parents(known_pages)
    for name in above:
        present = page_trees.parents(pages)
        if name not in missing or name in present:
            continue
        parent = above[name] if above[name] in present else None
        siblings = [each for each, over in above.items() if over == above[name]]
        there = [each for each, over in present.items() if over == parent]
        before = [each for each in siblings[: siblings.index(name)] if each in there]
        place = there.index(before[-1]) + 1 if before else 0
        node = {"id": name, "type": sources[name].kind, "pages": []}
        pages = page_trees.insert_page(pages, node, parent, place)
    return _entries_of(pages, sources)


def nodes(entries: Iterable[Entry]) -> Pages:
    """Return a table of contents as a page tree."""
    return [
        {"id": entry.id, "type": entry.kind, "title": entry.title, "pages": nodes(entry.children)} for entry in entries
    ]


def merge_contents(base: Entries, local: Entries, server: Entries, *, edited: Collection[str]) -> Entries:
    """Return `local` with the changes of `server` since `base`. A page of `edited` that one side deleted is kept."""
    sides = [TreeVersion.of(nodes(each)) for each in (base, local, server)]
    order = merge_page_order(*sides, edited=lambda before, after: after["id"] in edited)
    by_id = [{entry.id: entry for entry in walk_entries(each)} for each in (base, local, server)]

    def build(parent: str | None) -> Entries:
        return [
            replace(_merge_entry(*(each.get(name) for each in by_id)), children=build(name))
            for name in order.children.get(parent, ())
        ]

    return build(None)


def _merge_entry(base: Entry | None, local: Entry | None, server: Entry | None) -> Entry:
    """Return an entry with the changes of both sides. If both changed a field, `local` decides."""
    if local is None or server is None:
        found = local or server
        assert found is not None, "a merged entry is in one of the versions"
        return found
    changed: Json = {}
    for name in ("title", "address", "link_title", "slug"):
        before = getattr(base, name) if base is not None else getattr(local, name)
        if getattr(local, name) == before:
            changed[name] = getattr(server, name)
    return replace(local, **changed)


def _entries_of(pages: Pages, sources: Mapping[str, Entry]) -> Entries:
    return [replace(sources[page["id"]], children=_entries_of(page["pages"], sources)) for page in pages]


@dataclass(frozen=True)
class TreeStep:
    """An insertion or a move of a page. `parent` is the ID of the new parent, None for the root. `at` is the index
    among the children of the parent."""

    id: str
    parent: str | None
    at: int
    is_new: bool = False


def tree_steps(pages: Pages, order: PageOrder, new: Collection[str]) -> Iterator[TreeStep]:
    """Yield the insertions and moves that turn a page tree into `order`. The step of a parent comes before the steps of
    its children. Pages that are not in `order` are not moved."""
    children: dict[str | None, list[str]] = {None: []}
    above = parents(pages)
    for name, parent in above.items():
        children.setdefault(name, [])
        children.setdefault(parent, []).append(name)
    waiting: list[str | None] = [None]
    while waiting:
        parent = waiting.pop(0)
        wanted = order.children.get(parent, [])
        siblings = children.setdefault(parent, [])
        present = set(wanted)
        stays = unmoved_items([each for each in siblings if each in present], wanted)
        before: str | None = None
        for name in wanted:
            if name not in stays:
                if name in above:
                    children[above[name]].remove(name)
                at = siblings.index(before) + 1 if before is not None else 0
                siblings.insert(at, name)
                above[name] = parent
                yield TreeStep(name, parent, at, name in new)
            before = name
        waiting += wanted


def deleted_pages(pages: Pages, order: PageOrder, kept: Collection[str]) -> list[str]:
    """Return the pages of a tree that are neither in `order` nor in `kept`. Pages below another deleted page are left
    out."""
    above = parents(pages)
    wanted = {name for names in order.children.values() for name in names} | set(kept)
    gone = [name for name in above if name not in wanted]
    return [name for name in gone if above[name] not in gone]
