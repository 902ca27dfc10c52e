"""You return to a change request that you reviewed: the diff opens with the changes since your review."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from octavo.api import change_requests, content, reviews, spaces
from octavo.api.operation import ChangeRequestRef, Operation
from octavo.client.responses import Application
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_reviewing import open_refused

EDITED = "# Time and time zones\n\nAll is new.\n"


async def find_refused(run: Run) -> ChangeRequestRef:
    """Return the change request #7 of the demo without opening it."""
    screen = await open_refused(run)
    at = screen.at
    await run.press("escape", "escape", "escape")
    await run.see("Open 7")
    return at


async def edit_time_page(run: Run, at: ChangeRequestRef, text: str = EDITED) -> None:
    listed = await run.ask(content.ListChanges(at=at), MARA)
    page = next(each.page for each in listed.changes if each.page and each.page.title == "Time and time zones")
    edit = content.UpdatePage(page=page.id, document=content.DocumentBody(markdown=text))
    await run.ask(content.Edit(at=at, changes=(edit,), compat=False), "tomas-okafor")


@pytest.mark.before_release("size1")
@pytest.mark.parametrize("size", [(120, 36), (80, 24)])
async def test_request_changed_since_your_review_opens_with_the_changes(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        at = await find_refused(run)
        await run.ask(reviews.Submit(at=at, status="approved"), MARA)
        await edit_time_page(run, at)
        await open_refused(run)
        await run.see(
            "0 of 1 viewed", "compared with your", "last review", "Press B to see all changes", "− All times in"
        )
        await run.press("x")
        await run.hear("You viewed all changes in #7 compared with your last review. Press a to approve")
        await run.press("x", "B", "up", "enter")
        await run.see("0 of 2 viewed")
        await run.gone("Press B to see all changes")
        await run.press("J", "J", "J")
        await run.hear("There is no next page to go to.")
        await run.press("K", "K", "K")
        await run.hear("There is no previous page to go to.")
        await edit_time_page(run, at, f"{EDITED}\nEven newer.\n")
        await run.press("r")
        await run.see("0 of 2 viewed")


@pytest.mark.before_release
async def test_request_unchanged_since_your_review_opens_with_all_changes(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        await edit_time_page(run, at)
        await run.ask(reviews.Submit(at=at, status="approved"), MARA)
        await open_refused(run)
        await run.see("0 of 2 viewed", "page 1 of 2")
        await run.gone("compared with your last review")


@pytest.mark.before_release
async def test_base_chosen_while_main_loads_is_compared(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_refused(run)
        await run.see("0 of 2 viewed", "page 1 of 2")
        run.gate.shut(spaces.Get)
        await run.press("B", "down", "down", "enter")
        await run.press("B", "up", "up", "enter")
        run.gate.open()
        await run.settle()
        assert "compared with main" not in run.text


@pytest.mark.before_release
async def test_revision_with_the_same_pages_opens_with_all_changes(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        await edit_time_page(run, at)
        await run.ask(reviews.Submit(at=at, status="approved"), MARA)
        await edit_time_page(run, at, f"{EDITED}\nMore.\n")
        await edit_time_page(run, at)
        await open_refused(run)
        await run.see("0 of 2 viewed", "page 1 of 2")
        await run.gone("compared with your last review")


@pytest.mark.before_release
async def test_another_persons_review_does_not_change_the_comparison(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        await run.ask(reviews.Submit(at=at, status="approved"), "noor-haddad")
        await edit_time_page(run, at)
        await open_refused(run)
        await run.see("0 of 2 viewed", "page 1 of 2")


@pytest.mark.before_release
async def test_slow_reviews_do_not_hold_back_the_diff(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        await run.ask(reviews.Submit(at=at, status="approved"), MARA)
        await edit_time_page(run, at)
        run.gate.shut(reviews.List)
        screen = await open_refused(run)
        await run.see("0 of 2 viewed", "page 1 of 2")
        await run.until(lambda: not screen.comparison._is_opening, "stop waiting for the reviews")
        run.gate.open()
        await run.see("Mara Lindqvist (you)")
        await run.see("0 of 2 viewed")


@pytest.mark.before_release
async def test_edit_while_the_request_is_open_keeps_the_comparison(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        await run.ask(reviews.Submit(at=at, status="approved"), MARA)
        await open_refused(run)
        await run.see("0 of 2 viewed")
        await edit_time_page(run, at)
        await run.press("r")
        await run.see("(1 page changed)", "0 of 2 viewed")


KEYS_ON_CHANGES: list[tuple[str, type[Operation[Any]] | None, str]] = [
    ("a", reviews.Submit, "Approve #7"),
    ("A", reviews.Submit, "Request changes on #7"),
    ("Q", content.Edit, "Revert the changes"),
    ("x", None, "1 of 2 viewed"),
]
"""Keys for which the user must know the changes, with the request that they would send, and what they show."""


@pytest.mark.parametrize(
    ("late", "layout"),
    [
        (content.GetPage, ""),
        pytest.param(content.GetPage, "v", marks=pytest.mark.before_release),
        pytest.param(content.ListChanges, "", marks=pytest.mark.before_release),
    ],
)
async def test_changes_that_still_load_are_not_decided(
    stage: Stage, late: type[Operation[object]], layout: str
) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_refused(run)
        await run.see("0 of 2 viewed", "− All times in")
        await run.press(*layout)
        await edit_time_page(run, screen.at)
        run.gate.shut(late)
        await run.press("r")
        for key, operation, shown in KEYS_ON_CHANGES:
            await run.press(key)
            await run.hear("#7 was edited. The new changes are still loading.")
            assert shown not in run.text
            assert operation is None or not run.gate.sent(operation)
        run.gate.open()
        await run.see("11 deletions")
        for key, _, shown in KEYS_ON_CHANGES:
            await run.press(key)
            await run.see(shown)
            if key != "x":
                await run.press("escape")


async def test_viewed_marks_survive_a_failed_comparison(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_refused(run)
        await run.press("x", "x")
        await run.see("2 of 2 viewed")
        await edit_time_page(run, screen.at)
        run.platform.refuse_next(content.Get, 503, "The server is busy.", times=50)
        await run.press("r")
        await run.gone("2 of 2 viewed")
        assert "viewed page changed" not in run.text
        run.accept()
        await run.press("r")
        await run.see("1 of 2 viewed", "• 1 viewed page changed")


async def test_list_of_changes_from_before_an_edit_is_loaded_again(stage: Stage) -> None:
    is_holding, computed, release = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def delay_changes(platform: Application) -> Application:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            messages: list[Any] = []

            async def keep(message: Any) -> None:
                messages.append(message)

            is_held = is_holding.is_set() and not computed.is_set() and scope["path"].endswith("/changes")
            await platform(scope, receive, keep)
            if is_held:
                computed.set()
                await release.wait()
            for message in messages:
                await send(message)

        return app

    async with stage.play(start="changes", behind=delay_changes) as run:
        screen = await open_refused(run)
        await run.see("0 of 2 viewed")
        tree = await run.ask(content.ListPages(at=screen.at), MARA)
        is_holding.set()
        run.gate.shut(change_requests.Get)
        run.send_key("r")
        await computed.wait()
        page = next(page.id for page in tree.walk() if page.title == "Quickstart")
        edit = content.UpdatePage(page=page, document=content.DocumentBody(markdown="# Quickstart\n\nNew.\n"))
        await run.ask(content.Edit(at=screen.at, changes=(edit,), compat=False), "tomas-okafor")
        run.gate.open()
        while screen.comparison.change_request.revision == "refused-times-edit":
            await run.pilot.pause(0.01)
        release.set()
        await run.see("0 of 3 viewed", "~ Quickstart")
