"""Decides which responses the inbox needs, and computes their fingerprints. Sends no requests. The docstring of
data/__init__.py explains fingerprints and rechecks, and how a new reply gets into the inbox.

A fingerprint is computed from an item of a list, so that one list shows which of many responses have changed. For
example, the list of spaces has the update time and the number of open threads of each space. If a function that
computes fingerprints is changed, all responses of its kind are fetched once more.

A mention of the user can be in any reply, and other users may have thousands of threads. So in
each update, only the replies of `MAX_UNCERTAIN_THREADS` threads of other users are as urgent as the rest of the inbox
(`Rank.INBOX`). The replies of the other threads are fetched later, one thread at a time (`Rank.LATER`).
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
from typing import Any, TypeAlias

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
from octavo.data.queries import PAGE_LIMIT, open_threads_op, replies_op, requested_reviewers_op, reviews_op
from octavo.data.sync_queue import NeededResponse, Rank, Version, is_due, recheck
from octavo.data.writes.machine import OutboxEntry
from octavo.documents.suggestions import mention_suffix

NO_FINGERPRINT = "?"
"""Fingerprint of a response whose changes appear in no list. The response is fetched again only after `max_age`."""
IMMUTABLE_FINGERPRINT = "for ever"
"""Fingerprint of a response that never changes."""


def space_fingerprint(space: Space) -> str:
    """Return the fingerprint of a space, which changes with its content, open threads and change requests."""
    return f"{space.revision or ''} {_update_time(space)} {space.comments} {space.change_requests_open} {space.change_requests_draft}"


def page_fingerprint(page: Page, revision_id: str) -> str:
    """Return the fingerprint of a page: the time of its last change, else the `revision_id` of the space."""
    return page.updated_at.isoformat() if page.updated_at is not None else revision_id


def change_request_fingerprint(change_request: ChangeRequest) -> str:
    """Return the fingerprint of a change request: it changes with its content, reviews, open threads and `outdated`."""
    outdated_suffix = " outdated" if change_request.outdated else ""
    return f"{reviews_fingerprint(change_request)} {change_request.comments}{outdated_suffix}"


def reviews_fingerprint(change_request: ChangeRequest) -> str:
    """Return the fingerprint for the reviews and the requested reviewers of a change request."""
    return f"{change_request.status} {_update_time(change_request)} {change_request.revision or ''}"


def open_threads_fingerprint(item: Space | ChangeRequest) -> str:
    """Return the fingerprint for the open threads of a space or change request."""
    return str(item.comments) if isinstance(item, Space) else f"{item.comments} {_update_time(item)}"


def replies_fingerprint(thread: Comment) -> str:
    """Return the fingerprint for the replies of a thread, from their number and edit times."""
    times = [thread.edited_at, *(replier.updated_at for replier in thread.repliers or ())]
    last_edit = max((time for time in times if time is not None), default=None)
    return f"{thread.replies} {last_edit.isoformat()}" if last_edit is not None else str(thread.replies)


def _update_time(listed: Space | ChangeRequest) -> str:
    return listed.updated_at.isoformat() if listed.updated_at is not None else ""


class ListedFingerprints:
    """Computes fingerprints of responses from the loaded lists of an organization's spaces and change requests."""

    def __init__(self) -> None:
        self._items: dict[tuple[str, str], Space | ChangeRequest] = {}
        """Spaces by `(space id, "")`, change requests by `(space id, request id)`."""

    def update(self, lists: Iterable[ListPage[Any] | None]) -> None:
        """Replace all items by the spaces and change requests in `lists`. A list that is None is ignored."""
        items = [item for listed in lists if listed is not None for item in listed.items]
        self._items = {
            (item.id, "") if isinstance(item, Space) else (item.space or "", item.id): item for item in items
        }

    def fingerprint_of(self, op: Operation[Any]) -> str:
        """Return the fingerprint of the response to `op`. Empty if no loaded list has the target `op.at`."""
        at = getattr(op, "at", None)
        if not isinstance(at, SpaceRef | ChangeRequestRef):
            return ""
        item = self._items.get((at.space_id, at.change_request_id if isinstance(at, ChangeRequestRef) else ""))
        if item is None:
            return ""
        fingerprint = space_fingerprint(item) if isinstance(item, Space) else change_request_fingerprint(item)
        if is_of_content(op):
            return item.revision or fingerprint
        if op == open_threads_op(at):
            return open_threads_fingerprint(item)
        if (
            isinstance(at, ChangeRequestRef)
            and isinstance(item, ChangeRequest)
            and op in (reviews_op(at), requested_reviewers_op(at))
        ):
            return reviews_fingerprint(item)
        return fingerprint


