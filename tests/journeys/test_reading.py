from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.content.search import SearchScreen
from octavo.tui.content.space_panes import SidePanel
from octavo.tui.core.routes import ToPage
from octavo.tui.reader.page_view import PageView
from tests.journeys.stage import Stage


@pytest.mark.before_release
async def test_keys_open_three_pages_and_follow_a_link(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome", "how deep is the water now")
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", "You need a terminal and either curl")
        await run.press("J")
        await run.see("› Authentication", "A request without a key is answered with 401")
        await run.press("K", "K")
        await run.see("Harbour API › Welcome")
        await run.press("f")
        await run.see("type a letter")
        await run.press("a")
        await run.see("› Quickstart", "From nothing to a water level in five minutes.")
        await run.press("<")
        await run.see("Harbour API › Welcome")
        await run.press(">")
        await run.see("› Quickstart")


@pytest.mark.before_release
async def test_link_to_another_space_opens_the_space(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("enter", "G", "f")
        await run.see("Other manuals", "the h mpet")
        await run.press("h")
        await run.see("Limpet manual ▾", "Limpet manual ›")
        await run.press("<")
        await run.see("Harbour API › Welcome")


@pytest.mark.before_release
async def test_link_to_a_page_of_another_space_opens_the_page_by_path(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "j", "j", "enter")
        await run.see("› Your first tide table", "near the Narrows")
        await run.press("f")
        await run.see("near the a")
        await run.press("a")
        await run.see("Station register ▾", "› The Narrows")
        await run.press("<")
        await run.see("Harbour API › Get started › Your first tide table")
        run.app.go(ToPage("stations", "regions/atlantis"))
        await run.see(
            "Could not find the page regions/atlantis in Station register", "Station register › Station register"
        )


@pytest.mark.before_release
async def test_external_link_is_shown_in_full_and_confirmed(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("G")
        await run.see("▌    Service status")
        await run.press("enter")
        await run.see("Open status.saltmarsh.example?", "https://status.saltmarsh.example")
        await run.press("escape")
        await run.gone("Open status")
        assert run.said == []


@pytest.mark.before_release
async def test_space_at_the_end_of_a_page_opens_the_next_page(stage: Stage) -> None:
    async with stage.play() as run:
        for _ in range(12):
            if "› Quickstart" in run.text:
                break
            await run.press("space")
        await run.see("Harbour API › Get started › Quickstart")
        assert run.app.focused is run.app.screen.query_one("#pages"), (
            "the page tree must keep the focus and pass the key to the page"
        )
        await run.press("backslash")
        await run.see("source")
        await run.press("backslash", "f")
        await run.see("capital letters open in browser")


@pytest.mark.before_release
async def test_keys_in_the_page_tree_act_on_the_selected_row(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "c")
        await run.hear("“Get started” is selected, but “Welcome” is open.")
        await run.press("H")
        await run.hear("“Get started” is a group and has no version history.")
        await run.press("C")
        await run.hear("“Get started” is a group and has no text")
        await run.press("j", "y")
        await run.hear("Copied the path of Quickstart.")
        await run.press("C")
        await run.see("the page Quickstart")
        await run.press("escape", "H")
        await run.see("Quickstart › Version history")
        await run.press("escape", "B")
        await run.see("links to Quickstart")
        await run.press("escape", "ctrl+e")
        await run.see("This page as Markdown", "Quickstart")
        await run.press("escape", "o")
        await run.hear("This page has no link: the demo is not on the web.")
        await run.see("Harbour API › Get started › Quickstart", "C comment on page", "H version history")
        await run.press("escape", "j", "H")
        await run.hear("not a page. Press tab to go to the open page")
        await run.press("F")
        await run.hear("“Instruments” is a collection. Select a space in the collection first.")
        await run.press("j", "F")
        await run.see("Limpet manual › Files")


@pytest.mark.before_release
async def test_esc_goes_from_the_page_to_the_page_tree_and_to_the_spaces(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("enter", "escape")
        await run.see("esc spaces")
        await run.press("escape")
        await run.see("SPACES")
        await run.gone("esc spaces")
        await run.press("enter")
        await run.see("esc spaces")


@pytest.mark.before_release
async def test_page_tree_can_be_filtered(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("/", *"retr")
        await run.see("Retries")
        await run.gone("Your first tide")
        await run.press("enter", "enter")
        await run.see("› Webhooks › Retries")
        await run.press("escape")
        assert "Your first tide" not in run.text, "esc must return to the page tree and keep its filter"
        await run.press("escape")
        await run.see("Your first tide")


@pytest.mark.before_release
async def test_filter_without_matches_says_how_to_clear_it(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("7 of 7")
        await run.press("/", *"webhook")
        await run.see("Rotate webhook secrets")
        await run.gone("Battery figures")
        await run.type("nothing like this")
        await run.see("0 of 7 match", "esc clear the filter")
        await run.press("escape", "escape")
        await run.see("Battery figures")


@pytest.mark.before_release
async def test_find_goes_to_the_text_in_a_page(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("enter", "/", *"quay")
        await run.press("enter", "n")
        await run.see("quay")
        await run.press("escape")


@pytest.mark.before_release
async def test_search_covers_the_organization_or_one_space(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("s")
        await run.type("battery")
        await run.see("PAGES", "all spaces", "16 results", "Safety › Battery")
        await run.press("tab")
        await run.gone("results in all spaces", "Safety › Battery")
        await run.see("tab all spaces")
        await run.press("tab")
        await run.see("results in all spaces", "Safety › Battery")
        await run.press("enter")
        assert not isinstance(run.app.screen, SearchScreen)
        await run.see("Limpet manual › Safety", "▌ Battery")


async def test_search_of_one_space_lists_nothing_of_other_spaces(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("s", "a")
        await run.see("results in all spaces")
        screen = run.app.screen
        assert isinstance(screen, SearchScreen)
        assert screen.last_space is not None
        assert len({hit.space for hit in screen.rows.items if hit.kind == "change request"}) > 1
        await run.press("tab")
        await run.see("tab all spaces", "results in Harbour API")
        assert {(hit.space, hit.kind == "space") for hit in screen.rows.items} == {(screen.last_space.space_id, False)}


@pytest.mark.before_release
async def test_search_finds_and_opens_change_requests(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("s")
        await run.type("refused time looks like")
        await run.see("#7  Show what a refused time looks like", "1 result")
        await run.press("enter")
        await run.see("#7 Show what a refused time looks like  Harbour API", "0 of 2 viewed")


@pytest.mark.before_release
async def test_search_without_results_says_so(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("s")
        await run.see("Type to search.")
        await run.type("xylophone")
        await run.see("No results for “xylophone”.")


@pytest.mark.before_release
async def test_outline_and_threads_are_shown_beside_the_page(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("OUTLINE", "THREADS  2 open")
        assert run.app.screen.query_one("#threads").focusable
        await run.press("K")
        await run.see("No comments on this")
        assert not run.app.screen.query_one("#threads").focusable, "a pane without content must not take the focus"
        await run.press("J")
        await run.press("O", "O")
        await run.gone("OUTLINE")
        await run.press("O", "/", *"read", "enter", "enter")
        await run.see("OUTLINE")
        await run.until(
            lambda: "read" in run.app.screen.query_one(PageView).navigation.current_anchor, "jump to the heading"
        )
        await run.press("z")
        await run.gone("OUTLINE", "Your first tide")
        await run.press("z")
        await run.see("OUTLINE", "Your first tide")


@pytest.mark.before_release
async def test_esc_and_enter_open_another_space(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("enter", "escape", "escape")
        await run.see("SPACES", "Harbour API", "Limpet manual", "Handbook")
        await run.press("/", *"hand")
        await run.gone("Limpet manual")
        await run.press("enter", "enter")
        await run.see("Handbook ▾", "Handbook ›")


@pytest.mark.before_release
async def test_next_and_previous_page_stop_at_the_ends_of_a_space(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("K")
        await run.hear("This is the first page in the space.")
        await run.press("/", *"glossary", "enter", "enter")
        await run.see("› Glossary")
        await run.press("J")
        await run.hear("This is the last page in the space.")


@pytest.mark.before_release
async def test_outline_follows_the_page_until_it_is_focused(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter")
        await run.see("› Quickstart")
        aside = run.app.screen.query_one(SidePanel)
        first = aside.outline.key
        await run.press("G")
        await run.until(lambda: aside.outline.key != first, "select another heading in the outline")
        assert aside.outline.key == run.app.screen.query_one(PageView).navigation.current_anchor
        aside.outline.focus()
        await run.press("k")
        chosen = aside.outline.key
        run.app.screen.query_one(PageView).cursor.go_to_edge(at_end=False)
        await run.settle()
        assert aside.outline.key == chosen
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        assert screen.open_space.page is not None
        screen.page_view.focus()
        document = parse("# Top\n\n## Shown\n\n#### Too deep\n\nwords")
        page = screen.open_space.page
        aside.show(
            document,
            None,
            page,
            is_complete=True,
            why_no_comment=None,
            block_change=lambda _: "",
            drafts_in=lambda _: (),
        )
        aside.follow("too-deep")
        assert aside.outline.key == "shown", (
            "for a heading that the outline omits, the heading above it must be selected"
        )


@pytest.mark.before_release
async def test_reading_position_is_restored_after_a_restart_and_a_return(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("j", "j", "enter", "}", "}", "}")
        await run.see("▌  3  Read the answer")
        await run.press("J")
        await run.see("› Authentication", "A request without a key is answered with 401")
        await run.press("K")
        await run.see("▌  3  Read the answer")
        await run.quit()
    async with stage.play() as run:
        await run.see("› Quickstart", "▌  3  Read the answer")
        await run.press("K")
        await run.see("› Welcome")
        for _ in range(12):
            if "› Quickstart" in run.text:
                break
            await run.press("space")
        await run.see("From nothing to a water level in five minutes.")


@pytest.mark.before_release
async def test_filter_of_the_spaces_does_not_apply_to_pages(stage: Stage) -> None:
    async with stage.play() as run:
        await run.press("escape", "escape", "/", *"hand", "enter")
        await run.see("1 of 9 shown")
        await run.press("enter")
        await run.see("Writing", "Word list")
        assert "1 of 9 shown" not in run.text
        await run.press("escape")
        await run.see("1 of 9 shown")


@pytest.mark.before_release
async def test_status_bar_shows_the_path_of_the_selected_row_or_open_page(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Harbour API › Welcome", "0% read")
        await run.press("j")
        await run.see("Harbour API › Get started")
        await run.gone("0% read")
        await run.press("j")
        await run.see("Harbour API › Get started › Quickstart")
        await run.press("tab")
        await run.see("Harbour API › Welcome", "0% read")
        await run.press("shift+tab")
        await run.see("Harbour API › Get started › Quickstart")
        await run.press("escape")
        await run.see("SPACES")
        await run.gone("› Quickstart", "› Welcome")
        await run.press("j")
        await run.see("Station register")
