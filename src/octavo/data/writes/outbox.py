"""The outbox: durable writes. Each is on disk before the screen shows it, can be undone for a moment, and is then sent."""

from __future__ import annotations

import asyncio
import random
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from octavo.data.drafts import Drafts, StoredDraft, delete_drafts, delete_returned, restore_drafts, store_returned
from octavo.data.sending import Send
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.writes.machine import (
    NewWrite,
    OutboxEntry,
    blocked_by,
    edited,
    released,
    retried,
    submitted,
)
from octavo.data.writes.store import Also, OutboxEntries, StoredEntry, restore_entry, take_pending_comment
from octavo.data.writes.undo import UndoResult, WriteGroup, undo_writes
from octavo.data.writes.worker import ConnectionState, OutboxWorker
from octavo.data.writes.write_kind import Basis

if TYPE_CHECKING:
    from octavo.api.places import Discussion
    from octavo.api.users import User
    from octavo.data.writes.write_kind import DurableWrite

Insert = Callable[[Sequence[OutboxEntry], Also], Awaitable[tuple[OutboxEntry, ...]]]
"""Stores new entries, and returns those that are stored then."""

REMEMBERED = 100
"""Number of writes that can be undone, one after the other."""


@dataclass(frozen=True)
class Discarded:
    """Drafts and pending comments that were discarded, as they were stored."""

    drafts: tuple[StoredDraft, ...] = ()
    comments: tuple[StoredEntry, ...] = ()


