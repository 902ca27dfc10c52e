"""What the keys of a view of pages are about: while a tree has the focus the row under its cursor, else what is on show."""

from __future__ import annotations

from collections.abc import Sequence

from textual import on

from octavo.api.operation import Model
from octavo.api.spaces import Space
from octavo.tui.content.page_arranging import Arranging
from octavo.tui.content.space_keys import SpaceViews
from octavo.tui.shell.outside import address_of_page, open_address, said_without_address
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.line_list import Lines
from octavo.tui.widgets.tree import Node

_OF_A_PAGE = ("comment_page", "history", "backlinks")
_OF_A_SPACE = ("files", "links", "export")
_OF_A_ROW = ("copy_row", "copy_row_address", "open_row")
_WRITES = ("edit_page", "arrange_page", "delete_page", "insert_page")
_LACKS = {"comment_page": "text to comment on", "history": "history of its own", "backlinks": "address to link to"}


class CursorTarget(Arranging, SpaceViews):
    """A view with a tree of spaces, a tree of pages, and a page beside them. One key is about one thing: never about a
    page that is on show while the cursor of the tree is on another."""

    _row_sort: tuple[str, bool] | None = None
    """What sort of row the cursor was on when the keys were shown, and whether it was that of the page on show."""

    @property
    def row(self) -> Node | None:
        """The row under the cursor of the tree that has the focus; None when no tree has it, or it has no rows."""
        match self.nav.has_focus_on:
            case "pages":
                return self.nav.pages.node
            case "spaces":
                return self.nav.spaces.node
        return None

    @property
    def _page_row(self) -> Node | None:
        return self.row if self.nav.has_focus_on == "pages" else None

    @property
    def page_to_write(self) -> tuple[str, str, str] | None:
        if (row := self._page_row) is not None:
            return str(row.key), str(row.label), "document" if row.kind == "page" else row.kind
        if self.nav.has_focus_on == "spaces" or self.page is None:
            return None
        return self.page.id, self.page.title or "this page", self.page.type

    @property
    def space_at_hand(self) -> Space | None:
        if self.nav.has_focus_on != "spaces":
            return self.space
        return self.shell.workspace.space(str(self.row.key)) if self.row is not None else None

    @property
    def things_at_hand(self) -> Sequence[Model]:
        page = (
            self.pages.find(self.page_at_hand[0]) if self.pages is not None and self.page_at_hand is not None else None
        )
        return [each for each in (page, self.space_at_hand) if each is not None]

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        row, tree = self.row, self.nav.has_focus_on
        if tree is not None and row is None and action in _OF_A_ROW:
            return "There is no row here."
        if row is not None and (why := self.why_not_of_row(action, row)):
            return why
        return super().why_not(action, parameters)

    def why_no_block(self) -> str | None:
        """Why no key is about the block on show, in a sentence: the cursor is on another row of the tree."""
        row = self.row
        if row is None:
            return None
        if self.nav.has_focus_on == "spaces":
            return self.why_not_of_row("comment_page", row)
        if self.page is None or row.key != self.page.id:
            shown = f"{self.page.title or 'another page'} is on show" if self.page is not None else "no page is on show"
            return f"The cursor is on {row.label}, and {shown}. enter opens {row.label}; C comments on it as a whole."
        return None

    def why_not_of_row(self, action: str, row: Node) -> str | None:
        """Why something cannot be done with what a row of the tree is about, in a sentence."""
        name = str(row.label)
        if self.nav.has_focus_on == "spaces":
            what = "collection" if row.kind == "group" else "space"
            if action in (*_OF_A_PAGE, *_WRITES):
                return f"The cursor is on the {what} {name}, and this is about a page: tab goes to the one on show."
            if action in (*_OF_A_SPACE, *_OF_A_ROW) and what == "collection":
                return f"{name} is a collection: put the cursor on a space in it."
            return None
        if action in _OF_A_PAGE and row.kind != "page":
            return f"{name} is a {row.kind}, which has no {_LACKS[action]}."
        return None

    @on(Lines.Highlighted, "#pages")
    @on(Lines.Highlighted, "#spaces")
    def _other_row(self) -> None:
        row = self.row
        sort = (row.kind, self.page is not None and row.key == self.page.id) if row is not None else None
        if sort != self._row_sort:  # which keys are dim takes two milliseconds to find out
            self._row_sort = sort
            self.refresh_bindings()

    # The keys that are only there on a row

    def action_copy_row(self) -> None:
        row = self.row
        if row is None:
            return
        text, what = (row.path, "path") if row.path else (str(row.label), "title")
        clipboard.copy(self.shell, text, f"Copied the {what} of {row.label}.")

    def action_copy_row_address(self) -> None:
        if (address := self._address_of_row()) and self.row is not None:
            clipboard.copy(self.shell, address, f"Copied the address of {self.row.label}.")

    def action_open_row(self) -> None:
        if address := self._address_of_row():
            open_address(self.shell, address, "page")

    def _address_of_row(self) -> str:
        """The address of what the cursor is on. When there is none that is said."""
        row, address = self.row, ""
        if row is not None and self.nav.has_focus_on == "spaces":
            space = self.space_at_hand
            address = (space.urls.app or "") if space is not None else ""
        elif row is not None and self.pages is not None:
            page = self.pages.find(str(row.key))
            if page is not None and page.type == "link" and page.href:
                return page.href
            address = address_of_page(page)
        if not address or self.shell.session.is_here:
            what = "space" if self.nav.has_focus_on == "spaces" else "page"
            self.shell.say(said_without_address(self.shell, what), tone="care")
            return ""
        return address
