"""Notes about a change request that programs such as linters propose. A note becomes a pending comment when the user
accepts it.

The notes have their own table in `state.db`, so that no code that sends writes can reach them. Octavo remembers an
accepted or discarded note for a while, so that the same import does not propose it again.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from octavo.api.bodies import Markdown
from octavo.api.comments import Create
from octavo.api.operation import ChangeRequestRef
from octavo.api.safety import safe_line, safe_text
from octavo.data.database import time_of_timestamp
from octavo.data.live_response import Observers
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import ExpectedState, NewWrite, OutboxEntry
from octavo.data.writes.outbox import Outbox
from octavo.untrusted_input import parse_json

MAX_NOTES = 200
"""Maximum number of notes of a change request that the user has neither accepted nor discarded."""
MAX_SOURCE_LENGTH = 40
DECIDED_NOTE_LIFETIME = timedelta(days=60)
"""Time for which accepted and discarded notes are remembered."""


@dataclass(frozen=True)
class NewNote:
    """A note to propose to the user."""

    page: str
    """ID of the page."""
    block: str
    """Key of the block. Empty for a note about the whole page."""
    body: str
    """Text of the comment in Markdown, which may contain a suggested change."""
    source: str
    """Name of the program that proposes the note."""
    identity: str
    """Text that identifies the note, even if its block changes. A note with a stored identity is not proposed again."""
    placed: str = "exact"
    """Way in which the block was found: `exact` by its key, `words` by a quote of its text, otherwise `likely`."""


@dataclass(frozen=True)
class ProposedNote:
    """A note that the user has neither accepted nor discarded. See NewNote for its attributes."""

    id: str
    at: ChangeRequestRef
    created_at: datetime
    page: str
    block: str
    body: str
    source: str
    placed: str = "exact"


@dataclass(frozen=True)
class Accepted:
    """A note that the user has accepted, and its pending comment in the outbox."""

    note: ProposedNote
    entry: OutboxEntry


@dataclass(frozen=True)
class ProposeResult:
    """Result of `ProposedNotes.propose`: the stored notes, and counts of notes that were not stored."""

    added: tuple[ProposedNote, ...] = ()
    duplicate_count: int = 0
    """Number of notes that were not stored, because they were proposed before. The user may have decided on them."""
    over_limit_count: int = 0
    """Number of notes that were not stored, because the change request already has `MAX_NOTES` notes."""


class ProposedNotes:
    """The proposed notes of one profile."""

    def __init__(self, state: StateDb, outbox: Outbox) -> None:
        self._state, self._outbox = state, outbox
        self._by_request: dict[ChangeRequestRef, tuple[ProposedNote, ...]] = {}
        self.changed: Observers[[]] = Observers()
        """Called after notes were proposed, accepted or discarded, also by another Octavo process."""
        state.committed.add(self._reload)

    def at(self, at: ChangeRequestRef) -> tuple[ProposedNote, ...]:
        """Return the notes of a change request that the user has neither accepted nor discarded, the oldest first."""
        if at not in self._by_request:
            query = "SELECT id, record FROM proposed_notes WHERE namespace = ? AND place = ? AND decided_at IS NULL ORDER BY position"
            rows = self._state.rows(query, self._state.namespace, _change_request_key(at))
            self._by_request[at] = tuple(filter(None, (_decode(at, *row) for row in rows)))
        return self._by_request[at]

    async def propose(self, at: ChangeRequestRef, notes: Sequence[NewNote]) -> ProposeResult:
        """Store the notes that were not proposed before, until `MAX_NOTES` wait for the user. Raises NotSaved."""
        now, namespace, request_key = self._state.now(), self._state.namespace, _change_request_key(at)

        def insert_new(db: sqlite3.Connection) -> tuple[list[str], int, int]:
            db.execute("DELETE FROM proposed_notes WHERE decided_at < ?", ((now - DECIDED_NOTE_LIFETIME).timestamp(),))
            count = "SELECT COUNT(*) FROM proposed_notes WHERE namespace = ? AND place = ? AND decided_at IS NULL"
            (waiting_count,) = db.execute(count, (namespace, request_key)).fetchone()
            find_known = "SELECT 1 FROM proposed_notes WHERE namespace = ? AND place = ? AND identity = ?"
            insert = "INSERT INTO proposed_notes (id, namespace, place, identity, record) VALUES (?, ?, ?, ?, ?)"
            added_ids: list[str] = []
            known_count = over_limit_count = 0
            for note in notes:
                digest = hashlib.sha256(note.identity.encode("utf-8", "surrogatepass")).hexdigest()
                if db.execute(find_known, (namespace, request_key, digest)).fetchone():
                    known_count += 1
                elif waiting_count + len(added_ids) >= MAX_NOTES:
                    over_limit_count += 1
                else:
                    added_ids.append(secrets.token_hex(6))
                    db.execute(insert, (added_ids[-1], namespace, request_key, digest, _encode(note, now)))
            return added_ids, known_count, over_limit_count

        ids, known_count, over_limit_count = await self._state.write(insert_new)
        self._reload()
        return ProposeResult(tuple(each for each in self.at(at) if each.id in ids), known_count, over_limit_count)

    async def accept(
        self, notes: Sequence[ProposedNote], body: str | None = None, draft_key: str = ""
    ) -> tuple[Accepted, ...]:
        """Make pending comments from undecided `notes`. Return the accepted notes with their comments. Raises NotSaved.

        With a single note, `body` replaces its text, and the draft `draft_key` is deleted. If the note is already
        accepted or discarded, `body` becomes a draft.
        """
        accepted_notes: list[ProposedNote] = []

        def decide(db: sqlite3.Connection, note: ProposedNote) -> bool:
            if is_new := self._mark_decided(db, note.id):
                accepted_notes.append(note)
            return is_new

        writes = [
            replace(
                _write(note if body is None else replace(note, body=body), draft_key),
                condition=partial(decide, note=note),
            )
            for note in notes
        ]
        entries = await self._outbox.add_pending_comments(writes)
        if body is not None and not accepted_notes:
            await self._outbox.move_draft(draft_key, writes[0].draft_key, body)
        self._reload()
        return tuple(Accepted(note, entry) for note, entry in zip(accepted_notes, entries, strict=True))

    async def undo_accept(self, accepted: Sequence[Accepted]) -> bool:
        """Propose accepted notes again, unless their comments were edited or sent. Return whether any note is proposed
        again. Raises NotSaved."""
        note_by_entry_id = {each.entry.id: each.note for each in accepted}
        is_undone = await self._outbox.remove_pending_comments(
            [each.entry for each in accepted],
            lambda db, entry: self._mark_undecided(db, [note_by_entry_id[entry.id].id]),
        )
        self._reload()
        return is_undone

    async def discard(self, notes: Sequence[ProposedNote]) -> None:
        """Discard notes, so that they are not proposed again. Raises NotSaved."""
        await self._state.write(lambda db: [self._mark_decided(db, note.id) for note in notes])
        self._reload()

    async def undo_discard(self, notes: Sequence[ProposedNote]) -> None:
        """Propose discarded notes again. Raises NotSaved."""
        await self._state.write(partial(self._mark_undecided, note_ids=[note.id for note in notes]))
        self._reload()

    async def withdraw(self, at: ChangeRequestRef, note_id: str, source: str) -> bool:
        """Delete a note that the program `source` has proposed, so that it can be proposed again. Return False if there
        is no such note, or if the user has accepted or discarded it. Raises NotSaved."""
        if not any(note.id == note_id and note.source == source for note in self.at(at)):
            return False
        delete = "DELETE FROM proposed_notes WHERE namespace = ? AND id = ? AND decided_at IS NULL"
        count = await self._state.write(lambda db: db.execute(delete, (self._state.namespace, note_id)).rowcount)
        self._reload()
        return count > 0

    def _mark_decided(self, db: sqlite3.Connection, note_id: str) -> bool:
        update = "UPDATE proposed_notes SET decided_at = ? WHERE namespace = ? AND id = ? AND decided_at IS NULL"
        return db.execute(update, (self._state.now().timestamp(), self._state.namespace, note_id)).rowcount > 0

    def _mark_undecided(self, db: sqlite3.Connection, note_ids: Sequence[str]) -> None:
        for note_id in note_ids:
            db.execute("UPDATE proposed_notes SET decided_at = NULL WHERE id = ?", (note_id,))

    def _reload(self) -> None:
        before, self._by_request = self._by_request, {}
        if any(self.at(at) != notes for at, notes in before.items()):
            self.changed.notify()


def _change_request_key(at: ChangeRequestRef) -> str:
    return at.model_dump_json()


def _encode(note: NewNote, now: datetime) -> str:
    stored_fields = asdict(note)
    del stored_fields["identity"]
    return json.dumps({**stored_fields, "created_at": now.timestamp()})


def _decode(at: ChangeRequestRef, note_id: str, record: str) -> ProposedNote | None:
    try:
        stored_fields: dict[str, Any] = parse_json(record)
        created_at = time_of_timestamp(stored_fields.pop("created_at"))
        names = {field.name for field in fields(ProposedNote)}
        return ProposedNote(
            note_id, at, created_at, **{name: str(value) for name, value in stored_fields.items() if name in names}
        )
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _write(note: ProposedNote, used_draft_key: str) -> NewWrite:
    """Return the write that makes a pending comment from a note, and deletes the draft `used_draft_key`."""
    node = {"node": note.block} if note.block else {}
    op = Create(at=note.at, body=Markdown(markdown=note.body), page=note.page, **node)
    key = f"comment {note.at.space_id} {note.at.change_request_id} {note.page} {note.block}"
    return NewWrite(op, "comment", key, ExpectedState(), used_draft_keys=(used_draft_key,))


def sanitize_source_name(name: str) -> str:
    """Return the name of a program as one safe line, cut at `MAX_SOURCE_LENGTH`. `unknown` if the line is empty."""
    return safe_line(name).strip()[:MAX_SOURCE_LENGTH] or "unknown"


def sanitize_note_text(value: str) -> str:
    """Return the text of a note, sanitized and without surrounding white space. Line breaks stay."""
    return safe_text(value).strip()
