"""Comments on removed content stay with the removed content, and are not outdated."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, comments, content
from octavo.api.content import DeletePage, DocumentBody, UpdatePage
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.stage import Run, Stage
from tests.journeys.test_diff_updates import HARBOUR, YUKI, OpenChangeRequest

REMOVED_TEXT = "All times in requests and answers are UTC"


def selected_text(run: Run) -> str:
    screen = run.app.screen
    assert isinstance(screen, ChangeRequestScreen)
    stop = screen.main_pane.cursor.current()
    return " ".join(stop[3].plain().split()) if stop is not None else ""


async def go_to_old_side(run: Run, words: str) -> None:
    for _ in range(12):
        if words in selected_text(run) and run.app.screen.main_pane.block_commands.side == "old":  # type: ignore[attr-defined]  # The screen shows a diff.
            return
        await run.press("(")
    raise AssertionError(selected_text(run))


async def select_removed_block(run: Run) -> None:
    """Open a change request that removes a paragraph, and select this paragraph in the diff."""
    change_request = await OpenChangeRequest.open(run)
    page = change_request.ids["Time and time zones"]
    text = (await run.ask(content.GetPage(at=HARBOUR, page_id=page, format="markdown"), YUKI)).markdown or ""
    gone = next(part for part in text.split("\n\n") if part.startswith("All times"))
    await change_request.edit(UpdatePage(page=page, document=DocumentBody(markdown=text.replace(f"{gone}\n\n", ""))))
    await change_request.show()
    await run.press("enter")
    await go_to_old_side(run, REMOVED_TEXT)


async def test_remark_on_one_removed_block_quotes_the_block_once(stage: Stage) -> None:
    async with stage.play() as run:
        await select_removed_block(run)
        await run.press("asterisk", "A")
        await run.see("Remark on 1 block")
        await run.type("Keep this one.")
        await run.press("ctrl+s")
        await run.hear("Added 1 pending comment.")
        await run.press("u")
        await run.hear("Press A to continue the remark.")
        await run.press("A", "ctrl+s")
        await run.hear("Added 1 pending comment.")
        (entry,) = run.app.session.outbox.entries
        assert entry.traits.text.startswith("> All times in requests")
        assert entry.traits.text.endswith("\n\nKeep this one.")
        assert entry.traits.text.count("> All times") == 1, entry.traits.text


async def test_undone_comment_on_a_removed_block_quotes_the_block_once(stage: Stage) -> None:
    async with stage.play() as run:
        await select_removed_block(run)
        await run.press("c")
        await run.type("Keep this one.")
        await run.press("ctrl+s")
        await run.press("u")
        await run.hear("Canceled: comment")
        await go_to_old_side(run, REMOVED_TEXT)
        await run.press("c")
        await run.see("Keep this one.")
        await run.press("ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.body.markdown is not None
        assert sent.body.markdown.count("> All times") == 1, sent.body.markdown


@pytest.mark.before_release
async def test_comment_on_a_removed_block_stays_on_it_after_a_restart(stage: Stage) -> None:
    async with stage.play() as run:
        change_request = await OpenChangeRequest.open(run)
        page = change_request.ids["Time and time zones"]
        text = (await run.ask(content.GetPage(at=HARBOUR, page_id=page, format="markdown"), YUKI)).markdown or ""
        gone = next(part for part in text.split("\n\n") if part.startswith("All times"))
        without = text.replace(f"{gone}\n\n", "")
        await change_request.edit(UpdatePage(page=page, document=DocumentBody(markdown=without)))
        await change_request.show()
        await run.see("− All times in requests")
        await run.press("enter")
        await go_to_old_side(run, REMOVED_TEXT)
        await run.press("c")
        await run.see("Comment on the old version of Time and time zones")
        await run.type("Keep this one.")
        await run.press("ctrl+s")
        await run.see("Keep this one.")
        await run.sent()
        await run.see("┊ ● Mara Lindqvist · 0s · open ")
        assert "outdated" not in run.text
        (sent,) = run.gate.sent(comments.Create)
        assert sent.node is not None
        await run.quit()
    async with stage.play() as run:
        response = await run.ask(change_requests.Get(at=change_request.at), YUKI)
        run.app.go(ToChangeRequest(response.ref(HARBOUR), response))
        await run.see("− All times in requests", "┊ Keep this one.")
        assert "outdated" not in run.text
        lines = run.lines
        removed = max(number for number, line in enumerate(lines) if " − " in line)
        assert "┊ ● Mara" in "".join(lines[removed : removed + 4]), run.text
        (thread,) = (await run.ask(comments.List(at=change_request.at, format="markdown"), YUKI)).items
        assert thread.target.page is not None
        assert not thread.target.page.outdated, "the server must not call the thread outdated either"


@pytest.mark.before_release
async def test_comment_on_a_removed_page_is_accepted_and_stays_on_it(stage: Stage) -> None:
    async with stage.play() as run:
        change_request = await OpenChangeRequest.open(run)
        await change_request.edit(DeletePage(page=change_request.ids["Time and time zones"]))
        await change_request.show()
        await run.see("− All times in requests")
        await run.press("enter", "c")
        await run.type("This has to stay.")
        await run.press("ctrl+s")
        await run.sent()
        await run.see("┊ This has to stay.", "− Time and time")
        assert "outdated" not in run.text
