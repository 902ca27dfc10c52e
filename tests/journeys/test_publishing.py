"""A site is published and unpublished: the dialog lists the effects, and the requests are exact."""

from __future__ import annotations

from typing import Any

import pytest

from octavo.api import share_links, site_structure, sites
from octavo.server.demo.history import ORGANIZATION
from octavo.server.demo.library import SITE
from octavo.tui.review.checked_dialog import CheckedDialog
from tests.journeys.faulty_server import altered
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_resources import create_missing_resources


async def open_dialog(run: Run, words: str) -> None:
    await run.press("a")
    await run.type(words)
    await run.press("enter")
    await run.until(lambda: isinstance(run.app.screen, CheckedDialog), "open the dialog")
    await run.gone("loading…")


async def test_site_is_unpublished_and_published_with_a_list_of_effects(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await create_missing_resources(run)
        await run.see("Sites · 1")
        await open_dialog(run, "unpub")
        await run.see(
            "/published/saltmarsh/docs/", "2 share links will stop working.", "3 redirects will stop working."
        )
        await run.see("2 spaces, 2 sections, 1 group: Instruments, Harbour")
        await run.until(lambda: run.app.screen.why_not("dialog.yes") is None, "accept the key y")  # type: ignore[attr-defined]  # The screen is a dialog.
        await run.press("y")
        await run.hear("Unpublished Saltmarsh Docs.")
        assert not (await run.ask(sites.Get(at=SITE), NOOR)).published
        await run.press("u")
        await run.hear("Saltmarsh Docs is published again.")
        assert (await run.ask(sites.Get(at=SITE), NOOR)).published

        await run.ask(sites.Unpublish(at=SITE), NOOR)
        await run.ask(sites.Update(at=SITE, visibility="share-link"), NOOR)
        await run.ask(
            site_structure.UpdateSection(at=SITE, site_section_id="docs-software", condition="visitor.claims.crew"),
            NOOR,
        )
        await run.press("r")
        await run.see("share link")
        await open_dialog(run, "publish")
        await run.see(
            "Publish Saltmarsh Docs?", "anyone with one of the 2 active share links", "Instruments › Limpet manual"
        )
        await run.see("Harbour software: shown only to visitors who meet the", "2 spaces, 2 sections, 1 group")
        links = (await run.ask(share_links.List(at=SITE), NOOR)).items
        for each in links:
            await run.ask(share_links.Update(at=SITE, share_link_id=each.id, active=False), NOOR)
        await run.press("r")
        await run.see("no one yet: visitors need an active share link.")
        for section in ("docs-instruments", "docs-software"):
            await run.ask(site_structure.DeleteSection(at=SITE, site_section_id=section), NOOR)
        await run.press("r")
        await run.see("The site has no spaces. To add a space, press esc")
        assert "You can undo this" not in run.text
        await run.press("y")
        assert len(run.gate.sent(sites.Publish)) == 1, "only u may have published the site"


def require_payment(answer: Any) -> None:
    answer.clear()
    answer.update({"type": "checkout", "sessionId": "cs_1"})


@pytest.mark.before_release
async def test_site_that_needs_a_paid_plan_is_not_reported_as_published(stage: Stage) -> None:
    publish = f"/v1/orgs/{ORGANIZATION}/sites/{SITE.site_id}/publish"
    async with stage.play(NOOR, start="sites", over=altered(publish, require_payment)) as run:
        await run.ask(sites.Unpublish(at=SITE), NOOR)
        await run.press("r")
        await run.see("Sites · 1")
        await open_dialog(run, "publish")
        await run.see("everyone: the site is public, and search engines can index it")
        await run.until(lambda: run.app.screen.why_not("dialog.yes") is None, "accept the key y")  # type: ignore[attr-defined]  # The screen is a dialog.
        await run.press("y")
        await run.hear("Could not publish Saltmarsh Docs: the site's plan has not been paid for.")
        assert "Published Saltmarsh Docs." not in run.said


@pytest.mark.before_release
async def test_user_without_site_permission_is_told_before_the_dialog(stage: Stage) -> None:
    async with stage.play(MARA, start="sites") as run:
        await run.see("Sites · 1", "view, access, edit structure, create")
        await run.press("a")
        await run.hear("You need the Admin role in Saltmarsh Docs to change sites.")
        assert not isinstance(run.app.screen, CheckedDialog)