class Outbox:
    """The durable writes of one profile."""

    def __init__(
        self,
        send: Send,
        state: StateDb,
        drafts: Drafts,
        *,
        me: User | None = None,
        undo_seconds: float = 5.0,
        timeout: float = 30.0,
        settle: float = 30.0,
        jitter: Callable[[], float] = random.random,
        read_only: str = "",
    ) -> None:
        """`read_only` says why no write is added and none is sent. Empty if writes are sent.

        `timeout` is how long a request may take, and `settle` how much later the server may still act on it: that long
        Octavo looks for a lost write. Then it sends a write that only sets a state again, and asks the user about any other.
        All in seconds.
        """
        self.undo_seconds = undo_seconds
        self._read_only = read_only
        self.basis_for: Callable[[DurableWrite], Basis] = lambda op: Basis()
        """Returns what the screen shows of the target of a write. Live sets this."""
        self.state = state
        self._drafts = drafts
        self._now = state.now
        self._entries = OutboxEntries(state, self._now)
        self._worker = OutboxWorker(
            send,
            self._entries,
            me=me,
            timeout=timedelta(seconds=timeout),
            settle=timedelta(seconds=settle),
            jitter=jitter,
        )
        self._kept_me: User | None = None
        self._task: asyncio.Task[None] | None = None
        self._history = _begun(self._entries.entries)
        """The groups that `undo` undoes, the newest last."""

    @property
    def entries(self) -> tuple[OutboxEntry, ...]:
        """Return the entries that are not done, oldest first."""
        return self._entries.entries

    def find_creating(self, message_id: str) -> OutboxEntry | None:
        """Return the entry that creates the message with this id. None if the message is on the server, or unknown."""
        return self._entries.by_pending_id.get(message_id)

    @property
    def is_sending(self) -> bool:
        """Return whether an entry is being sent, or is sent next without waiting for anything."""
        return any(self._is_moving(entry) for entry in self.entries)

    @property
    def me(self) -> User | None:
        """Return the signed-in user. None while that is unknown."""
        return self._worker.delivery.me or self._kept_me

    def set_account(self, me: User, *, asked: bool) -> None:
        """Set the signed-in user. `asked`: the server said so in this session; else the token may belong to another user now."""
        if asked:
            self._worker.delivery.me = me
            self._worker.wake()
        else:
            self._kept_me = me

    @property
    def entries_of_other_accounts(self) -> tuple[OutboxEntry, ...]:
        """Return the entries that another account wrote: they are not sent by this one."""
        return tuple(filter(self._worker.delivery.is_other_account, self.entries))

    @property
    def connection(self) -> ConnectionState:
        """Return why and how long sending pauses."""
        return self._worker.connection

    def other_account_reason(self, entry: OutboxEntry) -> str:
        """Return why another account has to send `entry`, in a sentence. Empty if this account may send it."""
        if not self._worker.delivery.is_other_account(entry):
            return ""
        writer, sender = entry.writer_name or "Another account", entry.writer_name or "that account"
        return f"{writer} made this change. Octavo will send it when {sender} signs in on this computer again."

    def observe(self, observer: Callable[[], None]) -> Callable[[], None]:
        """Call `observer` after each change. Returns a function that ends this."""
        return self._entries.changed.add(observer)

    def observe_done(self, observer: Callable[[OutboxEntry], None]) -> None:
        """Call `observer` with each write that is done, in this instance or another."""
        self._entries.done.add(observer)

    def start(self) -> None:
        """Start the worker, unless it runs or the outbox is read-only. Needs a running loop."""
        if self._task is None and not self._read_only:
            self._task = asyncio.get_running_loop().create_task(self._worker.run(), name="outbox")
            self._task.add_done_callback(self._ended)

    async def step(self) -> float:
        """Take the next step that is due, and return how many seconds to wait. For tests: the worker does this by itself."""
        return await self._worker.step()

    async def add(self, op: DurableWrite, *, action: str, draft_key: str = "") -> OutboxEntry:
        """Add a write: it is on disk when this returns, and the draft of `draft_key` is deleted in the same transaction.

        `action` follows “Could not”: “reply”, “resolve the thread”. Raises NotSaved.
        """
        (entry,) = await self.add_all((NewWrite(op, action, draft_key),))
        return entry

    async def add_all(self, writes: Sequence[NewWrite]) -> tuple[OutboxEntry, ...]:
        """Add writes that belong together: `undo` undoes all of them. All are on disk when this returns, or none.

        Raises NotSaved.
        """
        entries = await self._add(writes, self.undo_seconds)
        self._remember(entries)
        return entries

    async def add_pending_comment(self, write: NewWrite) -> OutboxEntry:
        """Add a pending comment, which is sent with a review. It is on disk when this returns. Raises NotSaved."""

        async def insert(entries: Sequence[OutboxEntry], also: Also) -> tuple[OutboxEntry, ...]:
            return await self._entries.insert([replace(each, state="pending", due_at=None) for each in entries], also)

        entries = await self._add((write,), 0.0, insert=insert)
        self._remember(entries)
        return entries[0]

    def pending_comments(self, at: Discussion) -> tuple[OutboxEntry, ...]:
        """Return the pending comments of a review of `at`, in the order written."""
        return tuple(entry for entry in self.entries if self._is_pending(entry, at))

    def _is_pending(self, entry: OutboxEntry, at: Discussion) -> bool:
        return entry.state == "pending" and entry.at == at and not self._worker.delivery.is_other_account(entry)

    async def edit_pending_comment(self, entry_id: str, op: DurableWrite, draft_key: str) -> bool:
        """Replace a pending comment by `op`, and delete the draft of `draft_key` in the same transaction.

        False if the comment is not pending any more: the draft stays. Raises NotSaved.
        """
        removal, turn = self._drafts.removal(draft_key), self._drafts.edit_count(draft_key)
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        change = partial(edited, op=op, facts=kind_of(op).facts(op))
        after = await self._entries.step(entry_id, change, lambda db, _: removal(db))
        if after is not None:
            self._drafts.forget(draft_key, turn)
        return after is not None

    async def submit_review(self, at: Discussion, review: NewWrite | None = None) -> tuple[OutboxEntry, ...]:
        """Send the pending comments of `at`, and the review after them, when the undo delay is over. Return all entries.

        Empty if a review of `at` is already being sent. Raises NotSaved.
        """
        review_id, now = secrets.token_hex(8), self._now()
        until = now + timedelta(seconds=self.undo_seconds) if self.undo_seconds > 0 else None
        change = partial(submitted, review=review_id, now=now, held_until=until)

        async def insert(then: Sequence[OutboxEntry], also: Also) -> tuple[OutboxEntry, ...]:
            with_it = [replace(each, review=review_id) for each in then]
            return await self._entries.submit_review(lambda each: self._is_pending(each, at), change, with_it, also)

        entries = await self._add(() if review is None else (review,), self.undo_seconds, insert=insert)
        # Undo of the review covers its comments: their own groups are dropped.
        sent = {entry.id for entry in entries}
        self._history = [group for group in self._history if not sent.issuperset(group.ids)]
        self._remember(entries, review_id)
        return entries

    async def undo(self) -> UndoResult | None:
        """Undo the newest write of this instance, and those that belong to it. None if there is none. Raises NotSaved."""
        others = {entry.id for entry in self.entries_of_other_accounts}
        self._history = [group for group in self._history if not others.intersection(group.ids)]
        self._entries.refresh()
        while self._history:
            group = self._history[-1]
            undone, late = await undo_writes(
                group, self._entries, self._put_back, lambda opposites: self._add(opposites, 0.0)
            )
            self._history[-1:] = [WriteGroup(late, group.review)] if late else []
            if undone is not None:
                return undone
        return None

    async def retry(self, entry_id: str) -> None:
        """Send an entry that waits for the user. If it may have arrived, Octavo looks for it first. Raises NotSaved."""
        self._may_send()
        now = self._now()

        def take(db: sqlite3.Connection, entry: OutboxEntry) -> None:
            delete_returned(db, self.state.namespace, entry.draft_key, entry.id)

        await self._entries.step(entry_id, partial(retried, now=now), take)
        self._worker.resume()
        self._started()

    async def discard(self, entry_id: str) -> None:
        """Delete an entry, and keep its text as a draft. Does nothing while the entry is being sent. Raises NotSaved."""
        await self._entries.remove((entry_id,), self._put_back, "pending", "held", "queued", "unknown", "failed")

    async def discard_unsent(self, draft_keys: Sequence[str], pending: Sequence[str]) -> Discarded:
        """Discard every version of the drafts, and the pending comments with the ids `pending`, in one transaction.

        A comment that is not pending any more stays. Raises NotSaved, and then nothing is discarded.
        """
        counts = {key: self._drafts.edit_count(key) for key in draft_keys}

        def work(db: sqlite3.Connection) -> Discarded:
            comments = tuple(each for name in pending if (each := take_pending_comment(db, name)) is not None)
            return Discarded(tuple(delete_drafts(db, self.state.namespace, draft_keys)), comments)

        discarded = await self.state.write(work)
        for key, count in counts.items():
            self._drafts.forget(key, count)
        self._entries.reload()
        return discarded

    async def restore_discarded(self, discarded: Discarded) -> None:
        """Undo `discard_unsent`: the comments are pending again, in their old order. Raises NotSaved."""

        def work(db: sqlite3.Connection) -> None:
            restore_drafts(db, self.state.namespace, discarded.drafts)
            for each in discarded.comments:
                restore_entry(db, self.state.namespace, each)

        await self.state.write(work)
        self._drafts.changed.notify()
        self._entries.reload()

    def resume(self) -> None:
        """Send again after the user signed in."""
        self._worker.resume()

    def online(self) -> None:
        """Note that the server responds again."""
        self._worker.online()

    async def send_now(self, within: float = 2.0) -> None:
        """Send the entries of the undo delay, because the user quits. Entries that take more than `within` seconds stay
        in the outbox."""
        await self._release()
        changed = asyncio.Event()
        leave = self.observe(changed.set)
        try:
            async with asyncio.timeout(within):
                while self.is_sending:
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            leave()

    async def _release(self) -> None:
        """End the undo delay of the entries of this instance."""
        if self._read_only:
            return
        ours = {each for group in self._history for each in group.ids}
        held = [
            entry.id
            for entry in self.entries
            if entry.id in ours and entry.held_until is not None and not self._worker.delivery.is_other_account(entry)
        ]
        if held:
            with suppress(NotSaved):
                await self._entries.step_all(held, partial(released, now=self._now()))

    def _is_moving(self, entry: OutboxEntry) -> bool:
        if self._read_only or self._worker.delivery.is_other_account(entry):
            return False
        due = entry.due_at is None or entry.due_at <= self._now()
        if entry.state != "queued":
            return entry.state == "sending"
        return due and not self.connection.is_quiet and blocked_by(entry, self.entries) is None

    async def close(self, within: float = 2.0) -> None:
        """End the undo delay, and stop the worker. A running request gets `within` seconds to finish."""
        await self._release()
        self._worker.stop()
        task, self._task = self._task, None
        try:
            if task is not None:
                await asyncio.wait({task}, timeout=within)
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        finally:
            with suppress(NotSaved):
                await self._worker.leave()

    def _remember(self, entries: Sequence[OutboxEntry], review: str = "") -> None:
        if entries:
            self._history = [*self._history[1 - REMEMBERED :], WriteGroup(tuple(each.id for each in entries), review)]

    async def _add(
        self, writes: Sequence[NewWrite], hold: float, insert: Insert | None = None
    ) -> tuple[OutboxEntry, ...]:
        self._may_send()
        group = secrets.token_hex(8)
        entries = [self._entry(write, group, hold) for write in writes]
        drafts = {
            entry.id: [
                (key, self._drafts.removal(key), self._drafts.edit_count(key))
                for key in filter(None, (write.draft_key,) if write.draft_keys is None else write.draft_keys)
            ]
            for entry, write in zip(entries, writes, strict=True)
        }
        failed = [(each.id, each.draft_key) for each in self.entries if each.state == "failed" and each.draft_key]

        def also(db: sqlite3.Connection, entry: OutboxEntry) -> None:
            for _, remove, _ in drafts[entry.id]:
                remove(db)
            for entry_id, key in failed:  # this entry sends the text of a failed entry again
                if key == entry.draft_key and (entry.text or entry.is_review):
                    delete_returned(db, self.state.namespace, key, entry_id)
                    db.execute("DELETE FROM outbox WHERE id = ? AND state = 'failed'", (entry_id,))

        stored = await (insert or self._entries.insert)(entries, also)
        if stored:
            for key, _, count in (each for of_entry in drafts.values() for each in of_entry):
                self._drafts.forget(key, count)
            self._started()
        return stored

    def _entry(self, write: NewWrite, group: str, hold: float) -> OutboxEntry:
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        now = self._now()
        entry = OutboxEntry(
            id=secrets.token_hex(8),
            op=write.op,
            facts=kind_of(write.op).facts(write.op),
            action=write.action,
            draft_key=write.draft_key,
            context=write.context,
            group=group,
            writer=self.me.id if self.me is not None else "",
            writer_name=self.me.name if self.me is not None else "",
            created_at=now,
            requested_at=now,
            state="held" if hold > 0 else "queued",
            held_until=now + timedelta(seconds=hold) if hold > 0 else None,
            due_at=None if hold > 0 else now,
            basis=write.basis or self.basis_for(write.op),
        )
        self._worker.delivery.written_here.add(entry.id)
        return entry

    def _may_send(self) -> None:
        """Raise NotSaved if nothing is sent here: a write would be sent at the next start only."""
        if self._read_only:
            raise NotSaved(self._read_only)

    def _put_back(self, db: sqlite3.Connection, entry: OutboxEntry) -> None:
        if entry.draft_key and entry.state != "failed" and entry.text:
            store_returned(db, self.state.namespace, entry.draft_key, entry.text, entry.id, self._now())

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Show that the worker stopped because of a bug. `close` raises the error."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self.connection.paused = (
                f"Sending has stopped because of a bug in Octavo ({type(error).__name__}). Restart Octavo."
            )
            self._entries.changed.notify()

    def _started(self) -> None:
        self.start()
        self._worker.wake()


def _begun(entries: Sequence[OutboxEntry]) -> list[WriteGroup]:
    """Return the entries of earlier instances that wait to be sent, in groups that belong together."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry.state in ("held", "queued", "sending", "unknown") and not entry.needs_user:
            groups.setdefault((entry.review or entry.group or entry.id, entry.review), []).append(entry.id)
    return [WriteGroup(tuple(ids), review) for (_, review), ids in groups.items()]
