"""The states of a write in the outbox, the transitions between them, and the order in which writes are sent. Also
`WriteKind`, and what each error means for a write. All functions are pure: a transition returns a changed copy of an entry.

    Transition          From                       To         When
    release             held                       queued     the undo delay is over
    start               queued                     sending    the target is checked. Stored before the request is sent
    confirm             sending, unknown, queued   done       the server has the change. From `queued`: another user
                                                              or a later write made it, or a search has found it
    mark_response_lost  sending                    unknown    the response was lost
    refuse              sending, unknown, queued   failed     the server refuses the write or the search. From `queued`:
                                                              also if another user has changed the target
    postpone            queued, sending            queued     the write did not reach the server, or the server is busy
    schedule_search     unknown                    unknown    a search failed, or the write may still arrive
    mark_not_found      unknown                    queued     a search did not find a write that only sets a state
    mark_not_found      unknown                    unknown    a search did not find an item that the write creates
    retry               held, failed, unknown,     queued     the user sends the write again
                        queued
    retry               unknown                    unknown    the same, while the server may act on the first request
    wait_for_user       held, queued               held       the write waits without an end, until the user retries it
    restart_undo_delay  held                       held       a crash cut the undo delay short
    submit              pending                    held       the review is submitted. `queued` without an undo delay
    return_to_review    held, queued               pending    the review is undone

Undo and discard delete an entry that is not being sent. The docstring of writes/__init__.py says what happens to an
`unknown` entry.

Writes to the same space or change request are sent in the order they were written. Writes to other spaces and
change requests do not wait for them. Three kinds of writes delay only the writes that depend on them:

- writes that wait for the user
- writes that fail although the server responds to other requests
- changes of a thread whose response was lost

A reply depends on the write that creates its thread. A change of a thread depends on earlier changes of the same thread.
A review depends on its comments.

A comment of a review is `pending` until the review is submitted. Then the comment is held and sent like others, and the
review after it. Undoing the review makes the comment pending again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from octavo.api.errors import MAY_BE_DONE, ApiError, NotSent, Outcome, RateLimited, Unauthorized, Unreachable
from octavo.api.operation import SPECS, Operation
from octavo.api.wire import url_path
from octavo.data.access import Send
from octavo.settings.table import MAX_UNDO_SECONDS

if TYPE_CHECKING:
    from octavo.api import comments, reviews
    from octavo.data.database import Transaction

    DurableWrite: TypeAlias = (
        comments.Create
        | comments.CreateReply
        | comments.Update
        | comments.UpdateReply
        | comments.Delete
        | comments.DeleteReply
        | reviews.Submit
    )
    """An operation that can wait in the outbox. Its row in store.py has `is_durable=True`."""
    from octavo.api.operation import Discussion

W = TypeVar("W", bound=Operation[Any])

MAX_CLOCK_DIFFERENCE = timedelta(minutes=2)
"""Assumed maximum difference between the clocks of a server's machines."""


@dataclass(frozen=True, slots=True)
class WriteTraits:
    """Properties of a write that decide about its order, its checks and its messages."""

    thread_id: str = ""
    """ID of the comment that the write changes or replies to. Empty for other writes."""
    page_id: str = ""
    """ID of the page on which the write starts a thread. Empty for other writes."""
    block_key: str = ""
    """Key of the block on which the write starts a thread. Empty for other writes."""
    text: str = ""
    creates: bool = False
    """True if the write creates an item, such as a comment. Sending it twice would create two items."""
    is_review: bool = False
    only_resolves: bool = False
    """True if the write only resolves or reopens a thread."""


