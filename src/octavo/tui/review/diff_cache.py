"""Cache of the diffs of the pages of a change request. The shown page is compared first, then the likely next pages."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from octavo.api.content import GetPage
from octavo.api.errors import ApiError
from octavo.api.places import ContentRef, RevisionRef
from octavo.concurrency import report_error
from octavo.data.live import Live
from octavo.data.loaders import find_page, get_page_source, page_markdown
from octavo.data.sync_queue import Rank
from octavo.documents.change_kinds import ChangeKind
from octavo.documents.conflict_markers import find_markers
from octavo.documents.diff_model import ChangeSize
from octavo.documents.revision_changes import ChangedPage
from octavo.tui.render.comparison import PageComparison, compare

MAX_PARALLEL = 2
"""Maximum number of pages that are compared in parallel in the background."""
MAX_AHEAD = 60
"""Maximum number of pages after the shown page that are compared in the background."""
MAX_TEXT = 100_000
"""Maximum number of characters of the pages whose diffs are cached, about 10 MB. Beyond this limit no more diffs are
cached in the background, and the diffs that were shown longest ago are dropped."""


@dataclass(frozen=True)
class ComparedSides:
    """The two compared revisions."""

    old: RevisionRef | None
    """Old revision. None if it is unknown."""
    new: ContentRef
    old_name: str = ""
    """Name of the old revision for the user. Empty if the revision is the base of the change request."""


DiffKey = tuple[str, bool, bool, bool]


def _diff_key(page: ChangedPage) -> DiffKey:
    """Return the cache key of the diff of a page. The kind of change is part of the key, because a newer list of
    changes may have another kind."""
    return page.key, page.exists_before, page.exists_after, "moved" in page.kinds


class DiffCache:
    """Diffs of pages between two sides. Calls `on_diff` with each compared page."""

    def __init__(self, live: Live, on_diff: Callable[[ChangedPage, PageComparison], None]) -> None:
        self._live, self._on_diff = live, on_diff
        self._sides: ComparedSides | None = None
        self._cache: OrderedDict[DiffKey, PageComparison] = OrderedDict()
        self._tasks: dict[DiffKey, asyncio.Task[PageComparison]] = {}
        self._background: set[DiffKey] = set()
        """Keys of the background tasks, which no view waits for."""
        self._queue: deque[ChangedPage] = deque()
        self._waiting_count = 0
        self._shown: DiffKey | None = None
        self._is_reduced = False
        self._measured_keys: dict[str, DiffKey] = {}
        """Key of the diff that each size in `sizes` was measured from, by page key."""
        self.sizes: dict[str, ChangeSize] = {}
        """Numbers of added and removed words of the compared pages, by page key."""
        self.kind_counts: dict[str, Mapping[ChangeKind, int]] = {}
        """Numbers of changes of the compared pages by their most important kind, by page key."""
        self.with_markers: set[str] = set()
        """Keys of the compared pages with conflict markers in their text."""

    def set_sides(self, sides: ComparedSides | None) -> None:
        """Set the compared revisions. The cache is cleared if they change."""
        if sides != self._sides:
            self.stop()
            self._sides = sides
            self._cache.clear()
            self.sizes.clear()
            self.kind_counts.clear()
            self._measured_keys.clear()
            self.with_markers.clear()

    def stop(self) -> None:
        """Cancel all comparisons."""
        self._queue.clear()
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        self._background.clear()

    def drop_others(self) -> None:
        """Drop all diffs except the last shown diff, and cache no more until a diff is shown again. Several change
        requests may be open, each with a cache."""
        self._is_reduced = True
        for key in self._cache.keys() - {self._shown}:
            del self._cache[key]

    def cached(self, page: ChangedPage) -> PageComparison | None:
        """Return the cached diff of a page, and remember the page as the shown page. None if there is
        none."""
        self._shown, self._is_reduced = _diff_key(page), False
        comparison = self._cache.get(self._shown)
        if comparison is not None:
            self._cache.move_to_end(self._shown)
        return comparison

    async def compare(self, page: ChangedPage) -> PageComparison:
        """Return the diff of a page. Other comparisons wait until this diff is done. Raises ApiError."""
        if (comparison := self.cached(page)) is not None:
            return comparison
        self._waiting_count += 1
        task = self._start(page)
        try:
            self._background.discard(_diff_key(page))
            for op in filter(None, self._sources(page)):
                self._live.prioritize(op)
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # No view waits for this diff any more. A later request starts a new task.
            if self._tasks.get(_diff_key(page)) is task:
                del self._tasks[_diff_key(page)]
            task.cancel()
            raise
        finally:
            self._waiting_count -= 1
            self._start_next()

    def prefetch(self, pages: Iterable[ChangedPage]) -> None:
        """Compare `pages` in the background, in the given order."""
        if self._sides is None or self._sides.old is None:
            return
        self._queue = deque(page for page in pages if page.is_document and not self._is_measured(page))
        self._start_next()

    def _start_next(self) -> None:
        while not self._waiting_count and self._queue and len(self._tasks) < MAX_PARALLEL:
            page = self._queue.popleft()
            if not self._is_measured(page) and _diff_key(page) not in self._tasks:
                self._background.add(_diff_key(page))
                self._start(page)

    def _is_measured(self, page: ChangedPage) -> bool:
        return self._measured_keys.get(page.key) == _diff_key(page)

    def _start(self, page: ChangedPage) -> asyncio.Task[PageComparison]:
        key = _diff_key(page)
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._compare(page))
            task.add_done_callback(lambda finished: self._task_finished(key, finished))
        return task

    def _task_finished(self, key: DiffKey, task: asyncio.Task[PageComparison]) -> None:
        if self._tasks.get(key) is not task:
            return  # The task belongs to other sides, or was canceled.
        del self._tasks[key]
        self._background.discard(key)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ApiError):
            # The server cannot be reached, so the other pages are compared only when they are shown.
            self._queue.clear()
        else:
            report_error(task, "A comparison")
        self._start_next()

    async def _compare(self, page: ChangedPage) -> PageComparison:
        before, after = await asyncio.gather(
            *(
                self._text(op, Rank.AWAITED if _diff_key(page) in self._background else Rank.NOW)
                for op in self._sources(page)
            )
        )
        comparison = await asyncio.to_thread(compare, before, after)
        limit = 0 if self._is_reduced else MAX_TEXT
        if self._waiting_count or self._cached_length() + _length(comparison) <= limit:
            self._cache[_diff_key(page)] = comparison
        self.sizes[page.key] = comparison.diff.size
        self.kind_counts[page.key] = comparison.kind_counts
        self._measured_keys[page.key] = _diff_key(page)
        if find_markers(after):
            self.with_markers.add(page.key)
        else:
            self.with_markers.discard(page.key)
        while len(self._cache) > 1 and self._cached_length() > limit:
            self._cache.popitem(last=False)
        self._on_diff(page, comparison)
        return comparison

    def _cached_length(self) -> int:
        return sum(map(_length, self._cache.values()))

    def _sources(self, page: ChangedPage) -> tuple[GetPage | None, GetPage | None]:
        """Return the operations that load both sides of a page. None for a side without the page."""
        sides = self._sides
        assert sides is not None, "Pages are compared only after both revisions are known"
        assert sides.old is not None, "Pages are compared only after both revisions are known"
        return self._source(sides.old, page, page.exists_before), self._source(sides.new, page, page.exists_after)

    def _source(self, at: ContentRef, page: ChangedPage, exists: bool) -> GetPage | None:
        assert page.page is not None
        op = get_page_source(at, page.page.id)
        if "moved" in page.kinds:
            # Stable references keep links of a moved page the same on both sides, if the server supports them.
            op = op.model_copy(update={"refs": "stable"})
        return op if exists else None

    async def _text(self, op: GetPage | None, rank: Rank) -> str:
        return page_markdown(await find_page(self._live, op, rank=rank)) if op is not None else ""


def _length(compared: PageComparison) -> int:
    return len(compared.old.source) + len(compared.new.source)
