"""Tables: rows can be selected, opened and copied, and the head stays visible."""

from __future__ import annotations

import pytest

from octavo.documents.blocks import Block
from octavo.documents.source_reader import parse
from octavo.tui.reader.page_dialogs import TableRowDialog
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.layout import block_ranges, lay_out
from octavo.tui.render.styles import Styles
from octavo.tui.render.tables import copied_text
from tests.tui.reader.panes import PaneApp, bar_column, links, screen

TABLE = """\
| Field | Meaning | See |
| --- | --- | --- |
| `url` | Where events go to | [Signing](signing.md) |
| `events` | What is sent | |
| `secret` | Signs [all](all.md) | [Keys](keys.md) |
"""
LONG = "| Name | Value |\n| --- | --- |\n" + "".join(f"| name {number} | value {number} |\n" for number in range(60))
MERGED = """\
<table><thead><tr><th>A</th><th>B</th><th>C</th></tr></thead><tbody><tr><td rowspan="2">tall</td><td colspan="2">broad</td></tr>
<tr><td>one</td><td>two</td></tr></tbody></table>
"""
TYPED = """\
<table><thead><tr><th>Name</th><th data-type="checkbox">Done</th><th data-type="select">State<select>
<option value="x1" label="In review"></option><option value="x2" label="Merged"></option></select></th>
<th data-type="number">Count</th><th data-type="users">Who</th><th data-type="files">File</th></tr></thead>
<tbody><tr><td>Guide</td><td>true</td><td>x1, x2</td><td>12</td><td>Mira</td><td><a href="a.pdf">a.pdf</a></td></tr>
</tbody></table>
"""


def row_view(app: PaneApp[PageView]) -> PageView:
    assert isinstance(app.screen, TableRowDialog)
    return app.screen.query_one(PageView)


async def test_table_row_is_selected_and_commented() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(TABLE), key="p")
        await pilot.press("right_parenthesis", "right_parenthesis")
        assert bar_column(app.pane) == ["events   What is sent"]
        await pilot.press("c")
        (said,) = [each for each in app.said if isinstance(each, Reader.CommentRequested)]
        assert (said.block.kind, said.block.plain()) == ("row", "events\nWhat is sent")
        assert said.block.key


async def test_table_row_opens_by_field_with_its_links() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.show(parse(TABLE), key="p")
        await pilot.press("right_parenthesis", "enter")
        await pilot.pause()
        shown = [line.strip(" ▌") for line in screen(row_view(app)).split("\n")]
        assert shown[:3] == ["Field    url", "Meaning  Where events go to", "See      Signing"]
        await pilot.press("J", "J")
        await pilot.pause()
        assert "Keys" in screen(row_view(app))
        await pilot.press("right_parenthesis", "enter")
        await pilot.pause()
        assert links(app) == [("all.md", False)]
        assert bar_column(app.pane)[0].startswith("secret")
        await pilot.press("enter")
        await pilot.press("c")
        assert [each.block.kind for each in app.said if isinstance(each, Reader.CommentRequested)] == ["row"]
        await pilot.press("enter", "y")
        assert app.clipboard == "secret"
        await pilot.press("escape")
        assert not isinstance(app.screen, TableRowDialog)


async def test_table_row_and_table_are_copied_with_tabs() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(TABLE), key="p")
        await pilot.press("y")
        assert app.clipboard.split("\n") == [
            "Field\tMeaning\tSee",
            "url\tWhere events go to\tSigning",
            "events\tWhat is sent\t",
            "secret\tSigns all\tKeys",
        ]
        await pilot.press("right_parenthesis", "y")
        assert app.clipboard == "url\tWhere events go to\tSigning"


def test_typed_cells_are_copied_as_shown() -> None:
    assert copied_text(parse(TYPED).blocks[0]).split("\n")[1] == "Guide\ttrue\tIn review, Merged\t12\tMira\ta.pdf"


async def test_sticky_head_of_long_table_hides_no_cursor() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse(f"Before.\n\n{LONG}\nAfter."), key="p")
        await pilot.press("j")
        assert screen(app.pane).count("Name") == 1
        await pilot.press(*["j"] * 20)
        rows = screen(app.pane).split("\n")
        assert rows[0].split() == ["Name", "Value"]
        assert "name" in rows[1]
        assert bar_column(app.pane)[0] == rows[1].strip(" ▌")
        for _ in range(30):
            await pilot.press("left_parenthesis")
            assert bar_column(app.pane)
        await pilot.press("G")
        assert "After." in screen(app.pane)


