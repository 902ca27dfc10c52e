"""Clicks, keys and new sizes that come faster than the app shows what they lead to."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from random import Random

import pytest
from textual.events import Key, MouseDown, MouseScrollDown, MouseUp, Resize
from textual.geometry import Size

from tests.idle_time import AT_REST, share_at_rest
from tests.journeys.stage import Run, Stage
from tests.journeys.test_reviewing import open_one
from tests.journeys.test_typed_ahead import written

TURNS = pytest.mark.parametrize("turns", [0, *(pytest.param(turns, marks=pytest.mark.long) for turns in (1, 2, 4))])
"""How many turns the loop has between two clicks."""


def click(run: Run, *at: tuple[int, int]) -> None:
    """Click, as a terminal reports it: nothing waits for what the click before leads to."""
    for x, y in at:
        for kind in (MouseDown, MouseUp):
            run.app.post_message(kind(None, x, y, 0, 0, 1, False, False, False, x, y))


def spot(run: Run, words: str) -> tuple[int, int]:
    """Where words are on the screen."""
    return next((line.index(words) + 1, y) for y, line in enumerate(run.lines) if words in line)


async def let_run(turns: int) -> None:
    """Let so many turns of the loop pass."""
    for _ in range(turns):
        await asyncio.sleep(0)


def resize(run: Run, width: int, height: int) -> None:
    """Give the terminal another size, as its driver reports it."""
    driver = run.app._driver
    assert driver is not None
    driver._size = width, height
    run.app.post_message(Resize(Size(width, height), Size(width, height)))


@TURNS
@pytest.mark.parametrize("key", ["? help", "s search", "c comment"])
async def test_quick_clicks_on_a_key_of_the_key_bar_open_one_dialog(stage: Stage, key: str, turns: int) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("j", "j", "enter")
        at = spot(run, key)
        for _ in range(4):
            click(run, at)
            await let_run(turns)
        await run.settle()
        assert run.app._exception is None
        assert len(run.app.screen_stack) == 2


@TURNS
@pytest.mark.parametrize("tab", ["1 Inbox", "2 Content", "4 Comments", "6 Admin"])
async def test_quick_clicks_on_a_tab_show_its_view(stage: Stage, tab: str, turns: int) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        at = spot(run, tab)
        for _ in range(3):
            click(run, at)
            await let_run(turns)
        await run.settle()
        assert run.app.screen_stack[0] is run.app.screen
        assert run.app.current_mode in tab.lower()


@TURNS
async def test_a_double_click_on_a_row_opens_it_and_nothing_in_it(stage: Stage, turns: int) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        at = spot(run, "refused")
        await run.pilot.click(offset=at)
        await run.settle()
        for _ in range(4):
            click(run, at)
            await let_run(turns)
        await run.settle()
        assert [type(each).__name__ for each in run.app.screen_stack] == ["ChangesScreen", "ChangeRequestScreen"]


async def test_what_is_typed_after_a_click_goes_to_what_the_click_opens(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        click(run, spot(run, "s search"))
        for letter in "squid":
            run.app.post_message(Key(letter, letter))
        await run.settle()
        assert written(run) == ["squid"]


async def test_a_click_after_the_key_that_opens_a_dialog_is_not_for_the_dialog(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("question_mark")
        closes = spot(run, "esc close")
        await run.press("escape")
        run.app.post_message(Key("question_mark", "?"))
        click(run, closes)
        await run.settle()
        assert len(run.app.screen_stack) == 2


@TURNS
async def test_the_wheel_and_clicks_while_a_dialog_closes_reach_nothing_that_is_gone(stage: Stage, turns: int) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("question_mark")
        run.app.post_message(Key("escape", None))
        for _ in range(8):
            run.app.post_message(MouseScrollDown(None, 60, 18, 0, 0, 0, False, False, False, 60, 18))
            click(run, (60, 18))
            await let_run(turns)
        await run.settle()
        assert run.app._exception is None
        assert len(run.app.screen_stack) == 1


async def test_a_terminal_of_one_cell_and_back_shows_all_and_keeps_the_focus(stage: Stage) -> None:
    async with stage.play(every_frame=True) as run:
        await run.press("j", "j", "enter")
        keys, focused = run.keybar, run.app.focused
        for size in ((1, 1), (120, 36), (1, 1), (3, 2)):
            resize(run, *size)
            click(run, (60, 18))
            await let_run(3)
        await run.settle()
        click(run, (0, 0), (60, 18))
        resize(run, 120, 36)
        await run.settle()
        assert run.app.focused is focused
        assert run.keybar == keys


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(1, 8))])
async def test_an_app_is_at_rest_after_many_sizes_and_views(stage: Stage, seed: int) -> None:
    random = Random(seed)
    async with stage.play(start="changes", every_frame=True) as run:
        await open_one(run, "classic")
        await run.see("0 of 60 viewed")
        for turn in range(16):
            resize(run, random.randint(40, 160), random.randint(10, 50))
            if turn % 2:
                run.app.post_message(Key(key := random.choice("123456"), key))
            await asyncio.sleep(random.choice((0, 0.005, 0.01, 0.03)))
        resize(run, 120, 36)
        await run.settle()
        assert await share_at_rest() < AT_REST


@pytest.mark.parametrize("shown", ["sign in", "view", "dialog"])
async def test_sizes_that_are_under_way_at_once_are_laid_out_once(stage: Stage, shown: str) -> None:
    async with AsyncExitStack() as stack:
        if shown == "sign in":
            platform = await stack.enter_async_context(stage.library())
            run = await stack.enter_async_context(stage.show(stage.settings(), None, platform))
        else:
            run = await stack.enter_async_context(stage.play(every_frame=True))
        if shown == "dialog":
            await run.press("question_mark")
        screen, before = run.app.screen, run.text
        for size in (Size(80, 24), Size(52, 20), run.app.size) * 3:
            screen.post_message(Resize(size, size))
            screen.call_later(lambda: None)  # equal messages in a row are taken as one
        assert await share_at_rest() < AT_REST
        assert run.text == before
