"""The open space and its open page, and the panes that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api.content import Page, PageTree
from octavo.api.places import SpaceRef
from octavo.api.spaces import Space
from octavo.documents.blocks import Block
from octavo.tui.content.navigation import Navigation
from octavo.tui.content.side_panel import SidePanel
from octavo.tui.core.view import View
from octavo.tui.reader.link_titles import ShownPage
from octavo.tui.reader.page_view import PageView
from octavo.tui.widgets.tree import Tree

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell


class SpacePanes:
    """The open space and its open page, as far as they are loaded, and the panes of a screen that show them."""

    def __init__(self, screen: View) -> None:
        """`screen` contains a `Navigation`, a `PageView` and a `SidePanel`."""
        self._screen = screen
        self.space: Space | None = None
        self.pages: PageTree | None = None
        self.page: Page | None = None

    @property
    def shell(self) -> Shell:
        return self._screen.shell

    @property
    def nav(self) -> Navigation:
        return self._screen.query_one(Navigation)

    @property
    def pages_tree(self) -> Tree:
        return self.nav.pages

    @property
    def page_view(self) -> PageView:
        return self._screen.query_one("#page", PageView)

    @property
    def side_panel(self) -> SidePanel:
        return self._screen.query_one("#aside", SidePanel)

    @property
    def key(self) -> str:
        """The key of the open page in the page view."""
        return f"{self.space.id} {self.page.id}" if self.space is not None and self.page is not None else ""

    @property
    def shown_page(self) -> ShownPage:
        """The open page, with everything that its links need."""
        return ShownPage(self.shell, self.page_view, self.space, self.pages, self.page)

    @property
    def shows_open_page(self) -> bool:
        """True if the page view shows the open page. While that is loading, the view shows the previous page."""
        return self.page_view.document is not None and self.page_view.key == self.key

    @property
    def visible_page(self) -> tuple[str, str] | None:
        """Id and title of the open page. None while it is loading."""
        page = self.page
        return (page.id, page.title or "this page") if page and self.shows_open_page else None

    @property
    def visible_block(self) -> Block | None:
        """The selected block of the open page. None if no block is selected, or while the page is loading."""
        span = self.page_view.cursor.current() if self.shows_open_page else None
        return span.block if span else None

    @property
    def space_ref(self) -> SpaceRef | None:
        """Reference of the open space. None if no space is open."""
        return self.space.ref if self.space is not None else None
