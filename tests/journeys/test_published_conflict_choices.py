"""Conflicts of many kinds are resolved with keys, and main then contains exactly the chosen text."""

from __future__ import annotations

import pytest

from tests.documents.test_page_merge import CASES
from tests.journeys.request_scenario import THEIRS, RequestScenario, add_page, edit_page
from tests.journeys.stage import Stage

TITLE = "# Stores\n\n"
KEYS = {"m": "decided main", "t": "decided request", "b": "decided both"}
DECISIONS = [
    ("sections", "b"),
    ("steps", "b"),
    ("tabs", "b"),
    ("details", "b"),
    ("paragraphs", "m"),
    ("split by main", "t"),
    ("split by the request", "m"),
    ("joined by main", "t"),
    ("table to list", "t"),
    ("paragraphs wrapped by both in other hints", "t"),
    ("paragraph added to a deleted section", "m"),
    ("paragraph added to a deleted section", "t"),
    ("column deleted, cell edited", "t"),
    ("column deleted, cell edited", "m"),
]


def text_of(number: int, side: str) -> str:
    """Return a side of a case, as the text of a page with the number of the case in its title."""
    return f"# Stores {number}\n\n{CASES[DECISIONS[number][0]][side]}"


async def test_main_content_matches_the_resolved_conflicts_of_all_pages(stage: Stage) -> None:
    numbers = range(len(DECISIONS))
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(*(add_page(text_of(number, "base")) for number in numbers), subject=THEIRS)
        pages = [(await scenario.page(f"Stores {number}")).id for number in numbers]
        await scenario.propose(*(edit_page(pages[number], text_of(number, "request")) for number in numbers))
        mine = scenario.number
        await scenario.publish(*(edit_page(pages[number], text_of(number, "main")) for number in numbers))
        scenario.number = mine
        await scenario.open()
        await scenario.update()
        shown = {}
        for number in numbers:
            await run.see(f"{number} of {len(DECISIONS)} resolved", f"Stores {number}")
            await run.press(DECISIONS[number][1])
        await run.see(f"{len(DECISIONS)} of {len(DECISIONS)} resolved")
        for number in reversed(numbers):
            shown[number] = await scenario.preview()
            await run.press("K")
        await scenario.send()
        await scenario.merge()
        for number in numbers:
            live = await scenario.text(f"Stores {number}")
            assert live == shown[number]
            assert live.strip("\n") == text_of(number, KEYS[DECISIONS[number][1]]).strip("\n")


@pytest.mark.parametrize(
    ("name", "key"),
    # An ordinary run decides one conflict alone, for main. The test above has all of them on pages of one change request.
    [
        pytest.param(*each, marks=() if each == ("paragraphs", "m") else pytest.mark.before_release)
        for each in DECISIONS
    ],
)
async def test_main_content_matches_the_resolved_conflicts(stage: Stage, name: str, key: str) -> None:
    case = CASES[name]
    assert case["conflicts"] == "1"
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.change_page(*(TITLE + case[side] for side in ("base", "main", "request")))
        await scenario.open()
        await scenario.update()
        await run.see("0 of 1 resolved")
        await run.press(key)
        await run.see("1 of 1 resolved")
        shown = await scenario.preview()
        await scenario.send()
        if case[KEYS[key]] == case["main"]:
            await run.press("m")
            await run.see("Main already has these changes.")
        else:
            await scenario.merge()
        live = await scenario.text("Stores")
        assert live == shown
        assert live.strip("\n") == (TITLE + case[KEYS[key]]).strip("\n")
