"""Conflicts of many kinds are resolved with keys, and main then contains exactly the chosen text."""

from __future__ import annotations

import pytest

from tests.documents.test_page_merge import CASES
from tests.journeys.contests import Contest
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


@pytest.mark.parametrize(("name", "key"), DECISIONS)
async def test_main_content_matches_the_resolved_conflicts(stage: Stage, name: str, key: str) -> None:
    case = CASES[name]
    assert case["conflicts"] == "1"
    async with stage.play(start="changes") as run:
        contest = Contest(run)
        await contest.texts(*(TITLE + case[side] for side in ("base", "main", "request")))
        await contest.open()
        await contest.update()
        await run.see("0 of 1 resolved")
        await run.press(key)
        await run.see("1 of 1 resolved")
        shown = await contest.preview()
        await contest.send()
        if case[KEYS[key]] == case["main"]:
            await run.press("m")
            await run.see("Main already has these changes.")
        else:
            await contest.merge()
        live = await contest.text("Stores")
        assert live == shown
        assert live.strip("\n") == (TITLE + case[KEYS[key]]).strip("\n")
