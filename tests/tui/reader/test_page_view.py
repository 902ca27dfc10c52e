"""The page view: its keys and messages."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from textual import events
from textual.widgets import Static

from octavo.documents.source_reader import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from tests.tui.reader.panes import PaneApp, bar_column, links, screen, wait_for_width
from tests.tui.reader.picture import PAGES, check

PAGE = """\
# Retries

First paragraph with a [link](signing.md) and [another](https://example.org).

## Schedule

Second paragraph.

<details>

<summary>Closed</summary>

A needle in here.

</details>

{% tabs %}
{% tab title="One" %}
first
{% endtab %}
{% tab title="Two" %}
second needle
{% endtab %}
{% endtabs %}

## Last

[Up](#schedule)
"""
LONG = "\n\n".join(f"## Section {number}\n\nParagraph {number} says a little." for number in range(200))


async def test_letters_open_links_and_capitals_open_browser() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("f")
        assert "with a a nk and s other" in screen(app.pane)
        assert "type a letter · capital letters open in browser · esc" in screen(app.pane)
        await pilot.press("a")
        await pilot.press("f", "s")
        await pilot.press("f", "A")
        assert links(app) == [("signing.md", False), ("https://example.org", True), ("signing.md", True)]
        await pilot.press("f", "escape")
        assert "link and another" in screen(app.pane)


async def test_link_to_heading_scrolls_there() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 8)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("G", "f", "a")
        assert bar_column(app.pane)[0] == "Schedule"
        assert links(app) == []


async def test_cursor_moves_by_block_and_names_commented_block() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("right_parenthesis", "right_parenthesis")
        assert bar_column(app.pane) == ["Second paragraph."]
        await pilot.press("left_parenthesis", "c")
        chosen = [each.block for each in app.said if isinstance(each, Reader.CommentRequested)]
        assert [block.plain() for block in chosen] == ["Schedule"]


async def test_line_keys_select_blocks_where_a_page_cannot_scroll() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("j", "down")
        assert bar_column(app.pane) == ["Second paragraph."]
        await pilot.press("k")
        assert bar_column(app.pane)[0] == "Schedule"
        await pilot.press("k", "up", "up")
        assert bar_column(app.pane)[0].startswith("First paragraph")
        await pilot.press(*["j"] * 20)
        assert bar_column(app.pane) == ["Up"]


async def test_line_keys_scroll_to_the_end_before_they_select_blocks() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(LONG), title="Long", key="p")
        await pilot.press("G")
        end = app.pane.scroll_offset.y
        await pilot.press("b", *["j"] * 9)
        assert app.pane.scroll_offset.y == end - 1
        await pilot.press("j")
        assert (app.pane.scroll_offset.y, bar_column(app.pane)[0]) == (end, "Section 198")
        await pilot.press("j")
        assert (app.pane.scroll_offset.y, bar_column(app.pane)) == (end, ["Paragraph 198 says a little."])


async def test_line_keys_at_the_end_of_a_tall_block_do_not_scroll_back() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse("# Rows\n\n```\n" + "row\n" * 40 + "```\n"), title="Rows", key="p")
        await pilot.press("G")
        end = app.pane.scroll_offset.y
        await pilot.press("j", "j")
        assert app.pane.scroll_offset.y == end > 0


async def test_enter_opens_only_link_of_block() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        for _ in range(3):
            await pilot.press("right_parenthesis")
        assert bar_column(app.pane) == ["▸ Closed"]
        await pilot.press("enter")
        assert "A needle in here." in screen(app.pane)
        await pilot.press("enter")
        assert "A needle in here." not in screen(app.pane)


async def test_find_expands_collapsed_blocks_and_counts() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        view = app.pane
        view.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("slash", *"NEEDLE")
        assert "1 of 2" in screen(view)
        assert "A needle in here." in screen(view)
        await pilot.press("enter", "n")
        assert "second needle" in screen(view)
        assert view.find_bar.search_status == "2 of 2"
        await pilot.press("n")
        assert view.find_bar.search_status == "1 of 2"
        await pilot.press("N", "escape")
        assert view.find_bar.search_status == ""


async def test_find_without_match_says_so_and_keeps_position() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(LONG), title="Long", key="p")
        await pilot.press("ctrl+d", "ctrl+d")
        before = app.pane.scroll_offset.y
        await pilot.press("slash", *"zzz")
        assert "no matches" in screen(app.pane)
        await pilot.press("escape")
        assert app.pane.scroll_offset.y == before > 0


async def test_pasted_text_is_searched() -> None:
    from textual.events import Paste

    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("slash")
        app.pane.post_message(Paste("second\nparagraph"))
        await pilot.pause()
        assert app.pane.find_bar.search_status == "1 of 1"


async def test_tab_selects_tabs_of_same_name() -> None:
    app = PaneApp(PageView())
    page = PAGE + "\n\n" + PAGE[PAGE.index("{% tabs") : PAGE.index("## Last")].replace("second", "other second")
    async with app.run_test(size=(80, 60)) as pilot:
        app.pane.show(parse(page), title="Retries", key="p")
        await pilot.pause()
        clickable = next(
            clickable
            for clickable in app.pane.clickables.visible_spans()
            if clickable.kind == "tab" and clickable.clickable.index == 1
        )
        await pilot.click(PageView, offset=(clickable.start + 1, clickable.line))
        assert "second needle" in screen(app.pane)
        assert "other second needle" in screen(app.pane)


async def test_reload_keeps_expanded_blocks_and_position() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 10)) as pilot:
        view = app.pane
        view.show(parse(PAGE + LONG), title="Retries", key="p")
        view.find_bar.find("A needle")
        view.find_bar.find("")
        before = screen(view)
        assert "A needle in here." in before
        view.show(parse(PAGE.replace("Second", "Another") + LONG), title="Retries", key="p")
        await pilot.pause()
        assert screen(view) == before.replace("Second", "Another")
        while view.viewport.virtual_lines.estimated_count:
            await pilot.pause()
            assert screen(view) == before.replace("Second", "Another")
        view.show(parse(PAGE), title="Other", key="q")
        await pilot.pause()
        assert view.scroll_offset.y == 0
        assert "A needle in here." not in screen(view)


async def test_threads_are_marked_and_selectable() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 14)) as pilot:
        view = app.pane
        document = parse(PAGE)
        view.show(document, title="Retries", key="p")
        inner = next(block for block in document.walk() if block.plain() == "A needle in here.")
        last = document.blocks[-1]
        view.set_threads({inner.key: 2, last.key: 1, "": 3, "gone": 1})
        assert next(row for row in screen(view).split("\n") if "▸ Closed" in row).endswith("● 2")
        await pilot.press("t")
        assert bar_column(view)[0].startswith("│ A needle in here.")
        assert bar_column(view)[0].endswith("● 2")
        await pilot.press("t")
        assert bar_column(view)[0].startswith("Up")
        assert bar_column(view)[0].endswith("● 1")
        await pilot.press("T")
        assert bar_column(view)[0].endswith("● 2")


async def test_enter_on_plain_block_requests_thread() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("right_curly_bracket", "enter")
        requested = [each.block.plain() for each in app.said if isinstance(each, Reader.ThreadRequested)]
        assert requested == ["Schedule"]


async def test_next_and_previous_heading_are_selected() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(LONG), title="Long", key="p")
        await pilot.press(*["right_curly_bracket"] * 30)
        assert bar_column(app.pane)[0] == "Section 30"
        await pilot.press("left_curly_bracket")
        assert bar_column(app.pane)[0] == "Section 29"


async def test_scrolling_down_and_up_shows_same_rows() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(LONG), title="Long", key="p")
        await pilot.press("j", "j")
        first = screen(app.pane)
        await pilot.press(*["ctrl+d"] * 9, *["ctrl+u"] * 9)
        assert screen(app.pane) == first
        await pilot.press("G")
        assert "Paragraph 199" in screen(app.pane)
        assert app.pane.status_text == "100% read"
        await pilot.press("g")
        assert screen(app.pane).strip().startswith("Long")


async def test_cursor_follows_scrolling() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(LONG), title="Long", key="p")
        for key in ("ctrl+d", "ctrl+d", "G", "k", "g", "j"):
            await pilot.press(key)
            assert bar_column(app.pane) != []


@pytest.mark.parametrize("size", [(60, 6), (24, 30)])
async def test_cursor_stays_visible_in_smaller_terminal(size: tuple[int, int]) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 30)) as pilot:
        app.pane.show(parse("".join(f"Block {number} {'word ' * 20}\n\n" for number in range(20))), key="p")
        await pilot.press(*["right_parenthesis"] * 6)
        assert app.pane.scroll_offset.y == 0
        await pilot.resize_terminal(*size)
        while app.pane.size != size:
            await pilot.pause()
        app.pane._finish_resize()
        assert app.pane.cursor.current() in app.pane.cursor.visible_spans()
        assert bar_column(app.pane) != []


async def test_resized_terminal_wraps_lines_only_after_a_delay() -> None:
    class RecordingPage(PageView):
        was_delayed: ClassVar[list[bool]] = []

        def reset_lines(self, **options: Any) -> None:
            self.was_delayed.append(not self._resize_delay.is_waiting)
            super().reset_lines(**options)

    app = PaneApp(RecordingPage())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(LONG), title="Long", key="p")
        await pilot.pause()
        RecordingPage.was_delayed.clear()
        for width in (70, 60, 50):
            await pilot.resize_terminal(width, 20)
        while app.pane.viewport.layout_width > 50:
            await pilot.pause()
        assert RecordingPage.was_delayed
        assert all(RecordingPage.was_delayed), "while the window is dragged, each size would wrap all lines"


async def test_space_scrolls_and_requests_next_page_at_end() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        for _ in range(4):
            await pilot.press("space")
        assert any(isinstance(each, Reader.NextPageRequested) for each in app.said)


async def test_top_block_stays_when_pane_width_changes() -> None:
    app = PaneApp(PageView())
    page = "\n\n".join(f"Block {number} " + "with words enough to be broken over lines " * 4 for number in range(60))
    async with app.run_test(size=(100, 20)) as pilot:
        app.pane.show(parse(page), title="", key="p")
        app.pane.navigation.go_to_block(parse(page).blocks[30].key)
        await pilot.press("j")
        assert "Block 30" in screen(app.pane).split("\n")[0]
        await pilot.resize_terminal(50, 20)
        await wait_for_width(app.pane, pilot, 50)
        assert "Block 30" in screen(app.pane).split("\n")[0]


async def test_page_is_wrapped_for_its_new_width_in_the_first_frame() -> None:
    beside = Static()
    beside.styles.dock, beside.styles.width = "left", 40
    app = PaneApp(PageView(), beside)
    frames: list[str] = []
    async with app.run_test(size=(100, 20)) as pilot:
        app.pane.show(parse("word " * 200))
        await wait_for_width(app.pane, pilot, 60)
        await pilot.pause()
        app.screen.screen_layout_refresh_signal.subscribe(
            app.pane, lambda _: frames.append(screen(app.pane)), immediate=True
        )
        beside.display = False
        await wait_for_width(app.pane, pilot, 100)
        await pilot.pause()
        assert frames
        assert all(each == screen(app.pane) for each in frames)


async def test_source_opens_and_closes_at_same_position() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("backslash")
        assert "    1 # Retries" in screen(app.pane)
        await pilot.press("backslash")
        assert "First paragraph with a link" in screen(app.pane)


async def test_source_shows_selected_block() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(LONG + "\n\n<details>\n<summary>More</summary>\n\n* one **two**\n\n</details>\n"), key="p")
        for typed, source in (
            ("Paragraph 150 says a little.", "Paragraph 150 says a little."),
            ("two", "* one **two**"),
        ):
            await pilot.press("slash", *typed, "enter", "escape")
            selected = app.pane.cursor.current()
            await pilot.press("backslash", "y")
            assert app.clipboard == source
            assert source in screen(app.pane)
            await pilot.press("backslash")
            assert app.pane.cursor.current() == selected
            assert typed in screen(app.pane)
        await pilot.press("backslash", "g", "backslash")
        assert "Section 0" in screen(app.pane), "the page must show the block that was selected in the source"
        app.pane.show(parse(PAGE), title="Retries", key="q")
        await pilot.press("g", "backslash", "backslash")
        assert screen(app.pane).lstrip().startswith("Retries"), (
            "the title is not in the source, so the page must start at the title"
        )


async def test_source_is_navigated_by_block() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 40)) as pilot:
        app.pane.show(parse(PAGE), title="Retries", key="p")
        await pilot.press("g", "backslash")
        steps = []
        for key in ("right_parenthesis", "right_parenthesis", "left_parenthesis"):
            await pilot.press(key)
            steps.append(bar_column(app.pane)[0])
        assert steps == ["5 ## Schedule", "7 Second paragraph.", "5 ## Schedule"]


async def test_page_with_only_definitions_says_it_is_empty() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)):
        app.pane.show(parse("# Retries\n\n[here]: https://example.org\n"), title="Retries", key="p")
        assert "This page is empty." in screen(app.pane)


async def test_w_switches_between_three_line_widths() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(140, 12)) as pilot:
        app.pane.show(parse("word " * 100), title="", key="p")
        widths = []
        for _ in range(4):
            widths.append(max(len(row.strip()) for row in screen(app.pane).split("\n")))
            await pilot.press("W")
        assert widths[0] <= 78 < widths[1] <= 102 < widths[2]
        assert widths[3] == widths[0]


async def test_w_in_a_narrow_pane_says_why_the_text_keeps_its_width() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse("word " * 100), title="", key="p")
        await pilot.press("W")
        assert app.explained == ["This pane is too narrow for another text width. It has only 59 columns."]
        app.pane.show(
            parse('{% code overflow="wrap" %}\n```\n' + "word " * 40 + "\n```\n{% endcode %}"), title="", key="q"
        )
        before = screen(app.pane)
        await pilot.press("W")
        assert screen(app.pane) != before, "the code is no longer wrapped"


async def test_w_skips_widths_that_look_the_same() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(90, 12)) as pilot:
        app.pane.show(parse("word " * 100), title="", key="p")
        for _ in range(4):
            before = screen(app.pane)
            await pilot.press("W")
            assert screen(app.pane) != before


async def test_wide_code_scrolls_sideways() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse("```\n" + "".join(f"{number:>5}" for number in range(2000)) + "\n```"), title="", key="p")
        assert "    0    1    2" in screen(app.pane)
        await pilot.press("right")
        assert "    0    1" not in screen(app.pane)
        await pilot.press("left")
        assert "    0    1    2" in screen(app.pane)


async def test_code_is_copied_exactly() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse("```\na\n\tb\n```"), title="", key="p")
        await pilot.press("y")
        assert app.clipboard == "a\n\tb"
        assert app.notified == ["Copied the code."]


async def test_selected_text_has_no_borders() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse("one\n\n```\ntwo\n```\n\n* three"), title="", key="p")
        app.pane.text_select_all()
        await pilot.pause()
        assert (app.screen.get_selected_text() or "").split() == ["one", "two", "three"]


async def test_empty_page_says_so() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.show(parse(""), title="Nothing", key="p")
        await pilot.press("j", "f", "c", "n", "right_parenthesis")
        assert "This page is empty." in screen(app.pane)
        assert app.pane.why_not("page.read_on") == "This page is empty."


async def test_failed_page_explains_unless_page_is_shown() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 12)) as pilot:
        app.pane.state.fail("Retries did not load", "503 from the server")
        await pilot.pause()
        assert "503 from the server" in screen(app.pane)
        app.pane.show(parse(PAGE), title="Retries", key="p")
        app.pane.state.fail("Retries did not load", "503 from the server")
        await pilot.pause()
        assert "First paragraph" in screen(app.pane)


async def test_hostile_text_is_only_text() -> None:
    app = PaneApp(PageView(), Static(""))
    markdown = (PAGES / "hostile.md").read_text(encoding="utf-8")
    async with app.run_test(size=(100, 30)) as pilot:
        app.pane.show(parse(markdown), title="[@click=app.quit]x[/] \x1b]0;t\x07", key="p")
        app.pane.set_threads({"[/x]": 1})
        await pilot.press("f", "slash", *"[/x]", "enter")
        shown = screen(app.pane)
        assert "[@click=app.quit]press me[/]" in shown
        assert not {char for char in shown if ord(char) < 32 and char != "\n"}
        assert links(app) == []


async def test_missing_threads_are_reported_once_known() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(40, 10)) as pilot:
        app.pane.show(parse("One.\n"), key="p")
        for is_known in (False, True):
            app.pane.set_threads({}, is_loaded=is_known)
            await pilot.press("t")
        assert app.explained == [
            "The threads on this page are still loading.",
            "No block on this page has an open thread.",
        ]


async def test_thread_marks_fit_narrow_pane() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(40, 10)) as pilot:
        document = parse("One.\n\nTwo.\n")
        app.pane.show(document, key="p")
        app.pane.set_threads({block.key: 2 for block in document.blocks})
        for width in (3, 2, 1):
            await pilot.resize_terminal(width, 4)
            await pilot.press("t", "T")
            assert {strip.cell_length for strip in app.pane.painter.paint()} == {width - 1}


@pytest.mark.parametrize("size", [(12, 4), (20, 10), (200, 60)])
async def test_page_fits_any_size(size: tuple[int, int]) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=size) as pilot:
        for name in ("prose", "tables", "cards", "columns", "stepper", "media"):
            app.pane.show(parse((PAGES / f"{name}.md").read_text(encoding="utf-8")), title=name, key=name)
            await pilot.press("j", "f", "escape", "G", "k", "right_parenthesis")
        assert bar_column(app.pane) != []


@pytest.mark.parametrize("size", [(60, 40), (100, 40), (140, 40)])
async def test_page_matches_snapshot(size: tuple[int, int]) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=size) as pilot:
        document = parse((PAGES / "prose.md").read_text(encoding="utf-8"))
        app.pane.show(document, title="Retries", description="When a delivery fails, and what then.", key="p")
        app.pane.set_threads({document.blocks[1].key: 2})
        await pilot.pause()
        check(f"view-{size[0]}", screen(app.pane) + "\n")


async def test_cursor_region_covers_the_selected_block() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 8)) as pilot:
        app.pane.show(parse("One.\n\nTwo\nlines.\n\n" + LONG), title="", key="p")
        await pilot.press("right_parenthesis")
        rows = [y for y in range(8) if app.pane.render_line(y).text.strip().startswith("▌")]
        assert [*range(app.pane.cursor_region.y, app.pane.cursor_region.bottom)] == rows


async def test_page_with_only_a_description_shows_it() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show_markdown("", title="Guide", description="What the guide is about.", key="p")
        await pilot.pause()
        assert "What the guide is about." in screen(app.pane)


async def test_source_below_the_last_block_switches_to_the_end_of_the_page() -> None:
    app = PaneApp(PageView())
    definitions = "\n".join(f"[link {number}]: https://a.example/{number}" for number in range(40))
    text = "\n\n".join(f"Paragraph {number}." for number in range(40))
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show_markdown(f"{text}\n\n{definitions}\n", key="p")
        await pilot.press("backslash", "G")
        assert "link 39" in screen(app.pane)
        await pilot.press("backslash")
        assert "Paragraph 39." in screen(app.pane)


@pytest.mark.parametrize("expanded", ["full", "partial"])
async def test_visible_prompt_is_collapsed_by_one_key(expanded: str) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        page = f'{{% prompt description="Ask" defaultExpanded="{expanded}" %}}\nsome words\n{{% endprompt %}}\n'
        app.pane.show(parse(page), key="p")
        assert "some words" in screen(app.pane)
        await pilot.press("enter")
        assert "some words" not in screen(app.pane)
        await pilot.press("enter")
        assert "some words" in screen(app.pane)


async def test_selected_text_is_never_replaced_by_other_text() -> None:
    words = [f"Paragraph {number} of this page." for number in range(30)]
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown("\n\n".join(words), key="p")
        await pilot.pause()
        await pilot.mouse_down(app.pane, offset=(2, 4))
        await pilot.hover(app.pane, offset=(12, 4))
        await pilot.mouse_up(app.pane, offset=(12, 4))
        assert app.screen.get_selected_text() == "Paragraph 2"
        await pilot.press("j")
        assert app.screen.get_selected_text() == "Paragraph 2"
        app.pane.show_markdown("\n\n".join(["A new first paragraph.", *words]), key="p")
        await pilot.pause()
        assert app.screen.get_selected_text() in (None, "Paragraph 2")


@pytest.mark.parametrize(("start", "end", "followed"), [((2, 0), (8, 2), []), ((8, 2), (7, 2), ["guide.md"])])
async def test_link_at_which_a_text_selection_ends_is_not_followed(
    start: tuple[int, int], end: tuple[int, int], followed: list[str]
) -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown("Words before.\n\nSee [the guide](guide.md) for more.\n", key="p")
        await pilot.pause()
        for kind, (x, y) in ((events.MouseDown, start), (events.MouseMove, end), (events.MouseUp, end)):
            app.post_message(kind(None, x, y, 1, 1, 1, False, False, False, x, y))
            await pilot.pause()
        assert [href for href, _ in links(app)] == followed
        assert app.screen.get_selected_text() == ("he" if followed else "Words before.\n\nSee the")
        app.said.clear()
        await pilot.click(app.pane, offset=(8, 2))
        assert links(app) == [("guide.md", False)]
