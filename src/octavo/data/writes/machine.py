"""The steps of a write in the outbox. Pure.

    held ── released ──────> queued ── started ──> sending ── confirmed ───────> done
     ^  ─── held_for_user ───  │ ^                 │  │  └─── refused ─────────> failed
     └─────────────────────────┘ └─── postponed ───┘  └─── outcome_unknown ────> unknown
                                 └─── not_found, or retried ───────────────────────┘ └── confirmed ──> done

`sending` is on disk before the request leaves. A write whose response was lost is `unknown`: Octavo looks for the write
on the server until the server can no longer act on it. If the write is not found:

- A write that only sets a state is sent again until the server has that state, unless another person has changed it.
- A write that creates an item is not sent again: the API cannot tell that both are the same write, and the first may still
  arrive. The user decides. Octavo keeps looking, and a write that arrives late is done.

Writes to one place (a space, or a change request) are sent in the order written. Places do not wait for each other. A write
that waits for the user, or fails for its own reasons, delays only the writes that need it: replies to the thread that it
creates, changes of the same thread, and its review. The same applies to a change of a thread whose response was lost.

A comment of a review is `pending` until the review is submitted. Then the comment is held and sent like any other, and the
review after it. Undo of the review makes the comment pending again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from octavo.data.writes.write_kind import Basis, WriteFacts

if TYPE_CHECKING:
    from octavo.api.places import Discussion
    from octavo.data.writes.write_kind import DurableWrite

EntryState = Literal["pending", "held", "queued", "sending", "unknown", "failed", "done"]
LONGEST_ROUND = timedelta(minutes=5)
"""Longest pause before a write that was not found is looked for, or sent, again."""
PATIENCE = 5
"""Number of postponements for its own reasons after which a write no longer delays later writes of its place."""
LOOKS = 5
"""Number of failed lookups after which an unknown write no longer delays later writes of its place: 15 seconds."""
LIFETIME = timedelta(hours=24)
"""A write that waited longer is not sent without asking."""


@dataclass(frozen=True)
class NewWrite:
    """A write for the outbox: `action` follows “Could not”, and `draft_key` is the key of its draft."""

    op: DurableWrite
    action: str
    draft_key: str = ""
    basis: Basis | None = None
    """State of the target when the user wrote. None: what the screen shows."""
    context: str = ""
    """Text of the thread and its page, for messages."""
    draft_keys: tuple[str, ...] | None = None
    """Keys of the drafts that the text came from. None: `draft_key` alone."""


@dataclass(frozen=True)
class OutboxEntry:
    """A write in the outbox."""

    id: str
    op: DurableWrite
    facts: WriteFacts
    """The facts of `op`."""
    action: str
    """The action, which follows “Could not”: “reply”, “resolve the thread”."""
    created_at: datetime
    requested_at: datetime
    """When the user last asked to send the write."""
    draft_key: str = ""
    """Key of the draft that its text came from."""
    context: str = ""
    """Text of the thread and its page, for messages."""
    group: str = ""
    """Id shared by the writes that are undone together."""
    writer: str = ""
    """Id of the user who wrote. Empty if that was unknown."""
    writer_name: str = ""
    state: EntryState = "held"
    reason: str = ""
    """Reason why the write is not sent or not done yet, as a sentence. Empty if nothing is wrong."""
    held_until: datetime | None = None
    """End of the undo delay. None: the user has to ask to send the write."""
    due_at: datetime | None = None
    """Queued: the earliest time to send. Unknown: the time of the next look; None if Octavo looks no more."""
    started_at: datetime | None = None
    may_arrive_until: datetime | None = None
    """Unknown: the time after which the server can no longer act on the write. None if that is over, and nothing was found."""
    tries: int = 0
    failed_lookups: int = 0
    """Number of lookups after `may_arrive_until` that did not find the write."""
    postponements: int = 0
    """Number of failed requests of this write while the server responds to other requests."""
    baseline: tuple[str, ...] = ()
    """Result of the check before the first attempt: ids, or the signs of a change by others."""
    since: datetime | None = None
    """Time of the newest item of the baseline, by the clock of the server."""
    basis: Basis = field(default_factory=Basis)
    remote_id: str = ""
    """Id that the server gave to what the write created."""
    review: str = ""
    """Id shared by the comments of a review and the review: they are sent in the order written."""
    changed_by_others: bool = False
    """True if the write was not sent because another person had changed the target: the user decides."""
    already_done: bool = False
    """True if the write was not sent because another person had done the same."""

    @property
    def at(self) -> Discussion:
        """Return the space or change request of the write."""
        return self.op.at

    @property
    def pending_id(self) -> str:
        """Return the id of the item that the write creates: from the server, else a temporary id."""
        return self.remote_id or f"pending-{self.id}"

    @property
    def text(self) -> str:
        """Return the text that the write sends."""
        return self.facts.text

    @property
    def creates(self) -> bool:
        """Return whether the write creates something: sent twice, it would exist twice."""
        return self.facts.creates

    @property
    def is_review(self) -> bool:
        """Return whether the write submits a review."""
        return self.facts.is_review

    @property
    def needs_user(self) -> bool:
        """Return whether the write waits for the user. One that was refused and has no text only shows its message."""
        return (
            (self.state == "failed" and (self.text != "" or self.creates or self.changed_by_others))
            or (self.state == "held" and self.held_until is None)
            or (self.state == "unknown" and self.creates and self.may_arrive_until is None)
        )

    @property
    def may_still_arrive(self) -> bool:
        """Return whether the write may arrive without the user doing anything."""
        return self.state == "unknown" or not self.needs_user

    @cached_property
    def ordering_key(self) -> str:
        """Return the key of the place whose writes are sent in order: a space, or a change request."""
        return self.at.model_dump_json()

    @property
    def blocks_later(self) -> bool:
        """Return whether later writes of the same place wait for this one."""
        if self.state == "unknown" or self.failed_lookups:
            under_way = self.creates and self.failed_lookups < LOOKS
        else:
            under_way = self.state in ("queued", "sending") or (self.state == "held" and not self.needs_user)
        return under_way and self.postponements < PATIENCE

    @cached_property
    def target(self) -> tuple[str, str]:
        """Return the item that the write changes. Writes to one item are sent in the order written."""
        return self.ordering_key, self.facts.thread or f"page {self.facts.page}"


class WrongState(Exception):
    """An entry cannot take a step from its state: another instance was faster."""


def released(entry: OutboxEntry, now: datetime) -> OutboxEntry:
    """Return an entry whose undo delay is over."""
    return replace(_only(entry, "held"), state="queued", held_until=None, due_at=now, reason="")


def submitted(entry: OutboxEntry, review: str, now: datetime, held_until: datetime | None) -> OutboxEntry:
    """Return a pending comment that is sent with the others of `review`, after the undo delay."""
    due = now if held_until is None else None
    state: EntryState = "queued" if held_until is None else "held"
    entry = _only(entry, "pending")
    return replace(entry, state=state, review=review, requested_at=now, held_until=held_until, due_at=due)


def returned_to_review(entry: OutboxEntry) -> OutboxEntry:
    """Return a comment that is pending again, because its review was undone."""
    return replace(_only(entry, "held", "queued"), state="pending", review="", held_until=None, due_at=None, reason="")


def edited(entry: OutboxEntry, op: DurableWrite, facts: WriteFacts) -> OutboxEntry:
    """Return a pending comment with another text. `facts` are those of `op`."""
    return replace(_only(entry, "pending"), op=op, facts=facts)


def undo_delay_restarted(entry: OutboxEntry, now: datetime) -> OutboxEntry:
    """Return an entry with its full undo delay again, because a crash cut the delay short."""
    entry = _only(entry, "held")
    left = entry.held_until - entry.requested_at if entry.held_until is not None else timedelta()
    return replace(entry, held_until=now + left)


def held_for_user(entry: OutboxEntry, reason: str) -> OutboxEntry:
    """Return an entry that waits until the user asks to send it."""
    return replace(_only(entry, "held", "queued"), state="held", held_until=None, due_at=None, reason=reason)


def addressed(entry: OutboxEntry, thread: str) -> OutboxEntry:
    """Return a reply to, or a change of, a thread that was not posted yet, with the id that the server gave to the thread."""
    return replace(
        entry, op=entry.op.model_copy(update={"comment_id": thread}), facts=replace(entry.facts, thread=thread)
    )


def started(
    entry: OutboxEntry,
    now: datetime,
    *,
    thread: str = "",
    baseline: tuple[str, ...] = (),
    since: datetime | None = None,
) -> OutboxEntry:
    """Return an entry that is about to be sent, `addressed` to `thread` unless that is empty."""
    entry = _only(entry, "queued")
    if thread:
        entry = addressed(entry, thread)
    return replace(
        entry,
        state="sending",
        due_at=None,
        started_at=now,
        tries=entry.tries + 1,
        baseline=baseline,
        since=since,
        reason="",
    )


def confirmed(entry: OutboxEntry, remote_id: str = "", *, already_done: bool = False) -> OutboxEntry:
    """Return an entry that is done: the server said so, or has the write. `already_done`: another person had done the same."""
    entry = _only(entry, "queued", "sending", "unknown")
    already_done = already_done and entry.tries == 0
    return replace(entry, state="done", due_at=None, reason="", remote_id=remote_id, already_done=already_done)


def postponed(entry: OutboxEntry, due_at: datetime, reason: str, *, own: bool = False) -> OutboxEntry:
    """Return an entry that is sent later: it did not reach the server, or the server asked to wait.

    `own`: the server responds to other requests.
    """
    entry = _only(entry, "queued", "sending")
    return replace(entry, state="queued", due_at=due_at, reason=reason, postponements=entry.postponements + own)


def refused(entry: OutboxEntry, reason: str, *, changed_by_others: bool = False) -> OutboxEntry:
    """Return an entry that failed: the server refused it, or it was not sent because its target had changed (`changed_by_others`)."""
    entry = _only(entry, "queued", "sending", "unknown")
    return replace(entry, state="failed", due_at=None, reason=reason, changed_by_others=changed_by_others)


def outcome_unknown(entry: OutboxEntry, due_at: datetime, may_arrive_until: datetime, reason: str) -> OutboxEntry:
    """Return an entry whose response was lost. The server may act on the write until `may_arrive_until`."""
    return replace(
        _only(entry, "sending"), state="unknown", due_at=due_at, may_arrive_until=may_arrive_until, reason=reason
    )


def still_unknown(entry: OutboxEntry, due_at: datetime, reason: str, *, own: bool = False) -> OutboxEntry:
    """Return an unknown entry after a look that told nothing.

    `own`: the look failed, though the server responds to other requests.
    """
    entry = _only(entry, "unknown")
    return replace(
        entry,
        due_at=due_at,
        reason=entry.reason if entry.needs_user else reason,
        postponements=entry.postponements + own,
    )


def not_found(
    entry: OutboxEntry, now: datetime, cause: str = "the response was lost, and Octavo did not find the change."
) -> OutboxEntry:
    """Return an unknown entry that was not found. The user decides about a write that could exist twice; any other is queued."""
    entry = _only(entry, "unknown")
    pause = min(timedelta(seconds=2.0 ** min(entry.failed_lookups, 20)), LONGEST_ROUND)
    entry = replace(entry, failed_lookups=entry.failed_lookups + 1, may_arrive_until=None)
    if entry.creates:
        due = now + pause if now - entry.requested_at < LIFETIME else None
        decide = "Check on the server, then press ! to retry or discard the change. Meanwhile, Octavo will send your later changes."
        return replace(entry, due_at=due, reason=f"“{entry.action}” may have been sent: {cause} {decide}")
    return replace(entry, state="queued", due_at=now + pause if entry.failed_lookups > 1 else now, reason="")


def retried(entry: OutboxEntry, now: datetime) -> OutboxEntry:
    """Return an entry that the user asked to send. If it may have arrived, Octavo looks for it first."""
    entry = _only(entry, "pending", "held", "queued", "unknown", "failed")
    if entry.changed_by_others and not entry.creates:
        entry = replace(entry, basis=Basis(), baseline=(), changed_by_others=False)
    entry = replace(
        entry, requested_at=now, failed_lookups=min(entry.failed_lookups, 1 if entry.creates else 0), postponements=0
    )
    if entry.state == "unknown" and not entry.needs_user:
        # The server may still act on the write: looking earlier would tell nothing.
        return replace(entry, due_at=max(now, entry.due_at or now))
    return replace(entry, state="queued", held_until=None, due_at=now, reason="")


def next_due(
    entries: tuple[OutboxEntry, ...], now: datetime, *, quiet: bool = False, busy: Collection[str] = ()
) -> OutboxEntry | None:
    """Return the entry whose next step is due. None if there is none.

    `quiet`: nothing may be sent or looked for. `busy`: the places in which a step is running.
    """
    return next(_due(entries, now, quiet=quiet, busy=busy), None)


def next_wake(entries: tuple[OutboxEntry, ...], now: datetime) -> datetime | None:
    """Return the next time at which a step becomes due by itself. None if there is none."""
    times = (entry.held_until if entry.state == "held" else entry.due_at for entry in entries)
    return min((each for each in times if each is not None and each > now), default=None)


def supersedes(later: OutboxEntry, earlier: OutboxEntry) -> bool:
    """Return whether `later` makes `earlier` needless: both only resolve or reopen the same thread.

    `earlier` stays until `later` is done, so that undo of `later` leaves it. A held entry supersedes nothing yet.
    """
    return (
        earlier.state == "queued"
        and later.state in ("queued", "sending", "unknown")
        and not later.needs_user
        and earlier.target == later.target
        and earlier.facts.only_resolves
        and later.facts.only_resolves
    )


def blocked_by(entry: OutboxEntry, entries: tuple[OutboxEntry, ...]) -> OutboxEntry | None:
    """Return the entry that has to end before `entry` is sent. None if it waits for no other."""
    return next((other for each, other in _waiting(entries) if each.id == entry.id), None)


def has_review_in_flight(entries: Iterable[OutboxEntry], at: Discussion) -> bool:
    """Return whether a review of `at` is in the outbox and may still arrive."""
    return any(entry.at == at and entry.is_review and entry.may_still_arrive for entry in entries)


def _due(
    entries: tuple[OutboxEntry, ...], now: datetime, *, quiet: bool, busy: Collection[str]
) -> Iterator[OutboxEntry]:
    # First, so that entries that are released together are shown together.
    yield from (each for each in entries if each.state == "held" and each.held_until and each.held_until <= now)
    if quiet:
        return
    for entry, other in _waiting(entries):
        ready = entry.state == "unknown" or (entry.state == "queued" and other is None)
        if ready and entry.due_at is not None and entry.due_at <= now and entry.ordering_key not in busy:
            yield entry


def _waiting(entries: tuple[OutboxEntry, ...]) -> Iterator[tuple[OutboxEntry, OutboxEntry | None]]:
    """Return each entry with the one that it waits for."""
    going = (each for each in entries if each.state in ("queued", "sending", "unknown"))
    last_wish = {each.target: each for each in going if each.facts.only_resolves}
    threads: dict[str, OutboxEntry] = {}
    reviews: dict[str, OutboxEntry] = {}
    targets: dict[tuple[str, str], OutboxEntry] = {}
    places: dict[str, OutboxEntry] = {}
    stuck: set[str] = set()
    """Ids of entries that wait for the user, and of entries that need them. No other entry waits for these."""
    for entry in entries:
        needed = threads.get(entry.facts.thread) or reviews.get(entry.review)
        wish = last_wish.get(entry.target)
        instead = wish if wish is not None and wish.id != entry.id and supersedes(wish, entry) else None
        yield entry, needed or instead or targets.get(entry.target) or places.get(entry.ordering_key)
        if entry.state == "failed":
            continue
        threads[entry.pending_id] = entry
        if entry.review:
            reviews.setdefault(entry.review, entry)
        if needed is not None and needed.id in stuck:
            stuck.add(entry.id)
        elif entry.blocks_later and instead is None:
            places.setdefault(entry.ordering_key, entry)
        elif entry.needs_user or entry.state == "pending":
            stuck.add(entry.id)
        elif instead is None:
            targets.setdefault(entry.target, entry)


def _only(entry: OutboxEntry, *states: EntryState) -> OutboxEntry:
    if entry.state not in states:
        raise WrongState(f"{entry.action} is {entry.state}")
    return entry
