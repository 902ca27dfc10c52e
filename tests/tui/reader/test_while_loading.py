"""Keys while a page is loading: the page never scrolls to another place by itself."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.events import MouseScrollDown
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.screen import Screen
from textual.selection import Selection

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.tui.reader import diff_contents, page_loading
from octavo.tui.reader.diff_contents import DiffBuilder
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.find_bar import CopyPending, DelayedCopyScreen
from octavo.tui.reader.page_loading import PageLoaded, PageLoader, PageParse
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_position import START, ReadingPosition, rows_from
from octavo.tui.render.comparison import compare
from octavo.tui.render.diff_chunks import DiffChunks
from octavo.tui.render.painting import text_between
from octavo.tui.terminal import polite_thread
from tests.benchmarks.texts import made_page
from tests.tui.reader.panes import P, PaneApp, bar_column, screen, wait_for_diff, wait_for_layout, wait_for_width
from tests.tui.widgets.scratch import until

PAGE = "\n\n".join(f"## Section {number}\n\nParagraph {number} says a little." for number in range(80))
OTHER = PAGE.replace("a little", "much more")


class HeldLoader(PageLoader):
    """A loader that parses only the first screen of a page while `held` is set, or nothing if the page replaces its
    earlier version. While `is_held_from_the_beginning` is set, it parses nothing."""

    held = True
    is_held_from_the_beginning = False

    def parse_and_show(self, reading: PageParse) -> Iterator[None]:
        for step in super().parse_and_show(reading):
            has_first_screen = not reading.needs_first_screen or reading.first_screen is not None
            while self.held and (self.is_held_from_the_beginning or has_first_screen):
                yield
                time.sleep(0.001)
            yield step


class HeldPage(PageView):
    """A page view that shows only its first screen while its loader is held."""

    loader: HeldLoader

    def __init__(self) -> None:
        super().__init__()
        self.loader = HeldLoader(self, self.contents, self.navigation)


class CopyingApp(PaneApp[P]):
    """An app whose screen copies a selection once the text is complete."""

    def get_default_screen(self) -> Screen[Any]:
        return DelayedCopyScreen(id="_default")


@asynccontextmanager
async def loading_page(
    markdown: str = PAGE, *, size: tuple[int, int] = (80, 20), blocks: int = 12
) -> AsyncIterator[tuple[PaneApp[HeldPage], Pilot[None]]]:
    """Yield an app that shows the first blocks of a page, while the page is loading."""
    app = CopyingApp(HeldPage())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_loading, "FIRST_BLOCKS", blocks)
        patch.setattr(page_loading, "SHORT_PAGE", 2_000)
        patch.setattr(polite_thread, "THREAD_WAIT", 60.0)
        async with app.run_test(size=size) as pilot:
            app.pane.show_markdown(markdown, title="Long", key="p")
            await pilot.pause()
            assert not app.pane.contents.is_fully_parsed
            yield app, pilot


async def finish_loading(app: PaneApp[HeldPage], pilot: Pilot[Any]) -> None:
    """Let the loader finish, and wait until the page is complete."""
    app.pane.loader.held = False
    while app.pane.loader.is_loading:
        await pilot.pause()
    await pilot.pause()


@asynccontextmanager
async def page_without_lines() -> AsyncIterator[tuple[PaneApp[HeldPage], Pilot[None]]]:
    """Yield an app that shows a page without lines, because nothing is parsed yet."""
    app = PaneApp(HeldPage())
    app.pane.loader.is_held_from_the_beginning = True
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page_loading, "FIRST_BLOCKS", 12)
        patch.setattr(page_loading, "SHORT_PAGE", 2_000)
        patch.setattr(polite_thread, "THREAD_WAIT", 0.0)
        async with app.run_test(size=(80, 20)) as pilot:
            app.pane.show_markdown(PAGE, title="Long", key="p")
            await pilot.pause()
            assert not len(app.pane.viewport.virtual_lines)
            yield app, pilot


async def show_first_lines(app: PaneApp[HeldPage], pilot: Pilot[Any]) -> None:
    """Let the loader parse the first screen, and wait until it is shown."""
    app.pane.loader.is_held_from_the_beginning = False
    while not len(app.pane.viewport.virtual_lines):
        await pilot.pause()
    await pilot.pause()


async def show_hidden(pane: PageView, pilot: Pilot[Any]) -> str:
    """Show a hidden pane, and return its text."""
    pane.display = True
    await until(pilot, lambda: screen(pane).strip() != "")
    return screen(pane)


def row_text(view: PageView, row: int = 0) -> str:
    return screen(view).split("\n")[row].removeprefix("▌").strip()


async def test_scrolling_cancels_jump_to_late_heading() -> None:
    async with loading_page() as (app, pilot):
        assert not app.pane.navigation.go_to_anchor("section-70")
        await pilot.press("j", "j")
        before = screen(app.pane)
        await finish_loading(app, pilot)
        assert screen(app.pane) == before


async def test_late_heading_is_reached_after_moving() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("j", "j", ")")
        assert not app.pane.navigation.go_to_anchor("section-70")
        await finish_loading(app, pilot)
        assert "Section 70" in row_text(app.pane, 1)


async def test_late_heading_reaches_top_once_lines_follow() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("j", ")")
        assert app.pane.navigation.go_to_anchor("section-5")
        await finish_loading(app, pilot)
        assert "Section 5" in row_text(app.pane, 1)


async def test_last_of_two_requested_headings_wins() -> None:
    async with loading_page() as (app, pilot):
        assert app.pane.navigation.go_to_anchor("section-5")
        assert not app.pane.navigation.go_to_anchor("section-70")
        await finish_loading(app, pilot)
        assert "Section 70" in row_text(app.pane, 1)
    async with loading_page() as (app, pilot):
        assert not app.pane.navigation.go_to_anchor("section-70")
        assert app.pane.navigation.go_to_anchor("section-5")
        await finish_loading(app, pilot)
        assert "Section 5" in row_text(app.pane, 1)


async def test_pending_jump_is_dropped_with_its_page() -> None:
    async with loading_page() as (app, pilot):
        assert not app.pane.navigation.go_to_anchor("section-70")
        app.pane.show_markdown(OTHER, title="Other", key="q")
        await finish_loading(app, pilot)
        assert app.pane.scroll_offset.y == 0


async def test_link_to_a_late_heading_is_not_reported_as_broken() -> None:
    page = "[late](#section-70) words\n\n" + PAGE
    async with loading_page(page) as (app, pilot):
        await pilot.press("f", "a")
        assert app.explained == []
        await finish_loading(app, pilot)
        assert "Section 70" in row_text(app.pane, 1)


async def test_link_to_missing_heading_explains_once_loaded() -> None:
    page = "[late](#section-700) words\n\n" + PAGE
    async with loading_page(page) as (app, pilot):
        await pilot.press("f", "a")
        assert app.explained == []
        await finish_loading(app, pilot)
        assert app.explained == ["This page has no heading “section-700”. The heading may have been renamed."]
        assert app.pane.scroll_offset.y == 0


async def test_missing_heading_of_other_page_explains_unless_moved() -> None:
    for keys, said in (((), ["This page has no heading “other”. The heading may have been renamed."]), (("j",), [])):
        async with loading_page() as (app, pilot):
            assert not app.pane.navigation.go_to_anchor("#other")
            app.pane.navigation.report_missing("#other")
            assert app.explained == []
            await pilot.press(*keys)
            await finish_loading(app, pilot)
            assert app.explained == said


@pytest.mark.parametrize(
    "keys", ["j", "ctrl+d", "space", "ctrl+d,ctrl+d", "j,k,j", "space,space,space", "ctrl+d,),)", "},},}"]
)
async def test_keys_while_loading_reach_the_same_place_as_afterwards(keys: str) -> None:
    async with loading_page(blocks=4) as (app, pilot):
        await pilot.press(*keys.split(","))
        await finish_loading(app, pilot)
        early = screen(app.pane)
        await pilot.press("g", *keys.split(","))
        assert screen(app.pane) == early


@pytest.mark.parametrize("keys", ["j", "ctrl+d", "space,space", "j,j,k", "G", "j,j,g", "),)", "}"])
async def test_keys_before_the_first_lines_are_not_lost(keys: str) -> None:
    async with page_without_lines() as (app, pilot):
        await pilot.press(*keys.split(","))
        assert app.explained == []
        await finish_loading(app, pilot)
        early = screen(app.pane)
        await pilot.press("g", *keys.split(","))
        assert screen(app.pane) == early


async def test_keys_before_the_first_lines_are_shown_with_them() -> None:
    async with page_without_lines() as (app, pilot):
        await pilot.press("j", "j", "ctrl+d")
        await show_first_lines(app, pilot)
        assert not app.pane.contents.is_fully_parsed
        assert app.pane.scroll_offset.y == 12
        await pilot.press("j")
        assert app.pane.scroll_offset.y == 13
        await finish_loading(app, pilot)
        assert app.pane.scroll_offset.y == 13


async def test_text_to_find_before_the_first_lines_is_found() -> None:
    async with page_without_lines() as (app, pilot):
        await pilot.press("slash", *"graph 3 ", "enter")
        await show_first_lines(app, pilot)
        assert app.pane.find_bar.search_status == "1 of 1 so far"
        assert app.explained == []


async def test_command_without_lines_says_that_the_page_is_loading() -> None:
    async with page_without_lines() as (app, pilot):
        await pilot.press("f")
        assert app.explained == ["This page is still loading."]


async def test_keys_of_the_page_before_do_not_move_the_next_page() -> None:
    async with page_without_lines() as (app, pilot):
        await pilot.press("j", "j")
        app.pane.show_markdown(OTHER, title="Other", key="q")
        await finish_loading(app, pilot)
        assert app.pane.scroll_offset.y == 0


async def test_wheel_while_loading_reaches_the_same_place_as_afterwards() -> None:
    async with loading_page() as (app, pilot):
        for _ in range(20):
            app.pane.post_message(MouseScrollDown(app.pane, 5, 5, 0, 1, 0, False, False, False))
            await pilot.pause()
        await finish_loading(app, pilot)
        assert app.pane.viewport.lines_above == 20 * app.scroll_sensitivity_y


@pytest.mark.parametrize("keys", [("k",), ("b",), ("g",), ("(",), ("{",)])
async def test_moving_up_cancels_moves_beyond_the_parsed_part(keys: tuple[str, ...]) -> None:
    async with loading_page(blocks=30) as (app, pilot):
        await pilot.press(*["space"] * 5, ")", *keys)
        before = screen(app.pane)
        await finish_loading(app, pilot)
        assert screen(app.pane).split("\n")[:10] == before.split("\n")[:10]


async def test_link_followed_after_a_move_wins() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("G", "j", "space")
        assert not app.pane.navigation.go_to_anchor("section-40")
        await finish_loading(app, pilot)
        assert "Section 40" in row_text(app.pane, 1)


async def test_resize_keeps_moves_beyond_the_parsed_part() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("space", "space", "space")
        await pilot.resize_terminal(70, 20)
        await wait_for_width(app.pane, pilot, 70)
        await finish_loading(app, pilot)
        early = screen(app.pane)
        await pilot.press("g", "space", "space", "space")
        assert screen(app.pane) == early


async def test_space_while_loading_never_asks_for_the_next_page() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press(*["space"] * 9)
        await finish_loading(app, pilot)
        assert [type(each) for each in app.said] == [PageLoaded]
        assert app.explained == []


async def test_moving_cancels_jump_to_end() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("G", "(", "(", "(", "(", "(", "(", "(", "(")
        before = screen(app.pane)
        await finish_loading(app, pilot)
        assert screen(app.pane).split("\n")[:10] == before.split("\n")[:10]


async def test_jump_to_the_end_applies_only_to_the_text_that_was_loading() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("G")
        await finish_loading(app, pilot)
        assert "Paragraph 79" in screen(app.pane)
        app.pane.loader.held = True
        app.pane.show_markdown(OTHER + "\n\nSaid at last.", title="Long", key="p")
        await pilot.press("g", "G")
        assert "Said at last." not in screen(app.pane)
        await finish_loading(app, pilot)
        assert "Said at last." in screen(app.pane), "a jump to the end must apply to the page after it has loaded"


async def test_same_page_again_stays_visible_while_loading() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("j", "j", ")")
        before = screen(app.pane)
        app.pane.show_markdown(PAGE, title="Long", key="p")
        await pilot.pause()
        assert screen(app.pane) == before
        await finish_loading(app, pilot)
        assert screen(app.pane).split("\n")[:8] == before.split("\n")[:8]
        assert app.pane.document == parse(PAGE)
        assert len(app.said) == 1


@pytest.mark.parametrize("blocks", [1, 12, 40])
async def test_new_text_replaces_loading_page_when_parsed(blocks: int) -> None:
    async with loading_page(blocks=blocks) as (app, pilot):
        await pilot.press("j", "j", ")")
        before = screen(app.pane)
        app.pane.show_markdown(OTHER, title="Long", key="p")
        app.pane.loader.held = False
        while not app.pane.contents.is_fully_parsed:
            assert screen(app.pane) == before
            await pilot.pause()
        await pilot.pause()
        assert app.pane.document == parse(OTHER)
        assert "much more" in screen(app.pane)
        assert row_text(app.pane) == before.split("\n")[0].removeprefix("▌").strip()
        assert app.pane.viewport.virtual_lines.chunks[-1].block.plain() == "Paragraph 79 says much more."


COPIED_LATER = "Octavo will copy the selection when it is fully loaded."


async def copy_all(app: PaneApp[HeldPage], pilot: Pilot[Any]) -> None:
    """Select and copy all of a page that is still loading."""
    app.pane.text_select_all()
    await pilot.press("ctrl+c")
    assert app.explained == [COPIED_LATER]
    assert app.clipboard == ""


async def test_selection_of_loading_page_is_copied_when_parsed() -> None:
    async with loading_page() as (app, pilot):
        await copy_all(app, pilot)
        await finish_loading(app, pilot)
        await until(pilot, lambda: app.notified != [])
        assert app.clipboard.startswith("Long\n")
        assert [int(words) for words in re.findall(r"Paragraph (\d+) says", app.clipboard)] == [*range(80)]
        assert [type(each) for each in app.said] == [PageLoaded]
        assert app.notified == ["Copied the selection."]


async def test_copy_of_page_loaded_again_is_complete() -> None:
    async with loading_page() as (app, pilot):
        app.pane.show_markdown(OTHER, title="Long", key="p")
        await copy_all(app, pilot)
        await finish_loading(app, pilot)
        await until(pilot, lambda: app.clipboard != "")
        assert app.clipboard.count("says much more") == 80


async def test_removed_selection_is_not_copied() -> None:
    async with loading_page() as (app, pilot):
        await copy_all(app, pilot)
        app.screen.clear_selection()
        await finish_loading(app, pilot)
        await until(pilot, lambda: not app.pane.selection.has_work)
        assert app.clipboard == ""
        assert app.explained == [COPIED_LATER]


async def test_leaving_before_copy_is_reported() -> None:
    async with loading_page() as (app, pilot):
        await copy_all(app, pilot)
        app.pane.show_markdown(OTHER, title="Other", key="q")
        await finish_loading(app, pilot)
        await until(pilot, lambda: not app.pane.selection.has_work)
        assert app.clipboard == ""
        left = "Nothing was copied: you left the page before the selection was loaded."
        assert app.explained == [COPIED_LATER, left]


@pytest.mark.parametrize(
    "selection",
    [
        Selection(None, None),
        Selection(Offset(6, 7), None),
        Selection(None, Offset(9, 21)),
        Selection(Offset(6, 7), Offset(9, 21)),
        Selection(Offset(4, 9), Offset(9, 9)),
    ],
)
async def test_collected_text_equals_selection(selection: Selection) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(made_page(20_000)), title="Long", key="p")
        await wait_for_layout(app.pane, pilot)
        immediate = app.pane.get_selection(selection)
        assert immediate is not None
        rows = [
            line
            for _, _, line in rows_from(app.pane.viewport.virtual_lines, START, app.pane.viewport.virtual_lines.total)
        ]
        start, end = selection
        expected = text_between(
            rows[start.y if start else 0 : end.y + 1 if end else None],
            app.pane.contents.margin,
            (0, start.x) if start else None,
            (end.y - (start.y if start else 0), end.x) if end else None,
        )
        assert immediate[0] == expected


async def test_copy_and_late_note_wait_for_the_rest_of_the_page() -> None:
    app = CopyingApp(HeldPage())
    async with app.run_test(size=(80, 20)):
        app.pane.show_markdown("Once.[^late]\n\n" + made_page(400_000) + "\n\n[^late]: The note.\n", key="p")
        shown: list[Block | None] = []
        app.pane.navigation.call_with_footnote("late", shown.append)
        with pytest.raises(CopyPending):
            app.pane.get_selection(Selection(None, None))
        assert not shown


async def test_source_of_loading_page_toggles() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("backslash")
        assert "## Section 0" in screen(app.pane)
        await finish_loading(app, pilot)
        assert "## Section 0" in screen(app.pane)
        whole = [chunk.block.key for chunk in app.pane.viewport.virtual_lines.chunks]
        await pilot.press("backslash")
        assert app.pane.viewport.virtual_lines.chunks[-1].block.plain() == "Paragraph 79 says a little."
        await pilot.press("backslash")
        assert [chunk.block.key for chunk in app.pane.viewport.virtual_lines.chunks] == whole


async def test_source_view_cancels_pending_jump() -> None:
    async with loading_page() as (app, pilot):
        assert not app.pane.navigation.go_to_anchor("section-70")
        await pilot.press("backslash")
        await finish_loading(app, pilot)
        assert app.pane.contents.shows_source
        assert app.pane.scroll_offset.y == 0


async def test_source_opens_while_restore_is_pending() -> None:
    async with loading_page() as (app, pilot):
        assert app.pane.navigation.go_to_anchor("section-5")
        await pilot.press("backslash")
        assert app.pane.contents.shows_source
        await finish_loading(app, pilot)
        assert app.pane.contents.shows_source


async def test_hidden_page_loads_completely() -> None:
    app = PaneApp(HeldPage())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.loader.held = False
        app.pane.display = False
        await pilot.pause()
        app.pane.show_markdown(PAGE, title="Long", key="p")
        await until(pilot, lambda: bool(app.said))
        assert [type(each) for each in app.said] == [PageLoaded]
        assert "Section 0" in await show_hidden(app.pane, pilot)
        assert app.pane.viewport.virtual_lines.chunks[-1].block.plain() == "Paragraph 79 says a little."


async def test_page_hidden_before_first_screen_loads_completely() -> None:
    pane = HeldPage()
    pane.display = False
    app = PaneApp(pane)
    async with app.run_test(size=(80, 20)) as pilot:
        pane.loader.held = False
        pane.show_markdown(PAGE, title="Long", key="p")
        await until(pilot, lambda: bool(app.said))
        assert [type(each) for each in app.said] == [PageLoaded]
        assert "Section 0" in await show_hidden(pane, pilot)
        assert pane.viewport.virtual_lines.chunks[-1].block.plain() == "Paragraph 79 says a little."


async def test_page_hidden_while_loading_is_complete_when_shown() -> None:
    async with loading_page() as (app, pilot):
        app.pane.display = False
        await pilot.pause()
        await finish_loading(app, pilot)
        assert "Section 0" in await show_hidden(app.pane, pilot)
        assert app.pane.viewport.virtual_lines.chunks[-1].block.plain() == "Paragraph 79 says a little."
        app.pane.display = False
        await pilot.pause()
        app.pane.loader.held = True
        app.pane.show_markdown(OTHER, title="Other", key="q")
        await finish_loading(app, pilot)
        assert "much more" in await show_hidden(app.pane, pilot)
        assert app.pane.viewport.virtual_lines.chunks[0].block.kind == "page-title"
        assert app.pane.viewport.virtual_lines.chunks[-1].block.plain() == "Paragraph 79 says much more."


async def test_long_page_without_content_says_so() -> None:
    app = PaneApp(HeldPage())
    app.pane.loader.is_held_from_the_beginning = True
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown("<!-- " + "nothing " * 800 + "-->\n", title="Long", key="p")
        await pilot.pause()
        await finish_loading(app, pilot)
        await until(pilot, lambda: "This page is empty." in screen(app.pane))


async def test_resize_while_loading_loses_nothing() -> None:
    async with loading_page() as (app, pilot):
        await pilot.resize_terminal(60, 12)
        app.pane.loader.held = False
        await pilot.resize_terminal(100, 30)
        await finish_loading(app, pilot)
        await wait_for_width(app.pane, pilot, 100)
        keys = [chunk.block.key for chunk in app.pane.viewport.virtual_lines.chunks if chunk.block.kind != "page-title"]
        assert keys == [block.key for block in parse(PAGE).blocks]


async def test_late_matches_are_found_without_scrolling() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("slash", *"graph 79", "enter")
        assert app.pane.find_bar.search_status == "searching"
        await finish_loading(app, pilot)
        assert app.pane.find_bar.search_status == "1 found"
        await pilot.press("n")
        assert "Paragraph 79" in screen(app.pane)


async def test_search_of_a_removed_page_has_ended() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("slash", *"graph 79")
        app.pane.clear()
        assert app.pane.find_bar.search_status == "no matches"


class HeldBuilder(DiffBuilder):
    """A builder of diffs that builds nothing while `held` is set."""

    held = True

    def _steps(self, changes: DiffChunks, is_built: threading.Event) -> Iterator[object]:
        while self.held:
            yield None
            time.sleep(0.001)
        yield from super()._steps(changes, is_built)


@pytest.mark.parametrize("keys", ["j", "n", "n,n", "space", "G", "n,N", "ctrl+d,k"])
async def test_keys_before_the_first_lines_of_a_diff_are_not_lost(keys: str) -> None:
    app = PaneApp(DiffView())
    builder = HeldBuilder(app.pane, app.pane.contents, app.pane.navigation.show_chunks)
    app.pane.navigation.builder = builder
    new = PAGE.replace("Paragraph 20 ", "It ").replace("Paragraph 40 ", "It ").replace("Paragraph 60 ", "It ")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diff_contents, "SHORT_PAGE", 2_000)
        patch.setattr(polite_thread, "THREAD_WAIT", 0.0)
        async with app.run_test(size=(80, 12)) as pilot:
            app.pane.show(compare(PAGE, new), key="p")
            await pilot.press(*keys.split(","))
            assert not len(app.pane.viewport.virtual_lines)
            builder.held = False
            await wait_for_diff(app.pane, pilot)
            early = screen(app.pane)
            assert app.explained == []
            app.pane.clear()
            app.pane.navigation.positions.clear()
            app.pane.show(compare(PAGE, new), key="q")
            await wait_for_diff(app.pane, pilot)
            await pilot.press(*keys.split(","))
            assert screen(app.pane) == early


async def test_next_match_while_loading_is_shown_once_it_is_found() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("slash", *"graph 79", "enter", "n", "j")
        assert app.explained == []
        await finish_loading(app, pilot)
        assert "Paragraph 79" not in screen(app.pane)
        await pilot.press("g", "n")
        assert app.pane.find_bar.search_status == "1 of 1"


async def test_next_match_after_the_last_waits_for_the_rest_of_the_page() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("slash", *"paragraph", "enter", *["n"] * 12)
        assert app.pane.find_bar.search_status == "6 of 6 so far"
        await finish_loading(app, pilot)
        assert app.pane.find_bar.search_status == "13 of 80"


async def test_previous_match_cancels_a_step_that_waits_for_the_rest_of_the_page() -> None:
    async with loading_page() as (app, pilot):
        await pilot.press("slash", *"paragraph", "enter", *["n"] * 7, "N", "N")
        assert app.pane.find_bar.search_status == "6 of 6 so far"
        await pilot.press("N")
        assert app.pane.find_bar.search_status == "5 of 6 so far"
        await finish_loading(app, pilot)
        assert app.pane.find_bar.search_status == "5 of 80"


async def test_hints_stay_while_blocks_are_added_below() -> None:
    page = "[one](https://a.example) and [two](https://b.example)\n\n" + PAGE
    async with loading_page(page, size=(80, 60)) as (app, pilot):
        await pilot.press("f")
        await finish_loading(app, pilot)
        assert app.pane.typing_keys
        await pilot.press("a")
        assert len(app.said) == 2


async def test_late_thread_is_marked_and_selectable() -> None:
    block = next(block for block in parse(PAGE).blocks if block.plain() == "Paragraph 70 says a little.")
    async with loading_page() as (app, pilot):
        app.pane.set_threads({block.key: 1})
        await pilot.press("t")
        assert app.explained == ["The rest of this page is still loading."]
        await finish_loading(app, pilot)
        await pilot.press("t")
        assert bar_column(app.pane)[0].startswith("Paragraph 70")


async def test_returning_to_page_shows_it_complete() -> None:
    async with loading_page() as (app, pilot):
        app.pane.show_markdown(OTHER, title="Other", key="q")
        app.pane.show_markdown(PAGE, title="Long", key="p")
        await finish_loading(app, pilot)
        assert app.pane.document == parse(PAGE)
        assert app.pane.viewport.virtual_lines.chunks[0].block.kind == "page-title"
        assert len(app.pane.viewport.virtual_lines) == 161
        assert len(app.said) == 1


async def test_restore_happens_unless_heading_is_requested() -> None:
    key = next(block.key for block in parse(PAGE).blocks if block.plain() == "Paragraph 70 says a little.")
    async with loading_page() as (app, pilot):
        app.pane.navigation.restore_later("q", ReadingPosition(key, 5))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(page_loading, "FIRST_SCREEN_WAIT", 0.0)
            app.pane.show_markdown(PAGE, title="Long", key="q")
        assert not app.pane.navigation.go_to_anchor("section-50")
        await finish_loading(app, pilot)
        assert "Section 50" in row_text(app.pane, 1)


async def leave_at_section_70(app: PaneApp[HeldPage], pilot: Pilot[Any]) -> ReadingPosition:
    """Load the page completely, select a paragraph of section 70, and return the position."""
    await finish_loading(app, pilot)
    app.pane.navigation.go_to_anchor("section-70")
    await pilot.press(")")
    return app.pane.navigation.current_position


async def test_going_back_restores_position_once_parsed() -> None:
    async with loading_page() as (app, pilot):
        position = await leave_at_section_70(app, pilot)
        before = screen(app.pane)
        app.pane.show_markdown(OTHER, title="Other", key="q")
        await pilot.pause()
        app.pane.loader.held = True
        app.pane.show_markdown(PAGE, title="Long", key="p")
        app.pane.navigation.restore(position)
        await pilot.pause()
        assert "Section 0" in screen(app.pane)
        assert app.pane.navigation.current_position == position
        assert app.pane.navigation.history_position is not None
        await finish_loading(app, pilot)
        assert screen(app.pane) == before


async def test_moving_after_going_back_cancels_restore() -> None:
    async with loading_page() as (app, pilot):
        position = await leave_at_section_70(app, pilot)
        app.pane.show_markdown(OTHER, title="Other", key="q")
        app.pane.loader.held = True
        app.pane.show_markdown(PAGE, title="Long", key="p")
        app.pane.navigation.restore(position)
        await pilot.press("j", "j", ")")
        before = screen(app.pane)
        assert app.pane.navigation.current_position != position
        await finish_loading(app, pilot)
        assert screen(app.pane).split("\n")[:8] == before.split("\n")[:8]


async def test_place_of_a_user_who_moves_before_the_restore_is_remembered() -> None:
    async with loading_page() as (app, pilot):
        position = ReadingPosition(parse(PAGE).blocks[-1].key, 3)
        app.pane.navigation.restore_later("p", position)
        assert app.pane.navigation.history_position == position
        await pilot.press(")", ")")
        selected, history = app.pane.cursor.current(), app.pane.navigation.history_position
        assert selected is not None
        assert history is not None
        assert history.block == selected.block.key


async def test_going_back_and_on_opens_page_at_top() -> None:
    async with loading_page() as (app, pilot):
        position = await leave_at_section_70(app, pilot)
        app.pane.loader.held = True
        app.pane.show_markdown(OTHER, title="Other", key="q")
        app.pane.navigation.restore(position)
        app.pane.show_markdown(PAGE, title="Long", key="r")
        await finish_loading(app, pilot)
        assert app.pane.scroll_offset.y == 0
        assert app.pane.cursor.selected is None


WITH_NOTE = "Said once.[^late]\n\n" + PAGE + "\n\n[^late]: The note.\n"


@pytest.mark.parametrize(
    ("label", "keys", "found"), [("late", (), ["The note."]), ("never", (), [None]), ("late", ("j",), [])]
)
async def test_late_footnote_opens_unless_moved(label: str, keys: tuple[str, ...], found: list[str | None]) -> None:
    shown: list[Block | None] = []
    async with loading_page(WITH_NOTE) as (app, pilot):
        app.pane.navigation.call_with_footnote(label, shown.append)
        assert app.explained == ["The rest of this page is still loading."]
        await pilot.press(*keys)
        assert shown == []
        await finish_loading(app, pilot)
        words = [note and note.plain().strip() for note in shown]
        assert words == found
        shown.clear()
        app.pane.navigation.call_with_footnote("late", shown.append)
        assert shown == [app.pane.contents.footnote("late")]


async def test_later_request_of_footnote_or_heading_wins() -> None:
    shown: list[Block | None] = []
    async with loading_page(WITH_NOTE) as (app, pilot):
        app.pane.navigation.call_with_footnote("late", shown.append)
        assert not app.pane.navigation.go_to_anchor("section-70")
        await finish_loading(app, pilot)
        assert "Section 70" in row_text(app.pane, 1)
        assert shown == []
