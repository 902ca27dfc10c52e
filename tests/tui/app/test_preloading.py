"""Modules of other views are imported once the first view is loaded."""

from __future__ import annotations

from textual.app import App

from octavo.tui.app.pauses import DELAY, LONGEST_DELAY, run_when_idle


async def test_preloading_starts_when_the_view_is_loaded() -> None:
    app: App[None] = App()
    waiting, started = [True], list[bool]()
    async with app.run_test() as pilot:
        run_when_idle(app, lambda: waiting[0], lambda: started.append(True))
        await pilot.pause(3 * DELAY)
        assert not started, "the preloading must wait for the view"
        waiting[0] = False
        await pilot.pause(2 * DELAY)
        assert started == [True], "the preloading must start once"


async def test_preloading_starts_even_without_a_response() -> None:
    app: App[None] = App()
    started = list[bool]()
    async with app.run_test() as pilot:
        run_when_idle(app, lambda: True, lambda: started.append(True))
        await pilot.pause(LONGEST_DELAY + 2 * DELAY)
        assert started == [True]
