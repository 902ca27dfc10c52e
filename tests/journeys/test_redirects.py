from __future__ import annotations

from urllib.parse import urlsplit

from octavo.api import redirects, site_structure, sites
from octavo.server.demo.docs_site import SITE
from tests.journeys.stage import Stage
from tests.journeys.test_access import to_row
from tests.journeys.test_resources import NOOR, fill, open_kind


async def test_it_is_told_where_a_redirect_leads_in_the_end_and_that_it_goes_round(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await fill(run)
        sections = (await run.ask(site_structure.ListSections(at=SITE), NOOR)).items
        section = next(each for each in sections if each.id == "docs-software")
        base = (await run.ask(sites.Get(at=SITE), NOOR)).urls.published or ""
        path = urlsplit(section.urls.published or "").path.removeprefix(urlsplit(base).path.rstrip("/")).rstrip("/")
        assert path.startswith("/")
        to = redirects.ToSection(site_section_id=section.id)
        await run.ask(redirects.Create(at=SITE, source=path, destination=to), NOOR)
        await run.see("Sites · 1")
        await run.press("enter")
        await open_kind(run, "redirects")
        await to_row(run, "/old/tides")
        await run.see("/old/tides → ")
        await to_row(run, path)
        await run.see("loop, which browsers give up on")
