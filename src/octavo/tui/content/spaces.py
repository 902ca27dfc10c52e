"""Which space one is in: the tree of collections and spaces, and the one that is open."""

from __future__ import annotations

from octavo.api.collections import Collection
from octavo.api.collections import List as ListCollections
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.api.places import OrganizationRef
from octavo.data.live import Snapshot
from octavo.tui.content.space_reading import SpaceReading
from octavo.tui.shell.kept_words import mark_of
from octavo.tui.shell.routes import ToPage
from octavo.tui.shell.view import View


class Spaces:
    """The spaces of the organization as a view lists them, and the one that is wanted."""

    def __init__(self, screen: View, reading: SpaceReading) -> None:
        """`reading` is of the one that is open."""
        self._screen, self._reading = screen, reading
        self.wanted: ToPage | None = None
        """What is to be shown as soon as its space is known."""
        self._collections: tuple[Collection, ...] = ()
        self._kept: dict[str, str] = {}
        """How far keeping each space for offline got, as it is on show."""

    def begin(self) -> None:
        """List them, or say why there are none."""
        if (organization := self._reading.shell.workspace.organization) is not None:
            self.enter(organization)
        else:
            self.show()

    def enter(self, organization: Organization) -> None:
        """List those of an organization."""
        if self._reading.space is not None and self._reading.space.organization != organization.id:
            self._reading.leave_space()
        at = OrganizationRef(organization_id=organization.id)
        self._screen.follow("collections", ListCollections(at=at, nested=True, limit=1000), self._show_collections)
        self.show()

    def _show_collections(self, snapshot: Snapshot[ListPage[Collection]]) -> None:
        if snapshot.value is not None:
            self._collections = snapshot.value.items
            self.show()

    def show(self) -> None:
        """List them as they are now, and open the one that was read last."""
        reading, workspace = self._reading, self._reading.shell.workspace
        snapshot = workspace.spaces
        if self._screen.show_nowhere(reading.nav.spaces, "spaces"):
            return
        if snapshot.value is None:
            reading.nav.spaces.state.wait_for("spaces")
            if snapshot.error is not None:
                reading.nav.spaces.state.fail("Spaces did not load", str(snapshot.error))
            return
        self._kept = self._words_of_kept
        reading.nav.show_spaces(self._collections, snapshot.value.items, self._kept)
        reading.nav.spaces.state.lacks(snapshot.value.unreadable)
        if snapshot.error is not None:
            reading.nav.spaces.state.fail("Spaces could not be refreshed", str(snapshot.error))
        if reading.space is not None:
            reading.space = workspace.space(reading.space.id) or reading.space
            reading.say_where()
        elif self.wanted is None:
            last = reading.shell.session.state.recall("space")
            found = workspace.space(str(last)) if last else None
            if found or snapshot.value.items:
                reading.show_space((found or snapshot.value.items[0]).id)
        self.take_wanted()

    @property
    def _words_of_kept(self) -> dict[str, str]:
        shell = self._reading.shell
        return {each.id: mark_of(each) for each in shell.session.offline.all} if shell.has_session else {}

    def look_at_kept(self) -> None:
        """Show how far keeping spaces for offline got, if that changed."""
        if self._words_of_kept != self._kept:
            self.show()

    def take_wanted(self) -> None:
        """Show what another view asked for, as soon as its space is known."""
        wanted = self.wanted
        if wanted is not None and self._reading.shell.workspace.space(wanted.space) is not None:
            self.wanted = None
            self._reading.show_space(wanted.space, wanted.page, wanted.part, remember=False)
