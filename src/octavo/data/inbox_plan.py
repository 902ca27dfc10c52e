"""The responses that the inbox needs, and when they are fetched again. Sends nothing and does not read the disk itself.

The lists of an organization say when each space and change request was updated and how many open threads it has. A
response is fetched again when its stamp (`stamps.py`) has changed. Lists do not tell of every change: a server
need not change `updatedAt` when a review is requested or withdrawn, and these
lists do not count replies. So each round fetches a few other responses again, the oldest first: no change is missed forever.

Lists of threads lead on to replies. Only its replies say whether a thread of others mentions the user or has a reply
by the user. For thousands of threads those are too many requests at once: in a round, the replies of
`MAX_UNCERTAIN_THREADS` such threads have rank NEEDED, all others rank LATER.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, TypeAlias

from octavo.api import comments, reviews, teams
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import Listing
from octavo.api.places import ChangeRequestRef, Discussion, OrganizationRef
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data import stamps
from octavo.data.comment_text import mention_suffix
from octavo.data.inbox import is_mine, is_undecided, ref_of
from octavo.data.inbox_responses import InboxResponses
from octavo.data.queries import PAGE_LIMIT, open_threads_of, requested_of, reviews_of
from octavo.data.sync_queue import Rank, Version, Want, is_due, recheck
from octavo.data.syncer import RoundKind
from octavo.data.writes.machine import OutboxEntry

KEEPER = "inbox"
MAX_ITEMS = 10_000
"""Items that are read of a list."""
MAX_UNCERTAIN_THREADS = 200
"""Threads of others whose replies are needed in a round."""
MAX_RECHECKED_PAGES = 5
"""Pages of thread lists that are rechecked in a round."""
TEAMS_MAX_AGE = timedelta(hours=1)
"""Time for which the teams of the user are not fetched again at a start."""
_ON_MINE, _IN_SPACES, _NEAR, _OF_OTHERS, _DRAFTS, _MAY_CONCERN = 2, 4, 5, 6, 7, 9
"""Priorities within a rank, lower first: threads of the user's own change requests and of spaces, replies that
concern the user, threads and drafts of others, and replies that may concern the user."""
_MIN_INTERVAL = timedelta(hours=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
Lists: TypeAlias = tuple[tuple[Any, ...], ...]
"""The spaces of an organization, and its change requests by status."""
_by_order = attrgetter("order")


@dataclass(eq=False)
class FinishedWrite:
    """A confirmed write until all responses that it changed are fetched."""

    entry: OutboxEntry
    done_at: datetime
    unfetched: set[str] | None = None
    """The URLs that were not fetched since. None if no round has begun since."""


class InboxPlanner:
    """Tells which responses the inbox of one organization needs."""

    keeper = KEEPER

    def __init__(
        self,
        at: OrganizationRef,
        responses: InboxResponses,
        version_of: Callable[[str], Version | None],
        now: Callable[[], datetime],
    ) -> None:
        """`version_of` returns the version on disk of the response at a URL."""
        self.me = ""
        """The id of the user. Empty if it is not known."""
        self.lists: Lists = ()
        self.is_from_disk = False
        """True if only responses on disk are wanted, also outdated ones."""
        self.busy_places: frozenset[Discussion] = frozenset()
        """Spaces and change requests to which a write is being sent. Their responses are not fetched meanwhile."""
        self.finished: list[FinishedWrite] = []
        self._at, self._responses, self._version_of, self._now = at, responses, version_of, now
        self._computed_from: tuple[str, Lists] = ("", ())
        """The user and the lists of `_places`."""
        self._places: dict[str, Want] = {}
        """The wants that the lists of the organization lead to, by URL."""
        self._mine: set[Discussion] = set()
        """The change requests of the user."""
        self._replies: dict[str, list[Want]] = {}
        """The wants that each list of threads leads to, by its URL."""
        self._all: dict[str, Want] | None = None
        self._uncertain_left = 0
        """Further threads of others whose replies may become needed in this round."""

    @property
    def all_wants(self) -> dict[str, Want]:
        """All wants of lists and threads, by URL."""
        if self._all is None:
            self._all = self._places | {want.url: want for wants in self._replies.values() for want in wants}
        return self._all

    @property
    def teams_url(self) -> str:
        """The URL of the list of the teams of the user. Empty while the user is unknown."""
        return encode(self._teams_op()).url if self.me else ""

    def is_computed_from(self, lists: Lists) -> bool:
        """Return whether the wants are those of these lists."""
        return self._computed_from[1] == lists

    def wants(self, round_kind: RoundKind) -> Iterator[Want]:
        """Return all wants. Those that are fetched although their stamps are the same come again, at the end."""
        now = self._now()
        if self.me:
            yield from self._as_allowed(self._teams_want(round_kind))
        if not (
            self.me == self._computed_from[0]
            and len(self.lists) == len(self._computed_from[1])
            and all(map(_is, self.lists, self._computed_from[1]))
        ):
            yield from self._compute_wants()
        else:
            for want in self._places.values():
                yield from self._as_allowed(want)
        self._uncertain_left = MAX_UNCERTAIN_THREADS
        yield from self._raise_needed(chain.from_iterable(self._replies.values()), now)
        if self.is_from_disk:
            return
        again = list(self._changed_by_writes()) if round_kind != "moved" else []
        if round_kind in ("poll", "refresh"):
            again += self._rechecks({want.url for want in again}, now)
        for want in again:
            yield from self._as_allowed(want)
        self._responses.keep_only(self.all_wants.keys() | {self.teams_url})

    def follow(self, want: Want, value: Any) -> Iterable[Want]:
        """Take a response, and return the wants that it leads to: the replies of threads."""
        self._responses.new[want.url] = want.op, value.items
        version = self._version_of(want.url)
        for each in self.finished:
            if each.unfetched is not None and version is not None and version.requested_at >= each.done_at:
                each.unfetched.discard(want.url)
        if not isinstance(want.op, comments.List) or want.url not in self._places:
            return ()
        at = want.op.at
        found = list(reply_wants(at, value.items, self.me, at in self._mine)) if self.me else []
        self._replies[want.url], self._all = found, None
        return list(self._raise_needed(found, self._now()))

    def drop_finished(self) -> bool:
        """Forget the writes whose changes have all been fetched. Return whether there were any."""
        before = len(self.finished)
        self.finished = [each for each in self.finished if each.unfetched is None or each.unfetched]
        return len(self.finished) != before

    def _compute_wants(self) -> Iterator[Want]:
        """Compute the wants that lists lead to."""
        me, lists = self.me, self.lists
        if me != self._computed_from[0]:
            self._replies = {}
        requests = {ref_of(each): each for each in chain(*lists[1:]) if is_undecided(each)}
        places: dict[str, Want] = {}
        for want in chain(change_request_wants(requests.values(), me), space_wants(lists[0] if lists else ())):
            places[want.url] = want
            yield from self._as_allowed(want)
        self._computed_from, self._places, self._all = (me, lists), places, None
        self._mine = {at for at, about in requests.items() if is_mine(about, me)}
        self._replies = {url: wants for url, wants in self._replies.items() if url in places}

    def _teams_want(self, round_kind: RoundKind) -> Want:
        max_age, url = TEAMS_MAX_AGE if round_kind == "start" else None, self.teams_url
        return Want(self._teams_op(), url, KEEPER, Rank.NEEDED, "teams", 0.0, "your teams", max_age, needs_value=True)

    def _teams_op(self) -> teams.ListOfMember:
        return teams.ListOfMember(at=self._at, user_id=self.me, limit=PAGE_LIMIT)

    def _as_allowed(self, want: Want) -> Iterator[Want]:
        """Return a want. If it may not be fetched now, return it as it is on disk, or nothing."""
        if not self.is_from_disk and getattr(want.op, "at", None) not in self.busy_places:
            yield want
        elif (version := self._version_of(want.url)) is not None and version.stamp:
            yield replace(want, stamp=version.stamp, max_age=None)

    def _raise_needed(self, wants: Iterable[Want], now: datetime) -> Iterator[Want]:
        """Return wants for replies. The first of those that may concern the user are needed in this round."""
        allowed = [each for want in wants for each in self._as_allowed(want)]
        later = (each for each in allowed if each.rank is Rank.LATER and is_due(each, self._version_of(each.url), now))
        needed = {each.url for each in heapq.nsmallest(self._uncertain_left, later, key=_by_order)}
        self._uncertain_left -= len(needed)
        return (replace(each, rank=Rank.NEEDED) if each.url in needed else each for each in allowed)

    def _changed_by_writes(self) -> Iterator[Want]:
        """Return the wants whose responses finished writes have changed since they were fetched."""
        for each in self.finished:
            each.unfetched = set()
            for url in changed_by(each.entry):
                version = self._version_of(url)
                if url in self.all_wants and (version is None or version.requested_at < each.done_at):
                    each.unfetched.add(url)
                    yield replace(self.all_wants[url], max_age=timedelta())

    def _rechecks(self, taken: set[str], now: datetime) -> list[Want]:
        """Choose a few wants that are not due, and return them as due.

        Places with a recent post in a thread of the user are chosen often, others rarely, and each at some time.
        """
        resting = [
            want
            for want in self.all_wants.values()
            if want.url not in taken and not is_due(want, self._version_of(want.url), now)
        ]
        posts = self._last_posts()
        threads = [want for want in resting if isinstance(want.op, comments.List)]
        near = [want for want in threads if place_of(want) in posts]
        far = [want for want in threads if place_of(want) not in posts]
        requests = [want for want in resting if isinstance(want.op, reviews.List | reviews.ListRequested)]
        pages, room = self._responses.pages, MAX_RECHECKED_PAGES

        def chosen(
            wants: Iterable[Want], most: int, expected_interval: Callable[[Want], timedelta] | None = None
        ) -> list[Want]:
            nonlocal room
            by = {"expected_interval": expected_interval} if expected_interval is not None else {}
            found = recheck(wants, self._version_of, most, now, pages=pages, **by)
            room -= sum(pages.get(want.url, 1) for want in found)
            return found

        again = chosen(far, 1)
        again += chosen(near, room, lambda want: max(now - posts[place_of(want)], _MIN_INTERVAL))
        first = {want.url for want in again}
        fits = [want for want in far if want.url not in first and pages.get(want.url, 1) <= room]
        again += chosen(fits, room)
        few = {place_of(want) for want in recheck(requests, self._version_of, 1, now)}
        return again + [replace(want, max_age=timedelta()) for want in requests if place_of(want) in few]

    def _last_posts(self) -> dict[Discussion, datetime]:
        """Return the time of the last post in the threads of the user, by place."""
        found: dict[Discussion, datetime] = {}
        for url, want in self.all_wants.items():
            is_near = want.rank is not Rank.LATER
            last = self._responses.last_post(want.op, url, self.me, is_mine=is_near)
            if last is not None:
                at = place_of(want)
                found[at] = max(found.get(at, last), last)
        return found


def change_request_wants(requests: Iterable[ChangeRequest], me: str) -> Iterator[Want]:
    """Return the wants of change requests, as lists tell of them."""
    for about in requests:
        if not is_undecided(about):
            continue
        at, mine, is_open = ref_of(about), is_mine(about, me), about.status == "open"
        stamp, when = stamps.reviews_stamp(about), about.updated_at
        others = 3 if is_open else _DRAFTS
        yield _want(reviews.List, at, stamp, 1 if mine else others, when)
        yield _want(reviews.ListRequested, at, stamp, 0 if is_open and not mine else _DRAFTS, when)
        if about.comments > 0:
            yield _want(comments.List, at, stamps.open_threads_stamp(about), _ON_MINE if mine else _OF_OTHERS, when)


def space_wants(spaces: Iterable[Space]) -> Iterator[Want]:
    """Return the wants of spaces, as lists tell of them."""
    for space in spaces:
        if space.comments > 0:
            stamp = stamps.open_threads_stamp(space)
            yield _want(comments.List, space.ref, stamp, _IN_SPACES, space.updated_at)


def reply_wants(at: Discussion, threads: Sequence[Comment], me: str, on_mine: bool) -> Iterator[Want]:
    """Return the replies of the open threads of a place that have any. Only replies say whether they mention the user;
    only newer servers list who replied."""
    naming = mention_suffix(me)
    for thread in threads:
        if thread.is_open_thread and thread.replies > 0:
            by, stamp = thread.repliers or (), stamps.replies_stamp(thread)
            is_sure = (
                on_mine or naming in thread.body.text or me in (thread.posted_by.id, *(each.user.id for each in by))
            )
            last = max((each.updated_at for each in by if each.updated_at is not None), default=None)
            when = last or thread.posted_at
            if is_sure:
                yield _want(comments.ListReplies, at, stamp, _NEAR, when, thread.id)
            else:
                yield _want(comments.ListReplies, at, stamp, _MAY_CONCERN, when, thread.id, Rank.LATER)


def changed_by(entry: OutboxEntry) -> list[str]:
    """Return the URLs of the responses that a write changes."""
    if entry.facts.is_review:
        return [url_of(kind, entry.at) for kind in (reviews.List, reviews.ListRequested)]
    urls = [url_of(comments.List, entry.at)]
    return urls + ([url_of(comments.ListReplies, entry.at, entry.facts.thread)] if entry.facts.thread else [])


def place_of(want: Want) -> Discussion:
    """Return the space or change request of a want."""
    op: Any = want.op
    at: Discussion = op.at
    return at


def url_of(kind: type[Listing[Any]], at: Discussion, thread: str = "") -> str:
    """Return the URL of a response of a place."""
    return _list_operation(kind, at, thread)[1]


def _want(
    kind: type[Listing[Any]],
    at: Discussion,
    stamp: str,
    priority: int,
    updated_at: datetime | None,
    thread: str = "",
    rank: Rank = Rank.NEEDED,
) -> Want:
    """Return a want. Of the same priority, what was updated last is fetched first."""
    op, url = _list_operation(kind, at, thread)
    order = priority * 1e11 - (updated_at.timestamp() if updated_at is not None else 0.0)
    return Want(op, url, KEEPER, rank, stamp, order, _LABELS[kind], needs_value=True, min_items=MAX_ITEMS)


@lru_cache(maxsize=20_000)
def _list_operation(kind: type[Listing[Any]], at: Discussion, thread: str) -> tuple[Listing[Any], str]:
    op: Listing[Any]
    if kind is comments.ListReplies:
        op = comments.ListReplies(at=at, comment_id=thread, format="markdown", limit=PAGE_LIMIT)
    elif isinstance(at, ChangeRequestRef) and kind is not comments.List:
        op = reviews_of(at) if kind is reviews.List else requested_of(at)
    else:
        op = open_threads_of(at)
    return op, encode(op).url


def _is(one: object, other: object) -> bool:
    return one is other


_LABELS: dict[type[Listing[Any]], str] = {
    reviews.List: "reviews",
    reviews.ListRequested: "the requested reviewers",
    comments.List: "threads",
    comments.ListReplies: "replies",
}
