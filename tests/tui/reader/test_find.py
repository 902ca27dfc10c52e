"""The find bar: its keys, and the rows that it covers."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import ComposeResult

from octavo.documents.source_reader import parse
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.comparison import compare
from octavo.tui.render.painting import MAX_MATCHES
from octavo.tui.widgets.commands import key_bar
from tests.tui.reader.panes import PaneApp, bar_column, screen

PAGE = "\n\n".join(f"paragraph {number} of many" for number in range(40))


class NarrowPaneApp(PaneApp[PageView]):
    """An app with a pane that is narrower than the screen."""

    def compose(self) -> ComposeResult:
        self.pane.styles.width = 30
        yield self.pane


def last_row(app: PaneApp[PageView]) -> str:
    """Return the last row of the pane."""
    return screen(app.pane).split("\n")[-1].strip()


async def test_find_bar_shows_keys_until_search_ends() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), title="", key="p")
        await pilot.press("slash")
        assert last_row(app).endswith("type the text to find · esc cancel")
        await pilot.press(*"graph 1")
        assert last_row(app).startswith("/ graph 1")
        assert last_row(app).endswith("1 of 11 · enter done · esc cancel")
        await pilot.press("enter")
        assert last_row(app).endswith("1 of 11 · n next · N previous · esc")
        await pilot.press("n", "n", "N")
        assert last_row(app).endswith("2 of 11 · n next · N previous · esc")
        await pilot.press("escape")
        assert "n next" not in last_row(app)
        assert app.pane.find_bar.needle == ""


async def test_down_and_up_go_to_other_matches_while_typing() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), title="", key="p")
        await pilot.press("slash", *"graph 1")
        for key, number in (("down", 2), ("ctrl+n", 3), ("up", 2), ("up", 1)):
            await pilot.press(key)
            assert last_row(app).endswith(f"{number} of 11 · enter done · esc cancel")


async def test_key_bar_shows_next_match_first_during_search() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), title="", key="p")
        assert "n" not in [command.key for command in key_bar(app.screen)]
        await pilot.press("slash", *"many", "enter")
        assert [command.key for command in key_bar(app.screen)][:3] == ["n", "N", "/"]
        await pilot.press("escape")
        assert "n" not in [command.key for command in key_bar(app.screen)]


async def test_last_line_is_visible_above_find_bar() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), title="", key="p")
        await pilot.press("slash", *"many", "enter", "G")
        rows = screen(app.pane).split("\n")
        assert rows[-2].strip().endswith("paragraph 39 of many")
        assert rows[-1].strip().startswith("/ many")
        await pilot.press("escape")
        await pilot.pause()
        assert last_row(app).endswith("paragraph 39 of many")


async def test_match_scrolls_to_third_of_pane() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 31)) as pilot:
        app.pane.show(parse(PAGE), title="", key="p")
        app.pane.find_bar.find("paragraph 25")
        await pilot.pause()
        rows = screen(app.pane).split("\n")
        assert "paragraph 25" in rows[10]


async def test_next_match_without_matches_explains() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), title="", key="p")
        await pilot.press("n")
        await pilot.press("slash", *"zebra", "enter", "n")
        assert app.explained == [
            "You have not searched yet. Press / to find text.",
            "No matches for “zebra” on this page.",
        ]
        assert last_row(app).endswith("no matches · esc")


@pytest.mark.parametrize("needle", ["many", "a needle that is much longer than the line has room for it"])
async def test_narrow_find_bar_shows_end_of_typed_text(needle: str) -> None:
    app = NarrowPaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), title="", key="p")
        await pilot.press("slash", *needle)
        row = app.pane.render_line(11)
        assert row.cell_length == app.pane.viewport.pane_width
        assert needle[-4:] in row.text
        assert "esc cancel" in row.text or "no matches" in row.text


async def test_previous_match_without_a_selected_match_is_the_last() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), key="p")
        await pilot.press("slash", *"graph 1", "enter", "n")
        app.pane.show(parse(PAGE.replace("paragraph 10 of", "section 10 of")), key="p")
        await pilot.press("N")
        assert last_row(app).endswith("10 of 10 · n next · N previous · esc")


@pytest.mark.parametrize("kind", [PageView, DiffView])
async def test_removed_page_has_no_matches(kind: type[PageView | DiffView]) -> None:
    pane = kind()
    app = PaneApp(pane)
    async with app.run_test(size=(80, 12)) as pilot:
        if isinstance(pane, DiffView):
            pane.show(compare("old", PAGE), key="p")
        else:
            pane.show(parse(PAGE), key="p")
        await pilot.press("slash", *"graph 1")
        assert "of 11" in pane.find_bar.search_status
        pane.clear()
        await pilot.press("down")
        assert pane.find_bar.search_status == "no matches"


@pytest.mark.parametrize("keys", [(), ("enter",)])
async def test_text_typed_before_the_page_arrives_is_found(keys: tuple[str, ...]) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse("A paragraph 12"), key="o")
        await pilot.press("slash", *"graph 1", "enter")
        app.pane.clear()
        app.pane.state.show_loading("Guide")
        assert app.pane.find_bar.search_status == ""
        await pilot.press("slash", *"graph 2", *keys)
        assert app.pane.find_bar.search_status == "searching"
        app.pane.show_markdown(PAGE, key="p")
        await pilot.pause()
        assert app.pane.find_bar.search_status == "1 of 11"


async def test_open_find_bar_searches_the_next_page_from_its_top() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), key="p")
        await pilot.press("G", "slash", *"graph 1")
        app.pane.show(parse(PAGE.replace("paragraph 19", "section 19")), key="q")
        await pilot.pause()
        assert app.pane.find_bar.search_status == "1 of 10"
        await pilot.press("escape")
        assert app.pane.viewport.lines_above == 0


async def test_more_matches_than_are_counted_are_not_called_all() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse("a " * (MAX_MATCHES + 1)), key="p")
        await pilot.press("slash", "a")
        while app.pane.find_bar.has_work:
            await pilot.pause()
        assert app.pane.find_bar.search_status == "1 of 10000+"


LINES = "\n".join(f"line {number}" for number in range(30))


@pytest.mark.parametrize(
    "page",
    [
        f'{{% code expandable="true" %}}\n```js\n{LINES}\n```\n{{% endcode %}}\n',
        '{% prompt description="Ask" %}\n' + LINES.replace("\n", "\n\n") + "\n{% endprompt %}\n",
    ],
    ids=["code", "prompt"],
)
async def test_match_in_collapsed_lines_is_shown(page: str) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(page), key="p")
        assert "line 25" not in screen(app.pane)
        await pilot.press("slash", *"line 25", "enter")
        assert "│ line 25" in screen(app.pane)


@pytest.mark.parametrize("line_above", ["", f"{'…' * 40}\n"], ids=["first line", "second line"])
async def test_match_beyond_the_edge_of_wide_code_is_shown_and_marked(line_above: str) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 20)) as pilot:
        wide = f"run first --option {'x' * 60} run second {'y' * 60} run third"
        app.pane.show(parse(f"```\n{line_above}{wide}\nrun fourth\n```\n"), key="p")
        await pilot.press("slash", *"run", "enter")
        marked = app.pane.viewport.text_styles.current_match.bgcolor
        for name in ("first", "second", "third", "fourth", "first"):
            strips = [app.pane.render_line(row) for row in range(10)]
            after = [
                strip.crop(column).text
                for strip in strips
                for column in range(60)
                if strip.crop(column, column + 3).text == "run"
                and all(style and style.bgcolor == marked for _, style, _ in strip.crop(column, column + 3))
            ]
            assert [text.split()[1].rstrip("…") for text in after] == [name]
            await pilot.press("n")


async def test_canceled_search_restores_the_selected_block() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), key="p")
        await pilot.press("space", *["right_parenthesis"] * 3)
        before = screen(app.pane)
        await pilot.press("slash", *"graph 3", "down")
        assert screen(app.pane) != before
        await pilot.press("escape")
        assert screen(app.pane) == before


def marked_text(pane: PageView | DiffView) -> str:
    """Return the text of the selected match, as far as it is visible."""
    color = pane.viewport.text_styles.current_match.bgcolor
    strips = [pane.render_line(row) for row in range(pane.size.height)]
    return "".join(text for strip in strips for text, style, _ in strip if style and style.bgcolor == color)


WIDE_TABLE = "\n".join(
    [
        "|" + " head |" * 20,
        "|" + " - |" * 20,
        *("|" + "".join(f" {row}-{at} word |" for at in range(20)) for row in "abc"),
    ]
)


@pytest.mark.parametrize("kind", [PageView, DiffView])
@pytest.mark.parametrize("glyphs", ["word", "語"])
async def test_match_in_a_hidden_column_is_shown_and_marked(kind: type[PageView | DiffView], glyphs: str) -> None:
    pane, page = kind(), WIDE_TABLE.replace("word", glyphs)
    app = PaneApp(pane)
    async with app.run_test(size=(60, 20)) as pilot:
        if isinstance(pane, DiffView):
            pane.show(compare("", page), key="p")
        else:
            pane.show(parse(page), key="p")
        for needle in (f"-19 {glyphs}", f"-0 {glyphs}", f"-9 {glyphs}"):
            await pilot.press("slash", *needle, "enter")
            for row in "abc":
                assert marked_text(pane) == needle
                assert f"{row}{needle}" in screen(pane)
                await pilot.press("n")
            await pilot.press("escape")


async def test_match_beyond_the_edge_of_wide_code_is_found_in_a_diff() -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.show(compare("", f"```\n{'x' * 200} found {'y' * 200} found\n```\n"), key="p")
        await pilot.press("slash", *"found", "enter")
        for number in (1, 2, 1):
            assert app.pane.find_bar.search_status == f"{number} of 2"
            assert marked_text(app.pane) == "found"
            await pilot.press("n")


async def test_match_beyond_the_edge_of_a_wide_diagram_is_shown_and_marked() -> None:
    steps = "\n".join(f"N{number}[Pier{number}] --> N{number + 1}[Pier{number + 1}]" for number in range(30))
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.show(parse(f"```mermaid\nflowchart LR\n{steps}\n```\n"), key="p")
        async with asyncio.timeout(30):
            while "more columns" not in screen(app.pane):
                await pilot.pause()
        await pilot.press("slash", *"pier19", "enter")
        assert marked_text(app.pane) == "Pier19"


async def test_match_that_wraps_in_a_table_does_not_shift_other_matches() -> None:
    first = f"| row 1 {'x ' * 3} water level {'x ' * 14} | {'y ' * 40} |\n"
    page = (
        "| A | B |\n|-|-|\n" + first + "".join(f"| row {number} | water level {number} |\n" for number in range(2, 5))
    )
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 30)) as pilot:
        app.pane.show(parse(page), key="p")
        assert "water level" not in screen(app.pane).partition("row 2")[0], "the words must be on two lines"
        await pilot.press("slash", *"water level", "enter")
        for number in range(1, 5):
            assert bar_column(app.pane)[0].startswith(f"row {number}")
            assert marked_text(app.pane) == ("water level" if number > 1 else "")
            await pilot.press("n")


async def test_title_of_a_tab_that_is_not_selected_is_marked() -> None:
    tabs = "".join(f'{{% tab title="{name} tool" %}}\nRun the {name} tool.\n{{% endtab %}}\n' for name in ("a", "b"))
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.show(parse(f"{{% tabs %}}\n{tabs}{{% endtabs %}}\n"), key="p")
        await pilot.press("slash", *"b tool", "enter")
        assert app.pane.find_bar.search_status == "1 of 2"
        assert marked_text(app.pane) == "b tool"
        assert "Run the a tool." in screen(app.pane)
        await pilot.press("n")
        assert marked_text(app.pane) == "b tool"
        assert bar_column(app.pane) == ["Run the b tool."]


async def test_next_match_follows_the_selected_match_after_the_page_changes() -> None:
    paragraphs = [f"Paragraph {number} has a word." for number in range(12)]
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 16)) as pilot:
        app.pane.show_markdown("\n\n".join(paragraphs), key="p")
        await pilot.press("slash", *"word", "enter", "n", "n", "n")
        assert app.pane.find_bar.search_status == "4 of 12"
        app.pane.show_markdown("\n\n".join(["A new word.", "And no more.", *paragraphs]), key="p")
        await pilot.pause()
        assert app.pane.find_bar.search_status == "5 of 13"
        await pilot.press("n")
        assert bar_column(app.pane) == ["Paragraph 4 has a word."]
        assert marked_text(app.pane) == "word"
