"""Computes the stamps of responses, and the wants of the inbox. Sends no requests. The docstring of data/__init__.py
explains stamps and rechecks, and follows a new reply.

A stamp is computed from an item of a list, so that one list shows which of many responses have changed. For example, the
list of spaces has the time of the last update and the number of open threads of each space. If a function that computes
stamps is changed, all responses of its kind are fetched once more.

Only the replies of a thread show whether they mention the user, and there may be thousands of threads of others. So in each
update, only the replies of `MAX_UNCERTAIN_THREADS` threads of others have rank NEEDED. The replies of the other threads have
rank LATER.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeAlias

from octavo.api import comments, reviews, teams
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.content import ListChanges, Page
from octavo.api.links import ListOfSpace
from octavo.api.operation import (
    SPECS,
    ChangeRequestRef,
    Discussion,
    Listing,
    ListPage,
    Operation,
    OrganizationRef,
    SpaceRef,
)
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data.inbox import is_mine, is_undecided, ref_of
from octavo.data.inbox_responses import InboxResponses
from octavo.data.queries import PAGE_LIMIT, open_threads_of, replies_of, requested_reviewers_of, reviews_of
from octavo.data.sync_queue import Rank, Version, Want, is_due, recheck
from octavo.data.writes.machine import OutboxEntry
from octavo.documents.suggestions import mention_suffix

NO_STAMP = "?"
"""Stamp of a response whose changes no list shows. Only `max_age` makes it due again."""
IMMUTABLE_STAMP = "for ever"
"""Stamp of a response that never changes."""


def space_stamp(space: Space) -> str:
    """Return the stamp of a space, which changes with its content, open threads and change requests."""
    return f"{space.revision or ''} {_update_time(space)} {space.comments} {space.change_requests_open} {space.change_requests_draft}"


def page_stamp(page: Page, revision: str) -> str:
    """Return the stamp of a page: its date, or the space's `revision` without a date."""
    return page.updated_at.isoformat() if page.updated_at is not None else revision


def change_request_stamp(change_request: ChangeRequest) -> str:
    """Return the stamp of a change request. The stamp changes with its content, reviews and open threads."""
    outdated = " outdated" if change_request.outdated else ""
    return f"{reviews_stamp(change_request)} {change_request.comments}{outdated}"


def reviews_stamp(change_request: ChangeRequest) -> str:
    """Return the stamp of the reviews and of the requested reviewers of a change request."""
    return f"{change_request.status} {_update_time(change_request)} {change_request.revision or ''}"


def open_threads_stamp(place: Space | ChangeRequest) -> str:
    """Return the stamp of the open threads of a space or change request."""
    return str(place.comments) if isinstance(place, Space) else f"{place.comments} {_update_time(place)}"


def replies_stamp(thread: Comment) -> str:
    """Return the stamp of a thread's replies, from their number and edit times."""
    times = [thread.edited_at, *(replier.updated_at for replier in thread.repliers or ())]
    last = max((time for time in times if time is not None), default=None)
    return f"{thread.replies} {last.isoformat()}" if last is not None else str(thread.replies)


def _update_time(place: Space | ChangeRequest) -> str:
    return place.updated_at.isoformat() if place.updated_at is not None else ""


