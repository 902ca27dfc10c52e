"""The database `state.db`, with the drafts, the outbox and other small data of each profile. It is never deleted."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from octavo.data.database import (
    ReplaceableFile,
    Transaction,
    Writer,
    connect,
    describe_error,
    is_intact,
    make_private,
    recover,
    table_names,
    transaction,
)
from octavo.data.live_response import Observers
from octavo.private_files import lock_file, try_lock_file
from octavo.untrusted_input import parse_json

R = TypeVar("R")

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE facts (namespace TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
        " PRIMARY KEY (namespace, name)) STRICT",
        "CREATE TABLE drafts (namespace TEXT NOT NULL, place TEXT NOT NULL, writer TEXT NOT NULL, text TEXT NOT NULL,"
        " revision INTEGER NOT NULL, saved_at REAL NOT NULL, PRIMARY KEY (namespace, place, writer)) STRICT",
        "CREATE TABLE outbox (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, namespace TEXT NOT NULL,"
        " state TEXT NOT NULL, record TEXT NOT NULL) STRICT",
        "CREATE TABLE sent (id TEXT PRIMARY KEY, namespace TEXT NOT NULL, remote TEXT, sent_at REAL NOT NULL,"
        " record TEXT NOT NULL, UNIQUE (namespace, remote)) STRICT",
        "CREATE TABLE once (namespace TEXT NOT NULL, name TEXT NOT NULL, started_at REAL NOT NULL,"
        " PRIMARY KEY (namespace, name)) STRICT",
    ),
    (
        "CREATE TABLE inbox_marks (namespace TEXT NOT NULL, key TEXT NOT NULL, is_read INTEGER NOT NULL,"
        " kind TEXT NOT NULL, stamp TEXT NOT NULL, marked_at REAL NOT NULL, until REAL, words TEXT NOT NULL,"
        " title TEXT NOT NULL, context TEXT NOT NULL, PRIMARY KEY (namespace, key, is_read)) STRICT",
    ),
    ("ALTER TABLE once ADD COLUMN attempt TEXT",),
    (
        "CREATE TABLE proposed_notes (position INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, namespace TEXT NOT NULL,"
        " place TEXT NOT NULL, identity TEXT NOT NULL, decided_at REAL, record TEXT NOT NULL,"
        " UNIQUE (namespace, place, identity)) STRICT",
    ),
)
"""Migrations of the schema, each run in a transaction. Append new migrations, and never change old migrations."""


class NotSaved(Exception):
    """Data could not be saved on disk. The message is a sentence for the user."""


def utc_now() -> datetime:
    return datetime.now(UTC)


WRITE_TABLES = ("outbox", "sent", "once")
"""Tables with waiting writes, finished writes, and direct writes that are being sent."""


class StateDb:
    """The data of one profile (`namespace`) in `state.db`. To wait until it is on disk, await the result of `write`."""

    def __init__(
        self,
        folder: Path | None,
        namespace: str = "",
        *,
        migrations: Sequence[Sequence[str]] = MIGRATIONS,
        now: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Open `state.db` in `folder`, or a database in memory if None. `notices` names problems of the file."""
        self.namespace = namespace
        self.now = now
        self.sleep = sleep
        self.notices: tuple[str, ...] = ()
        self.save_error = ""
        """Sentence that says why the last write failed. Empty if it succeeded."""
        self.save_error_cause = ""
        """The cause in `save_error`, such as `the disk is full`."""
        self.read_only = False
        self._path = folder / "state.db" if folder else None
        self._values: dict[str, tuple[Any, Future[None] | None]] = {}
        """Values changed by this process, by name, each with the future of its transaction. The future is None after
        `set_value`: this process does not read that value, for example the space on screen, from disk again."""
        self._locks: list[str] = []
        self.committed: Observers[[]] = Observers()
        """Observers that `check_changed` calls if any Octavo process, this one too, has written to the file."""
        self._file = ReplaceableFile(None)
        try:
            self._connection = self._open(self._path, migrations)
        except (sqlite3.Error, OSError) as error:
            self._set_read_only(
                "Nothing is being saved: ", f"{self._path} cannot be opened ({describe_error(error)})", "."
            )
            self._path, self._file = None, ReplaceableFile(None)
            self._connection = connect(None)
            _migrate(self._connection, None, migrations)
        self._version = self._data_version()
        path = self._path
        self._writer = Writer(
            (lambda: connect(path, synchronous="FULL")) if path else (lambda: self._db), "octavo state writer", path
        )

    @property
    def _db(self) -> sqlite3.Connection:
        """The connection for reads. It is opened again if another process has replaced the file by a repaired file."""
        if self._file.is_replaced():
            self._connection.close()
            self._connection = connect(self._path, synchronous="FULL", read_only=self.read_only)
            self._version = -1
        return self._connection

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of an SQL query. Blocks the event loop, so the query must be fast."""
        return self._db.execute(query, values).fetchall()

    def read(self, function: Transaction[R]) -> R:
        """Call a fast `function` with the database connection, and return the result. Blocks the event loop."""
        return function(self._db)

    def write(self, function: Transaction[R]) -> Awaitable[R]:
        """Run `function` in a transaction in the background, even if the caller is canceled. Awaiting the result waits
        until the changes are on disk, and raises NotSaved if they cannot be saved."""
        return self.wait_until_written(self.submit(function))

    async def wait_until_written(self, future: Future[R]) -> R:
        """Wait until the transaction of `submit` is on disk, and return its result. Raises NotSaved."""
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except (sqlite3.Error, OSError) as error:
            raise self._record_failure(error) from error

    def write_now(self, function: Transaction[R]) -> R:
        """Run `function` in a transaction, and block until this is on disk. For signal handlers. Raises NotSaved."""
        return self.block_until_written(self.submit(function))

    def block_until_written(self, future: Future[R]) -> R:
        """Block until a transaction is on disk, and return its result. `future` is the result of `submit`. For signal
        handlers. Raises NotSaved if the transaction fails, or is not done after two seconds at most."""
        try:
            return future.result(0.5 if self.save_error else 2.0)
        except (sqlite3.Error, OSError) as error:  # a TimeoutError is an OSError
            raise self._record_failure(error) from error

    def set_value(self, name: str, value: Any) -> None:
        """Store a JSON value under `name` in the background. From then on, `get_value` ignores other processes."""
        self.change_value(name, lambda _: value)
        self._values[name] = value, None

    def change_value(self, name: str, change: Callable[[Any], Any]) -> None:
        """Change the value `name` at once in memory, and in the background on disk. `change` converts the old value, or
        None, to the new one. `change` is called for both, because another process may have changed the disk."""

        def write_changed(db: sqlite3.Connection) -> None:
            write_value(db, self.namespace, name, change(read_value(db, self.namespace, name)))

        self._values[name] = change(self.get_value(name)), self.submit(write_changed)

    def get_value(self, name: str, default: Any = None) -> Any:
        """Return the value `name`. Return `default` if this value is missing or null."""
        value, saving = self._values.get(name, (None, None))
        if name not in self._values or (saving is not None and saving.done() and saving.exception() is None):
            self._values.pop(name, None)
            value = read_value(self._db, self.namespace, name)
        elif saving is not None:
            # Another process may have changed the value on disk, so `check_changed` must notify `committed` again.
            self._version = -1
        return default if value is None else value

    def clear(self, *, keep: Sequence[str] = ()) -> None:
        """Delete the data of this profile, except the tables in `keep`. Raises NotSaved."""
        self._values.clear()

        def empty(db: sqlite3.Connection) -> None:
            for table in table_names(db):
                if table not in keep:
                    db.execute(f"DELETE FROM {table} WHERE namespace = ?", (self.namespace,))

        self.write_now(empty)

    def adopt_namespace(self, namespace: str) -> None:
        """Move the rows of all tables except `facts` from `namespace` to this profile. Do nothing while another process
        sends the writes of `namespace`, or if the database cannot be written."""
        tables_with_rows = [
            table
            for table in table_names(self._db)
            if table != "facts" and self.rows(f"SELECT 1 FROM {table} WHERE namespace = ? LIMIT 1", namespace)
        ]
        if not tables_with_rows:
            return

        def move(db: sqlite3.Connection) -> None:
            for table in tables_with_rows:
                db.execute(
                    f"UPDATE OR REPLACE {table} SET namespace = ? WHERE namespace = ?", (self.namespace, namespace)
                )

        with suppress(NotSaved):  # the next start tries again
            if unlock := self.try_lock("outbox", namespace):
                try:
                    self.write_now(move)
                finally:
                    unlock()

    def check_changed(self) -> bool:
        """Return whether any process wrote to the file since the last call. If so, call the `committed` observers."""
        new_version = self._data_version()
        old_version, self._version = self._version, new_version
        if is_changed := self._version != old_version:
            self.committed.notify()
        return is_changed

    def try_lock(self, role: str, namespace: str = "", *, shared: bool = False) -> Callable[[], None] | None:
        """Get the lock `role` of the profile `namespace`, by default of this profile. Return a function that releases
        the lock, or None if it is taken. With `shared`, wait for the lock, which several processes can share. Raises
        NotSaved."""
        if self._path is None:
            if role in self._locks and not shared:
                return None
            self._locks.append(role)  # No other process can use a database in memory.
            return partial(self._release, role)
        namespace_hash = hashlib.sha256((namespace or self.namespace).encode()).hexdigest()[:16]
        path = self._path.with_name(f"{role}-{namespace_hash}.lock")
        try:
            return lock_file(path, shared=True) if shared else try_lock_file(path)
        except OSError as error:
            raise self._record_failure(error, path) from error

    def _release(self, role: str) -> None:
        if role in self._locks:
            self._locks.remove(role)

    def flush(self) -> None:
        """Wait up to two seconds until all submitted transactions are on disk. Write nothing afterward."""
        self._writer.close()

    def close(self) -> None:
        """Wait up to two seconds until all submitted transactions are on disk, and close the file."""
        self.flush()
        self._db.close()

    def _open(self, path: Path | None, migrations: Sequence[Sequence[str]]) -> sqlite3.Connection:
        if path is None:
            db = connect(None)
            _migrate(db, None, migrations)
            return db
        try:
            make_private(path)
            self._file = ReplaceableFile(path)
            db = connect(path, synchronous="FULL")
            is_undamaged = is_intact(db)
            if not is_undamaged:
                db.close()
        except PermissionError:
            return self._open_read_only(path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
                return self._open_read_only(path)
            raise
        except sqlite3.DatabaseError:
            is_undamaged = False
        if not is_undamaged:
            with ExitStack() as stack:
                with suppress(OSError):  # a network disk may have no locks
                    stack.callback(lock_file(path.with_name("repair.lock")))
                if not self._file.is_replaced():  # Otherwise, another process has just repaired the file.
                    self.notices = (recover(path, lambda fresh: _migrate(fresh, None, migrations), self.now()),)
                    self._file = ReplaceableFile(path)
            db = connect(path, synchronous="FULL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > len(migrations):
            db.close()
            advice = ". Nothing will be saved until you update Octavo."
            self._set_read_only("", f"{path} was written by a newer version of Octavo", advice)
            return connect(path, read_only=True)
        _migrate(db, path, migrations)
        return db

    def _open_read_only(self, path: Path) -> sqlite3.Connection:
        self._set_read_only(
            "Nothing is being saved: ", f"{path} is not writable", ". Make this path writable, then start Octavo again."
        )
        return connect(path, read_only=True)

    def _set_read_only(self, beginning: str, cause: str, advice: str) -> None:
        notice = f"{beginning}{cause}{advice}"
        self.notices = (*self.notices, notice)
        self.read_only, self.save_error, self.save_error_cause = True, notice, cause

    def submit(self, function: Transaction[R]) -> Future[R]:
        """Run `function` in a transaction after all earlier transactions. Return a future of its result, which may fail
        with NotSaved, sqlite3.Error or OSError."""
        if self.read_only:
            failed_future: Future[R] = Future()
            failed_future.set_exception(NotSaved(self.save_error))
            return failed_future
        future = self._writer.submit(function)
        future.add_done_callback(self._record_result)
        return future

    def _record_result(self, future: Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is None:
            self.save_error = self.save_error_cause = ""
        elif isinstance(error, (sqlite3.Error, OSError)):
            self._record_failure(error)

    def _record_failure(self, error: Exception, path: Path | None = None) -> NotSaved:
        self.save_error_cause, advice = why_not_saved(error, path or self._path)
        self.save_error = f"Nothing is being saved: {self.save_error_cause}{advice and '. '}{advice}."
        return NotSaved(self.save_error)

    def _data_version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])


def read_value(db: sqlite3.Connection, namespace: str, name: str) -> Any:
    """Return the value `name`. None if there is none, or if it is not JSON."""
    query = "SELECT value FROM facts WHERE namespace = ? AND name = ?"
    row = db.execute(query, (namespace, name)).fetchone()
    try:
        return parse_json(row[0]) if row else None
    except ValueError:
        return None


def write_value(db: sqlite3.Connection, namespace: str, name: str, value: Any) -> None:
    """Store a value in the caller's transaction. Do not write an equal value: other processes would load it again."""
    statement = "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
    db.execute(f"{statement} WHERE value IS NOT excluded.value", (namespace, name, json.dumps(value)))


