"""The pages one has read, to come back to; and where one was on them, over a restart."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.timer import Timer

from octavo.tui.content.visit import Visit
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.reading_position import ReadingPositions
from octavo.tui.shell.view import View

if TYPE_CHECKING:
    from octavo.api.content import Page, PageTree
    from octavo.api.spaces import Space

KEEP_PLACE = 2.0
"""Seconds after one moves before the place one is at then is written down."""


class ReadingHistory(View):
    """A view of pages one comes back to. A subclass says where one is, and shows where one was."""

    CONTEXT: ClassVar[str] = "content"

    space: Space | None
    pages: PageTree | None

    def __init__(self) -> None:
        super().__init__()
        self._keeping: Timer | None = None

    @property
    def here(self) -> Visit | None:
        """The page on show, and how far it is scrolled."""
        raise NotImplementedError

    def show_again(self, visit: Visit) -> None:
        """Show a page as it was left."""
        raise NotImplementedError

    @property
    def view(self) -> PageView:
        """Where pages are read."""
        raise NotImplementedError

    def named(self, name: str) -> Page | None:
        """The page of this space that a link means by its id or path. When there is none, that is said."""
        page = self.pages.named(name) if self.pages is not None else None
        if page is None and self.space is not None:
            where = self.space.title or "this space"
            self.shell.say(f"There is no page {name} in {where}: it was moved or deleted.", tone="care")
        return page

    def read_last(self) -> Page | None:
        """The page of this space that was read last."""
        name = self.shell.session.state.recall(f"page {self.space.id}") if self.space is not None else None
        return self.pages.find(str(name)) if self.pages is not None and name else None

    @cached_property
    def places(self) -> ReadingPositions:
        """Where one was on the pages one read last."""
        return ReadingPositions(self.shell.session.state)

    @on(PageView.Moved)
    def _keep_place_soon(self) -> None:
        if self._keeping is None:
            self._keeping = self.set_timer(KEEP_PLACE, self.keep_place)

    @property
    def is_page_on_show(self) -> bool:
        """Whether the page is on show with nothing over it or in it that a start would not show."""
        here, view = self.here, self.view
        covered = any(notices.display for notices in self.query("Notices")) or view.is_typing or view.shows_source
        return here is not None and view.key == f"{here.space} {here.page}" and not covered

    def keep_place(self) -> None:
        """Keep where one is on the page on show, unless that is being taken down."""
        if self._keeping is not None:
            self._keeping.stop()
            self._keeping = None
        if not self._closing and self.view.document is not None:
            self.places.keep(self.view.key, self.view.whereabouts)

    def on_mount(self) -> None:
        self.shell.before_end.add(self.keep_place)

    def on_unmount(self) -> None:
        self.shell.before_end.discard(self.keep_place)

    def leave_here(self, to_page: str | None = None) -> None:
        """Remember the page on show, for one goes on to another."""
        here = self.here
        if here is not None and here.page != to_page:
            self.shell.trail.leave(opened=False)
