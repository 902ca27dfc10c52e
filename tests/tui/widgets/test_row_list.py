from __future__ import annotations

from dataclasses import dataclass

import pytest
from textual.content import Content
from textual.events import MouseScrollDown

from octavo.tui.widgets.filter_input import FilterInput
from octavo.tui.widgets.line_list import LineList
from octavo.tui.widgets.row_list import Column, Row, RowHeading, RowList
from tests.tui.widgets.scratch import (
    HOSTILE,
    Scratch,
    at,
    at_rest,
    check_picture,
    harmless,
    lines,
    shown,
    strips,
    until,
)


@dataclass(frozen=True)
class Thing:
    number: int
    title: str
    when: str = "TODAY"
    kind: str = "reply"


def things(count: int, first: int = 0) -> list[Thing]:
    return [Thing(number, f"thing {number}") for number in range(first, first + count)]


def row(thing: Thing) -> Row:
    return Row(
        text=thing.title,
        sign=Content.styled("●", "$octavo-note"),
        right=Content.styled(thing.kind, "$octavo-muted"),
        second_line=f"about {thing.title}",
    )


def rows(*, two_lines: bool = False, ticks: bool = False, grouped: bool = False) -> RowList[Thing]:
    return RowList(
        row,
        key=lambda thing: thing.number,
        groups=(lambda thing: [RowHeading(thing.when)]) if grouped else None,
        search=lambda thing: thing.title,
        two_lines=two_lines,
        selectable=ticks,
        empty="Nothing needs you.",
        hint="3 change requests",
    )


class Listening(Scratch):
    def on_line_list_highlighted(self, message: LineList.Highlighted) -> None:
        self.keep(message)

    def on_line_list_opened(self, message: LineList.Opened) -> None:
        self.keep(message)

    def on_line_list_more_requested(self, message: LineList.MoreRequested) -> None:
        self.keep(message)

    def on_row_list_selection_changed(self, message: RowList.SelectionChanged) -> None:
        self.keep(message)


async def test_list_of_a_hundred_thousand_rows_draws_visible_rows_only() -> None:
    drawn: list[int] = []

    def counting(thing: Thing) -> Row:
        drawn.append(thing.number)
        return row(thing)

    listed: RowList[Thing] = RowList(counting, key=lambda thing: thing.number)
    app = Listening(listed)
    async with app.run_test(size=(60, 20)) as pilot:
        listed.show(things(100_000))
        await pilot.pause()
        assert set(drawn) <= set(range(20))
        drawn.clear()
        await pilot.press("G")
        assert "thing 99999" in shown(app)
        assert set(drawn) <= {0, *range(99_979, 100_000)}
        drawn.clear()
        await pilot.press("k")
        assert set(drawn) <= {99_998, 99_999}, "a step draws two rows, not the screen"


async def test_cursor_stays_on_its_row_and_line_when_rows_appear_above() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(50, first=100))
        await pilot.pause()
        listed.go_to(130)
        await pilot.pause()
        line = next(number for number, text in enumerate(lines(app)) if text.startswith("▌"))
        listed.show([*things(7), *things(50, first=100)])
        await pilot.pause()
        assert at(listed) == 130
        assert lines(app)[line].startswith("▌")
        assert "thing 130" in lines(app)[line]


async def test_removed_row_leaves_the_cursor_in_place() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(5))
        await pilot.press("j", "j")
        listed.show([thing for thing in things(5) if thing.number != 2])
        assert at(listed) == 3
        listed.show(things(5))
        assert at(listed) == 3


async def test_list_posts_selected_and_chosen_rows() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(5))
        await pilot.press("j", "down", "k", "enter")
        await pilot.pause()
        assert [message.key for message in app.got_of(LineList.Highlighted)] == [0, 1, 2, 1]
        assert [message.key for message in app.got_of(LineList.Opened)] == [1]
        assert listed.item == Thing(1, "thing 1")


@pytest.mark.parametrize(
    ("keys", "where"),
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
async def test_keys_move_the_cursor(keys: list[str], where: int) -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(100))
        await pilot.press(*keys)
        assert at(listed) == where


