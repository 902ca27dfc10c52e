"""Links of a page to operations, footnotes and other spaces, and the way back to the page."""

from __future__ import annotations

import asyncio

import pytest

from octavo.api import change_requests, collections, content, openapi, spaces
from octavo.api.content import GetPage, Page, PageTree, UpdatePage
from octavo.api.operation import OrganizationRef, SpaceRef
from octavo.documents import links
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.core.routes import ToCollection, ToPage
from octavo.tui.reader.link_opening import follow_link, open_target
from octavo.tui.reader.viewport import STILL_LOADING
from octavo.tui.render.layout import LinkFollowed
from tests.journeys.stage import MARA, Run, Stage

HARBOUR = SpaceRef(space_id="harbour-api")


@pytest.mark.before_release
async def test_going_back_restores_the_page_and_its_open_operation(stage: Stage) -> None:
    async with stage.play() as run:
        await run.until(
            lambda: isinstance(run.app.screen, ContentScreen) and run.app.screen.open_space.page is not None
        )
        content = run.app.screen
        assert isinstance(content, ContentScreen)
        assert content.open_space.pages is not None
        levels = next(page for page in content.open_space.pages.walk() if page.path == "look-up/reference/levels")
        run.platform.refuse_next(openapi.GetLatestContent, 403, "Not today.")
        run.app.go(ToPage("harbour-api", levels.id))
        await run.see("Could not load the OpenAPI specification harbour: Not")
        await run.press("r")
        await run.see("▸ GET  /stations/{station}/levels  Measured l")
        content.page_view.focus()
        await run.press("enter")
        await run.see("▾ GET", "IN THE PATH")
        await run.press("y")
        await run.hear("Copied the command.")
        assert run.app.clipboard.startswith("curl 'https://api.saltmarsh.example/v2/stations/{station}/levels'")
        await run.press("G")
        await run.see("Stuck? Write to")
        content.page_view.navigation.go_to_anchor("errors-of-this-endpoint")
        await run.press("f")
        await run.see("type a letter")
        hints = content.page_view.clickables.hints
        assert hints is not None
        letter = next(label for label, hot in hints.by_label.items() if hot.kind == "note")
        await run.press(*letter)
        await run.see("Footnote gap", "In version 1 such hours were left out.", "moving")
        await run.press("enter")
        await run.see("› Move from v1 to v2")
        await run.press("<")
        await run.see("› Levels", "Errors of this endpoint")
        await run.press("g")
        await run.see("▾ GET", "IN THE PATH")
        await run.press("Y")
        await run.hear("This page has no link: the demo is not on the web.")


async def test_page_of_a_new_space_opens_after_the_list_of_spaces_is_refreshed(stage: Stage) -> None:
    async with stage.play("noor-haddad") as run:
        await run.see("Harbour API › Welcome")
        organization = run.app.workspace.organization
        assert organization is not None
        at = OrganizationRef(organization_id=organization.id)
        created = await run.ask(spaces.Create(at=at, title="Pilot book"), "noor-haddad")
        for space_id, shown in ((created.id, "Pilot book ▾"), ("nowhere", "Could not find the space nowhere")):
            run.gate.shut(spaces.List)
            await run.press("r")
            run.app.go(ToPage(space_id))
            await run.settle()
            assert shown not in run.text
            assert not any("Could not find" in each for each in run.said)
            run.gate.open()
            await run.see(shown)


async def test_collection_is_selected_if_the_loaded_list_lacks_it(stage: Stage) -> None:
    async with stage.play("noor-haddad", start="inbox") as run:
        organization = run.app.workspace.organization
        assert organization is not None
        run.app.go(ToCollection("products"))
        await run.until(lambda: any(line.startswith("▌▾ Products") for line in run.lines), "select the collection")
        at = OrganizationRef(organization_id=organization.id)
        created = await run.ask(collections.Create(at=at, title="Brand new"), "noor-haddad")
        run.app.go(ToCollection(created.id))
        await run.until(lambda: any(line.startswith("▌  Brand new") for line in run.lines), "select the collection")
        assert not any("Could not find" in each for each in run.said)
        run.app.go(ToCollection("nowhere"))
        await run.hear("Could not find the collection.")


