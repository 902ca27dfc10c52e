"""Which change request what is written goes into: the one written to last, a new one, or another of one's own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Forbidden, NotFound
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.writes.change_request_writes import create
from octavo.tui.shell.permissions import UNDECIDED
from octavo.tui.shell.progress import meanwhile
from octavo.tui.widgets.wording import long_age

if TYPE_CHECKING:
    from octavo.tui.shell.shell import Shell

_SUBJECT_MOST = 100


@dataclass(frozen=True)
class TargetRequest:
    """A change request, or a new one of that subject: it is started when something is written."""

    space: SpaceRef
    subject: str = ""
    change_request: ChangeRequest | None = None

    @property
    def at(self) -> ChangeRequestRef | None:
        return self.change_request.ref(self.space) if self.change_request is not None else None

    @property
    def title(self) -> str:
        """What to call it in a sentence."""
        if self.change_request is None:
            return "a new change request"
        return f"#{self.change_request.number} {self.change_request.title}"


def new(space: SpaceRef, subject: str) -> TargetRequest:
    """A change request that is to be started."""
    return TargetRequest(space, subject if len(subject) <= _SUBJECT_MOST else f"{subject[: _SUBJECT_MOST - 1]}…")


async def choose(
    app: Shell, space: SpaceRef, subject: str, then: Callable[[TargetRequest], Coroutine[Any, Any, None]]
) -> None:
    """Ask which change request it goes into. First comes the one that was written to last, while it is worked on, then a
    new one: what has nothing to do with it is no default. Without any it is a new one. Returns when `then` is done, or a
    dialog is open."""
    from octavo.tui.widgets.chooser import Choice
    from octavo.tui.widgets.picker import Picker

    fresh = new(space, subject)
    try:
        with meanwhile(app, "Loading your change requests…"):
            mine, last = await asyncio.gather(_mine(app, space), _last(app, space))
    except ApiError as error:
        app.say(f"Could not load your change requests: {error}", tone="failed")
        return
    others = [each for each in mine if last is None or each.id != last.id]
    if last is None and not others:
        await then(fresh)
        return

    def choice(each: ChangeRequest, group: str) -> Choice[TargetRequest]:
        into = TargetRequest(space, change_request=each)
        return Choice(into, f"#{each.number} {each.title}", _standing(app, each), group=group)

    choices = [choice(last, "Last used")] if last is not None else []
    choices.append(Choice(fresh, "New change request", f"“{fresh.subject}”", group="Or" if choices else ""))
    choices += [choice(each, "Your other open change requests" if last is not None else "Or") for each in others]

    def chosen(into: TargetRequest | None) -> None:
        if into is not None:
            app.background(then(into))

    app.push_screen(Picker("Choose a change request", choices), chosen)


async def _last(app: Shell, space: SpaceRef) -> ChangeRequest | None:
    """The one that was written to last in a space, while it is worked on. Raises ApiError."""
    name = app.session.state.get_fact(_written(space))
    if not isinstance(name, str):
        return None
    at = ChangeRequestRef(space_id=space.space_id, change_request_id=name)
    try:
        last: ChangeRequest = await app.session.live.fetch(change_requests.Get(at=at))
    except (NotFound, Forbidden):
        return None
    return last if last.status in UNDECIDED else None


async def _mine(app: Shell, space: SpaceRef) -> list[ChangeRequest]:
    """One's own change requests of a space that are worked on, those touched last first."""
    me = app.workspace.me
    if me is None:
        return []
    lists = [change_requests.List(at=space, status=status, creator=me.id, limit=100) for status in UNDECIDED]
    found = [each for page in await asyncio.gather(*map(app.session.live.fetch, lists)) for each in page.items]
    return sorted(found, key=lambda each: each.updated_at.timestamp() if each.updated_at else 0.0, reverse=True)


def _standing(app: Shell, change_request: ChangeRequest) -> str:
    age, me, author = long_age(change_request.updated_at), app.workspace.me, change_request.created_by
    whose = f"by {author.name}" if author is not None and (me is None or author.id != me.id) else ""
    outdated = "outdated" if change_request.outdated else ""
    return " · ".join(each for each in (whose, change_request.status, age, outdated) if each)


async def started(app: Shell, into: TargetRequest) -> ChangeRequest | None:
    """The change request, started if it is a new one. None when that did not work, which was said."""
    if into.change_request is not None:
        return into.change_request
    sent = await create(app.session.live, into.space, into.subject)
    if sent.result is None:
        app.say(sent.message, tone="failed")
    return sent.result


def wrote(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> None:
    """Something was written into it."""
    remember(app, space, change_request)
    app.writes.is_final(
        "You cannot undo this change by pressing u. To revert the change, open the change request, select the page, and press Q."
    )


def remember(app: Shell, space: SpaceRef, change_request: ChangeRequest) -> None:
    """Let it be the first to be offered for what is written next in this space."""
    app.session.state.set_fact(_written(space), change_request.id)


def _written(space: SpaceRef) -> str:
    return f"written {space.space_id}"
