"""Threads on a page: marks, keys and dialogs."""

from __future__ import annotations

import pytest

from octavo.documents.source_reader import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.diff_lines import render_threads
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import ThreadReply, ThreadSummary
from tests.tui.reader.panes import PaneApp, bar_column, links, requested_threads, screen

PAGE = """\
Words with a [link](signing.md) in them.

<details>

<summary>Closed</summary>

Inner words.

</details>

| Name | Value |
| --- | --- |
| first | one |
| second | two |
"""


async def test_enter_opens_thread_before_link() -> None:
    app = PaneApp(PageView())
    document = parse(PAGE)
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(document, title="", key="p")
        app.pane.set_threads({document.blocks[0].key: 1})
        await pilot.press("t", "enter")
        assert requested_threads(app) == ["Words with a link in them."]
        assert links(app) == []
        await pilot.press("f", "a")
        assert links(app) == [("signing.md", False)]
        app.pane.set_threads({document.blocks[0].key: 0})
        await pilot.press("enter")
        assert len(links(app)) == 2


async def test_thread_key_expands_collapsed_block_but_enter_does_not() -> None:
    app = PaneApp(PageView())
    document = parse(PAGE)
    inner = document.blocks[1].children[0]
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(document, title="", key="p")
        app.pane.set_threads({inner.key: 1})
        await pilot.press("right_parenthesis", "enter")
        assert "Inner words." in screen(app.pane)
        await pilot.press("enter")
        assert "Inner words." not in screen(app.pane)
        await pilot.press("g", "left_parenthesis", "t", "enter")
        assert requested_threads(app) == ["Inner words."]


async def test_thread_in_table_belongs_to_its_row() -> None:
    app = PaneApp(PageView())
    document = parse(PAGE)
    row = document.blocks[2].children[1]
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(document, title="", key="p")
        app.pane.set_threads({row.key: 1})
        await pilot.press("t", "enter")
        assert requested_threads(app) == ["second\ntwo"]


@pytest.mark.parametrize("width", [24, 59, 60, 82, 100])
@pytest.mark.parametrize("count", [1, 12])
async def test_thread_mark_never_touches_text(width: int, count: int) -> None:
    app = PaneApp(PageView())
    blocks = parse(
        "word " * 100 + "\n\n```\n" + "x" * 300 + "\n```\n\n|a|b|c|\n|-|-|-|\n|" + "longword " * 20 + "|1|2|"
    )
    async with app.run_test(size=(width, 40)) as pilot:
        app.pane.show(blocks, title="", key="p")
        app.pane.set_threads({block.key: count for block in blocks.blocks})
        await pilot.pause()
        rows = [row for row in screen(app.pane).split("\n") if "●" in row]
        assert len(rows) == 3
        for row in rows:
            before, after = row.split("●")
            assert before.endswith(" ")
            assert len(row) <= width
            assert after.strip() in ("", str(count))
        assert rows[0].endswith(("● 1", "●12", "● 12"))


def test_comments_are_rendered_as_markdown() -> None:
    thread = ThreadSummary(
        "Tom W.",
        "1 d",
        "Are *nights* **dark**?\n\n* `one`\n* two",
        1,
        shown_replies=(ThreadReply("Ada", "1 h", "_Some_ are."),),
    )
    lines = render_threads([(thread, "thread 1/1")], Styles.plain(), 60, 2)
    text = "\n".join(line.text for line in lines)
    assert "Are nights dark?" in text
    assert "• one" in text
    assert "↳ Ada · 1 h  Some are." in text
    pieces = [piece for line in lines for piece in line.pieces]
    assert [piece.text for piece in pieces if piece.style.italic] == ["nights", "Some"]
    assert [piece.text for piece in pieces if piece.style.bold and piece.text in ("dark", "one")] == ["dark", "one"]


def test_comment_shows_at_most_eight_lines() -> None:
    thread = ThreadSummary("Tom W.", "1 d", "\n\n".join(f"paragraph {number}" for number in range(9000)))
    lines = render_threads([(thread, "thread 1/1")], Styles.plain(), 60, 2)
    assert "paragraph 3" in "\n".join(line.text for line in lines)
    assert lines[-2].text.endswith("…")
    assert len(lines) == 11


async def test_current_heading_follows_the_selected_block() -> None:
    app = PaneApp(PageView())
    page = "# Top\n\nintro\n\n## First\n\none\n\n<details>\n<summary>More</summary>\n\n### Inner\n\ntwo\n\n</details>\n\nend"
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(parse(page), title="Top", key="p")
        found = [app.pane.navigation.current_anchor]
        for _ in range(4):
            await pilot.press("right_parenthesis")
            found.append(app.pane.navigation.current_anchor)
        assert bar_column(app.pane) == ["end"]
        assert found == ["top", "first", "first", "first", "inner"]


