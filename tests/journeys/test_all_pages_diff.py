"""All changed pages of a change request in one scroll."""

from __future__ import annotations

import asyncio
import random

import pytest

from octavo.api import comments, content
from octavo.api.operation import ChangeRequestRef
from octavo.documents.page_trees import WHOLE_REQUEST
from octavo.tui.reader.multi_page_diff import MultiPageContents, MultiPageNavigation
from octavo.tui.reader.viewport import SHORT_PAGE
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_changes_since_review import edit_time_page, find_refused
from tests.journeys.test_reviewing import open_refused

SIZES = pytest.mark.parametrize("size", [(120, 36), (80, 24)])


KEYS = (
    *"nnnnNttTJKjkgGbxSFvv",
    *("left_parenthesis", "right_parenthesis", "space", "minus", "equals_sign", "tab", "enter", "down", "up"),
    *("vertical_line", "full_stop", "ctrl+d", "semicolon"),
)


async def add_pages(run: Run, at: ChangeRequestRef, count: int) -> list[str]:
    """Add pages to a change request. Return their ids."""
    text = "First words of page {0}.\n\nMore words of page {0}.\n\nSame words.\n"
    changes = tuple(
        content.InsertPage(title=f"Page {number}", document=content.DocumentBody(markdown=text.format(number)))
        for number in range(1, count + 1)
    )
    for first in range(0, count, 50):
        await run.ask(content.Edit(at=at, changes=changes[first : first + 50], compat=False), "tomas-okafor")
    listed = await run.ask(content.ListChanges(at=at, limit=200), MARA)
    return [each.page.id for each in listed.changes if each.page is not None and each.type == "page_created"]


async def open_all(run: Run, count: int) -> ChangeRequestScreen:
    """Open a change request with `count` more pages, and show all pages."""
    await add_pages(run, await find_refused(run), count)
    screen = await open_refused(run)
    await run.see(f"of {count + 2} viewed")
    await run.press("v", "enter")
    check_target(screen)
    return screen


def navigation_of(screen: ChangeRequestScreen) -> MultiPageNavigation:
    navigation = screen.main_pane.navigation
    assert isinstance(navigation, MultiPageNavigation)
    return navigation


def contents_of(screen: ChangeRequestScreen) -> MultiPageContents:
    return navigation_of(screen).contents


def check_target(screen: ChangeRequestScreen) -> None:
    """Check that the list, the cursor and all commands are on the same page."""
    page = contents_of(screen).page
    span = screen.main_pane.cursor.current()
    assert span is not None
    assert contents_of(screen).section_at(span.chunk_index) is page
    listed, block = str(screen.changed_tree.widget.key), screen.page_diff.visible_block
    assert screen.changed_tree.key == listed
    if listed not in screen.changed_tree.changed_pages and listed != WHOLE_REQUEST:
        assert block is None, "an unchanged page in the list has no blocks in the scroll"
        return
    assert listed == page.key
    visible = screen.page_diff.visible_page
    assert visible is None or visible[0] == page.key
    if block is not None and block.kind not in ("thread", "note", "change"):
        assert page.compared is not None
        assert page.compared.find(block.key) is not None