class ListedPlaces:
    """The spaces and change requests in the loaded lists of an organization."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, str], Space | ChangeRequest] = {}
        """Spaces by `(space id, "")`, change requests by `(space id, request id)`."""

    def update(self, lists: Iterable[ListPage[Any] | None]) -> None:
        """Replace all spaces and change requests by the items of `lists`. None is skipped."""
        items = [item for listed in lists if listed is not None for item in listed.items]
        self._places = {
            (item.id, "") if isinstance(item, Space) else (item.space or "", item.id): item for item in items
        }

    def stamp_of(self, op: Operation[Any]) -> str:
        """Return the current stamp of a response. Empty if no list has its space or change request."""
        at = getattr(op, "at", None)
        if not isinstance(at, SpaceRef | ChangeRequestRef):
            return ""
        listed = self._places.get((at.space_id, at.change_request_id if isinstance(at, ChangeRequestRef) else ""))
        if listed is None:
            return ""
        place_stamp = space_stamp(listed) if isinstance(listed, Space) else change_request_stamp(listed)
        if is_of_content(op):
            return listed.revision or place_stamp
        if op == open_threads_of(at):
            return open_threads_stamp(listed)
        if (
            isinstance(at, ChangeRequestRef)
            and isinstance(listed, ChangeRequest)
            and op in (reviews_of(at), requested_reviewers_of(at))
        ):
            return reviews_stamp(listed)
        return place_stamp


def is_of_content(op: Operation[Any]) -> bool:
    """Return whether the response to `op` changes only with the revision of the content."""
    return SPECS[type(op)].path.startswith("{content}") or isinstance(op, ListChanges | ListOfSpace)


class Priority(IntEnum):
    """Order of the wants with the same rank. The wants with the smallest number are fetched first."""

    REQUESTED_REVIEWERS = 0
    MY_REVIEWS = 1
    THREADS_ON_MINE = 2
    REVIEWS_OF_OTHERS = 3
    THREADS_IN_SPACES = 4
    REPLIES_TO_ME = 5
    """Replies in threads that concern the user (`reply_wants`)."""
    THREADS_OF_OTHERS = 6
    DRAFTS = 7
    OTHER_REPLIES = 9
    """Replies in other threads, which may mention the user."""


OWNER = "inbox"
MAX_LIST_ITEMS = 10_000
MAX_UNCERTAIN_THREADS = 200
"""Maximum number of threads of other users whose replies get rank NEEDED in an update."""
MAX_RECHECKED_PAGES = 5
"""Number of pages after which an update rechecks no more lists of threads."""
TEAMS_MAX_AGE = timedelta(hours=1)
"""Age after which the update `START` fetches the user's teams again."""
_MIN_INTERVAL = timedelta(hours=1)
_PRIORITY_STEP = 1e11
"""Larger than any timestamp, so that the priority outweighs the time."""


class InboxUpdate(NamedTuple):
    """A kind of update of the inbox. Every update fetches the responses whose stamps have changed."""

    name: str
    lists: Literal["in memory", "requested", "again"] = "in memory"
    """How to get the lists of spaces and change requests: use the lists `in memory`, wait until the `requested` lists
    are loaded, or fetch all lists `again`."""
    fetches_written: bool = False
    """True to fetch the responses that the user's finished writes have changed."""
    rechecks: bool = False
    """True to recheck a few responses with unchanged stamps (`InboxPlanner._rechecks`)."""
    retries_refused: bool = False
    """True to repeat the requests that the server refused in an earlier update."""
    updates_teams: bool = False
    """True to fetch the user's teams if they are older than `TEAMS_MAX_AGE`."""
    is_quiet: bool = False
    """True to hide the progress of the update."""


LISTS_CHANGED = InboxUpdate("lists changed", is_quiet=True)
"""The update after a list of the organization has changed."""
POLL = InboxUpdate("poll", fetches_written=True, rechecks=True, is_quiet=True)
"""The update that `Poller.run` starts after it has fetched the responses of views."""
REFRESH = InboxUpdate("refresh", "again", fetches_written=True, rechecks=True, retries_refused=True)
"""The update when the user refreshes the inbox."""
START = InboxUpdate("start", "requested", fetches_written=True, updates_teams=True)
"""The update for the first subscriber, and after a lost connection."""
Lists: TypeAlias = tuple[tuple[Any, ...], ...]
"""The items of the list of spaces, then of each list of change requests."""
_by_order = attrgetter("order")


@dataclass(eq=False)
class FinishedWrite:
    """A write that the inbox applies to responses until they are fetched again."""

    entry: OutboxEntry
    done_at: datetime
    unfetched: set[str] | None = None
    """URLs of the changed responses that are not fetched again yet. None until an update computes the URLs."""


