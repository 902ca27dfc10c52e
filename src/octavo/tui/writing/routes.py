"""Where writing leads that is not shown here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from octavo.tui.shell.routes import Route

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.places import SpaceRef
    from octavo.api.text import Raw
    from octavo.tui.writing.page_drafts import PagePlace
    from octavo.tui.writing.target_request import TargetRequest


class PageSender(Protocol):
    """A page that is edited, as what settles its conflicts knows it."""

    @property
    def space(self) -> SpaceRef: ...

    @property
    def title(self) -> str: ...

    def send(self, place: PagePlace, into: TargetRequest, mine: Raw) -> None:
        """Send it in the background."""


@dataclass(frozen=True)
class ToConflicts(Route):
    """What one wrote and what others wrote meanwhile in the same places, side by side."""

    edit: PageSender
    place: PagePlace
    into: TargetRequest
    change_request: ChangeRequest
