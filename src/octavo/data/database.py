"""Opens SQLite files that only their owner can read. A file is written by one thread, and read by all threads.
`recover` saves the readable rows of a damaged file."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Literal, TypeVar

from octavo.untrusted_input import parse_json

BUSY_TIMEOUT = 5.0
"""Seconds to wait while another program uses a file."""
_LIMIT_PAGE_CACHE = "PRAGMA cache_size = -256"
"""SQL statement that limits the page cache of a connection to 256 KiB. The default of 2 MiB is not faster."""

R = TypeVar("R")
Transaction = Callable[[sqlite3.Connection], R]
"""A function that reads and changes a database in one transaction, and returns a result."""


def describe_error(error: sqlite3.Error | OSError) -> str:
    """Return the cause of an error as a phrase, such as `disk I/O error`."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def make_private(path: Path) -> None:
    """Make a file and its folder accessible only by their owner. Create them if they do not exist. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
    for each, mode in ((path.parent, 0o700), (path, 0o600)):
        if each.stat().st_mode & 0o077:
            each.chmod(mode)


def connect(
    path: Path | None, *, synchronous: Literal["FULL", "NORMAL"] = "NORMAL", read_only: bool = False
) -> sqlite3.Connection:
    """Return a connection to the database at `path`, or to a new database in memory if `path` is None. Unless
    `read_only`, the file becomes private. `synchronous` is the setting of SQLite: with `FULL`, each transaction is on
    disk when it ends. Raises sqlite3.Error and OSError."""
    if path is None:
        return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    if read_only:
        return _connect_read_only(path)
    make_private(path)
    db = sqlite3.connect(path, isolation_level=None, timeout=BUSY_TIMEOUT, check_same_thread=False)
    with closed_on_failure(db):
        db.text_factory = _decode_text
        mode = _set_journal_mode(db, "WAL")
        if mode != "wal":  # WAL needs shared memory, which a network file system does not have
            _set_journal_mode(db, "DELETE")
            synchronous = "FULL"
        db.execute(f"PRAGMA synchronous = {synchronous}")
        db.execute(_LIMIT_PAGE_CACHE)
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("PRAGMA journal_size_limit = 16777216")
    return db


def _set_journal_mode(db: sqlite3.Connection, mode: str) -> str:
    """Try to set the journal mode, and return the actual mode. Raises an error if the file stays busy too long."""
    deadline = time.monotonic() + BUSY_TIMEOUT
    while True:
        try:
            return str(db.execute(f"PRAGMA journal_mode = {mode}").fetchone()[0])
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether the error means that another program is using the file."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def shows_damage(error: sqlite3.Error) -> bool:
    """Return whether the error means that the file is damaged."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@contextmanager
def closed_on_failure(db: sqlite3.Connection) -> Iterator[None]:
    """Close `db` if the `with` block raises an error."""
    try:
        yield
    except BaseException:
        db.close()
        raise


def _connect_read_only(path: Path) -> sqlite3.Connection:
    """Return a read-only connection to the database at `path`, even in a read-only folder. Raises OperationalError."""
    for options in ("mode=ro", "mode=ro&immutable=1"):
        uri = f"{path.absolute().as_uri()}?{options}"
        db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=BUSY_TIMEOUT, check_same_thread=False)
        db.text_factory = _decode_text
        with suppress(sqlite3.OperationalError), closed_on_failure(db):
            db.execute("SELECT count(*) FROM sqlite_master").fetchone()
            db.execute("PRAGMA query_only = ON")
            db.execute(_LIMIT_PAGE_CACHE)
            return db
    raise sqlite3.OperationalError("the file is unreadable")


def _decode_text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def time_of_timestamp(seconds: float) -> datetime:
    """Return the time of a stored timestamp. An invalid timestamp gives the start of 1970."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(0, UTC)


def is_intact(db: sqlite3.Connection) -> bool:
    """Return whether SQLite finds no damage in the file. True also if the file is busy."""
    try:
        return bool(db.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError as error:
        return is_busy(error)


def is_damaged(path: Path) -> bool:
    """Return whether the database at `path` is damaged. False if it cannot be opened for another reason."""
    try:
        with closing(connect(path, read_only=True)) as db:
            return not is_intact(db)
    except sqlite3.OperationalError:
        return False
    except sqlite3.DatabaseError:
        return True


def rename_database(path: Path, name: str) -> Path:
    """Rename a database file to `name`, with the files that SQLite keeps beside it. Return the new path."""
    new_path = path.with_name(name)
    for suffix in ("", "-wal", "-shm"):
        old_path = path.with_name(path.name + suffix)
        if old_path.exists():
            old_path.replace(path.with_name(name + suffix))
    return new_path


class ReplaceableFile:
    """A file that another process may replace."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._inode: int | None = None
        self.is_replaced()

    def is_replaced(self) -> bool:
        """Return whether the path has another file than at the last call. False while the path has no file."""
        try:
            inode = self._path.stat().st_ino if self._path else None
        except OSError:
            return False
        old_inode, self._inode = self._inode, inode
        return inode != old_inode


