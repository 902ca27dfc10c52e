"""Commands that edit the text of pages, and rename, move, add and delete pages, in a view with `EditablePages`."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from octavo.data.queries import UNDECIDED
from octavo.lazy_import import lazy
from octavo.tui.core.permissions import why_no_editing, why_not_in_change_request, why_not_in_space
from octavo.tui.terminal.textual_internals import is_fully_mounted
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.operation import SpaceRef
    from octavo.documents.blocks import Block
    from octavo.tui.core.shell import Shell
    from octavo.tui.core.view import View
    from octavo.tui.editing.tree_edits import TreeEdit

_page_edit = lazy("octavo.tui.editing.page_edit:PageEdit")
_new_tree_edit = lazy("octavo.tui.editing.tree_edits:TreeEdit")


class EditablePages(Protocol):
    """Pages that a view shows and that the commands of this module can edit."""

    @property
    def space_ref(self) -> SpaceRef | None:
        """Reference to the space of the pages. None if no space is open."""

    @property
    def change_request(self) -> ChangeRequest | None:
        """Change request to which edits are saved. None if the user must choose one first."""

    @property
    def selected_page(self) -> tuple[str, str, str] | None:
        """ID, title and type of the selected page. None if no page is selected."""

    @property
    def selected_block(self) -> Block | None:
        """Block of the page at which the editor opens. None for the start of the page."""

    def why_not_on_page(self) -> str | None:
        """Return why page commands cannot act on the selected item. None if they can."""

    def refresh_editor_drafts(self) -> None:
        """Update the marks of pages that have unsent drafts."""

    def show_saved_page(self, change_request: ChangeRequest, page_id: str) -> None:
        """Show the result after an edit was saved to `change_request`. `page_id` is empty if the page is unknown."""


class PageEditing:
    """Edits the pages of a view. Edits are saved to the view's change request, or to one that the user chooses."""

    def __init__(self, view: View, pages: EditablePages) -> None:
        self._view, self.pages = view, pages
        self._is_opening = False
        """True from the start of an edit until the editor closes or a dialog opens. Other edits are then ignored."""

    def disabled_reason(self) -> str | None:
        """Return why the user cannot edit pages here. None if the user can."""
        app, at, change_request = self._view.shell, self.pages.space_ref, self.pages.change_request
        if at is None:
            return "Open a space first. Press enter on a space to open it."
        if reason := why_no_editing(app):
            return reason
        if change_request is not None and (
            reason := why_not_in_change_request(app, change_request, at, "edit", *UNDECIDED)
        ):
            return reason
        return why_not_in_space(app, at.space_id, "edit")

    def edit(self) -> None:
        """Open the text of the selected page in the external editor."""
        page, space = self.pages.selected_page, self.pages.space_ref
        if page is not None and space is not None:
            app, target, block = self._view.shell, self.pages.change_request, self.pages.selected_block
            on_ended = partial(self._on_editing_ended, page[0])
            self._open(_page_edit(app, space, page[0], page[1], target, on_ended, block).start)

    def _open(self, start: Callable[[], Coroutine[Any, Any, None]]) -> None:
        if not self._is_opening:
            self._is_opening = True
            self._view.shell.background(self._run(start))

    async def _run(self, start: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await start()
        finally:
            self._is_opening = False
            if is_fully_mounted(self._view):
                self.pages.refresh_editor_drafts()

    def _on_editing_ended(self, page_id: str, change_request: ChangeRequest | None) -> None:
        if change_request is not None:
            self.pages.show_saved_page(change_request, page_id)
        elif is_fully_mounted(self._view):
            self.pages.refresh_editor_drafts()

    def show_menu(self) -> None:
        """Open a menu to rename, move, describe or delete the selected page, or to add a page."""
        self._tree_edit().show_menu()

    def delete(self) -> None:
        self._open(self._tree_edit().delete)

    def insert(self) -> None:
        """Ask for a position and a title, then add a page."""
        self._open(self._tree_edit().insert)

    def _tree_edit(self) -> TreeEdit:
        page, space = self.pages.selected_page, self.pages.space_ref
        assert space is not None  # Without a space, `disabled_reason` disables the commands.
        id_and_title = page[:2] if page is not None else ("", "")
        edit: TreeEdit = _new_tree_edit(
            self._view.shell, space, *id_and_title, self.pages.change_request, self.pages.show_saved_page
        )
        return edit


def _why_no_page_command(app: Shell, editing: PageEditing) -> str | None:
    return editing.pages.why_not_on_page() or editing.disabled_reason()


def why_no_page_edit(app: Shell, editing: PageEditing) -> str | None:
    """Return why the user cannot edit the selected page. None if the user can."""
    if reason := _why_no_page_command(app, editing):
        return reason
    return "Select a page first." if editing.pages.selected_page is None else None


def _why_no_edit(app: Shell, editing: PageEditing) -> str | None:
    page = editing.pages.selected_page
    if (reason := why_no_page_edit(app, editing)) is None and page is not None and page[2] != "document":
        kind = "generated page" if page[2] == "computed" else page[2]
        return f"{page[1]} is a {kind} and has no text to edit. Press M to rename or move the {kind}."
    return reason


PAGE_COMMANDS: Commands[PageEditing] = Commands(
    "page",
    (
        Command("edit", "e", "Edit", "Edit the page in your editor",
                writes=True, run=lambda _, editing: editing.edit(), why_not=_why_no_edit,
                applies=lambda _, editing: editing.pages.selected_page is not None),
        Command("arrange", "M", "Edit pages", "Rename, move, add, or delete pages",
                writes=True, run=lambda _, editing: editing.show_menu(), why_not=why_no_page_edit, shown=False),
        Command("delete", "X", "Delete", "Delete the page",
                writes=True, run=lambda _, editing: editing.delete(), why_not=why_no_page_edit, shown=False),
        Command("insert", "ctrl+n", "New page", "Add a page",
                writes=True, run=lambda _, editing: editing.insert(), why_not=_why_no_page_command, shown=False),
    ),
    context="editing pages",
)  # fmt: skip
"""Commands that edit pages. All edits are saved to a change request."""
