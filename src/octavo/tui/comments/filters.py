"""Which threads the list of comments shows, and in what order. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from octavo.api.comments import Comment
from octavo.api.folding import fold
from octavo.api.places import Discussion
from octavo.data.comment_text import mentions
from octavo.tui.widgets.wording import long_age, plural

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Thread:
    """A comment, where it is, and what that place is called."""

    comment: Comment
    at: Discussion
    place: str

    @property
    def key(self) -> str:
        return f"{self.place} {self.comment.id}"

    @property
    def page(self) -> str:
        """The page it is on."""
        page = self.comment.target.page
        return (page.title or page.path or "Untitled page") if page else "General comments"

    @property
    def is_outdated(self) -> bool:
        """Return whether the block of the thread was deleted."""
        page = self.comment.target.page
        return bool(page and page.outdated)

    @property
    def sign(self) -> tuple[str, str]:
        """Return the state of the thread as a sign and its style."""
        if not self.comment.is_open:
            return "✓", "$success"
        if self.comment.is_review:
            return "◐", "$octavo-muted"
        return "○" if self.is_outdated else "●", "$octavo-note"

    @property
    def posted_at(self) -> datetime:
        return self.comment.posted_at or _NEVER


@dataclass(frozen=True)
class ThreadFilter:
    """A filter of threads. Only one filter of each `kind` applies at a time."""

    kind: str
    name: str
    holds: Callable[[Thread], bool] = field(compare=False)


def belongs(thread: Thread, section: str, me: str) -> bool:
    """Return whether a thread is in a section of the list: `open`, `mine`, `resolved`, `reviews` or `all`. Each thread is in
    one of `open`, `resolved` and `reviews`."""
    match section:
        case "open":
            return thread.comment.is_open_thread
        case "mine":
            return thread.comment.posted_by.id == me and thread.comment.is_open_thread
        case "resolved":
            return not thread.comment.is_open
        case "reviews":
            return thread.comment.is_open and thread.comment.is_review
    return True


def offered(
    threads: Sequence[Thread], holding: Sequence[ThreadFilter], now: datetime, me: str
) -> list[tuple[ThreadFilter, int]]:
    """By what threads can be narrowed beside what holds, instead of what holds of the same kind, and how many would be
    left. What would leave none, or all, is not offered."""
    found = []
    for each in _known(threads, now, me):
        among = narrowed(threads, [other for other in holding if other.kind != each.kind])
        left = sum(map(each.holds, among))
        if each not in holding and 0 < left < len(among):
            found.append((each, left))
    return found


def _known(threads: Sequence[Thread], now: datetime, me: str) -> list[ThreadFilter]:
    found = [
        ThreadFilter("Replies", "without replies", lambda thread: not thread.comment.replies),
        ThreadFilter("Replies", "with replies", lambda thread: bool(thread.comment.replies)),
        ThreadFilter("Status", "outdated", lambda thread: thread.is_outdated),
        ThreadFilter("Status", "not on a block", lambda thread: thread.comment.target.node is None),
        ThreadFilter("Mentions", "mentioning me", lambda thread: mentions(thread.comment.body.text, me)),
    ]
    for days, name in ((1, "from the last 24 hours"), (7, "from the last 7 days")):
        found.append(ThreadFilter("Age", name, _since(now - timedelta(days=days))))
    for days, name in ((7, "older than 7 days"), (30, "older than 30 days")):
        found.append(ThreadFilter("Age", name, _before(now - timedelta(days=days))))
    people = Counter((thread.comment.posted_by.id, thread.comment.posted_by.name) for thread in threads)
    for (person, name), _ in people.most_common():
        found.append(ThreadFilter("Author", f"by {name}", _by(person)))
    for place in dict.fromkeys(thread.place for thread in threads):
        found.append(ThreadFilter("Location", f"in {place}", _in(place)))
    return found


def narrowed(threads: Iterable[Thread], by: Collection[ThreadFilter]) -> list[Thread]:
    """The threads for which all of `by` holds."""
    return [thread for thread in threads if all(each.holds(thread) for each in by)]


def place_summaries(threads: Iterable[Thread]) -> dict[str, str]:
    """Return the number of threads of each space or change request, and the age of the oldest."""
    there: dict[str, list[Thread]] = {}
    for thread in threads:
        there.setdefault(thread.place, []).append(thread)
    return {
        place: f"{plural(len(each), 'thread')} · oldest {long_age(min(one.posted_at for one in each))}"
        for place, each in there.items()
    }


ORDERS: dict[str, tuple[str, Callable[[Thread], tuple[object, ...]]]] = {
    "place": ("by space and page", lambda each: (each.place, each.page)),
    "newest": ("newest first", lambda each: (_NEVER - each.posted_at,)),
    "oldest": ("oldest first", lambda each: (each.posted_at,)),
    "answers": ("most replies first", lambda each: (-each.comment.replies,)),
    "author": ("by author", lambda each: (fold(each.comment.posted_by.name),)),
}
"""The orders of the list: the name and the sort key of each."""


def _since(moment: datetime) -> Callable[[Thread], bool]:
    return lambda thread: thread.posted_at >= moment


def _before(moment: datetime) -> Callable[[Thread], bool]:
    return lambda thread: thread.posted_at < moment


def _by(person: str) -> Callable[[Thread], bool]:
    return lambda thread: thread.comment.posted_by.id == person


def _in(place: str) -> Callable[[Thread], bool]:
    return lambda thread: thread.place == place
