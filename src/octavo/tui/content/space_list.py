"""The tree of spaces and collections, and which of them is opened."""

from __future__ import annotations

from octavo.api.collections import Collection
from octavo.api.operation import ListPage
from octavo.api.organizations import Organization
from octavo.data.live import Snapshot
from octavo.data.queries import collections_of
from octavo.tui.content.open_space import OpenSpace
from octavo.tui.content.space_target import SpaceTarget
from octavo.tui.core.item_labels import offline_mark
from octavo.tui.core.routes import ToPage
from octavo.tui.core.view import View


class SpaceList:
    """The spaces of the organization as the content view lists them, and the space to open."""

    def __init__(self, screen: View, open_space: OpenSpace) -> None:
        """Create the list of spaces. `open_space` shows the open space."""
        self._screen, self._open_space = screen, open_space
        self.wanted_route: ToPage | None = None
        """The page to open as soon as its space is loaded."""
        self._collections: tuple[Collection, ...] = ()
        self._removed_id = ""
        """Id of a space that was deleted or moved away, while the server still lists it."""
        self._opens_last_space = True
        """Whether the space that was read last is opened automatically. False after the open space was deleted."""
        self._created_id = ""
        """Id of a created space or collection, until the tree lists it."""
        self._offline_marks: dict[str, str] = {}
        """Progress of offline copies by space id, as shown in the tree."""

    def start(self) -> None:
        """Show the spaces of the current organization, or why there are none."""
        if (organization := self._open_space.shell.workspace.organization) is not None:
            self.load(organization)
        else:
            self.show()

    def load(self, organization: Organization) -> None:
        """Show the spaces of an organization."""
        self._opens_last_space = True
        if self._open_space.space is not None and self._open_space.space.organization != organization.id:
            self._open_space.close()
        self._screen.follow("collections", collections_of(organization.id), self._show_collections)
        self.show()

    def _show_collections(self, snapshot: Snapshot[ListPage[Collection]]) -> None:
        if snapshot.value is not None:
            self._collections = snapshot.value.items
            self.show()

    @property
    def target(self) -> SpaceTarget | None:
        """The selected space or collection, with the others. None while they are loading."""
        workspace, node = self._open_space.shell.workspace, self._open_space.nav.spaces.node
        if (organization := workspace.organization) is None or workspace.spaces.value is None:
            return None
        name = str(node.key) if node is not None else ""
        collection = next((each for each in self._collections if each.id == name), None)
        selected = collection if node is not None and node.kind == "group" else workspace.space(name)
        return SpaceTarget(
            organization, workspace.spaces.value.items, self._collections, selected, self._select_created, self._remove
        )

    def _select_created(self, name: str) -> None:
        """Select a created space or collection as soon as it is listed."""
        self._created_id = name
        self.show()

    def _remove(self, name: str) -> None:
        """Close a deleted or transferred space as soon as it is not listed any more."""
        self._removed_id = name
        self.show()

    def _close_removed(self) -> None:
        open_space = self._open_space
        if self._removed_id and open_space.shell.workspace.space(self._removed_id) is None:
            if open_space.space is not None and open_space.space.id == self._removed_id:
                open_space.close()
                open_space.view.clear()
                open_space.view.state.show_reason(
                    "The open space was deleted or moved.", "Press enter to open the selected space."
                )
                open_space.side_panel.clear()
                open_space.show_status()
                self._opens_last_space = False
            self._removed_id = ""

    def show(self) -> None:
        """Update the tree of spaces. If no space is open, open the space that was read last, else the first."""
        open_space, workspace = self._open_space, self._open_space.shell.workspace
        snapshot = workspace.spaces
        if self._screen.show_no_organization(open_space.nav.spaces, "spaces"):
            return
        if snapshot.value is None:
            open_space.nav.spaces.state.wait_for("spaces")
            if snapshot.error is not None:
                open_space.nav.spaces.state.fail("Could not load the spaces", str(snapshot.error))
            return
        self._offline_marks = self._current_offline_marks
        open_space.nav.show_spaces(self._collections, snapshot.value.items, self._offline_marks)
        if self._created_id and open_space.nav.spaces.select_hidden(self._created_id):
            self._created_id = ""
        open_space.nav.spaces.state.show_unreadable(snapshot.value.unreadable)
        if snapshot.error is not None:
            open_space.nav.spaces.state.fail("Could not refresh the spaces", str(snapshot.error))
        self._close_removed()
        if open_space.space is not None:
            open_space.space = workspace.space(open_space.space.id) or open_space.space
            open_space.show_status()
        elif self.wanted_route is None and self._opens_last_space:
            last = open_space.shell.session.state.get_fact("space")
            found = workspace.space(str(last)) if last else None
            if found or snapshot.value.items:
                open_space.show_space((found or snapshot.value.items[0]).id)
        self.open_wanted()

    @property
    def _current_offline_marks(self) -> dict[str, str]:
        shell = self._open_space.shell
        return {each.id: offline_mark(each) for each in shell.session.offline.all} if shell.has_session else {}

    def update_offline_marks(self) -> None:
        """Update the progress of offline copies if it has changed."""
        if self._current_offline_marks != self._offline_marks:
            self.show()

    def open_wanted(self) -> None:
        """Open the page another view asked for, as soon as its space is loaded."""
        wanted_route = self.wanted_route
        if wanted_route is not None and self._open_space.shell.workspace.space(wanted_route.space) is not None:
            self.wanted_route = None
            self._open_space.show_space(wanted_route.space, wanted_route.page, wanted_route.part, remember=False)
