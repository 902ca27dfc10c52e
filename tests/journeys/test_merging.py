from __future__ import annotations

import asyncio
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, reviews, sites, users
from octavo.api.operation import ChangeRequestRef
from octavo.client.responses import Application
from octavo.data.state_db import StateDb
from octavo.data.writes.direct import lock_write, unfinished_writes
from octavo.data.writes.machine import WriteAttempt
from octavo.settings.programs import Linter
from octavo.tui.review.checked_dialog import CheckedDialog
from octavo.tui.review.status_changes import report_unfinished_writes
from octavo.tui.widgets.dialog import DialogFrame, TextButton
from tests.journeys.faulty_server import altered, serving
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_reviewing import open_change_request
from tests.server.refusing_platform import Platform


async def open_merge_dialog(run: Run, *words: str) -> None:
    """Open a change request by its subject, and press m."""
    await run.press("/", *" ".join(words), "enter")
    await run.see("1 of ")
    await run.press("enter", "m")


async def merge_number_7(run: Run) -> change_requests.Merge:
    """Merge the change request #7, and return the request that was sent."""
    await open_merge_dialog(run, "refused")
    await run.see("checked just now")
    await run.later(seconds=1)
    await run.press("y")
    await run.hear("Merged #7.")
    (merged,) = run.gate.sent(change_requests.Merge)
    return merged


@pytest.mark.before_release
@pytest.mark.parametrize("key", ["n", "escape"])
async def test_merge_dialog_can_be_closed_while_checks_run(stage: Stage, key: str) -> None:
    async with stage.play(start="changes") as run:
        run.gate.shut(reviews.List)
        await open_merge_dialog(run, "refused")
        await run.see("The checks are still loading.")
        await run.pilot.press(key)
        await run.until(lambda: not isinstance(run.app.screen, CheckedDialog), "close the dialog")
        assert not [worker for worker in run.app.workers if worker.group == "checks" and not worker.is_finished]
        run.gate.open()
        await run.settle()
        assert not run.gate.sent(change_requests.Merge)
        await run.see("#7 Show what a refused time")


@pytest.mark.parametrize("size", [pytest.param((120, 36), marks=pytest.mark.before_release), (80, 24)])
@pytest.mark.parametrize(
    ("start", "keys"),
    [
        ("changes", ("/", *"refused", "enter", "m")),
        ("changes", ("/", *"retry schedule", "enter", "m")),
        ("changes", ("/", *"retry schedule", "enter", "U")),
        ("changes", ("right_square_bracket", "right_square_bracket", "Z")),
        ("sites", ("a", *"unpublish", "enter")),
    ],
    ids=["merge", "merge outdated", "update", "revert", "unpublish"],
)
async def test_dialog_keeps_its_place_when_the_checks_arrive(
    stage: Stage, size: tuple[int, int], start: str, keys: tuple[str, ...]
) -> None:
    async with stage.play(NOOR, start=start, size=size) as run:
        await run.settle()
        run.gate.shut(change_requests.Get if start == "changes" else sites.Get)
        await run.press(*keys)
        dialog = run.app.screen
        assert isinstance(dialog, CheckedDialog), run.text
        frame, no_button = dialog.query_one(DialogFrame), dialog.query_one("#no")
        region, button_region = frame.region, no_button.region
        run.gate.open()
        await run.until(lambda: dialog.content is not None, "load the checks")
        await run.until(lambda: not dialog._is_confirming_delayed, "show the key that confirms")
        assert frame.region == region, run.text
        assert no_button.region == button_region, run.text
        assert dialog.query_one(".confirm--body").region.bottom < no_button.region.y, "a row stays free"