class InboxPlanner:
    """Decides which responses the inbox of an organization needs, and returns a `Want` for each."""

    owner = OWNER

    def __init__(
        self,
        at: OrganizationRef,
        responses: InboxResponses,
        version_of: Callable[[str], Version | None],
        now: Callable[[], datetime],
    ) -> None:
        """`responses` gets the fetched values. `version_of` returns the stored version for a URL, or None."""
        self.me = ""
        """Id of the user. Empty if the user is not known."""
        self.update = START
        """The update for which `wants` is called."""
        self.lists: Lists = ()
        self.is_from_disk = False
        """True to read all responses from disk, even if they are outdated."""
        self.busy_places: frozenset[Discussion] = frozenset()
        """Spaces and change requests to which a write is being sent. Their responses are not fetched."""
        self.finished: list[FinishedWrite] = []
        self._at, self._responses, self._version_of, self._now = at, responses, version_of, now
        self._wants_of_lists: dict[str, Want] = {}
        """Wants for reviews, reviewers and threads, by URL."""
        self._computed_for_user = ""
        self._computed_from: Lists = ()
        self._own_requests: set[Discussion] = set()
        self._reply_wants: dict[str, list[Want]] = {}
        """Wants for replies, by the URL of their list of threads."""
        self._all_wants: dict[str, Want] | None = None
        self._uncertain_threads_left = 0
        """Number of wants that can still get rank NEEDED in this update."""

    @property
    def all_wants(self) -> dict[str, Want]:
        """All wants for reviews, requested reviewers, threads and replies, by URL."""
        if self._all_wants is None:
            self._all_wants = self._wants_of_lists | {
                want.url: want for wants in self._reply_wants.values() for want in wants
            }
        return self._all_wants

    @property
    def teams_url(self) -> str:
        """URL of the list of the user's teams. Empty if the user is not known."""
        return encode(self._teams_op()).url if self.me else ""

    def is_computed_from(self, lists: Lists) -> bool:
        """Return whether the wants were computed from these lists."""
        return self._computed_from == lists

    def wants(self) -> Iterator[Want]:
        """Yield all wants. Those that must be fetched again follow once more, as due: the last want for a URL replaces
        earlier wants."""
        now = self._now()
        if self.me:
            yield from self._as_allowed(self._teams_want())
        if self.me != self._computed_for_user or not self.is_computed_from(self.lists):
            yield from self._compute_wants()
        else:
            for want in self._wants_of_lists.values():
                yield from self._as_allowed(want)
        self._uncertain_threads_left = MAX_UNCERTAIN_THREADS
        yield from self._promote_needed(chain.from_iterable(self._reply_wants.values()), now)
        if self.is_from_disk:
            return
        due_again = list(self._changed_by_writes()) if self.update.fetches_written else []
        if self.update.rechecks:
            due_again += self._rechecks({want.url for want in due_again}, now)
        for want in due_again:
            yield from self._as_allowed(want)
        self._responses.keep_responses(self.all_wants.keys() | {self.teams_url})

    def on_response(self, want: Want, value: Any) -> Iterable[Want]:
        """Store a fetched response. For a list of threads, return the wants for the replies of its threads."""
        self._responses.new[want.url] = want.op, value.items
        version = self._version_of(want.url)
        for each in self.finished:
            if each.unfetched is not None and version is not None and version.requested_at >= each.done_at:
                each.unfetched.discard(want.url)
        if not isinstance(want.op, comments.List) or want.url not in self._wants_of_lists:
            return ()
        at = want.op.at
        found = list(reply_wants(at, value.items, self.me, at in self._own_requests)) if self.me else []
        self._reply_wants[want.url], self._all_wants = found, None
        return list(self._promote_needed(found, self._now()))

    def drop_finished(self) -> bool:
        """Remove the finished writes whose changed responses are all fetched again. Return whether any were removed."""
        before = len(self.finished)
        self.finished = [each for each in self.finished if each.unfetched is None or each.unfetched]
        return len(self.finished) != before

    def _compute_wants(self) -> Iterator[Want]:
        me, lists = self.me, self.lists
        if me != self._computed_for_user:
            self._reply_wants = {}
        requests = {ref_of(each): each for each in chain(*lists[1:]) if is_undecided(each)}
        places: dict[str, Want] = {}
        for want in chain(change_request_wants(requests.values(), me), space_wants(lists[0] if lists else ())):
            places[want.url] = want
            yield from self._as_allowed(want)
        self._computed_for_user, self._computed_from = me, lists
        self._wants_of_lists, self._all_wants = places, None
        self._own_requests = {at for at, request in requests.items() if is_mine(request, me)}
        self._reply_wants = {url: wants for url, wants in self._reply_wants.items() if url in places}

    def _teams_want(self) -> Want:
        max_age, url = TEAMS_MAX_AGE if self.update.updates_teams else None, self.teams_url
        return Want(self._teams_op(), url, OWNER, Rank.NEEDED, "teams", 0.0, "your teams", max_age, needs_value=True)

    def _teams_op(self) -> teams.ListOfMember:
        return teams.ListOfMember(at=self._at, user_id=self.me, limit=PAGE_LIMIT)

    def _as_allowed(self, want: Want) -> Iterator[Want]:
        """Yield the want, or a want that only reads the stored response."""
        if not self.is_from_disk and getattr(want.op, "at", None) not in self.busy_places:
            yield want
        elif (version := self._version_of(want.url)) is not None and version.stamp:
            yield replace(want, stamp=version.stamp, max_age=None, is_unverified=True)

    def _promote_needed(self, wants: Iterable[Want], now: datetime) -> Iterator[Want]:
        """Return allowed wants. The first due wants of rank LATER become NEEDED."""
        allowed = [each for want in wants for each in self._as_allowed(want)]
        later = (each for each in allowed if each.rank is Rank.LATER and is_due(each, self._version_of(each.url), now))
        needed = {each.url for each in heapq.nsmallest(self._uncertain_threads_left, later, key=_by_order)}
        self._uncertain_threads_left -= len(needed)
        return (replace(each, rank=Rank.NEEDED) if each.url in needed else each for each in allowed)

    def _changed_by_writes(self) -> Iterator[Want]:
        """Yield the wants whose responses finished writes have changed, as due."""
        for each in self.finished:
            each.unfetched = set()
            for url in urls_changed_by(each.entry):
                version = self._version_of(url)
                if url in self.all_wants and (version is None or version.requested_at < each.done_at):
                    each.unfetched.add(url)
                    yield self.all_wants[url].as_due()

    def _rechecks(self, excluded: set[str], now: datetime) -> list[Want]:
        """Choose a few wants that are not due, and make them due."""
        not_due = [
            want
            for want in self.all_wants.values()
            if want.url not in excluded and not is_due(want, self._version_of(want.url), now)
        ]
        posts = self._last_posts()
        thread_lists = [want for want in not_due if isinstance(want.op, comments.List)]
        own_lists = [want for want in thread_lists if discussion_of(want) in posts]
        other_lists = [want for want in thread_lists if discussion_of(want) not in posts]
        review_wants = [want for want in not_due if isinstance(want.op, reviews.List | reviews.ListRequested)]
        pages, pages_left = self._responses.pages, MAX_RECHECKED_PAGES

        def interval(want: Want) -> timedelta:
            return max(now - posts.get(discussion_of(want), now), _MIN_INTERVAL)

        def choose(wants: Iterable[Want], max_pages: int) -> list[Want]:
            nonlocal pages_left
            found = recheck(wants, self._version_of, max_pages, now, pages=pages, expected_interval=interval)
            pages_left -= sum(pages.get(want.url, 1) for want in found)
            return found

        chosen_wants = choose(other_lists, 1)
        chosen_wants += choose(own_lists, pages_left)
        chosen_urls = {want.url for want in chosen_wants}
        affordable = [
            want for want in other_lists if want.url not in chosen_urls and pages.get(want.url, 1) <= pages_left
        ]
        chosen_wants += choose(affordable, pages_left)
        chosen_places = {discussion_of(want) for want in recheck(review_wants, self._version_of, 1, now)}
        return chosen_wants + [want.as_due() for want in review_wants if discussion_of(want) in chosen_places]

    def _last_posts(self) -> dict[Discussion, datetime]:
        """Last post by the user, or in threads that concern the user."""
        last_posts: dict[Discussion, datetime] = {}
        for url, want in self.all_wants.items():
            concerns_me = want.rank is not Rank.LATER
            last = self._responses.last_post(want.op, url, self.me, concerns_me=concerns_me)
            if last is not None:
                at = discussion_of(want)
                last_posts[at] = max(last_posts.get(at, last), last)
        return last_posts


