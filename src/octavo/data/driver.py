"""Sends what the outbox holds: one driver on a machine for each profile, however many instances are open."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from octavo.data.connection import Connection
from octavo.data.delivering import Delivery
from octavo.data.pending import Pending
from octavo.data.sending import Send
from octavo.data.state import NotSaved
from octavo.data.writes import machine as steps
from octavo.data.writes.machine import LIFETIME, Entry, next_up, next_wake

if TYPE_CHECKING:
    from octavo.api.users import User

POLL = 1.0
"""Seconds after which it looks for what other instances wrote."""
AT_ONCE = 3
"""In how many places something is done at the same time: one that does not answer keeps no other waiting."""
CLOSED = "Octavo was closed before the response arrived. Octavo checks whether the change arrived before retrying."

_RUNNING = "outbox.running"


class Driver:
    """Takes one step after another in each place. `step` does one to its end; `run` does them as time goes by."""

    def __init__(
        self,
        send: Send,
        pending: Pending,
        *,
        me: User | None = None,
        timeout: float = 30.0,
        settle: float = 30.0,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """`timeout` is how long a request may take, `settle` how much later the server may still act on it, in
        seconds. `me` is the caller; without one it is asked for.
        """
        self.connection = Connection(pending.now, jitter)
        self.delivery = Delivery(
            send,
            pending,
            self.connection,
            me=me,
            timeout=timedelta(seconds=timeout),
            settle=timedelta(seconds=settle),
        )
        self._pending = pending
        self._give_up_role: Callable[[], None] | None = None
        self._woken = asyncio.Event()
        self._stopping = False
        self._doing: dict[str, asyncio.Task[None]] = {}
        """What is done just now, by its place."""

    async def run(self) -> None:
        """Until `stop`."""
        try:
            while not self._stopping:
                self._woken.clear()
                try:
                    self._reap()
                    wait = await self._begin()
                except NotSaved:
                    # The state says why. What could not be written down is unknown, as it is after a crash.
                    await self._ended()
                    self._let_go()
                    wait = POLL
                if wait > 0 and not self._stopping:
                    try:
                        async with asyncio.timeout(wait):
                            await self._woken.wait()
                    except TimeoutError:
                        continue
        except asyncio.CancelledError:
            for task in self._doing.values():
                task.cancel()
            raise
        finally:
            await self._ended()

    async def step(self) -> float:
        """Do what is due. Returns how many seconds to wait before the next step. Raises NotSaved."""
        entry, wait = await self._next()
        if entry is not None:
            await self._do(entry)
        return wait

    async def _begin(self) -> float:
        """Begin what is due in places where nothing is done. Returns how many seconds there is nothing to begin."""
        while len(self._doing) < AT_ONCE:
            entry, wait = await self._next()
            if entry is None:
                return wait
            if entry.state == "held":
                await self._do(entry)
                continue
            task = asyncio.create_task(self._do(entry), name=f"outbox: {entry.doing}")
            task.add_done_callback(lambda _: self.wake())
            self._doing[entry.place_of_order] = task
        return POLL

    def _reap(self) -> None:
        """Forget what was done. Raises what went wrong with it."""
        for place, task in list(self._doing.items()):
            if task.done():
                del self._doing[place]
                task.result()

    async def _ended(self) -> None:
        """Wait for what is being done, and give it up where nobody waits any more."""
        tasks = tuple(self._doing.values())
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            faults = [
                each for each in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(each, Exception)
            ]
            self._doing.clear()
        if fault := next((each for each in faults if not isinstance(each, NotSaved)), None):
            raise fault

    async def _next(self) -> tuple[Entry | None, float]:
        """What is to be done now, or how many seconds there is nothing. Raises NotSaved."""
        if self._give_up_role is None and not await self._take_over():
            self._pending.refresh()
            return None, POLL
        self._pending.refresh()
        now = self._pending.now()
        await self._forget_told(now)
        ours = tuple(each for each in self._pending.entries if not self.delivery.is_of_another(each))
        entry = next_up(ours, now, quiet=self.connection.is_quiet, busy=self._doing)
        if entry is not None:
            return entry, 0.0
        times = [next_wake(ours, now), self.connection.quiet_until]
        return None, min(POLL, *((each - now).total_seconds() for each in times if each and each > now), POLL)

    async def _do(self, entry: Entry) -> None:
        match entry.state:
            case "held":
                await self._pending.step(entry.id, partial(steps.released, now=self._pending.now()))
            case "queued":
                await self.delivery.deliver(entry)
            case "unknown":
                await self.delivery.look(entry)

    def wake(self) -> None:
        """There may be something to do."""
        self._woken.set()

    def online(self) -> None:
        """The server was reached: what waits for that need not wait any longer."""
        if self.connection.online():
            self.wake()

    def resume(self) -> None:
        """The key was changed, or somebody asks to try again."""
        self.connection.try_again()
        self.wake()

    def stop(self) -> None:
        """Take no further step."""
        self._stopping = True
        self.wake()

    async def leave(self) -> None:
        """Let another instance be the driver. Nothing may be under way."""
        if self._give_up_role is not None:
            try:
                await self._pending.state.write(lambda db: self._mark(db, running=False))
            finally:
                self._let_go()

    def _let_go(self) -> None:
        if self._give_up_role is not None:
            self._give_up_role()
            self._give_up_role = None

    async def _take_over(self) -> bool:
        """Become the driver, if nobody else is, and see to what the last one left."""
        state = self._pending.state
        self._give_up_role = None if state.read_only else state.take("outbox")
        if self._give_up_role is None:
            return False
        self._pending.reload()
        now = self._pending.now()
        query = "SELECT 1 FROM facts WHERE namespace = ? AND name = ?"
        crashed = bool(state.rows(query, state.namespace, _RUNNING))
        for entry in self._pending.entries:
            if entry.state == "sending":
                await self.delivery.lose(entry, CLOSED, timedelta())
            elif crashed and entry.state == "held" and entry.held_until is not None and entry.held_until < now:
                # What is queued never left: it goes out, however late, and whether it still fits is looked at first.
                await self._pending.step(entry.id, partial(steps.held_anew, now=now))
        await state.write(lambda db: self._mark(db, running=True))
        return True

    def _mark(self, db: sqlite3.Connection, *, running: bool) -> None:
        of_driver = (self._pending.state.namespace, _RUNNING)
        if running:
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, 'true')", of_driver)
        else:
            db.execute("DELETE FROM facts WHERE namespace = ? AND name = ?", of_driver)

    async def _forget_told(self, now: datetime) -> None:
        """What was refused for good, and leaves nothing to decide, was told long enough."""
        told = (each for each in self._pending.entries if each.state == "failed" and not each.asks)
        old = [each.id for each in told if now - each.asked_at > LIFETIME]
        if old:
            await self._pending.remove(old, lambda db, entry: None, "failed")
