"""Notes that programs propose: only the user sends them, and an accepted note becomes a pending comment."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.api import change_requests, comments, reviews
from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.proposed_notes import MAX_NOTES, NewNote, ProposedNotes
from octavo.data.state_db import NotSaved, StateDb
from octavo.data.writes.change_request_writes import submit_review
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate
from tests.data.test_change_request_writes import edit
from tests.data.test_outbox import deliver
from tests.server.small_platform import Ask, Clock


@pytest.fixture
async def at(ask: Ask, here: SpaceRef) -> ChangeRequestRef:
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    await edit(ask, made.ref(here), "intro", "# Intro\n\nHello, reader.")
    await ask(change_requests.Update(at=made.ref(here), status="open"))
    return made.ref(here)


@pytest.fixture
async def seen(ask: Ask, at: ChangeRequestRef) -> ChangeRequest:
    return await ask(change_requests.Get(at=at))


@pytest.fixture
def proposed_notes(outbox: ManualOutbox) -> ProposedNotes:
    return ProposedNotes(outbox.state, outbox)


def note(words: str, source: str = "claude") -> NewNote:
    return NewNote("intro", "b1", words, source, f"intro b1 {words} {source}")


def texts(proposed_notes: ProposedNotes, at: ChangeRequestRef) -> list[str]:
    return [each.body for each in proposed_notes.at(at)]


def pending_texts(outbox: ManualOutbox, at: ChangeRequestRef) -> list[str]:
    return [each.traits.text for each in outbox.pending_comments(at)]


async def posted_texts(ask: Ask, at: ChangeRequestRef) -> list[str]:
    return [each.body.text for each in (await ask(comments.List(at=at, format="markdown", order="asc"))).items]


async def test_note_proposed_twice_is_stored_once(proposed_notes: ProposedNotes, at: ChangeRequestRef) -> None:
    first = await proposed_notes.propose(at, [note("One."), note("Two."), note("One."), note("One.", "vale")])
    assert ([each.body for each in first.added], first.duplicate_count) == (["One.", "Two.", "One."], 1)
    second = await proposed_notes.propose(at, [note("One."), note("Two."), note("Three.")])
    assert ([each.body for each in second.added], second.duplicate_count) == (["Three."], 2)
    assert texts(proposed_notes, at) == ["One.", "Two.", "One.", "Three."]


async def test_note_decided_before_is_not_proposed_again(proposed_notes: ProposedNotes, at: ChangeRequestRef) -> None:
    first, second = (await proposed_notes.propose(at, [note("One."), note("Two.")])).added
    await proposed_notes.discard([first])
    await proposed_notes.accept([second])
    again = await proposed_notes.propose(at, [note("One."), note("Two.")])
    assert (again.added, again.duplicate_count) == ((), 2)


async def test_review_and_merge_send_no_proposed_note(
    live: Live,
    outbox: ManualOutbox,
    proposed_notes: ProposedNotes,
    ask: Ask,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    clock: Clock,
    gate: RequestGate,
) -> None:
    await proposed_notes.propose(at, [note("One."), note("Two.")])
    assert pending_texts(outbox, at) == []
    await submit_review(live, at, "approved", seen.revision, "Good.", action="approve", draft_key="verdict")
    await deliver(outbox, clock)
    await ask(change_requests.Merge(at=at))
    await outbox.send_now()
    assert [type(each).__name__ for each in gate.writes] == ["Submit"]
    assert [each.status for each in (await ask(reviews.List(at=at))).items] == ["approved"]
    assert all(each not in ("One.", "Two.") for each in await posted_texts(ask, at))
    assert texts(proposed_notes, at) == ["One.", "Two."]


async def test_accepted_note_is_a_pending_comment(
    outbox: ManualOutbox, proposed_notes: ProposedNotes, ask: Ask, at: ChangeRequestRef, clock: Clock
) -> None:
    first, second, third = (await proposed_notes.propose(at, [note("One."), note("Two."), note("Three.")])).added
    await proposed_notes.accept([first])
    await proposed_notes.accept([third], body="Three, edited.")
    assert (texts(proposed_notes, at), pending_texts(outbox, at)) == (["Two."], ["One.", "Three, edited."])
    await outbox.submit_review(at)
    await deliver(outbox, clock)
    assert await posted_texts(ask, at) == ["One.", "Three, edited."]
    await proposed_notes.discard([second])
    assert texts(proposed_notes, at) == []


async def test_note_accepted_elsewhere_is_not_accepted_twice(
    outbox: ManualOutbox, proposed_notes: ProposedNotes, at: ChangeRequestRef
) -> None:
    (one, two) = (await proposed_notes.propose(at, [note("One."), note("Two.")])).added
    await proposed_notes.accept([one])
    assert [each.note for each in await proposed_notes.accept([one, two])] == [two]
    assert pending_texts(outbox, at) == ["One.", "Two."]


async def test_undo_of_accept_proposes_the_note_again(
    outbox: ManualOutbox, proposed_notes: ProposedNotes, at: ChangeRequestRef
) -> None:
    (one, two) = (await proposed_notes.propose(at, [note("One."), note("Two.")])).added
    accepted = await proposed_notes.accept([one, two])
    entry = outbox.pending_comments(at)[1]
    body = entry.op.body.model_copy(update={"markdown": "Two, and more."})  # type: ignore[union-attr]  # the entry is a comment
    await outbox.edit_pending_comment(entry, entry.op.model_copy(update={"body": body}), "")
    await proposed_notes.undo_accept(accepted)
    assert (texts(proposed_notes, at), pending_texts(outbox, at)) == (["One."], ["Two, and more."])


async def test_undo_of_discard_proposes_the_note_again(proposed_notes: ProposedNotes, at: ChangeRequestRef) -> None:
    added = (await proposed_notes.propose(at, [note("One."), note("Two.")])).added
    await proposed_notes.discard(added)
    assert texts(proposed_notes, at) == []
    await proposed_notes.undo_discard(added)
    assert texts(proposed_notes, at) == ["One.", "Two."]


async def test_accepted_note_removed_from_the_review_is_a_draft(
    outbox: ManualOutbox, drafts: Drafts, proposed_notes: ProposedNotes, at: ChangeRequestRef
) -> None:
    (one,) = (await proposed_notes.propose(at, [note("One.")])).added
    (accepted,) = await proposed_notes.accept([one])
    await outbox.discard(accepted.entry.id)
    key = f"comment {at.space_id} {at.change_request_id} intro b1"
    assert drafts.get(key) == "One."


async def test_text_for_a_note_that_was_decided_meanwhile_is_a_draft(
    outbox: ManualOutbox, drafts: Drafts, proposed_notes: ProposedNotes, at: ChangeRequestRef
) -> None:
    (one,) = (await proposed_notes.propose(at, [note("One.")])).added
    await drafts.save("held", "One, in my words.")
    await proposed_notes.discard([one])
    assert await proposed_notes.accept([one], "One, in my words.", "held") == ()
    key = f"comment {at.space_id} {at.change_request_id} intro b1"
    assert (drafts.get("held"), drafts.get(key), pending_texts(outbox, at)) == (None, "One, in my words.", [])


async def test_too_many_notes_are_not_stored(proposed_notes: ProposedNotes, at: ChangeRequestRef) -> None:
    proposal = await proposed_notes.propose(at, [note(f"Note {number}.") for number in range(MAX_NOTES + 3)])
    assert (len(proposal.added), proposal.over_limit_count) == (MAX_NOTES, 3)
    assert (await proposed_notes.propose(at, [note("One more.")])).over_limit_count == 1


async def test_withdrawn_note_can_be_proposed_again(proposed_notes: ProposedNotes, at: ChangeRequestRef) -> None:
    (one,) = (await proposed_notes.propose(at, [note("One.")])).added
    assert not await proposed_notes.withdraw(at, one.id, "another program")
    assert await proposed_notes.withdraw(at, one.id, "claude")
    assert not await proposed_notes.withdraw(at, one.id, "claude")
    assert len((await proposed_notes.propose(at, [note("One.")])).added) == 1


async def test_notes_of_another_instance_are_shown(tmp_path: Path, outbox: ManualOutbox, at: ChangeRequestRef) -> None:
    here, there = StateDb(tmp_path, "mia"), StateDb(tmp_path, "mia")
    shown, added = ProposedNotes(here, outbox), ProposedNotes(there, outbox)
    assert texts(shown, at) == []
    changes: list[int] = []
    shown.changed.add(lambda: changes.append(1))
    await added.propose(at, [note("One.")])
    here.check_changed()
    assert (texts(shown, at), changes) == (["One."], [1])
    here.close()
    there.close()


async def test_full_disk_stores_no_note(tmp_path: Path, outbox: ManualOutbox, at: ChangeRequestRef) -> None:
    state = StateDb(tmp_path, "mia")
    proposed_notes = ProposedNotes(state, outbox)
    state.read_only, state.save_error = True, "Nothing is being saved: the disk is full."
    with pytest.raises(NotSaved, match="the disk is full"):
        await proposed_notes.propose(at, [note("One.")])
    assert texts(proposed_notes, at) == []
    state.close()