def change_request_wants(requests: Iterable[ChangeRequest], me: str) -> Iterator[Want]:
    """Yield the wants for the reviews, reviewers and threads of change requests that are not decided."""
    for request in requests:
        if not is_undecided(request):
            continue
        at, is_own, is_open = ref_of(request), is_mine(request, me), request.status == "open"
        stamp, updated_at = reviews_stamp(request), request.updated_at
        others = Priority.REVIEWS_OF_OTHERS if is_open else Priority.DRAFTS
        yield _want(reviews.List, at, stamp, Priority.MY_REVIEWS if is_own else others, updated_at)
        yield _want(
            reviews.ListRequested,
            at,
            stamp,
            Priority.REQUESTED_REVIEWERS if is_open and not is_own else Priority.DRAFTS,
            updated_at,
        )
        if request.comments > 0:
            yield _want(
                comments.List,
                at,
                open_threads_stamp(request),
                Priority.THREADS_ON_MINE if is_own else Priority.THREADS_OF_OTHERS,
                updated_at,
            )


def space_wants(spaces: Iterable[Space]) -> Iterator[Want]:
    """Yield the wants for the threads of spaces. Spaces without open threads are skipped."""
    for space in spaces:
        if space.comments > 0:
            stamp = open_threads_stamp(space)
            yield _want(comments.List, space.ref, stamp, Priority.THREADS_IN_SPACES, space.updated_at)


