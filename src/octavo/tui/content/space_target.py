"""The spaces and collections of an organization, and what your role allows for the selected one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.tui.core.permissions import why_no_permission

if TYPE_CHECKING:
    from octavo.api.collections import Collection
    from octavo.api.organizations import Organization
    from octavo.api.spaces import Space


@dataclass(frozen=True)
class SpaceTarget:
    """The spaces and collections of an organization, and the selected one."""

    organization: Organization
    spaces: Sequence[Space]
    collections: Sequence[Collection]
    selected: Space | Collection | None
    """The selected space or collection. None if there is none."""
    on_created: Callable[[str], None]
    """Called with the id of a space or collection that was created or restored."""
    on_removed: Callable[[str], None]
    """Called with the id of a space or collection that was deleted or moved to another organization."""

    @property
    def collection(self) -> Collection | None:
        """Return the selected collection, or the collection of the selected space."""
        selected = self.selected
        if selected is None or selected.object == "collection":
            return selected
        return next((each for each in self.collections if each.id == selected.parent), None)

    def why_not(self, action: str) -> str | None:
        """Return why your role does not let you do `action` with the selected space or collection. None if it does."""
        if self.selected is None:
            return "No space is selected. Press ctrl+n to create a space."
        return why_no_permission(
            (self.selected,), "admin", f"{action} this {self.selected.object}", self.selected.object
        )

    def why_not_create(self) -> str | None:
        """Return why no space or collection can be created here. None if it can."""
        at_top = self.why_not_add_to(None)
        return at_top and self.why_not_add_to(self.collection)

    def why_not_duplicate(self) -> str | None:
        """Return why the selected space cannot be duplicated in its collection. None if it can."""
        if self.selected is not None and self.selected.parent and self.collection is None:
            return None  # The collection is not loaded: the server decides.
        return self.why_not_add_to(self.collection)

    def why_not_add_to(self, collection: Collection | None) -> str | None:
        """Return why nothing can be added to a collection, or with None to the top level. None if it can."""
        if collection is None:
            return why_no_permission(
                (self.organization,), "create_content", "create spaces or collections at the top level", "organization"
            )
        return why_no_permission((collection,), "create", "add spaces or collections to this collection", "collection")
