"""From a word that a change request replaces to all other places of the space that still have the old word."""

from __future__ import annotations

import pytest

from octavo.api.content import Edit
from tests.journeys.contests import Contest, add_page, edit_page
from tests.journeys.stage import Run, Stage

LANTERNS = "# Lanterns\n\nLight the storm lantern at dusk. Refill it after 40 min of rain.\n"
PIERS = "# Piers\n\nEach pier has a **storm** lantern.\n\n| Pier | Light |\n|-|-|\n| A | two storm lanterns |\n"
STORES = "# Stores\n\nBuy a storm\nlantern here. See `storm lantern` and [oil](storm-lantern.md).\n\nWait 40 min.\n"
SIZES = pytest.mark.parametrize("size", [(120, 36), (80, 24)])


async def rename(run: Run, new: str = "storm beacon") -> Contest:
    """Publish three pages with a term, and open a change request that renames the term on the first page."""
    contest = Contest(run)
    await contest.publish(add_page(LANTERNS), add_page(PIERS), add_page(STORES), subject="Write about lanterns")
    page = (await contest.page("Lanterns")).id
    await contest.propose(edit_page(page, LANTERNS.replace("storm lantern", new)))
    await contest.open()
    await run.see("Refill it")
    return contest


@SIZES
async def test_selected_places_of_a_renamed_term_are_edited_and_undone(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(size=size) as run:
        contest = await rename(run)
        at = run.app.screen.at  # type: ignore[attr-defined]  # The screen is the change request.
        await run.press("#")
        await run.see("Find which old term?", "storm lantern", "is now storm beacon")
        await run.press(*"storm", "enter")
        await run.see(
            "3 places", "Piers", "Stores", "storm** lantern → storm** beacon", "storm lanterns → storm beacons"
        )
        await run.press("*")
        await run.see("3 of 3 places selected")
        await run.press("e")
        await run.see("Replace “storm lantern” in 3 places?", "Changes 2 pages", "You can undo")
        assert not run.gate.sent(Edit)
        await run.press("y")
        await run.hear("Replaced 3 places in #")
        await run.see("No other places have “storm lantern”.")
        assert await contest.text("Stores", at) == STORES.replace("storm\nlantern", "storm\nbeacon", 1)
        assert "**storm** beacon" in await contest.text("Piers", at)
        assert "two storm beacons" in await contest.text("Piers", at)
        assert len(run.gate.sent(Edit)) == 1
        await run.press("u")
        await run.hear("Undid the replacement.")
        assert await contest.text("Piers", at) == PIERS
        await run.press("r")
        await run.see("3 places")


async def test_rename_of_all_places_takes_six_keys(stage: Stage) -> None:
    async with stage.play() as run:
        await rename(run, "gale lantern")
        await run.press("#")
        await run.press("down", "enter")
        await run.see("“storm lantern” → “gale lantern”", "3 places")
        await run.press("*", "e", "y")
        await run.hear("Replaced 3 places in #")