async def test_sticky_head_of_several_lines_hides_no_cursor() -> None:
    rows = "".join(f"| name {number} | value {number} |\n" for number in range(60))
    head = f"| Name | {'what it is worth to those who have it ' * 3}and those |\n"
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 16)) as pilot:
        app.pane.show(parse(f"Before.\n\n{head}| --- | --- |\n{rows}\nAfter."), key="p")
        await pilot.pause()
        above = [row for row in screen(app.pane).split("\n") if "worth" in row or "those" in row]
        assert len(above) > 1
        await pilot.press("j", *["right_parenthesis"] * 40)
        for _ in range(30):
            await pilot.press("left_parenthesis")
            shown = screen(app.pane).split("\n")
            assert shown[: len(above)] == above
            assert bar_column(app.pane)[0].startswith("name")
        ground = app.pane.viewport.text_styles.panel.bgcolor
        painted = app.pane.painter.paint()[: len(above)]
        wide = [
            sum(part.cell_length for part in strip if part.style and part.style.bgcolor == ground) for strip in painted
        ]
        assert len(set(wide)) == 1
        assert wide[0] > 40
        await pilot.press("f")


async def test_sliced_table_keeps_head_and_opens_rows() -> None:
    rows = "".join(f"| name {number} | value {number} |\n" for number in range(400))
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse(f"| Name | Value |\n| --- | --- |\n{rows}"), key="p")
        assert len(app.pane.viewport.virtual_lines) > 4
        await pilot.press("G")
        shown = screen(app.pane).split("\n")
        assert shown[0].split() == ["Name", "Value"]
        assert shown[0].index("Value") == shown[5].index("value")
        assert "value 399" in screen(app.pane)
        await pilot.press("enter")
        await pilot.pause()
        assert "name 399" in screen(row_view(app))
        await pilot.press(*["K"] * 41)
        assert "name 358" in screen(row_view(app))


def test_merged_cells_keep_their_columns() -> None:
    rows = [line.text.split() for line in lay_out(parse(MERGED).blocks, 60, Styles.plain())]
    assert rows[0] == ["A", "B", "C"]
    assert rows[2:] == [["tall", "broad"], ["one", "two"]]
    texts = [line.text for line in lay_out(parse(MERGED).blocks, 60, Styles.plain())]
    assert texts[0].index("B") == texts[2].index("broad") == texts[3].index("one")
    assert texts[0].index("C") == texts[3].index("two")


def test_full_width_merged_cell_adds_no_columns() -> None:
    markdown = MERGED.replace('colspan="2"', 'colspan="100"')
    assert [line.text for line in lay_out(parse(markdown).blocks, 60, Styles.plain())] == [
        line.text for line in lay_out(parse(MERGED).blocks, 60, Styles.plain())
    ]


def test_cells_are_shown_according_to_their_types() -> None:
    (row,) = [line.text for line in lay_out(parse(TYPED).blocks, 90, Styles.plain())][2:]
    assert row.split() == ["Guide", "☑", "In", "review", "Merged", "12", "@Mira", "↓", "a.pdf"]


def test_long_option_wraps_between_words() -> None:
    label = "Reviewers from another department"
    head = f'<th>Who<select><option value="a" label="{label}"></option></select></th>' * 2
    cell = '<td><span data-option="a">a</span></td>' * 2
    table = f"<table><thead><tr>{head}</tr></thead><tbody><tr>{cell}</tr></tbody></table>"
    text = "".join(line.text for line in lay_out(parse(table).blocks, 44, Styles.plain()))
    assert [text.split().count(word) for word in label.split()] == [2] * 4


@pytest.mark.parametrize("width", [1, 8, 200])
def test_column_width_is_kept_when_columns_shrink(width: int) -> None:
    words = "many words that wrap in a narrow column " * 2
    markdown = f'<table><thead><tr><th width="{width * 8}">A</th><th>B</th></tr></thead><tbody><tr><td>{words}</td><td>{words}</td></tr></tbody></table>'
    head = lay_out(parse(markdown).blocks, 80, Styles.plain())[0].text
    assert head.index("B") == (14 if width < 20 else 41)


