"""Pending comments are sent before their review."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, comments, reviews
from octavo.api.bodies import Markdown
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import Forbidden, Lost, NotSent, Trace, rejected
from octavo.api.operation import ChangeRequestRef, Operation, SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.state_db import NotSaved
from octavo.data.writes.change_request_writes import review, submit_review, withdraw_review_by_request
from octavo.data.writes.machine import NewWrite
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate, add_write
from tests.data.test_change_request_writes import edit
from tests.data.test_outbox import deliver
from tests.server.refusing_platform import Platform
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


async def add_pending(outbox: ManualOutbox, place: ChangeRequestRef, *words: str) -> None:
    for number, each in enumerate(words):
        op = comments.Create(at=place, page="intro", body=Markdown(markdown=each))
        await outbox.add_pending_comments([NewWrite(op, "comment", f"place {number}")])


async def posted_texts(ask: Ask, place: ChangeRequestRef) -> list[str]:
    return [each.body.text for each in (await ask(comments.List(at=place, format="markdown", order="asc"))).items]


async def review_statuses(ask: Ask, place: ChangeRequestRef) -> list[str]:
    return [each.status for each in (await ask(reviews.List(at=place))).items]


async def approve(live: Live, of: ChangeRequest, place: ChangeRequestRef, words: str = "") -> str:
    return (
        await submit_review(live, place, "approved", of.revision, words, action="approve", draft_key="verdict")
    ).kind


async def edit_or_archive(ask: Ask, place: ChangeRequestRef, how: str) -> None:
    if how == "edited":
        await edit(ask, place, "intro", "# Intro\n\nOther words.")
    else:
        await ask(change_requests.Update(at=place, status="archived"))


async def test_pending_comments_are_sent_before_the_review(
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    ask: Ask,
    clock: Clock,
    gate: RequestGate,
) -> None:
    await add_pending(outbox, at, "One", "Two", "Three")
    clock.forward(seconds=90_000)
    await outbox.send_due()
    assert (await posted_texts(ask, at), gate.writes) == ([], [])
    assert await approve(live, seen, at, "Well done.") == "done"
    await deliver(outbox, clock)
    assert await posted_texts(ask, at) == ["One", "Two", "Three", "Well done."]
    assert [type(each).__name__ for each in gate.writes] == ["Create"] * 3 + ["Submit"]
    assert (await review_statuses(ask, at), outbox.entries) == (["approved"], ())


async def test_lost_comment_delays_other_comments_and_the_review(
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    ask: Ask,
    clock: Clock,
    gate: RequestGate,
) -> None:
    await add_pending(outbox, at, "One", "Two")
    await approve(live, seen, at)
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.step()
    await outbox.step()
    await outbox.step()
    lost = True

    async def lose_comment(op: Operation[object]) -> object:
        nonlocal lost
        answer = await gate(op)
        if isinstance(op, comments.Create) and lost:
            lost = False
            raise Lost("The connection broke.")
        return answer

    outbox._worker._delivery._send = lose_comment  # type: ignore[assignment]  # responds like the client
    await outbox.send_due()
    assert (await posted_texts(ask, at), await review_statuses(ask, at)) == (["One"], [])
    clock.forward(seconds=61)
    await outbox.send_due()
    assert (await posted_texts(ask, at), await review_statuses(ask, at)) == (["One", "Two"], ["approved"])


async def test_review_is_not_sent_without_all_its_comments(
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    ask: Ask,
    clock: Clock,
    gate: RequestGate,
    drafts: Drafts,
) -> None:
    await add_pending(outbox, at, "One", "Two")
    await approve(live, seen, at, "Well done.")
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.step()
    await outbox.step()
    await outbox.step()
    gate.errors.append(rejected("No.", Trace(status=403)))
    await outbox.send_due()
    failed = {each.action: each.reason for each in outbox.entries}
    assert await review_statuses(ask, at) == []
    assert "one pending comment was not sent" in failed["approve"]
    assert (drafts.get("verdict"), drafts.get("place 0")) == ("Well done.", "One")
    await outbox.discard(next(each.id for each in outbox.entries if each.action == "comment"))
    assert await approve(live, seen, at, "Well done.") == "done"
    await deliver(outbox, clock)
    assert (await posted_texts(ask, at), await review_statuses(ask, at)) == (["Two", "Well done."], ["approved"])
    assert outbox.entries == ()


async def test_undone_review_leaves_pending_comments_and_a_draft(
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    clock: Clock,
    gate: RequestGate,
    drafts: Drafts,
) -> None:
    await add_pending(outbox, at, "One", "Two")
    await approve(live, seen, at, "Well done.")
    undone = await outbox.undo_newest()
    assert undone
    assert undone.undone
    assert undone.message == "Canceled: approve. Pending again: comment, both."
    assert [each.state for each in outbox.entries] == ["pending", "pending"]
    assert drafts.get("verdict") == "Well done."
    clock.forward(seconds=60)
    await outbox.send_due()
    assert gate.writes == []


@pytest.mark.parametrize("how", ["edited", "archived"])
async def test_changed_change_request_stops_the_review_and_its_comments(
    how: str,
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    ask: Ask,
) -> None:
    await add_pending(outbox, at, "One")
    await edit_or_archive(ask, at, how)
    sent = await submit_review(live, at, "approved", seen.revision, action="approve")
    assert (sent.kind, [each.state for each in outbox.entries]) == ("changed", ["pending"])
    assert how in sent.message
    assert "Your comments are still pending." in sent.message


async def test_refused_check_of_the_change_request_is_the_error_of_the_review(
    live: Live, outbox: ManualOutbox, at: ChangeRequestRef, seen: ChangeRequest, platform: Platform
) -> None:
    await add_pending(outbox, at, "One")
    platform.refuse_next(change_requests.Get, 403, "Not for you.")
    sent = await submit_review(live, at, "approved", seen.revision, action="approve")
    assert (sent.kind, [each.state for each in outbox.entries]) == ("refused", ["pending"])
    assert isinstance(sent.error, Forbidden)


@pytest.mark.parametrize("how", ["edited", "archived"])
async def test_change_after_the_comments_makes_the_review_a_draft(
    how: str,
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    ask: Ask,
    clock: Clock,
    drafts: Drafts,
) -> None:
    await add_pending(outbox, at, "One")
    await approve(live, seen, at, "Well done.")
    await edit_or_archive(ask, at, how)
    await deliver(outbox, clock)
    assert await review_statuses(ask, at) == []
    assert [(each.action, how in each.reason) for each in outbox.entries][-1] == ("approve", True)
    assert drafts.get("verdict") == "Well done."


async def test_review_offline_sends_nothing(
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    gate: RequestGate,
) -> None:
    await add_pending(outbox, at, "One")
    gate.errors.append(NotSent("Can't reach the server."))
    assert await approve(live, seen, at) == "refused"
    assert [each.state for each in outbox.entries] == ["pending"]


async def test_two_key_presses_give_one_review(
    live: Live,
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    ask: Ask,
    clock: Clock,
) -> None:
    await add_pending(outbox, at, "One")
    assert await approve(live, seen, at) == "done"
    assert await approve(live, seen, at) == "refused"
    assert (await review(live, at, "approved", seen.revision, action="approve #1")).kind == "refused"
    await deliver(outbox, clock)
    assert await review_statuses(ask, at) == ["approved"]


async def test_pending_comment_can_be_edited_and_discarded(
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    drafts: Drafts,
) -> None:
    await add_pending(outbox, at, "One", "Two")
    one, two = outbox.pending_comments(at)
    await drafts.save("rewording", "One more")
    op = comments.Create(at=at, page="intro", body=Markdown(markdown="One more"))
    assert await outbox.edit_pending_comment(one, op, "rewording")
    assert drafts.get("rewording") is None
    await outbox.discard(two.id)
    assert drafts.get("place 1") == "Two"
    assert [each.op for each in outbox.pending_comments(at)] == [op]
    assert not await outbox.edit_pending_comment(two, op, "rewording")


async def test_edit_of_a_comment_that_was_sent_meanwhile_becomes_a_draft(
    outbox: ManualOutbox, at: ChangeRequestRef, drafts: Drafts, clock: Clock
) -> None:
    await add_pending(outbox, at, "One")
    (one,) = outbox.pending_comments(at)
    await drafts.save("held", "One more")
    await outbox.submit_review(at)
    await deliver(outbox, clock)
    op = comments.Create(at=at, page="intro", body=Markdown(markdown="One more"))
    assert not await outbox.edit_pending_comment(one, op, "held")
    assert (drafts.get("held"), drafts.get("place 0")) == (None, "One more")


async def test_edit_of_a_comment_that_is_then_refused_stays_a_draft(
    outbox: ManualOutbox, at: ChangeRequestRef, drafts: Drafts, gate: RequestGate, clock: Clock
) -> None:
    await add_pending(outbox, at, "One")
    (one,) = outbox.pending_comments(at)
    await drafts.save("held", "One more")
    await outbox.submit_review(at)
    op = comments.Create(at=at, page="intro", body=Markdown(markdown="One more"))
    assert not await outbox.edit_pending_comment(one, op, "held")
    gate.errors.extend(Forbidden("Ask an admin.", Trace(status=403)) for _ in range(2))
    await deliver(outbox, clock)
    (failed,) = outbox.entries
    assert failed.state == "failed"
    texts = {text for (text,) in outbox.state.rows("SELECT text FROM drafts")}
    assert texts == {"One", "One more"}
    await outbox.retry(failed.id)
    assert drafts.get("place 0") == "One more"


async def test_edit_by_another_instance_is_not_replaced(
    outbox: ManualOutbox, at: ChangeRequestRef, drafts: Drafts
) -> None:
    await add_pending(outbox, at, "One")
    (seen_by_both,) = outbox.pending_comments(at)
    for words, is_edited in (("One more", True), ("One less", False)):
        await drafts.save("held", words)
        op = comments.Create(at=at, page="intro", body=Markdown(markdown=words))
        assert await outbox.edit_pending_comment(seen_by_both, op, "held") is is_edited
    assert [each.traits.text for each in outbox.pending_comments(at)] == ["One more"]
    assert (drafts.get("held"), drafts.get("place 0")) == (None, "One less")


async def test_edited_comment_is_not_removed_without_its_text(outbox: ManualOutbox, at: ChangeRequestRef) -> None:
    new = [comments.Create(at=at, page="intro", body=Markdown(markdown=each)) for each in ("One", "Two")]
    added = await outbox.add_pending_comments([NewWrite(op, "comment") for op in new])
    edited = new[0].model_copy(update={"body": Markdown(markdown="One, in my words")})
    assert await outbox.edit_pending_comment(added[0], edited, "")
    assert await outbox.remove_pending_comments(added)
    assert [each.traits.text for each in outbox.pending_comments(at)] == ["One, in my words"]
    assert not await outbox.remove_pending_comments(added)


async def test_immediate_comment_does_not_wait_for_pending_ones(
    outbox: ManualOutbox,
    at: ChangeRequestRef,
    ask: Ask,
    clock: Clock,
) -> None:
    await add_pending(outbox, at, "One")
    await add_write(outbox, comments.Create(at=at, page="intro", body=Markdown(markdown="Now")), action="comment")
    await deliver(outbox, clock)
    assert await posted_texts(ask, at) == ["Now"]
    await outbox.submit_review(at)
    await deliver(outbox, clock)
    assert (await posted_texts(ask, at), await review_statuses(ask, at)) == (["Now", "One"], [])


@pytest.mark.parametrize("asked", [False, True], ids=["unasked", "asked"])
async def test_withdrawn_review_does_not_count(
    asked: bool,
    live: Live,
    at: ChangeRequestRef,
    seen: ChangeRequest,
    ask: Ask,
) -> None:
    if asked:
        await ask(reviews.Request(at=at, users=("mia",)))
    given = (await review(live, at, "approved", seen.revision, action="approve #1")).result
    assert given
    assert (await withdraw_review_by_request(live, at, given)).kind == "done"
    assert [each.outdated for each in (await ask(reviews.List(at=at))).items] == [True]
    requested = [each.user.id for each in (await ask(reviews.ListRequested(at=at))).items if each.user]
    assert requested == (["mia"] if asked else [])
    assert (await withdraw_review_by_request(live, at, given)).message == "Your review is already withdrawn."


@pytest.mark.parametrize("submits_again", [False, True], ids=["pending", "submitted again"])
@pytest.mark.parametrize("submitter", ["the other instance", "an earlier instance"])
async def test_undo_of_a_review_undone_by_another_instance_does_nothing(
    submitter: str, submits_again: bool, outbox: ManualOutbox, at: ChangeRequestRef, gate: RequestGate, drafts: Drafts
) -> None:
    await add_pending(outbox, at, "One", "Two")
    if submitter == "the other instance":
        other = ManualOutbox(gate, outbox.state, Drafts(outbox.state), me=outbox.me)
        await other.submit_review(at)
    else:
        await outbox.submit_review(at)
        other = ManualOutbox(
            gate, outbox.state, Drafts(outbox.state), me=outbox.me
        )  # The reload finds the review on disk.
    outbox._entries.reload()
    while any(each.state == "held" for each in outbox.entries):
        assert await outbox.undo_newest()
    if submits_again:
        await outbox.submit_review(at)
    before = outbox.entries
    other._entries.reload()
    undone = await other.undo_newest()
    outbox._entries.reload()
    assert (undone, outbox.entries, drafts.all()) == (None, before, ())


async def test_undo_of_a_review_is_complete_or_changes_nothing(outbox: ManualOutbox, at: ChangeRequestRef) -> None:
    await add_pending(outbox, at, "One", "Two")
    await outbox.submit_review(at, NewWrite(reviews.Submit(at=at, status="approved"), "approve"))
    before = outbox.entries
    fail = "CREATE TEMP TRIGGER fail BEFORE UPDATE ON outbox BEGIN SELECT raise(FAIL, 'disk error'); END"
    await outbox.state.write(lambda db: db.execute(fail))
    with pytest.raises(NotSaved):
        await outbox.undo_newest()
    assert outbox.entries == before, "the comments must not be sent without their review"
    await outbox.state.write(lambda db: db.execute("DROP TRIGGER fail"))
    await outbox.undo_newest()
    assert [each.state for each in outbox.entries] == ["pending", "pending"]


async def test_undo_of_a_review_keeps_comments_withdrawn_elsewhere(
    outbox: ManualOutbox, at: ChangeRequestRef, gate: RequestGate, drafts: Drafts
) -> None:
    other = ManualOutbox(gate, outbox.state, Drafts(outbox.state), me=outbox.me)
    await add_pending(outbox, at, "One")
    await add_pending(other, at, "Two")
    outbox._entries.reload()
    await outbox.submit_review(at)
    other._entries.reload()
    await other.undo_newest()  # The comment is pending again and leaves the review.
    undone = await outbox.undo_newest()
    assert undone is not None
    assert (undone.message, [each.traits.text for each in undone.undone]) == ("Pending again: comment.", ["One"])
    assert [each.state for each in outbox.entries] == ["pending", "pending"]
    assert drafts.all() == ()
