from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from textual.binding import BindingType
from textual.content import Content
from textual.events import MouseScrollDown

from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, ColumnLayout, Row, RowHeading, RowList
from octavo.tui.widgets.short_texts import safe
from octavo.tui.widgets.text_inputs import FilterInput
from tests.tui.widgets.scratch import (
    HOSTILE,
    Scratch,
    check_picture,
    harmless,
    lines,
    selected_key,
    shown,
    strips,
    until,
    wait_idle,
)


@dataclass(frozen=True)
class Thing:
    number: int
    title: str
    when: str = "TODAY"
    kind: str = "reply"


def make_things(count: int, first: int = 0) -> list[Thing]:
    return [Thing(number, f"thing {number}") for number in range(first, first + count)]


def row(thing: Thing) -> Row:
    return Row(
        text=thing.title,
        sign=Content.styled("●", "$octavo-note"),
        right=Content.styled(thing.kind, "$octavo-muted"),
        second_line=f"about {thing.title}",
    )


def rows(*, two_lines: bool = False, selectable: bool = False, grouped: bool = False) -> RowList[Thing]:
    return RowList(
        row,
        key=lambda thing: thing.number,
        groups=(lambda thing: [RowHeading(thing.when)]) if grouped else None,
        search=lambda thing: thing.title,
        two_lines=two_lines,
        selectable=selectable,
        empty="Nothing needs you.",
        hint="3 change requests",
    )


class MessageRecorder(Scratch):
    def on_line_list_highlighted(self, message: LineList.Highlighted) -> None:
        self.keep(message)

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        self.keep(message)

    def on_line_list_more_requested(self, message: LineList.MoreRequested) -> None:
        self.keep(message)

    def on_row_list_selection_changed(self, message: RowList.SelectionChanged) -> None:
        self.keep(message)


async def test_list_of_ten_thousand_rows_draws_visible_rows_only() -> None:
    rendered: list[int] = []

    def count_and_render(thing: Thing) -> Row:
        rendered.append(thing.number)
        return row(thing)

    row_list: RowList[Thing] = RowList(count_and_render, key=lambda thing: thing.number)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 20)) as pilot:
        row_list.show(make_things(10_000))
        await pilot.pause()
        assert set(rendered) <= set(range(20))
        rendered.clear()
        await pilot.press("G")
        assert "thing 9999" in shown(app)
        assert set(rendered) <= {0, *range(9_979, 10_000)}
        rendered.clear()
        await pilot.press("k")
        assert set(rendered) <= {9_998, 9_999}, "a step of the cursor must render only two rows"


async def test_cursor_stays_on_its_row_and_line_when_rows_appear_above() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(50, first=100))
        await pilot.pause()
        row_list.go_to(130)
        await pilot.pause()
        line = next(number for number, text in enumerate(lines(app)) if text.startswith("▌"))
        row_list.show([*make_things(7), *make_things(50, first=100)])
        await pilot.pause()
        assert selected_key(row_list) == 130
        assert lines(app)[line].startswith("▌")
        assert "thing 130" in lines(app)[line]


async def test_removed_row_leaves_the_cursor_in_place() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(5))
        await pilot.press("j", "j")
        row_list.show([thing for thing in make_things(5) if thing.number != 2])
        assert selected_key(row_list) == 3
        row_list.show(make_things(5))
        assert selected_key(row_list) == 3


async def test_list_posts_selected_and_chosen_rows() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(5))
        await pilot.press("j", "down", "k", "enter")
        await pilot.pause()
        assert [message.key for message in app.got_of(LineList.Highlighted)] == [0, 1, 2, 1]
        assert [message.key for message in app.got_of(LineList.Opened)] == [1]
        assert row_list.item == Thing(1, "thing 1")


@pytest.mark.parametrize(
    ("keys", "position"),
    [
        (["G"], 99),
        (["end"], 99),
        (["G", "g"], 0),
        (["G", "home"], 0),
        (["ctrl+d"], 5),
        (["pagedown", "pagedown", "ctrl+u"], 5),
        (["k"], 0),
        (["G", "j"], 99),
    ],
)
async def test_keys_move_the_cursor(keys: list[str], position: int) -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(100))
        await pilot.press(*keys)
        assert selected_key(row_list) == position


async def test_groups_and_two_line_rows_match_the_picture() -> None:
    row_list = rows(two_lines=True, selectable=True, grouped=True)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(64, 16)) as pilot:
        row_list.show(
            [
                Thing(1, "CR #42  Rotate webhook secrets", kind="review  8m"),
                Thing(2, "设置 webhook 的重试策略，直到被撤销为止的全部规则说明", kind="thread  21m"),
                Thing(3, "A title that is a good deal longer than the room there is", "THIS WEEK", "conflicts  2d"),
            ]
        )
        await pilot.press("j", "x")
        await check_picture("rows-two-lines", app)


