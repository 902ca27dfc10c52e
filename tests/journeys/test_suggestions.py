"""A reviewer suggests a change in a comment, and the author applies the suggestion with one key."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, comments, content
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent
from octavo.api.operation import ChangeRequestRef, Operation
from octavo.data.writes.direct import lock_write
from octavo.data.writes.machine import ExpectedState, WriteAttempt
from octavo.data.writes.text_edits import preview_suggestions, resolve_write, suggested_texts
from octavo.documents.source_reader import parse
from octavo.documents.suggestions import suggestion_fence
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_background_refresh import wait_for_background_refresh
from tests.journeys.test_reviewing import open_change_request, open_changes_of_seven, ref_of_seven

TOMAS = "tomas-okafor"


async def page_of_times(run: Run, at: ChangeRequestRef) -> tuple[str, str]:
    """Return the id and the text of the page Time and time zones in the change request."""
    pages = (await run.ask(content.ListPages(at=at), MARA)).walk()
    page = next(each for each in pages if each.title == "Time and time zones")
    text = (await run.ask(content.GetRawPage(at=at, page_id=page.id), MARA)).markdown
    assert text is not None
    return page.id, text.text


async def suggest(run: Run, at: ChangeRequestRef, words: str, wanted: str) -> None:
    page, text = await page_of_times(run, at)
    key = next(each.key for each in parse(text).walk() if words in each.plain() and each.kind == "paragraph")
    body = Markdown(markdown=f"Shorter:\n\n{suggestion_fence(wanted)}")
    await run.ask(comments.Create(at=at, page=page, node=key, body=body), TOMAS)


async def suggest_utc(run: Run) -> ChangeRequestRef:
    """Suggest a shorter text for the paragraph about times in #7. Return #7."""
    at = await ref_of_seven(run)
    await suggest(run, at, "All times in requests", "All times are in UTC.")
    return at


async def write(run: Run, at: ChangeRequestRef, page: str, text: str) -> None:
    change = content.UpdatePage(page=page, document=content.DocumentBody(markdown=text))
    await run.ask(content.Edit(at=at, changes=(change,)), TOMAS)


async def edit_suggested_block(run: Run, at: ChangeRequestRef) -> str:
    """Edit the paragraph about times as the reviewer. Return the new text of the page."""
    page, text = await page_of_times(run, at)
    edited = text.replace("All times in requests", "All the times in requests")
    await write(run, at, page, edited)
    return edited


async def open_preview(run: Run) -> None:
    """Open the preview of both suggestions in #7."""
    await open_change_request(run, "refused")
    await run.see("● 3 open")
    await run.press("%")


