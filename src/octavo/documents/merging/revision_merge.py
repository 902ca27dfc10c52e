"""Merges revisions: the page tree, and the texts and fields of pages, files, reusable content and variables.

The embedded server merges with `merge_revisions`. `predict_merge` runs it before a merge is sent, and stores nothing.
So a prediction is exact for the embedded server. Other servers may merge differently: for them, a predicted conflict
means that both sides changed the same content.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, TypeAlias

from octavo.api.content import Change, Revision
from octavo.documents import page_trees
from octavo.documents.merging import page_merge
from octavo.documents.merging.merged_page import MAIN_LABEL, with_markers
from octavo.documents.page_trees import Json, Pages, changes_between, leading_heading, revision_content
from octavo.documents.sequences import unmoved_items


@dataclass(frozen=True)
class TreeVersion:
    """One version of a page tree, with its pages and the IDs of their parents, by page ID."""

    pages: Pages
    nodes: dict[str, Json]
    parents: dict[str, str | None]

    @classmethod
    def of(cls, pages: Pages) -> TreeVersion:
        return cls(pages, {page["id"]: page for page in page_trees.walk(pages)}, page_trees.parent_ids(pages))

    def children(self, page_ids: Container[str]) -> dict[str | None, list[str]]:
        """Return the IDs of the pages in `page_ids` by parent, in order. The parent is the nearest ancestor in
        `page_ids`, or None if there is no such ancestor."""
        child_ids: defaultdict[str | None, list[str]] = defaultdict(list)

        def visit(pages: Pages, parent_id: str | None) -> None:
            for page in pages:
                if page["id"] in page_ids:
                    child_ids[parent_id].append(page["id"])
                visit(page.get("pages", []), page["id"] if page["id"] in page_ids else parent_id)

        visit(self.pages, None)
        return child_ids


_Conflicts: TypeAlias = list[tuple[str, str]]


@dataclass
class PageOrder:
    """A page tree as the IDs of the child pages of each page, in order. The key None is for the root."""

    children: dict[str | None, list[str]] = field(default_factory=dict)
    conflicts: _Conflicts = field(default_factory=list)
    """Conflicts as pairs: the kind (deleted, moved or order), and the ID of the page."""


def merge_page_order(
    base: TreeVersion, main: TreeVersion, proposed: TreeVersion, *, is_edited: Callable[[Json, Json], bool]
) -> PageOrder:
    """Merge three versions of a page tree. A page that one side deleted, and the other side edited or moved, is kept
    and recorded as a conflict. `is_edited` returns whether two versions of a page differ."""
    result_order = PageOrder()
    side_by_page_id = _pages_to_keep(base, main, proposed, is_edited, result_order.conflicts)
    parents = _merged_parents(base, main, proposed, side_by_page_id, result_order.conflicts)
    _break_cycles(main, side_by_page_id, parents, result_order.conflicts)
    child_ids_by_side = [side.children(side_by_page_id) for side in (base, main, proposed)]
    page_ids_by_parent: defaultdict[str | None, set[str]] = defaultdict(set)
    for page_id, parent_id in parents.items():
        page_ids_by_parent[parent_id].add(page_id)
    for parent_id, page_ids in page_ids_by_parent.items():
        base_children, main_children, proposed_children = (
            [each for each in order[parent_id] if each in page_ids] for order in child_ids_by_side
        )
        children = _merge_order(base_children, main_children, proposed_children, result_order.conflicts)
        result_order.children[parent_id] = children
    return result_order


def _pages_to_keep(
    base: TreeVersion,
    main: TreeVersion,
    proposed: TreeVersion,
    is_edited: Callable[[Json, Json], bool],
    conflicts: _Conflicts,
) -> dict[str, TreeVersion]:
    side_by_page_id: dict[str, TreeVersion] = {}
    for page_id in [*main.nodes, *(node for node in proposed.nodes if node not in main.nodes)]:
        in_main, in_proposed = page_id in main.nodes, page_id in proposed.nodes
        side = main if in_main else proposed
        if page_id in base.nodes and not (in_main and in_proposed):
            is_changed = side.parents[page_id] != base.parents[page_id] or is_edited(
                base.nodes[page_id], side.nodes[page_id]
            )
            if not is_changed:
                continue
            conflicts.append(("deleted", page_id))
        side_by_page_id[page_id] = side
    return side_by_page_id


def _merged_parents(
    base: TreeVersion,
    main: TreeVersion,
    proposed: TreeVersion,
    side_by_page_id: dict[str, TreeVersion],
    conflicts: _Conflicts,
) -> dict[str, str | None]:
    """Return the parent ID after the merge, by page ID. Set the deciding side of a page that only `proposed` moved. Add
    pages that both sides moved, and pages whose parent was deleted, to `conflicts`."""
    parents: dict[str, str | None] = {}
    for page_id in side_by_page_id:
        if page_id in main.nodes and page_id in proposed.nodes and main.parents[page_id] != proposed.parents[page_id]:
            base_parent_id = base.parents.get(page_id, page_id)
            if base_parent_id == main.parents[page_id]:
                side_by_page_id[page_id] = proposed
            elif base_parent_id != proposed.parents[page_id]:
                conflicts.append(("moved", page_id))
        side = side_by_page_id[page_id]
        parent_id = side.parents[page_id]
        if parent_id is not None and parent_id not in side_by_page_id and ("deleted", page_id) not in conflicts:
            conflicts.append(("deleted", page_id))
        parents[page_id] = _nearest_kept(side, parent_id, side_by_page_id)
    return parents


def _nearest_kept(side: TreeVersion, page_id: str | None, side_by_page_id: dict[str, TreeVersion]) -> str | None:
    while page_id is not None and page_id not in side_by_page_id:
        page_id = side.parents[page_id]
    return page_id


def _break_cycles(
    main: TreeVersion, side_by_page_id: dict[str, TreeVersion], parents: dict[str, str | None], conflicts: _Conflicts
) -> None:
    """In each cycle in `parents`, move a page below its nearest undeleted ancestor on main, and record a conflict."""
    acyclic_ids: set[str] = set()
    for start in parents:
        path_ids: list[str] = []
        page_id: str | None = start
        while page_id is not None and page_id not in acyclic_ids:
            if page_id in path_ids:
                cycle_ids = path_ids[path_ids.index(page_id) :]
                moved_id = next(each for each in cycle_ids if each in main.nodes and side_by_page_id[each] is not main)
                side_by_page_id[moved_id] = main
                parents[moved_id] = _nearest_kept(main, main.parents[moved_id], side_by_page_id)
                conflicts.append(("moved", moved_id))
                path_ids, page_id = [], start
                continue
            path_ids.append(page_id)
            page_id = parents[page_id]
        acyclic_ids.update(path_ids)


def _merge_order(base: list[str], main: list[str], proposed: list[str], conflicts: _Conflicts) -> list[str]:
    """Return the IDs in `main`, with the additions and moves of `proposed`. Add pages moved by both to `conflicts`."""
    if main == proposed or not proposed:
        return main
    common_ids = set(base) & set(main) & set(proposed)
    base_order, main_order, proposed_order = (
        [page_id for page_id in each if page_id in common_ids] for each in (base, main, proposed)
    )
    moved_ids: set[str] = set()
    if main_order != proposed_order:
        moved_in_request = common_ids - unmoved_items(base_order, proposed_order)
        moved_on_main = common_ids - unmoved_items(base_order, main_order)
        moved_ids = moved_in_request - moved_on_main
        conflicts += [("order", page_id) for page_id in proposed_order if page_id in moved_in_request & moved_on_main]
    added_ids_on_main = set(main) - set(base) - set(proposed)
    merged_ids = [page_id for page_id in main if page_id not in moved_ids]
    placed_ids = set(main) - moved_ids
    last_id: str | None = None
    for page_id in proposed:
        if page_id not in placed_ids:
            index = merged_ids.index(last_id) + 1 if last_id is not None else 0
            while index < len(merged_ids) and merged_ids[index] in added_ids_on_main:
                index += 1
            merged_ids.insert(index, page_id)
        last_id = page_id
    return merged_ids


_OTHER_FIELDS = {"id", "type", "pages", "path", "text", "git", "createdAt", "updatedAt"}
_ABSENT: Any = object()


@dataclass(frozen=True)
class RevisionConflict:
    """A conflict in a merge of revisions. `kind` is text, field, deleted, moved, order or variable."""

    kind: str
    id: str
    """The ID of the page, file or reusable content, or the name of the variable."""


@dataclass(frozen=True)
class WordMerge:
    """A paragraph, quote or item that both sides changed, merged word by word. The user should check it."""

    page: str
    text: str


@dataclass(frozen=True)
class RevisionMerge:
    """The result of a merge of revisions."""

    content: Json
    """The merged revision. The slugs and paths of its pages must still be assigned."""
    conflicts: tuple[RevisionConflict, ...]
    word_merges: tuple[WordMerge, ...] = ()


def merge_revisions(
    base: Json,
    main: Json,
    proposed: Json,
    request_label: str,
    read_text: Callable[[str], str] = str,
    store_text: Callable[[str], str] = str,
) -> RevisionMerge:
    """Merge three revisions in the form of `page_trees.revision_content`. `request_label` names the change request in
    conflict markers. `read_text` returns a text for its key, and `store_text` the key for a text."""
    merger = _RevisionMerger(request_label, read_text, store_text)
    sides = [TreeVersion.of(each["pages"]) for each in (base, main, proposed)]
    result_order = merge_page_order(*sides, is_edited=_is_edited)
    merger.conflicts += [RevisionConflict(kind, page) for kind, page in result_order.conflicts]
    content = {
        "pages": merger.pages(result_order, *(side.nodes for side in sides)),
        "files": merger.items(*(each["files"] for each in (base, main, proposed))),
        "reusableContents": merger.items(*(each["reusableContents"] for each in (base, main, proposed))),
        "variables": merger.fields("variable", "", *(each["variables"] for each in (base, main, proposed)))[0],
    }
    return RevisionMerge(content, tuple(dict.fromkeys(merger.conflicts)), tuple(merger.word_merges))


def _is_edited(before: Json, after: Json) -> bool:
    ignored_fields = _OTHER_FIELDS - {"text"}
    return _without_fields(before, ignored_fields) != _without_fields(after, ignored_fields)


def _without_fields(node: Json, ignored_fields: Iterable[str]) -> Json:
    # A flag that is False is the same as no flag.
    return {name: value for name, value in node.items() if name not in ignored_fields and value is not False}


class _RevisionMerger:
    def __init__(self, request_label: str, read_text: Callable[[str], str], store_text: Callable[[str], str]) -> None:
        self._request_label = request_label
        self._read_text, self._store_text = read_text, store_text
        self.conflicts: list[RevisionConflict] = []
        self.word_merges: list[WordMerge] = []

    def pages(
        self, result_order: PageOrder, base: dict[str, Json], main: dict[str, Json], proposed: dict[str, Json]
    ) -> Pages:
        def pages_below(parent_id: str | None) -> Pages:
            result = []
            for page_id in result_order.children.get(parent_id, ()):
                page = self._node(page_id, base.get(page_id), main.get(page_id), proposed.get(page_id))
                if page["type"] in ("document", "group"):
                    page["pages"] = pages_below(page_id)
                result.append(page)
            return result

        return pages_below(None)

    def _node(self, node_id: str, base: Json | None, main: Json | None, proposed: Json | None) -> Json:
        if main is None or proposed is None:
            return _without_fields(main or proposed or {}, {"pages"})
        if base is None:
            base = {}
        ignored_fields = _OTHER_FIELDS
        values, conflicting_fields = self.fields(
            "field", node_id, *(_without_fields(each, ignored_fields) for each in (base, main, proposed))
        )
        kept_from_main: Json = {each: main[each] for each in ("id", "type", "createdAt", "path") if each in main}
        merged_fields = {**kept_from_main, **values}
        # Only loading a folder changes `git`, the path of a page's file. If `proposed` changed it, that path is newer.
        if git := (main if proposed.get("git") == base.get("git") else proposed).get("git"):
            merged_fields["git"] = git
        timestamps = [each["updatedAt"] for each in (main, proposed) if "updatedAt" in each]
        if timestamps:
            merged_fields["updatedAt"] = max(timestamps)
        if key := self._merge_text(node_id, base, main, proposed, conflicting_fields):
            merged_fields["text"] = key
        return merged_fields

    def _merge_text(self, node_id: str, base: Json, main: Json, proposed: Json, conflicting_fields: Json) -> str | None:
        """Merge the text of a page, record its conflicts, and return the key of the stored text. None if the text is
        empty. The text begins with the fields in `conflicting_fields`, between conflict markers."""
        base_key, main_key, proposed_key = (each.get("text") for each in (base, main, proposed))
        if not conflicting_fields or main.get("type") != "document":
            conflicting_fields = {}
            if main_key == proposed_key or proposed_key == base_key:
                return main_key
            if main_key == base_key:
                return proposed_key
        base_text, main_text, proposed_text = (
            self._read_text(each) if each else "" for each in (base_key, main_key, proposed_key)
        )
        merged_page = page_merge.merge(base_text, main_text, proposed_text)
        if merged_page.conflicts:
            self.conflicts.append(RevisionConflict("text", node_id))
        merged_conflicts = (each for _, each in merged_page.named_conflicts if each.is_merged_by_default)
        self.word_merges += [WordMerge(node_id, each.merged_text or "") for each in merged_conflicts]
        if _has_title_heading(main, main_text) and _has_title_heading(proposed, proposed_text):
            conflicting_fields.pop("title", None)  # The headings in the text already show both titles.
        merged_text = self._with_fields(merged_page.text(request=self._request_label), conflicting_fields)
        return self._store_text(merged_text) if merged_text else None

    def _with_fields(self, markdown: str, conflicting_fields: Json) -> str:
        if not conflicting_fields:
            return markdown
        main_fields, proposed_fields = (
            "\n\n".join(f"{name}: {_value_text(pair[side])}" for name, pair in conflicting_fields.items())
            for side in (0, 1)
        )
        block = with_markers(main_fields, proposed_fields, MAIN_LABEL, self._request_label) + "\n"
        return f"{block}\n{markdown}" if markdown else block

    def fields(self, kind: str, owner_id: str, base: Json, main: Json, proposed: Json) -> tuple[Json, Json]:
        """Return the merged fields of the page or file `owner_id`, or of the variables if `owner_id` is empty. Also
        return the pairs of values in conflict, by name, and record these conflicts."""
        merged_fields, conflicting_fields = {}, {}
        for name in [*main, *(each for each in proposed if each not in main)]:
            base_value, main_value, proposed_value = (each.get(name, _ABSENT) for each in (base, main, proposed))
            value = proposed_value if main_value == base_value else main_value
            if main_value not in (proposed_value, base_value) and proposed_value != base_value:
                self.conflicts.append(RevisionConflict(kind, owner_id or name))
                conflicting_fields[name] = (main_value, proposed_value)
            if value is not _ABSENT:
                merged_fields[name] = value
        return merged_fields, conflicting_fields

    def items(self, base: list[Json], main: list[Json], proposed: list[Json]) -> list[Json]:
        """Return merged files or reusable content, and add to `conflicts`. Items that are not in main come last."""
        base_items, main_items, proposed_items = (
            {item["id"]: item for item in items} for items in (base, main, proposed)
        )
        result = []
        for item_id in [*main_items, *(item_id for item_id in proposed_items if item_id not in main_items)]:
            in_base, in_main, in_proposed = (each.get(item_id) for each in (base_items, main_items, proposed_items))
            if in_base is not None and (in_main is None or in_proposed is None):
                if (in_main or in_proposed) == in_base:
                    continue
                self.conflicts.append(RevisionConflict("deleted", item_id))
            result.append(self._node(item_id, in_base, in_main, in_proposed))
        return result


def _has_title_heading(page: Json, markdown: str) -> bool:
    return leading_heading(markdown) == page.get("title")


def _value_text(value: Any) -> str:
    if value is _ABSENT:
        return ""
    return " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


RevisionTriple: TypeAlias = tuple[Revision, Revision, Revision]
"""The common base, main and the change request, in this order."""


@dataclass(frozen=True)
class PredictedConflict:
    """A conflict of a merge, with its `RevisionConflict.kind`, or a text merged word by word, with the kind `words`."""

    kind: str
    id: str
    name: str
    """The title of the page or reusable content, or the name of the file or variable."""
    text: str = ""
    """The merged text, for the kind `words`. Empty for a conflict."""


@dataclass(frozen=True)
class MergePrediction:
    """The expected result of a merge, without merging."""

    conflicts: tuple[PredictedConflict, ...]
    word_merges: tuple[PredictedConflict, ...]
    """Texts that would be merged word by word, because each side changed different words."""
    pages: Pages
    is_on_main: bool
    """True if main already has all changes of the change request, so that the merge would change nothing."""


def pages_to_read(revisions: RevisionTriple, changed_pages: Collection[str] | None) -> list[str]:
    """Return the IDs of the pages whose texts a prediction needs. A page that lacks a document ID in a version is
    included only if `changed_pages` has the ID of the page or is None."""
    base, main, request = ({page.id: page for page in revision.walk()} for revision in revisions)
    page_ids = []
    for page_id in dict.fromkeys([*request, *main]):
        sides = [side[page_id] for side in (base, main, request) if page_id in side]
        if len(sides) < 2 or any(page.type != "document" for page in sides):
            continue
        documents = [page.document_id for page in sides]
        are_known = all(document is not None for document in documents)
        are_same = [one == other and one is not None for one, other in combinations(documents, 2)]
        is_on_both = page_id in main and page_id in request
        is_settled = any(are_same) if is_on_both else are_known
        if not is_settled and (are_known or changed_pages is None or page_id in changed_pages):
            page_ids.append(page_id)
    return page_ids


def predict_merge(revisions: RevisionTriple, texts: Mapping[str, tuple[str, str, str]]) -> MergePrediction:
    """Predict a merge. `texts` has the texts in base, main and change request, for each page of `pages_to_read`."""
    base, main, request = (
        revision_content(each, "text", {name: versions[n] for name, versions in texts.items()})
        for n, each in enumerate(revisions)
    )
    outcome = merge_revisions(base, main, request, "")
    name_of = {item_id: name for each in revisions for item_id, name in _ids_and_names(each)}
    conflicts = [PredictedConflict(each.kind, each.id, name_of.get(each.id) or each.id) for each in outcome.conflicts]
    word_merges = [
        PredictedConflict("words", each.page, name_of.get(each.page) or "", each.text) for each in outcome.word_merges
    ]
    is_on_main = not conflicts and outcome.content == main
    return MergePrediction(tuple(conflicts), tuple(word_merges), outcome.content["pages"], is_on_main)


def has_all_changes(
    changes: Iterable[Change], revisions: RevisionTriple, texts: Mapping[str, tuple[str, str, str]]
) -> bool:
    """Return whether the revisions and texts have all `changes` of the server. If not, `is_on_main` may be wrong."""
    base, _, request = revisions
    shown_keys = {_change_key(change) for change in changes_between(base, request)}
    shown_keys |= {("page_edited", page) for page, (before, _, after) in texts.items() if before != after}
    # Ignore page moves. The revisions always show them, but servers may list other pages as moved.
    return all(change.type == "page_moved" or _change_key(change) in shown_keys for change in changes)


def _change_key(change: Change) -> tuple[str, str]:
    item = change.reusable_content
    changed_item = change.page or change.file
    return change.type, changed_item.id if changed_item else str(item.get("id", "")) if isinstance(item, dict) else ""


def _ids_and_names(revision: Revision) -> Iterator[tuple[str, str]]:
    yield from ((page.id, page.title or "Untitled") for page in revision.walk())
    yield from ((file.id, file.name) for file in revision.files)
    yield from ((item.id, item.title) for item in revision.reusable_contents)
