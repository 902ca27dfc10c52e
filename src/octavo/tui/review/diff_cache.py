"""The diffs of the pages of a change request: what is wanted now first, what is likely next behind it, all kept."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from octavo.api.content import GetPage
from octavo.api.errors import ApiError
from octavo.api.places import ContentRef, RevisionRef
from octavo.concurrency import report_error
from octavo.data.live import Live
from octavo.data.sync_queue import Rank
from octavo.documents.conflict_markers import find_markers
from octavo.documents.diff_model import ChangeSize
from octavo.tui.render.comparison import PageComparison, compare
from octavo.tui.review.changed_pages import ChangedPage
from octavo.tui.shell.page_queries import find_page, get_page_source, page_markdown

AT_ONCE = 2
"""Pages that are read and compared at once, besides the one that is wanted."""
AHEAD = 60
"""Pages after the one on show that are compared before they are wanted."""
MOST_TEXT = 100_000
"""Characters of pages whose diffs are kept, some 10 MB. Beyond them no more is kept ahead, and the diffs not looked at for
longest are made again."""


@dataclass(frozen=True)
class Sides:
    """The two revisions that are compared."""

    old: RevisionRef | None
    """None: it is not known."""
    new: ContentRef
    name: str = ""
    """What the old one is called, where it is not the base of the change request."""


Name = tuple[str, bool, bool, bool]


def _name(page: ChangedPage) -> Name:
    """What tells one comparison of a page from others between the same sides: what is listed of it may be of before."""
    return page.key, page.is_there_before, page.is_there_after, "moved" in page.kinds


class Comparisons:
    """Diffs of pages between two sides. `made` is called with the key of each that is there."""

    def __init__(self, live: Live, made: Callable[[str], None]) -> None:
        self._live, self._made = live, made
        self._sides: Sides | None = None
        self._kept: OrderedDict[Name, PageComparison] = OrderedDict()
        self._under_way: dict[Name, asyncio.Task[PageComparison]] = {}
        self._ahead: set[Name] = set()
        """Those of `_under_way` that nobody waits for."""
        self._next: deque[ChangedPage] = deque()
        self._wanted = 0
        self._looked_at: Name | None = None
        self._is_at_rest = False
        self._measured: dict[str, Name] = {}
        """Of which comparison of a page the size is."""
        self.sizes: dict[str, ChangeSize] = {}
        """How much of each page changed, of those that were compared."""
        self.undecided: set[str] = set()
        """The pages that hold both sides of a conflict between marks, of those that were compared."""

    def between(self, sides: Sides | None) -> None:
        """Compare these from now on."""
        if sides != self._sides:
            self.stop()
            self._sides = sides
            self._kept.clear()
            self.sizes.clear()
            self._measured.clear()
            self.undecided.clear()

    def stop(self) -> None:
        """Cancel all comparisons."""
        self._next.clear()
        for task in self._under_way.values():
            task.cancel()
        self._under_way.clear()
        self._ahead.clear()

    def rest(self) -> None:
        """Keep none but the one that was looked at last, until one is looked at again: several change requests one may go
        back to would keep their diffs each."""
        self._is_at_rest = True
        for name in self._kept.keys() - {self._looked_at}:
            del self._kept[name]

    def known(self, page: ChangedPage) -> PageComparison | None:
        """The diff of a page, if it is there."""
        self._looked_at, self._is_at_rest = _name(page), False
        found = self._kept.get(self._looked_at)
        if found is not None:
            self._kept.move_to_end(self._looked_at)
        return found

    async def compare(self, page: ChangedPage) -> PageComparison:
        """Return the diff of a page, which goes before all others. Raises ApiError."""
        if (found := self.known(page)) is not None:
            return found
        self._wanted += 1
        task = self._begin(page)
        try:
            self._ahead.discard(_name(page))
            for op in filter(None, self._sources(page)):
                self._live.prioritize(op)
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            # Nobody waits for it any more: it has its turn again. Who wants it from now on does not wait for this one.
            if self._under_way.get(_name(page)) is task:
                del self._under_way[_name(page)]
            task.cancel()
            raise
        finally:
            self._wanted -= 1
            self._go_on()

    def ahead(self, pages: Iterable[ChangedPage]) -> None:
        """Compare these too, in this order, while nothing else is wanted."""
        if self._sides is None or self._sides.old is None:
            return
        self._next = deque(page for page in pages if page.is_document and not self._is_measured(page))
        self._go_on()

    def _go_on(self) -> None:
        while not self._wanted and self._next and len(self._under_way) < AT_ONCE:
            page = self._next.popleft()
            if not self._is_measured(page) and _name(page) not in self._under_way:
                self._ahead.add(_name(page))
                self._begin(page)

    def _is_measured(self, page: ChangedPage) -> bool:
        return self._measured.get(page.key) == _name(page)

    def _begin(self, page: ChangedPage) -> asyncio.Task[PageComparison]:
        name = _name(page)
        task = self._under_way.get(name)
        if task is None:
            task = self._under_way[name] = asyncio.create_task(self._compare(page))
            task.add_done_callback(lambda ended: self._ended(name, ended))
        return task

    def _ended(self, name: Name, task: asyncio.Task[PageComparison]) -> None:
        if self._under_way.get(name) is not task:
            return  # other sides are compared by now, or it was given up
        del self._under_way[name]
        self._ahead.discard(name)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, ApiError):
            self._next.clear()  # what cannot be read now is asked for when it is wanted
        else:
            report_error(task, "A comparison")
        self._go_on()

    async def _compare(self, page: ChangedPage) -> PageComparison:
        before, after = await asyncio.gather(
            *(self._text(op, Rank.AWAITED if _name(page) in self._ahead else Rank.NOW) for op in self._sources(page))
        )
        found = await asyncio.to_thread(compare, before, after)
        room = 0 if self._is_at_rest else MOST_TEXT
        if self._wanted or self._text_kept() + _length(found) <= room:
            self._kept[_name(page)] = found
        self.sizes[page.key] = found.diff.size
        self._measured[page.key] = _name(page)
        if find_markers(after):
            self.undecided.add(page.key)
        else:
            self.undecided.discard(page.key)
        while len(self._kept) > 1 and self._text_kept() > room:
            self._kept.popitem(last=False)
        self._made(page.key)
        return found

    def _text_kept(self) -> int:
        return sum(map(_length, self._kept.values()))

    def _sources(self, page: ChangedPage) -> tuple[GetPage | None, GetPage | None]:
        """Return what is fetched of each side of a page. None for a side without the page."""
        sides = self._sides
        assert sides is not None, "nothing is compared before it is known with what"
        assert sides.old is not None, "nothing is compared before it is known with what"
        return self._source(sides.old, page, page.is_there_before), self._source(sides.new, page, page.is_there_after)

    def _source(self, at: ContentRef, page: ChangedPage, is_there: bool) -> GetPage | None:
        assert page.page is not None
        op = get_page_source(at, page.page.id)
        if "moved" in page.kinds:
            # From another place the same links have other paths: by ids they stay as they are, where a server knows how.
            op = op.model_copy(update={"refs": "stable"})
        return op if is_there else None

    async def _text(self, op: GetPage | None, rank: Rank) -> str:
        return page_markdown(await find_page(self._live, op, rank=rank)) if op is not None else ""


def _length(compared: PageComparison) -> int:
    return len(compared.old.source) + len(compared.new.source)
