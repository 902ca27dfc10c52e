"""A page or diff is split, laid out and built once, not again for each event that concerns it."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

import pytest

from octavo.tui.reader import diff_contents, page_loading, viewport
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_loading import PageLoaded, PageLoader, PageParse
from octavo.tui.reader.page_view import PageView
from octavo.tui.render import diff_sequence
from octavo.tui.render.comparison import compare
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.render.virtual_lines import ChunkLayout, RenderedChunks, lay_out_chunks
from octavo.tui.terminal import polite_thread
from tests.tui.reader.panes import PaneApp, screen, wait_for_layout

PAGE = "\n\n".join(f"## Section {number}\n\nParagraph {number} says a little." for number in range(400))


class LateLoader(PageLoader):
    """A loader whose first screen is ready only after `is_released` is set."""

    is_released = False
    load_in_thread: PageParse

    def parse_and_show(self, load: PageParse) -> Iterator[None]:
        self.load_in_thread = load
        while not self.is_released:
            yield
        yield from super().parse_and_show(load)

    def block_until_parsed(self) -> None:
        """Wait for the thread without the event loop, which would show the rest of the page."""
        while self.load_in_thread.whole_page is None:
            time.sleep(0.001)


@pytest.fixture
def laid_out(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the number of chunks of each layout that the thread does."""
    counts: list[int] = []

    def count(
        layout: ChunkLayout, chunks: Sequence[Any], which: Iterable[int]
    ) -> Generator[None, None, RenderedChunks]:
        counts.append(len(chunks))
        return lay_out_chunks(layout, chunks, which)

    monkeypatch.setattr(viewport, "lay_out_chunks", count)
    return counts


async def test_page_with_a_late_first_screen_is_laid_out_once(laid_out: list[int]) -> None:
    app = PaneApp(PageView())
    loader = app.pane.loader = LateLoader(app.pane, app.pane.contents, app.pane.navigation)
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        app.pane.show_markdown(PAGE, key="p")
        loader.is_released = True
        while loader.is_loading:
            await pilot.pause()
        await wait_for_layout(app.pane, pilot)
        assert laid_out == [len(app.pane.viewport.virtual_lines)]


async def test_page_at_a_restored_position_is_laid_out_once(laid_out: list[int]) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown(PAGE, key="p")
        while app.pane.loader.is_loading:
            await pilot.pause()
        await wait_for_layout(app.pane, pilot)
        app.pane.navigation.go_to_anchor("section-300")
        saved, before = app.pane.navigation.current_position, screen(app.pane)
        app.pane.show_markdown("Other.", key="q")
        laid_out.clear()
        app.pane.show_markdown(PAGE, key="p")
        app.pane.navigation.restore(saved)
        while app.pane.loader.is_loading:
            await pilot.pause()
        await wait_for_layout(app.pane, pilot)
        assert screen(app.pane) == before
        assert laid_out == [len(app.pane.viewport.virtual_lines)]


async def test_tab_chosen_while_loading_drops_older_heights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(polite_thread, "THREAD_WAIT", 60.0)
    monkeypatch.setattr(page_loading, "FIRST_BLOCKS", 210)
    tabs = (
        '{% tabs %}\n{% tab title="A" %}\nOne.\n{% endtab %}\n\n'
        '{% tab title="B" %}\nTwo.\n\nThree.\n\nFour.\n{% endtab %}\n{% endtabs %}'
    )
    first = "\n\n".join(f"Paragraph {number}." for number in range(200))  # too long for the event loop
    app = PaneApp(PageView())
    loader = app.pane.loader = LateLoader(app.pane, app.pane.contents, app.pane.navigation)
    loader.is_released = True
    async with app.run_test(size=(80, 20)) as pilot:
        await pilot.pause()
        app.pane.show_markdown(f"{first}\n\n{tabs}\n\n{PAGE}", key="p")
        tab = next(block for block in app.pane.contents.walk() if block.kind == "tabs").children[1]
        loader.block_until_parsed()
        app.pane.viewport.view_state.choose_tab(tab)
        app.pane.reset_lines()
        while loader.is_loading or app.pane.viewport.virtual_lines.estimated_count:
            await pilot.pause()
        lines = app.pane.viewport.virtual_lines
        heights = [lines.lines_above(index + 1) - lines.lines_above(index) for index in range(len(lines) - 1)]
        assert heights == [len(lines.lines(index)) for index in range(len(lines) - 1)]
        assert "Four." in "".join(line.text for line in lines.lines(200))


@pytest.mark.parametrize("markdown", [PAGE, f"{PAGE}\n\n\u200b```\n\nText.\n"], ids=["plain", "zero-width space"])
async def test_refresh_with_the_same_page_does_nothing(markdown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown(markdown, title="Long", key="p")
        while app.pane.loader.is_loading:
            await pilot.pause()
        await pilot.pause()
        document = app.pane.document
        splits: list[object] = []
        monkeypatch.setattr(page_loading, "split_into_chunks", splits.append)
        app.pane.show_markdown(markdown, title="Long", key="p")
        await pilot.pause()
        assert not app.pane.loader.is_loading
        assert app.pane.document is document
        assert splits == []
        assert [type(each) for each in app.said] == [PageLoaded]


async def test_refresh_with_another_title_shows_the_title() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        for title in ("Before", "After"):
            app.pane.show_markdown("Some text.", title=title, key="p")
            await pilot.pause()
            assert title in screen(app.pane)


async def test_diff_shown_with_threads_is_built_once(monkeypatch: pytest.MonkeyPatch) -> None:
    builds: list[object] = []
    build = diff_sequence.build_diff

    def count(*given: Any, **options: Any) -> Any:
        builds.append(given)
        return build(*given, **options)

    monkeypatch.setattr(diff_contents, "build_diff", count)
    app = PaneApp(DiffView())
    compared = compare("One word.", "Two words.")
    threads = {"": [ThreadSummary("Zoe M.", "3 d", "On the page.")]}
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(compared, key="p", threads=threads)
        app.pane.set_threads(threads)
        await pilot.pause()
        assert "Zoe M." in screen(app.pane)
        assert len(builds) == 1
        app.pane.show(compared, key="p", threads={})
        await pilot.pause()
        assert "Zoe M." not in screen(app.pane)


async def test_row_with_cursor_bar_is_painted_once_while_scrolling() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown("Many words. " * 400, key="p")
        await pilot.pause()
        await pilot.press(")")
        before = app.pane.painter.paint()
        app.pane.viewport.scroll_by(1)
        after = app.pane.painter.paint()
        assert "▌" in before[5].text
        assert before[5] is after[4]
