"""The current rows of the inbox: fetches what they are built from, with few requests, and only while somebody
watches.

    answers = InboxAnswers(live, drafts, organization)
    leave = answers.watch(self.show)           # called now with the cached rows, and on each change
    await answers.refresh()                    # another turn: the lists, what has changed, and a few rechecks

A turn fetches the three lists of the organization, then only the responses whose stamps differ from the stored
versions, which may be of an earlier run. In the first turn all of them differ: those that most likely concern the
user are fetched first, four at a time.

Only its replies say whether a thread of others mentions the user or has a reply by the user. For thousands of
threads those are too many requests at once: a turn fetches the replies of the last `AT_A_TURN` threads, `read_on`
the others, one by one with pauses, each once for all runs. Until then the rows say that replies are not loaded
yet.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, count
from typing import Any, Literal

from octavo.api import teams, users
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import (
    ApiError,
    Forbidden,
    NotFound,
    NotSent,
    Outcome,
    PaginationError,
    RateLimited,
    Unauthorized,
)
from octavo.api.operation import Listing, ListPage
from octavo.api.organizations import Organization
from octavo.api.paging import read_pages
from octavo.api.places import ChangeRequestRef, Discussion, OrganizationRef
from octavo.api.urgency import asked_for
from octavo.concurrency import Tasks
from octavo.data import inbox_parts
from octavo.data.answer import Snapshot
from octavo.data.drafts import Draft, Drafts
from octavo.data.inbox import Inbox, InboxFacts, Row, ThreadRef, Unknown, is_undecided, message_facts, ref_of
from octavo.data.inbox_kept import packed, unpacked
from octavo.data.inbox_making import InboxMaking
from octavo.data.inbox_parts import Part
from octavo.data.live import Live
from octavo.data.observers import Observers
from octavo.data.queries import MOST, UNDECIDED, change_requests_of, spaces_of
from octavo.data.sync_queue import Rank, Version
from octavo.data.writes.machine import OutboxEntry

AT_ONCE = 4
"""Requests at the same time. The client sends six: the others are left for the user."""
MOST_LISTED = 10_000
"""Spaces, or change requests of a status, that are read."""
BETWEEN = 0.25
"""Seconds between two times that rows are built while responses arrive."""
AT_A_TURN = 200
"""Threads of others whose replies are fetched in a turn."""
PATIENCE = 3.0
"""Seconds for which the cached rows are shown unchanged while the lists are fetched."""
MOST_IN_VAIN = 3
"""Requests in a row that fail or time out, after which the turn ends."""
PAUSE, SHOWN_EVERY = 0.15, 3.0
"""Seconds between two requests of `read_on`, and until their results are shown."""
TEAMS_HOLD = timedelta(hours=1)
"""Time for which the teams of the user are not fetched again."""
SLICE = 40
"""Responses that are processed before the event loop has its turn."""
MOST_SHARED = 10_000
"""People and pages that later comments may share."""
MOST_FOLLOWED = 40
"""Pages of a list that are read after its first."""
_LISTS = ("spaces", *UNDECIDED)
_WHAT = {
    "spaces": "the spaces",
    "open": "the open change requests",
    "draft": "the draft change requests",
    "reviews": "reviews",
    "requested": "the requested reviewers",
    "threads": "threads",
    "replies": "replies",
    "me": "your account",
    "teams": "your teams",
}


_ALL_KNOWN = Unknown()


@dataclass(frozen=True)
class FailedPart:
    """A part of the inbox that could not be loaded."""

    what: str
    """The part, such as `reviews of 3 change requests`."""
    why: str
    """The cause, as a sentence."""
    unreached: bool = False
    """Whether the server was not reached: the cached part is shown."""


@dataclass(frozen=True)
class InboxSnapshot:
    """The inbox as far as it is loaded."""

    rows: tuple[Row, ...] = ()
    unknown: Unknown = _ALL_KNOWN
    """What is not loaded yet and may make rows."""
    asked: int = 0
    """Number of the `of` requests of this turn that have ended."""
    of: int = 0
    is_loading: bool = False
    failed: tuple[FailedPart, ...] = ()
    is_known: bool = False
    """Whether the lists have ever been loaded."""
    is_first: bool = False
    """Whether nothing was cached, so that rows appear one by one."""


@dataclass(eq=False)
class _Sent:
    """A confirmed write until the responses it changed are fetched."""

    entry: OutboxEntry
    waits_for: set[str] | None = None
    """The URLs that have not been fetched since. None if nothing was requested since."""


Turn = Literal["first", "whole", "again", "moved"]
"""A `first` turn takes lists that are being fetched, `whole` fetches them, `again` and `moved` take them as they are.
`whole` and `again` also recheck a few responses; a start leaves that to the next round."""


class InboxAnswers:
    """The responses that the inbox of one organization is built from."""

    def __init__(self, live: Live, drafts: Drafts, organization: Organization) -> None:
        self._live, self._drafts, self._organization = live, drafts, organization
        at = OrganizationRef(organization_id=organization.id)
        self._at = at
        self._listings: dict[str, Listing[Any]] = {
            "spaces": spaces_of(organization.id),
            **{status: change_requests_of(organization.id, status) for status in UNDECIDED},
        }
        self._lists: dict[str, Snapshot[ListPage[Any]]] = {}
        self._plan = _Plan()
        self._me: users.User | None = None
        self._teams: frozenset[str] | None = None
        self._answers = _Answers(live)
        self._errors: dict[str, tuple[str, str, bool]] = {}
        """Failures by URL or name of a list: the kind, the cause, and whether the server was not reached."""
        self._sent: list[_Sent] = []
        self._written: tuple[Draft, ...] = ()
        """The drafts when rows were last built."""
        self._observers: Observers[[InboxSnapshot]] = Observers()
        self._leaving: list[Callable[[], None]] = []
        self._tasks = Tasks("Updating the inbox")
        self._turn: asyncio.Task[None] | None = None
        self._turn_is_quiet = False
        self._reading_on: asyncio.Task[None] | None = None
        self._asked = self._of = 0
        self._in_vain = 0
        """Number of requests in a row that failed."""
        self._shown: InboxSnapshot | None = None
        self._making = InboxMaking(self._known, self._show)
        self._kept_as = f"inbox of {organization.id}"
        self._kept: tuple[Row, ...] | None = None
        """The rows that are stored for the next start. None if there are none."""
        live.outbox.observe_done(lambda entry: self._sent.append(_Sent(entry)))

    def watch(self, watcher: Callable[[InboxSnapshot], None]) -> Callable[[], None]:
        """Call `watcher` now with the snapshot and again on each change. Returns a function that ends this.

        The first watcher begins a turn. When the last one leaves, nothing more is requested.
        """
        is_first, remove = not self._observers, self._observers.add(watcher)
        if is_first:
            if self._kept is None and (kept := self._live.shelf.derived(self._kept_as)) is not None:
                self._kept = unpacked(kept)
                self._making.inbox = Inbox(self._kept)
            for name, op in self._listings.items():
                self._leaving.append(self._live.watch(op, partial(self._list_came, name), anew=False))
            self._leaving.append(self._live.outbox.observe(self.recompute))
            self._take("first")
        watcher(self.now())

        def leave() -> None:
            remove()
            if not self._observers:
                self._stop()

        return leave

    async def refresh(self) -> None:
        """Take a turn, or wait for the one that runs. Sends nothing without watchers."""
        if self._observers:
            await asyncio.wait([self._take("whole")])
            await self._making.up_to_date()

    async def look_again(self) -> None:
        """Take a turn with lists that were just fetched, or wait for the one that runs."""
        if self._observers:
            await asyncio.wait([self._take("again")])
            await self._making.up_to_date()

    def read_on(self, may: Callable[[], bool]) -> None:
        """Fetch what turns leave out, in the background, as long as `may` returns true."""
        if self._observers and self._reading_on is None and may() and self._left():
            self._reading_on = self._tasks.start(self._read_on(may), name="inbox, reading on")
            self._reading_on.add_done_callback(self._read_it)

    def recompute(self) -> None:
        """Build the rows again soon: a draft was written or discarded."""
        if self._observers:
            self._making.soon(BETWEEN if self._asked < self._of else 0.0)

    async def settled(self) -> None:
        """Build the rows from all that is loaded, and wait for them. Sends nothing."""
        self.recompute()
        await self._making.up_to_date()

    @property
    def is_loading(self) -> bool:
        """Return whether a turn runs."""
        return self._turn is not None and not self._turn.done()

    @property
    def at_rest(self) -> bool:
        """Return whether no turn runs and the rows are built from all that is loaded."""
        return not self.is_loading and self._making.at_rest and self._reading_on is None

    @property
    def lists(self) -> tuple[Listing[Any], ...]:
        """The lists that tell what there is and what has changed."""
        return tuple(self._listings.values())

    @property
    def as_of(self) -> datetime | None:
        """When the oldest of the lists was fetched. None if one of them never was."""
        lists = [self._live.as_of(self._listings[name]) for name in _LISTS if name in self._lists]
        read = [each for each in lists if each is not None]
        return min(read) if len(read) == len(_LISTS) else None

    def now(self) -> InboxSnapshot:
        """Return the present snapshot. Sends nothing."""
        inbox, is_loading = self._making.inbox, self.is_loading and not self._turn_is_quiet
        return InboxSnapshot(
            rows=inbox.rows,
            unknown=replace(inbox.unknown, is_being_read=self._reading_on is not None),
            asked=self._asked if is_loading else 0,
            of=self._of if is_loading else 0,
            is_loading=is_loading,
            failed=self._failed(),
            is_known=self.as_of is not None,
            is_first=is_loading and self._kept is None,
        )

    def change_request(self, at: ChangeRequestRef) -> ChangeRequest | None:
        """Return the change request of a row as it is in the lists. None if it is in none."""
        listed = chain(self._items("open"), self._items("draft"))
        return next((each for each in listed if each.id == at.change_request_id and each.space == at.space_id), None)

    @property
    def threads_of_requests(self) -> dict[ChangeRequestRef, tuple[Comment, ...]]:
        """The open comments of each change request, as they were read last. What was not read anew is the same object."""
        read = ((each.at, self._answers.values.get(each.url)) for each in self._plan.threads)
        return {
            at: message_facts
            for at, message_facts in read
            if isinstance(at, ChangeRequestRef) and message_facts is not None
        }

    def comment(self, thread: ThreadRef) -> Comment | None:
        """Return the first comment of the thread of a row, as it was last fetched. None if it is not here."""
        found = self._answers.values.get(inbox_parts.address("threads", thread.at))
        if found is None:
            kept = self._live.shelf.get(inbox_parts.threads_of(thread.at))
            found = kept[0].items if kept is not None else ()
        return next((each for each in found if each.id == thread.comment_id), None)

    def _stop(self) -> None:
        """Request nothing more: nobody watches."""
        for leave in self._leaving:
            leave()
        self._leaving.clear()
        self._making.stop()
        turn, self._turn, self._shown = self._turn, None, None
        for task in filter(None, (turn, self._reading_on)):
            task.cancel()

    def _list_came(self, name: str, snapshot: Snapshot[ListPage[Any]]) -> None:
        items, before = self._items(name), self._lists.get(name)
        self._lists[name] = snapshot
        self._errors.pop(name, None)
        if snapshot.error is not None:
            self._errors[name] = _error(name, snapshot.error)
        self._making.soon(BETWEEN if self._asked < self._of else 0.0, anew=self._items(name) is not items)
        if self.is_loading or snapshot.loading or self._turn is None:
            return
        if before is not None and _is_cut_off(before) and not any(map(_is_cut_off, self._lists.values())):
            self._take("first")  # the server responds again: fetch what failed before
        elif self._has_moved:
            self._take("moved")

    @property
    def _has_moved(self) -> bool:
        return not self._plan.is_of(self._planned())

    def _planned(self) -> tuple[tuple[Any, ...], ...]:
        return tuple(self._items(name) for name in _LISTS)

    def _items(self, name: str) -> tuple[Any, ...]:
        snapshot = self._lists.get(name)
        return snapshot.value.items if snapshot is not None and snapshot.value is not None else ()

    def _show(self) -> None:
        snapshot, rows = self.now(), self._making.inbox.rows
        if not (self.is_loading or snapshot.failed) and rows is not self._kept and snapshot.is_known:
            self._kept = rows
            self._live.shelf.put_derived(self._kept_as, partial(packed, rows))
        if snapshot != self._shown:
            self._shown = snapshot
            self._observers.notify(snapshot)

    # Turns

    def _take(self, turn: Turn) -> asyncio.Task[None]:
        if self._turn is None or self._turn.done():
            self._turn = self._tasks.start(self._taken(turn), name=f"inbox, {turn} turn")
            self._turn.add_done_callback(self._ended)
        return self._turn

    async def _taken(self, turn: Turn) -> None:
        sent = tuple(self._sent) if turn != "moved" else ()
        self._asked = self._of = self._in_vain = 0
        self._turn_is_quiet = turn == "again"
        await self._who()
        if turn == "first" and self._kept is None:
            await self._make_plan()  # cached rows are shown before any response arrives
        if turn in ("first", "whole"):
            await self._read_lists(again=turn == "whole")
            self.recompute()
        await self._make_plan()
        parts = self._plan.parts
        failed = self._errors.keys() & parts.keys()
        forced = [each for url, each in parts.items() if url in failed and not self._answers.is_refused(each)]
        for each in sent:
            touched = [part for part in self._plan.parts.values() if _changed_by(each.entry, part)]
            each.waits_for = {part.url for part in touched}
            forced += touched
        self._sent = [each for each in self._sent if each.waits_for != set()]
        due = self._due(self._plan.parts.values())
        if turn not in ("first", "moved"):
            asked = {each.url for each in due}
            resting = [each for each in self._plan.parts.values() if each.url not in asked]
            read_at, pages, now = self._answers.read_at, self._answers.pages, self._live.now()
            forced += inbox_parts.again(resting, read_at, await self._alive(), now, pages)
        await self._ask(chain(due, forced))
        if (written := self._drafts.all()) != self._written:
            self._written = written
            self.recompute()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is None:
            self._making.may_begin = True
        if task is self._turn and not task.cancelled() and task.exception() is None and self._has_moved:
            self._take("moved")
        if self._observers:  # else the cache may be closed by now
            self._making.soon(0.0, anew=False)

    # Reading on

    def _left(self) -> list[Part]:
        """Return what `read_on` has to fetch, in order."""
        return sorted(self._due(filter(_may_wait, self._plan.parts.values())), key=lambda part: part.order)

    async def _read_on(self, may: Callable[[], bool]) -> None:
        tried = set[str]()
        while left := [each for each in self._left() if each.url not in tried]:
            for part in left[:AT_A_TURN]:
                if not may():
                    return
                tried.add(part.url)
                if self._due([part]):
                    if not await self._read(part):
                        return
                    self._making.soon(SHOWN_EVERY, anew=False)
                    await asyncio.sleep(PAUSE)

    def _read_it(self, task: asyncio.Task[None]) -> None:
        self._reading_on = None
        if self._observers:
            self._making.soon(0.0, anew=False)

    async def _who(self) -> None:
        self._errors.pop("me", None)
        me, before = self._live.outbox.me or self._me, self._me
        try:
            self._me = me if me is not None else await self._live.known(users.Me())
        except ApiError as error:
            self._errors["me"] = _error("me", error)
        if self._me != before:
            self.recompute()

    async def _read_teams(self) -> None:
        """Load the teams of the user, once in a run and not if they were loaded recently."""
        if self._me is None or self._teams is not None:
            return
        self._errors.pop("teams", None)
        op = teams.ListOfMember(at=self._at, user_id=self._me.id, limit=MOST)
        kept = self._live.peek(op)
        if kept.value is not None and kept.fetched_at and self._live.now() - kept.fetched_at < TEAMS_HOLD:
            self._teams = frozenset(each.team.id for each in kept.value.items)
            return
        try:
            self._teams = frozenset(each.team.id for each in (await self._live.fetch(op)).items)
        except ApiError as error:
            self._errors["teams"] = _error("teams", error)
            self._teams = frozenset() if isinstance(error, (Forbidden, NotFound)) else None

    async def _read_lists(self, *, again: bool) -> None:
        """Fetch the lists. Cached responses are taken after them if cached rows are shown, or if the lists take long."""
        reading = asyncio.gather(self._read_teams(), *(self._read_list(name, again=again) for name in _LISTS))
        try:
            if not self._making.may_begin and not (await asyncio.wait([reading], timeout=PATIENCE))[0]:
                await self._make_plan()
            await reading
        finally:
            reading.cancel()

    async def _read_list(self, name: str, *, again: bool) -> None:
        op, live = self._listings[name], self._live
        await (live.refresh(op) if again else live.rested(op))
        await live.read_on(op, MOST_LISTED)

    async def _make_plan(self) -> None:
        """Find out which responses are needed, and take those that are on disk."""
        plan, answers = self._plan, self._answers
        me = self._me.id if self._me is not None else ""
        is_new = await plan.take_lists(me, self._planned())
        await answers.take_kept(plan.places.values())
        for place in plan.threads:
            if plan.take_threads(place, answers.values.get(place.url)):
                is_new = True
                await asyncio.sleep(0)
        if not is_new:
            return
        plan.put_together()
        await answers.take_kept(plan.parts.values())
        self._making.may_begin = True
        answers.keep_only(plan.parts)
        for url in self._errors.keys() - plan.parts.keys() - {*_LISTS, "me", "teams"}:
            del self._errors[url]
        self.recompute()

    async def _alive(self) -> dict[Discussion, datetime]:
        """Return when somebody last wrote in the threads of the user, by place."""
        found: dict[Discussion, datetime] = {}
        me = self._me.id if self._me is not None else ""
        for number, part in enumerate(tuple(self._plan.parts.values())):
            last = self._answers.last_said(part, me)
            if last is not None:
                found[part.at] = max(found.get(part.at, last), last)
            if number % (10 * SLICE) == 0:
                await asyncio.sleep(0)
        return found

    def _due(self, parts: Iterable[Part]) -> list[Part]:
        """Return the responses to fetch, without those of places to which a write is being sent."""
        written = {
            each.at
            for each in self._live.outbox.entries
            if each.state in ("held", "queued", "sending") and not each.needs_user
        }
        is_due = self._answers.is_due
        return [each for each in tuple(parts) if is_due(each) and not (written and each.at in written)]

    async def _ask(self, parts: Iterable[Part]) -> None:
        """Fetch responses and those they lead to, until all have ended or no request gets through. At most
        `AT_A_TURN` of them are replies that may wait."""
        order, queue, taken = count(), list[tuple[tuple[int, float], int, Part]](), set[str]()
        waiting = dict[str, None]()

        def push(more: Iterable[Part]) -> None:
            for part in more:
                if part.url not in taken:
                    taken.add(part.url)
                    if _may_wait(part):
                        waiting[part.url] = None
                    heapq.heappush(queue, (part.order, next(order), part))
            self._of = len(taken) - max(0, len(waiting) - AT_A_TURN)

        left = AT_A_TURN
        push(parts)
        running: set[asyncio.Task[bool]] = set()
        asked: dict[asyncio.Task[bool], Part] = {}
        try:
            while queue or running:
                while queue and len(running) < AT_ONCE:
                    part = heapq.heappop(queue)[2]
                    left -= _may_wait(part)
                    if left < 0:
                        queue.clear()  # all that is left may wait
                        break
                    running.add(task := asyncio.get_running_loop().create_task(self._read(part)))
                    asked[task] = part
                if not running:
                    break
                ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    part = asked.pop(task)
                    if not task.result():
                        queue.clear()
                    elif part.kind == "threads":
                        push(await self._found_in(part))
                    self._asked += 1
                    self._making.soon(BETWEEN, anew=False)
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _found_in(self, part: Part) -> list[Part]:
        """Return what is to be fetched because of the response of `part`."""
        place = self._plan.places.get(inbox_parts.address("threads", part.at))
        if place is None:
            return []
        self._plan.take_threads(place, self._answers.values.get(place.url))
        found = self._plan.within(place)
        self._plan.parts |= {each.url: each for each in found}
        await self._answers.take_kept(found)  # the list may have changed while the replies did not
        return self._due(found)

    async def _read(self, part: Part) -> bool:
        """Fetch one response. Return whether it is worth sending others."""
        try:
            if await self._answers.read(part):
                self._making.soon(SHOWN_EVERY if self._reading_on is not None and not self.is_loading else BETWEEN)
        except ApiError as error:
            self._errors[part.url] = _error(part.kind, error)
            self._in_vain += error.outcome is Outcome.UNKNOWN
            lets_nothing_through = error.outcome is Outcome.NOT_SENT or isinstance(error, (RateLimited, Unauthorized))
            return not (lets_nothing_through or self._in_vain >= MOST_IN_VAIN)
        self._in_vain = 0
        self._errors.pop(part.url, None)
        for each in self._sent:
            if each.waits_for is not None:
                each.waits_for.discard(part.url)
        if any(each.waits_for == set() for each in self._sent):
            self._sent = [each for each in self._sent if each.waits_for != set()]
            self.recompute()
        return True

    # Snapshots

    def _known(self) -> InboxFacts:
        values = self._answers.values
        of: dict[str, dict[Any, Sequence[Any]]] = {"reviews": {}, "requested": {}, "threads": {}}
        replies: dict[Discussion, dict[str, Sequence[Any]]] = {}
        for url, part in self._plan.parts.items():
            if (value := values.get(url)) is not None:
                if part.kind == "replies":
                    replies.setdefault(part.at, {})[part.thread] = value
                else:
                    of[part.kind][part.at] = value
        return InboxFacts(
            me=self._me or self._live.outbox.me,
            teams=self._teams or frozenset(),
            organization=self._organization,
            spaces={each.id: each for each in self._items("spaces")},
            change_requests=(*self._items("open"), *self._items("draft")),
            reviews=of["reviews"],
            requested=of["requested"],
            threads=of["threads"],
            replies=replies,
            entries=(*self._live.outbox.entries, *(each.entry for each in self._sent)),
            drafts=self._drafts.all(),
        )

    def _failed(self) -> tuple[FailedPart, ...]:
        """Return the failures, one for each cause."""
        counted = Counter(self._errors.values())
        return tuple(
            FailedPart(f"{_WHAT[kind]} in {number} locations" if number > 1 else _WHAT[kind], why, unreached)
            for (kind, why, unreached), number in counted.items()
        )


def _error(kind: str, error: ApiError) -> tuple[str, str, bool]:
    return kind, str(error), isinstance(error, NotSent)


def _may_wait(part: Part) -> bool:
    """Return whether `read_on` may fetch a response."""
    return part.rank == inbox_parts.OTHERS


@dataclass(eq=False)
class _Plan:
    """All responses that are needed, computed again only where lists have changed."""

    parts: dict[str, Part] = field(default_factory=dict)
    """All of them, by URL."""
    places: dict[str, Part] = field(default_factory=dict)
    """Those that the lists lead to, by URL."""
    threads: tuple[Part, ...] = ()
    """The lists of threads among them."""
    _me: str = ""
    _lists: tuple[tuple[Any, ...], ...] = ()
    _within: dict[str, tuple[Any, list[Part]]] = field(default_factory=dict)
    """The replies that each list of threads leads to, with that list."""

    def is_of(self, lists: Sequence[tuple[Any, ...]]) -> bool:
        """Return whether the plan is made from these lists of spaces and change requests."""
        return self._lists == tuple(lists)

    async def take_lists(self, me: str, lists: tuple[tuple[Any, ...], ...]) -> bool:
        """Take new lists. Return whether they differ."""
        if me == self._me and len(lists) == len(self._lists) and all(map(_is, lists, self._lists)):
            return False
        if me != self._me:
            self._within.clear()
        self._me, self._lists = me, lists
        spaces, *by_status = lists
        requests = {ref_of(each): each for each in chain(*by_status) if is_undecided(each)}
        places = {each.url: each for each in await _in_slices(inbox_parts.of_requests(requests.values(), me))}
        places |= {each.url: each for each in await _in_slices(inbox_parts.of_spaces(spaces))}
        self.places = places
        self.threads = tuple(each for each in places.values() if each.kind == "threads")
        self._within = {url: each for url, each in self._within.items() if url in places}
        return True

    def take_threads(self, place: Part, threads: tuple[Any, ...] | None) -> bool:
        """Take a new list of threads. Return whether it differs."""
        of = threads, place.rank == inbox_parts.ON_MINE
        known = self._within.get(place.url)
        if known is not None and known[0][0] is threads and known[0][1] is of[1]:
            return False
        found = list(inbox_parts.of_threads(place.at, threads, self._me, of[1])) if threads and self._me else []
        self._within[place.url] = of, found
        return True

    def within(self, place: Part) -> list[Part]:
        """Return the replies that the threads of a place lead to."""
        return self._within[place.url][1] if place.url in self._within else []

    def put_together(self) -> None:
        """Combine what lists and threads lead to."""
        within = (each for place in self.threads for each in self.within(place))
        self.parts = {**self.places, **{each.url: each for each in within}}


def _is(one: object, other: object) -> bool:
    return one is other


class _Answers:
    """The responses of the inbox in memory, with the version of each."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.values: dict[str, tuple[Any, ...]] = {}
        """The items of each response, by URL. Replies are reduced to `Said`."""
        self._shared: dict[Any, Any] = {}
        """People and pages of comments, each once."""
        self._refused: dict[str, str] = {}
        """The stamps at which responses were refused: they are fetched again when these change."""
        self._looked_at: dict[str, Version] = {}
        """The version of each response that was last looked for on disk, or was fetched here."""
        self._versions_of: dict[str, Version] = {}
        """The version that each of `values` is of."""
        self._last_said: dict[str, tuple[object, datetime | None]] = {}
        """When somebody last wrote in the threads of the user, for each response as it was then."""

    @property
    def read_at(self) -> dict[str, datetime]:
        """When each response was fetched, by its URL."""
        return {url: version.read_at for url, version in self._live.shelf.versions.items()}

    @property
    def pages(self) -> dict[str, int]:
        """The number of pages of each response that has several, by URL."""
        return {url: -(-len(items) // MOST) for url, items in self.values.items() if len(items) > MOST}

    def is_due(self, part: Part) -> bool:
        """Return whether a response is to be fetched: it was never fetched, or its stamp differs."""
        if self.is_refused(part):
            return self._refused[part.url] != part.stamp
        version = self._live.shelf.versions.get(part.url)
        return version is None or version.stamp != part.stamp or self._versions_of.get(part.url) != version

    def is_refused(self, part: Part) -> bool:
        """Return whether a response was refused: it may not be read, or does not exist."""
        return part.url in self._refused

    def last_said(self, part: Part, me: str) -> datetime | None:
        """Return when somebody last wrote in the threads of the user in a response. None if nobody has."""
        items = self.values.get(part.url, ())
        known = self._last_said.get(part.url)
        if known is not None and known[0] is items:
            return known[1]
        mine: Sequence[Any] = ()
        if part.kind == "replies":
            mine = items if part.rank == inbox_parts.NEAR or any(each.by == me for each in items) else ()
        elif part.kind == "threads":
            mine = [each for each in items if each.posted_by.id == me]
        last = max((each.posted_at for each in mine if each.posted_at is not None), default=None)
        self._last_said[part.url] = items, last
        return last

    async def read(self, part: Part) -> bool:
        """Fetch the response of `part`. Return whether it differs from the one before. Raises ApiError.

        Of a list that is longer than `MOST_LISTED` items or `MOST_FOLLOWED` pages, or does not end, the first are read.
        """
        try:
            first: ListPage[Any] = await self._live.fetch(part.op, rank=Rank.AWAITED)
            items = list(first.items)
            if first.next is not None:
                send, last = self._live.send, first
                with suppress(PaginationError), asked_for(lambda: False):
                    async for last in read_pages(
                        send, part.op, after=first, max_pages=MOST_FOLLOWED, max_items=MOST_LISTED
                    ):
                        items += last.items
                if last.next is None:  # the whole list is cached, not only its first page
                    self._live.shelf.put(part.op, last.model_copy(update={"items": tuple(items)}))
        except ApiError as error:
            if isinstance(error, (Forbidden, NotFound)):
                self._refused[part.url] = part.stamp
            raise
        self._refused.pop(part.url, None)
        self._live.let_go(part.op)
        before = self.values.get(part.url)
        came = await asyncio.to_thread(self._slimmed, part, items, before)
        self._live.shelf.put_version(part.url, part.stamp)
        version = self._live.shelf.versions[part.url]
        self.values[part.url] = came
        self._looked_at[part.url] = self._versions_of[part.url] = version
        return came is not before

    async def take_kept(self, parts: Iterable[Part]) -> None:
        """Take the responses on disk that are of another version than those here, of this run or an earlier one."""
        shelf, looked_at = self._live.shelf, self._looked_at
        versions = shelf.versions
        wanted = [
            each
            for each in parts
            if (version := versions.get(each.url)) is not None and looked_at.get(each.url) != version
        ]
        looked_at.update((each.url, versions[each.url]) for each in wanted)
        for start in range(0, len(wanted), SLICE):
            some = [(each, looked_at[each.url], shelf.body(each.op)) for each in wanted[start : start + SLICE]]

            def decode(
                some: Sequence[tuple[Part, Version, Any]] = some,
            ) -> list[tuple[str, Version, tuple[Any, ...]]]:
                kept = [(each, of, shelf.decoded(each.op, *body)) for each, of, body in some if body is not None]
                whole = [(each, of, found[0].items) for each, of, found in kept if found and not found[0].next]
                return [
                    (each.url, of, self._slimmed(each, items, self.values.get(each.url))) for each, of, items in whole
                ]

            for url, version, items in await asyncio.to_thread(decode):
                if looked_at.get(url) == version:  # else another version was fetched meanwhile
                    self.values[url], self._versions_of[url] = items, version

    def keep_only(self, parts: Iterable[str]) -> None:
        """Remove all other responses: nobody needs them now."""
        wanted = set(parts)
        for url in self.values.keys() - wanted:
            del self.values[url]
            self._looked_at.pop(url, None)
            self._versions_of.pop(url, None)
            self._last_said.pop(url, None)
        if len(self._shared) > MOST_SHARED:
            self._shared.clear()

    def _slimmed(self, part: Part, items: Sequence[Any], before: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
        """Return items reduced to what rows depend on: `before` if they are the same. From any thread."""
        came: tuple[Any, ...] = tuple(map(message_facts, items) if part.kind == "replies" else items)
        if before is not None and came == before:
            return before
        return tuple(map(self._sharing, came)) if part.kind == "threads" else came

    def _sharing(self, comment: Comment) -> Comment:
        """Return a comment that shares people, pages and permissions with others."""
        share, target = self._shared.setdefault, comment.target
        by, may, page = comment.posted_by, comment.permissions, target.page
        target = target.model_copy(update={"page": share(page, page)})
        return comment.model_copy(update={"posted_by": share(by, by), "permissions": share(may, may), "target": target})


async def _in_slices(parts: Iterable[Part]) -> list[Part]:
    found: list[Part] = []
    for part in parts:
        found.append(part)
        if len(found) % SLICE == 0:
            await asyncio.sleep(0)
    return found


def _is_cut_off(snapshot: Snapshot[Any]) -> bool:
    """Return whether the last request did not reach the server."""
    return isinstance(snapshot.error, NotSent)


def _changed_by(entry: OutboxEntry, part: Part) -> bool:
    """Return whether a write has changed a response."""
    if part.at != entry.at:
        return False
    if entry.is_review:
        return part.kind in ("reviews", "requested")
    return part.kind == "threads" or (part.kind == "replies" and part.thread == entry.facts.thread)
