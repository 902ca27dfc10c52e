"""What can be done to the pages of a space that is open: which change request it goes into is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from octavo.api.content import Page, PageTree
from octavo.api.places import SpaceRef
from octavo.tui.content.spaces import Spaces
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.writing.authoring import Authoring

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest


class Arranging(Authoring, Spaces):
    """The same in a view of what is live: the person is asked which change request it goes into."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "insert_page", "New page", show=False, tooltip="Add a page here, in a change request", id="page.insert"),
    ]  # fmt: skip

    pages: PageTree | None
    """The pages of the space that is open."""
    page: Page | None
    """The one that is read."""
    unsent: frozenset[str] = frozenset()
    """The pages of which the editor wrote something that no change request has."""

    def draw_pages(self) -> None:
        """Show `pages` as they are now."""
        raise NotImplementedError

    @property
    def change_request(self) -> None:
        return None

    @property
    def space_ref(self) -> SpaceRef | None:
        return self.space.ref if self.space else None

    def look_for_unsent(self) -> None:
        from octavo.tui.writing.page_drafts import unsent_pages  # what is kept is looked for when the pages are on show

        if self.space is None or self.pages is None or not self.shell.has_session:
            return
        before = self.unsent
        self.unsent = unsent_pages(self.shell, self.space.id, (page.id for page in self.pages.walk()))
        if self.unsent != before:
            self.draw_pages()
            self.say_where()

    def on_screen_resume(self) -> None:
        self.look_for_unsent()

    def page_is_written(self, change_request: ChangeRequest) -> None:
        if self.space is not None and self.app.screen is self:
            self.shell.go(ToChangeRequest(change_request.ref(self.space.ref), change_request))

    def action_insert_page(self) -> None:
        if (edit := self._tree_edit()) is not None:
            self.shell.background(edit.insert())
