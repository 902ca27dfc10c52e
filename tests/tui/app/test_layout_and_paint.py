"""Laid out and painted is what changed, and nothing that cannot be seen."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from textual.app import ComposeResult, RenderResult
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from octavo.tui.widgets.commands import Command, Commands
from octavo.tui.widgets.key_bar import KeyBar
from octavo.tui.widgets.row_list import Row, RowList
from octavo.tui.widgets.text_widgets import ChangingText
from tests.tui.widgets.scratch import Scratch, at_rest, shown, until


class Shows(Screen[None]):
    """A screen that says something."""

    def compose(self) -> ComposeResult:
        yield Static("below", id="said")


class Seen(Scratch):
    """An app of screens over one another."""


async def test_change_below_a_dialog_is_painted() -> None:
    app = Seen()
    async with app.run_test(size=(30, 5)) as pilot:
        below, dialog = Shows(), ModalScreen[None]()
        await app.push_screen(below)
        await app.push_screen(dialog)
        said = below.query_one("#said", Static)
        said.update("one\ntwo\nthree")
        await until(pilot, lambda: said.size.height == 3)
        await (
            pilot.pause()
        )  # which has the dialog painted: it is asked for only then, since it is kept as it was painted
        assert shown(app) == "one\ntwo\nthree\n"


class Counting(KeyBar):
    """Number of renderings."""

    drawn = 0

    def render(self) -> RenderResult:
        self.drawn += 1
        return super().render()


KEYS: Commands[Keys] = Commands(
    "keys",
    (Command("act", "a", "Act", "Act", run=lambda _, app: None, why_not=lambda _, app: app.why_dim()),),
    find=lambda app: app,
)


class Keys(Scratch):
    """An app with one key, which may be dim."""

    COMMAND_GROUPS: ClassVar[tuple[Commands[Any], ...]] = (KEYS,)
    is_dim = False
    asked = 0

    def why_dim(self) -> str | None:
        self.asked += 1
        return "Not now." if self.is_dim else None


async def test_changed_key_bar_is_computed_and_drawn_once() -> None:
    app = Keys(bar := Counting())
    async with app.run_test(size=(40, 3)):
        await at_rest(app)
        asked, drawn = app.asked, bar.drawn
        app.is_dim = True
        app.screen.refresh_bindings()
        await at_rest(app)
        assert (app.asked - asked, bar.drawn - drawn) == (1, 1)
        for app.is_dim in (False, True):
            app.screen.refresh_bindings()
        await at_rest(app)
        assert bar.drawn - drawn == 1


async def test_layout_only_after_size_changes_key_bar_only_after_key_changes() -> None:
    said, bar = ChangingText("what there is"), Counting()
    listed: RowList[int] = RowList(lambda number: Row(text=f"row {number}"), key=lambda number: number)
    app = Keys(said, listed, bar)
    async with app.run_test(size=(40, 8)):
        listed.show([1])
        said.update("one of two")
        await at_rest(app)
        laid_out: list[Screen[object]] = []
        app.screen.screen_layout_refresh_signal.subscribe(app, laid_out.append)
        drawn = bar.drawn
        listed.show([1, 2, 3])
        said.update("two of two")
        app.screen.refresh_bindings()
        await at_rest(app)
        assert shown(app).splitlines()[0] == "two of two"
        assert "row 3" in shown(app)
        assert not laid_out
        assert bar.drawn == drawn
        app.is_dim = True
        app.screen.refresh_bindings()
        said.update("two\nlines")
        listed.show(range(20))
        await at_rest(app)
        assert shown(app).splitlines()[1] == "lines"
        assert bar.drawn > drawn
        assert listed.show_vertical_scrollbar, "there are more than fit: the bar takes its room"
        assert laid_out


async def room_of(said: Static, app: Scratch) -> tuple[int, str]:
    """Return the height of a widget when the app is idle, and its text."""
    await at_rest(app)
    return said.size.height, shown(app)


@pytest.mark.parametrize("kind", [Static, ChangingText])
async def test_size_changed_during_another_layout_is_used(kind: type[Static]) -> None:
    app = Scratch(said := kind("one"), Static("below"))
    async with app.run_test(size=(30, 8)):
        await at_rest(app)
        said.update("one\ntwo")
        app.screen.mount(Static("last"))
        app.screen._refresh_layout()
        said.update("one\ntwo\nthree\nfour")
        assert await room_of(said, app) == (4, "one\ntwo\nthree\nfour\nbelow\nlast\n")


@pytest.mark.parametrize("kind", [Static, ChangingText])
async def test_size_changed_before_mounting_is_used(kind: type[Static]) -> None:
    app = Scratch(Static("above"))
    async with app.run_test(size=(30, 8)):
        await at_rest(app)
        app.screen.mount(said := kind("one"))
        app.screen._refresh_layout()
        assert not said.is_mounted
        said.update("one\ntwo\nthree")
        assert await room_of(said, app) == (3, "above\none\ntwo\nthree\n")


async def test_new_text_gets_its_height_in_a_width_used_before() -> None:
    app = Scratch(said := ChangingText("some words in two rows, of these"), Static("below"))
    async with app.run_test(size=(20, 8)) as pilot:
        assert (await room_of(said, app))[0] == 2
        await pilot.resize_terminal(80, 8)
        assert (await room_of(said, app))[0] == 1
        said.update("others that take a row here, and all of four rows there, if not more")
        assert (await room_of(said, app))[0] == 1
        await pilot.resize_terminal(20, 8)
        rows, seen = await room_of(said, app)
        assert rows == 4
        assert "not more\nbelow" in seen
