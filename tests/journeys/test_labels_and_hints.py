"""Labels, counts and keys are clear to a new user."""

from __future__ import annotations

import re

import pytest

from octavo.help import text_of
from octavo.tui.app.menus import palette_entries
from octavo.tui.app.sign_in import SignInScreen
from octavo.tui.content.links import LinksScreen
from octavo.tui.resources.resource_browser import BrowserScreen
from octavo.tui.terminal.display import ASCII_SYMBOLS
from octavo.tui.widgets.command_palette import PaletteScreen
from octavo.tui.widgets.commands import ActiveCommand
from octavo.tui.widgets.dialog import TextButton
from octavo.tui.widgets.text_widgets import InfoTable
from tests.journeys.stage import Run, Stage


def labels(run: Run) -> list[str]:
    """Return the labels of the details below a table."""
    assert isinstance(run.app.screen, BrowserScreen)
    return [row.label for table in run.app.screen.query(InfoTable) for row in table.rows]


@pytest.mark.before_release
async def test_details_of_a_team_member_have_the_names_of_the_columns(stage: Stage) -> None:
    async with stage.play(start="admin") as run:
        await run.press("]")
        await run.see("Teams · 4", "Harbour software")
        await run.press("enter")
        await run.see("Admin › Harbour software › Members · 4", "Harbour software › Members 4", "Yuki Tanabe")
        said = labels(run)
        assert {"ID", "role", "team role", "email", "joined", "last seen", "SSO", "disabled"} <= set(said)
        assert not [each for each in said if each.startswith("organization") or each.endswith(" at")]
        assert "…" not in run.text.partition("Yuki Tanabe\n")[2]


@pytest.mark.before_release
async def test_details_of_a_site_have_the_names_of_the_columns(stage: Stage) -> None:
    async with stage.play(start="sites") as run:
        await run.see("Sites · 1", "VISIBILITY", "PLAN")
        assert "Sites › Sites" not in run.text
        assert {"visibility", "plan", "spaces", "path", "AI agent context"} <= set(labels(run))
        await run.press("enter")
        await run.see("Structure · 4 parts", "NAME", "TYPE", "DEFAULT")
        await run.press("?")
        await run.see("Structure: Section groups, sections, and spaces")


@pytest.mark.before_release
async def test_acronyms_stay_in_the_list_of_columns(stage: Stage) -> None:
    async with stage.play(start="admin") as run:
        await run.press("F")
        await run.see("Last seen", "SSO")
        assert "Sso" not in run.text


