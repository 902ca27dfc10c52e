"""Snapshots that watchers get from the real platform."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from octavo.api import comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import Lost, NotSent, PaginationError, Unreachable
from octavo.api.operation import ListPage, Next, Operation
from octavo.api.places import OrganizationRef, RevisionRef, SpaceRef
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data.live import Live, Snapshot
from octavo.data.response_cache import ResponseCache, StoredResponse
from octavo.data.sync_queue import Rank, Want
from tests.data.conftest import ByHand
from tests.data.screen import Screen
from tests.data.sends import Gate
from tests.server.asking import Ask, Clock


def threads(here: SpaceRef, **more: Any) -> comments.List:
    return comments.List(at=here, format="markdown", **more)


def new(here: SpaceRef, text: str = "Hello") -> comments.Create:
    return comments.Create(at=here, body=Markdown(markdown=text))


async def test_watcher_is_called_at_once_and_with_the_response(live: Live, here: SpaceRef, clock: Clock) -> None:
    screen = Screen()
    live.watch(spaces.Get(at=here), screen)
    assert screen.seen == [Snapshot(loading=True)]
    await live.wait_idle()
    assert len(screen.seen) == 2
    assert (screen.now.value.title, screen.now.loading, screen.now.fetched_at) == ("Handbook", False, clock())


async def test_cached_response_is_shown_at_the_next_start(
    live: Live, shelf: ResponseCache, gate: Gate, outbox: ByHand, here: SpaceRef, clock: Clock
) -> None:
    await live.refresh(spaces.Get(at=here))
    shelf.flush()
    read_at = clock()
    clock.forward(days=2)
    later = Live(gate, shelf, outbox, now=clock)
    screen = Screen()
    later.watch(spaces.Get(at=here), screen)
    assert (screen.now.value.title, screen.now.loading, screen.now.fetched_at) == ("Handbook", True, read_at)
    await later.wait_idle()
    assert screen.now.fetched_at == clock()


@pytest.mark.parametrize("rank", [Rank.NOW, Rank.AWAITED])
async def test_unchanged_response_updates_only_its_time_on_disk(
    gate: Gate, outbox: ByHand, ask: Ask, here: SpaceRef, clock: Clock, tmp_path: Path, rank: Rank
) -> None:
    shelf = ResponseCache(tmp_path, "mia@test", now=clock)
    live, op = Live(gate, shelf, outbox, now=clock), threads(here, limit=2)

    async def read_anew() -> StoredResponse:
        clock.forward(seconds=3601.234567)
        value = await live.fetch(op, rank=rank)
        live.release(op)
        shelf.flush()
        (kept,) = shelf.responses_after(0, 10)
        assert kept.stored_at == clock()
        assert live.peek(op).value == value
        live.release(op)
        return kept

    for number in range(3):
        await ask(new(here, f"Thread {number}"))
    first = await read_anew()
    assert (await read_anew()).number == first.number
    thread = await ask(new(here, "Another"))
    other = await read_anew()
    assert other.number > first.number
    assert thread.id.encode() in other.body
    await live.close()
    shelf.close()


async def test_unwatched_response_is_on_disk_and_watched_one_in_memory(
    live: Live, shelf: ResponseCache, gate: Gate, here: SpaceRef
) -> None:
    op = spaces.Get(at=here)
    value = await live.fetch(op)
    leave = live.watch(op, Screen())
    await live.wait_idle()
    watched = live.peek(op).value
    live.release(op)
    assert live.peek(op).value is watched
    leave()
    live.release(op)
    shelf.flush()
    gate.asked.clear()
    assert live.peek(op).value == value
    assert live.peek(op).value is not watched
    assert gate.asked == []


async def test_stored_error_keeps_no_caller_in_memory(live: Live, gate: Gate, here: SpaceRef) -> None:
    gate.errors.append(NotSent("Can't reach the server."))
    with pytest.raises(NotSent) as raised:
        await live.fetch(spaces.Get(at=here))
    kept = live.peek(spaces.Get(at=here)).error
    assert (type(kept), str(kept), kept and kept.trace) == (NotSent, str(raised.value), raised.value.trace)
    assert kept is not None
    assert kept.__traceback__ is None


async def test_offline_the_old_answer_stays_beside_the_error(live: Live, gate: Gate, here: SpaceRef) -> None:
    screen = Screen()
    live.watch(spaces.Get(at=here), screen)
    await live.wait_idle()
    gate.errors.append(NotSent("Can't reach the server."))
    await live.refresh(spaces.Get(at=here))
    assert (screen.now.value.title, str(screen.now.error), screen.now.loading) == (
        "Handbook",
        "Can't reach the server.",
        False,
    )
    await live.refresh(spaces.Get(at=here))
    assert screen.now.error is None


async def test_failed_requests_are_repeated_after_the_first_response(live: Live, gate: Gate, here: SpaceRef) -> None:
    first, second, left = Screen(), Screen(), Screen()
    gate.errors += [NotSent("Can't reach the server.")] * 3
    live.watch(spaces.Get(at=here), first)
    live.watch(threads(here), second)
    leave = live.watch(content.ListPages(at=here), left)
    await live.wait_idle()
    leave()
    assert isinstance(first.now.error, NotSent)
    assert isinstance(second.now.error, NotSent)
    gate.asked.clear()
    await live.refetch(live.watched[0])
    await live.wait_idle()
    assert [each.now.error for each in (first, second)] == [None, None]
    assert second.now.value is not None
    assert len(gate.asked) == 2, "each once, and nothing that nobody looks at"


async def test_refresh_that_reached_no_server_is_repeated_after_a_response(
    live: Live, gate: Gate, here: SpaceRef
) -> None:
    screen = Screen()
    live.watch(spaces.Get(at=here), screen)
    await live.wait_idle()
    gate.errors.append(NotSent("Can't reach the server."))
    await live.refresh(spaces.Get(at=here))
    assert isinstance(screen.now.error, NotSent)
    await live.fetch(threads(here))
    await live.wait_idle()
    after = screen.now
    assert (after.error, after.loading) == (None, False)


async def test_failed_first_load_has_no_value(live: Live, gate: Gate, here: SpaceRef) -> None:
    gate.errors.append(NotSent("Can't reach the server."))
    screen = Screen()
    live.watch(threads(here), screen)
    await live.wait_idle()
    assert screen.now.value is None
    assert isinstance(screen.now.error, Unreachable)


async def test_refresh_shares_a_running_request(live: Live, gate: Gate, here: SpaceRef) -> None:
    screen = Screen()
    gate.hold()
    live.watch(spaces.Get(at=here), screen)
    callers = [asyncio.create_task(live.fetch(spaces.Get(at=here))) for _ in range(3)]
    await ticks()
    callers.pop().cancel()
    gate.let_go()
    assert [each.title for each in await asyncio.gather(*callers)] == ["Handbook"] * 2
    await live.wait_idle()
    assert screen.now.value.title == "Handbook"
    assert len(gate.asked) == 1


@pytest.mark.parametrize("is_watched", [True, False])
async def test_response_that_left_before_a_write_is_fetched_once_more(
    is_watched: bool, live: Live, gate: Gate, here: SpaceRef
) -> None:
    read, screen, held, answered = spaces.Get(at=here), Screen(), asyncio.Event(), asyncio.Event()

    async def slow(op: Operation[Any]) -> Any:
        value = await gate(op)
        if op == read:
            answered.set()
            await held.wait()
        return value

    live.send = slow
    if is_watched:
        live.watch(read, screen)
    callers = [] if is_watched else [asyncio.create_task(live.fetch(read))]
    await answered.wait()
    await live.write(new(here))
    held.set()
    await live.wait_idle()
    found = [screen.now.value] if is_watched else await asyncio.gather(*callers)
    assert [each.comments for each in found] == [1]
    assert len([each for each in gate.asked if each == read]) == 2


async def test_two_screens_ask_once(live: Live, gate: Gate, here: SpaceRef) -> None:
    one, two = Screen(), Screen()
    live.watch(spaces.Get(at=here), one)
    live.watch(spaces.Get(at=here), two)
    await live.wait_idle()
    assert one.now == two.now
    assert len(gate.asked) == 1


@pytest.mark.parametrize("is_unverified", [False, True])
async def test_response_with_the_stamp_of_the_lists_counts_as_current(
    live: Live, gate: Gate, here: SpaceRef, clock: Clock, is_unverified: bool
) -> None:
    op = threads(here)
    url = encode(op).url
    await live.fetch(op)
    live.cache.put_version(url, "3 threads")
    clock.forward(hours=1)
    live.syncer.set_wants("inbox", [Want(op, url, "inbox", Rank.NEEDED, "3 threads", is_unverified=is_unverified)])
    await live.wait_idle()
    gate.asked.clear()
    live.watch(op, lambda snapshot: None, refetch=False)
    await live.wait_idle()
    assert len(gate.asked) == is_unverified, "a stamp from the disk does not show whether the response is current"
    assert live.as_of(op) == clock()


async def test_removed_watcher_is_not_called(live: Live, here: SpaceRef) -> None:
    screen = Screen()
    leave = live.watch(spaces.Get(at=here), screen)
    await live.wait_idle()
    leave()
    leave()
    await live.refresh(spaces.Get(at=here))
    assert len(screen.seen) == 2


async def test_peek_sends_no_request(live: Live, gate: Gate, here: SpaceRef) -> None:
    assert live.peek(spaces.Get(at=here)) == Snapshot()
    assert gate.asked == []
    assert (await live.fetch(spaces.Get(at=here))).title == "Handbook"
    assert live.peek(spaces.Get(at=here)).value


async def test_fetch_raises_and_shows(live: Live, gate: Gate, here: SpaceRef) -> None:
    screen = Screen()
    live.watch(spaces.Get(at=here), screen)
    await live.wait_idle()
    gate.errors.append(Lost("The connection broke."))
    with pytest.raises(Lost):
        await live.fetch(spaces.Get(at=here))
    assert str(screen.now.error) == "The connection broke."


async def test_a_revision_is_read_once_and_for_ever(
    live: Live, gate: Gate, shelf: ResponseCache, outbox: ByHand, here: SpaceRef, clock: Clock
) -> None:
    revision = (await live.fetch(spaces.Get(at=here))).revision
    tree = content.ListPages(at=RevisionRef(space_id=here.space_id, revision_id=revision or ""))
    screen = Screen()
    live.watch(tree, screen)
    await live.wait_idle()
    shelf.flush()
    asked = len(gate.asked)
    again = Screen()
    live.watch(tree, again)
    await live.refresh(tree)
    Live(gate, shelf, outbox, now=clock).watch(tree, again)
    assert len(gate.asked) == asked
    assert [each.loading for each in again.seen] == [False, False]
    assert again.now.value == screen.now.value


class TestLeaving:
    """A read goes on for as long as anybody waits for it."""

    async def test_request_is_canceled_when_the_last_watcher_leaves(
        self, live: Live, gate: Gate, here: SpaceRef
    ) -> None:
        gate.hold()
        leave_one, leave_other = (live.watch(spaces.Get(at=here), Screen()) for _ in range(2))
        await ticks()
        leave_one()
        await ticks()
        assert gate.waiting == 1
        leave_other()
        await ticks()
        assert gate.waiting == 0
        assert live.peek(spaces.Get(at=here)) == Snapshot()
        await live.wait_idle()

    @pytest.mark.parametrize("after", [0, 1, 2, 3])
    async def test_returning_watcher_gets_the_response(
        self, after: int, live: Live, gate: Gate, here: SpaceRef
    ) -> None:
        gate.hold()
        leave = live.watch(spaces.Get(at=here), Screen())
        await ticks()
        leave()
        await ticks(after)
        screen = Screen()
        live.watch(spaces.Get(at=here), screen)
        assert screen.now.loading
        await ticks()
        gate.let_go()
        await live.wait_idle()
        assert (screen.now.value.title, screen.now.loading) == ("Handbook", False)
        assert len(gate.asked) == (2 if after else 1)

    async def test_response_arrives_after_the_watcher_left_at_once(self, live: Live, here: SpaceRef) -> None:
        live.watch(spaces.Get(at=here), Screen())()
        await live.wait_idle()
        assert not live.peek(spaces.Get(at=here)).loading
        screen = Screen()
        live.watch(spaces.Get(at=here), screen)
        await live.wait_idle()
        assert screen.now.value.title == "Handbook"

    async def test_caller_gets_the_response_after_watchers_left(self, live: Live, gate: Gate, here: SpaceRef) -> None:
        gate.hold()
        leave = live.watch(spaces.Get(at=here), Screen())
        await ticks()
        asked = asyncio.create_task(live.fetch(spaces.Get(at=here)))
        await ticks()
        leave()
        await ticks()
        gate.let_go()
        assert (await asked).title == "Handbook"
        shown = live.peek(spaces.Get(at=here))
        assert (shown.value and shown.value.title, shown.loading) == ("Handbook", False)


async def ticks(number: int = 5) -> None:
    """Let the loop go round."""
    for _ in range(number):
        await asyncio.sleep(0)


class TestPages:
    """Lists come page by page."""

    @pytest.fixture
    async def many(self, ask: Ask, here: SpaceRef) -> SpaceRef:
        for number in range(7):
            await ask(new(here, f"Comment {number}"))
        return here

    async def test_more_is_appended(self, live: Live, many: SpaceRef) -> None:
        screen = Screen()
        op = threads(many, limit=3, order="asc")
        live.watch(op, screen)
        await live.wait_idle()
        assert screen.texts == ["Comment 0", "Comment 1", "Comment 2"]
        await live.fetch_next_page(op)
        assert len(screen.texts) == 6
        await live.fetch_next_page(op)
        assert screen.texts == [f"Comment {number}" for number in range(7)]
        assert screen.now.value.next is None

    async def test_next_page_at_the_end_of_a_list_sends_nothing(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        op = threads(many)
        await live.refresh(op)
        await live.fetch_next_page(op)
        assert len(gate.asked) == 1

    async def test_refresh_loads_as_many_pages_again(self, live: Live, ask: Ask, many: SpaceRef) -> None:
        screen = Screen()
        op = threads(many, limit=3)
        live.watch(op, screen)
        await live.wait_idle()
        await live.fetch_next_page(op)
        await ask(new(many, "Newest"))
        await live.refresh(op)
        assert screen.texts == ["Newest", *(f"Comment {number}" for number in (6, 5, 4, 3, 2))]

    async def test_two_requests_for_the_next_page_are_one(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        op = threads(many, limit=2)
        await live.refresh(op)
        await asyncio.gather(live.fetch_next_page(op), live.fetch_next_page(op), live.fetch_next_page(op))
        assert len(live.peek(op).value.items) == 4  # type: ignore[union-attr]  # it was loaded
        assert len(gate.asked) == 2

    async def test_next_page_waits_for_a_running_refresh(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        screen = Screen()
        op = threads(many, limit=2)
        live.watch(op, screen)
        await live.wait_idle()
        gate.hold()
        refresh = asyncio.create_task(live.refresh(op))
        await asyncio.sleep(0)
        more = asyncio.create_task(live.fetch_next_page(op))
        await asyncio.sleep(0)
        gate.let_go()
        await asyncio.gather(refresh, more)
        assert len(screen.texts) == 4

    async def test_watcher_of_many_items_gets_all_pages(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        screen, op = Screen(), threads(many, limit=2)
        live.watch(op, screen, min_items=100)
        await live.wait_idle()
        assert (len(screen.texts), screen.now.value.next) == (7, None)
        assert len(gate.asked) == 4

    async def test_watcher_of_some_items_gets_no_more_pages_than_it_needs(
        self, live: Live, gate: Gate, many: SpaceRef
    ) -> None:
        screen, op = Screen(), threads(many, limit=2)
        live.watch(op, screen, min_items=3)
        await live.wait_idle()
        assert (len(screen.texts), len(gate.asked)) == (4, 2)
        live.watch(op, Screen(), min_items=5, refetch=False)
        await live.wait_idle()
        assert (len(screen.texts), len(gate.asked)) == (6, 3), "the most that any of them wants"

    async def test_no_pages_are_loaded_for_a_removed_watcher(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        screen, op = Screen(), threads(many, limit=2)
        live.watch(op, screen)
        leave = live.watch(op, Screen(), min_items=100)
        gate.hold()
        while not gate.waiting:  # noqa: ASYNC110  # nothing tells when a request is held
            await asyncio.sleep(0)
        gate.let_go(0)
        while len(gate.asked) < 2 or not gate.waiting:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0)
        leave()
        gate.let_go()
        await live.wait_idle()
        assert (len(gate.asked), len(screen.texts), screen.now.loading) == (2, 2, False)
        await live.refresh(op)
        assert len(gate.asked) == 3, "a refresh reads no page that was given up"

    async def test_failed_page_stops_loading_until_a_refresh(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        screen, op = Screen(), threads(many, limit=2)
        live.watch(op, screen)
        await live.wait_idle()
        gate.errors.append(Lost("The connection broke."))
        live.watch(op, Screen(), min_items=100, refetch=False)
        await live.wait_idle()
        assert (len(screen.texts), str(screen.now.error), len(gate.asked)) == (2, "The connection broke.", 2)
        await live.refresh(op)
        await live.wait_idle()
        assert (len(screen.texts), screen.now.error) == (7, None)

    async def test_two_callers_share_pages_and_get_the_whole_list(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        op = threads(many, limit=2)
        await live.refresh(op)
        seen: list[int] = []

        async def read() -> None:
            await live.fetch_pages(op, 100)
            seen.append(len(live.peek(op).value.items))  # type: ignore[union-attr]  # it was loaded

        await asyncio.gather(read(), read())
        assert (seen, len(gate.asked)) == ([7, 7], 4)

    async def test_refresh_during_a_next_page_includes_that_page(self, live: Live, gate: Gate, many: SpaceRef) -> None:
        screen, op = Screen(), threads(many, limit=2)
        live.watch(op, screen)
        await live.wait_idle()
        gate.hold()
        more = asyncio.create_task(live.fetch_next_page(op))
        while not gate.waiting:  # noqa: ASYNC110  # as above
            await asyncio.sleep(0)
        refresh = asyncio.create_task(live.refresh(op))
        await asyncio.sleep(0)
        gate.let_go(0)
        await more
        gate.let_go()
        await refresh
        assert len(screen.texts) == 4

    async def test_failed_next_page_keeps_the_list_and_can_be_retried(
        self, live: Live, gate: Gate, many: SpaceRef
    ) -> None:
        screen = Screen()
        op = threads(many, limit=3)
        live.watch(op, screen)
        await live.wait_idle()
        gate.errors.append(Lost("The connection broke."))
        await live.fetch_next_page(op)
        assert (len(screen.texts), str(screen.now.error)) == (3, "The connection broke.")
        await live.fetch_next_page(op)
        assert (len(screen.texts), screen.now.error) == (6, None)

    async def test_an_empty_page_is_not_the_end_and_a_circle_is(self, shelf: ResponseCache, outbox: ByHand) -> None:
        op = spaces.List(at=OrganizationRef(organization_id="acme"))
        book = {
            None: ListPage[Space](items=(), next=Next(page="b")),
            "b": ListPage[Space](items=(), next=Next(page="c")),
            "c": ListPage[Space](items=(Space(id="docs"),), next=Next(page="d")),
            "d": ListPage[Space](items=(), next=Next(page="c")),
        }
        screen = Screen()
        live = Live(Book(book), shelf, outbox)
        live.watch(op, screen)
        await live.wait_idle()
        assert [each.id for each in screen.now.value.items] == ["docs"]
        await live.fetch_next_page(op)
        assert isinstance(screen.now.error, PaginationError)
        assert [each.id for each in screen.now.value.items] == ["docs"]

    async def test_endless_list_of_empty_pages_stops(self, shelf: ResponseCache, outbox: ByHand) -> None:
        op = spaces.List(at=OrganizationRef(organization_id="acme"))
        empty: dict[str | None, ListPage[Space]] = {
            str(number): ListPage[Space](items=(), next=Next(page=str(number + 1))) for number in range(50)
        }
        screen = Screen()
        live = Live(Book({**empty, None: empty["0"]}), shelf, outbox)
        live.watch(op, screen)
        await live.wait_idle()
        assert isinstance(screen.now.error, PaginationError)
        assert "sent no new items" in str(screen.now.error)


class Book:
    """Answers a listing from a book of pages."""

    def __init__(self, pages: dict[str | None, ListPage[Space]]) -> None:
        self._pages = pages

    async def __call__(self, op: Operation[Any]) -> Any:
        return self._pages[getattr(op, "page", None)]


async def test_a_long_answer_is_decoded_behind(
    live: Live, gate: Gate, outbox: ByHand, clock: Clock, tmp_path: Path
) -> None:
    at = RevisionRef(space_id="docs", revision_id="r1")
    pages = tuple(content.Page(id=f"p{number}", title="A page " * 20) for number in range(2000))
    shelf = ResponseCache(tmp_path, now=clock)
    shelf.put(content.ListPages(at=at), content.PageTree(pages=pages))
    shelf.flush()
    screen = Screen()
    later = Live(gate, shelf, outbox, now=clock)
    gate.errors.append(NotSent("Can't reach the server."))
    later.watch(content.ListPages(at=at), screen)
    assert (screen.now.value, screen.now.loading) == (None, True)
    await later.wait_idle()
    assert len(screen.now.value.pages) == 2000
    shelf.close()


async def test_unreadable_parts_are_counted_and_fetched_again(shelf: ResponseCache, outbox: ByHand) -> None:
    in_part = {"unreadable": 2}
    told: list[tuple[str, int]] = []
    there = RevisionRef(space_id="docs", revision_id="r")
    pages: dict[str | None, Any] = {None: content.PageTree(pages=()).model_copy(update=in_part)}
    live = Live(Book(pages), shelf, outbox)
    live.unreadable_items.add(lambda op, unreadable: told.append((type(op).__name__, unreadable)))
    now, then = content.ListPages(at=SpaceRef(space_id="docs")), content.ListPages(at=there)
    await live.refresh(now)
    await live.refresh(then)
    assert told == [("ListPages", 2), ("ListPages", 2)]
    shelf.flush()
    assert shelf.get(now) is not None
    assert shelf.get(then) is None


async def test_duplicate_items_of_a_list_are_shown_once(shelf: ResponseCache, outbox: ByHand) -> None:
    op, screen = spaces.List(at=OrganizationRef(organization_id="acme")), Screen()
    docs, more = (Space(id="docs"), Space(id="docs", title="Again")), (Space(id="api"), Space(id="api"))
    pages = {None: ListPage[Space](items=docs, next=Next(page="c1")), "c1": ListPage[Space](items=more)}
    live = Live(Book(pages), shelf, outbox)
    live.watch(op, screen)
    await live.wait_idle()
    await live.fetch_next_page(op)
    assert screen.now.value.items == (docs[0], more[0])


async def test_list_with_a_bad_next_page_reports_it_beside_its_items(shelf: ResponseCache, outbox: ByHand) -> None:
    op, screen = spaces.List(at=OrganizationRef(organization_id="acme")), Screen()
    live = Live(Book({None: ListPage[Space](items=(Space(id="docs"),), next=Next(page=""))}), shelf, outbox)
    live.watch(op, screen)
    await live.wait_idle()
    assert screen.now.error is None
    await live.fetch_next_page(op)
    assert [each.id for each in screen.now.value.items] == ["docs"]
    assert str(screen.now.error) == (
        "Could not load the whole list: the server sent an invalid cursor. Only 1 item could be loaded."
    )


async def test_complete_list_stays_complete_after_a_restart_and_refresh(
    live: Live, shelf: ResponseCache, gate: Gate, outbox: ByHand, here: SpaceRef, ask: Ask, clock: Clock
) -> None:
    for number in range(3):
        await ask(new(here, f"No. {number}"))
    op = threads(here, limit=2)
    await live.refresh(op)
    await live.fetch_next_page(op)
    shelf.flush()
    later = Live(gate, shelf, outbox, now=clock)
    screen = Screen()
    later.watch(op, screen)
    await later.wait_idle()
    assert {len(each.value.items) for each in screen.seen} == {3}
    await later.close()


async def test_never_loaded_response_reports_the_failed_request(live: Live, gate: Gate, here: SpaceRef) -> None:
    gate.errors.append(NotSent("Can't reach the server."))
    await live.refresh(spaces.Get(at=here))
    assert str(live.peek(spaces.Get(at=here)).error) == (
        "Not available offline: Octavo has not loaded this before. Can't reach the server."
    )


async def test_cached_response_is_available_during_a_refresh(
    live: Live, shelf: ResponseCache, gate: Gate, outbox: ByHand, here: SpaceRef
) -> None:
    op = spaces.Get(at=here)
    await live.refresh(op)
    shelf.flush()
    later, screen = Live(gate, shelf, outbox), Screen()
    gate.hold()
    gate.errors.append(NotSent("Can't reach the server."))
    asking = asyncio.ensure_future(later.fetch(op, rank=Rank.AWAITED))
    await asyncio.sleep(0)
    later.watch(op, screen)
    assert screen.seen[0].value is not None, "who watches it is shown it"
    gate.let_go()
    with pytest.raises(NotSent, match=r"^Can't reach the server\.$"):
        await asking
    await later.close()
    elsewhere = Live(gate, shelf, outbox)
    gate.errors.append(NotSent("Can't reach the server."))
    with pytest.raises(NotSent, match=r"^Can't reach the server\.$"):
        await elsewhere.fetch(op, rank=Rank.AWAITED)
    await elsewhere.close()


async def test_unchanged_response_is_not_stored_again(
    live: Live, ask: Ask, here: SpaceRef, gate: Gate, outbox: ByHand, tmp_path: Path, clock: Clock
) -> None:
    shelf = ResponseCache(tmp_path, "mia", now=clock)
    live = Live(gate, shelf, outbox, now=clock)
    op = threads(here)
    live.watch(op, Screen())
    await live.wait_idle()
    shelf.flush()
    (before,) = shelf.responses_after(0, 10)
    clock.forward(hours=1)
    await live.refresh(op)
    shelf.flush()
    (after,) = shelf.responses_after(0, 10)
    assert (after.number, after.stored_at) == (before.number, clock())
    await ask(new(here))
    await live.refresh(op)
    shelf.flush()
    (other,) = shelf.responses_after(0, 10)
    assert other.number > after.number
    shelf.close()
