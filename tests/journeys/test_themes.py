from __future__ import annotations

import pytest

from tests.journeys.stage import Stage


@pytest.mark.parametrize("name", ["nord", "catppuccin-latte", "mono", "ansi-dark"])
async def test_the_app_wears_any_theme(stage: Stage, name: str) -> None:
    async with stage.play(start="inbox") as run:
        await run.press("f2", *name, "enter")
        await run.see("YOUR REVIEW IS ASKED")
        assert run.app.theme == name
        assert run.app.session.state.recall("theme") == name
