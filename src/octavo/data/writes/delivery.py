"""Sends an entry of the outbox after a check of its target, and searches for its result if the response was lost."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any, TypeVar

from octavo.api import comments, users
from octavo.api.errors import ApiError, Outcome, RateLimited, Rejected, Unauthorized
from octavo.api.operation import SPECS, Operation
from octavo.data.access import Send
from octavo.data.drafts import store_unsent_text
from octavo.data.queries import all_threads_op
from octavo.data.writes import machine
from octavo.data.writes.machine import (
    MAX_OWN_FAILURES,
    MAX_WRITE_AGE,
    AlreadyDone,
    Changed,
    OutboxEntry,
    Ready,
    WriteAttempt,
    classify_failure,
    concerns_one_request,
    supersedes,
)
from octavo.data.writes.store import OutboxEntries, change_entry, created_ids, find_done_entry, kind_of

if TYPE_CHECKING:
    from octavo.api.operation import Discussion
    from octavo.api.users import User

T = TypeVar("T")

CLOSED = "Octavo was closed before the response arrived. Before retrying, Octavo will check whether the server received the change."
RESPONSE_LOST = "The response was lost. Before retrying, Octavo will check whether the server received the change."
FIRST_SEARCH_DELAY = timedelta(seconds=1)
"""Time after a lost response until the first search. The request may still arrive at the server."""
MAX_SINGLE_READS = 3
"""Maximum number of threads that Octavo reads one by one for checks. For more, Octavo reads the list of threads."""
MAX_LIST_AGE = timedelta(seconds=10)
"""Maximum age of a list that is read instead of single threads, because other users may change the threads."""
MAX_WAIT_SECONDS = 60.0


class Account:
    """The signed-in user. Knows which entries of the outbox this user may send."""

    def __init__(self, send: Send, user: User | None) -> None:
        self.user = user
        """The user that the server has named in this session. None if unknown."""
        self.remembered_user: User | None = None
        """The user of an earlier session. The token may belong to another user now. None if unknown."""
        self.entries_of_process: set[str] = set()
        """IDs of the entries that this process added for the signed-in user."""
        self._send = send
        self._has_requested_user = False

    async def load_user_id(self) -> str | None:
        """Return the ID of the user, which the first call loads. None if the server names no user. Raises ApiError."""
        if self.user is None and not self._has_requested_user:
            try:
                self.user = await self._send(users.Me())
            except (Unauthorized, RateLimited):
                raise
            except Rejected as error:
                if error.outcome is not Outcome.REFUSED:
                    raise
            self._has_requested_user = True
        return self.user.id if self.user else None

    def may_send(self, entry: OutboxEntry) -> bool:
        """Return False if the server would record the wrong author, because another user made the entry."""
        if self.user is None or not self.user.id or entry.id in self.entries_of_process:
            return True
        return entry.author_id in ("", self.user.id)


class OutboxDelivery:
    """Sends entries of the outbox. The caller delivers one entry at a time for each space or change request.
    All methods raise NotSaved."""

    def __init__(
        self,
        send: Send,
        entries: OutboxEntries,
        connection: ConnectionState,
        account: Account,
        *,
        request_timeout: timedelta,
        may_arrive_for: timedelta,
    ) -> None:
        """`may_arrive_for` is the time during which the server may still act on a request that was sent."""
        self._send = send
        self._entries = entries
        self._connection = connection
        self._account = account
        self._thread_lists = _ThreadLists(send, entries)
        self._request_timeout = request_timeout
        self.may_arrive_for = may_arrive_for

    async def deliver(self, entry: OutboxEntry) -> None:
        """Check a queued entry. Send it unless it is too old or done, or its target has changed. Store the result."""
        try:
            await self._account.load_user_id()
        except ApiError as error:
            await self._store_failure(entry, error, was_sent=False)
            return
        if not self._account.may_send(entry):
            self._entries.changed.notify()  # screens show that another account must send this entry
            return
        if self._entries.now() - entry.requested_at > MAX_WRITE_AGE:
            reason = "This change is more than a day old. Retry the change to send it, or discard it."
            await self._entries.apply(entry.id, partial(machine.wait_for_user, reason=reason))
            return
        if cause := self._refused_comments_reason(entry):
            await self._refuse(entry, cause)
            return
        thread = self._posted_thread(entry)
        if thread is None:
            await self._refuse(entry, "the thread was not posted.")
            return
        entry = machine.set_thread(entry, thread) if thread else entry
        try:
            if entry.was_not_found and (already_done := await self._search(entry)):
                await self._confirm(entry, already_done.remote_id)
                return
            baseline = entry.baseline if entry.failed_searches else None
            attempt = WriteAttempt(entry.op, entry.expected, baseline, my_id=await self._account.load_user_id())
            check = await kind_of(entry.op).check(await self._thread_lists.sender_for_check(entry), attempt)
        except ApiError as error:
            await self._store_failure(entry, error, was_sent=False)
            return
        match check:
            case AlreadyDone():
                self._connection.record_success()
                await self._confirm(entry, check.remote_id, already_done=True)
                return
            case Changed():
                await self._refuse(entry, f"{check.reason}.", changed_by_others=True)
                return
        # An item that arrived after the last search would be in a new baseline, so the entry keeps its first baseline.
        baseline_source: OutboxEntry | Ready = entry if entry.was_not_found else check
        baseline, newest_at = baseline_source.baseline, baseline_source.newest_at
        start = partial(
            machine.start, now=self._entries.now(), thread_id=thread, baseline=baseline, newest_at=newest_at
        )
        if started := await self._entries.apply(entry.id, start):  # the state is stored before the request is sent
            await self._send_started(started)

    async def _send_started(self, entry: OutboxEntry) -> None:
        op: Operation[Any] = entry.op
        try:
            async with asyncio.timeout(self._request_timeout.total_seconds()):
                response = await self._send(op)
        except ApiError as error:
            await self._store_failure(entry, error, was_sent=True)
        except TimeoutError:
            await self.record_lost_response(entry)
        else:
            self._connection.record_success()
            await self._confirm(entry, response.id if entry.traits.creates else "")

    async def search_for_lost_write(self, entry: OutboxEntry) -> None:
        """Search the server for the result of an `unknown` entry. Store the outcome, or the time of the next search."""
        # The time is read before the request, so that the response is not older than `now`.
        now = self._entries.now()
        try:
            await self._account.load_user_id()
            if not self._account.may_send(entry):
                self._entries.changed.notify()
                return
            result = await self._search(entry)
        except ApiError as error:
            await self._store_failed_search(entry, now, error)
            return
        self._connection.record_success()
        if result:
            await self._confirm(entry, result.remote_id)
        elif entry.may_arrive_until is not None and now < entry.may_arrive_until:
            due_at = min(entry.may_arrive_until, now + max(FIRST_SEARCH_DELAY, 2 * (now - (entry.started_at or now))))
            await self._entries.apply(entry.id, partial(machine.schedule_search, due_at=due_at, reason=RESPONSE_LOST))
        else:
            await self._entries.apply(entry.id, partial(machine.mark_not_found, now=self._entries.now()))

    async def record_lost_response(
        self, entry: OutboxEntry, reason: str = RESPONSE_LOST, delay: timedelta = FIRST_SEARCH_DELAY
    ) -> None:
        """Store that the response to an entry was lost, and why (`reason`). The first search follows after `delay`."""
        now = self._entries.now()
        # The time is counted from now, because the computer may have been asleep since `started_at`.
        may_arrive_until = now + self.may_arrive_for
        mark_response_lost = partial(
            machine.mark_response_lost, due_at=now + delay, may_arrive_until=may_arrive_until, reason=reason
        )
        await self._entries.apply(entry.id, mark_response_lost)

    async def _search(self, entry: OutboxEntry) -> AlreadyDone | None:
        other_ids, me = created_ids(self._entries.state), await self._account.load_user_id()
        attempt = WriteAttempt(entry.op, entry.expected, entry.baseline, entry.newest_at, me, other_ids)
        return await kind_of(entry.op).search(self._send, attempt)

    async def _store_failed_search(self, entry: OutboxEntry, now: datetime, error: ApiError) -> None:
        reason = f"Octavo could not check whether the server received this change. {error}"
        is_refused, is_own_failure = classify_failure(error, was_sent=False) == "refused", concerns_one_request(error)
        may_arrive = entry.may_arrive_until is not None and now < entry.may_arrive_until
        fails_too_often = is_own_failure and entry.own_failures + 1 >= MAX_OWN_FAILURES
        if is_refused and not entry.traits.creates:
            await self._refuse(entry, str(error), status=error.status)
        elif entry.traits.creates and not may_arrive and (is_refused or fails_too_often):
            await self._entries.apply(entry.id, partial(machine.mark_not_found, now=now, cause=str(error)))
        else:
            due_at = self._connection.record_failure(error)
            schedule_search = partial(machine.schedule_search, due_at=due_at, reason=reason, own_failure=is_own_failure)
            await self._entries.apply(entry.id, schedule_search)

    async def _store_failure(self, entry: OutboxEntry, error: ApiError, *, was_sent: bool) -> None:
        match classify_failure(error, was_sent=was_sent):
            case "refused":
                await self._refuse(entry, str(error), status=error.status)
            case "unknown":
                await self.record_lost_response(entry)
            case "waiting":
                due_at, reason = self._connection.record_failure(error), f"Not sent yet. {error}"
                is_own_failure = concerns_one_request(error)
                postpone = partial(machine.postpone, due_at=due_at, reason=reason, own_failure=is_own_failure)
                await self._entries.apply(entry.id, postpone)

    async def _refuse(
        self, entry: OutboxEntry, cause: str, *, changed_by_others: bool = False, status: int | None = None
    ) -> None:
        namespace, now = self._entries.state.namespace, self._entries.now()
        reason = f"Could not {entry.action}: {cause}"
        refuse = partial(machine.refuse, reason=reason, changed_by_others=changed_by_others, status=status)
        await self._entries.apply(entry.id, refuse, lambda db, entry: store_unsent_text(db, namespace, entry, now))

    async def _confirm(self, entry: OutboxEntry, remote_id: str = "", *, already_done: bool = False) -> None:
        """Store that `entry` and earlier entries that it supersedes are done. Parameters: see `machine.confirm`."""
        earlier_entries = takewhile(lambda other: other.id != entry.id, self._entries.all)
        superseded_ids = [other.id for other in earlier_entries if supersedes(entry, other)]

        def confirm_superseded(db: sqlite3.Connection, entry: OutboxEntry) -> None:
            for entry_id in superseded_ids:
                change_entry(db, self._entries.state.namespace, entry_id, machine.confirm, self._entries.now())

        confirm = partial(machine.confirm, remote_id=remote_id, already_done=already_done and not superseded_ids)
        await self._entries.apply(entry.id, confirm, confirm_superseded)

    def _refused_comments_reason(self, entry: OutboxEntry) -> str:
        """Return why a review cannot be sent: some of its comments were refused. Empty if no comment was refused."""
        if not entry.traits.is_review or not entry.review:
            return ""
        refused_count = sum(other.review == entry.review and other.state == "failed" for other in self._entries.all)
        if not refused_count:
            return ""
        unsent_phrase = "one pending comment was" if refused_count == 1 else f"{refused_count} pending comments were"
        comments_phrase = "the comment" if refused_count == 1 else "the comments"
        return f"{unsent_phrase} not sent. Send or discard {comments_phrase} first, then submit the review again."

    def _posted_thread(self, entry: OutboxEntry) -> str | None:
        """Return the server's ID of the thread of `entry`. None if the thread was not posted. Empty if the
        thread ID in `entry` is not temporary."""
        thread = entry.traits.thread_id
        if not thread.startswith("pending-"):
            return ""
        posted = find_done_entry(self._entries.state, thread.removeprefix("pending-"))
        return (posted.remote_id or None) if posted else None


class _ThreadLists:
    """Lists of threads that replace single reads, if many threads are resolved at once."""

    def __init__(self, send: Send, entries: OutboxEntries) -> None:
        self._send, self._entries = send, entries
        self._lists: dict[Discussion, tuple[datetime, dict[str, comments.Comment]]] = {}

    async def sender_for_check(self, entry: OutboxEntry) -> Send:
        """Return the function with which `entry` reads the server before it is sent. If many threads of its discussion
        are to be resolved, the function takes the threads from a list that is loaded once. Raises ApiError."""
        if not _is_unsent_resolve(entry):
            return self._send
        now = self._entries.now()
        self._lists = {at: read for at, read in self._lists.items() if abs(now - read[0]) < MAX_LIST_AGE}
        if entry.at not in self._lists:
            if (
                sum(other.at == entry.at and _is_unsent_resolve(other) for other in self._entries.all)
                <= MAX_SINGLE_READS
            ):
                return self._send
            op = all_threads_op(entry.at)
            self._lists[entry.at] = now, {thread.id: thread for thread in (await self._send(op)).items}
        threads = self._lists[entry.at][1]

        async def send(op: Operation[T]) -> T:
            # A thread is taken from the list only once, because the write then changes the thread.
            is_thread = SPECS[type(op)].name == "comments.Get"
            thread: Any = threads.pop(getattr(op, "comment_id", ""), None) if is_thread else None
            return thread if thread is not None else await self._send(op)

        return send


def _is_unsent_resolve(entry: OutboxEntry) -> bool:
    return entry.state == "queued" and entry.traits.only_resolves and entry.tries == 0


class ConnectionState:
    """Decides how long the outbox pauses after failed requests. The pause grows with each failure. A response ends the
    pause, unless the server limits the rate or has just refused the token."""

    def __init__(self, now: Callable[[], datetime], jitter: Callable[[], float]) -> None:
        self.stop_reason = ""
        """Sentence that says why nothing is sent until `end_pause` is called. Empty if sending is not stopped."""
        self.paused_until: datetime | None = None
        self._paused_at: datetime | None = None
        self._now = now
        self._jitter = jitter
        self._failures = 0
        self._is_rate_limited = False
        self._is_token_refused = False
        self._reason = ""

    @property
    def pause_reason(self) -> str:
        """Sentence that says why nothing is sent now. Empty if there is no pause."""
        return self.stop_reason or (self._reason if self._has_timed_pause else "")

    @property
    def rate_limited_until(self) -> datetime | None:
        """Time at which the rate limit ends. None if there is no rate limit."""
        return self.paused_until if self._is_rate_limited and self._has_timed_pause else None

    @property
    def needs_sign_in(self) -> bool:
        """True if nothing is sent because the server refuses the token."""
        return self._is_token_refused and bool(self.stop_reason)

    @property
    def is_paused(self) -> bool:
        """True if nothing may be sent now."""
        return bool(self.stop_reason) or self._has_timed_pause

    @property
    def _has_timed_pause(self) -> bool:
        if self.paused_until is None or self._paused_at is None:
            return False
        # If the clock was set back, the pause begins in the future, and is ignored.
        return self._paused_at <= self._now() < self.paused_until

    def record_failure(self, error: ApiError) -> datetime:
        """Record a failed request. Return when to retry it. Pause the outbox if other requests would fail too."""
        now = self._paused_at = self._now()
        self._failures += 1
        pause_end = now + timedelta(seconds=0.5 + self._jitter() * min(MAX_WAIT_SECONDS, 2.0**self._failures))
        if isinstance(error, Unauthorized):
            self.stop_reason = f"{error} Octavo will keep your unsent changes and send them after you sign in again."
            self._is_token_refused, self._is_rate_limited, self.paused_until = True, False, pause_end
            return now
        if error.trace.retry_at is not None:
            pause_end = max(pause_end, error.trace.retry_at)
        if error.outcome is Outcome.NOT_SENT or isinstance(error, RateLimited):  # other requests would fail too
            self._reason = f"Not sent yet. {error}"
            self.paused_until, self._is_rate_limited = pause_end, isinstance(error, RateLimited)
            return now
        return pause_end

    def record_success(self) -> None:
        """Record that the server responded, which ends a pause. Do nothing during a rate limit or after a stop."""
        if not self.stop_reason and self.rate_limited_until is None:
            self._failures, self.paused_until, self._is_rate_limited = 0, None, False

    def end_pause(self) -> None:
        """End the pause or stop of sending, because the user retries or has signed in."""
        self.stop_reason, self._is_token_refused, self._is_rate_limited = "", False, False
        self.record_success()

    def record_response(self) -> bool:
        """Record the response to a request outside the outbox. Return whether this ended a pause of the outbox."""
        if self._is_token_refused and self._has_timed_pause:
            # The response to a read does not end this pause, because the server may still refuse the token for writes.
            return False
        has_waited = bool(self._failures) and not self._is_rate_limited
        if has_waited:
            if self._is_token_refused:
                self.stop_reason, self._is_token_refused = "", False
            self._failures, self.paused_until = 0, None
        return has_waited
