"""Stores texts that the user has typed and not sent. Also finds the page, block or thread that an unsent text is for.

Each running Octavo process has its own version of a draft. When a process saves a draft, it deletes the version of
another process, but only if the user has seen this version and it has not changed since.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from octavo.api.operation import ChangeRequestRef, Discussion, SpaceRef
from octavo.data.database import Transaction, time_of_timestamp
from octavo.data.live_response import Observers
from octavo.data.state_db import NotSaved, StateDb

if TYPE_CHECKING:
    from octavo.api.comments import Comment
    from octavo.data.writes.machine import OutboxEntry

LATE_SAVE_SECONDS = 0.5
"""Seconds after which the user sees that a save is late."""


class Draft(NamedTuple):
    """A version of a draft. Each running process has its own version."""

    key: str
    text: str
    saved_at: datetime
    is_late: bool = False
    """True if the save has failed or takes too long, so that the text may be lost."""
    base: str | None = None
    """The text that the user began to edit. None if it is unknown, or if the draft is a new text."""


_StoredVersion = tuple[Draft, str, int]
"""A version of a draft on disk, the ID of the process that saved this version, and the number of the version."""


@dataclass(eq=False)
class _Edit:
    """The last text that the user has typed in this process for a draft."""

    key: str
    text: str
    """Text of the draft. Empty if the draft is to be deleted."""
    base: str | None
    written_at: float
    is_late: bool
    transaction: Transaction[None] = lambda db: None
    saving: Future[None] = field(default_factory=Future)
    """Future that ends when `transaction` is on disk, or with the exception of a failed save."""

    @property
    def is_saved(self) -> bool:
        return self.saving.done() and self.saving.exception() is None


class DraftRemoval(NamedTuple):
    """Two functions that delete a draft when another change is saved, such as adding the text to the outbox."""

    delete: Transaction[None]
    """Deletes the draft on disk, in the transaction of the other change."""
    forget: Callable[[], None]
    """Deletes the draft from memory, unless the user edited the draft meanwhile. Call this after the transaction."""


class Drafts:
    """The unsent drafts of a profile."""

    def __init__(self, state: StateDb) -> None:
        self._state = state
        self._writer = os.urandom(8).hex()
        self._edits: dict[str, _Edit] = {}
        """The last text that the user has typed in this process for each draft, by draft key."""
        self._seen_versions: dict[str, _StoredVersion] = {}
        """The version of each draft that the user has seen last, by draft key."""
        self.changed: Observers[[]] = Observers()
        """Called after this process has edited, saved or discarded a draft, or when a save is late."""

    def keys(self) -> frozenset[str]:
        """Return the keys of the drafts on disk, and of drafts whose save has failed or takes too long."""
        rows = self._state.rows("SELECT DISTINCT place FROM drafts WHERE namespace = ?", self._state.namespace)
        keys_on_disk = {str(key) for (key,) in rows if (edit := self._edits.get(key)) is None or edit.text}
        return frozenset(keys_on_disk | self.late_keys())

    def unsaved(self) -> tuple[Draft, ...]:
        """Return the drafts of this process that are not on disk."""
        return tuple(self._draft(edit) for edit in self._edits.values() if edit.text and not edit.is_saved)

    def late_keys(self) -> frozenset[str]:
        """Return the keys of the drafts whose save has failed or takes too long."""
        return frozenset(draft.key for draft in self.unsaved() if draft.is_late)

    @property
    def unsaved_reason(self) -> str:
        """Cause of failed or late saves, as a phrase such as `the disk is full`."""
        return self._state.save_error_cause or "another program is using the file, or the disk is slow"

    def drop_unsaved(self) -> None:
        """Forget the texts that are not on disk. They are lost."""
        self._edits = {key: edit for key, edit in self._edits.items() if edit.is_saved}

    async def save_again(self) -> None:
        """Repeat the saves that have failed, and wait for them. Raises no error if they fail again."""
        saves = []
        for edit in tuple(self._edits.values()):
            if edit.saving.done() and not edit.is_saved:
                edit.saving = self._state.submit(edit.transaction)
                saves.append(self._wait_until_saved(edit))
        for failed in await asyncio.gather(*saves, return_exceptions=True):
            if failed is not None and not isinstance(failed, NotSaved):
                raise failed

    def get(self, key: str) -> str | None:
        """Return the text of a draft: as typed in this process, else the newest text on disk. None without a draft."""
        return draft.text if (draft := self.find(key)) is not None else None

    def find(self, key: str) -> Draft | None:
        """Return the draft as typed in this process, or None if the user deleted its text. If nothing was typed here,
        return the newest draft on disk, and count it as seen by the user. None if there is no draft."""
        if (edit := self._current_edits().get(key)) is not None:
            return self._draft(edit) if edit.text else None
        if (stored_version := self._stored_versions(key).get(key)) is None:
            return None
        self._seen_versions[key] = stored_version
        return stored_version[0]

    def all(self) -> tuple[Draft, ...]:
        """Return all drafts, the newest first. A text that was typed in this process replaces the text on disk."""
        return self._newest(self._stored_versions())

    def with_prefix(self, prefix: str) -> tuple[Draft, ...]:
        """Return the drafts whose keys begin with `prefix`, the newest first. Record the versions on disk as seen by
        the user, so that a later save may replace them, except of drafts that this process edits."""
        stored_versions = self._stored_versions(prefix)
        edits = self._current_edits()
        self._seen_versions |= {key: version for key, version in stored_versions.items() if key not in edits}
        return self._newest(stored_versions, prefix)

    def _current_edits(self) -> dict[str, _Edit]:
        """Return this process's edits by draft key. Leave out saved texts that another process has sent or replaced."""
        query = "SELECT place FROM drafts WHERE namespace = ? AND writer = ?"
        own_keys = {key for (key,) in self._state.rows(query, self._state.namespace, self._writer)}
        return {key: edit for key, edit in self._edits.items() if key in own_keys or not (edit.is_saved and edit.text)}

    def _stored_versions(self, prefix: str = "") -> dict[str, _StoredVersion]:
        """Return the newest version of each draft on disk whose key begins with `prefix`, by draft key."""
        rows = self._state.rows(
            "SELECT place, text, saved_at, writer, revision, value FROM drafts"
            f" LEFT JOIN facts ON facts.namespace = drafts.namespace AND name = '{_BASE_PREFIX}' || revision"
            " WHERE drafts.namespace = ? AND substr(place, 1, ?) = ? ORDER BY saved_at",
            *(self._state.namespace, len(prefix), prefix),
        )
        return {
            key: (Draft(key, text, time_of_timestamp(saved_at), base=base), writer, revision)
            for key, text, saved_at, writer, revision, base in rows
        }

    def _newest(self, stored: Mapping[str, _StoredVersion], prefix: str = "") -> tuple[Draft, ...]:
        drafts = {key: draft for key, (draft, *_) in stored.items()}
        drafts |= {key: self._draft(edit) for key, edit in self._current_edits().items() if key.startswith(prefix)}
        nonempty_drafts = (draft for draft in drafts.values() if draft.text)
        return tuple(sorted(nonempty_drafts, key=lambda draft: draft.saved_at, reverse=True))

    def save(self, key: str, text: str, base: str | None = None) -> Awaitable[None]:
        """Save a draft in the background. Awaiting the result waits until the draft is on disk, and raises NotSaved if
        this fails. A blank text deletes the draft, but not a version of another process that the user has not
        seen. If `base` is None, the base of the stored draft stays."""
        return self._wait_until_saved(self._edit(key, text, base))

    def save_now(self, key: str, text: str, base: str | None = None) -> None:
        """Save a draft like `save`, but wait up to two seconds until it is on disk. For signal handlers. Raises
        NotSaved."""
        edit = self._edit(key, text, base)
        try:
            self._state.block_until_written(edit.saving)
        except NotSaved:
            self._mark_late(edit)
            raise
        self._on_saved(edit)

    def flush(self) -> None:
        """Wait up to two seconds until all drafts are on disk. Raises NotSaved."""
        self._state.write_now(lambda db: None)

    def removal(self, key: str) -> DraftRemoval:
        """Return two functions that delete a draft as part of another change, such as adding the text to the outbox."""
        namespace, edit, seen_version = self._state.namespace, self._edits.get(key), self._seen_versions.get(key)

        def remove(db: sqlite3.Connection) -> None:
            if self._edits.get(key) is edit:  # Otherwise, the user typed after `removal`, so the row may have new text.
                _delete_version_of(db, namespace, key, self._writer)
            _delete_seen(db, namespace, seen_version)

        return DraftRemoval(remove, partial(self._forget, key, edit))

    def _forget(self, key: str, edit: _Edit | None) -> None:
        if self._edits.get(key) is edit:
            self._edits.pop(key, None)
            self._seen_versions.pop(key, None)
            self.changed.notify()

    def _draft(self, edit: _Edit) -> Draft:
        is_late = edit.is_late and not edit.is_saved
        return Draft(edit.key, edit.text, time_of_timestamp(edit.written_at), is_late, edit.base)

    def _edit(self, key: str, text: str, base: str | None) -> _Edit:
        text, now, old_edit = text if text.strip() else "", self._state.now().timestamp(), self._edits.get(key)
        if base is None and (old_draft := old_edit or self._seen_versions.get(key, (None,))[0]) is not None:
            base = old_draft.base
        was_late = old_edit is not None and old_edit.is_late and not old_edit.is_saved
        edit = self._edits[key] = _Edit(key, text, base, now, was_late)
        edit.transaction = self._insertion(edit) if text else self.removal(key).delete
        self.changed.notify()
        edit.saving = self._state.submit(edit.transaction)
        return edit

    def _insertion(self, edit: _Edit) -> Transaction[None]:
        namespace, seen_version = self._state.namespace, self._seen_versions.get(edit.key)

        def save(db: sqlite3.Connection) -> None:
            _delete_seen(db, namespace, seen_version)
            _store_version(db, namespace, edit.key, self._writer, edit.text, edit.written_at, edit.base)

        return save

    async def _wait_until_saved(self, edit: _Edit) -> None:
        late_timer = asyncio.get_running_loop().call_later(LATE_SAVE_SECONDS, self._mark_late, edit)
        try:
            await self._state.wait_until_written(edit.saving)
        except NotSaved:
            self._mark_late(edit)
            raise
        finally:
            late_timer.cancel()
        self._on_saved(edit)

    def _mark_late(self, edit: _Edit) -> None:
        if self._edits.get(edit.key) is edit:
            edit.is_late = True
            self.changed.notify()

    def _on_saved(self, edit: _Edit) -> None:
        if not edit.text:
            self._forget(edit.key, edit)
        elif self._edits.get(edit.key) is edit:
            self.changed.notify()


