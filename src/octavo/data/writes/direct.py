"""Direct writes: the user waits for them, so they are never queued. Each is sent once.

Two key presses are one request. A lost response is looked for, and the request is never sent again."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from octavo.api.errors import ApiError, Conflict
from octavo.api.operation import Operation
from octavo.data import ledger
from octavo.data.live import Live
from octavo.data.sending import Send
from octavo.data.state import NotSaved, State
from octavo.data.writes.attempt import AlreadyDone, Attempt, Basis, Changed, WriteKind, fate
from octavo.data.writes.kinds import kind_of

T = TypeVar("T")

POLL_SECONDS, POLL_FOR = 2.0, 60.0
STALE_SECONDS = 180.0
"""What was claimed longer ago than this belongs to an instance that is gone."""

Sleep = Callable[[float], Awaitable[None]]


@asynccontextmanager
async def once(state: State, name: str) -> AsyncIterator[bool]:
    """Be the only one who does what `name` says, among all instances of this profile. False while another is at it.

    Where it is cancelled, or killed, the claim stays: `under_way` tells of it at the next start. Raises NotSaved.
    """
    mine = await state.write(lambda db: _claim(db, state, name))
    ended = True
    try:
        yield mine
    except asyncio.CancelledError:
        ended = False
        raise
    finally:
        if mine and ended:
            with suppress(NotSaved):  # the claim goes stale; what became of it must be said
                await release(state, name)


def under_way(state: State) -> tuple[tuple[str, datetime], ...]:
    """What was begun and, as far as is known, has not ended: its name, and since when."""
    rows = state.rows("SELECT name, started_at FROM once WHERE namespace = ? ORDER BY started_at", state.namespace)
    return tuple((str(name), datetime.fromtimestamp(started_at, UTC)) for name, started_at in rows)


async def release(state: State, name: str) -> None:
    """Let `name` be done by others. Raises NotSaved."""
    row = (state.namespace, name)
    await state.write(lambda db: db.execute("DELETE FROM once WHERE namespace = ? AND name = ?", row))


@dataclass(frozen=True)
class SendResult(Generic[T]):
    """Result of a request."""

    kind: Literal["done", "changed", "refused", "unknown"]
    """`changed`: not sent, because the target has changed. `unknown`: possibly done; nothing was retried."""
    message: str = ""
    """Why the request was not done, or a remark about the result."""
    result: T | None = None
    """Response of the server, or the result found after the response was lost."""
    error: ApiError | None = None
    """Error of a refused request."""
    now: str | None = None
    """Head revision of a change request that has changed. None otherwise."""


async def send_direct(
    live: Live,
    op: Operation[T],
    basis: Basis | None = None,
    *,
    failed: str,
    missing: str,
    kind: WriteKind[Any] | None = None,
    sleep: Sleep = asyncio.sleep,
) -> SendResult[T]:
    """Send a write once, if its target is still as in `basis`.

    While the same write is being sent here or in another instance, this sends nothing and looks for its result. Without a
    connection the write is refused.

    `failed` begins the message of a refusal, such as “Could not merge #7”. `missing` says what is seen as long as the write
    has not arrived, such as “the server has not merged #7”. `kind` is the row of the write. None takes it from `KINDS`.
    """
    row, state, me = kind or kind_of(op), live.outbox.state, live.outbox.me
    claimed = state.read(lambda db: ledger.claimed(db, state.namespace))
    attempt = Attempt(op, basis or Basis(), me=me.id if me is not None else None, claimed=claimed)
    try:
        async with once(state, row.claim(op, attempt.basis)) as is_mine:
            if is_mine:
                sent: SendResult[T] = await _checked(live.send, row, attempt, failed, missing, sleep)
            else:
                return await _find(live.send, row, attempt, "This is already being sent.", missing, sleep)
    except NotSaved as error:
        return SendResult("refused", f"{failed}: {error}")
    if sent.kind in ("done", "unknown"):
        live.touched(op)
    return sent


async def _checked(
    send: Send, kind: WriteKind[Any], attempt: Attempt[Any], failed: str, missing: str, sleep: Sleep
) -> SendResult[Any]:
    try:
        check = await kind.check(send, attempt)
    except ApiError as error:
        return SendResult("refused", f"{failed}: {error}")
    match check:
        case AlreadyDone():
            return SendResult("done", check.remark, check.result)
        case Changed():
            return SendResult("changed", check.message, now=check.now)
    attempt = replace(attempt, baseline=check.baseline, since=check.since)
    try:
        return SendResult("done", result=await send(attempt.op))
    except Conflict as error:
        return await _found(send, kind, attempt) or SendResult("refused", f"{failed}: {error}")
    except ApiError as error:
        if fate(error, has_left=True) == "unknown":
            return await _find(send, kind, attempt, str(error), missing, sleep)
        return SendResult("refused", f"{failed}: {error}", error=error)


async def _find(
    send: Send, kind: WriteKind[Any], attempt: Attempt[Any], cause: str, missing: str, sleep: Sleep
) -> SendResult[Any]:
    """Look for a write for a minute."""
    for _ in range(int(POLL_FOR / POLL_SECONDS) + 1):
        if (sent := await _found(send, kind, attempt)) is not None:
            return sent
        await sleep(POLL_SECONDS)
    message = f"{cause} After a minute {missing}. Octavo did not retry: check it, then try again."
    return SendResult("unknown", message)


async def _found(send: Send, kind: WriteKind[Any], attempt: Attempt[Any]) -> SendResult[Any] | None:
    try:
        found = await kind.find(send, attempt)
    except ApiError:
        return None
    return None if found is None else SendResult("done", result=found.result)


def _claim(db: sqlite3.Connection, state: State, name: str) -> bool:
    now, row = state.now().timestamp(), (state.namespace, name)
    db.execute("DELETE FROM once WHERE namespace = ? AND name = ? AND started_at < ?", (*row, now - STALE_SECONDS))
    return db.execute("INSERT OR IGNORE INTO once VALUES (?, ?, ?)", (*row, now)).rowcount == 1
