"""The dialog of a thread never covers the commented text, and the page does not move."""

from __future__ import annotations

import asyncio

import pytest
from textual.geometry import Region

from octavo.api import comments
from octavo.api.operation import SpaceRef
from octavo.tui.app.activity import ActivityScreen
from octavo.tui.comments.thread_dialog import RESIZE_DELAY, ThreadDialog
from octavo.tui.content.content_screen import ContentScreen
from octavo.tui.reader.reading_pane import Reader
from octavo.tui.reader.reading_position import LinePosition, lines_between
from octavo.tui.widgets.dialog import DialogFrame
from tests.journeys.stage import Run, Stage
from tests.journeys.test_comments import HERE

SIZES = [
    (80, 24),
    pytest.param((120, 36), marks=pytest.mark.long),
    (150, 40),
    pytest.param((200, 60), marks=pytest.mark.long),
]
"""Sizes at which the dialog is below the commented text or beside it. Every run uses two of them."""


def check_text_is_visible(run: Run, pane: Reader, last_words: str) -> None:
    """Fail if the thread dialog covers a part of the commented text."""
    dialog = run.app.screen
    assert isinstance(dialog, ThreadDialog)
    frame = dialog.query_one(DialogFrame).region
    bar = pane.cursor.region
    words = Region(bar.x, bar.y, pane.painter.text_width, bar.height)
    assert words.area, run.text
    assert not words.intersection(frame).area, run.text
    assert any(last_words in line[: frame.x if frame.y < y else None] for y, line in enumerate(run.lines)), run.text
    assert frame.right <= run.app.size.width
    assert frame.bottom <= run.app.size.height - 3


def height_of_selected_block(pane: Reader) -> int:
    """Return the height of the selected block in lines, including lines outside the view. 0 if no block is selected."""
    stop = pane.cursor.current()
    return 0 if stop is None else stop[2] - stop[1] + 1


async def wait_until_stable(run: Run, pane: Reader) -> Region:
    """Return the region of the selected block, once the blocks above have their final height."""
    places: list[Region] = []
    while places[-3:] != [pane.cursor.region] * 3:
        places.append(pane.cursor.region)
        await run.pilot.pause(0.2)
        await run.settle()
    return places[-1]


