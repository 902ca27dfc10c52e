"""Only changed and visible widgets are laid out and painted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from textual.app import ComposeResult, RenderResult
from textual.geometry import Region
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from octavo.tui.widgets import bars
from octavo.tui.widgets.bars import KeyBar
from octavo.tui.widgets.commands import ActiveCommand, Command, Commands, key_bar
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.text_widgets import ChangingText
from tests.tui.widgets.scratch import Scratch, shown, until, wait_idle


class TextScreen(Screen[None]):
    """A screen with one text."""

    def compose(self) -> ComposeResult:
        yield Static("below", id="said")


class StackedScreensApp(Scratch):
    """An app that opens several screens above each other."""


async def test_change_below_a_dialog_is_painted() -> None:
    app = StackedScreensApp()
    async with app.run_test(size=(30, 5)) as pilot:
        below, dialog = TextScreen(), ModalScreen[None]()
        await app.push_screen(below)
        await app.push_screen(dialog)
        text = below.query_one("#said", Static)
        text.update("one\ntwo\nthree")
        await until(pilot, lambda: text.size.height == 3)
        await pilot.pause()  # The pause paints the dialog, which otherwise keeps its earlier strips.
        assert shown(app) == "one\ntwo\nthree\n"


@pytest.mark.parametrize("kind", [Screen, ModalScreen])
async def test_change_is_painted_although_a_screen_below_changes(kind: type[Screen[None]]) -> None:
    app = StackedScreensApp()
    async with app.run_test(size=(30, 5)) as pilot:
        below, top, text = TextScreen(), kind(), Static("before")
        await app.push_screen(below)
        await app.push_screen(top)
        await top.mount(Static("title"), text)
        for _ in range(5):
            await pilot.pause(0.1)
            top._on_timer_update()
        text.update("after")
        top._dirty_widgets.add(text)
        below._compositor._dirty_regions.add(Region(0, 0, 30, 1))
        below._compositor_refresh()
        top._on_timer_update()
        assert not text._repaint_regions, "the changed text must be painted"


class CountingKeyBar(KeyBar):
    """A key bar that counts its renderings."""

    render_count = 0

    def render(self) -> RenderResult:
        self.render_count += 1
        return super().render()


KEYS: Commands[OneKeyApp] = Commands(
    "keys",
    (Command("act", "a", "Act", "Act", run=lambda _, app: None, why_not=lambda _, app: app.disabled_reason()),),
)


class OneKeyApp(Scratch):
    """An app with one key, which can be disabled."""

    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (KEYS,)
    is_disabled = False

    def disabled_reason(self) -> str | None:
        return "Not now." if self.is_disabled else None


async def test_changed_key_bar_is_drawn_once() -> None:
    app = OneKeyApp(bar := CountingKeyBar())
    async with app.run_test(size=(40, 3)):
        await wait_idle(app)
        render_count = bar.render_count
        app.is_disabled = True
        app.screen.refresh_bindings()
        await wait_idle(app)
        assert bar.render_count - render_count == 1
        for app.is_disabled in (False, True):
            app.screen.refresh_bindings()
        await wait_idle(app)
        assert bar.render_count - render_count == 1


async def test_key_bar_is_computed_once_for_each_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[Screen[Any]] = []

    def counted_key_bar(screen: Screen[Any]) -> list[ActiveCommand]:
        computed.append(screen)
        return key_bar(screen)

    monkeypatch.setattr(bars, "key_bar", counted_key_bar)
    app = OneKeyApp(KeyBar())
    async with app.run_test(size=(40, 3)) as pilot:
        await wait_idle(app)
        computed.clear()
        with app.batch_update():
            for _ in range(5):
                app.screen.refresh_bindings()
                await pilot.pause(0.05)
            assert not computed, "nothing is painted, so no key bar is needed"
        await wait_idle(app)
        assert len(computed) == 1


async def test_key_bar_is_painted_no_later_than_the_content(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[set[Region]] = []

    def note_paint(screen: Screen[Any], paint: Callable[[Screen[Any]], None] = Screen._compositor_refresh) -> None:
        painted.append(screen._compositor._dirty_regions.copy())
        paint(screen)

    app = OneKeyApp(text := Static("before"), bar := KeyBar())
    async with app.run_test(size=(40, 3)):
        await wait_idle(app)
        monkeypatch.setattr(Screen, "_compositor_refresh", note_paint)
        text.update("after", layout=False)
        app.is_disabled = True
        app.screen.refresh_bindings()
        await wait_idle(app)
        frames_of_bar = [index for index, regions in enumerate(painted) if bar.region in regions]
        frames_of_text = [index for index, regions in enumerate(painted) if text.region in regions]
        assert frames_of_bar[0] <= frames_of_text[0]


async def test_layout_and_key_bar_are_updated_only_when_needed() -> None:
    text, bar = ChangingText("what there is"), CountingKeyBar()
    row_list: RowList[int] = RowList(lambda number: Row(text=f"row {number}"), key=lambda number: number)
    app = OneKeyApp(text, row_list, bar)
    async with app.run_test(size=(40, 8)):
        row_list.show([1])
        text.update("one of two")
        await wait_idle(app)
        laid_out: list[Screen[object]] = []
        app.screen.screen_layout_refresh_signal.subscribe(app, laid_out.append)
        render_count = bar.render_count
        row_list.show([1, 2, 3])
        text.update("two of two")
        app.screen.refresh_bindings()
        await wait_idle(app)
        assert shown(app).splitlines()[0] == "two of two"
        assert "row 3" in shown(app)
        assert not laid_out
        assert bar.render_count == render_count
        app.is_disabled = True
        app.screen.refresh_bindings()
        text.update("two\nlines")
        row_list.show(range(20))
        await wait_idle(app)
        assert shown(app).splitlines()[1] == "lines"
        assert bar.render_count > render_count
        assert row_list.show_vertical_scrollbar, "the rows do not fit, so the list must show its scroll bar"
        assert laid_out


async def height_and_text(text: Static, app: Scratch) -> tuple[int, str]:
    """Return the height of a widget when the app is idle, and its text."""
    await wait_idle(app)
    return text.size.height, shown(app)


@pytest.mark.parametrize("kind", [Static, ChangingText])
async def test_size_changed_during_another_layout_is_used(kind: type[Static]) -> None:
    app = Scratch(text := kind("one"), Static("below"))
    async with app.run_test(size=(30, 8)):
        await wait_idle(app)
        text.update("one\ntwo")
        app.screen.mount(Static("last"))
        app.screen._refresh_layout()
        text.update("one\ntwo\nthree\nfour")
        assert await height_and_text(text, app) == (4, "one\ntwo\nthree\nfour\nbelow\nlast\n")


@pytest.mark.parametrize("kind", [Static, ChangingText])
async def test_size_changed_before_mounting_is_used(kind: type[Static]) -> None:
    app = Scratch(Static("above"))
    async with app.run_test(size=(30, 8)):
        await wait_idle(app)
        app.screen.mount(text := kind("one"))
        app.screen._refresh_layout()
        assert not text.is_mounted
        text.update("one\ntwo\nthree")
        assert await height_and_text(text, app) == (3, "above\none\ntwo\nthree\n")


async def test_new_text_gets_its_height_in_a_width_used_before() -> None:
    app = Scratch(text := ChangingText("some words in two rows, of these"), Static("below"))
    async with app.run_test(size=(20, 8)) as pilot:
        assert (await height_and_text(text, app))[0] == 2
        await pilot.resize_terminal(80, 8)
        assert (await height_and_text(text, app))[0] == 1
        text.update("others that take a row here, and all of four rows there, if not more")
        assert (await height_and_text(text, app))[0] == 1
        await pilot.resize_terminal(20, 8)
        rows, seen = await height_and_text(text, app)
        assert rows == 4
        assert "not more\nbelow" in seen
