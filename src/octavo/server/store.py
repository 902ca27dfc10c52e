"""Stores JSON documents, texts and files in SQLite. Also reads the size of images.

Each document has the path of its URL:

    /spaces/docs/change-requests/12/comments     a collection
    /spaces/docs/change-requests/12/comments/k1  a document in the collection

Deleting a document deletes all documents below its path. Documents have the field names of the API. Permissions, URLs
and counts are not stored, because they depend on the caller. Texts and files are blobs. The name of a blob is its SHA-256
hash, so revisions with the same text share a blob.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import sqlite3
import struct
import unicodedata
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, NamedTuple

from octavo.api.folding import fold_to_index_text, subwords

Json = dict[str, Any]

SCHEMA_VERSION = 3
SCHEMA = """
CREATE TABLE documents (
    position INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, collection TEXT NOT NULL, body TEXT NOT NULL
) STRICT;
CREATE INDEX by_collection ON documents (collection, position);
CREATE TABLE blobs (hash TEXT PRIMARY KEY, body BLOB NOT NULL) STRICT;
CREATE TABLE keys (hash TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT;
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE sections (
    id INTEGER PRIMARY KEY, space TEXT NOT NULL, page TEXT NOT NULL, anchor TEXT NOT NULL,
    title TEXT NOT NULL, body TEXT NOT NULL, parts TEXT NOT NULL DEFAULT ''
) STRICT;
CREATE INDEX by_page ON sections (space, page)
"""
WORDS_SCHEMA = """
CREATE VIRTUAL TABLE words USING fts5 (
    title, body, parts, content = 'sections', content_rowid = 'id', tokenize = 'unicode61 remove_diacritics 2'
)
"""

STATUS_INDEX = "CREATE INDEX IF NOT EXISTS by_status ON documents (collection, json_extract(body, '$.status'))"
"""SQL that creates the index for counting documents by status. Databases of older versions lack this index."""

_MACHINE_ERRORS = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_READONLY}
"""SQLite errors whose cause is the computer, such as a full disk."""

_INDEX_VERSION = f"words, labels and parts of words in plain letters, folded by Unicode {unicodedata.unidata_version}"
"""Version of the full-text index. Change it whenever `fold_to_index_text` changes, to index all pages again."""

Section = tuple[str, str, str]
"""A section of a page for the full-text index: anchor, title and text."""


class SearchHit(NamedTuple):
    """A section that matches a query. `snippet` is its text around the match, or the beginning of its text."""

    space: str
    page: str
    anchor: str
    title: str
    snippet: str
    section_id_to_search: int | None
    """ID of the section to search if the match is inside a word or in the title. None if the match is in `snippet`."""


_HIT_MARK = "\x02"
"""Character that marks a match in a snippet. Texts of pages never contain this character."""


class MissingResource(LookupError):
    """There is no such document or blob. The message is its path or hash."""


class UnusableDatabase(OSError):
    """The database cannot be opened. `strerror` says why: it is damaged, locked, or from a newer version."""


class WriteFailure(OSError):
    """The database or a file cannot be written. `strerror` says why."""


class Store:
    """The database of the embedded platform. Has one connection to SQLite."""

    def __init__(self, path: Path | None = None) -> None:
        """Open the database `path` (None: in memory). A new file is private to the user. Raises UnusableDatabase."""
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        self.lock = RLock()
        """Lock of the database. The thread that writes may read without the lock. Other threads need it."""
        self._cached_rows: dict[tuple[str, ...], list[Any]] | None = None
        """Results of queries while `cached_reads` is active, until the next write. None otherwise."""
        self._db = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False)
        self.close = weakref.finalize(self, self._db.close)
        """Closes the database. Also called when the store is garbage-collected."""
        self.close.atexit = False  # SQLite crashes if a thread uses the database at exit.
        try:
            self._prepare()
        except sqlite3.DatabaseError as error:
            self.close()
            raise UnusableDatabase(errno.EINVAL, f"could not read its database ({error})", str(path)) from None
        except OSError:
            self.close()
            raise

    def _prepare(self) -> None:
        self._db.executescript(
            "PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
            "PRAGMA journal_size_limit = 16777216;"
            # The cache has 256 KiB. The default of 2 MiB is not faster, because the system caches the file.
            "PRAGMA cache_size = -256;"
        )
        if self._version() == 0:
            with self.transaction():
                if self._version() == 0:  # Another process may have created the tables meanwhile.
                    for statement in SCHEMA.split(";\n"):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        if self._version() > SCHEMA_VERSION:
            raise UnusableDatabase(
                errno.EINVAL, "it was written by a newer version of Octavo. Update Octavo, or choose another location"
            )
        self._db.execute(STATUS_INDEX)
        self._db.create_function("indexed", 1, fold_to_index_text, deterministic=True)
        self._db.create_function("parts", 1, lambda text: fold_to_index_text(subwords(text)), deterministic=True)
        if self.setting("words") != _INDEX_VERSION:
            with self.transaction():
                columns = [row[1] for row in self._db.execute("PRAGMA table_info(sections)")]
                if "parts" not in columns:
                    self._db.execute("ALTER TABLE sections ADD COLUMN parts TEXT NOT NULL DEFAULT ''")
                self._db.execute("DROP TABLE IF EXISTS words")
                self._db.execute(WORDS_SCHEMA)
                self._db.execute("UPDATE sections SET parts = parts(title || ' ' || body)")
                self._db.execute(
                    "INSERT INTO words (rowid, title, body, parts)"
                    " SELECT id, indexed(title), indexed(body), parts FROM sections"
                )
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                self.set_setting("words", _INDEX_VERSION)

    def _version(self) -> int:
        return int(self._db.execute("PRAGMA user_version").fetchone()[0])

    @contextmanager
    def cached_reads(self) -> Iterator[None]:
        """Cache documents inside the `with` block, because checks read the same documents many times."""
        with self.lock:
            before, self._cached_rows = self._cached_rows, {} if self._cached_rows is None else self._cached_rows
            try:
                yield
            finally:
                self._cached_rows = before

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Save all writes of the `with` block, or none after an exception. Can be nested. Raises WriteFailure."""
        with self.lock:
            if self._db.in_transaction:
                yield
                return
            try:
                self._db.execute("BEGIN IMMEDIATE")
                yield
                self._db.execute("COMMIT")
            except BaseException as error:
                if self._db.in_transaction:  # False if SQLite has rolled back, for example because the disk is full.
                    self._db.execute("ROLLBACK")
                if isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF in _MACHINE_ERRORS:
                    raise WriteFailure(errno.EIO, f"could not write its database ({error})") from None
                raise

    def find(self, path: str) -> Json | None:
        """Return the document at `path`. None if it does not exist."""
        rows = self._rows("SELECT body FROM documents WHERE path = ?", path)
        return self._document(rows[0][0]) if rows else None

    def get(self, path: str) -> Json:
        """Return the document at `path`. Raises MissingResource if it does not exist."""
        document = self.find(path)
        if document is None:
            raise MissingResource(path)
        return document

    def put(self, path: str, document: Json) -> Json:
        """Save and return a document. A new one becomes the last of its collection. A replaced one keeps its place."""
        self._cached_rows = None
        self._db.execute(
            "INSERT INTO documents (path, collection, body) VALUES (?, ?, ?)"
            " ON CONFLICT (path) DO UPDATE SET body = excluded.body",
            [path, path.rpartition("/")[0], json.dumps(document)],
        )
        return document

    def update(self, path: str, **fields: Any) -> Json:
        """Change `fields` of the document at `path`, and return it. Raises MissingResource if it does not exist."""
        return self.put(path, {**self.get(path), **fields})

    def delete(self, path: str) -> None:
        """Delete the document at `path` and all documents below this path. Do nothing if there are none."""
        self._cached_rows = None
        self._db.execute(
            "DELETE FROM documents WHERE path = ? OR (path >= ? AND path < ?)", [path, f"{path}/", f"{path}0"]
        )

    def all(self, path: str, *, status: str = "") -> Iterator[Json]:
        """Yield documents of the collection at `path`, oldest first. With `status`, only documents with this status."""
        return (document for _, document in self.items(path, status=status))

    def items(self, path: str, *, newest_first: bool = False, status: str = "") -> Iterator[tuple[int, Json]]:
        """Yield the position and the document of each item in a collection, oldest first or `newest_first`. Positions
        never change. With `status`, yield only items with this status."""
        values, condition = [path], "collection = ?"
        if status:
            values, condition = [path, status], f"{condition} AND json_extract(body, '$.status') = ?"
        order = "DESC" if newest_first else "ASC"
        query = f"SELECT position, body FROM documents WHERE {condition} ORDER BY position {order}"
        for position, body in self._rows(query, *values):
            yield position, self._document(body)

    def find_by(self, path: str, field: str, value: str | int) -> Json | None:
        """Return the oldest document of a collection whose `field` equals `value`. None if no document does."""
        query = (
            "SELECT body FROM documents WHERE collection = ? AND json_extract(body, ?) = ? ORDER BY position LIMIT 1"
        )
        row = self._db.execute(query, [path, f"$.{field}", value]).fetchone()
        return json.loads(row[0]) if row else None

    def count(self, path: str) -> int:
        """Return the number of documents in a collection."""
        query = "SELECT COUNT(*) FROM documents WHERE collection = ?"
        return int(self._db.execute(query, [path]).fetchone()[0])

    def count_by_status(self, path: str) -> Counter[str]:
        """Return the number of documents in a collection, by status."""
        query = "SELECT json_extract(body, '$.status'), COUNT(*) FROM documents WHERE collection = ? GROUP BY 1"
        return Counter(dict(self._rows(query, path)))

    def _document(self, body: str) -> Json:
        rows = self._cached_rows.get((body,)) if self._cached_rows is not None else None
        if rows is None:
            rows = [json.loads(body)]
            if self._cached_rows is not None:
                self._cached_rows[body,] = rows
        return {**rows[0]}

    def _rows(self, query: str, *values: str) -> list[Any]:
        rows = self._cached_rows.get((query, *values)) if self._cached_rows is not None else None
        if rows is None:
            rows = self._db.execute(query, values).fetchall()
            if self._cached_rows is not None:
                self._cached_rows[query, *values] = rows
        return rows

    def put_blob(self, body: str | bytes) -> str:
        """Save a text or a file as a blob. Return its hash."""
        data = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body
        digest = hashlib.sha256(data).hexdigest()
        if self._db.execute("SELECT 1 FROM blobs WHERE hash = ?", [digest]).fetchone() is None:
            with self.transaction():
                self._db.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", [digest, data])
        return digest

    def blob(self, digest: str) -> bytes:
        """Return the blob with this hash. Raises MissingResource if it does not exist."""
        row = self._db.execute("SELECT body FROM blobs WHERE hash = ?", [digest]).fetchone()
        if row is None:
            raise MissingResource(digest)
        return bytes(row[0])

    def text(self, digest: str) -> str:
        """Return the blob with this hash as text. Raises MissingResource if it does not exist."""
        return self.blob(digest).decode("utf-8", "surrogatepass")

    def add_key(self, key: str, user_id: str) -> None:
        """Save an API key of `user_id`. Only the hash of the key is stored."""
        # Because of WHERE, an unchanged key is not written again at each start of the platform.
        change = "ON CONFLICT DO UPDATE SET user = excluded.user WHERE user != excluded.user"
        self._db.execute(f"INSERT INTO keys VALUES (?, ?) {change}", [_digest(key), user_id])

    def user_of(self, key: str) -> str | None:
        """Return the ID of the user of an API key. None if the key is unknown."""
        row = self._db.execute("SELECT user FROM keys WHERE hash = ?", [_digest(key)]).fetchone()
        return str(row[0]) if row else None

    def setting(self, name: str) -> str | None:
        """Return the value of a setting that is stored in the database. None if it is not set."""
        row = self._db.execute("SELECT value FROM settings WHERE name = ?", [name]).fetchone()
        return str(row[0]) if row else None

    def set_setting(self, name: str, value: str) -> None:
        """Store the value of a setting, such as the ID of the space of a folder."""
        self._db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", [name, value])

    def index(self, space_id: str, page_id: str, sections: Iterable[Section]) -> None:
        """Index a page for search. `sections` replace all earlier sections of the page."""
        self.unindex(space_id, page_id)
        for anchor, title, body in sections:
            row = (space_id, page_id, anchor, _without_surrogates(title), _without_surrogates(body))
            self._db.execute(
                "INSERT INTO sections (space, page, anchor, title, body, parts) VALUES (?1, ?2, ?3, ?4, ?5, parts(?4 || ' ' || ?5))",
                row,
            )
            self._db.execute(
                "INSERT INTO words (rowid, title, body, parts)"
                " SELECT id, indexed(title), indexed(body), parts FROM sections WHERE id = last_insert_rowid()"
            )

    def unindex(self, space_id: str, page_id: str | None = None) -> None:
        """Remove a page from the search index, or all pages of the space if `page_id` is None."""
        condition, values = ("space = ? AND page = ?", [space_id, page_id]) if page_id else ("space = ?", [space_id])
        self._db.execute(
            "INSERT INTO words (words, rowid, title, body, parts)"
            f" SELECT 'delete', id, indexed(title), indexed(body), parts FROM sections WHERE {condition}",
            values,
        )
        self._db.execute(f"DELETE FROM sections WHERE {condition}", values)

    def search(self, spaces: list[str], query: str, limit: int) -> list[SearchHit]:
        """Return at most `limit` sections of `spaces` that match an FTS5 query, best match first."""
        marks = ",".join("?" * len(spaces))
        rows = self._db.execute(
            f"SELECT space, page, anchor, sections.title, snippet(words, 1, '{_HIT_MARK}', '', '…', 32), sections.id FROM words"
            f" JOIN sections ON sections.id = words.rowid WHERE words MATCH ? AND space IN ({marks})"
            " ORDER BY bm25(words, 8.0, 1.0, 0.5) + iif(sections.anchor = '', bm25(words, 8.0, 0.0, 0.0), 0), sections.id LIMIT ?",
            [query, *spaces, limit],
        )
        return [
            SearchHit(
                space, page, anchor, title, snippet.replace(_HIT_MARK, ""), None if _HIT_MARK in snippet else section
            )
            for space, page, anchor, title, snippet, section in rows
        ]

    def section_body(self, section_id: int) -> str:
        """Return the text of a section in the search index."""
        ((body,),) = self._db.execute("SELECT body FROM sections WHERE id = ?", [section_id])
        return str(body)


def _digest(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()


def _without_surrogates(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")  # SQLite cannot store surrogates.


_JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}


def image_size(data: bytes) -> Json | None:
    """Return the width and height of an image in pixels. None if the image is damaged or in an unknown format."""
    try:
        size = _read_size(data)
    except struct.error:
        return None
    return {"width": size[0], "height": size[1]} if size and all(size) else None


def _read_size(data: bytes) -> tuple[int, int] | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return _unpack_pair(">II", data, 16)
    if data.startswith((b"GIF87a", b"GIF89a")):
        return _unpack_pair("<HH", data, 6)
    if data.startswith(b"RIFF") and data[8:16] == b"WEBPVP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if data.startswith(b"RIFF") and data[8:16] == b"WEBPVP8 ":
        width, height = _unpack_pair("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    if data.startswith(b"RIFF") and data[8:16] == b"WEBPVP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if data.startswith(b"\xff\xd8"):
        return _jpeg_size(data)
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    position = 2
    while data[position : position + 1] == b"\xff":
        marker, length = struct.unpack_from(">xBH", data, position)
        if marker in _JPEG_FRAMES:
            height, width = _unpack_pair(">HH", data, position + 5)
            return width, height
        position += 2 + length
    return None


def _unpack_pair(layout: str, data: bytes, position: int) -> tuple[int, int]:
    first, second = struct.unpack_from(layout, data, position)
    return int(first), int(second)
