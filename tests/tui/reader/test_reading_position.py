"""Reading positions that are restored later, even in another run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from octavo.data.state_db import StateDb
from octavo.documents.source_reader import parse
from octavo.tui.reader import page_loading
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import MAX_STORED_PAGES, ReadingPosition, ReadingPositions
from tests.tui.reader.panes import PaneApp, bar_column, screen
from tests.tui.reader.test_while_loading import finish_loading, loading_page

LONG = "\n\n".join(f"Paragraph {number} says a little of what there is to say." for number in range(2000))
FOLDED = LONG[:4000] + "\n\n<details>\n\n<summary>Closed</summary>\n\nInner words.\n\n</details>\n\n" + LONG[4000:9000]


def key_of(words: str, page: str = LONG) -> str:
    return next(block.key for block in parse(page).walk() if block.plain() == words)


def test_positions_of_recent_pages_are_known() -> None:
    with closing(StateDb(None)) as state:
        positions = ReadingPositions(state)
        for number in range(MAX_STORED_PAGES + 1):
            positions.remember(f"page {number}", ReadingPosition("block", number))
        positions.remember("page 1", ReadingPosition("other", -3))
        positions.remember("page 2", None)
        later = ReadingPositions(state)
        assert later.get("page 0") is None
        assert later.get("page 1") == ReadingPosition("other", -3)
        assert later.get("page 2") is None
        assert later.get(f"page {MAX_STORED_PAGES}") == ReadingPosition("block", MAX_STORED_PAGES)
        state.set_value("places on pages", ["no", "such"])
        assert ReadingPositions(state).get("page 1") is None


def test_page_that_is_read_again_at_the_same_position_is_not_dropped() -> None:
    with closing(StateDb(None)) as state:
        positions = ReadingPositions(state)
        for number in range(MAX_STORED_PAGES):
            positions.remember(f"page {number}", ReadingPosition("block", number))
        positions.remember("page 0", ReadingPosition("block", 0))
        positions.remember("another page", ReadingPosition("block", 1))
        assert positions.get("page 0") == ReadingPosition("block", 0)
        assert positions.get("page 1") is None


async def test_position_is_restored_before_page_is_parsed() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        view = app.pane
        view.navigation.restore_later(
            "p", ReadingPosition(key_of("Paragraph 1800 says a little of what there is to say."), 5)
        )
        view.show_markdown(LONG, title="Long", key="p")
        while not view.contents.is_fully_parsed:
            await pilot.pause()
        await pilot.pause()
        assert bar_column(view) == ["Paragraph 1800 says a little of what there is to say."]
        assert screen(view).split("\n")[5].startswith("▌")
        here = view.navigation.history_position
        view.show_markdown("Another page.", key="q")
        assert view.navigation.history_position is None
        view.navigation.restore_later("p", here)
        view.show(parse(LONG), title="Long", key="p")
        assert view.navigation.history_position == here
        await pilot.press("g")
        assert view.navigation.history_position is None


async def test_moving_before_restore_keeps_new_position(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_loading, "FIRST_SCREEN_WAIT", 0.0)
    async with loading_page() as (app, pilot):
        view = app.pane
        view.navigation.restore_later(
            "q", ReadingPosition(key_of("Paragraph 1999 says a little of what there is to say."), 5)
        )
        view.show_markdown(LONG, title="Long", key="q")
        assert not view.contents.is_fully_parsed
        view.viewport.scroll_by(4)
        await finish_loading(app, pilot)
        assert view.contents.is_fully_parsed
        assert view.scroll_offset.y == 4


async def test_restore_expands_blocks_and_missing_block_is_top() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        view = app.pane
        view.navigation.restore_later("p", ReadingPosition(key_of("Inner words.", FOLDED), -40))
        view.show(parse(FOLDED), key="p")
        await pilot.pause()
        assert bar_column(view) == ["│ Inner words."]
        view.navigation.restore_later("q", ReadingPosition("gone", 3))
        view.show(parse(LONG), key="q")
        assert view.scroll_offset.y == 0
        assert view.navigation.history_position is None


async def test_position_is_read_while_the_thread_renders_wide_blocks() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)):
        app.pane.show(parse("A page."), key="p")
        view_state = app.pane.viewport.view_state
        for number in range(50_000):
            view_state.pan_offset(f"block {number}", 10)

        def render() -> None:
            for number in range(50_000, 150_000):
                view_state.pan_offset(f"block {number}", 10)

        rendering = threading.Thread(target=render)
        rendering.start()
        while rendering.is_alive():
            assert app.pane.navigation.current_position.view_state is not None


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda blocks: ["New.", "Also new.", *blocks], "Paragraph 9."),
        (lambda blocks: blocks[2:], "Paragraph 9."),
        (lambda blocks: [*blocks[8:]], "Paragraph 9."),
        (lambda blocks: [*blocks[:6], *(f"New {number}." for number in range(12)), *blocks[6:]], "Paragraph 9."),
        (lambda blocks: [*blocks[:9], "An edited paragraph.", *blocks[10:]], "An edited paragraph."),
    ],
)
async def test_selected_block_stays_selected_when_the_page_changes(
    change: Callable[[list[str]], list[str]], expected: str
) -> None:
    blocks = [f"Paragraph {number}." for number in range(40)]
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        view = app.pane
        view.show_markdown("\n\n".join(blocks), key="p")
        await pilot.press("j", "j", *["right_parenthesis"] * 8)
        assert bar_column(view) == ["Paragraph 9."]
        view.show_markdown("\n\n".join(change(blocks)), key="p")
        await pilot.press("c")
        assert [each.block.plain() for each in app.said if isinstance(each, Reader.CommentRequested)] == [expected]
        assert bar_column(view) == [expected]
