"""Which space one is in: the tree of collections and spaces, and the one that is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol, TypeVar

from octavo.api.collections import Collection
from octavo.api.collections import List as ListCollections
from octavo.api.operation import ListPage, Operation
from octavo.api.organizations import Organization
from octavo.api.places import OrganizationRef
from octavo.api.spaces import Space
from octavo.data.live import Snapshot
from octavo.tui.content.navigation import Navigation
from octavo.tui.shell.routes import ToPage

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.tree import Tree

T = TypeVar("T")


class OpensSpaces(Protocol):
    """A view of the spaces of an organization, and of what is in the one that is open."""

    space: Space | None
    """The one that is open."""

    @property
    def shell(self) -> Shell: ...

    @property
    def nav(self) -> Navigation: ...

    def follow(self, slot: str, op: Operation[T] | None, show: Callable[[Snapshot[T]], None] | None = None) -> None: ...

    def show_nowhere(self, rows: Tree, what: str) -> bool: ...

    def show_space(self, space_id: str, page_id: str | None = None, anchor: str = "", *, remember: bool = True) -> None:
        """Open a space, and a page of it: by default the one read last, else the first."""

    def leave_space(self) -> None:
        """Show nothing of the space that was open any more."""

    def say_where(self) -> None:
        """Say in the status line where one is."""


class Spaces:
    """The spaces of the organization as a view lists them, and the one that is wanted."""

    def __init__(self, view: OpensSpaces) -> None:
        self._view = view
        self.wanted: ToPage | None = None
        """What is to be shown as soon as its space is known."""
        self._collections: tuple[Collection, ...] = ()

    def begin(self) -> None:
        """List them, or say why there are none."""
        if (organization := self._view.shell.workspace.organization) is not None:
            self.enter(organization)
        else:
            self.show()

    def enter(self, organization: Organization) -> None:
        """List those of an organization."""
        if self._view.space is not None and self._view.space.organization != organization.id:
            self._view.leave_space()
        at = OrganizationRef(organization_id=organization.id)
        self._view.follow("collections", ListCollections(at=at, nested=True, limit=1000), self._show_collections)
        self.show()

    def _show_collections(self, snapshot: Snapshot[ListPage[Collection]]) -> None:
        if snapshot.value is not None:
            self._collections = snapshot.value.items
            self.show()

    def show(self) -> None:
        """List them as they are now, and open the one that was read last."""
        view, workspace = self._view, self._view.shell.workspace
        snapshot = workspace.spaces
        if view.show_nowhere(view.nav.spaces, "spaces"):
            return
        if snapshot.value is None:
            view.nav.spaces.wait_for("spaces")
            if snapshot.error is not None:
                view.nav.spaces.fail("Spaces did not load", str(snapshot.error))
            return
        view.nav.show_spaces(self._collections, snapshot.value.items)
        view.nav.spaces.lacks(snapshot.value.unreadable)
        if snapshot.error is not None:
            view.nav.spaces.fail("Spaces could not be refreshed", str(snapshot.error))
        if view.space is not None:
            view.space = workspace.space(view.space.id) or view.space
            view.say_where()
        elif self.wanted is None:
            last = view.shell.session.state.recall("space")
            found = workspace.space(str(last)) if last else None
            if found or snapshot.value.items:
                view.show_space((found or snapshot.value.items[0]).id)
        self.take_wanted()

    def take_wanted(self) -> None:
        """Show what another view asked for, as soon as its space is known."""
        wanted = self.wanted
        if wanted is not None and self._view.shell.workspace.space(wanted.space) is not None:
            self.wanted = None
            self._view.show_space(wanted.space, wanted.page, wanted.part, remember=False)
