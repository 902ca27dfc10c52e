"""Explanations that a new user needs while administering a site, roles and spaces."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from octavo.api import redirects, site_structure, sites
from octavo.server.demo.library import SITE
from octavo.tui.reader.page_view import PageView
from octavo.tui.resources.form import FormDialog
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import Stage
from tests.journeys.test_access import assign_creator_role_to_field_crew, open_item, select_row
from tests.journeys.test_resources import browser, open_table
from tests.journeys.test_site_structure import open_structure, select_part
from tests.journeys.test_space_management import content, create_space, focus_space_tree

NARROW = (80, 24)


@pytest.mark.before_release
async def test_redirect_shows_the_title_of_its_page(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites", size=NARROW) as run:
        spaces = (await run.ask(site_structure.ListSiteSpaces(at=SITE), NOOR)).items
        api = next(each for each in spaces if each.space is not None and each.space.id == "harbour-api")
        to = redirects.ToPage(site_space_id=api.id, page_id="harbour-api-page-27")
        await run.ask(redirects.Create(at=SITE, source="/old/tides", destination=to), NOOR)
        await open_structure(run)
        await open_table(run, "redirects")
        await run.see("/old/tides ", " Predictions")
        await select_row(run, "/old/tides")
        await run.see("leads")
        await run.press("space", "space")
        await run.see("destination page", "Predictions")


@pytest.mark.before_release
async def test_form_shows_known_values_and_no_placeholders_for_unknown_ones(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await run.see("Sites · 1")
        await run.press("e")
        await run.see("Default section       unchanged", "Default space         unchanged")
        await run.press("escape")
        await open_structure(run)
        await select_part(run, "Instruments", "section")
        await run.press("e")
        await run.see("Default space         Limpet manual ▾", "Icon                  ruler")
        await run.press("tab", "tab", "tab", "tab")
        await run.see("The name of an icon, for example book or rocket")


@pytest.mark.before_release
async def test_option_for_null_shows_what_it_means(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin", size=NARROW) as run:
        await open_table(run, "members")
        await run.press("e", "enter")
        await run.see("Guest       can access only spaces where they have a role")
        await run.press("up", "up", "up", "up", "up", "up", "up", "up", "enter")
        await run.see("Guest ▾")
        await run.press("ctrl+b", "escape")
        await open_item(run, "collections", "Products")
        await open_table(run, "teams")
        await run.press("ctrl+n", "enter")
        await run.see("none        removes the assigned role")


@pytest.mark.before_release
async def test_long_text_in_a_form_ends_with_an_ellipsis(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin", size=NARROW) as run:
        await open_table(run, "OpenAPI specifications")
        await run.press("ctrl+n")
        await run.see("a link, for example https://example.com/pag…")
        await run.press("escape")
        await select_row(run, "harbour")
        await run.press("a")
        await run.see("Enter a link, a file path, or the text of the new version.")


@pytest.mark.before_release
async def test_chosen_file_fills_the_only_field_that_accepts_a_file(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tides.json").write_text('{"openapi": "3.0.3"}')
    async with stage.play(NOOR, start="admin", size=NARROW) as run:
        await open_table(run, "OpenAPI specifications")
        await run.press("ctrl+n", *"tides", "tab", "ctrl+f")
        await run.see("Text: choose a file")
        await run.type("tides.json")
        await run.press("enter")
        await run.see("+ Text                  ~/tides.json", "JSON or YAML · or the path to a file")
        dialog = run.app.screen
        assert isinstance(dialog, FormDialog)
        assert not dialog.state.texts["source.url"]


@pytest.mark.before_release
async def test_read_only_table_says_where_to_create_items(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "spaces")
        for key in ("ctrl+n", "e", "X"):
            await run.press(key)
            await run.hear(
                "To create, edit, or delete spaces, go to the list of spaces. Press 2, then press esc until the list appears."
            )
        await open_item(run, "collections", "Products")
        await open_table(run, "members who can merge")
        await run.press("ctrl+n")
        await run.hear("To change roles, press ] to go to Members or Teams.")


@pytest.mark.before_release
async def test_assigning_a_role_clears_the_count_of_members_who_can_merge(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_item(run, "collections", "Products")
        await open_table(run, "members who can merge")
        await run.see("Members who can merge  2")
        await open_table(run, "teams")
        await run.press("ctrl+n", "enter")
        await assign_creator_role_to_field_crew(run)
        await run.see("Teams                  1")
        await run.gone("Members who can merge  2")
        await open_table(run, "members who can merge")
        await run.see("Members who can merge 22")


@pytest.mark.before_release
async def test_share_link_without_a_url_says_why(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites", size=NARROW) as run:
        await run.see("Sites · 1")
        await run.ask(sites.Unpublish(at=SITE), NOOR)
        await run.press("r")
        await run.until(
            lambda: getattr(browser(run).rows.item, "published", True) is False, "show the site as unpublished"
        )
        await open_structure(run)
        await run.see("not published,", "public")
        await open_table(run, "share links")
        await run.press("ctrl+n", *"Pilots", "ctrl+s")
        await run.hear("Created Pilots.")
        await run.see("available after the site is", "no: the audience is “public”")


@pytest.mark.before_release
async def test_imported_pages_are_opened_and_a_deleted_space_is_reported(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "tides.md").write_text("# Tides\n\nTwice a day.\n")
    async with stage.play(NOOR, size=NARROW) as run:
        await create_space(run, "Almanac")
        await focus_space_tree(run, "Almanac")
        await run.press("a", "enter")
        await run.see("Import pages into Almanac")
        await run.type("~/tides.md")
        await run.press("ctrl+s")
        await run.hear("Imported 1 page into Almanac.")
        await run.see("Twice a day.")
        await focus_space_tree(run, "Almanac")
        await run.press("M")
        await run.type("Company")
        await run.press("enter")
        await run.see("Position of Almanac")
        await run.press("enter")
        await run.hear("Moved Almanac to Company.")
        await run.see("u undo")
        await focus_space_tree(run, "Almanac")
        await run.press("X", *"Almanac", "enter")
        await run.hear("Deleted Almanac.")
        await run.until(lambda: content(run).open_space.space is None, "close the deleted space")
        assert run.app.screen.query_one(PageView).document is None
        await run.see("The open space was deleted or moved.", "Press enter to open the selected space.")


@pytest.mark.before_release
async def test_details_do_not_repeat_facts(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "OpenAPI specifications")
        assert any(re.match("▌ OpenAPI specifications +1 ", line) for line in run.lines), run.text
        await select_row(run, "harbour")
        await run.see("latest version", "harbour-3, processed")
        assert "\n".join(run.lines).count("harbour-3, processed") == 1
        assert browser(run).rows.item is not None


async def test_labels_in_the_details_of_a_space_are_not_cut(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "spaces")
        await select_row(run, "Harbour API")
        await run.see("change requests draft ", "change requests open ")


async def test_empty_table_of_conditions_says_once_where_they_come_from(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites") as run:
        await open_structure(run)
        await open_table(run, "conditions")
        await run.see("No conditions.", "Conditions on visitor claims, as defined in the adaptive schema.")
        assert "Conditions come from" not in run.text
