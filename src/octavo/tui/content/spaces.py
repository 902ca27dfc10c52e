"""Which space one is in: the tree of collections and spaces, and the one that is open."""

from __future__ import annotations

from octavo.api.collections import Collection
from octavo.api.collections import List as ListCollections
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.api.places import OrganizationRef
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.tui.content.navigation import Navigation, Which
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.view import View


class Spaces(View):
    """A view of the spaces of an organization. A subclass shows what is in the one that is open."""

    def __init__(self) -> None:
        super().__init__()
        self.space: Space | None = None
        """The space that is open."""
        self.wanted: ToPage | None = None
        """What is to be shown as soon as its space is known."""
        self._collections: tuple[Collection, ...] = ()

    @property
    def nav(self) -> Navigation:
        return self.query_one(Navigation)

    def show_space(self, space_id: str, page_id: str | None = None, anchor: str = "", *, remember: bool = True) -> None:
        """Open a space, and a page of it: by default the one read last, else the first."""
        raise NotImplementedError

    def leave_space(self) -> None:
        """Show nothing of the space that was open any more."""
        raise NotImplementedError

    def say_where(self) -> None:
        """Say in the status line where one is."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.shell.workspace.organization_changed.subscribe(self, self._enter)
        self.shell.workspace.spaces_changed.subscribe(self, lambda _: self._show_spaces())
        self.choose_nav("spaces")
        if self.shell.workspace.organization is not None:
            self._enter(self.shell.workspace.organization)
        else:
            self._show_spaces()

    def choose_nav(self, which: Which) -> None:
        focus = self.focused is None or self.nav.has_focus_on is not None
        self.nav.choose(which, self.space, focus=focus)

    def _enter(self, organization: Organization) -> None:
        if self.space is not None and self.space.organization != organization.id:
            self.leave_space()
        at = OrganizationRef(organization_id=organization.id)
        self.follow("collections", ListCollections(at=at, nested=True, limit=1000), self._show_collections)
        self._show_spaces()

    def _show_collections(self, snapshot: Snapshot[ListPage[Collection]]) -> None:
        if snapshot.value is not None:
            self._collections = snapshot.value.items
            self._show_spaces()

    def _show_spaces(self) -> None:
        snapshot = self.shell.workspace.spaces
        if self.show_nowhere(self.nav.spaces, "spaces"):
            return
        if snapshot.value is None:
            self.nav.spaces.wait_for("spaces")
            if snapshot.error is not None:
                self.nav.spaces.fail("Spaces did not load", str(snapshot.error))
            return
        self.nav.show_spaces(self._collections, snapshot.value.items)
        self.nav.spaces.lacks(snapshot.value.unreadable)
        if snapshot.error is not None:
            self.nav.spaces.fail("Spaces could not be refreshed", str(snapshot.error))
        if self.space is not None:
            self.space = self.shell.workspace.space(self.space.id) or self.space
            self.say_where()
        elif self.wanted is None:
            last = self.shell.session.state.recall("space")
            found = self.shell.workspace.space(str(last)) if last else None
            if found or snapshot.value.items:
                self.show_space((found or snapshot.value.items[0]).id)
        self.take_wanted()

    def take_wanted(self) -> None:
        """Show what another view asked for, as soon as its space is known."""
        wanted = self.wanted
        if wanted is not None and self.shell.workspace.space(wanted.space) is not None:
            self.wanted = None
            self.show_space(wanted.space, wanted.page, wanted.part, remember=False)
