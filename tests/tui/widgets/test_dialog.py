from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from itertools import permutations
from typing import Any, ClassVar

import pytest
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.tui.reader.page_dialogs import TextDialog
from octavo.tui.render.deferred import DeferredContent
from octavo.tui.widgets.chooser import Choice, Picker
from octavo.tui.widgets.confirm import ConfirmDialog, DialogField
from octavo.tui.widgets.dialog import Dialog, DialogFrame
from octavo.tui.widgets.notices import NoticeBoard, Notices
from tests.tui.widgets.scratch import Scratch, lines, shown, until, wait_idle
from tests.work_measurement import count_work


class NoticeApp(Scratch):
    """An app with notifications."""

    def __init__(self) -> None:
        super().__init__(Static())
        self.notices = NoticeBoard(lambda: 100.0)
        self.undone = 0

    def undo(self) -> None:
        self.undone += 1


DIALOGS: dict[str, Callable[[], Dialog[Any]]] = {
    "confirm": lambda: ConfirmDialog("Merge?", verb="Merge"),
    "writing": lambda: ConfirmDialog("Approve?", verb="Approve", field=DialogField("Comment", height=4)),
    "picker": lambda: Picker("Theme", [Choice(name, name) for name in "abcdefghijklmnopqrst"]),
}


@pytest.mark.parametrize("kind", DIALOGS)
async def test_notification_over_a_dialog_is_visible_and_hides_nothing(kind: str) -> None:
    app = NoticeApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.push_screen(DIALOGS[kind]())
        app.notices.say("#7: Not merged. The server is away; try again later.", "failed")
        await until(pilot, lambda: "✗ #7: Not merged." in shown(app))
        await pilot.pause()
        notices = app.screen.query_one(Notices).region
        assert not notices.overlaps(app.screen.query_one(DialogFrame).region)


async def test_notification_is_above_a_dialog_at_the_bottom() -> None:
    class BottomDialog(Dialog[None]):
        CSS = "BottomDialog { align: center bottom; DialogFrame { height: 20; } }"

        def body(self) -> ComposeResult:
            yield DialogFrame()

    app = NoticeApp()
    async with app.run_test(size=(100, 30)):
        await app.push_screen(BottomDialog())
        app.notices.say("The draft is kept.")
        await wait_idle(app)
        assert "The draft is kept." in lines(app)[0]
        assert "╰" in lines(app)[-2], "the dialog must keep its place above the key bar"


async def test_frame_with_reserved_rows_and_without_content_has_a_layout() -> None:
    (frame := DialogFrame()).min_rows = 30
    async with Scratch(frame).run_test():
        assert frame.layout.arrange(frame, [], Size(80, 20)) == []


def long_help() -> TextDialog:
    paragraphs = "\n\n".join(f"{number} " + "word " * 40 for number in range(20))
    return TextDialog(Block("note", children=parse(paragraphs).blocks), DeferredContent(), "Help")


def long_text() -> ConfirmDialog:
    return ConfirmDialog("Edit", verb="Save", field=DialogField("Description", value="word " * 100, height=3))


def long_confirm() -> ConfirmDialog:
    return ConfirmDialog("Merge?", verb="Merge", intro="word " * 400)


def long_picker() -> Picker[str]:
    reason = "You need the Editor role to choose this theme."
    return Picker("Theme", [Choice(name, name, detail=name, disabled_reason=reason) for name in map(str, range(60))])


@pytest.mark.parametrize("size", [(100, 30), (80, 24), (60, 12)])
@pytest.mark.parametrize("dialog", [long_picker, long_confirm, long_help, long_text])
async def test_first_frame_of_a_long_dialog_is_complete(
    dialog: Callable[[], Dialog[Any]], size: tuple[int, int]
) -> None:
    frames: list[list[str]] = []
    shown_dialog = dialog()
    app = Scratch()
    async with app.run_test(size=size):
        app.push_screen(shown_dialog)
        for _ in range(20):  # Loops of the event loop, which end before the first frame.
            if not shown_dialog.is_running:
                await asyncio.sleep(0)
        painted = shown_dialog.screen_layout_refresh_signal
        painted.subscribe(shown_dialog, lambda _: frames.append(lines(app)), immediate=True)
        await wait_idle(app)
        frame = shown_dialog.query_one(DialogFrame).region
        assert frames
        assert all(each == lines(app) for each in frames), "the dialog must not change after its first frame"
        assert frame.bottom <= size[1] - 2, "the key bar and a row above it stay free"


