"""One write on its way, and every step it may take. All of it is pure.

    held ── released ──> queued ── started ──> sending ── confirmed ──> done
     ^  ─── parked ─────   │ ^                 │  │  └─── refused ───> failed
     └─────────────────────┘ └─── postponed ───┘  └─── lost ─────────> unknown
                             └─── absent ───────────────────────────────┘ └── confirmed ──> done

`sending` is on disk before the first byte leaves. A write whose answer was lost is `unknown`: it is read back
before anything is sent again. What would be there twice if it was sent twice waits for a person after two rounds of
that. What only says how something shall be is sent until it is so, unless somebody else changed it meanwhile.

What is written for a review is `gathered`: it stays until it is let go with the verdict, is then held and sent like
any other, after all that was written before it for the same review, and is gathered again when that is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Literal

from octavo.api.operation import Operation, Ref

State = Literal["gathered", "held", "queued", "sending", "unknown", "failed", "done"]
STATES: tuple[State, ...] = ("gathered", "held", "queued", "sending", "unknown", "failed", "done")
ROUNDS = 2
"""How often a lost write that makes something is looked for and sent again before a person is asked."""
LONGEST_ROUND = timedelta(minutes=5)
"""The longest pause before a lost write that may be repeated is sent again."""
LIFETIME = timedelta(hours=24)
"""What waited longer is not sent without asking."""


@dataclass(frozen=True)
class Basis:
    """What a comment was when its change was written: what the change is held against before it travels."""

    text: str | None = None
    """Its markdown, if it was known as markdown."""
    is_open: bool | None = None
    revision: str | None = None
    """Of a verdict: the revision that was read."""


@dataclass(frozen=True)
class Queued:
    """A write for the outbox: `doing` follows "Couldn't", `place` is that of its draft."""

    op: Operation[Any]
    doing: str
    place: str = ""
    basis: Basis | None = None
    """What it is held against before it travels. None: what the screens show."""
    about: str = ""
    """What it is done to: the words of the thread, and its page."""
    drafts: tuple[str, ...] | None = None
    """The places of the drafts its words came from. None: that of `place`."""


@dataclass(frozen=True)
class Entry:
    """One write that is not done."""

    id: str
    op: Operation[Any]
    doing: str
    """What it does, to follow "Couldn't": "reply", "resolve the thread"."""
    created_at: datetime
    asked_at: datetime
    """When a person last said it should be sent."""
    place: str = ""
    """Of the draft its text came from."""
    about: str = ""
    """What it is done to: the words of the thread, and its page."""
    group: str = ""
    """What it was begun with: the same for all that are taken back together."""
    state: State = "held"
    reason: str = ""
    """Why it is not sent yet or not done. A sentence; empty when all goes well."""
    held_until: datetime | None = None
    """When it leaves by itself. None: when it is asked to."""
    due_at: datetime | None = None
    """Queued: not before. Unknown: when it is looked for; None once a person is asked."""
    started_at: datetime | None = None
    tries: int = 0
    rounds: int = 0
    baseline: tuple[str, ...] = ()
    """What was there already before it was first sent: ids; of what is changed, what others' changes show in."""
    since: datetime | None = None
    """When the newest of those was posted, by the clock of the server."""
    basis: Basis = Basis()
    remote: str = ""
    """What the server calls what it made."""
    review: str = ""
    """What it was let go with: the same for all that go out together, one after the other in the order written."""
    contested: bool = False
    """Refused because somebody else changed what it is about: whether it is still wanted is for a person to say."""
    needless: bool = False
    """Done without being sent: somebody else had done it."""

    @property
    def at(self) -> Ref:
        """Where it happens."""
        place: Ref = self.op.at  # type: ignore[attr-defined]  # only writes that happen somewhere come here
        return place

    @property
    def pending_id(self) -> str:
        """What its result is called until the server has a name for it."""
        return self.remote or f"pending-{self.id}"

    @property
    def words(self) -> str:
        """The text it brings."""
        body = getattr(self.op, "body", None) or getattr(self.op, "comment", None)
        return str(body.markdown) if body else ""

    @property
    def makes(self) -> bool:
        """Whether it makes something: sent twice, that would be there twice."""
        return type(self.op).__name__ in ("Create", "CreateReply", "Submit")

    @property
    def is_verdict(self) -> bool:
        """Whether it gives a review."""
        return type(self.op).__name__ == "Submit"

    @property
    def asks(self) -> bool:
        """Whether it waits for a person. What the server refused for good and has no words is only to be told."""
        return (
            (self.state == "failed" and (self.words != "" or self.makes or self.contested))
            or (self.state == "held" and self.held_until is None)
            or (self.state == "unknown" and self.due_at is None)
        )

    @property
    def target(self) -> tuple[str, str]:
        """What it acts on. One at a time is under way for each target, in the order they were written."""
        within = getattr(self.op, "comment_id", "") or f"page {getattr(self.op, 'page', None)}"
        return self.at.model_dump_json(), within


