"""`RequestTarget` tells commands which change requests to act on. Commands that change their status are also here. A
command on several change requests first shows its effects. Also reports writes that were running when Octavo was
closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.data.inbox import is_mine
from octavo.data.queries import UNDECIDED, requested_reviewers_op, reviews_op
from octavo.data.state_db import NotSaved
from octavo.data.writes import change_request_writes
from octavo.data.writes.change_request_writes import NO_DRAFTS, toggle_draft
from octavo.data.writes.direct import (
    MAX_LOCK_AGE_SECONDS,
    SendResult,
    UnfinishedWrite,
    delete_lock,
    finish_unfinished,
    send_unchecked,
    unfinished_writes,
)
from octavo.tui.core.list_view import ListView
from octavo.tui.core.permissions import unknown_space_sentence, why_not_in_change_request
from octavo.tui.core.shell import opening
from octavo.tui.core.write_queue import UNDO_AGAIN, DirectUndo
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import InfoRow, as_clause, plural, short_age

if TYPE_CHECKING:
    from octavo.api.reviews import Review
    from octavo.data.writes.machine import OutboxEntry
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell
    from octavo.tui.core.view import View


_CHECKED_AGAIN = "Octavo will check again at the next start."


def why_not_toggle_drafts(app: Shell, requests: Sequence[ChangeRequest]) -> str | None:
    """Return the reason why `requests` cannot be marked as ready or converted to drafts. None if they can."""
    for each in requests:
        if each.status not in UNDECIDED:
            reopen = f" Press L to reopen #{each.number} first." if each.status == "archived" else ""
            return f"#{each.number} is {each.status}. Only a draft can be marked as ready, and only an open change request can be converted to a draft.{reopen}"
        if why := why_not_in_change_request(app, each, each.space_ref, "edit"):
            return why
    if app.has_session and not app.session.live.has_draft_status:
        return NO_DRAFTS
    return None


def toggle_drafts(app: Shell, requests: Sequence[ChangeRequest]) -> None:
    """If the first of `requests` is a draft, mark all drafts as ready. Else convert open change requests to drafts."""
    if requests:
        matching_requests = [each for each in requests if each.status == requests[0].status]
        toggle = _toggle_action(app, matching_requests)

        def undo(sent: tuple[PlannedWrite, ...]) -> DirectUndo:
            new_status = "open" if requests[0].status == "draft" else "draft"
            toggled_requests = [each.change_request.model_copy(update={"status": new_status}) for each in sent]
            return _toggle_action(app, toggled_requests, is_undo=True)

        app.writes.send(toggle.action, toggle.send(), message=toggle.message, make_undo=undo)


def offer_to_mark_ready(app: Shell, change_request: ChangeRequest) -> None:
    """After a review request, offer to mark a draft change request as ready. Do nothing if it is not a draft."""
    if change_request.status != "draft" or not app.session.live.has_draft_status:
        return

    intro = "You requested reviews, but this change request is still a draft. You can press ~ later to mark it as ready for review."
    app.ask(
        ConfirmDialog(
            f"Mark #{change_request.number} {change_request.title} as ready for review?",
            verb="Mark as ready",
            cancel="Keep as draft",
            intro=intro,
        ),
        lambda _: toggle_drafts(app, [change_request]),
    )


def _name_with_space(app: Shell, change_request: ChangeRequest) -> str:
    title = app.workspace.space_title(change_request.space)
    return f"#{change_request.number} in {title}" if title else f"#{change_request.number}"


def _toggle_action(app: Shell, requests: Sequence[ChangeRequest], *, is_undo: bool = False) -> DirectUndo:
    """Return an action that toggles the draft status of `requests`, which have the same status. With `is_undo`, the
    action is an undo, and can be repeated for the change requests that were not sent."""
    is_single = len(requests) == 1
    writes = []
    for each in requests:
        assert each.space_ref is not None, "`why_not_toggle_drafts` checks that the space is known"
        send = partial(toggle_draft, app.session.live, each.ref(each.space_ref), each)
        writes.append(PlannedWrite(each, "" if is_single else _name_with_space(app, each), "", send))
    verb, past_verb, end = "mark", "Marked", "as ready for review"
    if requests[0].status != "draft":
        verb, past_verb, end = "convert", "Converted", "to a draft" if is_single else "to drafts"

    def toggle_again(unsent: Sequence[PlannedWrite]) -> DirectUndo:
        return _toggle_action(app, [each.change_request for each in unsent], is_undo=True)

    names_text = _name_with_space(app, requests[0]) if is_single else plural(len(requests), "change request")
    return DirectUndo(
        f"{verb} {names_text} {end}",
        lambda: _send_all(
            writes, lambda text: f"{past_verb} {text} {end}", undo_again=toggle_again if is_undo else None
        ),
        f"{past_verb} {names_text} {end}",
    )


def archive_opener(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> Callable[[], None] | None:
    """Return a function that opens the dialog to archive a change request. None if you cannot archive it."""
    if why_not_in_change_request(app, change_request, at.space, "edit", *UNDECIDED):
        return None
    return partial(open_archive_dialog, app, at, change_request)


def open_archive_dialog(app: Shell, at: ChangeRequestRef, change_request: ChangeRequest) -> None:
    """Open the dialog that archives a change request, or reopens an archived change request."""
    is_archived = change_request.status == "archived"
    verb, past_verb, status = ("Reopen", "Reopened", "open") if is_archived else ("Archive", "Archived", "archived")
    name = f"#{change_request.number}"

    def update(status: str, action: str) -> Coroutine[Any, Any, SendResult[ChangeRequest]]:
        op = change_requests.Update(at=at, status=status)
        return send_unchecked(app.session.live, op, f"Could not {action}")

    def on_answer(answer: Confirmed) -> None:
        action, undo_action = f"{verb.lower()} {name}", f"{'archive' if is_archived else 'reopen'} {name}"
        undo_message = f"{'Archived' if is_archived else 'Reopened'} {name}"
        undo = DirectUndo(undo_action, lambda: update(change_request.status, undo_action), undo_message)
        sending = update(status, action)
        app.writes.send(action, sending, message=f"{past_verb} {name}", make_undo=lambda _: undo, is_visible=True)

    intro = (
        "The change request will move back to the “Open” tab."
        if is_archived
        else "The change request will move to the “Archived” tab. You can reopen the change request there."
    )
    app.ask(
        ConfirmDialog(f"{verb} #{change_request.number} {change_request.title}?", verb=verb, intro=intro), on_answer
    )


async def report_unfinished_writes(app: Shell, session: Session) -> None:
    """Show the results of merges, updates and suggestions that were running when Octavo was closed."""
    await asyncio.gather(*(_report_result(app, session, write) for write in unfinished_writes(session.state)))


async def _report_result(app: Shell, session: Session, write: UnfinishedWrite) -> None:
    op = write.attempt.op if write.attempt is not None else None
    with suppress(NotSaved):
        merge = op if isinstance(op, change_requests.Merge | change_requests.UpdateFromMain) else None
        if merge is not None or write.later_writes:
            # Load the name first: `finish_unfinished` deletes the lock, by which the next start finds the write.
            name = await _name_of(session, merge) if merge is not None else ""
            result = await finish_unfinished(session.live, write)
            if result is None:
                return  # Another instance of Octavo has shown the result.
            ago = short_age(write.began_at, session.state.now())
            message = _suggestions_message(result, ago) if merge is None else _merge_message(merge, name, result, ago)
            app.say(message, tone="done" if result.kind == "done" else "care", seconds=20)
        elif abs((session.state.now() - write.began_at).total_seconds()) >= MAX_LOCK_AGE_SECONDS:
            await delete_lock(session.state, write.lock_name)


def _suggestions_message(result: SendResult[object], ago: str) -> str:
    prefix = f"Octavo was closed {ago} ago, while applying suggestions."
    if result.kind == "done":
        return f"{prefix} They are applied. Resolving {plural(len(result.later_ids), 'thread')}…"
    if result.message:
        return f"{prefix} Could not check the result: {result.message} {_CHECKED_AGAIN}"
    return f"{prefix} They are not applied, and their threads are still open. Apply them again."


async def _name_of(session: Session, op: change_requests.Merge | change_requests.UpdateFromMain) -> str:
    try:
        return f"#{(await session.live.cached_or_fetch(change_requests.Get(at=op.at))).number}"
    except ApiError:
        return "a change request"


def _merge_message(
    op: change_requests.Merge | change_requests.UpdateFromMain, name: str, result: SendResult[object], ago: str
) -> str:
    verb, is_merge = ("merge", True) if isinstance(op, change_requests.Merge) else ("update", False)
    prefix = f"Octavo was closed {ago} ago, during the {verb} of {name}."
    if result.kind == "done":
        return f"{prefix} The change request is {'merged' if is_merge else 'up to date'} now."
    if result.message:
        return f"{prefix} Could not check the result: {result.message} {_CHECKED_AGAIN}"
    state = "not merged" if is_merge else "still outdated"
    return f"{prefix} The change request is {state}. Octavo did not retry the {verb}. Check it, then try again."


@dataclass(frozen=True)
class RequestTarget:
    """Change request that commands act on, with the data and the callbacks of its view."""

    change_request: ChangeRequest
    space: SpaceRef | None
    """Space of the change request. None if the server does not return it."""
    view: View
    selected: tuple[ChangeRequest, ...] = ()
    """Selected change requests in list order. Commands on several change requests act on these."""
    selected_keys: tuple[Hashable, ...] = ()
    """Keys of the rows of `selected`."""
    reviews: Sequence[Review] | None = None
    """Reviews of the change request. None if they are not loaded."""
    why_outdated: str | None = None
    """Reason why the view shows an earlier revision: the current one is loading. None if the view is up to date."""
    titles: Callable[[], Mapping[str, str]] = dict
    """Returns the loaded page titles by page ID."""
    pending_note: Callable[[OutboxEntry], str] = lambda entry: ""
    """Returns how the quote of a pending comment changed, such as `words are gone`. Empty if unchanged or unknown."""
    show_pending_comment: Callable[[OutboxEntry], None] | None = None
    """Shows a pending comment in the view. None if the view cannot show comments."""
    show_block: Callable[[str, str], None] | None = None
    """Shows a block in the view. Called with the page ID and the block key. None if the view cannot show blocks."""
    show_edited: Callable[[tuple[str, ...]], None] | None = None
    """Shows the edited pages with these IDs in the view. None if the view cannot show pages."""

    @property
    def at(self) -> ChangeRequestRef:
        """Reference of the change request. The space must be known, which `why_not_allowed` checks."""
        assert self.space is not None
        return self.change_request.ref(self.space)

    @property
    def name(self) -> str:
        """Number of the change request, such as `#7`."""
        return f"#{self.change_request.number}"

    @property
    def change_requests(self) -> tuple[ChangeRequest, ...]:
        """The selected change requests, or the current one if none are selected."""
        return self.selected or (self.change_request,)


WhyNot: TypeAlias = "Callable[[Shell, RequestTarget], str | None]"


def why_not_allowed(app: Shell, target: RequestTarget, permission: str, *statuses: str) -> str | None:
    """Return the reason why the user cannot act on the change request. None if the user has `permission`, and the
    change request has one of `statuses` (any if empty)."""
    return why_not_in_change_request(app, target.change_request, target.space, permission, *statuses)


def requires(permission: str, *statuses: str) -> WhyNot:
    """Return the `why_not` of a command that needs `permission`, one of `statuses` and a single change request."""
    return for_one_request(lambda app, target: why_not_allowed(app, target, permission, *statuses))


def for_one_request(why_not: WhyNot) -> WhyNot:
    """Return a `why_not` that also disables the command if several change requests are selected."""
    return lambda app, target: why_not_single(target) or why_not(app, target)


def status_matcher(*statuses: str) -> Callable[[Shell, RequestTarget], bool]:
    """Return a function that returns whether a change request of a target has one of `statuses`."""
    return lambda app, target: any(each.status in statuses for each in target.change_requests)


def why_not_single(target: RequestTarget) -> str | None:
    """Return why a command for one change request is disabled while others are selected. None if it is enabled."""
    if not acts_on_selection(target):
        return None
    selected_text = plural(len(target.selected), "change request is", "change requests are")
    return f"{selected_text} selected, but only the a, L, V, m and ~ keys apply to a selection. Press esc to clear the selection."


MAX_REQUESTS = 50
"""Maximum number of change requests that one command can change."""


@dataclass(frozen=True)
class PlannedWrite:
    """Write that a command will send for a selected change request, or the reason to send none."""

    change_request: ChangeRequest
    name: str
    effect_or_reason: str
    """Phrase that says what the command will do to the change request, or why it will do nothing."""
    send: Callable[[], Awaitable[SendResult[Any]]] | None = None
    """Sends the write. None if the command does not change this change request."""
    undo: Callable[[], Awaitable[SendResult[Any]]] | None = None

    @property
    def info_row(self) -> InfoRow:
        """Row of the change request in the confirmation dialog."""
        text = f"{self.change_request.title} · {self.effect_or_reason}"
        return InfoRow("ok" if self.send is not None else "care", self.name, text)


@dataclass(frozen=True)
class BulkAction:
    """Command that acts on several change requests at once."""

    verb: str
    """Verb in titles, before `change requests`, such as `Request reviews of`. Its first word is the button label."""
    past_verb: str
    """Verb in messages, such as `Approved`."""
    intro: str
    plan: Callable[[ChangeRequest, ChangeRequestRef], Awaitable[PlannedWrite]]
    """Returns what the command would do. Called only if the status and your permission allow it. Raises ApiError."""
    permission: str
    statuses: tuple[str, ...]


def acts_on_selection(target: RequestTarget) -> bool:
    """Return True if commands act on the selection and not only on the change request under the cursor."""
    selected = target.selected
    return len(selected) > 1 or (len(selected) == 1 and selected[0].id != target.change_request.id)


def with_selection_limit(why_not: WhyNot) -> WhyNot:
    """Return a `why_not` that allows up to `MAX_REQUESTS` selected items. Without a selection, it calls `why_not`."""

    def reason(app: Shell, target: RequestTarget) -> str | None:
        if not acts_on_selection(target):
            return why_not(app, target)
        count = len(target.selected)
        return f"{count} change requests are selected. Select at most {MAX_REQUESTS}." if count > MAX_REQUESTS else None

    return reason


def my_review(app: Shell, reviews: Sequence[Review]) -> Review | None:
    """Return your review in `reviews` that is not outdated. None if you have no such review."""
    my_id = app.workspace.my_id
    return next((each for each in reviews if each.reviewer.id == my_id != "" and not each.outdated), None)


def approve_several(app: Shell, target: RequestTarget) -> None:
    """Ask for confirmation, then approve the selected change requests that can be approved, without a comment."""
    live = app.session.live

    async def plan(request: ChangeRequest, at: ChangeRequestRef) -> PlannedWrite:
        name = _name_with_space(app, request)
        if is_mine(request, app.workspace.my_id):
            return PlannedWrite(request, name, "created by you")
        if pending := app.session.outbox.pending_comments(at):
            return PlannedWrite(
                request, name, f"has {plural(len(pending), 'pending comment')}: submit that review alone"
            )
        current_request: ChangeRequest = await live.fetch(change_requests.Get(at=at))
        if current_request.revision is None or current_request.revision != request.revision:
            return PlannedWrite(request, name, "was edited after the list was loaded: read the new revision first")
        own_review = my_review(app, (await live.fetch(reviews_op(at))).items)
        if own_review is not None and own_review.status == "approved":
            return PlannedWrite(request, name, "already approved by you")
        effect = "replaces your review that requested changes" if own_review is not None else "will be approved"
        effect += " · outdated" if current_request.outdated else ""
        action = f"approve {name}"

        async def send() -> SendResult[Any]:
            return await change_request_writes.review(live, at, "approved", request.revision, action=action)

        return PlannedWrite(request, name, effect, send)

    intro = "Approves the current revision of each change request, without a comment."
    _start_plan(app, target, BulkAction("Approve", "Approved", intro, plan, "review", UNDECIDED))


def archive_or_reopen_several(app: Shell, target: RequestTarget) -> None:
    """Ask for confirmation, then archive the selected change requests, or reopen them if the first is archived."""
    is_reopening = target.selected[0].status == "archived"
    status = "open" if is_reopening else "archived"

    async def plan(request: ChangeRequest, at: ChangeRequestRef) -> PlannedWrite:
        name = _name_with_space(app, request)

        def status_sender(new_status: str, verb: str) -> Callable[[], Awaitable[SendResult[Any]]]:
            op = change_requests.Update(at=at, status=new_status)
            return lambda: send_unchecked(app.session.live, op, f"Could not {verb} {name}")

        effect = "will be reopened" if is_reopening else "will be archived"
        verb, reverse = ("reopen", "archive") if is_reopening else ("archive", "reopen")
        return PlannedWrite(request, name, effect, status_sender(status, verb), status_sender(request.status, reverse))

    if is_reopening:
        action = BulkAction("Reopen", "Reopened", "Moves them back to the “Open” tab.", plan, "edit", ("archived",))
    else:
        intro = "Moves them to the “Archived” tab. You can reopen them there."
        action = BulkAction("Archive", "Archived", intro, plan, "edit", UNDECIDED)
    _start_plan(app, target, action)


def request_several(app: Shell, target: RequestTarget, people: Sequence[tuple[str, str]]) -> None:
    """Ask for confirmation, then request reviews of the selected change requests by `people` (IDs and names)."""
    live = app.session.live
    names = dict(people)

    async def plan(request: ChangeRequest, at: ChangeRequestRef) -> PlannedWrite:
        name = _name_with_space(app, request)
        requested_ids = {
            each.user.id for each in (await live.fetch(requested_reviewers_op(at))).items if each.user is not None
        }
        author_id = request.author_id
        new_ids = [each for each in names if each not in requested_ids and each != author_id]
        if not new_ids:
            reason = "created by this person" if set(names) == {author_id} else "already requested from these people"
            return PlannedWrite(request, name, reason)
        effect = f"will request {', '.join(names[each] for each in new_ids)}"
        return PlannedWrite(request, name, effect, lambda: change_request_writes.request_reviews(live, at, new_ids))

    intro = "People with a review of a change request get a new request, which makes their review outdated."
    _start_plan(app, target, BulkAction("Request reviews of", "Requested reviews of", intro, plan, "edit", UNDECIDED))


def _start_plan(app: Shell, target: RequestTarget, action: BulkAction) -> None:
    app.background(_plan_and_ask(app, target, action))


async def _plan_and_ask(app: Shell, target: RequestTarget, action: BulkAction) -> None:
    with opening(app, f"Checking {plural(len(target.selected), 'change request')}…", "Could not check them"):
        planned_writes = list(await asyncio.gather(*(_plan(app, each, action) for each in target.selected)))
    sendable = [each for each in planned_writes if each.send is not None]
    skipped_count, label = len(planned_writes) - len(sendable), action.verb.partition(" ")[0]

    dialog = ConfirmDialog(
        f"{action.verb} {plural(len(sendable), 'change request')}?" if sendable else f"{action.verb} change requests",
        verb=f"{label} {len(sendable)}" if sendable else label,
        intro=action.intro,
        info_rows=[each.info_row for each in planned_writes],
        after=f"{plural(skipped_count, 'change request')} will not change." if skipped_count and sendable else "",
        blocked="" if sendable else "None of the selected change requests can change.",
    )
    app.ask(dialog, lambda _: _send(app, target, action, sendable))


async def _plan(app: Shell, request: ChangeRequest, action: BulkAction) -> PlannedWrite:
    name = _name_with_space(app, request)
    if (space := request.space_ref) is None:
        return PlannedWrite(request, name, as_clause(unknown_space_sentence(request)))
    if request.status not in action.statuses:
        return PlannedWrite(request, name, f"is {request.status}")
    if why := why_not_in_change_request(app, request, space, action.permission, *action.statuses):
        return PlannedWrite(request, name, as_clause(why))
    try:
        return await action.plan(request, request.ref(space))
    except ApiError as error:
        return PlannedWrite(request, name, f"not checked: {as_clause(str(error))}")


def _send(app: Shell, target: RequestTarget, action: BulkAction, planned: Sequence[PlannedWrite]) -> None:
    view = target.view

    def on_sent(failed: Sequence[PlannedWrite]) -> None:
        if isinstance(view, ListView):
            keys_by_id = {each.id: key for each, key in zip(target.selected, target.selected_keys, strict=True)}
            view.rows.selection.add(keys_by_id[each.change_request.id] for each in failed)
        view.refresh_data()

    def undo(sent: tuple[PlannedWrite, ...]) -> DirectUndo:
        return _undo_of_all([replace(each, send=each.undo, undo=None) for each in sent], view.refresh_data)

    requests_text = plural(len(planned), "change request")
    action_text = f"{action.verb.lower()} {requests_text}"
    if isinstance(view, ListView):
        view.rows.selection.clear()
    app.writes.send(
        action_text,
        _send_all(planned, lambda text: f"{action.past_verb} {text}", on_sent),
        message=f"{action.past_verb} {requests_text}.",
        no_undo_reason="" if planned[0].undo is not None else f"You cannot undo “{action_text}” by pressing u.",
        make_undo=undo if planned[0].undo is not None else None,
    )


def _undo_of_all(writes: Sequence[PlannedWrite], refresh: Callable[[], None]) -> DirectUndo:
    requests_text = plural(len(writes), "change request")
    return DirectUndo(
        f"undo this on {requests_text}",
        lambda: _send_all(
            writes, lambda text: f"Undone: {text}", lambda _: refresh(), lambda unsent: _undo_of_all(unsent, refresh)
        ),
        f"Undone for {requests_text}.",
    )


async def _send_all(
    planned_writes: Sequence[PlannedWrite],
    partial_result: Callable[[str], str],
    on_sent: Callable[[Sequence[PlannedWrite]], None] = lambda failed: None,
    undo_again: Callable[[Sequence[PlannedWrite]], DirectUndo] | None = None,
) -> SendResult[Any]:
    """Send the writes one by one, then call `on_sent` with the failed writes. The result contains the writes that are
    done. `partial_result` makes a phrase such as `Archived 2 of 3 change requests` from `2 of 3 change requests`. If
    failed writes can be sent again, the result contains only the undo that `undo_again` (if given) makes of them."""
    sent: list[PlannedWrite] = []
    failed: list[PlannedWrite] = []
    unsent: list[PlannedWrite] = []
    messages: list[str] = []
    kind: Literal["refused", "unknown"] = "refused"
    for each in planned_writes:
        if each.send is None:
            continue
        result = await each.send()
        if result.kind == "done":
            sent.append(each)
            continue
        failed.append(each)
        unsent += [each] * result.can_be_sent_again
        messages.append(result.message if each.name in result.message else f"{each.name}: {result.message}")
        kind = "unknown" if result.kind == "unknown" else kind
    on_sent(failed)
    if sent and failed:
        requests_text = plural(len(planned_writes), "change request")
        messages.insert(0, f"{partial_result(f'{len(sent)} of {requests_text}')}.")
    if undo_again is not None and unsent:
        return SendResult("refused", " ".join([*messages, UNDO_AGAIN]), undo_again(unsent))
    return SendResult("done" if sent else kind, " ".join(messages), tuple(sent) if sent else None)
