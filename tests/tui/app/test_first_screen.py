"""The first screen: how it looks is found out once, when it is painted; no source of styles is parsed twice, and nothing
styled again that stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.color import Color
from textual.containers import Vertical
from textual.screen import Screen
from textual.widgets import Static

from octavo.tui.app.first_screen import HeldBack
from octavo.tui.terminal.textual_internals import OnceParsed


class OneLine(HeldBack[None]):
    CSS = "Static { color: red; } Static.-changed { color: blue; }"

    def on_load(self) -> None:
        self.hold_back()

    def compose(self) -> ComposeResult:
        yield Static("a line")


async def test_what_changed_while_it_was_made_shows_when_it_is_painted() -> None:
    app = OneLine()
    async with app.run_test():
        line = app.query_one(Static)
        line.add_class("-changed")
        assert app.is_opening
        assert line.styles.color == Color.parse("red")
        app.show_first()
        assert line.styles.color == Color.parse("blue")
        line.remove_class("-changed")
        assert line.styles.color == Color.parse("red")


def test_a_source_is_parsed_once_for_each_set_of_colours() -> None:
    sheet = OnceParsed(variables={"ink": "red"})
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
    """How often it was given styles."""

    styled = 0

    def notify_style_update(self) -> None:
        self.styled += 1
        super().notify_style_update()


class Box(App[None]):
    """Two lines in a box."""

    CSS = "Line { color: $ink; &:focus { color: green; } } .-changed Line { color: blue; }"
    ink = "red"

    def __init__(self) -> None:
        super().__init__()
        self.stylesheet = OnceParsed(variables=self.get_css_variables())

    def get_css_variables(self) -> dict[str, str]:
        return {**super().get_css_variables(), "ink": self.ink}

    def compose(self) -> ComposeResult:
        with Vertical():
            yield Line("first")
            yield Line("second")


async def test_only_what_may_look_otherwise_is_styled_again() -> None:
    app = Box()
    async with app.run_test() as pilot:
        first, second = app.query(Line)
        app.screen.set_focus(None)
        await pilot.pause()
        first.styled = second.styled = 0
        app.stylesheet.update(app)
        assert (first.styled, second.styled) == (0, 0)
        first.focus()
        await pilot.pause()
        assert first.styled
        assert not second.styled
        assert [each.styles.color for each in (first, second)] == [Color.parse("green"), Color.parse("red")]


async def test_what_it_is_in_the_colours_and_what_was_set_beside_the_rules_are_looked_at() -> None:
    app = Box()
    async with app.run_test() as pilot:
        first, _ = app.query(Line)
        box = app.query_one(Vertical)
        app.screen.set_focus(None)
        await pilot.pause()
        box.add_class("-changed")
        assert first.styles.color == Color.parse("blue")
        box.remove_class("-changed")
        assert first.styles.color == Color.parse("red")
        first.styles.base.color = "yellow"
        app.stylesheet.update(first)
        assert first.styles.color == Color.parse("red")
        app.ink = "white"
        app.refresh_css(animate=False)
        assert first.styles.color == Color.parse("white")
        app.stylesheet.add_source("Line { color: black; }")
        app.stylesheet.update(first)
        assert first.styles.color == Color.parse("black")


class Other(Screen[None]):
    """Another view."""

    def compose(self) -> ComposeResult:
        yield Line("of the other")


class Views(HeldBack[None], Box):
    """An app of two views: its own screen, and one more."""

    opening = False

    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {"first": lambda: Screen(), "other": Other}
    DEFAULT_MODE = "first"
    AUTO_FOCUS = None


async def test_a_view_wears_the_theme_that_was_chosen_while_another_was_on_show() -> None:
    app = Views()
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


async def test_a_view_that_is_there_is_painted_without_a_wait_and_one_that_is_made_once_it_is_filled() -> None:
    app = Views()
    async with app.run_test() as pilot:
        await app.switch_mode("other")
        assert app._batch_count
        while app._batch_count:
            await pilot.pause()
        await app.switch_mode("first")
        assert not app._batch_count
        app.delay_update()
        assert app._batch_count
