"""A reviewer visits the most important changes first, and hides the changes without meaning."""

from __future__ import annotations

import pytest

from tests.journeys.request_scenario import RequestScenario, add_page, edit_page
from tests.journeys.stage import Run, Stage

SIZES = [(120, 36), (80, 24)]
HARBOUR = "The first paragraph is about the harbour and about all the ships that come here in the summer."
KEEPER = "The keeper of the light counts the ships, and then he writes their names into the great book of the port."
STORE = "Each reading is kept for {} days in the store, and after these days a task that runs at night removes it."
LINK = "The times of all tides of the year are in the [list of tides]({}), which everybody may read."
BEFORE = f"""# Stores

{HARBOUR}

## Light

{KEEPER}

Some **bold** words are here.

## Tides

{LINK.format("https://tides.example/2025")}

{STORE.format(30)}

The end.
"""
AFTER = f"""# Stores

## Light

{KEEPER.replace("great book", "big book")}

Some bold words are here.

## Tides

{LINK.format("https://tides.example/2026")}

{STORE.format(90).replace("a task that runs at night", "a nightly task")}

{HARBOUR}

The end.
"""


async def review(run: Run, before: str = BEFORE, after: str = AFTER) -> None:
    """Open the change request and go to its diff."""
    scenario = RequestScenario(run)
    await scenario.publish(add_page(before), subject="Write down the stores")
    await scenario.propose(edit_page((await scenario.page("Stores")).id, after))
    await scenario.open()
    await run.press("enter")
    await run.see("change 1 of 6")


@pytest.mark.before_release
@pytest.mark.parametrize("size", SIZES)
async def test_number_is_visited_before_link_and_wording(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(size=size) as run:
        await review(run)
        await run.press("S")
        await run.see("change 1 of 6 by risk: number", "90 days")
        await run.press("n")
        await run.see("change 2 of 6 by risk: link")
        await run.press("n")
        await run.see("change 3 of 6 by risk: wording", "big book")
        await run.press("n", "n", "n")
        await run.see("change 6 of 6 by risk: formatting")
        await run.press("n")
        await run.hear("This is the last change on this page by risk.")
        await run.press("N", "N", "N", "N", "N")
        await run.see("change 1 of 6 by risk: number")
        await run.press("N")
        await run.hear("This is the first change on this page by risk.")
        await run.press("S", "g", "n")
        await run.see("change 1 of 6")
        await run.gone("of 6 by risk")


@pytest.mark.before_release
@pytest.mark.parametrize("size", SIZES)
async def test_only_meaning_hides_moves_and_formatting_and_counts_them(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(size=size) as run:
        await review(run)
        await run.see("2!", "This page: 1 number, 1 link," if size[0] > 80 else "This page: 1 number,")
        await run.press("F")
        await run.see("change 1 of 3 · only meaning, 2 hidden", "1 move hidden", "1 formatting hidden")
        await run.see("Only meaning: 2 changes")
        await run.press("n", "n")
        await run.see("change 3 of 3", "90 days")
        await run.press("S")
        await run.see("change 1 of 3 by risk: number · only")
        await run.press("F")
        await run.see("change 1 of 6 by risk: number")
        await run.gone("hidden")


@pytest.mark.before_release
async def test_page_without_meaningful_changes_says_what_is_hidden(stage: Stage) -> None:
    async with stage.play() as run:
        await review_formatting(run)
        await run.press("F")
        await run.see("1 formatting hidden", "only meaning, 1 hidden")
        await run.press("n")
        await run.hear("The only change is hidden, because it has no meaning. Press F to show it.")
        await run.press("F", "n")
        await run.see("change 1 of 1")


async def review_formatting(run: Run) -> None:
    scenario = RequestScenario(run)
    await scenario.publish(add_page(BEFORE), subject="Write down the stores")
    await scenario.propose(edit_page((await scenario.page("Stores")).id, BEFORE.replace("**", "")))
    await scenario.open()
    await run.press("enter")
    await run.see("change 1 of 1")


@pytest.mark.before_release
async def test_source_diff_keeps_the_order_of_the_page(stage: Stage) -> None:
    async with stage.play() as run:
        await review(run)
        await run.press("S")
        await run.see("by risk: number")
        await run.press("\\")
        await run.see("source")
        await run.gone("of 6 by risk")
        await run.press("F")
        await run.hear("The source diff does not sort changes. Press \\ to switch to the rendered diff.")
