from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from octavo.api import comments, spaces
from octavo.api.bodies import Markdown
from octavo.api.operation import SpaceRef
from octavo.client.responses import Application
from octavo.data.writes.direct import send_unchecked
from octavo.data.writes.machine import NewWrite
from octavo.documents.source_reader import parse
from octavo.server.handlers.comments import CommentPresenter
from octavo.tui.comments.comments_screen import CommentsScreen
from octavo.tui.review.request_view import ChangeRequestScreen
from octavo.tui.widgets.row_list import RowList
from tests.journeys.request_scenario import RequestScenario, edit_page
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import MARA, MAX_WAIT_SECONDS, Run, Stage
from tests.journeys.test_background_refresh import wait_for_background_refresh
from tests.server.refusing_platform import Platform

HERE = "You need a terminal and either curl"


async def select_first_paragraph(run: Run) -> None:
    """Open the page Quickstart, and select its first paragraph, which has no threads."""
    await run.see("Your first tide")
    await run.press("j", "j", "enter")
    await run.see("› Quickstart", "THREADS  2 open", HERE)


async def send_comment(run: Run, words: str) -> None:
    """Comment on the selected block, and wait until the comment is sent."""
    await run.press("c")
    await run.type(words)
    await run.press("ctrl+s")
    await run.hear("Sending comment…")
    await run.sent()


