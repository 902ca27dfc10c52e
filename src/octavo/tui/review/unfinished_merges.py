"""The merges and updates that were running when Octavo closed: their results are shown at the next start."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING

from octavo.api import change_requests
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError
from octavo.api.places import ChangeRequestRef
from octavo.data.state import NotSaved
from octavo.data.writes.direct import POLL_FOR, POLL_SECONDS, STALE_SECONDS, Sleep, release, under_way
from octavo.tui.widgets.wording import short_age

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell


async def tell(app: Shell, session: Session, *, sleep: Sleep = asyncio.sleep) -> None:
    """Look what became of it, for as long as it may still be on its way, and say so. Nothing is sent again."""
    begun = under_way(session.state)
    await asyncio.gather(*(_tell(app, session, name, since, sleep) for name, since in begun))


async def _tell(app: Shell, session: Session, name: str, since: datetime, sleep: Sleep) -> None:
    deed, _, place = name.partition(" ")
    age = (session.state.now() - since).total_seconds()
    if deed in ("merge", "update"):
        space, _, change_request = place.partition("/")
        at = ChangeRequestRef(space_id=space, change_request_id=change_request)
        about, error = await _followed(session, name, deed, at, age, sleep)
        if (name, since) not in under_way(session.state):
            return  # another instance was at it, and has told its person
        tone, said = _said(deed, about, error, short_age(since, session.state.now()))
        app.say(said, tone="done" if tone else "care", seconds=20)
    elif age < STALE_SECONDS:
        return
    with suppress(NotSaved):
        await release(session.state, name)


async def _followed(
    session: Session, name: str, deed: str, at: ChangeRequestRef, age: float, sleep: Sleep
) -> tuple[ChangeRequest | None, str]:
    """The change request once it is done or can hardly be done any more, or why it cannot be seen."""
    about: ChangeRequest | None = None
    error = ""
    for _ in range(max(1, int((POLL_FOR - age) / POLL_SECONDS) + 1)):
        try:
            about, error = await session.live.fetch(change_requests.Get(at=at)), ""
        except ApiError as failed:
            error = str(failed)
        if (about is not None and _is_done(deed, about)) or name not in dict(under_way(session.state)):
            break
        if age < POLL_FOR:
            await sleep(POLL_SECONDS)
    return about, error


def _is_done(deed: str, about: ChangeRequest) -> bool:
    return about.status == "merged" if deed == "merge" else not about.outdated


def _said(deed: str, about: ChangeRequest | None, error: str, ago: str) -> tuple[bool, str]:
    """Return whether the merge or update is done, and the message."""
    name = f"#{about.number}" if about else "a change request"
    closed = f"Octavo was closed {ago} ago, during the {deed} of {name}."
    if about is None:
        return False, f"{closed} Could not check the result: {error}"
    if _is_done(deed, about):
        return True, f"{closed} {name} is {'merged' if deed == 'merge' else 'up to date'} now."
    state = "not merged" if deed == "merge" else "still outdated"
    return False, f"{closed} {name} is {state}. Octavo did not retry: check {name}, then {deed} again."
