"""Which pages there are after a merge, and where each of them stands."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from octavo.documents import page_trees
from octavo.documents.merging import page_merge
from octavo.documents.merging.merged_page import MAIN_LABEL, with_markers
from octavo.documents.page_trees import Json, Pages, leading_heading
from octavo.documents.sequences import unmoved_items


@dataclass(frozen=True)
class TreeVersion:
    """A page tree, by id."""

    pages: Pages
    nodes: dict[str, Json]
    parents: dict[str, str | None]

    @classmethod
    def of(cls, pages: Pages) -> TreeVersion:
        return cls(pages, {page["id"]: page for page in page_trees.walk(pages)}, page_trees.parents(pages))

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


_OTHER_FIELDS = {"id", "type", "pages", "path", "text", "createdAt", "updatedAt"}
_ABSENT: Any = object()


class Texts(Protocol):
    """Where texts are kept under their hashes."""

    def text(self, name: str, /) -> str: ...

    def put_blob(self, body: str, /) -> str: ...


@dataclass(frozen=True)
class RevisionConflict:
    """What the two sides disagree on: `kind` is text, field, deleted, moved, order or variable."""

    kind: str
    id: str
    """The page, file or reusable content; the name of the variable."""


@dataclass(frozen=True)
class SuggestedParagraph:
    """A paragraph that was merged by words: both sides changed different words of it."""

    page: str
    text: str


@dataclass(frozen=True)
class RevisionMerge:
    """What came of a merge."""

    held: Json
    """What the merged revision holds, by name. Slugs and paths of its pages are not settled yet."""
    conflicts: tuple[RevisionConflict, ...]
    suggestions: tuple[SuggestedParagraph, ...] = ()


def merge_revisions(base: Json, main: Json, proposed: Json, name: str, texts: Texts) -> RevisionMerge:
    """The revision `main` with what `proposed` changed since `base`. `name` is the change request's, such as `#42`."""
    merging = _RevisionMerger(name, texts)
    sides = [TreeVersion.of(each["pages"]) for each in (base, main, proposed)]
    arranged = merge_page_order(*sides, edited=_is_edited)
    merging.conflicts += [RevisionConflict(kind, page) for kind, page in arranged.conflicts]
    held = {
        "pages": merging.pages(arranged, *(side.nodes for side in sides)),
        "files": merging.items(*(each["files"] for each in (base, main, proposed))),
        "reusableContents": merging.items(*(each["reusableContents"] for each in (base, main, proposed))),
        "variables": merging.fields("variable", "", *(each["variables"] for each in (base, main, proposed)))[0],
    }
    return RevisionMerge(held, tuple(dict.fromkeys(merging.conflicts)), tuple(merging.suggestions))


def has_same_content(one: Json, other: Json) -> bool:
    """Return whether two revisions hold the same. Pages without `pages` have no pages below them."""
    return bool(
        {**one, "pages": _with_page_lists(one["pages"])} == {**other, "pages": _with_page_lists(other["pages"])}
    )


def _with_page_lists(pages: Pages) -> Pages:
    return [{**page, "pages": _with_page_lists(page.get("pages", []))} for page in pages]


def _is_edited(before: Json, after: Json) -> bool:
    ignored = _OTHER_FIELDS - {"text"}
    return _without(before, ignored) != _without(after, ignored)


def _without(node: Json, ignored: Iterable[str]) -> Json:
    return {name: value for name, value in node.items() if name not in ignored}


