"""The full-text search index of the cached responses on this machine.

    index.add(op, response)            # in the background, in batches
    hits = await index.search("tide table", spaces=("docs",))

Each profile has its own index file. The file may be deleted at any time, and a damaged file is replaced. A new file and
a file whose process was killed are filled from the response cache.

FTS5 indexes words with `unicode61`, without accents, and prefixes of two and three letters. A trigram index would not
find words of two letters, such as most Chinese words. For 26 MB of text, it would take 143 MB instead of 74 MB, and
three times as long to write.

Only the newest `MAX_RANKED` matches are ranked, because ranking 60 000 matches takes 40 ms.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from octavo.api.folding import fold_for_search, fold_to_index_text, from_index_text, subwords, to_index_text
from octavo.api.operation import SPECS, ChangeRequestRef, Discussion, Operation, SpaceRef, decode_response
from octavo.data.database import Writer, closed_on_failure, connect, is_busy, is_intact, shows_damage, time_of_timestamp
from octavo.lazy_import import lazy

if TYPE_CHECKING:
    from octavo.api.folding import Range
    from octavo.data.response_cache import StoredResponse
    from octavo.data.search_text import IndexUpdate, Scope, SearchDocument, SearchTerms

R = TypeVar("R")

# lazy: these load the models of all responses
_search_terms: Callable[..., SearchTerms] = lazy("octavo.data.search_text:SearchTerms")
_index_update = lazy("octavo.data.search_text:index_update")
_removal_update = lazy("octavo.data.search_text:removal_update")

_WHOLE_PAGE_LETTERS = 200_000
"""A page with more indexed characters may be only partly in the index."""
VERSION = 9
SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, space TEXT NOT NULL,
    change_request TEXT NOT NULL, page TEXT NOT NULL, node TEXT NOT NULL, thread TEXT NOT NULL, own_id TEXT NOT NULL,
    title TEXT NOT NULL, author TEXT NOT NULL, about TEXT NOT NULL, page_path TEXT NOT NULL, file TEXT NOT NULL,
    number INTEGER NOT NULL, at REAL,
    stamp BLOB NOT NULL, known_at REAL NOT NULL, letters INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS by_place ON documents (space, kind, change_request, thread);
CREATE INDEX IF NOT EXISTS by_age ON documents (known_at);
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, part TEXT NOT NULL,
    path TEXT NOT NULL, anchor TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS of_document ON passages (document);
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (
    context, title, words, parts, shown UNINDEXED, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
CREATE TABLE IF NOT EXISTS filling (done INTEGER NOT NULL, after INTEGER NOT NULL) STRICT;
INSERT INTO filling SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM filling);
"""
MAX_LETTERS = 64_000_000
"""Maximum number of characters in the index."""
MAX_DOCUMENTS = 200_000
"""Maximum number of documents. Pages with only a title are deleted first, then the documents loaded longest ago."""
WRITES_PER_EVICTION = 500
"""Number of written documents after which Octavo checks whether the index is too large."""
MAX_RANKED = 2000
"""Maximum number of matching passages that are ranked: the newest. Older matches are not found."""
MAX_HITS_PER_ITEM = 3
"""Maximum number of results on the same page, thread or change request."""
CLOSE_SECONDS = 0.5
MAX_RECREATIONS = 3
"""Maximum number of times that a damaged file is replaced in one session."""
FILL_BATCH = 20
"""Number of cached responses that a new index reads in one transaction."""

_INDEXED_OPERATIONS = {
    *("content.GetPage", "content.ListPages"),
    *("comments.List", "comments.Get", "comments.ListReplies", "comments.GetReply"),
    *("change_requests.List", "change_requests.ListOfOrganization", "change_requests.Get"),
}
_REMOVING_OPERATIONS = _INDEXED_OPERATIONS | {"comments.Delete", "comments.DeleteReply"}
_SEPARATOR = "\x1f"

HitKind = Literal["page", "thread", "change request"]


