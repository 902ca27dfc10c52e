"""A long page is shown before it is read."""

from __future__ import annotations

from octavo.documents.parse import parse
from octavo.tui.reader.page_view import PageView
from octavo.tui.reader.streaming_page import PageLoaded
from tests.tui.reader.panes import PaneApp, screen
from tests.tui.reader.test_while_arriving import HeldPage, begun, read

PAGE = "\n\n".join(f"## Section {number % 200}\n\nParagraph {number % 200} says a little." for number in range(2000))
ARRIVING = PAGE + "\n\n## The last of all\n\nA needle.\n"


async def test_a_long_page_shows_its_beginning_before_it_is_read() -> None:
    async with begun(PAGE) as (app, pilot):
        assert "Section 0" in screen(app.pane)
        assert app.pane.document is not None
        begin = len(app.pane.document.blocks)
        await pilot.press("G")
        await read(app, pilot)
        assert len(app.pane.document.blocks) > begin
        assert "Paragraph 199" in screen(app.pane)
        assert [type(each) for each in app.said] == [PageLoaded]


async def test_a_first_screen_that_the_loop_does_not_wait_for_is_shown_when_it_is_read() -> None:
    app = PaneApp(HeldPage())
    app.pane.stream.is_held_from_the_beginning = True
    async with app.run_test(size=(80, 20)) as pilot:
        app.pane.show_markdown("# Long\n\n" + PAGE, title="Long", key="p")
        assert app.pane.key == "p"
        assert app.pane.document is not None
        assert not app.pane.document.blocks
        app.pane.stream.is_held_from_the_beginning = False
        while "Section 0" not in screen(app.pane):
            await pilot.pause()
        assert not app.pane.contents.is_whole
        assert screen(app.pane).count("Long") == 1
        await read(app, pilot)
        assert app.pane.galley.units[-1].block.plain() == "Paragraph 199 says a little."
        assert len(app.pane.galley) == 4001


async def test_a_heading_comes_to_stand_at_the_top_though_what_is_below_it_is_not_read_yet() -> None:
    async with begun(PAGE) as (app, pilot):
        assert app.pane.document is not None
        last = app.pane.document.headings[-1]
        assert app.pane.place.go_to_anchor(last.anchor)
        await read(app, pilot)
        assert last.title in screen(app.pane).splitlines()[1]


async def test_what_is_asked_of_a_page_that_is_still_being_read_is_found_once_it_is_there() -> None:
    async with begun(ARRIVING) as (app, pilot):
        view = app.pane
        assert not view.place.go_to_anchor("the-last-of-all")
        assert view.finder.find("needle") == 0
        await read(app, pilot)
        while view.finder.finding == "searching":
            await pilot.pause()
        assert view.finder.finding == "1 found"
        assert "The last of all" in screen(view)


async def test_only_what_is_looked_at_is_set() -> None:
    app = PaneApp(PageView())
    async with app.run_test(size=(80, 20)):
        app.pane.show(parse(PAGE * 3), title="Long", key="p")
        assert app.pane.galley.unset > len(app.pane.galley) // 2
