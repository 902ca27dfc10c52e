"""Sends what the outbox holds: one driver on a machine for each profile, however many instances are open."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from octavo.api.errors import ApiError, NotSent, Outcome, RateLimited, Rejected, Unauthorized, Unreachable
from octavo.api.operation import Operation, Ref
from octavo.data import entry as steps
from octavo.data import ledger
from octavo.data.drafts import put_back
from octavo.data.entry import LIFETIME, Entry, next_up, replaces, wakes_at
from octavo.data.pending import Pending
from octavo.data.sending import Send
from octavo.data.state import NotSaved, Role

if TYPE_CHECKING:
    from octavo.api.users import User

POLL = 1.0
"""Seconds after which it looks for what other instances wrote."""
LONGEST_WAIT = 60.0
FIRST_LOOK = timedelta(seconds=1)
"""After this it is looked for what was lost, though it may still arrive: what is found need not wait."""
LOST = "Its answer was lost. It is looked for before anything is sent again."
AFTER_A_CRASH = timedelta(minutes=10)
"""What is older than this when the app comes back from a crash waits to be asked for."""

_RUNNING = "outbox.running"


class Driver:
    """Takes one step after another. `step` is all of it; `run` does it as time goes by."""

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
        self.me = me
        self.paused = ""
        """Why nothing is sent until `resume`. A sentence; empty when all is well."""
        self._send = send
        self._pending = pending
        self._asked_me = False
        self._timeout = timedelta(seconds=timeout)
        self._settle = timedelta(seconds=settle)
        self._jitter = jitter
        self._misses = 0
        self._quiet_until = datetime.min.replace(tzinfo=UTC)
        self._limited = False
        self._role: Role | None = None
        self._woken = asyncio.Event()
        self._stopping = False

    async def run(self) -> None:
        """Until `stop`."""
        while not self._stopping:
            self._woken.clear()
            try:
                wait = await self.step()
            except NotSaved:
                # The state says why. What could not be written down is unknown, as it is after a crash.
                self._let_go()
                wait = POLL
            if wait > 0 and not self._stopping:
                try:
                    async with asyncio.timeout(wait):
                        await self._woken.wait()
                except TimeoutError:
                    continue

    async def step(self) -> float:
        """Do what is due. Returns how many seconds to wait before the next step. Raises NotSaved."""
        if self._role is None and not await self._take_over():
            self._pending.refresh()
            return POLL
        self._pending.refresh()
        now = self._pending.now()
        await self._forget_told(now)
        quiet = bool(self.paused) or now < self._quiet_until
        entry = next_up(self._pending.entries, now, quiet=quiet)
        if entry is None:
            times = [wakes_at(self._pending.entries, now), self._quiet_until]
            return min(POLL, *((each - now).total_seconds() for each in times if each and each > now), POLL)
        match entry.state:
            case "held":
                await self._pending.step(entry.id, partial(steps.released, now=now))
            case "queued":
                await self._deliver(entry, now)
            case "unknown":
                await self._look(entry)
        return 0.0

    def wake(self) -> None:
        """There may be something to do."""
        self._woken.set()

    def online(self) -> None:
        """The server was reached: what waits for that need not wait any longer."""
        if not self._limited and self._misses:
            self._misses, self._quiet_until = 0, datetime.min.replace(tzinfo=UTC)
            self.wake()

    def resume(self) -> None:
        """The key was changed, or somebody asks to try again."""
        self.paused = ""
        self.online()
        self.wake()

    def stop(self) -> None:
        """Take no further step."""
        self._stopping = True
        self.wake()

    async def leave(self) -> None:
        """Let another instance be the driver. Nothing may be under way."""
        if self._role is not None:
            try:
                await self._pending.state.write(lambda db: self._mark(db, running=False))
            finally:
                self._let_go()

    def _let_go(self) -> None:
        if self._role is not None:
            self._role.release()
            self._role = None

    async def _take_over(self) -> bool:
        """Become the driver, if nobody else is, and see to what the last one left."""
        state = self._pending.state
        self._role = None if state.read_only else state.take("outbox")
        if self._role is None:
            return False
        self._pending.reload()
        now = self._pending.now()
        query = "SELECT 1 FROM facts WHERE namespace = ? AND name = ?"
        crashed = bool(state.rows(query, state.namespace, _RUNNING))
        for entry in self._pending.entries:
            if entry.state == "sending":
                reason = "Octavo was closed before the answer came. It is looked for before anything is sent again."
                await self._pending.step(entry.id, partial(steps.lost, due_at=now, reason=reason))
            elif crashed and entry.state in ("held", "queued") and now - entry.asked_at > AFTER_A_CRASH:
                reason = "Octavo was closed before it was sent, a while ago. Retry to send it, or discard it."
                await self._park(entry, reason)
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

    async def _deliver(self, entry: Entry, now: datetime) -> None:
        from octavo.data.readback import Already, Changed, prepare  # brings the comments with it

        if now - entry.asked_at > LIFETIME:
            await self._park(entry, "It was written more than a day ago. Retry to send it, or discard it.")
            return
        if entry.is_verdict:
            mates = [each for each in self._pending.entries if each.review == entry.review and each.state == "failed"]
            if entry.review and mates:
                await self._refuse(entry, _without(len(mates)))
                return
        op = self._addressed(entry)
        if op is None:
            await self._refuse(entry, "the thread it belongs to was not posted.")
            return
        try:
            before = entry.baseline if entry.rounds else ()
            ready = await prepare(self._send, op, entry.basis, await self._caller(), before)
        except ApiError as error:
            await self._not_done(entry, error, travelled=False)
            return
        self._reached()
        match ready:
            case Already():
                await self._confirm(entry, ready.remote, needless=True)
                return
            case Changed():
                await self._refuse(entry, f"{ready.sentence}.", contested=True)
                return
        now = self._pending.now()
        start = partial(steps.started, op=op, now=now, baseline=ready.baseline, since=ready.since)
        if under_way := await self._pending.step(entry.id, start):
            await self._travel(under_way, op)

    async def _travel(self, entry: Entry, op: Operation[Any]) -> None:
        try:
            async with asyncio.timeout(self._timeout.total_seconds()):
                answer = await self._send(op)
        except ApiError as error:
            await self._not_done(entry, error, travelled=True)
        except TimeoutError:
            await self._lose(entry)
        else:
            self._reached()
            await self._confirm(entry, answer.id if entry.makes else "")

    async def _look(self, entry: Entry) -> None:
        from octavo.data.readback import look  # brings the comments with it

        claimed = self._pending.state.read(lambda db: ledger.claimed(db, self._pending.state.namespace))
        try:
            found = await look(self._send, entry, await self._caller(), claimed)
        except ApiError as error:
            if verdict(error, travelled=False) == "refused":
                await self._refuse(entry, str(error))
            else:
                due = self._wait(error)
                reason = f"It is not known whether it arrived. {error}"
                await self._pending.step(entry.id, partial(steps.unread, due_at=due, reason=reason))
            return
        self._reached()
        now = self._pending.now()
        if found:
            await self._confirm(entry, found.remote)
        elif now < (settled := self._settled(entry, now)):
            # It may still arrive: it is not sent again before that.
            again = min(settled, now + max(FIRST_LOOK, 2 * (now - (entry.started_at or now))))
            await self._pending.step(entry.id, partial(steps.unread, due_at=again, reason=LOST))
        else:
            await self._pending.step(entry.id, partial(steps.absent, now=now))

    async def _not_done(self, entry: Entry, error: ApiError, *, travelled: bool) -> None:
        match verdict(error, travelled=travelled):
            case "refused":
                await self._refuse(entry, str(error))
            case "lost":
                await self._lose(entry)
            case "waits":
                due = self._wait(error)
                await self._pending.step(
                    entry.id, partial(steps.postponed, due_at=due, reason=f"Not sent yet. {error}")
                )

    async def _lose(self, entry: Entry) -> None:
        due = self._pending.now() + FIRST_LOOK
        await self._pending.step(entry.id, partial(steps.lost, due_at=due, reason=LOST))

    def _settled(self, entry: Entry, now: datetime) -> datetime:
        """When the server has acted on it, if it ever does."""
        return (entry.started_at or now) + self._timeout + self._settle

    async def _refuse(self, entry: Entry, cause: str, *, contested: bool = False) -> None:
        state = self._pending.state

        def give_back(db: sqlite3.Connection, entry: Entry) -> None:
            if entry.place and entry.words:
                put_back(db, state.namespace, entry.place, entry.words, entry.id, state.now())

        reason = f"Couldn't {entry.doing}: {cause}"
        await self._pending.step(entry.id, partial(steps.refused, reason=reason, contested=contested), give_back)

    async def _confirm(self, entry: Entry, remote: str = "", *, needless: bool = False) -> None:
        before = takewhile(lambda each: each.id != entry.id, self._pending.entries)
        replaced = [each.id for each in before if replaces(entry, each)]

        def with_replaced(db: sqlite3.Connection, entry: Entry) -> None:
            state = self._pending.state
            for each in replaced:
                ledger.step(db, state.namespace, each, steps.confirmed, self._pending.now())

        done = partial(steps.confirmed, remote=remote, needless=needless and not replaced)
        await self._pending.step(entry.id, done, with_replaced)

    async def _park(self, entry: Entry, reason: str) -> None:
        await self._pending.step(entry.id, partial(steps.parked, reason=reason))

    def _wait(self, error: ApiError) -> datetime:
        """When to try again, for this entry; for all of them when nothing would get through."""
        now = self._pending.now()
        if isinstance(error, Unauthorized):
            self.paused = f"{error} What you wrote waits until you sign in again."
            return now
        self._misses += 1
        until = now + timedelta(seconds=0.5 + self._jitter() * min(LONGEST_WAIT, 2.0**self._misses))
        if error.trace.retry_at is not None:
            until = max(until, error.trace.retry_at)
        if isinstance(error, (Unreachable, RateLimited)):
            self._quiet_until, self._limited = until, isinstance(error, RateLimited)
        return until

    def _reached(self) -> None:
        self._misses, self._limited = 0, False

    async def _caller(self) -> str | None:
        """Whose comments ours are. None when the server does not say."""
        if self.me is None and not self._asked_me:
            from octavo.api import users  # needed only when there is something to send

            try:
                self.me = await self._send(users.Me())
            except (Unauthorized, RateLimited):
                raise
            except Rejected as error:
                if error.outcome is not Outcome.REFUSED:
                    raise
            self._asked_me = True
        return self.me.id if self.me else None

    def _addressed(self, entry: Entry) -> Operation[Any] | None:
        """Its operation with the name the server gave to a thread that was pending when it was written.

        None when there is no such thread and will not be.
        """
        thread = getattr(entry.op, "comment_id", "")
        if not thread.startswith("pending-"):
            return entry.op
        made = self._pending.state.read(lambda db: ledger.done(db, thread.removeprefix("pending-")))
        return entry.op.model_copy(update={"comment_id": made.remote}) if made and made.remote else None


def verdict(error: ApiError, *, travelled: bool) -> Literal["refused", "waits", "lost"]:
    """What an error means for a write. `travelled`: it was the write itself that failed, not a question before it."""
    if isinstance(error, (Unauthorized, RateLimited, NotSent)) or error.outcome is Outcome.NOT_SENT:
        return "waits"
    if error.outcome is Outcome.REFUSED:
        return "refused"
    return "lost" if travelled else "waits"


def is_reviewing(entries: Iterable[Entry], at: Ref) -> bool:
    """Whether a verdict on `at` is on its way, after its comments."""
    return any(entry.at == at and entry.is_verdict and not entry.asks for entry in entries)


def _without(failed: int) -> str:
    """Why a verdict is not sent without those comments that were refused."""
    those = "one of its comments was" if failed == 1 else f"{failed} of its comments were"
    return f"{those} not sent. Send or discard that first, then review again."
