"""The changed pages and files of a change request: their rows in the tree, and the cache of their diffs. In this
module, “page” also stands for a changed file, variable or reusable content."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

from textual.content import Content

from octavo.api.comments import Comment
from octavo.api.content import GetPage, Page, PageReference
from octavo.api.errors import ApiError
from octavo.api.operation import ContentRef, RevisionRef
from octavo.concurrency import report_error
from octavo.data.drafts import UnsentText
from octavo.data.live import Live
from octavo.data.loaders import find_page, page_markdown, page_source_op
from octavo.data.sync_queue import Rank
from octavo.documents.change_kinds import RISKY, ChangeKind
from octavo.documents.diff_model import ChangeSize
from octavo.documents.merging.revision_merge import PredictedConflict
from octavo.documents.page_trees import WHOLE_REQUEST, ChangedPage, attribute_changes
from octavo.documents.source_reader import find_markers
from octavo.tui.core.item_labels import open_thread_counts
from octavo.tui.core.session import unsent_mark
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.widgets.tree import TreeNode

SIGN_STYLES = {"+": "$success", "−": "$error", "→": "$warning", "~": "$primary"}


def conflicting_keys(conflicts: Iterable[PredictedConflict]) -> frozenset[str]:
    """Return the keys that items with conflicts may have in the tree: as page, file, reusable content or variables."""
    item_ids = {each.id for each in conflicts if each.kind != "variable"}
    keys = {key for item_id in item_ids for key in (item_id, f"file {item_id}", f"reusable {item_id}")}
    return frozenset(keys | {"variables" for each in conflicts if each.kind == "variable"})


def thread_counts_by_page(threads: Sequence[Comment]) -> dict[str, int]:
    """Return the number of open threads by page key. Open threads on no page are counted for `WHOLE_REQUEST`."""
    count_on_no_page = sum(thread.is_open_thread for thread in threads if thread.target.page is None)
    return {**open_thread_counts(threads), WHOLE_REQUEST: count_on_no_page}


def unchanged_pages_with_comments(
    threads: Iterable[Comment], changed_pages: Iterable[ChangedPage], titles: Mapping[str, str], unsent: Iterable[str]
) -> list[ChangedPage]:
    """Return the pages with threads or drafts that are not in `changed_pages`. The item for comments on no page is
    first, with the key `WHOLE_REQUEST`. `titles` is by page ID. `unsent` has the keys of the pages with drafts."""
    listed_keys = {changed_page.key for changed_page in changed_pages}
    pages_by_id: dict[str, ChangedPage] = {}
    for page_id in (*(each.target.page.id if each.target.page else WHOLE_REQUEST for each in threads), *unsent):
        if page_id == WHOLE_REQUEST:
            pages_by_id[WHOLE_REQUEST] = ChangedPage(WHOLE_REQUEST, "General comments")
        elif page_id not in listed_keys:
            title = titles.get(page_id) or "Deleted page"
            pages_by_id[page_id] = ChangedPage(page_id, title, page=PageReference(id=page_id, title=title))
    return sorted(pages_by_id.values(), key=lambda changed_page: changed_page.key != WHOLE_REQUEST)


@dataclass(frozen=True)
class PageMarks:
    """Marks and counts that the tree shows beside its pages."""

    viewed_keys: Collection[str] = ()
    changed_since_viewed: Collection[str] = ()
    """Keys of the pages that changed after you viewed them."""
    thread_counts: Mapping[str, int] = field(default_factory=dict)
    sizes: Mapping[str, ChangeSize] = field(default_factory=dict)
    kind_counts: Mapping[str, Mapping[ChangeKind, int]] = field(default_factory=dict)
    """Number of changes of each kind, by page key."""
    conflicting_keys: Collection[str] = ()
    """Keys of the pages that may conflict with main, or that have conflict markers."""
    unsent: Mapping[str, Sequence[UnsentText]] = field(default_factory=dict)
    """Unsent drafts by page key."""
    finding_counts: Mapping[str, int] = field(default_factory=dict)
    """Number of findings of the checks, by page key."""


def tree_nodes(
    changed_pages: Sequence[ChangedPage],
    commented: Sequence[ChangedPage],
    old_pages: Sequence[Page],
    new_pages: Sequence[Page],
    marks: PageMarks,
    *,
    has_whole_tree: bool = False,
) -> list[TreeNode]:
    """Return the nodes of the tree: changed pages below their parent pages, then changes outside of pages, then other
    pages in `commented`. `has_whole_tree` adds the unchanged pages. `old_pages` and `new_pages` are page trees."""
    by_key = {changed_page.key: changed_page for changed_page in changed_pages}
    placed_keys: set[str] = set()
    deleted_by_parent = _deleted_by_parent(by_key, old_pages, {page.id for root in new_pages for page in root.walk()})

    def nodes_below(pages: Sequence[Page], parent_id: str | None) -> list[TreeNode]:
        nodes = [(page.id, page_nodes(page)) for page in pages if page.id not in placed_keys]
        for key, siblings in deleted_by_parent.get(parent_id, ()):
            if key not in placed_keys:
                nodes.insert(_position_after(siblings, nodes), (key, [deleted_node(by_key[key])]))
        return [node for _, group in nodes for node in group]

    def page_nodes(page: Page) -> list[TreeNode]:
        placed_keys.add(page.id)
        children, changed_page = nodes_below(page.pages, page.id), by_key.get(page.id)
        if changed_page is None and not has_whole_tree:
            return _ancestor_nodes(page, children, marks)
        return [_node(changed_page or ChangedPage(page.id, page.title or "Untitled"), marks, children, page.type)]

    def deleted_node(changed_page: ChangedPage) -> TreeNode:
        placed_keys.add(changed_page.key)
        return _node(changed_page, marks, nodes_below((), changed_page.key))

    top_nodes = nodes_below(new_pages, None)
    pages_without_node = [changed_page for changed_page in changed_pages if changed_page.key not in placed_keys]
    top_nodes += [_node(changed_page, marks) for changed_page in pages_without_node if changed_page.page is not None]
    other_nodes = [_node(changed_page, marks) for changed_page in pages_without_node if changed_page.page is None]
    if other_nodes:
        top_nodes += [TreeNode("section changed", "other changes", kind="section"), *other_nodes]
    shown_keys = {node.key for node in walk_nodes(top_nodes)}
    commented_nodes = [_node(each, marks) for each in commented if each.key not in shown_keys]
    if commented_nodes:
        top_nodes += [TreeNode("section discussed", "other comments", kind="section"), *commented_nodes]
    return top_nodes


def _ancestor_nodes(page: Page, children: Sequence[TreeNode], marks: PageMarks) -> list[TreeNode]:
    """Return the node of an unchanged page, with `children` below it. If all `children` are unchanged pages too, return
    only them, with the title of `page` before their titles, such as `Guides › Setup`. Empty without `children`."""
    title = page.title or "Untitled"
    if all(node.kind == "group" and node.dim for node in children):
        return [replace(node, label=f"{title} › {node.label}") for node in children]
    return [_node(ChangedPage(page.id, title), marks, children, "group")]


def _deleted_by_parent(
    pages_by_key: Mapping[str, ChangedPage], old_pages: Sequence[Page], remaining_ids: Collection[str]
) -> dict[str | None, list[tuple[str, Sequence[str]]]]:
    """Return the deleted pages by the ID of their parent (None at the top level). Each page ID comes with the IDs of
    its earlier siblings, nearest first. `remaining_ids` has the IDs of the pages in the new revision."""
    deleted_by_parent: defaultdict[str | None, list[tuple[str, Sequence[str]]]] = defaultdict(list)

    def collect(pages: Sequence[Page], parent_id: str | None) -> None:
        for index, page in enumerate(pages):
            changed_page = pages_by_key.get(page.id)
            is_deleted = changed_page is not None and not changed_page.exists_after
            if is_deleted:
                deleted_by_parent[parent_id].append((page.id, [each.id for each in reversed(pages[:index])]))
            collect(page.pages, page.id if is_deleted or page.id in remaining_ids else parent_id)

    collect(old_pages, None)
    return deleted_by_parent


def _position_after(siblings: Sequence[str], placed_nodes: Sequence[tuple[str, Sequence[TreeNode]]]) -> int:
    keys = [key for key, _ in placed_nodes]
    return next((keys.index(key) + 1 for key in siblings if key in keys), 0)


def _node(page: ChangedPage, marks: PageMarks, children: Sequence[TreeNode] = (), kind: str = "page") -> TreeNode:
    is_viewed = page.key in marks.viewed_keys
    viewed_mark = "✓" if is_viewed else "•" if page.key in marks.changed_since_viewed else " "
    size = marks.sizes.get(page.key) if page.changes else None
    unsent = marks.unsent.get(page.key, ())
    counts_by_kind = marks.kind_counts.get(page.key, {}) if page.changes else {}
    risky_count = sum(count for kind, count in counts_by_kind.items() if kind in RISKY)
    finding_count = marks.finding_counts.get(page.key, 0) if page.changes else 0
    counts_on_right = (finding_count, risky_count, size.added, size.removed) if size is not None else (0, 0, 0, 0)
    short_counts = (finding_count, risky_count, 0, 0) if finding_count or risky_count else counts_on_right
    has_conflict = page.key in marks.conflicting_keys
    return TreeNode(
        page.key,
        page.title,
        children,
        kind="page" if page.changes or kind == "document" else kind,
        count=marks.thread_counts.get(page.key, 0),
        sign=_sign(viewed_mark, page.sign) if page.changes else "",
        right=_right_end(*counts_on_right, has_conflict, unsent_mark(unsent)),
        short_right=_right_end(*short_counts, has_conflict, unsent_mark(unsent, symbols_only=True)),
        dim=is_viewed or (not page.changes and page.page is None and page.key != WHOLE_REQUEST),
    )


@lru_cache
def _sign(mark: str, sign: str) -> Content:
    return Content.assemble((mark, {"✓": "$success", "•": "$warning"}.get(mark, "")), (sign, SIGN_STYLES[sign]))


@lru_cache(500)
def _right_end(
    finding_count: int, risk_count: int, added_count: int, removed_count: int, has_conflict: bool, unsent: Content
) -> Content:
    risk_mark = Content.styled(f"{risk_count}!", "$warning") if risk_count else None
    added_texts = [Content.styled(f"+{added_count}", "$success")] if added_count else []
    removed_texts = [Content.styled(f"−{removed_count}", "$error")] if removed_count else []
    size = Content(" ").join([*added_texts, *removed_texts])
    finding_mark = Content.styled(f"▲{finding_count}", "$warning") if finding_count else None
    signs = (finding_mark, risk_mark, size, Content.styled("⚠", "$warning") if has_conflict else None, unsent)
    return Content(" ").join([each for each in signs if each])


def walk_nodes(nodes: Iterable[TreeNode]) -> Iterator[TreeNode]:
    """Yield the nodes and their descendants in the order of the tree."""
    for node in nodes:
        yield node
        yield from walk_nodes(node.children)


def describe_change(page: ChangedPage) -> str:
    """Return the text that replaces a diff: what was done to the page and its settings, or that nothing changed."""
    if not page.changes:
        return "This page has no changes. Press J to go to the next changed page."
    lines = [str(setting) for setting in page.settings]
    for change in page.changes:
        lines += [str(setting) for setting in attribute_changes(change.variables)]
        if change.file is not None and change.file.content_type:
            lines.append(f"{change.file.name} · {change.file.content_type}")
    return "\n".join([f"{' and '.join(page.kinds).capitalize()}.", *lines])


def unchanged_page(node: TreeNode) -> ChangedPage:
    """Return the `ChangedPage` of a tree node whose page has no changes."""
    kind = "document" if node.kind == "page" else node.kind
    page = PageReference(id=str(node.key), type=kind, title=str(node.label))
    return ChangedPage(str(node.key), str(node.label), page=page)


def open_threads_on(key: str, threads: Iterable[Comment]) -> list[Comment]:
    return [each for each in threads if each.is_open_thread and page_key_of(each) == key]


def page_key_of(thread: Comment) -> str:
    return thread.target.page.id if thread.target.page else WHOLE_REQUEST


def keys_beyond(keys: Sequence[str], current_key: str, step: int) -> Sequence[str]:
    """Return the keys after `current_key`, or the keys before it if `step` is -1. The nearest key comes first. If
    `keys` does not contain `current_key`, return all keys, or none if `step` is -1."""
    index = keys.index(current_key) if current_key in keys else -1
    return keys[index + 1 :] if step > 0 else keys[: max(index, 0)][::-1]


def next_with_threads(keys: Sequence[str], current_key: str, step: int, threads: Sequence[Comment]) -> str | None:
    """Return the key of the next page with an open thread. If `step` is -1, search backward. None if there is none."""
    keys_with_threads = {page_key_of(each) for each in threads if each.is_open_thread}
    return next((key for key in keys_beyond(keys, current_key, step) if key in keys_with_threads), None)


def no_more_threads(number: int, step: int) -> str:
    """Return a message such as `No more open threads in #12`. `step` is -1 for previous threads."""
    direction, key, other_direction = ("more", "T", "previous") if step > 0 else ("previous", "t", "next")
    return f"No {direction} open threads in #{number}. Press {key} to go to the {other_direction} open thread."


MAX_PARALLEL = 2
"""Maximum number of pages that are compared in parallel in the background."""
MAX_AHEAD = 60
"""Maximum number of pages that are compared in the background before you open them."""
MAX_TEXT = 100_000
"""Maximum number of characters in both versions of all pages with cached diffs (about 10 MB of memory). A single
cached diff may have more."""


@dataclass(frozen=True)
class ComparedRevisions:
    """The two revisions that a diff compares."""

    old: RevisionRef | None
    """Old revision. None if it is unknown."""
    new: ContentRef
    old_name: str = ""
    """Name of the old revision in the view, such as `main`. Empty for the base of the change request."""


DiffKey = tuple[str, bool, bool, bool]


def _diff_key(page: ChangedPage) -> DiffKey:
    return page.key, page.exists_before, page.exists_after, "moved" in page.kinds


class DiffCache:
    """Compares pages of two revisions on demand or in the background. Caches diffs, and passes each to `on_diff`."""

    def __init__(self, live: Live, on_diff: Callable[[ChangedPage, PageComparison], None]) -> None:
        self._live, self._on_diff = live, on_diff
        self._revisions: ComparedRevisions | None = None
        self._cache: OrderedDict[DiffKey, PageComparison] = OrderedDict()
        self._tasks: dict[DiffKey, asyncio.Task[PageComparison]] = {}
        self._background: set[DiffKey] = set()
        """Keys of the comparisons that no view waits for."""
        self._queue: deque[ChangedPage] = deque()
        self._running_loads = 0
        """Number of calls of `load_diff` that have not returned yet."""
        self._compared_keys: dict[str, DiffKey] = {}
        """Key of the last compared diff of each page, by page key. `prefetch` does not compare this diff again."""
        self.sizes: dict[str, ChangeSize] = {}
        """Number of added and of removed words, by page key."""
        self.kind_counts: dict[str, Mapping[ChangeKind, int]] = {}
        """Number of changes of each kind, by page key. A change counts only as its most important kind."""
        self.pages_with_markers: set[str] = set()
        """Keys of the compared pages whose new text has conflict markers."""

    def set_revisions(self, revisions: ComparedRevisions) -> None:
        """Set the compared revisions, and clear the cache if the revisions change."""
        if revisions != self._revisions:
            self.stop()
            self._revisions = revisions
            self._cache.clear()
            self.sizes.clear()
            self.kind_counts.clear()
            self._compared_keys.clear()
            self.pages_with_markers.clear()

    def stop(self) -> None:
        """Cancel all comparisons."""
        self._queue.clear()
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._background.clear()

    def cached(self, page: ChangedPage) -> PageComparison | None:
        """Return the cached diff of `page`. None if it is not cached."""
        comparison = self._cache.get(_diff_key(page))
        if comparison is not None:
            self._cache.move_to_end(_diff_key(page))
        return comparison

    async def load_diff(self, page: ChangedPage) -> PageComparison:
        """Return the diff of `page`. No background comparison starts while this call runs. Raises ApiError."""
        if (comparison := self.cached(page)) is not None:
            return comparison
        self._running_loads += 1
        revisions, task = self._revisions, self._start(page)
        try:
            self._background.discard(_diff_key(page))
            for op in filter(None, self._version_operations(page)):
                self._live.prioritize(op)
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # A later request starts a new task.
            if self._tasks.get(_diff_key(page)) is task:
                del self._tasks[_diff_key(page)]
            task.cancel()
            caller = asyncio.current_task()
            if revisions != self._revisions or caller is None or caller.cancelling():
                raise
            return await self.load_diff(page)  # Another caller or `stop` has canceled the task.
        finally:
            self._running_loads -= 1
            self._start_next()

    def prefetch(self, pages: Iterable[ChangedPage]) -> None:
        """Compare the `pages` that have no diff yet, in the background. Drop pages that an earlier call queued."""
        if self._revisions is None or self._revisions.old is None:
            return
        self._queue = deque(page for page in pages if page.is_document and not self._is_compared(page))
        self._start_next()

    def compare_again(self, pages: Iterable[ChangedPage]) -> None:
        """Compare `pages` in the background, including pages that were compared before."""
        self._compared_keys.clear()
        self.prefetch(pages)

    def _start_next(self) -> None:
        while not self._running_loads and self._queue and len(self._tasks) < MAX_PARALLEL:
            page = self._queue.popleft()
            if not self._is_compared(page) and _diff_key(page) not in self._tasks:
                self._background.add(_diff_key(page))
                self._start(page)

    def _is_compared(self, page: ChangedPage) -> bool:
        return self._compared_keys.get(page.key) == _diff_key(page)

    def _start(self, page: ChangedPage) -> asyncio.Task[PageComparison]:
        key = _diff_key(page)
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._compare(page))
            task.add_done_callback(lambda finished: self._on_task_finished(key, finished))
        return task

    def _on_task_finished(self, key: DiffKey, task: asyncio.Task[PageComparison]) -> None:
        if self._tasks.get(key) is not task:
            return  # The task was canceled, or it compares revisions that are no longer shown.
        del self._tasks[key]
        self._background.discard(key)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ApiError):
            # Further requests would probably fail too. `load_diff` still compares a page that you open.
            self._queue.clear()
        else:
            report_error(task, "A comparison")
        self._start_next()

    async def _compare(self, page: ChangedPage) -> PageComparison:
        before, after = await asyncio.gather(
            *(self._text(op, _diff_key(page)) for op in self._version_operations(page))
        )
        comparison = await asyncio.to_thread(compare, before, after)
        if self._running_loads or self._cached_length() + _length(comparison) <= MAX_TEXT:
            self._cache[_diff_key(page)] = comparison
        self.sizes[page.key] = comparison.diff.size
        self.kind_counts[page.key] = comparison.kind_counts
        self._compared_keys[page.key] = _diff_key(page)
        if find_markers(after):
            self.pages_with_markers.add(page.key)
        else:
            self.pages_with_markers.discard(page.key)
        while len(self._cache) > 1 and self._cached_length() > MAX_TEXT:
            self._cache.popitem(last=False)
        self._on_diff(page, comparison)
        return comparison

    def _cached_length(self) -> int:
        return sum(map(_length, self._cache.values()))

    def _version_operations(self, page: ChangedPage) -> tuple[GetPage | None, GetPage | None]:
        revisions = self._revisions
        assert revisions is not None, "Pages are compared only after both revisions are known"
        assert revisions.old is not None, "Pages are compared only after both revisions are known"
        return self._version_operation(revisions.old, page, page.exists_before), self._version_operation(
            revisions.new, page, page.exists_after
        )

    def _version_operation(self, at: ContentRef, page: ChangedPage, page_exists: bool) -> GetPage | None:
        assert page.page is not None
        op = page_source_op(at, page.page.id)
        if "moved" in page.kinds:
            # With stable references, both versions of a moved page have the same links. Not all servers support `refs`.
            op = op.model_copy(update={"refs": "stable"})
        return op if page_exists else None

    async def _text(self, op: GetPage | None, key: DiffKey) -> str:
        rank = Rank.AWAITED if key in self._background else Rank.NOW
        return page_markdown(await find_page(self._live, op, rank=rank)) if op is not None else ""


def _length(compared: PageComparison) -> int:
    return len(compared.old.source) + len(compared.new.source)
