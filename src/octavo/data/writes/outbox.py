"""The outbox keeps durable writes, such as comments and replies, until they are sent. A write is stored before screens
show it, can be undone for a few seconds, and is then sent."""

from __future__ import annotations

import asyncio
import os
import random
import sqlite3
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from octavo.data.access import Send
from octavo.data.drafts import (
    DraftRemoval,
    Drafts,
    StoredDraft,
    delete_drafts,
    delete_unsent_text,
    has_unsent_text,
    restore_drafts,
    store_text,
    store_unsent_text,
)
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.writes import machine
from octavo.data.writes.delivery import Account, ConnectionState, OutboxDelivery
from octavo.data.writes.machine import EntryState, ExpectedState, NewWrite, OutboxEntry, blocked_by
from octavo.data.writes.store import (
    EntryCallback,
    OutboxEntries,
    StoredEntry,
    find_done_entry,
    kind_of,
    restore_entry,
    take_pending_comment,
)
from octavo.data.writes.worker import OutboxWorker

if TYPE_CHECKING:
    from octavo.api import comments
    from octavo.api.operation import Discussion
    from octavo.api.users import User
    from octavo.data.writes.machine import DurableWrite


class Discarded(NamedTuple):
    """Drafts and pending comments that the user has discarded, to restore them."""

    drafts: tuple[StoredDraft, ...] = ()
    comments: tuple[StoredEntry, ...] = ()


class WriteGroup(NamedTuple):
    """Writes that the user made with one action, and that are undone together."""

    entry_ids: tuple[str, ...]
    review_id: str = ""
    """ID of the review that the writes belong to. Empty if there is no review."""


class UndoResult(NamedTuple):
    """Result of `Outbox.undo`, with a message for the user."""

    message: str
    undone: tuple[OutboxEntry, ...]
    """The entries that the undo has changed, the oldest first."""
    sending_ids: tuple[str, ...]
    """IDs of the entries that are not undone yet, because they are being sent now. The user can undo them later."""
    ended_ids: frozenset[str]
    """IDs of the entries whose undo is complete or impossible."""


class _EntryUndo(NamedTuple):
    entry: OutboxEntry
    kind: Literal["Canceled", "Pending again", "Undone", "unchanged", "late"]
    """`unchanged`: cannot be undone. `late`: is being sent now, and can be undone afterward."""
    reason: str = ""

    @property
    def is_changed(self) -> bool:
        return self.kind not in ("unchanged", "late")


