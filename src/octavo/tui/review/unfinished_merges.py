"""The merges and updates that were running when Octavo closed: their results are shown at the next start."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from octavo.api import change_requests
from octavo.api.errors import ApiError
from octavo.data.state_db import NotSaved
from octavo.data.writes.direct import (
    STALE_SECONDS,
    SendResult,
    UnfinishedWrite,
    delete_lock,
    find_unfinished,
    is_unfinished,
    unfinished_writes,
)
from octavo.tui.widgets.wording import short_age

if TYPE_CHECKING:
    from octavo.tui.shell.session import Session
    from octavo.tui.shell.shell import Shell


async def tell(app: Shell, session: Session) -> None:
    """Look for each merge and update as long as it may still arrive, and show its result. Nothing is sent again."""
    await asyncio.gather(*(_tell(app, session, begun) for begun in unfinished_writes(session.state)))


async def _tell(app: Shell, session: Session, begun: UnfinishedWrite) -> None:
    op = begun.attempt.op if begun.attempt is not None else None
    if isinstance(op, change_requests.Merge | change_requests.UpdateFromMain):
        found = await find_unfinished(session.live, begun)
        said = await _said(session, op, found, short_age(begun.began_at, session.state.now()))
        if not is_unfinished(session.state, begun):
            return  # another instance sent the write, and has shown its result
        app.say(said, tone="done" if found.kind == "done" else "care", seconds=20)
    elif (session.state.now() - begun.began_at).total_seconds() < STALE_SECONDS:
        return
    with suppress(NotSaved):
        await delete_lock(session.state, begun.name)


async def _said(
    session: Session,
    op: change_requests.Merge | change_requests.UpdateFromMain,
    found: SendResult[object],
    ago: str,
) -> str:
    """Return the message about a merge or an update."""
    verb, is_merge = ("merge", True) if isinstance(op, change_requests.Merge) else ("update", False)
    try:
        name = f"#{(await session.live.fetch(change_requests.Get(at=op.at))).number}"
    except ApiError as error:
        closed = f"Octavo was closed {ago} ago, during the {verb} of a change request."
        return f"{closed} Could not check the result: {found.message or error}"
    closed = f"Octavo was closed {ago} ago, during the {verb} of {name}."
    if found.kind == "done":
        return f"{closed} {name} is {'merged' if is_merge else 'up to date'} now."
    if found.message:
        return f"{closed} Could not check the result: {found.message}"
    state = "not merged" if is_merge else "still outdated"
    return f"{closed} {name} is {state}. Octavo did not retry the {verb}. Check {name}, then try the {verb} again."
