"""Writes that must not be lost: on disk before the screen says so, held a moment, sent, and read back when in doubt."""

from __future__ import annotations

import asyncio
import random
import secrets
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api.operation import Operation, Ref
from octavo.data import ledger
from octavo.data.drafts import Drafts, put_back, take_again
from octavo.data.driver import Driver, is_verdict
from octavo.data.entry import (
    Basis,
    Entry,
    gathered_again,
    let_go,
    released,
    retried,
    reworded,
    waits_for_another,
)
from octavo.data.pending import Also, Pending
from octavo.data.sending import Send
from octavo.data.state import NotSaved, State

if TYPE_CHECKING:
    from octavo.api.users import User

Insert = Callable[[Sequence[Entry], Also], Awaitable[tuple[Entry, ...]]]
"""Puts new entries on disk, and answers what is there then."""

__all__ = ["Entry", "Outbox", "Queued", "Undone"]

REMEMBERED = 100
"""How many writes can be taken back, one after the other."""


@dataclass(frozen=True)
class Queued:
    """A comment write for the outbox: `doing` follows "Couldn't", `place` is that of its draft."""

    op: Operation[Any]
    doing: str
    place: str = ""
    basis: Basis | None = None
    """What it is held against before it travels. None: what the screens show."""


@dataclass(frozen=True)
class Undone:
    """What `undo` did, or why it did nothing."""

    sentence: str
    done: bool
    """Whether the write is taken back, or its inverse is on its way."""
    place: str = ""
    text: str = ""
    """What was typed: it is the draft of `place` again."""


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
        now: Callable[[], datetime] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`timeout` is how long a request may take, `settle` how much later the server may still act on it: a lost
        answer is looked for after both. All in seconds.
        """
        self.undo_seconds = undo_seconds
        self.known: Callable[[Operation[Any]], Basis] = lambda op: Basis()
        """What the screen shows of what a write changes. Live sets it."""
        self.state = state
        self._drafts = drafts
        self._now = now or state.now
        self._pending = Pending(state, self._now)
        self._driver = Driver(send, self._pending, me=me, timeout=timeout, settle=settle, jitter=jitter)
        self._task: asyncio.Task[None] | None = None
        self._history: list[tuple[str, ...]] = []
        """What was begun here, the ids of what belongs together in one."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All that is not done, oldest first."""
        return self._pending.entries

    @property
    def me(self) -> User | None:
        """Whose writes they are, once it is known."""
        return self._driver.me

    @me.setter
    def me(self, me: User | None) -> None:
        self._driver.me = me

    @property
    def paused(self) -> str:
        """Why nothing is sent at all, as a sentence. Empty when all is well."""
        return self._driver.paused

    def watch(self, watcher: Callable[[], None]) -> Callable[[], None]:
        """Call `watcher` after each change. Returns the way out."""
        return self._pending.watch(watcher)

    def on_done(self, told: Callable[[Entry], None]) -> None:
        """Tell of each write that is done, in this instance or another."""
        self._pending.on_done(told)

    def start(self) -> None:
        """Begin to send what is there. Needs a running loop; does nothing the second time."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._driver.run(), name="outbox")
            self._task.add_done_callback(self._ended)

    async def step(self) -> float:
        """Do what is due now and return how many seconds there is nothing to do: the driver by hand, for tests."""
        return await self._driver.step()

    async def add(self, op: Operation[Any], *, doing: str, place: str = "") -> Entry:
        """Take over a write: it is on disk when this returns, and the draft of `place` is gone in the same moment.

        `doing` follows "Couldn't": "reply", "resolve the thread". Raises NotSaved.
        """
        (entry,) = await self.add_all((Queued(op, doing, place),))
        return entry

    async def add_all(self, writes: Sequence[Queued]) -> tuple[Entry, ...]:
        """Take over writes that belong together: all of them are on disk when this returns, and `undo` takes back all.
        Raises NotSaved, and then none is."""
        entries = await self._add(writes, self.undo_seconds)
        self._remember(entries)
        return entries

    async def gather(self, write: Queued) -> Entry:
        """Take over a comment that is sent with a review: it is on disk when this returns. Raises NotSaved."""

        async def insert(entries: Sequence[Entry], also: Also) -> tuple[Entry, ...]:
            gathered = tuple(replace(each, state="gathered", due_at=None) for each in entries)
            await self._pending.insert(gathered, also)
            return gathered

        entries = await self._add((write,), 0.0, insert=insert)
        self._remember(entries)
        return entries[0]

    def gathered(self, at: Ref) -> tuple[Entry, ...]:
        """What is gathered for a review of `at`, in the order written."""
        return tuple(entry for entry in self.entries if entry.state == "gathered" and entry.at == at)

    async def reword(self, entry_id: str, op: Operation[Any], place: str) -> bool:
        """Let what is gathered be `op`; the draft of `place` is gone in the same moment. False: it is gathered no more,
        and the draft stays. Raises NotSaved."""
        removal, turn = self._drafts.removal(place), self._drafts.turn(place)
        after = await self._pending.step(entry_id, partial(reworded, op=op), lambda db, _: removal(db))
        if after is not None:
            self._drafts.forget(place, turn)
        return after is not None

    async def let_go(self, at: Ref, verdict: Queued | None = None) -> tuple[Entry, ...]:
        """Send what is gathered for `at`, and the verdict after it, when the time to undo is over. Nothing where a
        verdict is on its way already. Raises NotSaved."""
        review, now = secrets.token_hex(8), self._now()
        until = now + timedelta(seconds=self.undo_seconds) if self.undo_seconds > 0 else None
        change = partial(let_go, review=review, now=now, held_until=until)

        async def insert(then: Sequence[Entry], also: Also) -> tuple[Entry, ...]:
            with_it = [replace(each, review=review) for each in then]
            return await self._pending.let_go(
                lambda each: each.state == "gathered" and each.at == at, change, with_it, also
            )

        entries = await self._add(() if verdict is None else (verdict,), self.undo_seconds, insert=insert)
        # To take back that they were written is to take back that they were sent.
        sent = {entry.id for entry in entries}
        self._history = [group for group in self._history if not sent.issuperset(group)]
        self._remember(entries)
        return entries

    async def undo(self) -> Undone | None:
        """Take back the newest write of this instance, with those it belongs to. None when there is none. Raises NotSaved."""
        while self._history:
            if (undone := await self._undo(self._history[-1])) is not None:
                return undone
        return None

    async def _undo(self, group: tuple[str, ...]) -> Undone | None:
        """Take back what was begun together. What is on its way stays for the next time. None: nothing is left of it."""
        newest_first = tuple(reversed(group))
        here = [entry for each in newest_first if (entry := self._pending.find(each)) is not None]
        read = self.state.read
        done = [entry for each in newest_first if (entry := read(partial(ledger.done, entry_id=each))) is not None]
        let_go = [
            each.id for each in here if each.review and each.state in ("held", "queued") and not is_verdict(each.op)
        ]
        waiting = [each for each in here if each.state in ("gathered", "held", "queued") and each.id not in let_go]
        removed: tuple[Entry, ...] = ()
        if waiting:
            states = ("gathered", "held", "queued")
            removed = await self._pending.remove([each.id for each in waiting], self._put_back, *states)
        again: tuple[Entry, ...] = ()
        if let_go:
            await self._pending.release(let_go, gathered_again)
            again = tuple(each for each in self.entries if each.id in let_go and each.state == "gathered")
        kept = {each.id for each in (*removed, *again)}
        failed = [entry for entry in here if entry.state == "failed"]
        late = [entry for entry in here if entry.id not in kept and entry.state != "failed"]
        said = [f"Taken back: {entry.doing}." for entry in removed]
        said += [f"Held again: {entry.doing}." for entry in again]
        inverted, sentences = await self._invert(done)
        said += sentences
        said += [f"There is nothing to take back. {entry.reason}" for entry in failed]
        if late:
            said.append(f"Too late for now: “{late[0].doing}” is on its way. Try again in a moment.")
            self._history[-1] = tuple(entry.id for entry in reversed(late))
        else:
            self._history.pop()
        if not said:
            return None
        typed = next((entry for entry in removed if entry.words), removed[0] if removed else None)
        place, text = (typed.place, typed.words) if typed is not None else ("", "")
        return Undone(_told(said), done=bool(kept) or inverted, place=place, text=text)

    async def retry(self, entry_id: str) -> None:
        """Send what waits to be asked for. What may have arrived is looked for first. Raises NotSaved."""
        now = self._now()

        def take(db: sqlite3.Connection, entry: Entry) -> None:
            take_again(db, self.state.namespace, entry.place, entry.id)

        await self._pending.step(entry_id, partial(retried, now=now), take)
        self._driver.resume()
        self._started()

    async def discard(self, entry_id: str) -> None:
        """Do not send it. What was typed is a draft again. Does nothing while it is on its way. Raises NotSaved."""
        await self._pending.remove((entry_id,), self._put_back, "gathered", "held", "queued", "unknown", "failed")

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
                while any(self._is_moving(entry) for entry in self.entries):
                    changed.clear()
                    await changed.wait()
        except TimeoutError:
            pass
        finally:
            leave()

    async def _release(self) -> None:
        """Hold nothing for undo any more of what was begun here."""
        ours = {each for group in self._history for each in group}
        held = [entry.id for entry in self.entries if entry.id in ours and entry.held_until is not None]
        if held:
            with suppress(NotSaved):
                await self._pending.release(held, partial(released, now=self._now()))

    def _is_moving(self, entry: Entry) -> bool:
        due = entry.due_at is None or entry.due_at <= self._now()
        if entry.state != "queued":
            return entry.state == "sending"
        return due and not self.paused and not waits_for_another(entry, self.entries)

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

    async def _add(self, writes: Sequence[Queued], hold: float, insert: Insert | None = None) -> tuple[Entry, ...]:
        now, entries = self._now(), []
        failed: dict[str, list[str]] = {}
        """For each entry the failed ones whose words it brings again."""
        for write in writes:
            entry = Entry(
                id=secrets.token_hex(8),
                op=write.op,
                doing=write.doing,
                place=write.place,
                created_at=now,
                asked_at=now,
                state="held" if hold > 0 else "queued",
                held_until=now + timedelta(seconds=hold) if hold > 0 else None,
                due_at=None if hold > 0 else now,
                basis=write.basis or self.known(write.op),
            )
            entries.append(entry)
            failed[entry.id] = [
                each.id
                for each in self.entries
                if each.state == "failed"
                and entry.place
                and each.place == entry.place
                and (entry.words or is_verdict(entry.op))
            ]
        places = dict.fromkeys(write.place for write in writes if write.place)
        drafts = {place: (self._drafts.removal(place), self._drafts.turn(place)) for place in places}

        def also(db: sqlite3.Connection, entry: Entry) -> None:
            if entry.place:
                drafts[entry.place][0](db)
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

    async def _invert(self, entries: Sequence[Entry]) -> tuple[bool, list[str]]:
        """Write the opposite of what is done. Whether there is any, and what is to be said of each."""
        if not entries:
            return False, []
        from octavo.data.inverse import inverse  # brings the comments with it

        opposites = [(entry, inverse(entry)) for entry in entries]
        writes = [Queued(back, f"undo “{entry.doing}”") for entry, back in opposites if not isinstance(back, str)]
        if writes:
            await self._add(writes, 0.0)
        said = [back if isinstance(back, str) else f"Undone: {entry.doing}." for entry, back in opposites]
        return bool(writes), said

    def _put_back(self, db: sqlite3.Connection, entry: Entry) -> None:
        if entry.place and entry.state != "failed" and entry.words:
            put_back(db, self.state.namespace, entry.place, entry.words, entry.id, self._now())

    def _ended(self, task: asyncio.Task[None]) -> None:
        """A fault of ours stops the sending: it is shown, and raised by `close`."""
        if not task.cancelled() and (error := task.exception()) is not None:
            self._driver.paused = (
                f"Nothing is sent any more: Octavo has a fault ({type(error).__name__}). Start it again."
            )
            self._pending.tell()

    def _started(self) -> None:
        self.start()
        self._driver.wake()


def _told(sentences: Sequence[str]) -> str:
    """What was done, each sentence once: `Taken back: resolve the thread, 5 times.`"""
    times = Counter(sentences)
    return " ".join(each if times[each] == 1 else f"{each.removesuffix('.')}, {times[each]} times." for each in times)
