"""A change request changes after a review: each comment says whether its words changed, and pending comments move."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from octavo.api import change_requests, comments, content
from octavo.api.bodies import Markdown
from octavo.api.operation import ChangeRequestRef
from octavo.documents.source_reader import parse
from octavo.tui.review.request_view import ChangeRequestScreen
from tests.journeys.stage import MARA, Run, Stage
from tests.journeys.test_pending_comments import add_pending_comment
from tests.journeys.test_reviewing import HARBOUR, open_change_request, ref_of_seven
from tests.journeys.test_suggestions import TOMAS, page_of_times, write

FIRST = "Every schedule is read in local time, and clients must send the zone."
SECOND = "A request without a zone is refused by the server with the code 400."
SIZES = [(120, 36), (80, 24)]


@dataclass(frozen=True)
class EditedPage:
    """The page Time and time zones of #7, which begins with two paragraphs."""

    run: Run
    at: ChangeRequestRef
    page: str
    text: str

    async def comment(self, words: str, text: str) -> None:
        """Comment as Tomás on the paragraph with `words`."""
        key = next(each.key for each in parse(self.text).walk() if each.plain() == words)
        await self.run.ask(comments.Create(at=self.at, page=self.page, node=key, body=Markdown(markdown=text)), TOMAS)

    async def replace(self, **words: str) -> str:
        """Replace words of the page as Tomás: `first`, `second` or `local`. Return the new text."""
        text = self.text
        for name, after in words.items():
            text = text.replace({"first": FIRST, "second": SECOND}.get(name, name), after)
        await write(self.run, self.at, self.page, text)
        return text


async def prepare(run: Run) -> EditedPage:
    """Replace the first paragraph of the page by two."""
    at = await ref_of_seven(run)
    page, before = await page_of_times(run, at)
    old = before[before.index("All times in requests") : before.index("\n\n", before.index("All times in requests"))]
    text = before.replace(old, f"{FIRST}\n\n{SECOND}")
    await write(run, at, page, text)
    return EditedPage(run, at, page, text)


async def select_first(run: Run) -> None:
    """Select the new paragraph in the diff."""
    await open_change_request(run, "refused")
    await run.see("Every schedule")
    await run.press("enter")
    for _ in range(20):
        screen = run.app.screen
        assert isinstance(screen, ChangeRequestScreen)
        block = screen.page_diff.visible_block
        if block is not None and block.plain() == FIRST:
            return
        await run.press(")")
    raise AssertionError(run.text)