def is_of_content(op: Operation[Any]) -> bool:
    """Return whether the response to `op` changes only when the content gets a new revision."""
    return SPECS[type(op)].path.startswith("{content}") or isinstance(op, ListChanges | ListOfSpace)


class Priority(IntEnum):
    """Order in which responses for the inbox with the same `Rank` are fetched. The smallest number is first."""

    REQUESTED_REVIEWERS = 0
    MY_REVIEWS = 1
    THREADS_ON_OWN_REQUESTS = 2
    REVIEWS_OF_OTHERS = 3
    THREADS_IN_SPACES = 4
    REPLIES_TO_ME = 5
    """Replies in threads that concern the user (`needed_replies`)."""
    THREADS_ON_OTHER_REQUESTS = 6
    DRAFTS = 7
    OTHER_REPLIES = 9
    """Replies in threads that do not concern the user. The replies may mention the user."""


OWNER = "inbox"
MAX_LIST_ITEMS = 10_000
MAX_UNCERTAIN_THREADS = 200
"""Maximum number of threads of other users whose replies an update fetches with rank INBOX instead of LATER."""
MAX_RECHECKED_PAGES = 5
"""Approximate maximum number of pages of threads and replies that an update fetches despite equal fingerprints."""
TEAMS_MAX_AGE = timedelta(hours=1)
"""Age after which the update `InboxUpdate.START` fetches the user's teams again."""
_MIN_INTERVAL = timedelta(hours=1)
_PRIORITY_STEP = 1e11
"""`NeededResponse.order` is a priority times this number, minus a timestamp. So the priority outweighs the time."""


class InboxUpdate(IntEnum):
    """A kind of update of the inbox. The least important kind comes first. Each kind fetches the responses whose
    fingerprints have changed. All kinds but `LISTS_CHANGED` also fetch what the user's finished writes have changed."""

    LISTS_CHANGED = 0
    """The update after a list of the organization has changed. It shows no progress to the user."""
    POLL = 1
    """The update that `Poller.run` starts after it has fetched the responses of views. It also fetches a few responses
    whose fingerprints are unchanged (`InboxPlanner._rechecks`). It shows no progress to the user."""
    REFRESH = 2
    """The update when the user refreshes the inbox. It fetches the lists of spaces and change requests again, fetches
    a few unchanged responses like `POLL`, and repeats the requests that the server refused in an earlier update."""
    START = 3
    """The update for the first subscriber of the inbox, and after a lost connection. It waits for running requests for
    the lists, and fetches the user's teams if they are older than `TEAMS_MAX_AGE`."""


Lists: TypeAlias = tuple[tuple[Any, ...], ...]
"""Items of each list of the organization: the list of spaces, then each list of change requests."""
_by_order = attrgetter("order")


@dataclass(eq=False)
class FinishedWrite:
    """A finished write that the inbox applies to cached responses until they are fetched again."""

    entry: OutboxEntry
    done_at: datetime
    unfetched: set[str] | None = None
    """URLs of the changed responses that are not fetched again yet. None until an update computes the URLs."""


