"""Tables and cards."""

from __future__ import annotations

import pytest

from octavo.documents.blocks import plain_text
from octavo.documents.source_reader import parse
from tests.documents.checker import faults
from tests.documents.rendered_line_checks import default_styles, lay_out_all, text_of


def test_pipe_table_has_alignment_and_cells() -> None:
    (table,) = parse("| A | **B** |\n|:-:|--:|\n| 1 | `x` |\n| 2 |\n").blocks
    assert [(plain_text(column.title), column.align) for column in table.attrs["columns"]] == [
        ("A", "center"),
        ("B", "right"),
    ]
    assert [[cell.plain() for cell in row.children] for row in table.children] == [["1", "x"], ["2", ""]]


def test_surplus_cells_are_joined_to_the_last_column() -> None:
    (table,) = parse("| A | B |\n|---|---|\n| 1 | `x || y` |\n| 1 | 2 | 3 |\n| 1 | 2 \\| 3 |\n").blocks
    assert [row.children[1].plain() for row in table.children] == ["x || y", "2 | 3", "2 | 3"]
    (open_table,) = parse("A | B\n--|--\n1 | 2 | 3\n").blocks
    assert [cell.plain() for cell in open_table.children[0].children] == ["1", "2 | 3"]
    (closed,) = parse("| A | B |\n|---|---|\n| 1 | 2 ||\n| 1 | 2 | |\n| or | || |\n").blocks
    assert [row.children[1].plain() for row in closed.children] == ["2", "2", "||"]
    (quote,) = parse("> | A | B |\n> |---|---|\n> | 1 | x || y |\n").blocks
    assert [cell.plain() for cell in quote.children[0].children[0].children] == ["1", "x || y"]


@pytest.mark.parametrize(
    ("dashes", "align"),
    [
        ("|:-|:-:|--:|", ["left", "center"]),
        ("|-:|", ["right", None]),
        ("| : | : |", [None, None]),
        ("|---|---|---", [None, None]),
    ],
)
def test_line_of_dashes_need_not_match_the_header(dashes: str, align: list[str | None]) -> None:
    source = f"Above\n\n| A | B |\n{dashes}\n| 1 | 2 |\n\nBelow\n"
    above, table, below = parse(source).blocks
    assert [(plain_text(column.title), column.align) for column in table.attrs["columns"]] == [
        ("A", align[0]),
        ("B", align[1]),
    ]
    assert [cell.plain() for cell in table.children[0].children] == ["1", "2"]
    assert (above.lines, table.lines, below.lines) == ((0, 1), (2, 5), (6, 7))
    assert faults(source, widths=(80,)) == []
    (quote,) = parse(f"> | A | B |\n> {dashes}\n> | 1 | 2 |\n").blocks
    assert quote.children[0].kind == "table"


@pytest.mark.parametrize(
    "source", ["| A | B |\nC | D", "A | B | C\n-|-", "| A |\n    |---|---|", "| A | B |\n|---||---|"]
)
def test_text_with_bars_is_not_a_table(source: str) -> None:
    assert all(block.kind != "table" for block in parse(source).blocks)


def test_format_in_a_nested_table_ends_with_the_table() -> None:
    inner = "<table><tr><td><code>name</code></td><td>What it is called</td></tr></table>"
    source = f"<table><tr><td>a</td><td>Each has:{inner}</td></tr></table>\n"
    (table,) = parse(source).blocks
    runs = table.children[0].children[1].runs
    assert [run.text for run in runs if "code" in run.marks] == ["name"]
    assert "What it is called" in plain_text(runs)
    assert faults(source, widths=(80,)) == []


def test_rows_of_a_table_beyond_the_limit_are_shown_as_source() -> None:
    table, source = parse("| A | B |\n|---|---|\n" + "| 1 | last |\n" * 8_000).blocks
    assert len(table.children) > 7_000
    assert (source.attrs["source"], source.text.count("last")) == (True, 8_000 - len(table.children))


