"""Writes through the outbox, to the real platform."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent, RateLimited, ServerError, Trace, Unauthorized
from octavo.api.operation import Operation, SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.writes.machine import ExpectedState, NewWrite, OutboxEntry
from octavo.data.writes.outbox import Outbox
from tests.data.conftest import MIA, ManualOutbox
from tests.data.connections import RequestGate, add_write, refuse_to_save
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock


def comment(here: SpaceRef, text: str = "Hello", **more: Any) -> comments.Create:
    return comments.Create(at=here, body=Markdown(markdown=text), **more)


async def texts(ask: Ask, here: SpaceRef) -> list[str]:
    page = await ask(comments.List(at=here, format="markdown", order="asc"))
    return [each.body.text for each in page.items]


async def thread(ask: Ask, here: SpaceRef, text: str = "Is this right?", user: str = "ada") -> comments.Comment:
    return await ask(comment(here, text), user)


async def deliver(outbox: ManualOutbox, clock: Clock) -> None:
    """Let the undo delay pass, and send."""
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.send_due()


async def test_comment_is_sent_after_the_undo_delay(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    entry = await add_write(outbox, comment(here), action="comment")
    await outbox.send_due()
    assert (entry.state, outbox.entries, await texts(ask, here)) == ("held", (entry,), [])
    await deliver(outbox, clock)
    assert (outbox.entries, await texts(ask, here)) == ((), ["Hello"])


async def test_comment_is_sent_although_the_clock_was_set_back(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    await add_write(outbox, comment(here), action="comment")
    clock.forward(hours=-3)
    await outbox.send_due()
    assert (outbox.entries, await texts(ask, here)) == ((), ["Hello"])


@pytest.mark.parametrize("restarts", [False, True])
async def test_retry_is_not_delayed_by_a_clock_that_was_set_back(
    outbox: ManualOutbox,
    here: SpaceRef,
    gate: RequestGate,
    ask: Ask,
    clock: Clock,
    state: StateDb,
    drafts: Drafts,
    restarts: bool,
) -> None:
    await add_write(outbox, comment(here), action="comment")
    gate.errors.extend(ServerError("Busy.") for _ in range(2))
    await deliver(outbox, clock)
    clock.forward(hours=1)
    await outbox.send_due()
    assert (outbox.entries[0].state, outbox.entries[0].own_failures) == ("queued", 2)
    clock.forward(minutes=-30)
    if restarts:
        await outbox.close()
        outbox = ManualOutbox(gate, state, drafts, me=MIA)
    await outbox.send_due()
    await outbox.close()
    assert (outbox.entries, await texts(ask, here)) == ((), ["Hello"])


async def test_entry_of_a_pending_id_is_found_without_a_scan(
    outbox: ManualOutbox, here: SpaceRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = [NewWrite(comment(here, str(number)), "comment") for number in range(50)]
    entries = await outbox.add_all(writes)
    named, reads = OutboxEntry.__dict__["created_id"].fget, 0

    def count_reads(entry: OutboxEntry) -> str:
        nonlocal reads
        reads += 1
        return str(named(entry))

    monkeypatch.setattr(OutboxEntry, "created_id", property(count_reads))
    assert [outbox.entry_creating(f"pending-{each.id}") for each in entries] == list(entries)
    assert [outbox.entry_creating(f"of the server {number}") for number in range(1000)] == [None] * 1000
    assert reads == 0
    await outbox.undo_newest()
    assert outbox.entry_creating(f"pending-{entries[0].id}") is None


async def test_draft_is_deleted_when_its_comment_is_queued(
    outbox: ManualOutbox, drafts: Drafts, here: SpaceRef
) -> None:
    await drafts.save("docs/new", "Hello")
    await add_write(outbox, comment(here), action="comment", draft_key="docs/new")
    assert drafts.get("docs/new") is None
    assert drafts.all() == ()


async def test_undo_gives_the_text_back(
    outbox: ManualOutbox, drafts: Drafts, here: SpaceRef, gate: RequestGate
) -> None:
    await add_write(outbox, comment(here, "One"), action="comment", draft_key="a")
    await add_write(outbox, comment(here, "Two"), action="comment", draft_key="b")
    undone = await outbox.undo_newest()
    assert undone
    assert [each.draft_key for each in undone.undone] == ["b"]
    assert [each.traits.text for each in outbox.entries] == ["One"]
    assert drafts.get("b") == "Two"
    await outbox.undo_newest()
    assert await outbox.undo_newest() is None
    assert gate.requests == []


async def test_writes_added_together_are_stored_and_undone_together(
    outbox: ManualOutbox, drafts: Drafts, here: SpaceRef, ask: Ask, clock: Clock, state: StateDb
) -> None:
    about = [await thread(ask, here, str(number), user="mia") for number in range(3)]
    wanted = [NewWrite(comments.Update(at=here, comment_id=each.id, resolved=True), "resolve") for each in about]
    allow = refuse_to_save(state)
    with pytest.raises(NotSaved):
        await outbox.add_all(wanted)
    assert outbox.entries == ()
    allow()
    entries = await outbox.add_all((*wanted, NewWrite(comment(here), "comment", "a")))
    assert len({entry.held_until for entry in entries}) == 1, "the time to undo is the same for all"
    clock.forward(seconds=outbox.undo_seconds)
    while len(outbox.entries) == 4:
        await outbox.step()
    undone = await outbox.undo_newest()
    assert undone
    assert undone.message == "Canceled: comment. Canceled: resolve, all 3 (1 was already sent and had to be undone)."
    await outbox.send_due()
    assert all([(await ask(comments.Get(at=here, comment_id=each.id))).is_open for each in about])
    assert drafts.get("a") == "Hello"
    assert await outbox.undo_newest() is None


async def test_undo_of_a_posted_comment_says_what_to_do(outbox: ManualOutbox, here: SpaceRef, clock: Clock) -> None:
    await add_write(outbox, comment(here), action="comment")
    await deliver(outbox, clock)
    undone = await outbox.undo_newest()
    assert undone
    assert not undone.undone
    assert "Delete the comment instead" in undone.message


async def test_undo_of_a_sent_resolve_reopens_the_thread(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread")
    await deliver(outbox, clock)
    assert not (await ask(comments.Get(at=here, comment_id=about.id))).is_open
    undone = await outbox.undo_newest()
    await outbox.send_due()
    assert undone
    assert undone.undone
    assert (await ask(comments.Get(at=here, comment_id=about.id))).is_open
    assert await outbox.undo_newest() is None


async def test_failed_undo_can_be_repeated(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock, state: StateDb
) -> None:
    about = await thread(ask, here, user="mia")
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread")
    await deliver(outbox, clock)
    allow = refuse_to_save(state)
    with pytest.raises(NotSaved):
        await outbox.undo_newest()
    allow()
    undone = await outbox.undo_newest()
    assert undone
    assert undone.message == "Undone: resolve the thread."


async def test_undo_of_a_reaction_removes_the_reaction(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here)
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, added_reactions=("1f44d",)), action="react")
    await deliver(outbox, clock)
    assert [each.count for each in (await ask(comments.Get(at=here, comment_id=about.id))).reactions] == [1]
    await outbox.undo_newest()
    await outbox.send_due()
    assert (await ask(comments.Get(at=here, comment_id=about.id))).reactions == ()


async def test_refused_comment_keeps_its_reason_and_becomes_a_draft(
    outbox: ManualOutbox, here: SpaceRef, platform: Platform, drafts: Drafts, ask: Ask, clock: Clock
) -> None:
    platform.refuse_next(comments.Create, 403, "You may only read here.")
    entry = await add_write(outbox, comment(here), action="comment", draft_key="a")
    await deliver(outbox, clock)
    failed = outbox.entries[0]
    assert (failed.state, failed.reason) == ("failed", "Could not comment: You may only read here.")
    assert drafts.get("a") == "Hello"
    await outbox.retry(entry.id)
    assert Drafts(outbox.state).get("a") is None
    await outbox.send_due()
    assert outbox.entries == ()
    assert await texts(ask, here) == ["Hello"]


async def test_sending_the_draft_of_a_refused_comment_replaces_it(
    outbox: ManualOutbox, here: SpaceRef, platform: Platform, drafts: Drafts, ask: Ask, clock: Clock
) -> None:
    platform.refuse_next(comments.Create, 400, "Too long.")
    await add_write(outbox, comment(here, "Hello, hello"), action="comment", draft_key="a")
    await deliver(outbox, clock)
    await drafts.save("a", f"{drafts.get('a')}!")
    await add_write(outbox, comment(here, "Hello!"), action="comment", draft_key="a")
    await deliver(outbox, clock)
    assert outbox.entries == ()
    assert await texts(ask, here) == ["Hello!"]
    assert drafts.all() == ()


async def test_other_text_for_the_same_block_keeps_the_refused_comment(
    outbox: ManualOutbox, here: SpaceRef, platform: Platform, drafts: Drafts, clock: Clock
) -> None:
    platform.refuse_next(comments.Create, 400, "Too long.")
    refused = await add_write(outbox, comment(here), action="comment", draft_key="a")
    await deliver(outbox, clock)
    await outbox.add_all((NewWrite(comment(here, "No such page."), "comment", "a", used_draft_keys=()),))
    assert refused.id in [entry.id for entry in outbox.entries]
    assert drafts.get("a") == "Hello"


async def test_discarded_comment_becomes_a_draft(
    outbox: ManualOutbox, here: SpaceRef, drafts: Drafts, gate: RequestGate
) -> None:
    entry = await add_write(outbox, comment(here), action="comment", draft_key="a")
    await outbox.discard(entry.id)
    assert outbox.entries == ()
    assert drafts.get("a") == "Hello"
    assert gate.requests == []


async def test_delay_without_a_connection_grows(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    await add_write(outbox, comment(here), action="comment")
    gate.errors.extend(NotSent("Can't reach the server.") for _ in range(3))
    await deliver(outbox, clock)
    assert (outbox.entries[0].state, outbox.entries[0].reason) == ("queued", "Not sent yet. Can't reach the server.")
    asked = len(gate.requests)
    await outbox.send_due()
    assert len(gate.requests) == asked
    for _ in range(3):
        clock.forward(seconds=60)
        await outbox.send_due()
    assert outbox.entries == ()
    assert await texts(ask, here) == ["Hello"]


async def test_write_is_sent_at_once_when_the_server_is_back(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    await add_write(outbox, comment(here), action="comment")
    gate.errors.append(NotSent("Can't reach the server."))
    await deliver(outbox, clock)
    outbox.record_response()
    clock.forward(seconds=0.6)
    await outbox.send_due()
    assert await texts(ask, here) == ["Hello"]


async def test_write_to_a_busy_server_is_sent_at_the_given_time(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    await add_write(outbox, comment(here), action="comment")
    at = replace(clock, moment=clock.moment)
    at.forward(seconds=300)
    gate.errors.append(RateLimited("Too many requests.", Trace(retry_at=at())))
    await deliver(outbox, clock)
    outbox.record_response()
    clock.forward(seconds=290)
    await outbox.send_due()
    assert len(gate.requests) == 1
    clock.forward(seconds=10)
    await outbox.send_due()
    assert await texts(ask, here) == ["Hello"]


async def test_rejected_key_pauses_all_writes_until_it_changes(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    await add_write(outbox, comment(here), action="comment")
    gate.errors.append(Unauthorized("The key was revoked."))
    await deliver(outbox, clock)
    clock.forward(hours=1)
    await outbox.send_due()
    assert outbox.connection.stop_reason.startswith("The key was revoked.")
    assert len(gate.requests) == 1
    outbox.resume()
    await outbox.send_due()
    assert outbox.connection.stop_reason == ""
    assert await texts(ask, here) == ["Hello"]


async def test_resolve_of_a_resolved_thread_sends_nothing(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await ask(comments.Update(at=here, comment_id=about.id, resolved=True))
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread")
    await deliver(outbox, clock)
    assert outbox.entries == ()
    assert gate.writes == []


async def test_resolve_and_reopen_before_sending_send_nothing(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    for wish in (True, False, True, False):
        await add_write(
            outbox, comments.Update(at=here, comment_id=about.id, resolved=wish), action="resolve the thread"
        )
    await deliver(outbox, clock)
    assert outbox.entries == ()
    assert gate.writes == []


@pytest.mark.parametrize("offline", [False, True])
async def test_undone_reopen_leaves_the_thread_resolved(
    offline: bool, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread")
    clock.forward(seconds=4)
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, resolved=False), action="reopen the thread")
    if offline:
        gate.errors.extend(NotSent("Can't reach the server.") for _ in range(9))
        clock.forward(seconds=9)
    clock.forward(seconds=1)
    await outbox.send_due()
    clock.forward(seconds=1)
    undone = await outbox.undo_newest()
    assert undone
    assert undone.message == "Canceled: reopen the thread."
    gate.errors.clear()
    clock.forward(seconds=60)
    await outbox.send_due()
    assert outbox.entries == ()
    assert not (await ask(comments.Get(at=here, comment_id=about.id))).is_open


async def test_edit_of_a_changed_comment_is_refused_and_its_text_kept(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock, drafts: Drafts
) -> None:
    mine = await thread(ask, here, "Version 1", user="mia")
    outbox.shown_state_of = lambda op: ExpectedState(text="Version 1")
    edit = comments.Update(at=here, comment_id=mine.id, body=Markdown(markdown="Version 2 of mine"))
    await add_write(outbox, edit, action="change the comment", draft_key="edit")
    await ask(comments.Update(at=here, comment_id=mine.id, body=Markdown(markdown="Version 2 elsewhere")), "mia")
    await deliver(outbox, clock)
    assert outbox.entries[0].state == "failed"
    assert "changed the text" in outbox.entries[0].reason
    assert gate.writes == []
    assert drafts.get("edit") == "Version 2 of mine"


async def test_reply_to_an_unposted_comment_gets_its_id(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    first = await add_write(outbox, comment(here), action="comment")
    answer = comments.CreateReply(at=here, comment_id=first.created_id, body=Markdown(markdown="And more"))
    await add_write(outbox, answer, action="reply")
    await deliver(outbox, clock)
    (posted,) = (await ask(comments.List(at=here))).items
    replies = await ask(comments.ListReplies(at=here, comment_id=posted.id, format="markdown"))
    assert outbox.entries == ()
    assert [each.body.text for each in replies.items] == ["And more"]


async def test_reply_waits_while_its_comment_waits(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock, gate: RequestGate
) -> None:
    gate.errors.append(ServerError("The server is being restarted."))
    first = await add_write(outbox, comment(here), action="comment")
    answer = comments.CreateReply(at=here, comment_id=first.created_id, body=Markdown(markdown="And more"))
    await add_write(outbox, answer, action="reply")
    await deliver(outbox, clock)
    assert [each.state for each in outbox.entries] == ["queued", "queued"]
    clock.forward(seconds=1)
    await outbox.send_due()
    (posted,) = (await ask(comments.List(at=here))).items
    assert posted.replies == 1


async def test_reply_to_a_refused_comment_is_refused(
    outbox: ManualOutbox, here: SpaceRef, clock: Clock, platform: Platform
) -> None:
    platform.refuse_next(comments.Create, 403, "You may only read here.")
    first = await add_write(outbox, comment(here), action="comment")
    answer = comments.CreateReply(at=here, comment_id=first.created_id, body=Markdown(markdown="And more"))
    await add_write(outbox, answer, action="reply")
    await deliver(outbox, clock)
    assert outbox.entries[1].reason == "Could not reply: the thread was not posted."


async def test_refused_comment_stays_if_another_was_written_meanwhile(
    outbox: ManualOutbox, here: SpaceRef, drafts: Drafts, clock: Clock, platform: Platform
) -> None:
    platform.refuse_next(comments.Create, 403, "You may only read here.")
    await add_write(outbox, comment(here, "First"), action="comment", draft_key="a")
    await drafts.save("a", "Second")
    await deliver(outbox, clock)
    assert drafts.get("a") == "Second"
    await add_write(outbox, comment(here, "Second"), action="comment", draft_key="a")
    assert [(each.state, each.traits.text) for each in outbox.entries] == [("failed", "First"), ("held", "Second")]
    assert drafts.get("a") == "First"
    await add_write(outbox, comment(here, "First"), action="comment", draft_key="a")
    assert [(each.state, each.traits.text) for each in outbox.entries] == [("held", "Second"), ("held", "First")]
    assert drafts.get("a") is None


async def test_write_that_is_a_day_old_is_not_sent_without_asking(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    entry = await add_write(outbox, comment(here), action="comment")
    clock.forward(hours=25)
    await outbox.send_due()
    assert outbox.entries[0].needs_user
    assert "more than a day old" in outbox.entries[0].reason
    assert gate.requests == []
    await outbox.retry(entry.id)
    await outbox.send_due()
    assert await texts(ask, here) == ["Hello"]


async def test_outbox_requests_the_user_if_unknown(
    state: StateDb, drafts: Drafts, gate: RequestGate, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    outbox = ManualOutbox(gate, state, drafts)
    await add_write(outbox, comment(here), action="comment")
    await deliver(outbox, clock)
    assert outbox.me
    assert outbox.me.id == "mia"
    assert await texts(ask, here) == ["Hello"]
    await outbox.close()


async def test_bug_while_sending_is_shown_and_raised_on_close(state: StateDb, drafts: Drafts, here: SpaceRef) -> None:
    async def faulty(op: Operation[Any]) -> Any:
        raise ZeroDivisionError

    outbox = Outbox(faulty, state, drafts, undo_seconds=0.0)
    stopped = asyncio.Event()
    outbox.changed.add(lambda: stopped.set() if outbox.connection.stop_reason else None)
    await add_write(outbox, comment(here), action="comment")
    await stopped.wait()
    assert "a bug in Octavo (ZeroDivisionError)" in outbox.connection.stop_reason
    assert [each.state for each in outbox.entries] == ["queued"]
    with pytest.raises(ZeroDivisionError):
        await outbox.close()


async def test_waiting_writes_are_sent_before_the_app_exits(
    gate: RequestGate, state: StateDb, drafts: Drafts, here: SpaceRef, ask: Ask
) -> None:
    outbox = Outbox(gate, state, drafts, undo_seconds=30)
    await add_write(outbox, comment(here, "Before I go"), action="comment")
    await outbox.send_now(max_wait=20)
    assert (outbox.entries, await texts(ask, here)) == ((), ["Before I go"])
    await outbox.close()


async def test_app_exits_even_if_nothing_can_be_sent(
    gate: RequestGate, state: StateDb, drafts: Drafts, here: SpaceRef
) -> None:
    outbox = Outbox(gate, state, drafts, undo_seconds=30)
    gate.errors.extend(NotSent("There is no network.") for _ in range(9))
    await add_write(outbox, comment(here, "Later"), action="comment")
    await outbox.send_now(max_wait=20)
    [entry] = outbox.entries
    assert entry.state == "queued"
    await outbox.close()
