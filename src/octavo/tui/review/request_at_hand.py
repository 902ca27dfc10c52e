"""The change request the keys of a view are about, and who may do what with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.tui.shell.permissions import why_not_in_change_request
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.api.reviews import Review
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.shell.shell import Shell
    from octavo.tui.shell.view import View


@dataclass(frozen=True)
class RequestAtHand:
    """A change request, and what the view it is shown in knows of it."""

    about: ChangeRequest
    space: SpaceRef | None
    """The space it is in, where the server says so."""
    view: View
    ticked: tuple[ChangeRequest, ...] = ()
    """Those that are ticked, in the order of their list: what is for several is done with these."""
    reviews: Sequence[Review] | None = None
    """Its reviews, where they are known."""
    titles: Callable[[], Mapping[str, str]] = dict
    """What its pages are called, by their ids, as far as that is known."""
    shows_held: Callable[[OutboxEntry], None] | None = None
    """Shows where a held comment hangs. None: the change request is gone to."""
    shows_written: Callable[[tuple[str, ...]], None] | None = None
    """Shows what changes now on pages that were written. None: the change request is gone to."""

    @property
    def at(self) -> ChangeRequestRef:
        """Where it is. Who asks was told by `may_not` that its space is known."""
        assert self.space is not None
        return self.about.ref(self.space)

    @property
    def name(self) -> str:
        return f"#{self.about.number}"

    @property
    def together(self) -> tuple[ChangeRequest, ...]:
        """Those a key acts on that is for several."""
        return self.ticked or (self.about,)

    def show_held(self, app: Shell, entry: OutboxEntry) -> None:
        """Show where a held comment hangs."""
        if self.shows_held is not None:
            self.shows_held(entry)
        else:
            app.go(ToChangeRequest(self.at, self.about))


WhyNot: TypeAlias = "Callable[[Shell, RequestAtHand], str | None]"


def may_not(app: Shell, request: RequestAtHand, right: str, *states: str) -> str | None:
    """Why what takes this right, and a change request in one of `states`, cannot be done with one: a sentence."""
    return why_not_in_change_request(app, request.about, request.space, right, *states)


def takes(right: str, *states: str) -> WhyNot:
    """That something is done with one change request, takes this right, and is for those in one of `states`."""
    return of_one(lambda app, request: may_not(app, request, right, *states))


def of_one(why_not: WhyNot) -> WhyNot:
    """That something is done with one change request: while others are ticked, none is."""
    return lambda app, request: others_ticked(request) or why_not(app, request)


def is_in(*states: str) -> Callable[[Shell, RequestAtHand], bool]:
    """Return whether a command applies: a selected change request, else the one at hand, is in one of `states`."""
    return lambda app, request: any(each.status in states for each in request.together)


def others_ticked(request: RequestAtHand) -> str | None:
    """Return why a command for one change request is disabled: others are selected. None if none are."""
    ticked = len(request.ticked)
    if ticked > 1 or (ticked == 1 and request.ticked[0].id != request.about.id):
        selected = plural(ticked, "change request is", "change requests are")
        return f"{selected} selected, but only the m and ~ keys apply to a selection. Press esc to clear the selection."
    return None
