"""Which change request what is written goes into: one of one's own that is worked on, or a new one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.deciding import create
from octavo.tui.ages import long_age
from octavo.tui.allowing import UNDECIDED
from octavo.tui.meanwhile import meanwhile

if TYPE_CHECKING:
    from octavo.tui.app import Octavo

_SUBJECT_MOST = 100


@dataclass(frozen=True)
class Into:
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


def new(space: SpaceRef, subject: str) -> Into:
    """A change request that is to be started."""
    return Into(space, subject if len(subject) <= _SUBJECT_MOST else f"{subject[: _SUBJECT_MOST - 1]}…")


async def choose(app: Octavo, space: SpaceRef, subject: str, then: Callable[[Into], Coroutine[Any, Any, None]]) -> None:
    """Ask which change request it goes into: without any of one's own it is a new one. Returns when `then` is done, or
    a dialog is open."""
    from octavo.tui.screens.chooser import Choice
    from octavo.tui.screens.picker import Picker

    fresh = new(space, subject)
    try:
        with meanwhile(app, "Looking for your change requests…"):
            mine = await _mine(app, space)
    except ApiError as error:
        app.say(f"It is not known which change requests are yours: {error}", tone="failed")
        return
    if not mine:
        await then(fresh)
        return
    last = app.session.state.recall(f"written {space.space_id}")
    mine.sort(key=lambda each: each.id != last)
    choices = [
        Choice(
            Into(space, change_request=each), f"#{each.number} {each.title}", _standing(each), group="Yours, not merged"
        )
        for each in mine
    ]
    choices.append(Choice(fresh, "A new change request", f"“{fresh.subject}”", group="Or"))

    def chosen(into: Into | None) -> None:
        if into is not None:
            app.background(then(into))

    app.push_screen(Picker("Write it into", choices), chosen)


async def _mine(app: Octavo, space: SpaceRef) -> list[ChangeRequest]:
    """One's own change requests of a space that are worked on, those touched last first."""
    me = app.known.me
    if me is None:
        return []
    lists = [change_requests.List(at=space, status=status, creator=me.id, limit=100) for status in UNDECIDED]
    found = [each for page in await asyncio.gather(*map(app.session.live.fetch, lists)) for each in page.items]
    return sorted(found, key=lambda each: each.updated_at.timestamp() if each.updated_at else 0.0, reverse=True)


def _standing(change_request: ChangeRequest) -> str:
    age = long_age(change_request.updated_at)
    return " · ".join(
        each for each in (change_request.status, age, "outdated" if change_request.outdated else "") if each
    )


async def started(app: Octavo, into: Into) -> ChangeRequest | None:
    """The change request, started if it is a new one. None when that did not work, which was said."""
    if into.change_request is not None:
        return into.change_request
    sent = await create(app.session.live, into.space, into.subject)
    if sent.answer is None:
        app.say(sent.sentence, tone="failed")
    return sent.answer


def wrote(app: Octavo, space: SpaceRef, change_request: ChangeRequest) -> None:
    """Something was written into it: it is the first to be offered next time."""
    app.session.state.remember(f"written {space.space_id}", change_request.id)
    app.writes.is_final("This is in the change request now. To take it back open it, and press Q on the page.")