class InboxPlanner:
    """Decides which responses the inbox of an organization needs."""

    owner = OWNER

    def __init__(
        self,
        at: OrganizationRef,
        responses: InboxResponses,
        version_of: Callable[[str], Version | None],
        now: Callable[[], datetime],
    ) -> None:
        """`responses` gets the fetched values. `version_of(url)` returns the version of a cached response, or None."""
        self.my_id = ""
        """ID of the user. Empty if the user is not known."""
        self.update = InboxUpdate.START
        """The update for which `needed_responses` is called."""
        self.lists: Lists = ()
        self.is_from_disk = False
        """True to read all responses from disk, even if they are outdated."""
        self.busy_discussions: frozenset[Discussion] = frozenset()
        """Spaces and change requests with writes that are sent now or soon. Their responses are not fetched."""
        self.finished: list[FinishedWrite] = []
        self._at, self._responses, self._version_of, self._now = at, responses, version_of, now
        self._needed_lists: dict[str, NeededResponse] = {}
        """The lists of reviews, requested reviewers and threads that the inbox needs, by URL."""
        self._computed_for_user = ""
        self._computed_from: Lists = ()
        self._own_requests: set[Discussion] = set()
        self._needed_replies: dict[str, list[NeededResponse]] = {}
        """The lists of replies that the inbox needs, by the URL of the list of their threads."""
        self._all_needed: dict[str, NeededResponse] | None = None
        self._uncertain_threads_left = 0
        """Number of threads whose replies can still get rank INBOX in this update."""

    @property
    def all_needed(self) -> dict[str, NeededResponse]:
        """All reviews, requested reviewers, threads and replies that the inbox needs, by URL."""
        if self._all_needed is None:
            self._all_needed = self._needed_lists | {
                needed.url: needed for needed_responses in self._needed_replies.values() for needed in needed_responses
            }
        return self._all_needed

    @property
    def teams_url(self) -> str:
        """URL of the list of the user's teams. Empty if the user is not known."""
        return encode(self._teams_op()).url if self.my_id else ""

    def is_computed_from(self, lists: Lists) -> bool:
        """Return whether the needed responses were last computed from lists equal to `lists`."""
        return self._computed_from == lists

    def needed_responses(self) -> Iterator[NeededResponse]:
        """Yield all responses that the inbox needs. Yield a response again, as a copy from `as_due`, if it must be
        fetched although its fingerprint is unchanged. At the end, forget the values of other responses."""
        now = self._now()
        if self.my_id:
            yield from self._as_allowed(self._needed_teams())
        if self.my_id != self._computed_for_user or not self.is_computed_from(self.lists):
            yield from self._compute_needed()
        else:
            for needed in self._needed_lists.values():
                yield from self._as_allowed(needed)
        self._uncertain_threads_left = MAX_UNCERTAIN_THREADS
        yield from self._promote_needed(chain.from_iterable(self._needed_replies.values()), now)
        if self.is_from_disk:
            return
        due_again = list(self._changed_by_writes()) if self.update is not InboxUpdate.LISTS_CHANGED else []
        if self.update in (InboxUpdate.POLL, InboxUpdate.REFRESH):
            due_again += self._rechecks({needed.url for needed in due_again}, now)
        for needed in due_again:
            yield from self._as_allowed(needed)
        self._responses.keep_responses(self.all_needed.keys() | {self.teams_url})

    def on_response(self, needed: NeededResponse, value: Any) -> Iterable[NeededResponse]:
        """Store a fetched or cached response. If it lists threads, return the lists of replies that are needed too."""
        self._responses.unreduced[needed.url] = needed.op, value.items
        for each in self.finished:
            if each.unfetched is not None and self._is_fetched_after(each, needed.url):
                each.unfetched.discard(needed.url)
        if not isinstance(needed.op, comments.List) or needed.url not in self._needed_lists:
            return ()
        at = needed.op.at
        replies = list(needed_replies(at, value.items, self.my_id, at in self._own_requests)) if self.my_id else []
        self._needed_replies[needed.url], self._all_needed = replies, None
        return list(self._promote_needed(replies, self._now()))

    def drop_finished(self) -> bool:
        """Remove finished writes whose changed responses were all fetched again. Return whether any was removed."""
        old_count = len(self.finished)
        self.finished = [each for each in self.finished if each.unfetched is None or each.unfetched]
        return len(self.finished) != old_count

    def _compute_needed(self) -> Iterator[NeededResponse]:
        my_id, lists = self.my_id, self.lists
        if my_id != self._computed_for_user:
            self._needed_replies = {}
        requests_by_ref = {ref_of(each): each for each in chain(*lists[1:]) if is_undecided(each)}
        needed_lists: dict[str, NeededResponse] = {}
        for needed in chain(
            needed_lists_of_requests(requests_by_ref.values(), my_id), needed_lists_of_spaces(lists[0] if lists else ())
        ):
            needed_lists[needed.url] = needed
            yield from self._as_allowed(needed)
        self._computed_for_user, self._computed_from = my_id, lists
        self._needed_lists, self._all_needed = needed_lists, None
        self._own_requests = {at for at, request in requests_by_ref.items() if is_mine(request, my_id)}
        self._needed_replies = {
            url: needed_responses for url, needed_responses in self._needed_replies.items() if url in needed_lists
        }

    def _needed_teams(self) -> NeededResponse:
        max_age, url = TEAMS_MAX_AGE if self.update is InboxUpdate.START else None, self.teams_url
        return NeededResponse(
            self._teams_op(), url, OWNER, Rank.INBOX, "teams", 0.0, "your teams", max_age, needs_cached_value=True
        )

    def _teams_op(self) -> teams.ListOfMember:
        return teams.ListOfMember(at=self._at, user_id=self.my_id, limit=PAGE_LIMIT)

    def _as_allowed(self, needed: NeededResponse) -> Iterator[NeededResponse]:
        """Yield `needed` if its response may be fetched now. Otherwise, yield a copy that accepts the cached response
        of any age, or nothing if no response is cached."""
        if not self.is_from_disk and getattr(needed.op, "at", None) not in self.busy_discussions:
            yield needed
        elif (version := self._version_of(needed.url)) is not None and version.fingerprint:
            yield replace(needed, fingerprint=version.fingerprint, max_age=None, is_unverified=True)

    def _promote_needed(self, needed_responses: Iterable[NeededResponse], now: datetime) -> Iterator[NeededResponse]:
        """Yield the needed responses as `_as_allowed` allows them. The most urgent due responses of rank LATER get rank
        INBOX, up to `_uncertain_threads_left`, which is reduced by their number."""
        allowed = [each for needed in needed_responses for each in self._as_allowed(needed)]
        later = (each for each in allowed if each.rank is Rank.LATER and is_due(each, self._version_of(each.url), now))
        promoted_urls = {each.url for each in heapq.nsmallest(self._uncertain_threads_left, later, key=_by_order)}
        self._uncertain_threads_left -= len(promoted_urls)
        return (replace(each, rank=Rank.INBOX) if each.url in promoted_urls else each for each in allowed)

    def _changed_by_writes(self) -> Iterator[NeededResponse]:
        """Yield the needed responses, marked as due, that finished writes changed and that were not fetched since the
        write. Also set `unfetched` of each write to the URLs of its responses."""
        for each in self.finished:
            each.done_at = min(each.done_at, self._now())  # The clock may have been set back.
            urls = [url for url in urls_changed_by(each.entry) if url in self.all_needed]
            each.unfetched = {url for url in urls if not self._is_fetched_after(each, url)}
            yield from (self.all_needed[url].as_due() for url in urls if url in each.unfetched)

    def _is_fetched_after(self, write: FinishedWrite, url: str) -> bool:
        """Return whether the cached response at `url` was requested after a finished write."""
        version = self._version_of(url)
        return version is not None and write.done_at <= version.requested_at <= self._now()

    def _rechecks(self, excluded_urls: set[str], now: datetime) -> list[NeededResponse]:
        """Return `as_due` copies of a few responses with unchanged fingerprints. Leave out URLs in `excluded_urls`."""
        not_due = [
            needed
            for needed in self.all_needed.values()
            if needed.url not in excluded_urls and not is_due(needed, self._version_of(needed.url), now)
        ]
        last_posts = self._last_posts()
        thread_lists = [needed for needed in not_due if isinstance(needed.op, comments.List)]
        own_lists = [needed for needed in thread_lists if discussion_of(needed) in last_posts]
        other_lists = [needed for needed in thread_lists if discussion_of(needed) not in last_posts]
        review_lists = [needed for needed in not_due if isinstance(needed.op, reviews.List | reviews.ListRequested)]
        page_counts, pages_left = self._responses.page_counts, MAX_RECHECKED_PAGES

        def interval(needed: NeededResponse) -> timedelta:
            return max(now - last_posts.get(discussion_of(needed), now), _MIN_INTERVAL)

        def choose(needed_responses: Iterable[NeededResponse], max_pages: int) -> list[NeededResponse]:
            nonlocal pages_left
            chosen = recheck(
                needed_responses, self._version_of, max_pages, now, page_counts=page_counts, expected_interval=interval
            )
            pages_left -= sum(page_counts.get(needed.url, 1) for needed in chosen)
            return chosen

        rechecks = choose(other_lists, 1)
        # On servers without times of replies, the fingerprint is only the number of replies, which edits do not change.
        reply_lists = [each for each in not_due if isinstance(each.op, comments.ListReplies)]
        untimed_lists = [each for each in reply_lists if each.fingerprint.isdecimal()]
        for is_later in (False, True):
            rechecks += choose([each for each in untimed_lists if (each.rank is Rank.LATER) is is_later], 1)
        rechecks += choose(own_lists, pages_left)
        chosen_urls = {needed.url for needed in rechecks}
        affordable_lists = [
            needed
            for needed in other_lists
            if needed.url not in chosen_urls and page_counts.get(needed.url, 1) <= pages_left
        ]
        rechecks += choose(affordable_lists, pages_left)
        chosen_discussions = {discussion_of(needed) for needed in recheck(review_lists, self._version_of, 1, now)}
        return rechecks + [needed.as_due() for needed in review_lists if discussion_of(needed) in chosen_discussions]

    def _last_posts(self) -> dict[Discussion, datetime]:
        """Return the newest time of `InboxResponses.last_post` for each space and change request that has one."""
        last_posts: dict[Discussion, datetime] = {}
        for url, needed in self.all_needed.items():
            concerns_me = needed.rank is not Rank.LATER
            last_post = self._responses.last_post(needed.op, url, self.my_id, concerns_me=concerns_me)
            if last_post is not None:
                at = discussion_of(needed)
                last_posts[at] = max(last_posts.get(at, last_post), last_post)
        return last_posts