async def test_first_heading_scrolls_into_view() -> None:
    row_list = rows(grouped=True)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 6)) as pilot:
        row_list.show(make_things(30))
        await pilot.press("G", *["k"] * 29)
        assert selected_key(row_list) == 0
        assert "TODAY" in shown(app)


@pytest.mark.parametrize("height", [1, 2, 3, 4])
async def test_small_list_does_not_scroll_at_a_new_layout(height: int) -> None:
    row_list = rows(two_lines=True, grouped=True)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, height)) as pilot:
        row_list.show(make_things(3))
        await pilot.pause()
        offsets = []
        for _ in range(3):
            row_list.show(make_things(3))
            await pilot.pause()
            offsets.append(row_list.scroll_offset.y)
        assert len(set(offsets)) == 1, offsets
        assert "thing 0" in shown(app)


async def test_columns_share_the_width_and_drop_when_narrow() -> None:
    columns = (
        Column("SPACE", min_width=16),
        Column("YOU MAY", 8, drop_priority=2),
        Column("UPDATED", 7, align_right=True, drop_priority=1),
    )
    row_list: RowList[Thing] = RowList(
        lambda thing: Row(cells=(thing.title, thing.kind, "3d")), key=lambda thing: thing.number, columns=columns
    )
    app = MessageRecorder(row_list)
    async with app.run_test(size=(50, 6)) as pilot:
        row_list.show([*make_things(9), Thing(10, "日本語のスペース名はとても長い場合があります")])
        await pilot.press("G")
        await check_picture("rows-columns", app)
        await pilot.resize_terminal(30, 6)
        for _ in range(20):  # The list gets its new size in a separate message.
            if "YOU MAY" not in lines(app)[0]:
                break
            await pilot.pause()
        assert "YOU MAY" not in lines(app)[0]
        assert "UPDATED" in lines(app)[0]


@pytest.mark.parametrize("width", [56, 80])
def test_columns_with_different_smallest_widths_fit_the_row(width: int) -> None:
    layout = ColumnLayout((Column("NAME"), Column("EMAIL", min_width=40)))
    assert layout.row_line(("a" * 200, "b" * 200), width, safe).cell_length <= width


async def test_rows_can_be_selected_singly_and_all_together() -> None:
    row_list = rows(selectable=True)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(5))
        await pilot.press("x", "x")
        assert row_list.selection.keys == {0, 1}
        assert selected_key(row_list) == 2
        row_list.set_filter("thing 3")
        await pilot.press("*")
        assert row_list.selection.keys == {0, 1, 3}
        row_list.set_filter("")
        await pilot.press("*")
        assert row_list.selection.keys == {0, 1, 2, 3, 4}
        row_list.show(make_things(3))
        assert row_list.selection.keys == {0, 1, 2}, "removed rows must be removed from the selection"
        await pilot.press("*")
        assert row_list.selection.keys == frozenset()
        assert len(app.got_of(RowList.SelectionChanged)) == 6, "each change of the selection must send a message"


async def test_range_is_selected_and_esc_clears_filter_then_selection() -> None:
    row_list = rows(selectable=True)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(6))
        await pilot.press("G", "k", "v", "k", "k", "v")
        assert row_list.selection.keys == {2, 3, 4}
        await pilot.press("g", "v")
        assert row_list.selection.keys == {0, 2, 3, 4}
        assert [each.number for each in row_list.selection.items] == [0, 2, 3, 4]
        row_list.set_filter("thing 3")
        assert [each.number for each in row_list.selection.items] == [3], (
            "hidden rows must not be in the selection that commands use"
        )
        await pilot.press("escape")
        assert row_list.query_text == ""
        assert row_list.selection.keys == {0, 2, 3, 4}
        await pilot.press("escape", "G", "v")
        assert row_list.selection.keys == {5}, "escape must also end the selection of a range"
        assert not app.explained
        await pilot.press("*", "v")
        assert app.explained == ["All items are already selected. Press * to deselect them."]


async def test_partial_list_says_so_and_requests_more_once() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 8)) as pilot:
        row_list.show(make_things(30), total=812)
        await wait_idle(app)
        assert lines(app)[-1] == "  30 of 812 loaded   G load more"
        assert row_list.counts.summary == "30 of 812 loaded"
        assert not app.got_of(LineList.MoreRequested)
        await pilot.press("G", "k", "j")
        await wait_idle(app)
        assert len(app.got_of(LineList.MoreRequested)) == 1
        assert "thing 29" in lines(app)[-2]
        row_list.show(make_things(60), total=60)
        await wait_idle(app)
        assert row_list.counts.summary == "60 of 60"
        assert "loaded" not in shown(app)


