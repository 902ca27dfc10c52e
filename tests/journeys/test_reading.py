from __future__ import annotations

from tests.journeys.stage import Stage


async def test_read_three_pages_and_follow_a_link(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome", "how deep is the water now")
        await run.press("j", "j", "enter")
        print(run.text)
        assert 0