@pytest.mark.before_release
async def test_circular_and_invalid_links_are_reported(stage: Stage) -> None:
    async with stage.play() as run:
        await run.until(
            lambda: isinstance(run.app.screen, ContentScreen) and run.app.screen.open_space.page is not None
        )
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        follow_link(screen.open_space.shown_page, LinkFollowed("/files/..%2F..%2Forgs", False, "file"))
        await run.hear("There is no file ../../orgs in this space.")
        follow_link(screen.open_space.shown_page, LinkFollowed("/files/..%2F..%2Forgs.png", False, "image"))
        await run.see("The file ../../orgs.png is no longer in")
        await run.press("escape")
        target = {"kind": "page", "page": "round"}
        screen.open_space.pages = PageTree(pages=[Page(id="round", title="Round", type="link", target=target)])
        screen.open_space.open_page("round")
        await run.hear("Round links to Round, which is also a link.")


def opened_content(run: Run) -> ContentScreen:
    """Return the content view, which has a page open."""
    screen = run.app.screen
    assert isinstance(screen, ContentScreen)
    assert screen.open_space.pages is not None
    return screen


def id_of(screen: ContentScreen, path: str) -> str:
    assert screen.open_space.pages is not None
    return next(page.id for page in screen.open_space.pages.walk() if page.path == path)


async def publish_page(run: Run, page: str, markdown: str) -> None:
    """Publish a new text of a page as another user."""
    at = (await run.ask(change_requests.Create(at=HARBOUR, subject="Theirs"), MARA)).ref(HARBOUR)
    edit = UpdatePage(page=page, document=content.DocumentBody(markdown=markdown))
    await run.ask(content.Edit(at=at, changes=(edit,)), MARA)
    await run.ask(change_requests.Merge(at=at), MARA)


@pytest.mark.before_release
async def test_link_to_a_missing_heading_of_another_page_is_reported(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        screen = opened_content(run)
        follow_link(
            screen.open_space.shown_page,
            LinkFollowed(f"/pages/{id_of(screen, 'get-started/quickstart')}#nowhere", False, "link"),
        )
        await run.see("› Quickstart")
        await run.hear("This page has no heading “nowhere”. The heading may have been renamed.")


@pytest.mark.before_release
async def test_missing_heading_in_another_space_is_reported_but_no_missing_block(
    stage: Stage,
) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        screen = opened_content(run)
        screen.page_view.focus()
        screen.open_space.open_page(id_of(screen, "get-started/quickstart"), anchor="433911c6eb0d")
        await run.see("› Quickstart")
        assert run.said == []
        open_target(run.app, links.SpaceLink("stations", "regions/narrows", "nowhere"))
        await run.see("› The Narrows")
        await run.hear("This page has no heading “nowhere”. The heading may have been renamed.")


@pytest.mark.before_release
async def test_heading_is_searched_in_the_newest_version_before_an_error(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        screen = opened_content(run)
        welcome, quickstart = screen.open_space.page, id_of(screen, "get-started/quickstart")
        screen.page_view.focus()
        assert welcome is not None
        screen.open_space.open_page(quickstart)
        await run.see("› Quickstart")
        screen.open_space.open_page(welcome.id)
        await run.see("Harbour API › Welcome")
        await publish_page(run, quickstart, "# Quickstart\n\n" + "Words.\n\n" * 60 + "## New\n\nIt came late.\n")
        run.gate.shut(GetPage)
        follow_link(screen.open_space.shown_page, LinkFollowed(f"/pages/{quickstart}#new", False, "link"))
        await run.see("› Quickstart", "You need a terminal and either curl")
        assert run.said == []
        run.gate.open()
        await run.see("It came late.")
        assert run.said == []


@pytest.mark.before_release
async def test_footnote_and_copy_wait_until_a_long_page_is_loaded(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        screen = opened_content(run)
        quickstart = id_of(screen, "get-started/quickstart")
        page = (
            "Once.[^late]\n\n" + f"## A heading\n\n{'Some words. ' * 10}\n\n" * 1000 + "[^late]: The note at the end.\n"
        )
        await publish_page(run, quickstart, page)
        screen.open_space.open_page(quickstart)
        async with asyncio.timeout(30):
            while "Once." not in run.text:
                await run.pilot.pause(0.005)
        follow_link(screen.open_space.shown_page, LinkFollowed("late", False, "note"))
        screen.page_view.text_select_all()
        screen.action_copy_text()
        assert not screen.page_view.contents.is_fully_parsed
        assert {STILL_LOADING, "Octavo will copy the selection when it is fully loaded."} <= set(run.said)
        await run.see("Footnote late", "The note at the end.")
        await run.hear("Could not copy: the text is too long for the terminal's clipboard.")
        assert run.app.clipboard == ""
