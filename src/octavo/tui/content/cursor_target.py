"""The page or space that commands of the Content view act on, and these commands. The target is the selected row of the
focused tree, else the open page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from octavo.api.operation import CollectionRef, Model, SpaceRef
from octavo.lazy_import import lazy, load
from octavo.tui.core.external_links import copy_text, missing_link_reason, open_link, page_url
from octavo.tui.core.routes import ToAccess, ToChangeRequest
from octavo.tui.editing.page_drafts import pages_with_drafts
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.spaces import Space
    from octavo.documents.blocks import Block
    from octavo.tui.content.space_panes import SpacePanes
    from octavo.tui.core.shell import Shell
    from octavo.tui.core.view import View
    from octavo.tui.widgets.tree import TreeNode

_files_screen = lazy("octavo.tui.content.links:FilesScreen")
_links_screen = lazy("octavo.tui.content.links:LinksScreen")
_page_history_screen = lazy("octavo.tui.content.page_history:PageHistoryScreen")
_blame_screen = lazy("octavo.tui.review.page_blame:BlameScreen")
_blame_target = lazy("octavo.tui.review.page_blame:BlameTarget")
_download = lazy("octavo.tui.content.offline_copies:download")
_remove_copy = lazy("octavo.tui.content.offline_copies:remove")
_choose_export = lazy("octavo.tui.core.file_dialogs:choose_export")


class CursorTarget:
    """The page or space that commands act on: the selected row of the focused tree, else the open page."""

    def __init__(self, screen: View, panes: SpacePanes, on_editor_drafts: Callable[[], None]) -> None:
        """`on_editor_drafts` is called when `pages_with_editor_draft` changes."""
        self._screen, self._panes, self._on_editor_drafts = screen, panes, on_editor_drafts
        self.pages_with_editor_draft: frozenset[str] = frozenset()
        """IDs of the pages with an unsent draft from the external editor."""

    @property
    def row(self) -> TreeNode | None:
        """Selected row of the focused tree. None if no tree has the focus, or if the tree is empty."""
        match self._panes.nav.focused_tree:
            case "pages":
                return self._panes.nav.pages_tree.node
            case "spaces":
                return self._panes.nav.spaces_tree.node
        return None

    @property
    def is_tree_focused(self) -> bool:
        return self._panes.nav.focused_tree is not None

    @property
    def page(self) -> tuple[str, str] | None:
        """ID and title of the target page. None if the target is a group, a link or a space, or if no page is open."""
        if not self.is_tree_focused:
            return self._panes.visible_page
        page = self.selected_page
        return page[:2] if page is not None and page[2] == "document" else None

    @property
    def space(self) -> Space | None:
        """The target space. None if a collection is selected, or if no space is open."""
        if self._panes.nav.focused_tree != "spaces":
            return self._panes.space
        return self._panes.shell.workspace.space(str(self.row.key)) if self.row is not None else None

    @property
    def models(self) -> Sequence[Model]:
        """The target page and its space, if they are loaded. An open page is included even after it was deleted."""
        pages, page, open_page = self._panes.pages, self.page, self._panes.page
        page_model = pages.find(page[0]) if pages is not None and page is not None else None
        if page_model is None and page is not None and open_page is not None and open_page.id == page[0]:
            page_model = open_page
        return [each for each in (page_model, self.space) if each is not None]

    # Members that `EditablePages` requires

    @property
    def space_ref(self) -> SpaceRef | None:
        return self._panes.space_ref

    @property
    def change_request(self) -> ChangeRequest | None:
        return None

    @property
    def selected_page(self) -> tuple[str, str, str] | None:
        focus, row, page = self._panes.nav.focused_tree, self.row, self._panes.page
        if focus == "pages" and row is not None:
            return str(row.key), str(row.label), "document" if row.kind == "page" else row.kind
        if focus == "spaces" or page is None:
            return None
        return page.id, page.title or "this page", page.type

    @property
    def selected_block(self) -> Block | None:
        page, visible_page = self.selected_page, self._panes.visible_page
        is_visible = page is not None and visible_page is not None and page[0] == visible_page[0]
        return self._panes.visible_block if is_visible else None

    def why_not_on_page(self) -> str | None:
        """Return why commands for pages are disabled: a space or collection is selected. None if they are enabled."""
        row = self.row
        if row is None or self._panes.nav.focused_tree != "spaces":
            return None
        kind_label = "collection" if row.kind == "group" else "space"
        return f"“{row.label}” is a {kind_label}, not a page. Press tab to go to the open page."

    def refresh_editor_drafts(self) -> None:
        space, pages, app = self._panes.space, self._panes.pages, self._panes.shell
        if space is None or pages is None or not app.has_session:
            return
        previous_ids = self.pages_with_editor_draft
        self.pages_with_editor_draft = pages_with_drafts(app, space.id, (page.id for page in pages.walk()))
        if self.pages_with_editor_draft != previous_ids:
            self._on_editor_drafts()

    def show_saved_page(self, change_request: ChangeRequest, page_id: str) -> None:
        if self._panes.space is not None and self._screen.is_active:
            at, block = change_request.ref(self._panes.space.ref), (page_id, "") if page_id else None
            self._panes.shell.go(ToChangeRequest(at, change_request, block=block))

    def why_row_has_no(self, missing_thing: str) -> str | None:
        """Return why the row has no `missing_thing`, for example `“Guides” is a group and has no backlinks.` None for a
        page, or without a row."""
        if (why := self.why_not_on_page()) is not None or (row := self.row) is None or row.kind == "page":
            return why
        kind = "generated page" if row.kind == "computed" else row.kind
        return f"“{row.label}” is a {kind} and has no {missing_thing}."

    def why_no_block(self) -> str | None:
        """Return why block commands are disabled: the selected row is not the open page. None if they are enabled."""
        if (why := self.why_not_on_page()) is not None or (row := self.row) is None:
            return why
        page = self._panes.page
        if page is not None and row.key == page.id:
            return None
        open_note = (
            f"{f'“{page.title}”' if page.title else 'another page'} is open" if page is not None else "no page is open"
        )
        sentence = f"“{row.label}” is selected, but {open_note}."
        if row.kind == "page":
            return f"{sentence} To open the selected page, press enter. To comment on the whole selected page, press C."
        return f"{sentence} Press tab to go to the open page." if page is not None else sentence

    def why_no_space(self) -> str | None:
        """Return why commands for spaces are disabled: a collection is selected. None if they are enabled."""
        row = self.row
        if self._panes.nav.focused_tree == "spaces" and row is not None and row.kind == "group":
            return f"“{row.label}” is a collection. Select a space in the collection first."
        return None

    def row_url(self) -> str:
        """Return the URL of the selected row. If the row has no URL, show a message and return an empty text."""
        row, pages, app = self.row, self._panes.pages, self._panes.shell
        is_space, url = self._panes.nav.focused_tree == "spaces", ""
        if row is not None and is_space:
            url = (self.space.urls.app or "") if self.space is not None else ""
        elif row is not None and pages is not None:
            page = pages.find(str(row.key))
            if page is not None and page.type == "link" and page.href:
                return page.href
            url = page_url(page)
        if not url or app.session.is_embedded:
            app.say(missing_link_reason(app, "space" if is_space else "page"), tone="care")
            return ""
        return url


def _why_no_row(app: Shell, target: CursorTarget) -> str | None:
    return "Select a page or a space first." if target.row is None else target.why_no_space()


def _copy_row(app: Shell, target: CursorTarget) -> None:
    if (row := target.row) is not None:
        copied_text, kind_label = (row.path, "path") if row.path else (str(row.label), "title")
        copy_text(app, copied_text, f"Copied the {kind_label} of {row.label}.")


def _copy_row_link(app: Shell, target: CursorTarget) -> None:
    if (row := target.row) is not None and (url := target.row_url()):
        copy_text(app, url, f"Copied the link to {row.label}.")


def _open_row_in_browser(app: Shell, target: CursorTarget) -> None:
    if url := target.row_url():
        open_link(app, url, "page")


ROW: Commands[CursorTarget] = Commands(
    "row",
    (
        Command("yank", "y", "Copy path", "Copy the path of the page, or the title of the space",
                run=_copy_row, why_not=_why_no_row, is_available=lambda _, target: target.is_tree_focused, shown=False),
        Command("yank_url", "Y", "Copy link", "Copy a link to the page or space",
                run=_copy_row_link, why_not=_why_no_row, is_available=lambda _, target: target.is_tree_focused, shown=False),
        Command("open_browser", "o", "Open in browser", "Open the page or space in the browser",
                run=_open_row_in_browser, why_not=_why_no_row, is_available=lambda _, target: target.is_tree_focused, shown=False),
    ),
    context="table of contents",
    find_target=lambda view: view.target,
)  # fmt: skip
"""Commands for the selected row of a tree. While no tree has the focus, the same keys act on the open page."""


def _why_no_space(app: Shell, target: CursorTarget) -> str | None:
    if (why := target.why_no_space()) is not None or target.space is not None:
        return why
    return "Open a space first. Press enter on a space to open it."


def _why_no_page(app: Shell, target: CursorTarget, missing_thing: str) -> str | None:
    if why := target.why_row_has_no(missing_thing):
        return why
    is_missing = target.space is None or target.page is None
    return "Open a page first. Press enter on a page to open it." if is_missing else None


def _why_no_links(app: Shell, target: CursorTarget) -> str | None:
    return _why_no_space(app, target) or app.session.live.availability.why_unavailable(
        load("octavo.api.links:ListOfSpace")
    )


def _why_no_backlinks(app: Shell, target: CursorTarget) -> str | None:
    return _why_no_page(app, target, "backlinks") or app.session.live.availability.why_unavailable(
        load("octavo.api.links:ListToPage")
    )


def _space_runner(act: Callable[[Shell, Space], object]) -> Callable[[Shell, CursorTarget], None]:
    def run(app: Shell, target: CursorTarget) -> None:
        if (space := target.space) is not None:
            act(app, space)

    return run


def _open_links(app: Shell, target: CursorTarget, first_section: str = "broken") -> None:
    if (space := target.space) is not None:
        app.push_screen(_links_screen(space, target.page, first_section=first_section))


def _open_history(app: Shell, target: CursorTarget) -> None:
    space, page = target.space, target.page
    if space is not None and page is not None:
        app.push_screen(_page_history_screen(space, *page))


def _open_page_blame(app: Shell, target: CursorTarget) -> None:
    space, page = target.space, target.page
    if space is not None and page is not None:
        app.push_screen(_blame_screen(_blame_target(space.ref, *page, target.selected_block, space.title)))


def _is_available_offline(app: Shell, target: CursorTarget) -> bool:
    space = target.space
    return space is not None and app.session.offline.get(space.id) is not None


def _export(app: Shell, target: CursorTarget) -> None:
    if (space := target.space) is not None:
        _choose_export(app, space.ref, space.title, target.page)


def _open_access(app: Shell, target: CursorTarget) -> None:
    row, space = target.row, target.space
    if space is not None:
        app.go(ToAccess(space.ref))
    elif row is not None and row.kind == "group":
        app.go(ToAccess(CollectionRef(collection_id=str(row.key))))


def _why_no_access(app: Shell, target: CursorTarget) -> str | None:
    if app.session.kind == "folder":
        return "A folder does not have roles. Anyone who can read the files in the folder can read its pages."
    is_on_collection = target.row is not None and target.row.kind == "group"
    return None if is_on_collection else _why_no_space(app, target)


SPACE: Commands[CursorTarget] = Commands(
    "space",
    (
        Command("access", "A", "Access", "Show who has access and why",
                run=_open_access, why_not=_why_no_access, shown=False),
        Command("files", "F", "Files", "Show the files in this space and where they are used",
                run=_space_runner(lambda app, space: app.push_screen(_files_screen(space))), why_not=_why_no_space, shown=False),
        Command("links", "L", "Links", "Show the links in this space, broken links first", run=_open_links, why_not=_why_no_links, shown=False),
        Command("keep_offline", "", "Make available offline", "Download this space for offline use",
                run=_space_runner(_download), why_not=_why_no_space, is_available=lambda app, target: not _is_available_offline(app, target)),
        Command("keep_fresh", "", "Update offline copy", "Update the offline copy of this space",
                run=_space_runner(_download), why_not=_why_no_space, is_available=_is_available_offline),
        Command("let_go", "", "Remove offline copy", "Delete the offline copy of this space",
                run=_space_runner(lambda app, space: _remove_copy(app, space.id)), why_not=_why_no_space, is_available=_is_available_offline),
    ),
)  # fmt: skip
"""Commands that open other views of a space, or manage its offline copy."""
PAGE: Commands[CursorTarget] = Commands(
    "page",
    (
        Command("backlinks", "B", "Backlinks", "Show the pages that link to this page",
                run=lambda app, target: _open_links(app, target, "backlinks"), why_not=_why_no_backlinks, shown=False),
        Command("history", "H", "Version history", "Show the version history of this page",
                run=_open_history, why_not=lambda app, target: _why_no_page(app, target, "version history"), shown=False),
        Command("blame", "I", "Blame", "Show who wrote each block of this page",
                run=_open_page_blame, why_not=lambda app, target: _why_no_page(app, target, "blame"), shown=False),
        Command("export", "ctrl+e", "Export", "Export the page or space as Markdown or PDF", run=_export, why_not=_why_no_space, shown=False),
    ),
)  # fmt: skip
"""Commands that open other views of a page, or export it."""
