"""The database `state.db`: drafts, writes and small facts. Octavo never deletes this file."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import json
import os
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from octavo.data.database import Transaction, Writer, connect, is_intact, lock_file, private_file, private_folder
from octavo.data.observers import Observers
from octavo.untrusted_input import parse_json

R = TypeVar("R")

STEPS: tuple[tuple[str, ...], ...] = (
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
"""Steps of the schema, each one transaction. New steps are added; existing steps never change."""


class NotSaved(Exception):
    """Nothing was written. `str(error)` is a sentence for the user."""


def utc_now() -> datetime:
    return datetime.now(UTC)


def _why(error: sqlite3.Error | OSError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


WRITES = ("outbox", "sent", "once")
"""Tables of the writes: waiting, done, and direct writes in progress."""


class StateDb:
    """`state.db` in a private folder. Each commit is on disk before `write` returns.

    A namespace is one profile: the others are neither read nor changed.
    """

    def __init__(
        self,
        folder: Path | None,
        namespace: str = "",
        *,
        steps: Sequence[Sequence[str]] = STEPS,
        now: Callable[[], datetime] = utc_now,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Open the database in `folder`, or in memory without a folder. Raises nothing: `notices` say why a file could
        not be used."""
        self.namespace = namespace
        self.now = now
        self.sleep = sleep
        self.notices: tuple[str, ...] = ()
        self.save_error = ""
        """Sentence that says why the last write failed. Empty after a write that succeeded."""
        self.save_error_cause = ""
        """The cause alone, such as `the disk is full`."""
        self.read_only = False
        self._path = folder / "state.db" if folder else None
        self._facts: dict[str, Any] = {}
        self._locks: set[str] = set()
        self.committed: Observers[[]] = Observers()
        """Called soon after this or another instance has written to the file."""
        try:
            self._db = self._open(self._path, steps)
        except (sqlite3.Error, OSError) as error:
            self._set_read_only("Nothing is being saved: ", f"{self._path} cannot be opened ({_why(error)})", ".")
            self._path = None
            self._db = connect(None)
            _migrate(self._db, None, steps)
        self._version = self._data_version()
        path = self._path
        self._writer = Writer(
            (lambda: connect(path, synchronous="FULL")) if path else (lambda: self._db), "octavo state writer"
        )

    def rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query, which must be fast: it blocks the event loop."""
        return self._db.execute(query, values).fetchall()

    def read(self, work: Transaction[R]) -> R:
        """Return the result of `work`, which must be fast: it blocks the event loop."""
        return work(self._db)

    async def write(self, work: Transaction[R]) -> R:
        """Do `work` in one transaction, and return its result once it is on disk. Raises NotSaved.

        Cancelling the caller does not undo `work`.
        """
        return await self.write_in_turn(work)

    def write_in_turn(self, work: Transaction[R]) -> Awaitable[R]:
        """Do the same, and take the place in the order of writes now instead of at the first await."""
        return self.wait_written(self.submit(work))

    async def wait_written(self, future: Future[R]) -> R:
        """Return the result of submitted work. Raises NotSaved."""
        try:
            return await asyncio.shield(asyncio.wrap_future(future))
        except (sqlite3.Error, OSError) as error:
            raise self._failed(error) from error

    def write_now(self, work: Transaction[R]) -> R:
        """Do `work` in a signal handler. Raises NotSaved."""
        return self.wait_written_now(self.submit(work))

    def wait_written_now(self, future: Future[R]) -> R:
        """Return the result of submitted work in a signal handler. Waits up to two seconds, less after a failed write.
        Raises NotSaved."""
        try:
            return future.result(0.5 if self.save_error else 2.0)
        except (sqlite3.Error, OSError) as error:  # TimeoutError is an OSError
            raise self._failed(error) from error

    def set_fact(self, name: str, value: Any) -> None:
        """Store a fact, which is any JSON value. Written in the background, and only if it differs from the fact on
        disk."""
        self._facts[name] = value
        if not self.read_only:
            # Compare with the file, not with `_facts`: another instance may have changed the fact.
            statement = (
                "INSERT INTO facts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
                " WHERE value IS NOT excluded.value"
            )
            row = (self.namespace, name, json.dumps(value))
            self.submit(lambda db: db.execute(statement, row))

    def change_fact(self, name: str, change: Callable[[Any], Any]) -> None:
        """Replace the fact `name` by `change` of the fact on disk, which another instance may have changed. `change`
        gets None if there is no fact. Written in the background."""
        self._facts.pop(name, None)
        if self.read_only:
            return

        def work(db: sqlite3.Connection) -> None:
            value = json.dumps(change(_fact(db, self.namespace, name)))
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (self.namespace, name, value))

        self.submit(work)

    async def read_fact(self, name: str) -> Any:
        """Return the fact `name` on disk after all writes so far. None if there is no such fact. Raises NotSaved."""
        return await self.write(lambda db: _fact(db, self.namespace, name))

    def get_fact(self, name: str, default: Any = None) -> Any:
        """Return the fact `name`, else `default`."""
        if name not in self._facts:
            query = "SELECT value FROM facts WHERE namespace = ? AND name = ?"
            found = self.rows(query, self.namespace, name)
            try:
                self._facts[name] = parse_json(found[0][0]) if found else default
            except ValueError:
                self._facts[name] = default
        return self._facts[name]

    def clear(self, *, but: Sequence[str] = ()) -> None:
        """Delete everything of this profile, except the tables `but` (`WRITES`). Raises NotSaved."""
        self._facts.clear()

        def empty(db: sqlite3.Connection) -> None:
            for table in ("facts", "drafts", "inbox_marks", "proposed_notes", *WRITES):
                if table in but:
                    continue
                db.execute(f"DELETE FROM {table} WHERE namespace = ?", (self.namespace,))

        self.write_now(empty)

    def adopt(self, name: str) -> None:
        """Move the rows of the namespace `name` to this profile, unless another instance is sending its writes."""
        tables = ("drafts", "inbox_marks", "proposed_notes", *WRITES)
        there = [each for each in tables if self.rows(f"SELECT 1 FROM {each} WHERE namespace = ? LIMIT 1", name)]
        if not there:
            return

        def file(db: sqlite3.Connection) -> None:
            for each in there:
                db.execute(f"UPDATE OR REPLACE {each} SET namespace = ? WHERE namespace = ?", (self.namespace, name))

        with suppress(NotSaved):  # the next start tries again
            if let_others := self.try_lock("outbox", name):
                try:
                    self.write_now(file)
                finally:
                    let_others()

    def changed(self) -> bool:
        """Return True if this or another instance has written since the last call, and then notify `committed`."""
        before, self._version = self._version, self._data_version()
        if is_changed := self._version != before:
            self.committed.notify()
        return is_changed

    def try_lock(self, role: str, name: str = "") -> Callable[[], None] | None:
        """Take the role `role` of this profile, or of the profile `name`, and return the function that gives it back.

        None if another instance has the role. The kernel gives it back when the process ends. Raises NotSaved.
        """
        if self._path is None:
            if role in self._locks:
                return None
            self._locks.add(role)
            return lambda: self._locks.discard(role)
        of_profile = hashlib.sha256((name or self.namespace).encode()).hexdigest()[:16]
        path = self._path.with_name(f"{role}-{of_profile}.lock")
        try:
            return lock_file(path)
        except OSError as error:
            raise self._failed(error, path) from error

    def close(self) -> None:
        """Finish writing, and close the file."""
        self._writer.close()
        self._db.close()

    def _open(self, path: Path | None, steps: Sequence[Sequence[str]]) -> sqlite3.Connection:
        if path is None:
            db = connect(None)
            _migrate(db, None, steps)
            return db
        try:
            private_folder(path.parent)
            private_file(path)
            db = connect(path, synchronous="FULL")
            whole = is_intact(db)
            if not whole:
                db.close()
        except PermissionError:
            return self._open_read_only(path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
                return self._open_read_only(path)
            raise
        except sqlite3.DatabaseError:
            whole = False
        if not whole:
            from octavo.data.database_recovery import recover  # lazy: rarely needed

            self._notice(recover(path, lambda fresh: _migrate(fresh, None, steps), self.now()))
            db = connect(path, synchronous="FULL")
        (version,) = db.execute("PRAGMA user_version").fetchone()
        if version > len(steps):
            db.close()
            step = ". Nothing will be saved until you update Octavo."
            self._set_read_only("", f"{path} was written by a newer version of Octavo", step)
            return connect(path, read_only=True)
        _migrate(db, path, steps)
        return db

    def _open_read_only(self, path: Path) -> sqlite3.Connection:
        self._set_read_only(
            "Nothing is being saved: ", f"{path} is not writable", ". Make this path writable, then start Octavo again."
        )
        return connect(path, read_only=True)

    def _set_read_only(self, begin: str, cause: str, step: str) -> None:
        notice = f"{begin}{cause}{step}"
        self._notice(notice)
        self.read_only, self.save_error, self.save_error_cause = True, notice, cause

    def _notice(self, sentence: str) -> None:
        self.notices = (*self.notices, sentence)

    def submit(self, work: Transaction[R]) -> Future[R]:
        """Do `work` in one transaction after all earlier work. The future fails with NotSaved, or with the error of
        SQLite or the disk."""
        if self.read_only:
            refused: Future[R] = Future()
            refused.set_exception(NotSaved(self.save_error))
            return refused
        future = self._writer.submit(work)
        future.add_done_callback(self._noted)
        return future

    def _noted(self, future: Future[Any]) -> None:
        error = None if future.cancelled() else future.exception()
        if error is None:
            self.save_error = self.save_error_cause = ""
        elif isinstance(error, (sqlite3.Error, OSError)):
            self._failed(error)

    def _failed(self, error: Exception, path: Path | None = None) -> NotSaved:
        self.save_error_cause, step = why_not_saved(error, path or self._path)
        self.save_error = f"Nothing is being saved: {self.save_error_cause}{step and '. '}{step}."
        return NotSaved(self.save_error)

    def _data_version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])


def _fact(db: sqlite3.Connection, namespace: str, name: str) -> Any:
    """Return a fact. None if there is none, or it cannot be read."""
    query = "SELECT value FROM facts WHERE namespace = ? AND name = ?"
    found = db.execute(query, (namespace, name)).fetchone()
    try:
        return parse_json(found[0]) if found else None
    except ValueError:
        return None


def why_not_saved(error: Exception, path: Path | None) -> tuple[str, str]:
    """Return why `path` could not be written or locked, and the next step."""
    name = getattr(error, "sqlite_errorname", "") or errno.errorcode.get(getattr(error, "errno", None) or 0, "")
    if isinstance(error, TimeoutError):
        name = "BUSY"  # it waits for the lock
    match name.removeprefix("SQLITE_").split("_")[0]:
        case "FULL" | "ENOSPC" | "EDQUOT":
            return "the disk is full", "Free some space, then try again"
        case "READONLY" | "CANTOPEN" | "PERM" | "EACCES" | "EPERM" | "EROFS":
            return f"{path} is not writable", "Make this path writable, then try again"
        case "BUSY" | "LOCKED":
            return "another program is using the file", "Try again in a moment"
        case "ENOLCK" | "ENOSYS" | "EOPNOTSUPP" | "ENOTSUP":
            return (
                f"files cannot be locked at {path}",
                "Set OCTAVO_STATE_DIR to a folder on a local disk",
            )
    return f"{path} cannot be written ({error})", ""


def _migrate(db: sqlite3.Connection, path: Path | None, steps: Sequence[Sequence[str]]) -> None:
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if 0 < version < len(steps) and path is not None:
        _back_up(db, path, version)
    for number, statements in enumerate(steps, 1):
        if number <= version:
            continue
        db.execute("BEGIN IMMEDIATE")
        try:
            # Another instance may have been quicker.
            if db.execute("PRAGMA user_version").fetchone()[0] < number:
                for statement in statements:
                    db.execute(statement)
                db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _back_up(db: sqlite3.Connection, path: Path, version: int) -> None:
    partly = path.with_name(f"{path.name}.v{version}.bak.{os.getpid()}")
    private_file(partly)
    db.execute("VACUUM INTO ?", [str(partly)])
    partly.replace(path.with_name(f"{path.name}.v{version}.bak"))
