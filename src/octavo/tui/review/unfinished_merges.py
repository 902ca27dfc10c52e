"""Reports the results of the merges and updates that were running when Octavo closed."""

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
    from octavo.tui.core.session import Session
    from octavo.tui.core.shell import Shell


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
    elif (session.state.now() - write.began_at).total_seconds() < STALE_SECONDS:
        return
    with suppress(NotSaved):
        await delete_lock(session.state, write.name)


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
