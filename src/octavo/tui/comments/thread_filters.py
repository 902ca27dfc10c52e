"""Tabs, filters and sort orders of the list of threads, and the texts that its filter line searches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING

from octavo.api.comments import Comment
from octavo.api.folding import FoldedText, fold
from octavo.api.operation import ChangeRequestRef, Discussion
from octavo.documents.suggestions import mentions_user, one_line_text
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets.row_list import ItemFilter, RowHeading, RowList
from octavo.tui.widgets.short_texts import long_age, plural

if TYPE_CHECKING:
    from octavo.tui.core.view import View


_NEVER, _ALWAYS = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True)
class Thread:
    """Comment thread. `at` is its space or change request, and `location` is the label of `at`."""

    comment: Comment
    at: Discussion
    location: str

    @property
    def discussion_key(self) -> tuple[str, str, str]:
        """Key of `at`: `location` (not unique), space ID, and change request ID (empty if `at` is a space)."""
        change_request_id = self.at.change_request_id if isinstance(self.at, ChangeRequestRef) else ""
        return self.location, self.at.space_id, change_request_id

    @property
    def key(self) -> tuple[str, ...]:
        """Space ID, change request ID (empty without one) and comment ID. Renaming a space does not change the key."""
        return *self.discussion_key[1:], self.comment.id

    @property
    def page_name(self) -> str:
        """Title of the page, else its path. “General comments” if the thread is not on a page."""
        page = self.comment.target.page
        return (page.title or page.path or "Untitled page") if page else "General comments"

    @property
    def page_id(self) -> str:
        """ID of the page. Empty if the thread is not on a page."""
        return self.comment.target.page.id if self.comment.target.page else ""

    @property
    def is_outdated(self) -> bool:
        """True if the server says that the page or block of the thread is missing from main."""
        page = self.comment.target.page
        return bool(page and page.outdated)

    @property
    def sign(self) -> tuple[str, str]:
        """Sign of the thread in the list, such as `●` for an open thread, and its style."""
        if not self.comment.is_open:
            return "✓", "$success"
        if self.comment.is_review_text:
            return "◐", "$octavo-muted"
        return "○" if self.is_outdated else "●", "$octavo-note"

    @property
    def posted_at(self) -> datetime:
        return self.comment.posted_at or _NEVER


ThreadFilter = ItemFilter[Thread]


def is_in_section(thread: Thread, section: str, my_id: str) -> bool:
    """Return whether `thread` is in the tab `section`: `open`, `mine` (open), `resolved`, `reviews` (open) or `all`."""
    match section:
        case "open":
            return thread.comment.is_open_thread
        case "mine":
            return thread.comment.posted_by.id == my_id and thread.comment.is_open_thread
        case "resolved":
            return not thread.comment.is_open
        case "reviews":
            return thread.comment.is_open and thread.comment.is_review_text
    return True


def all_filters(threads: Sequence[Thread], now: datetime, my_id: str) -> list[ThreadFilter]:
    """Return all filters that can be offered for a list of threads. `my_id` is your user ID."""
    filters = [
        ThreadFilter("Replies", "without replies", lambda thread: not thread.comment.replies),
        ThreadFilter("Replies", "with replies", lambda thread: bool(thread.comment.replies)),
        ThreadFilter("Status", "outdated", lambda thread: thread.is_outdated),
        ThreadFilter("Status", "not on a block", lambda thread: thread.comment.target.node is None),
        ThreadFilter("Mentions", "mentioning me", lambda thread: mentions_user(thread.comment.body.text, my_id)),
    ]
    for days, name in ((1, "from the last 24 hours"), (7, "from the last 7 days")):
        filters.append(ThreadFilter("Age", name, _time_matcher(now - timedelta(days=days), _ALWAYS)))
    for days, name in ((7, "older than 7 days"), (30, "older than 30 days")):
        filters.append(ThreadFilter("Age", name, _time_matcher(_NEVER, now - timedelta(days=days))))
    people = Counter((thread.comment.posted_by.id, thread.comment.posted_by.name) for thread in threads)
    for (user_id, name), _ in people.most_common():
        filters.append(
            ThreadFilter("Author", f"by {name}", _matcher(lambda thread: thread.comment.posted_by.id, user_id))
        )
    for location in dict.fromkeys(thread.location for thread in threads):
        filters.append(ThreadFilter("Location", f"in {location}", _matcher(lambda thread: thread.location, location)))
    return filters


def _time_matcher(start: datetime, end: datetime) -> Callable[[Thread], bool]:
    return lambda thread: start <= thread.posted_at < end


def _matcher(value_of: Callable[[Thread], str], value: str) -> Callable[[Thread], bool]:
    return lambda thread: value_of(thread) == value


def discussion_headings(threads: Iterable[Thread]) -> dict[tuple[str, ...], RowHeading]:
    """Return the list heading of each space or change request, by `Thread.discussion_key`."""
    times_by_key: dict[tuple[str, ...], list[datetime | None]] = {}
    for thread in threads:
        times_by_key.setdefault(thread.discussion_key, []).append(thread.comment.posted_at)

    def summary_of(times: list[datetime | None]) -> str:
        age = long_age(min(filter(None, times), default=None))
        return plural(len(times), "thread") + (f" · oldest {age}" if age else "")

    return {key: RowHeading(key[0], summary_of(times), key) for key, times in times_by_key.items()}


ORDERS: dict[str, tuple[str, Callable[[Thread], tuple[object, ...]]]] = {
    "place": ("by space and page", lambda each: (*each.discussion_key, each.page_name, each.page_id)),
    "newest": ("newest first", lambda each: (_NEVER - each.posted_at,)),
    "oldest": ("oldest first", lambda each: (each.posted_at,)),
    "answers": ("most replies first", lambda each: (-each.comment.replies,)),
    "author": ("by author", lambda each: (fold(each.comment.posted_by.name),)),
}
"""Sort orders of the list by key: the name, and a function that returns the sort key."""


_CONTEXT_LENGTH = 20
"""Number of characters before a match that `hidden_match` shows."""


class ThreadSearchText:
    """The texts that the filter line of the thread list searches. Replies come from the search index."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._replies: Mapping[tuple[Discussion, str], Sequence[str]] = {}
        self._is_current = self._is_loading = False

    def text_of(self, thread: Thread) -> str:
        """Return the text that the filter line searches: comment, author, page, location, quoted block and replies."""
        return " ".join((_own_text(thread), _quoted_text(thread), *self._replies_to(thread)))

    def hidden_match(self, thread: Thread, words: Sequence[str]) -> str:
        """Return text of a match that the row hides, such as `in a reply: …`. Empty if none. `words` are folded."""
        own_text = fold(_own_text(thread))
        hidden_words = [word for word in words if word not in own_text]
        candidates = [("in a reply", each) for each in self._replies_to(thread)] + [
            ("in the quoted text", _quoted_text(thread))
        ]
        for location, text in candidates:
            plain_text = one_line_text(text)
            folded = FoldedText(plain_text)
            starts = [match.start for word in hidden_words for match in islice(folded.find(word), 1)]
            if starts:
                start = max(0, min(starts) - _CONTEXT_LENGTH)
                start = plain_text.find(" ", start, min(starts)) + 1 if start else 0
                return f"{location}: {'…' if start else ''}{plain_text[start:]}"
        return ""

    def load_replies(self, rows: RowList[Thread]) -> None:
        """If the list is filtered, read the replies from the search index in the background, then filter again. While
        the filter is not empty, read the replies only once."""
        if not rows.query_text:
            self._is_current = False
        elif not (self._is_current or self._is_loading):
            self._is_loading = True
            self._view.shell.background(self._read_index(rows))

    async def _read_index(self, rows: RowList[Thread]) -> None:
        try:
            replies = await self._view.shell.session.search_index.replies()
        finally:
            self._is_loading = False
        self._is_current = True
        if replies != self._replies and is_fully_mounted(rows):
            self._replies = replies
            rows.search_texts.discard()
            rows.apply_filter()

    def _replies_to(self, thread: Thread) -> Sequence[str]:
        return self._replies.get((thread.at, thread.comment.id), ())


def _own_text(thread: Thread) -> str:
    return f"{thread.comment.body.text} {thread.comment.posted_by.name} {thread.page_name} {thread.location}"


def _quoted_text(thread: Thread) -> str:
    node = thread.comment.target.node
    return (node.preview or "") if node is not None else ""
