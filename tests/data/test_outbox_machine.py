"""Whatever happens to writes, in whatever order: each is applied exactly once, or is still there to be seen, and none
overtakes another of the same place unless a person was asked about that one."""

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
from octavo.server.app import Platform
from octavo.server.world import World
from tests.data.conftest import MIA, ByHand
from tests.data.sends import Killed, Line
from tests.server.asking import Ask, Clock, small_world, space_with

if TYPE_CHECKING:
    from octavo.data.writes.write_kind import DurableWrite

R = TypeVar("R")

TIMEOUT, SETTLE = 30.0, 30.0
BOUNDED = ["", "not sent", "lost request", "lost answer", "late 20", "late 59", "stalled 40"]
BOUNDED += ["killed lost request", "killed lost answer", "killed late 20"]
"""Faults of a connection that delays nothing for longer than a lookup."""
UNBOUNDED = [*BOUNDED, "late 300", "killed late 300"]
READ_FAULTS = ["", "", "", "not sent", "lost answer", "killed lost answer", "slow 25"]
TEXTS = ["LGTM", "Why?", "- one\n- two"]
WHERE = ["reply", "intro", "usage", "space", "other space"]
WRITES = st.tuples(st.sampled_from([*TEXTS, "Note"]), st.sampled_from(WHERE))


class Arrivals(Line):
    """A line that knows in which order what was written arrived in each space."""

    def __init__(self, world: World, clock: Clock) -> None:
        super().__init__(world, clock)
        self.arrived: dict[str, list[str]] = {}

    def apply(self, op: Operation[Any]) -> Any:
        answer = super().apply(op)
        if isinstance(op, comments.Create | comments.CreateReply):
            self.arrived.setdefault(getattr(op.at, "space_id", ""), []).append(op.body.markdown)
        return answer


