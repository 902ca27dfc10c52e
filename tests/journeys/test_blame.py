"""Blame: the user finds out who wrote a block, and opens its change request."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content, reviews, spaces
from octavo.data import block_origins
from octavo.tui.core.dialog_draft import DialogDraft
from octavo.tui.editing.page_drafts import PageDraftKey
from tests.journeys.stage import Run, Stage

SIZES = pytest.mark.parametrize("size", [(120, 36), (80, 24)], ids=["wide", "narrow"])


async def open_retries(run: Run) -> None:
    await run.press("/", *"retr", "enter", "enter")
    await run.see("› Retries")


async def open_reviews(run: Run) -> None:
    """Open the blame of the open page, and select a block with a reviewed change request."""
    await run.press("I")
    await run.see("21 of 21 · 1 change request")
    await run.press("}")
    await run.see("Approved by Tomás Okafor")


@pytest.mark.before_release
@SIZES
async def test_enter_opens_the_change_request_at_the_block(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="content", size=size) as run:
        await open_retries(run)
        await run.press("I")
        await run.see("Retries › Blame", "Created on main", "21 of 21 · 1 change request")
        await run.press("}")
        await run.see("#3 Endpoints choose whether we retry", "WRITTEN BY", "Mara Lindqvist · 6 days ago")
        await run.see("Approved by Tomás Okafor")
        await run.press("}", "}", "j", "enter")
        await run.see("#3 Endpoints choose whether we retry", "For level.recorded a retry is often", "change 3 of 3")
        await run.press("escape", "escape")
        await run.see("Retries › Blame")
        await run.press("escape")
        await run.gone("› Blame")


@pytest.mark.before_release
@SIZES
async def test_selected_block_is_selected_in_the_blame(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="content", size=size) as run:
        await open_retries(run)
        await run.press("/", *"useless", "enter", "I")
        await run.see("Retries › Blame", "Mara Lindqvist", "BLOCK", "For level.recorded a retry is often useless")
        await run.press("/", *"mara", "enter")
        await run.see("3 of 21")


@pytest.mark.before_release
@SIZES
async def test_change_request_marks_its_blocks_as_not_merged(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await run.press("/", *"refused", "enter", "enter", "enter", "n", "I")
        await run.see("› Blame", "#7 Show what a refused time looks like", "Not merged yet")
        await run.press("enter")
        await run.gone("› Blame")
        await run.see("change 2 of 2")


@pytest.mark.before_release
async def test_second_visit_sends_at_most_three_requests(stage: Stage) -> None:
    async with stage.play(start="content") as run:
        await open_retries(run)
        await run.press("I")
        await run.see("21 of 21 · 1 change request")
        await run.press("escape")
        run.gate.passed.clear()
        await open_reviews(run)
        kinds = (spaces.Get, change_requests.ListContributors, reviews.List)
        of_blame = [op for op in run.gate.passed if type(op).__module__ == content.__name__ or isinstance(op, kinds)]
        assert [type(op) for op in of_blame] == list(kinds)


@pytest.mark.before_release
async def test_reviews_are_shown_again_after_a_refresh(stage: Stage) -> None:
    async with stage.play(start="content") as run:
        await open_retries(run)
        await open_reviews(run)
        await run.press("r")
        await run.gone("Loading the reviews…")
        await run.see("Approved by Tomás Okafor")


@pytest.mark.before_release
async def test_blame_says_what_it_waits_for_and_why_it_failed(stage: Stage) -> None:
    async with stage.play(start="content") as run:
        await open_retries(run)
        run.gate.shut(content.ListChanges)
        await run.press("I")
        await run.see("Checking older revisions…", "# Retries", "loading…")
        await run.press("m")
        await run.hear("Older revisions are already loading.")
        run.gate.open()
        await run.see("Created on main", "#3 Endpoints choose whether we retry")
        await run.press("m")
        await run.hear("The origin of every block is known.")
        await run.press("enter")
        await run.hear("This block was not written in a change request.")


@pytest.mark.before_release
@SIZES
async def test_age_gutter_shows_the_age_of_each_block(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="content", size=size) as run:
        await open_retries(run)
        await run.press(":", *"block ages", "enter")
        await run.see("17w ▌ A delivery counts as failed")
        await run.press("G")
        await run.see("6d   Turn retries off", "6d ▌ For level.recorded")
        await run.press("1", "2", "J")
        await run.see("17w ")
        await run.press(":", *"hide block", "enter")
        await run.gone("17w ")


@pytest.mark.before_release
@SIZES
async def test_failed_blame_says_why_and_continues(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="content", size=size) as run:
        await open_retries(run)
        run.platform.refuse_next(content.ListChanges, 500, "Out of order", times=9)
        await run.press("I")
        await run.see("Could not load the blame of Retries", "Out of order")
        run.accept()
        await run.press("r")
        await run.see("21 of 21 · 1 change request")


@pytest.mark.before_release
@SIZES
async def test_blocks_older_than_the_checked_revisions_say_since_when(
    stage: Stage, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_origins, "REVISIONS_PER_BATCH", 1)
    async with stage.play(start="content", size=size) as run:
        await open_retries(run)
        await run.press("I")
        await run.see("Written before 10 November 2026", "blocks not known yet · press m to check older")
        await run.see("Octavo checked 1 revision, back to 10 November", "Press m to check older revisions.")
        await run.press("enter")
        await run.hear("The change request that wrote this block is not known yet.")
        for _ in range(3):
            await run.press("m")
        await run.see("Created on main")
        await run.gone("blocks not known yet")


@pytest.mark.before_release
@SIZES
async def test_page_that_was_never_changed_was_created_on_main(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="content", size=size) as run:
        space = run.app.workspace.space("harbour-api")
        assert space is not None
        tree = await run.ask(content.ListPages(at=space.ref), "mara-lindqvist")
        key = PageDraftKey(space.id, tree.pages[0].id, space.revision or "")
        await DialogDraft(run.app, key.stored_key).save("# Welcome\n\nAnother welcome.\n")
        await run.press("I")
        await run.see("Welcome › Blame", "Created on main", "your unsent draft is not included")
        await run.gone("WRITTEN BY")
