"""Approves, archives or reopens several selected change requests, or requests their reviews, after one confirmation.

The confirmation says for each change request what will happen, or why nothing will happen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.queries import requested_of, reviews_of
from octavo.data.writes import change_request_writes
from octavo.data.writes.direct import SendResult, send_unchecked
from octavo.tui.core.list_view import ListView
from octavo.tui.core.permissions import UNDECIDED, unknown_space_sentence, why_not_in_change_request
from octavo.tui.core.write_queue import DirectUndo, show_progress
from octavo.tui.review.request_target import RequestTarget, WhyNot
from octavo.tui.widgets.confirm import ConfirmDialog, Confirmed
from octavo.tui.widgets.short_texts import Fact, as_clause, plural

if TYPE_CHECKING:
    from octavo.tui.core.shell import Shell

MAX_REQUESTS = 50
"""Maximum number of change requests that one command changes."""


@dataclass(frozen=True)
class PlannedWrite:
    """A change of one of the selected change requests, before the confirmation."""

    change_request: ChangeRequest
    name: str
    effect: str
    """Effect of the command on the change request, or the reason why there is no effect."""
    send: Callable[[], Awaitable[SendResult[Any]]] | None = None
    """Sends the write. None if nothing will happen."""
    undo: Callable[[], Awaitable[SendResult[Any]]] | None = None

    @property
    def fact(self) -> Fact:
        """The row of the change request in the confirmation."""
        return Fact("ok" if self.send is not None else "care", self.name, self.effect)


@dataclass(frozen=True)
class BulkAction:
    """A command on several change requests."""

    verb: str
    """Label of the button, such as `Approve`."""
    done: str
    """Past participle for messages, such as `Approved`."""
    intro: str
    plan: Callable[[ChangeRequest, ChangeRequestRef], Awaitable[PlannedWrite]]
    """Returns the planned write for a change request that the user may change. Raises ApiError."""
    permission: str
    states: tuple[str, ...]


def acts_on_several(target: RequestTarget) -> bool:
    """Return True if the commands of `target` act on selected change requests, and not only on the one under the
    cursor."""
    selected = target.selected
    return len(selected) > 1 or (len(selected) == 1 and selected[0].id != target.change_request.id)


def for_one_or_several(why_not: WhyNot) -> WhyNot:
    """Return a function that tells why a command for one or several change requests is disabled. Without a selection,
    the reason is that of `why_not`. With a selection, only the number of change requests is limited: the confirmation
    says which of them cannot change, and why."""

    def reason(app: Shell, target: RequestTarget) -> str | None:
        if not acts_on_several(target):
            return why_not(app, target)
        count = len(target.selected)
        return f"{count} change requests are selected. Select at most {MAX_REQUESTS}." if count > MAX_REQUESTS else None

    return reason


def approve_several(app: Shell, target: RequestTarget) -> None:
    """Ask for confirmation, then approve the selected change requests without a comment."""
    live, me = app.session.live, app.workspace.me

    async def plan(request: ChangeRequest, at: ChangeRequestRef) -> PlannedWrite:
        name = _name(app, request)
        if me is not None and request.created_by is not None and request.created_by.id == me.id:
            return PlannedWrite(request, name, "created by you")
        if pending := app.session.outbox.pending_comments(at):
            return PlannedWrite(
                request, name, f"has {plural(len(pending), 'pending comment')}: submit that review alone"
            )
        head: ChangeRequest = await live.fetch(change_requests.Get(at=at))
        if head.revision is None or head.revision != request.revision:
            return PlannedWrite(request, name, "was edited after the list was loaded: read the new revision first")
        reviews = (await live.fetch(reviews_of(at))).items
        mine = next((each for each in reviews if me and each.reviewer.id == me.id and not each.outdated), None)
        if mine is not None and mine.status == "approved":
            return PlannedWrite(request, name, "already approved by you")
        was = "replaces your review that requested changes" if mine is not None else "will be approved"
        effect = f"{was} · outdated" if head.outdated else was
        action = f"approve {name}"

        async def send() -> SendResult[Any]:
            return await change_request_writes.review(live, at, "approved", request.revision, action=action)

        return PlannedWrite(request, name, effect, send)

    intro = "Approves the current revision of each change request, without a comment."
    _open(app, target, BulkAction("Approve", "Approved", intro, plan, "review", UNDECIDED))


def archive_several(app: Shell, target: RequestTarget) -> None:
    """Ask for confirmation, then archive the selected change requests, or reopen them if the first is archived."""
    reopens = target.selected[0].status == "archived"
    status = "open" if reopens else "archived"

    async def plan(request: ChangeRequest, at: ChangeRequestRef) -> PlannedWrite:
        name = _name(app, request)

        def update(new_status: str, verb: str) -> Callable[[], Awaitable[SendResult[Any]]]:
            op = change_requests.Update(at=at, status=new_status)
            return lambda: send_unchecked(app.session.live, op, f"Could not {verb} {name}")

        effect = "will be reopened" if reopens else "will be archived"
        verb, reverse = ("reopen", "archive") if reopens else ("archive", "reopen")
        return PlannedWrite(request, name, effect, update(status, verb), update(request.status, reverse))

    if reopens:
        action = BulkAction("Reopen", "Reopened", "Moves them back to the “Open” tab.", plan, "edit", ("archived",))
    else:
        intro = "Moves them to the “Archived” tab. You can reopen them there."
        action = BulkAction("Archive", "Archived", intro, plan, "edit", UNDECIDED)
    _open(app, target, action)


def request_several(app: Shell, target: RequestTarget, people: Sequence[tuple[str, str]]) -> None:
    """Ask for confirmation, then request reviews of the selected change requests. `people` has the ID and the name of
    each reviewer."""
    live = app.session.live
    names = dict(people)

    async def plan(request: ChangeRequest, at: ChangeRequestRef) -> PlannedWrite:
        name = _name(app, request)
        requested = {each.user.id for each in (await live.fetch(requested_of(at))).items if each.user is not None}
        author = request.created_by.id if request.created_by is not None else ""
        wanted = [each for each in names if each not in requested and each != author]
        if not wanted:
            reason = "created by this person" if set(names) == {author} else "already requested from these people"
            return PlannedWrite(request, name, reason)
        effect = f"will request {', '.join(names[each] for each in wanted)}"
        return PlannedWrite(request, name, effect, lambda: change_request_writes.request_reviews(live, at, wanted))

    intro = "People with a review of a change request get a new request, which makes their review outdated."
    _open(app, target, BulkAction("Request", "Requested reviews of", intro, plan, "edit", UNDECIDED))


def _name(app: Shell, request: ChangeRequest) -> str:
    space = app.workspace.space(request.space or "")
    return f"#{request.number} {space.title}" if space is not None else f"#{request.number}"


def _open(app: Shell, target: RequestTarget, action: BulkAction) -> None:
    target.view.run_worker(_plan_and_ask(app, target, action), exclusive=True, group="several")


async def _plan_and_ask(app: Shell, target: RequestTarget, action: BulkAction) -> None:
    with show_progress(app, f"Checking {plural(len(target.selected), 'change request')}…"):
        planned = list(await asyncio.gather(*(_plan(app, each, action) for each in target.selected)))
    if app.screen is not target.view:
        return  # The user left the view while the facts loaded.
    sent = [each for each in planned if each.send is not None]
    skipped = len(planned) - len(sent)

    def on_answer(answer: Confirmed | None) -> None:
        if answer is not None:
            _send(app, target, action, sent)

    dialog = ConfirmDialog(
        f"{action.verb} {plural(len(sent), 'change request')}?" if sent else f"{action.verb} change requests",
        verb=f"{action.verb} {len(sent)}" if sent else action.verb,
        intro=action.intro,
        facts=[each.fact for each in planned],
        after=f"{plural(skipped, 'change request')} will not change." if skipped and sent else "",
        blocked="" if sent else "None of the selected change requests can change.",
    )
    app.push_screen(dialog, on_answer)


async def _plan(app: Shell, request: ChangeRequest, action: BulkAction) -> PlannedWrite:
    name = _name(app, request)
    space = SpaceRef(space_id=request.space) if request.space is not None else None
    if space is None:
        return PlannedWrite(request, name, as_clause(unknown_space_sentence(request)))
    if request.status not in action.states:
        return PlannedWrite(request, name, f"is {request.status}")
    if why := why_not_in_change_request(app, request, space, action.permission, *action.states):
        return PlannedWrite(request, name, as_clause(why))
    try:
        return await action.plan(request, request.ref(space))
    except ApiError as error:
        return PlannedWrite(request, name, f"not checked: {as_clause(str(error))}")


def _send(app: Shell, target: RequestTarget, action: BulkAction, planned: Sequence[PlannedWrite]) -> None:
    def send(writes: Sequence[PlannedWrite], done: str) -> Coroutine[Any, Any, SendResult[tuple[PlannedWrite, ...]]]:
        return _send_all(writes, done, on_sent=target.view.refresh_data)

    def undo(sent: tuple[PlannedWrite, ...]) -> DirectUndo:
        reversed_writes = [replace(each, send=each.undo, undo=None) for each in sent]
        return DirectUndo(
            f"undo this on {plural(len(sent), 'change request')}",
            lambda: send(reversed_writes, "Undone:"),
            f"Undone for {plural(len(sent), 'change request')}.",
        )

    count = plural(len(planned), "change request")
    app.writes.send(
        f"{action.verb.lower()} {count}",
        send(planned, action.done),
        message=f"{action.done} {count}.",
        no_undo_reason="" if planned[0].undo is not None else f"You cannot undo “{action.verb.lower()}” by pressing u.",
        make_undo=undo if planned[0].undo is not None else None,
    )
    if isinstance(target.view, ListView):
        target.view.rows.selection.clear()


async def _send_all(
    planned: Sequence[PlannedWrite], done: str, *, on_sent: Callable[[], None]
) -> SendResult[tuple[PlannedWrite, ...]]:
    """Send the writes one after the other. The message names each change request that failed."""
    sent: list[PlannedWrite] = []
    failures: list[str] = []
    for each in planned:
        if each.send is None:
            continue
        result = await each.send()
        if result.kind == "done":
            sent.append(each)
        else:
            failures.append(f"{each.name}: {result.message}")
    on_sent()
    named = " ".join(failures)
    if not sent:
        return SendResult("refused", named)
    message = f"{done} {len(sent)} of {plural(len(planned), 'change request')}. {named}" if failures else ""
    return SendResult("done", message, tuple(sent))
