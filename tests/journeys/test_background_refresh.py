"""Changes by other users appear automatically, move nothing, and are reported in one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, reviews
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation, SpaceRef
from octavo.client.responses import Application
from tests.journeys.stage import MARA, MAX_WAIT_SECONDS, Run, Stage
from tests.server.small_platform import Ask

YUKI, NOOR = "yuki-tanabe", "noor-haddad"


class OtherUser(Ask):
    """Another user, who has a separate client."""

    def __init__(self, run: Run, person: str = YUKI) -> None:
        super().__init__(run.platform)
        self._person = person
        run.platform.context.store.add_key(f"key-{person}", person)

    async def write(self, op: Operation[Any]) -> Any:
        """Send a request to the platform, so that the app does not know about it."""
        return await self(op, self._person)


async def wait_for_background_refresh(run: Run, **by: float) -> None:
    """Let time pass, by default half a minute, and let the app check for news."""
    run.app.background_refresh.refresh_if_due()
    run.clock.forward(**(by or {"seconds": 31}))
    run.app.background_refresh.refresh_if_due()
    await run.settle()


async def wait_while_requests_wait(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition while requests wait, so that the app is not idle."""
    async with asyncio.timeout(MAX_WAIT_SECONDS):
        while not holds():  # noqa: ASYNC110  # There is no event for the condition.
            await asyncio.sleep(0.01)
    assert holds(), what


def rows(run: Run) -> Any:
    return run.app.screen.rows  # type: ignore[attr-defined]  # The screen has a list.


