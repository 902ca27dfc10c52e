"""Changes by other users appear automatically, move nothing, and are reported in one line."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, reviews
from octavo.api.bodies import Markdown
from octavo.api.operation import Operation
from octavo.api.places import SpaceRef
from octavo.client.in_process import Application
from tests.journeys.stage import LONGEST, MARA, Run, Stage
from tests.server.asking import Ask

YUKI, NOOR = "yuki-tanabe", "noor-haddad"


class Another(Ask):
    """Somebody else, with a client of their own."""

    def __init__(self, run: Run, person: str = YUKI) -> None:
        super().__init__(run.platform)
        self._person = person
        run.platform.world.store.add_key(f"key-{person}", person)

    async def does(self, op: Operation[Any]) -> Any:
        """Do it on the platform, behind the back of the app."""
        return await self(op, self._person)


async def look(run: Run, **by: float) -> None:
    """Let so much time pass, half a minute without any, and the app look whether anything is new."""
    run.app.background_refresh.refresh_if_due()
    run.clock.forward(**(by or {"seconds": 31}))
    run.app.background_refresh.refresh_if_due()
    await run.settle()


async def there(holds: Callable[[], bool], what: str) -> None:
    """Wait for a condition while requests are held, so that the app is not idle."""
    async with asyncio.timeout(LONGEST):
        while not holds():  # noqa: ASYNC110  # nobody tells of it
            await asyncio.sleep(0.01)
    assert holds(), what


def rows(run: Run) -> Any:
    return run.app.screen.rows  # type: ignore[attr-defined]  # it is a list


class Busy:
    """A platform that answers one request after the other, when it is told to begin."""

    def __init__(self, platform: Application) -> None:
        self._platform = platform
        self._turn = asyncio.Lock()
        self.begins = asyncio.Event()
        self.came: list[str] = []
        """The paths of requests, as they came."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.came.append(scope["path"])
        await self.begins.wait()
        async with self._turn:
            await self._platform(scope, receive, send)


@pytest.mark.before_release
async def test_replies_of_the_selected_thread_load_before_lists(stage: Stage) -> None:
    busy: list[Busy] = []

    def behind(platform: Application) -> Application:
        busy.append(Busy(platform))
        return busy[0]

    async with stage.play(start="comments") as run:
        await run.see("Open 72")
    async with stage.play(start="comments", shut=True, behind=behind) as run:
        await run.see("Open 72")
        assert run.gate.waiting > 12, "all lists are asked"
        run.gate.open()
        await there(lambda: len(busy[0].came) == 6, "as many requests as are sent at once")
        opened = rows(run).items[3].comment.id
        await run.pilot.press("j", "j", "j")
        await there(
            lambda: any(each.comment_id == opened for each in run.gate.sent(comments.ListReplies)),
            "ask for its replies",
        )
        before = len(busy[0].came)
        busy[0].begins.set()
        await run.settle()
        assert rows(run).item.comment.id == opened, "what comes leaves the cursor where it was put"
        asked = next(at for at, each in enumerate(busy[0].came) if each.endswith(f"{opened}/replies"))
        assert asked - before <= 3, f"before the replies went {busy[0].came[before:asked]}"
        assert sum(each.endswith("/comments") for each in busy[0].came[asked:]) > 6, "lists were waiting all the while"


