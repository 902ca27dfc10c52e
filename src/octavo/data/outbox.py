"""Writes that must not be lost: on disk before the screen says so, held a moment, sent, and read back when in doubt."""

from __future__ import annotations

import asyncio
import random
import secrets
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from octavo.api.operation import Operation
from octavo.data import ledger
from octavo.data.drafts import Drafts, put_back, take_again
from octavo.data.driver import Driver, text_of
from octavo.data.entry import Basis, Entry, released, retried, waits_for_another
from octavo.data.pending import Pending
from octavo.data.sending import Send
from octavo.data.state import NotSaved, State

if TYPE_CHECKING:
    from octavo.api.users import User

__all__ = ["Entry", "Outbox", "Undone"]

REMEMBERED = 100
"""How many writes can be taken back, one after the other."""


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
        self._history: list[str] = []

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
        entry = await self._add(op, doing, place, self.undo_seconds)
        self._history = [*self._history[1 - REMEMBERED :], entry.id]
        return entry

    async def undo(self) -> Undone | None:
        """Take back the newest write of this instance. None when there is none. Raises NotSaved."""
        while self._history:
            entry_id = self._history[-1]
            entry = self._pending.find(entry_id)
            if entry is None:
                done = self.state.read(partial(ledger.done, entry_id=entry_id))
                undone = await self._invert(done) if done is not None else None
                self._history.pop()
                if undone is not None:
                    return undone
            elif entry.state == "failed":
                self._history.pop()
                return Undone(f"There is nothing to take back. {entry.reason}", done=False)
            elif entry.state in ("sending", "unknown"):
                return Undone(f"Too late for now: “{entry.doing}” is on its way. Try again in a moment.", done=False)
            elif await self._pending.remove(entry_id, self._put_back, "held", "queued"):
                self._history.pop()
                text = text_of(entry.op)
                return Undone(f"Taken back: {entry.doing}.", done=True, place=entry.place, text=text)
        return None

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
        await self._pending.remove(entry_id, self._put_back, "held", "queued", "unknown", "failed")

    def resume(self) -> None:
        """Go on sending after the key was changed."""
        self._driver.resume()

    def online(self) -> None:
        """The server answers again."""
        self._driver.online()

    async def deliver(self, within: float = 2.0) -> None:
        """Send now what is held for undo: the person leaves. What cannot be sent in `within` seconds waits."""
        for entry in self.entries:
            if entry.id in self._history and entry.held_until is not None:
                with suppress(NotSaved):
                    await self._pending.step(entry.id, partial(released, now=self._now()))
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

    def _is_moving(self, entry: Entry) -> bool:
        due = entry.due_at is None or entry.due_at <= self._now()
        if entry.state != "queued":
            return entry.state == "sending"
        return due and not self.paused and not waits_for_another(entry, self.entries)

    async def close(self, within: float = 2.0) -> None:
        """What is held is queued, and nothing more is sent. A request under way gets `within` seconds to finish."""
        for entry in self.entries:
            if entry.id in self._history and entry.held_until is not None:
                with suppress(NotSaved):
                    await self._pending.step(entry.id, partial(released, now=self._now()))
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

    async def _add(self, op: Operation[Any], doing: str, place: str, hold: float) -> Entry:
        now = self._now()
        entry = Entry(
            id=secrets.token_hex(8),
            op=op,
            doing=doing,
            place=place,
            created_at=now,
            asked_at=now,
            state="held" if hold > 0 else "queued",
            held_until=now + timedelta(seconds=hold) if hold > 0 else None,
            due_at=None if hold > 0 else now,
            basis=self.known(op),
        )
        replaced = [
            each.id for each in self.entries if each.state == "failed" and place and each.place == place and text_of(op)
        ]
        clear, turn = (self._drafts.removal(place), self._drafts.turn(place)) if place else (None, 0)

        def also(db: sqlite3.Connection, entry: Entry) -> None:
            if clear:
                clear(db)
            for failed in replaced:
                take_again(db, self.state.namespace, place, failed)
                db.execute("DELETE FROM outbox WHERE id = ? AND state = 'failed'", (failed,))

        await self._pending.insert(entry, also)
        if place:
            self._drafts.forget(place, turn)
        self._started()
        return entry

    async def _invert(self, entry: Entry) -> Undone:
        from octavo.data.inverse import inverse  # brings the comments with it

        back = inverse(entry)
        if isinstance(back, str):
            return Undone(back, done=False)
        await self._add(back, f"undo “{entry.doing}”", "", 0.0)
        return Undone(f"Undone: {entry.doing}.", done=True)

    def _put_back(self, db: sqlite3.Connection, entry: Entry) -> None:
        if entry.place and entry.state != "failed" and (text := text_of(entry.op)):
            put_back(db, self.state.namespace, entry.place, text, entry.id, self._now())

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
