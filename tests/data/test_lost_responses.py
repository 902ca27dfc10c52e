"""Writes whose responses are lost."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.errors import Lost
from octavo.api.operation import SPECS, ListPage, NextCursor, Operation, SpaceRef
from octavo.data.access import Send
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import MAX_OWN_FAILURES
from octavo.data.writes.outbox import Outbox
from tests.data.conftest import MIA, ManualOutbox
from tests.data.connections import RequestGate, add_write
from tests.data.test_outbox import comment, deliver, texts, thread
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, space_with

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite


async def test_write_that_may_have_arrived_cannot_be_undone(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, clock: Clock
) -> None:
    again = ManualOutbox(LossyConnection(gate, applied=True), outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(again, comment(here), action="comment")
    await deliver(again, clock)
    undone = await again.undo_newest()
    assert undone
    assert not undone.undone
    assert "is being sent" in undone.message
    await again.close()


@pytest.mark.parametrize("answered", [True, False])
async def test_lost_write_is_looked_up_and_not_resent_without_the_user(
    answered: bool, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    await thread(ask, here, "Hello", user="mia")
    lossy = LossyConnection(gate, applied=answered)
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(again, comment(here, "Hello "), action="comment")
    await deliver(again, clock)
    assert again.entries[0].state == "unknown"
    assert "will check whether" in again.entries[0].reason
    clock.forward(seconds=59)
    await again.send_due()
    assert len(lossy.writes) == 1, "Nothing is looked for while the server may still act"
    clock.forward(seconds=1)
    await again.send_due()
    assert [each.needs_user for each in again.entries] == ([] if answered else [True])
    assert len(lossy.writes) == 1
    for each in again.entries:
        assert "may have been sent" in each.reason
        await again.retry(each.id)
        await again.send_due()
    assert (again.entries, len(lossy.writes)) == ((), 1 if answered else 2)
    assert [each.strip() for each in await texts(ask, here)] == ["Hello", "Hello"]
    await again.close()


@pytest.mark.parametrize("answered", [True, False])
async def test_reply_waits_until_its_comment_is_found_or_resent(
    answered: bool, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    again = ManualOutbox(LossyConnection(gate, applied=answered, times=1), outbox.state, Drafts(outbox.state), me=MIA)
    first = await add_write(again, comment(here), action="comment")
    answer = comments.CreateReply(at=here, comment_id=first.created_id, body=Markdown(markdown="And more"))
    await add_write(again, answer, action="reply")
    await deliver(again, clock)
    assert [each.state for each in again.entries] == ["unknown", "queued"]
    clock.forward(seconds=61)
    await again.send_due()
    assert [each.needs_user for each in again.entries] == ([] if answered else [True, False])
    for each in again.entries[:1]:
        await again.retry(each.id)
        await again.send_due()
    (posted,) = (await ask(comments.List(at=here))).items
    assert (again.entries, posted.replies) == ((), 1)
    await again.close()


async def test_identical_texts_on_purpose_are_two_comments(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    lossy = LossyConnection(gate, applied=True)
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(again, comment(here, "LGTM"), action="comment")
    await add_write(again, comment(here, "LGTM"), action="comment")
    await deliver(again, clock)
    for _ in range(2):
        clock.forward(seconds=60)
        await again.send_due()
    assert again.entries == ()
    assert await texts(ask, here) == ["LGTM", "LGTM"]
    assert len(lossy.writes) == 2
    await again.close()


async def test_late_write_is_recognized_after_the_user_was_asked(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    lossy = LossyConnection(gate, applied=False)
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(again, comment(here), action="comment")
    await deliver(again, clock)
    clock.forward(minutes=2)
    await again.send_due()
    assert [each.needs_user for each in again.entries] == [True]
    await gate(lossy.writes[0])
    clock.forward(minutes=5)
    await again.send_due()
    assert (again.entries, len(lossy.writes), await texts(ask, here)) == ((), 1, ["Hello"])
    await again.close()


async def test_write_that_arrives_before_the_retry_is_not_resent(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    lossy = LossyConnection(gate, applied=False)
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    entry = await add_write(again, comment(here), action="comment")
    await deliver(again, clock)
    clock.forward(minutes=2)
    await again.send_due()
    await gate(lossy.writes[0])
    await again.retry(entry.id)
    await again.send_due()
    assert (again.entries, len(lossy.writes), await texts(ask, here)) == ((), 1, ["Hello"])
    await again.close()


async def test_user_is_asked_if_the_server_cannot_confirm(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock, platform: Platform
) -> None:
    lossy = LossyConnection(gate, applied=True)
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(again, comment(here, "First"), action="comment")
    await add_write(again, comments.Create(at=here, page="usage", body=Markdown(markdown="Second")), action="comment")
    await deliver(again, clock)
    platform.refuse_next(comments.List, 500, "Out of order.", times=1000)
    for _ in range(MAX_OWN_FAILURES):
        assert [(each.state, each.needs_user) for each in again.entries] == [("unknown", False), ("queued", False)]
        clock.forward(minutes=1)
        await again.send_due()
    assert [each.needs_user for each in again.entries] == [True, False]
    assert again.entries[0].reason.startswith("“comment” may have been sent: ")
    platform._refusals.clear()
    for _ in range(3):
        clock.forward(minutes=5)
        await again.send_due()
    assert (again.entries, await texts(ask, here)) == ((), ["First", "Second"])
    await again.close()


@pytest.mark.parametrize("status", [403, 404])
async def test_failed_search_is_no_failed_write(
    status: int,
    outbox: ManualOutbox,
    here: SpaceRef,
    gate: RequestGate,
    ask: Ask,
    clock: Clock,
    platform: Platform,
    drafts: Drafts,
) -> None:
    lossy = LossyConnection(gate, applied=True)
    again = ManualOutbox(lossy, outbox.state, drafts, me=MIA)
    await add_write(again, comment(here), action="comment", draft_key="a")
    await deliver(again, clock)
    for _ in range(2):
        platform.refuse_next(comments.List, status, "Not for you.")
        clock.forward(minutes=1)
        await again.send_due()
    [left] = again.entries
    assert (left.state, left.needs_user, drafts.get("a")) == ("unknown", True, None)
    assert left.reason.startswith("“comment” may have been sent: Not for you.")
    clock.forward(minutes=1)
    await again.send_due()
    assert (again.entries, len(lossy.writes)) == ((), 1)
    await again.close()


async def test_unresponsive_space_delays_no_other_space(
    here: SpaceRef, gate: RequestGate, ask: Ask, state: StateDb, drafts: Drafts
) -> None:
    other, never = (await space_with(ask, "Elsewhere", intro="# Intro")).ref, asyncio.Event()

    async def fail_in_one_space(op: Operation[Any]) -> Any:
        if getattr(op, "at", None) == here:
            await never.wait()
        return await gate(op)

    outbox = Outbox(fail_in_one_space, state, drafts, me=MIA, undo_seconds=0.0)
    there = asyncio.Event()
    outbox.changed.add(lambda: there.set() if len(outbox.entries) == 2 else None)
    for place in (here, here, other):
        there.clear()
        await add_write(outbox, comment(place), action="comment")
    await there.wait()
    assert [each.at for each in outbox.entries] == [here, here]
    assert await texts(ask, other) == ["Hello"]
    await outbox.close(max_wait=0.0)


@pytest.mark.parametrize("answered", [True, False])
async def test_lost_delete_is_done_if_the_comment_does_not_exist(
    answered: bool, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    mine = await thread(ask, here, user="mia")
    lossy = LossyConnection(gate, applied=answered)
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(again, comments.Delete(at=here, comment_id=mine.id), action="delete the comment")
    await deliver(again, clock)
    clock.forward(seconds=60)
    await again.send_due()
    assert again.entries == ()
    assert await texts(ask, here) == []
    assert len(lossy.writes) == (1 if answered else 2)
    await again.close()


async def test_every_kind_of_write_arrives_despite_lost_responses(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    where = {"at": here, "comment_id": about.id}
    reply = await ask(comments.CreateReply(**where, body=Markdown(markdown="Old")), "mia")
    doomed = await ask(comments.CreateReply(**where, body=Markdown(markdown="Gone")), "mia")
    ops: list[DurableWrite] = [
        comments.CreateReply(**where, body=Markdown(markdown="New")),
        comments.Update(**where, body=Markdown(markdown="Is this *right*?")),
        comments.Update(**where, resolved=True),
        comments.Update(**where, added_reactions=("1f389",)),
        comments.UpdateReply(**where, comment_reply_id=reply.id, body=Markdown(markdown="Newer")),
        comments.UpdateReply(**where, comment_reply_id=reply.id, added_reactions=("1f44d",)),
        comments.DeleteReply(**where, comment_reply_id=doomed.id),
    ]
    lossy = LossyConnection(gate, applied=True, times=len(ops))
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    for op in ops:
        await add_write(again, op, action="write")
    await deliver(again, clock)
    for _ in ops:
        clock.forward(seconds=60)
        await again.send_due()
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


async def test_search_in_a_list_that_repeats_pages_is_inconclusive(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    """A list that repeats its pages may lack any comment, so the search must not report “not found”."""
    about = await thread(ask, here)
    lossy = LossyConnection(RepeatingServer(gate), applied=False)
    again = ManualOutbox(lossy, outbox.state, Drafts(outbox.state), me=MIA)
    answer = comments.CreateReply(at=here, comment_id=about.id, body=Markdown(markdown="Yes"))
    await add_write(again, answer, action="reply")
    await deliver(again, clock)
    assert [each.state for each in again.entries] == ["unknown"], "the reply itself is sent"
    clock.forward(seconds=61)
    await again.send_due()
    assert [each.needs_user for each in again.entries] == [True]
    assert "The server sent the same part of the list twice" in again.entries[0].reason
    assert len(lossy.writes) == 1
    await again.close()


class RepeatingServer:
    """Passes operations on. Lists of replies repeat their first page without end."""

    def __init__(self, send: RequestGate) -> None:
        self._send = send

    async def __call__(self, op: Operation[Any]) -> Any:
        if isinstance(op, comments.ListReplies):
            return ListPage[comments.Reply](items=(), next=NextCursor(page="again"))
        return await self._send(op)


class LossyConnection:
    """Loses the responses of the first `times` writes. `applied`: the writes still reach the platform."""

    def __init__(self, send: Send, *, applied: bool, times: int | None = None) -> None:
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


async def test_lost_write_is_searched_soon_although_the_clock_was_set_back(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    lossy = ManualOutbox(LossyConnection(gate, applied=False), outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(lossy, comment(here), action="comment")
    await deliver(lossy, clock)
    assert [entry.state for entry in lossy.entries] == ["unknown"]
    clock.forward(days=-1)
    searches = len(gate.requests)
    for _ in range(20):
        clock.forward(seconds=10)
        await lossy.send_due()
    assert 2 < len(gate.requests) - searches < 20
    (entry,) = lossy.entries
    assert entry.needs_user, "the server can no longer act on the request"
    assert await texts(ask, here) == []
    await lossy.close()
