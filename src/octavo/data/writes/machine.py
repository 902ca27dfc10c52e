"""One write on its way, and every step it may take. All of it is pure.

    held ── released ──> queued ── started ──> sending ── confirmed ──> done
     ^  ─── parked ─────   │ ^                 │  │  └─── refused ───> failed
     └─────────────────────┘ └─── postponed ───┘  └─── lost ─────────> unknown
                             └─── absent, or retried ───────────────────┘ └── confirmed ──> done

`sending` is on disk before the first byte leaves. A write whose answer was lost is `unknown`: it is looked for, at
least until the server has acted on it, if it ever does. What only says how something shall be is then sent again until
it is so, unless somebody else changed it meanwhile. What would be there twice if it was sent twice is never sent again
unasked: the interface has no key that would tell the server that it is the same, and a request may be held up on its
way for any time. A person is asked, and it is looked for all the same: what arrives after all settles by itself.

Writes to one place, the content of a space or of a change request, go out in the order they were written; other places
do not wait for them. What waits for a person for longer than a moment, or is in trouble of its own, holds up only what
needs it: replies to the thread it makes, changes of the same thread, and the rest of its review. So does a change of a
thread whose answer was lost: nobody sees the order of changes of two threads.

What is written for a review is `gathered`: it stays until it is let go with the verdict, is then held and sent like
any other, after all that was written before it for the same review, and is gathered again when that is taken back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from octavo.data.writes.attempt import Basis, WriteFacts

if TYPE_CHECKING:
    from octavo.api.places import Discussion
    from octavo.data.writes.attempt import DurableWrite

State = Literal["gathered", "held", "queued", "sending", "unknown", "failed", "done"]
LONGEST_ROUND = timedelta(minutes=5)
"""The longest pause before what was looked for in vain is looked for, or sent, again."""
PATIENCE = 5
"""How often a write may be put off, for reasons of its own, before others of its place go first."""
LOOKS = 5
"""How often a write in doubt is looked for in vain before others of its place go first: a quarter of a minute."""
LIFETIME = timedelta(hours=24)
"""What waited longer is not sent without asking."""


@dataclass(frozen=True)
class QueuedWrite:
    """A write for the outbox: `doing` follows "Could not", `place` is that of its draft."""

    op: DurableWrite
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
    op: DurableWrite
    facts: WriteFacts
    """The facts of `op`."""
    doing: str
    """What it does, to follow "Could not": "reply", "resolve the thread"."""
    created_at: datetime
    asked_at: datetime
    """When a person last said it should be sent."""
    place: str = ""
    """Of the draft its text came from."""
    about: str = ""
    """What it is done to: the words of the thread, and its page."""
    group: str = ""
    """What it was begun with: the same for all that are taken back together."""
    writer: str = ""
    """Whose it is: the id of the user. Empty when nobody knew when it was written."""
    writer_name: str = ""
    state: State = "held"
    reason: str = ""
    """Why it is not sent yet or not done. A sentence; empty when all goes well."""
    held_until: datetime | None = None
    """When it leaves by itself. None: when it is asked to."""
    due_at: datetime | None = None
    """QueuedWrite: not before. Unknown: when it is looked for; None once that has no use any more."""
    started_at: datetime | None = None
    settles_at: datetime | None = None
    """Unknown: when the server has acted on it, if it ever does. None: that time is over, and it was not there."""
    tries: int = 0
    rounds: int = 0
    """How often it was looked for in vain, after that time."""
    put_off: int = 0
    """How often it could not be sent, or looked for, though the server answers others."""
    baseline: tuple[str, ...] = ()
    """What was there already before it was first sent: ids; of what is changed, what others' changes show in."""
    since: datetime | None = None
    """When the newest of those was posted, by the clock of the server."""
    basis: Basis = field(default_factory=Basis)
    remote: str = ""
    """What the server calls what it made."""
    review: str = ""
    """What it was let go with: the same for all that go out together, one after the other in the order written."""
    contested: bool = False
    """Refused because somebody else changed what it is about: whether it is still wanted is for a person to say."""
    needless: bool = False
    """Done without being sent: somebody else had done it."""

    @property
    def at(self) -> Discussion:
        """Where it happens."""
        return self.op.at

    @property
    def pending_id(self) -> str:
        """What its result is called until the server has a name for it."""
        return self.remote or f"pending-{self.id}"

    @property
    def words(self) -> str:
        """The text it brings."""
        return self.facts.words

    @property
    def makes(self) -> bool:
        """Whether it makes something: sent twice, that would be there twice."""
        return self.facts.makes

    @property
    def is_verdict(self) -> bool:
        """Whether it gives a review."""
        return self.facts.is_verdict

    @property
    def asks(self) -> bool:
        """Whether it waits for a person. What the server refused for good and has no words is only to be told."""
        return (
            (self.state == "failed" and (self.words != "" or self.makes or self.contested))
            or (self.state == "held" and self.held_until is None)
            or (self.state == "unknown" and self.makes and self.settles_at is None)
        )

    @property
    def is_on_its_way(self) -> bool:
        """Whether it may be there without anybody doing anything more."""
        return self.state == "unknown" or not self.asks

    @cached_property
    def place_of_order(self) -> str:
        """Where order matters: the content of a space, or of a change request."""
        return self.at.model_dump_json()

    @property
    def holds_up(self) -> bool:
        """Whether what was written after it in the same place waits for it."""
        if self.state == "unknown" or self.rounds:
            under_way = self.makes and self.rounds < LOOKS
        else:
            under_way = self.state in ("queued", "sending") or (self.state == "held" and not self.asks)
        return under_way and self.put_off < PATIENCE

    @cached_property
    def target(self) -> tuple[str, str]:
        """What it acts on. One at a time is under way for each target, in the order they were written."""
        return self.place_of_order, self.facts.thread or f"page {self.facts.page}"


