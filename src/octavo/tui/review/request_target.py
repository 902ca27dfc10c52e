"""The change request that the commands of a view act on, and the reasons why commands are disabled."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.tui.core.permissions import why_not_in_change_request
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.widgets.short_texts import plural

if TYPE_CHECKING:
    from octavo.api.reviews import Review
    from octavo.data.proposed_notes import ProposedNote
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.core.shell import Shell
    from octavo.tui.core.view import View


@dataclass(frozen=True)
class RequestTarget:
    """Change request that commands act on, with the facts that the view has loaded."""

    change_request: ChangeRequest
    space: SpaceRef | None
    """Space of the change request. None if the server does not return it."""
    view: View
    selected: tuple[ChangeRequest, ...] = ()
    """Selected change requests in the order of the list. Commands for several change requests act on these."""
    reviews: Sequence[Review] | None = None
    """Reviews of the change request. None while they are not loaded."""
    titles: Callable[[], Mapping[str, str]] = dict
    """Returns the page titles by page ID, as far as they are loaded."""
    pending_note: Callable[[OutboxEntry], str] = lambda entry: ""
    """Returns a note if the words that a pending comment is about have changed, such as “words are gone”. Empty if the
    words have not changed."""
    show_pending_comment: Callable[[OutboxEntry], None] | None = None
    """Shows a pending comment in the view. None if Octavo has to open the change request first."""
    show_block: Callable[[str, str], None] | None = None
    """Shows the block with a key on a page. None if Octavo has to open the change request first."""
    show_edited: Callable[[tuple[str, ...]], None] | None = None
    """Shows the changed pages after an edit. None if Octavo has to open the change request first."""

    @property
    def at(self) -> ChangeRequestRef:
        """The reference of the change request. The space must be known, which `why_not_allowed` checks."""
        assert self.space is not None
        return self.change_request.ref(self.space)

    @property
    def name(self) -> str:
        return f"#{self.change_request.number}"

    @property
    def change_requests(self) -> tuple[ChangeRequest, ...]:
        """The change requests for a command that acts on several."""
        return self.selected or (self.change_request,)

    def open_pending_comment(self, app: Shell, entry: OutboxEntry) -> None:
        """Show a pending comment in the view, or open the change request."""
        if self.show_pending_comment is not None:
            self.show_pending_comment(entry)
        else:
            app.go(ToChangeRequest(self.at, self.change_request))

    def open_proposed_note(self, app: Shell, note: ProposedNote) -> None:
        """Show the block of a proposed note in the view, or open the change request."""
        if self.show_block is not None:
            self.show_block(note.page, note.block)
        else:
            app.go(ToChangeRequest(self.at, self.change_request))


WhyNot: TypeAlias = "Callable[[Shell, RequestTarget], str | None]"


def why_not_allowed(app: Shell, target: RequestTarget, permission: str, *states: str) -> str | None:
    """Return the reason why the user cannot act on the change request: permission, status or space. None if the user can."""
    return why_not_in_change_request(app, target.change_request, target.space, permission, *states)


def requires(permission: str, *states: str) -> WhyNot:
    """Return a function that tells why a command is disabled: it needs `permission` and a change request in one of
    `states`."""
    return for_one_request(lambda app, target: why_not_allowed(app, target, permission, *states))


def for_one_request(why_not: WhyNot) -> WhyNot:
    """Return `why_not` with a further reason: a command for one change request is disabled while others are
    selected."""
    return lambda app, target: why_not_single(target) or why_not(app, target)


def has_status(*states: str) -> Callable[[Shell, RequestTarget], bool]:
    """Return a function that tells whether any of the targets of a command is in one of `states`."""
    return lambda app, target: any(each.status in states for each in target.change_requests)


def why_not_single(target: RequestTarget) -> str | None:
    """Return the reason why a command for one change request is disabled while others are selected. None if no others
    are selected."""
    count = len(target.selected)
    if count > 1 or (count == 1 and target.selected[0].id != target.change_request.id):
        selected = plural(count, "change request is", "change requests are")
        return f"{selected} selected, but only the a, L, V, m and ~ keys apply to a selection. Press esc to clear the selection."
    return None
