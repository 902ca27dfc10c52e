"""Entries for the pages and files that a change request changes, and the tree of these entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from textual.content import Content

from octavo.api.comments import Comment
from octavo.api.content import Change, Page, PageReference
from octavo.data.unsent_index import UnsentText
from octavo.documents.diff_model import AttributeChange, ChangeSize
from octavo.tui.core.tree_rows import open_thread_counts
from octavo.tui.core.unsent_texts import unsent_mark
from octavo.tui.review.merge_checks import title_of
from octavo.tui.widgets.tree import TreeNode

WHOLE = "whole"
"""Key of the entry for the comments on the change request as a whole."""
SIGN_STYLES = {"+": "$success", "−": "$error", "→": "$warning", "~": "$primary"}
_HIDDEN_ATTRIBUTES = frozenset({"document", "cover", "layout", "variables", "target"})
"""Changed attributes of a page without a value that fits in one line."""
_NAMES = {"noIndex": "hidden from search", "noRobotsIndex": "hidden from search engines", "slug": "slug"}


@dataclass(frozen=True)
class ChangedPage:
    """Changes to a page, a file, reusable content or variables. `changes` is empty for an unchanged page and for the
    entry with the key WHOLE."""

    key: str
    title: str
    changes: tuple[Change, ...] = ()
    page: PageReference | None = None

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """Return what happens to the page or file: any of created, deleted, moved, renamed and edited."""
        found: list[str] = []
        for change in self.changes:
            kind = change.type.rpartition("_")[2]
            names = set(change.attributes) if isinstance(change.attributes, dict) else set()
            if kind == "edited" and names & {"title", "slug"}:
                found.append("renamed")
            if kind != "edited" or not names or names - {"title", "slug"}:
                found.append(kind)
        return tuple(dict.fromkeys(found))

    @property
    def sign(self) -> str:
        """Return `+` for created, `−` for deleted, `→` for moved and `~` for edited or renamed. Empty if nothing
        changes."""
        kinds = self.kinds
        signs = (("created", "+"), ("deleted", "−"), ("moved", "→"))
        return next((sign for kind, sign in signs if kind in kinds), "~" if kinds else "")

    @property
    def is_document(self) -> bool:
        """Return whether the entry is a page with text."""
        return self.page is not None and self.page.type == "document"

    @property
    def exists_before(self) -> bool:
        return "created" not in self.kinds

    @property
    def exists_after(self) -> bool:
        return "deleted" not in self.kinds

    @property
    def settings(self) -> tuple[AttributeChange, ...]:
        """Return the changed settings of the page, such as its parent page, title or slug."""
        found: list[AttributeChange] = []
        for change in self.changes:
            if change.parent is not None:
                places = (change.parent.before, change.parent.after)
                before, after = (place.title or "Untitled" if place else "the top level" for place in places)
                found.append(
                    AttributeChange("place", before, after)
                    if before != after
                    else AttributeChange("position", "old position", "new position")
                )
            found += settings_of(change.attributes)
        return tuple(found)


def settings_of(values: object) -> Iterator[AttributeChange]:
    """Yield the changed values in `values`, which are the attributes or the variables of a change."""
    for attribute, sides in values.items() if isinstance(values, dict) else ():
        if isinstance(sides, dict) and attribute not in _HIDDEN_ATTRIBUTES:
            before, after = (_format_value(sides.get(side)) for side in ("before", "after"))
            yield AttributeChange(_NAMES.get(attribute, str(attribute)), before, after)


def _format_value(value: object) -> str | None:
    if value is None or value == "":
        return None
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def changed_pages(changes: Iterable[Change]) -> tuple[ChangedPage, ...]:
    """Return an entry for each page, file or other object that changes, in the order of the first change to each."""
    found: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        found[_key_of(change)].append(change)
    return tuple(
        ChangedPage(key, title_of(group[-1]), tuple(group), next((each.page for each in group if each.page), None))
        for key, group in found.items()
    )


def _key_of(change: Change) -> str:
    """Return the key of the entry for a change. The key of a page is the page ID, as in a page tree."""
    if change.page is not None:
        return change.page.id
    if change.file is not None:
        return f"file {change.file.id}"
    if isinstance(change.reusable_content, dict):
        return f"reusable {change.reusable_content.get('id', '')}"
    return change.type.partition("_")[0]


def entry_keys(kind: str, name: str) -> tuple[str, ...]:
    """Return the possible keys of the entry for a conflict, from the `kind` and `name` of the conflict."""
    return ("variables",) if kind == "variable" else (name, f"file {name}", f"reusable {name}")


def thread_counts(threads: Sequence[Comment]) -> dict[str, int]:
    """Return the number of open threads of each entry, by entry key."""
    whole = sum(thread.is_open_thread for thread in threads if thread.target.page is None)
    return {**open_thread_counts(threads), WHOLE: whole}


def commented_pages(
    threads: Iterable[Comment], entries: Iterable[ChangedPage], titles: Mapping[str, str], unsent: Iterable[str] = ()
) -> list[ChangedPage]:
    """Return entries for the unchanged pages with threads or unsent drafts, and for the comments on the whole change
    request. `unsent` has the IDs of the pages with unsent drafts."""
    listed = {entry.key for entry in entries}
    found: dict[str, ChangedPage] = {}
    for page in (*(each.target.page.id if each.target.page else WHOLE for each in threads), *unsent):
        if page == WHOLE:
            found[WHOLE] = ChangedPage(WHOLE, "General comments")
        elif page not in listed:
            title = titles.get(page) or "Deleted page"
            found[page] = ChangedPage(page, title, page=PageReference(id=page, title=title))
    return sorted(found.values(), key=lambda entry: entry.key != WHOLE)


@dataclass(frozen=True)
class EntryMarks:
    """Signs and counts that the tree shows beside its entries."""

    viewed: Collection[str] = ()
    changed_since: Collection[str] = ()
    """Keys of the entries that changed after you viewed the page."""
    open_threads: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, ChangeSize] = field(default_factory=dict)
    conflicting: Collection[str] = ()
    """Keys of the entries that may conflict with main."""
    unsent: Mapping[str, Sequence[UnsentText]] = field(default_factory=dict)
    """Unsent drafts by entry key."""
    tight: bool = False
    """Whether the tree is narrow, so that rows show shorter marks."""


def tree_nodes(
    entries: Sequence[ChangedPage],
    commented: Sequence[ChangedPage],
    before: Sequence[Page],
    after: Sequence[Page],
    marks: EntryMarks,
    *,
    whole_tree: bool = False,
) -> list[TreeNode]:
    """Return the tree of changed pages below their parent pages. Deleted pages keep their former positions. The other
    changes follow the pages, then the entries in `commented`, which have comments but no changes. `whole_tree` adds the
    unchanged pages."""
    by_key = {entry.key: entry for entry in entries}
    placed: set[str] = set()
    deleted = _deleted_by_parent(by_key, before, {page.id for root in after for page in root.walk()})

    def nodes_below(pages: Sequence[Page], parent: str | None) -> list[TreeNode]:
        found = [(page.id, page_nodes(page)) for page in pages if page.id not in placed]
        for key, siblings in deleted.get(parent, ()):
            if key not in placed:
                found.insert(_position_after(siblings, found), (key, [deleted_node(by_key[key])]))
        return [node for _, group in found for node in group]

    def page_nodes(page: Page) -> list[TreeNode]:
        placed.add(page.id)
        below, entry = nodes_below(page.pages, page.id), by_key.get(page.id)
        if entry is None and not whole_tree:
            return _ancestor_row(page, below, marks)
        return [_node(entry or ChangedPage(page.id, page.title or "Untitled"), marks, below, page.type)]

    def deleted_node(entry: ChangedPage) -> TreeNode:
        placed.add(entry.key)
        return _node(entry, marks, nodes_below((), entry.key))

    top = nodes_below(after, None)
    rest = [entry for entry in entries if entry.key not in placed]
    top += [_node(entry, marks) for entry in rest if entry.page is not None]
    others = [_node(entry, marks) for entry in rest if entry.page is None]
    if others:
        top += [TreeNode("section changed", "other changes", kind="section"), *others]
    if commented:
        top += [
            TreeNode("section discussed", "other comments", kind="section"),
            *(_node(entry, marks) for entry in commented),
        ]
    return top


def _ancestor_row(page: Page, below: Sequence[TreeNode], marks: EntryMarks) -> list[TreeNode]:
    """Return a row for an unchanged page above changed pages. Unchanged ancestors with one child share a row."""
    title = page.title or "Untitled"
    if all(node.kind == "group" and node.dim for node in below):
        return [replace(node, label=f"{title} › {node.label}") for node in below]
    return [_node(ChangedPage(page.id, title), marks, below, "group")]


def _deleted_by_parent(
    by_key: Mapping[str, ChangedPage], before: Sequence[Page], after: Collection[str]
) -> dict[str | None, list[tuple[str, Sequence[str]]]]:
    """Return the deleted pages by their nearest ancestor in the tree, each with its earlier siblings, nearest first."""
    found: defaultdict[str | None, list[tuple[str, Sequence[str]]]] = defaultdict(list)

    def collect(pages: Sequence[Page], parent: str | None) -> None:
        for index, page in enumerate(pages):
            entry = by_key.get(page.id)
            is_deleted = entry is not None and not entry.exists_after
            if is_deleted:
                found[parent].append((page.id, [each.id for each in reversed(pages[:index])]))
            collect(page.pages, page.id if is_deleted or page.id in after else parent)

    collect(before, None)
    return found


def _position_after(siblings: Sequence[str], placed: Sequence[tuple[str, Sequence[TreeNode]]]) -> int:
    """Return the position in `placed` after the first of `siblings` that `placed` contains. 0 if it contains none."""
    keys = [key for key, _ in placed]
    return next((keys.index(key) + 1 for key in siblings if key in keys), 0)


def _node(entry: ChangedPage, marks: EntryMarks, below: Sequence[TreeNode] = (), kind: str = "page") -> TreeNode:
    viewed = entry.key in marks.viewed
    viewed_mark = "✓" if viewed else "•" if entry.key in marks.changed_since else " "
    size = marks.sizes.get(entry.key) if entry.changes else None
    unsent = marks.unsent.get(entry.key, ())
    figures = (size.added, size.removed) if size is not None else (0, 0)
    return TreeNode(
        entry.key,
        entry.title,
        below,
        kind="page" if entry.changes or kind == "document" else kind,
        count=marks.open_threads.get(entry.key, 0),
        sign=_sign(viewed_mark, entry.sign) if entry.changes else "",
        right=_right_end(*figures, entry.key in marks.conflicting, marks.tight, unsent_mark(unsent)),
        short_right=_right_end(*figures, entry.key in marks.conflicting, marks.tight, unsent_mark(unsent, tight=True))
        if unsent
        else "",
        dim=viewed or (not entry.changes and entry.page is None and entry.key != WHOLE),
    )


@lru_cache
def _sign(mark: str, sign: str) -> Content:
    """Return the viewed mark and the sign of the change."""
    return Content.assemble((mark, {"✓": "$success", "•": "$warning"}.get(mark, "")), (sign, SIGN_STYLES[sign]))


@lru_cache(500)
def _right_end(added: int, removed: int, conflicts: bool, tight: bool, unsent: Content) -> Content:
    """Return the right end of a row: added and removed words, the conflict warning, the mark of unsent drafts."""
    added_count = [Content.styled(f"+{added}", "$success")] if added else []
    removed_count = [Content.styled(f"−{removed}", "$error")] if removed else []
    size = Content("" if tight else " ").join([*added_count, *removed_count])
    signs = (size, Content.styled("⚠", "$warning") if conflicts else None, unsent)
    return Content(" ").join([each for each in signs if each])


def walk_nodes(group: Iterable[TreeNode]) -> Iterator[TreeNode]:
    """Yield the nodes and their descendants in the order of the tree."""
    for node in group:
        yield node
        yield from walk_nodes(node.children)


def describe_change(entry: ChangedPage) -> str:
    """Return the text for an entry without a diff: one sentence or value per line."""
    if not entry.changes:
        return "This page has no changes. Press J to go to the next changed page."
    lines = [str(setting) for setting in entry.settings]
    for change in entry.changes:
        lines += [str(setting) for setting in settings_of(change.variables)]
        if change.file is not None and change.file.content_type:
            lines.append(f"{change.file.name} · {change.file.content_type}")
    return "\n".join([f"{' and '.join(entry.kinds).capitalize()}.", *lines])


def unchanged_entry(node: TreeNode) -> ChangedPage:
    """Return the entry for a page without changes."""
    kind = "document" if node.kind == "page" else node.kind
    page = PageReference(id=str(node.key), type=kind, title=str(node.label))
    return ChangedPage(str(node.key), str(node.label), page=page)