class WrongState(Exception):
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


def reworded(entry: Entry, op: DurableWrite, facts: WriteFacts) -> Entry:
    """Return a pending comment with another text. `facts` are those of `op`."""
    return replace(_only(entry, "gathered"), op=op, facts=facts)


def held_anew(entry: Entry, now: datetime) -> Entry:
    """A crash cut short its time to undo: it has as much of it again."""
    entry = _only(entry, "held")
    left = entry.held_until - entry.asked_at if entry.held_until is not None else timedelta()
    return replace(entry, held_until=now + left)


def parked(entry: Entry, reason: str) -> Entry:
    """It is not sent without asking."""
    return replace(_only(entry, "held", "queued"), state="held", held_until=None, due_at=None, reason=reason)


def addressed(entry: Entry, thread: str) -> Entry:
    """Return a reply to, or a change of, a thread that was not posted yet, with the id that the server gave to the thread."""
    return replace(
        entry, op=entry.op.model_copy(update={"comment_id": thread}), facts=replace(entry.facts, thread=thread)
    )


def started(
    entry: Entry, now: datetime, *, thread: str = "", baseline: tuple[str, ...] = (), since: datetime | None = None
) -> Entry:
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


def confirmed(entry: Entry, remote: str = "", *, needless: bool = False) -> Entry:
    """It is so: the server said it, or it was found there. `needless`: it was found so before it was ever sent."""
    entry = _only(entry, "queued", "sending", "unknown")
    needless = needless and entry.tries == 0
    return replace(entry, state="done", due_at=None, reason="", remote=remote, needless=needless)


def postponed(entry: Entry, due_at: datetime, reason: str, *, own: bool = False) -> Entry:
    """It did not reach the server, or the server asked to wait. `own`: the server answers others."""
    entry = _only(entry, "queued", "sending")
    return replace(entry, state="queued", due_at=due_at, reason=reason, put_off=entry.put_off + own)


def refused(entry: Entry, reason: str, *, contested: bool = False) -> Entry:
    """The server does not do it; or it is not asked to, because somebody else changed what it is about."""
    entry = _only(entry, "queued", "sending", "unknown")
    return replace(entry, state="failed", due_at=None, reason=reason, contested=contested)


def lost(entry: Entry, due_at: datetime, settles_at: datetime, reason: str) -> Entry:
    """Nobody knows whether the server did it. By `settles_at` it has, if it ever does."""
    return replace(_only(entry, "sending"), state="unknown", due_at=due_at, settles_at=settles_at, reason=reason)


def unread(entry: Entry, due_at: datetime, reason: str, *, own: bool = False) -> Entry:
    """Looking for it told nothing yet. `own`: it could not be looked for, though the server answers others."""
    entry = _only(entry, "unknown")
    return replace(entry, due_at=due_at, reason=entry.reason if entry.asks else reason, put_off=entry.put_off + own)


