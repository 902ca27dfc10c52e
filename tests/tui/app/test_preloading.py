"""Modules of other views are imported when the first view is loaded."""

from __future__ import annotations

from textual.app import App

from octavo.tui.app.preloading import DELAY, LONGEST_DELAY, run_when_idle


async def test_preloading_starts_when_the_view_is_loaded() -> None:
    app: App[None] = App()
    awaited, begun = [True], list[bool]()
    async with app.run_test() as pilot:
        run_when_idle(app, lambda: awaited[0], lambda: begun.append(True))
        await pilot.pause(3 * DELAY)
        assert not begun, "the answers come first"
        awaited[0] = False
        await pilot.pause(2 * DELAY)
        assert begun == [True], "once"


async def test_preloading_starts_even_without_a_response() -> None:
    app: App[None] = App()
    begun = list[bool]()
    async with app.run_test() as pilot:
        run_when_idle(app, lambda: True, lambda: begun.append(True))
        await pilot.pause(LONGEST_DELAY + 2 * DELAY)
        assert begun == [True]
