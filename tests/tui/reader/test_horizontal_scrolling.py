"""Content that is too wide can be scrolled horizontally, and shows how much is hidden."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len, set_cell_size
from textual.geometry import Offset
from textual.selection import Selection

from octavo.documents.source_reader import parse
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.render.comparison import compare
from octavo.tui.render.layout import lay_out
from octavo.tui.render.styled_lines import StyledText, hidden_columns_text, pan_pieces, width_of
from octavo.tui.render.styles import UNICODE, Styles
from tests.tui.reader.panes import PaneApp, screen
from tests.tui.reader.picture import PAGES

CODE = "```\n" + "".join(f"{number:>5}" for number in range(30)) + "\n```\n"
TABLE = (
    "| " + " | ".join(f"heading{number}" for number in range(30)) + " |\n|" + "-|" * 30 + "\n|" + " cell |" * 30 + "\n"
)
GLYPHS = "| 再試行 | 同じ識別子 | 🚀 | ﾊﾝｶｸ |\n| --- | --- | --- | --- |\n| 再試行は同じ識別子を持つ | 한국어 문장은 | 👩‍💻🇬🇧 | é`コード`x |\n"


@pytest.mark.parametrize(
    ("left", "right", "shown"),
    [
        (0, 58, "58 more columns ›"),
        (0, 1, "1 more column ›"),
        (16, 42, "‹ 16 more · 42 more ›"),
        (58, 0, "‹ 58 more columns"),
    ],
)
def test_hidden_columns_are_counted_per_side(left: int, right: int, shown: str) -> None:
    assert hidden_columns_text(left, right, UNICODE) == shown


WORDS = [StyledText("one two three four-and-more "), StyledText("漢字 five   six sevenseveneightnine")]


@pytest.mark.parametrize(
    ("start", "width", "visible"),
    [
        (0, 100, "one two three four-and-more 漢字 five   six sevenseveneightnine"),
        (0, 18, "one two three …"),
        (0, 15, "one two three …"),
        (0, 14, "one two three…"),
        (0, 31, "one two three four-and-more 漢…"),
        (2, 18, "… two three …"),
        (4, 16, "…   three …"),
        (5, 32, "…  three four-and-more 漢字 …"),
        (38, 30, "… six sevenseveneightnine"),
        (38, 12, "… six seven…"),
        (50, 6, "…vene…"),
    ],
)
def test_scrolled_content_is_cut_at_words_with_mark(start: int, width: int, visible: str) -> None:
    shown = pan_pieces(WORDS, start, width, "…", at_words=True)
    text = "".join(piece.text for piece in shown)
    assert re.sub(" *…$", "…", text) == re.sub(" *…$", "…", visible)
    assert not visible.endswith("…") or width_of(shown) == width
    assert width_of(shown) <= width


@pytest.mark.parametrize(
    ("start", "width", "visible"),
    [
        (0, 100, "one two three four-and-more 漢字 five   six sevenseveneightnine"),
        (0, 18, "one two three fou…"),
        (0, 15, "one two three …"),
        (0, 31, "one two three four-and-more 漢…"),
        (4, 16, "…wo three four-…"),
        (38, 11, "… six seve…"),
    ],
)
def test_scrolled_code_fills_its_box(start: int, width: int, visible: str) -> None:
    assert "".join(piece.text for piece in pan_pieces(WORDS, start, width, "…")) == visible


@given(st.integers(0, 80), st.integers(4, 90))
def test_visible_content_keeps_its_column(start: int, width: int) -> None:
    line = "".join(piece.text for piece in WORDS)
    visible = "".join(piece.text for piece in pan_pieces(WORDS, start, width, "…"))
    assert cell_len(visible) <= width
    at = 0
    for character in visible:
        assert character in "… " or line[len(set_cell_size(line, start + at)) :].startswith(character)
        at += cell_len(character)


@pytest.mark.parametrize(
    "shares", [(83.33, 16.67), (16.67, 83.33), (8, 8, 84), (90, 5, 5), (50,), (0, 90), (1, 1, 1, 97)]
)
@pytest.mark.parametrize("width", [62, 76, 100, 140])
def test_unequal_column_shares_fit_width(shares: tuple[float, ...], width: int) -> None:
    image = "![An image](some-picture.png)\n\n> quoted, quoted and more\n>\n> > * within\n"
    inner = "".join(f'{{% column width="{share}%" %}}\n{image}\n{{% endcolumn %}}\n' for share in shares)
    lines = lay_out(parse(f"{{% columns %}}\n{inner}{{% endcolumns %}}\n").blocks, width, Styles.plain())
    assert max(line.width for line in lines) <= width
    (boxes,) = [line.text for line in lines if line.text.startswith("╭")][:1]
    found = [cell_len(box) for box in re.findall("╭[^╮]*╮", boxes)]
    assert all(box >= 20 for box in found)
    if len(found) == len(shares) == 2:
        assert (found[0] > found[1]) == (shares[0] > shares[1])


async def test_code_scrolls_no_further_than_its_end() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse(CODE), title="", key="p")
        await pilot.pause()
        assert "99 more columns ›" in screen(app.pane)
        await pilot.press("right")
        assert "‹ 16 more · 83 more ›" in screen(app.pane)
        await pilot.press(*["right"] * 12)
        assert "‹ 99 more columns" in screen(app.pane)
        assert "   29 │" in screen(app.pane)
        await pilot.press("left")
        assert "‹ 83 more · 16 more ›" in screen(app.pane)


async def test_table_counts_hidden_columns() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse(TABLE), title="", key="p")
        await pilot.pause()
        assert "25 more columns ›" in screen(app.pane)
        await pilot.press("right")
        assert "‹ 2 more · 24 more ›" in screen(app.pane)
        assert "heading2" in screen(app.pane)


async def test_scroll_key_without_wide_content_explains() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse("words\n\n```\nshort\n```\n"), title="", key="p")
        await pilot.press("right")
        assert app.explained == ["Nothing to scroll here: no code or table is wider than the pane."]


@pytest.mark.parametrize("before", ["", TABLE.replace("cell", "sell", 1), CODE.replace("12", "21")])
@pytest.mark.parametrize("after", [CODE, TABLE, f'{{% hint style="info" %}}\n{CODE}{{% endhint %}}\n'])
async def test_wide_changes_scroll_sideways(before: str, after: str) -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(60, 40)) as pilot:
        app.pane.show(compare(before, after), key="p")
        await pilot.press("n")
        first = screen(app.pane)
        moves = "more columns ›" in first
        await pilot.press("right")
        if moves:
            assert "‹ " in screen(app.pane)
            assert screen(app.pane) != first
        else:
            assert all(str(number) in first for number in range(30))
        await pilot.press("left")
        assert screen(app.pane) == first


@pytest.mark.parametrize("width", range(16, 61))
def test_wide_characters_stay_in_table(width: int) -> None:
    for line in lay_out(parse(GLYPHS).blocks, width, Styles.plain()):
        assert cell_len(line.text) <= width


@pytest.mark.parametrize("size", [(1, 1), (12, 4), (40, 12)])
@pytest.mark.parametrize("name", ["tables", "cards", "interface"])
async def test_every_row_has_pane_width(size: tuple[int, int], name: str) -> None:
    app = PaneApp(PageView())
    document = parse((PAGES / f"{name}.md").read_text(encoding="utf-8"))
    async with app.run_test(size=size) as pilot:
        app.pane.show(document, title=name, key="p")
        app.pane.set_threads({block.key: 1 for block in document.blocks})
        for keys in (["f"], ["escape", "slash", "a"], ["enter", "n"], ["t", "right"], ["G", "f"]):
            await pilot.press(*keys)
            assert {app.pane.render_line(y).cell_length for y in range(app.pane.size.height)} == {
                app.pane.viewport.pane_width
            }


@pytest.mark.parametrize("size", [(1, 1), (12, 4), (40, 12)])
async def test_every_diff_row_has_pane_width(size: tuple[int, int]) -> None:
    app = PaneApp(DiffView())
    before, after = ((PAGES / f"{name}.md").read_text(encoding="utf-8") for name in ("tables", "wide"))
    async with app.run_test(size=size) as pilot:
        app.pane.show(compare(before, after), title="tables", key="p")
        for keys in (["n", "n"], ["slash", "a", "enter"], ["escape", "right", "equals_sign"], ["G"]):
            await pilot.press(*keys)
            assert {app.pane.render_line(y).cell_length for y in range(app.pane.size.height)} == {
                app.pane.viewport.pane_width
            }


async def test_copy_of_wide_code_includes_the_text_that_is_scrolled_out_of_view() -> None:
    lines = [f"curl https://api.example.com/v1/stations/{'north/' * 12}levels", "echo done"]
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 20)) as pilot:
        app.pane.show(parse("```sh\n" + "\n".join(lines) + "\n```\n"), key="p")
        for _ in range(3):
            copied = app.pane.get_selection(Selection(None, None))
            assert copied is not None
            assert copied[0].strip().split("\n") == lines
            await pilot.press("right")
        assert "echo" not in screen(app.pane)
        text = app.pane.get_selection(Selection(Offset(10, 1), Offset(20, 1)))
        assert text is not None
        assert text[0] in lines[0]
        assert len(text[0]) == 10
