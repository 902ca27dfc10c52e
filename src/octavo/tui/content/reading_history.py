"""Visited pages, and the reading positions on them, which are kept over restarts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from octavo.tui.reader.page_view import PageView
from octavo.tui.render.reading_position import ReadingPosition, ReadingPositions
from octavo.tui.terminal.textual_internals import is_being_removed

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.api.content import Page, PageTree
    from octavo.tui.core.view import View

SAVE_DELAY = 2.0
"""Seconds after a movement until the reading position is saved."""


class VisitedPage(NamedTuple):
    """A visited page, and the reading position in it."""

    space: str
    page: str
    position: ReadingPosition | None
    """None if the page was not visible."""


class ReadingHistory:
    """The reading positions on the pages of a view."""

    def __init__(self, screen: View) -> None:
        """Create the history of the `PageView` in `screen`."""
        self._screen = screen
        self._timer: Timer | None = None

    @cached_property
    def positions(self) -> ReadingPositions:
        """The reading positions on the last read pages."""
        return ReadingPositions(self._screen.shell.session.state)

    def last_page(self, space_id: str, pages: PageTree) -> Page | None:
        """Return the page of a space that was read last. None if there is none in `pages`."""
        name = self._screen.shell.session.state.get_fact(f"page {space_id}")
        return pages.find(str(name)) if name else None

    def save_soon(self) -> None:
        """Save the reading position in a moment."""
        if self._timer is None:
            self._timer = self._screen.set_timer(SAVE_DELAY, self.save)

    def save(self) -> None:
        """Save the reading position now, unless the view is being removed."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        if not is_being_removed(self._screen) and self._view.document is not None:
            self.positions.remember(self._view.key, self._view.navigation.history_position)

    @property
    def _view(self) -> PageView:
        return self._screen.query_one("#page", PageView)