async def test_keys_named_in_the_border_are_not_in_the_key_bar() -> None:
    class OrderDialog(Dialog[None]):
        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("J", "later", "Later", tooltip="Later", id="ordering.later"),
            Binding("K", "earlier", "Earlier", tooltip="Earlier", id="ordering.earlier"),
            Binding("r", "check", "Check again", tooltip="Check", id="ordering.check"),
            Binding("escape", "dismiss", "Close", tooltip="Close", id="ordering.close"),
        ]

        def body(self) -> ComposeResult:
            frame = DialogFrame()
            frame.set_border_texts("Order", "J/K change order · esc stops")
            yield frame

        def action_later(self) -> None: ...

        def action_earlier(self) -> None: ...

        def action_check(self) -> None: ...

    app = NoticeApp()
    async with app.run_test(size=(60, 12)):
        await app.push_screen(OrderDialog())
        await wait_idle(app)
        assert lines(app)[-1].strip() == "r check again  esc close", (
            "the key that closes the dialog must stay in the key bar"
        )
        app.screen.query_one(DialogFrame).set_border_texts("Order", "r check again")
        await wait_idle(app)
        assert lines(app)[-1].strip() == "J later  K earlier  esc close"


async def test_click_on_a_notification_over_a_dialog_undoes() -> None:
    app = NoticeApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.push_screen(ConfirmDialog("Merge?", verb="Merge"))
        app.notices.say("Renamed", undo=True)
        await until(pilot, lambda: "Renamed" in shown(app))
        await pilot.pause()
        await pilot.click(Notices)
        await pilot.pause()
        assert app.undone == 1


async def test_closed_dialog_gets_no_notifications() -> None:
    app = NoticeApp()
    async with app.run_test(size=(100, 30)) as pilot:
        await app.push_screen(ConfirmDialog("Merge?", verb="Merge"))
        await until(pilot, lambda: len(app.notices.listeners) == 1)
        await pilot.press("escape")
        await until(pilot, lambda: not app.notices.listeners)


class OneLineDialog(Dialog[None]):
    """A dialog that covers only one line."""

    CSS = "OneLineDialog { align: left top; Static { width: auto; height: 1; } }"

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number
        self.render_count = 0

    def render(self) -> Any:
        self.render_count += 1
        return super().render()

    def compose(self) -> ComposeResult:
        text = Static(f"dialog {self.number}")
        text.styles.margin = (self.number, 0, 0, 0)
        yield text


@asynccontextmanager
async def app_with_three_dialogs() -> AsyncIterator[NoticeApp]:
    """Yield an app with three dialogs over a screen. One line of each dialog is visible."""

    class LowestScreen(Screen[None]):
        def compose(self) -> ComposeResult:
            yield Static("below")

    app = NoticeApp()
    async with app.run_test(size=(30, 8)):
        await app.push_screen(LowestScreen())
        for number in range(1, 4):
            await app.push_screen(OneLineDialog(number))
        await wait_idle(app)
        yield app


@pytest.mark.parametrize("order", list(permutations(range(1, 4))))
async def test_three_dialogs_are_painted_in_stack_order(order: Sequence[int]) -> None:
    async with app_with_three_dialogs() as app:
        for number in order:
            for screen in app.screen_stack[1:]:
                screen.refresh()
            app.screen_stack[-number].get_style_at(29, 7)
            await wait_idle(app)
            assert shown(app).split("\n")[:4] == ["below", "dialog 1", "dialog 2", "dialog 3"]


@pytest.mark.parametrize("number", range(4))
async def test_change_below_three_dialogs_is_painted_only_once(number: int) -> None:
    async with app_with_three_dialogs() as app:
        app.screen_stack[1 + number].query_one(Static).update(f"changed {number}")
        while lines(app)[number].strip() != f"changed {number}":  # The time limit of the test ends the wait.
            await wait_idle(app)
        await asyncio.sleep(0.5)
        with count_work() as work:
            await asyncio.sleep(0.5)
        assert not work


async def test_message_to_a_screen_below_a_dialog_does_not_paint_the_dialog() -> None:
    async with app_with_three_dialogs() as app:
        lowest, top = app.screen_stack[1], app.screen_stack[-1]
        assert isinstance(top, OneLineDialog)
        lowest.query_one(Static).update("changed")
        while lines(app)[0].strip() != "changed":
            await wait_idle(app)
        render_count = top.render_count
        for _ in range(3):
            lowest.call_later(lambda: None)
            await wait_idle(app)
        assert top.render_count == render_count