@dataclass(frozen=True)
class ExpectedState:
    """State of the target as the user saw it, such as the text of the comment. The write is sent only if the target is
    still in this state, but `is_open` may differ. Attributes that are unknown or do not matter are None."""

    text: str | None = None
    """Markdown of the comment."""
    is_open: bool | None = None
    revision: str | None = None
    """Head revision of the change request."""
    base: str | None = None
    """Revision of main from which the change request starts."""
    status: str | None = None
    is_outdated: bool | None = None
    """True if main has changed since `base`."""
    main: str | None = None
    """Revision of main."""
    review: str | None = None
    """ID of the user's review that this write withdraws."""


@dataclass(frozen=True)
class WriteAttempt(Generic[W]):
    """A write that is about to be sent, or that may have been sent, with the results of the check before it."""

    op: W
    expected: ExpectedState = ExpectedState()
    baseline: tuple[str, ...] | None = None
    """The IDs of items that existed at the check before the first request. For an edit of a comment, the `_fingerprint`
    of the comment (comment_kinds.py). Empty for other writes. None if nothing was checked."""
    newest_at: datetime | None = None
    """Server time of the newest item, such as a comment, at the check before the first request. None if unknown."""
    my_id: str | None = None
    """ID of the signed-in user. None if unknown."""
    other_created_ids: frozenset[str] = frozenset()
    """IDs of the items that other writes of this profile have created. This write cannot have created them."""

    def may_have_created(self, item_id: str, author_id: str, created_at: datetime | None) -> bool:
        """Return whether this write may have created an item, judging by the item's ID, author and creation time."""
        return (
            item_id not in (self.baseline or ())
            and item_id not in self.other_created_ids
            and self.my_id in (None, author_id)
            and (self.newest_at is None or created_at is None or created_at >= self.newest_at - MAX_CLOCK_DIFFERENCE)
        )


class Ready(NamedTuple):
    """Result of a check: the write may be sent. The attributes have the same meaning as in WriteAttempt."""

    baseline: tuple[str, ...] = ()
    newest_at: datetime | None = None


@dataclass(frozen=True)
class AlreadyDone:
    """Result of a check or of a search: the server already has the change."""

    remote_id: str = ""
    """The server's ID of the created item. Empty if the write creates no item."""
    result: Any = None
    """The response for the caller, as if the write had been sent now. None if no caller needs a response."""
    remark: str = ""
    """Sentence for the user that says why nothing was sent. Usually empty."""


class Changed(NamedTuple):
    """Result of a check: the target has changed, so the write is not sent."""

    reason: str
    """Reason without full stop, to follow “Could not …: ” in a message."""
    new_revision: str | None = None
    """New head revision of the change request, if it prevents an edit of pages. None for other changes."""

    @property
    def message(self) -> str:
        """The reason as a sentence."""
        return f"{self.reason[:1].upper()}{self.reason[1:]}."


Check: TypeAlias = Ready | AlreadyDone | Changed


async def _no_check(send: Send, attempt: WriteAttempt[Any]) -> Check:
    return Ready()


def no_undo(reason: str) -> Callable[[Operation[Any], ExpectedState], str]:
    """Return a function for `WriteKind.undo` of a write that cannot be undone. `reason` is a sentence for the user."""
    return lambda op, expected: reason


def _default_lock_name(op: Operation[Any], expected: ExpectedState) -> str:
    return f"{SPECS[type(op)].method.lower()} {url_path(op)}"


@dataclass(frozen=True)
class WriteKind(Generic[W]):
    """The functions that check, find and undo writes of one operation type."""

    search: Callable[[Send, WriteAttempt[W]], Awaitable[AlreadyDone | None]]
    """Searches the server for the result after a lost response. Returns None if there is none. Raises ApiError."""
    check: Callable[[Send, WriteAttempt[W]], Awaitable[Check]] = _no_check
    """Reads the target before the write is sent, and compares it with `expected`. Raises ApiError."""
    traits: Callable[[W], WriteTraits] = lambda op: WriteTraits()
    """Returns the traits of a write. Not called for direct writes."""
    undo: Callable[[W, ExpectedState], Operation[Any] | str] = lambda op, expected: ""
    """Returns the operation that undoes the write, or a sentence that says why not. Not called for direct writes."""
    is_durable: bool = False
    """True if writes of this kind can wait in the outbox."""
    lock_name: Callable[[W, ExpectedState], str] = _default_lock_name
    """Returns the lock name of a direct write. Two writes with the same lock name are not sent at the same time."""


