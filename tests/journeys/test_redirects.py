"""Redirects of a site, the published content of the site, and its search."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest

from octavo.api import redirects, search, site_structure, sites
from octavo.api.operation import Operation
from octavo.server.demo.library import SITE
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import Run, Stage
from tests.journeys.test_access import select_row
from tests.journeys.test_resources import browser, create_missing_resources, open_table


async def check_link(run: Run, address: str, *seen: str) -> None:
    """Test where a link leads, and wait for these texts."""
    await run.see("Test a link", "Link")
    await run.press("ctrl+u")
    await run.type(address)
    await run.press("enter")
    await run.see(*seen)


@pytest.mark.before_release
async def test_redirects_show_destinations_and_mark_loops_and_dead_ends(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        sections = (await run.ask(site_structure.ListSections(at=SITE), NOOR)).items
        section = next(each for each in sections if each.id == "docs-software")
        base = (await run.ask(sites.Get(at=SITE), NOOR)).urls.published or ""
        path = urlsplit(section.urls.published or "").path.removeprefix(urlsplit(base).path.rstrip("/")).rstrip("/")
        assert path.startswith("/")
        to = redirects.ToSection(site_section_id=section.id)
        await run.ask(redirects.Create(at=SITE, source=path, destination=to), NOOR)
        here = redirects.ToSpace(site_space_id="docs-instruments-2")
        await run.ask(redirects.Create(at=SITE, source="/manual", destination=here), NOOR)
        await run.see("Sites · 1")
        await run.press("enter")
        await open_table(run, "redirects")
        await select_row(run, "/old/tides")
        await run.see(
            "/old/tides → ",
            "target  ",
            "the space Limpet manual",
            "5 redirects on this site, including 3 loops",
        )
        await select_row(run, path)
        await run.see("loop, so browsers show an error", "↻ loop")
        await run.press("t")
        await check_link(run, "/api", "leads to", "The redirects form a loop. Browsers show an error.")
        await check_link(run, f"{base}manual/", "leads to", "target", "space Limpet manual")
        await check_link(
            run, "no/such", "No redirect starts at this path. Visitors see a page in the", "space Limpet manual."
        )
        await run.press("escape")
        await run.ask(site_structure.DeleteSection(at=SITE, site_section_id="docs-software"), NOOR)
        await run.press("r")
        await run.see("✗ missing target")
        await run.press("t")
        await check_link(run, "/api", "missing target", "The redirect leads to a page, section, or space that is")
        await run.press("escape")
        assert run.gate.sent(redirects.Resolve)


@pytest.mark.before_release
@pytest.mark.parametrize(
    ("table", "words", "operation"),
    [("redirects", "/no/such", redirects.Resolve), ("structure", "token", search.InSite)],
)
async def test_result_opens_no_dialog_over_another_view(
    stage: Stage, table: str, words: str, operation: type[Operation[Any]]
) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.see("Sites · 1")
        await run.press("enter")
        await open_table(run, table)
        await run.press("t")
        await run.type(words)
        run.gate.shut(operation)
        run.send_key("enter")
        await run.until(lambda: run.gate.waiting > 0, "send the request")
        await run.press("escape", "1")
        run.gate.open()
        await run.settle()
        assert run.app.current_mode == "inbox"
        assert len(run.app.screen_stack) == 1


async def test_published_content_is_listed_searched_and_opened(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await run.see("Sites · 1")
        await run.press("enter")
        await open_table(run, "published content")
        await run.see("Published content · 4", "/published/saltmarsh/docs/harbour…")
        await select_row(run, "Harbour software")
        await run.press("X")
        await run.hear("Change the structure instead.")
        await run.press("e")
        await run.hear("Change the structure instead.")
        view = browser(run)
        await run.press("t")
        await run.see("Search the site")
        await run.type("token")
        await run.press("enter")
        await run.see("“token”: ", "Harbour API")
        await run.press("enter")
        await run.until(lambda: run.app.current_mode == "content", "open the page")

        await run.ask(sites.Unpublish(at=SITE), NOOR)
        await run.press("5", "escape", "escape", "r")
        await run.until(lambda: getattr(view.rows.item, "published", True) is False, "show the content as unpublished")
        await run.press("enter")
        view.table_list.go_to("published content")
        await run.see("This site is not published, so visitors see nothing. Publish the site first.")


@pytest.mark.before_release
async def test_refresh_loads_the_details_of_the_selected_row_again(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.see("Sites · 1")
        await run.press("enter")
        await open_table(run, "redirects")
        await select_row(run, "/api")
        await run.see("the space Harbour API")
        await run.ask(site_structure.DeleteSection(at=SITE, site_section_id="docs-software"), NOOR)
        await run.press("r")  # The list of redirects does not change.
        await run.gone("the space Harbour API")
        await run.gone("dead end")
        rows = [line for line in run.lines if "✗ missing target" in line]
        assert any("/api" in line for line in rows)
        assert any("problem" in line for line in rows), "the details must describe the problem as the list does"
