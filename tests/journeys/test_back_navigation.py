"""The way back: q goes back to the list, < goes back over all views, and a second q at the top of a view quits."""

from __future__ import annotations

import pytest

from octavo.api import comments, spaces
from octavo.api.operation import SpaceRef
from octavo.tui.core.routes import ToPage
from octavo.tui.widgets.row_list import RowList
from tests.journeys.stage import Run, Stage


def selected_line(run: Run) -> str:
    """Return the line of the selected row in the list on the left."""
    return next(line.strip() for line in run.lines if line.startswith("▌"))


@pytest.mark.before_release
async def test_q_goes_from_the_preview_to_the_row(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("j", "j", "j")
        here = selected_line(run)
        await run.press("enter")
        assert not run.app.screen.query_one("#list").has_focus
        await run.press("q")
        assert run.app.screen.query_one("#list").has_focus
        assert selected_line(run) == here
        assert run.app.return_value is None


@pytest.mark.before_release
async def test_q_goes_from_a_page_to_the_row_that_opened_it(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("j", "j", "j", "enter")
        before = run.lines[3:-4]
        await run.press("enter")
        await run.until(lambda: run.app.current_mode == "content", "open the page")
        await run.press("q")
        await run.until(lambda: run.app.current_mode == "comments", "return to the comments")
        assert run.lines[3:-4] == before
        await run.press("q", "q", "q")
        await run.until(lambda: run.app.return_value is not None, "quit")


@pytest.mark.before_release
async def test_q_goes_from_a_change_request_to_the_list_that_opened_it(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("REVIEW REQUESTED")
        await run.press("j")
        rows = run.app.screen.query_one("#inbox", RowList)
        before = rows.key
        await run.press("enter")
        await run.see("0 of ")
        await run.press("enter", "escape")
        await run.see("0 of ")
        await run.press("enter", "q")
        await run.until(lambda: run.app.current_mode == "inbox", "return to the inbox")
        assert rows.has_focus
        assert rows.key == before
        await run.press("3")
        await run.see("Changes ·")
        assert len(run.app.screen_stack) == 1
        await run.press("4", "/", *"operation", "enter")
        await run.see("1 of ")
        before = selected_line(run)
        await run.press("enter", "enter")
        await run.see("0 of 1 viewed")
        await run.press("q")
        await run.until(lambda: run.app.current_mode == "comments", "return to the comments")
        assert selected_line(run) == before


@pytest.mark.before_release
async def test_q_goes_from_a_search_result_to_the_search(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press("s")
        await run.type("battery")
        await run.see("16 results")
        await run.press("down", "down")
        before = run.text
        await run.press("enter")
        await run.gone("16 results")
        await run.press("q")
        await run.see("16 results")
        assert [line for line in run.lines if "▌" in line] == [line for line in before.splitlines() if "▌" in line]
        await run.press("escape")
        await run.gone("16 results")


@pytest.mark.before_release
async def test_back_and_forward_work_over_all_views(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart")
        await run.press("3", "/", *"refused", "enter", "enter")
        await run.see("0 of 2 viewed")
        await run.press("J", "enter")
        await run.see("page 2 of 2")
        await run.press("4")
        await run.see("Open 72")
        await run.press("<")
        await run.see("page 2 of 2")
        await run.press("<")
        await run.see("1 of 7 shown")
        await run.press("<")
        await run.see("› Quickstart")
        await run.press("<")
        await run.see("› Welcome")
        await run.press("<")
        await run.hear("You cannot go back any further.")
        for words in ("› Quickstart", "1 of 7 shown", "page 2 of 2", "Open 72"):
            await run.press(">")
            await run.see(words)
        await run.press(">")
        await run.hear("You cannot go forward any further.")


@pytest.mark.before_release
async def test_back_returns_to_a_page_that_was_opened_twice(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run.press("J")
        await run.see("› Quickstart")
        await run.press("K")
        await run.see("Harbour API › Welcome")
        await run.press("<")
        await run.see("› Quickstart")
        await run.press("J")
        await run.see("› Authentication")
        await run.press("<")
        await run.see("› Quickstart")
        await run.press("<")
        await run.see("Harbour API › Welcome")


async def test_back_to_a_deleted_space_says_that_the_space_was_not_found(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        run.app.go(ToPage("handbook"))
        await run.see("Handbook › How we work")
        await run.ask(spaces.Delete(at=SpaceRef(space_id="harbour-api")), "noor-haddad")
        await run.press("r", "less_than_sign")
        await run.hear("Could not find the space harbour-api in Saltmarsh Instruments.")
        await run.see("Handbook › How we work")


@pytest.mark.before_release
async def test_back_restores_the_links_of_a_space_and_the_selected_row(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press("L", "]", "]")
        await run.press("j", "j")
        before = [line for line in run.lines if line.startswith("▌")]
        await run.press("enter")
        await run.until(lambda: len(run.app.screen_stack) == 1, "open the page")
        await run.press("q")
        await run.until(lambda: len(run.app.screen_stack) == 2, "return to the change request")
        assert [line for line in run.lines if line.startswith("▌")] == before
        await run.press("escape")
        await run.see("› Welcome")


@pytest.mark.before_release
async def test_q_quits_only_after_all_writes_are_sent(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("d")
        await run.hear("Resolving thread…")
        await run.press("q", "q")
        await run.see("Quit with 1 unsent change?", "resolve the thread")
        await run.press("q", "escape")
        assert run.app.return_value is None
        await run.press("q", "q", "y")
        await run.until(lambda: run.app.return_value is not None, "quit")
    assert len(run.gate.sent(comments.Update)) == 1


@pytest.mark.before_release("admin", "changes", "comments", "content", "inbox")
@pytest.mark.parametrize("view", ["inbox", "content", "changes", "comments", "sites", "admin"])
async def test_second_q_in_a_list_quits(stage: Stage, view: str) -> None:
    async with stage.play(start=view) as run:
        await run.settle()
        while "Press q again to quit." not in run.said:
            await run.press("q")
        assert not run.app.is_ending
        await run.pilot.press("q")
        await run.until(lambda: run.app.return_value is not None, "quit")


async def test_q_asks_again_after_the_notice_or_after_going_up(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press("q")
        await run.hear("Press q again to quit.")
        await run.later(seconds=7)
        await run.press("q")
        await run.hear("Press q again to quit.")
        await run.press("enter", "q")
        assert "Press q again to quit." not in run.said, "the last q must go up and not ask"
        await run.press("q")
        await run.hear("Press q again to quit.")
        assert not run.app.is_ending


async def test_ctrl_q_quits_immediately(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.pilot.press("ctrl+q")
        await run.until(lambda: run.app.return_value is not None, "quit")


@pytest.mark.parametrize("pane", ["page", "pages"])
async def test_escape_goes_from_a_page_to_the_inbox_that_opened_it(stage: Stage, pane: str) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("REVIEW REQUESTED")
        await run.press("right_square_bracket", "right_square_bracket", "right_square_bracket")
        rows = run.app.screen.query_one("#inbox", RowList)
        before = rows.key
        await run.press("enter")
        await run.until(lambda: run.app.current_mode == "content", "open the page")
        run.app.screen.query_one(f"#{pane}").focus()
        await run.settle()
        assert "esc back" in run.keybar
        await run.press("escape")
        await run.until(lambda: run.app.current_mode == "inbox", "return to the inbox")
        assert (rows.has_focus, rows.key) == (True, before)


async def test_escape_goes_from_another_page_of_the_space_to_its_pages(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("REVIEW REQUESTED")
        await run.press("right_square_bracket", "right_square_bracket", "right_square_bracket", "enter")
        await run.until(lambda: run.app.current_mode == "content", "open the page")
        await run.press("J")
        run.app.screen.query_one("#page").focus()
        await run.press("escape")
        assert run.app.screen.query_one("#pages").has_focus


async def test_escape_in_the_list_of_spaces_says_how_to_quit(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press("escape", "escape")
        assert run.app.screen.query_one("#spaces").has_focus
        assert "esc" not in run.keybar
        await run.press("escape")
        assert run.said == ["You are at the top level. Press q twice to quit."]


@pytest.mark.parametrize("key", ["1", "3", "4", "5"])
async def test_escape_at_the_top_of_each_view_says_how_to_quit(stage: Stage, key: str) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press(key)
        await run.settle()
        for _ in range(3):
            await run.press("escape")
        await run.hear("You are at the top level. Press q twice to quit.")
