"""Titles, subjects and search texts that are longer than the platform allows: a dialog stays open and reports the
limit."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content, search
from tests.journeys.stage import Stage

LONG_TEXT = "word " * 120


@pytest.mark.before_release
async def test_page_title_over_300_characters_is_not_sent(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"time and", "enter", "M", "enter", "enter")
        await run.see("New title for Time and time zones")
        await run.press("ctrl+u")
        await run.type(LONG_TEXT)
        await run.press("enter")
        await run.hear("The title has 599 characters. Enter at most 300 characters.")
        await run.see("New title for Time and time zones")
        await run.press("ctrl+u", *"Time", "enter")
        await run.hear("Renamed Time and time zones to Time in #9")
        edits = [change for each in run.gate.sent(content.Edit) for change in each.changes]
        assert [getattr(each, "title", None) for each in edits] == ["Time"]


@pytest.mark.before_release
async def test_title_of_new_page_over_300_characters_is_not_sent(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"time and", "enter", "M", "down", "down", "down", "enter")
        await run.press("enter", "enter")
        await run.see("Title of the new page")
        await run.type(LONG_TEXT)
        await run.press("enter")
        await run.hear("The title has 599 characters. Enter at most 300 characters.")
        assert not run.gate.sent(content.Edit)


@pytest.mark.before_release
async def test_subject_over_100_characters_is_not_sent(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("3", "ctrl+n")
        await run.type(LONG_TEXT)
        await run.press("enter")
        await run.hear("The subject has 599 characters. Enter at most 100 characters.")
        await run.see("New change request in")
        assert not run.gate.sent(change_requests.Create)


@pytest.mark.before_release
@pytest.mark.parametrize("length", [512, 513, 3000])
async def test_long_search_text_is_truncated_and_searched(stage: Stage, length: int) -> None:
    async with stage.play() as run:
        await run.press("/")
        await run.type(("tide " * 600)[:length])
        await run.later(seconds=2)
        queries = [each.query for each in run.gate.sent(search.InOrganization)]
        assert all(len(query) <= 512 for query in queries)
        await run.see("tide tide tide")
        await run.press("escape")
        await run.quit()