async def test_first_load_shows_placeholders_then_the_rows() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.state.show_loading("the comments of Mobile SDK")
        await pilot.pause()
        assert "Nothing needs you" not in shown(app), "a list that loads must not be called empty"
        await until(pilot, lambda: "░░░" in shown(app))
        await until(pilot, lambda: "Loading the comments of Mobile SDK…" in shown(app))
        row_list.show(make_things(2))
        await pilot.pause()
        assert "░" not in shown(app)
        row_list.state.show_loading("the comments of Mobile SDK")
        await pilot.pause()
        assert "thing 1" in shown(app), "the rows must stay while they are loaded again"


async def test_failed_load_names_only_keys_that_work_there() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 8)) as pilot:
        row_list.state.fail("Could not search all content", "503 from the server")
        await pilot.pause()
        assert "503 from the server" in shown(app)
        assert "retry" not in shown(app)
        assert "activity" not in shown(app)


async def test_failed_load_is_not_shown_as_an_empty_list() -> None:
    class RefreshingApp(MessageRecorder):
        BINDINGS: ClassVar[list[BindingType]] = [("r", "refresh", ""), ("exclamation_mark", "activity", "")]

    row_list = rows()
    app = RefreshingApp(row_list)
    async with app.run_test(size=(60, 8)) as pilot:
        row_list.state.fail("Could not load comments of Mobile SDK", "503 from the server, 12 s ago")
        await pilot.pause()
        await check_picture("rows-failed", app)
        row_list.show(make_things(20))
        row_list.state.fail("Could not load comments of Mobile SDK", "503 from the server")
        await pilot.press("G")
        await check_picture("rows-failed-below", app)
        row_list.show(make_things(20))
        await pilot.pause()
        assert "✗" not in shown(app)


async def test_empty_list_says_why_and_what_to_do() -> None:
    row_list = rows(selectable=True)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 5)) as pilot:
        row_list.show([])
        await pilot.press("enter", "x")
        assert lines(app)[1:3] == ["  Nothing needs you.", "  3 change requests"]
        assert app.explained == ["There is nothing to open here.", "There is nothing to select here."]


async def test_filter_shows_matches_and_restores_the_cursor() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 8)) as pilot:
        row_list.show(make_things(31))
        await pilot.press("j", "j", "/", *"thing 1")
        await pilot.pause()
        assert lines(app)[0].startswith(" / thing 1")
        assert lines(app)[0].endswith("12 of 31 shown")
        assert selected_key(row_list) == 1
        await pilot.press(*"23")
        await pilot.pause()
        assert "  0 of 31 match “thing 123”." in lines(app)
        await pilot.press("escape")
        await pilot.pause()
        assert selected_key(row_list) == 2, "escape must restore the cursor"
        await pilot.press("escape")
        await pilot.pause()
        assert row_list.has_focus
        assert not lines(app)[0].startswith(" /")
        await pilot.press("/", *"29", "enter")
        assert row_list.has_focus
        await pilot.press("escape")
        await pilot.pause()
        assert selected_key(row_list) == 29, "enter must keep the new position"
        assert not lines(app)[0].startswith(" /")
        await pilot.press("/", *"nothing", "enter", "escape")
        await pilot.pause()
        assert selected_key(row_list) == 29, "without a match, the cursor must stay"


async def test_fast_typing_in_a_filter_keeps_its_order() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 8)) as pilot:
        row_list.show(make_things(31))
        await pilot.press("/")
        line = app.query_one(FilterInput)
        for letter in "thing 12":  # The event loop does not run between the letters.
            line.insert_text_at_cursor(letter)
        await pilot.pause()
        assert (line.value, row_list.query_text) == ("thing 12", "thing 12")


async def test_filter_texts_are_computed_once_until_the_items_change() -> None:
    requested: list[int] = []

    def search_text(thing: Thing) -> str:
        requested.append(thing.number)
        return thing.title

    row_list = RowList(row, key=lambda thing: thing.number, search=search_text)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 8)) as pilot:
        row_list.show(make_things(2000))
        assert not requested, "search texts must not be computed before a search"
        await pilot.press("/", *"thing 19", "enter")
        assert requested == list(range(2000))
        assert row_list.counts.summary == "139 of 2000 shown"
        row_list.show(shown_again := [*row_list.items, Thing(7000, "thing 1950")])
        assert len(row_list.items) == len(shown_again)
        row_list.search_texts.discard()
        row_list.apply_filter()
        assert len(requested) == 2000 + 2 * len(shown_again)