class Writes(RuleBasedStateMachine):
    """Two instances of the app on a computer, of which one is the driver, and a bad connection."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clock()
        self.world = small_world(self.clock)
        self.platform = Platform(self.world)
        self.ask = Ask(self.platform)
        self.line = Arrivals(self.world.for_user("mia"), self.clock)
        self.state = StateDb(None, "mia", now=self.clock)
        self.added: Counter[str] = Counter()
        self.dared: Counter[str] = Counter()
        """Writes that the user resent while they were still in flight."""
        self.notes: dict[str, str] = {}
        """The entry of each text that is there once, in the order they were written."""
        self.asked: set[str] = set()
        """The entries that waited for a person at some time, and those that wait for a verdict."""
        self.taken_back: Counter[str] = Counter()
        self.elsewhere: Counter[str] = Counter()
        self.gathered_by: dict[str, ByHand] = {}
        """The instance that added each pending comment."""

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        return self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        self.here = self.run(space_with(self.ask, intro="# Intro", usage="# Usage")).ref
        self.other = self.run(space_with(self.ask, intro="# Intro")).ref
        self.thread = self.run(self.ask(comments.Create(at=self.here, body=Markdown(markdown="A thread"))))
        self.instances = [self.start(), self.start()]

    def start(self) -> ByHand:
        return ByHand(
            self.line,
            self.state,
            Drafts(self.state),
            me=MIA,
            timeout=TIMEOUT,
            arrival_margin=SETTLE,
            jitter=lambda: 0.0,
        )

    @rule(which=st.integers(0, 1), writes=st.lists(WRITES, min_size=1, max_size=4))
    def add(self, which: int, writes: list[tuple[str, str]]) -> None:
        for words, where in writes:
            self.one_more(which, words, where)

    @rule(which=st.integers(0, 1), words=st.sampled_from(TEXTS))
    def gather(self, which: int, words: str) -> None:
        op = comments.Create(at=self.here, page="intro", body=Markdown(markdown=words))
        instance = self.instances[which]
        entry = self.run(instance.add_pending_comment(NewWrite(op, "comment", f"place {self.added.total()}")))
        assert self.find(entry.id), "It is on disk when gather returns"
        self.added[words] += 1
        self.gathered_by[entry.id] = instance

    @rule(which=st.integers(0, 1))
    def let_go(self, which: int) -> None:
        self.run(self.instances[which].submit_review(self.here))

    def one_more(self, which: int, words: str, where: str) -> None:
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
            self.instances[which].add(ops[where], action="comment", draft_key=f"place {self.added.total()}")
        )
        assert self.find(entry.id), "It is on disk when add returns"
        self.added[words] += 1
        if words.startswith("Note"):
            self.notes[words] = entry.id

    def wait(self, seconds: int) -> None:
        self.clock.forward(seconds=seconds)
        self.line.arrive()

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
                except Killed:
                    self.crash(which)
                self.see_who_is_asked(which)

    send_more = send  # most of what happens is sending

    @precondition(lambda self: not any(each.tries and each.state != "failed" for each in self.instances[0].entries))
    @rule(words=st.sampled_from(TEXTS))
    def say_the_same_elsewhere(self, words: str) -> None:
        self.run(self.ask(comments.Create(at=self.here, body=Markdown(markdown=words)), "mia"))
        self.elsewhere[words] += 1

    @rule(which=st.integers(0, 1), how=st.sampled_from(["crash", "quit", "undo", "usurp"]))
    def disturb(self, which: int, how: str) -> None:
        if how == "crash":
            self.crash(which)
        elif how == "usurp":
            self.state._locks.clear()  # as if somebody had removed the lock: both are drivers then
        elif how == "quit":
            self.run(self.instances[which].close())
            self.instances[which] = self.start()
        else:
            self.instances[which]._entries.reload()
            pending = {entry.id for entry in self.instances[which].entries if entry.state == "pending"}
            undone = self.run(self.instances[which].undo())
            for entry in undone.undone if undone else ():
                if entry.draft_key and not self.find(entry.id):  # one undo may cancel several, and all become drafts
                    self.taken_back[entry.facts.text] += 1
                    kept = self.state.rows("SELECT text FROM drafts WHERE place = ?", entry.draft_key)
                    assert (entry.facts.text,) in kept
                    assert entry.id not in pending or self.gathered_by[entry.id] is self.instances[which], (
                        "Only the instance that added a pending comment makes it a draft"
                    )

    def crash(self, which: int) -> None:
        self.instances[which]._worker._release_lock()  # as the kernel does when a process is gone
        self.instances[which] = self.start()

    @precondition(lambda self: any(entry.needs_user for entry in self.instances[0].entries))
    @rule(which=st.integers(0, 1))
    def retry(self, which: int) -> None:
        self.see_who_is_asked(which)
        for entry in self.instances[which].entries:
            if entry.needs_user:
                self.dared[entry.facts.text] += sum(op == entry.op for op in self.line.under_way)
                self.run(self.instances[which].retry(entry.id))

    def see_who_is_asked(self, which: int) -> None:
        self.instances[which]._entries.reload()
        self.asked |= {entry.id for entry in self.instances[which].entries if entry.needs_user}

    @invariant()
    def nothing_is_doubled_and_nothing_is_lost(self) -> None:
        if not hasattr(self, "instances"):
            return
        there, waiting = self.there(), self.waiting()
        for words in self.added | self.elsewhere:
            wanted = self.added[words] - self.taken_back[words] + self.elsewhere[words]
            most = wanted + self.dared[words]
            assert there[words] <= most, f"{words!r} is there {there[words]} times, and was written {wanted} times"
            assert there[words] + waiting[words] >= wanted, f"{words!r} is lost"

    @invariant()
    def nothing_overtakes_in_its_place(self) -> None:
        order = list(self.notes)
        for arrived in self.line.arrived.values():
            numbers = [order.index(words) for words in dict.fromkeys(arrived) if words in self.notes]
            for place, number in enumerate(numbers):
                assert number == max(numbers[: place + 1]) or self.notes[order[number]] in self.asked, (
                    f"{order[number]} arrived after {order[max(numbers[: place + 1])]}"
                )

    def teardown(self) -> None:
        if hasattr(self, "instances"):
            self.come_to_rest()
            wanted = self.added - self.taken_back + self.elsewhere
            assert wanted <= self.there() <= wanted + self.dared
        self.runner.close()
        self.state.close()
        self.platform.close()
        self.world.store.close()

    def come_to_rest(self) -> None:
        self.line.write_fault = self.line.read_fault = ""
        for _ in range(400):
            for which in (0, 1):
                self.see_who_is_asked(which)
                if not self.line.under_way:
                    self.retry_all(which)
                while self.run(self.instances[which].step()) == 0:
                    pass
            if not self.waiting():
                return
            self.wait(31)
        raise AssertionError(f"It never comes to rest: {self.instances[0].entries}")

    def retry_all(self, which: int) -> None:
        self.run(self.instances[which].submit_review(self.here))
        for entry in self.instances[which].entries:
            if entry.needs_user:
                self.run(self.instances[which].retry(entry.id))

    def there(self) -> Counter[str]:
        """Return the comments of Mia on the platform."""
        path, other = (f"/spaces/{each.space_id}/comments" for each in (self.here, self.other))
        store = self.world.store
        documents = [*store.all(path), *store.all(f"{path}/{self.thread.id}/replies"), *store.all(other)]
        return Counter(each["body"]["markdown"] for each in documents if each["postedBy"] == "mia")

    def waiting(self) -> Counter[str]:
        """Return the entries of the outbox on disk."""
        self.instances[0]._entries.reload()
        return Counter(entry.facts.text for entry in self.instances[0].entries)

    def find(self, entry_id: str) -> bool:
        return bool(self.state.rows("SELECT 1 FROM outbox WHERE id = ?", entry_id))


def test_each_write_is_applied_once_or_still_queued() -> None:
    run_state_machine_as_test(Writes, settings=settings(max_examples=15, stateful_step_count=40, deadline=None))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_each_write_is_applied_once_or_still_queued_in_long_runs() -> None:
    run_state_machine_as_test(Writes, settings=settings(max_examples=2000, stateful_step_count=50, deadline=None))
