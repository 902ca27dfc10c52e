"""Help topics in the app: from the view, from the help, and found in the command palette."""

from __future__ import annotations

import pytest

from tests.journeys.stage import Stage


@pytest.mark.parametrize("way", [("f1",), ("?", "f1"), (":", *"help topics", "enter")], ids=lambda way: way[0])
async def test_a_topic_is_read_over_the_view(stage: Stage, way: tuple[str, ...]) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("Open 7")
        await run.press(*way)
        await run.see("Help topics", "troubleshooting", "Settings, environment variables, folders")
        await run.press(*"exit", "enter")
        await run.see("Help: exit-codes", "interrupted with ctrl+c", "esc close")
        await run.press("escape")
        await run.see("Open 7")
        await run.gone("interrupted with ctrl+c")


async def test_find_works_in_a_long_topic(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.see("Open 7")
        await run.press("f1", *"keys", "enter")
        await run.see("Help: keys", "Anywhere")
        await run.press("/", *"sign_in.demo", "enter")
        await run.see("sign_in.demo")
