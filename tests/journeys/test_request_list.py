from __future__ import annotations

import pytest

from octavo.tui.review.request_list import RequestListScreen
from octavo.tui.review.request_preview import RequestPreview
from octavo.tui.widgets.text_widgets import ChangingText
from tests.journeys.stage import Stage


@pytest.mark.before_release
async def test_preview_can_be_hidden_moved_below_the_list_and_scrolled(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("PAGES")
        await run.press("p")
        assert "PAGES" not in run.text
        await run.press("p", "P")
        await run.see("PAGES")
        screen = run.app.screen
        assert isinstance(screen, RequestListScreen)
        summary = screen.query_one(RequestPreview)
        assert summary.region.y > screen.rows.region.bottom - 1
        first = screen.rows.item
        await run.press("space")
        assert screen.rows.item != first, "space at the end of the preview must select the next row"
        await run.press("b")
        assert screen.rows.item == first


async def test_preview_that_was_shown_before_is_complete_at_once(stage: Stage) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        await run.see("~ Word list")
        await run.press("j")
        await run.see("~ Time and time zones")
        previews: list[str] = []
        view = run.app.screen
        preview = view.query_one(RequestPreview).query_one(ChangingText)
        view.screen_layout_refresh_signal.subscribe(
            view, lambda _: previews.append(str(preview.content)), immediate=True
        )
        await run.press("k")
        await run.see("~ Word list")
        assert previews
        assert not any("PAGES\n…" in each for each in previews)


@pytest.mark.before_release
async def test_list_of_change_requests_can_be_filtered_and_sorted(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("#5")
        screen = run.app.screen
        assert isinstance(screen, RequestListScreen)
        all_items = list(screen.rows.items)
        await run.press("F", *"outdated", "enter")
        assert screen.rows.items
        assert all(each.outdated for each in screen.rows.items)
        assert len(screen.rows.items) < len(all_items)
        await run.see("· outdated")
        await run.press("escape")
        assert list(screen.rows.items) == all_items
        assert not run.said
        await run.press("S", *"threads", "enter")
        threads = [run.app.workspace.open_thread_count(each) for each in screen.rows.items]
        assert threads == sorted(threads, reverse=True)
        assert run.app.session.state.get_value("order of change requests") == "threads"


@pytest.mark.before_release
async def test_change_request_is_copied_by_number_and_has_no_link(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("PAGES")
        await run.press("y")
        await run.hear("Copied the title of the change request.")
        assert run.app.clipboard.startswith("#")
        await run.press("Y")
        await run.hear("This change request has no link: the demo is not on the web.")


@pytest.mark.before_release
async def test_refresh_all_loads_all_views_again(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("REVIEW REQUESTED")
        await run.press("5", "R")  # The inbox cannot be used, because `R` resolves a thread there.
        await run.hear("Refreshing all views (")


@pytest.mark.before_release
async def test_scrollbar_of_a_thread_covers_no_text(stage: Stage) -> None:
    async with stage.play(start="comments", size=(80, 24)) as run:
        await run.see("I asked two people to review the page about secrets:")
        await run.see("Is that an exception?")


@pytest.mark.before_release
async def test_arrow_keys_switch_between_the_tabs(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Open 7")
        await run.press("right")
        await run.see("Instruments · drafts")
        await run.press("left")
        await run.see("Instruments · open")


async def test_filter_line_counts_the_items_of_the_new_tab(stage: Stage) -> None:
    """The count was that of the tab in which the filter was typed, while the status bar had the new count."""
    async with stage.play(start="changes") as run:
        await run.press("/", *"quickstart", "enter")
        await run.see("1 of 7 shown")
        await run.press("]")
        await run.see("/ quickstart", "1 of 2 shown")
        assert "1 of 7 shown" not in run.text
