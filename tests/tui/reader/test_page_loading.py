"""Pages are shown before they are completely parsed."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from octavo.documents.source_reader import parse
from octavo.tui.reader import page_loading
from octavo.tui.reader.page_loading import PageLoaded, PageLoader, PageParse
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.layout_context import ViewState
from octavo.tui.render.virtual_lines import MAX_KEPT_LINES
from octavo.tui.terminal import polite_thread
from tests.tui.reader.panes import PaneApp, screen, wait_for_layout
from tests.tui.reader.test_while_loading import HeldPage, finish_loading, loading_page

PAGE = "\n\n".join(f"## Section {number % 200}\n\nParagraph {number % 200} says a little." for number in range(2000))
WIDE = PAGE.replace("says a little", "says much more than fits into one line of a pane that is narrow, and then some")
WITH_LAST_HEADING = PAGE + "\n\n## The last of all\n\nA needle.\n"


async def test_long_page_shows_first_screen_before_it_is_parsed() -> None:
    async with loading_page(PAGE) as (app, pilot):
        assert "Section 0" in screen(app.pane)
        assert app.pane.document is not None
        begin = len(app.pane.document.blocks)
        await pilot.press("G")
        await finish_loading(app, pilot)
        assert len(app.pane.document.blocks) > begin
        assert "Paragraph 199" in screen(app.pane)
        assert [type(each) for each in app.said] == [PageLoaded]


def test_first_screen_adds_no_steps_of_parsing() -> None:
    """A short page is parsed on the event loop, where waiting for a frame would block it."""
    markdown = "\n\n".join(f"Paragraph {number}." for number in range(30))
    load = PageParse(markdown, ("", ""), "p", "", ViewState(), needs_first_screen=True)
    assert len(list(load.steps())) == 2 * 30, "one step to parse each block, and one to split it into chunks"


async def test_page_of_one_long_block_is_shown_before_it_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "THREAD_WAIT", 60.0)
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        app.pane.show_markdown("Many words. " * 20_000, key="p")
        assert "Many words." in screen(app.pane)
        assert app.pane.viewport.virtual_lines.estimated_count > 0


class StoppedLoader(PageLoader):
    """A loader that begins late, and then stops after the first block while `is_stopped` is set."""

    is_stopped = True

    def parse_and_show(self, parse: PageParse) -> Iterator[None]:
        time.sleep(0.1)
        for step in super().parse_and_show(parse):
            yield step
            while self.is_stopped:
                yield
                time.sleep(0.001)


class StoppedPageApp(PaneApp[PageView]):
    """An app that opens a page of one long block when it starts."""

    def on_mount(self) -> None:
        super().on_mount()
        self.pane.loader = StoppedLoader(self.pane, self.pane.contents, self.pane.navigation)
        self.pane.show_markdown("# Long\n\n" + "Many words. " * 2_000, title="Long", key="p")


async def test_title_is_shown_before_a_long_block_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_loading, "PARSER_START_WAIT", 60.0)
    app = StoppedPageApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        assert "Long" in screen(app.pane)
        assert "Many words." not in screen(app.pane)
        assert isinstance(app.pane.loader, StoppedLoader)
        app.pane.loader.is_stopped = False
        while "Many words." not in screen(app.pane):
            await pilot.pause()
        assert screen(app.pane).count("Long") == 1


@pytest.mark.before_release
async def test_late_first_screen_is_shown_when_parsed() -> None:
    app = PaneApp(HeldPage())
    app.pane.loader.is_held_from_the_beginning = True
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown("# Long\n\n" + PAGE, title="Long", key="p")
        assert app.pane.key == "p"
        assert app.pane.document is not None
        assert not app.pane.document.blocks
        app.pane.loader.is_held_from_the_beginning = False
        while "Section 0" not in screen(app.pane):
            await pilot.pause()
        assert not app.pane.contents.is_fully_parsed
        assert screen(app.pane).count("Long") == 1
        await finish_loading(app, pilot)
        assert app.pane.viewport.virtual_lines.chunks[-1].block.plain() == "Paragraph 199 says a little."
        assert len(app.pane.viewport.virtual_lines) == 4001


@pytest.mark.before_release
async def test_heading_scrolls_to_top_before_text_below_is_parsed() -> None:
    async with loading_page(PAGE) as (app, pilot):
        assert app.pane.document is not None
        last = app.pane.document.headings[-1]
        assert app.pane.navigation.go_to_anchor(last.anchor)
        await finish_loading(app, pilot)
        assert last.title in screen(app.pane).splitlines()[1]


async def test_anchor_requested_while_loading_is_followed_later() -> None:
    async with loading_page(WITH_LAST_HEADING) as (app, pilot):
        view = app.pane
        assert not view.navigation.go_to_anchor("the-last-of-all")
        view.find_bar.find("needle")
        assert not view.find_bar.matches
        await finish_loading(app, pilot)
        while view.find_bar.search_status in ("searching", "1 found so far"):
            await pilot.pause()
        assert view.find_bar.search_status == "1 found"
        assert "The last of all" in screen(view)


async def test_long_page_has_exact_heights_and_keeps_few_lines() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown(PAGE, title="Long", key="p")
        while app.pane.loader.is_loading:
            await pilot.pause()
        await wait_for_layout(app.pane, pilot)
        before = app.pane.viewport.virtual_lines.total
        kept = sum(map(len, app.pane.viewport.virtual_lines._lines.values()))
        assert kept <= MAX_KEPT_LINES < before
        assert (
            sum(
                len(app.pane.viewport.virtual_lines.lines(chunk))
                for chunk in range(len(app.pane.viewport.virtual_lines))
            )
            == before
        )


async def test_parsed_page_is_laid_out_in_thread() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(PAGE), title="Long", key="p")
        assert app.pane.viewport.virtual_lines.estimated_count > len(app.pane.viewport.virtual_lines) // 2
        await pilot.press("ctrl+d", "ctrl+d")
        before = screen(app.pane)
        await wait_for_layout(app.pane, pilot)
        await pilot.pause()
        assert screen(app.pane) == before
        assert app.pane.virtual_size.height == app.pane.viewport.virtual_lines.total


@pytest.mark.before_release
async def test_resize_keeps_top_and_exact_heights() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(WIDE), title="Long", key="p")
        await wait_for_layout(app.pane, pilot)
        assert app.pane.navigation.go_to_anchor("section-150")
        total = app.pane.viewport.virtual_lines.total
        await pilot.resize_terminal(50, 20)
        while app.pane.viewport.layout_width > 50 or app.pane.viewport.virtual_lines.estimated_count:
            await pilot.pause()
        await pilot.pause()
        assert app.pane.viewport.virtual_lines.total > total
        assert "Section 150" in "".join(screen(app.pane).splitlines()[:3])


@pytest.mark.before_release
@pytest.mark.parametrize("keys", [("G",), ("G", "left_parenthesis", "left_parenthesis", "b"), ("G", "b", "b")])
async def test_cursor_bar_stays_on_block_in_source_during_layout(keys: tuple[str, ...]) -> None:
    page = WIDE.replace("Paragraph", f"```java\n{'words of code ' * 8}\n```\n\nParagraph")
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(page), title="Long", key="p")
        await wait_for_layout(app.pane, pilot)
        await pilot.press(*keys)
        before = app.pane.cursor.current()
        await pilot.press("backslash")
        now = app.pane.cursor.current()
        assert before is not None
        assert now is not None
        assert now[3].key == before.block.key
        await wait_for_layout(app.pane, pilot)
        await pilot.pause()
        later = app.pane.cursor.current()
        assert later is not None
        assert later[3].key == before.block.key


@pytest.mark.parametrize("keys", [("ctrl+d",), ("ctrl+d", "ctrl+d", "ctrl+d"), ("G",)])
async def test_cursor_bar_stays_on_cut_block_when_pane_gets_wider(
    keys: tuple[str, ...],
) -> None:
    paragraph = "Wide words wander wearily westward while weather worsens. " * 4
    page = "\n\n".join(f"{number} {paragraph}" for number in range(12))
    app = PaneApp(PageView())
    async with app.run_test(size=(50, 12)) as pilot:
        app.pane.show(parse(page), title="Long", key="p")
        await pilot.pause()
        await pilot.press(*keys)
        before = app.pane.cursor.current()
        await pilot.resize_terminal(100, 12)
        while app.pane.viewport.layout_width < 90 or app.pane.viewport.virtual_lines.estimated_count:
            await pilot.pause()
        await pilot.pause()
        after = app.pane.cursor.current()
        assert before is not None
        assert after is not None
        assert after[3] is before[3]


@pytest.mark.before_release
async def test_block_expanded_during_layout_stays_expanded() -> None:
    page = "<details>\n\n<summary>Closed</summary>\n\nInner words.\n\n</details>\n\n" + PAGE
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(page), key="p")
        await pilot.pause()
        block = app.pane.viewport.virtual_lines.chunks[0].block
        app.pane.viewport.view_state.toggle(block)
        app.pane.viewport.lay_out_again(0)
        await wait_for_layout(app.pane, pilot)
        await pilot.pause()
        assert "Inner words." in screen(app.pane)
        app.pane.viewport.view_state.toggle(block)
        app.pane.viewport.lay_out_again(0)
        assert "Inner words." not in screen(app.pane)


@pytest.mark.before_release
async def test_colors_that_arrive_later_reach_lines_laid_out_in_a_thread() -> None:
    page = PAGE + "\n\n```python\nimport harbour\n```\n"
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown(page, key="p")
        while app.pane.loader.is_loading:
            await pilot.pause()
        await pilot.press("G")
        code = len(app.pane.viewport.virtual_lines) - 1
        styles: dict[str, object] = {}
        while styles.get("import") == styles.get("harbour"):
            await pilot.pause()
            styles = {
                piece.text: piece.style for line in app.pane.viewport.virtual_lines.lines(code) for piece in line.pieces
            }