Failure: TypeAlias = Literal["refused", "waiting", "unknown"]


def classify_failure(error: ApiError, *, was_sent: bool) -> Failure:
    """Return what an error means for a write: `refused` if the write failed, `waiting` if it can be sent later, and
    `unknown` if the server may have done it. `was_sent` is False if a request before the write failed."""
    if isinstance(error, (Unauthorized, RateLimited, NotSent)) or error.outcome is Outcome.NOT_SENT:
        return "waiting"
    if error.outcome is Outcome.REFUSED:
        return "refused"
    return "unknown" if was_sent else "waiting"


def cause_of(error: ApiError) -> str:
    """Return the message of an error without the warning that the change may have been made."""
    return str(error).removesuffix(MAY_BE_DONE).rstrip()


def concerns_one_request(error: ApiError) -> bool:
    """Return whether other requests may succeed in spite of this error."""
    return not isinstance(error, (Unreachable, RateLimited, Unauthorized))


EntryState = Literal["pending", "held", "queued", "sending", "unknown", "failed", "done"]
MAX_PAUSE = timedelta(minutes=5)
"""Maximum time between a search that found nothing and the next search or attempt."""
MAX_OWN_FAILURES = 5
"""Number of `own_failures` after which a write no longer delays later writes."""
MAX_BLOCKING_SEARCHES = 5
"""Number of failed searches after which a write no longer delays later writes."""
MAX_WRITE_AGE = timedelta(hours=24)
"""A write that was requested longer ago is sent only if the user retries it."""
_MAX_UNDO = timedelta(seconds=MAX_UNDO_SECONDS)
NOT_FOUND = "the response was lost, and Octavo did not find the change."
ONCE_PREFIX = "once "
"""Prefix of a draft key: a write of a command with `--once KEY` has the draft key `once KEY`."""


@dataclass(frozen=True)
class NewWrite:
    """A write to add to the outbox."""

    op: DurableWrite
    action: str
    """Phrase for the write that can follow “Could not”, such as `resolve the thread`."""
    draft_key: str = ""
    """Key of the draft with the text of the write. After a cancel or refusal, the text becomes this draft again."""
    expected: ExpectedState | None = None
    """State of the target as the user saw it. None for the state on screen when the write is added."""
    context: str = ""
    """Text of the thread and title of its page, for messages. May be empty."""
    used_draft_keys: tuple[str, ...] | None = None
    """Keys of the drafts to delete when the write is added. If None, only the draft `draft_key` is deleted."""
    block_text: str = ""
    """Beginning of the text of the block that a new comment is on. Empty if unknown, or for the old side of a diff."""
    condition: Transaction[bool] | None = None
    """Returns whether to add the write, in the transaction that adds it. If None, the write is always added."""


