"""Direct writes: the user waits for them, so they are never queued. Each is sent once.

Two key presses are one request. A lost response is looked for, and the request is never sent again."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, Literal, TypeVar

from octavo.api.errors import ApiError, Conflict
from octavo.api.operation import Operation
from octavo.api.wire import Request, decode, encode
from octavo.data.live import Live
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.writes.kinds import kind_of
from octavo.data.writes.store import created_ids
from octavo.data.writes.write_kind import AlreadyDone, Attempt, Basis, Changed, WriteKind, fate
from octavo.untrusted_input import parse_json

T = TypeVar("T")

POLL_SECONDS, POLL_FOR = 2.0, 60.0
STALE_SECONDS = 180.0
"""A claim older than this belongs to an instance that has ended."""


@dataclass(frozen=True)
class Claim:
    """A direct write that has begun and, as far as is known, has not ended."""

    name: str
    since: datetime
    attempt: Attempt[Any] | None
    """None if the claim cannot be read: an older version of Octavo stored none."""


@asynccontextmanager
async def claim(state: StateDb, name: str, attempt: Attempt[Any]) -> AsyncIterator[bool]:
    """Keep every instance of this profile from sending the write `name` meanwhile. False while another one sends it.

    If the task is cancelled, or Octavo is killed, the claim stays in `open_claims`. Raises NotSaved.
    """
    record = _record(attempt)
    mine = await state.write(lambda db: _insert(db, state, name, record))
    ended = True
    try:
        yield mine
    except asyncio.CancelledError:
        ended = False
        raise
    finally:
        if mine and ended:
            with suppress(NotSaved):  # the claim goes stale; the result must be shown
                await release(state, name)


def open_claims(state: StateDb) -> tuple[Claim, ...]:
    """Return the direct writes that have begun and, as far as is known, have not ended, oldest first."""
    query = "SELECT name, started_at, attempt FROM once WHERE namespace = ? ORDER BY started_at"
    return tuple(
        Claim(str(name), datetime.fromtimestamp(started_at, UTC), _attempt(record) if record else None)
        for name, started_at, record in state.rows(query, state.namespace)
    )


def is_open(state: StateDb, begun: Claim) -> bool:
    """Return whether a claim is still open: it ends when its write does, in this instance or another."""
    return (begun.name, begun.since) in {(each.name, each.since) for each in open_claims(state)}


async def release(state: StateDb, name: str) -> None:
    """Let other instances send the write `name`. Raises NotSaved."""
    row = (state.namespace, name)
    await state.write(lambda db: db.execute("DELETE FROM once WHERE namespace = ? AND name = ?", row))


@dataclass(frozen=True)
class SendResult(Generic[T]):
    """Result of a request."""

    kind: Literal["done", "changed", "refused", "unknown"]
    """`changed`: not sent, because the target has changed. `unknown`: possibly done; nothing was retried."""
    message: str = ""
    """Reason for a refusal, or a remark about the result."""
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
) -> SendResult[T]:
    """Send a write once, if its target is still as in `basis`.

    While the same write is being sent here or in another instance, this sends nothing and looks for its result. Without a
    connection the write is refused.

    `failed` begins the message of a refusal, such as “Could not merge #7”. `missing` says what is seen as long as the write
    has not arrived, such as “the server has not merged #7”. `kind` is the row of the write. None takes it from `KINDS`.
    """
    row, state, me = kind or kind_of(op), live.outbox.state, live.outbox.me
    claimed = state.read(lambda db: created_ids(db, state.namespace))
    attempt = Attempt(op, basis or Basis(), me=me.id if me is not None else None, claimed=claimed)
    write = _DirectWrite(live, row, row.claim(op, attempt.basis), failed, missing)
    try:
        async with claim(state, write.name, attempt) as is_mine:
            if not is_mine:
                return await write.follow(attempt, "This change is already being sent.")
            sent: SendResult[T] = await write.send(attempt)
    except NotSaved as error:
        return SendResult("refused", f"{failed}: {error}")
    if sent.kind in ("done", "unknown"):
        live.touched(op)
    return sent


@dataclass(frozen=True)
class _DirectWrite:
    """A claimed write. The fields are those of `send_direct`."""

    live: Live
    kind: WriteKind[Any]
    name: str
    failed: str
    missing: str

    async def send(self, attempt: Attempt[Any]) -> SendResult[Any]:
        """Check and send the write, and look for it if its response is lost. Raises NotSaved."""
        send = self.live.send
        try:
            check = await self.kind.check(send, attempt)
        except ApiError as error:
            return SendResult("refused", f"{self.failed}: {error}")
        match check:
            case AlreadyDone():
                return SendResult("done", check.remark, check.result)
            case Changed():
                return SendResult("changed", check.message, now=check.now)
        attempt = replace(attempt, baseline=check.baseline, since=check.since)
        if check.baseline:
            await self._store(attempt)
        try:
            return SendResult("done", result=await send(attempt.op))
        except Conflict as error:
            return await self._found(attempt) or SendResult("refused", f"{self.failed}: {error}")
        except ApiError as error:
            if fate(error, has_left=True) == "unknown":
                return await self.follow(attempt, str(error))
            return SendResult("refused", f"{self.failed}: {error}", error=error)

    async def follow(self, attempt: Attempt[Any], cause: str) -> SendResult[Any]:
        """Look for the write for a minute. `cause` says why, as a sentence."""
        for _ in range(int(POLL_FOR / POLL_SECONDS) + 1):
            if (sent := await self._found(attempt)) is not None:
                return sent
            await self.live.outbox.state.sleep(POLL_SECONDS)
        then = "Octavo did not retry. Check the current state, then try again."
        return SendResult("unknown", f"{cause} After one minute, {self.missing}. {then}")

    async def _found(self, attempt: Attempt[Any]) -> SendResult[Any] | None:
        try:
            found = await self.kind.find(self.live.send, attempt)
        except ApiError:
            return None
        return None if found is None else SendResult("done", result=found.result)

    async def _store(self, attempt: Attempt[Any]) -> None:
        state = self.live.outbox.state
        values = (_record(attempt), state.namespace, self.name)
        update = "UPDATE once SET attempt = ? WHERE namespace = ? AND name = ?"
        await state.write(lambda db: db.execute(update, values))


async def send_plain(
    live: Live, op: Operation[Any], failed: str, *edits: tuple[Operation[Any], Callable[[Any], Any]]
) -> SendResult[Any]:
    """Send a write without a row: Octavo neither checks nor finds it. `edits` show it on the screen at once.

    `failed` begins the message of a refusal. The result is True if the server answers with nothing.
    """
    try:
        answer = await live.write(op, *edits)
    except ApiError as error:
        if fate(error, has_left=True) == "unknown":
            return SendResult(
                "unknown",
                f"{error} The change may have been made. Before you try again, check whether the change was made.",
            )
        return SendResult("refused", f"{failed}: {error}", error=error)
    return SendResult("done", result=True if answer is None else answer)


async def find_claimed(live: Live, begun: Claim) -> SendResult[Any]:
    """Look for a write that had begun when Octavo closed, as long as it may still arrive. Nothing is sent again.

    `unknown` if it was not found: the message says why it could not be looked for, and is empty if it could.
    """
    state, error, age = live.outbox.state, "", (live.outbox.state.now() - begun.since).total_seconds()
    assert begun.attempt is not None, "the claim must have an attempt"
    for _ in range(max(1, int((POLL_FOR - age) / POLL_SECONDS) + 1)):
        try:
            found, error = await kind_of(begun.attempt.op).find(live.send, begun.attempt), ""
        except ApiError as failed:
            found, error = None, str(failed)
        if found is not None:
            return SendResult("done", result=found.result)
        if not is_open(state, begun):
            break
        if age < POLL_FOR:
            await state.sleep(POLL_SECONDS)
    return SendResult("unknown", error)


def _insert(db: sqlite3.Connection, state: StateDb, name: str, record: str) -> bool:
    now, row = state.now().timestamp(), (state.namespace, name)
    db.execute("DELETE FROM once WHERE namespace = ? AND name = ? AND started_at < ?", (*row, now - STALE_SECONDS))
    insert = "INSERT OR IGNORE INTO once (namespace, name, started_at, attempt) VALUES (?, ?, ?, ?)"
    return db.execute(insert, (*row, now, record)).rowcount == 1


def _record(attempt: Attempt[Any]) -> str:
    request = encode(attempt.op)
    return json.dumps(
        {
            "method": request.method,
            "url": request.url,
            "body": request.body,
            "basis": asdict(attempt.basis),
            "baseline": attempt.baseline,
            "me": attempt.me,
        }
    )


def _attempt(record: str) -> Attempt[Any] | None:
    """Return the attempt of a record. None if another version of Octavo wrote a record that this one cannot read."""
    try:
        plain = parse_json(record)
        op, baseline = decode(Request(plain["method"], plain["url"], plain["body"])), plain["baseline"]
        known = tuple(baseline) if baseline is not None else None
        return Attempt(op, Basis(**plain["basis"]), known, me=plain["me"])
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
