"""The outbox on disk, in state.db, and as every instance of Octavo sees it.

Each change is made to what is on disk then, in one transaction. The names of columns and of the keys of a record never
change: older versions of Octavo read them.
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
from octavo.data.state import State
from octavo.data.writes.attempt import Basis
from octavo.data.writes.machine import Entry, WrongState
from octavo.untrusted_input import parse_json

SENT_DAYS, SENT_ROWS = 30, 500
"""How many days, and how many, sent writes are stored."""

Kept = tuple[int, str, str, str]
"""An entry as it is stored: its position, id, state and record."""
_TIMES = ("created_at", "asked_at", "held_until", "due_at", "started_at", "settles_at", "since")


def entry_records(db: sqlite3.Connection, namespace: str) -> list[tuple[str, str]]:
    """Return the id and the record of each entry, oldest first."""
    return db.execute("SELECT id, record FROM outbox WHERE namespace = ? ORDER BY position", (namespace,)).fetchall()


def find_entry(db: sqlite3.Connection, entry_id: str) -> Entry | None:
    """Return the entry with an id. None if there is none. Raises ValueError if its record cannot be read."""
    row = db.execute("SELECT record FROM outbox WHERE id = ?", (entry_id,)).fetchone()
    return decode_entry(row[0]) if row else None


def insert_entry(db: sqlite3.Connection, namespace: str, entry: Entry) -> None:
    """Add an entry after all others."""
    db.execute(
        "INSERT INTO outbox (id, namespace, state, record) VALUES (?, ?, ?, ?)",
        (entry.id, namespace, entry.state, _record(entry)),
    )


def change_entry(
    db: sqlite3.Connection, namespace: str, entry_id: str, change: Callable[[Entry], Entry], now: datetime
) -> Entry | None:
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
        db.execute("UPDATE outbox SET state = ?, record = ? WHERE id = ?", (after.state, _record(after), entry_id))
    return after


def delete_entry(db: sqlite3.Connection, entry_id: str) -> None:
    """Delete an entry that will not be sent."""
    db.execute("DELETE FROM outbox WHERE id = ?", (entry_id,))


def take_pending_comment(db: sqlite3.Connection, entry_id: str) -> Kept | None:
    """Delete a pending comment, and return it as it was stored. None if it is not pending any more."""
    rows = db.execute(
        "DELETE FROM outbox WHERE id = ? AND state = 'gathered' RETURNING position, id, state, record", (entry_id,)
    ).fetchall()
    return rows[0] if rows else None


def restore_entry(db: sqlite3.Connection, namespace: str, kept: Kept) -> None:
    """Store an entry again that `take_pending_comment` deleted, in its place, else after all others."""
    position, entry_id, state, record = kept
    insert = "INSERT OR IGNORE INTO outbox (position, id, namespace, state, record) VALUES (?, ?, ?, ?, ?)"
    if not db.execute(insert, (position, entry_id, namespace, state, record)).rowcount:
        db.execute(insert, (None, entry_id, namespace, state, record))


def done_entry(db: sqlite3.Connection, entry_id: str) -> Entry | None:
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


def _finish(db: sqlite3.Connection, namespace: str, entry: Entry, now: datetime) -> None:
    record = _record(entry)
    values = (entry.id, namespace, entry.remote or None, now.timestamp(), record)
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


def _record(entry: Entry) -> str:
    request = encode(entry.op)
    plain = {
        each.name: getattr(entry, each.name) for each in fields(entry) if each.name not in ("op", "facts", "basis")
    }
    for name in _TIMES:
        if plain[name] is not None:
            plain[name] = plain[name].timestamp()
    plain.update(method=request.method, url=request.url, body=request.body, basis=asdict(entry.basis))
    return json.dumps(plain)


def decode_entry(record: str) -> Entry:
    """Return the entry of a record. Raises ValueError if this version of Octavo cannot read it."""
    try:
        return _entry(parse_json(record))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the record is damaged ({type(error).__name__})") from None


def _entry(plain: Any) -> Entry:
    from octavo.data.writes.kinds import KINDS  # lazy: the areas of the API that write

    op: Any = decode(Request(plain.pop("method"), plain.pop("url"), plain.pop("body")))
    kind = KINDS.get(type(op))
    if kind is None or not kind.is_durable:
        raise ValueError(f"{type(op).__name__} is not a write that the outbox can store")
    known = {each.name for each in fields(Entry)} - {"facts"}
    values = {name: value for name, value in plain.items() if name in known}
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = moment(values[name])
    values["baseline"] = tuple(values.get("baseline", ()))
    values["basis"] = Basis(**values.get("basis", {}))
    return Entry(op=op, facts=kind.facts(op), **values)


Also = Callable[[sqlite3.Connection, Entry], None]
"""Work in the same transaction as a step."""


class OutboxEntries:
    """All entries that are not done, as every instance of Octavo sees them."""

    def __init__(self, state: State, now: Callable[[], datetime]) -> None:
        self.state = state
        self.now = now
        self.entries: tuple[Entry, ...] = ()
        self.by_name: dict[str, Entry] = {}
        """The entries by the ids of what they create."""
        self._read: dict[str, Entry] = {}
        self.changed: Observers[[]] = Observers()
        self.done: Observers[[Entry]] = Observers()
        """Called with each write that is done, in this instance or another, before `changed`."""
        self.reload()

    def find(self, entry_id: str) -> Entry | None:
        """Return the entry with an id. None if there is none."""
        return next((entry for entry in self.entries if entry.id == entry_id), None)

    def refresh(self) -> None:
        """Read what other instances wrote."""
        if self.state.changed():
            self.reload()

    async def insert(self, entries: Sequence[Entry], also: Also) -> None:
        """Store all `entries`, or none. Raises NotSaved."""

        def work(db: sqlite3.Connection) -> None:
            for entry in entries:
                insert_entry(db, self.state.namespace, entry)
                also(db, entry)

        await self.state.write(work)
        self.reload()

    async def step(self, entry_id: str, change: Callable[[Entry], Entry], also: Also | None = None) -> Entry | None:
        """Take one step with the stored entry, and return it. None if it is gone, or cannot take this step any more.

        Raises NotSaved.
        """
        now = self.now()

        def work(db: sqlite3.Connection) -> Entry | None:
            after = change_entry(db, self.state.namespace, entry_id, change, now)
            if after and also:
                also(db, after)
            return after

        after = await self.state.write(work)
        self.reload()
        return after

    async def release(self, entry_ids: Iterable[str], change: Callable[[Entry], Entry]) -> None:
        """Take one step with those of several entries that can take it. Raises NotSaved."""
        now, ids = self.now(), tuple(entry_ids)

        def work(db: sqlite3.Connection) -> None:
            for entry_id in ids:
                change_entry(db, self.state.namespace, entry_id, change, now)

        await self.state.write(work)
        self.reload()

    async def let_go(
        self, found: Callable[[Entry], bool], change: Callable[[Entry], Entry], then: Sequence[Entry], also: Also
    ) -> tuple[Entry, ...]:
        """Take one step with all stored entries that are `found`, add `then` after them, and return all of them.

        Empty, and nothing is changed, if an entry like one of `then` may still arrive. Raises NotSaved.
        """
        now = self.now()

        def work(db: sqlite3.Connection) -> tuple[str, ...]:
            here = [
                entry
                for entry_id, record in entry_records(db, self.state.namespace)
                if (entry := self._decoded(entry_id, record))
            ]
            if any(
                type(each.op) is type(new.op) and each.target == new.target and each.is_on_its_way
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

    async def remove(self, entry_ids: Iterable[str], also: Also, *states: str) -> tuple[Entry, ...]:
        """Delete the entries that are in one of `states`, and return them. Raises NotSaved."""
        ids = tuple(entry_ids)

        def work(db: sqlite3.Connection) -> tuple[Entry, ...]:
            found = (find_entry(db, entry_id) for entry_id in ids)
            removed = tuple(entry for entry in found if entry is not None and entry.state in states)
            for entry in removed:
                delete_entry(db, entry.id)
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
        self.by_name = {each.pending_id: each for each in reversed(after)}
        for entry in gone:
            done = self.state.read(partial(done_entry, entry_id=entry.id))
            if done is not None:
                self.done.notify(done)
        self.changed.notify()

    def _decoded(self, entry_id: str, record: str) -> Entry | None:
        try:
            return decode_entry(record)
        except ValueError:
            notice = f"An unsent change from another version of Octavo could not be read. The change is kept in state.db as {entry_id}."
            if notice not in self.state.notices:
                self.state.notices = (*self.state.notices, notice)
            return None