class Misplaced(Exception):
    """An entry cannot take this step from the state it is in: somebody else was quicker."""


def released(entry: Entry, now: datetime) -> Entry:
    """Time to undo is over."""
    return replace(_only(entry, "held"), state="queued", held_until=None, due_at=now, reason="")


def let_go(entry: Entry, review: str, now: datetime, held_until: datetime | None) -> Entry:
    """What was gathered is sent with the others of `review`, once there was time to undo."""
    due = now if held_until is None else None
    state: State = "queued" if held_until is None else "held"
    entry = _only(entry, "gathered")
    return replace(entry, state=state, review=review, asked_at=now, held_until=held_until, due_at=due)


def gathered_again(entry: Entry) -> Entry:
    """That it was let go is taken back."""
    return replace(_only(entry, "held", "queued"), state="gathered", review="", held_until=None, due_at=None, reason="")


def reworded(entry: Entry, op: Operation[Any]) -> Entry:
    """What is gathered says something else."""
    return replace(_only(entry, "gathered"), op=op)


def parked(entry: Entry, reason: str) -> Entry:
    """It is not sent without asking."""
    return replace(_only(entry, "held", "queued"), state="held", held_until=None, due_at=None, reason=reason)


def started(
    entry: Entry, op: Operation[Any], now: datetime, baseline: tuple[str, ...] = (), since: datetime | None = None
) -> Entry:
    """It is about to travel as `op`: names that were pending are known by now."""
    entry = _only(entry, "queued")
    return replace(
        entry,
        op=op,
        state="sending",
        due_at=None,
        started_at=now,
        tries=entry.tries + 1,
        baseline=baseline,
        since=since,
        reason="",
    )


def confirmed(entry: Entry, remote: str = "", *, needless: bool = False) -> Entry:
    """It is so: the server said it, or it was found there. `needless`: it was found so before it was ever sent."""
    entry = _only(entry, "queued", "sending", "unknown")
    needless = needless and entry.tries == 0
    return replace(entry, state="done", due_at=None, reason="", remote=remote, needless=needless)


def postponed(entry: Entry, due_at: datetime, reason: str) -> Entry:
    """It did not reach the server, or the server asked to wait."""
    return replace(_only(entry, "queued", "sending"), state="queued", due_at=due_at, reason=reason)


def refused(entry: Entry, reason: str, *, contested: bool = False) -> Entry:
    """The server does not do it; or it is not asked to, because somebody else changed what it is about."""
    entry = _only(entry, "queued", "sending", "unknown")
    return replace(entry, state="failed", due_at=None, reason=reason, contested=contested)


def lost(entry: Entry, due_at: datetime, reason: str) -> Entry:
    """Nobody knows whether the server did it. By `due_at` it has, if it ever does."""
    return replace(_only(entry, "sending"), state="unknown", due_at=due_at, reason=reason)


def unread(entry: Entry, due_at: datetime, reason: str) -> Entry:
    """Looking for it did not work."""
    return replace(_only(entry, "unknown"), due_at=due_at, reason=reason)


def absent(entry: Entry, now: datetime) -> Entry:
    """It was looked for and is not there: once more, and after that a person is asked about what would be there twice."""
    entry = _only(entry, "unknown")
    if not entry.makes:
        pause = timedelta(seconds=2.0 ** min(entry.rounds, 20)) if entry.rounds else timedelta()
        return replace(
            entry, state="queued", rounds=entry.rounds + 1, due_at=now + min(pause, LONGEST_ROUND), reason=""
        )
    if entry.rounds + 1 >= ROUNDS:
        reason = "Its answer was lost twice, and the server does not have it. Retry, or discard it to keep the text."
        return replace(entry, rounds=entry.rounds + 1, due_at=None, reason=reason)
    return replace(entry, state="queued", rounds=entry.rounds + 1, due_at=now, reason="")