def needed_lists_of_requests(requests: Iterable[ChangeRequest], my_id: str) -> Iterator[NeededResponse]:
    """Yield for each change request the lists of reviews, requested reviewers and, if there are any, open threads."""
    for request in requests:
        at, is_own, is_open = ref_of(request), is_mine(request, my_id), request.status == "open"
        fingerprint, updated_at = reviews_fingerprint(request), request.updated_at
        others_priority = Priority.REVIEWS_OF_OTHERS if is_open else Priority.DRAFTS
        yield _needed(reviews.List, at, fingerprint, Priority.MY_REVIEWS if is_own else others_priority, updated_at)
        yield _needed(
            reviews.ListRequested,
            at,
            fingerprint,
            Priority.REQUESTED_REVIEWERS if is_open and not is_own else Priority.DRAFTS,
            updated_at,
        )
        if request.comments > 0:
            yield _needed(
                comments.List,
                at,
                open_threads_fingerprint(request),
                Priority.THREADS_ON_OWN_REQUESTS if is_own else Priority.THREADS_ON_OTHER_REQUESTS,
                updated_at,
            )


def needed_lists_of_spaces(spaces: Iterable[Space]) -> Iterator[NeededResponse]:
    """Yield the lists of open threads of spaces. Spaces without open threads are skipped."""
    for space in spaces:
        if space.comments > 0:
            fingerprint = open_threads_fingerprint(space)
            yield _needed(comments.List, space.ref, fingerprint, Priority.THREADS_IN_SPACES, space.updated_at)