@dataclass(frozen=True)
class Hit:
    """A result of a search."""

    kind: HitKind
    space_id: str
    id: str
    """ID of the page, thread or change request."""
    text_kind: str
    """Kind of the found text: `page` (title, description), `section`, `comment`, `quote`, `reply`, `change request`."""
    title: str
    """Title of the page, or subject of the change request."""
    anchor: str = ""
    """Anchor of the last heading in `path`. Empty if there is none."""
    change_request_id: str = ""
    page_id: str = ""
    block_key: str = ""
    """Key of the block that the thread is on. Empty if it is on no block."""
    author: str = ""
    about: str = ""
    """Description of the page, or status of the change request or thread. May be empty."""
    number: int = 0
    """Number of the change request. 0 for other results."""
    page_path: str = ""
    """Path of the page in the page tree."""
    path: tuple[str, ...] = ()
    """The headings above the match, the outermost first."""
    changed_at: datetime | None = None
    """When the page or change request was changed last, or when the comment or reply was posted. None if unknown."""
    known_at: datetime | None = None
    """When Octavo last loaded the page, thread or change request. None if unknown."""
    snippet: str = ""
    """The text around the match, in one line."""
    marks: tuple[Range, ...] = ()
    """Ranges of the searched words in `snippet`."""

    @property
    def at(self) -> Discussion:
        """The space or change request of the result."""
        if self.change_request_id:
            return ChangeRequestRef(space_id=self.space_id, change_request_id=self.change_request_id)
        return SpaceRef(space_id=self.space_id)


class PageName(NamedTuple):
    """Title and paths of a page."""

    id: str
    title: str
    path: str
    """Path in the page tree. It ends with a slash if the page has pages below it."""
    git_path: str


@dataclass(frozen=True)
class IndexedCounts:
    """Numbers of pages, threads and replies in the index, and the time of the newest response."""

    pages: int = 0
    """Number of pages whose text is in the index."""
    threads: int = 0
    replies: int = 0
    latest: datetime | None = None
    """When the newest response in the index was loaded. None if the index is empty."""


@dataclass(frozen=True)
class IndexedPages:
    """Which pages of a space are completely in the index, and which pages match a search."""

    update_times: dict[str, float] = field(default_factory=dict)
    """Time of the last change of each completely indexed page, by page ID. Pages without a known time are missing."""
    found_ids: frozenset[str] = frozenset()
    """IDs of the pages that contain all words of at least one query."""

    def has_version(self, page_id: str, updated_at: datetime | None) -> bool:
        """Return whether the index has the complete page as of `updated_at`. False if one of the times is unknown."""
        indexed = self.update_times.get(page_id)
        return indexed is not None and updated_at is not None and abs(indexed - updated_at.timestamp()) < 0.001


