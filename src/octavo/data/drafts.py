"""Unsent drafts. Each instance of Octavo has its own version of a draft.

An instance takes over the version that it showed, unless another instance has changed that version since: then both
stay.
"""

from __future__ import annotations

import asyncio
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime

from octavo.data.database import Transaction, moment
from octavo.data.observers import Observers
from octavo.data.state_db import NotSaved, StateDb

SOON = 0.5
"""Seconds after which an unfinished save counts as failed."""


@dataclass(frozen=True)
class Draft:
    """One version of a draft."""

    key: str
    text: str
    saved_at: datetime
    writer: str
    """Id of the instance that wrote the version."""
    is_late: bool = False
    """True if the version could not be saved yet."""


class Drafts:
    """The drafts of one profile. The key of a draft names its target (`unsent_index.py`)."""

    def __init__(self, state: StateDb) -> None:
        self._state = state
        self._writer = secrets.token_hex(8)
        self._texts: dict[str, str] = {}
        """Texts of this instance by key, newer than those on disk during a save. Empty if the draft was discarded."""
        self._written_at: dict[str, float] = {}
        """Time of each of these texts, in seconds."""
        self._edit_counts: dict[str, int] = {}
        self._saving: dict[str, tuple[Transaction[None], Future[None]]] = {}
        """The last save of each draft, until it is on disk."""
        self._late: set[str] = set()
        """Keys of the drafts whose save failed or takes long."""
        self._seen: dict[str, tuple[str, int]] = {}
        """Writer and revision of the version of another instance that was shown, by key."""
        self.changed: Observers[[]] = Observers()

    def observe(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after this instance edits, saves or discards a draft. Returns a function that ends this."""
        return self.changed.add(watcher)

    def keys(self) -> frozenset[str]:
        """Return the keys of all drafts on disk, and of the drafts that could not be saved."""
        rows = self._state.rows("SELECT DISTINCT place FROM drafts WHERE namespace = ?", self._state.namespace)
        on_disk = {str(place) for (place,) in rows if self._texts.get(place) != ""}
        return frozenset(on_disk | self.late_keys())

    def unsaved(self) -> tuple[Draft, ...]:
        """Return the texts of this instance that are not on disk."""
        behind = (place for place in self._unsaved_keys() if self._texts.get(place))
        return tuple(
            Draft(place, self._texts[place], moment(self._written_at[place]), self._writer) for place in behind
        )

    def late_keys(self) -> frozenset[str]:
        """Return the keys of `unsaved` drafts whose save failed or takes long."""
        behind = self._unsaved_keys()
        return frozenset(place for place in self._late if place in behind and self._texts.get(place))

    @property
    def unsaved_reason(self) -> str:
        """Return why drafts are not saved, as the end of a sentence."""
        return self._state.save_error_cause or "another program is using the file, or the disk is slow"

    def drop_unsaved(self) -> None:
        """Give up all unsaved texts."""
        self._saving.clear()

    async def save_again(self) -> None:
        """Save the drafts whose save failed. Raises any error but NotSaved."""
        waiting = []
        for place, (work, future) in tuple(self._saving.items()):
            if future.done() and place in self._unsaved_keys():
                waiting.append(self._wait_saved(place, self.edit_count(place), self._submit(place, work)))
        for failed in await asyncio.gather(*waiting, return_exceptions=True):
            if failed is not None and not isinstance(failed, NotSaved):
                raise failed

    def _unsaved_keys(self) -> frozenset[str]:
        """Return the keys of the drafts whose last save is not done, or failed."""
        for place, (_, future) in tuple(self._saving.items()):
            if future.done() and future.exception() is None:
                del self._saving[place]
                self._late.discard(place)
        return frozenset(self._saving)

    def _submit(self, place: str, work: Transaction[None]) -> Future[None]:
        future = self._state.submit(work)
        self._saving[place] = work, future
        return future

    def get(self, place: str) -> str | None:
        """Return the text of a draft: of this instance, else the newest on disk. None if there is no draft."""
        if (text := self._texts.get(place)) is not None:
            return text or None
        rows = self._state.rows(
            "SELECT writer, revision, text FROM drafts WHERE namespace = ? AND place = ? ORDER BY saved_at DESC LIMIT 1",
            *(self._state.namespace, place),
        )
        if not rows:
            return None
        writer, revision, text = rows[0]
        self._seen[place] = (writer, revision)
        return str(text)

    def all(self) -> tuple[Draft, ...]:
        """Return all drafts, the newest first."""
        newest: dict[str, Draft] = {}
        rows = self._state.rows(
            "SELECT place, text, saved_at, writer FROM drafts WHERE namespace = ? ORDER BY saved_at DESC",
            self._state.namespace,
        )
        for place, text, saved_at, writer in rows:
            newest.setdefault(place, Draft(place, text, moment(saved_at), writer))
        late = self.late_keys()
        for place, text in self._texts.items():
            newest.pop(place, None)
            if text:
                newest[place] = Draft(place, text, moment(self._written_at[place]), self._writer, place in late)
        return tuple(sorted(newest.values(), key=lambda draft: draft.saved_at, reverse=True))

    def with_prefix(self, begin: str) -> tuple[Draft, ...]:
        """Return the drafts whose keys begin with `begin`, the newest first."""
        found: dict[str, Draft] = {}
        rows = self._state.rows(
            "SELECT place, text, saved_at, writer, revision FROM drafts"
            " WHERE namespace = ? AND substr(place, 1, ?) = ? ORDER BY saved_at DESC",
            *(self._state.namespace, len(begin), begin),
        )
        for place, text, saved_at, writer, revision in rows:
            text = self._texts.get(place, text)
            if text and place not in found:
                found[place] = Draft(place, text, moment(saved_at), writer)
                self._seen[place] = (writer, revision)
        return tuple(found.values())

    def save(self, place: str, text: str) -> Awaitable[None]:
        """Return an awaitable that ends when `text` is on disk. A blank text discards the draft. Awaiting raises
        NotSaved.

        The order of the calls decides which text is stored, not the order of awaiting.
        """
        work = self._accept(place, text)
        return self._wait_saved(place, self._edit_counts[place], self._submit(place, work))

    async def _wait_saved(self, place: str, turn: int, future: Future[None]) -> None:
        late = asyncio.get_running_loop().call_later(SOON, self._mark_late, place, turn)
        try:
            await self._state.wait_written(future)
        except NotSaved:
            self._mark_late(place, turn)
            raise
        finally:
            late.cancel()
        self._note_saved(place, turn)

    def _mark_late(self, place: str, turn: int) -> None:
        if self.edit_count(place) == turn:
            self._late.add(place)
            self.changed.notify()

    def _note_saved(self, place: str, turn: int) -> None:
        if self._texts.get(place) == "":
            self.forget(place, turn)
        elif self.edit_count(place) == turn:
            self.changed.notify()

    def save_now(self, place: str, text: str) -> None:
        """Save a draft in a signal handler. Waits for up to two seconds. Raises NotSaved."""
        work = self._accept(place, text)
        turn, future = self._edit_counts[place], self._submit(place, work)
        try:
            self._state.wait_written_now(future)
        except NotSaved:
            self._mark_late(place, turn)
            raise
        self._note_saved(place, turn)

    def flush(self) -> None:
        """Wait for up to two seconds until all saves are on disk. Raises NotSaved."""
        self._state.write_now(lambda db: None)

    async def discard(self, place: str) -> None:
        """Discard the draft of this instance. Raises NotSaved."""
        await self.save(place, "")

    def edit_count(self, place: str) -> int:
        """Return the number of edits that this instance has made to a draft."""
        return self._edit_counts.get(place, 0)

    def removal(self, place: str) -> Transaction[None]:
        """Return the deletion of a draft, for the transaction of another write. Call `forget` after that
        transaction."""
        namespace, mine, seen = self._state.namespace, self._writer, self._seen.get(place)

        def remove(db: sqlite3.Connection) -> None:
            _remove(db, namespace, place, mine, seen)

        return remove

    def forget(self, place: str, turn: int) -> None:
        """Forget the text in memory, because it is deleted on disk. Does nothing if the draft was edited since
        `turn`."""
        if self.edit_count(place) == turn:
            self._texts.pop(place, None)
            self._seen.pop(place, None)
            self._saving.pop(place, None)
            self.changed.notify()

    def _accept(self, place: str, text: str) -> Transaction[None]:
        """Take over `text`, and return its save, which must be submitted in the order of these calls."""
        self._edit_counts[place] = self.edit_count(place) + 1
        self._texts[place] = text if text.strip() else ""
        self._written_at[place] = self._state.now().timestamp()
        self.changed.notify()
        return self._insertion(place, text) if text.strip() else self.removal(place)

    def _insertion(self, place: str, text: str) -> Transaction[None]:
        namespace, mine, now = self._state.namespace, self._writer, self._written_at[place]
        seen = self._seen.get(place)

        def save(db: sqlite3.Connection) -> None:
            _remove(db, namespace, place, None, seen)
            db.execute(
                "INSERT INTO drafts VALUES (?, ?, ?, ?, 1, ?) ON CONFLICT (namespace, place, writer)"
                " DO UPDATE SET text = excluded.text, revision = revision + 1, saved_at = excluded.saved_at",
                (namespace, place, mine, text, now),
            )

        return save


StoredDraft = tuple[str, str, str, int, float]
"""A version as it is stored: key, writer, text, revision and time of the save."""


def delete_drafts(db: sqlite3.Connection, namespace: str, places: Sequence[str]) -> list[StoredDraft]:
    """Delete every version of the drafts `places`, and return these versions."""
    found: list[StoredDraft] = []
    for place in places:
        found += db.execute(
            "DELETE FROM drafts WHERE namespace = ? AND place = ? RETURNING place, writer, text, revision, saved_at",
            (namespace, place),
        ).fetchall()
    return found


def restore_drafts(db: sqlite3.Connection, namespace: str, versions: Sequence[StoredDraft]) -> None:
    """Undo `delete_drafts`. A newer version stays, and the restored version is added."""
    insert = (
        "INSERT OR IGNORE INTO drafts (place, writer, text, revision, saved_at, namespace) VALUES (?, ?, ?, ?, ?, ?)"
    )
    for place, writer, *rest in versions:
        if not db.execute(insert, (place, writer, *rest, namespace)).rowcount:
            db.execute(insert, (place, _returned(writer), *rest, namespace))


def store_returned(db: sqlite3.Connection, namespace: str, place: str, text: str, entry_id: str, now: datetime) -> None:
    """Store the text of a write that was not sent as a draft. Another version of the draft stays."""
    db.execute(
        "INSERT OR REPLACE INTO drafts VALUES (?, ?, ?, ?, 1, ?)",
        (namespace, place, _returned(entry_id), text, now.timestamp()),
    )


def delete_returned(db: sqlite3.Connection, namespace: str, place: str, entry_id: str) -> None:
    """Undo `store_returned`, unless the user has changed the draft since."""
    _remove(db, namespace, place, _returned(entry_id), None)


def _remove(db: sqlite3.Connection, namespace: str, place: str, mine: str | None, seen: tuple[str, int] | None) -> None:
    if mine is not None:
        db.execute("DELETE FROM drafts WHERE namespace = ? AND place = ? AND writer = ?", (namespace, place, mine))
    if seen is not None:
        db.execute(
            "DELETE FROM drafts WHERE namespace = ? AND place = ? AND writer = ? AND revision = ?",
            (namespace, place, *seen),
        )


def _returned(entry_id: str) -> str:
    return f"returned-{entry_id}"