@pytest.mark.before_release
@SIZES
async def test_all_pages_are_shown_below_their_headings(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        screen = await open_refused(run)
        await run.press("v")
        await run.see("▾ ~ Time and time zones", "Concepts", "page 1 of 2")
        await run.press("enter", "n", "n")
        check_target(screen)
        await run.press("n")
        await run.see("▾ ~ Troubleshooting", "page 2 of 2")
        check_target(screen)
        await run.press("v")
        await run.see("page 2 of 2", "change 1 of 1")
        await run.gone("▾ ~ Troubleshooting")
        await run.press("v")
        await run.see("▾ ~ Troubleshooting", "page 2 of 2", "change 1 of 1")
        check_target(screen)
        await run.press("N")
        await run.see("page 1 of 2", "change 2 of 2")
        check_target(screen)
        for _ in range(2):
            await run.press("v")
            await run.see("page 1 of 2", "change 2 of 2")
        await run.press("N")
        await run.see("change 1 of 2")
        await run.press("v")
        await run.see("page 1 of 2", "change 1 of 2")


async def test_all_pages_never_say_that_there_are_no_changes(stage: Stage) -> None:
    async with stage.play(start="changes", every_frame=True) as run:
        screen = await open_refused(run)
        await run.see("change 1 of 2")
        frames: list[str] = []
        screen.screen_layout_refresh_signal.subscribe(screen, lambda _: frames.append(run.text), immediate=True)
        await run.press("v")
        await run.see("▾ ~ Time and time zones")
        assert frames
        assert not any("No changes on this page." in each for each in frames)


@pytest.mark.before_release
async def test_choice_is_kept_for_the_next_change_request(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_refused(run)
        await run.press("v")
        await run.see("▾ ~ Time and time zones")
        await run.press("escape", "escape", "escape")
        screen = await open_refused(run)
        await run.see("▾ ~ Time and time zones")
        check_target(screen)
        await run.press("enter", "n", "n", "n")
        await run.see("page 2 of 2", "change 1 of 1")
        await run.press("escape", "escape", "escape")
        screen = await open_refused(run)
        await run.see("▾ ~ Troubleshooting", "page 2 of 2", "change 1 of 1")
        check_target(screen)


@pytest.mark.before_release
async def test_only_meaning_says_that_some_pages_are_not_compared_yet(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_refused(run)
        await run.press("v", "escape", "escape", "escape")
        await add_pages(run, await find_refused(run), 40)
        await open_refused(run)
        await run.see("of 42 viewed", "▾ ~ Time and time zones")
        await run.press("enter", "F")
        await run.see("nothing is hidden so")
        await run.press("v", "F")
        await run.see("nothing is hidden")
        await run.gone("nothing is hidden so")


@pytest.mark.before_release
async def test_only_pages_near_the_cursor_are_loaded(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_refused(run)
        await run.press("v", "escape", "escape", "escape")
        at = await find_refused(run)
        ids = await add_pages(run, at, 60)
        assert len(ids) == 60
        sent = len(run.gate.sent(content.GetPage))
        screen = await open_refused(run)
        await run.see("of 62 viewed", "▾ ~ Time and time zones")
        contents = contents_of(screen)
        loaded = [each for each in contents.sections if each.is_loaded]
        assert 2 <= len(loaded) < 12
        assert len(run.gate.sent(content.GetPage)) - sent <= 2 * len(loaded)
        assert len(contents.shown_diff.chunks) < 62 * 2 + 60
        for _ in range(20):
            await run.press("J")
            check_target(screen)
        await run.until(lambda: contents.page.is_loaded, "load the page under the cursor")
        loaded = [each for each in contents.sections if each.is_loaded]
        assert len(loaded) < 40
        pages = [op.page_id for op in run.gate.sent(content.GetPage)[sent:]]
        assert len(pages) <= 2 * len(loaded)
        await run.press("G")
        await run.settle()
        check_target(screen)
        sections = [each.is_loaded for each in contents.sections]
        assert not all(sections)


@pytest.mark.before_release("size1")
@SIZES
async def test_comment_is_written_on_the_page_under_the_cursor(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        screen = await open_all(run, 3)
        contents = contents_of(screen)
        for _ in range(40):
            if contents.page.heading.title == "Page 3" and "change" in screen.main_pane.status_text:
                break
            await run.press("n")
            check_target(screen)
        page = contents.page.key
        block = screen.page_diff.visible_block
        assert block is not None
        await run.press("c")
        await run.see("Page 3")
        await run.type("Is this right?")
        await run.press("ctrl+s")
        await run.sent()
        created = run.gate.sent(comments.Create)[-1]
        assert (created.page, created.node) == (page, block.key)
        await run.see("Is this right?")
        check_target(screen)
        await run.press("J")
        await run.press("K")
        await run.press("t")
        await run.press("d")
        check_target(screen)


@pytest.mark.before_release
async def test_page_that_cannot_be_loaded_says_so_and_is_loaded_again(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        await add_pages(run, at, 3)
        run.platform.refuse_next(content.GetPage, 403, "No.", times=1000)
        screen = await open_refused(run)
        await run.press("v", "enter")
        await run.see("Could not load")
        run.accept()
        contents = contents_of(screen)
        failed = [each for each in contents.sections if "Could not load" in each.note]
        assert failed
        for _ in range(12):
            if contents.page in failed and navigation_of(screen).is_on_heading:
                break
            await run.press("K")
        check_target(screen)
        await run.press("c")
        assert screen.page_diff.visible_block is None
        await run.press("enter")
        await run.until(lambda: contents.page.is_loaded, "load the page")
        check_target(screen)


@pytest.mark.before_release
async def test_folded_page_shows_only_its_heading(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_all(run, 3)
        await run.press("g")
        await run.see("− All times in requests")
        await run.press("minus")
        await run.gone("− All times in requests")
        await run.see("▸ ~ Time and time zones")
        check_target(screen)
        await run.press("n")
        check_target(screen)
        await run.press("N")
        await run.see("▸ ~ Time and time zones")
        check_target(screen)
        await run.press("g", "equals_sign")
        await run.see("▾ ~ Time and time zones", "− All times in requests")
        await run.press("enter")
        await run.gone("− All times in requests")


@pytest.mark.before_release
async def test_key_that_shows_one_page_is_disabled_with_a_reason(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_all(run, 1)
        await run.press("backslash")
        await run.hear("The source diff shows only one page. Press v to show one page at a time first.")


@pytest.mark.before_release
async def test_resize_keeps_the_page_under_the_cursor(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_all(run, 3)
        await run.press("n", "n", "n", "n")
        page = contents_of(screen).page
        for size in ((80, 24), (200, 60), (120, 36)):
            run.send_size(*size)
            await run.settle()
            check_target(screen)
            assert contents_of(screen).page is page


async def test_keys_typed_ahead_act_on_the_page_under_the_cursor(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_all(run, 4)
        await run.press("g")
        keys = [each.key for each in contents_of(screen).sections]
        for key in ("J", "J", "x"):
            run.send_key(key)
        await run.settle()
        assert screen.changed_tree.marks.viewed_keys == {keys[2]}
        check_target(screen)
        await run.press("tab")
        await run.press("home")
        at = screen.changed_tree.widget.keys.index(keys[1])
        for _ in range(at):
            if str(screen.changed_tree.widget.key) == keys[1]:
                break
            await run.press("down")
        for key in ("down", "x"):
            run.send_key(key)
        await run.settle()
        check_target(screen)
        assert keys[1] not in screen.changed_tree.marks.viewed_keys


@pytest.mark.before_release
async def test_pages_without_a_diff_say_what_happened(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 60)) as run:
        at = await find_refused(run)
        pages = await run.ask(content.ListPages(at=at), MARA)
        by_title = {page.title: page.id for root in pages.pages for page in root.walk()}
        changes = (
            content.DeletePage(page=by_title["Troubleshooting"]),
            content.UpdatePage(page=by_title["Quality flags"], title="Flags"),
            content.InsertPage(title="Empty page", document=content.DocumentBody(markdown="")),
            content.InsertFiles(
                files=(content.NewFile(name="tide.bin", content_type="application/octet-stream", base64="AAAA"),)
            ),
        )
        await run.ask(content.Edit(at=at, changes=changes, compat=False), "tomas-okafor")
        screen = await open_refused(run)
        await run.press("v", "enter", "g")
        seen = ""
        for _ in range(12):
            seen += run.text
            check_target(screen)
            await run.press("J")
        for words in (
            "▾ − Troubleshooting",
            "deleted",
            "▾ ~ Flags",
            "renamed",
            "▾ + Empty page",
            "created",
            "tide.bin",
        ):
            assert words in seen, words
        assert "No changes on this page." in seen or "Created." in seen


@pytest.mark.before_release
async def test_entry_whose_new_title_is_cut_is_not_loading(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 60)) as run:
        at = await find_refused(run)
        tree = await run.ask(content.ListPages(at=at), MARA)
        group = next(page for page in tree.walk() if page.type == "group")
        title = "A title that is longer than the sixty characters of a line of changes"
        await run.ask(
            content.Edit(at=at, changes=(content.UpdatePage(page=group.id, title=title),), compat=False), "tomas-okafor"
        )
        screen = await open_refused(run)
        await run.press("v")
        await run.see("A title that is longer")
        assert screen.changed_tree.select_page(group.id)
        await run.settle()
        assert not screen.page_diff.is_loading_diff
        await run.press("n")
        assert screen.changed_tree.key != group.id


@pytest.mark.before_release
async def test_page_that_is_dropped_while_its_changes_are_prepared_stays_dropped(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        text = "\n\n".join(f"Paragraph {number} of a long page." for number in range(SHORT_PAGE // 20))
        page = content.InsertPage(title="Long page", document=content.DocumentBody(markdown=text))
        await run.ask(content.Edit(at=at, changes=(page,), compat=False), "tomas-okafor")
        screen = await open_refused(run)
        await run.press("v")
        scroll = screen.page_diff.all_pages
        await run.until(lambda: any(each.size > SHORT_PAGE for each in contents_of(screen).sections), "load the page")
        await run.settle()
        section = next(each for each in contents_of(screen).sections if each.size > SHORT_PAGE)
        before, revisions = section.anchors, scroll._revisions
        assert revisions is not None
        loading = asyncio.create_task(scroll._load(section, scroll._changed_pages[section.key], revisions))
        for _ in range(1000):
            if section.anchors is not before:
                break
            await asyncio.sleep(0)
        section.anchors = None
        section.show_note("Loading Long page…", "loading")
        scroll._failed.add(section.key)  # Otherwise, the page is loaded again at once.
        await loading
        assert not section.diff.chunks


@pytest.mark.before_release
async def test_new_revision_is_loaded_at_the_same_place(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        await add_pages(run, at, 3)
        screen = await open_refused(run)
        await run.press("v", "enter", "n")
        for _ in range(8):
            if "Time and time" in contents_of(screen).page.heading.title:
                break
            await run.press("n")
        page = contents_of(screen).page
        await edit_time_page(run, at)
        await run.press("r")
        await run.until(lambda: page.compared is not None and "All is new" in page.compared.new.source, "load the edit")
        check_target(screen)
        assert contents_of(screen).page is page
        await run.press("B", "down", "down", "enter")
        await run.see("compared with main")
        check_target(screen)
        await run.press("n", "n")
        check_target(screen)


@pytest.mark.before_release
async def test_page_above_that_arrives_late_does_not_move_the_lines(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        await open_refused(run)
        await run.press("v", "escape", "escape", "escape")
        await add_pages(run, await find_refused(run), 12)
        screen = await open_refused(run)
        await run.press("enter")
        await run.press("G")
        await run.until(lambda: contents_of(screen).page.note == "", "load the last page")
        await run.settle()
        run.gate.shut(content.GetPage)
        unloaded = [each for each in contents_of(screen).sections if "Loading" in each.note]
        assert unloaded
        for _ in range(30):
            await run.press("K")
            check_target(screen)
            if contents_of(screen).page in unloaded:
                break
        assert "Loading" in run.text
        await run.press("n")
        await run.hear("Still loading")
        row = screen.main_pane.cursor.region.y
        run.gate.open()
        await run.until(lambda: contents_of(screen).page.is_loaded, "load the page")
        await run.settle()
        check_target(screen)
        assert screen.main_pane.cursor.region.y == row


@pytest.mark.before_release
@pytest.mark.parametrize("seed", range(3))
async def test_random_keys_keep_the_list_and_the_cursor_together(stage: Stage, seed: int) -> None:
    chance = random.Random(seed)
    async with stage.play(start="changes") as run:
        screen = await open_all(run, 8)
        for _ in range(60):
            if isinstance(run.app.screen, ChangeRequestScreen):
                await run.press(chance.choice(KEYS))
            else:
                await run.press("escape")
            if run.app.screen is screen and screen.page_diff.all_pages.is_on:
                check_target(screen)


@pytest.mark.before_release
@SIZES
async def test_same_remark_on_blocks_of_several_pages_is_resolved_as_one(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        await open_all(run, 60)
        for number in range(1, 6):
            await run.press("n", "asterisk")
            await run.hear(f"{number} block{'s' * (number > 1)} selected. Press A to write one remark.")
        await run.press("A")
        await run.see("Remark on 5 blocks")
        await run.press(*"Who?", "ctrl+s")
        await run.hear("Added 5 pending comments. They will be resolved together.")
        await run.see("◌ 5 pending")
        await run.gone("* Selected")
        await run.press("H", "ctrl+s")
        await run.sent()
        sent = run.gate.sent(comments.Create)
        assert len({(each.page, each.node) for each in sent}) == 5
        assert len({each.page for each in sent}) == 3
        await run.press("g", "t", "d")
        await run.hear("Resolving 5 linked threads…")
        await run.sent()
        assert len({each.comment_id for each in run.gate.sent(comments.Update)}) == 5


@pytest.mark.before_release
@SIZES
async def test_find_searches_all_pages(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        screen = await open_all(run, 60)
        assert len([each for each in contents_of(screen).sections if each.is_loaded]) < 12
        await run.press("/", *"more words of page 5")
        await run.see("1 of 11")
        await run.press("enter")
        page = contents_of(screen).page
        assert page.heading.title == "Page 5"
        for number in range(2, 12):
            await run.press("n")
            await run.see(f"{number} of 11")
            assert contents_of(screen).page.heading.title == f"Page {48 + number}"
            check_target(screen)
        await run.press("n")
        await run.see("1 of 11")
        assert contents_of(screen).page is page
        await run.press("escape", "/", *"all times in requests")
        await run.see("1 of 2")
        await run.press("enter", "escape", "g", "minus", "/", *"all times")
        await run.see("no matches, 1 page")


@pytest.mark.before_release
async def test_find_says_how_many_long_pages_it_did_not_search(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        at = await find_refused(run)
        words = "Many words are on this page, and all of them are about the ships of the harbour.\n\n" * 1000
        pages = [
            content.InsertPage(title=f"Long {at}", document=content.DocumentBody(markdown=words)) for at in range(8)
        ]
        for page in pages:
            await run.ask(content.Edit(at=at, changes=(page,), compat=False), "tomas-okafor")
        screen = await open_refused(run)
        await run.see("of 10 viewed")
        await run.press("v", "enter", "/", *"harbour")
        await run.see("pages not searched")
        sent = len(run.gate.sent(content.GetPage))
        contents = contents_of(screen)
        assert sum(each.size for each in contents.sections) <= 500_000
        await run.later(seconds=5)
        assert len(run.gate.sent(content.GetPage)) == sent, "no page is loaded again and again"


@pytest.mark.before_release
async def test_pages_deleted_in_the_other_layout_are_not_shown(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        screen = await open_all(run, 6)
        await run.press("G", "v")
        at = screen.at
        listed = await run.ask(content.ListChanges(at=at, limit=200), MARA)
        ids = [each.page.id for each in listed.changes if each.page is not None and each.type == "page_created"]
        await run.ask(content.Edit(at=at, changes=tuple(map(delete_page, ids)), compat=False), "tomas-okafor")
        await run.press("r", "v")
        await run.see("▾ ~ Troubleshooting", "of 2 viewed")
        check_target(screen)


def delete_page(page: str) -> content.DeletePage:
    return content.DeletePage(page=page)