@pytest.mark.before_release
async def test_n_during_repeated_checks_cancels_the_merge(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_merge_dialog(run, "refused")
        await run.see("checked just now")
        await run.later(seconds=20)
        run.gate.shut(reviews.List)
        await run.pilot.press("y", "n")
        await run.until(lambda: not isinstance(run.app.screen, CheckedDialog), "close the dialog")
        run.gate.open()
        await run.settle()
        assert not run.gate.sent(change_requests.Merge)


@pytest.mark.before_release
async def test_y_before_the_checks_arrive_is_ignored(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        run.gate.shut(reviews.List)
        await open_merge_dialog(run, "refused")
        await run.press("y")
        await run.hear("The checks are still loading.")
        dialog = run.app.screen
        assert isinstance(dialog, CheckedDialog)
        run.gate.open()
        await run.until(lambda: dialog._is_confirming_delayed, "show the checks")
        assert not run.app.notices.shown(), "the notice must disappear when the checks are complete"
        assert dialog.query_one("#yes", TextButton).key == "", "a button that ignores its key must not show it"
        await run.press("y")
        await run.hear("The checks just finished loading. Read them, then press y.")
        assert not run.gate.sent(change_requests.Merge)
        await run.see("Merge  (y)")
        await run.press("y")
        await run.hear("Merged #7.")


@pytest.mark.before_release
async def test_u_after_a_merge_does_not_undo_an_earlier_comment(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_merge_dialog(run, "refused")
        await run.see("checked just now")
        await run.press("n", "C")
        await run.type("As a whole: yes.")
        await run.press("ctrl+s")
        await run.hear("Sending comment…")
        await run.press("m")
        await run.see("checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #7.")
        await run.press("u")
        await run.hear("You cannot undo the merge of #7 by pressing u. To revert the merge, open #7 and press Z.")
        await run.sent()
        assert len(run.gate.sent(comments.Create)) == 1


@pytest.mark.before_release
async def test_failed_repeated_checks_prevent_the_merge(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_merge_dialog(run, "refused")
        await run.see("checked just now")
        await run.later(seconds=20)
        run.platform.refuse_next(reviews.List, 403, "Reviews are closed for the day.", times=2)
        await run.press("y")
        await run.see(
            "Reviews are closed for the day.", "Could not load the checks, so you cannot merge yet. Press r to retry."
        )
        assert not run.gate.sent(change_requests.Merge)
        run.accept()
        await run.press("r")
        await run.see("checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #7.")


async def test_change_request_without_changes_cannot_be_merged(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API ›")
        await run.press("3", "ctrl+n")
        await run.see("New change request in")
        await run.type("Nothing yet")
        await run.press("enter")
        await run.hear("Created #")
        await run.press("m")
        await run.see("There are no changes to merge. Press L to archive this change request.")
        await run.later(seconds=1)
        await run.press("y")
        assert not run.gate.sent(change_requests.Merge)


@pytest.mark.before_release
async def test_merge_of_an_outdated_change_request_suggests_an_update(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_merge_dialog(run, "Rotate")
        await run.see("main has changed: press esc, then U to update first")
        await run.press("n", "U")
        await run.see("Update #5 from main?")
        await run.press("y")
        await run.hear("Updated #5.")
        await run.press("m")
        await run.see("checked just now")
        await run.gone("main has changed")


@pytest.mark.before_release("size0")
@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_merge_with_conflicts_warns_and_suggests_an_update(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await open_merge_dialog(run, "Correct")
        await run.see("Readers may see conflict markers on Retries.", "To merge anyway, type")
        assert run.text.count("then U") == 1, "the hint must be shown once"
        assert run.text.count("conflict markers") == 1
        assert "may conflict: Retries " in run.text, "the pages with possible conflicts must be named below the checks"
        await run.press("n", "U")
        await run.see("Update #4 from main?", "If there are conflicts, the text will contain")
        assert run.text.lower().count("both versions") == 1


@pytest.mark.before_release("False")
@pytest.mark.parametrize("blocks", [True, False])
async def test_linter_that_blocks_merges_asks_for_the_number(stage: Stage, tmp_path: Path, blocks: bool) -> None:
    program = tmp_path / "linter"
    program.write_text('#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8 9; do echo "$1:$n: Too long"; done\n')
    program.chmod(0o700)
    linter = Linter("words", (str(program), "{file}"), "lines", is_blocking=blocks)
    async with stage.play(start="changes", linters=(linter,)) as run:
        await open_merge_dialog(run, "refused")
        await run.see("checked just now")
        assert ("To merge anyway, type" in run.text) == blocks
        assert ("Linters block the merge" in run.text) == blocks


async def test_merge_is_reverted_by_another_change_request(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_merge_dialog(run, "refused")
        await run.see("checked just now", "press Z after the merge")
        await run.press("Z")
        assert not run.gate.sent(change_requests.Merge)
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #7.")
        await run.see(" merged ", "Merged by Mara Lindqvist")
        await run.press("Z")
        await run.see("Revert the merge of #7?", "~ Time and time zones   ~ Troubleshooting", "Revert  (y)")
        run.platform.refuse_next(content.Edit, 403, "Not on Fridays.")
        await run.press("y")
        await run.hear("Could not revert #7: Not on Fridays. Press Z to continue the revert in draft")
        await run.press("Z")
        await run.see("Revert  (y)")
        await run.press("y")
        await run.hear("to revert #7.", "is open for review.")
        assert len(run.gate.sent(change_requests.Create)) == 1
        await run.see("Revert #7 Show what a refused time looks like", "0 of 2 viewed")
        assert len(run.gate.sent(content.Edit)) == 2
        await run.press("m")
        await run.see("checked just now", "pages         ~ Time and time zones   ~ Troubleshooting")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #")
        await run.press("Z")
        await run.see("Revert the merge of #")
        await run.press("n", "2")
        await run.press("/", *"zones", "enter", "enter")
        await run.see("› Time and time zones")
        await run.gone('"bad-time"')
        await run.press("H")
        await run.see("Revert #7", "Show what a refused time")


async def test_revert_of_an_unknown_account_leaves_equal_drafts_of_others(stage: Stage) -> None:
    def refuse_account(platform: Platform) -> AbstractAsyncContextManager[str]:
        platform.refuse_next(users.Me, 403, "This key belongs to no user.", times=500)
        return serving(platform)

    async with stage.play(start="changes", over=refuse_account) as run:
        merged = await merge_number_7(run)
        subject = "Revert #7 Show what a refused time looks like"
        await run.ask(change_requests.Create(at=merged.at.space, subject=subject), NOOR)
        await run.press("Z")
        await run.see("Revert the merge of #7?", "Revert  (y)")
        await run.press("y")
        await run.hear("to revert #7.", "is open for review.")
        assert len(run.gate.sent(change_requests.Create)) == 1


@pytest.mark.before_release
async def test_revert_of_a_merge_is_checked_again_before_it_starts(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_merge_dialog(run, "refused")
        await run.see("checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #7.")
        await run.press("Z")
        await run.see("Revert the merge of #7?", "~ Time and time zones   ~ Troubleshooting", "Revert  (y)")
        await run.later(seconds=20)
        run.platform.refuse_next(content.Get, 403, "Not on Fridays.", times=9)
        await run.press("y")
        await run.see("Could not load the changes, so you cannot revert them yet. Press r to retry.")
        assert not run.gate.sent(change_requests.Create)


@pytest.mark.before_release
async def test_unfinished_merge_is_reported_at_the_next_start(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        merged = await merge_number_7(run)
        state = run.app.session.state
        other = merged.at.model_copy(update={"change_request_id": "rotate-secrets"})

        async def pass_time(seconds: float) -> None:
            await run.later(seconds=seconds)

        state.sleep = pass_time
        for at, said in ((merged.at, "is merged now."), (other, "is not merged. Octavo did not retry the merge.")):
            begun = WriteAttempt(change_requests.Merge(at=at))
            with suppress(asyncio.CancelledError):
                async with lock_write(state, f"merge {at.space_id}/{at.change_request_id}", begun):
                    raise asyncio.CancelledError
            await report_unfinished_writes(run.app, run.app.session)
            await run.hear("Octavo was closed", "ago, during the merge of #", said)
        assert unfinished_writes(state) == ()
        assert len(run.gate.sent(change_requests.Merge)) == 1


async def test_lock_of_an_unfinished_merge_stays_until_its_report_is_complete(stage: Stage) -> None:
    at = ChangeRequestRef(space_id="harbour-api", change_request_id="rotate-secrets")
    states: list[StateDb] = []
    has_lock: list[bool] = []

    def record_locks(platform: Application) -> Application:
        async def respond(scope: Any, receive: Any, send: Any) -> None:
            if states and scope["path"].endswith("/harbour-api/change-requests/rotate-secrets"):
                has_lock.append(unfinished_writes(states[0]) != ())
            await platform(scope, receive, send)

        return respond

    async with stage.play(behind=record_locks) as run:
        state = run.app.session.state

        async def pass_time(seconds: float) -> None:
            await run.later(seconds=seconds)

        state.sleep = pass_time
        with suppress(asyncio.CancelledError):
            async with lock_write(state, "merge", WriteAttempt(change_requests.Merge(at=at))):
                raise asyncio.CancelledError
        states.append(state)
        await report_unfinished_writes(run.app, run.app.session)
        await run.hear("Octavo was closed", "ago, during the merge of #", "is not merged.")
        assert unfinished_writes(state) == ()
        assert has_lock
        assert all(has_lock)


async def test_reviews_can_be_requested_and_requests_withdrawn(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("/", *"refused", "enter")
        await run.see("1 of ")
        await run.press("enter", "V")
        await run.see("Request reviews of #7", "[x] Mara Lindqvist")
        await run.press("ctrl+s")
        await run.hear("Press enter to select or deselect a reviewer first.")
        await run.press(*"aiko", "enter", "ctrl+s")
        await run.hear("Requested a review of #7 from Aiko Jankovic")
        (asked,) = run.gate.sent(reviews.Request)
        await run.see("○ Aiko Jankovic")
        await run.press("V")
        await run.see("Request reviews of #7")
        await run.press(*"mara", "enter", "ctrl+s")
        await run.hear("Withdrew the review request sent to Mara Lindqvist")
        assert [op.user_id for op in run.gate.sent(reviews.Withdraw)] != list(asked.users)
        await run.gone("○ Mara Lindqvist")
        await run.press("V")
        await run.see("Request reviews of #7")
        for name in ("irina", "noor", "olu"):
            await run.press("ctrl+u", *name, "enter")
        await run.press("ctrl+s")
        await run.hear("Requested a review of #7 from Noor Haddad, Irina Balogun, and Olu Maalouf")


@pytest.mark.before_release
async def test_withdrawn_request_names_a_reviewer_who_has_no_access(stage: Stage) -> None:
    def remove_mara(answer: dict[str, Any]) -> None:
        answer["items"] = [each for each in answer["items"] if each["user"]["id"] != MARA]

    over = altered("/v1/spaces/[^/]+/permissions/aggregate", remove_mara)
    async with stage.play(over=over, start="changes") as run:
        await run.press("/", *"refused", "enter")
        await run.see("1 of ")
        await run.press("enter", "V")
        await run.see("Request reviews of #7", "[x] Mara Lindqvist")
        await run.press(*"mara", "enter", "ctrl+s")
        await run.hear("Withdrew the review request sent to Mara Lindqvist")


async def test_selected_change_requests_are_merged_until_a_check_fails(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("PAGES")
        await run.press("/", *"xyzzy")
        await run.see("0 of 7 match")
        await run.gone("PAGES")
        await run.press("ctrl+u", *"harbour api", "enter")
        await run.press("x", "x")
        await run.see("2 selected")
        await run.press("m")
        await run.see("Merge 2 change requests in Harbour API?", "Octavo will stop before #6 in Harbour API", "› #7")
        await run.see("requested changes", "merge this change request by itself", "Merge the first  (y)")
        await run.press("j", "K")
        await run.see("› #6", "The first change request is blocking the merge.", "press J to move it down")
        await run.press("K")
        await run.hear("#6 in Harbour API is already first in the merge order.")
        await run.press("J", "k")
        await run.see("› #7", "Octavo will stop before #6 in Harbour API")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged #7 in Harbour API. Stopped before #6 in Harbour API: ", "requested changes")
        await run.see("· merged", "The merge has ended.")
        assert len(run.gate.sent(change_requests.Merge)) == 1
        await run.press("escape", "u")
        await run.hear("press Z")


async def test_merged_change_requests_are_counted_because_the_rows_name_them(stage: Stage) -> None:
    """The notice, the dialog and the rows named all merged change requests: three times the same list."""
    async with stage.play(start="changes") as run:
        await run.see("PAGES")
        await run.press("x", "x", "m")
        await run.see("Merge 2 change requests in 2 spaces?", "Merge 2  (y)")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear("Merged 2 change requests.")
        await run.see("The merge has ended. Press esc to close this dialog.")
        assert run.text.count("· merged") == len(run.gate.sent(change_requests.Merge)) == 2


async def test_lost_response_of_a_merge_says_that_octavo_is_checking(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_change_request(run, "refused")
        await run.press("m")
        await run.see("checked just now")
        await run.later(seconds=1)
        run.platform.refuse_next(change_requests.Merge, 500, "The platform stumbled.")
        await run.pilot.press("y")
        while "The result of the merge is unknown. Checking whether #7 is merged…" not in run.said:
            await run.pilot.pause(0.01)
