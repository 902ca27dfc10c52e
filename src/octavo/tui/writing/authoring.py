"""What every view with pages in it can do to them: edit one in an editor, and rename, move, add and delete pages."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from octavo.tui.shell.permissions import UNDECIDED, KnowsPermissions

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.documents.blocks import Block
    from octavo.tui.writing.tree_edits import TreeEdit

_WRITES = ("edit_page", "arrange_page", "delete_page", "insert_page")


class Authoring(KnowsPermissions):
    """A view of pages that can be written: into the change request on show, or into one the person is asked for. A
    subclass says which page."""

    CONTEXT: ClassVar[str] = "editing pages"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit_page", "Edit", tooltip="Edit the page in your editor; saving sends it to a change request", id="page.edit"),
        Binding("M", "arrange_page", "Rename, move", show=False, tooltip="Rename, move, describe, hide, delete, add pages, in a change request", id="page.arrange"),
        Binding("X", "delete_page", "Delete", show=False, tooltip="Delete the page under the cursor, or the thread, in a change request", id="page.delete"),
    ]  # fmt: skip

    _opening = False
    """Whether a page is on its way to the editor."""

    @property
    def page_to_write(self) -> tuple[str, str, str] | None:
        """The id, title and type of the page the keys are about."""
        raise NotImplementedError

    @property
    def block_to_write(self) -> Block | None:
        """The block of that page the editor opens at."""
        return None

    def look_for_unsent(self) -> None:
        """Something may have been written that is not sent."""

    def page_is_written(self, change_request: ChangeRequest) -> None:
        """A change request has what was written."""

    def why_not(self, action: str, parameters: tuple[object, ...]) -> str | None:
        if action in _WRITES:
            return self._why_not_written(action)
        return super().why_not(action, parameters)

    def why_no_page_is_written(self) -> str | None:
        """Why nothing can be written here, in a sentence."""
        if self.space_ref is None:
            return "Open a space first: enter opens the one the cursor is on."
        if self.shell.has_session and not self.live.edits_content:
            from octavo.data.writing_content import NO_OPERATION

            return NO_OPERATION
        if self.change_request is not None and (why := self.not_allowed("edit", *UNDECIDED)):
            return why
        return self.not_allowed_in(self.space_ref, "edit")

    def _why_not_written(self, action: str) -> str | None:
        if why := self.why_no_page_is_written():
            return why
        page = self.page_to_write
        if action != "insert_page" and page is None:
            return "There is no page here: choose one first."
        if action == "edit_page" and page is not None and page[2] != "document":
            return f"{page[1]} is a {page[2]}, which has no text. M renames or moves it."
        return None

    def action_edit_page(self) -> None:
        page, space = self.page_to_write, self.space_ref
        if page is not None and space is not None and not self._opening:
            from octavo.tui.writing.page_edit import PageEdit

            self._opening = True
            edit = PageEdit(
                self.shell, space, page[0], page[1], self.change_request, self._editing_ended, self.block_to_write
            )
            self.shell.background(self._open(edit.start()))

    async def _open(self, opening: Coroutine[Any, Any, None]) -> None:
        try:
            await opening
        finally:
            self._opening = False
            if not self.shell.ending:
                self.look_for_unsent()

    def _editing_ended(self, change_request: ChangeRequest | None) -> None:
        if change_request is not None:
            self.page_is_written(change_request)
        elif self.is_mounted:
            self.look_for_unsent()

    def action_arrange_page(self) -> None:
        if (edit := self._tree_edit()) is not None:
            edit.menu()

    def action_delete_page(self) -> None:
        if (edit := self._tree_edit()) is not None:
            self.shell.background(edit.delete())

    def _tree_edit(self) -> TreeEdit | None:
        from octavo.tui.writing.tree_edits import TreeEdit

        page, space = self.page_to_write, self.space_ref
        if space is None:
            return None
        about = (page[0], page[1]) if page is not None else ("", "")
        return TreeEdit(self.shell, space, *about, self.change_request, self.page_is_written)
