"""Sends direct writes: the user waits for the result. A direct write is never queued, and sent at most once.

If the user presses a key twice, a lock in state.db prevents a second request. If the response is lost, Octavo searches
for the result, and never repeats the request.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from octavo.api.errors import MAY_BE_DONE, ApiError, Conflict, Outcome
from octavo.api.operation import Operation
from octavo.data.live import Live
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.writes.machine import (
    AlreadyDone,
    Changed,
    ExpectedState,
    NewWrite,
    WriteAttempt,
    WriteKind,
    cause_of,
    classify_failure,
)
from octavo.data.writes.store import created_ids, durable_operation_and_kind, kind_of, operation_in, request_fields
from octavo.untrusted_input import parse_json

T = TypeVar("T")

SEARCH_INTERVAL = 2.0
"""Seconds between two searches for a lost write."""
SEARCH_SECONDS = 60.0
"""Seconds for which Octavo searches for the result of a lost write, counted from the sending of the write."""
MAX_LOCK_AGE_SECONDS = 180.0
"""Age in seconds from which a lock is ignored, because the process with the lock must have ended."""
_SENDING_LOCK = "direct"
"""Name of the lock file that processes share while they send direct writes."""
_POLL_SECONDS = 0.1
"""Seconds between two checks whether another process has sent its write."""


class UnfinishedWrite(NamedTuple):
    """A direct write whose result is not in state.db: it is being sent, or Octavo ended before the result was known."""

    lock_name: str
    began_at: datetime
    attempt: WriteAttempt[Any] | None
    """The write that has the lock. None if this version of Octavo cannot read the stored write."""
    later_writes: tuple[NewWrite, ...] = ()
    """Writes to add to the outbox when this write is done."""


@asynccontextmanager
async def lock_write(
    state: StateDb, lock_name: str, attempt: WriteAttempt[Any], later_writes: Sequence[NewWrite] = ()
) -> AsyncIterator[bool]:
    """Prevent other writes with the same `lock_name` during the `with` block, in all processes of this profile. Yield
    False if another write has this lock. Raises NotSaved.

    After a cancel or a crash, the lock stays with `attempt` and `later_writes`, and `unfinished_writes` returns both.
    """
    record = _encode(attempt, later_writes)
    stop_sending = state.try_lock(_SENDING_LOCK, shared=True)
    assert stop_sending is not None, "a shared lock is always available"
    try:
        has_lock = deletes_lock = await state.write(lambda db: _insert_lock(db, state, lock_name, record))
        try:
            yield has_lock
        except asyncio.CancelledError:
            deletes_lock = False
            raise
        finally:
            if deletes_lock:
                with suppress(NotSaved):  # keep the result of the write; the lock expires after `MAX_LOCK_AGE_SECONDS`
                    await delete_lock(state, lock_name)
    finally:
        stop_sending()


def unfinished_writes(state: StateDb) -> tuple[UnfinishedWrite, ...]:
    """Return the direct writes that have locks in state.db, the oldest first."""
    query = "SELECT name, started_at, attempt FROM once WHERE namespace = ? ORDER BY started_at"
    return tuple(
        UnfinishedWrite(str(name), datetime.fromtimestamp(started_at, UTC), *_read_record(record))
        for name, started_at, record in state.rows(query, state.namespace)
    )


def _is_unfinished(state: StateDb, write: UnfinishedWrite) -> bool:
    return (write.lock_name, write.began_at) in {
        (other.lock_name, other.began_at) for other in unfinished_writes(state)
    }


async def delete_lock(state: StateDb, lock_name: str) -> None:
    await state.write(lambda db: _delete_lock(db, state, lock_name))


async def _add_once(live: Live, lock_name: str, later_writes: Sequence[NewWrite]) -> tuple[str, ...]:
    """Delete the lock, add `later_writes` to the outbox, and return the entry IDs. Empty if there was no lock."""
    state, deletions = live.outbox.state, list[bool]()

    def delete_lock_once(db: sqlite3.Connection) -> bool:
        if not deletions:
            deletions.append(_delete_lock(db, state, lock_name))
        return deletions[0]

    entries = await live.outbox.add_all([replace(write, condition=delete_lock_once) for write in later_writes])
    return tuple(entry.id for entry in entries)


@dataclass(frozen=True)
class SendResult(Generic[T]):
    """Result of a direct write."""

    kind: Literal["done", "same", "changed", "refused", "unknown"]
    """`done`: the server has the change. `same`: not sent, because nothing would change. `changed`: not sent, because
    the target has changed. `refused`: failed. `unknown`: perhaps done."""
    message: str = ""
    """Sentence for the user: what failed and why. May be empty if the write is done."""
    result: T | None = None
    """Response of the server, or the result that a search found. None if the write is not done."""
    error: ApiError | None = None
    """Error of the write or of its check. None if no request failed."""
    revision: str | None = None
    """The revision that an edit of pages has created. For the kind `changed`, the new head. None if it is unknown."""
    later_ids: tuple[str, ...] = ()
    """IDs of the outbox entries of the writes that were added to the outbox after this write."""
    replaced_revision: str | None = None
    """Revision of another user that an edit of pages has overwritten. None if there is none."""

    @property
    def write_error(self) -> ApiError | None:
        """Error of the write itself, not of its check. None if the write did not fail."""
        return self.error if self.error is not None and not self.error.trace.only_reads else None

    @property
    def can_be_sent_again(self) -> bool:
        """True if the write failed before the server acted on it, for a temporary reason, such as status 429."""
        was_sent = self.write_error is not None
        return self.error is not None and classify_failure(self.error, was_sent=was_sent) == "waiting"


async def send_direct(
    live: Live,
    op: Operation[T],
    expected: ExpectedState | None = None,
    *,
    failure_prefix: str,
    if_not_found: str,
    kind: WriteKind[Any] | None = None,
    later_writes: Sequence[NewWrite] = (),
    on_search: Callable[[], object] = lambda: None,
) -> SendResult[T]:
    """Send a write once, if its target is still as in `expected`. Without a connection, the result is `refused`. If the
    same write is already being sent, only search for its result. When the write is done, `later_writes` are added to
    the outbox, even after a crash (`finish_unfinished`).

    `failure_prefix` begins error messages, such as “Could not merge #7”. `if_not_found` says what a search without result
    shows, such as “the server has not merged #7”. `kind` is by default `kind_of(op)`. `on_search` is
    called before a search, which may take a minute.
    """
    write_kind, state, me = kind or kind_of(op), live.outbox.state, live.outbox.me
    attempt = WriteAttempt(
        op, expected or ExpectedState(), my_id=me.id if me is not None else None, other_created_ids=created_ids(state)
    )
    write = _DirectWrite(
        live, write_kind, write_kind.lock_name(op, attempt.expected), failure_prefix, if_not_found, on_search
    )
    try:
        if (earlier := await write.finish_ended_write(attempt)) is not None:
            return earlier
        async with lock_write(state, write.lock_name, attempt, later_writes) as has_lock:
            if not has_lock:
                return await write.search_equal_write(attempt)
            sent: SendResult[T] = await write.send(attempt, later_writes)
            if sent.kind == "done" and later_writes:
                try:
                    sent = replace(sent, later_ids=await _add_once(live, write.lock_name, later_writes))
                except NotSaved as error:
                    sent = replace(sent, message=f"Could not {later_writes[0].action}: {error}")
    except NotSaved as error:
        return SendResult("refused", _failure(failure_prefix, error))
    if sent.kind != "refused":
        live.refresh_affected(op)
    return sent


def _failure(failure_prefix: str, cause: object) -> str:
    return f"{failure_prefix}: {cause}" if failure_prefix else str(cause)


class _DirectWrite(NamedTuple):
    """A direct write with the parameters of `send_direct`."""

    live: Live
    kind: WriteKind[Any]
    lock_name: str
    failure_prefix: str
    if_not_found: str
    on_search: Callable[[], object]

    async def send(self, attempt: WriteAttempt[Any], later_writes: Sequence[NewWrite]) -> SendResult[Any]:
        """Check the write, and send it unless it is already done or its target has changed. If the response is lost,
        search for the result. `later_writes` are stored before the write is sent. Raises NotSaved."""
        send = self.live.send
        try:
            check = await self.kind.check(send, attempt)
        except ApiError as error:
            return SendResult("refused", _failure(self.failure_prefix, error), error=error)
        match check:
            case AlreadyDone():
                return SendResult("done", check.remark, check.result)
            case Changed():
                message = check.message if self.failure_prefix else f"{check.reason}."
                return SendResult("changed", message, revision=check.new_revision)
        attempt = replace(attempt, baseline=check.baseline, newest_at=check.newest_at)
        await self._store(attempt, later_writes)
        sent_at = self.live.outbox.state.now()
        try:
            return SendResult("done", result=await send(attempt.op))
        except ApiError as error:
            if isinstance(error, Conflict):
                search_result = await _search_for_result(self.live, self.kind, attempt, sent_at, lambda: False)
                if search_result.kind == "done":
                    return search_result
                if search_result.message == "":  # the search did not fail and found nothing, so the change was not made
                    error.outcome = Outcome.REFUSED
            if classify_failure(error, was_sent=True) == "unknown":
                self.on_search()
                return await self._search_result(attempt, cause_of(error), sent_at)
            return SendResult("refused", _failure(self.failure_prefix, error), error=error)

    async def finish_ended_write(self, attempt: WriteAttempt[Any]) -> SendResult[Any] | None:
        """Finish a write whose process ended while it had this lock. Return its result if it is equal to `attempt` and
        done. None if `attempt` must be sent, or if another write still has the lock. Raises NotSaved."""
        state = self.live.outbox.state
        earlier = next((each for each in unfinished_writes(state) if each.lock_name == self.lock_name), None)
        if earlier is None or earlier.attempt is None or (unlock := state.try_lock(_SENDING_LOCK)) is None:
            return None
        unlock()
        if earlier.attempt.baseline is None:  # the process ended during the check, before it sent the write
            await delete_lock(state, self.lock_name)
            return None
        self.on_search()
        result = await finish_unfinished(self.live, earlier)
        is_equal = request_fields(earlier.attempt.op) == request_fields(attempt.op)
        return result if result is not None and result.kind == "done" and is_equal else None

    async def search_equal_write(self, attempt: WriteAttempt[Any]) -> SendResult[Any]:
        """Wait for the write that has the lock, and search for its result. Refuse `attempt` if it is another write."""
        state, began_at = self.live.outbox.state, self.live.outbox.state.now()
        self.on_search()
        for _ in range(int(SEARCH_SECONDS / _POLL_SECONDS)):
            sent = next((each.attempt for each in unfinished_writes(state) if each.lock_name == self.lock_name), None)
            if sent is None:
                break
            if request_fields(sent.op) != request_fields(attempt.op):
                cause = "an earlier change is still being sent. Try again in a moment."
                return SendResult("refused", _failure(self.failure_prefix, cause))
            attempt = replace(sent, other_created_ids=attempt.other_created_ids)
            if attempt.baseline is not None:
                break
            await state.sleep(_POLL_SECONDS)
        return await self._search_result(attempt, "This change is already being sent.", began_at)

    async def _search_result(self, attempt: WriteAttempt[Any], cause: str, sent_at: datetime) -> SendResult[Any]:
        """Search for the result until one minute after `sent_at`. If this fails, `cause` begins the message."""
        found = await _search_for_result(self.live, self.kind, attempt, sent_at)
        if found.kind == "done":
            return found
        # If the search failed, `found.message` is its error. Otherwise, the search found nothing.
        fact = (
            f"Could not check the result: {found.message}"
            if found.message
            else f"After one minute, {self.if_not_found}."
        )
        advice = "Octavo did not retry. Check the current state, then try again."
        return SendResult("unknown", _failure(self.failure_prefix, f"{cause} {fact} {advice}"))

    async def _store(self, attempt: WriteAttempt[Any], later_writes: Sequence[NewWrite]) -> None:
        state = self.live.outbox.state
        values = (_encode(attempt, later_writes), state.namespace, self.lock_name)
        update = "UPDATE once SET attempt = ? WHERE namespace = ? AND name = ?"
        await state.write(lambda db: db.execute(update, values))


async def send_unchecked(
    live: Live, op: Operation[Any], failure_prefix: str, *edits: tuple[Operation[Any], Callable[[Any], Any]]
) -> SendResult[Any]:
    """Send a write without a check, and without a search after a lost response. `failure_prefix` begins error messages.
    `edits` are shown before the response, as in `Live.write`. If the response is empty, the `result` is True."""
    try:
        response = await live.write(op, *edits)
    except ApiError as error:
        if classify_failure(error, was_sent=True) == "unknown":
            return SendResult("unknown", f"{failure_prefix}: {cause_of(error)} {MAY_BE_DONE}")
        return SendResult("refused", f"{failure_prefix}: {error}", error=error)
    return SendResult("done", result=True if response is None else response)


async def _search_for_result(
    live: Live,
    kind: WriteKind[Any],
    attempt: WriteAttempt[Any],
    sent_at: datetime,
    may_continue: Callable[[], bool] = lambda: True,
) -> SendResult[Any]:
    """Search for a sent write until a minute after `sent_at`, while `may_continue()`. Return `done` or `unknown`."""
    state, error = live.outbox.state, ""
    for _ in range(int(SEARCH_SECONDS / SEARCH_INTERVAL) + 1):
        try:
            result, error = await kind.search(live.send, attempt), ""
        except ApiError as failure:
            result, error = None, str(failure)
        if result is not None:
            return SendResult("done", result=result.result)
        # The clock decides when to end, not the number of searches, because requests take time too.
        if (state.now() - sent_at).total_seconds() >= SEARCH_SECONDS or not may_continue():
            break
        await state.sleep(SEARCH_INTERVAL)
    return SendResult("unknown", error)


async def finish_unfinished(live: Live, write: UnfinishedWrite) -> SendResult[Any] | None:
    """Search for the result of a write that Octavo did not finish, without sending the write again. If the server has
    applied it, add its `later_writes` to the outbox.

    If the search fails, the message of the result is the error, and the next start of Octavo searches again. None if
    another process has finished the write. Raises NotSaved.
    """
    assert write.attempt is not None, "the write must have an attempt"
    kind, state = kind_of(write.attempt.op), live.outbox.state
    await _wait_for_senders(state, write)
    result = await _search_for_result(live, kind, write.attempt, write.began_at, lambda: _is_unfinished(state, write))
    if not _is_unfinished(state, write):
        return None
    if result.kind == "done":
        live.refresh_affected(write.attempt.op)
    if result.kind == "done" and write.later_writes:
        entry_ids = await _add_once(live, write.lock_name, write.later_writes)
        return replace(result, later_ids=entry_ids) if entry_ids else None
    if result.kind == "done" or not result.message:
        await delete_lock(state, write.lock_name)
    return result


async def _wait_for_senders(state: StateDb, write: UnfinishedWrite) -> None:
    """Wait until `write` is finished, or until no process can be sending it anymore. Raises NotSaved."""
    while _is_unfinished(state, write):
        if (unlock := state.try_lock(_SENDING_LOCK)) is not None:
            unlock()
            return
        await state.sleep(SEARCH_INTERVAL)


def _insert_lock(db: sqlite3.Connection, state: StateDb, lock_name: str, record: str) -> bool:
    """Store a lock with the text `record` in state.db. Return False if `lock_name` has a lock that is not expired."""
    now, row = state.now().timestamp(), (state.namespace, lock_name)
    # A lock from the future is replaced too: the clock was set back.
    db.execute(
        "DELETE FROM once WHERE namespace = ? AND name = ? AND abs(started_at - ?) > ?",
        (*row, now, MAX_LOCK_AGE_SECONDS),
    )
    insert = "INSERT OR IGNORE INTO once (namespace, name, started_at, attempt) VALUES (?, ?, ?, ?)"
    return db.execute(insert, (*row, now, record)).rowcount == 1


def _delete_lock(db: sqlite3.Connection, state: StateDb, lock_name: str) -> bool:
    return db.execute("DELETE FROM once WHERE namespace = ? AND name = ?", (state.namespace, lock_name)).rowcount == 1


def _encode(attempt: WriteAttempt[Any], later_writes: Sequence[NewWrite]) -> str:
    fields = {"basis": asdict(attempt.expected), "baseline": attempt.baseline, "me": attempt.my_id}
    later_fields = [
        {
            **request_fields(each.op),
            "doing": each.action,
            "about": each.context,
            "basis": asdict(each.expected) if each.expected is not None else None,
        }
        for each in later_writes
    ]
    return json.dumps({**request_fields(attempt.op), **fields, "later": later_fields})


def _read_record(record: str | None) -> tuple[WriteAttempt[Any] | None, tuple[NewWrite, ...]]:
    """Return the write in a JSON record, and the writes that follow it. None and no writes if unreadable."""
    try:
        fields = parse_json(record or "")
        baseline = fields["baseline"]
        attempt = WriteAttempt(
            operation_in(fields),
            ExpectedState(**fields["basis"]),
            tuple(baseline) if baseline is not None else None,
            my_id=fields["me"],
        )
        return attempt, tuple(_later_write(each) for each in fields.get("later", ()))
    except (LookupError, TypeError, ValueError, AttributeError):
        return None, ()


def _later_write(fields: Any) -> NewWrite:
    op, _ = durable_operation_and_kind(fields)
    expected = ExpectedState(**fields["basis"]) if fields["basis"] is not None else None
    return NewWrite(op, str(fields["doing"]), context=str(fields["about"]), expected=expected)
