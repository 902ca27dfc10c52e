"""The target of the keys in a view of pages: the selected row while a tree has the focus, else the open page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from octavo.api.places import CollectionRef
from octavo.data.unsent_index import UnsentText
from octavo.tui.comments.page_discussion import ShowsDiscussion
from octavo.tui.reader.link_names import ShowsPage
from octavo.tui.shell.external_links import missing_link_reason, open_link, page_url
from octavo.tui.shell.routes import ToAccess, ToChangeRequest
from octavo.tui.terminal import clipboard
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.operation import Model
    from octavo.api.places import SpaceRef
    from octavo.api.spaces import Space
    from octavo.documents.blocks import Block
    from octavo.tui.shell.shell import Shell
    from octavo.tui.shell.view import View
    from octavo.tui.widgets.tree import Node, Tree


class Trees(Protocol):
    """A tree of spaces, and a tree of the pages of the open space."""

    @property
    def spaces(self) -> Tree: ...

    @property
    def pages(self) -> Tree: ...

    @property
    def has_focus_on(self) -> Literal["spaces", "pages"] | None:
        """Which of them has the focus."""


class ShowsSpace(ShowsPage, Protocol):
    """A tree of spaces, a tree of the pages of the open space, and the open page."""

    @property
    def nav(self) -> Trees: ...

    @property
    def threads(self) -> KnowsUnsent: ...

    def draw_pages(self) -> None:
        """Show the pages as they are now."""

    def say_where(self) -> None:
        """Say in the status line where one is."""


class KnowsUnsent(ShowsDiscussion, Protocol):
    """Threads on the pages of a space, and your unsent drafts there."""

    def unsent_by_page(self) -> Mapping[str, Sequence[UnsentText]]:
        """By the ids of the pages."""

    def unsent_on(self, block: Block) -> Sequence[UnsentText]:
        """Of a block of the page on show."""


class CursorTarget:
    """The target of the keys. It is never the open page while another row of a tree is selected."""

    def __init__(self, screen: View, shown: ShowsSpace) -> None:
        self._screen, self._shown = screen, shown
        self.unsent: frozenset[str] = frozenset()
        """The pages of which the editor wrote something that no change request has."""
        self._row_sort: tuple[str, bool] | None = None
        """Kind of the row that was selected when the keys were shown last, and whether it was the row of the open page."""

    @property
    def row(self) -> Node | None:
        """The row under the cursor of the tree that has the focus; None when no tree has it, or it has no rows."""
        match self._shown.nav.has_focus_on:
            case "pages":
                return self._shown.nav.pages.node
            case "spaces":
                return self._shown.nav.spaces.node
        return None

    @property
    def is_in_a_tree(self) -> bool:
        """Whether a tree has the focus."""
        return self._shown.nav.has_focus_on is not None

    @property
    def page(self) -> tuple[str, str] | None:
        """The id and title of the page that is spoken of as a whole."""
        if not self.is_in_a_tree:
            return self._shown.threads.page_on_show
        page = self.selected_page
        return page[:2] if page is not None and page[2] == "document" else None

    @property
    def space(self) -> Space | None:
        """The space the keys are about."""
        if self._shown.nav.has_focus_on != "spaces":
            return self._shown.space
        return self._shown.shell.workspace.space(str(self.row.key)) if self.row is not None else None

    @property
    def things(self) -> Sequence[Model]:
        """The page, and the space it is in."""
        pages, page = self._shown.pages, self.page
        found = pages.find(page[0]) if pages is not None and page is not None else None
        return [each for each in (found, self.space) if each is not None]

    # What is written (`EditablePages`)

    @property
    def space_ref(self) -> SpaceRef | None:
        return self._shown.space.ref if self._shown.space is not None else None

    @property
    def change_request(self) -> ChangeRequest | None:
        return None

    @property
    def selected_page(self) -> tuple[str, str, str] | None:
        focus, row, page = self._shown.nav.has_focus_on, self.row, self._shown.page
        if focus == "pages" and row is not None:
            return str(row.key), str(row.label), "document" if row.kind == "page" else row.kind
        if focus == "spaces" or page is None:
            return None
        return page.id, page.title or "this page", page.type

    @property
    def selected_block(self) -> Block | None:
        page, threads = self.selected_page, self._shown.threads
        shown = threads.page_on_show
        return threads.block_on_show if page is not None and shown is not None and page[0] == shown[0] else None

    def why_no_page(self) -> str | None:
        """Return why page keys do not apply while a space or collection is selected."""
        row = self.row
        if row is None or self._shown.nav.has_focus_on != "spaces":
            return None
        what = "collection" if row.kind == "group" else "space"
        return f"“{row.label}” is a {what}, not a page. Press tab to go to the open page."

    @property
    def words_not_sent(self) -> Sequence[UnsentText]:
        """Return your unsent drafts on the selected page of the tree, else on the selected block of the open page."""
        threads, block = self._shown.threads, self._shown.threads.block_on_show
        if not self.is_in_a_tree:
            return threads.unsent_on(block) if block is not None else ()
        page = self.selected_page
        if page is None:
            return ()
        words = threads.unsent_by_page().get(page[0], ())
        return words or [UnsentText("page", None)] * (page[0] in self.unsent)

    def refresh_drafts(self) -> None:
        from octavo.tui.writing.page_drafts import (
            pages_with_drafts,  # what is kept is looked for when the pages are on show
        )

        space, pages, app = self._shown.space, self._shown.pages, self._shown.shell
        if space is None or pages is None or not app.has_session:
            return
        before = self.unsent
        self.unsent = pages_with_drafts(app, space.id, (page.id for page in pages.walk()))
        if self.unsent != before:
            self._shown.draw_pages()
            self._shown.say_where()

    def show_saved_page(self, change_request: ChangeRequest) -> None:
        if self._shown.space is not None and self._screen.is_active:
            self._shown.shell.go(ToChangeRequest(change_request.ref(self._shown.space.ref), change_request))

    # Why something is not what a key is about

    def why_no_text(self, lacks: str) -> str | None:
        """Return why the selected row is not a page with text. `lacks` names what a key needs, such as "backlinks"."""
        if (why := self.why_no_page()) is not None or (row := self.row) is None or row.kind == "page":
            return why
        kind = "generated page" if row.kind == "computed" else row.kind
        return f"“{row.label}” is a {kind} and has no {lacks}."

    def why_not_here(self) -> str | None:
        """Return why keys for a block of the open page do not apply: another row of a tree is selected."""
        if (why := self.why_no_page()) is not None or (row := self.row) is None:
            return why
        page = self._shown.page
        if page is not None and row.key == page.id:
            return None
        shown = (
            f"{f'“{page.title}”' if page.title else 'another page'} is open" if page is not None else "no page is open"
        )
        here = f"“{row.label}” is selected, but {shown}."
        if row.kind == "page":
            return f"{here} To open the selected page, press enter. To comment on the whole selected page, press C."
        return f"{here} Press tab to go to the open page." if page is not None else here

    def why_in_no_space(self) -> str | None:
        """Return why the selected row is not a space and not in a space. None if it is."""
        row = self.row
        if self._shown.nav.has_focus_on == "spaces" and row is not None and row.kind == "group":
            return f"“{row.label}” is a collection. Select a space in the collection first."
        return None

    # The row under the cursor

    def other_row(self) -> None:
        """The cursor of a tree came to another row."""
        row, page = self.row, self._shown.page
        sort = (row.kind, page is not None and row.key == page.id) if row is not None else None
        if sort != self._row_sort:  # which keys are dim takes two milliseconds to find out
            self._row_sort = sort
            self._screen.refresh_bindings()

    def address_of_row(self) -> str:
        """Return the URL of the selected row. If there is no URL, say so and return an empty string."""
        row, pages, app = self.row, self._shown.pages, self._shown.shell
        on_space, address = self._shown.nav.has_focus_on == "spaces", ""
        if row is not None and on_space:
            address = (self.space.urls.app or "") if self.space is not None else ""
        elif row is not None and pages is not None:
            page = pages.find(str(row.key))
            if page is not None and page.type == "link" and page.href:
                return page.href
            address = page_url(page)
        if not address or app.session.is_embedded:
            app.say(missing_link_reason(app, "space" if on_space else "page"), tone="care")
            return ""
        return address


def _why_no_row(app: Shell, target: CursorTarget) -> str | None:
    return "Select a page or a space first." if target.row is None else target.why_in_no_space()


def _copy_row(app: Shell, target: CursorTarget) -> None:
    if (row := target.row) is not None:
        text, what = (row.path, "path") if row.path else (str(row.label), "title")
        clipboard.copy(app, text, f"Copied the {what} of {row.label}.")


def _copy_row_address(app: Shell, target: CursorTarget) -> None:
    if (row := target.row) is not None and (address := target.address_of_row()):
        clipboard.copy(app, address, f"Copied the link to {row.label}.")


def _open_row(app: Shell, target: CursorTarget) -> None:
    if address := target.address_of_row():
        open_link(app, address, "page")


def _is_in_a_tree(app: Shell, target: CursorTarget) -> bool:
    return target.is_in_a_tree


ROW: Commands[CursorTarget] = Commands(
    "row",
    (
        Command("yank", "y", "Copy path", "Copy the path of the page, or the title of the space",
                run=_copy_row, why_not=_why_no_row, is_available=_is_in_a_tree, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy a link to the page or space",
                run=_copy_row_address, why_not=_why_no_row, is_available=_is_in_a_tree, shown=False),
        Command("open_browser", "o", "Open in browser", "Open the page or space in the browser",
                run=_open_row, why_not=_why_no_row, is_available=_is_in_a_tree, shown=False),
    ),
    context="table of contents",
    find=lambda view: view.target,
)  # fmt: skip
"""Commands for the selected row of a tree. Outside of trees the same keys act on the open page."""


def _why_no_space(app: Shell, target: CursorTarget) -> str | None:
    if (why := target.why_in_no_space()) is not None or target.space is not None:
        return why
    return "Open a space first. Press enter on a space to open it."


def _why_no_page(app: Shell, target: CursorTarget, lacks: str) -> str | None:
    if why := target.why_no_text(lacks):
        return why
    nothing = target.space is None or target.page is None
    return "Open a page first. Press enter on a page to open it." if nothing else None


def _why_no_links(app: Shell, target: CursorTarget) -> str | None:
    from octavo.api.links import ListOfSpace

    return _why_no_space(app, target) or app.session.live.unavailable(ListOfSpace)


def _why_no_backlinks(app: Shell, target: CursorTarget) -> str | None:
    from octavo.api.links import ListToPage

    return _why_no_page(app, target, "backlinks") or app.session.live.unavailable(ListToPage)


def _files(app: Shell, target: CursorTarget) -> None:
    from octavo.tui.content.files import FilesScreen

    if (space := target.space) is not None:
        app.push_screen(FilesScreen(space))


def _links(app: Shell, target: CursorTarget) -> None:
    from octavo.tui.content.links import LinksScreen

    if (space := target.space) is not None:
        app.push_screen(LinksScreen(space, target.page))


def _backlinks(app: Shell, target: CursorTarget) -> None:
    from octavo.tui.content.links import LinksScreen

    space, page = target.space, target.page
    if space is not None and page is not None:
        app.push_screen(LinksScreen(space, page, begin="here"))


def _history(app: Shell, target: CursorTarget) -> None:
    from octavo.tui.content.page_history import PageHistoryScreen

    space, page = target.space, target.page
    if space is not None and page is not None:
        app.push_screen(PageHistoryScreen(space, *page))


def _keeping(app: Shell, target: CursorTarget) -> bool:
    space = target.space
    return space is not None and app.session.offline.get(space.id) is not None


def _keep_offline(app: Shell, target: CursorTarget) -> None:
    from octavo.tui.content.keeping_offline import keep

    if (space := target.space) is not None:
        keep(app, space)


def _let_go(app: Shell, target: CursorTarget) -> None:
    from octavo.tui.content.keeping_offline import let_go

    if (space := target.space) is not None:
        let_go(app, space.id)


def _export(app: Shell, target: CursorTarget) -> None:
    from octavo.tui.shell.file_dialogs import choose_export

    if (space := target.space) is not None:
        choose_export(app, space.ref, space.title, target.page)


def _access(app: Shell, target: CursorTarget) -> None:
    row, space = target.row, target.space
    if space is not None:
        app.go(ToAccess(space.ref))
    elif row is not None and row.kind == "group":
        app.go(ToAccess(CollectionRef(collection_id=str(row.key))))


def _why_no_access(app: Shell, target: CursorTarget) -> str | None:
    if app.session.kind == "folder":
        return "A folder does not have roles. Anyone who can read the files in the folder can read its pages."
    on_collection = target.row is not None and target.row.kind == "group"
    return None if on_collection else _why_no_space(app, target)


SPACE: Commands[CursorTarget] = Commands(
    "space",
    (
        Command("access", "A", "Access", "Show who has access and why",
                run=_access, why_not=_why_no_access, shown=False),
        Command("files", "F", "Files", "Show the files in this space and where they are used", run=_files, why_not=_why_no_space, shown=False),
        Command("links", "L", "Links", "Show the links in this space, broken links first", run=_links, why_not=_why_no_links, shown=False),
        Command("keep_offline", "", "Make available offline", "Download this space for offline use",
                run=_keep_offline, why_not=_why_no_space, is_available=lambda app, target: not _keeping(app, target)),
        Command("keep_fresh", "", "Update offline copy", "Update the offline copy of this space",
                run=_keep_offline, why_not=_why_no_space, is_available=_keeping),
        Command("let_go", "", "Remove offline copy", "Delete the offline copy of this space",
                run=_let_go, why_not=_why_no_space, is_available=_keeping),
    ),
)  # fmt: skip
"""The ways from a space to its other sides."""
PAGE: Commands[CursorTarget] = Commands(
    "page",
    (
        Command("backlinks", "B", "Backlinks", "Show the pages that link to this page",
                run=_backlinks, why_not=_why_no_backlinks, shown=False),
        Command("history", "H", "Version history", "Show the version history of this page",
                run=_history, why_not=lambda app, target: _why_no_page(app, target, "version history"), shown=False),
        Command("export", "ctrl+e", "Export", "Export the page or space as Markdown or PDF", run=_export, why_not=_why_no_space, shown=False),
    ),
)  # fmt: skip
"""The ways from a page to what belongs to reading it."""
