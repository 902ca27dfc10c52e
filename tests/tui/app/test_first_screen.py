"""The first screen: how it looks is found out once, when it is painted; and no source of styles is parsed twice."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.color import Color
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
        assert app.opening
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
