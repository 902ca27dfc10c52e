"""A review with pending comments: the comments are sent together with the review, alone, or not at all."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, comments, reviews
from octavo.api.bodies import Markdown
from octavo.data.writes.machine import NewWrite
from octavo.data.writes.store import take_pending_comment
from octavo.tui.comments import thread_commands
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_reviewing import open_change_request, open_changes_of_seven, ref_of_seven


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
        await open_changes_of_seven(run)
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


async def test_comment_sent_before_its_confirmed_removal_is_not_called_removed(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await run.press("H", "X")
        await run.see("Remove this pending comment?")
        (entry,) = run.app.session.outbox.entries
        await run.app.session.outbox.submit_review(entry.at)  # as another running Octavo does
        await run.sent()
        await run.press("y")
        await run.hear("Could not remove the comment: it was edited, sent, removed or decided in the meantime.")


async def test_comment_added_after_the_review_dialog_was_opened_stays_pending(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await run.press("a")
        await run.see("1 pending comment will be sent with the review:")
        (entry,) = run.app.session.outbox.entries
        op = comments.Create(at=entry.at, body=Markdown(markdown="Written in another Octavo."))
        await run.app.session.outbox.add_pending_comments([NewWrite(op, "comment")])
        await run.press("ctrl+s")
        await run.hear("Submitting your review of #7 with 1 pending comment…")
        await run.later(seconds=6)
        await run.until(lambda: len(run.gate.sent(reviews.Submit)) == 1, "submit the review")
        assert [op.body.markdown for op in run.gate.sent(comments.Create)] == ["Say which zone."]
        assert [each.traits.text for each in run.app.session.outbox.pending_comments(entry.at)] == [
            "Written in another Octavo."
        ]


async def test_comment_removed_by_another_instance_is_not_called_discarded(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await run.see("◌ 1 pending comment")
        (entry,) = run.app.session.outbox.entries
        texts, state = run.app.workspace.unsent.index.of_discussion(entry.at), run.app.session.state
        await state.write(lambda db: take_pending_comment(db, state.namespace, entry.id))
        thread_commands.discard(run.app, texts)
        await run.hear(
            "Could not discard the pending comment: it was edited, sent, removed or decided in the meantime."
        )


@pytest.mark.before_release
async def test_pending_comments_are_sent_without_a_review(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await run.press("H")
        await run.see("1 pending comment in your review of #7", "e edit")
        assert "accept" not in run.keybar  # Only proposed notes can be accepted.
        await run.press("ctrl+s")
        await run.hear("Sending 1 pending comment on #7 without a review…")
        await run.sent()
        await run.see("● 2 open", "┊ ● Mara Lindqvist · 0s · open")
        assert not run.gate.sent(reviews.Submit)


async def test_pending_comment_can_be_edited_and_discarded_in_the_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
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
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await run.press("c")
        await run.type("```suggestion\nAll times are **UTC**.\n```")
        await run.press("ctrl+t")
        await run.see("◌ 2 pending comments")
        await run.press("a")
        await run.see("2 pending comments will be sent with the review:", "Time and time zones: All times are UTC.")
        await run.ask(change_requests.Update(at=await ref_of_seven(run), status="archived"), MARA)
        await run.press("ctrl+s")
        await run.hear("The change request is archived now. Your comments are still pending.")
        await run.see("◌ 2 pending comments")


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


async def select_blocks_and_write(run: Run, remark: str) -> None:
    """Select the block under the cursor and the block of the next change, and write a remark on both."""
    await run.press("asterisk", "n", "asterisk")
    await run.hear("2 blocks selected. Press A to write one remark.")
    await run.press("A")
    await run.see("Remark on 2 blocks", "ctrl+s add to review")
    await run.type(remark)
    await run.press("ctrl+s")
    await run.hear("Added 2 pending comments. They will be resolved together. Submit your review to send them.")


@pytest.mark.before_release("size1")
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_same_remark_on_several_blocks_is_resolved_as_one(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await open_changes_of_seven(run)
        await select_blocks_and_write(run, "Say which zone.")
        await run.see("Say which zone.", "The same remark is on “")
        await run.gone("Selected")
        await run.press("u")
        await run.hear("Removed 2 pending comments. Press A to continue the remark.")
        await run.see("Selected")
        await run.press("A")
        await run.see("Say which zone.")
        await run.press("ctrl+s")
        await run.hear("Added 2 pending comments.")
        await run.quit()
    async with stage.play(start="changes", size=size) as run:
        await open_change_request(run, "refused")
        await run.see("page 1 of 2", "◌ 2 pending")
        await run.press("H", "e")
        await run.see("Edit 2 linked pending comments")
        await run.type(" UTC?")
        await run.press("ctrl+s")
        await run.hear("Edited 2 linked pending comments.")
        await run.press("ctrl+s")
        await run.sent()
        written = run.gate.sent(comments.Create)
        assert len({each.node for each in written}) == 2
        assert {each.body.markdown for each in written} == {written[0].body.markdown}
        assert written[0].body.markdown.startswith("Say which zone. UTC?\n\nThe same remark is on “")
        await run.quit()
    async with stage.play(start="changes", size=size) as run:
        await open_change_request(run, "refused")
        await run.see("Say which zone. UTC?")
        await run.press("enter")
        await go_to_remark(run)
        await run.press("d")
        await run.hear("Resolving 2 linked threads…")
        await run.see("● 1 open")
        await run.press("u")
        await run.hear("Canceled: resolve the thread", "both.")
        await run.see("● 3 open")
        await go_to_remark(run)
        await run.press("D", *"Done.", "ctrl+s")
        await run.hear("Sending reply and resolving 2 linked threads…")
        await run.sent()
        assert len(run.gate.sent(comments.Update)) == 2
        await run.see("● 1 open")


async def test_undone_remark_keeps_the_draft_of_the_next_remark(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await select_blocks_and_write(run, "Say which zone.")
        await run.press("asterisk", "A")
        await run.see("Remark on 1 block")
        await run.type("Which unit?")
        await run.press("escape", "u")
        await run.hear("Removed 2 pending comments. Press A to continue the remark.")
        await run.press("A")
        await run.see("Say which zone.", "Which unit?")


async def go_to_remark(run: Run) -> None:
    """Go to the first open thread with the remark."""
    while "The same remark" not in str(run.app.screen.page_discussion.thread_of_selected_line()):  # type: ignore[attr-defined]  # the view
        await run.press("t")


async def test_refused_remark_does_not_hold_back_the_others(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await select_blocks_and_write(run, "Say which zone.")
        run.platform.refuse_next(comments.Create, 403, "Not on this block.")
        await run.press("H", "ctrl+s")
        await run.later(seconds=6)
        await run.see("● 3 open threads", "1 change needs your decision", "not sent · open")
        await run.press("g", "t", "t")
        await run.press("d")
        await run.hear("Resolving thread…")
        await run.press("!", "r")
        await run.gone("WAITING FOR YOUR DECISION")
        await run.press("escape")
        await run.see("● 2 open threads")
        await run.press("d")
        await run.hear("Reopening thread…")
        await run.press("d")
        await run.hear("Resolving 2 linked threads…")
        await run.see("● 1 open thread")


@pytest.mark.before_release
async def test_deleted_remark_leaves_the_others_linked(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await run.press("asterisk", "J")
        await run.see("page 2 of 2")
        await run.press("asterisk")
        await run.hear("2 blocks selected. Press A to write one remark.")
        await run.press("c")
        await run.hear("2 blocks selected. Press A to write one remark on the selection, or esc to clear it.")
        await run.press("K")
        await run.see("page 1 of 2", "* Selected")
        await run.press("n", "asterisk", "A")
        await run.see("Remark on 3 blocks")
        await run.type("Say which zone.")
        await run.press("ctrl+s")
        await run.see("◌ 3 pending comments")
        await run.press("H", "X", "y")
        await run.see("2 pending comments in your review")
        await run.press("ctrl+s")
        await run.sent()
        await run.see("● 3 open threads")
        await go_to_remark(run)
        await run.press("c", *"Why?", "ctrl+s")
        await run.sent()
        await run.press("d")
        await run.hear("Resolving 2 linked threads…")
        await run.see("● 1 open thread")


@pytest.mark.before_release
async def test_selection_is_cleared_and_needs_the_right_to_comment(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await run.press("asterisk")
        await run.hear("1 block selected. Press A to write one remark.")
        await run.see("* Selected  “All times")
        await run.press("escape")
        await run.gone("* Selected")
        await run.press("A")
        await run.see("Request changes on #7")
        await run.press("escape")
    async with stage.play(start="changes", person="elin-brandt") as run:
        await open_changes_of_seven(run)
        await run.press("asterisk")
        await run.hear("You need the Commenter role in Harbour API to comment.")


async def test_both_versions_of_a_block_can_be_selected(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "word for one thing")
        await run.see("− endpoint")
        await run.press("enter", ")", "asterisk", ")", "asterisk")
        await run.see("* Selected in the old version  “endpoint hook")
        await run.hear("2 blocks selected. Press A to write one remark.")
        await run.gone("1 block selected.")
        await run.press(")", "asterisk")
        await run.hear("3 blocks selected. Press A to write one remark.")
        await run.see("* Selected  “endpoint hook")
        await run.press("asterisk")
        await run.hear("2 blocks selected. Press A to write one remark.")
        await run.see("* Selected in the old version  “endpoint")


@pytest.mark.before_release
async def test_list_of_comments_resolves_linked_threads_or_the_selected_thread(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await select_blocks_and_write(run, "Say which zone.")
        await run.press("H", "ctrl+s")
        await run.sent()
        await run.press("4", "/", *"the same remark", "enter")
        await run.see("2 of ")
        await run.press("x", "d")
        await run.hear("Resolving 1 thread…")
        await run.press("u")
        await run.hear("Canceled: resolve the thread")
        await run.press("escape", "d")
        await run.hear("Resolving 2 linked threads…")
        await run.sent()
        assert {each.resolved for each in run.gate.sent(comments.Update)} == {True}
        assert len(run.gate.sent(comments.Update)) == 2


async def test_pending_comment_is_not_sent_alone_from_the_activity_list(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await run.see("◌ 1 pending comment")
        await run.press("!")
        await run.see("comment  “Say which zone.” on Time and time zones")
        await run.press("r")
        await run.hear("This comment is pending. Submit your review to send it.")
        await run.later(seconds=60)
        assert not run.gate.sent(comments.Create)
        assert [entry.state for entry in run.app.session.outbox.entries] == ["pending"]
