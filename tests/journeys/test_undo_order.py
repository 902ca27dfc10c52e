"""The key `u` undoes the newest change that can still be undone, and says which changes cannot be undone."""

from __future__ import annotations

from octavo.api import change_requests, comments, reviews, spaces
from octavo.api.content import Edit
from tests.journeys.stage import Run, Stage
from tests.journeys.test_comments import select_first_paragraph
from tests.journeys.test_inbox import NOOR
from tests.journeys.test_pending_comments import add_pending_comment
from tests.journeys.test_reviewing import open_changes_of_seven
from tests.journeys.test_suggestions import page_of_times, suggest_utc


async def discard_draft(run: Run, text: str) -> None:
    """Write a comment, close it, and discard its draft: a change on this machine that `u` can undo."""
    await run.press("c")
    await run.type(text)
    await run.press("escape")
    await run.see("✎")
    await run.press("ctrl+x")
    await run.hear("Draft discarded")


async def test_comment_that_is_being_sent_is_not_skipped_by_undo(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await discard_draft(run, "A draft.")
        run.gate.shut(comments.Create)
        await run.press("c")
        await run.type("On its way.")
        await run.press("ctrl+s")
        await run.hear("Sending comment…")
        await run.later(seconds=6)
        await run.until(lambda: run.gate.waiting > 0, "begin to send the comment")
        await run.press("u")
        await run.hear("Could not undo “comment” yet: it is being sent. Press u again in a moment.")
        run.gate.open()
        await run.sent()
        await run.press("u")
        await run.hear("Could not undo: the comment has already been posted. Delete the comment instead.")
        assert "Restored your draft." not in run.said
        await run.press("u")
        await run.hear("Restored your draft.")


async def test_direct_write_that_is_being_sent_is_not_skipped_by_undo(stage: Stage) -> None:
    async with stage.play(NOOR) as run:
        await select_first_paragraph(run)
        await discard_draft(run, "A draft.")
        await run.press("escape", "escape")
        await run.see("Products")
        run.gate.shut(spaces.Duplicate)
        await run.press("a", *"duplicate", "enter")
        await run.until(lambda: run.gate.waiting > 0, "begin to send the write")
        await run.press("u")
        await run.hear("Could not undo “duplicate Harbour API” yet: it is being sent. Press u again in a moment.")
        run.gate.open()
        await run.hear("Duplicated Harbour API.")
        run.platform.refuse_next(spaces.Delete, 401, "Sign in first.")
        await run.press("u")
        await run.hear("Could not delete Copy of Harbour API")
        assert "Restored your draft." not in run.said
        await run.press("u")
        await run.hear("Deleted Copy of Harbour API")
        await run.press("u")
        await run.hear("Restored your draft.")


async def test_comment_is_stored_while_another_write_is_sent(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("/", *"refused", "enter", "E")
        await run.see("Edit the details of #7")
        await run.type(" now")
        run.gate.shut(change_requests.Update)
        await run.press("enter")
        await run.until(lambda: run.gate.waiting > 0, "send the details")
        await run.press("2")
        await select_first_paragraph(run)
        await run.press("c")
        await run.type("Say which zone.")
        await run.press("ctrl+s")
        await run.hear("Sending comment…")
        await run.press("c")
        await run.type("And why.")
        run.gate.open()
        await run.hear("Saved the details of #7.")
        await run.press("escape")
        assert [draft.text for draft in run.app.session.drafts.all()] == ["And why."]
        await run.sent()
        assert [op.body.markdown for op in run.gate.sent(comments.Create)] == ["Say which zone."]


async def test_comment_is_stored_while_a_review_is_checked(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        run.gate.shut(change_requests.Get)
        await run.press("a")
        await run.press("ctrl+s")
        await run.until(lambda: run.gate.waiting > 0, "check the change request")
        await run.press("c")
        await run.type("And why.")
        await run.press("ctrl+t")
        await run.hear("Your review now has 2 pending comments.")
        await run.press("u")
        await run.hear("Canceled: comment")
        await run.press("u")
        await run.hear("Could not undo “approve #7” yet: it is being sent. Press u again in a moment.")
        run.gate.open()
        await run.hear("Submitting your review of #7 with 1 pending comment…")
        await run.press("u")
        await run.hear("Canceled: approve #7. Pending again: comment")


async def test_text_typed_while_a_review_with_comments_is_checked_is_kept(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        run.gate.shut(change_requests.Get)
        await run.press("A")
        await run.type("The quotes are curly.")
        await run.press("ctrl+s")
        await run.until(lambda: run.gate.waiting > 0, "check the change request")
        await run.press("A")
        await run.type("The links are broken. ")
        await run.press("escape")
        run.gate.open()
        await run.hear("Submitting your review of #7 with 1 pending comment…")
        assert [each.text for each in run.app.session.drafts.all()] == ["The links are broken. The quotes are curly."]
        await run.press("u")
        await run.hear("Canceled: request changes on #7")


async def test_second_undo_after_a_review_cancels_its_newest_comment(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await discard_draft(run, "A draft.")
        await add_pending_comment(run, "Say which zone.")
        await add_pending_comment(run, "And why.")
        await run.see("◌ 2 pending comments")
        await run.press("a")
        await run.type("Clear now.")
        await run.press("ctrl+s")
        await run.hear("Submitting your review of #7 with 2 pending comments…")
        await run.press("u")
        await run.hear("Canceled: approve #7. Pending again: comment")
        await run.press("u")
        await run.hear("Canceled: comment · Time and time zones.")
        await run.see("◌ 1 pending comment", "Say which zone.")
        await run.press("u")
        await run.gone("◌ 1 pending comment")
        await run.press("u")
        await run.hear("Restored your draft.")
        await run.press("u")
        await run.hear("Nothing to undo.")


async def test_comments_of_a_sent_review_are_named_once_by_undo(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await discard_draft(run, "A draft.")
        await add_pending_comment(run, "Say which zone.")
        await run.press("a")
        await run.see("1 pending comment will be sent with the review:")
        await run.press("ctrl+s")
        await run.hear("Submitting your review of #7 with 1 pending comment…")
        await run.sent()
        assert len(run.gate.sent(reviews.Submit)) == 1
        await run.press("u")
        await run.hear("the comment has already been posted.")
        await run.press("u")
        await run.hear("Restored your draft.")


async def test_applied_suggestion_is_undone_as_a_whole_after_later_changes(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        _, before = await page_of_times(run, at)
        await open_changes_of_seven(run)
        await run.press("t")
        await run.see("Suggested change", "+ All times are in UTC.")
        await run.press("ampersand")
        await run.hear("Applied the suggestion to Time and time zones. Resolving thread…")
        await run.sent()
        await run.press("escape")
        await discard_draft(run, "A draft.")
        await run.press("u")
        await run.hear("Restored your draft.")
        await run.press("u")
        await run.hear("Undid the suggested change.")
        await run.sent()
        assert (await page_of_times(run, at))[1] == before
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True, False]
        assert len(run.gate.sent(Edit)) == 2
        await run.press("u")
        await run.hear("Nothing to undo.")


async def test_edit_of_a_pending_comment_is_named_by_undo(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await run.see("◌ 1 pending comment")
        await run.press("H", "e")
        await run.see("Edit a pending comment", "ctrl+s save")
        await run.type(" UTC?")
        await run.press("ctrl+s")
        await run.see("Say which zone. UTC?")
        await run.press("u")
        await run.hear("You cannot undo “edit the comment” by pressing u.")
        await run.see("Say which zone. UTC?")
        await run.press("u")
        await run.hear("Canceled: comment · Time and time zones.")


async def test_undo_that_waits_for_an_earlier_write_says_so(stage: Stage) -> None:
    async with stage.play(NOOR, start="changes") as run:
        await run.press("/", *"refused", "enter", "L")
        await run.see("Archive #7")
        run.gate.shut(change_requests.Update)
        await run.press("y")
        await run.until(lambda: run.gate.waiting > 0, "begin to archive the change request")
        await run.press("2", "escape", "escape")
        await run.see("Products")
        await run.press("a", *"duplicate", "enter")
        await run.hear("Duplicated Harbour API.")
        await run.press("u")
        await run.hear("Deleting Copy of Harbour API… Waiting for an earlier change.")
        assert not run.gate.sent(spaces.Delete)
        run.gate.open()
        await run.hear("Deleted Copy of Harbour API")
