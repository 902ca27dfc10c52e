"""Keeps the rows of the inbox current while the inbox has subscribers.

    loader = InboxLoader(live, drafts, organization)
    unsubscribe = loader.subscribe(self.show)  # calls back now with the cached rows, and on each change
    await loader.refresh()                     # fetches the lists and the responses that have changed

An update has three steps:

1. Fetch the three lists of the organization, or use the lists in memory (`InboxUpdate` in inbox_plan.py).
2. `InboxPlanner` computes from the lists which responses the inbox needs.
3. The `Syncer` fetches the responses whose fingerprints have changed. `InboxBuilder` builds rows while responses arrive.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any

from octavo.api import comments, reviews, users
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError, NotSent
from octavo.api.operation import ChangeRequestRef, Discussion, Listing, ListPage, OrganizationRef
from octavo.api.organizations import Organization
from octavo.concurrency import Tasks
from octavo.data.drafts import Draft, Drafts
from octavo.data.inbox import Inbox, InboxData, InboxRow, RowTarget, ThreadRef, UnknownCounts, inbox_of
from octavo.data.inbox_plan import (
    MAX_LIST_ITEMS,
    OWNER,
    FinishedWrite,
    InboxPlanner,
    InboxUpdate,
    Lists,
    discussion_of,
    url_of,
)
from octavo.data.inbox_responses import InboxBuilder, InboxResponses, pack_rows, unpack_rows
from octavo.data.live import Live
from octavo.data.live_response import Observers, Snapshot
from octavo.data.queries import UNDECIDED, change_requests_op, open_threads_op, spaces_op
from octavo.data.sync_queue import Rank
from octavo.data.syncer import LoadFailure
from octavo.data.writes.machine import OutboxEntry

BUILD_INTERVAL_LOADING = 0.25
"""Maximum seconds from a change to the next build of the rows while an update is running."""
BUILD_INTERVAL = 3.0
"""Maximum seconds from a fetched response to the next build of the rows while no update is running."""
CACHED_ROWS_TIMEOUT = 3.0
"""Seconds to wait for the lists in `_LISTS`. After that, rows are built from cached responses."""
_LISTS = ("spaces", *UNDECIDED)
_LABELS = {
    "spaces": "the spaces",
    "open": "the open change requests",
    "draft": "the draft change requests",
    "me": "your account",
}
_ALL_UNKNOWN = UnknownCounts()


@dataclass(frozen=True)
class InboxFailure:
    """A group of responses of one kind that could not be fetched for the same reason."""

    label: str
    """Name of the responses, such as `reviews in 3 locations`."""
    cause: str
    """The error message, a sentence."""
    is_unreached: bool = False
    """True if the server could not be reached, so that the rows come from cached responses."""


@dataclass(frozen=True)
class InboxSnapshot:
    """The rows of the inbox, and how far they are loaded."""

    rows: tuple[InboxRow, ...] = ()
    unknown: UnknownCounts = _ALL_UNKNOWN
    """Counts of responses that are not loaded yet but may lead to rows."""
    fetched_count: int = 0
    """Number of responses that the current update has already fetched."""
    due_count: int = 0
    """Number of responses that the current update must fetch in total."""
    is_loading: bool = False
    failed: tuple[InboxFailure, ...] = ()
    is_known: bool = False
    """True if the lists of spaces and change requests are loaded, from the server or from disk."""
    is_first_update: bool = False
    """True during the first update if no rows are stored. The rows then appear one by one."""


class InboxLoader:
    """Loads the responses of an organization's inbox, and builds the rows."""

    def __init__(self, live: Live, drafts: Drafts, organization: Organization) -> None:
        self._live, self._drafts, self._organization = live, drafts, organization
        self._listings: dict[str, Listing[Any]] = {
            "spaces": spaces_op(organization.id),
            **{status: change_requests_op(organization.id, status) for status in UNDECIDED},
        }
        self._lists: dict[str, Snapshot[ListPage[Any]]] = {}
        self._me: users.User | None = None
        self._responses = InboxResponses()
        at = OrganizationRef(organization_id=organization.id)
        self._plan = InboxPlanner(at, self._responses, lambda url: live.cache.versions.get(url), live.now)
        self._errors: dict[str, ApiError] = {}
        """Errors of the lists and of the user's account, by keys of `_LABELS`."""
        self._failures: dict[str, LoadFailure] = {}
        """Failed requests for responses other than the lists and the user's account, by URL."""
        self._checked_drafts: tuple[Draft, ...] = ()
        self._observers: Observers[[InboxSnapshot]] = Observers()
        self._unsubscribers: list[Callable[[], None]] = []
        self._tasks = Tasks("Updating the inbox")
        self._update_task: asyncio.Task[None] | None = None
        self._update = InboxUpdate.START
        """The current update. After its end, the last update."""
        self._next_update: InboxUpdate | None = None
        """The update to run after the current update. None if no further update is planned."""
        self._shown_snapshot: InboxSnapshot | None = None
        self._builder = InboxBuilder(self._build, self._publish)
        self._cached_as = f"inbox of {organization.id}"
        self._stored_rows: tuple[InboxRow, ...] | None = None
        """The rows that this or an earlier run has stored on disk. None if no rows are stored."""

    def subscribe(self, callback: Callable[[InboxSnapshot], None]) -> Callable[[], None]:
        """Call `callback` now, and after each change of the inbox. Return a function that ends the subscription.
        Without subscriptions, no requests are sent."""
        is_first, remove = not self._observers, self._observers.add(callback)
        if is_first:
            if self._stored_rows is None and (packed := self._live.cache.read_derived(self._cached_as)) is not None:
                self._stored_rows = unpack_rows(packed)
                self._builder.inbox = Inbox(self._stored_rows)
            for name, op in self._listings.items():
                self._unsubscribers.append(self._live.watch(op, partial(self._on_list_loaded, name), refetch=False))
            self._unsubscribers.append(self._live.outbox.done.add(self._on_write_done))
            self._unsubscribers.append(self._live.outbox.changed.add(self.rebuild))
            self._unsubscribers.append(self._live.syncer.changed.add(self._on_progress))
            self._begin_update(InboxUpdate.START)
        callback(self.snapshot())

        def unsubscribe() -> None:
            remove()
            if not self._observers:
                self._stop()

        return unsubscribe

    async def refresh(self) -> None:
        """Run `REFRESH`, or wait for a running update that is at least as important. Do nothing without subscribers."""
        await self._run_and_build(InboxUpdate.REFRESH)

    async def poll(self) -> None:
        """Run `POLL`, or wait for a running update that is at least as important. Do nothing without subscribers."""
        await self._run_and_build(InboxUpdate.POLL)

    async def _run_and_build(self, update: InboxUpdate) -> None:
        if self._observers:
            await asyncio.wait([self._begin_update(update)])
        if self._observers:  # the last subscriber may have left meanwhile
            await self._builder.wait_idle()

    def rebuild(self) -> None:
        """Build the rows again soon, because data of the inbox has changed. Do nothing without observers."""
        if self._observers:
            self._builder.schedule(self._build_delay)

    @property
    def is_loading(self) -> bool:
        """True while an update is running."""
        return self._update_task is not None and not self._update_task.done()

    @property
    def is_idle(self) -> bool:
        """True if no response is being loaded, and the rows show all loaded responses."""
        return not self.is_loading and self._builder.is_idle and self._live.syncer.is_idle(OWNER)

    @property
    def list_operations(self) -> tuple[Listing[Any], ...]:
        """The operations that load the spaces and the change requests of the organization."""
        return tuple(self._listings.values())

    @property
    def current_as_of(self) -> datetime | None:
        """Time at which all lists were last known to be current. None if a list is not loaded."""
        list_times = [self._live.current_as_of(self._listings[name]) for name in _LISTS if name in self._lists]
        known_times = [listed for listed in list_times if listed is not None]
        return min(known_times) if len(known_times) == len(_LISTS) else None

    def snapshot(self) -> InboxSnapshot:
        """Return the current rows, and how far the rows are loaded. Sends no request."""
        inbox, syncer = self._builder.inbox, self._live.syncer
        is_first_build = self._stored_rows is None and self._builder.is_building
        is_loading = (self.is_loading or is_first_build) and self._update in (InboxUpdate.REFRESH, InboxUpdate.START)
        progress = syncer.progress(OWNER, Rank.PREFETCH)
        return InboxSnapshot(
            rows=inbox.rows,
            unknown=replace(inbox.unknown, is_loading=not (is_loading or syncer.is_idle(OWNER))),
            fetched_count=progress.due_count - progress.missing_count if is_loading else 0,
            due_count=progress.due_count if is_loading else 0,
            is_loading=is_loading,
            failed=self._collect_failures(),
            is_known=self.current_as_of is not None,
            is_first_update=is_loading and self._stored_rows is None,
        )

    def change_request(self, at: ChangeRequestRef) -> ChangeRequest | None:
        """Return a change request from the loaded lists. None if no list contains it."""
        requests = chain(self._items("open"), self._items("draft"))
        return next((item for item in requests if item.id == at.change_request_id and item.space == at.space_id), None)

    @property
    def threads_of_requests(self) -> dict[ChangeRequestRef, tuple[Comment, ...]]:
        """The loaded open threads, by change request. An unchanged list of threads stays the same tuple object."""
        threads = {}
        for url, needed in self._plan.all_needed.items():
            items = self._responses.values.get(url)
            if (
                items is not None
                and isinstance(needed.op, comments.List)
                and isinstance(needed.op.at, ChangeRequestRef)
            ):
                threads[needed.op.at] = items
        return threads

    def comment(self, thread: RowTarget) -> Comment | None:
        """Return the first comment of a row's thread. None if the row has no thread, or if the thread is not cached."""
        if not isinstance(thread, ThreadRef):
            return None
        threads: Sequence[Comment] | None = self._responses.values.get(url_of(comments.List, thread.at))
        if threads is None:
            cached_response = self._live.cache.get(open_threads_op(thread.at))
            threads = cached_response[0].items if cached_response is not None else ()
        return next((each for each in threads if each.id == thread.comment_id), None)

    def _stop(self) -> None:
        for unsubscribe in self._unsubscribers:
            unsubscribe()
        self._unsubscribers.clear()
        self._builder.stop()
        current, self._update_task, self._shown_snapshot, self._next_update = self._update_task, None, None, None
        if current is not None:
            current.cancel()
        self._live.syncer.drop(OWNER)

    def _begin_update(self, update: InboxUpdate) -> asyncio.Task[None]:
        """Start `update`, and return the task that runs the updates. If an update is running, only plan `update` as the
        next update, and only if `update` is more important than the running and the planned update."""
        if self._update_task is None or self._update_task.done():
            self._update = update
            self._update_task = self._tasks.start(self._run_updates(), name=f"inbox, {update.name.lower()}")
            self._update_task.add_done_callback(self._on_update_ended)
        elif update > (self._update if self._next_update is None else self._next_update):
            self._next_update = update
        return self._update_task

    async def _run_updates(self) -> None:
        await self._run_update()
        while self._next_update is not None:
            self._update, self._next_update = self._next_update, None
            await self._run_update()
        self._builder.can_build = True
        # The rows are built before the update ends. Otherwise, the inbox would look empty for a moment.
        self._build_now()

    async def _run_update(self) -> None:
        await self._load_user()
        if self._update is InboxUpdate.START and self._stored_rows is None:
            await self._plan_update(is_from_disk=True)  # shows rows from cached responses until the lists arrive
        if self._update in (InboxUpdate.REFRESH, InboxUpdate.START):
            await self._load_lists()
            self.rebuild()
        if self._update is InboxUpdate.START:
            await self._plan_update(is_from_disk=True)  # shows outdated responses until the new responses arrive
        await self._plan_update()
        await self._live.syncer.wait_idle(OWNER, Rank.PREFETCH)
        if (drafts := self._drafts.all()) != self._checked_drafts:
            self._checked_drafts = drafts
            self.rebuild()

    async def _plan_update(self, *, is_from_disk: bool = False) -> None:
        """Fetch what the inbox needs according to the lists in memory. With `is_from_disk`, only read cached data."""
        plan, syncer = self._plan, self._live.syncer
        plan.update, plan.lists, plan.is_from_disk = self._update, self._current_lists(), is_from_disk
        plan.busy_discussions = self._live.outbox.busy_discussions
        syncer.run(plan, retries_refused=self._update is InboxUpdate.REFRESH)
        await syncer.wait_planned(OWNER)
        plan.is_from_disk = False
        if not self._builder.can_build:
            self._builder.can_build = True
            self.rebuild()

    def _on_update_ended(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or task.exception() is not None:
            self._build_now()
        elif task is self._update_task and not self._plan.is_computed_from(self._current_lists()):
            self._begin_update(InboxUpdate.LISTS_CHANGED)

    def _build_now(self) -> None:
        if self._observers:  # without subscribers, the cache may already be closed
            self._builder.schedule(0.0, is_stale=False)

    async def _load_user(self) -> None:
        self._errors.pop("me", None)
        me, old_me = self._live.outbox.me or self._me, self._me
        try:
            self._me = me if me is not None else await self._live.cached_or_fetch(users.Me())
        except ApiError as error:
            self._errors["me"] = error
        if self._me != old_me:
            self._live.syncer.drop(OWNER)  # all responses are read again, because other threads concern the new user
            self._plan.my_id = self._me.id if self._me is not None else ""
            self.rebuild()

    async def _load_lists(self) -> None:
        loading = self._tasks.start(self._load_each_list())
        try:
            if not self._builder.can_build and not (await asyncio.wait([loading], timeout=CACHED_ROWS_TIMEOUT))[0]:
                await self._plan_update(is_from_disk=True)
            await loading
        finally:
            loading.cancel()

    async def _load_each_list(self) -> None:
        await asyncio.gather(*map(self._load_list, self._listings.values()))

    async def _load_list(self, op: Listing[Any]) -> None:
        await (self._live.refresh(op) if self._update is InboxUpdate.REFRESH else self._live.wait_loaded(op))
        await self._live.fetch_pages(op, MAX_LIST_ITEMS)

    def _on_list_loaded(self, name: str, snapshot: Snapshot[ListPage[Any]]) -> None:
        items, old = self._items(name), self._lists.get(name)
        self._lists[name] = snapshot
        self._errors.pop(name, None)
        if snapshot.error is not None:
            self._errors[name] = snapshot.error
        self._builder.schedule(self._build_delay, is_stale=self._items(name) is not items)
        if self.is_loading or snapshot.is_loading or self._update_task is None:
            return
        if old is not None and _is_unreached(old) and not any(map(_is_unreached, self._lists.values())):
            self._begin_update(InboxUpdate.START)  # the server can be reached again, so failed requests are retried
        elif not self._plan.is_computed_from(self._current_lists()):
            self._begin_update(InboxUpdate.LISTS_CHANGED)

    def _current_lists(self) -> Lists:
        return tuple(self._items(name) for name in _LISTS)

    def _items(self, name: str) -> tuple[Any, ...]:
        snapshot = self._lists.get(name)
        return snapshot.value.items if snapshot is not None and snapshot.value is not None else ()

    def _on_write_done(self, entry: OutboxEntry) -> None:
        self._plan.finished.append(FinishedWrite(entry, self._live.now()))

    @property
    def _build_delay(self) -> float:
        return BUILD_INTERVAL_LOADING if self.is_loading else 0.0

    def _on_progress(self, owner: str) -> None:
        if owner == OWNER:
            self._builder.schedule(self._build_delay or BUILD_INTERVAL, is_stale=False)

    async def _build(self, is_stale: bool) -> Inbox | None:
        """Return a new inbox. None if rows cannot be built, or if no data has changed and `is_stale` is False."""
        new_responses = self._responses.take_new_responses()
        is_stale = self._plan.drop_finished() or is_stale
        for op, _ in new_responses.values():
            self._live.release(op)
        if new_responses and self._responses.put(await asyncio.to_thread(self._responses.reduce, new_responses)):
            is_stale = True
        if not (is_stale and self._builder.can_build):
            return None
        return await asyncio.to_thread(inbox_of, self._inbox_data())

    def _publish(self) -> None:
        snapshot, rows = self.snapshot(), self._builder.inbox.rows
        if not (self.is_loading or snapshot.failed) and rows is not self._stored_rows and snapshot.is_known:
            self._stored_rows = rows
            self._live.cache.put_derived(self._cached_as, partial(pack_rows, rows))
        if snapshot != self._shown_snapshot:
            self._shown_snapshot = snapshot
            self._observers.notify(snapshot)

    def _inbox_data(self) -> InboxData:
        values = self._responses.values
        by_operation: dict[type[Any], dict[Any, Sequence[Any]]] = {
            reviews.List: {},
            reviews.ListRequested: {},
            comments.List: {},
        }
        replies: dict[Discussion, dict[str, Sequence[Any]]] = {}
        for url, needed in self._plan.all_needed.items():
            if (items := values.get(url)) is not None:
                if isinstance(needed.op, comments.ListReplies):
                    replies.setdefault(needed.op.at, {})[needed.op.comment_id] = items
                else:
                    by_operation[type(needed.op)][discussion_of(needed)] = items
        return InboxData(
            me=self._me or self._live.outbox.me,
            teams=frozenset(each.team.id for each in values.get(self._plan.teams_url, ())),
            organization=self._organization,
            spaces={item.id: item for item in self._items("spaces")},
            change_requests=(*self._items("open"), *self._items("draft")),
            reviews=by_operation[reviews.List],
            requested_reviewers=by_operation[reviews.ListRequested],
            threads=by_operation[comments.List],
            replies=replies,
            entries=(*(each.entry for each in self._plan.finished), *self._live.outbox.own_entries),
            drafts=self._drafts.all(),
        )

    def _collect_failures(self) -> tuple[InboxFailure, ...]:
        """Update `_failures`. Return all failures, counted by label and cause. A failure stays during a retry."""
        syncer = self._live.syncer
        waiting_urls = syncer.queue.waiting_urls(OWNER) if self.is_loading else frozenset[str]()
        self._failures = {url: each for url, each in self._failures.items() if url in waiting_urls}
        self._failures |= {each.needed.url: each for each in syncer.failures(OWNER)}
        failures = [(_LABELS[name], str(error), isinstance(error, NotSent)) for name, error in self._errors.items()]
        failures += [(needed.label, cause, is_unreached) for needed, cause, is_unreached in self._failures.values()]
        return tuple(
            InboxFailure(f"{label} in {number} locations" if number > 1 else label, cause, is_unreached)
            for (label, cause, is_unreached), number in Counter(failures).items()
        )


def _is_unreached(snapshot: Snapshot[Any]) -> bool:
    return isinstance(snapshot.error, NotSent)