def absent(
    entry: Entry, now: datetime, cause: str = "the response was lost, and Octavo did not find the change."
) -> Entry:
    """It was looked for and is not there: a person is asked about what would be there twice, all else is sent again."""
    entry = _only(entry, "unknown")
    pause = min(timedelta(seconds=2.0 ** min(entry.rounds, 20)), LONGEST_ROUND)
    entry = replace(entry, rounds=entry.rounds + 1, settles_at=None)
    if entry.makes:
        due = now + pause if now - entry.asked_at < LIFETIME else None
        decide = "Check the server, then press ! to retry or discard it. Later changes are sent meanwhile."
        return replace(entry, due_at=due, reason=f"“{entry.doing}” may have been sent: {cause} {decide}")
    return replace(entry, state="queued", due_at=now + pause if entry.rounds > 1 else now, reason="")


def retried(entry: Entry, now: datetime) -> Entry:
    """A person said it should be sent. What may have arrived is looked for first, even so."""
    entry = _only(entry, "gathered", "held", "queued", "unknown", "failed")
    if entry.contested and not entry.makes:
        entry = replace(entry, basis=Basis(), baseline=(), contested=False)
    entry = replace(entry, asked_at=now, rounds=min(entry.rounds, 1 if entry.makes else 0), put_off=0)
    if entry.state == "unknown" and not entry.asks:
        # One that still settles is not looked for any earlier.
        return replace(entry, due_at=max(now, entry.due_at or now))
    return replace(entry, state="queued", held_until=None, due_at=now, reason="")


def next_up(
    entries: tuple[Entry, ...], now: datetime, *, quiet: bool = False, busy: Collection[str] = ()
) -> Entry | None:
    """The entry something is to be done about now. `quiet`: nothing may be sent or asked for. `busy`: the places where
    something is being done."""
    return next(_due(entries, now, quiet=quiet, busy=busy), None)


def next_wake(entries: tuple[Entry, ...], now: datetime) -> datetime | None:
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
        and earlier.facts.only_resolves
        and later.facts.only_resolves
    )


def waits_for(entry: Entry, entries: tuple[Entry, ...]) -> Entry | None:
    """The write that is done, or given up, before `entry` is sent. None when it waits for no other."""
    return next((other for each, other in _waiting(entries) if each.id == entry.id), None)


def is_reviewing(entries: Iterable[Entry], at: Discussion) -> bool:
    """Whether a verdict on `at` is on its way, after its comments."""
    return any(entry.at == at and entry.is_verdict and entry.is_on_its_way for entry in entries)


def _due(entries: tuple[Entry, ...], now: datetime, *, quiet: bool, busy: Collection[str]) -> Iterator[Entry]:
    # First of all, so that what is released together is seen together.
    yield from (each for each in entries if each.state == "held" and each.held_until and each.held_until <= now)
    if quiet:
        return
    for entry, other in _waiting(entries):
        ready = entry.state == "unknown" or (entry.state == "queued" and other is None)
        if ready and entry.due_at is not None and entry.due_at <= now and entry.place_of_order not in busy:
            yield entry


def _waiting(entries: tuple[Entry, ...]) -> Iterator[tuple[Entry, Entry | None]]:
    """Each entry, and which one it waits for."""
    going = (each for each in entries if each.state in ("queued", "sending", "unknown"))
    last_wish = {each.target: each for each in going if each.facts.only_resolves}
    threads: dict[str, Entry] = {}
    reviews: dict[str, Entry] = {}
    targets: dict[tuple[str, str], Entry] = {}
    places: dict[str, Entry] = {}
    stuck: set[str] = set()
    """Those that wait for a person, and those that need one of them: nobody else waits for them."""
    for entry in entries:
        needed = threads.get(entry.facts.thread) or reviews.get(entry.review)
        wish = last_wish.get(entry.target)
        instead = wish if wish is not None and wish.id != entry.id and replaces(wish, entry) else None
        yield entry, needed or instead or targets.get(entry.target) or places.get(entry.place_of_order)
        if entry.state == "failed":
            continue
        threads[entry.pending_id] = entry
        if entry.review:
            reviews.setdefault(entry.review, entry)
        if needed is not None and needed.id in stuck:
            stuck.add(entry.id)
        elif entry.holds_up and instead is None:
            places.setdefault(entry.place_of_order, entry)
        elif entry.asks or entry.state == "gathered":
            stuck.add(entry.id)
        elif instead is None:
            targets.setdefault(entry.target, entry)


def _only(entry: Entry, *states: State) -> Entry:
    if entry.state not in states:
        raise WrongState(f"{entry.doing} is {entry.state}")
    return entry