@pytest.mark.before_release
async def test_suggestion_starts_with_the_text_of_the_block(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await run.press("c")
        await run.see("ctrl+g suggest")
        await run.press("ctrl+g")
        await run.see("```suggestion", "All times in requests and answers are UTC")
        await run.press("ctrl+s")
        await run.hear("Your suggestion does not change the block. Edit the suggestion, or delete it.")
        await run.press("S", "o", ":", "space")
        await run.press("down", "down", "down", "down", "end", "backspace", "ctrl+s")
        await run.hear("needs a line with ``` above and below it. One of these lines is missing.")
        await run.press("`", "ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.body.markdown.startswith("```suggestion\nSo: All times in requests and answers are UTC")
        assert sent.body.markdown.rstrip().endswith("\n```")
        assert sent.node


async def test_suggestion_for_a_block_edited_while_writing_never_replaces_the_edit(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await run.press("c", "ctrl+g", "S", "o", ":", "space")
        await run.see("```suggestion", "So: All times in requests")
        edited = await edit_suggested_block(run, at := await ref_of_seven(run))
        await wait_for_background_refresh(run)
        await run.press("ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.body.markdown.startswith("> All times in requests")
        threads = (await run.ask(comments.List(at=at), MARA)).items
        (thread,) = (each for each in threads if "So: All times" in each.body.text)
        page, _ = await page_of_times(run, at)
        head = (await run.ask(change_requests.Get(at=at), MARA)).revision
        outcome = await preview_suggestions(run.app.session.live, at, head or "", suggested_texts(thread, thread))
        assert not outcome.applied_count
        assert (await page_of_times(run, at)) == (page, edited)


@pytest.mark.before_release
async def test_suggestion_is_shown_as_a_diff_applied_and_undone(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        _, before = await page_of_times(run, at)
        await open_changes_of_seven(run)
        await run.see("● 2 open")
        await run.press("t", "enter")
        await run.see(
            "Shorter:", "Suggested change", "− All times in requests and answers", "+ All times are in UTC.", "a apply"
        )
        await run.press("a")
        await run.hear(
            "Applied the suggestion to Time and time zones. Press d to resolve the thread, or D to reply and resolve."
        )
        _, after = await page_of_times(run, at)
        lines = before.split("\n")
        first = next(number for number, line in enumerate(lines) if line.startswith("All times in requests"))
        last = next(number for number in range(first, len(lines)) if not lines[number].strip())
        assert after == "\n".join([*lines[:first], "All times are in UTC.", *lines[last:]])
        await run.see("✓ applied to the page")
        await run.press("a")
        await run.hear("Time and time zones already has the suggested text. Press d to resolve the thread.")
        await run.press("d", "a")
        await run.hear("Time and time zones already has the suggested text.")
        assert len(run.gate.sent(content.Edit)) == 1


@pytest.mark.before_release("size1")
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_one_key_applies_the_suggestion_and_resolves_its_thread(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        at = await suggest_utc(run)
        _, before = await page_of_times(run, at)
        await open_changes_of_seven(run)
        await run.press("t")
        await run.see("Suggested change", "+ All times are in UTC.")
        await run.press("ampersand")
        await run.hear("Applied the suggestion to Time and time zones. Resolving thread…")
        await run.see("✓ Tomás Okafor")
        await run.sent()
        assert len(run.gate.sent(content.Edit)) == 1
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True]
        assert "All times are in UTC.\n" in (await page_of_times(run, at))[1]
        await run.press("u")
        await run.hear("Undid the suggested change.")
        await run.sent()
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True, False]
        assert (await page_of_times(run, at))[1] == before
        await run.see("● Tomás Okafor")


async def test_one_key_in_the_thread_applies_and_resolves(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await suggest_utc(run)
        await open_changes_of_seven(run)
        await run.press("t", "enter")
        await run.see("Suggested change", "a apply")
        await run.press("ampersand")
        await run.see("✓ applied to the page", "· resolved by Mara")
        await run.press("u")
        await run.hear("Undid the suggested change.")
        await run.press("ampersand")
        await run.see("✓ applied to the page", "· resolved by Mara")
        await run.sent()
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True]


async def test_one_key_changes_nothing_if_the_block_was_edited(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        await open_changes_of_seven(run)
        await run.press("t")
        now = await edit_suggested_block(run, at)
        await run.press("ampersand")
        await run.hear("Could not apply the suggestion: its block was edited or deleted in the meantime.")
        await run.press("n")
        await run.sent()
        assert (await page_of_times(run, at))[1] == now
        assert not run.gate.sent(content.Edit)
        assert not run.gate.sent(comments.Update)


async def test_refused_suggestion_opens_no_dialog_over_another_view(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        await open_changes_of_seven(run)
        await run.press("t")
        await edit_suggested_block(run, at)
        run.gate.shut(content.GetRawPage)
        run.send_key("ampersand")
        await run.until(lambda: run.gate.waiting > 0, "load the page")
        await run.press("1")
        run.gate.open()
        await run.hear("Could not apply the suggestion: its block was edited or deleted in the meantime.")
        await run.settle()
        assert run.app.current_mode == "inbox"
        assert len(run.app.screen_stack) == 1


async def test_closed_during_the_edit_resolves_at_the_next_start(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        await open_changes_of_seven(run)
        await run.press("t")
        edit = content.UpdatePage(page=(await page_of_times(run, at))[0], document=content.DocumentBody(markdown=""))
        revision = (await run.ask(change_requests.Get(at=at), MARA)).revision
        thread = next(each for each in (await run.ask(comments.List(at=at), MARA)).items if "Shorter" in each.body.text)
        text = (await page_of_times(run, at))[1].replace("All times in requests", "Times in requests")
        edit = content.UpdatePage(page=edit.page, document=content.DocumentBody(markdown=text))
        attempt = WriteAttempt(
            content.Edit(at=at, changes=(edit,), compat=False), ExpectedState(revision=revision), my_id=MARA
        )
        lock = lock_write(run.app.session.state, "edit", attempt, [resolve_write(at, thread, "Shorter")])
        with pytest.raises(asyncio.CancelledError):
            async with lock:
                raise asyncio.CancelledError
        await write(run, at, edit.page, text)
    async with stage.play(start="changes") as run:
        await run.hear("while applying suggestions. They are applied. Resolving 1 thread…")
        await run.sent()
        assert [op.comment_id for op in run.gate.sent(comments.Update)] == [thread.id]


@pytest.mark.before_release
@pytest.mark.parametrize("status", ["merged", "archived"])
async def test_decided_change_request_says_why_no_suggestion_applies(stage: Stage, status: str) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        await open_changes_of_seven(run)
        await run.press("t")
        if status == "merged":
            await run.ask(change_requests.Merge(at=at), MARA)
        else:
            await run.ask(change_requests.Update(at=at, status="archived"), MARA)
        await run.press("r")
        await run.see(status)
        await run.press("ampersand")
        await run.hear(f"#7 is {status}. You can do this only with open or draft change requests.")
        await run.press("%")
        await run.hear(f"#7 is {status}. You can do this only with open or draft change requests.")
        assert not run.gate.sent(content.Edit)


@pytest.mark.before_release
async def test_suggestion_in_a_diff_is_shown_as_a_word_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await suggest_utc(run)
        await open_change_request(run, "refused")
        await run.see("┊ Shorter:", "┊ Suggested change")
        await run.see("− All times in requests and answers", "+ All times are in UTC.")


@pytest.mark.before_release
async def test_suggestion_in_a_reply_is_shown_as_a_word_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await ref_of_seven(run)
        page, text = await page_of_times(run, at)
        key = next(each.key for each in parse(text).walk() if "All times in requests" in each.plain())
        thread = await run.ask(comments.Create(at=at, page=page, node=key, body=Markdown(markdown="Too long.")), TOMAS)
        body = Markdown(markdown=suggestion_fence("All times are in UTC."))
        await run.ask(comments.CreateReply(at=at, comment_id=thread.id, body=body), TOMAS)
        await open_change_request(run, "refused")
        await run.see("┊ Too long.", "↳ Tomás Okafor")
        await run.see("− All times in requests and answers", "+ All times are in UTC.")
        assert "```" not in run.text


@pytest.mark.before_release
@pytest.mark.parametrize("key", ["ctrl+s", "ctrl+t"])
async def test_new_suggestion_is_shown_as_a_word_diff(stage: Stage, key: str) -> None:
    async with stage.play(start="changes") as run:
        await open_changes_of_seven(run)
        await run.press("c", "ctrl+g")
        await run.see("```suggestion")
        await run.press("S", "o", ":", "space", key)
        await run.see("┊ Suggested change", "+ So: All times in requests")
        await run.later(seconds=20)
        await run.see("┊ Suggested change", "+ So: All times in requests")


async def test_u_undoes_an_applied_suggestion(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await ref_of_seven(run)
        _, before = await page_of_times(run, at)
        await suggest(run, at, "All times in requests", "{% hint %}\n<<<<<<< x\n~~~")
        await open_changes_of_seven(run)
        await run.see("● 2 open")
        await run.press("t", "enter")
        await run.see("Suggested change", "a apply")
        await run.press("a")
        await run.hear("Applied the suggestion to Time and time zones.")
        await run.see("✓ applied to the page")
        assert "<<<<<<< x" in (await page_of_times(run, at))[1]
        run.platform.refuse_next(content.Edit, 401, "Sign in first.")
        await run.press("u")
        await run.hear("Could not undo the applied suggestion")
        await run.press("u")
        await run.hear("Undid the suggested change.")
        await run.gone("✓ applied to the page")
        assert (await page_of_times(run, at))[1] == before


@pytest.mark.before_release
async def test_suggestion_for_an_edited_block_offers_the_editor(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        now = await edit_suggested_block(run, at)
        await open_changes_of_seven(run)
        await run.see("● 2 open")
        await run.press("t", "enter")
        await run.see("Suggested change", "outdated: the block was edited or deleted")
        await run.press("a")
        await run.hear("Could not apply the suggestion: its block was edited or deleted in the meantime.")
        await run.see("Resolve the conflict in Time and time zones?")
        await run.press("n")
        assert (await page_of_times(run, at))[1] == now
        assert not run.gate.sent(content.Edit)


async def test_suggestion_is_not_checked_against_the_page_of_the_previous_thread(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        at = await suggest_utc(run)
        pages = (await run.ask(content.ListPages(at=at), MARA)).walk()
        other = next(each.id for each in pages if each.title == "Troubleshooting")
        text = (await run.ask(content.GetRawPage(at=at, page_id=other), MARA)).markdown
        assert text is not None
        key = next(each.key for each in parse(text.text).walk() if each.kind == "paragraph")
        body = Markdown(markdown=f"Clearer words:\n\n{suggestion_fence('Call us.')}")
        await run.ask(comments.Create(at=at, page=other, node=key, body=body), TOMAS)
        send = run.gate._send

        async def refuse_other_page(op: Operation[Any]) -> Any:
            if isinstance(op, content.GetPage) and (op.at, op.page_id) == (at, other):
                raise NotSent("Could not reach the server.")
            return await send(op)

        run.gate._send = refuse_other_page
        await run.press("r", "/", *"shorter", "enter")
        await run.see("+ All times are in UTC.")
        await run.press("escape", "/", *"clearer", "enter")
        await run.see("+ Call us.")
        await run.gone("outdated: the block was edited or deleted")


async def suggest_ends(run: Run) -> tuple[ChangeRequestRef, str]:
    """Suggest other texts for the first and the last paragraph. Return the change request and the text of the page."""
    at = await ref_of_seven(run)
    _, before = await page_of_times(run, at)
    words = [each.plain() for each in parse(before).walk() if each.kind == "paragraph"]
    await suggest(run, at, words[0], "All times are in UTC.")
    await suggest(run, at, words[-1], "The end.")
    return at, before


@pytest.mark.before_release("size1")
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_all_suggestions_of_a_page_are_applied_together(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        at, before = await suggest_ends(run)
        await open_preview(run)
        await run.see("PREVIEW", "2 of 2 suggestions will be applied", "+ All times are in UTC.")
        await run.press("t")
        await run.see("┊ ● Tomás Okafor · will be applied", "┊ Shorter:")
        await run.press("ctrl+s")
        await run.hear("Applied 2 suggestions to Time and time zones. Resolving 2 threads…")
        _, after = await page_of_times(run, at)
        assert "All times are in UTC.\n" in after
        assert "The end." in after
        assert len(run.gate.sent(content.Edit)) == 1
        await run.sent()
        assert [op.resolved for op in run.gate.sent(comments.Update)] == [True, True]
        await run.press("u")
        await run.hear("Undid the suggested change.")
        assert (await page_of_times(run, at))[1] == before


async def test_suggestion_left_out_of_the_preview_is_not_applied(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at, _ = await suggest_ends(run)
        await open_preview(run)
        await run.see("2 of 2 suggestions will be applied")
        await run.press("g", "x")
        await run.hear("Press t to select a suggestion first.")
        await run.press("t", "x")
        await run.see("1 of 2 suggestions will be applied", "left out")
        await run.gone("+ All times are in UTC.")
        await run.press("ctrl+s")
        await run.hear("Applied 1 suggestion to Time and time zones. Resolving 1 thread…")
        _, after = await page_of_times(run, at)
        assert "All times in requests" in after
        assert "The end." in after
        await run.sent()
        assert len(run.gate.sent(comments.Update)) == 1


async def test_page_edited_after_the_preview_is_not_changed(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at, _ = await suggest_ends(run)
        await open_preview(run)
        await run.see("2 of 2 suggestions will be applied")
        page, text = await page_of_times(run, at)
        await write(run, at, page, now := text.replace("Why so strict", "Why"))
        await run.press("ctrl+s")
        await run.hear(
            "Could not apply 2 suggestions: the page was edited after the preview. Press % to preview them again."
        )
        await run.sent()
        assert (await page_of_times(run, at))[1] == now
        assert not run.gate.sent(content.Edit)
        assert not run.gate.sent(comments.Update)


async def test_second_suggestion_for_a_block_cannot_be_applied(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        await suggest(run, at, "All times in requests", "Only UTC.")
        await open_preview(run)
        await run.see("1 of 2 suggestions will be applied", "cannot be applied")
        await run.press("t", "x")
        await run.see("1 of 2 suggestions will be applied", "left out", "will be applied")
        await run.press("escape")
        await run.gone("PREVIEW")
        assert not run.gate.sent(content.Edit)


async def test_preview_says_that_the_page_already_has_a_suggestion(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at, before = await suggest_ends(run)
        start = before.index("All times in requests")
        await suggest(run, at, "All times in requests", before[start : before.index("\n\n", start)])
        await open_change_request(run, "refused")
        await run.see("● 4 open")
        await run.press("%")
        await run.see("of 3 suggestions will be applied", "changes nothing")
        assert "cannot be applied" not in run.text


async def test_refresh_includes_a_suggestion_that_can_be_applied_again(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at, before = await suggest_ends(run)
        page, _ = await page_of_times(run, at)
        await write(run, at, page, before.replace("All times in requests", "Times in requests"))
        await open_preview(run)
        await run.see("1 of 2 suggestions will be applied")
        await write(run, at, page, before)
        await run.press("r")
        await run.see("2 of 2 suggestions will be applied")


@pytest.mark.before_release("%")
@pytest.mark.parametrize("key", ["ampersand", "%"])
async def test_read_only_session_says_why_no_suggestion_applies(stage: Stage, key: str) -> None:
    async with stage.play(start="changes", read_only="This session is read-only.") as run:
        await suggest_utc(run)
        await open_changes_of_seven(run)
        await run.press("t", key)
        await run.hear("This session is read-only.")
        assert not run.gate.sent(content.Edit)


@pytest.mark.before_release
async def test_reviewer_without_the_editor_role_reads_why_nothing_applies(stage: Stage) -> None:
    async with stage.play("elin-brandt", start="changes") as run:
        await suggest_utc(run)
        await open_change_request(run, "refused")
        await run.see("− All times")
        for key in ("ampersand", "%"):
            await run.press("enter", "t", key)
            await run.hear("You need the Editor role in Harbour API to edit.")
        assert not run.gate.sent(content.Edit)


async def test_unreachable_server_changes_nothing_and_queues_nothing(stage: Stage) -> None:
    async def fail(op: Operation[Any]) -> Any:
        raise NotSent("Could not reach the server.")

    async with stage.play(start="changes") as run:
        at = await suggest_utc(run)
        _, before = await page_of_times(run, at)
        await open_changes_of_seven(run)
        await run.press("t")
        await run.see("Suggested change")
        run.gate._send, connected = fail, run.gate._send
        await run.press("ampersand")
        await run.hear("Could not apply the suggestion: Could not reach the server.")
        await run.press("%")
        await run.see("Could not load Time and time zones", "The preview could not be loaded.")
        assert run.app.session.outbox.entries == ()
        run.gate._send = connected
        assert (await page_of_times(run, at))[1] == before
        await run.press("r")
        await run.see("+ All times are in UTC.", "will be applied")
