"""Stores the outbox in state.db, for all instances of Octavo. Also has the table of the kinds of write.

Each change of an entry is one transaction. Names in stored records must never change, because older versions of Octavo
read them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeAlias, TypeVar

from octavo.api.operation import Discussion, Operation
from octavo.api.wire import Request, decode, encode
from octavo.data.database import Transaction, moment
from octavo.data.live_response import Observers
from octavo.data.state_db import StateDb, read_fact, write_fact
from octavo.data.writes.machine import ONCE_PREFIX, Basis, OutboxEntry, WriteKind, WrongState, has_review_in_flight
from octavo.lazy_import import load
from octavo.untrusted_input import parse_json

W = TypeVar("W", bound=Operation[Any])


@cache
def write_kinds() -> Mapping[type[Operation[Any]], WriteKind[Any]]:
    """Return the row of each kind of write, by operation."""
    # lazy: these modules load parts of the API that the first screen does not need
    return {
        **load("octavo.data.writes.comment_kinds:COMMENT_WRITES"),
        **load("octavo.data.writes.change_request_kinds:CHANGE_REQUEST_WRITES"),
    }


def kind_of(op: W) -> WriteKind[W]:
    """Return the row of a write. Raises KeyError if the write has no row."""
    return write_kinds()[type(op)]


R = TypeVar("R")

ONCE_LIFETIME = timedelta(days=7)
"""Time in which a key of `--once` prevents a second write."""
MAX_SENT_DAYS, MAX_SENT_ROWS = 30, 500
"""Maximum age in days and maximum number of the sent writes that are kept."""

StoredEntry = tuple[int, str, str, str]
"""A stored entry: its position, id, state and record."""
EntryStep: TypeAlias = Callable[[OutboxEntry], OutboxEntry]
"""Function that takes one step of machine.py and returns the changed entry. Raises WrongState if the step is not
possible."""
ExtraWork: TypeAlias = Callable[[sqlite3.Connection, OutboxEntry], None]
"""Additional work in the transaction that changes an entry."""

_TIMES = ("created_at", "requested_at", "held_until", "due_at", "started_at", "may_arrive_until", "newest_at")
_STORED_NAMES = {
    "action": "doing",
    "requested_at": "asked_at",
    "draft_key": "place",
    "context": "about",
    "author_id": "writer",
    "author_name": "writer_name",
    "may_arrive_until": "settles_at",
    "failed_searches": "rounds",
    "own_failures": "put_off",
    "newest_at": "since",
    "remote_id": "remote",
    "changed_by_others": "contested",
    "already_done": "needless",
}
"""The names of attributes in a record, where they differ from the names in OutboxEntry."""
_NAMES = [field.name for field in fields(OutboxEntry) if field.name not in ("op", "facts")]
"""The attributes that a record contains. `op` is stored as a request, and `facts` are computed from `op`."""
_PENDING = "gathered"
"""The name of the state `pending` on disk."""


def entry_records(db: sqlite3.Connection, namespace: str) -> list[tuple[str, str]]:
    """Return the id and the record of each entry, oldest first."""
    return db.execute("SELECT id, record FROM outbox WHERE namespace = ? ORDER BY position", (namespace,)).fetchall()


def change_entry(
    db: sqlite3.Connection, namespace: str, entry_id: str, change: EntryStep, now: datetime
) -> OutboxEntry | None:
    """Apply a step to the stored entry, and return the new entry. None if there is no such entry, or if the step is not
    possible in its state."""
    entry = _find_entry(db, entry_id)
    if entry is None:
        return None
    try:
        after = change(entry)
    except WrongState:
        return None
    if after.state == "done":
        _finish(db, namespace, after, now)
    else:
        values = (_stored_state(after), _encode(after), entry_id)
        db.execute("UPDATE outbox SET state = ?, record = ? WHERE id = ?", values)
    return after


def take_pending_comment(db: sqlite3.Connection, namespace: str, entry_id: str) -> StoredEntry | None:
    """Delete a pending comment, and return it in its stored form. None if it is no longer pending."""
    delete = "DELETE FROM outbox WHERE id = ? AND state = ? RETURNING position, id, state, record"
    stored: StoredEntry | None = next(iter(db.execute(delete, (entry_id, _PENDING)).fetchall()), None)
    if stored is not None:
        _forget_once(db, namespace, decode_entry(stored[3]))
    return stored


def restore_entry(db: sqlite3.Connection, namespace: str, stored: StoredEntry) -> None:
    """Undo `take_pending_comment`. The entry gets its old position, or the last position if the old one is taken."""
    position, entry_id, state, record = stored
    _remember_once(db, namespace, decode_entry(record))
    insert = "INSERT OR IGNORE INTO outbox (position, id, namespace, state, record) VALUES (?, ?, ?, ?, ?)"
    if not db.execute(insert, (position, entry_id, namespace, state, record)).rowcount:
        db.execute(insert, (None, entry_id, namespace, state, record))


def find_done_entry(state: StateDb, entry_id: str) -> OutboxEntry | None:
    """Return the sent write with an id. None if there is no such write, or if its record cannot be read."""
    rows = state.rows("SELECT record FROM sent WHERE id = ?", entry_id)
    try:
        return decode_entry(rows[0][0]) if rows else None
    except ValueError:
        return None


def created_ids(state: StateDb) -> frozenset[str]:
    """Return the ids of the items that sent writes of this profile created. None of them is the result of a lost write."""
    rows = state.rows("SELECT remote FROM sent WHERE namespace = ? AND remote IS NOT NULL", state.namespace)
    return frozenset(str(row[0]) for row in rows)


def decode_entry(record: str) -> OutboxEntry:
    """Decode a record. Raises ValueError if this version of Octavo cannot read it."""
    try:
        return _entry(parse_json(record))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the record is damaged ({type(error).__name__})") from None


def request_fields(op: Operation[Any]) -> dict[str, Any]:
    """Return the fields of a record that store an operation."""
    request = encode(op)
    return {"method": request.method, "url": request.url, "body": request.body}


def operation_in(fields: Any) -> Operation[Any]:
    """Return the operation that `request_fields` has stored in a record. Raises LookupError or ValueError if this version
    of Octavo does not know it."""
    return decode(Request(fields["method"], fields["url"], fields["body"]))


def durable_operation_and_kind(fields: Any) -> tuple[Any, WriteKind[Any]]:
    """Return the operation in a record, and its kind. Raises ValueError if the operation cannot wait in the outbox."""
    op = operation_in(fields)
    kind = write_kinds().get(type(op))
    if kind is None or not kind.is_durable:
        raise ValueError(f"{type(op).__name__} is not a write that the outbox can store")
    return op, kind


def _entry(fields: Any) -> OutboxEntry:
    op, kind = durable_operation_and_kind(fields)
    values = {name: fields[stored] for name in _NAMES if (stored := _STORED_NAMES.get(name, name)) in fields}
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = moment(values[name])
    if values.get("state") == _PENDING:
        values["state"] = "pending"
    values["baseline"] = tuple(values.get("baseline", ()))
    values["basis"] = Basis(**values.get("basis", {}))
    return OutboxEntry(op=op, facts=kind.facts(op), **values)


def _encode(entry: OutboxEntry) -> str:
    plain: dict[str, Any] = {}
    for name in _NAMES:
        value = getattr(entry, name)
        plain[_STORED_NAMES.get(name, name)] = value.timestamp() if name in _TIMES and value is not None else value
    plain.update(request_fields(entry.op), state=_stored_state(entry), basis=asdict(entry.basis))
    return json.dumps(plain)


def _stored_state(entry: OutboxEntry) -> str:
    return _PENDING if entry.state == "pending" else entry.state


def _find_entry(db: sqlite3.Connection, entry_id: str) -> OutboxEntry | None:
    row = db.execute("SELECT record FROM outbox WHERE id = ?", (entry_id,)).fetchone()
    return decode_entry(row[0]) if row else None


def once_group(fact: Any, now: datetime) -> str | None:
    """Return the id in a fact that `_remember_once` has stored. None for other facts, and after `ONCE_LIFETIME`."""
    try:
        return str(fact["group"]) if now - datetime.fromisoformat(str(fact["at"])) < ONCE_LIFETIME else None
    except (KeyError, TypeError, ValueError):
        return None


def _is_once_key_used(db: sqlite3.Connection, namespace: str, key: str, now: datetime) -> bool:
    """Return whether a command with `--once` has used this key, in this process or another."""
    return key.startswith(ONCE_PREFIX) and once_group(read_fact(db, namespace, key), now) is not None


def _remember_once(db: sqlite3.Connection, namespace: str, entry: OutboxEntry, key: str = "") -> None:
    """If a command with `--once` added or submitted the write, store the time, and the id that its writes share. `key` is
    by default the draft key of the write."""
    key = key or entry.draft_key
    if key.startswith(ONCE_PREFIX):
        fact = {"at": entry.requested_at.isoformat(), "group": entry.review or entry.group}
        write_fact(db, namespace, key, fact)


def _forget_once(db: sqlite3.Connection, namespace: str, entry: OutboxEntry) -> None:
    """If a command with `--once` added the write, let the command write again, unless the server may have the write."""
    if entry.draft_key.startswith(ONCE_PREFIX) and entry.state != "unknown" and not entry.was_not_found:
        write_fact(db, namespace, entry.draft_key, None)


def _insert_entry(db: sqlite3.Connection, namespace: str, entry: OutboxEntry) -> None:
    _remember_once(db, namespace, entry)
    insert = "INSERT INTO outbox (id, namespace, state, record) VALUES (?, ?, ?, ?)"
    db.execute(insert, (entry.id, namespace, _stored_state(entry), _encode(entry)))


def _finish(db: sqlite3.Connection, namespace: str, entry: OutboxEntry, now: datetime) -> None:
    """Move an entry from `outbox` to `sent`, and delete sent writes that are old or too many."""
    insert, record = "INSERT OR IGNORE INTO sent VALUES (?, ?, ?, ?, ?)", _encode(entry)
    if not db.execute(insert, (entry.id, namespace, entry.remote_id or None, now.timestamp(), record)).rowcount:
        # Another write already has this remote id, which must be unique.
        db.execute(insert, (entry.id, namespace, None, now.timestamp(), record))
    db.execute("DELETE FROM outbox WHERE id = ?", (entry.id,))
    horizon = (now - timedelta(days=MAX_SENT_DAYS)).timestamp()
    db.execute("DELETE FROM sent WHERE namespace = ? AND sent_at < ?", (namespace, horizon))
    db.execute(
        "DELETE FROM sent WHERE namespace = ?1 AND id NOT IN"
        " (SELECT id FROM sent WHERE namespace = ?1 ORDER BY sent_at DESC LIMIT ?2)",
        (namespace, MAX_SENT_ROWS),
    )


class OutboxEntries:
    """The stored entries that are not done, including those of other instances. All coroutines raise NotSaved."""

    def __init__(self, state: StateDb, now: Callable[[], datetime]) -> None:
        self.state = state
        self.now = now
        self.all: tuple[OutboxEntry, ...] = ()
        """The entries, oldest first."""
        self.by_created_id: dict[str, OutboxEntry] = {}
        self._by_record: dict[str, OutboxEntry] = {}
        self.changed: Observers[[]] = Observers()
        self.done: Observers[[OutboxEntry]] = Observers()
        """Called before `changed` with each write that becomes done, in this or another instance."""
        self.reload()

    def find(self, entry_id: str) -> OutboxEntry | None:
        """Return the entry with an id. None if there is no such entry."""
        return next((entry for entry in self.all if entry.id == entry_id), None)

    def reload_if_changed(self) -> None:
        """Read the entries again if any instance has changed the file."""
        if self.state.check_changed():
            self.reload()

    async def _write(self, work: Transaction[R]) -> R:
        result = await self.state.write(work)
        self.reload()
        return result

    async def insert(
        self,
        entries: Sequence[OutboxEntry],
        is_wanted: Callable[[sqlite3.Connection, OutboxEntry], bool],
        extra: ExtraWork,
    ) -> tuple[OutboxEntry, ...]:
        """Store the entries for which `is_wanted` returns True, and return them. Store none if a command with the same
        `--once` key has written."""
        now = self.now()

        def work(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            if any(_is_once_key_used(db, self.state.namespace, entry.draft_key, now) for entry in entries):
                return ()
            wanted = tuple(entry for entry in entries if is_wanted(db, entry))
            for entry in wanted:
                _insert_entry(db, self.state.namespace, entry)
                extra(db, entry)
            return wanted

        return await self._write(work)

    async def step(self, entry_id: str, change: EntryStep, extra: ExtraWork | None = None) -> OutboxEntry | None:
        """Apply one step to the stored entry, and return the changed entry. None if there is no such entry, or if the
        step is not possible in its state."""
        return next(iter(await self.step_all((entry_id,), change, extra)), None)

    async def step_all(
        self, entry_ids: Sequence[str], change: EntryStep, extra: ExtraWork | None = None
    ) -> tuple[OutboxEntry, ...]:
        """Apply a step to several entries in one transaction. Return the changed entries. Entries in whose state the
        step is not possible are left out."""
        now = self.now()

        def work(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            changed = [change_entry(db, self.state.namespace, entry_id, change, now) for entry_id in entry_ids]
            after = tuple(entry for entry in changed if entry is not None)
            if extra is not None:
                for entry in after:
                    extra(db, entry)
            return after

        return await self._write(work)

    async def submit_review(
        self,
        at: Discussion,
        may_send: Callable[[OutboxEntry], bool],
        change: EntryStep,
        final_entries: Sequence[OutboxEntry],
        extra: ExtraWork,
        once_key: str,
    ) -> tuple[OutboxEntry, ...]:
        """Apply `change` to the pending comments of `at` that this account `may_send`, and insert `final_entries` after
        them. Return these entries. `final_entries` has at most one entry: the review, or one more comment.

        Change nothing and return an empty tuple in two cases: `final_entries` is a review and another review of `at` is in
        flight, or a command with `once_key` has already written. The same transaction stores `once_key`.
        """
        now = self.now()

        def work(db: sqlite3.Connection) -> tuple[str, ...]:
            keys = (once_key, *(entry.draft_key for entry in final_entries))
            if any(_is_once_key_used(db, self.state.namespace, key, now) for key in keys):
                return ()
            records = entry_records(db, self.state.namespace)
            stored = (entry for entry_id, record in records if (entry := self._decode(entry_id, record)))
            own = [entry for entry in stored if may_send(entry)]
            if any(entry.facts.is_review for entry in final_entries) and has_review_in_flight(own, at):
                return ()
            comment_ids = tuple(entry.id for entry in own if entry.state == "pending" and entry.at == at)
            submitted = [change_entry(db, self.state.namespace, entry_id, change, now) for entry_id in comment_ids]
            for entry in final_entries:
                _insert_entry(db, self.state.namespace, entry)
                extra(db, entry)
            for submitted_entry in filter(None, submitted):
                _remember_once(db, self.state.namespace, submitted_entry, once_key)
            return (*comment_ids, *(entry.id for entry in final_entries))

        ids = await self._write(work)
        return tuple(entry for entry in self.all if entry.id in ids)

    async def remove(
        self, entry_ids: Sequence[str], extra: ExtraWork, may_remove: Callable[[OutboxEntry], bool]
    ) -> tuple[OutboxEntry, ...]:
        """Delete the entries of `entry_ids` for which `may_remove` returns True, and return them."""

        def work(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            entries = (_find_entry(db, entry_id) for entry_id in entry_ids)
            removed = tuple(entry for entry in entries if entry is not None and may_remove(entry))
            for entry in removed:
                db.execute("DELETE FROM outbox WHERE id = ?", (entry.id,))
                _forget_once(db, self.state.namespace, entry)
                extra(db, entry)
            return removed

        return await self._write(work)

    def reload(self) -> None:
        """Read all entries again. Call the observers if any entry has changed."""
        known_entries, self._by_record = self._by_record, {}
        before, entries = self.all, []
        for entry_id, record in self.state.read(lambda db: entry_records(db, self.state.namespace)):
            entry = known_entries.get(record) or self._decode(entry_id, record)
            if entry is not None:
                self._by_record[record] = entry
                entries.append(entry)
        after = tuple(entries)
        if after == before:
            return
        self.all = after
        # reversed, so that the oldest of several entries with the same created id wins
        self.by_created_id = {entry.created_id: entry for entry in reversed(after)}
        ids = {entry.id for entry in after}
        for entry in before:
            if entry.id not in ids and (done := find_done_entry(self.state, entry.id)) is not None:
                self.done.notify(done)
        self.changed.notify()

    def _decode(self, entry_id: str, record: str) -> OutboxEntry | None:
        """Decode a record. If this version of Octavo cannot read it, add a notice and return None."""
        try:
            return decode_entry(record)
        except ValueError:
            notice = f"An unsent change from another version of Octavo could not be read. The change is kept in state.db as {entry_id}."
            if notice not in self.state.notices:
                self.state.notices = (*self.state.notices, notice)
            return None
