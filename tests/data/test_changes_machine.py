"""Random faults and edits by other users never double a write, never overwrite an unseen change, and leave untouched
threads without questions to the user."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes.write_kind import Basis
from octavo.server.app import Platform
from octavo.server.store import Json
from tests.data.conftest import MIA, ByHand
from tests.data.sends import Killed, Line
from tests.data.test_outbox_machine import BOUNDED, READ_FAULTS, SETTLE, TIMEOUT
from tests.server.asking import Ask, Clock, small_world, space_with

R = TypeVar("R")

THREADS = 2
EMOJI = "1f44d"


class Watched(Line):
    """A line that tells what each change met when it arrived, and how it left it."""

    def __init__(self, machine: Changes) -> None:
        super().__init__(machine.world.for_user("mia"), machine.clock)
        self._machine = machine

    def apply(self, op: Operation[Any]) -> Any:
        if not isinstance(op, comments.Update):
            return super().apply(op)
        before = self._machine.there(op.comment_id)
        answer = super().apply(op)
        self._machine.arrived(op, before, self._machine.there(op.comment_id))
        return answer


class Changes(RuleBasedStateMachine):
    """One person's outbox on a bad line, which ends and begins again, and others who talk in the same threads."""

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.clock = Clock()
        self.world = small_world(self.clock)
        self.platform = Platform(self.world)
        self.ask = Ask(self.platform)
        self.line = Watched(self)
        self.state = StateDb(None, "mia", now=self.clock)
        self.wished: dict[str, list[tuple[str, Any]]] = {}
        """Writes of Mia for each thread, in order."""
        self.touched: set[str] = set()
        """The threads that others changed."""
        self.written: Counter[tuple[str, bool]] = Counter()
        self.flipped: Counter[tuple[str, bool]] = Counter()
        self.based_on: dict[str, str | None] = {}
        """The state that Mia saw at each of her edits."""
        self.retried: set[str] = set()
        self.number = 0

    def run(self, work: Coroutine[Any, Any, R]) -> R:
        return self.runner.run(work)

    @initialize()
    def begin(self) -> None:
        self.here = self.run(space_with(self.ask, intro="# Intro")).ref
        body = Markdown(markdown="Why?")
        self.threads = [self.run(self.ask(comments.Create(at=self.here, body=body), "mia")).id for _ in range(THREADS)]
        self.wished = {each: [] for each in self.threads}
        self.outbox = self.start()

    def start(self) -> ByHand:
        outbox = ByHand(
            self.line,
            self.state,
            Drafts(self.state),
            me=MIA,
            timeout=TIMEOUT,
            arrival_margin=SETTLE,
            jitter=lambda: 0.0,
        )
        outbox.basis_for = self.seen
        return outbox

    def there(self, thread: str) -> Json:
        return dict(self.world.store.get(f"/spaces/{self.here.space_id}/comments/{thread}"))

    def seen(self, op: Operation[Any]) -> Basis:
        """Return the threads on the screen of Mia: the state of the server with her queued writes."""
        assert isinstance(op, comments.Update)
        now = self.there(op.comment_id)
        text, is_open = str(now["body"]["markdown"]), now["status"] == "open"
        for entry in self.outbox.entries:
            if isinstance(entry.op, comments.Update) and entry.op.comment_id == op.comment_id:
                text = text if entry.state == "failed" or not entry.facts.text else entry.facts.text
        return Basis(text, is_open)

    @rule(
        which=st.integers(0, THREADS - 1),
        what=st.sampled_from(["resolve", "reopen", "edit", "react", "unreact"]),
    )
    def change(self, which: int, what: str) -> None:
        thread, where = self.threads[which], {"at": self.here, "comment_id": self.threads[which]}
        self.number += 1
        text = f"Version {self.number}"
        ops = {
            "resolve": comments.Update(**where, resolved=True),
            "reopen": comments.Update(**where, resolved=False),
            "edit": comments.Update(**where, body=Markdown(markdown=text)),
            "react": comments.Update(**where, added_reactions=(EMOJI,)),
            "unreact": comments.Update(**where, removed_reactions=(EMOJI,)),
        }
        entry = self.run(
            self.outbox.add(ops[what], action=what, draft_key=f"edit {self.number}" if what == "edit" else "")
        )
        match what:
            case "resolve" | "reopen":
                self.wished[thread].append(("resolved", what == "resolve"))
                self.written[thread, what == "resolve"] += 1
            case "edit":
                self.wished[thread].append(("text", text))
                self.based_on[text] = entry.basis.text
            case _:
                self.wished[thread].append(("reacted", what == "react"))

    change_more = change

    @rule(
        which=st.integers(0, THREADS - 1),
        how=st.sampled_from(["answer and flip", "edit elsewhere", "edit back", "answer"]),
    )
    def meanwhile(self, which: int, how: str) -> None:
        """Others do something. Those who reopen a thread say why: a thread only opened again looks as it did before."""
        thread = self.threads[which]
        where = {"at": self.here, "comment_id": thread}
        self.number += 1
        self.clock.forward(seconds=1)
        if how.startswith("answer"):
            said = Markdown(markdown=f"Answer {self.number}")
            self.run(self.ask(comments.CreateReply(**where, body=said), "ada"))
            if how == "answer and flip":
                is_open = self.there(thread)["status"] == "open"
                self.run(self.ask(comments.Update(**where, resolved=is_open), "ada"))
        else:
            text = f"Elsewhere {self.number}" if how == "edit elsewhere" else "Why?"
            self.run(self.ask(comments.Update(**where, body=Markdown(markdown=text)), "mia"))
        self.touched.add(thread)

    @rule(
        seconds=st.sampled_from([0, 2, 6, 25, 61]),
        write_fault=st.sampled_from(BOUNDED),
        read_fault=st.sampled_from(READ_FAULTS),
        steps=st.integers(1, 9),
    )
    def send(self, seconds: int, write_fault: str, read_fault: str, steps: int) -> None:
        self.clock.forward(seconds=seconds)
        self.line.arrive()
        self.line.write_fault, self.line.read_fault = write_fault, read_fault
        for _ in range(steps):
            try:
                self.run(self.outbox.step())
            except Killed:
                self.crash()

    send_more = send
    send_on = send

    @rule(
        which=st.integers(0, THREADS - 1),
        what=st.sampled_from(["resolve", "reopen", "edit"]),
        fault=st.sampled_from(BOUNDED),
        how=st.sampled_from(["answer and flip", "edit elsewhere", "edit back"]),
    )
    def change_while_others_do(self, which: int, what: str, fault: str, how: str) -> None:
        """Let another user act between a fault and the first lookup."""
        self.change(which, what)
        self.clock.forward(seconds=5)
        self.line.write_fault, self.line.read_fault = fault, ""
        for _ in range(9):
            try:
                self.run(self.outbox.step())
            except Killed:
                self.crash()
            if not self.line.write_fault:
                break
        self.meanwhile(which, how)

    @rule()
    def crash(self) -> None:
        self.outbox._worker._release_lock()  # as the kernel does when a process is gone
        self.outbox = self.start()

    def arrived(self, op: comments.Update, before: Json, after: Json) -> None:
        if op.resolved is not None and before["status"] != after["status"]:
            self.flipped[op.comment_id, op.resolved] += 1
        if op.body is not None and before["body"] != after["body"] and not self.line.is_late:
            words = op.body.markdown
            assert before["body"]["markdown"] == self.based_on[words], f"{words} was written over what nobody saw"

    @invariant()
    def nothing_is_done_twice(self) -> None:
        for what, times in self.flipped.items():
            assert times <= self.written[what], f"{what} was done {times} times, and wanted {self.written[what]} times"

    def teardown(self) -> None:
        if hasattr(self, "outbox"):
            self.come_to_rest()
        self.runner.close()
        self.state.close()
        self.platform.close()
        self.world.store.close()

    def come_to_rest(self) -> None:
        """Without a fault, and without a person, all is done but what others changed meanwhile."""
        self.line.write_fault = self.line.read_fault = ""
        for _ in range(60):
            self.run(self.outbox.run_dry())
            if all(each.needs_user for each in self.outbox.entries):
                break
            self.clock.forward(seconds=31)
            self.line.arrive()
        left = self.outbox.entries
        assert all(each.changed_by_others for each in left), f"It does not settle: {left}"
        assert all(each.facts.thread in self.touched for each in left)
        for thread in set(self.threads) - self.touched:
            self.is_as_wished(thread)

    def is_as_wished(self, thread: str) -> None:
        there = self.there(thread)
        now = {
            "resolved": there["status"] == "resolved",
            "text": there["body"]["markdown"],
            "reacted": any(each["emoji"] == EMOJI for each in there["reactions"]),
        }
        assert dict(self.wished[thread]).items() <= now.items()


def test_no_change_is_lost_made_twice_or_made_over_anothers() -> None:
    run_state_machine_as_test(Changes, settings=settings(max_examples=15, stateful_step_count=40, deadline=None))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_no_change_is_lost_made_twice_or_made_over_anothers_for_long() -> None:
    run_state_machine_as_test(Changes, settings=settings(max_examples=2000, stateful_step_count=50, deadline=None))