async def test_groups_and_two_lines() -> None:
    listed = rows(two_lines=True, ticks=True, grouped=True)
    app = Listening(listed)
    async with app.run_test(size=(64, 16)) as pilot:
        listed.show(
            [
                Thing(1, "CR #42  Rotate webhook secrets", kind="review  8m"),
                Thing(2, "设置 webhook 的重试策略，直到被撤销为止的全部规则说明", kind="thread  21m"),
                Thing(3, "A title that is a good deal longer than the room there is", "THIS WEEK", "conflicts  2d"),
            ]
        )
        await pilot.press("j", "x")
        await check_picture("rows-two-lines", app)


async def test_first_heading_scrolls_into_view() -> None:
    listed = rows(grouped=True)
    app = Listening(listed)
    async with app.run_test(size=(60, 6)) as pilot:
        listed.show(things(30))
        await pilot.press("G", *["k"] * 29)
        assert at(listed) == 0
        assert "TODAY" in shown(app)


@pytest.mark.parametrize("height", [1, 2, 3, 4])
async def test_small_list_does_not_scroll_at_a_new_layout(height: int) -> None:
    listed = rows(two_lines=True, grouped=True)
    app = Listening(listed)
    async with app.run_test(size=(60, height)) as pilot:
        listed.show(things(3))
        await pilot.pause()
        offsets = []
        for _ in range(3):
            listed.show(things(3))
            await pilot.pause()
            offsets.append(listed.scroll_offset.y)
        assert len(set(offsets)) == 1, offsets
        assert "thing 0" in shown(app)


async def test_columns_share_the_width_and_drop_when_narrow() -> None:
    columns = (
        Column("SPACE", min_width=16),
        Column("YOU MAY", 8, drop_order=2),
        Column("UPDATED", 7, right=True, drop_order=1),
    )
    listed: RowList[Thing] = RowList(
        lambda thing: Row(cells=(thing.title, thing.kind, "3d")), key=lambda thing: thing.number, columns=columns
    )
    app = Listening(listed)
    async with app.run_test(size=(50, 6)) as pilot:
        listed.show([*things(9), Thing(10, "日本語のスペース名はとても長い場合があります")])
        await pilot.press("G")
        await check_picture("rows-columns", app)
        await pilot.resize_terminal(30, 6)
        for _ in range(20):  # it is told its size in a message of its own
            if "YOU MAY" not in lines(app)[0]:
                break
            await pilot.pause()
        assert "YOU MAY" not in lines(app)[0]
        assert "UPDATED" in lines(app)[0]


async def test_ticks() -> None:
    listed = rows(ticks=True)
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(5))
        await pilot.press("x", "x")
        assert listed.selection.keys == {0, 1}
        assert at(listed) == 2
        listed.set_filter("thing 3")
        await pilot.press("*")
        assert listed.selection.keys == {0, 1, 3}
        listed.set_filter("")
        await pilot.press("*")
        assert listed.selection.keys == {0, 1, 2, 3, 4}
        listed.show(things(3))
        assert listed.selection.keys == {0, 1, 2}, "what is not there any more is not ticked"
        await pilot.press("*")
        assert listed.selection.keys == frozenset()
        assert len(app.got_of(RowList.SelectionChanged)) == 6, "it was told of each time"


async def test_range_is_selected_and_esc_clears_filter_then_selection() -> None:
    listed = rows(ticks=True)
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(6))
        await pilot.press("G", "k", "v", "k", "k", "v")
        assert listed.selection.keys == {2, 3, 4}
        await pilot.press("g", "v")
        assert listed.selection.keys == {0, 2, 3, 4}
        assert [each.number for each in listed.selection.items] == [0, 2, 3, 4]
        listed.set_filter("thing 3")
        assert [each.number for each in listed.selection.items] == [3], "what the filter hides is not acted on"
        await pilot.press("escape")
        assert listed.query_text == ""
        assert listed.selection.keys == {0, 2, 3, 4}
        await pilot.press("escape", "G", "v")
        assert listed.selection.keys == {5}, "a range that was begun is forgotten with the ticks"


