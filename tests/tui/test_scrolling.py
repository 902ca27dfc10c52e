"""What scrolls leaves no garbage: a frame is gone when the next one is drawn."""

from __future__ import annotations

import gc

from textual.strip import Strip

from octavo.tui.page.view import PageView
from tests.tui.page.panes import PaneApp


async def test_frames_are_gone_without_a_look_for_garbage() -> None:
    """Strips that remember themselves are found only by looking: hundreds a second while one scrolls."""
    text = "\n\n".join(f"Paragraph {number} of the page." for number in range(400))
    app = PaneApp(PageView())
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.pause()
        app.pane.show_markdown(text)
        await pilot.pause()
        app.pane.focus()
        gc.collect()
        gc.freeze()  # what is there already, which is much in a run of the suite, is not looked through again
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