_RETURNED_PREFIX = "returned-"
"""Prefix of `writer` for versions of drafts that no running process edits, such as the texts of unsent writes."""
StoredDraft = tuple[str, str, str, int, float]
"""A row of the table `drafts`: key, writer (a process or a returned write), text, revision, and save time."""


def delete_drafts(db: sqlite3.Connection, namespace: str, keys: Sequence[str]) -> list[StoredDraft]:
    """Delete all versions of the drafts with these keys. Return the deleted rows."""
    # Delete the bases of drafts that were deleted earlier. The bases of `keys` stay for `restore_drafts`.
    db.execute(f"DELETE FROM facts WHERE name GLOB '{_BASE_PREFIX}*' AND name NOT IN ({_BASE_NAMES})")
    deleted_drafts: list[StoredDraft] = []
    for key in keys:
        deleted_drafts += db.execute(
            "DELETE FROM drafts WHERE namespace = ? AND place = ? RETURNING place, writer, text, revision, saved_at",
            (namespace, key),
        ).fetchall()
    return deleted_drafts


def restore_drafts(db: sqlite3.Connection, namespace: str, versions: Sequence[StoredDraft]) -> None:
    """Insert the rows `versions`, which `delete_drafts` returned. Versions that were saved since the deletion stay."""
    insert = (
        "INSERT OR IGNORE INTO drafts (place, writer, text, revision, saved_at, namespace) VALUES (?, ?, ?, ?, ?, ?)"
    )
    for key, writer, *rest in versions:
        # The row gets a new writer. Otherwise, the old writer could replace the text before the user sees the text.
        is_returned = writer.startswith(_RETURNED_PREFIX)
        if not (is_returned and db.execute(insert, (key, writer, *rest, namespace)).rowcount):
            db.execute(insert, (key, _RETURNED_PREFIX + os.urandom(8).hex(), *rest, namespace))