async def test_partial_list_says_so_and_requests_more_once() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 8)) as pilot:
        listed.show(things(30), total=812)
        await at_rest(app)
        assert lines(app)[-1] == "  30 of 812 loaded   G load more"
        assert listed.counts.summary == "30 of 812 loaded"
        assert listed.counts.summary_of("thing") == "30 of 812 things loaded"
        assert not app.got_of(LineList.MoreRequested)
        await pilot.press("G", "k", "j")
        await at_rest(app)
        assert len(app.got_of(LineList.MoreRequested)) == 1
        assert "thing 29" in lines(app)[-2]
        listed.show(things(60), total=60)
        await at_rest(app)
        assert listed.counts.summary == "60 of 60"
        assert listed.counts.summary_of("thing") == "60 things"
        assert "loaded" not in shown(app)


async def test_first_load_shows_placeholders_then_the_rows() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.state.wait_for("the comments of Mobile SDK", cancel="esc stops")
        await pilot.pause()
        assert "Nothing needs you" not in shown(app), "waiting is not being empty"
        await until(pilot, lambda: "░░░" in shown(app))
        await until(pilot, lambda: "Loading the comments of Mobile SDK…" in shown(app))
        listed.show(things(2))
        await pilot.pause()
        assert "░" not in shown(app)
        listed.state.wait_for("the comments of Mobile SDK")
        await pilot.pause()
        assert "thing 1" in shown(app), "what was there stays while it is asked for again"


async def test_a_failed_load_is_no_empty_list() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 8)) as pilot:
        listed.state.fail("Could not load comments of Mobile SDK", "503 from the server, 12 s ago")
        await pilot.pause()
        await check_picture("rows-failed", app)
        listed.show(things(20))
        listed.state.fail("Could not load comments of Mobile SDK", "503 from the server")
        await pilot.press("G")
        await check_picture("rows-failed-below", app)
        listed.show(things(20))
        await pilot.pause()
        assert "✗" not in shown(app)


async def test_empty_list_says_why_and_what_to_do() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 5)) as pilot:
        listed.show([])
        await pilot.press("enter")
        assert lines(app)[1:3] == ["  Nothing needs you.", "  3 change requests"]
        assert app.explained == ["You cannot open this item."]


async def test_the_filter_line() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 8)) as pilot:
        listed.show(things(31))
        await pilot.press("j", "j", "/", *"thing 1")
        await pilot.pause()
        assert lines(app)[0].startswith(" / thing 1")
        assert lines(app)[0].endswith("12 of 31 shown")
        assert at(listed) == 1
        await pilot.press(*"23")
        await pilot.pause()
        assert "  0 of 31 match “thing 123”." in lines(app)
        await pilot.press("escape")
        await pilot.pause()
        assert at(listed) == 2, "the cursor is back where it was"
        await pilot.press("escape")
        await pilot.pause()
        assert listed.has_focus
        assert not lines(app)[0].startswith(" /")
        await pilot.press("/", *"29", "enter")
        assert listed.has_focus
        await pilot.press("escape")
        await pilot.pause()
        assert at(listed) == 29, "enter kept it"
        assert not lines(app)[0].startswith(" /")
        await pilot.press("/", *"nothing", "enter", "escape")
        await pilot.pause()
        assert at(listed) == 29, "there was nothing to go to"


async def test_fast_typing_in_a_filter_keeps_its_order() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 8)) as pilot:
        listed.show(things(31))
        await pilot.press("/")
        line = app.query_one(FilterInput)
        for letter in "thing 12":  # without a turn of the loop between
            line.insert_text_at_cursor(letter)
        await pilot.pause()
        assert (line.value, listed.query_text) == ("thing 12", "thing 12")


async def test_filter_texts_are_prepared_before_typing() -> None:
    asked: list[int] = []

    def words(thing: Thing) -> str:
        asked.append(thing.number)
        return thing.title

    listed = RowList(row, key=lambda thing: thing.number, search=words)
    app = Listening(listed)
    async with app.run_test(size=(60, 8)) as pilot:
        listed.show(things(2000))
        assert not asked, "nobody looks for anything"
        await pilot.press("/")
        await until(pilot, lambda: len(asked) == 2000)
        await pilot.press(*"thing 19", "enter")
        assert asked == list(range(2000))
        assert listed.counts.summary == "139 of 2000 shown"
        listed.show(shown_again := [*listed.items, Thing(7000, "thing 1950")])
        assert (asked[2000:], len(listed.items)) == ([7000], len(shown_again))
        listed.search_texts.discard()
        listed.apply_filter()
        assert len(asked) == 2001 + len(shown_again)