@dataclass(frozen=True)
class OutboxEntry:
    """A write in the outbox, with its state. See NewWrite for `op`, `action`, `draft_key`, `context`, `block_text` and
    `expected`, and WriteAttempt for `baseline` and `newest_at`."""

    id: str
    op: DurableWrite
    traits: WriteTraits
    action: str
    created_at: datetime
    requested_at: datetime
    """When the user made or submitted the write, or last retried it."""
    draft_key: str = ""
    context: str = ""
    block_text: str = ""
    group: str = ""
    """ID of the group of writes that are undone together."""
    author_id: str = ""
    """ID of the user who made the write. Empty if unknown."""
    author_name: str = ""
    state: EntryState = "held"
    reason: str = ""
    """Sentence that says why the write is not done. Empty if there is no problem."""
    held_until: datetime | None = None
    """End of the undo delay. In the state `held`, None means that the write waits until the user retries the write."""
    due_at: datetime | None = None
    """When Octavo will send a queued write, or search for an unknown write. None if nothing is planned."""
    started_at: datetime | None = None
    may_arrive_until: datetime | None = None
    """Until this time, the server may still act on a request whose response was lost. None without such a request."""
    tries: int = 0
    failed_searches: int = 0
    """Number of searches after `may_arrive_until` that did not find the write."""
    own_failures: int = 0
    """Number of failed requests for this write while the server responded to other requests."""
    baseline: tuple[str, ...] = ()
    newest_at: datetime | None = None
    expected: ExpectedState = field(default_factory=ExpectedState)
    remote_id: str = ""
    """The server's ID of the created item. Empty if the write is not done or creates no item."""
    review: str = ""
    """ID that a submitted review and its comments have in common. Empty for other writes."""
    changed_by_others: bool = False
    """True if the write was not sent because another user had changed the target."""
    already_done: bool = False
    """True if another user had made the same change first."""
    refused_status: int | None = None
    """HTTP status of the response that refused the write. None if no response refused the write."""

    @property
    def at(self) -> Discussion:
        """The space or change request that the write changes."""
        return self.op.at

    @property
    def created_id(self) -> str:
        """ID of the created item: `pending-ENTRY` until the server has given it an ID."""
        return self.remote_id or f"pending-{self.id}"

    @property
    def needs_user(self) -> bool:
        """True if the user must decide what happens with the write. A failed write counts only if it has text, creates
        an item, or was not sent because another user had changed the target."""
        traits = self.traits
        return (
            (self.state == "failed" and (traits.text != "" or traits.creates or self.changed_by_others))
            or self.waits_for_user
            or (self.state == "unknown" and traits.creates and self.may_arrive_until is None)
        )

    @property
    def is_in_flight(self) -> bool:
        """True if the write may have been sent, or will be sent without an action of the user."""
        return self.state in ("queued", "sending", "unknown") or (self.state == "held" and not self.waits_for_user)

    @property
    def waits_for_user(self) -> bool:
        """True if the write is not sent until the user retries it. False during an undo delay."""
        return self.state == "held" and self.held_until is None

    @property
    def was_not_found(self) -> bool:
        """True if a search did not find the item that the write creates. Octavo searches again before a new attempt."""
        return self.traits.creates and self.failed_searches > 0

    @cached_property
    def ordering_key(self) -> str:
        """Key of the space or change request. A write waits for earlier writes of this key that delay later ones."""
        return self.at.model_dump_json()

    @property
    def delays_later_writes(self) -> bool:
        """True if all later writes with the same `ordering_key` must wait for this write."""
        if self.own_failures >= MAX_OWN_FAILURES:
            return False
        if self.state == "unknown" or self.failed_searches:
            return self.traits.creates and self.failed_searches < MAX_BLOCKING_SEARCHES
        return self.is_in_flight

    @cached_property
    def target(self) -> tuple[str, str]:
        """`ordering_key`, and the thread or page. Writes to one target that do not need the user are sent in order."""
        return self.ordering_key, self.traits.thread_id or f"page {self.traits.page_id}"


class WrongState(Exception):
    """A transition is not possible, because the entry is in another state. Another process may have changed it."""


def release(entry: OutboxEntry, now: datetime) -> OutboxEntry:
    """Queue a held entry: the undo delay is over."""
    return replace(_require_state(entry, "held"), state="queued", held_until=None, due_at=now, reason="")


def submit(entry: OutboxEntry, review_id: str, now: datetime, held_until: datetime | None) -> OutboxEntry:
    """Submit a pending comment with the review `review_id`: as `held`, or as `queued` if `held_until` is None."""
    due_at = now if held_until is None else None
    state: EntryState = "queued" if held_until is None else "held"
    entry = _require_state(entry, "pending")
    return replace(entry, state=state, review=review_id, requested_at=now, held_until=held_until, due_at=due_at)


