"""The first run shows a greeting and a tour of the demo."""

from __future__ import annotations

import pytest

from octavo.tui.app.background_refresh import GREETING
from tests.journeys.stage import Stage


async def test_greeting_is_shown_in_the_first_run_only(stage: Stage) -> None:
    stage.is_new = True
    async with stage.play(start="inbox") as run:
        await run.hear(GREETING)
    async with stage.play(start="inbox") as run:
        await run.see("REVIEW REQUESTED")
        assert GREETING not in run.said


async def test_greeting_disappears_when_the_help_opens(stage: Stage) -> None:
    stage.is_new = True
    async with stage.play(start="inbox") as run:
        await run.hear(GREETING)
        await run.see(GREETING)
        await run.press("?")
        await run.see("Help: ")
        assert GREETING not in run.text


@pytest.mark.before_release
async def test_tour_follows_the_user_over_two_runs_and_ends(stage: Stage) -> None:
    stage.is_new = True
    async with stage.play(start="inbox") as run:
        await run.see("Tour 1/5  Press 3 to list the change requests.", "f6 leave tour")
        await run.press("j", "3")
        await run.see("Tour 2/5  In the list, press enter to open a change request.")
        await run.press("enter")
        await run.see("Tour 3/5  In a change request, press t to see the next thread.")
    async with stage.play(start="changes") as run:
        await run.see("Tour 3/5", "Open 7")
        await run.press("enter")
        await run.see("0 of ")
        await run.press("t")
        await run.see("Tour 4/5  In a change request, press c to comment or reply.")
        await run.press("c", "escape")
        await run.see("Tour 5/5  Press : to find any command by name.")
        await run.press(":")
        await run.hear("Tour complete.")
        await run.press("escape")
        await run.gone("Tour 5/5")
    async with stage.play(start="changes") as run:
        await run.see("Open 7")
        assert "Tour" not in run.text


@pytest.mark.before_release
async def test_tour_can_be_left_and_started_again_from_the_palette(stage: Stage) -> None:
    stage.is_new = True
    async with stage.play(start="inbox", size=(80, 24)) as run:
        await run.see("Tour 1/5  Press 3 to list the change requests.", "f6 leave tour")
        await run.press("f6")
        await run.gone("Tour 1/5")
        await run.press(":", *"tutorial", "enter")
        await run.see("Tour 1/5")
        await run.press("3", ":", *"leave tour", "enter")
        await run.gone("Tour 2/5")


@pytest.mark.before_release
async def test_tour_names_keys_from_the_settings(stage: Stage) -> None:
    stage.is_new = True
    async with stage.play(start="inbox", keys={"view.changes": "f9"}) as run:
        await run.see("Tour 1/5  Press f9 to list the change requests.")
        await run.press("f9")
        await run.see("Tour 2/5")


@pytest.mark.before_release
async def test_every_step_of_the_tour_fits_in_80_columns(stage: Stage) -> None:
    stage.is_new = True
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("Open 7")
        for keys in (["3"], ["enter"], ["t"], ["c", "escape"], []):
            assert any("Tour" in line and line.endswith("f6 leave tour") for line in run.lines), run.text
            await run.press(*keys)