def store_unsent_text(db: sqlite3.Connection, namespace: str, entry: OutboxEntry, now: datetime) -> None:
    """Store the text of an outbox entry as a version of its draft. Other versions are kept. Do nothing without text."""
    text, writer = entry.traits.text, _RETURNED_PREFIX + entry.id
    if entry.draft_key and text:
        _store_version(db, namespace, entry.draft_key, writer, text, now.timestamp(), entry.expected.text)


def store_text(db: sqlite3.Connection, namespace: str, key: str, text: str, now: datetime) -> None:
    """Store `text` as a new version of the draft `key`. The stored versions of the draft stay."""
    _store_version(db, namespace, key, _RETURNED_PREFIX + os.urandom(8).hex(), text, now.timestamp(), None)


def delete_unsent_text(db: sqlite3.Connection, namespace: str, key: str, entry_id: str) -> None:
    """Delete the version of the draft `key` that `store_unsent_text` stored, unless the user has edited it."""
    _delete_version_of(db, namespace, key, _RETURNED_PREFIX + entry_id)


def has_unsent_text(db: sqlite3.Connection, namespace: str, key: str, entry_id: str) -> bool:
    """Return whether the draft `key` still has the version that `store_unsent_text` stored for the entry `entry_id`."""
    query = "SELECT 1 FROM drafts WHERE namespace = ? AND place = ? AND writer = ?"
    return db.execute(query, (namespace, key, _RETURNED_PREFIX + entry_id)).fetchone() is not None