def return_to_review(entry: OutboxEntry) -> OutboxEntry:
    """Return a comment of an undone review as a pending comment."""
    return replace(
        _require_state(entry, "held", "queued"), state="pending", review="", held_until=None, due_at=None, reason=""
    )


def edit(entry: OutboxEntry, op: DurableWrite, traits: WriteTraits) -> OutboxEntry:
    """Return `entry`, an unsent comment, with another text or block from the write `op` and its `traits`."""
    return replace(_require_state(entry, "pending", "held", "queued"), op=op, traits=traits)


def restart_undo_delay(entry: OutboxEntry, now: datetime) -> OutboxEntry:
    """Begin the undo delay of a held entry again, after a crash."""
    entry = _require_state(entry, "held")
    delay = entry.held_until - entry.requested_at if entry.held_until is not None else timedelta()
    # After several crashes, `held_until` may be long after `requested_at`, so `delay` is limited.
    return replace(entry, held_until=now + min(delay, _MAX_UNDO))


def limit_times(entry: OutboxEntry, now: datetime, may_arrive_for: timedelta) -> OutboxEntry:
    """Return `entry` with its times limited to `now`, because the clock may have been set back. `may_arrive_until` may
    be up to `may_arrive_for` later. Raises WrongState unless `entry` is queued or unknown."""
    entry = _require_state(entry, "queued", "unknown")
    limits = {"requested_at": now, "due_at": now, "started_at": now, "may_arrive_until": now + may_arrive_for}
    times = [(name, getattr(entry, name), limit) for name, limit in limits.items()]
    return replace(entry, **{name: min(time, limit) for name, time, limit in times if time is not None})


def wait_for_user(entry: OutboxEntry, reason: str) -> OutboxEntry:
    """Hold an entry until the user retries it. `reason` is a sentence."""
    return replace(_require_state(entry, "held", "queued"), state="held", held_until=None, due_at=None, reason=reason)


def set_thread(entry: OutboxEntry, thread_id: str) -> OutboxEntry:
    """Return the entry with the server's thread ID in place of the temporary thread ID."""
    return replace(
        entry,
        op=entry.op.model_copy(update={"comment_id": thread_id}),
        traits=replace(entry.traits, thread_id=thread_id),
    )


def start(
    entry: OutboxEntry,
    now: datetime,
    *,
    thread_id: str = "",
    baseline: tuple[str, ...] = (),
    newest_at: datetime | None = None,
) -> OutboxEntry:
    """Return a queued entry in the state `sending`. If `thread_id` is given, it replaces a temporary ID of the thread.
    `baseline` and `newest_at` come from the check before sending, and are explained in `WriteAttempt`."""
    entry = _require_state(entry, "queued")
    if thread_id:
        entry = set_thread(entry, thread_id)
    return replace(
        entry,
        state="sending",
        due_at=None,
        started_at=now,
        tries=entry.tries + 1,
        baseline=baseline,
        newest_at=newest_at,
        reason="",
    )


def confirm(entry: OutboxEntry, remote_id: str = "", *, already_done: bool = False) -> OutboxEntry:
    """Return `entry` as done. `remote_id` is the ID of the created item, if any. `already_done` is True if another user
    had made the same change. It is ignored if `entry` was tried before: that try may have made the change."""
    entry = _require_state(entry, "queued", "sending", "unknown")
    already_done = already_done and entry.tries == 0
    return replace(entry, state="done", due_at=None, reason="", remote_id=remote_id, already_done=already_done)


def postpone(entry: OutboxEntry, due_at: datetime, reason: str, *, own_failure: bool = False) -> OutboxEntry:
    """Queue an entry again, to be sent at `due_at`. `own_failure` is True if the server responds to other requests."""
    entry = _require_state(entry, "queued", "sending")
    own_failures = entry.own_failures + own_failure
    return replace(entry, state="queued", due_at=due_at, reason=reason, own_failures=own_failures)


