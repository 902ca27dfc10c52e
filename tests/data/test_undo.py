"""Undo of the last writes, in each state of sending."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.operation import SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.writes.machine import ExpectedState, NewWrite
from tests.data.conftest import MIA, ManualOutbox
from tests.data.connections import RequestGate, add_write
from tests.data.test_lost_responses import LossyConnection
from tests.data.test_outbox import comment, deliver, thread
from tests.server.small_platform import Ask, Clock


def resolve_writes(here: SpaceRef, threads: list[comments.Comment]) -> list[NewWrite]:
    return [
        NewWrite(comments.Update(at=here, comment_id=each.id, resolved=True), "resolve the thread", context="“Why?”")
        for each in threads
    ]


async def count_open_threads(ask: Ask, here: SpaceRef) -> int:
    return len((await ask(comments.List(at=here, status="open", limit=100))).items)


async def test_undo_of_many_half_sent_writes_reverts_all(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    about = [await thread(ask, here, str(number), user="mia") for number in range(77)]
    await outbox.add_all(resolve_writes(here, about))
    clock.forward(seconds=outbox.undo_seconds)
    while len(outbox.entries) > 76:
        await outbox.step()
    undone = await outbox.undo_newest()
    assert undone
    assert undone.message == "Canceled: resolve the thread · “Why?”, all 77 (1 was already sent and had to be undone)."
    assert [each.traits.thread_id for each in undone.undone] == [each.id for each in about]
    await outbox.send_due()
    assert (outbox.entries, await count_open_threads(ask, here)) == ((), 77)
    assert await outbox.undo_newest() is None


async def test_undo_of_half_sent_replies_says_how_many_are_posted(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock, drafts: Drafts
) -> None:
    about = [await thread(ask, here, str(number), user="mia") for number in range(3)]
    await drafts.save("several", "Done.")
    await outbox.add_all(
        [
            NewWrite(
                comments.CreateReply(at=here, comment_id=each.id, body=Markdown(markdown="Done.")),
                "reply",
                draft_key=f"reply {each.id}",
                used_draft_keys=("several",) if each is about[0] else (),
            )
            for each in about
        ]
    )
    assert drafts.all() == ()
    clock.forward(seconds=outbox.undo_seconds)
    while len(outbox.entries) > 2:
        await outbox.step()
    undone = await outbox.undo_newest()
    assert undone
    assert (
        undone.message
        == "Canceled: reply, 2 of 3 (1 was already sent). Could not undo: the comment has already been posted. Delete the comment instead."
    )
    await outbox.send_due()
    assert [(await ask(comments.Get(at=here, comment_id=each.id))).replies for each in about] == [1, 0, 0]
    assert [drafts.get(f"reply {each.id}") for each in about] == [None, "Done.", "Done."]


async def test_undo_of_sent_comments_and_replies_gives_the_reason_once(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    about, body = await thread(ask, here, user="mia"), Markdown(markdown="Done.")
    await outbox.add_all(
        [
            NewWrite(comments.CreateReply(at=here, comment_id=about.id, body=body), "reply"),
            NewWrite(comments.Create(at=here, body=body), "comment"),
        ]
    )
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.send_due()
    assert outbox.entries == ()
    undone = await outbox.undo_newest()
    assert undone
    assert undone.message == "Could not undo: the comment has already been posted. Delete the comment instead."


@pytest.mark.parametrize("arrives", [True, False])
async def test_resolve_in_flight_is_undone_after_its_outcome_is_known(
    arrives: bool, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    again = ManualOutbox(LossyConnection(gate, applied=arrives, times=1), outbox.state, Drafts(outbox.state), me=MIA)
    await again.add_all(resolve_writes(here, [about]))
    await deliver(again, clock)
    assert [each.state for each in again.entries] == ["unknown"]
    undone = await again.undo_newest()
    assert undone
    assert undone.undone
    assert undone.message.startswith("Undone: resolve the thread · “Why?”. The change is already being sent")
    for _ in range(4):
        clock.forward(seconds=60)
        await again.send_due()
    assert (again.entries, await count_open_threads(ask, here)) == ((), 1)
    await again.close()


async def test_undo_is_sent_after_the_request_in_flight(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await outbox.add_all(resolve_writes(here, [about]))
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.step()
    gate.hold()
    sending = asyncio.create_task(outbox.step())
    while not gate.waiting:  # noqa: ASYNC110  # the gate has no event for waiting requests
        await asyncio.sleep(0)
    gate.release(0)
    while not gate.writes:  # noqa: ASYNC110  # the gate has no event for sent writes
        await asyncio.sleep(0)
    undone = await outbox.undo_newest()
    assert undone
    assert undone.undone
    gate.release()
    await sending
    assert await count_open_threads(ask, here) == 0
    await outbox.send_due()
    assert (outbox.entries, await count_open_threads(ask, here)) == ((), 1)


async def test_second_undo_undoes_the_write_before(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    about = [await thread(ask, here, str(number), user="mia") for number in range(2)]
    for each in about:
        await outbox.add_all(resolve_writes(here, [each]))
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.step()
    await outbox.step()
    await outbox.step()
    first, second = await outbox.undo_newest(), await outbox.undo_newest()
    assert first
    assert second
    assert [each.traits.thread_id for each in (*first.undone, *second.undone)] == [about[1].id, about[0].id]
    await outbox.send_due()
    assert (outbox.entries, await count_open_threads(ask, here), await outbox.undo_newest()) == ((), 2, None)


@pytest.mark.parametrize("how", ["quit", "crash"])
async def test_writes_added_together_are_undone_after_a_restart(
    how: str, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = [await thread(ask, here, str(number), user="mia") for number in range(3)]
    await add_write(outbox, comment(here, "First"), action="comment", draft_key="a")
    await outbox.add_all(resolve_writes(here, about))
    if how == "quit":
        await outbox.close()
    again = ManualOutbox(gate, outbox.state, Drafts(outbox.state), me=MIA)
    await again.get_lock()
    undone = await again.undo_newest()
    assert undone
    assert undone.message == "Canceled: resolve the thread · “Why?”, all 3."
    assert await again.undo_newest()
    assert Drafts(again.state).get("a") == "First"
    assert (again.entries, await again.undo_newest(), gate.writes) == ((), None, [])
    await again.close()


async def test_undo_does_not_revert_a_write_by_another_user(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, gate: RequestGate, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await outbox.add_all(resolve_writes(here, [about]))
    await ask(comments.Update(at=here, comment_id=about.id, resolved=True), "ada")
    await deliver(outbox, clock)
    undone = await outbox.undo_newest()
    await outbox.send_due()
    assert undone
    assert (undone.undone, await count_open_threads(ask, here), gate.writes) == ((), 0, [])
    assert undone.message == "Nothing to undo for “resolve the thread”: someone else did this first."


async def test_edit_is_compared_with_the_text_it_started_from(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    mine = await thread(ask, here, "Version 1", user="mia")
    where: dict[str, Any] = {"at": here, "comment_id": mine.id}
    await ask(comments.Update(**where, body=Markdown(markdown="Version 2 of another window")), "mia")
    edit = comments.Update(**where, body=Markdown(markdown="Version 2"))
    await outbox.add_all([NewWrite(edit, "edit the comment", "edit", ExpectedState(text="Version 1"))])
    await deliver(outbox, clock)
    assert outbox.entries[0].changed_by_others


async def test_undo_leaves_the_writes_of_another_running_instance(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate
) -> None:
    await outbox.get_lock()
    await add_write(outbox, comment(here, "First"), action="comment", draft_key="a")
    other = ManualOutbox(gate, outbox.state, Drafts(outbox.state), me=MIA)
    await add_write(other, comment(here, "Other"), action="comment", draft_key="b")
    assert await other.undo_newest()
    assert await other.undo_newest() is None
    assert [entry.traits.text for entry in outbox.entries] == ["First"]
    assert await outbox.undo_newest()