async def test_enter_on_a_block_with_nothing_to_open_says_so(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("enter")
        await run.hear("This block has no link, image, file, or thread to open.")


async def open_thread(run: Run) -> None:
    """Open the thread on the selected block."""
    await run.press("enter")
    await run.see("1 of 3")


@pytest.mark.before_release
async def test_comment_on_a_block_is_queued_and_then_sent(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("c")
        await run.see("Comment on Quickstart", f"┊ {HERE}")
        await run.type("Is **five minutes** true?")
        await run.press("ctrl+r")
        await run.gone("**five minutes**")
        await run.press("ctrl+r", "ctrl+s")
        await run.see("THREADS  3 open", "● Mara Lindq", "queued", "Quickstart           ●3", "1 change queued")
        assert "Sending comment…   u undo" in run.text
        assert not run.gate.sent(comments.Create), "the comment must wait until the time for undo has passed"
        await run.press("!")
        await run.see("comment  “Is five minutes true?” on Quickstart in Harbour API")
        await run.press("escape")
        await run.sent()
        await run.gone("queued", "1 change queued")
        await run.see("● Mara Lindqvist", "Is five minutes tru")
        (sent,) = run.gate.sent(comments.Create)
        assert sent.node is not None


@pytest.mark.parametrize("new_text", ["You will need a terminal and either", ""])
async def test_comment_on_a_block_that_is_edited_meanwhile_quotes_it(stage: Stage, new_text: str) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("tab", "right_parenthesis", "left_parenthesis", "c")
        await run.see("Comment on Quickstart", f"┊ {HERE}")
        await run.type("Is this true?")
        scenario = RequestScenario(run)
        old_text = await scenario.text("Quickstart")
        (paragraph,) = (each for each in old_text.split("\n\n") if "You need a terminal" in each)
        text = old_text.replace(
            paragraph, paragraph.replace("You need a terminal and either", new_text) if new_text else ""
        )
        await scenario.publish(edit_page((await scenario.page("Quickstart")).id, text))
        await wait_for_background_refresh(run)
        await run.press("ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert isinstance(sent.body, Markdown)
        assert sent.body.markdown.startswith("> You need a terminal and either curl")
        assert sent.body.markdown.endswith("\n\nIs this true?")
        if new_text:
            assert sent.node == next(each.key for each in parse(text).walk() if each.plain().startswith(new_text))


async def test_comment_from_a_table_row_that_is_edited_meanwhile_is_on_this_row(stage: Stage) -> None:
    async with stage.play() as run:
        scenario = RequestScenario(run)
        page, table = (
            (await scenario.page("Quickstart")).id,
            "| Harbour | Depth |\n|-|-|\n| North | 4 m |\n| Southern | 5 m |\n",
        )
        await scenario.publish(edit_page(page, table))
        await run.see("Your first tide")
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "Southern")
        await run.press("right_parenthesis", "right_parenthesis", "right_parenthesis", "enter")
        await run.see("row 2 of 2")
        await scenario.publish(edit_page(page, table.replace("Southern", "The southern one")))
        await wait_for_background_refresh(run)
        await run.press("c")
        await run.see("Comment on Quickstart", "┊ Southern")


async def test_comment_on_the_whole_page_has_no_block(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("C")
        await run.see("Comment on the page Quickstart")
        await run.type("Lovely.")
        await run.press("ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.page is not None
        assert sent.node is None


async def test_thread_dialog_can_reply_react_edit_resolve_and_delete(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await send_comment(run, "Is it five?")
        await open_thread(run)
        await run.see("● Mara Lindqvist · just now · open", "Is it five?")
        await run.press("c")
        await run.see("Reply to Mara Lindqvist", "┊ Is it five?")
        await run.type("It took me four.")
        await run.press("ctrl+s")
        await run.see("↳ Mara Lindqvist · queued", "It took me four.")
        await run.sent()
        await run.gone("· queued")

        await run.press("+")
        await run.see("React", "agreed")
        await run.press(*"ship", "enter")
        await run.hear("Reacting with 🚀")
        await run.see("🚀 1")
        await run.sent()
        await run.see("🚀 1")
        await run.press("+", *"ship")
        await run.see("your reaction · press enter to remove it")
        await run.press("enter")
        await run.gone("🚀 1")
        await run.sent()

        await run.press("e")
        await run.see("Edit your comment")
        await run.type(" Minutes, I mean.")
        await run.press("ctrl+s")
        await run.see("Is it five? Minutes, I mean.")
        await run.sent()
        await run.see("· edited", "Is it five? Minutes, I mean.")

        await run.press("d")
        await run.hear("Resolving thread…")
        await run.see("✓ Mara Lindqvist", "resolved")
        await run.sent()
        await run.see("resolved by Mara Lindqv")
        await run.press("d")
        await run.hear("Reopening thread…")
        await run.sent()
        await run.see("· open")

        await run.press("j", "X")
        await run.see(
            "Delete this reply?",
            "“It took me four.”",
            "This reply will be deleted for everyone. You will have 5 seconds to undo this.",
        )
        await run.press("X")
        await run.see("Delete this reply?")
        await run.press("y")
        await run.hear("Deleting reply…")
        await run.gone("It took me four.")
        await run.sent()
        await run.press("X")
        await run.see("Delete this comment?")
        await run.press("y")
        await run.sent()
        assert "Is it five?" not in run.text
        await run.press("escape")
        await run.see("THREADS  2 open")


async def test_reply_and_resolve_work_with_one_key(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("D")
        await run.see("Reply to Yuki Tanabe and resolve the thread")
        await run.type("Settled.")
        await run.press("ctrl+s")
        await run.see("Open 71", "Resolved 18")
        await run.sent()
        await run.see("Open 71")
        kinds = [type(op) for op in run.gate.passed if isinstance(op, comments.CreateReply | comments.Update)]
        assert kinds == [comments.CreateReply, comments.Update]


@pytest.mark.before_release
async def test_undo_before_a_comment_is_sent_keeps_its_draft(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("c")
        await run.type("Never mind me.")
        await run.press("ctrl+s")
        await run.see("THREADS  3 open")
        await run.press("u")
        await run.hear("Canceled: comment · Quickstart.")
        await run.see("THREADS  2 open")
        await run.later(seconds=60)
        assert not run.gate.sent(comments.Create)
        await run.press("c")
        await run.see("Never mind me.")


@pytest.mark.before_release
async def test_selected_threads_are_resolved_and_undone_together(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("v", "j", "j", "v")
        await run.see("3 selected")
        await run.press("d")
        await run.hear("Resolving 3 threads…")
        await run.see("Open 69", "4 Comments 69")
        assert "selected" not in run.text
        await run.sent()
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True] * 3
        await run.press("u")
        await run.hear("Undone: resolve the thread, all 3.")
        await run.see("Open 72")


@pytest.mark.before_release
async def test_threads_are_filtered_and_sorted_until_esc(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("F", *"outdated", "enter")
        await run.see("Comments · open · filter: outdated", "2 of 72", "Outdated: the block was deleted from the page.")
        await run.press("S", *"oldest", "enter")
        await run.see("oldest first")
        await run.press("escape")
        await run.see("72 of 72")


async def test_comment_on_the_page_of_a_thread_is_written_from_the_list(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("C")
        await run.see("Comment on the page How a change becomes a page")
        await run.type("All of it is clear.")
        await run.press("ctrl+s")
        await run.see("Open 73", "4 Comments 73")


@pytest.mark.before_release
async def test_space_at_the_end_of_a_thread_selects_the_next_thread(stage: Stage) -> None:
    async with stage.play(start="comments", size=(80, 24)) as run:
        await run.see("Open 72", "HANDBOOK › How a change becomes a page")
        await run.press("space", "space")
        await run.see("HANDBOOK › How bad is it?")
        await run.press("b")
        await run.see("HANDBOOK › How a change becomes a page")


@pytest.mark.before_release
async def test_undo_after_a_resolve_was_sent_reopens_the_thread(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("d")
        await run.see("Open 71")
        await run.sent()
        await run.press("u")
        await run.hear("Undone: resolve the thread · ")
        await run.sent()
        await run.see("Open 72")
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True, False]


@pytest.mark.before_release
async def test_undo_of_a_posted_comment_says_that_it_cannot_be_undone(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await send_comment(run, "Too soon?")
        await run.press("u")
        await run.hear("Could not undo: the comment has already been posted. Delete the comment instead.")
        await run.see("THREADS  3 open")


@pytest.mark.before_release
async def test_undo_with_nothing_to_undo_says_so(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("u")
        await run.hear("Nothing to undo.")


@pytest.mark.before_release
async def test_draft_is_kept_when_the_composer_closes(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("c")
        await run.type("Half a thought")
        await run.press("escape")
        await run.gone("Half a thought")
        await run.press(")", "c")
        assert "Half a thought" not in run.text, "the draft belongs to the previous block"
        await run.press("escape", "(", "c")
        await run.see("Half a thought", "draft")


@pytest.mark.before_release
async def test_draft_is_kept_when_the_app_quits_with_an_open_composer(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("c")
        await run.type("Half a thought")
        await run.quit()
    async with stage.play() as run:
        await run.see("› Quickstart")
        await run.press("enter", "c")
        await run.see("Half a thought", "draft")
        await run.press("ctrl+s")
        await run.sent()
    async with stage.play() as run:
        await run.press("enter", "c")
        await run.see("Write a comment")


@pytest.mark.before_release
async def test_quitting_sends_a_write_that_waits_for_undo(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await run.press("c")
        await run.type("On my way out")
        await run.press("ctrl+s")
        await run.see("THREADS  3 open")
        await run.quit()
    assert len(run.gate.sent(comments.Create)) == 1
    async with stage.play() as run:
        await run.see("THREADS  3 open", "On my way out")
        await run.sent()
        assert not run.gate.sent(comments.Create)


async def open_gate_at_exit(run: Run) -> None:
    """Open the gate when the app starts to close its session."""
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        while run.app.workspace.operations:  # noqa: ASYNC110  # The app has no event for the start of its end.
            await asyncio.sleep(0.001)
    run.gate.open()


@pytest.mark.before_release
async def test_quitting_sends_a_write_that_waits_for_an_earlier_write(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        spaces = run.app.workspace.spaces.value
        assert spaces is not None
        at = next(space.ref for space in spaces.items if space.title == "Harbour API")
        (thread, *_) = (await run.gate(comments.List(at=at))).items
        run.gate.shut(comments.Update)
        done: list[object] = []
        resolve = comments.Update(at=at, comment_id=thread.id, resolved=True)
        sending = send_unchecked(run.app.session.live, resolve, "Could not resolve the thread")
        run.app.writes.send("resolve the thread", sending, on_success=done.append, is_visible=True)
        words = comments.Create(at=at, body=Markdown(markdown="On my way out"))
        run.app.writes.queue(NewWrite(words, "comment"), message="Comment added.")
        opened = asyncio.create_task(open_gate_at_exit(run))
        await run.app.action_quit()
    await opened
    assert len(run.gate.sent(comments.Create)) == 1
    assert not done, "the command must not continue after its screen has closed"


@pytest.mark.long
async def test_two_users_see_each_others_replies(stage: Stage) -> None:
    async with stage.play(MARA) as run:
        await select_first_paragraph(run)
        await send_comment(run, "Who else tried this?")
        await run.quit()
    async with stage.play("tomas-okafor") as run:
        await select_commented_paragraph(run)
        await open_thread(run)
        await run.see("Who else tried this?")
        await run.press("c")
        await run.type("I did.")
        await run.press("ctrl+s")
        await run.sent()
        await run.quit()
    async with stage.play(MARA) as run:
        await run.press("enter")
        await open_thread(run)
        await run.see("↳ Tomás Okafor", "I did.")


async def select_commented_paragraph(run: Run) -> None:
    await run.see("Your first tide")
    await run.press("j", "j", "enter")
    await run.see("› Quickstart", "THREADS  3 open", HERE)


def remove_commented_block(platform: Platform) -> None:
    """Let a thread on Quickstart be on a block that was edited since."""
    presenter = CommentPresenter(platform.context, SpaceRef(space_id="harbour-api"))
    for _, thread in platform.context.store.items(presenter.path, newest_first=True):
        if "09:06" in thread["body"]["markdown"]:
            said = "The water was 3.412 m above the datum. good means both sensors agreed; the other three flags"
            node = {"id": "gone", "preview": said}
            platform.context.store.put(
                f"{presenter.path}/{thread['id']}", {**thread, "target": {**thread["target"], "node": node}}
            )


@pytest.mark.before_release
@pytest.mark.parametrize("more", [0, 3500])
async def test_thread_on_edited_text_is_shown_on_the_new_text(stage: Stage, more: int) -> None:
    async with stage.play(change=remove_commented_block) as run:
        scenario = RequestScenario(run)
        text = await scenario.text("Quickstart")
        text += "".join(f"\n\nParagraph {number} says a little of what there is to say." for number in range(more))
        await scenario.publish(edit_page((await scenario.page("Quickstart")).id, text))
        await select_first_paragraph(run)
        await run.see("block edited: Is 0")
        await run.press("t")
        await run.see("▌  │  The water stood 3.412 m above chart datum. good      ● 1")
        await run.press("enter")
        await run.see("Outdated: the block was edited. Its text was:", "┊ The water was 3.412 m above the datum.")


@pytest.mark.before_release
async def test_reactions_offer_every_emoji_and_recent_ones_first(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await send_comment(run, "Is it five?")
        await open_thread(run)
        await run.press("+")
        await run.see("Type a name or paste an emoji", "👍 agreed")
        await run.press(*"hedgeh")
        await run.see("🦔 hedgehog")
        await run.press("enter")
        await run.hear("Reacting with 🦔")
        await run.sent()
        await run.see("🦔 1")
        (sent,) = run.gate.sent(comments.Update)
        assert sent.added_reactions == ("1f994",)
        await run.press("+")
        first = next(line for line in run.lines if "▌ 🦔" in line)
        assert "your reaction · press enter to remove it" in first, "the emoji used last must be the first"
        await run.press("escape", "+")
        await run.type("🎉\x1b[31m")
        await run.press("escape", "+")
        await run.type("🦥")
        await run.see("🦥 sloth")
        await run.press("enter")
        await run.sent()
        await run.see("🦥 1")
    async with stage.play() as run:
        await run.see("› Quickstart", "THREADS  3 open")
        await run.press("enter", "t", "enter", "+")
        await run.see("React")
        order = [line.split("▌")[-1] for line in run.lines if "sloth" in line or "hedgehog" in line or "agreed" in line]
        assert ["sloth" in order[0], "hedgehog" in order[1], "agreed" in order[2]] == [True] * 3, order


@pytest.mark.before_release
async def test_emoji_and_quick_replies_are_inserted_into_a_comment(stage: Stage) -> None:
    async with stage.play(quick_replies=("Fixed, thank you.", "\x1b[31m[@click=app.quit]x[/]")) as run:
        await select_first_paragraph(run)
        await run.press("c", *"Done :tad")
        await run.see("Emoji", "🎉 tada")
        await run.press("enter")
        await run.press("ctrl+l")
        await run.see("Quick replies", "Fixed, thank you.", "[@click=app.quit]x[/]")
        await run.press("enter", "ctrl+s")
        await run.hear("Sending comment…")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.body.markdown == "Done 🎉 Fixed, thank you."


@pytest.mark.before_release
async def test_thread_of_a_change_request_opens_its_diff_at_the_thread(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("/", *"straight quotes", "enter", "enter")
        await run.press("enter")
        shown = run.app.screen
        assert isinstance(shown, ChangeRequestScreen)
        stop = shown.main_pane.cursor.current()
        assert stop is not None
        assert stop[3].kind == "thread"
        await run.see("The API sends straight quotes")


@pytest.mark.before_release
async def test_spaces_with_the_same_title_have_a_heading_each(stage: Stage) -> None:
    async with stage.play(start="comments", size=(120, 130)) as run:
        await run.see(" HANDBOOK  ", " HARBOUR API  ")
        await run.ask(spaces.Update(at=SpaceRef(space_id="handbook"), title="Harbour API"), NOOR)
        await run.press("r")
        await run.gone(" HANDBOOK  ")
        assert sum(line.startswith(" HARBOUR API  ") for line in run.lines) == 2


async def test_resolving_and_undoing_a_thread_on_a_page_does_not_scroll(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"water lev", "enter", "enter")
        await run.see("Water levels and datums", "THREADS  3 open")
        page = run.app.screen.page_view  # type: ignore[attr-defined]  # The content view.
        assert "d resolve" not in run.keybar
        await run.press("t")
        await run.until(lambda: "d resolve" in run.keybar, "offer to resolve the thread")
        top = page.viewport.top
        await run.press("d")
        await run.see("THREADS  2 of 3 open")  # A longer text would be cut in a column of 24 cells.
        await run.press("u")
        await run.see("THREADS  3 open")
        await run.hear("Canceled: resolve the thread")
        assert page.viewport.top == top
        await run.press("t", "t", "t")
        await run.hear("No more open threads on this page. Press T to go to the previous open thread.")


@pytest.mark.parametrize("delay", [0.01, 1e9])
async def test_threads_are_listed_together_unless_some_are_late(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, delay: float
) -> None:
    monkeypatch.setattr("octavo.tui.comments.thread_loader.SHOW_DELAY", delay)
    release = asyncio.Event()

    def delay_change_requests(platform: Application) -> Application:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            if re.search("/change-requests/.*/comments", scope["path"]):
                await release.wait()
            await platform(scope, receive, send)

        return app

    async with stage.play(start="content", behind=delay_change_requests) as run:
        run.send_key("4")
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            while not isinstance(screen := run.app.screen, CommentsScreen) or screen.threads.loaded_source_count < 4:
                await run.pilot.pause(0.01)
            while delay < 1 and not screen.rows.items:
                await run.pilot.pause(0.01)
        assert not (delay > 1 and screen.rows.items), run.text
        release.set()
        await run.see("72 of 72")


async def test_status_line_of_the_comments_names_the_tab(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        for name in ("Open", "My threads", "Resolved", "Review comments", "All"):
            await run.see(f"Comments · {name.lower()} · all spaces")
            await run.press("right_square_bracket")


async def test_deleted_reply_leaves_the_selected_message_selected(stage: Stage) -> None:
    async with stage.play() as run:
        await select_first_paragraph(run)
        await send_comment(run, "Is it five?")
        (at,) = {op.at for op in run.gate.sent(comments.Create)}
        listed = (await run.ask(comments.List(at=at, limit=100), MARA)).items
        thread = next(each for each in listed if each.body.text == "Is it five?")
        replies = [
            await run.ask(comments.CreateReply(at=at, comment_id=thread.id, body=Markdown(markdown=words)), person)
            for words, person in (("One.", "yuki-tanabe"), ("Two.", MARA), ("Three.", MARA))
        ]
        await open_thread(run)
        await run.press("r")
        await run.see("Three.")
        await run.press("j", "j")
        deletion = comments.DeleteReply(at=at, comment_id=thread.id, comment_reply_id=replies[0].id)
        await run.ask(deletion, "yuki-tanabe")
        await run.press("r")
        await run.gone("One.")
        await run.press("X")
        await run.see("Delete this reply?", "“Two.”")


async def test_key_in_the_list_of_threads_acts_on_the_selected_thread(stage: Stage) -> None:
    async with stage.play(size=(160, 40)) as run:
        await run.press("/", *"water lev", "enter", "enter")
        await run.see("Water levels and datums", "THREADS  3 open")
        await run.press("t", "tab", "tab", "j")
        rows = run.app.screen.query_one("#threads", RowList)
        assert rows.has_focus
        assert rows.item is not None
        await run.press("d")
        await run.sent()
        assert [op.comment_id for op in run.gate.sent(comments.Update)] == [rows.item.id]