@pytest.mark.before_release
async def test_new_comments_appear_and_the_cursor_stays(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await run.press(*"jjjjjjjjjjjjjjj")
        under, scrolled = rows(run).item.comment.id, rows(run).item.key
        space = next(each for each in run.app.workspace.spaces.value.items if each.comments)  # type: ignore[union-attr]  # it is known
        another = Another(run)
        await another.does(comments.Create(at=space.ref, body=Markdown(markdown="Is the tide table of this year?")))
        at = rows(run).item.at
        await another.does(
            comments.CreateReply(at=at, comment_id=under, body=Markdown(markdown="I looked: it is not."))
        )
        lines = run.lines
        asked = len(run.gate.passed)
        await look(run)
        await run.see("Open 73", "1 new thread · 1 new reply", "I looked: it is not.")
        assert rows(run).item.comment.id == under
        assert rows(run).item.key == scrolled
        assert len(run.gate.passed) - asked < 25, [type(op) for op in run.gate.passed[asked:]]
        assert lines
        await run.press("j")
        await run.see("1 new thread")
        run.clock.forward(seconds=11)
        await run.press("k")
        await run.gone("1 new thread")


async def test_poll_without_changes_sends_few_requests_and_redraws_nothing(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.see("Open 72")
        await look(run)
        before, asked = run.lines, len(run.gate.passed)
        await look(run)
        assert run.lines == before
        assert 0 < len(run.gate.passed) - asked <= 16, [type(op) for op in run.gate.passed[asked:]]


@pytest.mark.before_release
async def test_merge_by_another_user_is_reported_and_its_row_removed(
    stage: Stage,
) -> None:
    async with stage.play(start="changes") as run:
        await run.see("Changes ·")
        there = [each for each in rows(run).items if each.status == "open"]
        gone = there[0]
        await run.press("G")
        under = rows(run).item.id
        assert under != gone.id
        another = Another(run, "noor-haddad")
        ref = gone.ref(SpaceRef(space_id=gone.space))
        await another.does(change_requests.Merge(at=ref))
        await look(run)
        await run.see("1 merge")
        assert gone.id not in [each.id for each in rows(run).items]
        assert rows(run).item.id == under


async def merged(run: Run, at: SpaceRef, page: content.Page, words: str, new_page: str) -> None:
    """As another user, edit a page of a space, add a page after it, and merge."""
    another = Another(run, NOOR)
    made = await another.does(change_requests.Create(at=at, subject="Say more"))
    ref = made.ref(at)
    was = await another.does(content.GetPage(at=ref, page_id=page.id, format="markdown"))
    changed = content.UpdatePage(page=page.id, document=content.DocumentBody(markdown=f"{was.markdown}\n\n{words}\n"))
    put = content.InsertPage(title=new_page, document=content.DocumentBody(markdown="It is new."))
    await another.does(content.Edit(at=ref, changes=(changed, put), compat=False))
    await another.does(change_requests.Update(at=ref, status="open"))
    await another.does(change_requests.Merge(at=ref))


@pytest.mark.before_release
async def test_changed_page_and_tree_are_updated_at_the_same_position(stage: Stage) -> None:
    async with stage.play() as run:
        reading = run.app.screen.open_space  # type: ignore[attr-defined]  # it is the view of a space
        await run.press("j", "j")
        under, pages = reading.pages_tree.key, {each.title for each in reading.pages.walk()}
        page = next(each for each in reading.pages.walk() if each.id == under)
        await run.press("enter")
        await run.see(page.title)
        await run.press("j", "j")
        lines = run.lines
        await merged(run, SpaceRef(space_id="harbour-api"), page, "Said at last.", "Put behind all others")
        asked = len(run.gate.passed)
        await look(run)
        await run.until(
            lambda: "Put behind all others" in {each.title for each in reading.pages.walk()}, "see the page"
        )
        assert {each.title for each in reading.pages.walk()} == pages | {"Put behind all others"}
        assert reading.pages_tree.key == under
        assert len(run.gate.passed) - asked < 25, [type(op) for op in run.gate.passed[asked:]]
        cursor = [line for line in lines if line.lstrip().startswith("▌")]
        assert cursor
        assert [line for line in run.lines if line.lstrip().startswith("▌")] == cursor
        async with asyncio.timeout(LONGEST):
            while "Said at last." not in run.text:  # the tree may come before the page, whose end G goes to
                await run.press("G")


@pytest.mark.before_release
async def test_new_inbox_row_appears_and_the_cursor_stays(stage: Stage) -> None:
    async with stage.play(start="inbox") as run:
        await run.see("17 of 17")
        await run.press(*"jjjjjjjj")
        under = rows(run).item.key
        at = SpaceRef(space_id="harbour-api")
        another = Another(run, NOOR)
        made = await another.does(change_requests.Create(at=at, subject="Say what a datum is"))
        await another.does(change_requests.Update(at=made.ref(at), status="open"))
        await another.does(reviews.Request(at=made.ref(at), users=(MARA,)))
        await run.settle()
        whole = asked = len(run.gate.passed)
        await look(run)
        await run.see("18 of 18")
        row = next(each for each in rows(run).items if "Say what a datum is" in each.title)
        assert row.reason == "review requested"
        assert rows(run).items.index(row) < rows(run).cursor, "it came in above"
        assert rows(run).item.key == under
        assert len(run.gate.passed) - asked < whole / 2, [type(op) for op in run.gate.passed[asked:]]
        await another.does(reviews.Withdraw(at=made.ref(at), user_id=MARA))
        await another.does(change_requests.Update(at=made.ref(at), status="archived"))
        await look(run)
        await run.see("17 of 17")
        assert rows(run).item.key == under
