"""Update and merge dialogs show incoming changes, paragraphs merged word by word, and changes that main already has."""

from __future__ import annotations

import asyncio

import pytest

from octavo.api import change_requests, content
from octavo.api.content import UpdatePage
from octavo.server.handlers.change_requests import record_edit
from octavo.server.handlers.spaces import add_edit_revision, get_current, set_current
from octavo.tui.comments.comments_screen import CommentsScreen
from octavo.tui.core.routes import ToChangeRequest
from octavo.tui.review.checked_dialog import CheckedDialog
from octavo.tui.review.request_comparison import PREDICTION_DELAY
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.request_scenario import HARBOUR, RequestScenario, add_page, edit_page
from tests.journeys.stage import MARA, Run, Stage

BASE = "# Stores\n\nThe probe reads 10 cm at low water and 20 cm at high water.\n"
MAIN = BASE.replace("10 cm", "12 cm")
MINE = BASE.replace("20 cm", "21 cm")
BOTH = "The probe reads 12 cm at low water and 21 cm at high water."


@pytest.mark.before_release
async def test_update_dialog_opens_the_incoming_changes(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(BASE), subject="Write down the stores")
        page = (await scenario.page("Stores")).id
        await scenario.propose(edit_page(page, BASE.replace("10 cm", "11 cm")))
        mine = scenario.number
        await scenario.publish(edit_page(page, MAIN), subject="Read the probe again")
        scenario.number = mine
        await scenario.open()
        await run.press("U")
        await run.see("Update #", "may conflict: Stores", "d incoming changes")
        await run.press("d")
        await run.see("INCOMING", "1 change to main", "Stores", "conflicts", "12 cm", f"Conflicts with #{mine}.")
        await run.press("escape")
        await run.see(f"Update #{mine} from main?", "Update  (y)")
        assert not run.gate.sent(change_requests.UpdateFromMain)


@pytest.mark.before_release
async def test_incoming_diff_that_could_not_be_loaded_is_loaded_by_r(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(BASE), add_page("# Yard\n\nBehind the house.\n"))
        stores, yard = (await scenario.page("Stores")).id, (await scenario.page("Yard")).id
        await scenario.propose(edit_page(stores, MINE))
        mine = scenario.number
        await scenario.publish(edit_page(yard, "# Yard\n\nBehind the barn.\n"))
        scenario.number = mine
        await scenario.open()
        await run.press("U")
        await run.see("Update #", "d incoming changes")
        run.platform.refuse_next(content.GetPage, 500, "Out of order", times=9)
        await run.press("d")
        await run.see("Could not load the diff of Yard", "r retry")
        run.accept()
        await run.press("r")
        await run.see("barn")


