"""Stores the entries of the outbox in state.db, for all Octavo processes. Has the table of the kinds of writes.

Each change of an entry is a transaction. Never change a name in a stored record, because older versions of Octavo read
it.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from functools import cache
from typing import Any, TypeAlias, TypeVar

from octavo.api.operation import Discussion, Operation
from octavo.api.wire import Request, decode, encode
from octavo.data.database import Transaction, time_of_timestamp
from octavo.data.live_response import Observers
from octavo.data.state_db import StateDb, read_value, write_value
from octavo.data.writes.machine import (
    ONCE_PREFIX,
    ExpectedState,
    OutboxEntry,
    WriteKind,
    WrongState,
    has_review_in_flight,
)
from octavo.lazy_import import load
from octavo.untrusted_input import parse_json

W = TypeVar("W", bound=Operation[Any])


@cache
def write_kinds() -> Mapping[type[Operation[Any]], WriteKind[Any]]:
    """Return the table of the kinds of writes, by operation type."""
    # lazy: these load parts of the API that the first screen does not need
    return {
        **load("octavo.data.writes.comment_kinds:COMMENT_WRITES"),
        **load("octavo.data.writes.change_request_kinds:CHANGE_REQUEST_WRITES"),
    }


def kind_of(op: W) -> WriteKind[W]:
    """Return the kind of a write, which checks, finds and undoes it. Raises KeyError if `write_kinds` has none."""
    return write_kinds()[type(op)]


R = TypeVar("R")

ONCE_LIFETIME = timedelta(days=7)
"""Time for which a command with the same `--once` key does not repeat a write."""
MAX_SENT_DAYS = 30
"""Days after which a finished write is deleted from state.db."""
MAX_SENT_ROWS = 500
"""Maximum number of finished writes that state.db keeps."""

StoredEntry = tuple[int, str, str, str]
"""A row of the table `outbox`: position, ID, state, and the entry as JSON."""
EntryTransition: TypeAlias = Callable[[OutboxEntry], OutboxEntry]
"""A transition of machine.py: returns the entry in its new state. Raises WrongState."""
EntryCallback: TypeAlias = Callable[[sqlite3.Connection, OutboxEntry], None]
"""Called with each changed entry, in the transaction that changes the entry."""

_TIMES = ("created_at", "requested_at", "held_until", "due_at", "started_at", "may_arrive_until", "newest_at")
_STORED_NAMES = {
    "action": "doing",
    "requested_at": "asked_at",
    "draft_key": "place",
    "expected": "basis",
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
"""Names of attributes in stored records, where they differ from OutboxEntry."""
_STORED_ATTRIBUTES = [field.name for field in fields(OutboxEntry) if field.name not in ("op", "traits")]
"""Attributes of OutboxEntry in stored records. `op` is stored as an HTTP request. `traits` are computed from `op`."""
_PENDING = "gathered"
"""The state `pending` has this name in stored records."""


def entry_records(db: sqlite3.Connection, namespace: str) -> list[tuple[str, str]]:
    """Return the ID and the JSON record of each entry, the oldest first."""
    return db.execute("SELECT id, record FROM outbox WHERE namespace = ? ORDER BY position", (namespace,)).fetchall()


def change_entry(
    db: sqlite3.Connection, namespace: str, entry_id: str, change: EntryTransition, now: datetime
) -> OutboxEntry | None:
    """Apply `change` to a stored entry. Return the changed entry. None if missing, or if its state forbids this."""
    entry = _find_entry(db, entry_id)
    if entry is None:
        return None
    try:
        changed_entry = change(entry)
    except WrongState:
        return None
    if changed_entry.state == "done":
        _finish(db, namespace, changed_entry, now)
    else:
        values = (_stored_state(changed_entry), _encode(changed_entry), entry_id)
        db.execute("UPDATE outbox SET state = ?, record = ? WHERE id = ?", values)
    return changed_entry


def take_pending_comment(db: sqlite3.Connection, namespace: str, entry_id: str) -> StoredEntry | None:
    """Delete a pending comment and its `--once` key, and return its row. None if the comment is no longer pending."""
    delete = "DELETE FROM outbox WHERE id = ? AND state = ? RETURNING position, id, state, record"
    row: StoredEntry | None = next(iter(db.execute(delete, (entry_id, _PENDING)).fetchall()), None)
    if row is not None:
        _free_once_key(db, namespace, decode_entry(row[3]))
    return row


def restore_entry(db: sqlite3.Connection, namespace: str, stored: StoredEntry) -> None:
    """Undo `take_pending_comment`: add the row and its `--once` key. If the position is in use, the row goes last."""
    position, entry_id, state, record = stored
    _store_once_key(db, namespace, decode_entry(record))
    insert = "INSERT OR IGNORE INTO outbox (position, id, namespace, state, record) VALUES (?, ?, ?, ?, ?)"
    if not db.execute(insert, (position, entry_id, namespace, state, record)).rowcount:
        db.execute(insert, (None, entry_id, namespace, state, record))


def find_done_entry(state: StateDb, entry_id: str) -> OutboxEntry | None:
    """Return the entry with the ID `entry_id` if it is done. None if there is no such entry, or if it is unreadable."""
    rows = state.rows("SELECT record FROM sent WHERE id = ?", entry_id)
    try:
        return decode_entry(rows[0][0]) if rows else None
    except ValueError:
        return None


def created_ids(state: StateDb) -> frozenset[str]:
    """Return the IDs of the items that recent writes of this profile have created."""
    rows = state.rows("SELECT remote FROM sent WHERE namespace = ? AND remote IS NOT NULL", state.namespace)
    return frozenset(str(row[0]) for row in rows)


def decode_entry(record: str) -> OutboxEntry:
    """Return the entry in a JSON record. Raises ValueError if this version of Octavo cannot read it."""
    try:
        return _entry_in(parse_json(record))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the record is damaged ({type(error).__name__})") from None


def request_fields(op: Operation[Any]) -> dict[str, Any]:
    """Return the HTTP request of an operation, as fields of a JSON record."""
    request = encode(op)
    return {"method": request.method, "url": request.url, "body": request.body}


def operation_in(fields: Any) -> Operation[Any]:
    """Return the operation whose HTTP request is in `fields`. Raises LookupError or ValueError if it is unknown."""
    return decode(Request(fields["method"], fields["url"], fields["body"]))


def durable_operation_and_kind(fields: Any) -> tuple[Any, WriteKind[Any]]:
    """Return the operation in `fields` and its kind. Raises ValueError or LookupError if the outbox cannot store it."""
    op = operation_in(fields)
    kind = write_kinds().get(type(op))
    if kind is None or not kind.is_durable:
        raise ValueError(f"{type(op).__name__} is not a write that the outbox can store")
    return op, kind


def _entry_in(fields: Any) -> OutboxEntry:
    op, kind = durable_operation_and_kind(fields)
    values = {name: fields[key] for name in _STORED_ATTRIBUTES if (key := _STORED_NAMES.get(name, name)) in fields}
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = time_of_timestamp(values[name])
    if values.get("state") == _PENDING:
        values["state"] = "pending"
    values["baseline"] = tuple(values.get("baseline", ()))
    values["expected"] = ExpectedState(**values.get("expected", {}))
    return OutboxEntry(op=op, traits=kind.traits(op), **values)


def _encode(entry: OutboxEntry) -> str:
    plain: dict[str, Any] = {}
    for name in _STORED_ATTRIBUTES:
        value = getattr(entry, name)
        plain[_STORED_NAMES.get(name, name)] = value.timestamp() if name in _TIMES and value is not None else value
    plain.update(request_fields(entry.op), state=_stored_state(entry), basis=asdict(entry.expected))
    return json.dumps(plain)


def _stored_state(entry: OutboxEntry) -> str:
    return _PENDING if entry.state == "pending" else entry.state


def _find_entry(db: sqlite3.Connection, entry_id: str) -> OutboxEntry | None:
    row = db.execute("SELECT record FROM outbox WHERE id = ?", (entry_id,)).fetchone()
    return decode_entry(row[0]) if row else None


def once_group(record: Any, now: datetime) -> str | None:
    """Return the ID of the write group in the `record` of a `--once` key. None if the record is too old or invalid."""
    try:
        return str(record["group"]) if now - datetime.fromisoformat(str(record["at"])) < ONCE_LIFETIME else None
    except (KeyError, TypeError, ValueError):
        return None


def _is_once_key_used(db: sqlite3.Connection, namespace: str, key: str, now: datetime) -> bool:
    return key.startswith(ONCE_PREFIX) and once_group(read_value(db, namespace, key), now) is not None


def _store_once_key(db: sqlite3.Connection, namespace: str, entry: OutboxEntry, key: str = "") -> None:
    """If a command with `--once` made the write, store the key of the command: `key`, or else `entry.draft_key`."""
    key = key or entry.draft_key
    if key.startswith(ONCE_PREFIX):
        record = {"at": entry.requested_at.isoformat(), "group": entry.review or entry.group}
        write_value(db, namespace, key, record)


def _free_once_key(db: sqlite3.Connection, namespace: str, entry: OutboxEntry) -> None:
    """Free the `--once` key of `entry` for a new write. Do nothing if the server may have the write of `entry`."""
    if entry.draft_key.startswith(ONCE_PREFIX) and entry.state != "unknown" and not entry.was_not_found:
        write_value(db, namespace, entry.draft_key, None)


def _insert_entry(db: sqlite3.Connection, namespace: str, entry: OutboxEntry) -> None:
    _store_once_key(db, namespace, entry)
    insert = "INSERT INTO outbox (id, namespace, state, record) VALUES (?, ?, ?, ?)"
    db.execute(insert, (entry.id, namespace, _stored_state(entry), _encode(entry)))


def _finish(db: sqlite3.Connection, namespace: str, entry: OutboxEntry, now: datetime) -> None:
    insert, record = "INSERT OR IGNORE INTO sent VALUES (?, ?, ?, ?, ?)", _encode(entry)
    if not db.execute(insert, (entry.id, namespace, entry.remote_id or None, now.timestamp(), record)).rowcount:
        # A remote ID must be unique, and another write already has this ID.
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
    """All entries in state.db that are not done, also those of other processes. Coroutines raise NotSaved."""

    def __init__(self, state: StateDb, now: Callable[[], datetime]) -> None:
        self.state = state
        self.now = now
        self.all: tuple[OutboxEntry, ...] = ()
        """The entries, the oldest first."""
        self.by_created_id: dict[str, OutboxEntry] = {}
        self._by_record: dict[str, OutboxEntry] = {}
        self.changed: Observers[[]] = Observers()
        self.done: Observers[[OutboxEntry]] = Observers()
        """Called with each entry that this or another process has completed. Called before `changed`."""
        self.reload()

    def find(self, entry_id: str) -> OutboxEntry | None:
        return next((entry for entry in self.all if entry.id == entry_id), None)

    def reload_if_changed(self) -> None:
        """Read the entries again if any process has changed state.db."""
        if self.state.check_changed():
            self.reload()

    async def _write(self, function: Transaction[R]) -> R:
        result = await self.state.write(function)
        self.reload()
        return result

    async def insert(
        self,
        entries: Sequence[OutboxEntry],
        is_wanted: Callable[[sqlite3.Connection, OutboxEntry], bool],
        on_entry: EntryCallback,
    ) -> tuple[OutboxEntry, ...]:
        """Store the entries that pass `is_wanted`, call `on_entry` for each of them in the same transaction, and return
        them. If the `--once` key of an entry was used before, store nothing and return an empty tuple."""
        now = self.now()

        def insert_wanted(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            if any(_is_once_key_used(db, self.state.namespace, entry.draft_key, now) for entry in entries):
                return ()
            wanted_entries = tuple(entry for entry in entries if is_wanted(db, entry))
            for entry in wanted_entries:
                _insert_entry(db, self.state.namespace, entry)
                on_entry(db, entry)
            return wanted_entries

        return await self._write(insert_wanted)

    async def apply(
        self, entry_id: str, change: EntryTransition, on_entry: EntryCallback | None = None
    ) -> OutboxEntry | None:
        """Call `apply_to_all` for one entry. Return the changed entry. None if it is missing or in the wrong state."""
        return next(iter(await self.apply_to_all((entry_id,), change, on_entry)), None)

    async def apply_to_all(
        self, entry_ids: Sequence[str], change: EntryTransition, on_entry: EntryCallback | None = None
    ) -> tuple[OutboxEntry, ...]:
        """Apply a transition to entries in one transaction, with `on_entry` for each. Return the changed entries."""
        now = self.now()

        def change_entries(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            results = [change_entry(db, self.state.namespace, entry_id, change, now) for entry_id in entry_ids]
            changed_entries = tuple(entry for entry in results if entry is not None)
            if on_entry is not None:
                for entry in changed_entries:
                    on_entry(db, entry)
            return changed_entries

        return await self._write(change_entries)

    async def submit_review(
        self,
        at: Discussion,
        may_send: Callable[[OutboxEntry], bool],
        change: EntryTransition,
        final_entries: Sequence[OutboxEntry],
        on_entry: EntryCallback,
        once_key: str,
        comment_ids: Collection[str] | None,
    ) -> tuple[OutboxEntry, ...]:
        """Submit the pending comments of `at` for which `may_send` is True, by the transition `change`. Then store
        `final_entries`, and call `on_entry` for each in the same transaction. Return all these entries. With
        `comment_ids`, leave out comments with other IDs. Empty if a `--once` key was used before, or if `final_entries`
        has a review and another review of `at` is being sent."""
        now = self.now()

        def submit(db: sqlite3.Connection) -> tuple[str, ...]:
            keys = (once_key, *(entry.draft_key for entry in final_entries))
            if any(_is_once_key_used(db, self.state.namespace, key, now) for key in keys):
                return ()
            records = entry_records(db, self.state.namespace)
            stored_entries = (entry for entry_id, record in records if (entry := self._decode(entry_id, record)))
            own_entries = [entry for entry in stored_entries if may_send(entry)]
            if any(entry.traits.is_review for entry in final_entries) and has_review_in_flight(own_entries, at):
                return ()
            pending_ids = [entry.id for entry in own_entries if entry.state == "pending" and entry.at == at]
            submitted_ids = [each for each in pending_ids if comment_ids is None or each in comment_ids]
            submitted = [change_entry(db, self.state.namespace, entry_id, change, now) for entry_id in submitted_ids]
            for entry in final_entries:
                _insert_entry(db, self.state.namespace, entry)
                on_entry(db, entry)
            for submitted_entry in filter(None, submitted):
                _store_once_key(db, self.state.namespace, submitted_entry, once_key)
            return (*submitted_ids, *(entry.id for entry in final_entries))

        ids = await self._write(submit)
        return tuple(entry for entry in self.all if entry.id in ids)

    async def remove(
        self,
        entry_ids: Sequence[str],
        on_removed: EntryCallback,
        may_remove: Callable[[OutboxEntry], bool],
        change: EntryTransition | None = None,
    ) -> tuple[OutboxEntry, ...]:
        """In one transaction, delete each entry for which `may_remove` returns True, and call `on_removed` for it.
        Apply `change` to the other entries, if given. Return the deleted and the changed entries."""
        now = self.now()

        def remove_or_change(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            results: list[OutboxEntry | None] = []
            for entry in filter(None, [_find_entry(db, entry_id) for entry_id in entry_ids]):
                if may_remove(entry):
                    db.execute("DELETE FROM outbox WHERE id = ?", (entry.id,))
                    _free_once_key(db, self.state.namespace, entry)
                    on_removed(db, entry)
                    results.append(entry)
                elif change is not None:
                    results.append(change_entry(db, self.state.namespace, entry.id, change, now))
            return tuple(filter(None, results))

        return await self._write(remove_or_change)

    def reload(self) -> None:
        """Read all entries from state.db again. Notify observers if an entry has changed."""
        known_entries, self._by_record = self._by_record, {}
        old_entries, entries = self.all, []
        for entry_id, record in self.state.read(lambda db: entry_records(db, self.state.namespace)):
            entry = known_entries.get(record) or self._decode(entry_id, record)
            if entry is not None:
                self._by_record[record] = entry
                entries.append(entry)
        new_entries = tuple(entries)
        if new_entries == old_entries:
            return
        self.all = new_entries
        # The order is reversed, so that the oldest of several entries with the same created ID is used.
        self.by_created_id = {entry.created_id: entry for entry in reversed(new_entries)}
        ids = {entry.id for entry in new_entries}
        for entry in old_entries:
            if entry.id not in ids and (done_entry := find_done_entry(self.state, entry.id)) is not None:
                self.done.notify(done_entry)
        self.changed.notify()

    def _decode(self, entry_id: str, record: str) -> OutboxEntry | None:
        """Return the entry in a record. If the record is unreadable, add a notice for the user, and return None."""
        try:
            return decode_entry(record)
        except ValueError:
            notice = f"An unsent change from another version of Octavo could not be read. The change is kept in state.db as {entry_id}."
            if notice not in self.state.notices:
                self.state.notices = (*self.state.notices, notice)
            return None