def needed_replies(
    at: Discussion, threads: Sequence[Comment], my_id: str, is_own_request: bool
) -> Iterator[NeededResponse]:
    """Yield the lists of replies of open threads with replies. Their rank is INBOX if the thread concerns the user,
    otherwise LATER. All threads of a change request that the user created (`is_own_request`) concern the user."""
    mention = mention_suffix(my_id)
    for thread in threads:
        if thread.is_open_thread and thread.replies > 0:
            repliers, fingerprint = thread.repliers or (), replies_fingerprint(thread)
            concerns_me = (
                is_own_request
                or mention in thread.body.text
                or my_id in (thread.posted_by.id, *(replier.user.id for replier in repliers))
            )
            last_reply_at = max(
                (replier.updated_at for replier in repliers if replier.updated_at is not None), default=None
            )
            updated_at = last_reply_at or thread.posted_at
            if concerns_me:
                yield _needed(comments.ListReplies, at, fingerprint, Priority.REPLIES_TO_ME, updated_at, thread.id)
            else:
                yield _needed(
                    comments.ListReplies, at, fingerprint, Priority.OTHER_REPLIES, updated_at, thread.id, Rank.LATER
                )


def urls_changed_by(entry: OutboxEntry) -> list[str]:
    """Return the URLs of the responses that a write of the outbox has changed."""
    if entry.traits.is_review:
        return [url_of(kind, entry.at) for kind in (reviews.List, reviews.ListRequested)]
    urls = [url_of(comments.List, entry.at)]
    return urls + ([url_of(comments.ListReplies, entry.at, entry.traits.thread_id)] if entry.traits.thread_id else [])


