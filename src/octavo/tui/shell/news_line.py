"""Summary of changes by other people, for the status bar."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from octavo.tui.widgets import wording
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.polling import RemoteChanges

MIN_SHOWN = timedelta(seconds=10)
"""How long news is shown at least. A key that is pressed at the moment the news arrives does not dismiss it."""


class RemoteNews:
    """News such as `2 new replies · 1 merge`, shown until the user presses a key."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self._changed = changed
        self._news: RemoteChanges | None = None
        self._shown_since: datetime | None = None

    def add(self, news: RemoteChanges) -> None:
        """Add changes to the news."""
        self._news = news if self._news is None else self._news + news
        if self.summary and self._shown_since is None:
            self._shown_since = wording.clock()
        self._changed()

    def dismiss(self) -> None:
        """Dismiss the news after a key press, unless it has just arrived."""
        if self._shown_since is not None and wording.clock() - self._shown_since >= MIN_SHOWN:
            self.clear()

    def clear(self) -> None:
        """Clear the news."""
        self._news = self._shown_since = None
        self._changed()

    @property
    def summary(self) -> str:
        """All news in a line. Empty without news."""
        news = self._news
        if news is None:
            return ""
        counts = (
            (news.threads, "new thread", ""),
            (news.replies, "new reply", "new replies"),
            (news.reviews, "new review", ""),
            (news.change_requests, "new change request", ""),
            (news.merges, "merge", ""),
        )
        return " · ".join(plural(number, one, many) for number, one, many in counts if number)
