"""What every view with a change request in it knows: which one, and why something may not be done with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from octavo.api.operation import Model
from octavo.api.places import SpaceRef
from octavo.tui.screen import View

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest

UNDECIDED = ("draft", "open")
"""The states in which a change request is still worked on."""


class Allowing(View):
    """A view with a change request in it. A subclass says which one, and in which space."""

    @property
    def change_request(self) -> ChangeRequest | None:
        """The one the keys are about."""
        raise NotImplementedError

    @property
    def space_ref(self) -> SpaceRef | None:
        """The space it belongs to."""
        raise NotImplementedError

    @property
    def things_at_hand(self) -> Sequence[Model]:
        space = self.octavo.known.space(self.space_ref.space_id) if self.space_ref is not None else None
        return [each for each in (self.change_request, space) if each is not None]

    def not_allowed(self, right: str, *states: str) -> str | None:
        """Why what takes this right, and a change request in one of `states`, cannot be done: a sentence. Without
        `states` any will do."""
        change_request, ref = self.change_request, self.space_ref
        if change_request is None or ref is None:
            return "There is no change request here."
        if states and change_request.status not in states:
            return f"#{change_request.number} is {change_request.status}: this is for those that are {' or '.join(states)}."
        return self.not_allowed_in(ref, right)

    def not_allowed_in(self, ref: SpaceRef, right: str) -> str | None:
        """Why what takes this right in a space cannot be done: a sentence."""
        space = self.octavo.known.space(ref.space_id)
        if space is not None and not getattr(space.permissions, right):
            return f"Your role in {space.title} does not let you {right}. Ask an administrator of the space."
        return None