def reply_wants(at: Discussion, threads: Sequence[Comment], me: str, is_own_request: bool) -> Iterator[Want]:
    """Yield wants for the replies of open threads. The rank is NEEDED if the thread concerns the user, otherwise
    LATER."""
    mention = mention_suffix(me)
    for thread in threads:
        if thread.is_open_thread and thread.replies > 0:
            repliers, stamp = thread.repliers or (), replies_stamp(thread)
            concerns_me = (
                is_own_request
                or mention in thread.body.text
                or me in (thread.posted_by.id, *(replier.user.id for replier in repliers))
            )
            last_reply_at = max(
                (replier.updated_at for replier in repliers if replier.updated_at is not None), default=None
            )
            updated_at = last_reply_at or thread.posted_at
            if concerns_me:
                yield _want(comments.ListReplies, at, stamp, Priority.REPLIES_TO_ME, updated_at, thread.id)
            else:
                yield _want(comments.ListReplies, at, stamp, Priority.OTHER_REPLIES, updated_at, thread.id, Rank.LATER)


def urls_changed_by(entry: OutboxEntry) -> list[str]:
    """Return the URLs of the responses that a write has changed."""
    if entry.facts.is_review:
        return [url_of(kind, entry.at) for kind in (reviews.List, reviews.ListRequested)]
    urls = [url_of(comments.List, entry.at)]
    return urls + ([url_of(comments.ListReplies, entry.at, entry.facts.thread)] if entry.facts.thread else [])


def discussion_of(want: Want) -> Discussion:
    """Return the space or change request that the response of a want belongs to."""
    op: Any = want.op
    at: Discussion = op.at
    return at


def url_of(operation_type: type[Listing[Any]], at: Discussion, thread: str = "") -> str:
    """Return the URL of a list in `at`, or of the replies of `thread`."""
    return _operation_and_url(operation_type, at, thread)[1]


def _want(
    operation_type: type[Listing[Any]],
    at: Discussion,
    stamp: str,
    priority: Priority,
    updated_at: datetime | None,
    thread: str = "",
    rank: Rank = Rank.NEEDED,
) -> Want:
    op, url = _operation_and_url(operation_type, at, thread)
    order = priority * _PRIORITY_STEP - (updated_at.timestamp() if updated_at is not None else 0.0)
    return Want(op, url, OWNER, rank, stamp, order, _LABELS[operation_type], needs_value=True, min_items=MAX_LIST_ITEMS)


@lru_cache(maxsize=20_000)
def _operation_and_url(operation_type: type[Listing[Any]], at: Discussion, thread: str) -> tuple[Listing[Any], str]:
    op: Listing[Any]
    if operation_type is comments.ListReplies:
        op = replies_of(at, thread)
    elif isinstance(at, ChangeRequestRef) and operation_type is not comments.List:
        op = reviews_of(at) if operation_type is reviews.List else requested_reviewers_of(at)
    else:
        op = open_threads_of(at)
    return op, encode(op).url


_LABELS: dict[type[Listing[Any]], str] = {
    reviews.List: "reviews",
    reviews.ListRequested: "the requested reviewers",
    comments.List: "threads",
    comments.ListReplies: "replies",
}