@pytest.mark.before_release("size0", "size2")
@pytest.mark.parametrize("size", SIZES)
async def test_thread_dialog_is_beside_its_text_on_a_page(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(size=size) as run:
        await run.see("Your first tide")
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", HERE)
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        pane = screen.page_view
        await run.until(lambda: pane.contents.is_fully_parsed, "render the whole page")
        await run.press("t")
        line_before = (await wait_until_stable(run, pane)).y
        await run.press("enter")
        await run.see("Is 09:06 the beginning", "1 of 2")
        check_text_is_visible(run, pane, "Quality flags.")
        assert pane.cursor.region.y <= line_before, "the selected block may move up, but not down"
        if size[0] >= 150:
            assert pane.cursor.region.y == line_before, "the dialog fits beside the block, so the block must not move"
        await run.press("t")
        await run.see("My favourite hint", "2 of 2")
        check_text_is_visible(run, pane, "back.")
        line_before = pane.cursor.region.y
        await run.press("escape")
        assert run.app.screen is screen
        assert pane.cursor.region.y == line_before or pane.viewport.is_at_end, (
            "the block must keep its line after the dialog closes"
        )


@pytest.mark.before_release
async def test_next_thread_is_beside_its_text_after_the_shown_thread_was_deleted(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press("j", "j", "enter")
        await run.see("› Quickstart", HERE)
        screen = run.app.screen
        assert isinstance(screen, ContentScreen)
        pane = screen.page_view
        await run.until(lambda: pane.contents.is_fully_parsed, "render the whole page")
        await run.press("t", "enter")
        await run.see("Is 09:06 the beginning", "1 of 2")
        at = screen.page_discussion.selected_thread
        assert at is not None
        await run.ask(comments.Delete(at=at.at, comment_id=at.thread.id), at.thread.posted_by.id)
        await run.press("r")
        await run.see("My favourite hint", "1 of 1")
        check_text_is_visible(run, pane, "back.")


@pytest.mark.before_release("size0", "size2")
@pytest.mark.parametrize("size", SIZES[:3])
async def test_thread_dialog_is_beside_its_text_in_a_diff(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await run.press("slash", *"refused", "enter", "enter")
        await run.see("#7 Show what", "change 1 of 2")
        pane = run.app.screen.query_one("#diff", Reader)
        await run.press("enter", "t", "enter")
        await run.see("1 of 2", "The API sends straight quotes")
        check_text_is_visible(run, pane, "The API sends straight quotes")
        await run.press("escape")
        assert not isinstance(run.app.screen, ThreadDialog)


@pytest.mark.before_release
async def test_exclamation_mark_in_the_dialog_shows_the_activity(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await run.press("slash", *"refused", "enter", "enter")
        await run.see("#7 Show what", "change 1 of 2")
        run.platform.refuse_next(comments.ListReplies, 500, "Out of order", times=9)
        await run.press("enter", "t", "enter")
        await run.see("1 of 2", "Could not refresh the replies", "r retry   ! activity")
        await run.press("exclamation_mark")
        assert isinstance(run.app.screen, ActivityScreen)
        await run.see("Out of order")
        await run.press("exclamation_mark")
        assert isinstance(run.app.screen, ThreadDialog)


@pytest.mark.before_release
async def test_late_replies_do_not_hide_the_text_below_the_dialog(stage: Stage) -> None:
    async with stage.play(start="changes", size=(80, 24)) as run:
        await run.press("slash", *"refused", "enter", "enter")
        await run.see("#7 Show what", "change 1 of 2")
        pane = run.app.screen.query_one("#diff", Reader)
        run.gate.shut(comments.ListReplies)
        await run.press("enter", "t", "enter")
        await run.see("1 of 2", "The API sends straight quotes")
        await run.pilot.pause(3 * RESIZE_DELAY)  # The dialog has its final size after this delay.
        before = pane.cursor.region.height
        run.gate.open()
        await run.until(lambda: pane.cursor.region.height > before, "show the reply in the page too")
        check_text_is_visible(run, pane, "The API sends straight quotes")


@pytest.mark.before_release
@pytest.mark.parametrize("size", [(80, 24), (80, 30)])
@pytest.mark.parametrize("number", [1, 4])
async def test_growing_thread_stays_visible_as_far_as_the_dialog_allows(
    stage: Stage, size: tuple[int, int], number: int
) -> None:
    async with stage.play(start="changes", size=size) as run:
        await run.press("slash", *"refused", "enter", "enter")
        await run.see("#7 Show what", "change 1 of 2")
        pane = run.app.screen.query_one("#diff", Reader)
        await run.press("enter", "t", "enter")
        await run.see("1 of 2", "The API sends straight quotes")
        before = height_of_selected_block(pane)
        for reply in range(number):
            await run.press("c")
            await run.type(f"Reply {reply}.")
            await run.press("ctrl+s")
        if number == 1:
            await run.until(lambda: height_of_selected_block(pane) > before, "show the reply in the page too")
        else:  # A page shows the last three replies.
            await run.see("2 earlier replies")
        await wait_until_stable(run, pane)
        stop = pane.cursor.current()
        assert stop is not None
        first_line = lines_between(
            pane.viewport.virtual_lines, pane.viewport.top, LinePosition(stop[0], stop[1]), 2 * pane.viewport.row_count
        )
        height = height_of_selected_block(pane)
        assert first_line >= 0
        assert first_line + height <= pane.viewport.row_count or first_line <= 1, run.text


async def test_resize_after_the_thread_was_deleted_while_its_reply_is_written(stage: Stage) -> None:
    async with stage.play() as run:
        await run.see("Your first tide")
        await run.press("g", "j", "j", "enter")
        await run.see("Quickstart", "THREADS  2 open")
        await run.press("t", "enter")
        dialog = run.app.screen
        assert isinstance(dialog, ThreadDialog)
        await run.press("c")
        await run.type("My words")
        for comment_id, author in (("t60", "elisa-moretti"), ("t61", "sipho-dlamini")):
            await run.ask(comments.Delete(at=SpaceRef(space_id="harbour-api"), comment_id=comment_id), author)
        for operation in dialog.subscriptions.operations():
            await run.app.session.live.refresh(operation)
        run.send_size(100, 30)
        await run.settle()
        await asyncio.sleep(2 * RESIZE_DELAY)
        await run.settle()
        await run.see("My words")
        await run.press("escape")
        assert isinstance(run.app.screen, ContentScreen)
