"""The first screen is painted with its final styles, and each view has the current theme."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.color import Color
from textual.containers import Vertical
from textual.css.styles import Styles
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Static

from octavo.cli.sessions import sign_in_methods
from octavo.settings import Settings
from octavo.tui.app.octavo import OctavoStylesheet
from octavo.tui.core.shell import Shell
from octavo.tui.terminal.textual_internals import CachedStylesheet
from tests.call_counter import CallCounter


class PlainShell(Shell):
    """The base of the app, without views and without a session."""

    def __init__(self, folder: Path) -> None:
        settings = Settings(folder, folder, folder, folder)
        super().__init__(settings, sign_in_methods(settings, "https://api.example.com"), None)
        self.stylesheet = OctavoStylesheet(variables=self.get_css_variables())


class CountingLine(Static, can_focus=True):
    """A line that counts how often it is drawn."""

    drawn = 0

    def render_lines(self, crop: Region) -> list[Strip]:
        self.drawn += 1
        return super().render_lines(crop)


class OneLineApp(PlainShell):
    CSS = "Static { color: red; &.-changed { color: blue; } } Screen:focus-within Static { color: green; }"
    AUTO_FOCUS = None

    def on_load(self) -> None:
        self.delay_paint()

    def compose(self) -> ComposeResult:
        yield CountingLine("a line")


async def test_changes_before_the_first_paint_are_painted(tmp_path: Path) -> None:
    app = OneLineApp(tmp_path)
    async with app.run_test():
        line = app.query_one(Static)
        line.add_class("-changed")
        app.paint_first_screen()
        assert line.styles.color == Color.parse("blue")
        line.remove_class("-changed")
        assert line.styles.color == Color.parse("red")


async def test_nothing_is_drawn_before_the_first_paint(tmp_path: Path) -> None:
    app = OneLineApp(tmp_path)
    async with app.run_test() as pilot:
        line = app.query_one(CountingLine)
        line.update("another line")
        await pilot.resize_terminal(70, 20)
        assert line.drawn == 0
        app.paint_first_screen()
        await pilot.pause()
        assert line.drawn


async def test_focus_before_the_first_paint_is_painted(tmp_path: Path) -> None:
    app = OneLineApp(tmp_path)
    async with app.run_test() as pilot:
        line = app.query_one(CountingLine)
        line.focus()
        await pilot.pause()
        assert line.has_focus
        app.paint_first_screen()
        assert line.styles.color == Color.parse("green")


def test_css_source_is_parsed_once_for_each_theme() -> None:
    sheet = CachedStylesheet(variables={"ink": "red"})
    sheet.add_source("Static { color: $ink; }")
    sheet.parse()
    (before,) = sheet.rules
    sheet.add_source("Label { color: $ink; }")
    sheet.set_variables({"ink": "red"})
    sheet.reparse()
    assert sheet.rules[0] is before
    assert len(sheet.rules) == 2
    sheet.set_variables({"ink": "blue"})
    sheet.reparse()
    assert [rule.styles.color for rule in sheet.rules] == [Color.parse("blue")] * 2


class Line(Static, can_focus=True):
    """A line that can get the focus."""


class TwoLineApp(App[int]):
    """An app with two lines in a container."""

    CSS = "Line { color: $ink; &:focus { color: green; } } .-changed Line { color: blue; }"
    ink = "red"

    def __init__(self) -> None:
        super().__init__()
        self.stylesheet = OctavoStylesheet(variables=self.get_css_variables())

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), "ink": self.ink}

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Line("first")
            yield Line("second")


class OtherView(Screen[None]):
    """A second view."""

    def compose(self) -> ComposeResult:
        yield Line("of the other")


class TwoViewApp(PlainShell, TwoLineApp):
    """An app with two views."""

    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {"first": lambda: Screen(), "other": OtherView}
    DEFAULT_MODE = "first"
    AUTO_FOCUS = None


async def test_only_changed_style_rules_are_set() -> None:
    app = TwoLineApp()
    async with app.run_test() as pilot:
        first, last = app.query(Line)
        first.focus()
        await pilot.pause()
        with CallCounter(Styles.set_rule) as calls:
            for line in (first, last):
                line.update_node_styles()
        assert not calls.counts
        assert [line.styles.color for line in (first, last)] == [Color.parse("green"), Color.parse("red")]
        app.screen.add_class("-changed")
        assert last.styles.color == Color.parse("blue")
        app.screen.remove_class("-changed")
        last.focus()
        await pilot.pause()
        assert [line.styles.color for line in (first, last)] == [Color.parse("red"), Color.parse("green")]


async def test_hidden_view_gets_a_theme_that_is_chosen_while_it_is_hidden(tmp_path: Path) -> None:
    app = TwoViewApp(tmp_path)
    async with app.run_test() as pilot:
        await app.switch_mode("other")
        line = app.screen.query_one(Line)
        assert line.styles.color == Color.parse("red")
        await app.switch_mode("first")
        app.ink = "white"
        app.theme = "textual-light"
        await pilot.pause()
        await app.switch_mode("other")
        await pilot.pause()
        assert line.styles.color == Color.parse("white")


async def test_only_a_new_view_delays_painting_until_it_is_complete(tmp_path: Path) -> None:
    app = TwoViewApp(tmp_path)
    async with app.run_test() as pilot:
        await app.switch_mode("other")
        assert app._batch_count
        while app._batch_count:
            await pilot.pause()
        await app.switch_mode("first")
        assert not app._batch_count
        app.delay_update()
        assert app._batch_count