def column_starts(markdown: str, width: int) -> list[int]:
    """Return the first cell of each column, found by the words in the head."""
    head = lay_out(parse(markdown).blocks, width, Styles.plain())[0].text
    return [head.index(word) for word in head.split()]


PROSE = "what the server does when a request was answered by another one meanwhile and nobody asked"


def test_prose_columns_share_width_by_length() -> None:
    little, much = PROSE[:48], f"{PROSE} {PROSE} {PROSE}"
    lines = f"| Key | Name | Meaning |\n|-|-|-|\n| a1 | {little} | {much} |\n"
    key, name, meaning = column_starts(lines, 54)
    assert name - key == len("Key") + 3
    assert 54 - meaning > 1.5 * (meaning - name)
    shorter = f"| Key | Meaning | Name |\n|-|-|-|\n| a1 | {much} | {little} |\n"
    key, meaning, name = column_starts(shorter, 54)
    assert name - meaning > 1.5 * (54 - name)


def test_equal_prose_columns_have_equal_width() -> None:
    first, second = column_starts(f"| A | B |\n|-|-|\n| {PROSE} | {PROSE} |\n", 54)
    assert abs((second - first - 3) - (54 - 1 - second)) <= 1


@pytest.mark.parametrize("name", ["registerLocalToolAlso()", "X-RateLimit-Remaining"])
@pytest.mark.parametrize("width", [54, 74])
def test_long_word_stays_whole_next_to_prose(name: str, width: int) -> None:
    markdown = f"| Name | Meaning |\n|-|-|\n| `{name}` | {PROSE} {PROSE} |\n"
    assert name in "\n".join(line.text for line in lay_out(parse(markdown).blocks, width, Styles.plain()))


NOTES = "what it is for and what becomes of it when nobody says anything about it at all, " * 3


def max_width(markdown: str, width: int, available: int) -> int:
    return max(line.width for line in lay_out(parse(markdown).blocks, width, Styles.plain(), available_width=available))


def test_table_with_broken_words_uses_full_width() -> None:
    table = f"| Field | Type | In short | Notes |\n|-|-|-|-|\n| `name` | text | {NOTES[:90]} | {NOTES} |\n"
    assert max_width(table, 76, 130) > 124
    assert 200 < max_width(table, 76, 230) < 225
    assert max_width(table, 76, 76) <= 76


def test_prose_column_has_maximum_width() -> None:
    assert max_width(f"| Field | Notes |\n|-|-|\n| `name` | {NOTES} |\n", 76, 220) < 120


def test_short_columns_shrink_before_prose() -> None:
    table = f"| Property name | Kind of type | May be left out | Notes |\n|-|-|-|-|\n| a list of them | list of texts | if not set | {NOTES} |\n"
    head = lay_out(parse(table).blocks, 76, Styles.plain())[0].text
    assert 76 - head.index("Notes") >= 30


def test_numbers_and_codes_stay_whole_next_to_prose() -> None:
    row = ("1,234.50", "1,234,567.89", "v12-rc1", f"{PROSE} {PROSE}")
    markdown = f"| At | Of | In | Meaning |\n|-|-:|-|-|\n| {' | '.join(row)} |\n"
    first = lay_out(parse(markdown).blocks, 54, Styles.plain())[2].text
    assert first.split()[:3] == list(row[:3])


def test_text_without_spaces_takes_no_more_than_words() -> None:
    markdown = f"| 名 | Meaning |\n|-|-|\n| {'機能' * 9} | {PROSE} {PROSE} {PROSE} {PROSE} |\n"
    assert column_starts(markdown, 44)[1] <= 1 + 20 + 3


@pytest.mark.parametrize(("width", "moves"), [(60, False), (44, False), (30, True)])
def test_long_words_break_before_table_scrolls(width: int, moves: bool) -> None:
    markdown = "| Name | Type | Default | Meaning |\n|-|-|-|-|\n| state | string | active,degraded,silent | Separated states |\n"
    lines = [line.text for line in lay_out(parse(markdown).blocks, width, Styles.plain())]
    assert any("›" in line for line in lines) is moves
    assert all(word in "".join(lines) for word in ("degraded,", "silent", "states")) is not moves