@pytest.mark.before_release
async def test_key_bar_shows_the_keys_of_the_find_bar_while_typing(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run.press("enter", "/")
        assert run.keybar == " esc cancel"
        await run.press(*"level")
        assert run.keybar == " enter done  ↓ next match  ↑ previous match  esc cancel"
        await run.press("enter")
        assert run.keybar.startswith(" n next match  N previous match")


@pytest.mark.before_release
async def test_key_bar_explains_letters_while_link_hints_are_shown(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run.press("enter")
        assert "f follow link" in run.keybar
        before = run.keybar
        await run.press("f")
        assert run.keybar == " a–z follow link  A–Z open in browser  esc cancel"
        await run.press("escape")
        assert run.keybar == before
        await run.press("f", "9")
        assert run.keybar == before, "a digit must end the link hints"


@pytest.mark.before_release
async def test_zoom_and_source_show_the_way_back(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run.press("enter", "z")
        assert "z show all panes" in run.keybar
        await run.press("z", "\\")
        assert "show all panes" not in run.keybar
        assert run.keybar.startswith(" \\ rendered page")
        await run.press("\\")
        assert "rendered page" not in run.keybar


@pytest.mark.before_release
async def test_disabled_command_in_the_palette_says_what_it_does_and_why(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.press("]", "]", "]", ":")
        assert isinstance(run.app.screen, PaletteScreen)
        choices = run.app.screen.choices()
        off = [each for each in choices if isinstance(each.value, ActiveCommand) and each.disabled_reason]
        assert off
        assert [each.title for each in off if not each.explanation.endswith(each.detail)] == []
        assert [
            each.title for each in off if not each.explanation.startswith(each.disabled_reason.removesuffix("."))
        ] == []
        await run.type("merge")
        await run.see("Select a change request first · Run the checks, then merge into main")
        count = re.search(r"\d+ of \d+ commands", run.text)
        assert count is not None


@pytest.mark.before_release
@pytest.mark.parametrize("view", ["inbox", "sites"])
async def test_palette_has_no_two_entries_that_look_alike(stage: Stage, view: str) -> None:
    async with stage.play(start=view) as run:
        await run.press(":")
        assert isinstance(run.app.screen, PaletteScreen)
        said = [(each.title, each.detail, each.right) for each in run.app.screen.choices() if each.view]
        assert len(said) == len(set(said))
        await run.type("edit your comment")
        await run.see("Comments  4 e")


@pytest.mark.before_release
async def test_help_explains_the_header_and_links_to_the_signs(stage: Stage) -> None:
    async with stage.play(size=(200, 60)) as run:
        await run.see("Mara Lindqvist  DEMO")
        await run.press("?")
        await run.see(
            "You are Mara Lindqvist. Press 1 to 6 to open the views. The header shows item counts. Press f1 to read about",
            "the symbols.",
        )
        await run.press("f1")
        await run.see("signs")
        await run.type("signs")
        await run.press("enter")
        await run.see("Help: signs", "Open comment thread")


def test_help_lists_each_sign_with_its_ascii_equivalent() -> None:
    rows = re.findall(r"^\| (`.+?) \| .* \| (`.+`) \|$", text_of("signs"), re.MULTILINE)
    explained = {
        sign: equivalent
        for signs, equivalents in rows
        for sign, equivalent in zip(signs.split(), equivalents.split(), strict=True)
    }
    assert len(explained) > 15
    for sign, equivalent in explained.items():
        assert sign.strip("`").translate(ASCII_SYMBOLS) == equivalent.strip("`").replace("\\", "")


@pytest.mark.before_release
async def test_counts_name_their_items(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome", "0% read", "edited 17 weeks ago")
        await run.press("/", *"web")
        await run.see("1 of 40 shown")
        await run.press("escape", "escape", "F")
        await run.see("USED 4 TIMES ON 3 PAGES", "TYPE")
        await run.press("escape", "H")
        await run.see("changed in 1 of 3 checked revisions", "Created on main", "page created")


@pytest.mark.before_release
async def test_mailto_link_is_described_as_a_new_email(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome")
        await run.press("L", "]", "]", "]")
        await run.see("GitBook app links", "This link goes to an external site.")
        assert isinstance(run.app.screen, LinksScreen)
        while not (row := run.app.screen.rows.item) or not row.url.startswith("mailto:"):
            await run.press("j")
        await run.see("This link opens a new email.")


@pytest.mark.before_release
async def test_search_says_where_it_searched_and_what_to_do_without_results(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.press("s")
        await run.type("battery")
        await run.see("19 results in all spaces", "enter open · esc close")
        await run.press("tab")
        await run.press("space")
        await run.type("xylophone")
        await run.see("No results for", "Check the spelling, or use fewer words.")
        await run.press("escape", "2")
        await run.see("Harbour API")
        await run.press("s")
        await run.type("xylophone")
        await run.see("Check the spelling, or try another word.", "tab Harbour API · esc close")
        await run.press("tab")
        await run.see("tab all spaces · esc close")


@pytest.mark.parametrize("host", ["api.gitbook.com", "docs.example.com"])
async def test_only_the_gitbook_server_names_the_page_that_creates_api_keys(stage: Stage, host: str) -> None:
    said = " ".join(SignInScreen._prompt(host, "It is stored.").plain.split())
    assert said.startswith(f"Paste your API key for {host}.")
    assert said.endswith(" It is stored.")
    assert ("gitbook" in said.lower().replace(host, "")) is (host == "api.gitbook.com")


async def test_sign_in_shows_one_button_and_what_octavo_does(stage: Stage) -> None:
    async with stage.library() as platform, stage.show(stage.settings(), None, platform) as run:
        await run.see("Paste your API key for")
        await run.see("Check key  (enter)", "Read, review, and merge documentation")
        screen = run.app.screen
        assert isinstance(screen, SignInScreen)
        assert [each.id for each in screen.query("#next TextButton").results(TextButton) if each.display] == ["check"]
        assert (
            next(line for line in run.lines if "Try the demo" in line).rstrip().endswith("no account or network needed")
        )


@pytest.mark.before_release
async def test_compare_is_not_offered_for_the_current_revision(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("7 of 7")
        await run.press("2", "H")
        await run.see("Created on main", "V changes")
        assert "B compare" not in run.keybar


@pytest.mark.before_release
async def test_remove_dialog_names_the_list(stage: Stage) -> None:
    async with stage.play(start="admin", size=(140, 40)) as run:
        await run.see("Members 306", "X remove from organization")
        await run.press("]")
        await run.see("Teams · 4", "Harbour software")
        await run.press("enter")
        await run.see("Harbour software › Members 4", "X remove from team")
        await run.press("X")
        await run.see("Remove Yuki Tanabe from the team?")
        await run.press("y")
        await run.hear("Removed Yuki Tanabe from the team.")


@pytest.mark.before_release
async def test_approve_is_not_offered_for_your_own_change_request(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("7 of 7")
        await run.press("/", *"endpoint", "enter")
        await run.see("1 of 7 shown", "Mara Lindqvist · 4 days ago")
        assert "approve" not in run.keybar
        await run.press("escape", "/", *"refused", "enter")
        await run.see("1 of 7 shown", "Tomás Okafor · 1 day ago")
        assert "a approve" in run.keybar


@pytest.mark.before_release
async def test_palette_lists_each_key_of_a_view_once(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        found = [
            (each.detail.partition(",")[0], each.right)
            for each in palette_entries(run.app, run.app.screen)
            if each.view in ("content", "changes", "comments")
        ]
        assert sorted(found) == sorted(set(found))


@pytest.mark.before_release
async def test_palette_shows_reasons_at_80_columns(stage: Stage) -> None:
    async with stage.play(start="inbox", size=(80, 24)) as run:
        await run.press("]", "]", "]", ":")
        await run.type("approve")
        await run.see("Approve                     Select a change request first")


async def test_thread_whose_block_was_deleted_is_shown_as_outdated(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("72 of 72", "outdated · 13w")
