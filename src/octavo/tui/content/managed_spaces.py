"""The spaces and collections of an organization, and what your role lets you do with the selected one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.tui.shell.permissions import why_no_permission

if TYPE_CHECKING:
    from octavo.api.collections import Collection
    from octavo.api.organizations import Organization
    from octavo.api.spaces import Space


@dataclass(frozen=True)
class ManagedSpaces:
    """The spaces and collections of an organization, and the one under the cursor."""

    organization: Organization
    spaces: Sequence[Space]
    collections: Sequence[Collection]
    thing: Space | Collection | None
    """None: there is nothing yet."""
    came: Callable[[str], None]
    """Told the id of what was made or brought back."""
    left: Callable[[str], None]
    """Told the id of a space that is not there any more."""

    @property
    def collection(self) -> Collection | None:
        """Return the selected collection, or the collection of the selected space."""
        thing = self.thing
        if thing is None or thing.object == "collection":
            return thing
        return next((each for each in self.collections if each.id == thing.parent), None)

    def why_may_not(self, deed: str) -> str | None:
        """Return why your role does not let you do `deed` with the selected space or collection. None if it does."""
        if self.thing is None:
            return "No space is selected. Press ctrl+n to create a space."
        return why_no_permission((self.thing,), "admin", f"{deed} this {self.thing.object}", self.thing.object)

    def why_may_not_make(self) -> str | None:
        """Return why no space or collection can be created here. None if it can."""
        at_top = self.why_may_not_add_to(None)
        return at_top and self.why_may_not_add_to(self.collection)

    def why_may_not_copy(self) -> str | None:
        """Return why the selected space cannot be duplicated in its collection. None if it can."""
        if self.thing is not None and self.thing.parent and self.collection is None:
            return None  # it lies in one that is not known: the server says
        return self.why_may_not_add_to(self.collection)

    def why_may_not_add_to(self, folder: Collection | None) -> str | None:
        """Return why nothing can be added to a collection, or with None to the top level. None if it can."""
        if folder is None:
            return why_no_permission(
                (self.organization,), "create_content", "create spaces or collections at the top level", "organization"
            )
        return why_no_permission((folder,), "create", "add spaces or collections to this collection", "collection")