def test_any_table_shape_fits_and_loses_no_word() -> None:
    rows: list[Block] = []
    for columns in (1, 7, 60):
        markdown = f"|{'h再|' * columns}\n|{'-|' * columns}\n|{'wide再試 cell|' * columns}\n"
        for width in (16, 33, 80):
            lines = lay_out(parse(markdown).blocks, width, Styles.plain())
            assert max(line.width for line in lines) <= width
            rows += [block for _, _, block in block_ranges(lines) if block.kind == "row"]
    assert len(rows) == 9


def test_head_words_stay_whole_if_others_can_shrink() -> None:
    rows = (
        "PORT | The HTTP port it runs on | Number | 3000",
        "HARBOUR_FILE_SIZE_LIMIT | Maximum file size when uploading | String | `50mb`",
        "IFRAME_ORIGINS | The allowed origins for iframe src embedding | String |",
        "SHOW_COMMUNITY_NODES | Display nodes that are created by community | Boolean: `true` or `false` |",
    )
    lines = "\n".join(f"| {row} |" for row in ("Variable | Description | Type | Default", "-|-|-|-", *rows))
    head = lay_out(parse(lines).blocks, 48, Styles.plain())[0].text.split()
    assert head == ["Variable", "Description", "Type", "Default"]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize(
    "word",
    [
        "IssuingCountrySubdivisionCode",
        "SUBSCRIBE_COMMAND_HANDLER",
        "ResourceCategoryAssignment",
        "react-native-aepassurance",
    ],
)
def test_word_stays_whole_if_other_columns_have_space(word: str, width: int) -> None:
    rows = f"| `{word}` | string | optional | {PROSE} {PROSE} |\n| `Id` | array of strings | required | {PROSE} |\n"
    markdown = f"| Property | Type | Contract | Description |\n|-|-|-|-|\n{rows}"
    assert word in "\n".join(line.text for line in lay_out(parse(markdown).blocks, width, Styles.plain()))


def test_long_url_breaks_into_equal_parts() -> None:
    address = "0x8f3Cf7ad23Cd3CaDbD9735AFf958023239c6A063"
    markdown = f"| Name | Address | Notes |\n|-|-|-|\n| Router | `{address}` | {PROSE} {PROSE} |\n"
    text = "\n".join(line.text for line in lay_out(parse(markdown).blocks, 60, Styles.plain()))
    assert address[:21] in text.split()
    assert address[21:] in text.split()
    assert address in lay_out(parse(markdown).blocks, 90, Styles.plain())[2].text


def test_words_stay_whole_in_scrolling_table() -> None:
    row = "Consecutive blocks | empty_consecutive_blocks | Sub-category Blockchain | Alert | Interval |"
    markdown = f"| Sub-category | Alerts | Of | Type | Every |\n|-|-|-|-|-|\n| {row}\n"
    text = "\n".join(line.text for line in lay_out(parse(markdown).blocks, 40, Styles.plain()))
    assert "›" in text
    assert {"Consecutive", "consecutive_", "category", "Blockchain"} <= set(text.split())


@pytest.mark.parametrize("width", [78, 80])
@pytest.mark.parametrize(
    ("name", "where", "path"),
    [
        ("getEveryJsonTicketOfAShop", "<https://shop.example.com/Every>", "{id}/of/every-ticket"),
        ("UnbrokenNameOfADriverThatFails", "<https://code.example.com/FIX-2031-15>", "SHOP-2031-1531"),
    ],
)
def test_url_breaks_before_word_of_other_column(name: str, where: str, path: str, width: int) -> None:
    markdown = f"| Name | Where | Path |\n|-|-|-|\n| {name} | {where} | {path} |\n"
    lines = lay_out(parse(markdown).blocks, width, Styles.plain())
    assert lines[2].text.split() == [name, "https://" + where.split("/")[2] + "/", path]
    assert all(line.width <= width for line in lines)


def test_url_breaks_before_name_next_to_prose() -> None:
    name, where = "/.well-known/change-password", "<https://w3c.example.org/well-known-addresses/#the-change-address>"
    markdown = f"| Name | Meaning | Status | Where |\n|-|-|-|-|\n| `{name}` | {PROSE} | Provisional | {where} |\n"
    assert name in lay_out(parse(markdown).blocks, 82, Styles.plain())[2].text


@pytest.mark.parametrize("width", [72, 76, 78, 80])
def test_short_url_stays_whole_next_to_prose(width: int) -> None:
    where = "'http://localhost:5100/api'"
    markdown = f"| Variable | Default | Purpose |\n|-|-|-|\n| `SSS_SERVER_URL` and {PROSE} | `{where}` | {PROSE} |\n"
    assert where in "".join(line.text for line in lay_out(parse(markdown).blocks, width, Styles.plain()))


