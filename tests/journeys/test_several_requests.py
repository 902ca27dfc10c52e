"""One command on several selected change requests: what happens to each is listed before, and failures are named."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, reviews
from tests.journeys.stage import Stage

SIZES = pytest.mark.parametrize("size", [(120, 36), (80, 24)])


@pytest.mark.before_release("size1")
@SIZES
async def test_approval_of_several_lists_what_stands_in_the_way_of_each(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await run.see("Changes ·")
        await run.press("*", "a")
        await run.see("Approve 5 change requests?", "will be approved")
        await run.press("down", "down")
        await run.see("2 change requests will not change.")
        assert size[0] == 80 or "created by you" in run.text
        await run.press("y")
        await run.hear("Approved 5 change requests.")
        assert len(run.gate.sent(reviews.Submit)) == 5
        await run.press("*", "a")
        await run.see("already approved by you", "None of the selected change requests can change.")


async def test_archived_change_requests_are_reopened_by_u(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("x", "x", "L")
        await run.see("Archive 2 change requests?", "You can reopen them there.")
        await run.see("#2 in Handbook", "One word for one thing: endpoint · will be archived")
        assert not run.gate.sent(change_requests.Update)
        await run.press("y")
        await run.hear("Archived 2 change requests.")
        await run.see("Open 5")
        await run.press("u")
        await run.hear("Undone for 2 change requests.")
        await run.see("Open 7")


async def test_undo_goes_on_with_the_change_requests_that_it_could_not_reopen(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("x", "x", "x", "L")
        await run.see("Archive 3 change requests?")
        await run.press("y")
        await run.hear("Archived 3 change requests.")
        run.platform.refuse_next(change_requests.Update, 401, "Sign in first.", times=2)
        await run.press("u")
        await run.hear("Undone: 1 of 3 change requests. Could not reopen #", "Press u to try the undo again.")
        await run.see("Open 5")
        await run.press("u")
        await run.hear("Undone for 2 change requests.")
        await run.see("Open 7")
        assert len(run.gate.sent(change_requests.Update)) == 8


@pytest.mark.parametrize("keys", [("x", "x", "L", "y"), ("tilde",)])
async def test_undo_after_an_unknown_result_undoes_nothing_older(stage: Stage, keys: tuple[str, ...]) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        run.platform.refuse_next(change_requests.Update, 500, "Out of memory.", times=2)
        await run.press(*keys)
        await run.hear("Out of memory.")
        await run.press("u")
        await run.hear("You cannot undo “")


async def test_change_request_is_marked_as_ready_again_after_its_undo_was_refused(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("~")
        await run.hear("to a draft")
        run.platform.refuse_next(change_requests.Update, 401, "Sign in first.")
        await run.press("u")
        await run.hear("Press u to try the undo again.")
        await run.press("u")
        await run.hear("as ready for review")
        await run.see("Open 7")


async def test_selected_change_request_is_merged_with_the_cursor_on_another(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("x", "m")
        await run.see("Merge 1 change request in Handbook?")


async def test_failures_are_named_for_each_change_request(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("x", "x", "x", "L")
        await run.see("Archive 3 change requests?")
        run.platform.refuse_next(change_requests.Update, 403, "Locked by the owner.", times=1)
        await run.press("y")
        await run.hear("Archived 2 of 3 change requests. Could not archive #", "Locked by the owner.")
        await run.see("Open 5", "1 selected")


async def test_row_of_the_inbox_stays_selected_if_its_approval_fails(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("Inbox ·")
        await run.press("*", "a")
        await run.see("Approve ", "will be approved")
        run.platform.refuse_next(reviews.Submit, 403, "Locked by the owner.", times=1)
        await run.press("y")
        await run.hear("Could not approve #", "Locked by the owner.")
        await run.see("1 selected")


@pytest.mark.before_release
async def test_reviews_of_several_are_requested_from_the_same_people(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("*", "V")
        await run.hear("The selected change requests are in several spaces. Select change requests of one space.")
        await run.press("escape", "/", *"harbour", "space", *"api", "enter", "*", "V")
        await run.see("Request reviews of 4 change requests")
        await run.press(*"noor", "enter", "ctrl+s")
        await run.see("Request reviews of 4 change requests?", "· will request", "Request 4  (y)")
        assert not run.gate.sent(reviews.Request)
        await run.press("y")
        await run.hear("Requested reviews of ")


@pytest.mark.before_release
async def test_command_for_one_change_request_names_the_keys_for_several(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        await run.press("x", "x", "E")
        await run.hear("2 change requests are selected, but only the a, L, V, m and ~ keys apply to a selection.")
