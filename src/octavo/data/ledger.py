"""The writes of a profile in state.db. Every change is made to what is there then, in one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from typing import Any

from octavo.api.wire import Request, decode, encode
from octavo.data.database import moment
from octavo.data.writes.attempt import Basis
from octavo.data.writes.machine import Entry, WrongState
from octavo.untrusted_input import parse_json

SENT_DAYS, SENT_ROWS = 30, 500
"""How long, and how many, writes are kept after they were sent."""

Kept = tuple[int, str, str, str]
"""An entry as it is on disk: its position, id, state and record."""
_TIMES = ("created_at", "asked_at", "held_until", "due_at", "started_at", "settles_at", "since")


def records(db: sqlite3.Connection, namespace: str) -> list[tuple[str, str]]:
    """The id and the record of each entry, oldest first."""
    return db.execute("SELECT id, record FROM outbox WHERE namespace = ? ORDER BY position", (namespace,)).fetchall()


def find(db: sqlite3.Connection, entry_id: str) -> Entry | None:
    """The entry called `entry_id`, or None."""
    row = db.execute("SELECT record FROM outbox WHERE id = ?", (entry_id,)).fetchone()
    return read(row[0]) if row else None


def insert(db: sqlite3.Connection, namespace: str, entry: Entry) -> None:
    """Put `entry` after all others."""
    db.execute(
        "INSERT INTO outbox (id, namespace, state, record) VALUES (?, ?, ?, ?)",
        (entry.id, namespace, entry.state, _record(entry)),
    )


def step(
    db: sqlite3.Connection, namespace: str, entry_id: str, change: Callable[[Entry], Entry], now: datetime
) -> Entry | None:
    """Take one step with the entry as it is now. None when it is gone or cannot take this step any more."""
    entry = find(db, entry_id)
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


def remove(db: sqlite3.Connection, entry_id: str) -> None:
    """Forget an entry that will not be sent."""
    db.execute("DELETE FROM outbox WHERE id = ?", (entry_id,))


def take_gathered(db: sqlite3.Connection, entry_id: str) -> Kept | None:
    """Forget an entry that is gathered, and answer it as it was. None: it is not, or not any more."""
    rows = db.execute(
        "DELETE FROM outbox WHERE id = ? AND state = 'gathered' RETURNING position, id, state, record", (entry_id,)
    ).fetchall()
    return rows[0] if rows else None


def give_back(db: sqlite3.Connection, namespace: str, kept: Kept) -> None:
    """Undo `take_gathered`: it stands where it stood, or, where another stands by now, after all others."""
    position, entry_id, state, record = kept
    insert = "INSERT OR IGNORE INTO outbox (position, id, namespace, state, record) VALUES (?, ?, ?, ?, ?)"
    if not db.execute(insert, (position, entry_id, namespace, state, record)).rowcount:
        db.execute(insert, (None, entry_id, namespace, state, record))


def done(db: sqlite3.Connection, entry_id: str) -> Entry | None:
    """The write called `entry_id`. None if it is not done, or its record cannot be read."""
    row = db.execute("SELECT record FROM sent WHERE id = ?", (entry_id,)).fetchone()
    try:
        return read(row[0]) if row else None
    except ValueError:
        return None


def claimed(db: sqlite3.Connection, namespace: str) -> frozenset[str]:
    """What writes of ours made: no two of them made the same."""
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


def read(record: str) -> Entry:
    """The entry a record stands for. Raises ValueError when no operation of today reads it."""
    try:
        return _entry(parse_json(record))
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"the record is damaged ({type(error).__name__})") from None


def _entry(plain: Any) -> Entry:
    from octavo.data.writes.kinds import KINDS  # lazy: the areas of the API that write

    op: Any = decode(Request(plain.pop("method"), plain.pop("url"), plain.pop("body")))
    kind = KINDS.get(type(op))
    if kind is None or not kind.is_durable:
        raise ValueError(f"{type(op).__name__} is no write that waits on disk")
    known = {each.name for each in fields(Entry)} - {"facts"}
    values = {name: value for name, value in plain.items() if name in known}
    for name in _TIMES:
        if values.get(name) is not None:
            values[name] = moment(values[name])
    values["baseline"] = tuple(values.get("baseline", ()))
    values["basis"] = Basis(**values.get("basis", {}))
    return Entry(op=op, facts=kind.facts(op), **values)
