"""A timer calls nothing any more once what it is for is being removed."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult
from textual.widget import Widget

from octavo.tui.terminal import textual_internals


class OnePart(App[None]):
    """An app of one widget."""

    def compose(self) -> ComposeResult:
        yield Widget()


async def test_timer_of_a_busy_widget_calls_nothing_after_its_removal() -> None:
    app, called = OnePart(), []
    async with app.run_test() as pilot:
        widget, begun, goes_on = app.query_one(Widget), asyncio.Event(), asyncio.Event()

        async def be_busy() -> None:
            begun.set()
            await goes_on.wait()

        widget.call_later(be_busy)
        await begun.wait()
        widget.set_timer(0.001, lambda: called.append("late"))
        await asyncio.sleep(0.02)
        gone = widget.remove()
        await asyncio.sleep(0.02)
        assert textual_internals.is_being_removed(widget)
        goes_on.set()
        await gone
        await pilot.pause()
    assert called == []


async def test_interval_of_a_busy_widget_calls_nothing_after_its_removal() -> None:
    app, called = OnePart(), []
    async with app.run_test() as pilot:
        widget, begun, goes_on = app.query_one(Widget), asyncio.Event(), asyncio.Event()

        async def be_busy() -> None:
            begun.set()
            await goes_on.wait()

        widget.set_interval(0.001, lambda: called.append(textual_internals.is_being_removed(widget)))
        widget.call_later(be_busy)
        await begun.wait()
        gone = widget.remove()
        await asyncio.sleep(0.02)
        goes_on.set()
        await gone
        await pilot.pause()
    assert True not in called


async def test_timer_of_a_mounted_widget_calls() -> None:
    app, once, again = OnePart(), asyncio.Event(), asyncio.Event()
    async with app.run_test():
        app.query_one(Widget).set_timer(0.001, once.set)
        app.query_one(Widget).set_interval(0.001, again.set)
        await asyncio.wait_for(asyncio.gather(once.wait(), again.wait()), 5)