async def test_unchanged_checks_of_an_update_are_confirmed_after_a_while(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.change_page(BASE, MAIN, MINE)
        await scenario.open()
        await run.press("U")
        await run.see("Update  (y)", "d incoming changes")
        await run.later(seconds=8)
        await run.press("y")
        await run.hear(f"Updated #{scenario.number}.")


@pytest.mark.before_release
async def test_incoming_changes_show_the_new_title_of_a_page(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(BASE), add_page("# Yard\n\nBehind the house.\n"))
        stores, yard = (await scenario.page("Stores")).id, (await scenario.page("Yard")).id
        await scenario.propose(edit_page(stores, MINE))
        mine = scenario.number
        await scenario.publish(UpdatePage(page=yard, title="Garden"))
        scenario.number = mine
        await scenario.open()
        await run.press("U")
        await run.see("Update #", "d incoming changes")
        await run.press("d")
        await run.see("INCOMING", "Garden")
        await run.see("title", "Yard")


@pytest.mark.before_release
async def test_dialogs_show_the_paragraph_that_was_merged_word_by_word(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(BASE), subject="Write down the stores")
        page = (await scenario.page("Stores")).id
        await scenario.propose(edit_page(page, MINE))
        mine = scenario.number
        await scenario.publish(edit_page(page, MAIN), subject="Read the probe again")
        scenario.number = mine
        await scenario.open()
        await run.press("m")
        await run.see("merged text", "12 cm at low water and 21 cm")
        await run.press("n", "U")
        await run.see(f"Update #{mine} from main?", "merged text", "12 cm at low water and 21 cm")
        await run.press("y")
        await run.hear(f"Updated #{mine}. 1 paragraph was merged word by word. Press R to check the text.")
        await run.press("m")
        await run.see("checked just now")
        await run.later(seconds=1)
        await run.press("y")
        await run.hear(f"Merged #{mine}.")
        assert BOTH in await scenario.text("Stores")


async def propose_change_already_in_main(run: Run) -> RequestScenario:
    """Create a change request whose only change is already in main, and change another page in main only."""
    scenario = RequestScenario(run)
    await scenario.publish(add_page(BASE), add_page("# Tides\n\nLow at noon.\n"), subject="Write down the stores")
    stores, tides = [(await scenario.page(title)).id for title in ("Stores", "Tides")]
    await scenario.propose(edit_page(stores, MAIN))
    mine = scenario.number
    await scenario.publish(
        edit_page(stores, MAIN), edit_page(tides, "# Tides\n\nLow at one.\n"), subject="Read the probe again"
    )
    scenario.number = mine
    return scenario


async def archive(run: Run, scenario: RequestScenario) -> None:
    """Archive the change request from the dialog, and reopen the change request."""
    before = await scenario.text("Stores")
    await run.press("L")
    await run.see(f"Archive #{scenario.number}", "The change request will move to the “Archived” tab.")
    await run.until(lambda: not isinstance(run.app.screen, CheckedDialog), "close the dialog")
    assert not run.gate.sent(change_requests.Update)
    await run.press("y")
    await run.hear(f"Archived #{scenario.number}")
    await run.sent()
    assert [op.status for op in run.gate.sent(change_requests.Update)] == ["archived"]
    await run.press("L")
    await run.see(f"Reopen #{scenario.number}")
    await run.press("y")
    await run.hear(f"Reopened #{scenario.number}")
    await run.sent()
    assert [op.status for op in run.gate.sent(change_requests.Update)] == ["archived", "open"]
    assert await scenario.text("Stores") == before


@pytest.mark.before_release
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_changes_already_in_main_are_archived_instead_of_merged(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        scenario = await propose_change_already_in_main(run)
        await scenario.open()
        await run.see("already in main (press L to archive)")
        await run.press("m")
        await run.see("Main already has these changes. Press L to archive", "L archive")
        assert not [word for word in ("Changes   ", "Goes live", "does not", "press U") if word in run.text]
        await run.later(seconds=1)
        await run.press("y")
        assert not run.gate.sent(change_requests.Merge)
        await archive(run, scenario)


@pytest.mark.before_release
async def test_update_dialog_offers_to_archive_changes_already_in_main(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        scenario = await propose_change_already_in_main(run)
        await scenario.open()
        await run.press("U")
        await run.see("~ Stores   ~ Tides", "none: main already has the same changes", "L archive")
        await run.see("Main already has these changes. Press L to archive")
        await run.press("d")
        await run.see("INCOMING", "2 changes to main", "Stores", "Tides", "12 cm")
        await run.press("J")
        await run.see("− Low at noon.", "+ Low at one.")
        await run.press("escape")
        await run.see(f"Update #{scenario.number} from main?", "L archive")
        await archive(run, scenario)
        assert not run.gate.sent(change_requests.UpdateFromMain)


@pytest.mark.before_release
async def test_update_that_leaves_no_changes_says_so(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = await propose_change_already_in_main(run)
        await scenario.open()
        await run.press("U")
        await run.see("Main already has these changes")
        await run.press("y")
        await run.hear(f"Updated #{scenario.number}. Main already has these changes. Press L to archive")
        await run.see("No changes yet.", "already in main (press L to archive)")
        await run.press("m")
        await run.see("Main already has these changes.")
        await run.press("n", "escape", "/")
        await run.type("recount")
        await run.see("✓ already in main", "✓ Main already has these changes.")
        assert await scenario.text("Stores") == MAIN


@pytest.mark.before_release
async def test_list_marks_change_requests_that_are_already_in_main(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await propose_change_already_in_main(run)
        await run.press("3", "r")
        await run.press("/", *"recount", "enter")
        await run.see("✓ already in main", "✓ Main already has these changes.")
        assert "outdated" not in run.text


@pytest.mark.before_release
async def test_header_of_a_change_request_is_updated_after_main_changed(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(BASE), add_page("# Tides\n\nLow at noon.\n"), subject="Write down the stores")
        stores, tides = [(await scenario.page(title)).id for title in ("Stores", "Tides")]
        await scenario.propose(edit_page(stores, MAIN))
        mine = scenario.number
        await scenario.publish(edit_page(tides, "# Tides\n\nLow at one.\n"), subject="Read the tides")
        scenario.number = mine
        await scenario.open()
        await run.see("outdated")
        await scenario.publish(edit_page(stores, MAIN), subject="Read the probe again")
        await run.press("r")
        await run.see("already in main (press L to archive)")
        await scenario.publish(edit_page(stores, BASE.replace("10 cm", "15 cm")), subject="Read the probe anew")
        await run.press("r")
        await run.see("1 possible conflict")
        assert "already in main" not in run.text


@pytest.mark.parametrize("list_state", ["late", "failed"])
async def test_new_edit_is_not_called_already_in_main(stage: Stage, list_state: str) -> None:
    async with stage.play(start="changes") as run:
        scenario = await propose_change_already_in_main(run)
        tides = (await scenario.page("Tides")).id
        await scenario.open()
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        await run.ask(change_requests.UpdateFromMain(at=screen.at), MARA)
        await run.press("r")
        await run.see("No changes yet.", "already in main (press L to archive)")
        if list_state == "failed":
            run.platform.refuse_next(content.ListChanges, 403, "Not now", times=9)
        else:
            run.gate.shut(content.ListChanges)
        await run.ask(content.Edit(at=screen.at, changes=(edit_page(tides, "Low at two."),), compat=False), MARA)
        await run.press("r")
        await run.gone("already in main")
        await asyncio.sleep(PREDICTION_DELAY + 0.2)
        await run.settle()
        assert "already in main" not in run.text
        await run.press("a")
        reason = {"failed": "could not be loaded. Press r to retry.", "late": "are still loading."}[list_state]
        await run.hear(f"#{scenario.number} was edited", f"new changes {reason}")
        run.accept()
        run.gate.open()
        await run.press("r")
        await run.see("~ Tides")
        assert "already in main" not in run.text
        await run.press("a")
        await run.see(f"Approve #{scenario.number}")


async def test_dialog_about_conflicts_of_a_merge_does_not_open_over_another_view(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        await scenario.change_page(BASE, MAIN, BASE.replace("10 cm", "11 cm"))
        requests = await run.ask(change_requests.List(at=HARBOUR, limit=100), MARA)
        at = next(each.ref(HARBOUR) for each in requests.items if each.number == scenario.number)
        await run.ask(change_requests.Merge(at=at), MARA)
        run.app.go(ToChangeRequest(at))
        await run.see("Merged by Mara Lindqvist")
        run.gate.shut(content.ListPages)
        await run.press("R")
        await run.until(lambda: run.gate.waiting > 0, "look for conflicts")
        await run.press("escape", "4")
        await run.see("Comments · open")
        run.gate.open()
        await run.settle()
        assert isinstance(run.app.screen, CommentsScreen)


async def test_conflict_in_variables_is_marked_in_the_tree(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = RequestScenario(run)
        at = await scenario.propose(add_page(BASE))
        context = run.platform.context.for_user(MARA)
        main = get_current(context, HARBOUR.space_id)
        for limit in ("8", "9"):
            revision = add_edit_revision(context, main, variables={"limit": limit})
            if limit == "8":
                found = context.store.get(f"/spaces/{HARBOUR.space_id}/change-requests/{at.change_request_id}")
                record_edit(context, found, revision)
            else:
                set_current(context, HARBOUR.space_id, revision)
        await scenario.open()
        await run.see("possible conflict")
        await run.until(lambda: any("⚠" in line for line in run.lines if "~ variables" in line), "mark the conflict")
