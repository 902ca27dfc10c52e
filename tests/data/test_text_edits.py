"""Applying suggestions to the pages of a change request never overwrites other edits."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, comments, content
from octavo.api.bodies import Markdown
from octavo.api.errors import Lost
from octavo.api.operation import ChangeRequestRef, Operation, SpaceRef
from octavo.api.text import Raw
from octavo.data.live import Live
from octavo.data.writes.direct import finish_unfinished, unfinished_writes
from octavo.data.writes.text_edits import SuggestedText, apply_suggestions, resolve_write, revert_suggestions
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import find_suggestions, suggestion_fence
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate, refuse_to_save
from tests.data.test_change_request_writes import edit
from tests.server.small_platform import Ask, Clock

SAYS = "# Intro\n\nHello, reader.\n\nGoodbye.\n"


@pytest.fixture
async def at(ask: Ask, here: SpaceRef) -> ChangeRequestRef:
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    await edit(ask, made.ref(here), "intro", SAYS)
    return made.ref(here)


async def suggest(ask: Ask, at: ChangeRequestRef, words: str, wanted: str) -> SuggestedText:
    """Create a suggestion by Tom for the block with the text `words`. Return the suggestion as the author reads it."""
    key = next(each.key for each in parse(SAYS).walk() if each.plain() == words)
    body = Markdown(markdown=f"Better:\n\n{suggestion_fence(wanted)}")
    made = await ask(comments.Create(at=at, page="intro", node=key, body=body), "tom")
    (found,) = find_suggestions(made.body.text)
    assert made.target.page
    assert made.target.node
    return SuggestedText(made.target.page.id, made.target.node.id, made.target.revision, found.text)


async def page_text(ask: Ask, at: ChangeRequestRef) -> Raw | None:
    return (await ask(content.GetRawPage(at=at, page_id="intro"))).markdown


async def test_two_suggestions_are_one_edit_that_can_be_undone(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello, **dear** reader.")
    two = await suggest(ask, at, "Goodbye.", "````\n```\n````\n<<<<<<< main")
    sent = await apply_suggestions(live, at, (one, two))
    assert sent.result
    assert (sent.kind, sent.result.applied_count) == ("done", 2)
    assert await page_text(ask, at) == Raw("# Intro\n\nHello, **dear** reader.\n\n````\n```\n````\n<<<<<<< main\n")
    assert len([op for op in gate.writes if isinstance(op, content.Edit)]) == 1
    assert (await revert_suggestions(live, at, sent.result)).kind == "done"
    assert await page_text(ask, at) == Raw(SAYS)


async def test_edited_block_stops_all_suggestions(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello, **dear** reader.")
    two = await suggest(ask, at, "Goodbye.", "Farewell.")
    await edit(ask, at, "intro", now := SAYS.replace("Hello, reader.", "Hello, writer."))
    sent = await apply_suggestions(live, at, (one, two))
    assert sent.result
    assert (sent.kind, [result for _, result in sent.result.results]) == ("changed", ["changed", "applied"])
    assert (await page_text(ask, at), gate.writes) == (Raw(now), [])
    assert (await apply_suggestions(live, at, (two,))).kind == "done"
    assert await page_text(ask, at) == Raw(now.replace("Goodbye.", "Farewell."))
    again = await apply_suggestions(live, at, (two,))
    assert again.result
    assert (again.kind, [result for _, result in again.result.results]) == ("changed", ["same"])


async def test_edit_after_applying_is_not_reverted(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    sent = await apply_suggestions(live, at, (await suggest(ask, at, "Goodbye.", "Farewell."),))
    assert sent.result
    await edit(ask, at, "intro", SAYS)
    assert (await revert_suggestions(live, at, sent.result)).kind == "changed"


async def test_resolve_is_queued_with_the_edit_and_undone_with_it(
    live: Live, ask: Ask, at: ChangeRequestRef, outbox: ManualOutbox
) -> None:
    one = await suggest(ask, at, "Goodbye.", "Farewell.")
    (thread,) = (await ask(comments.List(at=at))).items
    sent = await apply_suggestions(live, at, (one,), [resolve_write(at, thread, "Better")])
    assert sent.result
    assert [entry.id for entry in outbox.entries] == [*sent.result.later_ids]
    assert unfinished_writes(outbox.state) == ()
    assert (await revert_suggestions(live, at, sent.result)).kind == "done"
    assert outbox.entries == ()
    assert await page_text(ask, at) == Raw(SAYS)


async def test_sent_resolve_is_reopened_by_the_undo(
    live: Live, ask: Ask, at: ChangeRequestRef, outbox: ManualOutbox, clock: Clock
) -> None:
    one = await suggest(ask, at, "Goodbye.", "Farewell.")
    (thread,) = (await ask(comments.List(at=at))).items
    sent = await apply_suggestions(live, at, (one,), [resolve_write(at, thread, "Better")])
    assert sent.result
    clock.forward(seconds=10)
    await outbox.send_due()
    assert not (await ask(comments.Get(at=at, comment_id=thread.id))).is_open
    assert (await revert_suggestions(live, at, sent.result)).kind == "done"
    await outbox.send_due()
    assert (await ask(comments.Get(at=at, comment_id=thread.id))).is_open


async def test_simultaneous_edit_on_a_full_disk_says_the_thread_is_resolved(
    live: Live, ask: Ask, at: ChangeRequestRef, outbox: ManualOutbox, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Goodbye.", "Farewell.")
    (thread,) = (await ask(comments.List(at=at))).items

    async def send(op: Operation[Any]) -> Any:
        if isinstance(op, content.Edit):
            await edit(ask, at, "intro", SAYS.replace("Goodbye", "Bye"))
        if isinstance(op, content.GetRawPage) and gate.writes and not refusals:
            refusals.append(refuse_to_save(outbox.state))
        return await gate(op)

    refusals: list[object] = []
    live.send = send
    sent = await apply_suggestions(live, at, (one,), [resolve_write(at, thread, "Better")])
    assert sent.kind == "refused"
    assert sent.message.startswith("someone else changed the page at the same moment. Octavo could not cancel")


async def test_undo_on_a_full_disk_says_that_the_text_is_restored(
    live: Live, ask: Ask, at: ChangeRequestRef, outbox: ManualOutbox, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Goodbye.", "Farewell.")
    (thread,) = (await ask(comments.List(at=at))).items
    sent = await apply_suggestions(live, at, (one,), [resolve_write(at, thread, "Better")])
    assert sent.result is not None

    async def send(op: Operation[Any]) -> Any:
        response = await gate(op)
        if isinstance(op, content.Edit):
            refuse_to_save(outbox.state)
        return response

    live.send = send
    undone = await revert_suggestions(live, at, sent.result)
    assert await page_text(ask, at) == Raw(SAYS)
    assert undone.kind == "done"
    assert undone.message.startswith("Restored the text, but could not undo resolving the threads: ")


@pytest.mark.parametrize("arrives", [True, False])
async def test_killed_edit_is_finished_at_the_next_start(
    live: Live, ask: Ask, at: ChangeRequestRef, outbox: ManualOutbox, gate: RequestGate, arrives: bool
) -> None:
    one = await suggest(ask, at, "Goodbye.", "Farewell.")
    (thread,) = (await ask(comments.List(at=at))).items

    async def end_process(op: Operation[Any]) -> Any:
        if not isinstance(op, content.Edit):
            return await gate(op)
        if arrives:
            await gate(op)
        raise asyncio.CancelledError

    live.send = end_process
    with pytest.raises(asyncio.CancelledError):
        await apply_suggestions(live, at, (one,), [resolve_write(at, thread, "Better")])
    live.send = gate
    (begun,) = unfinished_writes(outbox.state)
    assert outbox.entries == ()
    finished = await finish_unfinished(live, begun)
    assert finished
    assert (finished.kind, len(outbox.entries)) == (("done", 1) if arrives else ("unknown", 0))
    assert unfinished_writes(outbox.state) == ()
    assert await finish_unfinished(live, begun) is None
    assert len(outbox.entries) == arrives


async def test_suggestion_without_a_revision_is_not_applied(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    sent = await apply_suggestions(live, at, (SuggestedText(one.page_id, one.block_key, None, one.text),))
    assert (sent.kind, gate.writes) == ("changed", [])


async def test_edit_during_applying_is_not_overwritten(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    inner, seen = gate._send, list[Operation[Any]]()

    async def edit_after_reading(op: Operation[Any]) -> Any:
        if isinstance(op, content.GetRawPage) and len(seen) < 2:
            answer: Any = await inner(op)
            seen.append(op)
            if len(seen) == 2:  # The page was read, and the edit is not sent yet.
                await edit(ask, at, "intro", SAYS.replace("Goodbye.", "See you."))
            return answer
        return await inner(op)

    gate._send = edit_after_reading
    assert (await apply_suggestions(live, at, (one,))).kind == "done"
    assert await page_text(ask, at) == Raw("# Intro\n\nHello.\n\nSee you.\n")


async def test_lost_response_is_read_back(live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    inner = gate._send

    async def lose_response(op: Operation[Any]) -> Any:
        answer: Any = await inner(op)
        if isinstance(op, content.Edit):
            raise Lost("The connection broke.")
        return answer

    gate._send = lose_response
    assert (await apply_suggestions(live, at, (one,))).kind == "done"
    assert len([op for op in gate.writes if isinstance(op, content.Edit)]) == 1
    assert await page_text(ask, at) == Raw(SAYS.replace("Hello, reader.", "Hello."))


async def test_archived_change_request_is_not_edited(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    await ask(change_requests.Update(at=at, status="archived"))
    sent = await apply_suggestions(live, at, (one,))
    assert (sent.kind, sent.message) == ("refused", "the change request is now archived.")


def edit_as_other_during_send(ask: Ask, at: ChangeRequestRef, gate: RequestGate, text: str) -> None:
    """Let another user save a text right before the server gets the next edit."""
    inner, waiting = gate._send, [text]

    async def edit_first(op: Operation[Any]) -> Any:
        if isinstance(op, content.Edit) and waiting:
            await edit(ask, at, "intro", waiting.pop())
        return await inner(op)

    gate._send = edit_first


async def test_simultaneous_edit_of_other_words_is_kept(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    theirs = SAYS.replace("Goodbye.", "See you.")
    edit_as_other_during_send(ask, at, gate, theirs)
    sent = await apply_suggestions(live, at, (one,))
    assert sent.kind == "done"
    assert await page_text(ask, at) == Raw("# Intro\n\nHello.\n\nSee you.\n")
    assert sent.result is not None
    assert (await revert_suggestions(live, at, sent.result)).kind == "done"
    assert await page_text(ask, at) == Raw(theirs)


async def test_simultaneous_edit_of_the_same_words_is_restored(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate, outbox: ManualOutbox
) -> None:
    one = await suggest(ask, at, "Hello, reader.", "Hello.")
    (thread,) = (await ask(comments.List(at=at))).items
    theirs = SAYS.replace("Hello, reader.", "Welcome, all of you.")
    edit_as_other_during_send(ask, at, gate, theirs)
    sent = await apply_suggestions(live, at, (one,), [resolve_write(at, thread, "“Hello, reader.”")])
    assert sent.result is not None
    assert (sent.kind, [result for _, result in sent.result.results]) == ("changed", ["changed"])
    assert await page_text(ask, at) == Raw(theirs)
    assert not outbox.entries


async def test_undo_keeps_a_simultaneous_edit_of_other_words(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    sent = await apply_suggestions(live, at, (await suggest(ask, at, "Hello, reader.", "Hello."),))
    assert sent.result is not None
    edit_as_other_during_send(ask, at, gate, "# Intro\n\nHello.\n\nSee you.\n")
    assert (await revert_suggestions(live, at, sent.result)).kind == "done"
    assert await page_text(ask, at) == Raw("# Intro\n\nHello, reader.\n\nSee you.\n")


async def test_undo_leaves_a_simultaneous_edit_of_the_same_words(
    live: Live, ask: Ask, at: ChangeRequestRef, gate: RequestGate
) -> None:
    sent = await apply_suggestions(live, at, (await suggest(ask, at, "Hello, reader.", "Hello."),))
    assert sent.result is not None
    theirs = "# Intro\n\nHello, all.\n\nGoodbye.\n"
    edit_as_other_during_send(ask, at, gate, theirs)
    undone = await revert_suggestions(live, at, sent.result)
    assert (undone.kind, "edited afterward" in undone.message) == ("changed", True)
    assert await page_text(ask, at) == Raw(theirs)
