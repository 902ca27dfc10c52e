"""The inbox as it is now: asks for what its rows are made of, as little as can be, and only while somebody watches.

    answers = InboxAnswers(live, drafts, organization)
    leave = answers.watch(self.show)           # called at once with what is kept, and whenever it changed
    await answers.refresh()                    # a turn more: the lists, what moved, and a few that may have

A turn asks the three lists of the organization, then only for what they say has moved since it was read, also by an
earlier run: what was read lies in the response cache, with a note of what the lists said of it then. On the first turn
everything has moved; what most likely concerns the person is asked first, four questions at a time.

Nothing but its replies says whether somebody is named in a thread of others, or answered there. In thousands of threads
that is too much to ask of a server at once: a turn reads those of the last `AT_A_TURN` threads, and `read_on` the others,
one after the other with pauses, each once for all runs. Until then the rows say that it is not known.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, count
from typing import Any, Literal

from octavo.api import teams, users
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.errors import ApiError, Forbidden, NotFound, NotSent, Outcome, RateLimited, Unauthorized
from octavo.api.operation import Listing, ListPage
from octavo.api.organizations import Organization
from octavo.api.places import ChangeRequestRef, Discussion, OrganizationRef
from octavo.api.urgency import asked_for
from octavo.data import inbox_parts
from octavo.data.answer import Snapshot
from octavo.data.drafts import Draft, Drafts
from octavo.data.inbox import Inbox, Known, Row, ThreadRef, Unknown, ref_of, said, undecided
from octavo.data.inbox_kept import packed, unpacked
from octavo.data.inbox_making import InboxMaking, tell_of_bugs
from octavo.data.inbox_parts import Part
from octavo.data.live import Live
from octavo.data.organization_lists import MOST, UNDECIDED, change_requests_of, spaces_of
from octavo.data.writes.machine import Entry

AT_ONCE = 4
"""Questions under way for the inbox: the client takes six, and what a person waits for is to find room."""
MOST_LISTED = 10_000
"""Spaces, or change requests of a status, that are looked at."""
BETWEEN = 0.25
"""Seconds between two times rows are made while answers come in."""
AT_A_TURN = 200
"""Threads of others whose replies are read within a turn."""
PATIENCE = 3.0
"""Seconds for which the rows of the last run are shown as they are, while the lists are asked."""
MOST_IN_VAIN = 3
"""Questions one after the other that the server fails at, or leaves without an answer: the others are asked another time."""
PAUSE, SHOWN_EVERY = 0.15, 3.0
"""Seconds between two questions when it is read on, and until what came of it is shown."""
TEAMS_HOLD = timedelta(hours=1)
"""How long it is taken for granted in which teams the person is."""
SLICE = 40
"""Parts that are looked at, or kept answers that are read, before the loop has its turn."""
MOST_SHARED = 10_000
"""People and pages that are kept in mind for comments to come, which may speak of the same."""
MOST_FOLLOWED = 40
"""Pages that are read of one answer."""
_LISTS = ("spaces", *UNDECIDED)
_WHAT = {
    "spaces": "the spaces",
    "open": "the open change requests",
    "draft": "the drafts",
    "reviews": "reviews",
    "requested": "who is asked to review",
    "threads": "threads",
    "replies": "replies",
    "me": "who you are",
    "teams": "the teams you are in",
}


_ALL_KNOWN = Unknown()


@dataclass(frozen=True)
class FailedPart:
    """What could not be read."""

    what: str
    """`reviews of 3 change requests`."""
    why: str
    """A sentence."""
    unreached: bool = False
    """Whether the server was not reached: what there is of it is as it was."""


@dataclass(frozen=True)
class InboxSnapshot:
    """The inbox as far as it is known."""

    rows: tuple[Row, ...] = ()
    unknown: Unknown = _ALL_KNOWN
    """What may still make rows."""
    asked: int = 0
    """How many of `of` questions of this turn were answered."""
    of: int = 0
    is_loading: bool = False
    failed: tuple[FailedPart, ...] = ()
    is_known: bool = False
    """Whether the lists were ever read."""
    is_first: bool = False
    """Whether nothing was known before, and rows come one after the other."""


@dataclass(eq=False)
class _Sent:
    """A write that was done, until what it changed was read."""

    entry: Entry
    waits_for: set[str] | None = None
    """The addresses that were not read since. None: nothing was asked since."""


Turn = Literal["first", "whole", "again", "moved"]
"""A turn begins with lists that are asked already, asks them itself, or goes by what they say. `whole` and `again` also read
the few that may have moved all the same: a start leaves that to the next look, and asks as little as can be."""


class InboxAnswers:
    """What the inbox of one organization is made of."""

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
        """What failed, the cause, and whether the server was not reached, by address or the name of a list."""
        self._sent: list[_Sent] = []
        self._written: tuple[Draft, ...] = ()
        """The drafts, when rows were made of them last."""
        self._watchers: list[Callable[[InboxSnapshot], None]] = []
        self._leaving: list[Callable[[], None]] = []
        self._turn: asyncio.Task[None] | None = None
        self._turn_is_quiet = False
        self._reading_on: asyncio.Task[None] | None = None
        self._asked = self._of = 0
        self._in_vain = 0
        """How many of the last questions the server failed at."""
        self._shown: InboxSnapshot | None = None
        self._making = InboxMaking(self._known, self._show)
        self._kept_as = f"inbox of {organization.id}"
        self._kept: tuple[Row, ...] | None = None
        """The rows that the next start shows. None: it would show none."""
        live.outbox.on_done(lambda entry: self._sent.append(_Sent(entry)))

    def watch(self, watcher: Callable[[InboxSnapshot], None]) -> Callable[[], None]:
        """Call `watcher` at once with what is known, and again whenever it changed. Returns the way out.

        The first watcher begins a turn. When the last one leaves, nothing more is asked.
        """
        self._watchers.append(watcher)
        if len(self._watchers) == 1:
            if self._kept is None and (kept := self._live.shelf.made(self._kept_as)) is not None:
                self._kept = unpacked(kept)
                self._making.inbox = Inbox(self._kept)
            for name, op in self._listings.items():
                self._leaving.append(self._live.watch(op, partial(self._list_came, name), anew=False))
            self._leaving.append(self._live.outbox.watch(self.recompute))
            self._take("first")
        watcher(self.now())
        return partial(self._leave, watcher)

    async def refresh(self) -> None:
        """Take a turn, or wait for the one under way. Asks nothing while nobody watches."""
        if self._watchers:
            await asyncio.wait([self._take("whole")])
            await self._making.up_to_date()

    async def look_again(self) -> None:
        """Take a turn after somebody else asked the lists again, or wait for the one under way."""
        if self._watchers:
            await asyncio.wait([self._take("again")])
            await self._making.up_to_date()

    def read_on(self, may: Callable[[], bool]) -> None:
        """Read what turns left out, in the background, as long as `may` says so."""
        if self._watchers and self._reading_on is None and may() and self._left():
            self._reading_on = asyncio.get_running_loop().create_task(self._read_on(may), name="inbox, reading on")
            self._reading_on.add_done_callback(self._read_it)

    def recompute(self) -> None:
        """Make the rows anew in a moment: a draft was written or thrown away."""
        if self._watchers:
            self._making.soon(BETWEEN if self._asked < self._of else 0.0)

    async def settled(self) -> None:
        """Wait until the rows say all that is known. Asks nothing."""
        self.recompute()
        await self._making.up_to_date()

    @property
    def is_loading(self) -> bool:
        """Whether a turn is under way."""
        return self._turn is not None and not self._turn.done()

    @property
    def at_rest(self) -> bool:
        """Whether no turn is under way, and the rows say all that is known."""
        return not self.is_loading and self._making.at_rest and self._reading_on is None

    @property
    def lists(self) -> tuple[Listing[Any], ...]:
        """What asks for the lists that say what there is, and what of it moved."""
        return tuple(self._listings.values())

    @property
    def as_of(self) -> datetime | None:
        """When the oldest of the lists was read. None: not all of them ever were."""
        lists = [self._live.as_of(self._listings[name]) for name in _LISTS if name in self._lists]
        read = [each for each in lists if each is not None]
        return min(read) if len(read) == len(_LISTS) else None

    def now(self) -> InboxSnapshot:
        """What was last made known. Asks nobody."""
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
        """The change request of a row, as the lists tell of it."""
        listed = chain(self._items("open"), self._items("draft"))
        return next((each for each in listed if each.id == at.change_request_id and each.space == at.space_id), None)

    @property
    def threads_of_requests(self) -> dict[ChangeRequestRef, tuple[Comment, ...]]:
        """The open comments of each change request, as they were read last. What was not read anew is the same object."""
        read = ((each.at, self._answers.values.get(each.url)) for each in self._plan.threads)
        return {at: said for at, said in read if isinstance(at, ChangeRequestRef) and said is not None}

    def comment(self, thread: ThreadRef) -> Comment | None:
        """The first comment of the thread of a row, as it was read last."""
        found = self._answers.values.get(inbox_parts.address("threads", thread.at))
        if found is None:
            kept = self._live.shelf.get(inbox_parts.threads_of(thread.at))
            found = kept[0].items if kept is not None else ()
        return next((each for each in found if each.id == thread.comment_id), None)

    def _leave(self, watcher: Callable[[InboxSnapshot], None]) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)
        if not self._watchers:
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
            self._take(
                "first"
            )  # the server answers again: nothing else asks for the parts that it was asked for in vain
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
            self._live.shelf.put_made(self._kept_as, partial(packed, rows))
        if snapshot != self._shown:
            self._shown = snapshot
            for watcher in tuple(self._watchers):
                watcher(snapshot)

    # A turn

    def _take(self, turn: Turn) -> asyncio.Task[None]:
        if self._turn is None or self._turn.done():
            self._turn = asyncio.get_running_loop().create_task(self._taken(turn), name=f"inbox, {turn} turn")
            self._turn.add_done_callback(self._ended)
        return self._turn

    async def _taken(self, turn: Turn) -> None:
        sent = tuple(self._sent) if turn != "moved" else ()
        self._asked = self._of = self._in_vain = 0
        self._turn_is_quiet = turn == "again"
        await self._who()
        if turn == "first" and self._kept is None:
            await self._make_plan()  # what is kept is on show before anything comes
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
        tell_of_bugs(task)
        if not task.cancelled() and task.exception() is None:
            self._making.may_begin = True
        if task is self._turn and not task.cancelled() and task.exception() is None and self._has_moved:
            self._take("moved")
        if self._watchers:  # what they are made of may be closed by now
            self._making.soon(0.0, anew=False)

    # What turns leave out

    def _left(self) -> list[Part]:
        """What is to be read on, the first first."""
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
        tell_of_bugs(task)
        self._reading_on = None
        if self._watchers:
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
        """Once for each run, and not when that was lately: nobody is in other teams from one minute to the next."""
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
        """Read the lists. What is kept is taken after them, when rows of the last run are on show, or when they take long."""
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
        while live.peek(op).goes_on(MOST_LISTED):
            await live.more(op)

    async def _make_plan(self) -> None:
        """Find out what is wanted, and take what is kept of it."""
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
        """When last something was said in threads the person is in, by place."""
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
        """Those that are to be asked for, and that no write is on its way to."""
        written = {
            each.at
            for each in self._live.outbox.entries
            if each.state in ("held", "queued", "sending") and not each.asks
        }
        is_due = self._answers.is_due
        return [each for each in tuple(parts) if is_due(each) and not (written and each.at in written)]

    async def _ask(self, parts: Iterable[Part]) -> None:
        """Ask for parts, and for what their answers show to be wanted, until all have answered or nothing gets through. Of
        what may wait no more than is for a turn."""
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
                        queue.clear()  # what comes now may wait, all of it
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
        """What is to be asked because of the answer to `part`."""
        place = self._plan.places.get(inbox_parts.address("threads", part.at))
        if place is None:
            return []
        self._plan.take_threads(place, self._answers.values.get(place.url))
        found = self._plan.within(place)
        self._plan.parts |= {each.url: each for each in found}
        await self._answers.take_kept(found)  # the list may have moved while the replies did not
        return self._due(found)

    async def _read(self, part: Part) -> bool:
        """Read one answer. Whether others are worth to be asked for."""
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

    # What is known

    def _known(self) -> Known:
        values = self._answers.values
        of: dict[str, dict[Any, Sequence[Any]]] = {"reviews": {}, "requested": {}, "threads": {}}
        replies: dict[Discussion, dict[str, Sequence[Any]]] = {}
        for url, part in self._plan.parts.items():
            if (value := values.get(url)) is not None:
                if part.kind == "replies":
                    replies.setdefault(part.at, {})[part.thread] = value
                else:
                    of[part.kind][part.at] = value
        return Known(
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
        """What failed, once for each cause."""
        counted = Counter(self._errors.values())
        return tuple(
            FailedPart(f"{_WHAT[kind]} of {number} places" if number > 1 else _WHAT[kind], why, unreached)
            for (kind, why, unreached), number in counted.items()
        )


def _error(kind: str, error: ApiError) -> tuple[str, str, bool]:
    return kind, str(error), isinstance(error, NotSent)


def _may_wait(part: Part) -> bool:
    """Whether it is read on in the background where there is much of it."""
    return part.rank == inbox_parts.OTHERS


@dataclass(eq=False)
class _Plan:
    """All that is wanted, made anew only where what it is made of came differently."""

    parts: dict[str, Part] = field(default_factory=dict)
    """By address."""
    places: dict[str, Part] = field(default_factory=dict)
    """What the lists show to be wanted."""
    threads: tuple[Part, ...] = ()
    """Those of it that are threads."""
    _me: str = ""
    _lists: tuple[tuple[Any, ...], ...] = ()
    _within: dict[str, tuple[Any, list[Part]]] = field(default_factory=dict)
    """What the threads of a place show to be wanted, and those threads."""

    def is_of(self, lists: Sequence[tuple[Any, ...]]) -> bool:
        """Whether it is made of these lists: spaces, and change requests by their status."""
        return self._lists == tuple(lists)

    async def take_lists(self, me: str, lists: tuple[tuple[Any, ...], ...]) -> bool:
        """Take over what lists show to be wanted. Whether they came differently."""
        if me == self._me and len(lists) == len(self._lists) and all(map(_is, lists, self._lists)):
            return False
        if me != self._me:
            self._within.clear()
        self._me, self._lists = me, lists
        spaces, *by_status = lists
        requests = {ref_of(each): each for each in chain(*by_status) if undecided(each)}
        places = {each.url: each for each in await _in_slices(inbox_parts.of_requests(requests.values(), me))}
        places |= {each.url: each for each in await _in_slices(inbox_parts.of_spaces(spaces))}
        self.places = places
        self.threads = tuple(each for each in places.values() if each.kind == "threads")
        self._within = {url: each for url, each in self._within.items() if url in places}
        return True

    def take_threads(self, place: Part, threads: tuple[Any, ...] | None) -> bool:
        """Take over what the threads of a place show to be wanted. Whether they came differently."""
        of = threads, place.rank == inbox_parts.ON_MINE
        known = self._within.get(place.url)
        if known is not None and known[0][0] is threads and known[0][1] is of[1]:
            return False
        found = list(inbox_parts.of_threads(place.at, threads, self._me, of[1])) if threads and self._me else []
        self._within[place.url] = of, found
        return True

    def within(self, place: Part) -> list[Part]:
        """What the threads of a place show to be wanted."""
        return self._within[place.url][1] if place.url in self._within else []

    def put_together(self) -> None:
        """Let `parts` be all that is wanted."""
        within = (each for place in self.threads for each in self.within(place))
        self.parts = {**self.places, **{each.url: each for each in within}}


def _is(one: object, other: object) -> bool:
    return one is other


class _Answers:
    """Answers in memory and in the response cache, with what the lists said of each when it was read."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.values: dict[str, tuple[Any, ...]] = {}
        """The items of each, by its address. Of replies, what is `Said`."""
        self._shared: dict[Any, Any] = {}
        """People and pages that comments speak of, each once."""
        self._noted: dict[str, tuple[str, datetime]] | None = None
        self._refused: dict[str, str] = {}
        """The stamps at which answers were refused: they are not asked for again before they move."""
        self._looked: set[str] = set()
        """Of what it was seen whether anything is kept."""
        self._last_said: dict[str, tuple[object, datetime | None]] = {}
        """When last something was said in the threads the person is in, of answers as they were then."""

    @property
    def noted(self) -> dict[str, tuple[str, datetime]]:
        """What the lists said of each answer when it was read, and when that was."""
        if self._noted is None:
            self._noted = self._live.shelf.readings()
        return self._noted

    @property
    def read_at(self) -> dict[str, datetime]:
        """When each was read."""
        return {url: at for url, (_, at) in self.noted.items()}

    @property
    def pages(self) -> dict[str, int]:
        """Of how many pages each is that has more than one."""
        return {url: -(-len(items) // MOST) for url, items in self.values.items() if len(items) > MOST}

    def is_due(self, part: Part) -> bool:
        """Whether it is to be asked for, because it moved or was never read."""
        noted = self.noted.get(part.url)
        if self.is_refused(part):
            return self._refused[part.url] != part.stamp
        return noted is None or noted[0] != part.stamp or part.url not in self.values

    def is_refused(self, part: Part) -> bool:
        """Whether it may not be seen, or is not there: then it is asked for once it moved, and not before."""
        return part.url in self._refused

    def last_said(self, part: Part, me: str) -> datetime | None:
        """When last something was said in those threads of `part` the person is in."""
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
        """Ask for it. Whether it came differently. Raises ApiError."""
        try:
            page: ListPage[Any] = await self._live.fetch(part.op, patiently=True)
            items = list(page.items)
            for _ in range(MOST_FOLLOWED):
                if page.next is None or not page.next.page or len(items) >= MOST_LISTED:
                    break
                with asked_for(lambda: False):
                    page = await self._live.send(part.op.model_copy(update={"page": page.next.page}))
                items += page.items
                if page.next is None:  # all of it is kept, and not its first page alone
                    self._live.shelf.put(part.op, page.model_copy(update={"items": tuple(items)}))
        except ApiError as error:
            if isinstance(error, (Forbidden, NotFound)):
                self._refused[part.url] = part.stamp
            raise
        self._refused.pop(part.url, None)
        self._live.let_go(part.op)
        before = self.values.get(part.url)
        came = await asyncio.to_thread(self._slimmed, part, items, before)
        self._note(part)
        self.values[part.url] = came
        return came is not before

    async def take_kept(self, parts: Iterable[Part]) -> None:
        """Take over what is kept of these, of this run or an earlier one."""
        wanted = [each for each in parts if each.url not in self._looked and each.url in self.noted]
        self._looked |= {each.url for each in wanted}
        shelf = self._live.shelf
        for start in range(0, len(wanted), SLICE):
            some = [(each, shelf.body(each.op)) for each in wanted[start : start + SLICE]]

            def decode(some: Sequence[tuple[Part, Any]] = some) -> list[tuple[str, tuple[Any, ...]]]:
                kept = [(each, shelf.decoded(each.op, *body)) for each, body in some if body is not None]
                whole = [(each, found[0].items) for each, found in kept if found is not None and not found[0].next]
                return [(each.url, self._slimmed(each, items)) for each, items in whole]

            for url, items in await asyncio.to_thread(decode):
                self.values.setdefault(url, items)

    def keep_only(self, parts: Iterable[str]) -> None:
        """Let go of all other answers: nobody wants them now."""
        wanted = set(parts)
        for url in self.values.keys() - wanted:
            del self.values[url]
            self._looked.discard(url)
            self._last_said.pop(url, None)
        if len(self._shared) > MOST_SHARED:
            self._shared.clear()

    def _slimmed(self, part: Part, items: Sequence[Any], before: tuple[Any, ...] | None = None) -> tuple[Any, ...]:
        """Items with what rows depend on, and without what is in memory already: `before`, if they are as they were. In any
        thread."""
        came: tuple[Any, ...] = tuple(map(said, items) if part.kind == "replies" else items)
        if before is not None and came == before:
            return before
        return tuple(map(self._sharing, came)) if part.kind == "threads" else came

    def _sharing(self, comment: Comment) -> Comment:
        """A comment that has people, pages and permissions in common with others."""
        share, target = self._shared.setdefault, comment.target
        by, may, page = comment.posted_by, comment.permissions, target.page
        target = target.model_copy(update={"page": share(page, page)})
        return comment.model_copy(update={"posted_by": share(by, by), "permissions": share(may, may), "target": target})

    def _note(self, part: Part) -> None:
        self._looked.add(part.url)  # it is here: what is kept of it says nothing more
        self.noted[part.url] = (part.stamp, self._live.now())
        self._live.shelf.note(part.url, part.stamp)


async def _in_slices(parts: Iterable[Part]) -> list[Part]:
    found: list[Part] = []
    for part in parts:
        found.append(part)
        if len(found) % SLICE == 0:
            await asyncio.sleep(0)
    return found


def _is_cut_off(snapshot: Snapshot[Any]) -> bool:
    """Whether the server was not reached when it was asked for last."""
    return isinstance(snapshot.error, NotSent)


def _changed_by(entry: Entry, part: Part) -> bool:
    """Whether a write changed what `part` answers."""
    if part.at != entry.at:
        return False
    if entry.is_verdict:
        return part.kind in ("reviews", "requested")
    return part.kind == "threads" or (part.kind == "replies" and part.thread == entry.facts.thread)
