"""The inbox as it is now: asks for what its rows are made of, as little as can be, and only while somebody watches.

    answers = InboxAnswers(live, drafts, organization)
    leave = answers.watch(self.show)           # called at once with what is kept, and whenever it changed
    await answers.refresh()                    # a turn more: the lists, what moved, and a few that may have

A turn asks the three lists of the organization, then only for what they say has moved since it was read, also by an
earlier run: what was read lies in the response cache, with a note of what the lists said of it then. On the first turn
everything has moved; what most likely concerns the person is asked first, four questions at a time.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
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
from octavo.data.drafts import Drafts
from octavo.data.entry import Entry
from octavo.data.inbox import Inbox, Known, Row, ThreadRef, Unknown, inbox_of, ref_of, said, undecided
from octavo.data.inbox_parts import PAGES_AGAIN, PAGES_AT_FIRST, Part
from octavo.data.live import Live
from octavo.data.organization_lists import MOST, UNDECIDED, change_requests_of, spaces_of

AT_ONCE = 4
"""Questions under way for the inbox: the client takes six, and what a person waits for is to find room."""
MOST_LISTED = 10_000
"""Spaces, or change requests of a status, that are looked at."""
BETWEEN = 0.25
"""Seconds between two times rows are made while answers come in."""
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
    fetched_at: datetime | None = None
    """When the oldest of the lists was read. None: not all of them ever were."""


@dataclass(eq=False)
class _Sent:
    """A write that was done, until what it changed was read."""

    entry: Entry
    waits_for: set[str] | None = None
    """The addresses that were not read since. None: nothing was asked since."""


Turn = Literal["first", "whole", "again", "moved"]
"""A turn begins with lists that are asked already, asks them itself, or goes by what they say: `again` also reads the few
that may have moved all the same."""


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
        self._planned: tuple[Any, ...] = ()
        """The lists that `_parts` were made of."""
        self._me: users.User | None = None
        self._teams: frozenset[str] | None = None
        self._parts: dict[str, Part] = {}
        """All that is wanted, by address."""
        self._answers = _Answers(live)
        self._errors: dict[str, tuple[str, str]] = {}
        """What failed, and the cause, by address or the name of a list."""
        self._sent: list[_Sent] = []
        self._watchers: list[Callable[[InboxSnapshot], None]] = []
        self._leaving: list[Callable[[], None]] = []
        self._turn: asyncio.Task[None] | None = None
        self._asked = self._of = 0
        self._making = _Making(self._known, self._show)
        live.outbox.on_done(lambda entry: self._sent.append(_Sent(entry)))

    def watch(self, watcher: Callable[[InboxSnapshot], None]) -> Callable[[], None]:
        """Call `watcher` at once with what is known, and again whenever it changed. Returns the way out.

        The first watcher begins a turn. When the last one leaves, nothing more is asked.
        """
        self._watchers.append(watcher)
        if len(self._watchers) == 1:
            for name, op in self._listings.items():
                self._leaving.append(self._live.watch(op, partial(self._list_came, name)))
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

    def recompute(self) -> None:
        """Make the rows anew in a moment: a draft was written or thrown away."""
        if self._watchers:
            self._making.soon(BETWEEN if self._asked < self._of else 0.0)

    async def settled(self) -> None:
        """Wait until the rows say all that is known. Asks nothing."""
        await self._making.up_to_date()

    @property
    def is_loading(self) -> bool:
        """Whether a turn is under way."""
        return self._turn is not None and not self._turn.done()

    @property
    def at_rest(self) -> bool:
        """Whether no turn is under way, and the rows say all that is known."""
        return not self.is_loading and self._making.at_rest

    def now(self) -> InboxSnapshot:
        """What was last made known. Asks nobody."""
        inbox = self._making.inbox
        lists = [self._live.as_of(self._listings[name]) for name in _LISTS if name in self._lists]
        fetched = [each for each in lists if each is not None]
        return InboxSnapshot(
            rows=inbox.rows,
            unknown=inbox.unknown,
            asked=self._asked,
            of=self._of,
            is_loading=self.is_loading,
            failed=self._failed(),
            fetched_at=min(fetched) if len(fetched) == len(_LISTS) else None,
        )

    def change_request(self, at: ChangeRequestRef) -> ChangeRequest | None:
        """The change request of a row, as the lists tell of it."""
        listed = chain(self._items("open"), self._items("draft"))
        return next((each for each in listed if each.id == at.change_request_id and each.space == at.space_id), None)

    def comment(self, thread: ThreadRef) -> Comment | None:
        """The first comment of the thread of a row, as it was read last."""
        found = self._answers.values.get(inbox_parts.address("threads", thread.at), ())
        return next((each for each in found if each.id == thread.comment_id), None)

    def _leave(self, watcher: Callable[[InboxSnapshot], None]) -> None:
        if watcher in self._watchers:
            self._watchers.remove(watcher)
        if not self._watchers:
            for leave in self._leaving:
                leave()
            self._leaving.clear()
            self._making.stop()
            turn, self._turn = self._turn, None
            if turn is not None:
                turn.cancel()

    def _list_came(self, name: str, snapshot: Snapshot[ListPage[Any]]) -> None:
        before, self._lists[name] = self._lists.get(name), snapshot
        self._errors.pop(name, None)
        if snapshot.error is not None:
            self._errors[name] = (name, str(snapshot.error))
        self.recompute()
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
        return self._planned != tuple(self._items(name) for name in _LISTS)

    def _items(self, name: str) -> tuple[Any, ...]:
        snapshot = self._lists.get(name)
        return snapshot.value.items if snapshot is not None and snapshot.value is not None else ()

    def _show(self) -> None:
        snapshot = self.now()
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
        self._asked = self._of = 0
        await self._who()
        if turn == "first":
            await self._plan()  # what is kept is on show before anything comes
            self.recompute()
        if turn in ("first", "whole"):
            lists = (self._read_list(name, again=turn == "whole") for name in _LISTS)
            await asyncio.gather(self._read_teams(), *lists)
        await self._plan()
        failed = self._errors.keys() & self._parts.keys()
        forced = [each for url, each in self._parts.items() if url in failed and not self._answers.is_refused(each)]
        for each in sent:
            touched = [part for part in self._parts.values() if _changed_by(each.entry, part)]
            each.waits_for = {part.url for part in touched}
            forced += touched
        self._sent = [each for each in self._sent if each.waits_for != set()]
        if turn != "moved":
            resting = [each for each in self._parts.values() if not self._is_due(each)]
            most = PAGES_AT_FIRST if turn == "first" else PAGES_AGAIN
            read_at, pages, now = self._answers.read_at, self._answers.pages, self._live.now()
            forced += inbox_parts.again(resting, read_at, await self._alive(), now, pages, most)
        await self._ask(chain(filter(self._is_due, tuple(self._parts.values())), forced))

    def _ended(self, task: asyncio.Task[None]) -> None:
        _tell_of_bugs(task)
        if task is self._turn and not task.cancelled() and task.exception() is None and self._has_moved:
            self._take("moved")
        self.recompute()

    async def _who(self) -> None:
        self._errors.pop("me", None)
        me = self._live.outbox.me or self._me
        try:
            self._me = me if me is not None else await self._live.known(users.Me())
        except ApiError as error:
            self._errors["me"] = ("me", str(error))

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
            self._errors["teams"] = ("teams", str(error))
            self._teams = frozenset() if isinstance(error, (Forbidden, NotFound)) else None

    async def _read_list(self, name: str, *, again: bool) -> None:
        op, live = self._listings[name], self._live
        await (live.refresh(op) if again else live.rested(op))
        while live.peek(op).goes_on(MOST_LISTED):
            await live.more(op)

    async def _plan(self) -> None:
        """Find out what is wanted, and take what is kept of it."""
        me = self._me.id if self._me is not None else ""
        spaces, opened, drafted = self._planned = tuple(self._items(name) for name in _LISTS)
        requests = {ref_of(each): each for each in (*opened, *drafted) if undecided(each)}
        parts = {each.url: each for each in await _in_slices(inbox_parts.of_requests(requests.values(), me))}
        parts |= {each.url: each for each in await _in_slices(inbox_parts.of_spaces(spaces))}
        await self._answers.take_kept(parts.values())
        for place in [each for each in parts.values() if each.kind == "threads"]:
            parts |= {each.url: each for each in self._within(place)}
            await asyncio.sleep(0)
        await self._answers.take_kept(parts.values())
        self._parts = parts
        self._answers.keep_only(parts)
        for url in self._errors.keys() - parts.keys() - {*_LISTS, "me", "teams"}:
            del self._errors[url]

    def _within(self, place: Part) -> list[Part]:
        """What is wanted of the threads of a place, as far as those are known."""
        threads = self._answers.values.get(place.url)
        if threads is None or self._me is None:
            return []
        return list(inbox_parts.of_threads(place.at, threads, self._me.id, place.rank == inbox_parts.ON_MINE))

    async def _alive(self) -> dict[Discussion, datetime]:
        """When last something was said in threads the person is in, by place."""
        found: dict[Discussion, datetime] = {}
        me = self._me.id if self._me is not None else ""
        for number, part in enumerate(tuple(self._parts.values())):
            items, mine = self._answers.values.get(part.url, ()), tuple[Any, ...]()
            if part.kind == "replies":
                mine = items if part.rank == inbox_parts.NEAR or any(each.by == me for each in items) else ()
            elif part.kind == "threads":
                mine = tuple(each for each in items if each.posted_by.id == me)
            for last in (each.posted_at for each in mine if each.posted_at is not None):
                found[part.at] = max(found.get(part.at, last), last)
            if number % SLICE == 0:
                await asyncio.sleep(0)
        return found

    def _is_due(self, part: Part) -> bool:
        return self._answers.is_due(part) and not any(
            each.at == part.at and each.state in ("held", "queued", "sending") and not each.asks
            for each in self._live.outbox.entries
        )

    async def _ask(self, parts: Iterable[Part]) -> None:
        """Ask for parts, and for what their answers show to be wanted, until all have answered or nothing gets through."""
        order, queue, taken = count(), list[tuple[int, int, Part]](), set[str]()

        def push(more: Iterable[Part]) -> None:
            for part in more:
                if part.url not in taken:
                    taken.add(part.url)
                    heapq.heappush(queue, (part.rank, next(order), part))
            self._of = len(taken)

        push(parts)
        running: set[asyncio.Task[bool]] = set()
        asked: dict[asyncio.Task[bool], Part] = {}
        try:
            while queue or running:
                while queue and len(running) < AT_ONCE:
                    part = heapq.heappop(queue)[2]
                    running.add(task := asyncio.get_running_loop().create_task(self._read(part)))
                    asked[task] = part
                ended, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in ended:
                    part = asked.pop(task)
                    if not task.result():
                        queue.clear()
                    elif part.kind == "threads":
                        push(await self._found_in(part))
                    self._asked += 1
                    self.recompute()
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def _found_in(self, part: Part) -> list[Part]:
        """What is to be asked because of the answer to `part`."""
        place = self._parts.get(inbox_parts.address("threads", part.at))
        found = self._within(place) if place is not None else []
        self._parts |= {each.url: each for each in found}
        await self._answers.take_kept(found)  # the list may have moved while the replies did not
        return [each for each in found if self._is_due(each)]

    async def _read(self, part: Part) -> bool:
        """Read one answer. Whether others are worth to be asked for."""
        try:
            await self._answers.read(part)
        except ApiError as error:
            self._errors[part.url] = (part.kind, str(error))
            return not (error.outcome is Outcome.NOT_SENT or isinstance(error, (RateLimited, Unauthorized)))
        self._errors.pop(part.url, None)
        for each in self._sent:
            if each.waits_for is not None:
                each.waits_for.discard(part.url)
        self._sent = [each for each in self._sent if each.waits_for != set()]
        return True

    # What is known

    def _known(self) -> Known:
        values = self._answers.values
        of: dict[str, dict[Any, Sequence[Any]]] = {"reviews": {}, "requested": {}, "threads": {}}
        replies: dict[Discussion, dict[str, Sequence[Any]]] = {}
        for url, part in self._parts.items():
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
            FailedPart(f"{_WHAT[kind]} of {number} places" if number > 1 else _WHAT[kind], why)
            for (kind, why), number in counted.items()
        )


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

    async def read(self, part: Part) -> None:
        """Ask for it. Raises ApiError."""
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
        self.values[part.url] = await asyncio.to_thread(self._slimmed, part, items)
        self._note(part)

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
        if len(self._shared) > MOST_SHARED:
            self._shared.clear()

    def _slimmed(self, part: Part, items: Sequence[Any]) -> tuple[Any, ...]:
        """Items with what rows depend on, and without what is in memory already. In any thread."""
        if part.kind == "replies":
            return tuple(map(said, items))
        return tuple(map(self._sharing, items)) if part.kind == "threads" else tuple(items)

    def _sharing(self, comment: Comment) -> Comment:
        """A comment that has people, pages and permissions in common with others."""
        share, target = self._shared.setdefault, comment.target
        by, may, page = comment.posted_by, comment.permissions, target.page
        target = target.model_copy(update={"page": share(page, page)})
        return comment.model_copy(update={"posted_by": share(by, by), "permissions": share(may, may), "target": target})

    def _note(self, part: Part) -> None:
        self.noted[part.url] = (part.stamp, self._live.now())
        self._live.shelf.note(part.url, part.stamp)


class _Making:
    """Makes rows of what is known, in a thread: of thousands of threads that takes a while. Not for each of a thousand
    answers, but of all that came meanwhile."""

    def __init__(self, known: Callable[[], Known], show: Callable[[], None]) -> None:
        self.inbox = Inbox()
        self._known, self._show = known, show
        self._task: asyncio.Task[None] | None = None
        self._is_stale = False
        self._wait = 0.0

    def soon(self, wait: float) -> None:
        """Make them in so many seconds."""
        self._is_stale, self._wait = True, wait
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._make(), name="rows of the inbox")
            self._task.add_done_callback(_tell_of_bugs)

    @property
    def at_rest(self) -> bool:
        """Whether they are made of all that is known."""
        return self._task is None or self._task.done()

    async def up_to_date(self) -> None:
        """Wait until they are made of all that is known."""
        self.soon(0.0)
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    def stop(self) -> None:
        """Nobody watches."""
        if self._task is not None:
            self._task.cancel()

    async def _make(self) -> None:
        while self._is_stale:
            await asyncio.sleep(self._wait)
            self._is_stale = False
            self.inbox = await asyncio.to_thread(inbox_of, self._known())
            self._show()


def _tell_of_bugs(task: asyncio.Task[None]) -> None:
    """What is no `ApiError` is a bug, and nobody waits for this task: the loop tells of it."""
    if not task.cancelled() and (error := task.exception()) is not None:
        task.get_loop().call_exception_handler({"message": "The inbox failed", "exception": error, "task": task})


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
