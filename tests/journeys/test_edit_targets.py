"""The change request that Octavo offers first for an edit."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content
from octavo.api.change_requests import ChangeRequest
from octavo.api.operation import SpaceRef
from tests.journeys.stage import MARA, Run, Stage

HARBOUR = SpaceRef(space_id="harbour-api")


def titles_of_choices(run: Run) -> list[str]:
    """Return the offered choices in order."""
    return [choice.title for choice in run.app.screen.choices()]  # type: ignore[attr-defined]  # The screen is a picker.


async def open_page(run: Run) -> None:
    await run.press("2")
    if "› Time and time zones" not in run.text:
        await run.press("/", *"time and", "enter", "enter")
    await run.see("› Time and time zones")


async def rename(run: Run, to: str) -> None:
    """Rename the selected page in the first offered change request."""
    await run.press("M", "enter", "enter")
    await run.see("New title for Time and time zones")
    await enter_title(run, to)
    await run.hear(f"Renamed Time and time zones to {to} in #")


async def begin_rename_in_seven(run: Run) -> None:
    """Open the change request #7, and begin to rename its first page."""
    await run.press("/", *"refused", "enter", "enter")
    await run.see("0 of 2 viewed", "Time and time zones")
    await run.press("M", "enter")
    await run.see("New title for Time and time zones")


async def enter_title(run: Run, title: str) -> None:
    await run.press("ctrl+u")
    await run.type(title)
    await run.press("enter")


async def newest_draft(run: Run) -> ChangeRequest:
    found = await run.ask(change_requests.List(at=HARBOUR, status="draft", limit=100), MARA)
    return max(found.items, key=lambda each: each.number)


@pytest.mark.before_release
async def test_new_change_request_is_offered_first_by_default(stage: Stage) -> None:
    async with stage.play() as run:
        await open_page(run)
        await run.press("e")
        await run.see("Choose a change request")
        first, *others = titles_of_choices(run)
        assert first == "New change request"
        assert any(each.startswith("#6 ") for each in others), "open change requests of the user must be offered too"


@pytest.mark.before_release
async def test_last_used_change_request_is_offered_first_until_merged(stage: Stage) -> None:
    async with stage.play() as run:
        await open_page(run)
        await rename(run, "Time")
        made = await newest_draft(run)
        assert made.subject == "Rename Time and time zones"
        await open_page(run)
        await run.press("e")
        await run.see("Choose a change request", "LAST USED", "OTHER CHANGE REQUESTS")
        assert titles_of_choices(run)[:2] == [f"#{made.number} {made.subject}", "New change request"]
        assert len(set(titles_of_choices(run))) == len(titles_of_choices(run))
        await run.press("escape")
        await run.quit()
    async with stage.play() as run:
        await open_page(run)
        await run.press("e")
        await run.see("Choose a change request")
        assert titles_of_choices(run)[0] == f"#{made.number} {made.subject}"
        await run.press("escape")
        await run.ask(change_requests.Merge(at=made.ref(HARBOUR)), MARA)
        await run.press("e")
        await run.see("Choose a change request")
        assert titles_of_choices(run)[0] == "New change request"
        assert not any(each.startswith(f"#{made.number} ") for each in titles_of_choices(run))


@pytest.mark.before_release
async def test_archived_change_request_is_not_offered_first(stage: Stage) -> None:
    async with stage.play() as run:
        await open_page(run)
        await rename(run, "Time")
        made = await newest_draft(run)
        await run.ask(change_requests.Update(at=made.ref(HARBOUR), status="archived"), MARA)
        await open_page(run)
        await run.press("e")
        await run.see("Choose a change request")
        assert titles_of_choices(run)[0] == "New change request"


@pytest.mark.before_release
async def test_last_used_change_request_of_another_user_shows_their_name(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await begin_rename_in_seven(run)
        await enter_title(run, "Time")
        await run.hear("Renamed Time and time zones to Time in #7")
        await open_page(run)
        await run.press("e")
        await run.see("Choose a change request", "by Tomás Okafor")
        assert titles_of_choices(run)[0] == "#7 Show what a refused time looks like"


@pytest.mark.before_release
async def test_change_request_created_by_hand_is_offered_first(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("/", *"refused", "enter", "ctrl+n")
        await run.see("New change request in Harbour API")
        await run.type("Say what a surge is")
        await run.press("enter")
        await run.see("No changes yet.")
        await open_page(run)
        await run.press("e")
        await run.see("Choose a change request")
        assert titles_of_choices(run)[0] == "#9 Say what a surge is"


@pytest.mark.before_release
async def test_edit_in_a_change_request_does_not_offer_others(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await begin_rename_in_seven(run)
        assert "Choose a change request" not in run.text
        assert not run.gate.sent(content.Edit)
        assert not [op for op in run.gate.sent(change_requests.List) if op.creator]


async def test_edit_for_a_new_change_request_is_refused_if_main_has_changed(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"guides", "enter", "X")
        await run.see("Choose a change request")
        await run.type("a new change")
        await run.press("enter")
        await run.see("Delete Guides?", "subpages will also be deleted.")
        at = (await add_page_under_guides(run)).ref(HARBOUR)
        await run.ask(change_requests.Merge(at=at), MARA)
        await run.type(run.text.partition("Type ")[2].partition(" ")[0])
        await run.press("enter")
        await run.hear("Could not delete Guides in #", "main has changed since you opened the dialog.")
        assert not run.gate.sent(content.Edit)


async def add_page_under_guides(run: Run) -> ChangeRequest:
    made = await run.ask(change_requests.Create(at=HARBOUR, subject="Another guide"), MARA)
    tree = await run.ask(content.ListPages(at=HARBOUR), MARA)
    guides = next(page for page in tree.walk() if page.title == "Guides")
    change = content.InsertPage(title="Another guide", document=content.DocumentBody(markdown="New."), into=guides.id)
    await run.ask(content.Edit(at=made.ref(HARBOUR), changes=(change,)), MARA)
    return made


async def test_new_change_request_of_a_refused_edit_is_offered_first(stage: Stage) -> None:
    async with stage.play() as run:
        await open_page(run)
        run.platform.refuse_next(content.Edit, 403, "Not on Fridays.")
        await run.press("X", "enter")
        await run.see("Delete Time and time zones?")
        await run.press("y")
        await run.hear("Could not delete Time and time zones in #", "Not on Fridays.")
        made = await newest_draft(run)
        await run.press("X")
        await run.see("Choose a change request", "LAST USED")
        assert titles_of_choices(run)[0] == f"#{made.number} Delete Time and time zones"
        await run.press("enter")
        await run.see("Delete Time and time zones?")
        await run.press("y")
        await run.hear(f"Deleted Time and time zones in #{made.number}")
        assert len(run.gate.sent(change_requests.Create)) == 1
