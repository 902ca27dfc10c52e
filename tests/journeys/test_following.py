"""What a page refers to, as a person meets it: an operation, a note, what it includes, and the way back."""

from __future__ import annotations

from octavo.api import openapi
from octavo.api.content import Page, PageTree
from octavo.tui.following_links import follow
from octavo.tui.page.page_parts import LinkFollowed
from octavo.tui.screens.content import ContentScreen
from tests.journeys.stage import Stage


async def test_a_page_is_read_with_all_it_refers_to_and_found_again_as_it_was_left(stage: Stage) -> None:
    async with stage.play() as run:
        await run.until(lambda: isinstance(run.app.screen, ContentScreen) and run.app.screen.page is not None)
        content = run.app.screen
        assert isinstance(content, ContentScreen)
        assert content.pages is not None
        levels = next(page for page in content.pages.walk() if page.path == "look-up/reference/levels")
        run.platform.refuse_next(openapi.GetLatestContent, 403, "Not today.")
        run.app.open_space("harbour-api", levels.id)
        await run.see("The specification harbour cannot be read: Not")
        await run.press("r")
        await run.see("▸ GET  /stations/{station}/levels  Measured l")
        content.view.focus()
        await run.press("enter")
        await run.see("▾ GET", "IN THE PATH")
        await run.press("y")
        await run.hear("Copied the command.")
        assert run.app.clipboard.startswith("curl 'https://api.saltmarsh.example/v2/stations/{station}/levels'")
        await run.press("G")
        await run.see("Stuck? Write to")
        content.view.go_to_anchor("errors-of-this-endpoint")
        await run.press("f")
        await run.see("type a letter")
        hints = content.view._hints
        assert hints is not None
        letter = next(label for label, hot in hints.by_label.items() if hot.kind == "note")
        await run.press(*letter)
        await run.see("Note gap", "In version 1 such hours were left out.", "moving")
        await run.press("enter")
        await run.see("› Move from v1 to v2")
        await run.press("<")
        await run.see("› Levels", "Errors of this endpoint")
        await run.press("g")
        await run.see("▾ GET", "IN THE PATH")
        await run.press("Y")
        await run.hear("This page has no address that a browser could open")


async def test_links_that_lead_in_a_circle_or_to_no_name_of_a_file_are_said_to(stage: Stage) -> None:
    async with stage.play() as run:
        await run.until(lambda: isinstance(run.app.screen, ContentScreen) and run.app.screen.page is not None)
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        follow(screen, LinkFollowed("/files/..%2F..%2Forgs", False, "file"))
        await run.hear("There is no file ../../orgs in this space.")
        follow(screen, LinkFollowed("/files/..%2F..%2Forgs.png", False, "image"))
        await run.see("There is no file ../../orgs.png in this")
        await run.press("escape")
        target = {"kind": "page", "page": "round"}
        screen.pages = PageTree(pages=[Page(id="round", title="Round", type="link", target=target)])
        screen.open_page("round")
        await run.hear("Round leads to Round, which is only a link itself.")