def why_not_saved(error: Exception, path: Path | None) -> tuple[str, str]:
    """Return why `path` could not be written or locked, such as `the disk is full`, and advice, which may be empty."""
    error_name = getattr(error, "sqlite_errorname", "") or errno.errorcode.get(getattr(error, "errno", None) or 0, "")
    if isinstance(error, TimeoutError):
        error_name = "BUSY"  # the writer still waits for the lock of the file
    match error_name.removeprefix("SQLITE_").split("_")[0]:
        case "FULL" | "ENOSPC" | "EDQUOT":
            return "the disk is full", "Free some space, then try again"
        case "READONLY" | "CANTOPEN" | "PERM" | "EACCES" | "EPERM" | "EROFS":
            return f"{path} is not writable", "Make this path writable, then try again"
        case "BUSY" | "LOCKED":
            return "another program is using the file", "Try again in a moment"
        case "ENOLCK" | "ENOSYS" | "EOPNOTSUPP" | "ENOTSUP":
            return (f"files cannot be locked at {path}", "Set OCTAVO_STATE_DIR to a folder on a local disk")
    return f"{path} cannot be written ({error})", ""


def _migrate(db: sqlite3.Connection, path: Path | None, migrations: Sequence[Sequence[str]]) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if 0 < version < len(migrations) and path is not None:
        _back_up(db, path, version)
    for number, statements in enumerate(migrations, 1):
        if number <= version:
            continue
        with transaction(db):
            # Another process may have run this migration meanwhile.
            if db.execute("PRAGMA user_version").fetchone()[0] < number:
                for statement in statements:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")


def _back_up(db: sqlite3.Connection, path: Path, version: int) -> None:
    temporary_path = path.with_name(f"{path.name}.v{version}.bak.{os.getpid()}")
    make_private(temporary_path)
    db.execute("VACUUM INTO ?", [str(temporary_path)])
    temporary_path.replace(path.with_name(f"{path.name}.v{version}.bak"))
