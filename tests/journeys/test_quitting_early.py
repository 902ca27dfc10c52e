"""Quitting while answers are on their way."""

from __future__ import annotations

import asyncio

from octavo.tui.screens.content import ContentScreen
from tests.journeys.stage import Stage


async def test_an_answer_that_comes_when_the_app_ends_is_shown_nowhere(stage: Stage) -> None:
    async with stage.play(shut=True) as run:
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        run.app.exit(0)
        while screen.query("Navigation"):
            await asyncio.sleep(0)
        run.gate.open()
        while run.gate.under_way or run.gate.waiting:
            await asyncio.sleep(0)
    assert run.app.return_code == 0
