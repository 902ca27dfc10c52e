"""Random faults, and edits by other users: no write is sent twice or overwrites an unseen change. Threads that others leave alone never need the user."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.data.writes.machine import ExpectedState
from octavo.server.store import Json
from tests.data.conftest import ManualOutbox
from tests.data.connections import FaultyConnection, ProcessKilled, add_write
from tests.data.test_outbox_random_faults import BOUNDED, READ_FAULTS, OutboxMachine
from tests.server.small_platform import space_with

THREADS = 2
EMOJI = "1f44d"


class ThreadRecordingConnection(FaultyConnection):
    """A connection that reports the thread before and after each write."""

    def __init__(self, machine: ThreadChanges) -> None:
        super().__init__(machine.context.for_user("mia"), machine.clock)
        self._machine = machine

    def apply(self, op: Operation[Any]) -> Any:
        if not isinstance(op, comments.Update):
            return super().apply(op)
        before = self._machine.stored_thread(op.comment_id)
        answer = super().apply(op)
        self._machine.on_arrival(op, before, self._machine.stored_thread(op.comment_id))
        return answer


class ThreadChanges(OutboxMachine):
    """The outbox of one user on a bad connection, with restarts, and other users who write in the same threads."""

    def __init__(self) -> None:
        super().__init__()
        self.line = ThreadRecordingConnection(self)
        self.wanted: dict[str, list[tuple[str, Any]]] = {}
        """Writes of Mia for each thread, in order."""
        self.touched: set[str] = set()
        """The threads that others changed."""
        self.written: Counter[tuple[str, bool]] = Counter()
        self.flipped: Counter[tuple[str, bool]] = Counter()
        self.based_on: dict[str, str | None] = {}
        """The state that Mia saw at each of her edits."""
        self.retried: set[str] = set()
        self.number = 0

    @initialize()
    def begin(self) -> None:
        self.here = self.run(space_with(self.ask, intro="# Intro")).ref
        body = Markdown(markdown="Why?")
        self.threads = [self.run(self.ask(comments.Create(at=self.here, body=body), "mia")).id for _ in range(THREADS)]
        self.wanted = {each: [] for each in self.threads}
        self.outbox = self.start()

    def start(self) -> ManualOutbox:
        outbox = super().start()
        outbox.shown_state_of = self.shown_state
        return outbox

    def stored_thread(self, thread: str) -> Json:
        return dict(self.context.store.get(f"/spaces/{self.here.space_id}/comments/{thread}"))

    def shown_state(self, op: Operation[Any]) -> ExpectedState:
        """Return the threads on the screen of Mia: the state of the server with her queued writes."""
        assert isinstance(op, comments.Update)
        now = self.stored_thread(op.comment_id)
        text, is_open = str(now["body"]["markdown"]), now["status"] == "open"
        for entry in self.outbox.entries:
            if isinstance(entry.op, comments.Update) and entry.op.comment_id == op.comment_id:
                text = text if entry.state == "failed" or not entry.traits.text else entry.traits.text
        return ExpectedState(text, is_open)

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
            add_write(self.outbox, ops[what], action=what, draft_key=f"edit {self.number}" if what == "edit" else "")
        )
        match what:
            case "resolve" | "reopen":
                self.wanted[thread].append(("resolved", what == "resolve"))
                self.written[thread, what == "resolve"] += 1
            case "edit":
                self.wanted[thread].append(("text", text))
                self.based_on[text] = entry.expected.text
            case _:
                self.wanted[thread].append(("reacted", what == "react"))

    change_more = change

    @rule(
        which=st.integers(0, THREADS - 1),
        how=st.sampled_from(["answer and flip", "edit elsewhere", "edit back", "answer"]),
    )
    def change_by_others(self, which: int, how: str) -> None:
        """Change a thread as another user. Reopening adds a reply: a thread that is only reopened looks unchanged."""
        thread = self.threads[which]
        where = {"at": self.here, "comment_id": thread}
        self.number += 1
        self.clock.forward(seconds=1)
        if how.startswith("answer"):
            said = Markdown(markdown=f"Answer {self.number}")
            self.run(self.ask(comments.CreateReply(**where, body=said), "ada"))
            if how == "answer and flip":
                is_open = self.stored_thread(thread)["status"] == "open"
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
        self.line.deliver_late()
        self.line.write_fault, self.line.read_fault = write_fault, read_fault
        for _ in range(steps):
            try:
                self.run(self.outbox.step())
            except ProcessKilled:
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
        """Let another user act between a fault and the first search."""
        self.change(which, what)
        self.clock.forward(seconds=5)
        self.line.write_fault, self.line.read_fault = fault, ""
        for _ in range(9):
            try:
                self.run(self.outbox.step())
            except ProcessKilled:
                self.crash()
            if not self.line.write_fault:
                break
        self.change_by_others(which, how)

    @rule()
    def crash(self) -> None:
        self.outbox._worker.release_lock()  # The operating system releases the lock of a killed process.
        self.outbox = self.start()

    def on_arrival(self, op: comments.Update, before: Json, after: Json) -> None:
        if op.resolved is not None and before["status"] != after["status"]:
            self.flipped[op.comment_id, op.resolved] += 1
        if op.body is not None and before["body"] != after["body"] and not self.line.is_late:
            words = op.body.markdown
            assert before["body"]["markdown"] == self.based_on[words], f"{words} overwrote an unseen edit"

    @invariant()
    def no_write_is_applied_twice(self) -> None:
        for what, times in self.flipped.items():
            assert times <= self.written[what], f"{what}: applied {times} times, written {self.written[what]} times"

    def teardown(self) -> None:
        if hasattr(self, "outbox"):
            self.send_everything()
        super().teardown()

    def send_everything(self) -> None:
        """Send until only conflicts with other users remain. No faults, no decisions by the user."""
        self.line.write_fault = self.line.read_fault = ""
        for _ in range(60):
            self.run(self.outbox.send_due())
            if all(each.needs_user for each in self.outbox.entries):
                break
            self.clock.forward(seconds=31)
            self.line.deliver_late()
        left = self.outbox.entries
        assert all(each.changed_by_others for each in left), f"unsent: {left}"
        assert all(each.traits.thread_id in self.touched for each in left)
        for thread in set(self.threads) - self.touched:
            self.has_all_changes(thread)

    def has_all_changes(self, thread: str) -> None:
        stored_thread = self.stored_thread(thread)
        now = {
            "resolved": stored_thread["status"] == "resolved",
            "text": stored_thread["body"]["markdown"],
            "reacted": any(each["emoji"] == EMOJI for each in stored_thread["reactions"]),
        }
        assert dict(self.wanted[thread]).items() <= now.items()


def test_changes_are_applied_once_and_overwrite_no_other_change() -> None:
    run_state_machine_as_test(ThreadChanges, settings=settings(max_examples=15, stateful_step_count=40, deadline=None))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_changes_are_applied_once_in_long_runs() -> None:
    run_state_machine_as_test(
        ThreadChanges, settings=settings(max_examples=2000, stateful_step_count=50, deadline=None)
    )
