"""Each card, and each block of a column, can be selected."""

from __future__ import annotations

from octavo.documents.source_reader import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from tests.tui.reader.panes import PaneApp, links, screen

CARDS = """\
Before.

<table data-view="cards"><thead><tr><th></th><th data-hidden data-card-target data-type="content-ref"></th></tr></thead><tbody>
<tr><td>One</td><td><a href="one.md">one.md</a></td></tr>
<tr><td>Two, <a href="more.md">more</a></td><td><a href="two.md">two.md</a></td></tr>
<tr><td>Three</td><td></td></tr>
<tr><td>Four</td><td></td></tr>
</tbody></table>

After.
"""
COLUMNS = """\
{% columns %}
{% column %}
Left first.

Left second, which goes on for more than one line of it, as long as it takes.
{% endcolumn %}
{% column %}
## Right

Right words.
{% endcolumn %}
{% endcolumns %}
"""


def cursor_bars(pane: PageView) -> list[tuple[int, int]]:
    """Return the row and the column of each part of the cursor bar."""
    rows = screen(pane).split("\n")
    return [(number, row.rindex("▌")) for number, row in enumerate(rows) if "▌" in row]


async def test_card_is_selectable_opens_and_takes_comments() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(90, 24)) as pilot:
        app.pane.show(parse(CARDS), key="p")
        at = []
        for _ in range(4):
            await pilot.press("right_parenthesis", "y")
            at.append((app.clipboard.split()[0].rstrip(","), cursor_bars(app.pane)[0]))
        words, places = zip(*at, strict=True)
        assert words == ("One", "Two", "Three", "Four")
        assert places[0][1] < places[1][1] < places[2][1]
        assert places[0][0] == places[1][0] == places[2][0] < places[3][0]
        await pilot.press("left_parenthesis", "left_parenthesis", "enter", "c")
        assert links(app) == [("two.md", False)]
        (block,) = [each.block for each in app.said if isinstance(each, Reader.CommentRequested)]
        assert (block.kind, block.children[0].plain()) == ("card", "Two, more")
        assert block.key
        app.pane.set_threads({block.key: 2})
        await pilot.press("g", "t")
        assert "● 2" in screen(app.pane)
        assert cursor_bars(app.pane)[0] == places[1]
        await pilot.press("slash", *"four", "enter", "y")
        assert app.clipboard.split() == ["Four"]


async def test_blocks_of_columns_are_selected_column_by_column() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(90, 24)) as pilot:
        app.pane.show(parse(COLUMNS), key="p")
        read, cells = [], []
        for _ in range(4):
            await pilot.press("y")
            read.append(app.clipboard.split()[:2])
            cells.append({cell for _, cell in cursor_bars(app.pane)})
            await pilot.press("right_parenthesis")
        assert read == [["Left", "first."], ["Left", "second,"], ["Right"], ["Right", "words."]]
        assert cells[0] == cells[1] != cells[2] == cells[3]
        assert len(cursor_bars(app.pane)) == 1
        left = app.pane.navigation.current_position
        app.pane.show(parse("Other."), key="q")
        app.pane.show(parse(COLUMNS), key="p")
        app.pane.navigation.restore(left)
        await pilot.pause()
        assert {cell for _, cell in cursor_bars(app.pane)} == cells[3]


async def test_blocks_of_columns_in_hint_are_selected_one_by_one() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(90, 24)) as pilot:
        app.pane.show(parse(f'{{% hint style="info" %}}\n{COLUMNS}{{% endhint %}}\n'), key="p")
        read = []
        for _ in range(4):
            await pilot.press("right_parenthesis", "y")
            read.append(app.clipboard.split()[:2])
        assert read == [["Left", "first."], ["Left", "second,"], ["Right"], ["Right", "words."]]
        assert (4, 44) in cursor_bars(app.pane)