_BASE_PREFIX = "draft base "
"""Prefix of the names of rows in the table `facts` that store the base of a version of a draft. The `revision` of the
version follows. If an older Octavo changes the version, its `revision` changes, and the base is not used."""
_BASE_NAMES = f"SELECT '{_BASE_PREFIX}' || revision FROM drafts"


def _store_version(
    db: sqlite3.Connection, namespace: str, key: str, writer: str, text: str, saved_at: float, base: str | None
) -> None:
    _delete_version_of(db, namespace, key, writer)
    # The revision is a random number that must not repeat, because `_delete_seen` compares it.
    revision = int.from_bytes(os.urandom(6))
    db.execute("INSERT INTO drafts VALUES (?, ?, ?, ?, ?, ?)", (namespace, key, writer, text, revision, saved_at))
    if base is not None:
        db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, ?)", (namespace, f"{_BASE_PREFIX}{revision}", base))


def _delete_version_of(db: sqlite3.Connection, namespace: str, key: str, writer: str, condition: str = "") -> None:
    condition, values = f"WHERE namespace = ? AND place = ? AND writer = ? {condition}", (namespace, key, writer)
    db.execute(f"DELETE FROM facts WHERE namespace = ? AND name IN ({_BASE_NAMES} {condition})", (namespace, *values))
    db.execute(f"DELETE FROM drafts {condition}", values)


def _delete_seen(db: sqlite3.Connection, namespace: str, version: _StoredVersion | None) -> None:
    """Delete the draft `version` that the user has seen, unless the process that wrote it has changed it since."""
    if version is not None:
        draft, writer, revision = version
        _delete_version_of(db, namespace, draft.key, writer, f"AND revision = {revision}")