class Writer:
    """A thread that runs all writes to a database, one transaction after another. The first `submit` starts it."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], name: str, path: Path | None = None) -> None:
        """With `path`, call `connect` again if another process has replaced this file."""
        self._connect = connect
        self._name = name
        self._file = ReplaceableFile(path)
        self._db: sqlite3.Connection | None = None
        self._queue: SimpleQueue[tuple[Transaction[Any], Future[Any]] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, function: Transaction[R]) -> Future[R]:
        """Run `function` in its own transaction, after all earlier transactions. Return a future of its result."""
        future: Future[R] = Future()
        self._queue.put((function, future))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return future

    def flush(self, timeout: float | None = None) -> None:
        """Wait until the submitted transactions have ended, but at most `timeout` seconds."""
        if self._thread is not None:
            with suppress(TimeoutError):
                self.submit(lambda db: None).exception(timeout)

    def close(self, timeout: float = 2.0) -> None:
        """End the thread after the submitted transactions. Wait up to `timeout` seconds until the thread has
        ended. Inside the thread, use `timeout=0`."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._queue.put(None)
            if timeout:
                thread.join(timeout)

    def _run(self) -> None:
        while (job := self._queue.get()) is not None:
            work, future = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(self._run_transaction(work))
            except BaseException as error:  # noqa: BLE001  # raised again by `Future.result`
                future.set_exception(error)
        if self._db is not None:
            self._db.close()
            self._db = None

    def _run_transaction(self, work: Transaction[R]) -> R:
        is_replaced = self._file.is_replaced()
        while True:
            if is_replaced and self._db is not None:
                self._db.close()
                self._db = None
            self._db = self._db or self._connect()
            with transaction(self._db):
                # While `recover` copies the rows, it locks the old file. So the file may have been replaced meanwhile.
                if not (is_replaced := self._file.is_replaced()):
                    return work(self._db)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Run the `with` block in one transaction. An error undoes its changes."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


MAX_SKIPPED_ROWS = 5000
"""Number of unreadable rows after which `recover` gives up the rest of a table."""


def table_names(db: sqlite3.Connection) -> list[str]:
    """Return the sorted names of all tables, without the internal tables of SQLite."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    return [str(name) for (name,) in db.execute(query)]


def recover(path: Path, migrate: Callable[[sqlite3.Connection], None], now: datetime) -> str:
    """Replace a damaged file by a new one, with the readable rows and the rows of the newest backup. `migrate` creates
    the tables of the new file. The damaged file is renamed. Return a sentence for the user."""
    new_path = path.with_name(f"{path.name}.new")
    new_path.unlink(missing_ok=True)
    with _locked_against_writes(path):
        with closing(connect(new_path, synchronous="FULL")) as db:
            migrate(db)
            backup = max(path.parent.glob(f"{path.name}.v*.bak"), key=lambda each: each.stat().st_mtime, default=None)
            with transaction(db):  # A transaction for each row would take too long, and other processes wait.
                recovered_count = _copy(path, db)
                restored_count = _copy(backup, db, is_backup=True) if backup else 0
        damaged_path = rename_database(path, f"{path.name}.damaged-{now:%Y%m%d-%H%M%S}")
        new_path.replace(path)
    return (
        f"{path.name} was damaged. Octavo recovered {recovered_count} {'entry' if recovered_count == 1 else 'entries'} from the file and "
        f"{restored_count} from a backup. The damaged file was saved as {damaged_path}. Check your drafts."
    )


@contextmanager
def _locked_against_writes(path: Path) -> Iterator[None]:
    """Lock a damaged database against other writers in the `with` block. If locking fails, run the block unlocked."""
    with ExitStack() as stack:
        with suppress(sqlite3.Error):
            stack.enter_context(closing(connect(path))).execute("BEGIN IMMEDIATE")
        yield


def _copy(source: Path, db: sqlite3.Connection, *, is_backup: bool = False) -> int:
    """Copy the rows of `source` that `db` does not have, except sent writes. Return the number of copied rows, 0 if
    `source` cannot be opened. If `source` is a backup, waiting writes become failed writes."""
    try:
        old_db = connect(source)
    except (sqlite3.Error, OSError):
        return 0
    copied_count = 0
    try:
        # `outbox` is copied after `sent`, so that a write in `sent` is left out and not sent again.
        for table in sorted(table_names(db), key=lambda name: name == "outbox"):
            for columns, values in _readable_rows(old_db, table):
                row = dict(zip(columns, values, strict=True))
                row.pop("position", None)  # another row may already have this position
                if table == "outbox":
                    if db.execute("SELECT 1 FROM sent WHERE id = ?", [row["id"]]).fetchone():
                        continue
                    if is_backup and not _mark_as_failed(row):
                        continue
                copied_count += _insert(db, table, row)
    finally:
        old_db.close()
    return copied_count


def _readable_rows(old_db: sqlite3.Connection, table: str) -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    last_rowid, skipped_count = -1, 0
    for _ in range(MAX_SKIPPED_ROWS):
        try:
            cursor = old_db.execute(
                f"SELECT rowid, * FROM {table} WHERE rowid > ? ORDER BY rowid", (last_rowid + skipped_count,)
            )
            columns = tuple(column[0] for column in cursor.description[1:])
            for rowid, *values in cursor:
                last_rowid, skipped_count = rowid, 0
                yield columns, tuple(values)
        except sqlite3.DatabaseError:
            skipped_count += 1
        else:
            return


def _insert(db: sqlite3.Connection, table: str, row: dict[str, Any]) -> int:
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    try:
        return db.execute(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks})", tuple(row.values())).rowcount
    except sqlite3.Error:
        return 0


def _mark_as_failed(row: dict[str, Any]) -> bool:
    """Mark an outbox row from a backup as failed: it may have been sent later. Return False if `row` is unreadable."""
    try:
        record = parse_json(row["record"])
    except ValueError:
        return False
    if not isinstance(record, dict):
        return False
    # `rounds` and `since` are the stored names of `failed_searches` and `newest_at`. After a failed search, a retry
    # first searches for the write. `newest_at` limits that search.
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
