"""An hour of administration with only the keyboard, in a wide and in a narrow terminal. The server confirms the
results."""

from __future__ import annotations

from pathlib import Path

import pytest

from octavo.api import content, fonts, organizations, permissions, site_structure, sites, sso, teams
from octavo.api.operation import CollectionRef, SpaceRef
from octavo.tui.core.item_info import field_details
from octavo.tui.resources.form import FormDialog
from octavo.tui.resources.organization_resources import FONTS
from octavo.tui.resources.site_resources import SITE_SPACES
from octavo.tui.resources.table import labeled_values_of
from tests.journeys.resource_samples import NOOR
from tests.journeys.stage import Stage
from tests.journeys.test_access import HERE, assign_creator_role_to_field_crew, open_item, select_row
from tests.journeys.test_resources import open_table, titles
from tests.journeys.test_space_management import create_space, focus_space_tree, space_on_server

SIZES = pytest.mark.parametrize(
    "size", [pytest.param((120, 36), id="wide", marks=pytest.mark.long), pytest.param((80, 24), id="narrow")]
)
FIRST, SECOND = (f"-----BEGIN CERTIFICATE-----\n{word}\n-----END CERTIFICATE-----\n" for word in ("MIIBone", "MIIBtwo"))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "first.pem").write_text(FIRST)
    (tmp_path / "second.pem").write_text(SECOND)
    (tmp_path / "tides.md").write_text("# Tides\n\nTwice a day.\n")
    return tmp_path