async def test_click_selects_a_row_and_second_click_opens() -> None:
    row_list = rows(two_lines=True)
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(9))
        await pilot.pause()
        await pilot.click(RowList, offset=(5, 5))
        assert selected_key(row_list) == 2
        assert not app.got_of(LineList.Opened)
        await pilot.click(RowList, offset=(5, 5), times=2)
        await pilot.pause()
        assert [message.key for message in app.got_of(LineList.Opened)] == [2]


async def test_click_on_the_line_below_the_items_selects_nothing() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 8)) as pilot:
        row_list.show(make_things(30), total=812)
        await wait_idle(app)
        assert "load more" in lines(app)[-1]
        await pilot.click(RowList, offset=(5, 7), times=2)
        await wait_idle(app)
        assert selected_key(row_list) == 0
        assert not app.got_of(LineList.Opened)


async def test_wheel_scrolls_without_moving_the_cursor() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(99))
        await pilot.pause()
        row_list.post_message(MouseScrollDown(row_list, 5, 5, 0, 1, 0, False, False, False))
        await pilot.pause()
        assert row_list.scroll_offset.y > 0
        assert selected_key(row_list) == 0


async def test_cursor_is_a_bar_with_a_background_and_not_inverted() -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(9))
        await pilot.pause()

        def text_style(line: int) -> tuple[object, object, bool]:
            segment = next(each for each in strips(app.screen)[line] if "thing" in each.text)
            assert segment.style is not None
            return segment.style.color, segment.style.bgcolor, bool(segment.style.reverse)

        selected, other = text_style(0), text_style(1)
        assert selected[0] == other[0]
        assert selected[1] != other[1]
        assert not selected[2]
        app.set_focus(None)
        await pilot.pause()
        blurred = text_style(0)
        assert lines(app)[0].startswith("▌")
        assert blurred[1] not in (selected[1], other[1])


async def test_hostile_rows_are_shown_as_text() -> None:
    row_list: RowList[str] = RowList(
        lambda text: Row(text=text, right=text, second_line=Content(text), sign="●"),
        key=lambda text: text,
        groups=lambda text: [RowHeading(text, text)],
        two_lines=True,
        empty=HOSTILE[0],
        hint=HOSTILE[3],
    )
    app = MessageRecorder(row_list)
    async with app.run_test(size=(100, 45)) as pilot:
        row_list.show(HOSTILE)
        await pilot.pause()
        assert shown(app).count("[@click=app.quit]x[/]") == 5
        assert harmless(lines(app))
        row_list.show(())
        await pilot.pause()
        assert "[@click=app.quit]x[/]" in shown(app)
        assert harmless(lines(app))
        row_list.state.fail(HOSTILE[0], HOSTILE[3])
        await pilot.pause()
        assert "✗ [@click=app.quit]x[/]" in shown(app)
        assert harmless(lines(app))
        row_list.show(HOSTILE)
        row_list.set_filter("[@click=app.quit]x[/] no")
        await pilot.pause()
        assert "[@click=app.quit]x[/]" in shown(app)


@pytest.mark.parametrize("search_text", ["", "thing"])
async def test_cursor_moves_to_the_next_row_when_many_disappear(search_text: str) -> None:
    row_list = rows()
    app = MessageRecorder(row_list)
    async with app.run_test(size=(60, 10)) as pilot:
        row_list.show(make_things(30))
        row_list.set_filter(search_text)
        row_list.go_to(12)
        await pilot.pause()
        row_list.show([thing for thing in make_things(30) if not 5 <= thing.number <= 12])
        assert selected_key(row_list) == 13, "the cursor must select the next remaining row"
        row_list.show([thing for thing in make_things(30) if thing.number < 5])
        assert selected_key(row_list) == 4, "without a next row, the cursor must select the last row"
        row_list.show(make_things(30))
        assert selected_key(row_list) == 4


async def test_list_one_cell_wide_shows_its_message() -> None:
    search_text = "The server sent it in a form that nobody here knows of, and does so again and again."
    empty = RowList(row, key=lambda thing: thing.number, empty=search_text)
    app = Scratch(empty)
    async with app.run_test(size=(40, 20)) as pilot:
        for width, height in ((1, 6), (2, 6), (1, 1), (3, 9), (40, 20)):
            await pilot.resize_terminal(width, height)
            await wait_idle(app)
        assert "The server sent" in shown(app)