def retried(entry: Entry, now: datetime) -> Entry:
    """A person said it should be sent. What may have arrived is looked for first, even so."""
    entry = _only(entry, "gathered", "held", "queued", "unknown", "failed")
    if entry.contested and not entry.makes:
        entry = replace(entry, basis=Basis(), baseline=(), contested=False)
    if entry.state == "unknown":
        # One that still settles is not looked for any earlier.
        return replace(entry, asked_at=now, rounds=0, due_at=max(now, entry.due_at or now))
    return replace(entry, state="queued", asked_at=now, held_until=None, due_at=now, rounds=0, reason="")


def next_up(entries: tuple[Entry, ...], now: datetime, *, quiet: bool = False) -> Entry | None:
    """The entry something is to be done about now. `quiet`: nothing may be sent or asked for."""
    return next(_due(entries, now, quiet=quiet), None)


def wakes_at(entries: tuple[Entry, ...], now: datetime) -> datetime | None:
    """When, after `now`, `next_up` may have another answer, if nothing else happens."""
    times = (entry.held_until if entry.state == "held" else entry.due_at for entry in entries)
    return min((each for each in times if each is not None and each > now), default=None)


def replaces(later: Entry, earlier: Entry) -> bool:
    """Whether `later` makes `earlier`, written before it, needless: both do nothing but resolve or reopen a thread.

    `earlier` stays until `later` is done: whoever takes `later` back still has it. What is held replaces nothing yet.
    """
    return (
        earlier.state == "queued"
        and later.state in ("queued", "sending", "unknown")
        and not later.asks
        and earlier.target == later.target
        and _only_resolves(earlier.op)
        and _only_resolves(later.op)
    )


def waits_for_another(entry: Entry, entries: tuple[Entry, ...]) -> bool:
    """Whether nothing is done about `entry` before another is done: one that replaces it, makes its thread, or was
    written before it for the same review."""
    return _replaced(entry, entries) or _thread_is_pending(entry, entries) or _is_not_its_turn(entry, entries)


def _due(entries: tuple[Entry, ...], now: datetime, *, quiet: bool) -> Iterator[Entry]:
    # First of all, so that what is released together is seen together.
    yield from (each for each in entries if each.state == "held" and each.held_until and each.held_until <= now)
    if quiet:
        return
    busy: set[tuple[str, str]] = set()
    for entry in entries:
        if _replaced(entry, entries) or _is_not_its_turn(entry, entries):
            continue
        ready = entry.state in ("queued", "unknown") and entry.due_at is not None and entry.due_at <= now
        if ready and entry.target not in busy and not _thread_is_pending(entry, entries):
            yield entry
        if not entry.asks and entry.state not in ("gathered", "failed"):
            busy.add(entry.target)


def _replaced(entry: Entry, entries: tuple[Entry, ...]) -> bool:
    later = entries[[each.id for each in entries].index(entry.id) + 1 :]
    return any(replaces(each, entry) for each in later)


def _thread_is_pending(entry: Entry, entries: tuple[Entry, ...]) -> bool:
    thread = getattr(entry.op, "comment_id", "")
    return any(each.pending_id == thread and each.state != "failed" for each in entries)


def _is_not_its_turn(entry: Entry, entries: tuple[Entry, ...]) -> bool:
    if not entry.review:
        return False
    before = takewhile(lambda each: each.id != entry.id, entries)
    return any(each.review == entry.review and each.state != "failed" for each in before)


def _only_resolves(op: Operation[Any]) -> bool:
    return (
        getattr(op, "resolved", None) is not None
        and not {
            "body",
            "added_reactions",
            "removed_reactions",
        }
        & op.model_fields_set
    )


def _only(entry: Entry, *states: State) -> Entry:
    if entry.state not in states:
        raise Misplaced(f"{entry.doing} is {entry.state}")
    return entry
