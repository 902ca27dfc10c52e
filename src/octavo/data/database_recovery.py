"""Recovery of the readable rows of a damaged state.db."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from octavo.data.database import connect, private_file, set_aside
from octavo.untrusted_input import parse_json

MAX_SKIPPED_ROWS = 5000
"""Maximum number of unreadable rows that are skipped in a table."""
TABLES = ("facts", "drafts", "sent", "once", "outbox", "inbox_marks")
"""Tables in the order of their recovery. `sent` is before `outbox`, so that writes in `sent` are not restored."""


def recover(path: Path, migrate: Callable[[sqlite3.Connection], None], now: datetime) -> str:
    """Rename the damaged file at `path`, and create a new file from its readable rows and from the newest backup.

    Return a sentence that says how much was recovered, and the path of the old file.
    """
    aside = set_aside(path, f"{path.name}.damaged-{now:%Y%m%d-%H%M%S}")
    private_file(path)
    db = connect(path, synchronous="FULL")
    migrate(db)
    saved = _copy(aside, db)
    backup = max(path.parent.glob(f"{path.name}.v*.bak"), key=lambda each: each.stat().st_mtime, default=None)
    restored = _copy(backup, db, as_of_backup=True) if backup else 0
    db.close()
    return (
        f"{path.name} was damaged. Octavo recovered {saved} {'entry' if saved == 1 else 'entries'} from the file and "
        f"{restored} from a backup. The damaged file was saved as {aside}. Check your drafts."
    )


def _copy(source: Path, db: sqlite3.Connection, *, as_of_backup: bool = False) -> int:
    """Insert the rows of `source` that are not yet in `db`. Return the number of inserted rows."""
    try:
        old = connect(source)
    except sqlite3.Error:
        return 0
    copied = 0
    try:
        for table in TABLES:
            for columns, values in _rows(old, table):
                row = dict(zip(columns, values, strict=True))
                if table == "outbox":
                    if db.execute("SELECT 1 FROM sent WHERE id = ?", [row["id"]]).fetchone():
                        continue
                    row.pop("position", None)
                    if as_of_backup and not _mark_as_failed(row):
                        continue
                copied += _insert(db, table, row)
    finally:
        old.close()
    return copied


def _rows(old: sqlite3.Connection, table: str) -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    """Yield the readable rows of `table`, and skip unreadable rows."""
    last_rowid, skipped = -1, 0
    for _ in range(MAX_SKIPPED_ROWS):
        try:
            cursor = old.execute(
                f"SELECT rowid, * FROM {table} WHERE rowid > ? ORDER BY rowid", (last_rowid + skipped,)
            )
            columns = tuple(column[0] for column in cursor.description[1:])
            for rowid, *values in cursor:
                last_rowid, skipped = rowid, 0
                yield columns, tuple(values)
        except sqlite3.DatabaseError:
            skipped += 1
        else:
            return


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> int:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    try:
        return db.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", tuple(row.values())).rowcount
    except sqlite3.Error:
        return 0


def _mark_as_failed(row: dict[str, Any]) -> bool:
    """Mark a write from a backup as failed, because it may already have been sent. Return False if it is unreadable.

    The user then decides about the write, and Octavo searches the server for the write before sending it.
    """
    try:
        record = parse_json(row["record"])
    except ValueError:
        return False
    if not isinstance(record, dict):
        return False
    # Items on the server that are older than the write are not its result, even if they equal it.
    record.update(
        state="failed",
        rounds=record.get("rounds") or 1,
        since=record.get("since") or record.get("created_at"),
        reason=(
            "This change comes from a backup and may already have been sent. "
            "Check on the server before you retry the change."
        ),
    )
    row.update(state="failed", record=json.dumps(record))
    return True
