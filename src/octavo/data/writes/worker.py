"""Sends the entries of the outbox. For each profile, one instance on this machine sends: the one that holds the lock `outbox`.

`OutboxWorker` takes each step when it is due. `OutboxDelivery` sends an entry: it checks the target, sends the write, and
finds a write whose response was lost. `ConnectionState` knows when sending pauses.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.api.errors import ApiError, Outcome, RateLimited, Rejected, Unauthorized, Unreachable
from octavo.api.operation import SPECS, Operation
from octavo.data.drafts import store_returned
from octavo.data.sending import Send
from octavo.data.state_db import NotSaved
from octavo.data.writes import machine as steps
from octavo.data.writes.machine import LIFETIME, PATIENCE, OutboxEntry, next_due, next_wake, supersedes
from octavo.data.writes.store import OutboxEntries, change_entry, created_ids, done_entry
from octavo.data.writes.write_kind import AlreadyDone, Attempt, Changed, fate

if TYPE_CHECKING:
    from octavo.api import comments
    from octavo.api.places import Discussion
    from octavo.api.users import User

T = TypeVar("T")

POLL = 1.0
"""Seconds after which the worker reads what other instances wrote."""
AT_ONCE = 3
"""Number of places to which entries are sent at the same time: a place that does not respond delays no other."""
CLOSED = "Octavo was closed before the response arrived. Before retrying, Octavo will check whether the server received the change."

_RUNNING = "outbox.running"
FIRST_LOOK = timedelta(seconds=1)
"""Delay before the first check of a lost write. The write may still arrive later."""
LOST = "The response was lost. Before retrying, Octavo will check whether the server received the change."
FEW = 3
"""Number of threads up to which each thread is read alone."""
HOLDS = timedelta(seconds=10)
"""Time for which a list of threads is used. Other people may change the threads after that."""
THREADS = 200
"""Most threads that are read as one list."""
LONGEST_WAIT = 60.0
_LONG_AGO = datetime.min.replace(tzinfo=UTC)


class OutboxWorker:
    """Takes the steps of the entries, one after the other in each place."""

    def __init__(
        self,
        send: Send,
        pending: OutboxEntries,
        *,
        me: User | None,
        timeout: timedelta,
        settle: timedelta,
        jitter: Callable[[], float],
    ) -> None:
        """`timeout`, `settle` and `jitter` are those of the outbox. `me` is the signed-in user. None: the server is asked."""
        self.connection = ConnectionState(pending.now, jitter)
        self.delivery = OutboxDelivery(send, pending, self.connection, me=me, lasts=timeout, settles=timeout + settle)
        self._pending = pending
        self._unlock: Callable[[], None] | None = None
        self._woken = asyncio.Event()
        self._stopping = False
        self._running: dict[str, asyncio.Task[None]] = {}
        """Running steps, by place."""

    async def run(self) -> None:
        """Take the steps that are due, until `stop`."""
        try:
            while not self._stopping:
                self._woken.clear()
                try:
                    self._drop_ended()
                    wait = await self._begin()
                except NotSaved:
                    # `save_error` says why. The result of a running step is unknown now, as after a crash.
                    await self._wait_for_running()
                    self._release_role()
                    wait = POLL
                if wait > 0 and not self._stopping:
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

    async def step(self) -> float:
        """Take the next step that is due. Return how many seconds to wait before the next. Raises NotSaved."""
        entry, wait = await self._next()
        if entry is not None:
            await self._take_step(entry)
        return wait

    async def _begin(self) -> float:
        """Begin the steps that are due in idle places. Return how many seconds to wait before more can begin."""
        while len(self._running) < AT_ONCE:
            entry, wait = await self._next()
            if entry is None:
                return wait
            if entry.state == "held":
                await self._take_step(entry)
                continue
            task = asyncio.create_task(self._take_step(entry), name=f"outbox: {entry.action}")
            task.add_done_callback(lambda _: self.wake())
            self._running[entry.ordering_key] = task
        return POLL

    def _drop_ended(self) -> None:
        """Drop the steps that have ended. Raises their errors."""
        for place, task in list(self._running.items()):
            if task.done():
                del self._running[place]
                task.result()

    async def _wait_for_running(self) -> None:
        """Wait for the running steps. Cancel them if this task is cancelled."""
        tasks = tuple(self._running.values())
        try:
            if tasks:
                await asyncio.wait(tasks)
        finally:
            for task in tasks:
                task.cancel()
            faults = [
                each for each in await asyncio.gather(*tasks, return_exceptions=True) if isinstance(each, Exception)
            ]
            self._running.clear()
        if fault := next((each for each in faults if not isinstance(each, NotSaved)), None):
            raise fault

    async def _next(self) -> tuple[OutboxEntry | None, float]:
        """Return the entry whose step is due, else None and how many seconds to wait. Raises NotSaved."""
        if self._unlock is None and not await self._take_over():
            self._pending.refresh()
            return None, POLL
        self._pending.refresh()
        now = self._pending.now()
        await self._forget_old_failures(now)
        ours = tuple(each for each in self._pending.entries if not self.delivery.is_other_account(each))
        entry = next_due(ours, now, quiet=self.connection.is_quiet, busy=self._running)
        if entry is not None:
            return entry, 0.0
        times = [next_wake(ours, now), self.connection.quiet_until]
        return None, min(POLL, *((each - now).total_seconds() for each in times if each and each > now), POLL)

    async def _take_step(self, entry: OutboxEntry) -> None:
        match entry.state:
            case "held":
                await self._pending.step(entry.id, partial(steps.released, now=self._pending.now()))
            case "queued":
                await self.delivery.deliver(entry)
            case "unknown":
                await self.delivery.find_lost(entry)

    def wake(self) -> None:
        """Look for steps that are due."""
        self._woken.set()

    def online(self) -> None:
        """Note that the server responds: entries that wait for that are sent now."""
        if self.connection.online():
            self.wake()

    def resume(self) -> None:
        """Send again: the user signed in, or retries an entry."""
        self.connection.try_again()
        self.wake()

    def stop(self) -> None:
        """Take no further step."""
        self._stopping = True
        self.wake()

    async def leave(self) -> None:
        """Let another instance send. No step may be running. Raises NotSaved."""
        if self._unlock is not None:
            try:
                await self._pending.state.write(lambda db: self._mark(db, running=False))
            finally:
                self._release_role()

    def _release_role(self) -> None:
        if self._unlock is not None:
            self._unlock()
            self._unlock = None

    async def _take_over(self) -> bool:
        """Become the sender of this profile, and take over the entries of the last one. False if another instance sends."""
        state = self._pending.state
        self._unlock = None if state.read_only else state.try_lock("outbox")
        if self._unlock is None:
            return False
        self._pending.reload()
        now = self._pending.now()
        query = "SELECT 1 FROM facts WHERE namespace = ? AND name = ?"
        crashed = bool(state.rows(query, state.namespace, _RUNNING))
        for entry in self._pending.entries:
            if entry.state == "sending":
                await self.delivery.mark_unknown(entry, CLOSED, timedelta())
            elif crashed and entry.state == "held" and entry.held_until is not None and entry.held_until < now:
                # Octavo ended before its undo delay was over: the user gets the whole delay again.
                await self._pending.step(entry.id, partial(steps.undo_delay_restarted, now=now))
        await state.write(lambda db: self._mark(db, running=True))
        return True

    def _mark(self, db: sqlite3.Connection, *, running: bool) -> None:
        of_worker = (self._pending.state.namespace, _RUNNING)
        if running:
            db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?, 'true')", of_worker)
        else:
            db.execute("DELETE FROM facts WHERE namespace = ? AND name = ?", of_worker)

    async def _forget_old_failures(self, now: datetime) -> None:
        """Remove entries that were refused long ago and leave nothing to decide."""
        told = (each for each in self._pending.entries if each.state == "failed" and not each.needs_user)
        old = [each.id for each in told if now - each.requested_at > LIFETIME]
        if old:
            await self._pending.remove(old, lambda db, entry: None, "failed")


class OutboxDelivery:
    """Delivery of one write. Several run at the same time, each to another place."""

    def __init__(
        self,
        send: Send,
        pending: OutboxEntries,
        connection: ConnectionState,
        *,
        me: User | None,
        lasts: timedelta,
        settles: timedelta,
    ) -> None:
        """A request `lasts` at most. The server may act on the request until it `settles`."""
        self.me = me
        """The signed-in user. None: the server is asked."""
        self.written_here: set[str] = set()
        """Ids of the entries of this instance: they are sent whoever was taken for the user when they were written."""
        self._send = send
        self._pending = pending
        self._connection = connection
        self._asked_me = False
        self._ahead = ThreadsAhead(send, pending)
        self._lasts = lasts
        self._settles = settles

    def is_other_account(self, entry: OutboxEntry) -> bool:
        """Return whether another account wrote the entry: with this token it would be sent under the wrong name."""
        if self.me is None or not self.me.id or entry.id in self.written_here:
            return False
        return entry.writer not in ("", self.me.id)

    async def deliver(self, entry: OutboxEntry) -> None:
        """Send `entry` if its target has not changed, and record the result. Raises NotSaved."""
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        try:
            await self._caller()
        except ApiError as error:
            await self._not_done(entry, error, has_left=False)
            return
        if self.is_other_account(entry):
            self._pending.changed.notify()  # The user is known only now.
            return
        if self._pending.now() - entry.requested_at > LIFETIME:
            await self.hold_for_user(
                entry, "This change is more than a day old. Retry the change to send it, or discard it."
            )
            return
        if entry.is_review:
            mates = [each for each in self._pending.entries if each.review == entry.review and each.state == "failed"]
            if entry.review and mates:
                await self._refuse(entry, _without(len(mates)))
                return
        thread = self._posted_thread(entry)
        if thread is None:
            await self._refuse(entry, "the thread was not posted.")
            return
        op = steps.addressed(entry, thread).op if thread else entry.op
        again = entry.creates and entry.failed_lookups > 0
        try:
            if again and (found := await self._found(entry)):
                await self._confirm(entry, found.remote_id)
                return
            before = entry.baseline if entry.failed_lookups else None
            attempt = Attempt(op, entry.basis, before, me=await self._caller())
            ready = await kind_of(op).check(await self._ahead.before(entry), attempt)
        except ApiError as error:
            await self._not_done(entry, error, has_left=False)
            return
        match ready:
            case AlreadyDone():
                self._connection.reached()
                await self._confirm(entry, ready.remote_id, needless=True)
                return
            case Changed():
                await self._refuse(entry, f"{ready.reason}.", changed_by_others=True)
                return
        # The earlier request may still arrive: whatever was not there before it may be the result.
        baseline, since = (entry.baseline, entry.since) if again else (ready.baseline, ready.since)
        start = partial(steps.started, now=self._pending.now(), thread=thread, baseline=baseline, since=since)
        if under_way := await self._pending.step(entry.id, start):
            await self._travel(under_way, op)

    async def _travel(self, entry: OutboxEntry, op: Operation[Any]) -> None:
        try:
            async with asyncio.timeout(self._lasts.total_seconds()):
                answer = await self._send(op)
        except ApiError as error:
            await self._not_done(entry, error, has_left=True)
        except TimeoutError:
            await self.mark_unknown(entry)
        else:
            self._connection.reached()
            await self._confirm(entry, answer.id if entry.creates else "")

    async def find_lost(self, entry: OutboxEntry) -> None:
        """Check whether a lost write has arrived. Raises NotSaved."""
        # Taken before the request: the response shows the state at this time at the earliest.
        now = self._pending.now()
        try:
            await self._caller()
            if self.is_other_account(entry):
                self._pending.changed.notify()
                return
            found = await self._found(entry)
        except ApiError as error:
            await self._lookup_failed(entry, now, error)
            return
        self._connection.reached()
        if found:
            await self._confirm(entry, found.remote_id)
        elif entry.may_arrive_until is not None and now < entry.may_arrive_until:
            # The write may still arrive, so it is not sent again yet.
            again = min(entry.may_arrive_until, now + max(FIRST_LOOK, 2 * (now - (entry.started_at or now))))
            await self._pending.step(entry.id, partial(steps.still_unknown, due_at=again, reason=LOST))
        else:
            await self._pending.step(entry.id, partial(steps.not_found, now=self._pending.now()))

    async def _found(self, entry: OutboxEntry) -> AlreadyDone | None:
        """Return what the server made of `entry`. None if it is not on the server. Raises ApiError."""
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        claimed = self._pending.state.read(lambda db: created_ids(db, self._pending.state.namespace))
        attempt = Attempt(entry.op, entry.basis, entry.baseline, entry.since, await self._caller(), claimed)
        return await kind_of(entry.op).find(self._send, attempt)

    async def _lookup_failed(self, entry: OutboxEntry, now: datetime, error: ApiError) -> None:
        """Record that Octavo could not look for the write."""
        reason = f"Octavo could not check whether the server received this change. {error}"
        refused, own = fate(error, has_left=False) == "refused", _is_own(error)
        settles = entry.may_arrive_until is not None and now < entry.may_arrive_until
        if refused and not entry.creates:
            await self._refuse(entry, str(error))
        elif entry.creates and not settles and (refused or (own and entry.postponements + 1 >= PATIENCE)):
            await self._pending.step(entry.id, partial(steps.not_found, now=now, cause=str(error)))
        else:
            due = self._connection.failed(error)
            await self._pending.step(entry.id, partial(steps.still_unknown, due_at=due, reason=reason, own=own))

    async def _not_done(self, entry: OutboxEntry, error: ApiError, *, has_left: bool) -> None:
        match fate(error, has_left=has_left):
            case "refused":
                await self._refuse(entry, str(error))
            case "unknown":
                await self.mark_unknown(entry)
            case "waiting":
                due, reason = self._connection.failed(error), f"Not sent yet. {error}"
                postponed = partial(steps.postponed, due_at=due, reason=reason, own=_is_own(error))
                await self._pending.step(entry.id, postponed)

    async def mark_unknown(self, entry: OutboxEntry, reason: str = LOST, after: timedelta = FIRST_LOOK) -> None:
        """Mark `entry` as lost, to be checked `after` some time. Raises NotSaved."""
        now = self._pending.now()
        # The request left before now. Its start does not count: the machine may have slept since.
        may_arrive_until = now + self._settles
        lost = partial(steps.outcome_unknown, due_at=now + after, may_arrive_until=may_arrive_until, reason=reason)
        await self._pending.step(entry.id, lost)

    async def _refuse(self, entry: OutboxEntry, cause: str, *, changed_by_others: bool = False) -> None:
        state = self._pending.state

        def give_back(db: sqlite3.Connection, entry: OutboxEntry) -> None:
            if entry.draft_key and entry.text:
                store_returned(db, state.namespace, entry.draft_key, entry.text, entry.id, state.now())

        reason = f"Could not {entry.action}: {cause}"
        await self._pending.step(
            entry.id, partial(steps.refused, reason=reason, changed_by_others=changed_by_others), give_back
        )

    async def _confirm(self, entry: OutboxEntry, remote: str = "", *, needless: bool = False) -> None:
        before = takewhile(lambda each: each.id != entry.id, self._pending.entries)
        replaced = [each.id for each in before if supersedes(entry, each)]

        def with_replaced(db: sqlite3.Connection, entry: OutboxEntry) -> None:
            state = self._pending.state
            for each in replaced:
                change_entry(db, state.namespace, each, steps.confirmed, self._pending.now())

        done = partial(steps.confirmed, remote_id=remote, already_done=needless and not replaced)
        await self._pending.step(entry.id, done, with_replaced)

    async def hold_for_user(self, entry: OutboxEntry, reason: str) -> None:
        """Let `entry` wait until the user decides. Raises NotSaved."""
        await self._pending.step(entry.id, partial(steps.held_for_user, reason=reason))

    async def _caller(self) -> str | None:
        """Return the id of the signed-in user. None if the server does not say."""
        if self.me is None and not self._asked_me:
            from octavo.api import users  # lazy: needed only if there is something to send

            try:
                self.me = await self._send(users.Me())
            except (Unauthorized, RateLimited):
                raise
            except Rejected as error:
                if error.outcome is not Outcome.REFUSED:
                    raise
            self._asked_me = True
        return self.me.id if self.me else None

    def _posted_thread(self, entry: OutboxEntry) -> str | None:
        """Return the id of the thread of `entry`, if that was not posted yet when `entry` was written. Empty if it was.

        None if the thread was not posted, and will not be.
        """
        thread = entry.facts.thread
        if not thread.startswith("pending-"):
            return ""
        posted = self._pending.state.read(lambda db: done_entry(db, thread.removeprefix("pending-")))
        return (posted.remote_id or None) if posted else None


def _is_own(error: ApiError) -> bool:
    """Return True if the error concerns this request alone: the server responds to other requests."""
    return not isinstance(error, (Unreachable, RateLimited, Unauthorized))


def _without(failed: int) -> str:
    """Return why a review is not sent: some of its comments were refused."""
    if failed == 1:
        return "one pending comment was not sent. Send or discard the comment first, then submit the review again."
    return f"{failed} pending comments were not sent. Send or discard the comments first, then submit the review again."


class ThreadsAhead:
    """Threads that are read as one list before many of them are resolved."""

    def __init__(self, send: Send, pending: OutboxEntries) -> None:
        self._send, self._pending = send, pending
        self._read: dict[Discussion, tuple[datetime, dict[str, comments.Comment]]] = {}

    async def before(self, entry: OutboxEntry) -> Send:
        """Return the function that reads the target of `entry` before it is sent. Raises ApiError."""
        if not _is_alike(entry, entry):
            return self._send
        now = self._pending.now()
        self._read = {at: each for at, each in self._read.items() if now - each[0] < HOLDS}
        if entry.at not in self._read:
            if sum(_is_alike(each, entry) for each in self._pending.entries) <= FEW:
                return self._send
            from octavo.api import comments  # lazy: needed only when many threads are resolved

            op = comments.List(at=entry.at, status="all", format="markdown", limit=THREADS)
            self._read[entry.at] = now, {each.id: each for each in (await self._send(op)).items}
        known = self._read[entry.at][1]

        async def send(op: Operation[T]) -> T:
            # Each thread is returned once: the write that follows changes the thread.
            is_thread = SPECS[type(op)].name == "comments.Get"
            thread: Any = known.pop(getattr(op, "comment_id", ""), None) if is_thread else None
            return thread if thread is not None else await self._send(op)

        return send


def _is_alike(entry: OutboxEntry, other: OutboxEntry) -> bool:
    """Return whether `entry` resolves or reopens a thread in the same place as `other`, and was never sent."""
    return entry.state == "queued" and entry.facts.only_resolves and entry.tries == 0 and entry.at == other.at


class ConnectionState:
    """Pause and backoff of the outbox: longer after each request that failed, none after one that got through."""

    def __init__(self, now: Callable[[], datetime], jitter: Callable[[], float]) -> None:
        self.paused = ""
        """Reason why sending has stopped until `resume`, as a sentence. Empty if it has not."""
        self.quiet_until = _LONG_AGO
        self._now = now
        self._jitter = jitter
        self._misses = 0
        self._limited = False
        self._key_refused = False
        self._last = ""

    @property
    def pause_reason(self) -> str:
        """Return why nothing is sent now, as a sentence. Empty if entries are sent."""
        return self.paused or (self._last if self._now() < self.quiet_until else "")

    @property
    def rate_limited_until(self) -> datetime | None:
        """Return the time until which the server limits requests. None if it does not."""
        return self.quiet_until if self._limited and self._now() < self.quiet_until else None

    @property
    def needs_sign_in(self) -> bool:
        """Return True if nothing is sent because the server refuses the token."""
        return self._key_refused and bool(self.paused)

    @property
    def is_quiet(self) -> bool:
        """Return True if sending pauses, because no request would get through."""
        return bool(self.paused) or self._now() < self.quiet_until

    def failed(self, error: ApiError) -> datetime:
        """Return when to try again. If no request would get through, all requests wait until then."""
        now = self._now()
        self._misses += 1
        until = now + timedelta(seconds=0.5 + self._jitter() * min(LONGEST_WAIT, 2.0**self._misses))
        if isinstance(error, Unauthorized):
            self.paused = f"{error} Octavo will keep your unsent changes and send them after you sign in again."
            self._key_refused, self._limited, self.quiet_until = True, False, until
            return now
        if error.trace.retry_at is not None:
            until = max(until, error.trace.retry_at)
        if _concerns_all(error):
            self._last = f"Not sent yet. {error}"
            self.quiet_until, self._limited = until, isinstance(error, RateLimited)
            return now
        return until

    def reached(self) -> None:
        """Note that the server responded."""
        self._misses, self._limited, self._key_refused = 0, False, False

    def try_again(self) -> None:
        """End the pause: the user retries, or signed in."""
        self.paused, self.quiet_until = "", _LONG_AGO
        self.reached()

    def online(self) -> bool:
        """Note that the server responds to other requests. Return whether entries waited for that."""
        if self._key_refused and self._now() < self.quiet_until:
            return False  # A server that takes the token for reads only is not asked to write after each read.
        waited = bool(self._misses) and not self._limited
        if waited:
            if self._key_refused:
                self.paused, self._key_refused = "", False
            self._misses, self.quiet_until = 0, _LONG_AGO
        return waited


def _concerns_all(error: ApiError) -> bool:
    """Return whether other requests would fail too."""
    return error.outcome is Outcome.NOT_SENT or isinstance(error, RateLimited)