def discussion_of(needed: NeededResponse) -> Discussion:
    """Return the space or change request that a needed response belongs to."""
    op: Any = needed.op
    at: Discussion = op.at
    return at


def url_of(operation_type: type[Listing[Any]], at: Discussion, thread_id: str = "") -> str:
    """Return the URL of the list `operation_type` in the space or change request `at`, or in its thread `thread_id`."""
    return _operation_and_url(operation_type, at, thread_id)[1]


def _needed(
    operation_type: type[Listing[Any]],
    at: Discussion,
    fingerprint: str,
    priority: Priority,
    updated_at: datetime | None,
    thread_id: str = "",
    rank: Rank = Rank.INBOX,
) -> NeededResponse:
    op, url = _operation_and_url(operation_type, at, thread_id)
    order = priority * _PRIORITY_STEP - (updated_at.timestamp() if updated_at is not None else 0.0)
    label = _LABELS[operation_type]
    return NeededResponse(
        op, url, OWNER, rank, fingerprint, order, label, needs_cached_value=True, min_items=MAX_LIST_ITEMS
    )


@lru_cache(maxsize=20_000)
def _operation_and_url(operation_type: type[Listing[Any]], at: Discussion, thread_id: str) -> tuple[Listing[Any], str]:
    op: Listing[Any]
    if operation_type is comments.ListReplies:
        op = replies_op(at, thread_id)
    elif isinstance(at, ChangeRequestRef) and operation_type is not comments.List:
        op = reviews_op(at) if operation_type is reviews.List else requested_reviewers_op(at)
    else:
        op = open_threads_op(at)
    return op, encode(op).url


_LABELS: dict[type[Listing[Any]], str] = {
    reviews.List: "reviews",
    reviews.ListRequested: "the requested reviewers",
    comments.List: "threads",
    comments.ListReplies: "replies",
}
