"""Random events while writes are sent: each write is applied exactly once or still queued.

A write never arrives after a later write of the same place, unless the user decided to resend it.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import NewWrite
from octavo.server.rest import RequestContext
from tests.data.conftest import MIA, ManualOutbox
from tests.data.connections import FaultyConnection, ProcessKilled, add_write
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context, space_with

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite

R = TypeVar("R")

TIMEOUT, SETTLE = 30.0, 30.0
BOUNDED = ["", "not sent", "lost request", "lost response", "late 20", "late 59", "stalled 40"]
BOUNDED += ["killed lost request", "killed lost response", "killed late 20"]
"""Faults of a connection that delays nothing for longer than a search."""
UNBOUNDED = [*BOUNDED, "late 300", "killed late 300"]
READ_FAULTS = ["", "", "", "not sent", "lost response", "killed lost response", "slow 25"]
TEXTS = ["LGTM", "Why?", "- one\n- two"]
WHERE = ["reply", "intro", "usage", "space", "other space"]
WRITES = st.tuples(st.sampled_from([*TEXTS, "Note"]), st.sampled_from(WHERE))


class OutboxMachine(RuleBasedStateMachine):
    """A small platform, and the outboxes of Mia on one bad connection."""

    line: FaultyConnection

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clock()
        self.context = small_context(self.clock)
        self.platform = Platform(self.context)
        self.ask = Ask(self.platform)
        self.state = StateDb(None, "mia", now=self.clock)

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        return self.runner.run(work)

    def start(self) -> ManualOutbox:
        return ManualOutbox(
            self.line,
            self.state,
            Drafts(self.state),
            me=MIA,
            timeout=TIMEOUT,
            arrival_margin=SETTLE,
            jitter=lambda: 0.0,
        )

    def teardown(self) -> None:
        self.runner.close()
        self.state.close()
        self.platform.close()
        self.context.store.close()


class ArrivalRecordingConnection(FaultyConnection):
    """A connection that records the order in which texts arrived in each space."""

    def __init__(self, context: RequestContext, clock: Clock) -> None:
        super().__init__(context, clock)
        self.arrived: dict[str, list[str]] = {}

    def apply(self, op: Operation[Any]) -> Any:
        answer = super().apply(op)
        if isinstance(op, comments.Create | comments.CreateReply):
            self.arrived.setdefault(getattr(op.at, "space_id", ""), []).append(op.body.markdown)
        return answer


class OutboxWrites(OutboxMachine):
    """Two instances of the app on one machine and a bad connection. One instance sends for both."""

    line: ArrivalRecordingConnection

    def __init__(self) -> None:
        super().__init__()
        self.line = ArrivalRecordingConnection(self.context.for_user("mia"), self.clock)
        self.added: Counter[str] = Counter()
        self.resent: Counter[str] = Counter()
        """Writes that the user resent while they were still in flight."""
        self.notes: dict[str, str] = {}
        """Entries by their unique text, in the order in which they were written."""
        self.needed_user: set[str] = set()
        """Entries that needed the user at some time, and pending comments."""
        self.undone: Counter[str] = Counter()
        self.elsewhere: Counter[str] = Counter()
        self.pending_added_by: dict[str, ManualOutbox] = {}
        """The instance that added each pending comment."""

    @initialize()
    def begin(self) -> None:
        self.here = self.run(space_with(self.ask, intro="# Intro", usage="# Usage")).ref
        self.other = self.run(space_with(self.ask, intro="# Intro")).ref
        self.thread = self.run(self.ask(comments.Create(at=self.here, body=Markdown(markdown="A thread"))))
        self.instances = [self.start(), self.start()]

    @rule(which=st.integers(0, 1), writes=st.lists(WRITES, min_size=1, max_size=4))
    def add(self, which: int, writes: list[tuple[str, str]]) -> None:
        for words, where in writes:
            self.add_one(which, words, where)

    @rule(which=st.integers(0, 1), words=st.sampled_from(TEXTS))
    def add_pending(self, which: int, words: str) -> None:
        op = comments.Create(at=self.here, page="intro", body=Markdown(markdown=words))
        instance = self.instances[which]
        (entry,) = self.run(instance.add_pending_comments([NewWrite(op, "comment", f"place {self.added.total()}")]))
        assert self.is_on_disk(entry.id), "It is on disk when add_pending returns"
        self.added[words] += 1
        self.pending_added_by[entry.id] = instance

    @rule(which=st.integers(0, 1))
    def submit_review(self, which: int) -> None:
        self.run(self.instances[which].submit_review(self.here))

    def add_one(self, which: int, words: str, where: str) -> None:
        if words == "Note":
            words = f"Note {len(self.notes)}"
        body = Markdown(markdown=words)
        ops: dict[str, DurableWrite] = {
            "reply": comments.CreateReply(at=self.here, comment_id=self.thread.id, body=body),
            "intro": comments.Create(at=self.here, page="intro", body=body),
            "usage": comments.Create(at=self.here, page="usage", body=body),
            "space": comments.Create(at=self.here, body=body),
            "other space": comments.Create(at=self.other, body=body),
        }
        entry = self.run(
            add_write(self.instances[which], ops[where], action="comment", draft_key=f"place {self.added.total()}")
        )
        assert self.is_on_disk(entry.id), "It is on disk when add returns"
        self.added[words] += 1
        if words.startswith("Note"):
            self.notes[words] = entry.id

    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds=seconds)
        self.line.deliver_late()

    @rule(
        seconds=st.sampled_from([0, 5, 25, 61]),
        write_fault=st.sampled_from(UNBOUNDED),
        read_fault=st.sampled_from(READ_FAULTS),
        steps=st.integers(1, 12),
    )
    def send(self, seconds: int, write_fault: str, read_fault: str, steps: int) -> None:
        self.wait(seconds)
        self.line.write_fault, self.line.read_fault = write_fault, read_fault
        for _ in range(steps):
            for which in (0, 1):
                try:
                    self.run(self.instances[which].step())
                except ProcessKilled:
                    self.crash(which)
                self.note_needs_user(which)

    send_more = send  # Twice, so that most steps send.

    @precondition(lambda self: not any(each.tries and each.state != "failed" for each in self.instances[0].entries))
    @rule(words=st.sampled_from(TEXTS))
    def post_same_text(self, words: str) -> None:
        self.run(self.ask(comments.Create(at=self.here, body=Markdown(markdown=words)), "mia"))
        self.elsewhere[words] += 1

    @rule(which=st.integers(0, 1), how=st.sampled_from(["crash", "quit", "undo", "steal lock"]))
    def disturb(self, which: int, how: str) -> None:
        if how == "crash":
            self.crash(which)
        elif how == "steal lock":
            self.state._locks.clear()  # As if a user deleted the lock file: then both instances send.
        elif how == "quit":
            self.run(self.instances[which].close())
            self.instances[which] = self.start()
        else:
            self.instances[which]._entries.reload()
            pending = {entry.id for entry in self.instances[which].entries if entry.state == "pending"}
            undone = self.run(self.instances[which].undo_newest())
            for entry in undone.undone if undone else ():
                if entry.draft_key and not self.is_on_disk(
                    entry.id
                ):  # One undo may cancel several writes. Each becomes a draft.
                    self.undone[entry.traits.text] += 1
                    kept = self.state.rows("SELECT text FROM drafts WHERE place = ?", entry.draft_key)
                    assert (entry.traits.text,) in kept
                    assert entry.id not in pending or self.pending_added_by[entry.id] is self.instances[which], (
                        "Only the instance that added a pending comment makes it a draft"
                    )

    def crash(self, which: int) -> None:
        self.instances[which]._worker.release_lock()  # The operating system releases the lock of a killed process.
        self.instances[which] = self.start()

    @precondition(lambda self: any(entry.needs_user for entry in self.instances[0].entries))
    @rule(which=st.integers(0, 1))
    def retry(self, which: int) -> None:
        self.note_needs_user(which)
        for entry in self.instances[which].entries:
            if entry.needs_user:
                self.resent[entry.traits.text] += sum(op == entry.op for op in self.line.late_requests)
                self.run(self.instances[which].retry(entry.id))

    def note_needs_user(self, which: int) -> None:
        self.instances[which]._entries.reload()
        self.needed_user |= {entry.id for entry in self.instances[which].entries if entry.needs_user}

    @invariant()
    def no_write_is_lost_or_repeated(self) -> None:
        if not hasattr(self, "instances"):
            return
        posted, queued = self.posted(), self.queued()
        for words in self.added | self.elsewhere:
            wanted = self.added[words] - self.undone[words] + self.elsewhere[words]
            most = wanted + self.resent[words]
            assert posted[words] <= most, f"{words!r}: on the platform {posted[words]} times, written {wanted} times"
            assert posted[words] + queued[words] >= wanted, f"{words!r} is lost"

    @invariant()
    def writes_arrive_in_order(self) -> None:
        order = list(self.notes)
        for arrived in self.line.arrived.values():
            numbers = [order.index(words) for words in dict.fromkeys(arrived) if words in self.notes]
            for place, number in enumerate(numbers):
                assert number == max(numbers[: place + 1]) or self.notes[order[number]] in self.needed_user, (
                    f"{order[number]} arrived after {order[max(numbers[: place + 1])]}"
                )

    def teardown(self) -> None:
        if hasattr(self, "instances"):
            self.send_everything()
            wanted = self.added - self.undone + self.elsewhere
            assert wanted <= self.posted() <= wanted + self.resent
        super().teardown()

    def send_everything(self) -> None:
        self.line.write_fault = self.line.read_fault = ""
        for _ in range(400):
            for which in (0, 1):
                self.note_needs_user(which)
                if not self.line.late_requests:
                    self.retry_all(which)
                while self.run(self.instances[which].step()) == 0:
                    pass
            if not self.queued():
                return
            self.wait(31)
        raise AssertionError(f"unsent: {self.instances[0].entries}")

    def retry_all(self, which: int) -> None:
        self.run(self.instances[which].submit_review(self.here))
        for entry in self.instances[which].entries:
            if entry.needs_user:
                self.run(self.instances[which].retry(entry.id))

    def posted(self) -> Counter[str]:
        """Return the comments of Mia on the platform."""
        path, other = (f"/spaces/{each.space_id}/comments" for each in (self.here, self.other))
        store = self.context.store
        documents = [*store.all(path), *store.all(f"{path}/{self.thread.id}/replies"), *store.all(other)]
        return Counter(each["body"]["markdown"] for each in documents if each["postedBy"] == "mia")

    def queued(self) -> Counter[str]:
        """Return how often each text is queued on disk."""
        self.instances[0]._entries.reload()
        return Counter(entry.traits.text for entry in self.instances[0].entries)

    def is_on_disk(self, entry_id: str) -> bool:
        return bool(self.state.rows("SELECT 1 FROM outbox WHERE id = ?", entry_id))


def test_each_write_is_applied_once_or_still_queued() -> None:
    run_state_machine_as_test(OutboxWrites, settings=settings(max_examples=15, stateful_step_count=40, deadline=None))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_each_write_is_applied_once_or_still_queued_in_long_runs() -> None:
    run_state_machine_as_test(OutboxWrites, settings=settings(max_examples=2000, stateful_step_count=50, deadline=None))
