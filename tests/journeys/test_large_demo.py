"""A small part of the large demo: the number of requests after a start, and the time that the user waits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.client.responses import Application
from octavo.data import inbox_plan, sync_queue
from octavo.data.inbox import InboxRow, ThreadRef
from octavo.data.queries import PAGE_LIMIT
from octavo.data.sync_queue import MAX_BACKGROUND
from octavo.server.demo import library as demo
from octavo.server.demo.library import TODAY
from octavo.server.rest import RequestContext
from octavo.server.store import Store
from octavo.tui.inbox.inbox_screen import InboxScreen
from octavo.tui.widgets import short_texts
from tests.journeys.stage import Run, Stage
from tests.journeys.test_background_refresh import (
    YUKI,
    SequentialPlatform,
    wait_for_background_refresh,
    wait_while_requests_wait,
)

PORTION = 0.03
pytestmark = pytest.mark.timeout(400)
"""These tests send hundreds of requests to a platform in this process, which takes minutes on a busy machine."""


@pytest.fixture(scope="module")
def large_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "platform.db"
    store = Store(path)
    demo.build(RequestContext(store, now=lambda: TODAY), today=TODAY, large=PORTION)
    store.close()
    return path


@pytest.fixture
def stage(tmp_path: Path, large_library: Path) -> Iterator[Stage]:
    clock = short_texts.clock
    yield Stage(tmp_path, large_library)
    short_texts.clock = clock


def view(run: Run) -> InboxScreen:
    assert isinstance(run.app.screen, InboxScreen)
    return run.app.screen


def count_requests(run: Run, since: int = 0) -> Counter[str]:
    """Return the number of requests of each operation."""
    return Counter(f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}" for op in run.gate.passed[since:])


def unloaded_reply_threads(run: Run) -> int:
    found = re.search(r"(?:not loaded yet|loading): replies in (\d+) threads?", run.text)
    return int(found[1]) if found else 0


async def open_gate_after_first_screen(run: Run) -> None:
    """Let the first screen appear before any response arrives, as on a slow network."""
    await run.settle()
    run.gate.open()
    await run.settle()


async def load_completely(stage: Stage) -> None:
    """Load everything in an earlier run."""
    async with stage.play(start="inbox") as run:
        await wait_for_background_refresh(run)
        assert unloaded_reply_threads(run) == 0
        await run.quit()


@pytest.mark.before_release
async def test_first_start_loads_relevant_items_first(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_plan, "MAX_UNCERTAIN_THREADS", 20)
    async with stage.play(start="inbox", shut=True) as run:
        await run.settle()
        run.gate.open()
        feed = run.app.workspace.inbox
        await wait_while_requests_wait(lambda: feed.loader is not None and feed.loader.is_loading, "begin to load")
        await wait_while_requests_wait(
            lambda: feed.snapshot is not None and not feed.snapshot.is_loading, "load what concerns one"
        )
        monkeypatch.setattr(sync_queue, "LATER_INTERVAL", timedelta())
        assert view(run).rows.cursor == 0, "the cursor must stay on the first row when rows arrive above it"
        first = count_requests(run)
        me = run.app.workspace.me
        assert me is not None
        assert feed.snapshot is not None
        left = feed.snapshot.unknown.replies
        assert left > 0
        assert feed.snapshot.unknown.summary == f"loading: replies in {left} threads"
        threads = [thread for op in run.gate.sent(comments.List) for thread in threads_in_response(run, op)]
        sure = sum(thread.replies > 0 and thread.posted_by.id == me.id for thread in threads)
        assert first["comments.ListReplies"] - 20 < sum(thread.replies > 0 for thread in threads) - left
        assert sure <= first["comments.ListReplies"]
        shown = view(run).rows.item
        await run.settle()
        assert unloaded_reply_threads(run) == 0
        replies = [op for op in run.gate.sent(comments.ListReplies) if op.limit == PAGE_LIMIT]
        assert len(replies) == len({(op.at, op.comment_id) for op in replies}), (
            "the replies of each thread must be loaded once"
        )
        assert view(run).rows.item == shown
        before = len(run.gate.passed)
        await wait_for_background_refresh(run)
        assert count_requests(run, before)["comments.ListReplies"] == 0, "known replies must not be loaded again"
        assert count_requests(run, before).total() <= 20, count_requests(run, before)


def threads_in_response(run: Run, op: comments.List) -> tuple[comments.Comment, ...]:
    value = run.app.session.live.peek(op).value
    return value.items if value is not None and op.status == "open" else ()


@pytest.mark.before_release
async def test_second_start_shows_all_rows_with_at_most_twelve_requests(stage: Stage) -> None:
    await load_completely(stage)
    async with stage.play(start="", shut=True) as run:
        await run.see("32 of 32", "○ cached")
        assert view(run).rows.cursor == 0
        await open_gate_after_first_screen(run)
        await run.see("32 of 32", "● updated")
        assert view(run).rows.cursor == 0
        assert len(run.gate.passed) <= 9, run.gate.passed
        await run.press("2")
        await run.quit()
    async with stage.play(start="", shut=True) as run:
        await open_gate_after_first_screen(run)
        assert not isinstance(run.app.screen, InboxScreen), "the app must not leave the view that the user reads"
        await run.press("1")
        await run.see("32 of 32", "● updated")
        words = [op for op in run.gate.sent(comments.List) if op.status == "open"]
        assert len(run.gate.passed) - len(words) <= 12, (
            "at most 12 requests, without those for the preview of the first row"
        )
        assert len(words) <= 1, words
        assert max(count_requests(run).values()) <= 2, "each list of the organization is loaded at most twice"


@pytest.mark.before_release
async def test_changed_list_is_requested_in_addition(stage: Stage) -> None:
    await load_completely(stage)
    async with stage.play(start="changes") as run:
        spaces = run.app.workspace.spaces.value
        assert spaces is not None
        moved = next(space.ref for space in spaces.items if space.comments > 20)
        await run.ask(comments.Create(at=moved, body=Markdown(markdown="Is this of this year?")), YUKI)
        await run.quit()
    async with stage.play(start="inbox", shut=True) as run:
        await open_gate_after_first_screen(run)
        assert [op.at for op in run.gate.sent(comments.List)].count(moved) == 1
        assert len(run.gate.passed) <= 12 + 1, run.gate.passed


@pytest.mark.before_release
async def test_replies_of_the_selected_thread_load_before_the_inbox(stage: Stage) -> None:
    platforms: list[SequentialPlatform] = []

    def behind(platform: Application) -> Application:
        platforms.append(SequentialPlatform(platform))
        return platforms[0]

    def threads() -> list[InboxRow]:
        return [row for row in view(run).rows.items if isinstance(row.target, ThreadRef)]

    async with stage.play(start="inbox", shut=True, behind=behind) as run:
        await run.settle()
        platforms[0].begin.set()
        run.gate.open(comments.ListReplies)
        await wait_while_requests_wait(
            lambda: bool(threads()) and run.gate.waiting == MAX_BACKGROUND, "come to the replies of threads"
        )
        platforms[0].begin.clear()
        before = len(platforms[0].paths) + MAX_BACKGROUND
        run.gate.open()
        await wait_while_requests_wait(
            lambda: len(platforms[0].paths) == before, "ask for as many as are asked at once"
        )
        opened = threads()[-1].target
        assert isinstance(opened, ThreadRef)
        loader = run.app.workspace.inbox.loader
        assert loader is not None
        assert loader.is_loading
        view(run).rows.go_to(threads()[-1].key)
        await wait_while_requests_wait(
            lambda: any(each.endswith(f"{opened.comment_id}/replies") for each in platforms[0].paths[before:]),
            "ask for its replies",
        )
        count_requests = next(
            n for n, each in enumerate(platforms[0].paths[before:]) if each.endswith(f"{opened.comment_id}/replies")
        )
        assert count_requests <= 3, platforms[0].paths[before:]
        so_far = len(platforms[0].paths)
        platforms[0].begin.set()
        await run.settle()
        assert len(platforms[0].paths) - so_far > 50, "the remaining replies must be loaded now"
        item = view(run).rows.item
        assert item is not None
        assert item.target == opened, "the cursor must stay on its row when rows arrive"


async def test_early_write_makes_the_first_poll_send_few_requests(stage: Stage) -> None:
    async with stage.play(start="comments") as run:
        await run.press("d")
        await run.sent()
        before = len(run.gate.passed)
        await wait_for_background_refresh(run)
        assert 0 < count_requests(run, before).total() <= 15, count_requests(run, before)
