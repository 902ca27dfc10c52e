"""Panes of which nothing is set before it is looked at, as where there is no time for it: heights are guesses until then."""

from __future__ import annotations

from octavo.documents.parse import parse
from octavo.tui.reader.diff_view import DiffView
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.prefetch import Prefetch
from octavo.tui.render.comparison import compare
from octavo.tui.render.thread_lines import ThreadLine
from tests.tui.reader.panes import PaneApp, screen

WORDS = "Wide words wander wearily westward while weather worsens. " * 4
"""More lines than its length lets one guess, in a narrow pane."""
PAGE = "\n\n".join(f"## Part {number}\n\n{WORDS}\n\n- one\n- two\n\n> quoted" for number in range(30))


class Busy(Prefetch):
    def set_ahead(self, seconds: float) -> bool:
        return not self.pane.galley.unset


class BusyPage(PageView):
    def __init__(self) -> None:
        super().__init__()
        self.prefetch = Busy(self, self.viewport, self.painter)


class BusyDiff(DiffView):
    def __init__(self) -> None:
        super().__init__()
        self.prefetch = Busy(self, self.viewport, self.painter)


async def test_back_from_the_source_and_to_the_top_one_is_at_the_top() -> None:
    app = PaneApp(BusyPage())
    async with app.run_test(size=(40, 12)) as pilot:
        app.pane.show(parse(PAGE), key="p", title="Page")
        await pilot.press("backslash", "backslash")
        assert app.pane.scroll_offset.y == 0
        app.pane.place.go_to_anchor("part-2")
        await pilot.pause()
        app.pane.reset()
        assert app.pane.galley.unset_before(0, 6) is not None
        await pilot.press("g")
        assert app.pane.scroll_offset.y == 0


async def test_what_is_come_upon_above_comes_line_by_line() -> None:
    app = PaneApp(BusyPage())
    async with app.run_test(size=(40, 12)) as pilot:
        app.pane.show(parse(PAGE), key="p", title="Page")
        app.pane.place.go_to_anchor("part-20")
        await pilot.pause()
        app.pane.reset()
        for _ in range(30):
            first, second = screen(app.pane).split("\n")[:2]
            app.pane.viewport.go_by(-1)
            await pilot.pause()
            assert screen(app.pane).split("\n")[1] == first, second


async def test_the_bar_of_a_diff_keeps_its_row_when_threads_come() -> None:
    paragraphs = [f"{number} {WORDS[:58]}" for number in range(20)]
    old, new = "\n\n".join(paragraphs), "\n\n".join(f"{words}More." for words in paragraphs)
    threads = [ThreadLine("Tom", "1 d", "Why?")]
    app = PaneApp(BusyDiff())
    async with app.run_test(size=(40, 24)) as pilot:
        app.pane.show(compare(old, new), key="p")
        await pilot.press("n", "n", "n", "n")
        row = app.pane.cursor_region.y
        app.pane.contents.set_threads({block.key: threads for block in parse(new).blocks[:4]})
        await pilot.pause()
        assert app.pane.cursor_region.y == row