def test_html_table_has_typed_columns() -> None:
    (table,) = parse(
        '<table data-full-width="true" data-search><thead><tr><th width="120">Name</th>'
        '<th data-type="checkbox">Done</th><th data-type="rating" data-max="5">Stars</th>'
        '<th data-type="select">Is<select><option value="id1" label="One" color="blue"></option></select></th></tr></thead>'
        "<tbody><tr><td><p>a</p><ul><li>x</li><li>y</li></ul></td><td>true</td><td>3</td>"
        '<td><span data-option="id1">One</span></td></tr><tr><td></td><td></td><td>null</td></tr></tbody></table>'
    ).blocks
    columns = table.attrs["columns"]
    assert [column.type for column in columns] == ["text", "checkbox", "rating", "select"]
    assert columns[0].width == 120
    assert columns[3].options == {"id1": "One"}
    assert (table.attrs["full_width"], table.attrs["search"]) == (True, True)
    first, done, stars, chosen = table.children[0].children
    assert first.plain() == "a\n• x\n• y"
    assert (done.attrs["value"], stars.attrs["value"], chosen.plain()) == (True, 3, "One")
    no_stars = table.children[1].children[2]
    assert (no_stars.attrs, no_stars.runs) == ({}, ())


def test_paragraph_of_a_list_item_in_a_cell_begins_after_its_bullet() -> None:
    cell = "<p>a</p><ol><li><p>b</p><ul><li><p>c</p></li><li>d</li></ul></li><li><h4>e</h4></li></ol>"
    cell += '<ol start="3"><li>f</li></ol>'
    (table,) = parse(f"<table><tr><td>{cell}</td></tr></table>").blocks
    assert table.children[0].plain() == "a\n1. b\n  • c\n  • d\n2. e\n3. f"


@pytest.mark.parametrize("page", ["<table><tr><td>{}</td></tr></table>", "{}"])
def test_task_list_in_html_has_a_box_for_each_item(page: str) -> None:
    tasks = (
        '<ul class="contains-task-list"><li><input type="checkbox" checked>a</li><li><input type="checkbox">b</li></ul>'
    )
    (block,) = parse(page.format(tasks)).blocks
    assert block.plain().replace("• ", "").split("\n") == ["☑ a", "☐ b"]


def test_html_table_spans_blank_lines_and_nested_tables() -> None:
    document = parse("<table><tr><td>a\n\nb<table><tr><td>in</td></tr></table></td></tr>\n\n</table>\n\nafter")
    assert [block.kind for block in document.blocks] == ["table", "paragraph"]
    assert document.blocks[0].plain().split() == ["a", "b", "|", "in"]


@pytest.mark.parametrize(
    ("cell", "plain", "code"),
    [
        ("\n\nUse:\n\n```bash\nrun x \\\n  -y\n```\n\nthen\n\n", "Use:\nrun x \\\n  -y\nthen", ["run x \\", "  -y"]),
        ("\n```\nx\n", "``` x", []),
        ("```x```\n```y```", "```x``` ```y```", []),
    ],
)
def test_fence_in_a_cell_is_a_code_block(cell: str, plain: str, code: list[str]) -> None:
    (table,) = parse(f"<table><tbody><tr><td>a</td><td>{cell}</td></tr></tbody></table>").blocks
    found = table.children[0].children[1]
    assert found.plain() == plain
    assert [run.text for run in found.runs if run.kind == "code"] == code


def test_code_in_a_cell_keeps_its_lines() -> None:
    code = '<p>Run</p><pre class="language-py"><code>if a:\n    <strong>b(\n</strong>\n    )\n</code></pre>'
    (table,) = parse(f"<table><tbody><tr><td>{code}</td><td><pre>\none line\n</pre></td></tr></tbody></table>").blocks
    first, second = table.children[0].children
    assert first.plain() == "Run\nif a:\n    b(\n\n    )"
    assert {"code"} <= set(first.runs[2].marks)
    assert second.plain() == "one line"


def test_table_header_can_be_hidden() -> None:
    (shown,) = parse("<table data-header-hidden><thead><tr><th>x</th></tr></thead><tr><td>a</td></tr></table>").blocks
    (blank,) = parse("| | |\n|-|-|\n| a | b |\n").blocks
    assert shown.attrs["header_hidden"]
    assert blank.attrs["header_hidden"]


