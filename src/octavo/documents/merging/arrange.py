"""Which pages there are after a merge, and where each of them stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from octavo.documents import trees
from octavo.documents.sequences import unmoved_items
from octavo.documents.trees import Json, Pages


@dataclass(frozen=True)
class TreeVersion:
    """A page tree, by id."""

    pages: Pages
    nodes: dict[str, Json]
    parents: dict[str, str | None]

    @classmethod
    def of(cls, pages: Pages) -> TreeVersion:
        return cls(pages, {page["id"]: page for page in trees.walk(pages)}, trees.parents(pages))

    def children(self, kept: dict[str, TreeVersion]) -> dict[str | None, list[str]]:
        """The pages below each page, those of a page that is not `kept` in its place."""
        result: defaultdict[str | None, list[str]] = defaultdict(list)

        def visit(pages: Pages, above: str | None) -> None:
            for page in pages:
                if page["id"] in kept:
                    result[above].append(page["id"])
                visit(page.get("pages", []), page["id"] if page["id"] in kept else above)

        visit(self.pages, None)
        return result


@dataclass
class PageOrder:
    """The ids below each page (None: the root), in order."""

    children: dict[str | None, list[str]] = field(default_factory=dict)
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    """(kind, page id) of what the two sides disagree on: deleted, moved or order."""


def merge_page_order(
    base: TreeVersion, main: TreeVersion, proposed: TreeVersion, *, edited: Callable[[Json, Json], bool]
) -> PageOrder:
    """The tree `main` with what `proposed` did to its shape since `base`."""
    arranged = PageOrder()
    decides = _pages_to_keep(base, main, proposed, edited, arranged)
    above = _parents_of(base, main, proposed, decides, arranged)
    _break_cycles(main, decides, above, arranged)
    orders = [side.children(decides) for side in (base, main, proposed)]
    members: defaultdict[str | None, set[str]] = defaultdict(set)
    for page, parent in above.items():
        members[parent].add(page)
    for parent, pages in members.items():
        before, ours, theirs = ([each for each in order[parent] if each in pages] for order in orders)
        arranged.children[parent] = _merge_order(before, ours, theirs, arranged)
    return arranged


def _pages_to_keep(
    base: TreeVersion,
    main: TreeVersion,
    proposed: TreeVersion,
    edited: Callable[[Json, Json], bool],
    arranged: PageOrder,
) -> dict[str, TreeVersion]:
    """The pages that stay, each with the side that says where. Both sides have those of `main` by default."""
    result: dict[str, TreeVersion] = {}
    for page in [*main.nodes, *(each for each in proposed.nodes if each not in main.nodes)]:
        here, there = page in main.nodes, page in proposed.nodes
        side = main if here else proposed
        if page in base.nodes and not (here and there):
            touched = side.parents[page] != base.parents[page] or edited(base.nodes[page], side.nodes[page])
            if not touched:
                continue
            arranged.conflicts.append(("deleted", page))
        result[page] = side
    return result


def _parents_of(
    base: TreeVersion, main: TreeVersion, proposed: TreeVersion, decides: dict[str, TreeVersion], arranged: PageOrder
) -> dict[str, str | None]:
    """The page above each page that stays: the nearest that stays too."""
    above: dict[str, str | None] = {}
    for page in decides:
        if page in main.nodes and page in proposed.nodes and main.parents[page] != proposed.parents[page]:
            before = base.parents.get(page, page)
            if before == main.parents[page]:
                decides[page] = proposed
            elif before != proposed.parents[page]:
                arranged.conflicts.append(("moved", page))
        side = decides[page]
        parent = side.parents[page]
        if parent is not None and parent not in decides and ("deleted", page) not in arranged.conflicts:
            arranged.conflicts.append(("deleted", page))
        above[page] = _nearest_kept(side, parent, decides)
    return above


def _nearest_kept(side: TreeVersion, page: str | None, decides: dict[str, TreeVersion]) -> str | None:
    while page is not None and page not in decides:
        page = side.parents[page]
    return page


def _break_cycles(
    main: TreeVersion, decides: dict[str, TreeVersion], above: dict[str, str | None], arranged: PageOrder
) -> None:
    """Put pages that would stand below themselves where the primary content has them.

    In every cycle there is such a page that the change request moved: each tree by itself has none.
    """
    safe: set[str] = set()
    for start in above:
        path: list[str] = []
        at: str | None = start
        while at is not None and at not in safe:
            if at in path:
                cycle = path[path.index(at) :]
                moved = next(page for page in cycle if page in main.nodes and decides[page] is not main)
                decides[moved] = main
                above[moved] = _nearest_kept(main, main.parents[moved], decides)
                arranged.conflicts.append(("moved", moved))
                path, at = [], start
                continue
            path.append(at)
            at = above[at]
        safe.update(path)


def _merge_order(before: list[str], ours: list[str], theirs: list[str], arranged: PageOrder) -> list[str]:
    """`ours` with what `theirs` added and moved since `before`."""
    if ours == theirs or not theirs:
        return ours
    everywhere = set(before) & set(ours) & set(theirs)
    old, here, there = ([page for page in each if page in everywhere] for each in (before, ours, theirs))
    moved: set[str] = set()
    if here != there:
        moved_there = everywhere - unmoved_items(old, there)
        moved_here = everywhere - unmoved_items(old, here)
        moved = moved_there - moved_here
        arranged.conflicts += [("order", page) for page in there if page in moved_there & moved_here]
    added = set(ours) - set(before) - set(theirs)
    result = [page for page in ours if page not in moved]
    standing = set(ours) - moved
    last: str | None = None
    for page in theirs:
        if page not in standing:
            place = result.index(last) + 1 if last is not None else 0
            while place < len(result) and result[place] in added:
                place += 1
            result.insert(place, page)
        last = page
    return result
