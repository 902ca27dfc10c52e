from __future__ import annotations

from dataclasses import replace

import pytest
from textual.color import Color
from textual.events import AppBlur, AppFocus
from textual.widgets import Static

from octavo.tui.frame import TopBar
from tests.journeys.stage import Run, Stage


def lit(run: Run) -> set[str]:
    """The titles of panes that are in the accent: they say which pane has the keys."""
    accent = Color.parse(run.app.theme_variables["primary"])
    titles = [each for each in run.app.screen.query(".pane-title") if isinstance(each, Static)]
    return {str(each.render()) for each in titles if each.display and each.styles.color == accent}


async def test_the_title_of_the_pane_that_has_the_keys_is_in_the_accent(stage: Stage) -> None:
    async with stage.play(start="home") as run:
        await run.see("ORGANIZATIONS", "SPACES OF SALTMARSH")
        (left,) = lit(run)
        assert left == "ORGANIZATIONS"
        await run.press("tab")
        (right,) = lit(run)
        assert right.startswith("SPACES OF")


@pytest.mark.parametrize(
    ("start", "left", "keys", "right"),
    [
        ("content", "Your first tide table", "enter", "Measured and predicted"),
        ("home", "ORGANIZATIONS", "tab", "SPACES OF SALTMARSH"),
        ("comments", "I asked two", "tab", "↳ Mara Lindqvist"),
    ],
)
async def test_below_80_columns_there_is_one_pane_the_one_with_the_keys(
    stage: Stage, start: str, left: str, keys: str, right: str
) -> None:
    async with stage.play(start=start, size=(60, 20)) as run:
        await run.see(left)
        assert right not in run.text
        await run.press(keys)
        await run.see(right)
        run.app.post_message(AppBlur())
        await run.settle()
        assert right in run.text, "a terminal that is left shows what it showed"
        run.app.post_message(AppFocus())
        await run.press("shift+tab")
        await run.see(left)
        assert right not in run.text


async def test_a_change_request_below_80_columns(stage: Stage) -> None:
    async with stage.play(start="changes", size=(60, 20)) as run:
        await run.see("#7  Show what a refused time looks like")
        assert "PAGES" not in run.text, "what is beside the list is what enter opens"
        await run.press("enter")
        await run.see("PAGES  0 of 1 viewed", "REVIEWERS")
        assert "1 │ Word list" not in run.text
        await run.press("enter")
        await run.see("1 │ Word list")
        assert "REVIEWERS" not in run.text


@pytest.mark.parametrize("start", ["content", "home", "changes", "comments"])
async def test_where_rows_are_few_the_frame_has_no_lines(stage: Stage, start: str) -> None:
    async with stage.play(start=start, size=(80, 12)) as run:
        assert not any("──────" in line for line in run.lines[:2] + run.lines[-3:]), run.text
        assert "◆ Saltmarsh Ins" in run.lines[0]
        assert "? help" in run.keybar
    async with stage.play(start=start, size=(80, 24)) as run:
        assert "──────" in run.lines[1]


async def test_the_tree_is_seen_when_it_has_the_keys_whatever_is_beside_the_page(stage: Stage) -> None:
    async with stage.play(size=(80, 24)) as run:
        await run.press("enter", "O")
        await run.see("OUTLINE")
        assert "Your first tide" not in run.text
        await run.press("escape", "escape")
        await run.see("Your first tide")


@pytest.mark.parametrize("start", ["content", "home", "changes", "comments"])
async def test_what_a_filter_holds_is_seen_where_the_panes_lie_above_each_other(stage: Stage, start: str) -> None:
    async with stage.play(start=start, size=(80, 24)) as run:
        await run.press("/", *"xylo")
        await run.see(" / xylo")


async def test_without_motion_nothing_moves(stage: Stage) -> None:
    async with stage.play(motion=False) as run:
        assert run.app.animation_level == "none"
        await run.press("enter", "n", "c")
        await run.type("Nothing moves.")
        await run.press("ctrl+s")
        await run.see("u undo")
        assert "▓" not in run.text


async def test_where_the_name_of_the_account_has_no_room_the_state_of_the_connection_is_still_seen(
    stage: Stage,
) -> None:
    async with stage.play(start="home", size=(100, 24)) as run:
        await run.see("● live", "DEMO")
        run.app._session = replace(run.app.session, label="somebody@documents.example.com:8443")
        run.app.screen.query_one(TopBar).refresh()
        await run.gone("DEMO")
        await run.see("● live")
        assert "somebody@" not in run.text
