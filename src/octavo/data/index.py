"""The local index: words of what was read, found without asking anybody. All of it may be thrown away.

    index.learn(op, answer)                      # behind, in batches
    hits = await index.search("tide table", spaces=("docs",))

Each profile has a file of its own. It is made anew when it is damaged or of an older form, and filled from the answers that
are kept (`response_cache.py`).

Words are those of FTS5's `unicode61` without accents, with an index of their first two and three letters, and not trigrams:
of 70 000 passages (26 MB) that is 74 MB instead of 143, written in a third of the time, and finds words of two letters, which
most Chinese words are. What has many matches is ranked among the `MOST_RANKED` written last: all of 60 000 would take 40 ms.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sqlite3
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from octavo.api.operation import SPECS, Operation, read
from octavo.api.places import ChangeRequestRef, Discussion, SpaceRef
from octavo.data.database import (
    Writer,
    closed_on_failure,
    connect,
    is_busy,
    moment,
    private_file,
    private_folder,
    sound,
)

if TYPE_CHECKING:
    from octavo.api.folding import Range
    from octavo.data.index_documents import Document, Learned, Scope
    from octavo.data.response_cache import KeptAnswer

R = TypeVar("R")

VERSION = 4
SCHEMA = """
CREATE TABLE IF NOT EXISTS documents (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, space TEXT NOT NULL,
    change_request TEXT NOT NULL, page TEXT NOT NULL, node TEXT NOT NULL, thread TEXT NOT NULL, own_id TEXT NOT NULL,
    title TEXT NOT NULL, author TEXT NOT NULL, about TEXT NOT NULL, lies TEXT NOT NULL, file TEXT NOT NULL,
    number INTEGER NOT NULL, at REAL,
    stamp BLOB NOT NULL, known_at REAL NOT NULL, letters INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS by_place ON documents (space, kind, change_request, thread);
CREATE INDEX IF NOT EXISTS by_age ON documents (known_at);
CREATE TABLE IF NOT EXISTS passages (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE, part TEXT NOT NULL,
    path TEXT NOT NULL, anchor TEXT NOT NULL, nth INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS of_document ON passages (document);
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (
    around, title, words, parts, shown UNINDEXED, tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
CREATE TABLE IF NOT EXISTS filling (done INTEGER NOT NULL, after INTEGER NOT NULL) STRICT;
INSERT INTO filling SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM filling);
"""
MOST_LETTERS = 64_000_000
MOST_DOCUMENTS = 200_000
"""What is kept at most. Beyond, what was read longest ago goes first, and before it pages of which only the title is known."""
TIDY_EVERY = 500
"""Documents written between two looks at how much there is."""
MOST_RANKED = 2000
"""Passages that are compared, those written last first."""
MOST_OF_ONE = 3
"""Passages of one page, or messages of one thread, among what is found."""
CLOSES_WITHIN = 0.5
"""Seconds that what is being written has to come to its end."""
MOST_FILES = 3
"""Files that are made anew before it is clear that they do not stay whole."""
AT_ONCE = 20
"""Kept answers that are read in one go when the index is made anew."""

_LEARNED_FROM = {
    *(
        "content.GetPage",
        "content.ListPages",
        "comments.List",
        "comments.Get",
        "comments.ListReplies",
        "comments.GetReply",
    ),
    *("change_requests.List", "change_requests.ListOfOrganization", "change_requests.Get"),
}
_LOST_BY = _LEARNED_FROM | {"comments.Delete", "comments.DeleteReply"}
_BETWEEN = "\x1f"

Found = Literal["page", "thread", "change request"]


@dataclass(frozen=True)
class Hit:
    """Something that was found, and where."""

    kind: Found
    space: str
    id: str
    """The page, the thread, the change request."""
    part: str
    """What of it says so: `page`, `section`, `comment`, `quote`, `reply` or `change request`."""
    title: str
    """The page it is or is on, or the subject of the change request."""
    snippet: str
    """The words around what was found, in one line."""
    marks: tuple[Range, ...]
    """Where in the snippet the words stand."""
    title_marks: tuple[Range, ...] = ()
    path: tuple[str, ...] = ()
    """The headings it stands under, outermost first."""
    anchor: str = ""
    nth: int = 0
    """How many headings before the last of these say the same on the page."""
    change_request: str = ""
    page: str = ""
    node: str = ""
    """The block that a thread hangs on."""
    author: str = ""
    about: str = ""
    """The status of a change request or a thread."""
    number: int = 0
    at: datetime | None = None
    """When it was written or changed."""
    known_at: datetime | None = None
    """When the server said so last."""
    page_path: str = ""
    """Where a page lies in its tree."""

    @property
    def place(self) -> Discussion:
        """Where it is."""
        if self.change_request:
            return ChangeRequestRef(space_id=self.space, change_request_id=self.change_request)
        return SpaceRef(space_id=self.space)


class PageName(NamedTuple):
    """How a page is called, and where it lies."""

    id: str
    title: str
    path: str
    """Its path in the tree, with a slash where pages lie below it."""
    file: str
    """The path of the file that it is kept in."""


@dataclass(frozen=True)
class Extent:
    """How much is known, and when the server last said something of it."""

    pages: int = 0
    titles: int = 0
    """Pages of which only the title is known."""
    threads: int = 0
    replies: int = 0
    change_requests: int = 0
    latest: datetime | None = None

    def __bool__(self) -> bool:
        return bool(self.pages or self.titles or self.threads or self.replies or self.change_requests)


class Index:
    """Words of what was read, by profile. Without a folder it lasts as long as the process.

    Nothing of it is opened before there is something to write or to find, and nothing is written or read on the loop.
    """

    def __init__(
        self,
        folder: Path | None,
        namespace: str = "",
        *,
        kept: Callable[[int, int], Iterable[KeptAnswer]] | None = None,
        most_letters: int = MOST_LETTERS,
        most_documents: int = MOST_DOCUMENTS,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Of the file in `folder` for `namespace`. `kept`: the answers it is filled from when it is new,
        after a number and so many of them."""
        name = hashlib.sha256(namespace.encode()).hexdigest()[:16]
        self._path = folder / f"index-v{VERSION}-{name}.db" if folder is not None else None
        self._kept = kept
        self._most_letters, self._most_documents = most_letters, most_documents
        self._now = now
        self.notice = ""
        """Why nothing can be found here, in a sentence."""
        self.changed: Callable[[], None] = _nobody
        """Called in the thread of the index when other words can be found than before."""
        self._news: deque[tuple[Callable[[], Learned], datetime]] = deque()
        self._flushing = False
        self._written = 0
        self._closing = False
        self._lock = threading.Lock()
        """Held by who reads, and while the file is changed for another."""
        self._reader: sqlite3.Connection | None = None
        self._made_anew = 0
        self._writer = Writer(self._connected, "octavo index writer")

    # Learning

    def learn(self, op: Operation[Any], value: Any) -> None:
        """Let the words of an answer be found, and no longer those it takes the place of. Behind."""
        if value is not None and SPECS[type(op)].name in _LEARNED_FROM:
            self._soon(partial(_learned, op, value), self._now())

    def lose(self, op: Operation[Any]) -> None:
        """Let nothing be found of what `op` asks for or deletes: it is gone. Behind."""
        if SPECS[type(op)].name in _LOST_BY:
            self._soon(partial(_gone, op), self._now())

    def _soon(self, what: Callable[[], Learned], when: datetime) -> None:
        if self._closing:
            return
        self._news.append((what, when))
        if not self._flushing:
            self._flushing = True
            self._submit(self._flush)

    def _flush(self, db: sqlite3.Connection) -> None:
        """Write all that came by now."""
        self._flushing = False
        differs = False
        while self._news and not self._closing:
            what, when = self._news.popleft()
            differs = self._take(db, what(), when.timestamp()) or differs
        if self._written >= TIDY_EVERY:
            self._written = 0
            self._tidy(db)
        if differs:
            self.changed()

    def _take(self, db: sqlite3.Connection, news: Learned, when: float) -> bool:
        differs = False
        told = {each.key: each for each in news.documents}  # nothing keeps a server from telling of the same twice
        known = _known(db, list(told))
        same: list[int] = []
        for key, document in told.items():
            here = known.get(key)
            if here is None or (here.known_at <= when and here.differs(document)):
                self._write(db, document, when, here)
                differs = True
            elif document.stamp:
                same.append(here.id)
        db.executemany(
            "UPDATE documents SET known_at = ? WHERE id = ? AND known_at < ?", ((when, each, when) for each in same)
        )
        for scope in news.whole:
            lost = [number for number, key in _in_scope(db, scope, when) if key not in told]
            _delete(db, lost)
            differs = differs or bool(lost)
        return differs

    def _write(self, db: sqlite3.Connection, document: Document, when: float, before: Known | None) -> None:
        self._written += 1
        if before is not None and before.stamp and not document.stamp:
            # Only its title is told now: the words below it are those read before.
            db.execute(
                "UPDATE documents SET title = ?, about = ?, lies = ?, file = ? WHERE id = ?",
                (document.title, document.about, document.path, document.file, before.id),
            )
            _delete_passages(db, "document = ? AND part = 'page'", before.id)
            _insert_passages(db, before.id, document)
            return
        if before is not None:
            _delete(db, [before.id])
        values = (
            *(document.key, document.kind, document.space, document.change_request, document.page, document.node),
            *(document.thread, document.id, document.title, document.author, document.about),
            *(document.path, document.file, document.number),
            *(
                _seconds(document.at) if document.at is not None else None,
                document.stamp,
                when if document.stamp else 0.0,
            ),
        )
        marks = ", ".join("?" * len(values))
        number = db.execute(f"INSERT INTO documents VALUES (NULL, {marks}, 0)", values).lastrowid
        assert number is not None, "the insert must return a row"
        letters = _insert_passages(db, number, document)
        db.execute("UPDATE documents SET letters = ? WHERE id = ?", (letters, number))

    def _tidy(self, db: sqlite3.Connection) -> None:
        """Let go of what was read longest ago when it is too much."""
        count, letters = db.execute("SELECT count(*), total(letters) FROM documents").fetchone()
        if count <= self._most_documents and letters <= self._most_letters:
            return
        most_documents, most_letters = self._most_documents * 9 // 10, self._most_letters * 9 // 10
        rows = db.execute("SELECT id, letters FROM documents ORDER BY known_at, id")
        going = []
        for number, size in rows:
            if count <= most_documents and letters <= most_letters:
                break
            count, letters = count - 1, letters - size
            going.append(number)
        _delete(db, going)

    # Finding

    async def search(
        self,
        typed: str,
        *,
        limit: int = 30,
        kinds: Collection[Found] = ("page", "thread", "change request"),
        spaces: Collection[str] | None = None,
        length: int = 160,
    ) -> tuple[Hit, ...]:
        """What holds every word of `typed`, the best first, of these kinds and in these spaces, or in all.

        Snippets have about `length` characters. Nothing is found while the file cannot be used: `notice` says why.
        """
        return await asyncio.to_thread(self._read, partial(_search, typed, limit, kinds, spaces, length), ())

    async def extent(self, spaces: Collection[str] | None = None) -> Extent:
        """How much is known of these spaces, or of all."""
        return await asyncio.to_thread(self._read, partial(_extent, spaces), Extent())

    async def pages(self, space: str) -> tuple[PageName, ...]:
        """How the pages of a space are called, and where they lie."""
        return await asyncio.to_thread(self._read, partial(_pages, space), ())

    async def replies(self) -> Mapping[tuple[Discussion, str], tuple[str, ...]]:
        """The words of the replies that are known, by the place and the id of their thread."""
        return await asyncio.to_thread(self._read, _replies, {})

    # The file

    def forget(self) -> None:
        """Throw all of it away, with its file."""
        self._remove()

    def flush(self) -> None:
        """Wait until all that was learned by now can be found. Not on the loop."""
        self._writer.submit(lambda db: None).exception()

    def close(self) -> None:
        """Let go of the file. What was not written by now is read again another time."""
        self._closing = True
        self._news.clear()
        self._writer.close(CLOSES_WITHIN)
        with self._lock:
            self._let_go()

    def _submit(self, work: Callable[[sqlite3.Connection], None]) -> None:
        if not self.notice and not self._closing:
            self._writer.submit(work).add_done_callback(partial(self._ended, self._writer))

    def _ended(self, writer: Writer, job: Future[None]) -> None:
        """What went wrong with the file is mended; anything else is a bug."""
        error = job.exception() if not job.cancelled() else None
        if error is None or writer is not self._writer:
            return
        if isinstance(error, sqlite3.DatabaseError):
            self._failed(error)
        elif isinstance(error, OSError):
            self._give_up(str(error))
        else:
            raise error

    def _failed(self, error: sqlite3.DatabaseError) -> None:
        self._flushing = False
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) and self._made_anew < MOST_FILES:
            self._anew()
        elif not is_busy(error):
            self._give_up(str(error))

    def _give_up(self, why: str) -> None:
        self.notice = f"Could not search the pages you have opened: the search index {self._path or 'in memory'} is unusable ({why})."
        self._news.clear()

    def _anew(self) -> None:
        """Begin with an empty file."""
        self._made_anew += 1
        with self._lock:
            self._let_go()
            self._remove()
            self._writer.close(0.0)
            self._writer = Writer(self._connected, "octavo index writer")
        self._submit(lambda db: None)

    def _let_go(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _remove(self) -> None:
        if self._path is not None:
            for suffix in ("", "-wal", "-shm"):
                with suppress(OSError):
                    self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)

    def _connected(self) -> sqlite3.Connection:
        """The connection of the writer. Raises sqlite3.Error and OSError."""
        if self._path is None:
            db = connect(None)
            db.executescript(SCHEMA)
            return db
        private_folder(self._path.parent)
        for other in self._path.parent.glob("index-v*.db*"):
            if not other.name.startswith(f"index-v{VERSION}-"):
                other.unlink(missing_ok=True)
        private_file(self._path)
        db = connect(self._path)
        with closed_on_failure(db):
            if not sound(db):
                db.close()
                self._remove()
                private_file(self._path)
                db = connect(self._path)
            db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
        if self._kept is not None and not db.execute("SELECT done FROM filling").fetchone()[0]:
            self._submit(self._fill)
        return db

    def _fill(self, db: sqlite3.Connection) -> None:
        """Learn from some of the answers that are kept, and from the others after what has to be written meanwhile."""
        assert self._kept is not None, "the index must have a source"
        ((done, after),) = db.execute("SELECT done, after FROM filling").fetchall()
        if done or self._closing:
            return
        answers = list(self._kept(after, AT_ONCE))
        last = answers[-1].number if answers else after
        for _, op, body, kept_at in answers:
            if op is not None and SPECS[type(op)].name in _LEARNED_FROM:
                with suppress(ValueError):  # which the cache finds out, too, when it is asked for it
                    self._take(db, _learned(op, read(SPECS[type(op)].codec, body)), kept_at.timestamp())
        db.execute("UPDATE filling SET done = ?, after = ?", (last == after, last))
        if last != after:
            self._submit(self._fill)
        else:
            self._tidy(db)
            self.changed()

    def _read(self, work: Callable[[sqlite3.Connection], R], nothing: R) -> R:
        """What `work` finds. In a thread."""
        if self.notice or self._closing:
            return nothing
        try:
            if self._path is None:
                return self._writer.submit(work).result()
            if self._reader is None:
                self._writer.submit(lambda db: None).result()  # it makes the file, and begins to fill it
            with self._lock:
                if self._reader is None:
                    self._reader = connect(self._path, read_only=True)
                return work(self._reader)
        except sqlite3.DatabaseError as error:
            self._failed(error)
        except OSError as error:
            self._give_up(str(error))
        return nothing


@dataclass(frozen=True)
class Known:
    """A document as it is in the index."""

    id: int
    title: str
    about: str
    path: str
    file: str
    stamp: bytes
    known_at: float

    def differs(self, document: Document) -> bool:
        """Whether another one of the same key says something else."""
        if document.stamp:
            return self.stamp != document.stamp
        here, there = ((each.title, each.about, each.path, each.file) for each in (self, document))
        return here != there


def _learned(op: Operation[Any], value: Any) -> Learned:
    from octavo.data.index_documents import learned  # brings the models of all it knows with it

    return learned(op, value)


def _gone(op: Operation[Any]) -> Learned:
    from octavo.data.index_documents import Learned, gone

    return Learned(whole=gone(op))


def _nobody() -> None:
    """Nobody asked to be told."""


def _many(values: Iterable[Any], most: int = 500) -> Iterator[list[Any]]:
    """As many as fit in one statement."""
    rest = list(values)
    for start in range(0, len(rest), most):
        yield rest[start : start + most]


_AMONG = "IN (SELECT value FROM json_each(?))"
"""Of values whose number somebody else decides: a statement takes only so many."""


def _among(values: Iterable[int | str]) -> str:
    """What is asked for with `_AMONG`."""
    return json.dumps(list(values))


def _seconds(at: datetime) -> float:
    """A moment of an answer as it is kept: in other time zones the first and the last day have hours that none here has."""
    return max(_FIRST, min(at.timestamp(), _LAST))


_FIRST = datetime.min.replace(tzinfo=UTC).timestamp()
_LAST = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


def _known(db: sqlite3.Connection, keys: list[str]) -> dict[str, Known]:
    found = {}
    for some in _many(keys):
        rows = db.execute(
            f"SELECT key, id, title, about, lies, file, stamp, known_at FROM documents WHERE key IN ({', '.join('?' * len(some))})",
            some,
        )
        found.update({key: Known(*row) for key, *row in rows})
    return found


def _in_scope(db: sqlite3.Connection, scope: Scope, when: float) -> list[tuple[int, str]]:
    """The documents of a scope that were known when it was told of, and the replies of threads among them."""
    where, values = "space = ? AND kind = ? AND known_at <= ?", [scope.space, scope.kind, when]
    for name, value in (
        ("change_request", scope.change_request),
        ("page", scope.page),
        ("thread", scope.thread),
        ("own_id", scope.id),
    ):
        if value is not None:
            where += f" AND {name} = ?"
            values.append(value)
    found: list[tuple[int, str]] = db.execute(f"SELECT id, key FROM documents WHERE {where}", values).fetchall()
    return found


def _delete(db: sqlite3.Connection, documents: Iterable[int]) -> None:
    for some in _many(documents):
        of_threads = (
            "SELECT reply.id FROM documents reply JOIN documents thread ON reply.kind = 'reply' AND thread.kind = 'comment'"
            " AND reply.space = thread.space AND reply.change_request = thread.change_request AND reply.thread = thread.thread"
            f" WHERE thread.id {_AMONG}"
        )
        lost = _among([*some, *(number for (number,) in db.execute(of_threads, [_among(some)]))])
        _delete_passages(db, f"document {_AMONG}", lost)
        db.execute(f"DELETE FROM documents WHERE id {_AMONG}", [lost])


def _delete_passages(db: sqlite3.Connection, where: str, *values: Any) -> None:
    db.execute(f"DELETE FROM texts WHERE rowid IN (SELECT id FROM passages WHERE {where})", values)
    db.execute(f"DELETE FROM passages WHERE {where}", values)


def _insert_passages(db: sqlite3.Connection, number: int, document: Document) -> int:
    """Make the words of a document findable. Returns how many letters they have."""
    from octavo.api.folding import fold
    from octavo.api.searchable import apart, indexed, parts

    letters = 0
    for each in document.pieces():
        passage = db.execute(
            "INSERT INTO passages VALUES (NULL, ?, ?, ?, ?, ?)",
            (number, each.part, _BETWEEN.join(each.path), each.anchor, each.nth),
        ).lastrowid
        shown = _scalars(each.words)
        said = [indexed(_scalars(text)) for text in (each.around, each.title)]
        # Nearly all words are found as they are: SQLite folds simple cases and accents by itself.
        is_simple = fold(shown) == shown.lower()
        said += [apart(shown), ""] if is_simple else [indexed(shown), shown]
        said.insert(3, indexed(parts(f"{_scalars(each.title)} {shown}")))
        db.execute(
            "INSERT INTO texts (rowid, around, title, words, parts, shown) VALUES (?, ?, ?, ?, ?, ?)", (passage, *said)
        )
        letters += sum(map(len, said))
    return letters


def _scalars(text: str) -> str:
    """`text` as SQLite can hold it: what is made safe to show has nothing else, and models made elsewhere may."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", " ")


_KINDS: dict[Found, tuple[str, ...]] = {
    "page": ("page",),
    "thread": ("comment", "reply"),
    "change request": ("change request",),
}


def _search(
    typed: str,
    limit: int,
    kinds: Collection[Found],
    spaces: Collection[str] | None,
    length: int,
    db: sqlite3.Connection,
) -> tuple[Hit, ...]:
    from octavo.data.index_words import Sought

    sought = Sought(typed)
    wanted = [kind for found in kinds for kind in _KINDS[found]]
    if not sought or not wanted or spaces == ():
        return ()
    where, values = f"document.kind {_AMONG}", [_among(wanted)]
    if spaces is not None:
        where += f" AND document.space {_AMONG}"
        values.append(_among(spaces))
    rows = db.execute(
        "SELECT document.kind, document.space, document.own_id, part, document.title, path, anchor, nth,"
        " document.change_request, document.page, document.node, document.thread, document.author, document.about,"
        " document.lies, document.number, document.at, document.known_at, passage FROM ("
        "  SELECT texts.rowid AS passage, document AS owner, part, path, anchor, nth, bm25(texts, 1.0, 8.0, 1.0, 0.5) AS rank"
        "  FROM texts JOIN passages ON passages.id = texts.rowid JOIN documents document ON document.id = passages.document"
        f"  WHERE texts MATCH ? AND {where} ORDER BY texts.rowid DESC LIMIT ?"
        " ) JOIN documents document ON document.id = owner"
        " ORDER BY rank, document.known_at DESC, passage LIMIT ?",
        [sought.expression, *values, MOST_RANKED, limit * 6],
    ).fetchall()
    hits: list[Hit] = []
    taken: dict[tuple[str, ...], int] = {}
    for row in rows:
        kind, space, own_id, part, title, path, anchor, nth, change, page, node, thread = row[:12]
        found: Found = "thread" if thread else kind
        about = (found, space, change, thread or own_id)
        if taken.get(about, 0) >= MOST_OF_ONE or len(hits) >= limit:
            continue
        taken[about] = taken.get(about, 0) + 1
        author, status, page_path, number, at, known_at, passage = row[12:]
        if part == "reply" and (first := _first(db, space, change, thread)):
            title, page, node, status = first
        snippet, marks = sought.excerpt(_words_of(db, passage), length)
        hits.append(
            Hit(
                found,
                space,
                thread or own_id,
                part,
                title,
                snippet,
                marks,
                sought.ranges(title),
                tuple(path.split(_BETWEEN)) if path else (),
                anchor,
                nth,
                change,
                page,
                node,
                author,
                status,
                number,
                moment(at) if at is not None else None,
                moment(known_at) if known_at else None,
                page_path,
            )
        )
    return tuple(hits)


def _words_of(db: sqlite3.Connection, passage: int) -> str:
    from octavo.api.searchable import together

    row = db.execute("SELECT iif(shown = '', words, shown) FROM texts WHERE rowid = ?", (passage,)).fetchone()
    return together(row[0]) if row is not None else ""


def _first(db: sqlite3.Connection, space: str, change: str, thread: str) -> tuple[str, str, str, str] | None:
    """Of the message that a thread begins with: the title and id of the page, the block, and the status."""
    found: tuple[str, str, str, str] | None = db.execute(
        "SELECT title, page, node, about FROM documents"
        " WHERE space = ? AND kind = 'comment' AND change_request = ? AND thread = ?",
        (space, change, thread),
    ).fetchone()
    return found


def _extent(spaces: Collection[str] | None, db: sqlite3.Connection) -> Extent:
    where, values = ("1", []) if spaces is None else (f"space {_AMONG}", [_among(spaces)])
    rows = db.execute(
        f"SELECT kind, length(stamp) > 0 AS is_read, count(*), max(known_at) FROM documents WHERE {where} GROUP BY 1, 2",
        values,
    ).fetchall()
    counts = {(kind, bool(is_read)): count for kind, is_read, count, _ in rows}
    latest = max((known_at for *_, known_at in rows), default=0.0)
    return Extent(
        counts.get(("page", True), 0),
        counts.get(("page", False), 0),
        counts.get(("comment", True), 0),
        counts.get(("reply", True), 0),
        counts.get(("change request", True), 0),
        moment(latest) if latest else None,
    )


def _pages(space: str, db: sqlite3.Connection) -> tuple[PageName, ...]:
    rows = db.execute(
        "SELECT page, title, lies, file FROM documents WHERE space = ? AND kind = 'page' ORDER BY id", [space]
    )
    return tuple(PageName(*row) for row in rows)


def _replies(db: sqlite3.Connection) -> Mapping[tuple[Discussion, str], tuple[str, ...]]:
    from octavo.api.searchable import together

    rows = db.execute(
        "SELECT space, change_request, thread, iif(shown = '', words, shown) FROM documents JOIN passages ON passages.document = documents.id"
        " JOIN texts ON texts.rowid = passages.id WHERE kind = 'reply' ORDER BY documents.at, documents.id"
    )
    found: dict[tuple[Discussion, str], tuple[str, ...]] = {}
    places: dict[tuple[str, str], Discussion] = {}
    for space, change, thread, words in rows:
        if (at := places.get((space, change))) is None:
            at = ChangeRequestRef(space_id=space, change_request_id=change) if change else SpaceRef(space_id=space)
            places[space, change] = at
        found[at, thread] = (*found.get((at, thread), ()), together(words))
    return found
