"""Updating a change request from main, and resolving its conflicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, NotFound
from octavo.api.places import ChangeRequestRef, RevisionRef, SpaceRef
from octavo.data.writes.change_request_writes import create
from octavo.tui.review.request_target import RequestTarget
from octavo.tui.review.update_dialog import update_dialog
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.shell.routes import ToChangeRequest
from octavo.tui.widgets.confirm import Confirm, Confirmed

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell


def update(app: Shell, request: RequestTarget) -> None:
    """Open the update dialog."""

    if not request.change_request.outdated:
        app.say(f"{request.name} is up to date with main.")
        return

    def on_conflicts() -> bool:
        is_here = app.screen is request.view
        if is_here:
            _open_conflicts_view(app, request, request.change_request)
        return is_here

    app.push_screen(update_dialog(app, request.at, request.change_request, on_conflicts))


def resolve(app: Shell, request: RequestTarget) -> None:
    """Show the conflicts. Conflicts that a merge left in main are resolved in a new change request."""
    if request.change_request.status != "merged":
        _open_conflicts_view(app, request, request.change_request)
    else:
        app.background(_resolve_merged(app, request))


def _open_conflicts_view(
    app: Shell, request: RequestTarget, change_request: ChangeRequest, merged_request: ChangeRequest | None = None
) -> None:
    """Show the conflicts of `change_request`, or the conflicts of `merged_request` to resolve in `change_request`."""
    # lazy: the view of conflicts, rarely opened
    from octavo.tui.review.conflict_source import ConflictSource
    from octavo.tui.review.conflicts import ConflictsScreen

    def on_written(written: ChangeRequest, pages: tuple[str, ...]) -> None:
        if merged_request is None and request.show_edited is not None and app.screen is request.view:
            request.show_edited(pages)
        else:
            app.go(ToChangeRequest(written.ref(request.at.space), written))

    app.push_screen(
        ConflictsScreen(
            ConflictSource(app, change_request, request.at.space, merged_request=merged_request, on_written=on_written)
        )
    )


async def _resolve_merged(app: Shell, request: RequestTarget) -> None:
    """Create a change request for the conflicts that a merge left in main, if there are any."""
    from octavo.tui.review.conflict_finder import find_conflicts  # lazy: the merge engine, rarely needed

    merged, space, live = request.change_request, request.at.space, app.session.live
    if merged.revision_merged is None:
        app.say(f"The server did not return the revision created by merging {request.name}.", tone="care")
        return
    revision = RevisionRef(space_id=space.space_id, revision_id=merged.revision_merged)
    try:
        if (started := await _find_started(app, merged, space)) is not None:
            _open_conflicts_view(app, request, started, merged)
            return
        changed = await live.known(content.ListChanges(at=revision, limit=1000))
        found = await find_conflicts(live, space, None, changed, None)
    except ApiError as error:
        app.say(f"Could not check {request.name} for conflicts: {error}", tone="failed")
        return
    if not found.pages:
        app.say(f"The merge of {request.name} left no conflicts in main.")
        return
    subject = f"Resolve the conflicts left by {request.name}"
    pages = ", ".join(page.title for page in found.pages[:3])
    more = f", and {len(found.pages) - 3} more" if len(found.pages) > 3 else ""

    def on_answer(answer: Confirmed | None) -> None:
        if answer is not None:
            app.background(_create_and_open(app, request, subject))

    intro = f"Readers see both versions of each conflict on {pages}{more}. Octavo will create a change request in which you can resolve the conflicts."
    app.push_screen(Confirm(f"{subject}?", verb="Create", intro=intro), on_answer)


async def _find_started(app: Shell, merged: ChangeRequest, space: SpaceRef) -> ChangeRequest | None:
    """Return the change request that was created for the conflicts of a merged change request. None if there is none,
    or if it is merged or archived."""
    name = app.session.state.get_fact(f"resolved in {merged.id}")
    if not isinstance(name, str):
        return None
    at = ChangeRequestRef(space_id=space.space_id, change_request_id=name)
    try:
        change_request: ChangeRequest = await app.session.live.fetch(change_requests.Get(at=at))
    except NotFound:
        return None
    return change_request if change_request.status in UNDECIDED else None


async def _create_and_open(app: Shell, request: RequestTarget, subject: str) -> None:

    sent = await create(app.session.live, request.at.space, subject)
    if sent.kind != "done" or sent.result is None:
        app.say(sent.message, tone="failed")
        return
    state = app.session.state
    state.set_fact(f"resolved in {request.change_request.id}", sent.result.id)
    state.set_fact(f"resolves {sent.result.id}", request.change_request.id)
    app.say(f"Created #{sent.result.number} {sent.result.title}")
    if app.screen is request.view:
        _open_conflicts_view(app, request, sent.result, request.change_request)