class Outbox:
    """The durable writes of one profile, such as comments and replies, that are not done."""

    def __init__(
        self,
        send: Send,
        state: StateDb,
        drafts: Drafts,
        *,
        me: User | None = None,
        undo_seconds: float = 5.0,
        timeout: float = 30.0,
        arrival_margin: float = 30.0,
        jitter: Callable[[], float] = random.random,
        read_only_reason: str = "",
    ) -> None:
        """`read_only_reason` is a sentence that says why writes are not allowed, or empty. The server may act on a
        request until `timeout` + `arrival_margin` seconds after it was sent."""
        self.undo_seconds = undo_seconds
        self._read_only_reason = read_only_reason
        self.shown_state_of: Callable[[DurableWrite], ExpectedState] = lambda op: ExpectedState()
        """Function that returns what the user sees of the target of a write. Set by `Live`."""
        self.state = state
        self._drafts = drafts
        self._now = state.now
        self._entries = OutboxEntries(state, self._now)
        self.changed, self.done = self._entries.changed, self._entries.done
        self._account = Account(send, me)
        self.connection = ConnectionState(self._now, jitter)
        delivery = OutboxDelivery(
            send,
            self._entries,
            self.connection,
            self._account,
            request_timeout=timedelta(seconds=timeout),
            may_arrive_for=timedelta(seconds=timeout + arrival_margin),
        )
        self._worker = OutboxWorker(self._entries, self._account, self.connection, delivery)
        self._worker.is_read_only = bool(read_only_reason)
        self._task: asyncio.Task[None] | None = None
        self._earlier_groups = _unsent_groups(self._entries.all)
        self._own_ids: set[str] = set()
        """IDs of the entries that this process added or submitted."""

    @property
    def entries(self) -> tuple[OutboxEntry, ...]:
        """All entries that are not done, the oldest first. Entries of other accounts are included."""
        return self._entries.all

    @property
    def own_entries(self) -> tuple[OutboxEntry, ...]:
        """The entries that this account may send, the oldest first."""
        return tuple(filter(self._account.may_send, self.entries))

    @property
    def unsent_groups(self) -> list[WriteGroup]:
        """Groups of writes that earlier processes did not finish sending, the newest last. Empty if another
        process sends writes, because that process may have made the groups."""
        return self._earlier_groups if self._worker.has_lock else []

    def entry_creating(self, message_id: str) -> OutboxEntry | None:
        """Return the entry that creates the message with the temporary ID `message_id`. None if no entry does."""
        return self._entries.by_created_id.get(message_id)

    @property
    def is_sending(self) -> bool:
        """True if an entry is being sent, or can be sent at once."""
        return any(self._is_sending_or_due(entry) for entry in self.entries)

    @property
    def me(self) -> User | None:
        """The signed-in user, perhaps of an earlier session. None if unknown."""
        return self._account.user or self._account.remembered_user

    def set_account(self, me: User, *, is_confirmed: bool) -> None:
        """Set `me` as the signed-in user. `is_confirmed` says that the server has named this user in the current
        session. Otherwise, `me` is only shown, until the server names the user."""
        if is_confirmed:
            is_same = self._account.user == me
            self._account.user = me
            self._worker.wake()
            if not is_same and self.entries_of_other_accounts:
                self.changed.notify()  # screens must not show these entries as entries of this account
        else:
            self._account.remembered_user = me

    @property
    def entries_of_other_accounts(self) -> tuple[OutboxEntry, ...]:
        """The entries that another account made, and that this account may not send."""
        return tuple(entry for entry in self.entries if not self._account.may_send(entry))

    def other_account_reason(self, entry: OutboxEntry) -> str:
        """Return a sentence that says which account must send `entry`. Empty if this account may send `entry`."""
        if self._account.may_send(entry):
            return ""
        author, sender = entry.author_name or "Another account", entry.author_name or "that account"
        return f"{author} made this change. Octavo will send it when {sender} signs in on this computer again."

    def start(self) -> None:
        """Start the worker, unless it is running. The worker also notices what other processes change in state.db."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._worker.run(), name="outbox")
            self._task.add_done_callback(self._on_worker_ended)

    async def add_all(self, writes: Sequence[NewWrite]) -> tuple[OutboxEntry, ...]:
        """Store all writes or none as one undo step. Delete the writes' drafts. Return the entries. Raises NotSaved."""
        return await self._add(writes, held_until=self._end_of_undo_delay())

    async def add_pending_comments(self, writes: Sequence[NewWrite]) -> tuple[OutboxEntry, ...]:
        """Store all comments or none, until the user submits a review. Return their entries. Raises NotSaved."""
        return await self._add(writes, state="pending")

    async def remove_pending_comments(
        self, added: Sequence[OutboxEntry], on_removed: EntryCallback = lambda db, entry: None
    ) -> bool:
        """Delete the comments `added` that are still pending and unedited. Call `on_removed` for each in the same
        transaction. Return whether any was deleted. Raises NotSaved."""
        text_by_id = {entry.id: entry.traits.text for entry in added}

        def is_unchanged(entry: OutboxEntry) -> bool:
            return entry.state == "pending" and entry.traits.text == text_by_id[entry.id]

        return bool(await self._entries.remove(list(text_by_id), on_removed, is_unchanged))

    def pending_comments(self, at: Discussion) -> tuple[OutboxEntry, ...]:
        """Return the pending comments of the user on `at`, the oldest first."""
        return tuple(entry for entry in self.own_entries if entry.state == "pending" and entry.at == at)

    @property
    def busy_discussions(self) -> frozenset[Discussion]:
        """The spaces and change requests to which a write is being sent, or will soon be sent."""
        if self._read_only_reason:
            return frozenset()
        now = self._now()
        return frozenset(
            entry.at
            for entry in self.own_entries
            if entry.state == "sending"
            or entry.held_until is not None
            or (entry.state == "queued" and not self.connection.is_paused and (entry.due_at or now) <= now)
        )

    async def edit_pending_comment(self, entry: OutboxEntry, op: DurableWrite, draft_key: str) -> bool:
        """Replace the text of a pending comment, and delete the draft `draft_key`. If the comment is not pending
        anymore or was edited meanwhile, keep the new text as a draft and return False. Raises NotSaved."""
        removal, traits = self._drafts.removal(draft_key), kind_of(op).traits(op)

        def edit(stored_entry: OutboxEntry) -> OutboxEntry:
            if stored_entry.state != "pending" or stored_entry.traits.text != entry.traits.text:
                raise machine.WrongState("the user has edited or sent the comment in another process")
            return machine.edit(stored_entry, op, traits)

        changed_entry = await self._entries.apply(entry.id, edit, lambda db, _: removal.delete(db))
        if changed_entry is not None:
            removal.forget()
        elif entry.draft_key:
            await self.move_draft(draft_key, entry.draft_key, traits.text)
        return changed_entry is not None

    async def move_draft(self, draft_key: str, new_key: str, text: str) -> None:
        """Delete the draft `draft_key`, and store `text` as a new version of the draft `new_key`. Raises NotSaved."""
        removal, namespace = self._drafts.removal(draft_key), self.state.namespace

        def move(db: sqlite3.Connection) -> None:
            removal.delete(db)
            store_text(db, namespace, new_key, text, self._now())

        await self.state.write(move)
        removal.forget()

    async def move_comment(self, entry_id: str, op: comments.Create) -> None:
        """Move an unsent comment to the block of `op`. Do nothing if their texts differ. Raises NotSaved."""

        def move(entry: OutboxEntry) -> OutboxEntry:
            if entry.traits.text != op.body.markdown:
                return entry
            return machine.edit(entry, op, kind_of(op).traits(op))

        await self._entries.apply(entry_id, move)

    async def submit_review(
        self,
        at: Discussion,
        final_write: NewWrite | None = None,
        *,
        once_key: str = "",
        comment_ids: Collection[str] | None = None,
    ) -> tuple[OutboxEntry, ...]:
        """Submit the pending comments of `at`, then `final_write`, and return these entries. With `comment_ids`, submit
        only the comments with these entry IDs. Raises NotSaved.

        Empty if there is nothing to submit, if a command has used `once_key` before, or if `final_write` is a review
        and another review of `at` is being sent.
        """
        review_id, writes = os.urandom(8).hex(), () if final_write is None else (final_write,)
        held_until = self._end_of_undo_delay()
        entries = self._new_entries(writes, "queued", held_until, review_id)
        used_drafts = _UsedDrafts(self._drafts, self.entries, entries, writes)
        submit = partial(machine.submit, review_id=review_id, now=self._now(), held_until=held_until)
        on_entry = partial(used_drafts.delete, self.state.namespace)
        stored = await self._entries.submit_review(
            at, self._account.may_send, submit, entries, on_entry, once_key, comment_ids
        )
        self._on_added(stored, used_drafts)
        return stored

    async def undo(self, group: WriteGroup) -> UndoResult | None:
        """Cancel unsent writes of a group, and undo sent writes. None if neither is possible. Raises NotSaved."""
        entries = self._entries
        entries.reload_if_changed()
        if any(entry.id in group.entry_ids for entry in self.entries_of_other_accounts):
            return None
        newest_first = [each for each in reversed(group.entry_ids) if _is_still_in_review(group, entries.find(each))]
        by_id = await self._cancel([entry for each in newest_first if (entry := entries.find(each)) is not None])
        opposites: list[NewWrite] = []
        for entry_id in newest_first:
            if entry_id in by_id:
                continue
            entry = entries.find(entry_id) or find_done_entry(entries.state, entry_id)
            if entry is not None and _is_still_in_review(group, entry):
                by_id[entry_id], writes = _plan_undo(entry)
                opposites += writes
        if opposites:
            await self._add(opposites)
        results = [by_id[entry_id] for entry_id in newest_first if entry_id in by_id]
        if not results:
            return None
        changed_entries = tuple(result.entry for result in reversed(results) if result.is_changed)
        sending_ids = tuple(result.entry.id for result in reversed(results) if result.kind == "late")
        ended_ids = frozenset(result.entry.id for result in results if result.kind not in ("late", "Pending again"))
        return UndoResult(_undo_message(results), changed_entries, sending_ids, ended_ids)

    async def _cancel(self, entries: Sequence[OutboxEntry]) -> dict[str, _EntryUndo]:
        """Delete unsent entries, but make comments of an unsent review pending again. Return each undo by entry ID."""
        states = ("pending", "held", "queued")
        waiting_ids = [entry.id for entry in entries if entry.state in states]
        submitted_ids = [entry.id for entry in entries if entry.review and not entry.traits.is_review]
        if not waiting_ids:
            return {}

        def may_remove(entry: OutboxEntry) -> bool:
            return entry.state in states and entry.id not in submitted_ids

        changed = await self._entries.remove(waiting_ids, self._restore_draft, may_remove, machine.return_to_review)
        return {
            entry.id: _EntryUndo(entry, "Pending again" if entry.id in submitted_ids else "Canceled")
            for entry in changed
        }

    async def retry(self, entry_id: str) -> None:
        """Send an entry that waits for the user. If the entry may have been sent, first search for its result. Delete
        the draft of the entry. Raises NotSaved."""
        self._raise_if_read_only()

        def delete_draft(db: sqlite3.Connection, entry: OutboxEntry) -> None:
            delete_unsent_text(db, self.state.namespace, entry.draft_key, entry.id)

        await self._entries.apply(entry_id, partial(machine.retry, now=self._now()), delete_draft)
        self.resume()
        self.start()

    async def discard(self, entry_id: str) -> OutboxEntry | None:
        """Delete and return an entry. Its text becomes a draft. None if being sent or missing. Raises NotSaved."""
        removed = await self._entries.remove((entry_id,), self._restore_draft, lambda entry: entry.state != "sending")
        return next(iter(removed), None)

    async def discard_unsent(self, draft_keys: Sequence[str], entry_ids: Sequence[str]) -> Discarded:
        """Delete and return drafts and pending comments. Submitted comments stay. If NotSaved is raised, all stay."""
        removals = [self._drafts.removal(key) for key in draft_keys]

        def discard(db: sqlite3.Connection) -> Discarded:
            removed_rows = (take_pending_comment(db, self.state.namespace, entry_id) for entry_id in entry_ids)
            comments = tuple(comment for comment in removed_rows if comment is not None)
            return Discarded(tuple(delete_drafts(db, self.state.namespace, draft_keys)), comments)

        discarded = await self.state.write(discard)
        for removal in removals:
            removal.forget()
        self._entries.reload()
        return discarded

    async def restore_discarded(self, discarded: Discarded) -> None:
        """Undo `discard_unsent`. Raises NotSaved."""

        def restore(db: sqlite3.Connection) -> None:
            restore_drafts(db, self.state.namespace, discarded.drafts)
            for comment in discarded.comments:
                restore_entry(db, self.state.namespace, comment)

        await self.state.write(restore)
        self._drafts.changed.notify()
        self._entries.reload()

    def resume(self) -> None:
        """End the pause after failed requests, and send the queued entries. Called when the user retries a write."""
        self.connection.end_pause()
        self._worker.wake()

    def record_response(self) -> None:
        """Record that the server responded to a request outside the outbox. If this ends a pause, send the entries."""
        if self.connection.record_response():
            self._worker.wake()

    async def send_now(self, max_wait: float = 2.0) -> None:
        """End the undo delays. Wait up to `max_wait` seconds until all entries that can be sent now are sent."""
        await self._end_undo_delays()
        change_event = asyncio.Event()
        remove_observer = self.changed.add(change_event.set)
        try:
            async with asyncio.timeout(max_wait):
                while self.is_sending:
                    change_event.clear()
                    await change_event.wait()
        except TimeoutError:
            pass
        finally:
            remove_observer()

    async def _end_undo_delays(self) -> None:
        if self._read_only_reason:
            return
        ids = self._own_ids.union(*(group.entry_ids for group in self.unsent_groups))
        held_ids = [entry.id for entry in self.own_entries if entry.id in ids and entry.held_until is not None]
        if held_ids:
            with suppress(NotSaved):
                await self._entries.apply_to_all(held_ids, partial(machine.release, now=self._now()))

    def _is_sending_or_due(self, entry: OutboxEntry) -> bool:
        if self._read_only_reason or not self._account.may_send(entry):
            return False
        is_due = entry.due_at is None or entry.due_at <= self._now()
        if entry.state != "queued":
            return entry.state == "sending"
        return is_due and not self.connection.is_paused and blocked_by(entry, self.own_entries) is None

    async def close(self, max_wait: float = 2.0) -> None:
        """Queue held entries, stop the worker, and wait up to `max_wait` seconds for its request. Unsent entries
        stay."""
        await self._end_undo_delays()
        self._worker.stop()
        task, self._task = self._task, None
        try:
            if task is not None:
                await asyncio.wait({task}, timeout=max_wait)
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        finally:
            self._worker.release_lock()

    async def _add(
        self, writes: Sequence[NewWrite], state: EntryState = "queued", held_until: datetime | None = None
    ) -> tuple[OutboxEntry, ...]:
        """Store and return entries of the writes whose `condition` holds, and delete their drafts. Raises NotSaved."""
        entries = self._new_entries(writes, state, held_until)
        used_drafts = _UsedDrafts(self._drafts, self.entries, entries, writes)
        condition_by_id = {entry.id: write.condition for entry, write in zip(entries, writes, strict=True)}

        def is_wanted(db: sqlite3.Connection, entry: OutboxEntry) -> bool:
            condition = condition_by_id[entry.id]
            return condition is None or condition(db)

        stored = await self._entries.insert(entries, is_wanted, partial(used_drafts.delete, self.state.namespace))
        self._on_added(stored, used_drafts)
        return stored

    def _new_entries(
        self, writes: Sequence[NewWrite], state: EntryState, held_until: datetime | None, review_id: str = ""
    ) -> list[OutboxEntry]:
        """Return a new entry for each write: held until `held_until`, or in `state` if `held_until` is None. Also
        record that this process created the entries. Raises NotSaved if the outbox is read-only."""
        self._raise_if_read_only()
        now, group = self._now(), os.urandom(8).hex()
        entries = [
            OutboxEntry(
                id=os.urandom(8).hex(),
                op=write.op,
                traits=kind_of(write.op).traits(write.op),
                action=write.action,
                draft_key=write.draft_key,
                context=write.context,
                block_text=write.block_text,
                group=group,
                author_id=self.me.id if self.me is not None else "",
                author_name=self.me.name if self.me is not None else "",
                created_at=now,
                requested_at=now,
                state=state if held_until is None else "held",
                held_until=held_until,
                due_at=now if state == "queued" and held_until is None else None,
                expected=write.expected or self.shown_state_of(write.op),
                review=review_id,
            )
            for write in writes
        ]
        self._account.entries_of_process.update(entry.id for entry in entries)
        return entries

    def _end_of_undo_delay(self) -> datetime | None:
        return self._now() + timedelta(seconds=self.undo_seconds) if self.undo_seconds > 0 else None

    def _on_added(self, stored: Sequence[OutboxEntry], used_drafts: _UsedDrafts) -> None:
        if stored:
            self._own_ids.update(entry.id for entry in stored)
            used_drafts.forget(stored)
            self.start()
            self._worker.wake()

    def _raise_if_read_only(self) -> None:
        if self._read_only_reason:
            raise NotSaved(self._read_only_reason)

    def _restore_draft(self, db: sqlite3.Connection, entry: OutboxEntry) -> None:
        """Store the text of a deleted entry as a draft, except for a failed entry, whose text is a draft already."""
        if entry.state != "failed":
            store_unsent_text(db, self.state.namespace, entry, self._now())

    def _on_worker_ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self.connection.stop_reason = (
                f"Sending has stopped because of a bug in Octavo ({type(error).__name__}). Restart Octavo."
            )
            self._entries.changed.notify()


