"""Main changes between the checks and the confirmation of a merge: Octavo sends nothing, and the dialog names the
change."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content, reviews
from octavo.api.operation import ChangeRequestRef
from octavo.tui.review.checked_dialog import CheckedDialog
from octavo.tui.review.merge_dialog import MergeSeveralDialog
from tests.journeys.request_scenario import RequestScenario, add_page, edit_page
from tests.journeys.stage import MARA, Run, Stage

BASE = "# Stores\n\nThere are three stores.\n"
MAIN = "# Stores\n\nThere are four stores.\n"
MINE = "# Stores\n\nThere are five stores.\n"
CONFLICT_MARKERS = ("<<<<<<<", "=======", ">>>>>>>", "onflict")


async def open_change_request(run: Run) -> tuple[RequestScenario, ChangeRequestRef]:
    """Create a change request that edits one page and is up to date with main."""
    scenario = RequestScenario(run)
    await scenario.publish(add_page(BASE), subject="Write down the stores")
    at = await scenario.propose(edit_page((await scenario.page("Stores")).id, MINE))
    return scenario, at


async def open_merge_of_two(run: Run) -> RequestScenario:
    """Open the dialog that merges two change requests of the same space."""
    scenario, _ = await open_change_request(run)
    await scenario.propose(add_page("# Depots\n\nThere are two depots.\n"), subject="Recount the depots")
    await run.press("3", "r", "/", *"recount", "enter")
    await run.see("Recount the depots", "Recount the stores")
    await run.press("j", "k", "x", "x", "m")
    await run.see("Merge 2  (y)")
    return scenario


async def change_main(scenario: RequestScenario, subject: str = "Rotate secrets") -> str:
    """Merge another change request that edits the same text. Returns the number and subject of that change request."""
    page, number = (await scenario.page("Stores")).id, scenario.number
    await scenario.publish(edit_page(page, MAIN), subject=subject)
    name, scenario.number = f"#{scenario.number} {subject}", number
    return name


async def read_main(scenario: RequestScenario) -> str:
    text = await scenario.text("Stores")
    assert not [mark for mark in CONFLICT_MARKERS if mark in text]
    return text


@pytest.mark.before_release("1", "3")
@pytest.mark.parametrize("seconds", [0, 1, 3, 8])
async def test_merge_is_not_sent_if_main_changed_after_the_checks(stage: Stage, seconds: int) -> None:
    async with stage.play(start="changes") as run:
        scenario, _ = await open_change_request(run)
        await scenario.open()
        await run.press("m")
        await run.see(f"Merge #{scenario.number}", "checked just now", "conflicts     none")
        await run.until(lambda: not dialog_of(run)._is_confirming_delayed, "accept the key y")
        await run.later(seconds=seconds)
        name = await change_main(scenario)
        await run.press("y")
        await run.hear(
            f"Main has changed since the checks were loaded: {name} was merged. Review the checks again before you merge."
        )
        assert await read_main(scenario) == MAIN
        assert not run.gate.sent(change_requests.Merge)
        await run.see(f"Merge #{scenario.number}", "may conflict: Stores", f"({scenario.number}) and")
        await run.press("y")
        assert not run.gate.sent(change_requests.Merge)


@pytest.mark.parametrize("seconds", [0, 8])
async def test_merge_with_accepted_conflicts_is_not_sent_with_new_conflicts(stage: Stage, seconds: int) -> None:
    async with stage.play(start="changes") as run:
        scenario, _ = await open_change_request(run)
        await change_main(scenario)
        await scenario.open()
        await run.press("m")
        await run.see("may conflict: Stores", "checked just now")
        await run.later(seconds=seconds)
        name = await change_main(scenario, "Rotate them again")
        await run.press(*str(scenario.number), "enter")
        await run.hear(f"Main has changed since the checks were loaded: {name} was merged.")
        assert not run.gate.sent(change_requests.Merge)
        await run.see("may conflict: Stores", "checked just now")
        await run.press(*str(scenario.number), "enter")
        await run.hear(f"Merged #{scenario.number} with conflicts. Readers now see both versions of each conflict.")


@pytest.mark.parametrize("seconds", [0, 8])
async def test_merge_is_not_sent_after_an_edit_of_the_change_request(stage: Stage, seconds: int) -> None:
    async with stage.play(start="changes") as run:
        scenario, at = await open_change_request(run)
        await scenario.open()
        await run.press("m")
        await run.see("checked just now", "conflicts     none")
        await run.until(lambda: not dialog_of(run)._is_confirming_delayed, "accept the key y")
        await run.later(seconds=seconds)
        page = (await scenario.page("Stores")).id
        await run.ask(content.Edit(at=at, changes=(edit_page(page, f"{MINE}\nMore.\n"),), compat=False), MARA)
        first = dialog_of(run)
        await run.press("y")
        await run.hear(
            "This change request has been edited since the checks were loaded. Review the checks again before you merge."
        )
        # The first dialog also says “checked just now”.
        await run.until(lambda: isinstance(run.app.screen, CheckedDialog) and run.app.screen is not first, "reopen")
        await run.see("checked just now")
        assert await read_main(scenario) == BASE
        assert not run.gate.sent(change_requests.Merge)
        await run.until(lambda: dialog_of(run).why_not_confirm() is None, "accept the key y")
        await run.press("y")
        await run.hear(f"Merged #{scenario.number}.")


async def test_typed_number_does_not_accept_checks_that_were_loaded_later(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario, at = await open_change_request(run)
        await change_main(scenario)
        await scenario.open()
        await run.press("m")
        await run.see("may conflict: Stores", "checked just now")
        await run.press(*str(scenario.number))
        await run.later(seconds=8)
        page = (await scenario.page("Stores")).id
        await run.ask(content.Edit(at=at, changes=(edit_page(page, f"{MINE}\nMore.\n"),), compat=False), MARA)
        await run.ask(reviews.Submit(at=at, status="approved"), "noor-haddad")
        await run.press("enter")
        await run.press("enter")
        await run.settle()
        assert not run.gate.sent(change_requests.Merge)
        await run.see("may conflict: Stores", "Noor Haddad approved")


async def test_keys_before_the_new_checks_never_merge_an_edit(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario, at = await open_change_request(run)
        await scenario.open()
        await run.press("m")
        await run.see("checked just now", "conflicts     none")
        await run.later(seconds=8)
        page = (await scenario.page("Stores")).id
        await run.ask(content.Edit(at=at, changes=(edit_page(page, f"{MINE}\nMore.\n"),), compat=False), MARA)
        run.gate.shut(change_requests.Get)
        for _ in range(3):
            await run.pilot.press("y")
        run.gate.open()
        for _ in range(40):
            await run.pilot.press("y")
        await run.settle()
        assert await read_main(scenario) == BASE
        assert not run.gate.sent(change_requests.Merge)


@pytest.mark.before_release
async def test_merge_dialog_does_not_reopen_over_another_dialog(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario, _ = await open_change_request(run)
        await scenario.open()
        await run.press("m")
        await run.see("checked just now")
        await run.later(seconds=1)
        await change_main(scenario)
        run.gate.shut(change_requests.Get)
        await run.press("y")
        await run.press("question_mark")
        elsewhere = run.app.screen
        run.gate.open()
        await run.hear("Main has changed since the checks were loaded")
        assert run.app.screen is elsewhere
        assert not run.gate.sent(change_requests.Merge)


@pytest.mark.parametrize("seconds", [0, 8])
async def test_update_is_not_sent_if_main_changed_after_the_checks(stage: Stage, seconds: int) -> None:
    async with stage.play(start="changes") as run:
        scenario, at = await open_change_request(run)
        await change_main(scenario)
        before = await run.ask(change_requests.Get(at=at), MARA)
        await scenario.open()
        await run.press("U")
        await run.see(f"Update #{scenario.number} from main?", "~ Stores")
        await run.later(seconds=seconds)
        name = await change_main(scenario, "Rotate them again")
        await run.press("y")
        await run.hear(
            f"Main has changed since the checks were loaded: {name} was merged. Review the checks again before you update."
        )
        assert not run.gate.sent(change_requests.UpdateFromMain)
        assert (await run.ask(change_requests.Get(at=at), MARA)).revision == before.revision
        await run.see(f"Update #{scenario.number} from main?", "~ Stores")
        await run.press("y")
        await run.see("conflict 1 of 1")


async def test_merge_of_several_stops_if_main_changed_after_the_checks(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        scenario = await open_merge_of_two(run)
        assert isinstance(run.app.screen, MergeSeveralDialog)
        await run.later(seconds=1)
        run.gate.shut(reviews.List)
        await run.press("y")
        await run.see("checking again")
        name = await change_main(scenario)
        run.gate.open()
        await run.hear(
            f"main has changed since the checks were loaded: {name} was merged.", "Nothing was merged. Stopped at #"
        )
        assert await read_main(scenario) == MAIN
        assert not run.gate.sent(change_requests.Merge)


async def test_merge_of_several_in_another_order_waits_for_its_checks(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_merge_of_two(run)
        await run.later(seconds=1)
        dialog = run.app.screen
        assert isinstance(dialog, MergeSeveralDialog)
        assert dialog.why_not_confirm() is None
        dialog.move(1)
        assert dialog.why_not_confirm() == "The checks are still loading."


def dialog_of(run: Run) -> CheckedDialog[object]:
    assert isinstance(run.app.screen, CheckedDialog)
    return run.app.screen
