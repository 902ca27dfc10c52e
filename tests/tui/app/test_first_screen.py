"""The first screen is styled when it is painted, and screens of views have the current theme."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.color import Color
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static

from octavo.cli.sessions import Ways
from octavo.settings import Settings
from octavo.tui.core.shell import Shell
from octavo.tui.terminal.textual_internals import CachedStylesheet


class PlainShell(Shell):
    """The base of the app, without views and without a session."""

    def __init__(self, folder: Path) -> None:
        settings = Settings(folder, folder, folder, folder)
        super().__init__(settings, Ways(settings, "https://api.example.com"), None)


class OneLine(PlainShell):
    CSS = "Static { color: red; } Static.-changed { color: blue; }"

    def on_load(self) -> None:
        self.delay_paint()

    def compose(self) -> ComposeResult:
        yield Static("a line")


async def test_changes_before_the_first_paint_are_painted(tmp_path: Path) -> None:
    app = OneLine(tmp_path)
    async with app.run_test():
        line = app.query_one(Static)
        line.add_class("-changed")
        assert app.is_opening
        assert line.styles.color == Color.parse("red")
        app.paint_first_screen()
        assert line.styles.color == Color.parse("blue")
        line.remove_class("-changed")
        assert line.styles.color == Color.parse("red")


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
    """A line that can have the focus."""


class Box(App[int]):
    """Two lines in a box."""

    CSS = "Line { color: $ink; &:focus { color: green; } } .-changed Line { color: blue; }"
    ink = "red"

    def __init__(self) -> None:
        super().__init__()
        self.stylesheet = CachedStylesheet(variables=self.get_css_variables())

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), "ink": self.ink}

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Line("first")
            yield Line("second")


class Other(Screen[None]):
    """Another view."""

    def compose(self) -> ComposeResult:
        yield Line("of the other")


class Views(PlainShell, Box):
    """An app of two views: its own screen, and one more."""

    is_opening = False

    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {"first": lambda: Screen(), "other": Other}
    DEFAULT_MODE = "first"
    AUTO_FOCUS = None


async def test_hidden_view_gets_the_theme_that_was_chosen_meanwhile(tmp_path: Path) -> None:
    app = Views(tmp_path)
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


async def test_repeated_view_is_painted_without_delay_a_new_one_when_complete(tmp_path: Path) -> None:
    app = Views(tmp_path)
    async with app.run_test() as pilot:
        await app.switch_mode("other")
        assert app._batch_count
        while app._batch_count:
            await pilot.pause()
        await app.switch_mode("first")
        assert not app._batch_count
        app.delay_update()
        assert app._batch_count
