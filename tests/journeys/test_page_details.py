"""The form of page details: slug, description, emoji or icon, and visibility."""

from __future__ import annotations

import pytest

from octavo.api import change_requests, content
from octavo.api.content import Page
from octavo.api.operation import SpaceRef
from octavo.tui.editing.page_form import PageForm
from tests.journeys.stage import MARA, Run, Stage

HARBOUR = SpaceRef(space_id="harbour-api")


async def page_on_server(run: Run, number: int) -> Page:
    """Return the page in the draft change request with this number."""
    found = (await run.ask(change_requests.List(at=HARBOUR, status="draft"), MARA)).items
    at = next(each for each in found if each.number == number).ref(HARBOUR)
    tree = await run.ask(content.ListPages(at=at), MARA)
    return next(page for page in tree.walk() if page.title == "Time and time zones")


async def open_form(run: Run) -> None:
    await run.press("/", *"time and", "enter", "M")
    await run.see("Details", "change the slug, description, icon, or visibility")
    await run.press("down", "down", "enter")
    await run.see("Choose a change request", "New change request")
    await run.type("a new change")
    await run.press("enter")
    await run.see("Details of Time and time zones", "Slug", "Description", "Emoji", "Icon", "Hidden")


async def test_page_details_are_changed_in_a_form_and_reverted(stage: Stage) -> None:
    async with stage.play(size=(80, 24)) as run:
        await open_form(run)
        assert "save" in run.keybar
        assert "version history" not in run.keybar
        await run.press("ctrl+u")
        await run.type("two words")
        await run.see("Use only letters, digits, and hyphens")
        await run.press("enter")
        await run.hear("Slug: Use only letters, digits, and hyphens")
        await run.later(seconds=10)
        await run.press("ctrl+u")
        await run.type("quality-flags")
        await run.see("“Quality flags” at this level already uses this slug.")
        await run.press("ctrl+u")
        await run.type("time-zones")
        await run.gone("Use only letters, digits", "at the same level")
        await run.press("tab")
        await run.type("When a tide is. ")
        await run.press("tab")
        await run.type("🕰")
        await run.see("A page can have an emoji or an icon")
        await run.press("escape")
        await run.gone("Details of")
        assert not run.gate.sent(content.Edit)
        await run.quit()
    async with stage.play(size=(80, 24)) as run:
        await open_form(run)
        await run.see(
            "time-zones", "When a tide is. Why all times are in UTC", "clock", "A page can have an emoji or an icon"
        )
        await run.press("tab", "tab", "tab", "ctrl+u", "tab", "space")
        await run.see("yes: only people with the link can find the page")
        run.platform.refuse_next(content.Edit, 400, "changes[0]: slug is taken. Nothing was changed.")
        await run.press("ctrl+s")
        await run.see("Details of Time and time zones", "slug is taken", "When a tide is.")
        assert isinstance(run.app.screen, PageForm)
        assert run.app.screen.focused is run.app.screen.query_one("#slug")
        await run.press("end", *"-2")
        await run.gone("slug is taken")
        await run.press("ctrl+s")
        await run.hear("Changed the details of Time and time zones in #9 Edit the details of Time and time zones.")
        await run.see("time-zones-2", "When a tide is.")
        page = await page_on_server(run, 9)
        assert (page.slug, page.emoji, page.icon, page.hidden) == ("time-zones-2", "🕰", None, True)
        assert (page.description or "").startswith("When a tide is. Why all times are in UTC")
        sent = run.gate.sent(content.Edit)[-1].changes[0]
        assert sent.model_fields_set - {"operation", "page"} == {"slug", "description", "emoji", "icon", "hidden"}
        await run.press("Q")
        await run.see("Revert the changes to Time and time zones?")
        await run.press("y")
        await run.hear("Reverted Time and time zones.")
        page = await page_on_server(run, 9)
        assert (page.slug, page.emoji, page.icon, page.hidden) == ("time", None, "clock", False)
        assert (page.description or "").startswith("Why all times are in UTC")
        await run.see("No changes yet.")


@pytest.mark.before_release
async def test_unchanged_form_sends_nothing_and_deletes_its_draft(stage: Stage) -> None:
    async with stage.play() as run:
        await open_form(run)
        await run.press("ctrl+s")
        await run.hear("You made no changes, so nothing was sent.")
        assert not run.gate.sent(content.Edit)
        assert not run.gate.sent(change_requests.Create)
