"""Writes through the outbox to the real platform."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.errors import Lost, NotSent, RateLimited, Trace, Unauthorized
from octavo.api.operation import SPECS, Operation
from octavo.api.places import SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.entry import Basis
from octavo.data.outbox import Outbox
from octavo.data.state import State
from octavo.server.app import Platform
from tests.data.conftest import MIA, ByHand
from tests.data.sends import Gate
from tests.server.asking import Ask, Clock


def comment(here: SpaceRef, text: str = "Hello", **more: Any) -> comments.Create:
    return comments.Create(at=here, body=Markdown(markdown=text), **more)


async def texts(ask: Ask, here: SpaceRef) -> list[str]:
    page = await ask(comments.List(at=here, format="markdown", order="asc"))
    return [each.body.text for each in page.items]


async def thread(ask: Ask, here: SpaceRef, text: str = "Is this right?", user: str = "ada") -> comments.Comment:
    return await ask(comment(here, text), user)


async def deliver(outbox: ByHand, clock: Clock) -> None:
    """Let the time to undo pass, and send."""
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.run_dry()


async def test_a_comment_is_held_then_sent(outbox: ByHand, here: SpaceRef, ask: Ask, clock: Clock) -> None:
    entry = await outbox.add(comment(here), doing="comment")
    await outbox.run_dry()
    assert (entry.state, outbox.entries, await texts(ask, here)) == ("held", (entry,), [])
    await deliver(outbox, clock)
    assert (outbox.entries, await texts(ask, here)) == ((), ["Hello"])


async def test_its_draft_goes_in_the_same_moment(outbox: ByHand, drafts: Drafts, here: SpaceRef) -> None:
    await drafts.save("docs/new", "Hello")
    await outbox.add(comment(here), doing="comment", place="docs/new")
    assert drafts.get("docs/new") is None
    assert drafts.all() == ()


async def test_undo_gives_the_text_back(outbox: ByHand, drafts: Drafts, here: SpaceRef, gate: Gate) -> None:
    await outbox.add(comment(here, "One"), doing="comment", place="a")
    await outbox.add(comment(here, "Two"), doing="comment", place="b")
    undone = await outbox.undo()
    assert undone
    assert (undone.done, undone.place, undone.text) == (True, "b", "Two")
    assert [each.op.body.markdown for each in outbox.entries] == ["One"]  # type: ignore[attr-defined]  # it is a comment
    assert drafts.get("b") == "Two"
    await outbox.undo()
    assert await outbox.undo() is None
    assert gate.asked == []


async def test_undo_of_a_comment_that_is_posted_says_what_to_do(outbox: ByHand, here: SpaceRef, clock: Clock) -> None:
    await outbox.add(comment(here), doing="comment")
    await deliver(outbox, clock)
    undone = await outbox.undo()
    assert undone
    assert not undone.done
    assert "Delete it" in undone.sentence


async def test_undo_of_a_thread_that_is_resolved_reopens_it(
    outbox: ByHand, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await outbox.add(comments.Update(at=here, comment_id=about.id, resolved=True), doing="resolve the thread")
    await deliver(outbox, clock)
    assert not (await ask(comments.Get(at=here, comment_id=about.id))).is_open
    undone = await outbox.undo()
    await outbox.run_dry()
    assert undone
    assert undone.done
    assert (await ask(comments.Get(at=here, comment_id=about.id))).is_open
    assert await outbox.undo() is None


async def test_undo_of_a_reaction_takes_it_away(outbox: ByHand, here: SpaceRef, ask: Ask, clock: Clock) -> None:
    about = await thread(ask, here)
    await outbox.add(comments.Update(at=here, comment_id=about.id, added_reactions=("1f44d",)), doing="react")
    await deliver(outbox, clock)
    assert [each.count for each in (await ask(comments.Get(at=here, comment_id=about.id))).reactions] == [1]
    await outbox.undo()
    await outbox.run_dry()
    assert (await ask(comments.Get(at=here, comment_id=about.id))).reactions == ()


async def test_what_may_have_arrived_cannot_be_taken_back(
    outbox: ByHand, here: SpaceRef, gate: Gate, clock: Clock
) -> None:
    again = ByHand(Lossy(gate, applied=True), outbox.state, Drafts(outbox.state), me=MIA)
    await again.add(comment(here), doing="comment")
    await deliver(again, clock)
    undone = await again.undo()
    assert undone
    assert not undone.done
    assert "on its way" in undone.sentence
    await again.close()


@pytest.mark.parametrize("answered", [True, False])
async def test_a_lost_answer_is_read_back_before_anything_is_sent_again(
    answered: bool, outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    await thread(ask, here, "Hello", user="mia")
    lossy = Lossy(gate, applied=answered)
    again = ByHand(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await again.add(comment(here, "Hello "), doing="comment")
    await deliver(again, clock)
    assert again.entries[0].state == "unknown"
    assert "looked for" in again.entries[0].reason
    clock.forward(seconds=59)
    await again.run_dry()
    assert len(lossy.writes) == 1, "Nothing is looked for while the server may still act"
    clock.forward(seconds=1)
    await again.run_dry()
    assert again.entries == ()
    assert len(lossy.writes) == (1 if answered else 2)
    assert [each.strip() for each in await texts(ask, here)] == ["Hello", "Hello"]
    await again.close()


async def test_identical_texts_on_purpose_are_two_comments(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    lossy = Lossy(gate, applied=True)
    again = ByHand(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await again.add(comment(here, "LGTM"), doing="comment")
    await again.add(comment(here, "LGTM"), doing="comment")
    await deliver(again, clock)
    for _ in range(2):
        clock.forward(seconds=60)
        await again.run_dry()
    assert again.entries == ()
    assert await texts(ask, here) == ["LGTM", "LGTM"]
    assert len(lossy.writes) == 2
    await again.close()


async def test_after_two_lost_rounds_it_stops_and_asks(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock, drafts: Drafts
) -> None:
    lossy = Lossy(gate, applied=False, times=2)
    again = ByHand(lossy, outbox.state, drafts, me=MIA)
    entry = await again.add(comment(here), doing="comment", place="a")
    await deliver(again, clock)
    for _ in range(4):
        clock.forward(seconds=60)
        await again.run_dry()
    assert again.entries[0].asks
    assert again.entries[0].state == "unknown"
    assert len(lossy.writes) == 2
    await again.retry(entry.id)
    await again.run_dry()
    assert again.entries == ()
    assert await texts(ask, here) == ["Hello"]
    await again.close()


async def test_a_refused_comment_stays_with_its_reason_and_its_text_is_a_draft_again(
    outbox: ByHand, here: SpaceRef, platform: Platform, drafts: Drafts, ask: Ask, clock: Clock
) -> None:
    platform.refuse_next(comments.Create, 403, "You may only read here.")
    entry = await outbox.add(comment(here), doing="comment", place="a")
    await deliver(outbox, clock)
    failed = outbox.entries[0]
    assert (failed.state, failed.reason) == ("failed", "Couldn't comment: You may only read here.")
    assert drafts.get("a") == "Hello"
    await outbox.retry(entry.id)
    assert Drafts(outbox.state).get("a") is None
    await outbox.run_dry()
    assert outbox.entries == ()
    assert await texts(ask, here) == ["Hello"]


async def test_sending_the_draft_of_a_refused_comment_takes_its_place(
    outbox: ByHand, here: SpaceRef, platform: Platform, drafts: Drafts, ask: Ask, clock: Clock
) -> None:
    platform.refuse_next(comments.Create, 400, "Too long.")
    await outbox.add(comment(here, "Hello, hello"), doing="comment", place="a")
    await deliver(outbox, clock)
    await drafts.save("a", f"{drafts.get('a')}!")
    await outbox.add(comment(here, "Hello!"), doing="comment", place="a")
    await deliver(outbox, clock)
    assert outbox.entries == ()
    assert await texts(ask, here) == ["Hello!"]
    assert drafts.all() == ()


async def test_what_is_discarded_is_a_draft(outbox: ByHand, here: SpaceRef, drafts: Drafts, gate: Gate) -> None:
    entry = await outbox.add(comment(here), doing="comment", place="a")
    await outbox.discard(entry.id)
    assert outbox.entries == ()
    assert drafts.get("a") == "Hello"
    assert gate.asked == []


async def test_without_a_connection_it_waits_longer_each_time(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    await outbox.add(comment(here), doing="comment")
    gate.errors.extend(NotSent("Can't reach the server.") for _ in range(3))
    await deliver(outbox, clock)
    assert (outbox.entries[0].state, outbox.entries[0].reason) == ("queued", "Not sent yet. Can't reach the server.")
    asked = len(gate.asked)
    await outbox.run_dry()
    assert len(gate.asked) == asked
    for _ in range(3):
        clock.forward(seconds=60)
        await outbox.run_dry()
    assert outbox.entries == ()
    assert await texts(ask, here) == ["Hello"]


async def test_when_the_server_is_back_it_is_sent_at_once(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    await outbox.add(comment(here), doing="comment")
    gate.errors.append(NotSent("Can't reach the server."))
    await deliver(outbox, clock)
    outbox.online()
    clock.forward(seconds=0.6)
    await outbox.run_dry()
    assert await texts(ask, here) == ["Hello"]


async def test_a_busy_server_is_asked_when_it_said(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    await outbox.add(comment(here), doing="comment")
    at = replace(clock, moment=clock.moment)
    at.forward(seconds=300)
    gate.errors.append(RateLimited("Too many requests.", Trace(retry_at=at())))
    await deliver(outbox, clock)
    outbox.online()
    clock.forward(seconds=290)
    await outbox.run_dry()
    assert len(gate.asked) == 1
    clock.forward(seconds=10)
    await outbox.run_dry()
    assert await texts(ask, here) == ["Hello"]


async def test_a_key_that_is_refused_pauses_everything_until_it_is_changed(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    await outbox.add(comment(here), doing="comment")
    gate.errors.append(Unauthorized("The key was revoked."))
    await deliver(outbox, clock)
    clock.forward(hours=1)
    await outbox.run_dry()
    assert outbox.paused.startswith("The key was revoked.")
    assert len(gate.asked) == 1
    outbox.resume()
    await outbox.run_dry()
    assert outbox.paused == ""
    assert await texts(ask, here) == ["Hello"]


async def test_what_is_so_already_is_not_sent(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await ask(comments.Update(at=here, comment_id=about.id, resolved=True))
    await outbox.add(comments.Update(at=here, comment_id=about.id, resolved=True), doing="resolve the thread")
    await deliver(outbox, clock)
    assert outbox.entries == ()
    assert gate.writes == []


async def test_resolved_and_reopened_in_one_breath_is_nothing(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    for wish in (True, False, True, False):
        await outbox.add(comments.Update(at=here, comment_id=about.id, resolved=wish), doing="resolve the thread")
    await deliver(outbox, clock)
    assert outbox.entries == ()
    assert gate.writes == []


async def test_an_edit_of_what_changed_since_is_refused_and_its_text_kept(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock, drafts: Drafts
) -> None:
    mine = await thread(ask, here, "Version 1", user="mia")
    outbox.known = lambda op: Basis(text="Version 1")
    edit = comments.Update(at=here, comment_id=mine.id, body=Markdown(markdown="Version 2 of mine"))
    await outbox.add(edit, doing="change the comment", place="edit")
    await ask(comments.Update(at=here, comment_id=mine.id, body=Markdown(markdown="Version 2 elsewhere")), "mia")
    await deliver(outbox, clock)
    assert outbox.entries[0].state == "failed"
    assert "changed the text since" in outbox.entries[0].reason
    assert gate.writes == []
    assert drafts.get("edit") == "Version 2 of mine"


@pytest.mark.parametrize("answered", [True, False])
async def test_a_lost_delete_is_done_when_the_comment_is_gone(
    answered: bool, outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    mine = await thread(ask, here, user="mia")
    lossy = Lossy(gate, applied=answered)
    again = ByHand(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await again.add(comments.Delete(at=here, comment_id=mine.id), doing="delete the comment")
    await deliver(again, clock)
    clock.forward(seconds=60)
    await again.run_dry()
    assert again.entries == ()
    assert await texts(ask, here) == []
    assert len(lossy.writes) == (1 if answered else 2)
    await again.close()


async def test_every_kind_of_write_arrives_though_its_answer_is_lost(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    where = {"at": here, "comment_id": about.id}
    reply = await ask(comments.CreateReply(**where, body=Markdown(markdown="Old")), "mia")
    doomed = await ask(comments.CreateReply(**where, body=Markdown(markdown="Gone")), "mia")
    ops: list[Operation[Any]] = [
        comments.CreateReply(**where, body=Markdown(markdown="New")),
        comments.Update(**where, body=Markdown(markdown="Is this *right*?")),
        comments.Update(**where, resolved=True),
        comments.Update(**where, added_reactions=("1f389",)),
        comments.UpdateReply(**where, comment_reply_id=reply.id, body=Markdown(markdown="Newer")),
        comments.UpdateReply(**where, comment_reply_id=reply.id, added_reactions=("1f44d",)),
        comments.DeleteReply(**where, comment_reply_id=doomed.id),
    ]
    lossy = Lossy(gate, applied=True, times=len(ops))
    again = ByHand(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    for op in ops:
        await again.add(op, doing="write")
    await deliver(again, clock)
    for _ in ops:
        clock.forward(seconds=60)
        await again.run_dry()
    assert again.entries == ()
    assert len(lossy.writes) == len(ops)
    now = await ask(comments.Get(**where, format="markdown"))
    replies = await ask(comments.ListReplies(**where, format="markdown"))
    assert (now.body.text, now.status, [each.emoji for each in now.reactions]) == (
        "Is this *right*?",
        "resolved",
        ["1f389"],
    )
    assert [(each.body.text, len(each.reactions)) for each in replies.items] == [("Newer", 1), ("New", 0)]
    await again.close()


async def test_a_reply_to_a_comment_that_is_not_posted_yet_finds_it(
    outbox: ByHand, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    first = await outbox.add(comment(here), doing="comment")
    answer = comments.CreateReply(at=here, comment_id=first.pending_id, body=Markdown(markdown="And more"))
    await outbox.add(answer, doing="reply")
    await deliver(outbox, clock)
    (posted,) = (await ask(comments.List(at=here))).items
    replies = await ask(comments.ListReplies(at=here, comment_id=posted.id, format="markdown"))
    assert outbox.entries == ()
    assert [each.body.text for each in replies.items] == ["And more"]


async def test_what_was_written_a_day_ago_is_not_sent_without_asking(
    outbox: ByHand, here: SpaceRef, gate: Gate, ask: Ask, clock: Clock
) -> None:
    entry = await outbox.add(comment(here), doing="comment")
    clock.forward(hours=25)
    await outbox.run_dry()
    assert outbox.entries[0].asks
    assert "more than a day ago" in outbox.entries[0].reason
    assert gate.asked == []
    await outbox.retry(entry.id)
    await outbox.run_dry()
    assert await texts(ask, here) == ["Hello"]


async def test_it_asks_who_it_is_when_nobody_said(
    state: State, drafts: Drafts, gate: Gate, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    outbox = ByHand(gate, state, drafts)
    await outbox.add(comment(here), doing="comment")
    await deliver(outbox, clock)
    assert outbox.me
    assert outbox.me.id == "mia"
    assert await texts(ask, here) == ["Hello"]
    await outbox.close()


async def test_a_fault_of_ours_is_shown_and_raised(state: State, drafts: Drafts, here: SpaceRef) -> None:
    async def faulty(op: Operation[Any]) -> Any:
        raise ZeroDivisionError

    outbox = Outbox(faulty, state, drafts, undo_seconds=0.0)
    told = asyncio.Event()
    outbox.watch(lambda: told.set() if outbox.paused else None)
    await outbox.add(comment(here), doing="comment")
    await told.wait()
    assert "Octavo has a fault (ZeroDivisionError)" in outbox.paused
    assert [each.state for each in outbox.entries] == ["queued"]
    with pytest.raises(ZeroDivisionError):
        await outbox.close()


class TestOnDisk:
    """What another process finds."""

    async def test_it_is_sent_by_the_next_one(self, tmp_path: Path, gate: Gate, here: SpaceRef, ask: Ask) -> None:
        clock = Clock()
        first = await _outbox(tmp_path, gate, clock)
        await first.add(comment(here), doing="comment")
        await first.close()
        first.state.close()
        second = await _outbox(tmp_path, gate, clock)
        assert [each.state for each in second.entries] == ["queued"]
        clock.forward(hours=2)
        await second.run_dry()
        assert await texts(ask, here) == ["Hello"]
        await second.close()
        second.state.close()

    async def test_after_a_crash_what_is_old_is_listed(self, tmp_path: Path, gate: Gate, here: SpaceRef) -> None:
        clock = Clock()
        first = await _outbox(tmp_path, gate, clock)
        await first.step()
        await first.add(comment(here), doing="comment")
        first.state.write_now(lambda db: None)
        first._driver._let_go()  # as the kernel does when a process is gone
        clock.forward(minutes=11)
        second = await _outbox(tmp_path, gate, clock)
        await second.run_dry()
        (left,) = second.entries
        assert left.asks
        assert "a while ago" in left.reason
        assert gate.asked == []
        await second.close()
        second.state.close()
        first.state.close()

    async def test_two_instances_have_one_driver_and_see_the_same(
        self, tmp_path: Path, gate: Gate, here: SpaceRef, ask: Ask
    ) -> None:
        clock = Clock()
        one, two = await _outbox(tmp_path, gate, clock), await _outbox(tmp_path, gate, clock)
        done: list[str] = []
        two.on_done(lambda entry: done.append(entry.remote))
        await one.step()
        entry = await two.add(comment(here), doing="comment")
        clock.forward(seconds=5)
        for _ in range(5):
            await two.step()
        assert gate.asked == []
        assert [each.id for each in two.entries] == [entry.id]
        await one.run_dry()
        await two.step()
        assert one.entries == two.entries == ()
        assert await texts(ask, here) == ["Hello"]
        assert done == [(await ask(comments.List(at=here))).items[0].id]
        await one.close()
        await two.add(comment(here, "Again"), doing="comment")
        clock.forward(seconds=5)
        await two.run_dry()
        assert await texts(ask, here) == ["Hello", "Again"]
        await two.close()
        one.state.close()
        two.state.close()

    async def test_it_runs_by_itself(self, tmp_path: Path, gate: Gate, here: SpaceRef, ask: Ask) -> None:
        state = State(tmp_path, "p")
        outbox = Outbox(gate, state, Drafts(state), undo_seconds=0.0)
        empty = asyncio.Event()
        outbox.watch(lambda: empty.set() if not outbox.entries else None)
        await outbox.add(comment(here), doing="comment")
        await empty.wait()
        assert await texts(ask, here) == ["Hello"]
        await outbox.close()
        state.close()


async def _outbox(folder: Path, gate: Gate, clock: Clock) -> ByHand:
    state = State(folder, "mia@test", now=clock)
    return ByHand(gate, state, Drafts(state), me=MIA, jitter=lambda: 0.0)


class Lossy:
    """Loses the answers of the first `times` writes, which were applied or not."""

    def __init__(self, send: Gate, *, applied: bool, times: int | None = None) -> None:
        self._send = send
        self._applied = applied
        self._left = times if times is not None else (2 if applied else 1)
        self.writes: list[Operation[Any]] = []

    async def __call__(self, op: Operation[Any]) -> Any:
        if SPECS[type(op)].method == "GET":
            return await self._send(op)
        self.writes.append(op)
        self._left -= 1
        if self._left < 0:
            return await self._send(op)
        if self._applied:
            await self._send(op)
        raise Lost("The connection broke.")