class SearchIndex:
    """Full-text index of the loaded pages, threads and change requests. The event loop never accesses its file."""

    def __init__(
        self,
        folder: Path | None,
        namespace: str = "",
        *,
        read_cached: Callable[[int, int], Iterable[StoredResponse]] | None = None,
        max_letters: int = MAX_LETTERS,
        max_documents: int = MAX_DOCUMENTS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """The file is in `folder`. If `folder` is None, the index is in memory. `namespace` is the profile. A new index
        is filled from `read_cached(number, limit)`, which returns up to `limit` cached responses after `number`."""
        name = hashlib.sha256(namespace.encode()).hexdigest()[:16]
        self._path = folder / f"index-v{VERSION}-{name}.db" if folder is not None else None
        self._read_cached = read_cached
        self._max_letters, self._max_documents = max_letters, max_documents
        self._now = now
        self.unusable_reason = ""
        """Sentence that says why the index cannot be used. Empty if it can."""
        self.changed: Callable[[], None] = lambda: None
        """Called in the writer thread when search results may have changed."""
        self._updates: deque[tuple[Callable[[], IndexUpdate], datetime]] = deque()
        self._flushing = False
        self._written_count = 0
        self._closing = self._has_all_cached = False
        self._lock = threading.Lock()
        """Locked while the index is read, and while its file is replaced."""
        self._reader: sqlite3.Connection | None = None
        self._recreated = 0
        self._writer = Writer(self._connect_writer, "octavo index writer")

    def add(self, op: Operation[Any], value: Any) -> None:
        """Add a response to the index in the background, if searches cover this kind of response. New texts of a page,
        comment or change request replace the old texts."""
        if value is not None and SPECS[type(op)].name in _INDEXED_OPERATIONS:
            self._schedule(partial(_index_update, op, value), self._now())

    def remove_target(self, op: Operation[Any]) -> None:
        """Remove the deleted or no longer accessible target of `op` from the index in the background."""
        if SPECS[type(op)].name in _REMOVING_OPERATIONS:
            self._schedule(partial(_removal_update, op), self._now())

    def _schedule(self, compute: Callable[[], IndexUpdate], known_at: datetime) -> None:
        if self._closing:
            return
        self._updates.append((compute, known_at))
        if not self._flushing:
            self._flushing = True
            self._submit(self._write_updates)

    def _write_updates(self, db: sqlite3.Connection) -> None:
        self._flushing = False
        has_changed = False
        while self._updates and not self._closing:
            compute, known_at = self._updates.popleft()
            has_changed = self._update(db, compute(), known_at.timestamp()) or has_changed
        if self._written_count >= WRITES_PER_EVICTION:
            self._written_count = 0
            self._evict(db)
        if has_changed:
            self.changed()

    def _update(self, db: sqlite3.Connection, update: IndexUpdate, known_at: float) -> bool:
        has_changed = False
        # A response may contain an item twice, so documents are compared by key.
        documents = {each.key: each for each in update.documents}
        indexed_documents = _read_documents(db, list(documents))
        unchanged_ids: list[int] = []
        for key, document in documents.items():
            indexed = indexed_documents.get(key)
            if indexed is None or (indexed.known_at <= known_at and indexed.differs(document)):
                self._write(db, document, known_at, indexed)
                has_changed = True
            elif document.text_hash:
                unchanged_ids.append(indexed.id)
        db.executemany(
            "UPDATE documents SET known_at = ? WHERE id = ? AND known_at < ?",
            ((known_at, each, known_at) for each in unchanged_ids),
        )
        for scope in update.complete_scopes:
            removed_ids = [number for number, key in _documents_in_scope(db, scope, known_at) if key not in documents]
            _delete_with_replies(db, removed_ids)
            has_changed = has_changed or bool(removed_ids)
        return has_changed

    def _write(
        self, db: sqlite3.Connection, document: SearchDocument, known_at: float, indexed: IndexedDocument | None
    ) -> None:
        self._written_count += 1
        if indexed is not None and indexed.text_hash and not document.text_hash:
            # The new document has only a title, so the indexed text is kept.
            db.execute(
                "UPDATE documents SET title = ?, about = ?, page_path = ?, file = ? WHERE id = ?",
                (document.title, document.about, document.path, document.git_path, indexed.id),
            )
            _delete_passages(db, "document = ? AND part = 'page'", indexed.id)
            _insert_passages(db, indexed.id, document)
            return
        if indexed is not None:
            _delete_documents(db, [indexed.id])
        values = (
            *(document.key, document.kind, document.space_id, document.change_request_id),
            *(document.page_id, document.block_key, document.thread_id, document.id, document.title),
            *(document.author, document.about, document.path, document.git_path, document.number),
            *(
                max(_MIN_TIMESTAMP, min(document.changed_at.timestamp(), _MAX_TIMESTAMP))
                if document.changed_at
                else None,
                document.text_hash,
                known_at if document.text_hash else 0.0,
            ),
        )
        placeholders = ", ".join("?" * len(values))
        number = db.execute(f"INSERT INTO documents VALUES (NULL, {placeholders}, 0)", values).lastrowid
        assert number is not None, "the insert must return a row"
        letter_count = _insert_passages(db, number, document)
        db.execute("UPDATE documents SET letters = ? WHERE id = ?", (letter_count, number))

    def _evict(self, db: sqlite3.Connection) -> None:
        count, letter_count = db.execute("SELECT count(*), total(letters) FROM documents").fetchone()
        if count <= self._max_documents and letter_count <= self._max_letters:
            return
        max_documents, max_letters = self._max_documents * 9 // 10, self._max_letters * 9 // 10
        rows = db.execute("SELECT id, letters FROM documents ORDER BY known_at, id")
        evicted_ids = []
        for number, size in rows:
            if count <= max_documents and letter_count <= max_letters:
                break
            count, letter_count = count - 1, letter_count - size
            evicted_ids.append(number)
        _delete_with_replies(db, evicted_ids)

    async def search(
        self,
        query: str,
        *,
        limit: int = 30,
        kinds: Collection[HitKind] = ("page", "thread", "change request"),
        spaces: Collection[str] | None = None,
        snippet_length: int = 160,
    ) -> tuple[Hit, ...]:
        """Return results that contain every word of `query`, the best first. `spaces` are space IDs, or None for all.
        Empty if the index cannot be used."""
        return await asyncio.to_thread(self._read, partial(_search, query, limit, kinds, spaces, snippet_length), ())

    async def counts(self, spaces: Collection[str] | None = None) -> IndexedCounts:
        """Return the numbers of indexed pages, threads and replies in `spaces`, or in all spaces if it is None."""
        return await asyncio.to_thread(self._read, partial(_counts, spaces), IndexedCounts())

    async def page_names(self, space_id: str) -> tuple[PageName, ...]:
        """Return the titles and paths of the pages of a space. Pages whose text is not loaded are included."""
        return await asyncio.to_thread(self._read, partial(_page_names, space_id), ())

    async def pages_with(self, space_id: str, queries: Iterable[tuple[str, ...]]) -> IndexedPages:
        """Return the indexed pages of a space, and which of them contain all words of at least one query."""
        work = partial(_indexed_pages, space_id, tuple(queries))
        return await asyncio.to_thread(self._read, work, IndexedPages())

    async def replies(self) -> Mapping[tuple[Discussion, str], tuple[str, ...]]:
        """Return the texts of all replies in the index, by thread: its space or change request, and its ID."""
        return await asyncio.to_thread(self._read, _replies, {})

    def flush(self) -> None:
        """Wait until all updates are in the index. Blocks, so never call this on the event loop."""
        self._writer.flush()

    def finish_writing(self) -> None:
        """Store whether all cached responses are indexed, and write nothing afterward. Updates that are not written are
        dropped: the next run makes them from the response cache."""
        if self._has_all_cached and not self._updates:
            self._submit(lambda db: db.execute("UPDATE filling SET done = 1"))
        self._closing = True
        self._updates.clear()
        self._writer.flush(CLOSE_SECONDS)

    def close(self) -> None:
        """Call `finish_writing`, and close the file."""
        self.finish_writing()
        self._writer.close(CLOSE_SECONDS)
        with self._lock:
            self._close_reader()

    def _submit(self, function: Callable[[sqlite3.Connection], object]) -> None:
        if not self.unusable_reason and not self._closing:
            self._writer.submit(function).add_done_callback(partial(self._check_result, self._writer))

    def _check_result(self, writer: Writer, job: Future[object]) -> None:
        """If a `job` failed, replace a damaged index, or give up after another error of SQLite or the disk. Ignore a
        busy database and jobs of an earlier writer. Raise any other error."""
        error = job.exception() if not job.cancelled() else None
        if error is None or writer is not self._writer:
            return
        if isinstance(error, sqlite3.DatabaseError):
            self._on_error(error)
        elif isinstance(error, OSError):
            self._give_up(str(error))
        else:
            raise error

    def _on_error(self, error: sqlite3.DatabaseError) -> None:
        self._flushing = self._has_all_cached = False
        if shows_damage(error) and self._recreated < MAX_RECREATIONS:
            self._replace_damaged_file()
        elif not is_busy(error):
            self._give_up(str(error))

    def _give_up(self, cause: str) -> None:
        self.unusable_reason = (
            f"Could not search the pages you have opened: the search index {self._path or 'in memory'} "
            f"is unusable ({cause})."
        )
        self._updates.clear()

    def _replace_damaged_file(self) -> None:
        self._recreated += 1
        with self._lock:
            self._close_reader()
            self.delete_file()
            self._writer.close(0.0)
            self._writer = Writer(self._connect_writer, "octavo index writer")
        self._submit(lambda db: None)

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def delete_file(self) -> None:
        """Delete the file of the index."""
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _connect_writer(self) -> sqlite3.Connection:
        if self._path is None:
            db = connect(None)
            db.executescript(SCHEMA)
            return db
        for old_path in self._path.parent.glob("index-v*.db*"):
            if not old_path.name.startswith(f"index-v{VERSION}-"):
                old_path.unlink(missing_ok=True)
        db = connect(self._path)
        with closed_on_failure(db):
            if not is_intact(db):
                db.close()
                self.delete_file()
                db = connect(self._path)
            db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        self._has_all_cached = bool(db.execute("SELECT done FROM filling").fetchone()[0])
        db.execute("UPDATE filling SET done = 0")  # If this process is killed, the next run fills the index.
        if self._read_cached is not None and not self._has_all_cached:
            self._submit(self._fill)
        return db

    def _fill(self, db: sqlite3.Connection) -> None:
        """Index the next batch of cached responses. Then schedule the next batch, or after the last, call `changed`."""
        assert self._read_cached is not None, "the index must have a source"
        ((indexed_number,),) = db.execute("SELECT after FROM filling").fetchall()
        if self._closing:
            return
        try:
            responses = list(self._read_cached(indexed_number, FILL_BATCH))
        except sqlite3.Error:
            return  # The cache is damaged or busy, not the index. The next run continues.
        last_number = responses[-1].number if responses else indexed_number
        for _, op, body, requested_at in responses:
            if op is not None and SPECS[type(op)].name in _INDEXED_OPERATIONS:
                with suppress(ValueError):  # the cache deletes an unreadable response when it is next used
                    self._update(
                        db, _index_update(op, decode_response(SPECS[type(op)].codec, body)), requested_at.timestamp()
                    )
        db.execute("UPDATE filling SET after = ?", (last_number,))
        if last_number != indexed_number:
            self._submit(self._fill)
        else:
            self._has_all_cached = True
            self._evict(db)
            self.changed()

    def _read(self, function: Callable[[sqlite3.Connection], R], default: R) -> R:
        """Return the result of `function`, which gets a connection to the index. Return `default` if the index cannot
        be used. Blocks, so call this in a thread."""
        if self.unusable_reason or self._closing:
            return default
        try:
            if self._path is None:
                return self._writer.submit(function).result()
            if self._reader is None:
                self._writer.submit(lambda db: None).result()  # The writer creates the file.
            with self._lock:
                if self._reader is None:
                    self._reader = connect(self._path, read_only=True)
                return function(self._reader)
        except sqlite3.DatabaseError as error:
            self._on_error(error)
        except OSError as error:
            self._give_up(str(error))
        return default


class IndexedDocument(NamedTuple):
    """The entry of a search document in the index, without the texts of the document."""

    id: int
    title: str
    about: str
    path: str
    git_path: str
    text_hash: bytes
    known_at: float
    """Timestamp of when Octavo last loaded the document. 0 if only its title was loaded."""

    def differs(self, document: SearchDocument) -> bool:
        """Return whether `document` differs from this entry: by text hash, or if it has none, by title or paths."""
        if document.text_hash:
            return self.text_hash != document.text_hash
        indexed_values, new_values = ((each.title, each.about, each.path, each.git_path) for each in (self, document))
        return indexed_values != new_values


_IN_JSON = "IN (SELECT value FROM json_each(?))"
"""SQL condition `IN` whose values are a JSON list, so that one parameter has any number of values."""


def _json_list(values: Iterable[int | str]) -> str:
    return json.dumps(list(values))


_MIN_TIMESTAMP = datetime.min.replace(tzinfo=UTC).timestamp()
_MAX_TIMESTAMP = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


def _read_documents(db: sqlite3.Connection, keys: list[str]) -> dict[str, IndexedDocument]:
    rows = db.execute(
        f"SELECT key, id, title, about, page_path, file, stamp, known_at FROM documents WHERE key {_IN_JSON}",
        [_json_list(keys)],
    )
    return {key: IndexedDocument(*row) for key, *row in rows}


def _documents_in_scope(db: sqlite3.Connection, scope: Scope, known_at: float) -> list[tuple[int, str]]:
    condition, values = "space = ? AND kind = ? AND known_at <= ?", [scope.space_id, scope.kind, known_at]
    for name, value in (
        ("change_request", scope.change_request_id),
        ("page", scope.page_id),
        ("thread", scope.thread_id),
        ("own_id", scope.id),
    ):
        if value is not None:
            condition += f" AND {name} = ?"
            values.append(value)
    rows: list[tuple[int, str]] = db.execute(f"SELECT id, key FROM documents WHERE {condition}", values).fetchall()
    return rows


def _delete_with_replies(db: sqlite3.Connection, documents: list[int]) -> None:
    if not documents:
        return
    replies = db.execute(
        "SELECT reply.id FROM documents reply JOIN documents thread ON reply.kind = 'reply' AND thread.kind = 'comment'"
        " AND reply.space = thread.space AND reply.change_request = thread.change_request AND reply.thread = thread.thread"
        f" WHERE thread.id {_IN_JSON}",
        [_json_list(documents)],
    )
    _delete_documents(db, [*documents, *(number for (number,) in replies)])


def _delete_documents(db: sqlite3.Connection, document_ids: list[int]) -> None:
    ids_json = _json_list(document_ids)
    _delete_passages(db, f"document {_IN_JSON}", ids_json)
    db.execute(f"DELETE FROM documents WHERE id {_IN_JSON}", [ids_json])


def _delete_passages(db: sqlite3.Connection, where: str, *values: Any) -> None:
    db.execute(f"DELETE FROM texts WHERE rowid IN (SELECT id FROM passages WHERE {where})", values)
    db.execute(f"DELETE FROM passages WHERE {where}", values)


def _insert_passages(db: sqlite3.Connection, document_id: int, document: SearchDocument) -> int:
    """Add the texts of the document in the row `document_id` to the index. Return the number of characters."""
    letter_count = 0
    for text_part in document.read_texts():
        passage = db.execute(
            "INSERT INTO passages VALUES (NULL, ?, ?, ?, ?)",
            (document_id, text_part.text_kind, _SEPARATOR.join(text_part.path), text_part.anchor),
        ).lastrowid
        shown_text = _storable_text(text_part.text)
        title, context = _storable_text(text_part.title), _storable_text(text_part.context)
        columns = [fold_to_index_text(context), fold_to_index_text(f"{title} {_parts(title)}".rstrip())]
        # A text that folding changes only in case is stored once, because SQLite ignores case.
        is_simple = fold_for_search(shown_text) == shown_text.lower()
        columns += [to_index_text(shown_text), ""] if is_simple else [fold_to_index_text(shown_text), shown_text]
        columns.insert(3, fold_to_index_text(_parts(shown_text)))
        db.execute(
            "INSERT INTO texts (rowid, context, title, words, parts, shown) VALUES (?, ?, ?, ?, ?, ?)",
            (passage, *columns),
        )
        letter_count += sum(map(len, columns))
    return letter_count


def _parts(text: str) -> str:
    """Return the parts of compound words in `text`, such as `get Station Id StationId` for `getStationId`."""
    return subwords(to_index_text(text))


def _storable_text(text: str) -> str:
    """Return a text that SQLite can store: lone surrogates and NUL characters are replaced."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


_KINDS: dict[HitKind, tuple[str, ...]] = {
    "page": ("page",),
    "thread": ("comment", "reply"),
    "change request": ("change request",),
}


def _search(
    query: str,
    limit: int,
    kinds: Collection[HitKind],
    spaces: Collection[str] | None,
    snippet_length: int,
    db: sqlite3.Connection,
) -> tuple[Hit, ...]:
    terms = _search_terms(query)
    document_kinds = [kind for found in kinds for kind in _KINDS[found]]
    if not terms or not document_kinds or spaces == ():
        return ()
    where, values = f"document.kind {_IN_JSON}", [_json_list(document_kinds)]
    if spaces is not None:
        where += f" AND document.space {_IN_JSON}"
        values.append(_json_list(spaces))
    rows = db.execute(
        "SELECT iif(document.thread = '', document.kind, 'thread'), document.space,"
        " iif(document.thread = '', document.own_id, document.thread), part, coalesce(root.title, document.title),"
        " anchor, document.change_request, coalesce(root.page, document.page), coalesce(root.node, document.node),"
        " document.author, coalesce(root.about, document.about), document.number, document.page_path,"
        " path, document.at, document.known_at, passage FROM ("
        "  SELECT texts.rowid AS passage, document AS owner, part, path, anchor,"
        "  bm25(texts, 1.0, 8.0, 1.0, 0.5) * iif(texts.rowid IN (SELECT rowid FROM texts WHERE texts MATCH ?), 2, 1) AS rank"
        "  FROM texts JOIN passages ON passages.id = texts.rowid JOIN documents document ON document.id = passages.document"
        f"  WHERE texts MATCH ? AND {where} ORDER BY texts.rowid DESC LIMIT ?"
        " ) JOIN documents document ON document.id = owner LEFT JOIN documents root ON part = 'reply'"
        " AND root.kind = 'comment' AND root.space = document.space"
        " AND root.change_request = document.change_request AND root.thread = document.thread"
        " ORDER BY rank, document.known_at DESC, passage LIMIT ?",
        [terms.whole_expression, terms.expression, *values, MAX_RANKED, limit * 6],
    ).fetchall()
    hits: list[Hit] = []
    hits_per_item: dict[tuple[str, ...], int] = {}
    for *columns, path, changed_at, known_at, passage in rows:
        headings = tuple(path.split(_SEPARATOR)) if path else ()
        times = [
            time_of_timestamp(changed_at) if changed_at is not None else None,
            time_of_timestamp(known_at) if known_at else None,
        ]
        hit = Hit(*(*columns, headings, *times))
        item = (hit.kind, hit.space_id, hit.change_request_id, hit.id)
        if hits_per_item.get(item, 0) < MAX_HITS_PER_ITEM and len(hits) < limit:
            hits_per_item[item] = hits_per_item.get(item, 0) + 1
            row = db.execute("SELECT iif(shown = '', words, shown) FROM texts WHERE rowid = ?", (passage,)).fetchone()
            snippet, marks = terms.excerpt(from_index_text(row[0]) if row is not None else "", snippet_length)
            hits.append(replace(hit, snippet=snippet, marks=marks))
    return tuple(hits)


def _counts(spaces: Collection[str] | None, db: sqlite3.Connection) -> IndexedCounts:
    where, values = ("1", []) if spaces is None else (f"space {_IN_JSON}", [_json_list(spaces)])
    rows = db.execute(
        f"SELECT kind, count(*) FILTER (WHERE length(stamp) > 0), max(known_at) FROM documents WHERE {where} GROUP BY kind",
        values,
    ).fetchall()
    counts = {kind: count for kind, count, _ in rows}
    latest_time = max((known_at for *_, known_at in rows), default=0.0)
    return IndexedCounts(
        counts.get("page", 0),
        counts.get("comment", 0),
        counts.get("reply", 0),
        time_of_timestamp(latest_time) if latest_time else None,
    )


def _page_names(space_id: str, db: sqlite3.Connection) -> tuple[PageName, ...]:
    rows = db.execute(
        "SELECT page, title, page_path, file FROM documents WHERE space = ? AND kind = 'page' ORDER BY id", [space_id]
    )
    return tuple(PageName(*row) for row in rows)


def _replies(db: sqlite3.Connection) -> Mapping[tuple[Discussion, str], tuple[str, ...]]:
    rows = db.execute(
        "SELECT space, change_request, thread, iif(shown = '', words, shown) FROM documents JOIN passages ON passages.document = documents.id"
        " JOIN texts ON texts.rowid = passages.id WHERE kind = 'reply' ORDER BY documents.at, documents.id"
    )
    replies: dict[tuple[Discussion, str], tuple[str, ...]] = {}
    discussions: dict[tuple[str, str], Discussion] = {}
    for space, change, thread, text in rows:
        if (at := discussions.get((space, change))) is None:
            at = ChangeRequestRef(space_id=space, change_request_id=change) if change else SpaceRef(space_id=space)
            discussions[space, change] = at
        replies[at, thread] = (*replies.get((at, thread), ()), from_index_text(text))
    return replies


def _indexed_pages(space_id: str, queries: Iterable[tuple[str, ...]], db: sqlite3.Connection) -> IndexedPages:
    rows = db.execute(
        "SELECT page, at FROM documents WHERE space = ? AND kind = 'page' AND length(stamp) > 0 AND at IS NOT NULL"
        " AND letters <= ?",
        (space_id, _WHOLE_PAGE_LETTERS),
    )
    updated_at = {str(page): float(at) for page, at in rows}
    found_ids: set[str] = set()
    for query in queries:
        found_ids |= set.intersection(*(_pages_with(space_id, word, db) for word in query))
    return IndexedPages(updated_at, frozenset(found_ids))


def _pages_with(space_id: str, word: str, db: sqlite3.Connection) -> set[str]:
    quoted = '"' + fold_to_index_text(word).replace('"', '""') + '"'
    rows = db.execute(
        "SELECT DISTINCT documents.page FROM texts JOIN passages ON passages.id = texts.rowid"
        " JOIN documents ON documents.id = passages.document WHERE texts MATCH ? AND space = ? AND kind = 'page'",
        (quoted, space_id),
    )
    return {str(page) for (page,) in rows}
