"""The order of the open threads of a change request, from page to page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from octavo.api.comments import Comment
from octavo.tui.review.changed_pages import WHOLE


def open_threads_on(key: str, threads: Iterable[Comment]) -> list[Comment]:
    """Return the open threads on the page of the entry `key`."""
    return [each for each in threads if each.is_open_thread and entry_of(each) == key]


def entry_of(thread: Comment) -> str:
    """Return the key of the entry that a thread is on."""
    return thread.target.page.id if thread.target.page else WHOLE


def next_with_threads(keys: Sequence[str], current: str, step: int, threads: Sequence[Comment]) -> str | None:
    """Return the next of `keys` after `here` with an open thread, or the previous one if `step` is -1.

    None at the end.
    """
    at = keys.index(current) if current in keys else -1
    among = keys[at + 1 :] if step > 0 else reversed(keys[: max(at, 0)])
    with_open = {entry_of(each) for each in threads if each.is_open_thread}
    return next((key for key in among if key in with_open), None)


def no_more_threads(number: int, step: int) -> str:
    """Return the notice after the last open thread, or before the first with `step` -1."""
    direction, key, other = ("more", "T", "previous") if step > 0 else ("previous", "t", "next")
    return f"No {direction} open threads in #{number}. Press {key} to go to the {other} open thread."
