"""Loads the ages of the blocks of the open page for the age gutter."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

from octavo.api.errors import ApiError
from octavo.documents.blocks import Block
from octavo.lazy_import import load
from octavo.tui.widgets.short_texts import short_age

if TYPE_CHECKING:
    from octavo.data.page_blame import PageBlame
    from octavo.tui.content.space_panes import SpacePanes
    from octavo.tui.core.view import View

_FACT = "ages of blocks"
"""Name under which the state database stores whether the age gutter is switched on."""


class PageAges:
    """Whether the age gutter is switched on, and the ages of the open page."""

    def __init__(self, screen: View, panes: SpacePanes) -> None:
        self._screen, self._panes = screen, panes
        self._loaded: tuple[str, str] = ("", "")
        """Key and Markdown of the page whose ages are loaded or loading. Empty if there are none."""

    @property
    def is_shown(self) -> bool:
        """True if the user switched the age gutter on. The choice is kept for the next start."""
        return bool(self._panes.shell.session.state.get_fact(_FACT))

    def toggle(self) -> None:
        """Show or hide the age gutter."""
        self._panes.shell.session.state.set_fact(_FACT, not self.is_shown)
        self._loaded = ("", "")
        if self.is_shown:
            self.show_page()
        else:
            self._screen.workers.cancel_group(self._screen, "ages")
            self._panes.page_view.contents.ages.hide()

    def show_page(self) -> None:
        """Load the ages of the open page, if the gutter is switched on and the page has changed."""
        document = self._panes.page_view.document
        if not self.is_shown or document is None or not self._panes.shows_open_page:
            return
        shown = (self._panes.key, document.source)
        if shown == self._loaded:
            return
        self._loaded = shown
        self._panes.page_view.contents.ages.show()
        self._screen.run_worker(self._load(), exclusive=True, group="ages")

    async def _load(self) -> None:
        space, page = self._panes.space_ref, self._panes.page
        if space is None or page is None:
            return
        blame: PageBlame = load("octavo.data.page_blame:PageBlame")(self._screen.live, space, page.id)
        try:
            async for _ in blame.load():
                self._show(blame, is_loading=True)
            self._show(blame, is_loading=False)
        except ApiError as error:
            self._loaded = ("", "")
            self._panes.shell.say(f"Could not load the ages of the blocks: {error}", tone="care")

    def _show(self, blame: PageBlame, *, is_loading: bool) -> None:
        document = self._panes.page_view.document
        if document is None or not self._panes.shows_open_page:
            return
        dates: dict[str, datetime] = {}
        for block in blame.blocks:
            if (origin := blame.origin(block.key)) is not None and origin.version.created_at is not None:
                dates[block.key] = origin.version.created_at
        _add_containers(document.blocks, dates)
        ages = {key: short_age(date) for key, date in dates.items()}
        if not is_loading and blame.known_since is not None:
            # The other blocks are older than the oldest checked revision.
            older = f"{short_age(blame.known_since)}+"
            ages |= {block.key: older for block in blame.blocks if blame.origin(block.key) is None}
        self._panes.page_view.contents.ages.show(ages)


def _add_containers(blocks: Iterable[Block], dates: dict[str, datetime]) -> list[datetime]:
    """Add the date of each container to `dates`: the date of its newest inner block. Return the dates of all
    `blocks`."""
    found: list[datetime] = []
    for block in blocks:
        inner = _add_containers(block.children, dates)
        if block.key not in dates and inner:
            dates[block.key] = max(inner)
        found += inner if block.key not in dates else [dates[block.key]]
    return found
