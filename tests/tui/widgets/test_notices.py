from __future__ import annotations

import asyncio

import pytest
from textual.widget import Widget
from textual.widgets import Static

from octavo.tui.widgets.bars import ListTab, ListTabs
from octavo.tui.widgets.confirm import ConfirmDialog
from octavo.tui.widgets.dialog import DialogFrame
from octavo.tui.widgets.notices import NoticeBoard, Notices
from octavo.tui.widgets.row_list import Row, RowList
from tests.tui.widgets.scratch import HOSTILE, Scratch, check_picture, harmless, lines, shown, until, wait_idle
from tests.work_measurement import count_work


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class UndoRecorder(Scratch):
    def on_notices_undo_requested(self, message: Notices.UndoRequested) -> None:
        self.keep(message)


class WithNotices(Scratch):
    """An app whose dialogs show its notifications."""

    def __init__(self, *widgets: Widget, board: NoticeBoard) -> None:
        super().__init__(*widgets)
        self.notices = board

    def undo(self) -> None:
        """Do nothing, because the tests only read the message."""


async def test_notifications_show_success_and_failure() -> None:
    clock = Clock()
    board = NoticeBoard(clock)
    app = UndoRecorder(Static(), Notices(board))
    async with app.run_test(size=(70, 12)) as pilot:
        board.say("5 threads resolved", undo=True, seconds=10)
        clock.now += 3
        board.say(
            "Could not resolve the thread: you need the comment role in Payments API. Ask an administrator.", "failed"
        )
        await pilot.pause()
        await check_picture("notices", app)


async def test_two_notifications_are_shown_and_a_repeated_one_restarts() -> None:
    clock = Clock()
    board = NoticeBoard(clock)
    board.say("one", seconds=5)
    board.say("two", seconds=5)
    board.say("three", seconds=5)
    assert [notice.text for notice in board.shown()] == ["two", "three"]
    clock.now += 4
    board.say("two", seconds=5)
    clock.now += 2
    assert [notice.text for notice in board.shown()] == ["two"]
    clock.now += 4
    assert board.shown() == ()


async def test_expired_notification_disappears() -> None:
    clock = Clock()
    board = NoticeBoard(clock)
    app = UndoRecorder(Static(), Notices(board))
    async with app.run_test(size=(70, 12)) as pilot:
        number = board.say("Renamed")
        await pilot.pause()
        assert "Renamed" in shown(app)
        board.close(number)
        await pilot.pause()
        assert "Renamed" not in shown(app)
        board.say("Approved", seconds=1)
        clock.now += 2
        await until(pilot, lambda: "Approved" not in shown(app))


async def test_all_apps_with_the_same_board_show_its_notifications() -> None:
    board = NoticeBoard(Clock())
    first, second = UndoRecorder(Static(), Notices(board)), UndoRecorder(Static(), Notices(board))
    async with first.run_test(size=(70, 12)) as one:
        board.say("Approved")
        async with second.run_test(size=(70, 12)) as two:
            await until(one, lambda: "Approved" in shown(first))
            await until(two, lambda: "Approved" in shown(second))
        assert len(board.listeners) == 1


async def test_notification_wraps_only_if_it_does_not_fit_without_the_bar() -> None:
    board = NoticeBoard(Clock())
    app = UndoRecorder(Static(), Notices(board))
    async with app.run_test(size=(80, 24)) as pilot:
        board.say("11 threads resolved, 6 rows done", undo=True, seconds=5)
        await pilot.pause()
        assert "11 threads resolved, 6 rows done   u undo  5 s" in shown(app)
        await pilot.resize_terminal(40, 12)
        await wait_idle(app)
        assert "11 threads resolved, 6" in shown(app)
        assert "rows done   u undo  5 s" in shown(app)
        board.say(
            "Snoozed until something new happens, which may be a comment on it or on a page of it", undo=True, seconds=5
        )
        await wait_idle(app)
        assert "u undo  5 s" in shown(app)
        assert "…" in shown(app), "a shortened notification must end with an ellipsis"


async def test_notification_does_not_cover_the_cursor() -> None:
    board = NoticeBoard(Clock())
    listed: RowList[int] = RowList(lambda number: Row(f"row {number}"), key=lambda number: number)
    app = UndoRecorder(listed, Notices(board))
    async with app.run_test(size=(70, 12)) as pilot:
        listed.show(range(12))
        board.say("Renamed")
        await pilot.pause()
        await until(pilot, lambda: "Renamed" in "".join(lines(app)[6:]))
        await pilot.press(*"jjjjjjjj")
        board.say("Approved")
        await until(pilot, lambda: "Approved" in "".join(lines(app)[:5]))
        assert "row 8" in lines(app)[8]


