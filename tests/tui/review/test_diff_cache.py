"""Diffs of a change request, which are built before they are shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from octavo.api import content
from octavo.api.content import DeletePage, GetPage
from octavo.api.errors import ApiError, NotSent, Trace
from octavo.api.operation import RevisionRef
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.sync_queue import Rank
from octavo.data.writes.outbox import Outbox
from octavo.documents.page_trees import ChangedPage, changed_pages
from octavo.tui.review.changed_pages import MAX_PARALLEL, ComparedRevisions, DiffCache
from octavo.tui.review.changed_tree import ViewedMarks
from tests.data.connections import RequestGate
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, small_context
from tests.server.space_editor import SpaceEditor, insert, update


@pytest.fixture
def platform() -> Iterator[Platform]:
    context = small_context(Clock())
    platform = Platform(context)
    yield platform
    platform.close()
    context.store.close()


@dataclass
class Review:
    """A change request with eight changed pages: six are edited, one is added, and one is deleted."""

    comparisons: DiffCache
    pages: dict[str, ChangedPage]
    gate: RequestGate
    built: list[str]

    async def settle(self) -> None:
        while self.comparisons._tasks:
            await asyncio.gather(*self.comparisons._tasks.values(), return_exceptions=True)
            await asyncio.sleep(0)

    def count_requests(self, title: str) -> int:
        page = self.pages[title].page
        assert page is not None
        return sum(isinstance(op, GetPage) and op.page_id == page.id for op in self.gate.requests)

    async def wait_for_requests(self, title: str, count: int) -> None:
        """Wait until the page was requested `count` times, which the gate holds back."""
        async with asyncio.timeout(30):
            while self.count_requests(title) < count:  # noqa: ASYNC110  # There is no event for this.
                await asyncio.sleep(0.01)


@pytest.fixture
async def review(platform: Platform, tmp_path: Path) -> AsyncIterator[Review]:
    editor = await SpaceEditor.open(Ask(platform), *(f"# Page {number}\n\nWords of it.\n" for number in range(7)))
    ids = {page.title: page.id for page in (await editor.tree()).walk()}
    edits = [update(ids[f"Page {number}"], f"# Page {number}\n\nOther words of it.\n") for number in range(6)]
    at = await editor.propose(*edits, insert("# New\n\nAll new.\n"), DeletePage(page=ids["Page 6"]))
    about = await editor.get(at)
    listed = await editor.ask(content.ListChanges(at=at, limit=100))
    client = Client("http://octavo.local", SecretStr("key-ada"), transport=platform)
    gate = RequestGate(client)
    state, cache = StateDb(tmp_path, "ada@test"), ResponseCache(None, "ada@test")
    live = Live(gate, cache, Outbox(gate, state, Drafts(state)))
    built: list[str] = []
    comparisons = DiffCache(live, lambda page, _: built.append(page.key))
    old, new = (RevisionRef(space_id=at.space_id, revision_id=each or "") for each in (about.base, about.revision))
    comparisons.set_revisions(ComparedRevisions(old, new))
    yield Review(comparisons, {page.title: page for page in changed_pages(listed.changes)}, gate, built)
    comparisons.stop()
    await live.close()
    await live.outbox.close()
    await client.aclose()
    cache.close()
    state.close()


async def test_two_pages_are_prefetched_in_parallel_and_cached(review: Review) -> None:
    review.gate.hold()
    review.comparisons.prefetch(review.pages.values())
    await asyncio.sleep(0.01)
    assert len(review.comparisons._tasks) == MAX_PARALLEL
    review.gate.release()
    await review.settle()
    assert len(review.built) == len(review.pages) == 8
    requests = len(review.gate.requests)
    assert requests == 14, "a new or deleted page needs one request, and a changed page needs two"
    found = await review.comparisons.load_diff(review.pages["Page 3"])
    assert found.new.source == "# Page 3\n\nOther words of it.\n"
    size = review.comparisons.sizes[review.pages["Page 3"].key]
    assert (size.added, size.removed) == (2, 1)
    assert len(review.gate.requests) == requests, "a cached diff must not be loaded again"


async def test_shown_page_is_compared_before_prefetched_pages(review: Review) -> None:
    review.gate.hold()
    review.comparisons.prefetch(review.pages.values())
    await review.wait_for_requests("Page 0", 2)
    assert review.count_requests("Page 5") == 0
    wanted = asyncio.create_task(review.comparisons.load_diff(review.pages["Page 5"]))
    await review.wait_for_requests("Page 5", 2)  # while the gate still holds back the earlier pages
    review.gate.release()
    assert (await wanted).old.source == "# Page 5\n\nWords of it.\n"
    await review.settle()
    assert review.count_requests("Page 5") == 2


async def test_prefetched_pages_have_low_priority_until_they_are_shown(review: Review) -> None:
    review.gate.hold()
    review.comparisons.prefetch(review.pages.values())
    await asyncio.sleep(0.1)
    later = fetch_in_background(review, "Page 3")
    await asyncio.sleep(0.1)
    assert [review.count_requests(f"Page {number}") for number in (0, 1, 3)] == [2, 2, 0]
    wanted = asyncio.create_task(review.comparisons.load_diff(review.pages["Page 1"]))
    await asyncio.sleep(0.1)
    assert review.count_requests("Page 3") == 2, "a page that is shown uses no place of the background"
    review.gate.release()
    await asyncio.gather(wanted, *later)
    await review.settle()
    assert len(review.gate.requests) == 14, "each side of a page must be loaded once"


@pytest.mark.parametrize("turns", range(4))
async def test_page_shown_while_its_prefetch_starts_uses_the_prefetch(turns: int, review: Review) -> None:
    """`turns` of the event loop pass between both."""
    review.gate.hold()
    others = fetch_in_background(review, "Page 3") + fetch_in_background(review, "Page 4")
    await asyncio.sleep(0.1)
    page = review.pages["Page 2"]

    async def show() -> None:
        review.comparisons.prefetch([page])
        for _ in range(turns):
            await asyncio.sleep(0)
        await review.comparisons.load_diff(page)

    wanted = asyncio.create_task(show())
    await asyncio.sleep(0.1)
    assert review.count_requests("Page 2") == 2, "the shown page must be loaded before the others"
    review.gate.release()
    await asyncio.gather(wanted, *others)
    assert review.count_requests("Page 2") == 2


def fetch_in_background(review: Review, title: str) -> list[asyncio.Task[Any]]:
    comparisons = review.comparisons
    return [
        asyncio.create_task(comparisons._live.fetch(op, rank=Rank.AWAITED))
        for op in comparisons._version_operations(review.pages[title])
        if op is not None
    ]


async def test_failed_prefetch_stops_the_prefetching(review: Review) -> None:
    review.gate.errors.extend(NotSent("The network is down.", Trace("GET", "/", 0)) for _ in range(4))
    review.comparisons.prefetch(review.pages.values())
    await review.settle()
    assert len(review.gate.requests) <= 6
    review.gate.errors.clear()
    assert not (await review.comparisons.load_diff(review.pages["Page 4"])).diff.is_empty


async def test_failed_diff_of_the_shown_page_raises(review: Review) -> None:
    review.gate.errors.extend(NotSent("The network is down.", Trace("GET", "/", 0)) for _ in range(2))
    with pytest.raises(ApiError, match="network is down"):
        await review.comparisons.load_diff(review.pages["Page 4"])


async def test_other_sides_clear_the_cache(review: Review) -> None:
    page = review.pages["Page 1"]
    await review.comparisons.load_diff(page)
    revisions = review.comparisons._revisions
    assert revisions is not None
    assert revisions.old is not None
    review.comparisons.set_revisions(ComparedRevisions(revisions.old, revisions.old, "itself"))
    assert review.comparisons.cached(page) is None
    assert (await review.comparisons.load_diff(page)).diff.is_empty


async def test_long_pages_are_not_all_cached(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octavo.tui.review.changed_pages.MAX_TEXT", 200)
    review.comparisons.prefetch(review.pages.values())
    await review.settle()
    kept = [page for page in review.pages.values() if review.comparisons.cached(page) is not None]
    assert 0 < len(kept) < 8
    assert next(iter(review.pages.values())) in kept, "the next page must be cached"
    assert len(review.comparisons.sizes) == 8, "the numbers of changed lines must be kept for all pages"


def test_viewed_marks_last_until_the_page_changes() -> None:
    state = StateDb(None, "ada@test")
    marks = ViewedMarks(state, "cr")
    assert marks.load("one") is None
    assert marks.toggle("a")
    assert marks.toggle("b")
    assert not marks.toggle("b")
    assert marks.toggle("c")
    reloaded = ViewedMarks(state, "cr")
    assert reloaded.load("one") is None
    assert reloaded.viewed_keys == {"a", "c"}
    assert reloaded.load("two") == "one", "the revision of the last visit must be returned for a comparison"
    assert reloaded.viewed_keys == frozenset()
    reloaded.toggle("d")
    reloaded.renew({"a", "x"})
    assert reloaded.viewed_keys == {"c", "d"}
    assert reloaded.changed_since_viewed == {"a"}
    assert reloaded.toggle("a")
    assert reloaded.changed_since_viewed == frozenset()
    last = ViewedMarks(state, "cr")
    assert last.load("two") is None
    assert last.viewed_keys == {"a", "c", "d"}
    assert last.load("three") == "two"
    last.renew(None)
    assert last.viewed_keys == frozenset(), "without a comparison, no mark may be kept"
    assert last.changed_since_viewed == {"a", "c", "d"}
    state.close()


def test_viewed_marks_of_two_views_are_all_kept() -> None:
    state = StateDb(None, "ada@test")
    first, second = ViewedMarks(state, "cr"), ViewedMarks(state, "cr")
    assert first.load("one") is second.load("one") is None
    assert first.toggle("a")
    assert second.toggle("b")
    assert not first.toggle("a")
    assert first.viewed_keys == {"b"}
    last = ViewedMarks(state, "cr")
    last.load("one")
    assert last.viewed_keys == {"b"}
    state.close()


def test_viewed_marks_of_two_instances_are_all_kept(tmp_path: Path) -> None:
    one_state, other_state = StateDb(tmp_path, "ada@test"), StateDb(tmp_path, "ada@test")
    one, other = ViewedMarks(one_state, "cr"), ViewedMarks(other_state, "cr")
    assert one.load("one") is other.load("one") is None
    assert one.toggle("a")
    one_state.write_now(lambda db: None)
    assert other.toggle("b")
    other_state.write_now(lambda db: None)
    one.load("one")
    assert one.viewed_keys == other.viewed_keys == {"a", "b"}
    assert one.load("two") == other.load("two") == "one"
    one.renew({"a"})
    assert one.toggle("a")
    one_state.write_now(lambda db: None)
    other.renew({"a"})
    other_state.write_now(lambda db: None)
    assert other.viewed_keys == {"a", "b"}, "the page was viewed again in the other instance"
    one_state.close()
    other_state.close()


def test_viewed_marks_are_kept_without_a_revision() -> None:
    state = StateDb(None, "ada@test")
    marks = ViewedMarks(state, "cr")
    assert marks.load("") is None
    marks.toggle("a")
    reloaded = ViewedMarks(state, "cr")
    assert reloaded.load("") is None
    assert reloaded.viewed_keys == {"a"}
    state.close()


async def test_diff_requested_after_a_cancel_is_loaded(review: Review) -> None:
    page = review.pages["Page 2"]
    review.gate.hold()
    first = asyncio.create_task(review.comparisons.load_diff(page))
    await asyncio.sleep(0.01)
    first.cancel()
    # This call comes in the same pass of the event loop.
    second = asyncio.create_task(review.comparisons.load_diff(page))
    await asyncio.sleep(0.01)
    review.gate.release()
    assert (await second).new.source == "# Page 2\n\nOther words of it.\n"


async def test_diff_that_another_caller_cancels_is_loaded(review: Review) -> None:
    page = review.pages["Page 2"]
    review.gate.hold()
    first, second = (asyncio.create_task(review.comparisons.load_diff(page)) for _ in range(2))
    await asyncio.sleep(0.01)
    first.cancel()
    await asyncio.sleep(0.01)
    review.gate.release()
    assert (await second).new.source == "# Page 2\n\nOther words of it.\n"


async def test_diff_is_loaded_if_its_revisions_are_set_again(review: Review) -> None:
    page, revisions = review.pages["Page 2"], review.comparisons._revisions
    assert revisions is not None
    review.gate.hold()
    waiting = asyncio.create_task(review.comparisons.load_diff(page))
    await asyncio.sleep(0.01)
    review.comparisons.set_revisions(replace(revisions, old=None))
    review.comparisons.set_revisions(revisions)
    await asyncio.sleep(0.01)
    review.gate.release()
    assert (await waiting).new.source == "# Page 2\n\nOther words of it.\n"


async def test_page_with_another_kind_of_change_is_compared_again(review: Review) -> None:
    page = review.pages["Page 2"]
    deleted = replace(page, changes=(page.changes[0].model_copy(update={"type": "page_deleted"}),))
    assert (await review.comparisons.load_diff(deleted)).new.source == ""
    assert review.comparisons.cached(page) is None
    review.comparisons.prefetch([page])
    await review.settle()
    known = review.comparisons.cached(page)
    assert known is not None
    assert known.new.source == "# Page 2\n\nOther words of it.\n"
    assert review.comparisons.sizes[page.key] == known.diff.size