class SequentialPlatform:
    """A platform that handles one request after the other, once `begins` is set."""

    def __init__(self, platform: Application) -> None:
        self._platform = platform
        self._turn = asyncio.Lock()
        self.begin = asyncio.Event()
        self.paths: list[str] = []
        """The paths of the requests in the order of arrival."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.paths.append(scope["path"])
        await self.begin.wait()
        async with self._turn:
            await self._platform(scope, receive, send)


@pytest.mark.before_release
async def test_replies_of_the_selected_thread_load_before_lists(stage: Stage) -> None:
    platforms: list[SequentialPlatform] = []

    def behind(platform: Application) -> Application:
        platforms.append(SequentialPlatform(platform))
        return platforms[0]

    async with stage.play(start="comments") as run:
        await run.see("Open 72")
    async with stage.play(start="comments", shut=True, behind=behind) as run:
        await run.see("Open 72")
        run.gate.open()
        await wait_while_requests_wait(lambda: len(platforms[0].paths) == 6, "as many requests as are sent at once")
        opened = rows(run).items[3].comment.id
        await run.pilot.press("j", "j", "j")
        await wait_while_requests_wait(
            lambda: any(each.comment_id == opened for each in run.gate.sent(comments.ListReplies)),
            "ask for its replies",
        )
        before = len(platforms[0].paths)
        platforms[0].begin.set()
        await run.settle()
        assert rows(run).item.comment.id == opened, "the cursor must stay on its row when the lists arrive"
        asked = next(at for at, each in enumerate(platforms[0].paths) if each.endswith(f"{opened}/replies"))
        assert asked - before <= 3, f"too many requests before the replies: {platforms[0].paths[before:asked]}"
        assert sum(each.endswith("/comments") for each in platforms[0].paths[asked:]) > 6, (
            "the replies must be requested before the remaining lists"
        )


@pytest.mark.before_release
async def test_new_comments_appear_and_the_cursor_stays(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press(*"jjjjjjjjjjjjjjj")
        selected, scrolled = rows(run).item.comment.id, rows(run).item.key
        space = next(each for each in run.app.workspace.spaces.value.items if each.comments)  # type: ignore[union-attr]  # The spaces are loaded.
        other_user = OtherUser(run)
        await other_user.write(comments.Create(at=space.ref, body=Markdown(markdown="Is the tide table of this year?")))
        at = rows(run).item.at
        await other_user.write(
            comments.CreateReply(at=at, comment_id=selected, body=Markdown(markdown="I looked: it is not."))
        )
        lines = run.lines
        asked = len(run.gate.passed)
        await wait_for_background_refresh(run)
        await run.see("Open 73", "1 new thread · 1 new reply", "I looked: it is not.")
        assert rows(run).item.comment.id == selected
        assert rows(run).item.key == scrolled
        assert len(run.gate.passed) - asked < 25, [type(op) for op in run.gate.passed[asked:]]
        assert lines
        await run.press("j")
        await run.see("1 new thread")
        run.clock.forward(seconds=11)
        await run.press("k")
        await run.gone("1 new thread")


async def test_ages_in_a_list_change_although_nothing_else_does(stage: Stage) -> None:
    """A row kept the age that it had when it was drawn, until something changed: "updated 17h" for a whole day."""
    async with stage.play(start="changes") as run:
        await run.press("]")
        await run.see("#3  Untitled", "updated 17h")
        await wait_for_background_refresh(run, hours=2)
        await run.see("updated 19h")


async def test_background_refresh_without_news_sends_few_requests(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await wait_for_background_refresh(run)
        before, asked = run.lines, len(run.gate.passed)
        await wait_for_background_refresh(run)
        assert run.lines == before
        assert 0 < len(run.gate.passed) - asked <= 16, [type(op) for op in run.gate.passed[asked:]]


@pytest.mark.before_release
async def test_merge_by_another_user_is_reported_and_removes_the_row(
    stage: Stage,
) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        wait_while_requests_wait = [each for each in rows(run).items if each.status == "open"]
        merged_row = wait_while_requests_wait[0]
        await run.press("G")
        selected = rows(run).item.id
        assert selected != merged_row.id
        other_user = OtherUser(run, "noor-haddad")
        ref = merged_row.ref(SpaceRef(space_id=merged_row.space))
        await other_user.write(change_requests.Merge(at=ref))
        await wait_for_background_refresh(run)
        await run.see("1 merge")
        assert merged_row.id not in [each.id for each in rows(run).items]
        assert rows(run).item.id == selected


async def merge_changes(run: Run, at: SpaceRef, page: content.Page, words: str, new_page: str) -> None:
    """As another user, edit a page of a space, add a page after it, and merge both."""
    other_user = OtherUser(run, NOOR)
    made = await other_user.write(change_requests.Create(at=at, subject="Say more"))
    ref = made.ref(at)
    was = await other_user.write(content.GetPage(at=ref, page_id=page.id, format="markdown"))
    changed = content.UpdatePage(page=page.id, document=content.DocumentBody(markdown=f"{was.markdown}\n\n{words}\n"))
    put = content.InsertPage(title=new_page, document=content.DocumentBody(markdown="It is new."))
    await other_user.write(content.Edit(at=ref, changes=(changed, put), compat=False))
    await other_user.write(change_requests.Update(at=ref, status="open"))
    await other_user.write(change_requests.Merge(at=ref))


@pytest.mark.before_release
async def test_changed_page_and_tree_are_updated_at_the_same_position(stage: Stage) -> None:
    async with stage.play() as run:
        reading = run.app.screen.open_space  # type: ignore[attr-defined]  # The screen is the view of a space.
        await run.press("j", "j")
        selected, pages = reading.pages_tree.key, {each.title for each in reading.pages.walk()}
        page = next(each for each in reading.pages.walk() if each.id == selected)
        await run.press("enter")
        await run.see(page.title)
        await run.press("j", "j")
        lines = run.lines
        await merge_changes(run, SpaceRef(space_id="harbour-api"), page, "Said at last.", "Put behind all others")
        asked = len(run.gate.passed)
        await wait_for_background_refresh(run)
        await run.until(
            lambda: "Put behind all others" in {each.title for each in reading.pages.walk()}, "list the new page"
        )
        assert {each.title for each in reading.pages.walk()} == pages | {"Put behind all others"}
        assert reading.pages_tree.key == selected
        assert len(run.gate.passed) - asked < 25, [type(op) for op in run.gate.passed[asked:]]
        cursor = [line for line in lines if line.lstrip().startswith("▌")]
        assert cursor
        assert [line for line in run.lines if line.lstrip().startswith("▌")] == cursor
        async with asyncio.timeout(MAX_WAIT_SECONDS):
            # The tree may load before the page, and then G goes to the end of the old page.
            while "Said at last." not in run.text:
                await run.press("G")


@pytest.mark.before_release
async def test_new_inbox_row_appears_and_the_cursor_stays(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press(*"jjjjjjjj")
        selected = rows(run).item.key
        at = SpaceRef(space_id="harbour-api")
        other_user = OtherUser(run, NOOR)
        made = await other_user.write(change_requests.Create(at=at, subject="Say what a datum is"))
        await other_user.write(change_requests.Update(at=made.ref(at), status="open"))
        await other_user.write(reviews.Request(at=made.ref(at), users=(MARA,)))
        await run.settle()
        whole = asked = len(run.gate.passed)
        await wait_for_background_refresh(run)
        await run.see("18 of 18")
        row = next(each for each in rows(run).items if "Say what a datum is" in each.title)
        assert row.reason == "review requested"
        assert rows(run).items.index(row) < rows(run).cursor, "the new row must be above the cursor"
        assert rows(run).item.key == selected
        assert len(run.gate.passed) - asked < whole / 2, [type(op) for op in run.gate.passed[asked:]]
        await other_user.write(reviews.Withdraw(at=made.ref(at), user_id=MARA))
        await other_user.write(change_requests.Update(at=made.ref(at), status="archived"))
        await wait_for_background_refresh(run)
        await run.see("17 of 17")
        assert rows(run).item.key == selected
