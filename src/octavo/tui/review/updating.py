"""Updating a change request from main, and resolving its conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.tui.review.request_at_hand import RequestAtHand
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.shell.routes import ToChangeRequest

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell
    from octavo.tui.widgets.confirm import Confirmed


def update(app: Shell, request: RequestAtHand) -> None:
    """Show the incoming changes, and ask whether to update."""
    from octavo.tui.review.update_dialog import update_dialog

    if not request.about.outdated:
        app.say(f"{request.name} is up to date with main.")
        return

    def then() -> bool:
        is_here = app.screen is request.view
        if is_here:
            _open_conflicts(app, request, request.about)
        return is_here

    app.push_screen(update_dialog(app, request.at, request.about, then))


def resolve(app: Shell, request: RequestAtHand) -> None:
    """Show the conflicts. Conflicts that a merge left in main are resolved in a new change request."""
    if request.about.status != "merged":
        _open_conflicts(app, request, request.about)
    else:
        app.background(_resolve_merged(app, request))


def _open_conflicts(
    app: Shell, request: RequestAtHand, change_request: ChangeRequest, of: ChangeRequest | None = None
) -> None:
    """Show what is in conflict in `change_request`, which may be there to settle the conflicts `of` a merged one."""
    from octavo.tui.review.conflict_source import ConflictSource
    from octavo.tui.review.conflicts import ConflictsScreen

    def then(written: ChangeRequest, pages: tuple[str, ...]) -> None:
        if of is None and request.shows_written is not None and app.screen is request.view:
            request.shows_written(pages)
        else:
            app.go(ToChangeRequest(written.ref(request.at.space), written))

    app.push_screen(ConflictsScreen(ConflictSource(app, change_request, request.at.space, of=of, then=then)))


async def _resolve_merged(app: Shell, request: RequestAtHand) -> None:
    """Create a change request for the conflicts that a merge left in main, if it left any."""
    from octavo.tui.review.conflict_finder import look
    from octavo.tui.widgets.confirm import ConfirmDialog

    merged, space, live = request.about, request.at.space, app.session.live
    if merged.revision_merged is None:
        app.say(f"The server did not return the revision created by merging {request.name}.", tone="care")
        return
    made = RevisionRef(space_id=space.space_id, revision_id=merged.revision_merged)
    try:
        if (begun := await _begun(app, merged, space)) is not None:
            _open_conflicts(app, request, begun, merged)
            return
        changed = await live.cached_or_fetch(content.ListChanges(at=made, limit=1000))
        found = await look(live, space, None, changed, None)
    except ApiError as error:
        app.say(f"Could not check {request.name} for conflicts: {error}", tone="failed")
        return
    if not found.pages:
        app.say(f"The merge of {request.name} left no conflicts in main.")
        return
    subject = f"Resolve the conflicts left by {request.name}"
    pages = ", ".join(page.title for page in found.pages[:3])
    more = f", and {len(found.pages) - 3} more" if len(found.pages) > 3 else ""

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_start(app, request, subject))

    said = f"Readers see both versions of each conflict on {pages}{more}. Octavo will create a change request in which you can resolve the conflicts."
    app.push_screen(ConfirmDialog(f"{subject}?", verb="Create", intro=said), decided)


async def _begun(app: Shell, merged: ChangeRequest, space: SpaceRef) -> ChangeRequest | None:
    """The change request that was started here for the conflicts of a merged one, while it is worked on."""
    name = app.session.state.get_fact(f"resolved in {merged.id}")
    if not isinstance(name, str):
        return None
    at = ChangeRequestRef(space_id=space.space_id, change_request_id=name)
    try:
        begun: ChangeRequest = await app.session.live.fetch(change_requests.Get(at=at))
    except NotFound:
        return None
    return begun if begun.status in UNDECIDED else None


async def _start(app: Shell, request: RequestAtHand, subject: str) -> None:
    from octavo.data.writes.change_request_writes import create

    sent = await create(app.session.live, request.at.space, subject)
    if sent.kind != "done" or sent.result is None:
        app.say(sent.message, tone="failed")
        return
    state = app.session.state
    state.set_fact(f"resolved in {request.about.id}", sent.result.id)
    state.set_fact(f"resolves {sent.result.id}", request.about.id)
    app.say(f"Created #{sent.result.number} {sent.result.title}")
    if app.screen is request.view:
        _open_conflicts(app, request, sent.result, request.about)
