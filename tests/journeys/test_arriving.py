"""What one sees and can do while answers are on their way."""

from __future__ import annotations

from octavo.api import comments, content
from octavo.tui.widgets.rows import Rows
from tests.journeys.stage import Stage


async def test_a_comment_never_goes_to_a_page_that_is_not_in_the_view(stage: Stage) -> None:
    async with stage.play() as run:
        run.gate.shut(content.GetPage)
        await run.press("j", "j", "enter")
        await run.see("Harbour API › Get started › Quickstart")
        await run.press("c")
        await run.hear("Quickstart is still loading.")
        await run.until(lambda: "how deep is the water now" not in run.text, "see the page before go")
        run.gate.open()
        await run.see("You need a terminal")
        (page,) = [op.page_id for op in run.gate.sent(content.GetPage)[-1:]]
        await run.press("c")
        await run.type("To this one.")
        await run.press("ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.page == page


async def test_a_page_that_comes_at_once_does_not_blink(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("You need a terminal")
        await run.press("K")
        seen = run.text
        assert "Quickstart" in seen
        assert "░" not in seen


async def test_the_outline_of_another_page_begins_at_its_top(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter", "G", "J")
        assert run.app.screen.query_one("#outline", Rows).cursor == 0
