"""What others did while one worked, in a few words for the frame."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from octavo.tui.widgets import wording
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.polling import RemoteChanges

SEEN_AFTER = timedelta(seconds=10)
"""How long it is there at least: a key pressed in the moment it comes does not say that it was read."""


class NewsLine:
    """`2 new replies · 1 merge`, until the person comes back to the keys."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._news: RemoteChanges | None = None
        self._since: datetime | None = None

    def add(self, news: RemoteChanges) -> None:
        """There is this more."""
        self._news = news if self._news is None else self._news + news
        if self.words and self._since is None:
            self._since = wording.clock()
        self._changed()

    def seen(self) -> None:
        """Somebody is at the keys."""
        if self._since is not None and wording.clock() - self._since >= SEEN_AFTER:
            self.forget()

    def forget(self) -> None:
        """There is nothing new any more."""
        self._news = self._since = None
        self._changed()

    @property
    def words(self) -> str:
        """All that is new. Empty when nothing is."""
        news = self._news
        if news is None:
            return ""
        said = (
            (news.threads, "new thread", ""),
            (news.replies, "new reply", "new replies"),
            (news.reviews, "new review", ""),
            (news.change_requests, "new change request", ""),
            (news.merges, "merge", ""),
        )
        return " · ".join(plural(number, one, many) for number, one, many in said if number)