async def test_current_heading_at_the_end_is_the_last_heading() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse("\n\n".join(f"## H{number}\n\nwords" for number in range(5))), title="Top", key="p")
        await pilot.press(*"jjjjjjjjjjjjjjjjjjjjjjjjj")
        assert app.pane.navigation.current_anchor == "h4"
        await pilot.press("left_parenthesis")
        await pilot.press("g", "G")
        assert (bar_column(app.pane), app.pane.navigation.current_anchor) == (["words"], "h4")
        await pilot.press("left_parenthesis", "left_parenthesis")
        assert app.pane.navigation.current_anchor == "h3", (
            "the selected heading must be current, even at the end of the page"
        )


async def test_link_to_the_title_scrolls_to_the_top() -> None:
    app = PaneApp(PageView())
    page = "# Top\n\n" + "\n\n".join(f"paragraph {number}" for number in range(60))
    async with app.run_test(size=(80, 10)) as pilot:
        app.pane.show(parse(page), title="Top", key="p")
        await pilot.press("G")
        assert app.pane.navigation.go_to_anchor("#top")
        assert app.pane.scroll_offset.y == 0
        assert bar_column(app.pane) == ["paragraph 0"]
        assert not app.pane.navigation.go_to_anchor("#gone")


async def test_link_to_a_tab_shows_it_and_link_to_an_expandable_selects_it() -> None:
    app = PaneApp(PageView())
    page = (
        '{% tabs %}\n{% tab title="Query" %}\nask\n{% endtab %}\n{% tab title="Answer" %}\nhear\n{% endtab %}\n{% endtabs %}\n\n'
        "<details>\n<summary>More</summary>\n\nhidden\n\n</details>\n"
    )
    async with app.run_test(size=(80, 12)):
        app.pane.show(parse(page), title="Top", key="p")
        assert "hear" not in screen(app.pane)
        assert app.pane.navigation.go_to_anchor("#answer")
        assert "hear" in screen(app.pane)
        assert app.pane.navigation.go_to_anchor("#more")
        assert bar_column(app.pane) == ["▸ More"]


async def test_missing_heading_is_explained() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 10)) as pilot:
        app.pane.show(parse("[Down](#gone)"), title="", key="p")
        await pilot.press("enter")
        assert app.explained == ["This page has no heading “gone”. The heading may have been renamed."]


async def test_heading_that_may_be_in_an_api_specification_is_not_called_missing() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 10)) as pilot:
        operation = '{% openapi-operation spec="pets" path="/pets" method="get" %}\n{% endopenapi-operation %}'
        app.pane.show(parse(f"[Down](#get-pets)\n\n{operation}"), title="", key="p")
        await pilot.press("enter")
        assert app.explained == [
            "Octavo did not find “get-pets”. It may be in a part of this page that Octavo does not search."
        ]


@pytest.mark.before_release("list", "paragraph", "table")
@pytest.mark.parametrize(
    "page",
    [
        "```\n" + "a line of code\n" * 1500 + "```\n",
        "word " * 6000,
        "| a | b |\n|-|-|\n" + "| cell | cell |\n" * 800,
        "* item\n" * 4000,
    ],
    ids=["code", "paragraph", "table", "list"],
)
async def test_thread_on_a_long_block_has_one_mark(page: str) -> None:
    app = PaneApp(PageView())
    document = parse(f"Above.\n\n{page}")
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(document, key="p")
        app.pane.set_threads({document.blocks[1].key: 1})
        await pilot.press("t", "enter")
        assert len(requested_threads(app)) == 1
        assert screen(app.pane).count("●") == 1
        chunk_count = len(app.pane.viewport.virtual_lines)
        assert chunk_count > 2
        keys = {each.key for each in document.walk()}
        chunks = app.pane.viewport.virtual_lines.chunks
        marked = [
            bool(app.pane.threads.marks.paths_at(keys, chunk.block, chunk.slice))
            for chunk in chunks
            if chunk.slice is not None
        ]
        assert marked == [True, *[False] * (chunk_count - 2)]


@pytest.mark.parametrize("kind", ["list", "quote", "cards"])
async def test_thread_on_blocks_that_are_selected_one_by_one_is_at_the_first(kind: str) -> None:
    page = (
        "Above.\n\n* first\n* second\n\n> quoted\n\n"
        '<table data-view="cards"><thead><tr><th></th></tr></thead><tbody><tr><td>one</td></tr><tr><td>two</td></tr></tbody></table>\n'
    )
    app = PaneApp(PageView())
    document = parse(page)
    block = next(each for each in document.blocks if each.kind == kind)
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(document, key="p")
        app.pane.set_threads({block.key: 1})
        await pilot.press("t", "enter")
        assert screen(app.pane).count("●") == 1
        assert [each.block.kind for each in app.said if isinstance(each, Reader.ThreadRequested)] == [kind]