def refuse(
    entry: OutboxEntry, reason: str, *, changed_by_others: bool = False, status: int | None = None
) -> OutboxEntry:
    """Return the entry as failed, because the server or a check has refused it. `reason` is a sentence. `status` is the
    HTTP status of a refused request, else None. `changed_by_others` is True if another user had changed the target."""
    entry = _require_state(entry, "queued", "sending", "unknown")
    return replace(
        entry, state="failed", due_at=None, reason=reason, changed_by_others=changed_by_others, refused_status=status
    )


def mark_response_lost(entry: OutboxEntry, due_at: datetime, may_arrive_until: datetime, reason: str) -> OutboxEntry:
    """Return `entry` with the state `unknown`, because its response was lost. The first search is at `due_at`."""
    entry = _require_state(entry, "sending")
    return replace(entry, state="unknown", due_at=due_at, may_arrive_until=may_arrive_until, reason=reason)


def schedule_search(entry: OutboxEntry, due_at: datetime, reason: str, *, own_failure: bool = False) -> OutboxEntry:
    """Plan the next search for an entry in the state `unknown`. `own_failure` is True if a request for the entry failed
    while the server responded to other requests."""
    entry = _require_state(entry, "unknown")
    reason = entry.reason if entry.needs_user else reason
    return replace(entry, due_at=due_at, reason=reason, own_failures=entry.own_failures + own_failure)


def mark_not_found(entry: OutboxEntry, now: datetime, cause: str = NOT_FOUND) -> OutboxEntry:
    """Record that a search found nothing. An entry that creates an item stays unknown, until the user decides or a
    search finds it. Other entries are queued. `cause` ends with a full stop."""
    entry = _require_state(entry, "unknown")
    pause = min(timedelta(seconds=2.0 ** min(entry.failed_searches, 20)), MAX_PAUSE)
    entry = replace(entry, failed_searches=entry.failed_searches + 1, may_arrive_until=None)
    if entry.traits.creates:
        due_at = now + pause if now - entry.requested_at < MAX_WRITE_AGE else None
        advice = "Check on the server, then press ! to retry or discard the change. Meanwhile, Octavo will send your later changes."
        return replace(entry, due_at=due_at, reason=f"“{entry.action}” may have been sent: {cause} {advice}")
    return replace(entry, state="queued", due_at=now + pause if entry.failed_searches > 1 else now, reason="")


def retry(entry: OutboxEntry, now: datetime) -> OutboxEntry:
    """Return an entry queued again, because the user retries it. An entry in the state `unknown` stays in this state
    while the server may still act on its request, because Octavo first searches for the result."""
    entry = _require_state(entry, "held", "queued", "unknown", "failed")
    if entry.changed_by_others and not entry.traits.creates:
        entry = replace(entry, expected=ExpectedState(), baseline=(), changed_by_others=False)
    # If the write creates an item, keep one failed search, so that `was_not_found` stays True.
    failed_searches = min(entry.failed_searches, 1 if entry.traits.creates else 0)
    entry = replace(entry, requested_at=now, failed_searches=failed_searches, own_failures=0)
    if entry.state == "unknown" and not entry.needs_user:
        # While the server may still act on the request, a search without result proves nothing.
        return replace(entry, due_at=max(now, entry.due_at or now))
    return replace(entry, state="queued", held_until=None, due_at=now, reason="")


def next_due(
    entries: tuple[OutboxEntry, ...], now: datetime, *, is_paused: bool = False, busy_keys: Collection[str] = ()
) -> OutboxEntry | None:
    """Return the entry that Octavo must process now. None if no entry is due. During a pause, only undo delays end.
    Entries with an ordering key in `busy_keys` are neither sent nor checked."""
    # Undo delays end first, so that a group changes on screen at the same time.
    for entry in entries:
        if entry.state == "held" and entry.held_until and not timedelta() < entry.held_until - now <= _MAX_UNDO:
            return entry  # The delay is over, or would last too long, because the clock was set back.
    for entry, blocker in () if is_paused else _with_blockers(entries):
        is_ready = entry.state == "unknown" or (entry.state == "queued" and blocker is None)
        if is_ready and entry.due_at is not None and entry.due_at <= now and entry.ordering_key not in busy_keys:
            return entry
    return None