@pytest.mark.before_release
@pytest.mark.parametrize("size", SIZES)
async def test_comment_says_that_its_words_changed_or_are_gone(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        page = await prepare(run)
        await page.comment(FIRST, "Which zone?")
        await page.comment(SECOND, "Why refused?")
        await page.replace(local="summer", second="")
        await open_change_request(run, "refused")
        await run.press("enter", "t")
        await run.see("┊ words are gone", "┊ Why refused?")
        await run.press("enter")
        await run.see("Words are gone. They were:", "A request without a zone")
        await run.press("escape", "t")
        await run.see("┊ words changed since this comment", "┊ Which zone?")
        await run.press("enter")
        await run.see("Words changed since this comment. They were:", "read in local time, and")
        assert "resolved" not in run.text
        assert not run.gate.sent(comments.Update)


@pytest.mark.before_release
@pytest.mark.parametrize("size", SIZES)
async def test_comment_says_to_which_page_its_words_moved(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        page = await prepare(run)
        await page.comment(SECOND, "Why refused?")
        listed = await run.ask(content.ListPages(at=page.at), MARA)
        other = next(each for each in listed.walk() if each.title == "Troubleshooting")
        raw = (await run.ask(content.GetRawPage(at=page.at, page_id=other.id, format="markdown"), MARA)).markdown
        assert raw is not None
        await open_change_request(run, "refused")
        await run.see("┊ Why refused?")
        await page.replace(second="")
        await write(run, page.at, other.id, f"{raw.text}\n{SECOND}\n")
        await run.press("r", "enter", "t")
        await run.see("┊ words moved to Troubleshooting", "┊ Why refused?")
        await run.press("enter")
        await run.see("Words moved to Troubleshooting. They were:", "A request without a zone")
        await write(run, page.at, other.id, raw.text)
        await run.press("escape", "r")
        await run.see("┊ words are gone", "┊ Why refused?")


@pytest.mark.before_release
@pytest.mark.parametrize("read_only", ["", "This session is read-only."])
async def test_merged_change_request_says_that_words_changed(stage: Stage, read_only: str) -> None:
    async with stage.play(start="changes", read_only=read_only) as run:
        page = await prepare(run)
        await page.comment(FIRST, "Which zone?")
        await page.replace(local="summer")
        await open_change_request(run, "refused")
        await run.press("enter", "t")
        await run.see("┊ words changed since this comment", "┊ Which zone?")
        await run.ask(change_requests.Merge(at=page.at), MARA)
        await run.press("r")
        await run.see("merged", "┊ words changed since this comment", "┊ Which zone?")


@pytest.mark.before_release
async def test_comment_on_words_that_did_not_change_says_so(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        page = await prepare(run)
        await page.comment(SECOND, "Why refused?")
        await open_change_request(run, "refused")
        await run.see("┊ Why refused?")
        await run.press("enter", "t", "enter")
        assert "not changed" not in run.text
        await page.replace(local="summer")
        await run.press("escape", "r")
        await run.see("read in summer time")
        await run.press("enter")
        await run.see("Words have not changed since this comment.")
        assert "words changed" not in run.text


@pytest.mark.before_release("size1")
@pytest.mark.parametrize("size", SIZES)
async def test_pending_comment_moves_along_and_is_sent_on_the_new_block(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        page = await prepare(run)
        await select_first(run)
        await add_pending_comment(run, "Which zone?")
        await run.see("┊ Which zone?")
        edited = await page.replace(local="summer")
        await run.press("r")
        await run.see("read in summer time", "┊ words changed since this comment", "┊ Which zone?")
        await run.press("H")
        await run.see("words changed  Which zone?")
        await run.press("ctrl+s")
        await run.sent()
        (sent,) = run.gate.sent(comments.Create)
        assert sent.node == next(each.key for each in parse(edited).walk() if "in summer" in each.plain())


@pytest.mark.parametrize("is_limited", [False, True], ids=["before the undo delay ends", "after a rate limit"])
async def test_comment_that_waits_moves_along_and_is_sent_on_the_new_block(stage: Stage, is_limited: bool) -> None:
    async with stage.play(start="changes") as run:
        page = await prepare(run)
        await select_first(run)
        if is_limited:
            run.platform.refuse_next(comments.Create, 429, "Wait.", headers={"retry-after": "60"})
        await run.press("c")
        await run.type("Which zone?")
        await run.press("ctrl+s")
        await run.see("┊ Which zone?")
        if is_limited:
            await run.later(seconds=10)
            assert run.gate.sent(comments.Create)
        edited = await page.replace(local="summer")
        await run.press("r")
        await run.see("read in summer time", "┊ words changed since this comment", "┊ Which zone?")
        await run.later(seconds=100)
        await run.until(lambda: len(run.gate.sent(comments.Create)) == 1 + is_limited, "send the comment")
        *_, sent = run.gate.sent(comments.Create)
        assert sent.node == next(each.key for each in parse(edited).walk() if "in summer" in each.plain())


async def test_pending_comment_says_that_its_words_are_gone(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        page = await prepare(run)
        await select_first(run)
        await add_pending_comment(run, "Which zone?")
        await run.see("┊ Which zone?")
        await page.replace(first="")
        await run.press("r")
        await run.see("┊ words are gone", "┊ Which zone?")
        await run.press("A")
        await run.see("Request changes on #7", "• Time and time zones: Which zone? (words are gone)")
        await run.press("escape", "H")
        await run.see("words are gone  Which zone?")


@pytest.mark.before_release
async def test_sixty_pages_with_threads_send_no_request_per_thread(stage: Stage) -> None:
    async with stage.play(start="changes", size=(120, 36)) as run:
        at = (await run.ask(change_requests.Create(at=HARBOUR, subject="Sixty pages"), MARA)).ref(HARBOUR)
        for start in (0, 30):
            pages = [
                content.InsertPage(title=f"Page {number}", document=content.DocumentBody(markdown=f"{FIRST}\n"))
                for number in range(start, start + 30)
            ]
            await run.ask(content.Edit(at=at, changes=tuple(pages)), MARA)
        key = next(each.key for each in parse(FIRST).walk() if each.plain() == FIRST)
        ids = [
            each.id for each in (await run.ask(content.ListPages(at=at), MARA)).walk() if each.title.startswith("Page ")
        ]
        for page in ids:
            for text in ("One.", "Two."):
                body = Markdown(markdown=text)
                await run.ask(comments.Create(at=at, page=page, node=key, body=body), TOMAS)
        edited = content.DocumentBody(markdown=f"{FIRST.replace('local', 'summer')}\n")
        for page in ids[:2]:
            await run.ask(content.Edit(at=at, changes=(content.UpdatePage(page=page, document=edited),)), MARA)
        await run.ask(change_requests.Update(at=at, status="open"), MARA)
        await run.press("r")
        await open_change_request(run, "Sixty")
        await run.see("0 of 60 viewed", "┊ words changed since this comment")
        await run.later(seconds=30)
        before = len(run.gate.passed)
        await run.press("enter", "t", "enter")
        await run.see("Words changed since this comment. They were:")
        await run.press("t", "t", "t", "t")
        await run.see("Words have not changed since this comment.")
        replies = len(run.gate.sent(comments.ListReplies))
        others = len(run.gate.passed) - before - replies
        print(
            f"{len(run.gate.passed)} requests, {replies} of them for replies, {others} others while reading 5 threads"
        )
        assert not run.gate.sent(comments.Get)
        assert len(run.gate.sent(content.GetPage)) <= 2 * 60
        assert others <= 5


@pytest.mark.before_release("size0", "size1")
@pytest.mark.parametrize("size", SIZES)
async def test_list_of_comments_says_what_happened_to_the_words(stage: Stage, size: tuple[int, int]) -> None:
    async with stage.play(start="changes", size=size) as run:
        page = await prepare(run)
        for number in range(3):
            await page.comment(FIRST, f"Which zone? {number}")
        await page.comment(SECOND, "Why refused?")
        await page.replace(local="summer", second="")
        await run.press("4")
        await run.see("Open")
        await run.press("/", *"zone?", "enter")
        await run.see("words changed  Which zone")
        await run.press("escape", "/", *"why refused", "enter")
        await run.see("words are gone")
        if size == (120, 36):
            await run.see("Words are gone.")
        times = [op for op in run.gate.sent(content.GetPage) if op.page_id == page.page and op.at == page.at]
        assert len(times) == 1, "the page is loaded once for all its threads"


async def test_remark_on_a_selected_block_moves_along_with_its_block(stage: Stage) -> None:
    async with stage.play(start="changes") as run:
        page = await prepare(run)
        await select_first(run)
        await run.press("asterisk", ")", "asterisk")
        await run.hear("2 blocks selected.")
        edited = await page.replace(local="summer")
        await run.press("r")
        await run.see("read in summer time", "* Selected")
        await run.press("A")
        await run.see("Remark on 2 blocks")
        await run.press(*"Why?", "ctrl+s")
        await run.see("┊ words changed since this comment", "┊ Why?")
        await run.press("H", "ctrl+s")
        await run.sent()
        keys = {each.plain(): each.key for each in parse(edited).walk()}
        assert {each.node for each in run.gate.sent(comments.Create)} == {
            keys[FIRST.replace("local", "summer")],
            keys[SECOND],
        }
