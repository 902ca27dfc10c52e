from __future__ import annotations

import pytest

from tests.journeys.stage import Stage


@pytest.mark.before_release
async def test_chosen_theme_is_applied_and_saved(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        for name in ("nord", "catppuccin-latte", "mono", "ansi-dark"):
            await run.press("f2", *name, "enter")
            await run.see("REVIEW REQUESTED")
            assert run.app.theme == name
            assert run.app.session.state.get_value("theme") == name


async def test_chosen_theme_that_a_setting_replaces_at_the_next_start_is_explained(stage: Stage) -> None:
    async with stage.play(start="inbox", theme="nord") as run:
        await run.press("f2", *"mono", "enter")
        await run.hear("mono is shown until you quit. theme sets nord at each start.")
        assert run.app.theme == "mono"
        await run.press("f2", *"nord", "enter")
    async with stage.play(start="inbox", theme="nord") as run:
        assert run.app.theme == "nord"