def next_wake(entries: tuple[OutboxEntry, ...], now: datetime) -> datetime | None:
    """Return the next time at which `next_due` may return another entry. None if there is no such time."""
    times = (entry.held_until if entry.state == "held" else entry.due_at for entry in entries)
    return min((time for time in times if time is not None and time > now), default=None)


def supersedes(later: OutboxEntry, earlier: OutboxEntry) -> bool:
    """Return whether `later` makes the queued entry `earlier` unnecessary, because both only resolve or reopen the same
    thread. False if `later` waits for the user. `earlier` stays queued until `later` is done."""
    return (
        earlier.state == "queued"
        and later.state in ("queued", "sending", "unknown")
        and not later.needs_user
        and earlier.target == later.target
        and earlier.traits.only_resolves
        and later.traits.only_resolves
    )


def blocked_by(entry: OutboxEntry, entries: tuple[OutboxEntry, ...]) -> OutboxEntry | None:
    """Return the entry that must end before `entry` is sent. None if `entry` need not wait."""
    return next((blocker for other, blocker in _with_blockers(entries) if other.id == entry.id), None)


def has_review_in_flight(entries: Iterable[OutboxEntry], at: Discussion) -> bool:
    """Return whether a review of `at` may have been sent, or will be sent without an action of the user."""
    return any(entry.at == at and entry.traits.is_review and entry.is_in_flight for entry in entries)


def _with_blockers(entries: tuple[OutboxEntry, ...]) -> Iterator[tuple[OutboxEntry, OutboxEntry | None]]:
    """Yield each entry, and the entry that it waits for: an earlier one, or a later one that supersedes it, or None."""
    unended_entries = (entry for entry in entries if entry.state in ("queued", "sending", "unknown"))
    last_resolve_by_target = {entry.target: entry for entry in unended_entries if entry.traits.only_resolves}
    by_thread: dict[str, OutboxEntry] = {}
    by_review: dict[str, OutboxEntry] = {}
    by_target: dict[tuple[str, str], OutboxEntry] = {}
    by_ordering_key: dict[str, OutboxEntry] = {}
    stuck_ids: set[str] = set()
    """IDs of entries that wait for the user, or that need such an entry first. Unrelated entries do not wait."""
    for entry in entries:
        prerequisite = by_thread.get(entry.traits.thread_id) or by_review.get(entry.review)
        last_resolve = last_resolve_by_target.get(entry.target)
        is_superseded = last_resolve is not None and last_resolve.id != entry.id and supersedes(last_resolve, entry)
        superseded_by = last_resolve if is_superseded else None
        yield (
            entry,
            prerequisite or superseded_by or by_target.get(entry.target) or by_ordering_key.get(entry.ordering_key),
        )
        if entry.state == "failed":
            continue
        by_thread[entry.created_id] = entry
        if entry.review:
            by_review.setdefault(entry.review, entry)
        if prerequisite is not None and prerequisite.id in stuck_ids:
            stuck_ids.add(entry.id)
        elif entry.delays_later_writes and superseded_by is None:
            by_ordering_key.setdefault(entry.ordering_key, entry)
        elif entry.needs_user or entry.state == "pending":
            stuck_ids.add(entry.id)
        elif superseded_by is None:
            by_target.setdefault(entry.target, entry)


def _require_state(entry: OutboxEntry, *states: EntryState) -> OutboxEntry:
    if entry.state not in states:
        raise WrongState(f"{entry.action} is {entry.state}")
    return entry
