"""The responses that the inbox needs, and when they are fetched again. Pure.

The lists of an organization say when each space and change request was updated and how many open threads it has. A
response is fetched again when its stamp (`stamps.py`) has changed. Lists do not tell of every change: a server
need not change `updatedAt` when a review is requested or withdrawn, and no list counts replies. So each turn
rechecks a few other responses, the oldest first: no change is missed forever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Literal

from octavo.api import comments
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import Listing
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data import stamps
from octavo.data.comment_text import mention_suffix
from octavo.data.inbox import is_mine, is_undecided, ref_of
from octavo.data.queries import MOST, open_threads_of, requested_of, reviews_of

Kind = Literal["reviews", "requested", "threads", "replies"]
PAGES_AGAIN, OTHERS_AGAIN, REQUESTS_AGAIN = 5, 1, 1
"""Rechecked in each turn: pages of thread lists; of these, places without a thread that concerns the user; and change
requests, with their reviews and requested reviewers."""
ON_MINE, NEAR, OTHERS = 2, 5, 9
"""Ranks: threads of the user's own change requests, replies that concern the user, and replies that may: threads of
others in which the user is mentioned or has replied."""
_LATELY = timedelta(hours=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """A response that the inbox needs."""

    kind: Kind
    at: Discussion
    op: Listing[Any]
    url: str
    stamp: str
    """Differs when the response differs."""
    rank: int
    """Lower for responses that are more likely to concern the user."""
    thread: str = ""
    """The first comment of the thread, if the response is its replies."""
    touched: datetime = _LONG_AGO
    """When the place or thread was last updated."""

    @property
    def order(self) -> tuple[int, float]:
        """The order of requests: by rank, then the most recently updated first."""
        return self.rank, -self.touched.timestamp() if self.touched > _LONG_AGO else 0.0


def of_requests(requests: Iterable[ChangeRequest], me: str) -> Iterator[Part]:
    """Return the responses of change requests, as lists tell of them."""
    for about in requests:
        if not is_undecided(about):
            continue
        at, mine, is_open = ref_of(about), is_mine(about, me), about.status == "open"
        stamp, when = stamps.reviews_stamp(about), about.updated_at or _LONG_AGO
        yield _part("reviews", at, stamp, 1 if mine else 3 if is_open else 7, touched=when)
        yield _part("requested", at, stamp, 0 if is_open and not mine else 7, touched=when)
        if about.comments > 0:
            yield _part("threads", at, stamps.open_threads_stamp(about), ON_MINE if mine else 6, touched=when)


def of_spaces(spaces: Iterable[Space]) -> Iterator[Part]:
    """Return the responses of spaces, as lists tell of them."""
    for space in spaces:
        if space.comments > 0:
            yield _part(
                "threads", space.ref, stamps.open_threads_stamp(space), 4, touched=space.updated_at or _LONG_AGO
            )


def of_threads(at: Discussion, threads: Sequence[Comment], me: str, on_mine: bool) -> Iterator[Part]:
    """Return the replies of the open threads of a place that have any. Only replies say whether they mention the user;
    only newer servers list who replied."""
    naming = mention_suffix(me)
    for comment in threads:
        if comment.is_open_thread and comment.replies > 0:
            by = comment.repliers or ()
            sure = (
                on_mine or naming in comment.body.text or me in (comment.posted_by.id, *(each.user.id for each in by))
            )
            last = max((each.updated_at for each in by if each.updated_at is not None), default=None)
            touched = last or comment.posted_at or _LONG_AGO
            yield _part("replies", at, stamps.replies_stamp(comment), NEAR if sure else OTHERS, comment.id, touched)


def address(kind: Kind, at: Discussion) -> str:
    """Return the URL of a response of a place."""
    return _asking(kind, at, "")[1]


def threads_of(at: Discussion) -> Listing[Comment]:
    """Return the list of the open threads of a place."""
    return _asking("threads", at, "")[0]


def again(
    resting: Iterable[Part],
    read_at: Mapping[str, datetime],
    alive: Mapping[Discussion, datetime],
    now: datetime,
    pages: Mapping[str, int],
) -> list[Part]:
    """Return the few of `resting`, whose stamps have not changed, that are rechecked. `pages` is the number of pages
    of each response by its URL. The first place of each kind is among them, however long its list is.

    `alive` says when somebody last wrote in places with a thread that concerns the user. Places with recent
    activity are rechecked often, others rarely, and each at some time.
    """
    resting = list(resting)
    waits = {each.url: now - read_at.get(each.url, _LONG_AGO) for each in resting}
    places = [each for each in resting if each.kind == "threads"]
    requests = [each for each in resting if each.kind in ("reviews", "requested")]
    near = sorted(
        (each for each in places if each.at in alive),
        key=lambda each: waits[each.url] / max(now - alive[each.at], _LATELY),
        reverse=True,
    )
    far = sorted((each for each in places if each.at not in alive), key=lambda each: waits[each.url], reverse=True)
    requests.sort(key=lambda each: waits[each.url], reverse=True)
    few = set(list(dict.fromkeys(each.at for each in requests))[:REQUESTS_AGAIN])
    chosen = [*near[:1], *far[:OTHERS_AGAIN]]
    room = PAGES_AGAIN - sum(pages.get(each.url, 1) for each in chosen)
    for place in (*near[1:], *far[OTHERS_AGAIN:]):
        if room <= 0:
            break
        if (needs := pages.get(place.url, 1)) <= room:
            chosen.append(place)
            room -= needs
    return [*chosen, *(each for each in requests if each.at in few)]


def _part(kind: Kind, at: Discussion, stamp: str, rank: int, thread: str = "", touched: datetime = _LONG_AGO) -> Part:
    op, url = _asking(kind, at, thread)
    return Part(kind, at, op, url, stamp, rank, thread, touched)


@lru_cache(maxsize=20_000)
def _asking(kind: Kind, at: Discussion, thread: str) -> tuple[Listing[Any], str]:
    op = _operation(kind, at, thread)
    return op, encode(op).url


def _operation(kind: Kind, at: Discussion, thread: str) -> Listing[Any]:
    match kind, at:
        case "reviews", ChangeRequestRef():
            return reviews_of(at)
        case "requested", ChangeRequestRef():
            return requested_of(at)
        case "replies", _:
            return comments.ListReplies(at=at, comment_id=thread, format="markdown", limit=MOST)
    return open_threads_of(at)
