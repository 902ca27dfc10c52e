"""The worker of the outbox takes each step when it is due. Undo cancels the last writes, or sends the opposite write.

Of all instances with the same profile on this computer, only the instance with the lock `outbox` sends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal, NamedTuple

from octavo.data.state_db import NotSaved
from octavo.data.writes import machine
from octavo.data.writes.delivery import CLOSED, Account, ConnectionState, OutboxDelivery
from octavo.data.writes.machine import LIFETIME, NewWrite, OutboxEntry, next_due, next_wake, return_to_review
from octavo.data.writes.store import ExtraWork, OutboxEntries, find_done_entry, kind_of

POLL_SECONDS = 1.0
"""Maximum pause in seconds. After it, the worker reads the entries that other instances have added."""
MAX_PLACES = 3
"""Maximum number of places to which entries are sent at the same time. With more than one, a slow place does not
delay the others."""


class OutboxWorker:
    """Takes the steps of the entries. In each place, only one step runs at a time."""

    def __init__(
        self, entries: OutboxEntries, account: Account, connection: ConnectionState, delivery: OutboxDelivery
    ) -> None:
        self._account, self._connection, self._delivery = account, connection, delivery
        self._entries = entries
        self._unlock: Callable[[], None] | None = None
        self._woken = asyncio.Event()
        self._is_stopping = False
        self._running: dict[str, asyncio.Task[None]] = {}
        """Running steps, by the ordering key of their place."""

    async def run(self) -> None:
        """Take the steps that are due, until `stop`."""
        try:
            while not self._is_stopping:
                self._woken.clear()
                try:
                    self._remove_ended()
                    wait = await self._begin_steps()
                except NotSaved:
                    # A running step may have failed to store its result. So release the lock, and take over the entries
                    # again as after a crash. `StateDb.save_error` has the reason.
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
            for task in self._running.values():
                task.cancel()
            raise
        finally:
            await self._wait_for_running()

    async def _begin_steps(self) -> float:
        """Begin the steps that are due in idle places. Return the seconds until more steps can begin."""
        while len(self._running) < MAX_PLACES:
            entry, wait = await self._next_due_entry()
            if entry is None:
                return wait
            if entry.state == "held":
                await self._take_step(entry)
                continue
            task = asyncio.create_task(self._take_step(entry), name=f"outbox: {entry.action}")
            task.add_done_callback(lambda _: self.wake())
            self._running[entry.ordering_key] = task
        return POLL_SECONDS

    def _remove_ended(self) -> None:
        """Raises the errors of the steps that have ended."""
        for place, task in list(self._running.items()):
            if task.done():
                del self._running[place]
                task.result()

    async def _wait_for_running(self) -> None:
        """Wait for the running steps. If this task is cancelled, cancel them too. Raises their errors except
        NotSaved."""
        tasks = tuple(self._running.values())
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            self._running.clear()
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, NotSaved):
                raise result

    async def _next_due_entry(self) -> tuple[OutboxEntry | None, float]:
        """Return the entry whose step is due and 0, or None and the seconds until a step is due. Raises NotSaved."""
        if self._unlock is None and not await self._take_over():
            self._entries.reload_if_changed()
            return None, POLL_SECONDS
        self._entries.reload_if_changed()
        now = self._entries.now()
        await self._remove_old_failures(now)
        sendable = tuple(filter(self._account.may_send, self._entries.all))
        entry = next_due(sendable, now, is_paused=self._connection.is_paused, busy_places=self._running)
        if entry is not None:
            return entry, 0.0
        times = (next_wake(sendable, now), self._connection.paused_until)
        return None, min([POLL_SECONDS, *((time - now).total_seconds() for time in times if time and time > now)])

    async def _take_step(self, entry: OutboxEntry) -> None:
        match entry.state:
            case "held":
                await self._entries.step(entry.id, partial(machine.release, now=self._entries.now()))
            case "queued":
                await self._delivery.deliver(entry)
            case "unknown":
                await self._delivery.find_lost_write(entry)

    def wake(self) -> None:
        """Make `run` check for due steps now."""
        self._woken.set()

    def server_responded(self) -> None:
        """Record that the server has responded to a request that is not from the outbox. Entries that waited for a
        response are sent now."""
        if self._connection.server_responded():
            self.wake()

    def resume(self) -> None:
        """End the pause and send, because the user has signed in or retries an entry."""
        self._connection.end_pause()
        self.wake()

    def stop(self) -> None:
        """Take no further step."""
        self._is_stopping = True
        self.wake()

    def release_lock(self) -> None:
        """Release the lock, so that another instance can send. No step may be running."""
        if self._unlock is not None:
            self._unlock()
            self._unlock = None

    async def _take_over(self) -> bool:
        """Get the lock, and correct the entries that an earlier instance left behind. Return False if another instance
        has the lock. Raises NotSaved."""
        state = self._entries.state
        self._unlock = None if state.read_only else state.try_lock("outbox")
        if self._unlock is None:
            return False
        self._entries.reload()
        now = self._entries.now()
        for entry in self._entries.all:
            is_own = entry.id in self._account.entries_of_instance
            if entry.state == "sending":
                await self._delivery.record_lost_response(entry, CLOSED, timedelta())
            elif entry.state == "held" and not is_own and entry.held_until is not None and entry.held_until < now:
                # The undo delay ended while no worker was running. So restart it, to give the user time to undo.
                await self._entries.step(entry.id, partial(machine.restart_undo_delay, now=now))
        return True

    async def _remove_old_failures(self, now: datetime) -> None:
        """Remove entries that were refused more than a day ago and do not wait for the user."""
        old = [
            entry.id
            for entry in self._entries.all
            if entry.state == "failed" and not entry.needs_user and now - entry.requested_at > LIFETIME
        ]
        if old:
            await self._entries.remove(old, lambda db, entry: None, "failed")


class WriteGroup(NamedTuple):
    """Writes that are undone together."""

    ids: tuple[str, ...]
    review: str = ""
    """Id of the review that the writes belong to. Empty if they belong to no review."""


class UndoResult(NamedTuple):
    """Result of an undo."""

    message: str
    done: bool
    """True if a write is canceled, or its undo is being sent."""
    draft_key: str = ""
    text: str = ""
    """Text that became the draft `draft_key` again. Empty if no text did."""
    undone: tuple[OutboxEntry, ...] = ()
    """The entries that were undone, in the order they were written."""


class _EntryResult(NamedTuple):
    entry: OutboxEntry
    kind: Literal["Canceled", "Pending again", "Undone", "unchanged", "late"]
    """`late` means that the write is being sent now: the user can try the undo again in a moment."""
    reason: str = ""

    @property
    def is_changed(self) -> bool:
        return self.kind not in ("unchanged", "late")


async def undo_writes(
    group: WriteGroup,
    entries: OutboxEntries,
    restore_draft: ExtraWork,
    add: Callable[[Sequence[NewWrite]], Awaitable[object]],
) -> tuple[UndoResult | None, tuple[str, ...]]:
    """Undo the writes of `group`. Raises NotSaved.

    Return the result of the undo, and the ids of the writes that are being sent now: their undo can be tried again. The
    result is None if nothing is left to undo. `restore_draft` stores the text of a canceled write as a draft. `add`
    adds the opposite writes to the outbox.
    """
    newest_first = [entry_id for entry_id in reversed(group.ids) if _is_in(group, entries.find(entry_id))]
    unsent = [entry for entry_id in newest_first if (entry := entries.find(entry_id)) is not None]
    submitted = [
        entry.id for entry in unsent if entry.review and entry.state in ("held", "queued") and not entry.facts.is_review
    ]
    states = ("pending", "held", "queued")
    waiting = [entry.id for entry in unsent if entry.state in states and entry.id not in submitted]
    removed = await entries.remove(waiting, restore_draft, *states) if waiting else ()
    returned = await entries.step_all(submitted, return_to_review) if submitted else ()
    by_id = {entry.id: _EntryResult(entry, "Canceled") for entry in removed}
    by_id |= {entry.id: _EntryResult(entry, "Pending again") for entry in returned}
    opposites = []
    for entry_id in newest_first:
        if entry_id in by_id:
            continue
        entry = entries.find(entry_id) or find_done_entry(entries.state, entry_id)
        if entry is not None and _is_in(group, entry):
            by_id[entry_id], writes = _opposite(entry)
            opposites += writes
    if opposites:
        await add(opposites)
    results = [by_id[entry_id] for entry_id in newest_first if entry_id in by_id]
    late = tuple(result.entry.id for result in reversed(results) if result.kind == "late")
    if not results:
        return None, ()
    with_text = next((entry for entry in removed if entry.facts.text), removed[0] if removed else None)
    draft_key, text = (with_text.draft_key, with_text.facts.text) if with_text is not None else ("", "")
    changed = tuple(result.entry for result in reversed(results) if result.is_changed)
    return UndoResult(_message(results), done=bool(changed), draft_key=draft_key, text=text, undone=changed), late


def _is_in(group: WriteGroup, entry: OutboxEntry | None) -> bool:
    """Return whether `entry` still belongs to `group`. An undo in another instance may have removed it from its
    review."""
    return entry is None or group.review in ("", entry.review)


def _opposite(entry: OutboxEntry) -> tuple[_EntryResult, list[NewWrite]]:
    """Return the result for a write that was sent or has failed, and the opposite write, if there is one."""
    if entry.state == "failed" or entry.needs_user:
        return _EntryResult(entry, "unchanged", f"Nothing to undo: {entry.reason}"), []
    if entry.already_done:
        reason = f"Nothing to undo for “{entry.action}”: someone else did this first."
        return _EntryResult(entry, "unchanged", reason), []
    opposite: Any = kind_of(entry.op).undo(entry.op, entry.basis)
    if not isinstance(opposite, str):
        is_done = entry.state == "done"
        reason = "" if is_done else "The change is already being sent. Octavo will undo it afterward."
        undo = NewWrite(opposite, f"undo “{entry.action}”", context=entry.context)
        return _EntryResult(entry, "Undone", reason), [undo]
    if entry.state == "done":
        return _EntryResult(entry, "unchanged", opposite), []
    reason = f"Could not undo “{entry.action}” yet: it is being sent. Press u again in a moment."
    return _EntryResult(entry, "late", reason), []


def _message(results: Sequence[_EntryResult]) -> str:
    """Return one sentence for each action, such as `Canceled: resolve the thread, 76 of 77 (1 was already sent).`"""
    actions = dict.fromkeys(result.entry.action for result in results)
    return " ".join(_sentence(action, [each for each in results if each.entry.action == action]) for action in actions)


def _sentence(action: str, results: Sequence[_EntryResult]) -> str:
    changed = [result for result in results if result.is_changed]
    undone = [result for result in changed if result.kind == "Undone"]
    reasons = dict.fromkeys(result.reason for result in results if result.reason)
    if not changed:
        return " ".join(reasons)
    verb = next((result.kind for result in changed if result.kind != "Undone"), "Undone")
    contexts = {result.entry.context for result in results}
    name = f"{action} · {next(iter(contexts))}" if len(contexts) == 1 and contexts != {""} else action
    missing = [result for result in results if not result.is_changed]
    if len(results) == 1:
        amount = ""
    elif missing:
        are_sent = all(result.kind == "late" or result.entry.state == "done" for result in missing)
        cause = "already sent" if are_sent else "not undone"
        amount = f", {len(changed)} of {len(results)} ({_count_and_verb(len(missing))} {cause})"
    else:
        amount = ", both" if len(results) == 2 else f", all {len(results)}"
        if 0 < len(undone) < len(results):
            amount += f" ({_count_and_verb(len(undone))} already sent and had to be undone)"
    return " ".join((f"{verb}: {name}{amount}.", *reasons))


def _count_and_verb(count: int) -> str:
    return f"{count} {'was' if count == 1 else 'were'}"
