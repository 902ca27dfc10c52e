"""Snapshots that watchers receive from the real platform."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from octavo.api import comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import Lost, NotSent, PaginationError, Unreachable
from octavo.api.operation import ListPage, NextCursor, Operation, OrganizationRef, RevisionRef, SpaceRef
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data.live import Live, Snapshot
from octavo.data.live_response import MAX_PAGES, Observers
from octavo.data.loaders import all_items
from octavo.data.response_cache import ResponseCache, StoredResponse
from octavo.data.sync_queue import NeededResponse, Rank
from tests.data.background_requests import wait_idle
from tests.data.conftest import ManualOutbox, run_sync
from tests.data.connections import RequestGate
from tests.data.snapshot_watcher import SnapshotWatcher
from tests.server.small_platform import Ask, Clock, space_with


def threads(here: SpaceRef, **more: Any) -> comments.List:
    return comments.List(at=here, format="markdown", **more)


def new_comment(here: SpaceRef, text: str = "Hello") -> comments.Create:
    return comments.Create(at=here, body=Markdown(markdown=text))


async def test_watcher_is_called_at_once_and_with_the_response(live: Live, here: SpaceRef, clock: Clock) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.Get(at=here), screen)
    assert screen.seen == [Snapshot(is_loading=True)]
    await wait_idle(live)
    assert len(screen.seen) == 2
    assert (screen.now.value.title, screen.now.is_loading, screen.now.fetched_at) == ("Handbook", False, clock())


async def test_cached_response_is_shown_at_the_next_start(
    live: Live, cache: ResponseCache, gate: RequestGate, outbox: ManualOutbox, here: SpaceRef, clock: Clock
) -> None:
    await live.refresh(spaces.Get(at=here))
    cache.flush()
    read_at = clock()
    clock.forward(days=2)
    later = Live(gate, cache, outbox, now=clock)
    screen = SnapshotWatcher()
    later.watch(spaces.Get(at=here), screen)
    assert (screen.now.value.title, screen.now.is_loading, screen.now.fetched_at) == ("Handbook", True, read_at)
    await wait_idle(later)
    assert screen.now.fetched_at == clock()


@pytest.mark.parametrize("rank", [Rank.NOW, Rank.AWAITED])
async def test_unchanged_response_updates_only_its_time_on_disk(
    gate: RequestGate, outbox: ManualOutbox, ask: Ask, here: SpaceRef, clock: Clock, tmp_path: Path, rank: Rank
) -> None:
    cache = ResponseCache(tmp_path, "mia@test", now=clock)
    live, op = Live(gate, cache, outbox, now=clock), threads(here, limit=2)

    async def fetch_and_store() -> StoredResponse:
        clock.forward(seconds=3601.234567)
        value = await live.fetch(op, rank=rank)
        live.release(op)
        cache.flush()
        (kept,) = cache.responses_after(0, 10)
        assert kept.requested_at == clock()
        assert live.peek(op).value == value
        live.release(op)
        return kept

    for number in range(3):
        await ask(new_comment(here, f"Thread {number}"))
    first = await fetch_and_store()
    assert (await fetch_and_store()).number == first.number
    thread = await ask(new_comment(here, "Another"))
    other = await fetch_and_store()
    assert other.number > first.number
    assert thread.id.encode() in other.body
    await live.close()
    cache.close()


async def test_large_cached_response_is_available_offline(
    cache: ResponseCache, live: Live, gate: RequestGate, outbox: ManualOutbox, ask: Ask, clock: Clock
) -> None:
    here = (await space_with(ask, large="# Large\n\n" + "Many words. " * 30_000)).ref
    op = content.GetPage(at=here, page_id="large", format="markdown")
    page = await live.fetch(op)
    cache.flush()
    assert await Live(gate, cache, outbox, now=clock).cached(op) == page
    gate.errors.append(NotSent("Can't reach the server."))
    assert await Live(gate, cache, outbox, now=clock).cached_or_fetch(op) == page


async def test_large_cached_response_that_never_changes_is_not_fetched_again(
    cache: ResponseCache, live: Live, gate: RequestGate, outbox: ManualOutbox, ask: Ask, clock: Clock
) -> None:
    here = await space_with(ask, large="# Large\n\n" + "Many words. " * 30_000)
    revision = RevisionRef(space_id=here.id, revision_id=(await ask(spaces.Get(at=here.ref))).revision or "")
    op = content.GetPage(at=revision, page_id="large", format="markdown")
    page = await live.fetch(op)
    cache.flush()
    gate.requests.clear()
    later, screen = Live(gate, cache, outbox, now=clock), SnapshotWatcher()
    later.watch(op, screen)
    await wait_idle(later)
    assert (screen.now.value, screen.now.is_loading, gate.requests) == (page, False, [])


async def test_unwatched_response_is_on_disk_and_watched_one_in_memory(
    live: Live, cache: ResponseCache, gate: RequestGate, here: SpaceRef
) -> None:
    op = spaces.Get(at=here)
    value = await live.fetch(op)
    leave = live.watch(op, SnapshotWatcher())
    await wait_idle(live)
    watched = live.peek(op).value
    live.release(op)
    assert live.peek(op).value is watched
    leave()
    live.release(op)
    cache.flush()
    gate.requests.clear()
    assert live.peek(op).value == value
    assert live.peek(op).value is not watched
    assert gate.requests == []


async def test_stored_error_keeps_no_caller_in_memory(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    gate.errors.append(NotSent("Can't reach the server."))
    with pytest.raises(NotSent) as raised:
        await live.fetch(spaces.Get(at=here))
    kept = live.peek(spaces.Get(at=here)).error
    assert (type(kept), str(kept), kept and kept.trace) == (NotSent, str(raised.value), raised.value.trace)
    assert kept is not None
    assert kept.__traceback__ is None


async def test_failed_refresh_keeps_the_cached_response_and_the_error(
    live: Live, gate: RequestGate, here: SpaceRef
) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    gate.errors.append(NotSent("Can't reach the server."))
    await live.refresh(spaces.Get(at=here))
    assert (screen.now.value.title, str(screen.now.error), screen.now.is_loading) == (
        "Handbook",
        "Can't reach the server.",
        False,
    )
    await live.refresh(spaces.Get(at=here))
    assert screen.now.error is None


async def test_failed_requests_are_repeated_after_the_first_response(
    live: Live, gate: RequestGate, here: SpaceRef
) -> None:
    first, second, left = SnapshotWatcher(), SnapshotWatcher(), SnapshotWatcher()
    gate.errors += [NotSent("Can't reach the server.")] * 3
    live.watch(spaces.Get(at=here), first)
    live.watch(threads(here), second)
    leave = live.watch(content.ListPages(at=here), left)
    await wait_idle(live)
    leave()
    assert isinstance(first.now.error, NotSent)
    assert isinstance(second.now.error, NotSent)
    gate.requests.clear()
    await live.syncer.get(live.watched[0].op, Rank.AWAITED)
    await wait_idle(live)
    assert [each.now.error for each in (first, second)] == [None, None]
    assert second.now.value is not None
    assert len(gate.requests) == 2, "each once, and nothing that nobody looks at"


async def test_refresh_that_reached_no_server_is_repeated_after_a_response(
    live: Live, gate: RequestGate, here: SpaceRef
) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    gate.errors.append(NotSent("Can't reach the server."))
    await live.refresh(spaces.Get(at=here))
    assert isinstance(screen.now.error, NotSent)
    await live.fetch(threads(here))
    await wait_idle(live)
    after = screen.now
    assert (after.error, after.is_loading) == (None, False)


async def test_failed_first_load_has_no_value(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    gate.errors.append(NotSent("Can't reach the server."))
    screen = SnapshotWatcher()
    live.watch(threads(here), screen)
    await wait_idle(live)
    assert screen.now.value is None
    assert isinstance(screen.now.error, Unreachable)


async def test_refresh_shares_a_running_request(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    screen = SnapshotWatcher()
    gate.hold()
    live.watch(spaces.Get(at=here), screen)
    callers = [asyncio.create_task(live.fetch(spaces.Get(at=here))) for _ in range(3)]
    await run_ready_tasks()
    callers.pop().cancel()
    gate.release()
    assert [each.title for each in await asyncio.gather(*callers)] == ["Handbook"] * 2
    await wait_idle(live)
    assert screen.now.value.title == "Handbook"
    assert len(gate.requests) == 1


@pytest.mark.parametrize("is_watched", [True, False])
async def test_response_requested_before_a_write_is_fetched_again(
    is_watched: bool, live: Live, gate: RequestGate, here: SpaceRef
) -> None:
    read, screen, held, answered = spaces.Get(at=here), SnapshotWatcher(), asyncio.Event(), asyncio.Event()

    async def respond_later(op: Operation[Any]) -> Any:
        value = await gate(op)
        if op == read:
            answered.set()
            await held.wait()
        return value

    live.send = respond_later
    if is_watched:
        live.watch(read, screen)
    callers = [] if is_watched else [asyncio.create_task(live.fetch(read))]
    await answered.wait()
    await live.write(new_comment(here))
    held.set()
    await wait_idle(live)
    found = [screen.now.value] if is_watched else await asyncio.gather(*callers)
    assert [each.comments for each in found] == [1]
    assert len([each for each in gate.requests if each == read]) == 2


async def test_two_watchers_share_one_request(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    one, two = SnapshotWatcher(), SnapshotWatcher()
    live.watch(spaces.Get(at=here), one)
    live.watch(spaces.Get(at=here), two)
    await wait_idle(live)
    assert one.now == two.now
    assert len(gate.requests) == 1


@pytest.mark.parametrize("is_unverified", [False, True])
async def test_response_with_the_fingerprint_of_the_lists_counts_as_current(
    live: Live, gate: RequestGate, here: SpaceRef, clock: Clock, is_unverified: bool
) -> None:
    op = threads(here)
    url = encode(op).url
    await live.fetch(op)
    live.cache.put_version(url, "3 threads")
    clock.forward(hours=1)
    run_sync(
        live.syncer, "inbox", [NeededResponse(op, url, "inbox", Rank.INBOX, "3 threads", is_unverified=is_unverified)]
    )
    await wait_idle(live)
    gate.requests.clear()
    live.watch(op, lambda snapshot: None, refetch=False)
    await wait_idle(live)
    assert len(gate.requests) == is_unverified, (
        "a fingerprint from the disk does not show whether the response is current"
    )
    assert live.current_as_of(op) == clock()


async def test_removed_watcher_is_not_called(live: Live, here: SpaceRef) -> None:
    screen = SnapshotWatcher()
    leave = live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    leave()
    leave()
    await live.refresh(spaces.Get(at=here))
    assert len(screen.seen) == 2


async def test_peek_sends_no_request(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    assert live.peek(spaces.Get(at=here)) == Snapshot()
    assert gate.requests == []
    assert (await live.fetch(spaces.Get(at=here))).title == "Handbook"
    assert live.peek(spaces.Get(at=here)).value


async def test_fetch_raises_and_shows(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    screen = SnapshotWatcher()
    live.watch(spaces.Get(at=here), screen)
    await wait_idle(live)
    gate.errors.append(Lost("The connection broke."))
    with pytest.raises(Lost):
        await live.fetch(spaces.Get(at=here))
    assert str(screen.now.error) == "The connection broke."


async def test_content_of_a_revision_is_requested_only_once(
    live: Live, gate: RequestGate, cache: ResponseCache, outbox: ManualOutbox, here: SpaceRef, clock: Clock
) -> None:
    revision = (await live.fetch(spaces.Get(at=here))).revision
    tree = content.ListPages(at=RevisionRef(space_id=here.space_id, revision_id=revision or ""))
    screen = SnapshotWatcher()
    live.watch(tree, screen)
    await wait_idle(live)
    cache.flush()
    asked = len(gate.requests)
    again = SnapshotWatcher()
    live.watch(tree, again)
    await live.refresh(tree)
    Live(gate, cache, outbox, now=clock).watch(tree, again)
    assert len(gate.requests) == asked
    assert [each.is_loading for each in again.seen] == [False, False]
    assert again.now.value == screen.now.value


class TestLeaving:
    """A request runs as long as a watcher or caller waits for the response."""

    async def test_request_is_canceled_when_the_last_watcher_leaves(
        self, live: Live, gate: RequestGate, here: SpaceRef
    ) -> None:
        gate.hold()
        leave_one, leave_other = (live.watch(spaces.Get(at=here), SnapshotWatcher()) for _ in range(2))
        await run_ready_tasks()
        leave_one()
        await run_ready_tasks()
        assert gate.waiting == 1
        leave_other()
        await run_ready_tasks()
        assert gate.waiting == 0
        assert live.peek(spaces.Get(at=here)) == Snapshot()
        await wait_idle(live)

    @pytest.mark.parametrize("after", [0, 1, 2, 3])
    async def test_returning_watcher_gets_the_response(
        self, after: int, live: Live, gate: RequestGate, here: SpaceRef
    ) -> None:
        gate.hold()
        leave = live.watch(spaces.Get(at=here), SnapshotWatcher())
        await run_ready_tasks()
        leave()
        await run_ready_tasks(after)
        screen = SnapshotWatcher()
        live.watch(spaces.Get(at=here), screen)
        assert screen.now.is_loading
        await run_ready_tasks()
        gate.release()
        await wait_idle(live)
        assert (screen.now.value.title, screen.now.is_loading) == ("Handbook", False)
        assert len(gate.requests) == (2 if after else 1)

    async def test_response_arrives_after_the_watcher_left_at_once(self, live: Live, here: SpaceRef) -> None:
        live.watch(spaces.Get(at=here), SnapshotWatcher())()
        await wait_idle(live)
        assert not live.peek(spaces.Get(at=here)).is_loading
        screen = SnapshotWatcher()
        live.watch(spaces.Get(at=here), screen)
        await wait_idle(live)
        assert screen.now.value.title == "Handbook"

    async def test_caller_gets_the_response_after_watchers_left(
        self, live: Live, gate: RequestGate, here: SpaceRef
    ) -> None:
        gate.hold()
        leave = live.watch(spaces.Get(at=here), SnapshotWatcher())
        await run_ready_tasks()
        asked = asyncio.create_task(live.fetch(spaces.Get(at=here)))
        await run_ready_tasks()
        leave()
        await run_ready_tasks()
        gate.release()
        assert (await asked).title == "Handbook"
        shown = live.peek(spaces.Get(at=here))
        assert (shown.value and shown.value.title, shown.is_loading) == ("Handbook", False)


async def run_ready_tasks(number: int = 5) -> None:
    """Run the event loop a few times."""
    for _ in range(number):
        await asyncio.sleep(0)


class TestPages:
    """Lists are loaded page by page."""

    @pytest.fixture
    async def many(self, ask: Ask, here: SpaceRef) -> SpaceRef:
        for number in range(7):
            await ask(new_comment(here, f"Comment {number}"))
        return here

    async def test_next_page_is_appended(self, live: Live, many: SpaceRef) -> None:
        screen = SnapshotWatcher()
        op = threads(many, limit=3, order="asc")
        live.watch(op, screen)
        await wait_idle(live)
        assert screen.texts == ["Comment 0", "Comment 1", "Comment 2"]
        await live.fetch_next_page(op)
        assert len(screen.texts) == 6
        await live.fetch_next_page(op)
        assert screen.texts == [f"Comment {number}" for number in range(7)]
        assert screen.now.value.next is None

    async def test_next_page_at_the_end_of_a_list_sends_nothing(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        op = threads(many)
        await live.refresh(op)
        await live.fetch_next_page(op)
        assert len(gate.requests) == 1

    async def test_refresh_loads_as_many_pages_again(self, live: Live, ask: Ask, many: SpaceRef) -> None:
        screen = SnapshotWatcher()
        op = threads(many, limit=3)
        live.watch(op, screen)
        await wait_idle(live)
        await live.fetch_next_page(op)
        await ask(new_comment(many, "Newest"))
        await live.refresh(op)
        assert screen.texts == ["Newest", *(f"Comment {number}" for number in (6, 5, 4, 3, 2))]

    async def test_two_requests_for_the_next_page_are_one(self, live: Live, gate: RequestGate, many: SpaceRef) -> None:
        op = threads(many, limit=2)
        await live.refresh(op)
        await asyncio.gather(live.fetch_next_page(op), live.fetch_next_page(op), live.fetch_next_page(op))
        assert len(live.peek(op).value.items) == 4  # type: ignore[union-attr]  # it was loaded
        assert len(gate.requests) == 2

    async def test_next_page_waits_for_a_running_refresh(self, live: Live, gate: RequestGate, many: SpaceRef) -> None:
        screen = SnapshotWatcher()
        op = threads(many, limit=2)
        live.watch(op, screen)
        await wait_idle(live)
        gate.hold()
        refresh = asyncio.create_task(live.refresh(op))
        await asyncio.sleep(0)
        more = asyncio.create_task(live.fetch_next_page(op))
        await asyncio.sleep(0)
        gate.release()
        await asyncio.gather(refresh, more)
        assert len(screen.texts) == 4

    async def test_all_pages_are_loaded_while_another_caller_waits_for_the_next(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        op = threads(many, limit=2)
        await live.refresh(op)
        gate.hold()
        callers = []
        for work in (live.refresh(op), live.fetch_pages(op, 100), live.fetch_next_page(op)):
            callers.append(asyncio.create_task(work))
            await asyncio.sleep(0)
        gate.release()
        await asyncio.gather(*callers)
        assert len(live.peek(op).value.items) == 7  # type: ignore[union-attr]  # it was loaded

    async def test_watcher_of_many_items_gets_all_pages(self, live: Live, gate: RequestGate, many: SpaceRef) -> None:
        screen, op = SnapshotWatcher(), threads(many, limit=2)
        live.watch(op, screen, min_items=100)
        await wait_idle(live)
        assert (len(screen.texts), screen.now.value.next) == (7, None)
        assert len(gate.requests) == 4

    async def test_watcher_of_some_items_gets_no_more_pages_than_it_needs(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        screen, op = SnapshotWatcher(), threads(many, limit=2)
        live.watch(op, screen, min_items=3)
        await wait_idle(live)
        assert (len(screen.texts), len(gate.requests)) == (4, 2)
        live.watch(op, SnapshotWatcher(), min_items=5, refetch=False)
        await wait_idle(live)
        assert (len(screen.texts), len(gate.requests)) == (6, 3), "the most that any of them needed_responses"

    async def test_no_pages_are_loaded_for_a_removed_watcher(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        screen, op = SnapshotWatcher(), threads(many, limit=2)
        live.watch(op, screen)
        leave = live.watch(op, SnapshotWatcher(), min_items=100)
        gate.hold()
        while not gate.waiting:  # noqa: ASYNC110  # the gate has no event for waiting requests
            await asyncio.sleep(0)
        gate.release(0)
        while len(gate.requests) < 2 or not gate.waiting:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0)
        leave()
        gate.release()
        await wait_idle(live)
        assert (len(gate.requests), len(screen.texts), screen.now.is_loading) == (2, 2, False)
        await live.refresh(op)
        assert len(gate.requests) == 3, "a refresh reads no page that was given up"

    async def test_failed_page_stops_loading_until_a_refresh(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        screen, op = SnapshotWatcher(), threads(many, limit=2)
        live.watch(op, screen)
        await wait_idle(live)
        gate.errors.append(Lost("The connection broke."))
        live.watch(op, SnapshotWatcher(), min_items=100, refetch=False)
        await wait_idle(live)
        assert (len(screen.texts), str(screen.now.error), len(gate.requests)) == (2, "The connection broke.", 2)
        await live.refresh(op)
        await wait_idle(live)
        assert (len(screen.texts), screen.now.error) == (7, None)

    async def test_two_callers_share_pages_and_get_the_whole_list(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        op = threads(many, limit=2)
        await live.refresh(op)
        seen: list[int] = []

        async def read() -> None:
            await live.fetch_pages(op, 100)
            seen.append(len(live.peek(op).value.items))  # type: ignore[union-attr]  # it was loaded

        await asyncio.gather(read(), read())
        assert (seen, len(gate.requests)) == ([7, 7], 4)

    async def test_refresh_during_a_next_page_includes_that_page(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        screen, op = SnapshotWatcher(), threads(many, limit=2)
        live.watch(op, screen)
        await wait_idle(live)
        gate.hold()
        more = asyncio.create_task(live.fetch_next_page(op))
        while not gate.waiting:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0)
        refresh = asyncio.create_task(live.refresh(op))
        await asyncio.sleep(0)
        gate.release(0)
        await more
        gate.release()
        await refresh
        assert len(screen.texts) == 4

    async def test_failed_next_page_keeps_the_list_and_can_be_retried(
        self, live: Live, gate: RequestGate, many: SpaceRef
    ) -> None:
        screen = SnapshotWatcher()
        op = threads(many, limit=3)
        live.watch(op, screen)
        await wait_idle(live)
        gate.errors.append(Lost("The connection broke."))
        await live.fetch_next_page(op)
        assert (len(screen.texts), str(screen.now.error)) == (3, "The connection broke.")
        await live.fetch_next_page(op)
        assert (len(screen.texts), screen.now.error) == (6, None)

    async def test_empty_page_does_not_end_a_list_and_a_repeated_page_does(
        self, cache: ResponseCache, outbox: ManualOutbox
    ) -> None:
        op = spaces.List(at=OrganizationRef(organization_id="acme"))
        book = {
            None: ListPage[Space](items=(), next=NextCursor(page="b")),
            "b": ListPage[Space](items=(), next=NextCursor(page="c")),
            "c": ListPage[Space](items=(Space(id="docs"),), next=NextCursor(page="d")),
            "d": ListPage[Space](items=(), next=NextCursor(page="c")),
        }
        screen = SnapshotWatcher()
        live = Live(PagedServer(book), cache, outbox)
        live.watch(op, screen)
        await wait_idle(live)
        assert [each.id for each in screen.now.value.items] == ["docs"]
        await live.fetch_next_page(op)
        assert isinstance(screen.now.error, PaginationError)
        assert [each.id for each in screen.now.value.items] == ["docs"]

    async def test_endless_list_of_empty_pages_stops(self, cache: ResponseCache, outbox: ManualOutbox) -> None:
        op = spaces.List(at=OrganizationRef(organization_id="acme"))
        empty: dict[str | None, ListPage[Space]] = {
            str(number): ListPage[Space](items=(), next=NextCursor(page=str(number + 1))) for number in range(50)
        }
        screen = SnapshotWatcher()
        live = Live(PagedServer({**empty, None: empty["0"]}), cache, outbox)
        live.watch(op, screen)
        await wait_idle(live)
        assert isinstance(screen.now.error, PaginationError)
        assert "sent no new items" in str(screen.now.error)

    @pytest.mark.parametrize("is_fresh", [True, False])
    async def test_all_items_of_a_list_with_short_pages_are_returned(
        self, cache: ResponseCache, outbox: ManualOutbox, is_fresh: bool
    ) -> None:
        op = spaces.List(at=OrganizationRef(organization_id="acme"))
        ids = [f"s{number}" for number in range(MAX_PAGES + 5)]
        pages: dict[str | None, ListPage[Space]] = {
            own: ListPage(items=(Space(id=own),), next=NextCursor(page=after)) for own, after in pairwise(ids)
        }
        pages |= {ids[-1]: ListPage(items=(Space(id=ids[-1]),)), None: pages[ids[0]]}
        live = Live(PagedServer(pages), cache, outbox)
        for _ in range(2):
            assert [each.id for each in await all_items(live, op, is_fresh=is_fresh)] == ids


class PagedServer:
    """A server that responds with the page for a cursor."""

    def __init__(self, pages: dict[str | None, ListPage[Space]]) -> None:
        self._pages = pages

    async def __call__(self, op: Operation[Any]) -> Any:
        return self._pages[getattr(op, "page", None)]


async def test_long_cached_response_is_decoded_in_the_background(
    live: Live, gate: RequestGate, outbox: ManualOutbox, clock: Clock, tmp_path: Path
) -> None:
    at = RevisionRef(space_id="docs", revision_id="r1")
    pages = tuple(content.Page(id=f"p{number}", title="A page " * 20) for number in range(2000))
    cache = ResponseCache(tmp_path, now=clock)
    cache.put(content.ListPages(at=at), content.PageTree(pages=pages))
    cache.flush()
    screen = SnapshotWatcher()
    later = Live(gate, cache, outbox, now=clock)
    gate.errors.append(NotSent("Can't reach the server."))
    later.watch(content.ListPages(at=at), screen)
    assert (screen.now.value, screen.now.is_loading) == (None, True)
    await wait_idle(later)
    assert (len(screen.now.value.pages), screen.now.is_loading, screen.now.error) == (2000, False, None)
    cache.close()


async def test_unreadable_parts_are_counted_and_fetched_again(cache: ResponseCache, outbox: ManualOutbox) -> None:
    in_part = {"unreadable": 2}
    reported: list[tuple[str, int]] = []
    there = RevisionRef(space_id="docs", revision_id="r")
    pages: dict[str | None, Any] = {None: content.PageTree(pages=()).model_copy(update=in_part)}
    live = Live(PagedServer(pages), cache, outbox)
    live.unreadable_items.add(lambda op, unreadable: reported.append((type(op).__name__, unreadable)))
    now, then = content.ListPages(at=SpaceRef(space_id="docs")), content.ListPages(at=there)
    await live.refresh(now)
    await live.refresh(then)
    assert reported == [("ListPages", 2), ("ListPages", 2)]
    cache.flush()
    assert cache.get(now) is not None
    assert cache.get(then) is None


async def test_duplicate_items_of_a_list_are_shown_once(cache: ResponseCache, outbox: ManualOutbox) -> None:
    op, screen = spaces.List(at=OrganizationRef(organization_id="acme")), SnapshotWatcher()
    docs, more = (Space(id="docs"), Space(id="docs", title="Again")), (Space(id="api"), Space(id="api"))
    pages = {None: ListPage[Space](items=docs, next=NextCursor(page="c1")), "c1": ListPage[Space](items=more)}
    live = Live(PagedServer(pages), cache, outbox)
    live.watch(op, screen)
    await wait_idle(live)
    await live.fetch_next_page(op)
    assert screen.now.value.items == (docs[0], more[0])


async def test_list_with_a_bad_next_page_reports_it_beside_its_items(
    cache: ResponseCache, outbox: ManualOutbox
) -> None:
    op, screen = spaces.List(at=OrganizationRef(organization_id="acme")), SnapshotWatcher()
    live = Live(
        PagedServer({None: ListPage[Space](items=(Space(id="docs"),), next=NextCursor(page=""))}), cache, outbox
    )
    live.watch(op, screen)
    await wait_idle(live)
    assert screen.now.error is None
    await live.fetch_next_page(op)
    assert [each.id for each in screen.now.value.items] == ["docs"]
    assert str(screen.now.error) == ("The server sent an invalid cursor. Only 1 item could be loaded.")


async def test_complete_list_stays_complete_after_a_restart_and_refresh(
    live: Live, cache: ResponseCache, gate: RequestGate, outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    for number in range(3):
        await ask(new_comment(here, f"No. {number}"))
    op = threads(here, limit=2)
    await live.refresh(op)
    await live.fetch_next_page(op)
    cache.flush()
    later = Live(gate, cache, outbox, now=clock)
    screen = SnapshotWatcher()
    later.watch(op, screen)
    await wait_idle(later)
    assert {len(each.value.items) for each in screen.seen} == {3}
    await later.close()


async def test_never_loaded_response_reports_the_failed_request(live: Live, gate: RequestGate, here: SpaceRef) -> None:
    gate.errors.append(NotSent("Can't reach the server."))
    await live.refresh(spaces.Get(at=here))
    assert str(live.peek(spaces.Get(at=here)).error) == (
        "Not available offline: Octavo has not loaded this before. Can't reach the server."
    )


async def test_cached_response_is_available_during_a_refresh(
    live: Live, cache: ResponseCache, gate: RequestGate, outbox: ManualOutbox, here: SpaceRef
) -> None:
    op = spaces.Get(at=here)
    await live.refresh(op)
    cache.flush()
    later, screen = Live(gate, cache, outbox), SnapshotWatcher()
    gate.hold()
    gate.errors.append(NotSent("Can't reach the server."))
    asking = asyncio.ensure_future(later.fetch(op, rank=Rank.AWAITED))
    await asyncio.sleep(0)
    later.watch(op, screen)
    assert screen.seen[0].value is not None, "who watches it is shown it"
    gate.release()
    with pytest.raises(NotSent, match=r"^Can't reach the server\.$"):
        await asking
    await later.close()
    elsewhere = Live(gate, cache, outbox)
    gate.errors.append(NotSent("Can't reach the server."))
    with pytest.raises(NotSent, match=r"^Can't reach the server\.$"):
        await elsewhere.fetch(op, rank=Rank.AWAITED)
    await elsewhere.close()


async def test_unchanged_response_is_not_stored_again(
    live: Live, ask: Ask, here: SpaceRef, gate: RequestGate, outbox: ManualOutbox, tmp_path: Path, clock: Clock
) -> None:
    cache = ResponseCache(tmp_path, "mia", now=clock)
    live = Live(gate, cache, outbox, now=clock)
    op = threads(here)
    live.watch(op, SnapshotWatcher())
    await wait_idle(live)
    cache.flush()
    (before,) = cache.responses_after(0, 10)
    clock.forward(hours=1)
    await live.refresh(op)
    cache.flush()
    (after,) = cache.responses_after(0, 10)
    assert (after.number, after.requested_at) == (before.number, clock())
    await ask(new_comment(here))
    await live.refresh(op)
    cache.flush()
    (other,) = cache.responses_after(0, 10)
    assert other.number > after.number
    cache.close()


async def test_response_requested_a_moment_ago_is_shared(
    live: Live, gate: RequestGate, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    op, start = spaces.Get(at=here), clock()
    clock.forward(seconds=1)
    first = await live.fetch(op)
    assert await live.fetch(op, since=start) is first
    live.watch(op, lambda snapshot: None, refetch=False)()
    await wait_idle(live)
    assert gate.requests.count(op) == 1
    clock.forward(seconds=6)
    live.watch(op, lambda snapshot: None, refetch=False)()
    await live.fetch(op, since=clock())
    assert gate.requests.count(op) == 2, "the response was requested too long ago"
    clock.forward(seconds=1)
    await live.write(new_comment(here))
    await live.fetch(op, since=start)
    assert gate.requests.count(op) == 3, "the write may have changed the response"
    clock.forward(hours=-1)
    await live.fetch(op, since=clock())
    assert gate.requests.count(op) == 4, "the clock was set back"


def test_callbacks_are_called_in_order_until_they_are_removed() -> None:
    seen: list[str] = []
    observers: Observers[[str]] = Observers()
    assert not observers
    remove = observers.add(lambda text: seen.append(f"first {text}"))
    observers.add(lambda text: seen.append(f"second {text}"))
    observers.notify("a")
    remove()
    remove()
    observers.notify("b")
    assert seen == ["first a", "second a", "second b"]


def test_callback_may_remove_itself_and_add_another_while_called() -> None:
    seen: list[str] = []
    observers: Observers[[]] = Observers()

    def once() -> None:
        seen.append("once")
        remove()
        observers.add(lambda: seen.append("later"))

    remove = observers.add(once)
    observers.notify()
    observers.notify()
    assert seen == ["once", "later"]
