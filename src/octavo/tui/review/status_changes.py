"""Status changes of change requests: mark as ready, convert to draft, archive and reopen. Also the results of merges that were running
when Octavo closed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.state_db import NotSaved
from octavo.data.writes.change_request_writes import NO_DRAFTS, toggle_draft
from octavo.data.writes.direct import (
    STALE_SECONDS,
    SendResult,
    UnfinishedWrite,
    delete_lock,
    find_unfinished,
    finish_unfinished,
    is_unfinished,
    send_unchecked,
    unfinished_writes,
)
from octavo.tui.core.permissions import UNDECIDED, why_not_in_change_request
from octavo.tui.core.write_queue import DirectUndo
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import plural, short_age

if TYPE_CHECKING:
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell


def why_not_toggle_drafts(app: Shell, requests: Sequence[ChangeRequest]) -> str | None:
    """Return the reason why the change requests cannot be marked as ready or converted to drafts. None if there is no
    such reason."""
    for each in requests:
        if each.status not in ("draft", "open"):
            reopen = f" Press L to reopen #{each.number} first." if each.status == "archived" else ""
            return f"#{each.number} is {each.status}. Only a draft can be marked as ready, and only an open change request can be converted to a draft.{reopen}"
        space = SpaceRef(space_id=each.space) if each.space is not None else None
        if why := why_not_in_change_request(app, each, space, "edit"):
            return why
    if app.has_session and not app.session.live.has_draft_status:
        return NO_DRAFTS
    return None


def toggle_drafts(app: Shell, requests: Sequence[ChangeRequest]) -> None:
    """Mark drafts as ready for review, or convert open change requests to drafts. The first change request decides
    which of the two happens. The others change only if they have the same status."""
    if requests:
        same_status = [each for each in requests if each.status == requests[0].status]
        action, message = _messages(app, same_status)
        app.writes.send(action, _toggle(app, same_status), message=message, make_undo=partial(_undo, app))


def offer_to_mark_ready(app: Shell, change_request: ChangeRequest) -> None:
    """Offer to mark a draft as ready after a review request."""
    if change_request.status != "draft" or not app.session.live.has_draft_status:
        return

    def on_answer(answer: Confirmed | None) -> None:
        if answer is not None:
            toggle_drafts(app, [change_request])

    intro = "You requested reviews, but this change request is still a draft. You can press ~ later to mark it as ready for review."
    app.push_screen(
        ConfirmDialog(
            f"Mark #{change_request.number} {change_request.title} as ready for review?",
            verb="Mark as ready",
            cancel="Keep as draft",
            intro=intro,
        ),
        on_answer,
    )


def _messages(app: Shell, requests: Sequence[ChangeRequest]) -> tuple[str, str]:
    """Return a verb phrase for messages such as “Could not …”, and the success message."""
    is_draft = requests[0].status == "draft"
    names = _name(app, requests[0]) if len(requests) == 1 else plural(len(requests), "change request")
    if is_draft:
        return f"mark {names} as ready for review", f"Marked {names} as ready for review"
    draft = "a draft" if len(requests) == 1 else "drafts"
    return f"convert {names} to {draft}", f"Converted {names} to {draft}"


def _name(app: Shell, change_request: ChangeRequest) -> str:
    space = app.workspace.space(change_request.space or "")
    return f"#{change_request.number} in {space.title}" if space is not None else f"#{change_request.number}"


async def _toggle(app: Shell, requests: Sequence[ChangeRequest]) -> SendResult[tuple[ChangeRequest, ...]]:
    done: list[ChangeRequest] = []
    failures: list[str] = []
    for each in requests:
        if each.space is None:
            continue  # This never happens: the command needs a known space.
        sent = await toggle_draft(app.session.live, each.ref(SpaceRef(space_id=each.space)), each)
        if sent.kind == "done" and sent.result is not None:
            done.append(sent.result.model_copy(update={"space": each.space}))
        else:
            failures.append(sent.message if len(requests) == 1 else f"{_name(app, each)}: {sent.message}")
    if not done:
        return SendResult("refused", failures[0])
    if not failures:
        return SendResult("done", "", tuple(done))
    count = f"{len(done)} of {plural(len(requests), 'change request')}"
    is_draft = requests[0].status == "draft"
    message = f"Marked {count} as ready for review" if is_draft else f"Converted {count} to drafts"
    return SendResult("done", f"{message}. {failures[0]}", tuple(done))


def _undo(app: Shell, done: tuple[ChangeRequest, ...]) -> DirectUndo:
    action, message = _messages(app, done)
    return DirectUndo(action, lambda: _toggle(app, done), message)


def offer_to_archive(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> Callable[[], None] | None:
    """Return a function that opens the dialog to archive a change request. None if you cannot archive the change
    request."""
    if why_not_in_change_request(app, change_request, at.space, "edit", *UNDECIDED):
        return None
    return partial(open_archive_dialog, app, at, change_request)


def open_archive_dialog(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> None:
    """Open the dialog to archive a change request, or to reopen an archived change request."""
    archived = change_request.status == "archived"
    verb, done, status = ("Reopen", "Reopened", "open") if archived else ("Archive", "Archived", "archived")
    op = change_requests.Update(at=at, status=status)

    def on_answer(answer: Confirmed | None) -> None:
        if answer is not None:
            action = f"{verb.lower()} #{change_request.number}"
            sending = send_unchecked(app.session.live, op, f"Could not {action}")
            app.writes.send(action, sending, message=f"{done} #{change_request.number}", is_visible=True)

    intro = (
        "The change request will move back to the “Open” tab."
        if archived
        else "The change request will move to the “Archived” tab. You can reopen the change request there."
    )
    app.push_screen(
        ConfirmDialog(f"{verb} #{change_request.number} {change_request.title}?", verb=verb, intro=intro), on_answer
    )


async def report_unfinished(app: Shell, session: Session) -> None:
    """Find out the result of each merge and update that was running, and show it. Nothing is sent again."""
    await asyncio.gather(*(_report(app, session, write) for write in unfinished_writes(session.state)))


async def _report(app: Shell, session: Session, write: UnfinishedWrite) -> None:
    op = write.attempt.op if write.attempt is not None else None
    if isinstance(op, change_requests.Merge | change_requests.UpdateFromMain):
        result = await find_unfinished(session.live, write)
        message = await _message(session, op, result, short_age(write.began_at, session.state.now()))
        if not is_unfinished(session.state, write):
            return  # Another instance of Octavo sent the write and has shown the result.
        app.say(message, tone="done" if result.kind == "done" else "care", seconds=20)
    elif write.later_writes:
        with suppress(NotSaved):
            await _finish_suggestions(app, session, write)
        return
    elif (session.state.now() - write.began_at).total_seconds() < STALE_SECONDS:
        return
    with suppress(NotSaved):
        await delete_lock(session.state, write.name)


async def _finish_suggestions(app: Shell, session: Session, write: UnfinishedWrite) -> None:
    """Resolve the threads of suggestions that were being applied when Octavo was closed. Tell the user if the server
    has not applied the suggestions. Raises NotSaved."""
    result = await finish_unfinished(session.live, write)
    if result is None:
        return  # Another instance of Octavo has shown the result.
    closed = f"Octavo was closed {short_age(write.began_at, session.state.now())} ago, while applying suggestions."
    if result.kind == "done":
        app.say(f"{closed} They are applied. Resolving {plural(len(result.later_ids), 'thread')}…", seconds=20)
        return
    unknown = f"Could not check the result: {result.message} Octavo will check again at the next start."
    missing = "They are not applied, and their threads are still open. Apply them again."
    app.say(f"{closed} {unknown if result.message else missing}", tone="care", seconds=20)


async def _message(
    session: Session, op: change_requests.Merge | change_requests.UpdateFromMain, result: SendResult[object], ago: str
) -> str:
    """Return the message about the result of a merge or an update."""
    verb, is_merge = ("merge", True) if isinstance(op, change_requests.Merge) else ("update", False)
    try:
        name = f"#{(await session.live.fetch(change_requests.Get(at=op.at))).number}"
    except ApiError as error:
        closed = f"Octavo was closed {ago} ago, during the {verb} of a change request."
        return f"{closed} Could not check the result: {result.message or error}"
    closed = f"Octavo was closed {ago} ago, during the {verb} of {name}."
    if result.kind == "done":
        return f"{closed} {name} is {'merged' if is_merge else 'up to date'} now."
    if result.message:
        return f"{closed} Could not check the result: {result.message}"
    state = "not merged" if is_merge else "still outdated"
    return f"{closed} {name} is {state}. Octavo did not retry the {verb}. Check {name}, then try the {verb} again."
