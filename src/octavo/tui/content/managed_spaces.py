"""The spaces and collections of an organization, and what may be done with the one under the cursor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.tui.shell.permissions import lacks_right

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
        """That under the cursor, or the one the space under it lies in."""
        thing = self.thing
        if thing is None or thing.object == "collection":
            return thing
        return next((each for each in self.collections if each.id == thing.parent), None)

    def why_may_not(self, deed: str) -> str | None:
        """Why what takes the right to administer what the cursor is on cannot be done, in a sentence."""
        if self.thing is None:
            return "There is no space here: ctrl+n makes one."
        return lacks_right((self.thing,), "admin", f"{deed} it", self.thing.object)

    def why_may_not_make(self) -> str | None:
        """Why nothing can be made here, in a sentence."""
        at_top = lacks_right((self.organization,), "create_content", "make spaces", "organization")
        inside = self.collection
        return at_top and (at_top if inside is None else lacks_right((inside,), "create", "make spaces", "collection"))
