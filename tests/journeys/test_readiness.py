"""A draft change request is marked as ready for review, and converted back to a draft."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import change_requests
from octavo.api.operation import SpaceRef
from tests.journeys.faulty_server import altered
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_reviewing import open_change_request, select_change_request

HARBOUR = SpaceRef(space_id="harbour-api")


async def status_of(run: Run, number: int, space: SpaceRef = HARBOUR) -> str:
    for status in ("draft", "open", "merged", "archived"):
        found = await run.ask(change_requests.List(at=space, status=status, limit=100), MARA)
        if any(each.number == number for each in found.items):
            return status
    return ""


@pytest.mark.before_release
async def test_list_converts_to_draft_and_back_to_ready(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Open 7", "Drafts 2")
        await select_change_request(run, "refused")
        await run.press("~")
        await run.hear("Converted #7 in Harbour API to a draft")
        await run.see("Open 6", "Drafts 3", "u undo")
        assert await status_of(run, 7) == "draft"
        await run.press("escape", "]")
        await select_change_request(run, "refused")
        await run.press("~")
        await run.hear("Marked #7 in Harbour API as ready for review")
        await run.see("Open 7", "Drafts 2")
        await run.press("u")
        await run.hear("Converted #7 in Harbour API to a draft")
        await run.see("Open 6", "Drafts 3")
        assert await status_of(run, 7) == "draft"
        assert len(run.gate.sent(change_requests.Update)) == 3


@pytest.mark.before_release
async def test_change_request_screen_converts_to_draft(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see("#7 Show what a refused time looks like", " open ")
        await run.press("~")
        await run.see(" draft ")
        await run.press("u")
        await run.hear("Marked #7 in Harbour API as ready for review")
        await run.see(" open ")
        assert await status_of(run, 7) == "open"


@pytest.mark.before_release
async def test_change_request_without_a_space_can_be_marked_as_ready(
    stage: Stage,
) -> None:
    def remove_space(answer: Any) -> None:
        for each in answer.get("items", [answer]):
            if "items" not in answer or each["number"] == 7:
                each["space"] = None

    async with stage.play(start="changes", over=altered(r".*/change-requests(/[^/]+)?", remove_space)) as run:
        await select_change_request(run, "refused")
        await run.press("~")
        await run.hear("Could not open #7: the server does not say which space it belongs to")
        await run.press("escape")
        await run.press("]", "enter")
        await run.press("~")
        await run.hear("as ready for review")


@pytest.mark.before_release
async def test_undo_does_not_revert_a_change_by_another_user(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("~")
        await run.see(" draft ")
        at = run.gate.sent(change_requests.Update)[0].at
        await run.ask(change_requests.Update(at=at, status="archived"), MARA)
        await run.press("u")
        await run.hear("#7 is already archived.")
        assert await status_of(run, 7) == "archived"
        await run.see(" archived ")
        await run.press("~")
        await run.hear("#7 is archived. Only a draft can be marked as ready", "Press L to reopen #7 first.")


@pytest.mark.before_release
async def test_selected_change_requests_are_converted_and_undone_together(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Open 7", "Drafts 2")
        await run.press("/", *"harbour", "enter", "*")
        await run.see("selected")
        count = len(run.app.screen.selected_rows)  # type: ignore[attr-defined]  # The screen is the list of change requests.
        assert count > 1
        await run.press("~")
        await run.hear(f"Converted {count} change requests to drafts")
        await run.see(f"Open {7 - count}", f"Drafts {2 + count}")
        await run.press("u")
        await run.hear(f"Marked {count} change requests as ready for review")
        await run.see("Open 7", "Drafts 2")


@pytest.mark.before_release
async def test_user_without_edit_permission_is_told_so(stage: Stage) -> None:
    async with stage.play("elin-brandt", start="changes") as run:
        await select_change_request(run, "refused")
        await run.press("~")
        await run.hear("You need the Editor role in Harbour API to edit. Ask an admin of the space for access.")
        assert not run.gate.sent(change_requests.Update)


@pytest.mark.before_release
async def test_server_that_cannot_convert_gets_only_one_request(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.see(" open ")
        run.platform.refuse_next(change_requests.Update, 404, "Nobody knows this path.")
        await run.press("~")
        await run.hear("This server cannot mark a change request as ready or convert it to a draft.")
        await run.press("~")
        await run.hear("Press o to do this in the browser.")
        assert len(run.gate.sent(change_requests.Update)) == 1
        await run.see(" open ")


@pytest.mark.before_release
async def test_refused_conversion_is_reported_and_cannot_be_undone(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        run.platform.refuse_next(change_requests.Update, 400, "It has open threads.")
        await run.press("~")
        await run.hear("Could not convert #7 to a draft: It has open threads.")
        await run.press("u")
        await run.hear("Nothing to undo.")
        assert await status_of(run, 7) == "open"


@pytest.mark.before_release
async def test_review_request_of_a_draft_offers_to_mark_it_as_ready(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("~")
        await run.see(" draft ")
        await run.press("V")
        await run.see("Request reviews of #7")
        await run.type("Aiko")
        await run.press("enter", "ctrl+s")
        await run.see("Mark #7 Show what a refused time looks like as ready for review?", "You requested reviews")
        await run.press("y")
        await run.hear("Marked #7 in Harbour API as ready for review")
        await run.see(" open ", "○ Aiko Jankovic")
        assert await status_of(run, 7) == "open"


@pytest.mark.before_release
async def test_review_request_can_leave_the_change_request_a_draft(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("~")
        await run.see(" draft ")
        await run.press("V")
        await run.type("Aiko")
        await run.press("enter", "ctrl+s")
        await run.see("ready for review?")
        await run.press("escape")
        await run.see(" draft ", "○ Aiko Jankovic")
        assert await status_of(run, 7) == "draft"
