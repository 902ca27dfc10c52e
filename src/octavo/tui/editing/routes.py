"""Routes from this package to screens of other packages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from octavo.tui.core.routes import Route

if TYPE_CHECKING:
    from octavo.api.change_requests import ChangeRequest
    from octavo.tui.editing.page_drafts import PageDraftKey
    from octavo.tui.editing.page_edit import PageEdit
    from octavo.tui.editing.target_request import TargetRequest


@dataclass(frozen=True)
class ToConflicts(Route):
    """The conflict view of a page, with the text of the user and the edits of other people."""

    edit: PageEdit
    key: PageDraftKey
    target: TargetRequest
    change_request: ChangeRequest