@pytest.mark.parametrize("width", [78, 80, 84, 88])
def test_free_cells_are_given_to_broken_words(width: int) -> None:
    markdown = (
        "| Name | Type | Notes | Where it is |\n|-|-|-|-|\n"
        "| `CampaignClassicName` | a few words | supercalifragilistic word | over the hills and far away |\n"
    )
    text = "\n".join(line.text for line in lay_out(parse(markdown).blocks, width, Styles.plain()))
    assert "CampaignClassicName" in text
    assert "supercalifragilistic" in text


def test_ordinary_words_stay_whole_beside_names_that_break_at_capitals() -> None:
    names = ("customerDeliveryAddress", "customerPaymentProvider", "customerTelephoneNumber")
    rows = "".join(f"| {name} | {PROSE} | text | ja | 2f9c17d04b8e6a35c1d7e90b |\n" for name in names)
    markdown = f"| Eigenschaft | Beschreibung | Art | Pflichtangaben | Beispielwert |\n|-|-|-|-|-|\n{rows}"
    lines = [line.text for line in lay_out(parse(markdown).blocks, 74, Styles.plain())]
    assert lines[0].split() == ["Eigenschaft", "Beschreibung", "Art", "Pflichtangaben", "Beispielwert"]
    assert any(name not in "\n".join(lines) for name in names)


def test_name_breaks_at_a_capital_instead_of_in_the_middle() -> None:
    row = "400000000000000001 (the whole set) | 7 (a kind of set) | 30 (the part that is meant) | 400000000000000002 | 0 |"
    head = "setIdentifier | includedComponentId | attributeDescription | attributeValueType | attributeOrder |"
    markdown = f"| {head}\n|-|-|-|-|-|\n| {row}\n"
    lines = [line.text for line in lay_out(parse(markdown).blocks, 74, Styles.plain())]
    assert {"attribute", "Order"} <= {line.split()[-1] for line in lines[:3]}


def test_path_breaks_after_a_backslash() -> None:
    markdown = f"| Path | Meaning |\n|-|-|\n| C:\\Programs\\Harbour\\settings\\everything.ini | {PROSE} |\n"
    lines = [line.text for line in lay_out(parse(markdown).blocks, 40, Styles.plain())]
    assert [line.split()[0] for line in lines[2:5]] == ["C:\\Programs\\", "Harbour\\settings\\", "everything.ini"]


def test_word_of_an_item_stays_whole_in_a_narrow_column() -> None:
    cell = "<ul><li>one undistinguishable thing</li><li>another</li></ul>"
    table = f"<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td>{cell}</td><td>{PROSE}</td></tr></tbody></table>"
    for width in (40, 44):
        text = "\n".join(line.text for line in lay_out(parse(table).blocks, width, Styles.plain()))
        assert "undistinguishable" in text


def test_width_of_a_column_breaks_no_word_that_has_room() -> None:
    head = '<th width="120">Field</th><th>Meaning</th><th width="80">Kind</th>'
    row = f"<td>notificationEncryption</td><td>{PROSE} {PROSE}</td><td>timestamp(12)</td>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody><tr>{row}</tr></tbody></table>"
    text = "\n".join(line.text for line in lay_out(parse(table).blocks, 100, Styles.plain()))
    assert {"notificationEncryption", "timestamp(12)"} <= set(text.split())


def test_paths_stay_whole_if_the_table_gets_few_more_lines() -> None:
    paths = ("harbour/settings/shared/berthRegistry.json", "harbour/settings/shared/pilotPaymentMatrix.js")
    rows = "".join(f"| Register of the {name} | `{path}` |\n" for name, path in zip("ab", paths, strict=True))
    markdown = f"| Thing | Path |\n|-|-|\n{rows}| Tide tables | `tides.md` |\n"
    lines = [line.text for line in lay_out(parse(markdown).blocks, 60, Styles.plain())]
    assert set(paths) <= set("\n".join(lines).split())


def test_prose_is_not_squeezed_for_a_long_word() -> None:
    markdown = f"| Meaning | Key |\n|-|-|\n| {PROSE} {PROSE} | 4fa1c09be7725d13880bb6f2 |\n"
    lines = [line.text for line in lay_out(parse(markdown).blocks, 40, Styles.plain())]
    assert "4fa1c09be7725d13880bb6f2" not in "\n".join(lines)