@pytest.mark.parametrize(
    "source",
    [
        "|![](one.png)|![](two.png)|\n|-|-|\n",
        '<table><thead><tr><th><img src="one.png"></th><th><img src="two.png"></th></tr></thead></table>\n',
    ],
)
def test_images_in_a_header_are_shown(source: str) -> None:
    document = parse(source)
    assert "header_hidden" not in document.blocks[0].attrs
    shown = text_of(lay_out_all(document, 80, default_styles()))
    assert "one.png" in shown
    assert "two.png" in shown


def test_table_with_card_view_is_cards() -> None:
    (cards,) = parse(
        '<table data-view="cards" data-card-size="large"><thead><tr><th></th>'
        '<th data-hidden data-card-target data-type="content-ref"></th>'
        '<th data-hidden data-card-cover data-type="image"></th></tr></thead><tbody>'
        '<tr><td><strong>One</strong></td><td><a href="a.md">a.md</a></td><td><a href="c.png">c.png</a></td></tr>'
        "<tr><td>Two</td><td></td><td></td></tr></tbody></table>"
    ).blocks
    assert cards.attrs["size"] == "large"
    assert [column.role for column in cards.attrs["columns"]] == [None, "target", "cover"]
    assert cards.children[0].attrs == {"target": "a.md", "cover": "c.png"}
    assert cards.children[1].plain() == "Two"


def test_text_in_the_cover_column_of_a_card_is_text() -> None:
    document = parse(
        '<table data-view="cards"><thead><tr><th data-card-cover></th>'
        '<th data-hidden data-card-target data-type="content-ref"></th></tr></thead><tbody>'
        '<tr><td><strong>ALM/QC</strong></td><td><a href="a.md">a.md</a></td></tr></tbody></table>'
    )
    assert document.blocks[0].children[0].attrs == {"target": "a.md"}
    shown = text_of(lay_out_all(document, 80, default_styles()))
    assert "ALM/QC" in shown
    assert default_styles().glyphs.image not in shown


def test_cards_can_hide_column_titles() -> None:
    cards = (
        '<table {} data-view="cards"><thead><tr><th>Kind</th></tr></thead><tbody><tr><td>x</td></tr></tbody></table>'
    )
    said = {"": None, "data-column-title-hidden": True, 'data-column-title-hidden="false"': None}
    blocks = {given: parse(cards.format(given)).blocks[0] for given in said}
    assert {given: block.attrs.get("titles_hidden") for given, block in blocks.items()} == said
    assert plain_text(blocks[""].attrs["columns"][0].title) == "Kind"


def test_code_with_bold_lines_has_highlighted_lines() -> None:
    (code,) = parse(
        '<pre class="language-js" data-full-width="true" data-title="a.js" data-overflow="wrap" data-line-numbers><code class="lang-js">one &#x3C;b>\n'
        '<strong>two\n</strong>three <a data-footnote-ref href="#user-content-fn-1">x</a>\n</code></pre>'
    ).blocks
    assert code.text == "one <b>\ntwo\nthree x"
    assert code.attrs == {
        "language": "js",
        "title": "a.js",
        "wrap": True,
        "numbers": True,
        "full_width": True,
        "highlighted": (1,),
        "notes": ((2, "1"),),
    }


def test_words_between_cells_are_kept() -> None:
    document = parse("<table><caption>Cap</caption><tr><td>a</td></tr>stray</table>")
    assert document.blocks[0].plain() == "Capstray"


@pytest.mark.parametrize("most", ["0109999999999", "010" + "9" * 5000, "21", "0", "²"])
def test_rating_is_limited(most: str) -> None:
    head = f'<th data-type="rating" data-max="{most}">Stars</th>'
    table = parse(f"<table><thead><tr>{head}</tr></thead><tbody><tr><td>3</td></tr></tbody></table>").blocks[0]
    assert table.attrs["columns"][0].max == 5