KIND_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "comment": "a comment",
        "reply": "a reply",
        "edit": "an edited comment",
        "held": "an edited comment of a review",
        "page": "the text of a page",
        "review": "a review",
        "remark": "a remark on several blocks",
        "subject": "a subject",
        "description": "a description",
        "title": "a title",
        "details": "page options",
    }
)
_REVIEW_NAMES = {"approved": "an approval", "changes-requested": "a request for changes"}


def draft_name(draft_key: str) -> str:
    """Return what the draft with this key is, such as `a reply` or `an approval`."""
    kind, verdict = draft_key.partition(" ")[0], draft_key.rpartition(" ")[2]
    names = _REVIEW_NAMES if kind == "review" else {}
    return names.get(verdict) or KIND_NAMES.get(kind, "a draft")


CHANGE_REQUEST_KINDS = frozenset({"review", "remark", "subject", "description"})
"""Kinds of drafts about a change request as a whole, not about a page or thread."""
_PENDING_EDIT_PREFIX = "held "
"""Draft key of an edit of a pending comment: this prefix and the ID of the comment's outbox entry."""


@dataclass(frozen=True, slots=True)
class UnsentText:
    """A text that is not sent, and the page, block or thread that it is for."""

    kind: str
    at: Discussion | None
    """The space or change request that the text is for. None if unknown."""
    page_id: str = ""
    block_key: str = ""
    """Key of the block. Empty if the text is not for a block."""
    thread_id: str = ""
    """ID of the first comment of the thread, a temporary ID if that comment is pending. Empty if there is no thread."""
    draft_key: str = ""
    """Key of the draft. Empty for a pending comment."""
    entry_id: str = ""
    """ID of the pending comment in the outbox. Empty for a draft."""
    is_late: bool = False
    """True if the save has failed or takes too long. The text may be lost when Octavo ends."""

    @property
    def starts_a_thread(self) -> bool:
        """True for a pending comment that starts a thread. Views show this comment as a thread."""
        return self.entry_id != "" and self.thread_id.endswith(self.entry_id)


def unsent_draft(draft_key: str) -> UnsentText:
    """Return the kind and target of a draft. `at` is None if the kind is unknown or the key has no target."""
    kind, *parts = draft_key.split(" ")
    names_no_target = draft_key.startswith((_PENDING_EDIT_PREFIX, "reply to several "))
    if kind not in KIND_NAMES or names_no_target or not parts or not parts[0]:
        return UnsentText(kind, None, draft_key=draft_key)
    space, *rest = parts
    match kind, rest:
        case "reply", [*into, thread] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), thread_id=thread, draft_key=draft_key)
        case "edit", [*into, thread, _] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), thread_id=thread, draft_key=draft_key)
        case "comment", [*into, page, block] if len(into) < 2:
            return UnsentText(kind, _discussion(space, into), page, block, draft_key=draft_key)
        case "page", [page, into, _, _]:
            return UnsentText(kind, _discussion(space, [into] if into != "-" else []), page, draft_key=draft_key)
        case (("title" | "details"), [page]):
            return UnsentText(kind, _discussion(space, []), page, draft_key=draft_key)
        case (("review" | "remark" | "subject" | "description"), [into, *_]):
            return UnsentText(kind, _discussion(space, [into]), draft_key=draft_key)
    return UnsentText(kind, _discussion(space, []), draft_key=draft_key)


def pending_comment(entry: OutboxEntry) -> UnsentText:
    """Return an UnsentText for a pending comment, with its page, block and thread."""
    traits = entry.traits
    return UnsentText(
        "held", entry.at, traits.page_id, traits.block_key, traits.thread_id or entry.created_id, entry_id=entry.id
    )


