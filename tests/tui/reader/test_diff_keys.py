"""Keys that move in a diff and open its content."""

from __future__ import annotations

from octavo.documents.source_reader import parse
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.render.comparison import compare
from octavo.tui.render.styles import Styles
from octavo.tui.render.threads import ThreadSummary
from octavo.tui.widgets.themes import themes
from tests.tui.reader.panes import PaneApp, links, requested_threads, screen

PARAGRAPHS = [f"Paragraph {number} says a little of what there is to say." for number in range(80)]
CHANGED = (4, 6, 30, 60, 79)
OLD = "\n\n".join(PARAGRAPHS)
NEW = "\n\n".join(
    f"{words} See [more](more.md)." if number in CHANGED else words for number, words in enumerate(PARAGRAPHS)
)


def row_of(app: PaneApp[DiffView], text: str) -> int:
    """Return the number of the row that contains `text`."""
    return next(number for number, row in enumerate(screen(app.pane).split("\n")) if text in row)


async def test_next_change_scrolls_to_a_third_of_the_pane_unless_visible() -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(compare(OLD, NEW), key="p")
        app.pane.contents.page.context_size.step = 4
        app.pane.navigation.builder.build()
        assert app.pane.scroll_offset.y == 0
        await pilot.press("n")
        before = app.pane.scroll_offset.y
        assert before == 0
        await pilot.press("n")
        assert app.pane.scroll_offset.y > before
        assert row_of(app, "− Paragraph 30") == 10
        await pilot.press("n")
        assert row_of(app, "− Paragraph 60") == 10
        await pilot.press("n")
        assert row_of(app, "+ Paragraph 79") == 29
        await pilot.press("N", "N")
        assert row_of(app, "− Paragraph 30") == 10


async def test_changes_are_counted_from_first() -> None:
    app = PaneApp(DiffView())
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(compare(OLD, NEW), key="p")
        await pilot.pause()
        assert app.pane.status_text == "change 1 of 5"
        await pilot.press("n")
        assert app.pane.status_text == "change 2 of 5"
        app.pane.show(compare("a", "a\n\nb"), key="q")
        assert app.pane.status_text == "change 1 of 1"
        await pilot.press("g")
        assert app.pane.status_text == "1 change"


async def test_enter_opens_thread_of_changed_block_before_its_link() -> None:
    app = PaneApp(DiffView())
    new = parse(NEW)
    key = new.blocks[30].key
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(compare(OLD, NEW), key="p")
        app.pane.set_threads({key: [ThreadSummary("Tom", "1 d", "Why?")]})
        await pilot.press("t", "enter", "left_parenthesis", "enter")
        assert requested_threads(app) == ["Why?", new.blocks[30].plain()]
        assert links(app) == []
        app.pane.set_threads({key: [ThreadSummary("Tom", "1 d", "Why?", is_open=False)]})
        await pilot.press("enter")
        assert links(app) == [("more.md", False)]
        await pilot.press("t")
        assert app.explained == ["No open threads here. Press c to comment on the selected block."]
        app.pane.block_commands.why_no_comment_here = lambda: "You cannot comment on incoming changes."
        await pilot.press("t")
        assert app.explained[1:] == ["No open threads here."]


async def test_thread_on_whole_page_is_selectable_and_opens() -> None:
    app = PaneApp(DiffView())
    threads = {"": [ThreadSummary("Tom", "1 d", "On the page.")]}
    async with app.run_test(size=(80, 30)) as pilot:
        app.pane.show(compare(OLD, NEW), key="p")
        app.pane.set_threads(threads)
        await pilot.press("t", "enter")
        await pilot.press("c")
        chosen = [
            each.block.kind for each in app.said if isinstance(each, (Reader.ThreadRequested, Reader.CommentRequested))
        ]
        assert chosen == ["thread", "thread"]


def test_heading_levels_differ_from_links_and_each_other() -> None:
    for theme in themes():
        look = Styles.from_theme(
            {**theme.variables, "accent": theme.accent or "", "foreground": theme.foreground or ""}
        )
        styles = [look.heading(level) for level in range(1, 7)]
        assert all(style.color != look.accent.color and not style.underline for style in styles)
        assert len(set(map(str, styles[2:]))) == 4
