"""Stores the outbox in state.db, for all instances of Octavo.

Each change is one transaction on the stored entry. Stored names never change: older versions of Octavo read them.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from octavo.api.wire import Request, decode, encode
from octavo.data.database import moment
from octavo.data.observers import Observers
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import OutboxEntry, WrongState
from octavo.data.writes.write_kind import Basis
from octavo.untrusted_input import parse_json

SENT_DAYS, SENT_ROWS = 30, 500
"""Age in days and number of the sent writes that are stored."""

StoredEntry = tuple[int, str, str, str]
"""An entry as it is stored: its position, id, state and record."""
_TIMES = ("created_at", "requested_at", "held_until", "due_at", "started_at", "may_arrive_until", "since")
_STORED_NAMES = {
    "action": "doing",
    "requested_at": "asked_at",
    "draft_key": "place",
    "context": "about",
    "may_arrive_until": "settles_at",
    "failed_lookups": "rounds",
    "postponements": "put_off",
    "remote_id": "remote",
    "changed_by_others": "contested",
    "already_done": "needless",
}
"""The names of attributes in a record, where they differ. Older versions of Octavo read them."""
_PENDING = "gathered"
"""The state `pending` on disk. Older versions of Octavo read it."""


def entry_records(db: sqlite3.Connection, namespace: str) -> list[tuple[str, str]]:
    """Return the id and the record of each entry, oldest first."""
    return db.execute("SELECT id, record FROM outbox WHERE namespace = ? ORDER BY position", (namespace,)).fetchall()


def find_entry(db: sqlite3.Connection, entry_id: str) -> OutboxEntry | None:
    """Return the entry with an id. None if there is none. Raises ValueError if its record cannot be read."""
    row = db.execute("SELECT record FROM outbox WHERE id = ?", (entry_id,)).fetchone()
    return decode_entry(row[0]) if row else None


def insert_entry(db: sqlite3.Connection, namespace: str, entry: OutboxEntry) -> None:
    """Add an entry after all others."""
    db.execute(
        "INSERT INTO outbox (id, namespace, state, record) VALUES (?, ?, ?, ?)",
        (entry.id, namespace, _stored_state(entry), _record(entry)),
    )


def change_entry(
    db: sqlite3.Connection, namespace: str, entry_id: str, change: Callable[[OutboxEntry], OutboxEntry], now: datetime
) -> OutboxEntry | None:
    """Take one step with the stored entry, and return it. None if it is gone, or cannot take this step any more."""
    entry = find_entry(db, entry_id)
    if entry is None:
        return None
    try:
        after = change(entry)
    except WrongState:
        return None
    if after.state == "done":
        _finish(db, namespace, after, now)
    else:
        db.execute(
            "UPDATE outbox SET state = ?, record = ? WHERE id = ?", (_stored_state(after), _record(after), entry_id)
        )
    return after


def take_pending_comment(db: sqlite3.Connection, entry_id: str) -> StoredEntry | None:
    """Delete a pending comment, and return it as it was stored. None if it is not pending any more."""
    delete = "DELETE FROM outbox WHERE id = ? AND state = ? RETURNING position, id, state, record"
    rows = db.execute(delete, (entry_id, _PENDING)).fetchall()
    return rows[0] if rows else None


def restore_entry(db: sqlite3.Connection, namespace: str, kept: StoredEntry) -> None:
    """Store an entry again that `take_pending_comment` deleted, in its place, else after all others."""
    position, entry_id, state, record = kept
    insert = "INSERT OR IGNORE INTO outbox (position, id, namespace, state, record) VALUES (?, ?, ?, ?, ?)"
    if not db.execute(insert, (position, entry_id, namespace, state, record)).rowcount:
        db.execute(insert, (None, entry_id, namespace, state, record))


def done_entry(db: sqlite3.Connection, entry_id: str) -> OutboxEntry | None:
    """Return the sent write with an id. None if it is not sent, or its record cannot be read."""
    row = db.execute("SELECT record FROM sent WHERE id = ?", (entry_id,)).fetchone()
    try:
        return decode_entry(row[0]) if row else None
    except ValueError:
        return None


def created_ids(db: sqlite3.Connection, namespace: str) -> frozenset[str]:
    """Return the ids of what writes of this profile created: no two writes create the same."""
    rows = db.execute("SELECT remote FROM sent WHERE namespace = ? AND remote IS NOT NULL", (namespace,))
    return frozenset(str(row[0]) for row in rows)


def _finish(db: sqlite3.Connection, namespace: str, entry: OutboxEntry, now: datetime) -> None:
    record = _record(entry)
    values = (entry.id, namespace, entry.remote_id or None, now.timestamp(), record)
    if not db.execute("INSERT OR IGNORE INTO sent VALUES (?, ?, ?, ?, ?)", values).rowcount:
        db.execute(
            "INSERT OR IGNORE INTO sent VALUES (?, ?, NULL, ?, ?)", (entry.id, namespace, now.timestamp(), record)
        )
    db.execute("DELETE FROM outbox WHERE id = ?", (entry.id,))
    horizon = (now - timedelta(days=SENT_DAYS)).timestamp()
    db.execute("DELETE FROM sent WHERE namespace = ? AND sent_at < ?", (namespace, horizon))
    db.execute(
        "DELETE FROM sent WHERE namespace = ?1 AND id NOT IN"
        " (SELECT id FROM sent WHERE namespace = ?1 ORDER BY sent_at DESC LIMIT ?2)",
        (namespace, SENT_ROWS),
    )


def _stored_state(entry: OutboxEntry) -> str:
    return _PENDING if entry.state == "pending" else entry.state


def _record(entry: OutboxEntry) -> str:
    request = encode(entry.op)
    plain: dict[str, Any] = {}
    for name in _names():
        value = getattr(entry, name)
        plain[_STORED_NAMES.get(name, name)] = value.timestamp() if name in _TIMES and value is not None else value
    plain.update(state=_stored_state(entry), basis=asdict(entry.basis))
    plain.update(method=request.method, url=request.url, body=request.body)
    return json.dumps(plain)


def _names() -> list[str]:
    """Return the attributes of an entry that are stored under a name, and not as a request."""
    return [each.name for each in fields(OutboxEntry) if each.name not in ("op", "facts")]


def decode_entry(record: str) -> OutboxEntry:
    """Return the entry of a record. Raises ValueError if this version of Octavo cannot read it."""
    try:
        return _entry(parse_json(record))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the record is damaged ({type(error).__name__})") from None


def _entry(plain: Any) -> OutboxEntry:
    from octavo.data.writes.kinds import KINDS  # lazy: the areas of the API that write

    op: Any = decode(Request(plain.pop("method"), plain.pop("url"), plain.pop("body")))
    kind = KINDS.get(type(op))
    if kind is None or not kind.is_durable:
        raise ValueError(f"{type(op).__name__} is not a write that the outbox can store")
    values = {name: plain[stored] for name in _names() if (stored := _STORED_NAMES.get(name, name)) in plain}
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = moment(values[name])
    if values.get("state") == _PENDING:
        values["state"] = "pending"
    values["baseline"] = tuple(values.get("baseline", ()))
    values["basis"] = Basis(**values.get("basis", {}))
    return OutboxEntry(op=op, facts=kind.facts(op), **values)


Also = Callable[[sqlite3.Connection, OutboxEntry], None]
"""Work in the same transaction as a step."""


class OutboxEntries:
    """All entries that are not done, as every instance of Octavo sees them."""

    def __init__(self, state: StateDb, now: Callable[[], datetime]) -> None:
        self.state = state
        self.now = now
        self.entries: tuple[OutboxEntry, ...] = ()
        self.by_pending_id: dict[str, OutboxEntry] = {}
        """The entries by the ids of what they create."""
        self._read: dict[str, OutboxEntry] = {}
        self.changed: Observers[[]] = Observers()
        self.done: Observers[[OutboxEntry]] = Observers()
        """Called with each write that is done, in this instance or another, before `changed`."""
        self.reload()

    def find(self, entry_id: str) -> OutboxEntry | None:
        """Return the entry with an id. None if there is none."""
        return next((entry for entry in self.entries if entry.id == entry_id), None)

    def refresh(self) -> None:
        """Read what other instances wrote."""
        if self.state.changed():
            self.reload()

    async def insert(self, entries: Sequence[OutboxEntry], also: Also) -> tuple[OutboxEntry, ...]:
        """Store all `entries`, or none, and return them. Raises NotSaved."""

        def work(db: sqlite3.Connection) -> None:
            for entry in entries:
                insert_entry(db, self.state.namespace, entry)
                also(db, entry)

        await self.state.write(work)
        self.reload()
        return tuple(entries)

    async def step(
        self, entry_id: str, change: Callable[[OutboxEntry], OutboxEntry], also: Also | None = None
    ) -> OutboxEntry | None:
        """Take one step with the stored entry, and return it. None if it is gone, or cannot take this step any more.

        Raises NotSaved.
        """
        now = self.now()

        def work(db: sqlite3.Connection) -> OutboxEntry | None:
            after = change_entry(db, self.state.namespace, entry_id, change, now)
            if after and also:
                also(db, after)
            return after

        after = await self.state.write(work)
        self.reload()
        return after

    async def step_all(
        self, entry_ids: Iterable[str], change: Callable[[OutboxEntry], OutboxEntry]
    ) -> tuple[OutboxEntry, ...]:
        """Take one step with those of several entries that can take it, and return them. Raises NotSaved."""
        now, ids = self.now(), tuple(entry_ids)

        def work(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            changed = (change_entry(db, self.state.namespace, entry_id, change, now) for entry_id in ids)
            return tuple(entry for entry in changed if entry is not None)

        after = await self.state.write(work)
        self.reload()
        return after

    async def submit_review(
        self,
        found: Callable[[OutboxEntry], bool],
        change: Callable[[OutboxEntry], OutboxEntry],
        then: Sequence[OutboxEntry],
        also: Also,
    ) -> tuple[OutboxEntry, ...]:
        """Take one step with all stored entries that are `found`, add `then` after them, and return all of them.

        Empty, and nothing is changed, if an entry like those of `then` may still arrive. Raises NotSaved.
        """
        now = self.now()

        def work(db: sqlite3.Connection) -> tuple[str, ...]:
            here = [
                entry
                for entry_id, record in entry_records(db, self.state.namespace)
                if (entry := self._decoded(entry_id, record))
            ]
            if any(
                type(each.op) is type(new.op) and each.target == new.target and each.may_still_arrive
                for each in here
                for new in then
            ):
                return ()
            taken = tuple(entry.id for entry in here if found(entry))
            for entry_id in taken:
                change_entry(db, self.state.namespace, entry_id, change, now)
            for entry in then:
                insert_entry(db, self.state.namespace, entry)
                also(db, entry)
            return (*taken, *(entry.id for entry in then))

        ids = await self.state.write(work)
        self.reload()
        return tuple(entry for entry in self.entries if entry.id in ids)

    async def remove(self, entry_ids: Iterable[str], also: Also, *states: str) -> tuple[OutboxEntry, ...]:
        """Delete the entries that are in one of `states`, and return them. Raises NotSaved."""
        ids = tuple(entry_ids)

        def work(db: sqlite3.Connection) -> tuple[OutboxEntry, ...]:
            found = (find_entry(db, entry_id) for entry_id in ids)
            removed = tuple(entry for entry in found if entry is not None and entry.state in states)
            for entry in removed:
                db.execute("DELETE FROM outbox WHERE id = ?", (entry.id,))
                also(db, entry)
            return removed

        removed = await self.state.write(work)
        self.reload()
        return removed

    def reload(self) -> None:
        """Read all entries again, and call those who observe the entries that are done."""
        before, now = self._read, {}
        entries = []
        for entry_id, record in self.state.read(lambda db: entry_records(db, self.state.namespace)):
            entry = before.get(record) or self._decoded(entry_id, record)
            if entry is not None:
                now[record] = entry
                entries.append(entry)
        self._read = now
        after = tuple(entries)
        if after == self.entries:
            return
        there = {each.id for each in after}
        gone = [entry for entry in self.entries if entry.id not in there]
        self.entries = after
        # Of entries that create the same, the oldest counts.
        self.by_pending_id = {each.pending_id: each for each in reversed(after)}
        for entry in gone:
            done = self.state.read(partial(done_entry, entry_id=entry.id))
            if done is not None:
                self.done.notify(done)
        self.changed.notify()

    def _decoded(self, entry_id: str, record: str) -> OutboxEntry | None:
        try:
            return decode_entry(record)
        except ValueError:
            notice = f"An unsent change from another version of Octavo could not be read. The change is kept in state.db as {entry_id}."
            if notice not in self.state.notices:
                self.state.notices = (*self.state.notices, notice)
            return None
