"""The ways from a page to what belongs to reading: files, links, the history of the page, and an export."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from octavo.api.spaces import Space
from octavo.tui.content.spaces import Spaces


class SpaceViews(Spaces):
    """A view of a space that leads to its other sides. A subclass says which space and page."""

    CONTEXT: ClassVar[str] = "content"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("F", "files", "Files", show=False, tooltip="Files of this space, and where they are used", id="space.files"),
        Binding("L", "links", "Links", show=False, tooltip="Links of this space, broken ones first", id="space.links"),
        Binding("B", "backlinks", "Links here", show=False, tooltip="Where other pages link to this one", id="page.backlinks"),
        Binding("H", "history", "History", show=False, tooltip="The revisions that changed this page", id="page.history"),
        Binding("ctrl+e", "export", "Export", show=False, tooltip="Save the page or the space as Markdown or PDF", id="page.export"),
    ]  # fmt: skip

    @property
    def page_at_hand(self) -> tuple[str, str] | None:
        """The id and title of the page the keys are about."""
        raise NotImplementedError

    @property
    def space_at_hand(self) -> Space | None:
        """The space the keys are about."""
        raise NotImplementedError

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in ("files", "links", "export") and self.space_at_hand is None:
            return "Open a space first: enter opens the one the cursor is on."
        if action in ("backlinks", "history") and (self.space_at_hand is None or self.page_at_hand is None):
            return "Open a page first: enter opens the one the cursor is on."
        return super().why_not(action, parameters)

    def action_files(self) -> None:
        from octavo.tui.content.files import FilesScreen

        if (space := self.space_at_hand) is not None:
            self.app.push_screen(FilesScreen(space))

    def action_links(self) -> None:
        from octavo.tui.content.links import LinksScreen

        if (space := self.space_at_hand) is not None:
            self.app.push_screen(LinksScreen(space, self.page_at_hand))

    def action_backlinks(self) -> None:
        from octavo.tui.content.links import LinksScreen

        space, page = self.space_at_hand, self.page_at_hand
        if space is not None and page is not None:
            self.app.push_screen(LinksScreen(space, page, begin="here"))

    def action_history(self) -> None:
        from octavo.tui.content.page_history import PageHistoryScreen

        space, page = self.space_at_hand, self.page_at_hand
        if space is not None and page is not None:
            self.app.push_screen(PageHistoryScreen(space, *page))

    def action_export(self) -> None:
        from octavo.tui.shell.exporting import choose

        if (space := self.space_at_hand) is not None:
            choose(self.shell, space.ref, space.title, self.page_at_hand)
