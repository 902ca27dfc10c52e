"""The way through the open threads of a change request, from page to page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from octavo.api.comments import Comment
from octavo.tui.review.changed_pages import WHOLE


def open_on(key: str, threads: Iterable[Comment]) -> list[Comment]:
    """The open threads on the page of an entry, or on all of it."""
    return [each for each in threads if each.is_open_thread and entry_of(each) == key]


def entry_of(thread: Comment) -> str:
    """The key of the entry a thread is on."""
    return thread.target.page.id if thread.target.page else WHOLE


def following(keys: Sequence[str], here: str, step: int, threads: Sequence[Comment]) -> str | None:
    """Of the entries called `keys`, the one after (or before) `here` that has an open thread."""
    at = keys.index(here) if here in keys else -1
    among = keys[at + 1 :] if step > 0 else reversed(keys[: max(at, 0)])
    with_open = {entry_of(each) for each in threads if each.is_open_thread}
    return next((key for key in among if key in with_open), None)


def no_more_threads(number: int, step: int, threads: Iterable[Comment]) -> str:
    """What is said where no open thread comes any more."""
    count = sum(thread.is_open_thread for thread in threads)
    way, back = ("after", "T") if step > 0 else ("before", "t")
    return f"No open thread of #{number} comes {way} this. {back} goes back to {f'the {count}' if count > 1 else 'the one'}."
