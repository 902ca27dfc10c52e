"""A merge is sent once: two presses are one request, and a lost answer is read back, never sent again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from octavo.api import change_requests
from octavo.api.errors import ApiError, Conflict, Outcome
from octavo.api.places import ChangeRequestRef
from octavo.data.live import Live
from octavo.data.sending import Send
from octavo.data.state import NotSaved, State

POLL_SECONDS, POLL_FOR = 2.0, 60.0
STALE_SECONDS = 180.0
"""A merge whose row is older than this belongs to an instance that is gone."""


@dataclass(frozen=True)
class MergeOutcome:
    """What became of a merge."""

    kind: Literal["merged", "conflicts", "refused", "moved", "unknown"]
    """`conflicts`: merged, with both sides of each conflict kept. `moved`: not sent, it is no longer what was seen."""
    sentence: str
    revision: str | None = None
    """The primary revision the merge made, if the server says which."""


async def merge(
    live: Live,
    at: ChangeRequestRef,
    expected_revision: str | None,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> MergeOutcome:
    """Merge the change request at `at`, if its head is still `expected_revision`: what the person saw.

    While another merge of it is under way, in this instance or another, this follows that one and sends nothing. It
    is never queued: without a connection it is refused.
    """
    state = live.outbox.state
    try:
        mine = await state.write(lambda db: _claim(db, state, at))
    except NotSaved as error:
        return MergeOutcome("refused", f"Not merged: {error}")
    if not mine:
        return await _followed(live.send, at, sleep, "It is being merged already.")
    try:
        outcome = await _merged(live.send, at, expected_revision, sleep)
    finally:
        with suppress(NotSaved):  # the row goes stale; what became of the merge must be said
            await state.write(lambda db: _release(db, state, at))
    if outcome.kind != "refused":
        live.touched(change_requests.Merge(at=at))
    return outcome


async def _merged(
    send: Send, at: ChangeRequestRef, expected: str | None, sleep: Callable[[float], Awaitable[None]]
) -> MergeOutcome:
    try:
        now = await send(change_requests.Get(at=at))
    except ApiError as error:
        return MergeOutcome("refused", f"Not merged: {error}")
    if now.status == "merged":
        return MergeOutcome("merged", "It was merged already.", now.revision_merged)
    if expected is not None and now.revision != expected:
        return MergeOutcome("moved", "Not merged: it was edited since you looked. Read what changed, then merge again.")
    try:
        result = await send(change_requests.Merge(at=at))
    except Conflict as error:
        after = await _status(send, at)
        return after or MergeOutcome("refused", f"Not merged: {error}")
    except ApiError as error:
        if error.outcome is Outcome.UNKNOWN:
            return await _followed(send, at, sleep, str(error))
        return MergeOutcome("refused", f"Not merged: {error}")
    if result.result == "conflicts":
        sentence = "Merged with conflicts: both sides of each are in the text. Settle them in a new change request."
        return MergeOutcome("conflicts", sentence, result.revision)
    return MergeOutcome("merged", "Merged.", result.revision)


async def _followed(
    send: Send, at: ChangeRequestRef, sleep: Callable[[float], Awaitable[None]], cause: str
) -> MergeOutcome:
    """Look for a minute whether it is merged."""
    for _ in range(int(POLL_FOR / POLL_SECONDS) + 1):
        if (outcome := await _status(send, at)) is not None:
            return outcome
        await sleep(POLL_SECONDS)
    return MergeOutcome(
        "unknown",
        f"{cause} After a minute the server has not merged it. Nothing was sent again: look at it, then decide.",
    )


async def _status(send: Send, at: ChangeRequestRef) -> MergeOutcome | None:
    """The outcome if it is merged. None if it is not, or nobody can tell."""
    try:
        now = await send(change_requests.Get(at=at))
    except ApiError:
        return None
    return MergeOutcome("merged", "Merged.", now.revision_merged) if now.status == "merged" else None


def _claim(db: sqlite3.Connection, state: State, at: ChangeRequestRef) -> bool:
    now = state.now().timestamp()
    gone = now - STALE_SECONDS
    db.execute("DELETE FROM once WHERE namespace = ? AND name = ? AND started_at < ?", (*_row(state, at), gone))
    return db.execute("INSERT OR IGNORE INTO once VALUES (?, ?, ?)", (*_row(state, at), now)).rowcount == 1


def _release(db: sqlite3.Connection, state: State, at: ChangeRequestRef) -> None:
    db.execute("DELETE FROM once WHERE namespace = ? AND name = ?", _row(state, at))


def _row(state: State, at: ChangeRequestRef) -> tuple[str, str]:
    return state.namespace, f"merge {at.space_id}/{at.change_request_id}"
