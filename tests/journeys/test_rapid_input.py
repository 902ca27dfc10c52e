"""Clicks, keys and resizes that come faster than the app can show their results."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random

import pytest
from textual.events import Resize
from textual.geometry import Size

from octavo.api.operation import SpaceRef
from octavo.tui.core.routes import ToAccess, ToActivity, ToCollection, ToPage, ToSearch, ToThread
from tests.journeys.stage import Run, Stage
from tests.journeys.test_reviewing import open_change_request
from tests.journeys.test_typed_ahead import field_texts
from tests.work_measurement import MAX_IDLE_SHARE, count_work, processor_share

TURNS = pytest.mark.parametrize("turns", [0, *(pytest.param(turns, marks=pytest.mark.long) for turns in (1, 2, 4))])
"""Number of passes of the event loop between two clicks."""


def position_of(run: Run, words: str) -> tuple[int, int]:
    """Return the position of a text on the screen."""
    return next((line.index(words) + 1, y) for y, line in enumerate(run.lines) if words in line)


async def run_event_loop(turns: int) -> None:
    """Let the event loop run this many times."""
    for _ in range(turns):
        await asyncio.sleep(0)


@pytest.mark.before_release("? help-0", "s search-0")
@TURNS
@pytest.mark.parametrize("key", ["? help", "s search", "c comment"])
async def test_quick_clicks_in_the_key_bar_open_one_dialog(stage: Stage, key: str, turns: int) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("j", "j", "enter")
        at = position_of(run, key)
        for _ in range(4):
            run.send_click(*at)
            await run_event_loop(turns)
        await run.settle()
        assert run.app._exception is None
        assert len(run.app.screen_stack) == 2


@pytest.mark.before_release
@TURNS
@pytest.mark.parametrize("tab", ["1 Inbox", "2 Content", "4 Comments", "6 Admin"])
async def test_quick_clicks_on_a_tab_show_its_view(stage: Stage, tab: str, turns: int) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        at = position_of(run, tab)
        for _ in range(3):
            run.send_click(*at)
            await run_event_loop(turns)
        await run.settle()
        assert run.app.screen_stack[0] is run.app.screen
        assert run.app.current_mode in tab.lower()


@TURNS
@pytest.mark.before_release
async def test_quick_clicks_on_a_row_open_only_the_row(stage: Stage, turns: int) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        at = position_of(run, "refused")
        await run.pilot.click(offset=at)
        await run.settle()
        for _ in range(4):
            run.send_click(*at)
            await run_event_loop(turns)
        await run.settle()
        assert [type(each).__name__ for each in run.app.screen_stack] == ["RequestListScreen", "ChangeRequestScreen"]


async def test_text_typed_after_a_click_goes_to_the_clicked_dialog(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        run.send_click(*position_of(run, "s search"))
        for letter in "squid":
            run.send_key(letter)
        await run.settle()
        assert field_texts(run) == ["squid"]


async def test_click_right_after_the_key_of_a_dialog_does_not_close_the_dialog(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("question_mark")
        closes = position_of(run, "esc close")
        await run.press("escape")
        run.send_key("question_mark")
        run.send_click(*closes)
        await run.settle()
        assert len(run.app.screen_stack) == 2


@pytest.mark.before_release
@TURNS
async def test_wheel_and_clicks_while_a_dialog_closes_are_ignored(stage: Stage, turns: int) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("question_mark")
        run.send_key("escape")
        for _ in range(8):
            run.send_wheel(60, 18)
            run.send_click(60, 18)
            await run_event_loop(turns)
        await run.settle()
        assert run.app._exception is None
        assert len(run.app.screen_stack) == 1


@pytest.mark.before_release
async def test_resize_to_one_cell_and_back_restores_screen_and_focus(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("j", "j", "enter")
        keys, focused = run.keybar, run.app.focused
        for size in ((1, 1), (120, 36), (1, 1), (3, 2)):
            run.send_size(*size)
            run.send_click(60, 18)
            await run_event_loop(3)
        await run.settle()
        run.send_click(0, 0)
        run.send_click(60, 18)
        run.send_size(120, 36)
        await run.settle()
        assert run.app.focused is focused
        assert run.keybar == keys


@pytest.mark.before_release
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
async def test_app_is_idle_after_many_resizes_and_view_switches(stage: Stage, seed: int) -> None:
    random = Random(seed)
    async with stage.play(start="changes", every_frame=True) as run:
        await open_change_request(run, "classic")
        await run.see("0 of 60 viewed")
        for turn in range(16):
            run.send_size(random.randint(40, 160), random.randint(10, 50))
            if turn % 2:
                run.send_key(random.choice("123456"))
            await asyncio.sleep(random.choice((0, 0.005, 0.01, 0.03)))
        run.send_size(120, 36)
        await run.settle()
        assert await processor_share() < MAX_IDLE_SHARE


@pytest.mark.before_release
@pytest.mark.parametrize(
    "view",
    ["changes", *(pytest.param(view, marks=pytest.mark.long) for view in ("inbox", "content", "comments", "admin"))],
)
async def test_idle_app_lays_out_and_paints_nothing_at_any_size(stage: Stage, view: str) -> None:
    async with stage.play("noor-haddad", start=view, every_frame=True) as run:
        for opens in ("", "question_mark"):
            await run.press(*([opens] if opens else ()))
            for size in ((1, 5), (3, 5), (5, 5), (8, 5), (40, 12), (79, 24), (120, 36)):
                run.send_size(*size)
                await run.settle()
                await asyncio.sleep(1)
                for _ in range(4):  # A page is laid out and a row is marked as read some seconds after a resize.
                    with count_work() as work:
                        await asyncio.sleep(1)
                    if not work:
                        break
                assert not work, (opens, size)
            await run.press("escape")


@pytest.mark.before_release
async def test_idle_notices_repaint_no_hidden_views(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("1", "3", "4", "5", "6")
        run.app.say("Your role does not let you edit. Ask an admin of the space for access.", tone="care")
        for size in ((120, 36), (40, 12), (20, 5), (1, 1)):
            run.send_size(*size)
            await run.settle()
            await asyncio.sleep(1)
            for _ in range(3):  # A row is marked as read some seconds after a resize.
                with count_work() as work:
                    await asyncio.sleep(5)
                if not work:
                    break
            assert not work, size
        run.send_size(120, 36)
        await run.press("2")
        assert "Your role does not let you edit." in run.text
        await run.later(seconds=20)
        await run.press("3")
        assert "Your role does not let you edit." not in run.text


@pytest.mark.before_release
@pytest.mark.parametrize("shown", ["sign in", "view", "dialog"])
async def test_resizes_at_the_same_time_cause_one_layout(stage: Stage, shown: str) -> None:
    async with AsyncExitStack() as stack:
        if shown == "sign in":
            platform = await stack.enter_async_context(stage.library())
            run = await stack.enter_async_context(stage.show(stage.settings(), None, platform))
        else:
            run = await stack.enter_async_context(stage.play(every_frame=True))
        if shown == "dialog":
            await run.press("question_mark")
        screen = run.app.screen
        for size in (Size(80, 24), Size(52, 20), run.app.size) * 3:
            screen.post_message(Resize(size, size))
            screen.call_later(lambda: None)  # Textual combines equal messages that follow each other.
        assert await processor_share() < MAX_IDLE_SHARE
        assert screen.outer_size == run.app.size


ROUTES = (
    ToPage("stations"),
    ToCollection("products"),
    ToAccess(SpaceRef(space_id="stations")),
    ToSearch("tide"),
    ToActivity(),
    ToThread(SpaceRef(space_id="stations"), None, "no-page", "no-node", "comments"),
    ToThread(SpaceRef(space_id="stations"), None, "no-page", "no-node", "content"),
)
"""Routes that a background response may open."""


@pytest.mark.before_release
@pytest.mark.parametrize(
    "view",
    ["content", *(pytest.param(view, marks=pytest.mark.long) for view in ("inbox", "comments", "sites", "admin"))],
)
async def test_route_during_a_view_switch_opens_after_the_switch(stage: Stage, view: str) -> None:
    for route in ROUTES:
        async with stage.play(start="changes") as run:
            run.app.switch_mode(view)
            run.app.go(route)
            await run.settle()
            assert run.app._exception is None, route