@pytest.mark.before_release("narrow")
@SIZES
async def test_invited_member_becomes_a_reviewer(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(NOOR, start="admin", size=size) as run:
        await open_table(run, "members")
        await run.press("ctrl+n")
        await run.see("Each person will get an email")
        await run.press(*"ann@harbour.example", "enter", *"bo@harbour.example", "ctrl+s")
        await run.hear("Invited 2 new members.")
        await run.until(lambda: "ann" in titles(run), "list the invited member")
        await select_row(run, "ann")
        await run.press("e", "enter")
        await run.see("can review, edit, comment, and read")
        await run.type("review")
        await run.press("enter", "ctrl+s")
        await run.hear("Changed ann.")
        people = (await run.ask(organizations.ListMembers(at=HERE, limit=1000), NOOR)).items
        assert {
            each.user.email: each.role for each in people if (each.user.email or "").endswith("@harbour.example")
        } == {
            "ann@harbour.example": "review",
            "bo@harbour.example": "read",
        }


@pytest.mark.before_release("narrow")
@SIZES
async def test_space_explains_the_access_of_a_team_through_its_collection(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(NOOR, start="admin", size=size) as run:
        await open_item(run, "collections", "Instruments")
        await open_table(run, "teams")
        await run.press("ctrl+n")
        await run.see("The role applies to this space or collection and to everything in it.")
        await run.press("enter")
        await run.see("can merge, review, edit, comment, and read")
        await assign_creator_role_to_field_crew(run)
        given = (await run.ask(permissions.ListTeams(at=CollectionRef(collection_id="instruments")), NOOR)).items
        assert ("field-crew", "create") in {(each.team.id, each.permission) for each in given}
        await open_item(run, "spaces", "Limpet manual")
        await open_table(run, "members who can merge")
        await select_row(run, "Elin Brandt")
        await run.see("Elin Brandt can merge", "Field crew")


@pytest.mark.before_release("narrow")
@SIZES
async def test_saml_certificate_is_replaced_from_a_file(stage: Stage, home: Path, size: tuple[int, int]) -> None:
    async with stage.play(NOOR, start="admin", size=size) as run:
        await open_table(run, "SAML providers")
        await run.press("ctrl+n", *"Harbour ID", "tab", *"urn:harbour", "tab")
        await run.press("ctrl+f", "ctrl+u", *"~/first.pem", "enter", "tab", *"https://id.example/sso", "ctrl+s")
        await run.hear("Created Harbour ID.")
        (made,) = (await run.ask(sso.ListProviders(at=HERE), NOOR)).items
        assert (made.certificate, made.status) == (FIRST, "active")
        await run.press("e", "tab", "tab", "ctrl+f", *"second.pem", "enter", "ctrl+s")
        await run.hear("Changed Harbour ID.")
        (made,) = (await run.ask(sso.ListProviders(at=HERE), NOOR)).items
        assert (made.certificate, made.status) == (SECOND, "active")


@pytest.mark.before_release
async def test_import_detects_the_format_of_the_file(stage: Stage, home: Path) -> None:
    async with stage.play(NOOR, size=(80, 24)) as run:
        await create_space(run, "Almanac")
        await focus_space_tree(run, "Almanac")
        await run.press("a", "enter")
        await run.press(*"~/tides.md")
        await run.see("Markdown")
        await run.press("ctrl+s")
        await run.hear("Imported 1 page into Almanac.")
        space = await space_on_server(run, "Almanac")
        pages = (await run.ask(content.ListPages(at=SpaceRef(space_id=space.id)), NOOR)).pages
        assert "Tides" in [each.title for each in pages]


@pytest.mark.before_release
async def test_new_site_form_starts_with_title_and_audience(stage: Stage) -> None:
    async with stage.play(NOOR, start="sites", size=(80, 24)) as run:
        await run.press("ctrl+n", *"Tide Notes", "tab", "enter")
        await run.see("only visitors with a share link", "everyone; search engines can index it")
        await run.type("unlisted")
        await run.press("enter", "ctrl+s")
        await run.hear("Created Tide Notes.")
        site = next(each for each in (await run.ask(sites.List(at=HERE), NOOR)).items if each.title == "Tide Notes")
        assert site.visibility == "unlisted"


@pytest.mark.before_release
async def test_cursor_starts_at_the_end_of_a_draft(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_table(run, "members")
        await run.press("ctrl+n", *"ann@harbour.example", "enter", *"bo@harbour", "escape", "ctrl+n")
        await run.see("This is your draft")
        await run.press(*".example")
        dialog = run.app.screen
        assert isinstance(dialog, FormDialog)
        assert dialog.state.texts["emails"] == "ann@harbour.example\nbo@harbour.example"


def test_details_show_paths_unchanged_and_models_by_name() -> None:
    part = site_structure.SiteSpace(id="one", path="handbook", section="handbook")
    facts = dict(labeled_values_of(SITE_SPACES, part, lambda each: {"handbook": "Handbook"}.get(each, each)))
    assert (facts["path"], facts["section"]) == ("handbook", "Handbook")
    face = fonts.FontFace(weight=700, sources=(fonts.FontSource(url="https://docs.example/files/tide-bold.woff2"),))
    font = fonts.Font(id="tide", font_family="Tide", font_faces=(face,))
    assert dict(labeled_values_of(FONTS, font, str))["font faces"] == "700 tide-bold.woff2"
    assert "FontSource(" not in str(field_details(font))


@pytest.mark.before_release
async def test_members_join_and_leave_a_team_in_one_request(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        at = {"at": HERE, "team_id": "field-crew"}
        before = [each.organization.user for each in (await run.ask(teams.ListMembers(**at), NOOR)).items]
        everybody = [each.user for each in (await run.ask(organizations.ListMembers(at=HERE, limit=1000), NOOR)).items]
        new = next(each for each in everybody if each not in before)
        await open_table(run, "teams")
        await select_row(run, "Field crew")
        await run.press("a", "enter")
        await run.see("Add or remove several members")
        for person in (new, before[0]):
            await run.press("enter")
            await run.type(person.name)
            await run.press("enter", "escape", "tab")
        await run.press("ctrl+s")
        await run.hear("Field crew was updated")
        after = {each.organization.user.id for each in (await run.ask(teams.ListMembers(**at), NOOR)).items}
        assert after == {each.id for each in before[1:]} | {new.id}


@pytest.mark.before_release
async def test_member_of_a_team_is_added_and_not_created(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        await open_item(run, "teams", "Harbour software")
        await run.until(lambda: bool(titles(run)), "list the members")
        await run.press("ctrl+n", "enter")
        await run.type("Elin Brandt")
        await run.press("enter")
        await run.see("Add  (ctrl+s)")
        await run.press("ctrl+s")
        await run.hear("Added the member.")


async def test_undo_keeps_a_member_who_was_already_in_the_team(stage: Stage) -> None:
    async with stage.play(NOOR, start="admin") as run:
        at = {"at": HERE, "team_id": "field-crew"}
        await run.ask(teams.AddMember(**at, user_id="elin-brandt", role="owner"), NOOR)
        await open_item(run, "teams", "Field crew")
        await run.until(lambda: bool(titles(run)), "list the members")
        await run.press("ctrl+n", "enter")
        await run.type("Elin Brandt")
        await run.press("enter", "tab", "enter")
        await run.type("Member")
        await run.press("enter", "ctrl+s")
        await run.hear("Added the member.")
        await run.press("u")
        await run.hear("Undid the role changes.")
        members = (await run.ask(teams.ListMembers(**at, limit=1000), NOOR)).items
        assert {each.organization.user.id: each.team.role for each in members}["elin-brandt"] == "owner"


@pytest.mark.before_release
async def test_member_can_leave_a_team_but_not_remove_others(stage: Stage) -> None:
    async with stage.play("elin-brandt", start="admin") as run:
        await open_item(run, "teams", "Field crew")
        await run.until(lambda: "Elin Brandt" in titles(run), "list the members")
        await select_row(run, "Ingrid Aasen")
        await run.press("X")
        await run.hear("You need the Admin role in Field crew to remove members.")
        await select_row(run, "Elin Brandt")
        await run.press("X")
        await run.see("Remove Elin Brandt from the team?")
        await run.press("y")
        await run.sent()
        members = (await run.ask(teams.ListMembers(at=HERE, team_id="field-crew", limit=1000), NOOR)).items
        assert {each.organization.user.id for each in members} & {"elin-brandt", "ingrid-aasen"} == {"ingrid-aasen"}
