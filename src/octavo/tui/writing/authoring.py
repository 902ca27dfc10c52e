"""What can be done to pages in every view that has some: edit one in an editor, and rename, move, add and delete pages."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Protocol

from octavo.tui.shell.permissions import UNDECIDED, not_allowed, not_allowed_in, why_no_editing
from octavo.tui.terminal.textual_internals import is_whole
from octavo.tui.widgets.commands import Command, Commands

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.places import SpaceRef
    from octavo.documents.blocks import Block
    from octavo.tui.shell.shell import Shell
    from octavo.tui.shell.view import View
    from octavo.tui.writing.tree_edits import TreeEdit


class WrittenPages(Protocol):
    """The pages of a view, as those who write them know them."""

    @property
    def space_ref(self) -> SpaceRef | None:
        """The space they are of."""

    @property
    def change_request(self) -> ChangeRequest | None:
        """The one on show, which what is written goes into. None: the person is asked for one."""

    @property
    def page_to_write(self) -> tuple[str, str, str] | None:
        """The id, title and type of the page the keys are about."""

    @property
    def block_to_write(self) -> Block | None:
        """The block of that page the editor opens at."""

    def why_no_page_to_write(self) -> str | None:
        """Why what the keys are about is no page that can be written, in a sentence, where there is more to say than that."""

    def look_for_unsent(self) -> None:
        """Something may have been written that is not sent."""

    def page_is_written(self, change_request: ChangeRequest) -> None:
        """A change request has what was written."""


class Authoring:
    """Writes the pages of a view: into the change request on show, or into one the person is asked for."""

    def __init__(self, view: View, pages: WrittenPages) -> None:
        self._view, self.pages = view, pages
        self._opening = False
        """Whether a page is on its way to the editor."""

    def why_not_allowed(self) -> str | None:
        """Why nothing can be written here, in a sentence."""
        app, at, change_request = self._view.shell, self.pages.space_ref, self.pages.change_request
        if at is None:
            return "Open a space first. Press enter on a space to open it."
        if why := why_no_editing(app):
            return why
        if change_request is not None and (why := not_allowed(app, change_request, at, "edit", *UNDECIDED)):
            return why
        return not_allowed_in(app, at.space_id, "edit")

    def edit(self) -> None:
        """Open the page in the editor."""
        page, space = self.pages.page_to_write, self.pages.space_ref
        if page is not None and space is not None and not self._opening:
            from octavo.tui.writing.page_edit import PageEdit

            app, into, block = self._view.shell, self.pages.change_request, self.pages.block_to_write
            self._opening = True
            edit = PageEdit(app, space, page[0], page[1], into, self._editing_ended, block)
            app.background(self._open(edit.start()))

    async def _open(self, opening: Coroutine[Any, Any, None]) -> None:
        try:
            await opening
        finally:
            self._opening = False
            if is_whole(self._view):
                self.pages.look_for_unsent()

    def _editing_ended(self, change_request: ChangeRequest | None) -> None:
        if change_request is not None:
            self.pages.page_is_written(change_request)
        elif is_whole(self._view):
            self.pages.look_for_unsent()

    def arrange(self) -> None:
        """Ask what is to be done with the page: rename, move, describe, hide or delete it, or add others."""
        self._tree_edit().menu()

    def delete(self) -> None:
        """Delete the page."""
        self._view.shell.background(self._tree_edit().delete())

    def insert(self) -> None:
        """Add a page beside the one at hand."""
        self._view.shell.background(self._tree_edit().insert())

    def _tree_edit(self) -> TreeEdit:
        from octavo.tui.writing.tree_edits import TreeEdit

        page, space = self.pages.page_to_write, self.pages.space_ref
        assert space is not None  # `why_not_allowed` says so
        about = page[:2] if page is not None else ("", "")
        return TreeEdit(self._view.shell, space, *about, self.pages.change_request, self.pages.page_is_written)


def _may_not_insert(app: Shell, authoring: Authoring) -> str | None:
    return authoring.pages.why_no_page_to_write() or authoring.why_not_allowed()


def may_not_write(app: Shell, authoring: Authoring) -> str | None:
    """Why the page at hand cannot be changed, in a sentence."""
    if why := _may_not_insert(app, authoring):
        return why
    return "Select a page first." if authoring.pages.page_to_write is None else None


def _may_not_edit(app: Shell, authoring: Authoring) -> str | None:
    page = authoring.pages.page_to_write
    if (why := may_not_write(app, authoring)) is None and page is not None and page[2] != "document":
        kind = "generated page" if page[2] == "computed" else page[2]
        return f"{page[1]} is a {kind} and has no text to edit. Press M to rename or move the {kind}."
    return why


WRITING: Commands[Authoring] = Commands(
    "page",
    (
        Command("edit", "e", "Edit", "Edit the page in your editor",
                writes=True, run=lambda _, authoring: authoring.edit(), why_not=_may_not_edit),
        Command("arrange", "M", "Edit pages", "Rename, move, add, or delete pages",
                writes=True, run=lambda _, authoring: authoring.arrange(), why_not=may_not_write, shown=False),
        Command("delete", "X", "Delete", "Delete the page",
                writes=True, run=lambda _, authoring: authoring.delete(), why_not=may_not_write, shown=False),
        Command("insert", "ctrl+n", "New page", "Add a page",
                writes=True, run=lambda _, authoring: authoring.insert(), why_not=_may_not_insert, shown=False),
    ),
    context="editing pages",
)  # fmt: skip
"""What can be done to the page at hand. What is written goes into a change request."""
