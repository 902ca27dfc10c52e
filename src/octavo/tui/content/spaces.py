"""Which space one is in: the tree of collections and spaces, and the one that is open."""

from __future__ import annotations

from octavo.api.collections import Collection
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.data.live import Snapshot
from octavo.data.queries import collections_of
from octavo.tui.content.managed_spaces import ManagedSpaces
from octavo.tui.content.space_reading import SpaceReading
from octavo.tui.shell.item_labels import offline_mark
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
        self._gone = ""
        """What was deleted or moved elsewhere, until it is listed no more."""
        self._opens_last = True
        """Whether the space that was read last is opened by itself: not where one just deleted it."""
        self._made = ""
        """What was made, until the tree lists it."""
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
        self._opens_last = True
        if self._reading.space is not None and self._reading.space.organization != organization.id:
            self._reading.leave_space()
        self._screen.follow("collections", collections_of(organization.id), self._show_collections)
        self.show()

    def _show_collections(self, snapshot: Snapshot[ListPage[Collection]]) -> None:
        if snapshot.value is not None:
            self._collections = snapshot.value.items
            self.show()

    @property
    def managed(self) -> ManagedSpaces | None:
        """What the keys of their tree are about."""
        workspace, node = self._reading.shell.workspace, self._reading.nav.spaces.node
        if (organization := workspace.organization) is None or workspace.spaces.value is None:
            return None
        name = str(node.key) if node is not None else ""
        folder = next((each for each in self._collections if each.id == name), None)
        thing = folder if node is not None and node.kind == "group" else workspace.space(name)
        return ManagedSpaces(
            organization, workspace.spaces.value.items, self._collections, thing, self._came, self._left
        )

    def _came(self, name: str) -> None:
        """Put the cursor on what was made, as soon as it is listed."""
        self._made = name
        self.show()

    def _left(self, name: str) -> None:
        """Show no more of what was deleted or went elsewhere, as soon as it is not listed any more."""
        self._gone = name
        self.show()

    def _leave_gone(self) -> None:
        reading = self._reading
        if self._gone and reading.shell.workspace.space(self._gone) is None:
            if reading.space is not None and reading.space.id == self._gone:
                reading.leave_space()
                reading.view.clear()
                reading.view.state.leave(
                    "The open space was deleted or moved.", "Press enter to open the selected space."
                )
                reading.aside.clear()
                reading.say_where()
                self._opens_last = False
            self._gone = ""

    def show(self) -> None:
        """List them as they are now, and open the one that was read last."""
        reading, workspace = self._reading, self._reading.shell.workspace
        snapshot = workspace.spaces
        if self._screen.show_no_organization(reading.nav.spaces, "spaces"):
            return
        if snapshot.value is None:
            reading.nav.spaces.state.wait_for("spaces")
            if snapshot.error is not None:
                reading.nav.spaces.state.fail("Could not load the spaces", str(snapshot.error))
            return
        self._kept = self._words_of_kept
        reading.nav.show_spaces(self._collections, snapshot.value.items, self._kept)
        if self._made and reading.nav.spaces.select_hidden(self._made):
            self._made = ""
        reading.nav.spaces.state.show_unreadable(snapshot.value.unreadable)
        if snapshot.error is not None:
            reading.nav.spaces.state.fail("Could not refresh the spaces", str(snapshot.error))
        self._leave_gone()
        if reading.space is not None:
            reading.space = workspace.space(reading.space.id) or reading.space
            reading.say_where()
        elif self.wanted is None and self._opens_last:
            last = reading.shell.session.state.get_fact("space")
            found = workspace.space(str(last)) if last else None
            if found or snapshot.value.items:
                reading.show_space((found or snapshot.value.items[0]).id)
        self.take_wanted()

    @property
    def _words_of_kept(self) -> dict[str, str]:
        shell = self._reading.shell
        return {each.id: offline_mark(each) for each in shell.session.offline.all} if shell.has_session else {}

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