async def test_click_selects_a_row_and_second_click_opens() -> None:
    listed = rows(two_lines=True)
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(9))
        await pilot.pause()
        await pilot.click(RowList, offset=(5, 5))
        assert at(listed) == 2
        assert not app.got_of(LineList.Opened)
        await pilot.click(RowList, offset=(5, 5), times=2)
        await pilot.pause()
        assert [message.key for message in app.got_of(LineList.Opened)] == [2]


async def test_the_wheel_scrolls_and_leaves_the_cursor() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(99))
        await pilot.pause()
        listed.post_message(MouseScrollDown(listed, 5, 5, 0, 1, 0, False, False, False))
        await pilot.pause()
        assert listed.scroll_offset.y > 0
        assert at(listed) == 0


async def test_the_cursor_is_a_bar_on_a_soft_ground_and_no_inversion() -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(9))
        await pilot.pause()

        def text_style(line: int) -> tuple[object, object, bool]:
            segment = next(each for each in strips(app.screen)[line] if "thing" in each.text)
            assert segment.style is not None
            return segment.style.color, segment.style.bgcolor, bool(segment.style.reverse)

        on, off = text_style(0), text_style(1)
        assert on[0] == off[0]
        assert on[1] != off[1]
        assert not on[2]
        app.set_focus(None)
        await pilot.pause()
        blurred = text_style(0)
        assert lines(app)[0].startswith("▌")
        assert blurred[1] not in (on[1], off[1])


async def test_hostile_rows_are_shown_as_text() -> None:
    listed: RowList[str] = RowList(
        lambda text: Row(text=text, right=text, second_line=Content(text), sign="●"),
        key=lambda text: text,
        groups=lambda text: [RowHeading(text, text)],
        two_lines=True,
        empty=HOSTILE[0],
        hint=HOSTILE[3],
    )
    app = Listening(listed)
    async with app.run_test(size=(100, 45)) as pilot:
        listed.show(HOSTILE)
        await pilot.pause()
        assert shown(app).count("[@click=app.quit]x[/]") == 5
        assert harmless(lines(app))
        listed.show(())
        await pilot.pause()
        assert "[@click=app.quit]x[/]" in shown(app)
        assert harmless(lines(app))
        listed.state.fail(HOSTILE[0], HOSTILE[3])
        await pilot.pause()
        assert "✗ [@click=app.quit]x[/]" in shown(app)
        assert harmless(lines(app))
        listed.show(HOSTILE)
        listed.set_filter("[@click=app.quit]x[/] no")
        await pilot.pause()
        assert "[@click=app.quit]x[/]" in shown(app)


@pytest.mark.parametrize("words", ["", "thing"])
async def test_cursor_moves_to_the_next_row_when_many_disappear(words: str) -> None:
    listed = rows()
    app = Listening(listed)
    async with app.run_test(size=(60, 10)) as pilot:
        listed.show(things(30))
        listed.set_filter(words)
        listed.go_to(12)
        await pilot.pause()
        listed.show([thing for thing in things(30) if not 5 <= thing.number <= 12])
        assert at(listed) == 13, "not eight rows further down"
        listed.show([thing for thing in things(30) if thing.number < 5])
        assert at(listed) == 4, "nothing is left below"
        listed.show(things(30))
        assert at(listed) == 4


async def test_list_one_cell_wide_shows_its_message() -> None:
    words = "The server sent it in a form that nobody here knows of, and does so again and again."
    empty = RowList(row, key=lambda thing: thing.number, empty=words)
    app = Scratch(empty)
    async with app.run_test(size=(40, 20)) as pilot:
        for width, height in ((1, 6), (2, 6), (1, 1), (3, 9), (40, 20)):
            await pilot.resize_terminal(width, height)
            await at_rest(app)
        assert "The server sent" in shown(app)
