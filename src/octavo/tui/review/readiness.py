"""The status of change requests: ready for review, draft, archived."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.tui.shell.permissions import UNDECIDED, why_not_in_change_request
from octavo.tui.widgets.wording import plural

if TYPE_CHECKING:
    from octavo.data.writes.direct import SendResult
    from octavo.tui.shell.shell import Shell
    from octavo.tui.shell.write_queue import DirectUndo
    from octavo.tui.widgets.confirm import Confirmed


def why_not(app: Shell, several: Sequence[ChangeRequest]) -> str | None:
    """Return why these cannot be marked as ready or converted to drafts together. None if they can."""
    for each in several:
        if each.status not in ("draft", "open"):
            reopen = f" Press L to reopen #{each.number} first." if each.status == "archived" else ""
            return f"#{each.number} is {each.status}. Only a draft can be marked as ready, and only an open change request can be converted to a draft.{reopen}"
        space = SpaceRef(space_id=each.space) if each.space is not None else None
        if why := why_not_in_change_request(app, each, space, "edit"):
            return why
    if app.has_session and not app.session.live.has_draft_status:
        from octavo.data.writes.change_request_writes import NO_DRAFTS

        return NO_DRAFTS
    return None


def mark(app: Shell, several: Sequence[ChangeRequest]) -> None:
    """Mark drafts as ready for review. If the first is ready, convert those that are ready to drafts."""
    if several:
        those = [each for each in several if each.status == several[0].status]
        doing, said = _words(app, those)
        app.writes.send(doing, _mark(app, those), message=said, make_undo=partial(_back, app))


def offer(app: Shell, about: ChangeRequest) -> None:
    """Offer to mark a draft as ready when a review is requested: reviewers look at change requests that are ready."""
    if about.status != "draft" or not app.session.live.has_draft_status:
        return
    from octavo.tui.widgets.confirm import ConfirmDialog

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            mark(app, [about])

    said = "You requested reviews, but this change request is still a draft. You can press ~ later to mark it as ready for review."
    app.push_screen(
        ConfirmDialog(
            f"Mark #{about.number} {about.title} as ready for review?",
            verb="Mark as ready",
            cancel="Keep as draft",
            intro=said,
        ),
        decided,
    )


def _words(app: Shell, several: Sequence[ChangeRequest]) -> tuple[str, str]:
    """Return the verb phrase for messages such as "Could not ...", and the message of success."""
    is_draft = several[0].status == "draft"
    them = _name(app, several[0]) if len(several) == 1 else plural(len(several), "change request")
    if is_draft:
        return f"mark {them} as ready for review", f"Marked {them} as ready for review"
    draft = "a draft" if len(several) == 1 else "drafts"
    return f"convert {them} to {draft}", f"Converted {them} to {draft}"


def _name(app: Shell, about: ChangeRequest) -> str:
    space = app.workspace.space(about.space or "")
    return f"#{about.number} in {space.title}" if space is not None else f"#{about.number}"


async def _mark(app: Shell, several: Sequence[ChangeRequest]) -> SendResult[tuple[ChangeRequest, ...]]:
    from octavo.data.writes.change_request_writes import toggle_draft
    from octavo.data.writes.direct import SendResult

    done: list[ChangeRequest] = []
    left: list[str] = []
    for each in several:
        if each.space is None:
            continue  # it had one when it was marked
        sent = await toggle_draft(app.session.live, each.ref(SpaceRef(space_id=each.space)), each)
        if sent.kind == "done" and sent.result is not None:
            done.append(sent.result.model_copy(update={"space": each.space}))
        else:
            left.append(sent.message if len(several) == 1 else f"{_name(app, each)}: {sent.message}")
    if not done:
        return SendResult("refused", left[0])
    if not left:
        return SendResult("done", "", tuple(done))
    count = f"{len(done)} of {plural(len(several), 'change request')}"
    is_draft = several[0].status == "draft"
    said = f"Marked {count} as ready for review" if is_draft else f"Converted {count} to drafts"
    return SendResult("done", f"{said}. {left[0]}", tuple(done))


def _back(app: Shell, done: tuple[ChangeRequest, ...]) -> DirectUndo:
    from octavo.tui.shell.write_queue import DirectUndo

    doing, said = _words(app, done)
    return DirectUndo(doing, lambda: _mark(app, done), said)


def offer_to_archive(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> Callable[[], None] | None:
    """Return a function that asks whether to archive a change request. None if you cannot archive the change request."""
    if why_not_in_change_request(app, change_request, at.space, "edit", *UNDECIDED):
        return None
    return partial(ask_to_archive, app, at, change_request)


def ask_to_archive(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> None:
    """Ask whether to archive a change request, or to reopen an archived one."""
    from octavo.tui.widgets.confirm import ConfirmDialog

    archived = change_request.status == "archived"
    verb, done, status = ("Reopen", "Reopened", "open") if archived else ("Archive", "Archived", "archived")
    op = change_requests.Update(at=at, status=status)

    def decided(answer: Confirmed | None) -> None:
        if answer is not None:
            from octavo.data.writes.direct import send_plain

            doing = f"{verb.lower()} #{change_request.number}"
            sending = send_plain(app.session.live, op, f"Could not {doing}")
            app.writes.send(doing, sending, message=f"{done} #{change_request.number}", is_visible=True)

    said = (
        "The change request will move back to the “Open” tab."
        if archived
        else "The change request will move to the “Archived” tab. You can reopen the change request there."
    )
    app.push_screen(
        ConfirmDialog(f"{verb} #{change_request.number} {change_request.title}?", verb=verb, intro=said), decided
    )
