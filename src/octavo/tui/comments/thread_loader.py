"""Loads the threads of an organization from its spaces and its open change requests. Also finds out whether the block of
an outdated thread was edited or deleted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from octavo.api import content
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, Discussion, ListPage
from octavo.api.organizations import Organization
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.data.queries import UNDECIDED, all_threads_op, change_requests_op
from octavo.data.sync_queue import Rank
from octavo.documents.blocks import EMPTY_PAGE
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import TwoVersionAnchors, WordChange
from octavo.tui.comments.thread_filters import Thread
from octavo.tui.core.view import View
from octavo.tui.widgets.delay import Delay

BATCH = 100
"""Number of spaces, and of change requests of each status, whose threads are loaded in one step."""
SHOW_DELAY = 0.5
"""Seconds that the list waits for more responses before it is rebuilt, if some responses have not arrived."""

PageKey = tuple[ChangeRequestRef, str]


class ThreadSource(NamedTuple):
    """Space or change request whose threads can be loaded. `open_count` counts its open comments on the server."""

    key: str
    at: Discussion
    name: str
    open_count: int


def change_request_sources(items: Iterable[ChangeRequest], spaces: Iterable[Space]) -> list[ThreadSource]:
    """Return a `ThreadSource` for each of `items` with a known space ID, in order. `spaces` has the space titles."""
    titles = {space.id: f"{space.title.upper()} · " for space in spaces}
    return [
        ThreadSource(
            f"change request {item.id}",
            ChangeRequestRef(space_id=item.space, change_request_id=item.id),
            f"{titles.get(item.space, '')}#{item.number} {item.title}",
            item.comments,
        )
        for item in items
        if item.space is not None
    ]


def sources_to_load(sources: Sequence[ThreadSource], requested: Collection[str], limit: int) -> list[ThreadSource]:
    """Return the first `limit` of `sources`: sources with keys in `requested`, then with open comments, then others."""
    return sorted(sources, key=lambda source: (source.key not in requested, source.open_count <= 0))[:limit]


class ThreadLoader:
    """Loads the threads of an organization, from its spaces and its open change requests."""

    def __init__(self, view: View, rebuild_list: Callable[[], None]) -> None:
        self._view, self._rebuild_list = view, rebuild_list
        self.requested: dict[str, ThreadSource] = {}
        """Spaces and change requests whose threads are loaded or loading, by key. Spaces come first."""
        self.source_count = 0
        """Number of spaces and change requests whose threads can be loaded."""
        self._limit = BATCH
        """Maximum number of spaces, and of change requests of each status, whose threads are loaded."""
        self._is_scheduled = False
        self._show_delay = Delay(view)

    def load(self, organization: Organization) -> None:
        """Load the threads of `organization`, and drop the threads of the previous organization."""
        self._view.subscriptions.stop()
        self.requested.clear()
        self.source_count, self._limit = 0, BATCH
        for status in UNDECIDED:
            op = change_requests_op(organization.id, status)
            self._view.follow(f"{status} change requests", op, lambda _: self.follow_sources())
        self.follow_sources()

    @property
    def _change_requests(self) -> list[Snapshot[ListPage[ChangeRequest]]]:
        return [self._view.subscriptions.snapshot(f"{status} change requests") for status in UNDECIDED]

    @property
    def _thread_lists(self) -> list[Snapshot[ListPage[Comment]]]:
        return [self._view.subscriptions.snapshot(key) for key in self.requested]

    def follow_sources(self) -> None:
        """Watch the threads of up to `_limit` spaces, and of up to `_limit` change requests per status. Drop others."""
        workspace = self._view.shell.workspace
        if workspace.organization is None:
            return
        spaces = workspace.spaces.value.items if workspace.spaces.value else ()
        kinds = [[ThreadSource(f"space {each.id}", each.ref, each.title.upper(), each.comments) for each in spaces]]
        kinds += [
            change_request_sources(snapshot.value.items, spaces) for snapshot in self._change_requests if snapshot.value
        ]
        self.source_count = sum(map(len, kinds))
        earlier = self.requested
        self.requested = {each.key: each for kind in kinds for each in sources_to_load(kind, earlier, self._limit)}
        for key in earlier.keys() - self.requested.keys():
            self._view.follow(key, None)
        for key, source in self.requested.items():
            op = all_threads_op(source.at)
            self._view.subscriptions.follow_whole(key, op, partial(self._show_source, source), rank=Rank.AWAITED)
        self._schedule_show()

    def load_more(self) -> None:
        """Load the threads of more spaces and change requests. Do nothing while threads are loading."""
        if not self.is_loading:
            self._limit += BATCH
            self.follow_sources()

    def _show_source(self, source: ThreadSource, snapshot: Snapshot[ListPage[Comment]]) -> None:
        if isinstance(source.at, ChangeRequestRef) and snapshot.value is not None:
            self._view.shell.workspace.count_review_summaries(source.at.change_request_id, snapshot.value)
        self._schedule_show()

    def _schedule_show(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = self._view.call_later(self._show_soon)

    def _show_soon(self) -> None:
        self._is_scheduled = False
        if any(snapshot.value is None and snapshot.error is None for snapshot in self.snapshots):
            self._show_delay.start_once(SHOW_DELAY, self._rebuild_list)
        else:
            self._show_delay.stop()
            self._rebuild_list()

    def loaded_threads(self) -> list[Thread]:
        """Return all loaded threads, grouped by space or change request."""
        return [
            Thread(comment, source.at, source.name)
            for source, snapshot in zip(self.requested.values(), self._thread_lists, strict=True)
            if snapshot.value is not None
            for comment in snapshot.value.items
        ]

    @property
    def snapshots(self) -> list[Snapshot[Any]]:
        """Responses that the list is built from: the spaces, the change requests and the threads."""
        return [self._view.shell.workspace.spaces, *self._change_requests, *self._thread_lists]

    @property
    def is_loading(self) -> bool:
        """True while a response is loading."""
        return any(snapshot.is_loading for snapshot in self.snapshots)

    @property
    def loaded_source_count(self) -> int:
        return sum(snapshot.value is not None for snapshot in self._thread_lists)

    @property
    def has_more(self) -> bool:
        """True if the threads of more spaces or change requests can be loaded."""
        return len(self.requested) < self.source_count

    @property
    def is_loaded(self) -> bool:
        """True if all requested threads are loaded."""
        return all(snapshot.value for snapshot in self._thread_lists)


class OutdatedBlocks:
    """Finds out whether the blocks of outdated threads were edited or deleted. Loads the current pages for this."""

    def __init__(self, view: View, redraw: Callable[[], None]) -> None:
        """`redraw` is called when the current version of a page is loaded."""
        self._view, self._redraw = view, redraw
        self._pages: dict[PageKey, TwoVersionAnchors | None] = {}
        """Anchors of the current version of a page, by page. None while they are loading, or if loading failed."""

    def clear(self) -> None:
        """Drop all pages, so that `change_of` loads them again."""
        self._pages.clear()

    def change_of(self, thread: Thread) -> WordChange:
        """Return how the words that a thread quotes changed. Empty if the thread is on main or not outdated, or if its
        page is not loaded."""
        at, page = thread.at, thread.comment.target.page
        if not isinstance(at, ChangeRequestRef) or page is None or not thread.is_outdated:
            return ""
        if thread.comment.target.node is None:
            return ""
        if (at, page.id) not in self._pages:
            self._pages[at, page.id] = None
            self._view.shell.background(self._load((at, page.id)))
        anchors = self._pages[at, page.id]
        return anchors.word_change(thread.comment) if anchors is not None else ""

    async def _load(self, key: PageKey) -> None:
        op = content.GetPage(at=key[0], page_id=key[1], format="markdown")
        try:
            page = await self._view.shell.session.live.fetch(op)
        except ApiError:
            return  # Without the page, the rows only say “outdated”.
        anchors = TwoVersionAnchors((EMPTY_PAGE, await asyncio.to_thread(parse, page.markdown or "")))
        if key in self._pages:
            self._pages[key] = anchors
            self._redraw()