class UnsentIndex:
    """Finds the unsent texts for a page, thread or change request."""

    def __init__(
        self,
        draft_keys: Iterable[str] = (),
        pending_comments: Sequence[OutboxEntry] = (),
        late_keys: frozenset[str] = frozenset(),
    ) -> None:
        """`draft_keys` has the keys of all drafts, `late_keys` those of drafts whose save has failed or takes too long.
        `pending_comments` has the outbox entries of comments that wait for the review."""
        pending_texts = {each.id: pending_comment(each) for each in pending_comments}
        texts = list(pending_texts.values())
        for draft_key in sorted(draft_keys):
            pending = pending_texts.get(draft_key.removeprefix(_PENDING_EDIT_PREFIX))
            if pending is None:
                texts.append(replace(unsent_draft(draft_key), is_late=draft_key in late_keys))
            else:
                edit = UnsentText("edit", pending.at, pending.page_id, pending.block_key, pending.thread_id, draft_key)
                texts.append(replace(edit, is_late=draft_key in late_keys))
        self._all: tuple[UnsentText, ...] = tuple(texts)

    def __bool__(self) -> bool:
        return bool(self._all)

    def of_draft(self, draft_key: str) -> tuple[UnsentText, ...]:
        """Return the unsent text of the draft `draft_key` in a tuple. Empty if there is no such draft."""
        return tuple(each for each in self._all if each.draft_key == draft_key)

    def of_thread(self, at: Discussion, thread_id: str) -> tuple[UnsentText, ...]:
        """Return the unsent texts of the thread whose first comment has the ID `thread_id`."""
        return tuple(each for each in self._all if (each.at, each.thread_id) == (at, thread_id))

    def of_discussion(self, at: Discussion) -> tuple[UnsentText, ...]:
        """Return all unsent texts for `at`, a change request or the main content of a space."""
        return tuple(each for each in self._all if each.at == at)

    def of_change_request(self, at: ChangeRequestRef) -> tuple[UnsentText, ...]:
        """Return the unsent texts about the change request as a whole, and all its pending comments."""
        return tuple(each for each in self.of_discussion(at) if each.kind in CHANGE_REQUEST_KINDS or each.entry_id)

    def by_page(self, at: Discussion, threads: Iterable[Comment]) -> dict[str, list[UnsentText]]:
        """Return the unsent texts for `at` by page ID, which is "" for texts without a page. Leave out drafts of
        `CHANGE_REQUEST_KINDS`. For a space, include page edits in its change requests. `threads` has the threads of
        `at`, to find the pages of replies."""
        texts = list(self.of_discussion(at))
        if isinstance(at, SpaceRef):
            texts += [
                each
                for each in self._all
                if each.kind == "page" and isinstance(each.at, ChangeRequestRef) and each.at.space_id == at.space_id
            ]
        thread_ids = {text.thread_id for text in texts if text.thread_id and not text.page_id}
        page_id_by_thread: dict[str, str] = {}
        if thread_ids:
            page_id_by_thread = {
                thread.id: thread.target.page.id for thread in threads if thread.id in thread_ids and thread.target.page
            }
        with_pages = ((text.page_id or page_id_by_thread.get(text.thread_id, ""), text) for text in texts)
        return _grouped((page, text) for page, text in with_pages if page or text.kind not in CHANGE_REQUEST_KINDS)


def comment_drafts_by_block(texts: Iterable[UnsentText]) -> dict[str, list[UnsentText]]:
    """Return the drafts of new comments by the key of their block, which is "" for the whole page."""
    return _grouped((text.block_key, text) for text in texts if text.kind == "comment")


def _grouped(texts: Iterable[tuple[str, UnsentText]]) -> dict[str, list[UnsentText]]:
    groups: defaultdict[str, list[UnsentText]] = defaultdict(list)
    for key, text in texts:
        groups[key].append(text)
    return dict(groups)


def _discussion(space_id: str, into: Sequence[str]) -> Discussion:
    return ChangeRequestRef(space_id=space_id, change_request_id=into[0]) if into else SpaceRef(space_id=space_id)
