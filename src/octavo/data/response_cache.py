"""Stores responses on disk, so that the first screen is not empty and Octavo works offline."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager, nullcontext, suppress
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from octavo.api.operation import SPECS, Operation, decode_response
from octavo.api.wire import NoSuchOperation, Request, decode, encode
from octavo.data import database
from octavo.data.sync_queue import Version

FILE_NAME = "cache-v1.db"
"""Name of the cache file. Increase the number in the name when a table changes, but not for a new table."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS answers (
    namespace TEXT NOT NULL, url TEXT NOT NULL, body BLOB NOT NULL, kept_at REAL NOT NULL, immutable INTEGER NOT NULL,
    PRIMARY KEY (namespace, url)
) STRICT;
CREATE INDEX IF NOT EXISTS by_age ON answers (immutable, kept_at);
CREATE TABLE IF NOT EXISTS pins (
    namespace TEXT NOT NULL, url TEXT NOT NULL, keeper TEXT NOT NULL, stamp TEXT NOT NULL, why TEXT NOT NULL,
    PRIMARY KEY (namespace, url, keeper)
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_keeper ON pins (namespace, keeper);
CREATE TABLE IF NOT EXISTS versions (
    namespace TEXT NOT NULL, url TEXT NOT NULL, stamp TEXT NOT NULL, read_at REAL NOT NULL, error TEXT NOT NULL,
    PRIMARY KEY (namespace, url)
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS made (
    namespace TEXT NOT NULL, name TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (namespace, name)
) STRICT;
"""
_INSERT_PIN = "INSERT OR REPLACE INTO pins VALUES (?, ?, ?, '', '')"
"""SQL statement that inserts a pin. The last two columns are not used anymore."""
_TABLES = ("answers", "pins", "versions", "made")
MAX_BYTES = 200_000_000
MAX_DERIVED_BYTES = 80_000_000
"""Maximum bytes of all data of `put_derived`. The oldest data is deleted first."""
MAX_AGE = timedelta(days=90)
_IS_PINNED = "EXISTS (SELECT 1 FROM pins WHERE pins.namespace = {0}.namespace AND pins.url = {0}.url)"
PUTS_PER_EVICTION = 500
"""Number of calls of `put` after which old responses are deleted."""


def never_changes(op: Operation[Any]) -> bool:
    """Return whether the response to an operation never changes, because it reads a fixed revision."""
    return hasattr(getattr(op, "at", None), "revision_id")


class StoredResponse(NamedTuple):
    """A response in the cache file, not decoded."""

    number: int
    """Number of the row in the cache file, for `responses_after`."""
    op: Operation[Any] | None
    """The operation that was sent. None if this version of Octavo does not know it."""
    body: bytes
    requested_at: datetime


class ResponseCache:
    """The cached responses of a profile on disk, with their versions. Pinned responses are never evicted."""

    def __init__(
        self,
        folder: Path | None,
        namespace: str = "",
        *,
        max_bytes: int = MAX_BYTES,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Open the cache file in `folder`, or a cache in memory if None. If the file cannot be opened, the cache is
        also in memory, and `notices` says why."""
        self.notices: tuple[str, ...] = ()
        self._namespace = namespace
        self._max_bytes = max_bytes
        self._now = now
        self._puts = 0
        self._is_damaged = False
        self._path = folder / FILE_NAME if folder else None
        self._db = self._open()
        self._writer = database.Writer(self._connect_writer, "octavo cache writer")
        self._unwritten: dict[str, tuple[Any, datetime]] = {}
        """Responses that are not on disk yet, each with the time of its request, by URL."""
        self.unstored_urls: set[str] = set()
        """URLs of the responses that could not be written. The file may have older responses."""
        if self._path is not None:
            self._writer.submit(self._evict_if_intact)

    def get(self, op: Operation[Any]) -> tuple[Any, datetime] | None:
        """Return the cached response to an operation, and the time of its request. None if it is not cached."""
        if (stored_body := self.read_body(op)) is None or (value := self.decode(op, stored_body[0])) is None:
            return None
        return value, stored_body[1]

    def read_body(self, op: Operation[Any]) -> tuple[bytes, datetime] | None:
        """Return the cached response as bytes, and the time of its request. None if it is not cached."""
        if self._is_damaged:
            self._reopen()
        url = encode(op).url
        if (unwritten := self._unwritten.get(url)) is not None:
            return _body(op, unwritten[0]), unwritten[1]
        if url in self.unstored_urls:
            return None
        rows = self._rows("SELECT body, kept_at FROM answers WHERE namespace = ? AND url = ?", url)
        return next(((body, database.time_of_timestamp(requested_at)) for body, requested_at in rows), None)

    def decode(self, op: Operation[Any], body: bytes) -> Any:
        """Decode the bytes of `read_body`. If they are unreadable, delete the cached response and return None."""
        try:
            return decode_response(SPECS[type(op)].codec, body)
        except ValueError:
            self._execute_later("DELETE FROM answers WHERE namespace = ? AND url = ?", encode(op).url)
            return None

    def put(self, op: Operation[Any], value: Any, requested_at: datetime | None = None) -> None:
        """Cache a response in the background, unless a newer response is stored. By default, `requested_at` is now."""
        url, is_immutable = encode(op).url, never_changes(op)
        unwritten = self._unwritten[url] = (value, requested_at or self._now())

        def write(db: sqlite3.Connection) -> None:
            body, time = _body(op, value), unwritten[1].timestamp()
            newer = "SELECT 1 FROM answers WHERE namespace = ? AND url = ? AND kept_at > ? AND kept_at <= ?"
            if db.execute(newer, (self._namespace, url, time, self._now().timestamp())).fetchone():
                return  # another process has stored a newer response
            update = "UPDATE answers SET kept_at = ? WHERE namespace = ? AND url = ? AND body = ?"
            if db.execute(update, (time, self._namespace, url, body)).rowcount == 0:
                row = (self._namespace, url, body, time, is_immutable)
                db.execute("INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?, ?)", row)

        def on_written(future: Future[None]) -> None:
            (self.unstored_urls.discard if future.exception() is None else self.unstored_urls.add)(url)
            if self._unwritten.get(url) is unwritten:  # a newer response may have been put meanwhile
                self._unwritten.pop(url, None)

        self._write(write).add_done_callback(on_written)
        self._puts += 1
        if self._puts % PUTS_PER_EVICTION == 0 and self._path is not None:
            self._writer.submit(self._evict)

    def put_version(self, url: str, fingerprint: str, error: str = "", requested_at: datetime | None = None) -> None:
        """Store the fingerprint of the cached response at `url`. `error` is the message if the server refused
        the request. `requested_at` is the time of the request. None stands for the current time."""
        version = self.versions[url] = Version(fingerprint, requested_at or self._now(), error)
        row = (self._namespace, url, fingerprint, version.requested_at.timestamp(), error)

        def insert(db: sqlite3.Connection) -> None:
            if url not in self.unstored_urls:  # otherwise, the older response on disk would count as current
                db.execute("INSERT OR REPLACE INTO versions VALUES (?, ?, ?, ?, ?)", row)

        self._write(insert)

    def drop_version(self, url: str) -> None:
        """Delete the version of the response at `url`. Octavo then fetches the response again."""
        self.versions.pop(url, None)
        self._execute_later("DELETE FROM versions WHERE namespace = ? AND url = ?", url)

    @cached_property
    def versions(self) -> dict[str, Version]:
        """Versions of the cached responses, by URL. A version may exist without a response. Do not change the dict."""
        return self._stored_versions()

    def reload_versions(self) -> None:
        """Read the versions from disk again, because another Octavo process may have added newer versions."""
        for url, version in self._stored_versions().items():
            if url not in self.versions or self.versions[url].requested_at < version.requested_at:
                self.versions[url] = version

    def _stored_versions(self) -> dict[str, Version]:
        rows = self._rows("SELECT url, stamp, read_at, error FROM versions WHERE namespace = ?")
        return {url: Version(stamp, database.time_of_timestamp(read_at), error) for url, stamp, read_at, error in rows}

    def put_derived(self, name: str, body: Callable[[], bytes]) -> None:
        """Store data that is no response, such as inbox rows and images. `body` is called in the background."""

        def insert(db: sqlite3.Connection) -> None:
            db.execute("INSERT OR REPLACE INTO made VALUES (?, ?, ?)", (self._namespace, name, body()))
            db.execute(
                "DELETE FROM made WHERE rowid IN (SELECT rowid FROM ("
                " SELECT rowid, sum(length(body)) OVER (ORDER BY rowid DESC) AS bytes FROM made) WHERE bytes > ?)",
                (MAX_DERIVED_BYTES,),
            )

        self._write(insert)

    def read_derived(self, name: str) -> bytes | None:
        """Return the data that `put_derived` stored as `name`. None without such data. May be called in any thread."""
        return next(
            (body for (body,) in self._rows("SELECT body FROM made WHERE namespace = ? AND name = ?", name)), None
        )

    def pin(self, owner: str, url: str) -> None:
        """Keep the response at `url` in the cache until `owner` unpins it."""
        self._execute_later(_INSERT_PIN, url, owner)

    def unpin(self, owner: str, urls: Iterable[str] | None = None) -> None:
        """Remove the pins of `owner` for `urls`, by default all. Delete the responses that are not pinned anymore."""
        given_urls = None if urls is None else tuple(urls)

        def delete_unpinned(db: sqlite3.Connection) -> None:
            by_owner = (self._namespace, owner)
            query = "SELECT url FROM pins WHERE namespace = ? AND keeper = ?"
            unpinned = [url for (url,) in db.execute(query, by_owner)] if given_urls is None else given_urls
            statement = "DELETE FROM pins WHERE namespace = ? AND keeper = ? AND url = ?"
            db.executemany(statement, [(*by_owner, url) for url in unpinned])
            for table in ("answers", "versions"):
                db.executemany(
                    f"DELETE FROM {table} WHERE namespace = ? AND url = ? AND NOT {_IS_PINNED.format(table)}",
                    [(self._namespace, url) for url in unpinned],
                )

        self._writer.submit(delete_unpinned)

    def pin_owners(self) -> set[str]:
        """Return the owners that have pinned responses. Call this in any thread."""
        return {
            owner for (owner,) in self._rows("SELECT DISTINCT keeper FROM pins WHERE namespace = ?", in_thread=True)
        }

    def pinned_sizes(self, owner: str) -> dict[str, int | None]:
        """Return the size in bytes of each response that `owner` has pinned, by URL. None for a response that
        is not on disk. Empty if the file is damaged or busy. Call this in any thread."""
        query = (
            "SELECT pins.url, length(body) FROM pins LEFT JOIN answers USING (namespace, url)"
            " WHERE pins.namespace = ? AND keeper = ?"
        )
        return dict(self._rows(query, owner, in_thread=True))

    def mean_body_size(self, url_part: str) -> float | None:
        """Return the mean size in bytes of the cached responses whose URL contains `url_part`. None if there
        are none, or if the file is damaged or busy. Call this in any thread."""
        query = "SELECT avg(length(body)) FROM answers WHERE namespace = ? AND instr(url, ?)"
        return next((mean for (mean,) in self._rows(query, url_part, in_thread=True)), None)

    @contextmanager
    def _connection_of_thread(self) -> Iterator[sqlite3.Connection]:
        if self._path is None:
            yield self._db
            return
        with closing(database.connect(self._path, read_only=True)) as db:
            yield db

    def responses_after(self, number: int, limit: int) -> Iterator[StoredResponse]:
        """Yield up to `limit` cached responses whose number is greater than `number`, in the order of their numbers.
        Call this in any thread. Raises sqlite3.Error."""
        query = "SELECT rowid, url, body, kept_at FROM answers WHERE namespace = ? AND rowid > ? ORDER BY rowid LIMIT ?"
        with self._connection_of_thread() as db:
            rows = db.execute(query, (self._namespace, number, limit)).fetchall()
        for row_number, url, body, requested_at in rows:
            op = None
            with suppress(NoSuchOperation, ValueError):
                op = decode(Request("GET", url))
            yield StoredResponse(row_number, op, body, database.time_of_timestamp(requested_at))

    def clear(self) -> str:
        """Delete all data of this profile and shrink the file. Blocks the thread. Return the error, or empty text."""
        self.flush()
        if self._is_damaged:
            self._reopen()
        if self._path is None and self.notices:
            return "the file cannot be opened"
        self._unwritten.clear()
        self.versions.clear()
        try:
            with database.transaction(self._db):
                for table in _TABLES:
                    self._db.execute(f"DELETE FROM {table} WHERE namespace = ?", (self._namespace,))
        except sqlite3.Error as error:
            return database.describe_error(error)
        with suppress(sqlite3.OperationalError):  # another process may be using the file, or the disk may be full
            self._db.execute("VACUUM")
        for damaged_file in self._path.parent.glob(f"{FILE_NAME}.damaged*") if self._path is not None else ():
            damaged_file.unlink(missing_ok=True)
        return ""

    def flush(self) -> None:
        """Wait until all data that was stored so far is on disk, or could not be written."""
        self._writer.flush()

    def close(self) -> None:
        """Wait up to two seconds until all data is written, and close the file."""
        self._writer.close()
        self._db.close()

    def _rows(self, query: str, *values: str, in_thread: bool = False) -> list[Any]:
        """Return the rows of a query whose first parameter is the namespace. Empty if the file is damaged or busy. If
        `in_thread`, use another connection, so that reads on the event loop do not wait for a slow query."""
        try:
            with self._connection_of_thread() if in_thread else nullcontext(self._db) as db:
                return db.execute(query, (self._namespace, *values)).fetchall()
        except sqlite3.DatabaseError as error:
            self._is_damaged = self._is_damaged or database.shows_damage(error)
            return []

    def _execute_later(self, statement: str, *values: str | float) -> None:
        """Run an SQL statement in the background. Its first parameter is the namespace."""
        self._write(lambda db: db.execute(statement, (self._namespace, *values)))

    def _write(self, statement: Callable[[sqlite3.Connection], object]) -> Future[None]:
        def write(db: sqlite3.Connection) -> None:
            try:
                statement(db)
            except sqlite3.DatabaseError as error:
                self._is_damaged = self._is_damaged or database.shows_damage(error)
                raise

        return self._writer.submit(write)

    def _open(self) -> sqlite3.Connection:
        path = self._path
        if path is not None:
            try:
                return self._open_at(path)
            except (sqlite3.OperationalError, OSError) as error:
                consequence = "Nothing will be cached for the next time you start Octavo."
                self.notices = (f"Could not open the cache {path}: {database.describe_error(error)}. {consequence}",)
            except sqlite3.DatabaseError:
                return self._replace_damaged_file(path)
            self._path = None
        db = database.connect(None)
        db.executescript(SCHEMA)
        return db

    def _open_at(self, path: Path) -> sqlite3.Connection:
        db = database.connect(path)
        with database.closed_on_failure(db):
            db.executescript(SCHEMA)
        return db

    def _replace_damaged_file(self, path: Path) -> sqlite3.Connection:
        database.rename_database(path, f"{path.name}.damaged")
        self.notices = ("The cache was damaged. Octavo will load everything from the server again.",)
        return self._open_at(path)

    def _connect_writer(self) -> sqlite3.Connection:
        return database.connect(self._path) if self._path is not None else self._db

    def _reopen(self) -> None:
        self._is_damaged = False
        if self._path is None:
            return
        self._writer.close()
        self._db.close()
        self.versions.clear()  # the responses are lost, so all must be fetched again
        self._db = self._replace_damaged_file(self._path)
        self._writer = database.Writer(self._connect_writer, "octavo cache writer")

    def _evict_if_intact(self, db: sqlite3.Connection) -> None:
        self._is_damaged = not database.is_intact(db)
        if not self._is_damaged:
            self._evict(db)

    def _evict(self, db: sqlite3.Connection) -> None:
        """Delete responses that can change and are older than `MAX_AGE`. Then delete the oldest responses until the
        others have at most `max_bytes`. Pinned responses stay, and do not count. Finally, delete the
        versions of responses that are not stored, except recent versions with an error."""
        parameters = ((self._now() - MAX_AGE).timestamp(),)
        db.execute(
            f"DELETE FROM answers WHERE NOT immutable AND kept_at < ? AND NOT {_IS_PINNED.format('answers')}",
            parameters,
        )
        db.execute(
            "DELETE FROM answers WHERE rowid IN (SELECT rowid FROM ("
            " SELECT rowid, sum(length(body)) OVER (ORDER BY kept_at DESC, rowid DESC) AS bytes"
            f" FROM answers WHERE NOT {_IS_PINNED.format('answers')}) WHERE bytes > ?)",
            (self._max_bytes,),
        )
        db.execute(
            "DELETE FROM versions WHERE (error = '' OR read_at < ?) AND NOT EXISTS"
            " (SELECT 1 FROM answers WHERE answers.namespace = versions.namespace AND answers.url = versions.url)",
            parameters,
        )


def _body(op: Operation[Any], value: Any) -> bytes:
    return SPECS[type(op)].codec.dump_json(value, by_alias=True, exclude_unset=True)
