"""From a word that a change request replaces to all other places of the space that still have the old word."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, comments
from octavo.api.content import Edit, GetPage
from octavo.tui.review.term_screen import TermScreen
from tests.journeys.request_scenario import HARBOUR, RequestScenario, add_page, edit_page
from tests.journeys.stage import MARA, Run, Stage

LANTERNS = "# Lanterns\n\nLight the storm lantern at dusk. Refill it after 40 min of rain.\n"
PIERS = "# Piers\n\nEach pier has a **storm** lantern.\n\n| Pier | Light |\n|-|-|\n| A | two storm lanterns |\n"
STORES = "# Stores\n\nBuy a storm\nlantern here. See `storm lantern` and [oil](storm-lantern.md).\n\nWait 40 min.\n"
SIZES = pytest.mark.parametrize("size", [(120, 36), (80, 24)])


async def rename(run: Run, new: str = "storm beacon") -> RequestScenario:
    """Publish three pages with a term, and open a change request that renames the term on the first page."""
    scenario = RequestScenario(run)
    await scenario.publish(add_page(LANTERNS), add_page(PIERS), add_page(STORES), subject="Write about lanterns")
    page = (await scenario.page("Lanterns")).id
    await scenario.propose(edit_page(page, LANTERNS.replace("storm lantern", new)))
    await scenario.open()
    await run.see("Refill it")
    return scenario


@pytest.mark.before_release("size1")
@SIZES
async def test_selected_places_of_a_renamed_term_are_edited_and_undone(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(size=size) as run:
        scenario = await rename(run)
        at = run.app.screen.at  # type: ignore[attr-defined]  # The screen is the change request.
        await run.press("#")
        await run.see("Find which old term?", "storm lantern", "is now storm beacon")
        await run.press(*"storm", "enter")
        await run.see(
            "3 places", "Piers", "Stores", "storm** lantern → storm** beacon", "storm lanterns → storm beacons"
        )
        await run.press("*")
        await run.see("3 of 3 places selected")
        await run.press("e")
        await run.see("Replace “storm lantern” in 3 places?", "Changes 2 pages", "You can undo")
        assert not run.gate.sent(Edit)
        await run.press("y")
        await run.hear("Replaced 3 places in #")
        await run.see("No other places have “storm lantern”.")
        assert await scenario.text("Stores", at) == STORES.replace("storm\nlantern", "storm\nbeacon", 1)
        assert "**storm** beacon" in await scenario.text("Piers", at)
        assert "two storm beacons" in await scenario.text("Piers", at)
        assert len(run.gate.sent(Edit)) == 1
        run.platform.refuse_next(Edit, 401, "Sign in first.")
        await run.press("u")
        await run.hear("Press u to try the undo again.")
        await run.press("u")
        await run.hear("Undid the replacement.")
        assert await scenario.text("Piers", at) == PIERS
        await run.press("r")
        await run.see("3 places")


@pytest.mark.before_release
async def test_rename_of_all_places_takes_six_keys(stage: Stage) -> None:
    async with stage.play() as run:
        await rename(run, "gale lantern")
        await run.press("#")
        await run.press("down", "enter")
        await run.see("“storm lantern” → “gale lantern”", "3 places")
        await run.press("*", "e", "y")
        await run.hear("Replaced 3 places in #")


@pytest.mark.before_release
async def test_page_title_with_the_term_is_listed_to_be_renamed_by_hand(stage: Stage) -> None:
    async with stage.play() as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(LANTERNS), add_page("# Storm lanterns\n\nMany **storm lan**terns.\n"))
        await scenario.propose(
            edit_page((await scenario.page("Lanterns")).id, LANTERNS.replace("lantern at", "beacon at"))
        )
        await scenario.open()
        await run.press("#", "down", "enter")
        await run.see("Storm lanterns", "page title", "then M to rename it.")
        await run.see("edit by hand")
        await run.press("x", "e")
        await run.hear("You cannot select this item.")


@pytest.mark.before_release("size1")
@SIZES
async def test_selected_places_become_pending_suggestions(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(size=size) as run:
        scenario = await rename(run)
        at = run.app.screen.at  # type: ignore[attr-defined]  # The screen is the change request.
        await run.press("#", "down", "enter")
        await run.see("3 places", "36 of 36 pages searched")
        await run.press("*", '"')
        await run.hear("Added 3 pending suggestions. Submit your review to send the suggestions.")
        created = [each.op for each in run.app.session.outbox.pending_comments(at)]
        bodies = [op.body.markdown for op in created if isinstance(op, comments.Create)]
        assert "Buy a storm\nbeacon here. See `storm lantern` and [oil](storm-lantern.md)." in "".join(bodies)
        assert "| A | two storm beacons |" in "".join(bodies)
        await run.press("u")
        await run.hear("Removed 3 pending suggestions.")
        assert not run.app.session.outbox.pending_comments(at)
        assert await scenario.text("Stores", at) == STORES
        assert not run.gate.sent(comments.Create)


async def test_page_edited_by_someone_else_is_skipped_and_named(stage: Stage) -> None:
    async with stage.play() as run:
        scenario = await rename(run)
        at = run.app.screen.at  # type: ignore[attr-defined]  # The screen is the change request.
        await run.press("#", "down", "enter")
        await run.see("3 places")
        edited = STORES.replace("Wait", "Please wait")
        stores = await scenario.page("Stores", at)
        await run.ask(Edit(at=at, changes=(edit_page(stores.id, edited),), compat=False), MARA)
        await run.press("*", "e", "y")
        await run.hear("Replaced 2 places on 1 page of #", "Skipped Stores (was edited in the meantime).")
        assert await scenario.text("Stores", at) == edited
        await run.see("1 place ", "Stores")


@pytest.mark.before_release
async def test_number_is_found_with_its_unit(stage: Stage) -> None:
    async with stage.play() as run:
        scenario = RequestScenario(run)
        await scenario.publish(add_page(LANTERNS), add_page(STORES))
        await scenario.propose(edit_page((await scenario.page("Lanterns")).id, LANTERNS.replace("40 min", "55 min")))
        await scenario.open()
        await run.press("#")
        await run.see("“40 min” → “55 min”", "Wait 40 min → 55 min.")
        assert isinstance(run.app.screen, TermScreen)


@pytest.mark.before_release
async def test_search_without_a_connection_says_how_many_pages_are_searched(stage: Stage) -> None:
    async with stage.play() as run:
        await rename(run)
        run.platform.refuse_next(GetPage, 503, "Down for maintenance.", times=1000)
        await run.press("#", "down", "enter")
        await run.see("Only 2 of 36 pages are searched", "Down for maintenance.", "retry")


@pytest.mark.before_release
async def test_replacing_needs_an_open_change_request(stage: Stage) -> None:
    async with stage.play() as run:
        await rename(run)
        at = run.app.screen.at  # type: ignore[attr-defined]  # The screen is the change request.
        await run.press("#", "down", "enter")
        await run.see("3 places")
        await run.ask(change_requests.Update(at=at, status="archived"), MARA)
        await run.press("r", "*", "e")
        await run.hear("is archived. You can do this only with open or draft change requests.")


@pytest.mark.before_release
async def test_page_without_replaced_words_says_so(stage: Stage) -> None:
    async with stage.play() as run:
        await rename(run, "storm lantern and rope")
        await run.press("#")
        await run.hear("This page replaces no words or numbers by others")
        assert run.app.screen.at.space == HARBOUR  # type: ignore[attr-defined]  # The screen is the change request.


@pytest.mark.before_release
async def test_role_without_editing_can_list_places_but_not_replace_them(stage: Stage) -> None:
    async with stage.play("elin-brandt", start="changes") as run:
        await run.press("/", *"retry", "enter", "enter")
        await run.see("#4 Correct the retry schedule")
        await run.press("#", "enter")
        await run.see("“24 h” → “18 h”", "2 places")
        await run.press("e")
        await run.hear("You need the Editor role in Harbour API to edit.")
