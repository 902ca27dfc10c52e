"""Routes from this package to screens of other packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from octavo.tui.shell.routes import Route

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.api.places import SpaceRef
    from octavo.api.text import Raw
    from octavo.tui.writing.page_drafts import PageDraftKey
    from octavo.tui.writing.target_request import TargetRequest


class PageSender(Protocol):
    """The edit of a page, as far as the conflict view needs it."""

    @property
    def space(self) -> SpaceRef: ...

    @property
    def title(self) -> str: ...

    def send(self, place: PageDraftKey, into: TargetRequest, mine: Raw) -> None:
        """Send the text in the background."""


@dataclass(frozen=True)
class ToConflicts(Route):
    """The conflict view: the text of the user next to edits of other people in the same places."""

    edit: PageSender
    place: PageDraftKey
    into: TargetRequest
    change_request: ChangeRequest
