"""Writes that must not be lost: on disk before the screen says so, held a moment, sent, and read back when in doubt."""

from __future__ import annotations

import asyncio
import random
import secrets
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from octavo.data.discarding import Discarded, bring_back, discard_words
from octavo.data.drafts import Drafts, put_back, take_again
from octavo.data.driver import Driver
from octavo.data.pending import Also, Pending
from octavo.data.sending import Send
from octavo.data.state import NotSaved, State
from octavo.data.taking_back import UndoResult, take_back
from octavo.data.writes.attempt import Basis
from octavo.data.writes.machine import (
    Entry,
    QueuedWrite,
    let_go,
    released,
    retried,
    reworded,
    waits_for,
)

if TYPE_CHECKING:
    from datetime import datetime

    from octavo.api.places import Discussion
    from octavo.api.users import User
    from octavo.data.writes.attempt import DurableWrite

Insert = Callable[[Sequence[Entry], Also], Awaitable[tuple[Entry, ...]]]
"""Puts new entries on disk, and answers what is there then."""

__all__ = ["Entry", "Outbox", "QueuedWrite", "UndoResult"]

REMEMBERED = 100
"""How many writes can be taken back, one after the other."""


class Outbox:
    """The durable writes of one profile."""

    def __init__(
        self,
        send: Send,
        state: State,
        drafts: Drafts,
        *,
        me: User | None = None,
        undo_seconds: float = 5.0,
        timeout: float = 30.0,
        settle: float = 30.0,
        jitter: Callable[[], float] = random.random,
        read_only: str = "",
    ) -> None:
        """`read_only` says why nothing is taken over and nothing of what waits is sent. Empty: both are.

        `timeout` is how long a request may take, `settle` how much later the server may still act on it: so long what
        was lost is looked for before anything else is done about it. All in seconds.
        """
        self.undo_seconds = undo_seconds
        self._read_only = read_only
        self.known: Callable[[DurableWrite], Basis] = lambda op: Basis()
        """What the screen shows of what a write changes. Live sets it."""
        self.state = state
        self._drafts = drafts
        self._now = state.now
        self._pending = Pending(state, self._now)
        self._driver = Driver(send, self._pending, me=me, timeout=timeout, settle=settle, jitter=jitter)
        self._kept_me: User | None = None
        self._task: asyncio.Task[None] | None = None
        self._history = _begun(self._pending.entries)
        """What was begun here, or before and still waits: the ids of what belongs together in one."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All that is not done, oldest first."""
        return self._pending.entries

    def named(self, message_id: str) -> Entry | None:
        """What makes the message called so, when it is not done."""
        return self._pending.by_name.get(message_id)

    @property
    def is_going_out(self) -> bool:
        """Whether something is being sent, or will be without anything to wait for."""
        return any(self._is_moving(entry) for entry in self.entries)

    @property
    def me(self) -> User | None:
        """Whose writes they are, once it is known."""
        return self._driver.delivery.me or self._kept_me

    def know_me(self, me: User, *, asked: bool) -> None:
        """It is `me` who writes. Not `asked` of the server in this session: it was so, and the key may be of another by now."""
        if asked:
            self._driver.delivery.me = me
            self._driver.wake()
        else:
            self._kept_me = me

    @property
    def waits_for_other(self) -> tuple[Entry, ...]:
        """What another account wrote here, and is not sent in the name of this one."""
        return tuple(filter(self._driver.delivery.is_of_another, self.entries))

    @property
    def waits_until(self) -> datetime | None:
        """Until when the server asked to be left alone, if it did."""
        return self._driver.connection.quiet_until if self._driver.connection.is_limited else None

    @property
    def why_quiet(self) -> str:
        """Why sending pauses, as a sentence. Empty while writes are sent."""
        return self._driver.connection.why

    @property
    def waits_for_key(self) -> bool:
        """Whether the server does not take the key."""
        return self._driver.connection.is_key_refused

    def why_not_mine(self, entry: Entry) -> str:
        """Return why another account has to send `entry`, in a sentence. Empty if this account may send it."""
        if not self._driver.delivery.is_of_another(entry):
            return ""
        return f"{entry.writer_name or 'Another account'} wrote this. It is sent when {entry.writer_name or 'that account'} signs in here again."

    @property
    def paused(self) -> str:
        """Why sending has stopped, as a sentence. Empty while writes are sent."""
        return self._driver.connection.paused

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each change. Returns the way out."""
        return self._pending.watch(watcher)

    def on_done(self, told: Callable[[Entry], None]) -> None:
        """Tell of each write that is done, in this instance or another."""
        self._pending.on_done(told)

    def start(self) -> None:
        """Begin to send what is there. Needs a running loop; does nothing the second time, or where nothing is sent."""
        if self._task is None and not self._read_only:
            self._task = asyncio.get_running_loop().create_task(self._driver.run(), name="outbox")
            self._task.add_done_callback(self._ended)

    async def step(self) -> float:
        """Do what is due now and return how many seconds there is nothing to do: the driver by hand, for tests."""
        return await self._driver.step()

    async def add(self, op: DurableWrite, *, doing: str, place: str = "") -> Entry:
        """Take over a write: it is on disk when this returns, and the draft of `place` is gone in the same moment.

        `doing` follows "Could not": "reply", "resolve the thread". Raises NotSaved.
        """
        (entry,) = await self.add_all((QueuedWrite(op, doing, place),))
        return entry

    async def add_all(self, writes: Sequence[QueuedWrite]) -> tuple[Entry, ...]:
        """Take over writes that belong together: all of them are on disk when this returns, and `undo` takes back all.
        Raises NotSaved, and then none is."""
        entries = await self._add(writes, self.undo_seconds)
        self._remember(entries)
        return entries

    async def gather(self, write: QueuedWrite) -> Entry:
        """Take over a comment that is sent with a review: it is on disk when this returns. Raises NotSaved."""

        async def insert(entries: Sequence[Entry], also: Also) -> tuple[Entry, ...]:
            gathered = tuple(replace(each, state="gathered", due_at=None) for each in entries)
            await self._pending.insert(gathered, also)
            return gathered

        entries = await self._add((write,), 0.0, insert=insert)
        self._remember(entries)
        return entries[0]

    def gathered(self, at: Discussion) -> tuple[Entry, ...]:
        """What is gathered for a review of `at`, in the order written."""
        return tuple(entry for entry in self.entries if self._is_gathered(entry, at))

    def _is_gathered(self, entry: Entry, at: Discussion) -> bool:
        return entry.state == "gathered" and entry.at == at and not self._driver.delivery.is_of_another(entry)

    async def reword(self, entry_id: str, op: DurableWrite, place: str) -> bool:
        """Let what is gathered be `op`; the draft of `place` is gone in the same moment. False: it is gathered no more,
        and the draft stays. Raises NotSaved."""
        removal, turn = self._drafts.removal(place), self._drafts.turn(place)
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        change = partial(reworded, op=op, facts=kind_of(op).facts(op))
        after = await self._pending.step(entry_id, change, lambda db, _: removal(db))
        if after is not None:
            self._drafts.forget(place, turn)
        return after is not None

    async def let_go(self, at: Discussion, verdict: QueuedWrite | None = None) -> tuple[Entry, ...]:
        """Send what is gathered for `at`, and the verdict after it, when the time to undo is over. Nothing where a
        verdict is on its way already. Raises NotSaved."""
        review, now = secrets.token_hex(8), self._now()
        until = now + timedelta(seconds=self.undo_seconds) if self.undo_seconds > 0 else None
        change = partial(let_go, review=review, now=now, held_until=until)

        async def insert(then: Sequence[Entry], also: Also) -> tuple[Entry, ...]:
            with_it = [replace(each, review=review) for each in then]
            return await self._pending.let_go(lambda each: self._is_gathered(each, at), change, with_it, also)

        entries = await self._add(() if verdict is None else (verdict,), self.undo_seconds, insert=insert)
        # To take back that they were written is to take back that they were sent.
        sent = {entry.id for entry in entries}
        self._history = [group for group in self._history if not sent.issuperset(group)]
        self._remember(entries)
        return entries

    async def undo(self) -> UndoResult | None:
        """Take back the newest write of this instance, with those it belongs to. None when there is none. Raises NotSaved."""
        others = {entry.id for entry in self.waits_for_other}
        self._history = [group for group in self._history if not others.intersection(group)]
        while self._history:
            undone, late = await take_back(
                self._history[-1], self._pending, self._put_back, lambda opposites: self._add(opposites, 0.0)
            )
            self._history[-1:] = [late] if late else []
            if undone is not None:
                return undone
        return None

    async def retry(self, entry_id: str) -> None:
        """Send what waits to be asked for. What may have arrived is looked for first. Raises NotSaved."""
        self._may_send()
        now = self._now()

        def take(db: sqlite3.Connection, entry: Entry) -> None:
            take_again(db, self.state.namespace, entry.place, entry.id)

        await self._pending.step(entry_id, partial(retried, now=now), take)
        self._driver.resume()
        self._started()

    async def discard(self, entry_id: str) -> None:
        """Do not send it. What was typed is a draft again. Does nothing while it is on its way. Raises NotSaved."""
        await self._pending.remove((entry_id,), self._put_back, "gathered", "held", "queued", "unknown", "failed")

    async def discard_words(self, places: Sequence[str], held: Sequence[str]) -> Discarded:
        """Throw away the drafts of `places` and what is held of these ids, at once. Raises NotSaved."""
        return await discard_words(self._pending, self._drafts, places, held)

    async def bring_back(self, discarded: Discarded) -> None:
        """Undo `discard_words`: all is as it was. Raises NotSaved."""
        await bring_back(self._pending, self._drafts, discarded)

    def resume(self) -> None:
        """Go on sending after the key was changed."""
        self._driver.resume()

    def online(self) -> None:
        """The server answers again."""
        self._driver.online()

    async def deliver(self, within: float = 2.0) -> None:
        """Send now what is held for undo: the person leaves. What cannot be sent in `within` seconds waits."""
        await self._release()
        changed = asyncio.Event()
        leave = self.watch(changed.set)
        try:
            async with asyncio.timeout(within):
                while self.is_going_out:
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            leave()

    async def _release(self) -> None:
        """Hold nothing for undo any more of what was begun here."""
        if self._read_only:
            return
        ours = {each for group in self._history for each in group}
        held = [
            entry.id
            for entry in self.entries
            if entry.id in ours and entry.held_until is not None and not self._driver.delivery.is_of_another(entry)
        ]
        if held:
            with suppress(NotSaved):
                await self._pending.release(held, partial(released, now=self._now()))

    def _is_moving(self, entry: Entry) -> bool:
        if self._read_only or self._driver.delivery.is_of_another(entry):
            return False
        due = entry.due_at is None or entry.due_at <= self._now()
        if entry.state != "queued":
            return entry.state == "sending"
        return due and not self._driver.connection.is_quiet and waits_for(entry, self.entries) is None

    async def close(self, within: float = 2.0) -> None:
        """What is held is queued, and nothing more is sent. A request under way gets `within` seconds to finish."""
        await self._release()
        self._driver.stop()
        task, self._task = self._task, None
        try:
            if task is not None:
                await asyncio.wait({task}, timeout=within)
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        finally:
            with suppress(NotSaved):
                await self._driver.leave()

    def _remember(self, entries: Sequence[Entry]) -> None:
        if entries:
            self._history = [*self._history[1 - REMEMBERED :], tuple(entry.id for entry in entries)]

    async def _add(self, writes: Sequence[QueuedWrite], hold: float, insert: Insert | None = None) -> tuple[Entry, ...]:
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        self._may_send()
        now, entries = self._now(), []
        group = secrets.token_hex(8)
        failed: dict[str, list[str]] = {}
        """For each entry the failed ones whose words it brings again."""
        came_from: dict[str, tuple[str, ...]] = {}
        """For each entry the places of the drafts that go with it."""
        for write in writes:
            entry = Entry(
                id=secrets.token_hex(8),
                op=write.op,
                facts=kind_of(write.op).facts(write.op),
                doing=write.doing,
                place=write.place,
                about=write.about,
                group=group,
                writer=self.me.id if self.me is not None else "",
                writer_name=self.me.name if self.me is not None else "",
                created_at=now,
                asked_at=now,
                state="held" if hold > 0 else "queued",
                held_until=now + timedelta(seconds=hold) if hold > 0 else None,
                due_at=None if hold > 0 else now,
                basis=write.basis or self.known(write.op),
            )
            entries.append(entry)
            self._driver.delivery.written_here.add(entry.id)
            came_from[entry.id] = (write.place,) if write.drafts is None else write.drafts
            failed[entry.id] = [
                each.id
                for each in self.entries
                if each.state == "failed"
                and entry.place
                and each.place == entry.place
                and (entry.words or entry.is_verdict)
            ]
        places = dict.fromkeys(place for each in came_from.values() for place in each if place)
        drafts = {place: (self._drafts.removal(place), self._drafts.turn(place)) for place in places}

        def also(db: sqlite3.Connection, entry: Entry) -> None:
            for place in filter(None, came_from[entry.id]):
                drafts[place][0](db)
            for each in failed[entry.id]:
                take_again(db, self.state.namespace, entry.place, each)
                db.execute("DELETE FROM outbox WHERE id = ? AND state = 'failed'", (each,))

        if insert is None:
            await self._pending.insert(entries, also)
        else:
            entries = list(await insert(entries, also))
            if writes and not entries:
                return ()
        for place, (_, turn) in drafts.items():
            self._drafts.forget(place, turn)
        self._started()
        return tuple(entries)

    def _may_send(self) -> None:
        """Raises NotSaved where nothing is sent: what was taken over would go out at the next start."""
        if self._read_only:
            raise NotSaved(self._read_only)

    def _put_back(self, db: sqlite3.Connection, entry: Entry) -> None:
        if entry.place and entry.state != "failed" and entry.words:
            put_back(db, self.state.namespace, entry.place, entry.words, entry.id, self._now())

    def _ended(self, task: asyncio.Task[None]) -> None:
        """Stop sending after a bug: it is shown, and `close` raises it."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._driver.connection.paused = (
                f"Sending has stopped because of a bug in Octavo ({type(error).__name__}). Restart Octavo."
            )
            self._pending.tell()

    def _started(self) -> None:
        self.start()
        self._driver.wake()


def _begun(entries: Sequence[Entry]) -> list[tuple[str, ...]]:
    """What was begun before this instance was and waits to be sent, oldest first."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        if entry.state in ("held", "queued", "sending", "unknown") and not entry.asks:
            groups.setdefault(entry.review or entry.group or entry.id, []).append(entry.id)
    return [tuple(group) for group in groups.values()]
