"""The pages one has read, to come back to; and where one was on them, over a restart."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from octavo.tui.reader.page_view import PageView
from octavo.tui.render.reading_position import ReadingPositions
from octavo.tui.terminal.textual_internals import is_being_removed

if TYPE_CHECKING:
    from textual.timer import Timer

    from octavo.api.content import Page, PageTree
    from octavo.tui.shell.view import View

KEEP_PLACE = 2.0
"""Seconds after one moves before the place one is at then is written down."""


class ReadingHistory:
    """Where one was on the pages that a view showed."""

    def __init__(self, screen: View) -> None:
        """Pages are read in the `PageView` of `screen`."""
        self._screen = screen
        self._keeping: Timer | None = None

    @cached_property
    def places(self) -> ReadingPositions:
        """Where one was on the pages one read last."""
        return ReadingPositions(self._screen.shell.session.state)

    def last_of(self, space_id: str, pages: PageTree) -> Page | None:
        """The page of a space that was read last."""
        name = self._screen.shell.session.state.get_fact(f"page {space_id}")
        return pages.find(str(name)) if name else None

    def keep_soon(self) -> None:
        """Keep where one is, once one has read on for a while."""
        if self._keeping is None:
            self._keeping = self._screen.set_timer(KEEP_PLACE, self.keep)

    def keep(self) -> None:
        """Keep where one is on the page on show, unless that is being taken down."""
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None
        if not is_being_removed(self._screen) and self._view.document is not None:
            self.places.remember(self._view.key, self._view.navigation.history_position)

    @property
    def _view(self) -> PageView:
        return self._screen.query_one("#page", PageView)
