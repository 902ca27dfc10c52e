"""Which answers the inbox is made of, and what says that one of them moved. Pure.

Lists of the organization say of each space and change request when it was touched and how many comments are open there.
An answer is read again when that is not what it was when the answer was read. Not everything moves a list: nobody says
that a server moves `updatedAt` when a review is asked for or taken back (the embedded platform does for the one, and not
for the other), and no counter counts replies. So on each turn a few answers are read again that nothing speaks for, those
first that were read the longest ago: no change is missed for ever.
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
from octavo.data.comment_words import mention_of
from octavo.data.inbox import is_mine, ref_of, undecided
from octavo.data.queries import MOST, open_threads_of, requested_of, reviews_of

Kind = Literal["reviews", "requested", "threads", "replies"]
PAGES_AGAIN, OTHERS_AGAIN, REQUESTS_AGAIN = 5, 1, 1
"""How much is read again on a turn that nothing speaks for: pages of threads; of these, places where no thread concerns the
person; and change requests, with their reviews and those who are asked."""
ON_MINE, NEAR, OTHERS = 2, 5, 9
"""Ranks: threads of a change request of one's own, replies that concern one, and replies that may: in threads of others
they say whether one answered there, or is named."""
_LATELY = timedelta(hours=1)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Part:
    """One answer, what it is of, and what is said of it elsewhere."""

    kind: Kind
    at: Discussion
    op: Listing[Any]
    url: str
    stamp: str
    """Another one when it moved."""
    rank: int
    """What most likely concerns the person has the least."""
    thread: str = ""
    """The first comment of the thread whose replies they are."""
    touched: datetime = _LONG_AGO
    """When last something is known to have happened there."""

    @property
    def order(self) -> tuple[int, float]:
        """What is asked first has the least: what most likely concerns the person, and of that what happened last."""
        return self.rank, -self.touched.timestamp() if self.touched > _LONG_AGO else 0.0


def of_requests(requests: Iterable[ChangeRequest], me: str) -> Iterator[Part]:
    """Return the responses of change requests, as lists tell of them."""
    for about in requests:
        if not undecided(about):
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
    naming = mention_of(me)
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
    """The address of a part of a place."""
    return _asking(kind, at, "")[1]


def threads_of(at: Discussion) -> Listing[Comment]:
    """What asks for the threads of a place."""
    return _asking("threads", at, "")[0]


def again(
    resting: Iterable[Part],
    read_at: Mapping[str, datetime],
    alive: Mapping[Discussion, datetime],
    now: datetime,
    pages: Mapping[str, int],
) -> list[Part]:
    """The few of `resting`, parts that nothing speaks for, that are read again all the same. `pages` says by address of how
    many an answer was. One place of either kind is among them however long it is.

    `alive` says when last something happened in places where a thread concerns the person. Where that was lately they are
    read often, elsewhere seldom, and each at some time.
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
