"""What a change request changes: one entry for each page, file or other thing, and those entries as a tree. Pure."""

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
from octavo.tui.review.merge_checks import name
from octavo.tui.shell.tree_rows import open_thread_counts
from octavo.tui.shell.unsent_texts import unsent_mark
from octavo.tui.widgets.tree import Node

WHOLE = "whole"
"""The key of the entry for what is said of a change request as a whole."""
SIGN_STYLES = {"+": "$success", "−": "$error", "→": "$warning", "~": "$primary"}
_UNSEEN = frozenset({"document", "cover", "layout", "variables", "target"})
"""What changes of a page that is no value to be read in a line."""
_NAMES = {"noIndex": "hidden from search", "noRobotsIndex": "hidden from search engines", "slug": "slug"}


@dataclass(frozen=True)
class ChangedPage:
    """All that happens to one page, or to a file, a piece of reusable content or the variables: it has one entry.

    Without changes it is a page that stays as it is, or with the key WHOLE no page at all.
    """

    key: str
    title: str
    changes: tuple[Change, ...] = ()
    page: PageReference | None = None

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """What happens to it: created, deleted, moved, renamed, edited."""
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
        """`+` made, `−` deleted, `→` moved, `~` edited or renamed; nothing where nothing changes."""
        kinds = self.kinds
        signs = (("created", "+"), ("deleted", "−"), ("moved", "→"))
        return next((sign for kind, sign in signs if kind in kinds), "~" if kinds else "")

    @property
    def is_document(self) -> bool:
        """Whether it has a text on one side at least."""
        return self.page is not None and self.page.type == "document"

    @property
    def is_there_before(self) -> bool:
        return "created" not in self.kinds

    @property
    def is_there_after(self) -> bool:
        return "deleted" not in self.kinds

    @property
    def settings(self) -> tuple[AttributeChange, ...]:
        """What changes besides the text, and can be said in a line."""
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
    """The values that changed, of attributes or of variables, as a change names them."""
    for what, sides in values.items() if isinstance(values, dict) else ():
        if isinstance(sides, dict) and what not in _UNSEEN:
            before, after = (_said(sides.get(when)) for when in ("before", "after"))
            yield AttributeChange(_NAMES.get(what, str(what)), before, after)


def _said(value: object) -> str | None:
    if value is None or value == "":
        return None
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def changed_pages(changes: Iterable[Change]) -> tuple[ChangedPage, ...]:
    """One entry for each thing that changes, in the order they are first named."""
    found: defaultdict[str, list[Change]] = defaultdict(list)
    for change in changes:
        found[_key_of(change)].append(change)
    return tuple(
        ChangedPage(key, name(among[-1]), tuple(among), next((each.page for each in among if each.page), None))
        for key, among in found.items()
    )


def _key_of(change: Change) -> str:
    """What tells a thing from the others: a page is known by its id, as in a tree of pages."""
    if change.page is not None:
        return change.page.id
    if change.file is not None:
        return f"file {change.file.id}"
    if isinstance(change.reusable_content, dict):
        return f"reusable {change.reusable_content.get('id', '')}"
    return change.type.partition("_")[0]


def entry_keys(kind: str, name: str) -> tuple[str, ...]:
    """Return the keys an entry can have whose thing is in conflict: `kind` and `name` are those of the conflict."""
    return ("variables",) if kind == "variable" else (name, f"file {name}", f"reusable {name}")


def open_on(threads: Sequence[Comment]) -> dict[str, int]:
    """How many open threads each entry has, by its key."""
    whole = sum(thread.is_open_thread for thread in threads if thread.target.page is None)
    return {**open_thread_counts(threads), WHOLE: whole}


def discussed(
    threads: Iterable[Comment],
    entries: Iterable[ChangedPage],
    titles: Mapping[str, str],
    unsent: Iterable[str] = (),
) -> list[ChangedPage]:
    """Return entries for the pages without changes that have threads, and for the change request as a whole.

    `unsent` holds the ids of the pages that have unsent drafts.
    """
    here = {entry.key for entry in entries}
    found: dict[str, ChangedPage] = {}
    for page in (*(each.target.page.id if each.target.page else WHOLE for each in threads), *unsent):
        if page == WHOLE:
            found[WHOLE] = ChangedPage(WHOLE, "General comments")
        elif page not in here:
            title = titles.get(page) or "Deleted page"
            found[page] = ChangedPage(page, title, page=PageReference(id=page, title=title))
    return sorted(found.values(), key=lambda entry: entry.key != WHOLE)


@dataclass(frozen=True)
class Marks:
    """What the tree says of its entries besides what they are."""

    viewed: Collection[str] = ()
    changed_since: Collection[str] = ()
    """What changed after it was marked as viewed."""
    open_threads: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, ChangeSize] = field(default_factory=dict)
    conflicting: Collection[str] = ()
    """Keys of the entries that may conflict with main."""
    unsent: Mapping[str, Sequence[UnsentText]] = field(default_factory=dict)
    """Unsent drafts by the keys of their entries."""
    tight: bool = False
    """There is little room."""


