"""Takes one write to the server: asks what is there, sends it, and finds out what became of it."""

from __future__ import annotations

import asyncio
import sqlite3
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Literal

from octavo.api.errors import ApiError, NotSent, Outcome, RateLimited, Rejected, Unauthorized, Unreachable
from octavo.api.operation import Operation
from octavo.data import ledger
from octavo.data.connection import Connection
from octavo.data.drafts import put_back
from octavo.data.pending import Pending
from octavo.data.sending import Send
from octavo.data.writes import machine as steps
from octavo.data.writes.machine import LIFETIME, PATIENCE, Entry, replaces

if TYPE_CHECKING:
    from octavo.api.users import User
    from octavo.data.comment_write import CommentWrite
    from octavo.data.readback import AlreadyDone
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
        from octavo.data.readback import AlreadyDone, ChangedSince, prepare  # brings the comments with it

        try:
            await self._caller()
        except ApiError as error:
            await self._not_done(entry, error, travelled=False)
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
        op = self._addressed(entry)
        if op is None:
            await self._refuse(entry, "the thread was not posted.")
            return
        again = entry.makes and entry.rounds > 0
        try:
            if again and (found := await self._found(entry)):
                await self._confirm(entry, found.remote)
                return
            before = entry.baseline if entry.rounds else ()
            ready = await prepare(await self._before(entry), op, entry.basis, await self._caller(), before)
        except ApiError as error:
            await self._not_done(entry, error, travelled=False)
            return
        match ready:
            case AlreadyDone():
                self._connection.reached()
                await self._confirm(entry, ready.remote, needless=True)
                return
            case ChangedSince():
                await self._refuse(entry, f"{ready.sentence}.", contested=True)
                return
        # What was sent before may arrive still: all that was not there before that may be it.
        baseline, since = (entry.baseline, entry.since) if again else (ready.baseline, ready.since)
        start = partial(steps.started, op=op, now=self._pending.now(), baseline=baseline, since=since)
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
            await self._not_done(entry, error, travelled=True)
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
            await self._confirm(entry, found.remote)
        elif entry.settles_at is not None and now < entry.settles_at:
            # It may still arrive: it is not sent again before that.
            again = min(entry.settles_at, now + max(FIRST_LOOK, 2 * (now - (entry.started_at or now))))
            await self._pending.step(entry.id, partial(steps.unread, due_at=again, reason=LOST))
        else:
            await self._pending.step(entry.id, partial(steps.absent, now=self._pending.now()))

    async def _found(self, entry: Entry) -> AlreadyDone | None:
        """Return what the server made of `entry`. None if it is not on the server. Raises ApiError."""
        from octavo.data.readback import look  # brings the comments with it

        claimed = self._pending.state.read(lambda db: ledger.claimed(db, self._pending.state.namespace))
        return await look(self._send, entry, await self._caller(), claimed)

    async def _not_found(self, entry: Entry, now: datetime, error: ApiError) -> None:
        """Record that the check failed."""
        reason = f"Octavo could not check whether this arrived. {error}"
        refused, own = verdict(error, travelled=False) == "refused", _is_own(error)
        settles = entry.settles_at is not None and now < entry.settles_at
        if refused and not entry.makes:
            await self._refuse(entry, str(error))
        elif entry.makes and not settles and (refused or (own and entry.put_off + 1 >= PATIENCE)):
            await self._pending.step(entry.id, partial(steps.absent, now=now, cause=str(error)))
        else:
            due = self._connection.failed(error)
            await self._pending.step(entry.id, partial(steps.unread, due_at=due, reason=reason, own=own))

    async def _not_done(self, entry: Entry, error: ApiError, *, travelled: bool) -> None:
        match verdict(error, travelled=travelled):
            case "refused":
                await self._refuse(entry, str(error))
            case "lost":
                await self.lose(entry)
            case "waits":
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

    def _addressed(self, entry: Entry) -> CommentWrite | None:
        """Its operation with the name the server gave to a thread that was pending when it was written.

        None when there is no such thread and will not be.
        """
        thread = entry.facts.thread
        if not thread.startswith("pending-"):
            return entry.op
        made = self._pending.state.read(lambda db: ledger.done(db, thread.removeprefix("pending-")))
        return entry.op.model_copy(update={"comment_id": made.remote}) if made and made.remote else None


def verdict(error: ApiError, *, travelled: bool) -> Literal["refused", "waits", "lost"]:
    """Return what an error means for a write. `travelled`: the write itself failed, not a read before it."""
    if isinstance(error, (Unauthorized, RateLimited, NotSent)) or error.outcome is Outcome.NOT_SENT:
        return "waits"
    if error.outcome is Outcome.REFUSED:
        return "refused"
    return "lost" if travelled else "waits"


def _is_own(error: ApiError) -> bool:
    """Whether the error concerns this request alone: the server responds to other requests."""
    return not isinstance(error, (Unreachable, RateLimited, Unauthorized))


def _without(failed: int) -> str:
    """Return why a review is not sent: some of its comments were refused."""
    if failed == 1:
        return "one pending comment was not sent. Send or discard it first, then submit the review again."
    return f"{failed} pending comments were not sent. Send or discard them first, then submit the review again."
