"""The change request for an edit: asks the user for one (`choose_target`), and creates a new one (`find_or_create`)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import Forbidden, NotFound, NotSent
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.data.queries import UNDECIDED
from octavo.data.writes.change_request_writes import create
from octavo.tui.core.shell import Shell, opening
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.short_texts import long_age, shorten

_MAX_SUBJECT_LENGTH = 100


@dataclass(frozen=True)
class TargetChangeRequest:
    """The change request to which an edit will be saved. If `change_request` is None, a new change request with the
    title `subject` is created when the edit is saved."""

    space: SpaceRef
    subject: str = ""
    change_request: ChangeRequest | None = None

    @property
    def ref(self) -> ChangeRequestRef | None:
        return self.change_request.ref(self.space) if self.change_request is not None else None

    @property
    def title(self) -> str:
        """Name of the change request in messages, such as `#12 Fix typos` or `a new change request`."""
        if self.change_request is None:
            return "a new change request"
        return f"#{self.change_request.number} {self.change_request.title}"


def new_request_target(space: SpaceRef, subject: str) -> TargetChangeRequest:
    """Return a new change request as a target. Saving the edit creates it. A long `subject` is cut."""
    return TargetChangeRequest(space, shorten(subject, _MAX_SUBJECT_LENGTH))


async def choose_target(
    app: Shell, space: SpaceRef, subject: str, on_choice: Callable[[TargetChangeRequest], Coroutine[Any, Any, None]]
) -> None:
    """Ask the user which change request gets an edit, then call `on_choice`. `subject` is the title of a new change
    request. If no open or draft change request was created or last used by the user, choose a new one at once."""
    new_target = new_request_target(space, subject)
    with opening(app, "Loading your change requests…", "Could not load your change requests"):
        loads = _own_undecided_requests(app, space), remembered_request(app, space, _last_target_key(space))
        try:
            own_requests, last_request = await asyncio.gather(*loads)
        except NotSent:
            app.say("You cannot edit pages offline. Try again when the server can be reached.", tone="failed")
            return
    other_requests = [each for each in own_requests if last_request is None or each.id != last_request.id]
    if last_request is None and not other_requests:
        await on_choice(new_target)
        return

    def choice(change_request: ChangeRequest, group: str) -> Choice[TargetChangeRequest]:
        target = TargetChangeRequest(space, change_request=change_request)
        return Choice(
            target, f"#{change_request.number} {change_request.title}", _status(app, change_request), group=group
        )

    group = "OTHER CHANGE REQUESTS" if last_request is not None else ""
    choices = [choice(last_request, "LAST USED")] if last_request is not None else []
    choices.append(Choice(new_target, "New change request", f"“{new_target.subject}”", group=group))
    choices += [choice(each, group) for each in other_requests]

    app.ask(Picker("Choose a change request", choices), lambda target: app.background(on_choice(target)))


async def remembered_request(app: Shell, space: SpaceRef, key: str) -> ChangeRequest | None:
    """Return the change request whose ID is stored under `key` in the saved state. None if no ID is stored, if the
    change request is merged or archived, or if you cannot see it."""
    request_id = app.session.state.get_value(key)
    if not isinstance(request_id, str):
        return None
    at = ChangeRequestRef(space_id=space.space_id, change_request_id=request_id)
    try:
        change_request: ChangeRequest = await app.session.live.fetch(change_requests.Get(at=at))
    except (NotFound, Forbidden):
        return None
    return change_request if change_request.status in UNDECIDED else None


async def _own_undecided_requests(app: Shell, space: SpaceRef) -> list[ChangeRequest]:
    me = app.workspace.me
    if me is None:
        return []
    lists = [change_requests.List(at=space, status=status, creator=me.id, limit=100) for status in UNDECIDED]
    own_requests = [item for page in await asyncio.gather(*map(app.session.live.fetch, lists)) for item in page.items]
    return sorted(
        own_requests, key=lambda request: request.updated_at.timestamp() if request.updated_at else 0.0, reverse=True
    )


def _status(app: Shell, change_request: ChangeRequest) -> str:
    age, me, author = long_age(change_request.updated_at), app.workspace.me, change_request.created_by
    author_label = f"by {author.name}" if author is not None and (me is None or author.id != me.id) else ""
    outdated_label = "outdated" if change_request.outdated else ""
    return " · ".join(each for each in (author_label, change_request.status, age, outdated_label) if each)


async def find_or_create(app: Shell, target: TargetChangeRequest) -> ChangeRequest | None:
    """Return the change request of a target, created if there is none. If this fails, tell the user and return None."""
    if target.change_request is not None:
        return target.change_request
    result = await create(app.session.live, target.space, target.subject)
    if result.result is None:
        app.say(result.message, tone="failed")
    else:
        remember_target(app, target.space, result.result)  # If the edit is refused, the next edit uses it.
    return result.result


REVERT_HINT = (
    "You cannot undo this change by pressing u. "
    "To revert the change, open the change request, select the page, and press Q."
)


def record_edit(app: Shell, space: SpaceRef, change_request: ChangeRequest, undo_reason: str = REVERT_HINT) -> None:
    """Remember that an edit was saved to this change request, to offer it first next time. Also make the key `u` say
    `undo_reason`, because the edit cannot be undone."""
    remember_target(app, space, change_request)
    app.writes.forbid_undo(undo_reason)


def remember_target(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> None:
    """Offer this change request first when the user next edits a page of this space."""
    app.session.state.set_value(_last_target_key(space), change_request.id)


def _last_target_key(space: SpaceRef) -> str:
    return f"written {space.space_id}"
