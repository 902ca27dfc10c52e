"""Decides when each entry of the outbox is sent or searched for. Several Octavo processes may use the same profile on a
computer. Only the process that has the lock `outbox` sends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial

from octavo.data.state_db import NotSaved
from octavo.data.writes import machine
from octavo.data.writes.delivery import CLOSED, Account, ConnectionState, OutboxDelivery
from octavo.data.writes.machine import MAX_WRITE_AGE, OutboxEntry, next_due, next_wake
from octavo.data.writes.store import OutboxEntries

POLL_SECONDS = 1.0
"""Maximum seconds until the worker notices entries of other processes."""
MAX_RUNNING = 3
"""Maximum number of spaces and change requests for which entries are sent at the same time."""


class OutboxWorker:
    """Sends due entries of the outbox, or finds out whether they were sent, up to `MAX_RUNNING` at a time."""

    def __init__(
        self, entries: OutboxEntries, account: Account, connection: ConnectionState, delivery: OutboxDelivery
    ) -> None:
        self._account, self._connection, self._delivery = account, connection, delivery
        self._entries = entries
        self.is_read_only = False
        """If True, the worker only notices what other processes change in state.db."""
        self._unlock: Callable[[], None] | None = None
        self._woken = asyncio.Event()
        self._is_stopping = False
        self._running_steps: dict[str, asyncio.Task[None]] = {}
        self._checked_at: datetime | None = None
        """Time of the last check which entries are due. None before the first check."""

    async def run(self) -> None:
        """Send entries until `stop` is called."""
        try:
            while not self._is_stopping:
                self._woken.clear()
                try:
                    self._remove_ended()
                    self._entries.reload_if_changed()
                    wait = await self._begin_steps()
                except NotSaved:
                    # Perhaps a result was not stored. `_take_over` corrects the entries, as after a crash.
                    await self._wait_for_running()
                    self.release_lock()
                    wait = POLL_SECONDS
                if wait > 0 and not self._is_stopping:
                    try:
                        async with asyncio.timeout(wait):
                            await self._woken.wait()
                    except TimeoutError:
                        continue
        except asyncio.CancelledError:
            for task in self._running_steps.values():
                task.cancel()
            raise
        finally:
            await self._wait_for_running()

    async def _begin_steps(self) -> float:
        """Start the work on entries that are due. Return the seconds to wait before the next call."""
        while len(self._running_steps) < MAX_RUNNING:
            entry, wait = await self._next_due_entry()
            if entry is None:
                return wait
            if entry.state == "held":
                await self._take_step(entry)
                continue
            task = asyncio.create_task(self._take_step(entry), name=f"outbox: {entry.action}")
            task.add_done_callback(lambda _: self.wake())
            self._running_steps[entry.ordering_key] = task
        return POLL_SECONDS

    def _remove_ended(self) -> None:
        for key, task in list(self._running_steps.items()):
            if task.done():
                del self._running_steps[key]
                task.result()

    async def _wait_for_running(self) -> None:
        """Wait until all running steps have ended. On cancellation, cancel them. Raises errors, but not NotSaved."""
        tasks = tuple(self._running_steps.values())
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            self._running_steps.clear()
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, NotSaved):
                raise result

    async def _next_due_entry(self) -> tuple[OutboxEntry | None, float]:
        """Return a due entry and 0. If none is due, or another process sends them, return None and seconds to wait."""
        self._entries.reload_if_changed()
        if self._unlock is None and not await self._take_over():
            return None, POLL_SECONDS
        now = self._entries.now()
        await self._remove_old_failures(now)
        await self._follow_clock(now)
        sendable = tuple(filter(self._account.may_send, self._entries.all))
        entry = next_due(sendable, now, is_paused=self._connection.is_paused, busy_keys=self._running_steps)
        if entry is not None:
            return entry, 0.0
        times = (next_wake(sendable, now), self._connection.paused_until)
        return None, min([POLL_SECONDS, *((time - now).total_seconds() for time in times if time and time > now)])

    async def _follow_clock(self, now: datetime) -> None:
        """Limit the times of waiting entries if the clock was set back, perhaps before this process sent entries."""
        if self._checked_at is None or now < self._checked_at:
            limit_times = partial(machine.limit_times, now=now, may_arrive_for=self._delivery.may_arrive_for)
            if ids := [entry.id for entry in self._entries.all if entry.due_at is not None]:
                await self._entries.apply_to_all(ids, limit_times)
        self._checked_at = now

    async def _take_step(self, entry: OutboxEntry) -> None:
        match entry.state:
            case "held":
                await self._entries.apply(entry.id, partial(machine.release, now=self._entries.now()))
            case "queued":
                await self._delivery.deliver(entry)
            case "unknown":
                await self._delivery.search_for_lost_write(entry)

    @property
    def has_lock(self) -> bool:
        """True if this process sends the entries of all processes."""
        return self._unlock is not None

    def wake(self) -> None:
        """Make `run` check now which entries are due."""
        self._woken.set()

    def stop(self) -> None:
        """Make `run` return as soon as the running work has ended."""
        self._is_stopping = True
        self.wake()

    def release_lock(self) -> None:
        """Release the lock, so that another process can send. Call this only if no work is running."""
        if self._unlock is not None:
            self._unlock()
            self._unlock = None

    async def _take_over(self) -> bool:
        """Lock the outbox. Return False in read-only mode, or if another process has the lock. With the lock, treat
        responses to an earlier process as lost, and restart undo delays that ended while no process could send."""
        state = self._entries.state
        self._unlock = state.try_lock("outbox") if not (self.is_read_only or state.read_only) else None
        if self._unlock is None:
            return False
        self._entries.reload()
        now = self._entries.now()
        for entry in self._entries.all:
            is_own = entry.id in self._account.entries_of_process
            if entry.state == "sending":
                await self._delivery.record_lost_response(entry, CLOSED, timedelta())
            elif entry.state == "held" and not is_own and entry.held_until is not None and entry.held_until < now:
                # The delay ended while no process could send. A new delay gives time to undo.
                await self._entries.apply(entry.id, partial(machine.restart_undo_delay, now=now))
        return True

    async def _remove_old_failures(self, now: datetime) -> None:
        old_ids = [
            entry.id
            for entry in self._entries.all
            if entry.state == "failed" and not entry.needs_user and now - entry.requested_at > MAX_WRITE_AGE
        ]
        if old_ids:
            await self._entries.remove(old_ids, lambda db, entry: None, lambda entry: entry.state == "failed")