class _UsedDrafts:
    """The drafts with the texts of new entries. They are deleted when the entries are stored."""

    def __init__(
        self,
        drafts: Drafts,
        earlier_entries: Sequence[OutboxEntry],
        entries: Sequence[OutboxEntry],
        writes: Sequence[NewWrite],
    ) -> None:
        self._failed = [each for each in earlier_entries if each.state == "failed" and each.draft_key]
        self._keys = {
            entry.id: (write.draft_key,) if write.used_draft_keys is None else write.used_draft_keys
            for entry, write in zip(entries, writes, strict=True)
        }
        self._removals: dict[str, list[DraftRemoval]] = {entry.id: [] for entry in entries}
        for entry in entries:
            for key in filter(None, self._keys[entry.id]):
                # The user may have typed another text for a review while its change request was checked.
                if not entry.traits.is_review or (drafts.get(key) or "").strip() == entry.traits.text.strip():
                    self._removals[entry.id].append(drafts.removal(key))

    def delete(self, namespace: str, db: sqlite3.Connection, entry: OutboxEntry) -> None:
        """Delete from disk the drafts of the new `entry`, and the failed entries that `entry` replaces. Call this in
        the transaction that stores `entry`."""
        for removal in self._removals[entry.id]:
            removal.delete(db)
        for failed in self._failed:
            # If the user has edited the text of a failed entry, the new entry replaces the failed entry.
            replaces = failed.draft_key in self._keys[entry.id] and (entry.traits.text or entry.traits.is_review)
            if replaces and not has_unsent_text(db, namespace, failed.draft_key, failed.id):
                db.execute("DELETE FROM outbox WHERE id = ? AND state = 'failed'", (failed.id,))

    def forget(self, stored: Iterable[OutboxEntry]) -> None:
        """Delete the drafts of stored entries from memory. Call this after the transaction."""
        for removal in chain.from_iterable(self._removals.get(entry.id, ()) for entry in stored):
            removal.forget()


