"""What a reviewer decides is exactly what goes live: the six ways in which both sides change the same."""

from __future__ import annotations

from tests.journeys.contests import Contest
from tests.journeys.stage import Stage

TABLE = """\
# Stores

What we have, counted each Monday.

| Fruit | Crates |
| --- | --- |
| Apple | 1 |
| Banana | 2 |
| Cherry | 3 |
| Date | 4 |

Ask the keeper.
"""


async def test_a_row_is_decided_and_no_other_goes_back(stage: Stage) -> None:
    async with stage.play() as run:
        contest = Contest(run)
        main = TABLE.replace("Apple | 1", "Apple | 10").replace("Date | 4", "Date | 40")
        await contest.texts(TABLE, main, TABLE.replace("Apple | 1", "Apple | 100"))
        await contest.open()
        await contest.update()
        await run.see("conflict 1 of 1", "to decide", "not decided: m takes main")
        assert "unchanged" not in run.text
        await run.press("t")
        await run.see("✓ as in #", "becomes")
        shown = await contest.preview()
        await contest.send()
        said = await contest.merge()
        assert "conflicts     none" in said.replace("✓", "")
        live = await contest.text("Stores")
        assert live == shown == main.replace("Apple | 10", "Apple | 100")
