from __future__ import annotations

import pytest

from octavo.api import change_requests, reviews
from octavo.tui.merging import MergeDialog
from tests.journeys.stage import Run, Stage


async def ask_to_merge(run: Run, *words: str) -> None:
    """Open a change request by its name, and press m."""
    await run.press("/", *" ".join(words), "enter")
    await run.see("1 of ")
    await run.press("enter", "m")


@pytest.mark.parametrize("key", ["n", "escape"])
async def test_the_dialog_is_closed_while_it_still_asks(stage: Stage, key: str) -> None:
    async with stage.play(start="changes") as run:
        run.gate.shut(reviews.List)
        await ask_to_merge(run, "refused")
        await run.see("asking the server")
        await run.pilot.press(key)
        await run.until(lambda: not isinstance(run.app.screen, MergeDialog), "close the dialog")
        assert not [worker for worker in run.app.workers if worker.group == "checks" and not worker.is_finished]
        run.gate.open()
        await run.settle()
        assert not run.gate.sent(change_requests.Merge)
        await run.see("#7 Show what a refused time")


async def test_no_while_the_checks_are_made_again_merges_nothing(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await ask_to_merge(run, "refused")
        await run.see("checked 0 s ago")
        await run.later(seconds=20)
        run.gate.shut(reviews.List)
        await run.pilot.press("y", "n")
        await run.until(lambda: not isinstance(run.app.screen, MergeDialog), "close the dialog")
        run.gate.open()
        await run.settle()
        assert not run.gate.sent(change_requests.Merge)


async def test_a_yes_that_comes_with_the_checks_was_not_meant_for_them(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        run.gate.shut(reviews.List)
        await ask_to_merge(run, "refused")
        await run.press("y")
        await run.hear("The checks are not done yet.")
        run.gate.open()
        await run.see("checked 0 s ago")
        await run.press("y")
        await run.hear("The checks came in just now. Read them, then press y again.")
        assert not run.gate.sent(change_requests.Merge)
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("#7: Merged.")


async def test_checks_that_fail_when_they_are_made_again_merge_nothing(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await ask_to_merge(run, "refused")
        await run.see("checked 0 s ago")
        await run.later(seconds=20)
        run.platform.refuse_next(reviews.List, 403, "Reviews are closed for the day.", times=2)
        await run.press("y")
        await run.see("Reviews are closed for the day.", "Nothing can be merged without knowing how it stands.")
        assert not run.gate.sent(change_requests.Merge)
        run.accept()
        await run.press("r")
        await run.see("checked 0 s ago")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("#7: Merged.")


async def test_where_nothing_is_changed_there_is_nothing_to_merge(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API ›")
        await run.press("3", "ctrl+n")
        await run.see("New change request in")
        await run.type("Nothing yet")
        await run.press("enter")
        await run.hear("Started #")
        await run.press("m")
        await run.see("There is nothing to merge: it changes no page.")
        await run.later(seconds=1)
        await run.press("y")
        assert not run.gate.sent(change_requests.Merge)


async def test_behind_main_it_says_that_updating_comes_first(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await ask_to_merge(run, "Rotate")
        await run.see("Main has moved ahead   close this and press U to update first")
        await run.press("n", "U")
        await run.see("Update #5 from main?")
        await run.press("y")
        await run.hear("#5 is up to date with the primary content.")
        await run.press("m")
        await run.see("checked 0 s ago")
        await run.gone("Main has moved ahead")