def nodes(
    entries: Sequence[ChangedPage],
    also: Sequence[ChangedPage],
    before: Sequence[Page],
    after: Sequence[Page],
    marks: Marks,
    *,
    whole_tree: bool = False,
) -> list[Node]:
    """The entries where their pages stand, below the pages above them, deleted ones where they stood. What is no page
    comes after them, and then what is only talked about. `whole_tree`: all pages, also those that stay as they are.
    """
    by_key = {entry.key: entry for entry in entries}
    placed: set[str] = set()
    gone = _deleted(by_key, before, {page.id for root in after for page in root.walk()})

    def stand(pages: Sequence[Page], parent: str | None) -> list[Node]:
        found = [(page.id, here(page)) for page in pages if page.id not in placed]
        for key, place in gone.get(parent, ()):
            if key not in placed:
                found.insert(_index(found, place), (key, [there(by_key[key])]))
        return [node for _, among in found for node in among]

    def here(page: Page) -> list[Node]:
        placed.add(page.id)
        below, entry = stand(page.pages, page.id), by_key.get(page.id)
        if entry is None and not whole_tree:
            return _above(page, below, marks)
        return [_node(entry or ChangedPage(page.id, page.title or "Untitled"), marks, below, page.type)]

    def there(entry: ChangedPage) -> Node:
        placed.add(entry.key)
        return _node(entry, marks, stand((), entry.key))

    top = stand(after, None)
    rest = [entry for entry in entries if entry.key not in placed]
    top += [_node(entry, marks) for entry in rest if entry.page is not None]
    others = [_node(entry, marks) for entry in rest if entry.page is None]
    if others:
        top += [Node("section changed", "other changes", kind="section"), *others]
    if also:
        top += [
            Node("section discussed", "other comments", kind="section"),
            *(_node(entry, marks) for entry in also),
        ]
    return top


def _above(page: Page, below: Sequence[Node], marks: Marks) -> list[Node]:
    """What stands above something that changes: one line for all that stand one above the other."""
    title = page.title or "Untitled"
    if all(node.kind == "group" and node.dim for node in below):
        return [replace(node, label=f"{title} › {node.label}") for node in below]
    return [_node(ChangedPage(page.id, title), marks, below, "group")]


def _deleted(
    by_key: Mapping[str, ChangedPage], before: Sequence[Page], after: Collection[str]
) -> dict[str | None, list[tuple[str, Sequence[str]]]]:
    """The deleted pages by what they stood below, as far as that is on show, each with what stood before it, the
    nearest first."""
    found: defaultdict[str | None, list[tuple[str, Sequence[str]]]] = defaultdict(list)

    def look(pages: Sequence[Page], parent: str | None) -> None:
        for index, page in enumerate(pages):
            entry = by_key.get(page.id)
            is_gone = entry is not None and not entry.is_there_after
            if is_gone:
                found[parent].append((page.id, [each.id for each in reversed(pages[:index])]))
            look(page.pages, page.id if is_gone or page.id in after else parent)

    look(before, None)
    return found


def _index(found: Sequence[tuple[str, Sequence[Node]]], before: Sequence[str]) -> int:
    """Where to put what stood after `before`."""
    keys = [key for key, _ in found]
    return next((keys.index(key) + 1 for key in before if key in keys), 0)


def _node(entry: ChangedPage, marks: Marks, below: Sequence[Node] = (), kind: str = "page") -> Node:
    viewed = entry.key in marks.viewed
    looked_at = "✓" if viewed else "•" if entry.key in marks.changed_since else " "
    size = marks.sizes.get(entry.key) if entry.changes else None
    unsent = marks.unsent.get(entry.key, ())
    figures = (size.added, size.removed) if size is not None else (0, 0)
    return Node(
        entry.key,
        entry.title,
        below,
        kind="page" if entry.changes or kind == "document" else kind,
        count=marks.open_threads.get(entry.key, 0),
        sign=_sign(looked_at, entry.sign) if entry.changes else "",
        right=_right(*figures, entry.key in marks.conflicting, marks.tight, unsent_mark(unsent)),
        short_right=_right(*figures, entry.key in marks.conflicting, marks.tight, unsent_mark(unsent, tight=True))
        if unsent
        else "",
        dim=viewed or (not entry.changes and entry.page is None and entry.key != WHOLE),
    )


@lru_cache
def _sign(mark: str, sign: str) -> Content:
    """Whether it was looked at, and what happens to it."""
    return Content.assemble((mark, {"✓": "$success", "•": "$warning"}.get(mark, "")), (sign, SIGN_STYLES[sign]))


@lru_cache(500)
def _right(added: int, removed: int, conflicts: bool, tight: bool, unsent: Content) -> Content:
    """How many words came and went, whether it may conflict, and the mark of what is not sent."""
    came = [Content.styled(f"+{added}", "$success")] if added else []
    went = [Content.styled(f"−{removed}", "$error")] if removed else []
    size = Content("" if tight else " ").join([*came, *went])
    signs = (size, Content.styled("⚠", "$warning") if conflicts else None, unsent)
    return Content(" ").join([each for each in signs if each])


def order(among: Iterable[Node]) -> Iterator[Node]:
    """The nodes with those below them, in the order they are drawn."""
    for node in among:
        yield node
        yield from order(node.children)


def in_words(entry: ChangedPage) -> str:
    """Return the text for an entry that has no diff: one sentence or value a line."""
    if not entry.changes:
        return "This page has no changes. Press J to go to the next changed page."
    lines = [str(setting) for setting in entry.settings]
    for change in entry.changes:
        lines += [str(setting) for setting in settings_of(change.variables)]
        if change.file is not None and change.file.content_type:
            lines.append(f"{change.file.name} · {change.file.content_type}")
    said = " and ".join(entry.kinds)
    return "\n".join([f"{said.capitalize()}.", *lines])


def unchanged(node: Node) -> ChangedPage:
    """A page that stays as it is."""
    kind = "document" if node.kind == "page" else node.kind
    page = PageReference(id=str(node.key), type=kind, title=str(node.label))
    return ChangedPage(str(node.key), str(node.label), page=page)