class _RevisionMerger:
    def __init__(self, name: str, texts: Texts) -> None:
        self._name = name
        self._texts = texts
        self.conflicts: list[RevisionConflict] = []
        self.suggestions: list[SuggestedParagraph] = []

    def pages(
        self, arranged: PageOrder, base: dict[str, Json], main: dict[str, Json], proposed: dict[str, Json]
    ) -> Pages:
        def below(parent: str | None) -> Pages:
            result = []
            for page_id in arranged.children.get(parent, ()):
                page = self._node(page_id, base.get(page_id), main.get(page_id), proposed.get(page_id))
                if page["type"] in ("document", "group"):
                    page["pages"] = below(page_id)
                result.append(page)
            return result

        return below(None)

    def _node(self, node_id: str, base: Json | None, main: Json | None, proposed: Json | None) -> Json:
        """One page or item of those that have it."""
        if main is None or proposed is None:
            return _without(main or proposed or {}, {"pages"})
        if base is None:
            base = {}
        ignored = _OTHER_FIELDS
        values, lost = self.fields("field", node_id, *(_without(each, ignored) for each in (base, main, proposed)))
        same: Json = {each: main[each] for each in ("id", "type", "createdAt", "path") if each in main}
        merged = {**same, **values}
        stamps = [each["updatedAt"] for each in (main, proposed) if "updatedAt" in each]
        if stamps:
            merged["updatedAt"] = max(stamps)
        if name := self._text(node_id, base, main, proposed, lost):
            merged["text"] = name
        return merged

    def _text(self, node_id: str, base: Json, main: Json, proposed: Json, lost: Json) -> str | None:
        """The hash of the merged text, with the values that were not taken at its top."""
        before, ours, theirs = (each.get("text") for each in (base, main, proposed))
        if not lost or main.get("type") != "document":
            lost = {}
            if ours == theirs or theirs == before:
                return ours
            if ours == before:
                return theirs
        old, here, there = (self._texts.text(each) if each else "" for each in (before, ours, theirs))
        merged = page_merge.merge(old, here, there)
        if merged.conflicts:
            self.conflicts.append(RevisionConflict("text", node_id))
        by_words = (each for _, each in merged.named if each.is_suggested)
        self.suggestions += [SuggestedParagraph(node_id, each.merged_text or "") for each in by_words]
        if _has_title_heading(main, here) and _has_title_heading(proposed, there):
            lost.pop("title", None)  # The headings are in conflict then, so the text says both titles already.
        whole = self._with_fields(merged.text(request=self._name), lost)
        return self._texts.put_blob(whole) if whole else None

    def _with_fields(self, markdown: str, lost: Json) -> str:
        if not lost:
            return markdown
        ours, theirs = ("\n\n".join(f"{name}: {_shown(both[side])}" for name, both in lost.items()) for side in (0, 1))
        block = with_markers(ours, theirs, MAIN_LABEL, self._name) + "\n"
        return f"{block}\n{markdown}" if markdown else block

    def fields(self, kind: str, owner: str, base: Json, main: Json, proposed: Json) -> tuple[Json, Json]:
        """The fields of three objects merged, and (main, proposed) of those where both differ."""
        merged, lost = {}, {}
        for name in [*main, *(each for each in proposed if each not in main)]:
            before, ours, theirs = (each.get(name, _ABSENT) for each in (base, main, proposed))
            value = theirs if ours == before else ours
            if ours not in (theirs, before) and theirs != before:
                self.conflicts.append(RevisionConflict(kind, owner or name))
                lost[name] = (ours, theirs)
            if value is not _ABSENT:
                merged[name] = value
        return merged, lost

    def items(self, base: list[Json], main: list[Json], proposed: list[Json]) -> list[Json]:
        """Files or reusable contents merged, in the order of the primary content, new ones after it."""
        old, ours, theirs = ({each["id"]: each for each in items} for items in (base, main, proposed))
        result = []
        for item_id in [*ours, *(each for each in theirs if each not in ours)]:
            before, here, there = (each.get(item_id) for each in (old, ours, theirs))
            if before is not None and (here is None or there is None):
                if (here or there) == before:
                    continue
                self.conflicts.append(RevisionConflict("deleted", item_id))
            result.append(self._node(item_id, before, here, there))
        return result


def _has_title_heading(page: Json, markdown: str) -> bool:
    return leading_heading(markdown) == page.get("title")


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return ""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
