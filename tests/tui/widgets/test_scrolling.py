"""Scrolling creates no garbage: the strips of a frame are freed when the next frame is painted. Of the scroll bar, only
rows that look different are painted."""

from __future__ import annotations

import gc

import pytest
from textual.geometry import Region
from textual.strip import Strip

from octavo.tui.reader.page_view import PageView
from tests.tui.reader.panes import PaneApp, wait_for_layout
from tests.tui.widgets.scratch import until


async def test_frames_are_freed_without_garbage_collection() -> None:
    """Strips that refer to themselves are freed only by a garbage collection. Scrolling creates hundreds of strips
    in a second."""
    text = "\n\n".join(f"Paragraph {number} of the page." for number in range(400))
    app = PaneApp(PageView())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        app.pane.show_markdown(text)
        while app.pane.max_scroll_y < 200:
            await pilot.pause()
        app.pane.focus()
        gc.collect()
        gc.freeze()  # Objects that exist already, which are many in a run of the suite, are not collected again.
        gc.disable()
        try:
            for _ in range(6):
                await pilot.press("space")
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            left = sum(isinstance(each, Strip) for each in gc.garbage)
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
    assert app.pane.scroll_offset.y > 100
    assert left < 30


@pytest.mark.before_release("600")
@pytest.mark.parametrize("paragraphs", [12, 60, 600])
async def test_scroll_bar_paints_only_rows_that_its_thumb_enters_or_leaves(paragraphs: int) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        app.pane.show_markdown("\n\n".join(f"Paragraph {number} of the page." for number in range(paragraphs)))
        while not (app.pane.contents.is_fully_parsed and app.pane.vertical_scrollbar.display):
            await pilot.pause()
        bar, rows, last = app.pane.vertical_scrollbar, Region(0, 0, 1, 20), app.pane.max_scroll_y
        shown = bar.render_lines(rows)
        for y in [*range(last + 1), last // 2, 0, last]:
            app.pane.scroll_to(y=y, animate=False, immediate=True, force=True)
            before, shown = shown, bar.render_lines(rows)
            painted = [new for new, old in zip(shown, before, strict=True) if new is not old]
            bar.refresh()
            whole = bar.render_lines(rows)
            changed = [new for new, old in zip(whole, before, strict=True) if new != old]
            assert [list(strip) for strip in shown] == [list(strip) for strip in whole]
            assert len(painted) <= len(changed) + 2
            shown = whole


async def test_click_beside_the_thumb_scrolls_a_page() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 20)) as pilot:
        await pilot.pause()
        app.pane.show_markdown("\n\n".join(f"Paragraph {number} of the page." for number in range(60)))
        while not (app.pane.contents.is_fully_parsed and app.pane.vertical_scrollbar.display):
            await pilot.pause()
        await wait_for_layout(app.pane, pilot)
        await until(pilot, lambda: app.pane.vertical_scrollbar.region.height == 20)
        await pilot.click(app.pane.vertical_scrollbar, offset=(0, 19))
        await until(pilot, lambda: app.pane.scroll_offset.y >= 15)
        await pilot.wait_for_animation()
        assert 15 <= app.pane.scroll_offset.y <= 20
