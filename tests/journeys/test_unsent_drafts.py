"""Unsent drafts are marked at their targets and discarded with one key: on rows, pages, blocks and threads."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, comments, content, reviews, spaces
from octavo.api.operation import SpaceRef
from tests.journeys.request_scenario import RequestScenario
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_page_editing import leave_editor_file
from tests.journeys.test_pending_comments import add_pending_comment
from tests.journeys.test_reviewing import open_change_request, open_changes_of_seven
from tests.journeys.used_computer import stage, used_folders

__all__ = ["stage", "used_folders"]

DISCARDED, RESTORED = "Draft discarded", "Restored your draft."


def has_line(run: Run, *words: str) -> bool:
    """Return whether a line of the screen contains all these texts."""
    return any(all(each in line for each in words) for line in run.lines)


async def discard_and_undo(run: Run, mark: str = "✎") -> None:
    """Discard the selected draft, undo that, and discard the draft again."""
    await run.press("ctrl+x")
    await run.hear(DISCARDED)
    await run.gone(mark)
    await run.press("u")
    await run.hear(RESTORED)
    await run.see(mark)
    await run.press("ctrl+x")
    await run.gone(mark)
    await run.press("ctrl+x")
    await run.hear("You have no unsent drafts here.")


@pytest.mark.before_release
async def test_draft_of_a_comment_is_marked_on_its_block_and_page(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("enter", ")", ")", "c")
        await run.see("esc close")
        await run.type("Half a thought.")
        await run.press("escape")
        await run.until(lambda: run.text.count("✎") == 2, "mark the block and the row")
        assert has_line(run, "▌  Welcome", "✎ draft")
        assert has_line(run, "▌ What do you want to do?", "  ✎")
        await run.press("c")
        await run.see("Half a thought.")
        await run.press("escape")
        await discard_and_undo(run)
        await run.press("c")
        await run.see("esc close")
        assert "Half a thought." not in run.text
        assert not run.app.session.drafts.all()


@pytest.mark.before_release
async def test_draft_of_an_earlier_run_is_marked_and_discarded_in_the_tree(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("C")
        await run.see("Comment on the page")
        await run.type("All of it.")
        await run.press("escape")
        await run.see("✎ draft")
        await run.quit()
    async with stage.play() as run:
        await run.see("✎ draft")
        await run.press("j", "ctrl+x")
        await run.hear("You have no unsent drafts here.")
        await run.press("k")
        await discard_and_undo(run)
        assert not run.app.session.drafts.all()


@pytest.mark.before_release
async def test_draft_of_a_reply_is_marked_on_row_thread_and_block(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        first = run.app.screen.rows.item  # type: ignore[attr-defined]  # The screen is the comments view.
        await run.press("c")
        await run.type("I think so too.")
        await run.press("escape")
        await run.see("✎ draft", "✎ Your reply, not sent", "I think so too.", "c continue")
        await run.press("c")
        await run.type(" Or not.")
        await run.press("escape")
        await run.see("I think so too. Or not.")
        await discard_and_undo(run)
        assert not run.app.session.drafts.all()
        assert run.app.screen.rows.item.comment.id == first.comment.id  # type: ignore[attr-defined]  # The screen is the comments view.
        await run.gone("Your reply, not sent")


@pytest.mark.before_release
async def test_draft_of_a_reply_is_marked_on_the_block_and_in_the_dialog(stage: Stage) -> None:
    async with stage.play(size=(160, 40)) as run:
        await run.press("j", "j", "enter")
        # This works after the page is loaded completely, because its threads are searched until the end.
        await run.press("t", "enter")
        await run.see("c reply")
        await run.press("c")
        await run.type("I think so too.")
        await run.press("escape")
        await run.see("✎ Your reply, not sent", "I think so too.")
        await run.press("escape")
        await run.until(lambda: run.text.count("✎") == 3, "mark the row, the block and the thread beside it")
        await run.press("enter")
        await run.see("✎ Your reply, not sent")
        await run.press("ctrl+x")
        await run.hear(DISCARDED)
        await run.gone("✎ Your reply, not sent")
        await run.press("u")
        await run.see("✎ Your reply, not sent")
        await run.press("escape")
        await discard_and_undo(run)


async def test_pending_comments_are_marked_and_restored_as_pending(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await add_pending_comment(run, "Say which zone.")
        await add_pending_comment(run, "And why.")
        await run.see("◌ 2 pending", "┊ Say which zone.")
        assert has_line(run, "~ Time and time zones", "1! ◌")
        await run.press("escape", "ctrl+x")
        await run.hear("2 pending comments discarded")
        await run.gone("◌ 2 pending", "Say which zone.")
        await run.press("u")
        await run.hear("Restored your 2 pending comments.")
        await run.see("◌ 2 pending", "┊ Say which zone.")
        await run.press("H")
        await run.see("2 pending comments in your review of #7")
        held = [line for line in run.lines if "Say which zone." in line or "And why." in line]
        assert "Say which zone." in held[0], "the comments must be in the order in which they were written"
        await run.press("escape", "3")
        await run.see("◌ 2 pending")
        await run.press("ctrl+x")
        await run.hear("2 pending comments discarded")
        await run.gone("◌ 2 pending")
        await run.press("u")
        await run.see("◌ 2 pending")
        await run.press("4")
        await run.see("74 of 74  2 pending comments")
        await run.later(seconds=3000)
        assert not run.gate.sent(comments.Create)
        await run.press("3", "enter", "A", "ctrl+s")
        await run.hear("Submitting your review of #7 with 2 pending comments…")
        await run.sent()
        sent = [op for op in run.gate.passed if isinstance(op, (comments.Create, reviews.Submit))]
        said = [each.body.markdown for each in sent if isinstance(each, comments.Create)]
        assert said == ["Say which zone.", "And why."]


@pytest.mark.before_release
async def test_draft_of_a_comment_is_shown_between_lines_of_the_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("− All times", "● 1 open")
        await run.press("enter", "c")
        await run.see("ctrl+t add to review")
        await run.type("Say which zone.")
        await run.press("escape")
        await run.see("✎ Mara Lindqvist · draft · not sent yet", "┊ Say which zone.", "● 1 open")
        assert has_line(run, "~ Time and time zones", "1! ✎")
        await run.press("c")
        await run.see("Say which zone.", "ctrl+t add to review")
        await run.type(" UTC?")
        await run.press("escape")
        await run.see("┊ Say which zone. UTC?")
        await run.press("ctrl+x")
        await run.hear(DISCARDED)
        await run.gone("Say which zone. UTC?", "✎")
        await run.press("u")
        await run.see("┊ Say which zone. UTC?")
        await run.press(")")
        await run.press("enter")
        await run.see("Comment on", "ctrl+t add to review")
        await run.press("escape", "escape", "escape")
        await run.see("✎ draft")
        assert has_line(run, "#7", "✎ draft")
        await discard_and_undo(run)


@pytest.mark.before_release
async def test_draft_of_a_review_is_marked_on_its_change_request(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Open 7")
        await run.press("a")
        await run.type("Well done.")
        await run.press("escape")
        await run.see("✎ draft")
        await run.press("a")
        await run.see("Well done.")
        await run.press("escape")
        await discard_and_undo(run)
        assert not run.gate.sent(change_requests.Merge)


@pytest.mark.before_release
async def test_draft_of_a_page_is_marked_and_discarded_in_the_tree(stage: Stage) -> None:
    async with stage.play() as run:
        page = run.app.screen.open_space.page.id  # type: ignore[attr-defined]  # The content view starts on a page.
        await leave_editor_file(run, page, three="four")
        await run.press("f2", "escape")
        await run.see("✎ draft", "unsent draft (press e to continue)")
        await run.press("ctrl+x")
        await run.hear("You have an unsent draft of this page from your editor")
        await run.press("e")
        await run.see("Continue editing", "Discard")
        await run.press("escape")
        await run.see("✎ draft")
        (draft,) = run.app.session.drafts.all()
        assert "four" in draft.text
        await run.press("ctrl+x")
        await run.hear(DISCARDED)
        await run.gone("✎ draft", "unsent draft (press e to continue)")
        await run.press("u")
        await run.hear(RESTORED)
        await run.see("✎ draft", "unsent draft (press e to continue)")
        assert run.app.session.drafts.all() == (draft,)
        await run.press("e")
        await run.see("Continue editing", "Discard")
        await run.press("escape")
        await discard_and_undo(run)


async def test_drafts_are_discarded_in_the_inbox(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press("]", "]", "]", "]")
        await run.see("Inbox · Unsent", "No unsent drafts.")
        await run.press("[", "[", "[", "[")
        await run.see("17 of 17")
        await run.app.session.drafts.save("comment harbour-api welcome ", "Half a thought about the tide.")
        await run.see("18 of 18")
        await run.press("G")
        await run.see("Half a thought about the tide.")
        for key in ("X", "ctrl+x"):
            await run.press(key)
            await run.hear(DISCARDED)
            await run.see("17 of 17")
            await run.press("u")
            await run.hear(RESTORED)
            await run.see("18 of 18")
            await run.press("G")


@pytest.mark.before_release
async def test_draft_index_is_rebuilt_only_when_drafts_are_added_or_removed(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        unsent, drafts = run.app.workspace.unsent, run.app.session.drafts
        seen = [unsent.index]

        def is_new() -> bool:
            seen.append(unsent.index)
            return seen[-1] is not seen[-2]

        await drafts.save("reply harbour-api k", "One")
        assert is_new()
        await drafts.save("reply harbour-api k", "One two")
        assert not is_new(), "a draft with other text must keep its position"
        await run.press("d")
        await run.sent()
        assert not is_new(), "a write outside the review must not change the pending comments"
        await drafts.save("reply harbour-api k", "")
        assert is_new()


async def test_draft_of_a_deleted_page_becomes_a_new_page(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        at = SpaceRef(space_id="harbour-api")
        space = await run.ask(spaces.Get(at=at), MARA)
        page = next(each for each in (await run.ask(content.ListPages(at=at), MARA)).walk() if each.title == "Errors")
        draft_key = f"page harbour-api {page.id} - {space.revision} 1"
        await run.app.session.drafts.save(draft_key, "# Mistakes\n\nA long text of mine.\n")
        await RequestScenario(run).publish(content.DeletePage(page=page.id))
        await run.press("r", "G")
        await run.see("A long text of mine.")
        await run.press("enter")
        await run.hear("it may have been moved or deleted")
        await run.see("Continue editing", "Save the draft to the server")
        await run.press("down", "enter")
        await run.hear("Mistakes was deleted, so your text is now a new page in #")
        assert run.app.session.drafts.get(draft_key) is None
        (edit,) = run.gate.sent(content.Edit)
        document = content.DocumentBody(markdown="# Mistakes\n\nA long text of mine.\n")
        assert edit.changes == (content.InsertPage(title="Mistakes", document=document),)
