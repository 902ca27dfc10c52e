"""A review with pending comments: the comments are sent together with the review, alone, or not at all."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, comments, reviews
from octavo.api.places import ChangeRequestRef, SpaceRef
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_reviewing import open_change_request

HARBOUR = SpaceRef(space_id="harbour-api")


async def ref_of_seven(run: Run) -> ChangeRequestRef:
    listed = (await run.ask(change_requests.List(at=HARBOUR), MARA)).items
    return next(each for each in listed if each.number == 7).ref(HARBOUR)


async def add_pending_comment(run: Run, words: str) -> None:
    await run.press("c")
    await run.see("ctrl+t add to review")
    await run.type(words)
    await run.press("ctrl+t")


@pytest.mark.before_release
async def test_pending_comments_are_edited_discarded_and_sent_with_the_review(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("− All times")
        await run.press("H")
        await run.hear(
            "You have no pending comments here. To add a comment to your review, press ctrl+t while you write the comment."
        )
        await run.press("enter")
        await add_pending_comment(run, "Say which zone.")
        await run.hear(
            "Your review now has 1 pending comment. To submit the review, press a to approve or A to request changes. To list its comments, press H."
        )
        await run.see("◌ 1 pending comment", "Mara Lindqvist · pending comment", "┊ Say which zone.", "● 1 open")
        await add_pending_comment(run, "And why.")
        await add_pending_comment(run, "A third.")
        await run.see("◌ 3 pending comments")
        await run.press("4")
        await run.see("Open 72", "4 Comments 72", "75 of 75  3 pending comments")
        await run.later(seconds=3000)
        assert not run.gate.sent(comments.Create)
        await run.quit()
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("◌ 3 pending comments", "pending comment")
        await run.press("H")
        await run.see("3 pending comments in your review of #7", "Time and time zones", "Say which zone.", "A third.")
        await run.press("e")
        await run.see("Edit a pending comment", "ctrl+s save")
        await run.type(" UTC?")
        await run.press("ctrl+s")
        await run.see("Say which zone. UTC?")
        await run.press("G", "X")
        await run.see("Remove this pending comment?", "“A third.”")
        await run.press("y")
        await run.see("2 pending comments in your review of #7")
        await run.press("escape", "A")
        await run.see(
            "Request changes on #7",
            "2 pending comments will be sent with the review:",
            "• Time and time zones: Say which zone. UTC?",
        )
        await run.press("ctrl+s")
        await run.hear("Submitting your review of #7 with 2 pending comments…")
        await run.gone("◌ 2 pending comments")
        await run.press("a")
        await run.hear("Your review of #7 is already being submitted. Octavo is sending the comments first.")
        await run.sent()
        await run.hear("Submitted your review: request changes on #7.")
        await run.see("Mara Lindqvist requested changes", "● 3 open")
        sent = [op for op in run.gate.passed if isinstance(op, (comments.Create, reviews.Submit))]
        assert [each.body.markdown for each in sent if isinstance(each, comments.Create)] == [
            "Say which zone. UTC?",
            "And why.",
        ]
        assert isinstance(sent[-1], reviews.Submit)
        assert len(sent) == 3


@pytest.mark.before_release
async def test_review_with_pending_comments_can_be_undone_before_it_is_sent(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("− All times")
        await run.press("enter")
        await add_pending_comment(run, "Say which zone.")
        await run.press("a")
        await run.see("1 pending comment will be sent with the review:")
        await run.type("Clear now.")
        await run.press("ctrl+s")
        await run.hear("Submitting your review of #7 with 1 pending comment…")
        await run.press("u")
        await run.hear("Canceled: approve #7. Pending again: comment")
        await run.see("◌ 1 pending comment")
        await run.press("a")
        await run.see("Clear now.")
        await run.press("escape")
        await run.later(seconds=60)
        assert not run.gate.sent(comments.Create)
        assert not run.gate.sent(reviews.Submit)


@pytest.mark.before_release
async def test_pending_comments_are_sent_without_a_review(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("− All times")
        await run.press("enter")
        await add_pending_comment(run, "Say which zone.")
        await run.press("H", "ctrl+s")
        await run.hear("Sending 1 pending comment on #7 without a review…")
        await run.sent()
        await run.see("● 2 open", "┊ ● Mara Lindqvist · 0s · open")
        assert not run.gate.sent(reviews.Submit)


async def test_pending_comment_can_be_edited_and_discarded_in_the_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("− All times")
        await run.press("enter")
        await add_pending_comment(run, "Say which zone.")
        await run.press("H", "enter")
        await run.see("pending comment", "Say which zone.")
        await run.press("c")
        await run.hear("Only you can see this pending comment.")
        await run.press("e")
        await run.see("Edit a pending comment")
        await run.type(" UTC?")
        await run.press("ctrl+s")
        await run.see("Say which zone. UTC?")
        await run.press("X", "y")
        await run.gone("◌ 1 pending comment", "· pending comment")
        await run.press("escape", "c")
        await run.see("Say which zone. UTC?", "ctrl+t add to review")


@pytest.mark.before_release
async def test_comments_stay_pending_when_the_change_request_was_edited(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("− All times")
        await run.press("enter")
        await add_pending_comment(run, "Say which zone.")
        await run.press("a")
        await run.see("1 pending comment will be sent with the review:")
        await run.ask(change_requests.Update(at=await ref_of_seven(run), status="archived"), MARA)
        await run.press("ctrl+s")
        await run.hear("The change request is archived now. Your comments are still pending.")
        await run.see("◌ 1 pending comment")


@pytest.mark.before_release
async def test_submitted_review_can_be_withdrawn(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("✓ 1 approved")
        await run.press("w")
        await run.hear("You have not reviewed #7, or your review is outdated.")
        await run.press("a")
        await run.see("Approve #7")
        await run.press("ctrl+s")
        await run.see("✓ 2 approved")
        await run.press("w")
        await run.see("Withdraw your review of #7?", "You approved #7.")
        await run.press("y")
        await run.hear("Withdrew your review of #7")
        await run.see("✓ 1 approved")
