"""Scrolling creates no garbage: the strips of a frame are freed when the next frame is painted."""

from __future__ import annotations

import gc

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
