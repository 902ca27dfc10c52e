"""A timer calls nothing once the removal of its widget has started."""

from __future__ import annotations

import asyncio

from textual.app import App, ComposeResult
from textual.widget import Widget

from octavo.tui.terminal import textual_internals


class OneWidgetApp(App[None]):
    """An app with one widget."""

    def compose(self) -> ComposeResult:
        yield Widget()


async def test_timer_of_a_busy_widget_calls_nothing_after_its_removal() -> None:
    app, called = OneWidgetApp(), []
    async with app.run_test() as pilot:
        widget, started, may_continue = app.query_one(Widget), asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            started.set()
            await may_continue.wait()

        widget.call_later(wait)
        await started.wait()
        widget.set_timer(0.001, lambda: called.append("late"))
        await asyncio.sleep(0.02)
        removal = widget.remove()
        await asyncio.sleep(0.02)
        assert textual_internals.is_being_removed(widget)
        may_continue.set()
        await removal
        await pilot.pause()
    assert called == []


async def test_timer_of_a_busy_screen_calls_nothing_after_the_app_has_ended() -> None:
    app, called = OneWidgetApp(), []
    async with app.run_test():
        screen, started, may_continue = app.screen, asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            started.set()
            await may_continue.wait()

        screen.call_later(wait)
        await started.wait()
        screen.set_timer(0.001, lambda: called.append("late"))
        await asyncio.sleep(0.02)
        app.exit()
        may_continue.set()
    assert called == []


async def test_interval_of_a_busy_widget_calls_nothing_after_its_removal() -> None:
    app, called = OneWidgetApp(), []
    async with app.run_test() as pilot:
        widget, started, may_continue = app.query_one(Widget), asyncio.Event(), asyncio.Event()

        async def wait() -> None:
            started.set()
            await may_continue.wait()

        widget.set_interval(0.001, lambda: called.append(textual_internals.is_being_removed(widget)))
        widget.call_later(wait)
        await started.wait()
        removal = widget.remove()
        await asyncio.sleep(0.02)
        may_continue.set()
        await removal
        await pilot.pause()
    assert True not in called


async def test_timer_of_a_mounted_widget_calls() -> None:
    app, once, again = OneWidgetApp(), asyncio.Event(), asyncio.Event()
    async with app.run_test():
        app.query_one(Widget).set_timer(0.001, once.set)
        app.query_one(Widget).set_interval(0.001, again.set)
        await asyncio.wait_for(asyncio.gather(once.wait(), again.wait()), 5)
