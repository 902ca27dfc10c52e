"""Link hints: letters that follow a link."""

from __future__ import annotations

import pytest
from rich.style import Style

from octavo.documents.source_reader import parse
from octavo.tui.reader.block_cursor import hint_labels, place_label
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.comparison import compare
from octavo.tui.render.layout import LinkFollowed
from tests.tui.reader.panes import PaneApp, links, screen

TWO_LINKS = "See [the guide](guide.md), or the [list](list.md).\n"
MANY_LINKS = "\n".join(f"* [entry {number}](page-{number}.md)" for number in range(24))


def style_at(pane: Reader, text: str) -> Style:
    """Return the style of the first cell of `text` in the pane."""
    for y in range(pane.size.height):
        strip = pane.render_line(y)
        if (at := strip.text.find(text)) >= 0:
            return strip.crop(at, at + 1)._segments[0].style or Style()
    raise AssertionError(f"{text} is not on show")


@pytest.mark.parametrize("number", [1, 20, 21, 600])
def test_no_label_is_prefix_of_another(number: int) -> None:
    found = hint_labels(number)
    assert len(set(found)) == number
    assert {len(label) for label in found} == {1 if number <= 20 else 2}


async def test_page_is_dimmed_while_hints_are_shown() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(TWO_LINKS), title="", key="p")
        await pilot.pause()
        plain, link = style_at(app.pane, "or the"), style_at(app.pane, "st.")
        await pilot.press("f")
        look = app.pane.viewport.text_styles
        assert style_at(app.pane, "or the").color == look.faded.color != plain.color
        assert style_at(app.pane, "st.").color == look.text.color != link.color
        assert style_at(app.pane, "s st").bgcolor == look.button.bgcolor
        await pilot.press("escape")
        assert style_at(app.pane, "or the") == plain


async def test_hints_are_before_words_and_explained() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse(TWO_LINKS), title="", key="p")
        await pilot.press("f")
        assert "See a e guide, or the s st." in screen(app.pane)
        last = screen(app.pane).split("\n")[-1]
        assert last.strip() == "type a letter · capital letters open in browser · esc cancel"
        await pilot.press("j")
        assert "See the guide, or the list." in screen(app.pane)
        assert links(app) == []


async def test_many_links_get_two_letters() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(parse(MANY_LINKS), title="", key="p")
        await pilot.press("f")
        assert screen(app.pane).startswith("  aa entry 0\n  as entry 1")
        await pilot.press("a")
        assert "type one more letter after a" in screen(app.pane)
        await pilot.press("s")
        assert links(app) == [("page-1.md", False)]


async def test_help_for_hints_covers_no_hint() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 6)) as pilot:
        app.pane.show(parse(f"Words\n\n{MANY_LINKS}"), title="", key="p")
        await pilot.press("f")
        rows = screen(app.pane).split("\n")
        assert "type a letter" in rows[0]
        assert "entry 3" in rows[-1]


async def test_link_behind_find_bar_has_no_hint() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 6)) as pilot:
        app.pane.show(parse(MANY_LINKS), title="", key="p")
        await pilot.press("slash", *"entry", "enter", "g", "f")
        assert len(app.pane.clickables.visible_spans()) == 5


async def test_hints_without_links_explain() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 12)) as pilot:
        app.pane.show(parse("Words."), title="", key="p")
        await pilot.press("f")
        assert app.explained == ["No links on this part of the page."]
        assert not app.pane.typing_keys


async def test_scrolling_removes_hints() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 6)) as pilot:
        app.pane.show(parse(MANY_LINKS), title="", key="p")
        await pilot.press("f")
        assert app.pane.typing_keys
        app.pane.viewport.scroll_by(2)
        assert not app.pane.typing_keys


@pytest.mark.parametrize(
    ("text", "link", "label", "shown"),
    [
        ("See the guide.", "the guide", "a", "See a e guide."),
        ("See the guide.", "the guide", "as", "See as  guide."),
        ("x    link", "link", "a", "x  a link"),
        ("x     link", "link", "a", "x   a link"),
        ("x   link", "link", "a", "x a link"),
        ("x  link", "link", "a", "x a ink"),
        ("  link", "link", "a", "a link"),
        (" link", "link", "a", "a ink"),
        ("link", "link", "a", "a nk"),
        ("(link)", "link", "a", "(a nk)"),
        ("word1, and", "1", "a", "worda, and"),
        ("an x is", "x", "a", "an a is"),
        ("to  Start  now", " Start ", "a", "to a tart  now"),
        ("ends x", "x", "a", "ends a "),
    ],
)
def test_hint_has_blanks_around_it_and_covers_little(text: str, link: str, label: str, shown: str) -> None:
    start = text.index(link)
    at, chip = place_label([char == " " for char in text], start, start + len(link), label)
    assert text[:at] + chip + text[at + len(chip) :] == shown


async def test_text_of_a_link_on_two_lines_has_its_spaces() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(60, 20)) as pilot:
        page = (
            "word " * 10 + "[bank.example is safe, https://bank.example/" + "long" * 20 + " too](https://a.example/x)"
        )
        app.pane.show(parse(page), key="p")
        await pilot.press("f", "a")
        (followed,) = [each for each in app.said if isinstance(each, LinkFollowed)]
        assert followed.text == f"bank.example is safe, https://bank.example/{'long' * 20} too"


async def test_link_in_a_table_row_or_a_diff_has_its_text() -> None:
    row = "| Name |\n|-|\n| [bank.example](https://a.example/x) |\n"
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show(parse(row), key="p")
        await pilot.press("right_parenthesis", "enter")
        await pilot.pause()
        await pilot.press("f", "a")
        await pilot.pause()
        assert [each.text for each in app.said if isinstance(each, LinkFollowed)] == ["bank.example"]
    diff = PaneApp(DiffView())
    async with diff.run_test(size=(80, 20)) as pilot:
        diff.pane.show(compare("old", "[bank.example](https://a.example/x)"), key="p")
        await pilot.press("f", "a")
        assert [each.text for each in diff.said if isinstance(each, LinkFollowed)] == ["bank.example"]
