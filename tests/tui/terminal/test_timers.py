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


async def test_a_timer_that_ended_while_its_widget_was_busy_calls_nothing_when_it_is_going_by_then() -> None:
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


async def test_a_timer_that_goes_on_calls_nothing_when_its_widget_is_busy_and_going() -> None:
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


async def test_a_timer_of_what_stays_calls() -> None:
    app, once, again = OnePart(), asyncio.Event(), asyncio.Event()
    async with app.run_test():
        app.query_one(Widget).set_timer(0.001, once.set)
        app.query_one(Widget).set_interval(0.001, again.set)
        await asyncio.wait_for(asyncio.gather(once.wait(), again.wait()), 5)