async def test_click_on_a_notification_undoes() -> None:
    board = NoticeBoard(Clock())
    app = UndoRecorder(Static(), Notices(board))
    async with app.run_test(size=(70, 12)) as pilot:
        board.say("5 threads resolved", undo=True)
        await wait_idle(app)
        await pilot.click(Notices)
        await pilot.pause()
        assert len(app.got_of(Notices.UndoRequested)) == 1


async def test_notification_without_animation_has_no_bar() -> None:
    board = NoticeBoard(Clock())
    app = UndoRecorder(Static(), Notices(board))
    app.animation_level = "none"
    async with app.run_test(size=(70, 12)) as pilot:
        board.say("5 threads resolved", undo=True)
        await pilot.pause()
        assert "u undo" in shown(app)
        assert "▓" not in shown(app)


async def test_hostile_notification_is_shown_as_text() -> None:
    board = NoticeBoard(Clock())
    app = UndoRecorder(Static(), Notices(board))
    async with app.run_test(size=(90, 12)) as pilot:
        for text in HOSTILE:
            board.say(text, "care")
            await pilot.pause()
            assert harmless(lines(app))
            assert text != HOSTILE[0] or "! [@click=app.quit]x[/]" in shown(app)


async def test_notifications_hide_neither_tabs_nor_dialogs() -> None:
    board = NoticeBoard(Clock())
    listed: RowList[int] = RowList(lambda number: Row(f"row {number}"), key=lambda number: number)
    tabs = (ListTab("a", "All"), ListTab("b", "Mine"))
    app = WithNotices(ListTabs(tabs, "a"), listed, Notices(board, top=0, uncovered=ListTabs), board=board)
    async with app.run_test(size=(70, 12)) as pilot:
        listed.show(range(12))
        board.say("Renamed")
        await wait_idle(app)
        await pilot.press(*"G")
        failure = "Could not rename the page"
        board.say(f"{failure} " + "because of its title " * 7, "failed")
        await until(pilot, lambda: failure in shown(app))
        await wait_idle(app)
        assert "All" in lines(app)[0]
        assert "Mine" in lines(app)[0]
        assert shown(app).count("Renamed") == 1
        for height in (24, 12):
            await pilot.resize_terminal(70, height)
            app.push_screen(ConfirmDialog("Delete it?", verb="Delete", intro="\n".join(["It goes."] * 30)))
            await until(pilot, lambda: "Delete it?" in shown(app) and failure in shown(app))
            await wait_idle(app)
            (notices,) = app.screen.query(Notices)
            (frame,) = app.screen.query(DialogFrame)
            assert notices.display
            assert not notices.region.intersection(frame.region)
            assert shown(app).count(failure) == 1
            app.pop_screen()
            await until(pilot, lambda: "Delete it?" not in shown(app) and failure in shown(app))
            await wait_idle(app)
            assert shown(app).count(failure) == 1
            assert shown(app).count("Renamed") == 1


@pytest.mark.parametrize("size", [(100, 30), (40, 12), (20, 5), (10, 3)])
async def test_unchanged_notifications_are_neither_laid_out_nor_painted(size: tuple[int, int]) -> None:
    board = NoticeBoard(Clock())
    app = WithNotices(Static(), Notices(board), board=board)
    async with app.run_test(size=size):
        board.say("Could not rename the page " + "because of its title " * 7, "failed")
        board.say("5 threads resolved", undo=True)
        for _ in range(2):
            await wait_idle(app)
            await asyncio.sleep(1)
            with count_work() as work:
                await asyncio.sleep(3)
            assert not work
            app.push_screen(ConfirmDialog("Merge?", verb="Merge"))


async def test_undo_countdown_is_painted_each_second_without_a_layout() -> None:
    board = NoticeBoard()
    app = WithNotices(Static(), Notices(board), board=board)
    async with app.run_test(size=(100, 30)):
        app.push_screen(ConfirmDialog("Merge?", verb="Merge"))
        board.say("5 threads resolved", undo=True, seconds=30)
        await wait_idle(app)
        await asyncio.sleep(1)
        with count_work() as work:
            await asyncio.sleep(4)
        assert set(work) == {"painting"}
        assert work["painting"] <= 5