def test_columns_are_closer_if_more_words_then_stay_whole() -> None:
    term = "Genetic analysis overall carrier interpretation:Imp:Pt:Bld/Tiss:Nar:Molgen"
    rows = f"| 823801010000103 | 4498991010000115 | US: A | {term} | CS |\n"
    markdown = f"| Concept Id | Description Id | Acceptability | Term | Case |\n|-|-|-|-|-|\n{rows}"
    wide, narrow = (
        [line.text for line in lay_out(parse(markdown).blocks, width, Styles.plain())] for width in (90, 76)
    )
    assert wide[0].split("  ")[0].strip() == narrow[0].split("  ")[0].strip() == "Concept Id"
    assert {"823801010000103", "4498991010000115", "Acceptability"} <= set("\n".join(narrow).split())
    assert [line.find("44989") - line.find("103") for lines in (wide, narrow) for line in lines if "103" in line] == [
        6,
        5,
    ]


def test_title_above_numbers_wraps_so_that_names_stay_whole() -> None:
    names = ("VDD_5V_HIPOWER", "UART8_TX_GPS2_EXT", "I2C1_SDA_BASE_GPS1_EXT", "I2C2_SCL_BASE_GPS2_EXT")
    rows = f"| 7 | {names[0]} | 5.0V | 8 | {names[3]} | 3.3V |\n| 23 | {names[2]} | 3.3V | 24 | {names[1]} | 3.3V |\n"
    titles = "| Pin Number | Signal Name | Voltage | Pin Number | Signal Name | Voltage |"
    lines = [line.text for line in lay_out(parse(f"{titles}\n|-|-|-|-|-|-|\n{rows}").blocks, 76, Styles.plain())]
    assert {names[0], names[1], names[3]} <= set("\n".join(lines).split())


def test_title_does_not_wrap_beside_unused_width() -> None:
    titles = "| Role | Lock rows | Edit locked rows | Lock modules | Edit locked modules |"
    table = f"{titles}\n|-|-|-|-|-|\n| administrator | yes | no | no | yes |\n"
    lines = lay_out(parse(table).blocks, 72, Styles.plain(), available_width=100)
    assert "Edit locked modules" in lines[0].text
    assert len(lines) == 3


def test_korean_words_stay_whole() -> None:
    titles, cells = "| 첫날 안내 | 둘째 | 셋째 | 넷째 |", f"| 등대지기 안내문 | {PROSE} | {PROSE} | {PROSE} |"
    lines = [line.text for line in lay_out(parse(f"{titles}\n|-|-|-|-|\n{cells}\n").blocks, 50, Styles.plain())]
    assert {"등대지기", "안내문"} <= {word for line in lines for word in line.split()}


def test_right_to_left_columns_are_right_aligned() -> None:
    markdown = "| שם | סוג | Key |\n|-|-|-|\n| אחד | הסבר ארוך | a |\n| API | ממשק | bcd |\n"
    lines = [line.text for line in lay_out(parse(markdown).blocks, 60, Styles.plain())]
    assert lines[2:] == [" אחד   הסבר ארוך   a", " API        ממשק   bcd"]


async def test_row_and_field_are_copied_as_shown() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(100, 24)) as pilot:
        app.pane.show(parse(TYPED), key="p")
        await pilot.press("right_parenthesis", "y")
        assert app.clipboard == "Guide\ttrue\tIn review, Merged\t12\tMira\ta.pdf"
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("right_parenthesis", "right_parenthesis", "y")
        assert app.clipboard == "In review, Merged"


def test_merged_cells_are_copied_in_their_columns() -> None:
    table = parse(MERGED).blocks[0]
    assert copied_text(table).split("\n") == ["A\tB\tC", "tall\tbroad\t", "\tone\ttwo"]
    assert copied_text(table.children[1], table) == "\tone\ttwo"


async def test_click_on_the_sticky_head_selects_no_covered_row() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse(LONG), key="p")
        await pilot.press(*["ctrl+d"] * 3)
        before = bar_column(app.pane)
        assert screen(app.pane).split("\n")[0].split() == ["Name", "Value"]
        await pilot.click(offset=(10, 0))
        assert bar_column(app.pane) == before
