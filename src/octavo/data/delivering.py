"""Takes one write to the server: asks what is there, sends it, and finds out what became of it."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from octavo.api.errors import ApiError, Outcome, RateLimited, Rejected, Unauthorized, Unreachable
from octavo.api.operation import Operation
from octavo.data import ledger
from octavo.data.connection import Connection
from octavo.data.drafts import put_back
from octavo.data.pending import Pending
from octavo.data.sending import Send
from octavo.data.writes import machine as steps
from octavo.data.writes.attempt import AlreadyDone, Attempt, Changed, fate
from octavo.data.writes.machine import LIFETIME, PATIENCE, Entry, replaces

if TYPE_CHECKING:
    from octavo.api.users import User
    from octavo.data.reading_ahead import ReadingAhead

FIRST_LOOK = timedelta(seconds=1)
"""Delay before the first check of a lost write. The write may still arrive later."""
LOST = "The response was lost. Octavo checks whether the change arrived before retrying."


class Delivery:
    """Delivery of one write. Several run at the same time, each to another place."""

    def __init__(
        self,
        send: Send,
        pending: Pending,
        connection: Connection,
        *,
        me: User | None,
        timeout: timedelta,
        settle: timedelta,
    ) -> None:
        self.me = me
        """The caller, as the server names the one whose key it is. Without one it is asked for."""
        self.written_here: set[str] = set()
        """What is ours whoever was taken for the caller when it was written: the ids."""
        self._send = send
        self._pending = pending
        self._connection = connection
        self._asked_me = False
        self._ahead: ReadingAhead | None = None
        self._timeout = timeout
        self._settle = settle

    def is_of_another(self, entry: Entry) -> bool:
        """Whether another account wrote it: with the key that is used now it would go out in the wrong name."""
        if self.me is None or not self.me.id or entry.id in self.written_here:
            return False
        return entry.writer not in ("", self.me.id)

    async def deliver(self, entry: Entry) -> None:
        """Send `entry` if its target has not changed, and record the result. Raises NotSaved."""
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        try:
            await self._caller()
        except ApiError as error:
            await self._not_done(entry, error, has_left=False)
            return
        if self.is_of_another(entry):
            self._pending.tell()  # it is known only now
            return
        if self._pending.now() - entry.asked_at > LIFETIME:
            await self.park(entry, "This was written more than a day ago. Retry to send it, or discard it.")
            return
        if entry.is_verdict:
            mates = [each for each in self._pending.entries if each.review == entry.review and each.state == "failed"]
            if entry.review and mates:
                await self._refuse(entry, _without(len(mates)))
                return
        thread = self._posted_thread(entry)
        if thread is None:
            await self._refuse(entry, "the thread was not posted.")
            return
        op = steps.addressed(entry, thread).op if thread else entry.op
        again = entry.makes and entry.rounds > 0
        try:
            if again and (found := await self._found(entry)):
                await self._confirm(entry, found.remote_id)
                return
            before = entry.baseline if entry.rounds else None
            attempt = Attempt(op, entry.basis, before, me=await self._caller())
            ready = await kind_of(op).check(await self._before(entry), attempt)
        except ApiError as error:
            await self._not_done(entry, error, has_left=False)
            return
        match ready:
            case AlreadyDone():
                self._connection.reached()
                await self._confirm(entry, ready.remote_id, needless=True)
                return
            case Changed():
                await self._refuse(entry, f"{ready.reason}.", contested=True)
                return
        # What was sent before may arrive still: all that was not there before that may be it.
        baseline, since = (entry.baseline, entry.since) if again else (ready.baseline, ready.since)
        start = partial(steps.started, now=self._pending.now(), thread=thread, baseline=baseline, since=since)
        if under_way := await self._pending.step(entry.id, start):
            await self._travel(under_way, op)

    async def _before(self, entry: Entry) -> Send:
        """Return the function that reads the target of `entry`. Raises ApiError."""
        if self._ahead is None:
            from octavo.data.reading_ahead import ReadingAhead  # brings the comments with it

            self._ahead = ReadingAhead(self._send, self._pending)
        return await self._ahead.before(entry)

    async def _travel(self, entry: Entry, op: Operation[Any]) -> None:
        try:
            async with asyncio.timeout(self._timeout.total_seconds()):
                answer = await self._send(op)
        except ApiError as error:
            await self._not_done(entry, error, has_left=True)
        except TimeoutError:
            await self.lose(entry)
        else:
            self._connection.reached()
            await self._confirm(entry, answer.id if entry.makes else "")

    async def look(self, entry: Entry) -> None:
        """Check whether a lost write has arrived. Raises NotSaved."""
        # What is seen is what was there now, however long the answer takes.
        now = self._pending.now()
        try:
            await self._caller()
            if self.is_of_another(entry):
                self._pending.tell()
                return
            found = await self._found(entry)
        except ApiError as error:
            await self._not_found(entry, now, error)
            return
        self._connection.reached()
        if found:
            await self._confirm(entry, found.remote_id)
        elif entry.settles_at is not None and now < entry.settles_at:
            # It may still arrive: it is not sent again before that.
            again = min(entry.settles_at, now + max(FIRST_LOOK, 2 * (now - (entry.started_at or now))))
            await self._pending.step(entry.id, partial(steps.unread, due_at=again, reason=LOST))
        else:
            await self._pending.step(entry.id, partial(steps.absent, now=self._pending.now()))

    async def _found(self, entry: Entry) -> AlreadyDone | None:
        """Return what the server made of `entry`. None if it is not on the server. Raises ApiError."""
        from octavo.data.writes.kinds import kind_of  # lazy: the areas of the API that write

        claimed = self._pending.state.read(lambda db: ledger.claimed(db, self._pending.state.namespace))
        attempt = Attempt(entry.op, entry.basis, entry.baseline, entry.since, await self._caller(), claimed)
        return await kind_of(entry.op).find(self._send, attempt)

    async def _not_found(self, entry: Entry, now: datetime, error: ApiError) -> None:
        """Record that the check failed."""
        reason = f"Octavo could not check whether this arrived. {error}"
        refused, own = fate(error, has_left=False) == "refused", _is_own(error)
        settles = entry.settles_at is not None and now < entry.settles_at
        if refused and not entry.makes:
            await self._refuse(entry, str(error))
        elif entry.makes and not settles and (refused or (own and entry.put_off + 1 >= PATIENCE)):
            await self._pending.step(entry.id, partial(steps.absent, now=now, cause=str(error)))
        else:
            due = self._connection.failed(error)
            await self._pending.step(entry.id, partial(steps.unread, due_at=due, reason=reason, own=own))

    async def _not_done(self, entry: Entry, error: ApiError, *, has_left: bool) -> None:
        match fate(error, has_left=has_left):
            case "refused":
                await self._refuse(entry, str(error))
            case "unknown":
                await self.lose(entry)
            case "waiting":
                due, reason = self._connection.failed(error), f"Not sent yet. {error}"
                postponed = partial(steps.postponed, due_at=due, reason=reason, own=_is_own(error))
                await self._pending.step(entry.id, postponed)

    async def lose(self, entry: Entry, reason: str = LOST, after: timedelta = FIRST_LOOK) -> None:
        """Mark `entry` as lost, to be checked `after` some time. Raises NotSaved."""
        now = self._pending.now()
        # It left before now at the latest, whenever that was: the machine may have slept since it began.
        settles_at = now + self._timeout + self._settle
        lost = partial(steps.lost, due_at=now + after, settles_at=settles_at, reason=reason)
        await self._pending.step(entry.id, lost)

    async def _refuse(self, entry: Entry, cause: str, *, contested: bool = False) -> None:
        state = self._pending.state

        def give_back(db: sqlite3.Connection, entry: Entry) -> None:
            if entry.place and entry.words:
                put_back(db, state.namespace, entry.place, entry.words, entry.id, state.now())

        reason = f"Could not {entry.doing}: {cause}"
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

    async def park(self, entry: Entry, reason: str) -> None:
        """Let `entry` wait until the user decides. Raises NotSaved."""
        await self._pending.step(entry.id, partial(steps.parked, reason=reason))

    async def _caller(self) -> str | None:
        """Return the id of the signed-in user. None if the server does not say."""
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

    def _posted_thread(self, entry: Entry) -> str | None:
        """Return the id of the thread of `entry`, if that was not posted yet when `entry` was written. Empty if it was.

        None if the thread was not posted, and will not be.
        """
        thread = entry.facts.thread
        if not thread.startswith("pending-"):
            return ""
        posted = self._pending.state.read(lambda db: ledger.done(db, thread.removeprefix("pending-")))
        return (posted.remote or None) if posted else None


def _is_own(error: ApiError) -> bool:
    """Whether the error concerns this request alone: the server responds to other requests."""
    return not isinstance(error, (Unreachable, RateLimited, Unauthorized))


def _without(failed: int) -> str:
    """Return why a review is not sent: some of its comments were refused."""
    if failed == 1:
        return "one pending comment was not sent. Send or discard it first, then submit the review again."
    return f"{failed} pending comments were not sent. Send or discard them first, then submit the review again."
