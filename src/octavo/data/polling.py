"""Fetches changes in the background: the lists of the organization, the responses on screen, and then the inbox.

    poller = Poller(live, visible=..., after_poll=...)
    if poller.is_due:
        changes = await poller.run()

Polls are rarer while the user is idle. They stop while the terminal is hidden.

A poll fetches the watched lists of the organization. It fetches other responses if their fingerprints have changed
(`inbox_plan.py`). Fingerprints do not show every change: for example, the lists do not count replies. So a poll also
fetches a few responses with unchanged fingerprints, the oldest first, and more visible responses than hidden ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, TypeAlias

from octavo.api import change_requests, comments, content, organizations, reviews, spaces, users
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound, Outcome
from octavo.api.operation import Discussion, ListPage, Operation, SpaceRef
from octavo.data.inbox_plan import ListedFingerprints, is_of_content, page_fingerprint, replies_fingerprint
from octavo.data.live import Live
from octavo.data.live_response import LiveResponse
from octavo.data.sync_queue import LONG_AGO, NeededResponse, Rank, Version, is_due, recheck

INTERVALS = (
    (timedelta(minutes=2), timedelta(seconds=30)),
    (timedelta(minutes=30), timedelta(minutes=2)),
    (timedelta.max, timedelta(minutes=10)),
)
"""Pairs of the longest idle time for which an interval applies, and this interval between two polls."""
MAX_RECHECKED_VISIBLE = 8
"""Maximum number of responses on screen that a poll fetches although no fingerprint shows a change."""
MAX_RECHECKED_HIDDEN = 2
"""Maximum number of responses not on screen that a poll fetches although no fingerprint shows a change."""
MAX_FAILED_POLLS = 6
"""Number of failed polls in a row after which the interval between polls does not grow any more."""
MAX_FAILED_POLLS_OFFLINE = 1
"""Replaces `MAX_FAILED_POLLS` while the server cannot be reached, so that Octavo polls soon after a reconnection."""
MAX_FETCHED_STATUSES = 5
"""Maximum number of change requests whose status a poll fetches one by one."""
_LISTS = (spaces.List, change_requests.ListOfOrganization)
_ACCOUNT_OPERATIONS = (users.Me, organizations.List)
"""Operations whose responses rarely change. The responses are fetched again only after `ACCOUNT_AGE`."""
ACCOUNT_AGE = timedelta(hours=1)
RemoteChange: TypeAlias = Literal["threads", "replies", "reviews", "change_requests", "merges"]


class Poller:
    """Decides when a poll is due, and runs polls."""

    def __init__(
        self,
        live: Live,
        *,
        visible: Callable[[], Sequence[Operation[Any]]] = lambda: (),
        after_poll: Callable[[], Awaitable[None]],
    ) -> None:
        """`visible` returns the operations of the responses on screen. `after_poll` is called after each poll."""
        self._live, self._visible, self._after_poll = live, visible, after_poll
        self._last_key_at = self._polled_at = live.now()
        self._is_polling = False
        self._failed_polls = 0
        self._retry_at = LONG_AGO
        self._unlisted: list[ChangeRequest] = []
        """Change requests that are no longer listed as open or draft, and whose new status is not fetched yet."""

    def on_key_pressed(self) -> None:
        """Record that the user is active. Polls are then more frequent."""
        self._last_key_at = self._live.now()

    @property
    def interval(self) -> timedelta:
        """The current interval between two polls."""
        idle = self._live.now() - self._last_key_at
        normal_interval = next(each for longest, each in INTERVALS if idle <= longest)
        interval_after_failures = INTERVALS[0][1] * 2**self._failed_polls if self._failed_polls else normal_interval
        return max(normal_interval, min(interval_after_failures, INTERVALS[-1][1]))

    @property
    def is_due(self) -> bool:
        """True if a poll must run now. False while a poll is running, or while `may_poll` is False."""
        now = self._live.now()
        if self._is_polling or self._polled_at <= now < self._retry_at or not self.may_poll():
            return False
        return now - self._polled_at >= self.interval or now < self._polled_at  # The clock may have been set back.

    def may_poll(self) -> bool:
        """Return whether polls are allowed. False while the terminal is hidden or the rate limit is nearly reached."""
        return not (self._live.syncer.is_hidden or self._live.syncer.rate_limit_wait())

    async def run(self) -> RemoteChanges:
        """Fetch what has changed on the server. Return the changes by other users, even if a request failed."""
        self._is_polling, self._polled_at = True, self._live.now()
        me = self._live.outbox.me
        detector = RemoteChangeDetector(me.id if me is not None else "")
        old_values = {each: each.value for each in self._live.watched}
        current_unlisted: list[ChangeRequest] = []
        try:
            try:
                await self._fetch_changed_responses()
            finally:
                # Unchanged responses are compared too, because a change request may have moved from one list to another.
                for each, value in old_values.items():
                    detector.count_changes(each.op, value, each.value)
                self._unlisted += detector.unlisted
            current_unlisted = await self._fetch_unlisted()
            await self._after_poll()
        except ApiError as error:
            self._record_failure(error)
        else:
            self._failed_polls = 0
        finally:
            self._is_polling = False
        return detector.changes(current_unlisted)

    async def _fetch_changed_responses(self) -> None:
        live = self._live
        for response in _watched_lists(live):
            with suppress(NotFound, Forbidden):  # the view of the list shows this error
                if response.watchers and not response.is_loading:
                    await live.syncer.get(response.op, Rank.AWAITED)
        plan = _view_planner(live, self._visible())
        live.syncer.run(plan)
        await live.syncer.wait_idle(plan.owner)
        plan.mark_unchanged_as_current()

    async def _fetch_unlisted(self) -> list[ChangeRequest]:
        """Fetch up to `MAX_FETCHED_STATUSES` change requests of `_unlisted`, to learn whether they were merged or
        archived. Remove them from `_unlisted`, and return those that the user can still read. Raises ApiError."""
        current_requests, count = [], 0
        for each in self._unlisted[:MAX_FETCHED_STATUSES]:
            if not self.may_poll():
                break
            if each.space is not None:
                at = each.ref(SpaceRef(space_id=each.space))
                with suppress(NotFound, Forbidden):
                    current_requests.append(await self._live.fetch(change_requests.Get(at=at), rank=Rank.AWAITED))
            count += 1
        del self._unlisted[:count]
        return current_requests

    def _record_failure(self, error: ApiError) -> None:
        max_failed_polls = MAX_FAILED_POLLS_OFFLINE if error.outcome is Outcome.NOT_SENT else MAX_FAILED_POLLS
        self._failed_polls = min(max_failed_polls, self._failed_polls + 1)
        if error.trace.retry_at is not None:
            self._retry_at = error.trace.retry_at


def adopt_fingerprints(live: Live, op: Operation[Any]) -> None:
    """Store the fingerprints of responses before the response to `op` is replaced, if `op` lists fingerprints."""
    if isinstance(op, _LISTS):
        fetch_times = [each.fetched_at for each in _watched_lists(live) if each.fetched_at is not None]
        _view_planner(live).adopt_fingerprints(max(fetch_times, default=LONG_AGO))


def _watched_lists(live: Live) -> list[LiveResponse]:
    return [each for each in live.watched if isinstance(each.op, _LISTS)]


def _view_planner(live: Live, visible: Iterable[Operation[Any]] = ()) -> ViewPlanner:
    fingerprints = ListedFingerprints()
    fingerprints.update(response.value for response in _watched_lists(live))
    return ViewPlanner(live, fingerprints, visible)


class ViewPlanner:
    """Decides which responses of views a poll fetches. The lists of the organization are not included."""

    owner = "views"

    def __init__(self, live: Live, fingerprints: ListedFingerprints, visible: Iterable[Operation[Any]]) -> None:
        self._live, self._fingerprints, self._visible = live, fingerprints, set(visible)
        self._watched = {each.op: each for each in live.watched if not isinstance(each.op, _LISTS)}
        self._with_fingerprint: list[NeededResponse] = []
        """The responses with a fingerprint that the last call of `needed_responses` has yielded."""

    def adopt_fingerprints(self, listed_at: datetime) -> None:
        """Store the fingerprints computed from the lists, for watched responses that were requested since `listed_at`,
        the
        time of the newest list."""
        cache = self._live.cache
        for response in self._watched.values():
            requested_at, version = response.requested_at, cache.versions.get(response.url)
            if requested_at is None or requested_at < listed_at:
                continue  # The response may be older than the list, so the fingerprint may not fit.
            is_older = version is None or version.requested_at < requested_at
            if is_older and (fingerprint := self._fingerprint(response.op)):
                cache.put_version(response.url, fingerprint, requested_at=requested_at)

    def needed_responses(self) -> Iterator[NeededResponse]:
        """Yield a few responses to fetch in any case, then more responses to fetch if their fingerprint has changed."""
        now, versions = self._live.now(), self._live.cache.versions
        self._with_fingerprint = [each for op in self._watched if (each := self._needed(op)).fingerprint]
        due_urls = {each.url for each in self._with_fingerprint if is_due(each, versions.get(each.url), now)}
        # The fingerprints of content show every change, so content is not rechecked.
        recheckable = [self._needed(op) for op in self._watched if not (is_of_content(op) and self._fingerprint(op))]
        recheckable = [
            each for each in recheckable if each.url not in due_urls and not self._is_recent_account_data(each, now)
        ]
        visible_responses = [each for each in recheckable if each.op in self._visible]
        hidden_responses = [each for each in recheckable if each.op not in self._visible]
        rechecks = recheck(visible_responses, self._last_fetched, MAX_RECHECKED_VISIBLE, now)
        rechecks += recheck(hidden_responses, self._last_fetched, MAX_RECHECKED_HIDDEN, now)
        yield from (replace(each, order=1.0) for each in rechecks)  # rechecks come after changed responses
        rechecked_urls = {each.url for each in rechecks}
        yield from (each for each in self._with_fingerprint if each.url not in rechecked_urls)

    def on_response(self, needed: NeededResponse, value: Any) -> Iterator[NeededResponse]:
        """Yield watched pages of a page tree, or watched replies of fetched threads, that have a fingerprint."""
        match needed.op:
            case content.ListPages(at=SpaceRef() as at):
                page_ops = [op for op in self._watched if isinstance(op, content.GetPage) and op.at == at]
                yield from (each for op in page_ops if (each := self._needed(op)).fingerprint)
            case comments.List(at=at):
                reply_ops = [op for op in self._watched if isinstance(op, comments.ListReplies) and op.at == at]
                yield from (each for op in reply_ops if (each := self._needed(op)).fingerprint)

    def mark_unchanged_as_current(self) -> None:
        """Record that the responses with unchanged fingerprints are current."""
        versions = self._live.cache.versions
        for needed in self._with_fingerprint:
            version = versions.get(needed.url)
            if version is not None and version.fingerprint == self._fingerprint(needed.op) and not version.error:
                self._watched[needed.op].checked_at = self._live.now()

    def _needed(self, op: Operation[Any]) -> NeededResponse:
        return NeededResponse(op, self._watched[op].url, self.owner, Rank.VISIBLE, self._fingerprint(op))

    def _is_recent_account_data(self, needed: NeededResponse, now: datetime) -> bool:
        age = now - self._last_fetched(needed.url).requested_at
        return isinstance(needed.op, _ACCOUNT_OPERATIONS) and timedelta() <= age < ACCOUNT_AGE

    def _last_fetched(self, url: str) -> Version:
        response = next(each for each in self._watched.values() if each.url == url)
        return Version("", response.fetched_at or LONG_AGO)

    def _fingerprint(self, op: Operation[Any]) -> str:
        """Return a text that changes when the response to `op` changes. Empty if no loaded list shows its changes."""
        match op:
            case comments.ListReplies():
                return self._replies_fingerprint(op)
            case content.GetPage(at=SpaceRef() as at) if (page := self._page_in_tree(at, op.page_id)) is not None:
                return page_fingerprint(page, self._fingerprints.fingerprint_of(op))
        return self._fingerprints.fingerprint_of(op)

    def _page_in_tree(self, at: SpaceRef, page_id: str) -> content.Page | None:
        tree = self._watched.get(content.ListPages(at=at))
        pages = tree.value.walk() if tree is not None and tree.value is not None else ()
        return next((page for page in pages if page.id == page_id), None)

    def _replies_fingerprint(self, op: comments.ListReplies) -> str:
        lists = [
            response.value
            for each, response in self._watched.items()
            if isinstance(each, comments.List) and each.at == op.at
        ]
        threads = [each for listed in lists if listed is not None for each in listed.items if each.id == op.comment_id]
        return replies_fingerprint(threads[0]) if threads else ""


class RemoteChanges(NamedTuple):
    """Changes that a poll has found on the server. `RemoteChangeDetector` says which changes are counted."""

    counts: Counter[RemoteChange]
    merged: tuple[ChangeRequest, ...]


class RemoteChangeDetector:
    """Counts new threads, replies, reviews, change requests and merges, by comparing old and new responses. Leaves out
    what the user created, but counts all merges, and all replies whose author is unknown."""

    def __init__(self, my_id: str) -> None:
        self._my_id = my_id
        self._threads: set[str] = set()
        self._replies: dict[tuple[Discussion, str], int] = {}
        self._reviews: set[str] = set()
        self._requests_before: dict[str, ChangeRequest] = {}
        self._requests_after: dict[str, ChangeRequest] = {}

    def count_changes(self, op: Operation[Any], before: object, after: object) -> None:
        """Count the changes from the response `before` to the response `after` of `op`."""
        if not isinstance(before, ListPage) or not isinstance(after, ListPage):
            return
        old_items = {getattr(item, "id", None): item for item in before.items}
        new_items = [item for item in after.items if getattr(item, "id", None) not in old_items]
        match op:
            case comments.List():
                # If the old list was only partly loaded, nothing is counted, because an old thread may look new.
                if before.next is None:
                    self._threads |= {
                        item.id for item in new_items if item.is_open_thread and item.posted_by.id != self._my_id
                    }
                for item in after.items:
                    if (old_thread := old_items.get(item.id)) is not None and item.replies > old_thread.replies:
                        self._add_new_replies(op.at, item.id, item.replies - old_thread.replies)
            case comments.ListReplies():
                if before.next is None:
                    others_count = sum(item.posted_by.id != self._my_id for item in new_items)
                    self._add_new_replies(op.at, op.comment_id, others_count)
            case reviews.List():
                if before.next is None:
                    self._reviews |= {item.id for item in new_items if item.reviewer.id != self._my_id}
            case change_requests.ListOfOrganization(status="open" | "draft") if not (before.next or after.next):
                self._requests_before |= {item.id: item for item in before.items}
                self._requests_after |= {item.id: item for item in after.items}

    @property
    def unlisted(self) -> list[ChangeRequest]:
        """Change requests in the old lists of open and draft change requests that are not in the new lists."""
        return [each for name, each in self._requests_before.items() if name not in self._requests_after]

    def changes(self, current_unlisted: Iterable[ChangeRequest]) -> RemoteChanges:
        """Return the change counts, and the merged requests among `current_unlisted`: `unlisted`, loaded again."""
        merged_requests = tuple(each for each in current_unlisted if each.status == "merged")
        new_requests = [each for name, each in self._requests_after.items() if name not in self._requests_before]
        counts: Mapping[RemoteChange, int] = {
            "threads": len(self._threads),
            "replies": sum(self._replies.values()),
            "reviews": len(self._reviews),
            "change_requests": sum(
                each.created_by is None or each.created_by.id != self._my_id for each in new_requests
            ),
            "merges": len(merged_requests),
        }
        return RemoteChanges(Counter(counts), merged_requests)

    def _add_new_replies(self, at: Discussion, thread_id: str, new_count: int) -> None:
        if new_count > 0:
            self._replies[at, thread_id] = max(new_count, self._replies.get((at, thread_id), 0))
