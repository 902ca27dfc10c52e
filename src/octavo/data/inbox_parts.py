"""Which answers the inbox is made of, and what says that one of them moved. Pure.

Lists of the organization say of each space and change request when it was touched and how many comments are open there.
An answer is read again when that is not what it was when the answer was read. Not everything moves a list: nobody says
that a server moves `updatedAt` when a review is asked for or taken back (the embedded platform does for the one, and not
for the other), and no counter counts replies. So on each turn a few answers are read again that nothing speaks for, those
first that were read the longest ago: no change is missed for ever.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

from octavo.api import comments, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.comments import Comment
from octavo.api.operation import Listing
from octavo.api.places import ChangeRequestRef, Discussion
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data.comment_words import names
from octavo.data.inbox import ThreadRef, is_mine, ref_of, undecided

Kind = Literal["reviews", "requested", "threads", "commenters", "replies"]
MOST = 1000
"""Items on a page: as many as the interface allows (2.5)."""
PLACES_AGAIN, OTHERS_AGAIN, REQUESTS_AGAIN = 3, 1, 1
"""How many answers are read again on a turn that nothing speaks for: threads of places where some concern the person,
threads of other places, and change requests, with their reviews and those who are asked."""
ON_MINE = 2
"""The rank of the threads of a change request of one's own."""
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
    concerns: bool = True
    """Whether it is wanted as it is. Else it is only once it moved."""


def of_requests(requests: Iterable[ChangeRequest], me: str) -> Iterator[Part]:
    """What is asked of change requests, as lists tell of them."""
    for about in requests:
        if not undecided(about):
            continue
        at, mine, is_open = ref_of(about), is_mine(about, me), about.status == "open"
        touched = about.updated_at.isoformat() if about.updated_at is not None else ""
        stamp = f"{about.status} {touched} {about.revision or ''}"
        yield _part("reviews", at, stamp, 1 if mine else 3 if is_open else 7)
        yield _part("requested", at, stamp, 0 if is_open and not mine else 7)
        if about.comments > 0:
            yield _part("threads", at, f"{about.comments} {touched}", ON_MINE if mine else 6)


def of_spaces(spaces: Iterable[Space]) -> Iterator[Part]:
    """What is asked of spaces."""
    for space in spaces:
        if space.comments > 0:
            yield _part("threads", space.ref, str(space.comments), 4)


def of_threads(
    at: Discussion, threads: Sequence[Comment], me: str, on_mine: bool, writes_here: bool | None
) -> Iterator[Part]:
    """What is asked of the threads of a place: replies where they may concern the person, and who comments here where only
    that says whether they may. `writes_here` says whether the person did, None while it is not known."""
    doubtful = False
    for comment in threads:
        if not comment.is_open_thread or comment.replies <= 0:
            continue
        sure = on_mine or comment.posted_by.id == me or names(comment.body.text, me)
        doubtful = doubtful or not sure
        concerns = sure or bool(writes_here)
        yield _part("replies", at, str(comment.replies), 5 if concerns else 9, comment.id, concerns)
    if doubtful:
        yield _part("commenters", at, "", 8)


def address(kind: Kind, at: Discussion) -> str:
    """The address of a part of a place."""
    return _asking(kind, at, "")[1]


def again(
    parts: Iterable[Part],
    read_at: Mapping[str, datetime],
    due: Callable[[Part], bool],
    concerned: Collection[Discussion],
) -> list[Part]:
    """The few that are read again although nothing speaks for it, of those that are not `due` anyway."""
    resting = sorted((each for each in parts if not due(each)), key=lambda each: read_at.get(each.url, _LONG_AGO))
    places = [each for each in resting if each.kind == "threads"]
    near = [each for each in places if each.at in concerned]
    far = [each for each in places if each.at not in concerned]
    requests = list(dict.fromkeys(each.at for each in resting if each.kind in ("reviews", "requested")))
    few = requests[:REQUESTS_AGAIN]
    looked = [each for each in resting if each.kind in ("reviews", "requested") and each.at in few]
    return [*near[:PLACES_AGAIN], *far[: OTHERS_AGAIN + max(0, PLACES_AGAIN - len(near))], *looked]


def _part(kind: Kind, at: Discussion, stamp: str, rank: int, thread: str = "", concerns: bool = True) -> Part:
    op, url = _asking(kind, at, thread)
    return Part(kind, at, op, url, stamp, rank, thread, concerns)


@lru_cache(maxsize=20_000)
def _asking(kind: Kind, at: Discussion, thread: str) -> tuple[Listing[Any], str]:
    op = _operation(kind, at, thread)
    return op, encode(op).url


def _operation(kind: Kind, at: Discussion, thread: str) -> Listing[Any]:
    match kind, at:
        case "reviews", ChangeRequestRef():
            return reviews.List(at=at, format="markdown", limit=MOST)
        case "requested", ChangeRequestRef():
            return reviews.ListRequested(at=at, limit=MOST)
        case "commenters", _:
            return comments.ListCommenters(at=at, limit=MOST)
        case "replies", _:
            return comments.ListReplies(at=at, comment_id=thread, format="markdown", limit=MOST)
    return comments.List(at=at, status="open", format="markdown", limit=MOST)


def thread_of(part: Part) -> ThreadRef:
    """The thread whose replies `part` is."""
    return ThreadRef(part.at, part.thread)
