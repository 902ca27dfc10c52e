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