def _unsent_groups(entries: Sequence[OutboxEntry]) -> list[WriteGroup]:
    """Return the groups of writes that earlier processes did not finish sending."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry.is_in_flight and not entry.needs_user:
            groups.setdefault((entry.review or entry.group or entry.id, entry.review), []).append(entry.id)
    return [WriteGroup(tuple(ids), review) for (_, review), ids in groups.items()]


def _is_still_in_review(group: WriteGroup, entry: OutboxEntry | None) -> bool:
    """Return whether `entry` is still in the review of `group`. True if `group` has no review or `entry` is None."""
    return entry is None or group.review_id in ("", entry.review)


def _plan_undo(entry: OutboxEntry) -> tuple[_EntryUndo, list[NewWrite]]:
    """Return the result of undoing an entry, and a list with the write that undoes it. The list is empty if the entry
    cannot be undone, or must be sent first."""
    if entry.state == "failed" or entry.needs_user:
        return _EntryUndo(entry, "unchanged", f"Nothing to undo: {entry.reason}"), []
    if entry.already_done:
        reason = f"Nothing to undo for “{entry.action}”: someone else did this first."
        return _EntryUndo(entry, "unchanged", reason), []
    opposite: Any = kind_of(entry.op).undo(entry.op, entry.expected)
    if not isinstance(opposite, str):
        is_done = entry.state == "done"
        reason = "" if is_done else "The change is already being sent. Octavo will undo it afterward."
        undo = NewWrite(opposite, f"undo “{entry.action}”", context=entry.context)
        return _EntryUndo(entry, "Undone", reason), [undo]
    if entry.state == "done":
        return _EntryUndo(entry, "unchanged", opposite), []
    reason = f"Could not undo “{entry.action}” yet: it is being sent. Press u again in a moment."
    return _EntryUndo(entry, "late", reason), []


def _undo_message(results: Sequence[_EntryUndo]) -> str:
    """Return a sentence about the undo for each action, such as `Undone: reply, both.` for two replies."""
    actions = dict.fromkeys(result.entry.action for result in results)
    sentences = (
        _undo_sentence(action, [each for each in results if each.entry.action == action]) for action in actions
    )
    return " ".join(dict.fromkeys(sentences))


def _undo_sentence(action: str, results: Sequence[_EntryUndo]) -> str:
    changed_results = [result for result in results if result.is_changed]
    undone_results = [result for result in changed_results if result.kind == "Undone"]
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    if not changed_results:
        return " ".join(reasons)
    verb = next((result.kind for result in changed_results if result.kind != "Undone"), "Undone")
    contexts = {result.entry.context for result in results}
    name = f"{action} · {next(iter(contexts))}" if len(contexts) == 1 and contexts != {""} else action
    unchanged_results = [result for result in results if not result.is_changed]
    if len(results) == 1:
        amount = ""
    elif unchanged_results:
        are_sent = all(result.kind == "late" or result.entry.state == "done" for result in unchanged_results)
        cause = "already sent" if are_sent else "not undone"
        amount = f", {len(changed_results)} of {len(results)} ({_count_and_verb(len(unchanged_results))} {cause})"
    else:
        amount = ", both" if len(results) == 2 else f", all {len(results)}"
        if 0 < len(undone_results) < len(results):
            amount += f" ({_count_and_verb(len(undone_results))} already sent and had to be undone)"
    return " ".join((f"{verb}: {name}{amount}.", *reasons))


def _count_and_verb(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'}"
