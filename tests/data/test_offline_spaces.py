"""Spaces that are available offline: requests, stored copies and status."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent
from octavo.api.operation import SpaceRef
from octavo.api.spaces import Space
from octavo.api.wire import encode
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpace, OfflineSpaces
from octavo.data.queries import all_threads_op, replies_op
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.sync_queue import MAX_REQUESTS_BY_RANK, Rank
from tests.data.conftest import MIA, ManualOutbox, damage_cache_files
from tests.data.connections import RequestGate
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock, space_with


@pytest.fixture
def cache(tmp_path: Path, clock: Clock) -> Any:
    cache = ResponseCache(tmp_path, "mia@test", now=clock)
    yield cache
    cache.close()


@pytest.fixture
async def offline(live: Live, state: StateDb) -> AsyncIterator[OfflineSpaces]:
    offline = OfflineSpaces(live, state)
    offline.begin()
    yield offline
    await offline.close()


@pytest.fixture
async def space(here: SpaceRef, ask: Ask) -> Space:
    """Create a space with two pages, two threads (one with a reply) and an open change request that edits a page."""
    thread = await ask(comments.Create(at=here, body=Markdown(markdown="Is this so?")), "ada")
    await ask(comments.Create(at=here, body=Markdown(markdown="Nobody answered.")), "ada")
    await ask(comments.CreateReply(at=here, comment_id=thread.id, body=Markdown(markdown="Barnacles say yes.")), "ada")
    made = await ask(change_requests.Create(at=here, subject="Rotate"), "ada")
    at = made.ref(here)
    pages = await ask(content.ListPages(at=here))
    change = content.UpdatePage(page=pages.pages[0].id, document=content.DocumentBody(markdown="# Intro\n\nOther."))
    await ask(content.Edit(at=at, changes=(change,)), "ada")
    await ask(change_requests.Update(at=at, status="open"), "ada")
    return await ask(spaces.Get(at=here))


def take_requests(gate: RequestGate) -> Counter[str]:
    """Return the number of requests since the last call, by operation."""
    found = Counter(f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}" for op in gate.requests)
    gate.requests.clear()
    return found


def test_unreadable_fields_of_stored_spaces_get_defaults(live: Live, state: StateDb) -> None:
    state.set_value("offline", [7, {"id": 8}, {"id": "docs", "bytes": "many", "failed": 7, "read_at": "never"}])
    assert OfflineSpaces(live, state).all == (OfflineSpace("docs", "Untitled"),)


async def test_offline_space_is_downloaded_completely(
    offline: OfflineSpaces,
    live: Live,
    gate: RequestGate,
    cache: ResponseCache,
    space: Space,
    outbox: ManualOutbox,
    clock: Clock,
) -> None:
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert (status.state, status.failed, status.pages, status.read_at) == ("kept", (), 2, clock())
    assert status.downloaded == status.wanted
    assert status.bytes > 1000
    counted = take_requests(gate)
    assert counted["content.GetPage"] == 4, "both pages, and both sides of the one that is changed"
    assert counted["comments.ListReplies"] == 1, "a thread says when it has none"
    cache.flush()
    later = Live(gate, cache, outbox, now=clock)
    page = (await cached_tree(later, space)).pages[0]
    read = later.peek(
        content.GetPage(at=space.ref, page_id=page.id, format="markdown", dereferenced="reusable-contents")
    )
    assert read.value is not None
    assert "Hello" in (read.value.markdown or "")
    assert not take_requests(gate)


async def test_space_is_downloaded_again_after_damage_of_the_cache(
    offline: OfflineSpaces, cache: ResponseCache, space: Space, tmp_path: Path
) -> None:
    offline.add(space)
    await offline.wait_idle()
    cache.flush()
    damage_cache_files(tmp_path)
    assert (await offline.estimate_size(space.ref)).page_count == 2
    async with asyncio.timeout(60):
        for _ in range(2):  # the first sync finds the damage, after which the file is replaced
            offline.add(space)
            await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert (status.state, status.failed) == ("kept", ())
    assert status.bytes > 1000
    assert "damaged" in cache.notices[0]


async def test_responses_that_cannot_be_written_are_listed_as_failed(
    offline: OfflineSpaces, cache: ResponseCache, space: Space
) -> None:
    condition = "new.url LIKE '%/page/%'"
    fail = f"CREATE TEMP TRIGGER fail BEFORE INSERT ON answers WHEN {condition} BEGIN SELECT raise(FAIL, 'full'); END"
    cache._writer.submit(lambda db: db.execute(fail))
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert len(status.failed) == 4, "both pages, and both sides of the one that is changed"
    assert "could not save the response" in status.failed[0].reason
    assert status.downloaded == status.wanted - 4
    cache._writer.submit(lambda db: db.execute("DROP TRIGGER fail"))
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert (status.failed, status.downloaded) == ((), status.wanted)


async def test_change_that_could_not_be_written_is_fetched_again(
    offline: OfflineSpaces, cache: ResponseCache, space: Space, ask: Ask
) -> None:
    offline.add(space)
    await offline.wait_idle()
    (thread,) = [each for each in (await ask(all_threads_op(space.ref))).items if each.replies]
    await ask(comments.CreateReply(at=space.ref, comment_id=thread.id, body=Markdown(markdown="So do limpets.")), "ada")
    fail = "CREATE TEMP TRIGGER fail BEFORE INSERT ON answers BEGIN SELECT raise(FAIL, 'full'); END"
    cache._writer.submit(lambda db: db.execute(fail))
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert "the replies to Ada Lund" in [each.label for each in status.failed]
    cache._writer.submit(lambda db: db.execute("DROP TRIGGER fail"))
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert status.failed == ()
    replies = cache.get(replies_op(space.ref, thread.id))
    assert replies is not None
    assert len(replies[0].items) == 2


async def wait_for_state(offline: OfflineSpaces, space: Space, state: str) -> None:
    """Wait until a space is in this state."""
    changed = asyncio.Event()
    leave = offline.changed.add(changed.set)
    while (status := offline.get(space.id)) is None or status.state != state:
        await changed.wait()
        changed.clear()
    leave()


async def cached_tree(live: Live, space: Space) -> content.PageTree:
    tree = live.peek(content.ListPages(at=space.ref)).value
    assert tree is not None
    return tree


async def test_only_changed_content_is_downloaded_again(
    offline: OfflineSpaces, gate: RequestGate, space: Space, ask: Ask, clock: Clock
) -> None:
    offline.add(space)
    await offline.wait_idle()
    take_requests(gate)
    offline.add(space)
    await offline.wait_idle()
    quiet = take_requests(gate)
    assert not quiet["content.GetPage"]
    assert not quiet["comments.ListReplies"]
    clock.forward(minutes=1)
    thread = next(each for each in (await ask(comments.List(at=space.ref))).items if not each.replies)
    await ask(comments.CreateReply(at=space.ref, comment_id=thread.id, body=Markdown(markdown="I do.")), "ada")
    offline.add(space)
    await offline.wait_idle()
    changed = Counter({"comments.ListReplies": 1, "change_requests.ListOfOrganization": 4})
    assert take_requests(gate) - quiet == changed


async def test_lists_of_the_organization_are_loaded_once_for_several_spaces(
    offline: OfflineSpaces, gate: RequestGate, space: Space, ask: Ask, clock: Clock
) -> None:
    other = await space_with(ask, tides="# Tides")
    for each in (space, other):
        offline.add(each)
    await offline.wait_idle()
    assert take_requests(gate)["change_requests.ListOfOrganization"] == 4
    clock.forward(minutes=1)
    offline.add(other)
    await offline.wait_idle()
    assert take_requests(gate)["change_requests.ListOfOrganization"] == 4


async def test_space_is_refreshed_although_the_clock_was_set_back(
    offline: OfflineSpaces, gate: RequestGate, space: Space, ask: Ask, clock: Clock
) -> None:
    offline.add(space)
    await offline.wait_idle()
    take_requests(gate)
    clock.forward(hours=-2)
    thread = next(each for each in (await ask(comments.List(at=space.ref))).items if not each.replies)
    await ask(comments.CreateReply(at=space.ref, comment_id=thread.id, body=Markdown(markdown="I do.")), "ada")
    offline.add(space)
    await offline.wait_idle()
    assert take_requests(gate)["comments.ListReplies"] == 1, "only a new list of threads shows the reply"


async def test_later_rounds_keep_copies_of_unchanged_content(
    offline: OfflineSpaces, cache: ResponseCache, space: Space
) -> None:
    offline.add(space)
    await offline.wait_idle()
    before = cache.pinned_sizes(f"offline {space.id}")
    for _ in range(2):
        offline.add(space)
        await offline.wait_idle()
        cache.flush()
        assert cache.pinned_sizes(f"offline {space.id}") == before


async def test_offline_copies_are_never_evicted_until_removed(
    offline: OfflineSpaces, live: Live, cache: ResponseCache, space: Space, clock: Clock
) -> None:
    offline.add(space)
    await offline.wait_idle()
    clock.forward(days=200)
    tidy: Callable[..., None] = cache._evict
    cache._max_bytes = 10
    cache._writer.submit(tidy).result()
    assert cache.get(content.ListPages(at=space.ref)) is not None
    assert len(cache.pinned_sizes(f"offline {space.id}")) == (offline.get(space.id) or pytest.fail("it is kept")).wanted
    offline.remove(space.id)
    cache.flush()
    assert cache.get(content.ListPages(at=space.ref)) is None
    assert not cache.pinned_sizes(f"offline {space.id}")
    assert offline.all == ()


async def test_copy_that_could_not_be_deleted_is_deleted_by_the_next_run(
    offline: OfflineSpaces, live: Live, state: StateDb, cache: ResponseCache, space: Space
) -> None:
    offline.add(space)
    await offline.wait_idle()
    await offline.close()
    fail = "CREATE TEMP TRIGGER fail BEFORE DELETE ON pins BEGIN SELECT raise(FAIL, 'full'); END"
    cache._writer.submit(lambda db: db.execute(fail))
    offline.remove(space.id)
    cache.flush()
    assert cache.pinned_sizes(f"offline {space.id}")
    cache._writer.submit(lambda db: db.execute("DROP TRIGGER fail"))
    later = OfflineSpaces(live, state)
    later.begin()
    await later.wait_idle()
    cache.flush()
    assert cache.pinned_sizes(f"offline {space.id}") == {}
    assert cache.get(content.ListPages(at=space.ref)) is None
    await later.close()


async def test_space_is_not_lost_after_a_temporary_error(
    offline: OfflineSpaces, platform: Platform, space: Space
) -> None:
    offline.add(space)
    await offline.wait_idle()
    platform.refuse_next(spaces.Get, 501, "Not today.")
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert (status.state, "Not today." in status.why) == ("waiting", True)


async def test_downloads_end_if_a_space_is_added_at_the_end(offline: OfflineSpaces, space: Space) -> None:
    await offline.wait_idle()
    offline.add(space)
    async with asyncio.timeout(30):
        await offline.close()


async def test_failed_page_is_reported_with_its_cause_and_retried(
    offline: OfflineSpaces, live: Live, state: StateDb, platform: Platform, space: Space
) -> None:
    platform.refuse_next(content.GetPage, 501, "This page is of another world.")
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert [each.label for each in status.failed] == ["the page Intro"]
    assert "of another world" in status.failed[0].reason
    await state.write(lambda db: None)  # waits until the status is stored
    assert OfflineSpaces(live, state).all == (status,), "the next start shows the failure too"
    assert status.downloaded == status.wanted - 1
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert status.failed == ()
    assert status.downloaded == status.wanted


async def test_download_continues_where_it_ended(
    offline: OfflineSpaces,
    live: Live,
    gate: RequestGate,
    state: StateDb,
    space: Space,
    cache: ResponseCache,
    outbox: ManualOutbox,
    clock: Clock,
) -> None:
    pages: list[str] = []

    class EndingConnection:
        async def __call__(self, op: Any) -> Any:
            if isinstance(op, content.GetPage) and pages:
                raise NotSent("Nothing answers.")
            answer = await gate(op)
            if isinstance(op, content.GetPage):
                pages.append(op.page_id)
            return answer

    live.send = EndingConnection()
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert (status.state, "Nothing answers." in status.why) == ("waiting", True)
    await offline.close()
    take_requests(gate)
    later = Live(gate, cache, outbox, now=clock)
    again = OfflineSpaces(later, state)
    assert [each.id for each in again.all] == [space.id]
    again.begin()
    await again.wait_idle()
    assert pages
    assert take_requests(gate)["content.GetPage"] == 4 - len(pages), "what was read is not read again"
    status = again.get(space.id)
    assert status is not None
    assert status.state == "kept"
    await again.close()
    await later.close()


@pytest.mark.parametrize("how", ["deleted", "hidden"])
async def test_space_without_access_is_reported_and_kept(
    offline: OfflineSpaces, space: Space, ask: Ask, cache: ResponseCache, platform: Platform, how: str
) -> None:
    offline.add(space)
    await offline.wait_idle()
    if how == "deleted":
        await ask(spaces.Delete(at=space.ref))
    else:
        platform.refuse_next(spaces.Get, 403, "You may not see this space.")
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert status.state == "lost"
    assert status.why
    assert cache.get(content.ListPages(at=space.ref)) is not None


async def test_nothing_is_fetched_until_the_rate_limit_allows(
    outbox: ManualOutbox, cache: ResponseCache, state: StateDb, gate: RequestGate, space: Space, clock: Clock
) -> None:
    low = [0.05]
    live = Live(gate, cache, outbox, now=clock, rate_limit_wait=lambda: low[0])
    offline = OfflineSpaces(live, state)
    offline.begin()
    offline.add(space)
    await offline.wait_idle()
    status = offline.get(space.id)
    assert status is not None
    assert (status.state, status.why) == ("waiting", "The server's rate limit is almost reached.")
    assert not gate.requests
    low[0] = 0.0
    await asyncio.wait_for(wait_for_state(offline, space, "kept"), 30)
    await offline.close()
    await live.close()


async def test_requests_of_the_user_go_before_the_download(
    offline: OfflineSpaces, gate: RequestGate, space: Space
) -> None:
    gate.hold()
    offline.begin()
    offline.add(space)
    while not gate.requests:  # noqa: ASYNC110  # There is no event for a sent request.
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    download = len(gate.requests)
    assert download <= MAX_REQUESTS_BY_RANK[Rank.OFFLINE]
    size = asyncio.create_task(offline.estimate_size(space.ref))
    while len(gate.requests) == download:  # noqa: ASYNC110  # The user waits for this request, so it is sent now.
        await asyncio.sleep(0.01)
    gate.release()
    await size


async def test_size_is_known_before_the_download(offline: OfflineSpaces, space: Space) -> None:
    size = await offline.estimate_size(space.ref)
    assert (size.page_count, size.is_large) == (2, False)
    assert size.byte_count > 0


class Instance:
    """One of several instances of Octavo with the same profile, with its own connections to the same files."""

    def __init__(self, folder: Path, gate: RequestGate, clock: Clock) -> None:
        self.gate = RequestGate(gate)
        self.state = StateDb(folder, "mia@test", now=clock)
        self.cache = ResponseCache(folder, "mia@test", now=clock)
        self.outbox = ManualOutbox(self.gate, self.state, Drafts(self.state), me=MIA)
        self.live = Live(self.gate, self.cache, self.outbox, now=clock)
        self.offline = OfflineSpaces(self.live, self.state)
        self.offline.begin()

    def status_of(self, space: Space) -> OfflineSpace:
        """Return the status of a space that is available offline."""
        return self.offline.get(space.id) or pytest.fail("the space is not available offline")

    async def wait_until(self, check: Callable[[], object]) -> None:
        """Check for changes by other instances until `check` returns true."""
        async with asyncio.timeout(30):
            while not check():  # Changes of another instance cause no event.
                self.state.check_changed()
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        await self.offline.close()
        await self.live.close()
        await self.outbox.close()
        self.cache.close()
        self.state.close()


@pytest.fixture
async def two_instances(
    tmp_path: Path, gate: RequestGate, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Instance, Instance]]:
    """Two instances. The first one downloads."""
    monkeypatch.setattr("octavo.data.offline_spaces.LOCK_CHECK_SECONDS", 0.01)
    instances = Instance(tmp_path, gate, clock), Instance(tmp_path, gate, clock)
    yield instances
    for each in instances:
        await each.close()


async def test_two_instances_fetch_each_response_of_a_space_once(
    two_instances: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two_instances
    first.offline.add(space)
    second.offline.add(space)
    await first.offline.wait_idle()
    await second.wait_until(lambda: second.status_of(space).state == "kept")
    assert second.gate.requests == []
    assert max(Counter(encode(op).url for op in first.gate.requests).values()) == 1
    assert second.status_of(space) == first.status_of(space)


async def test_space_downloaded_by_another_instance_is_taken_over(
    two_instances: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two_instances
    first.offline.add(space)
    await first.offline.wait_idle()
    second.offline.add(space)  # The second instance has not seen the download of the first.
    await second.wait_until(lambda: second.status_of(space).state == "kept")
    assert second.gate.requests == []
    assert max(Counter(encode(op).url for op in first.gate.requests).values()) == 1


async def begin_download(instance: Instance, space: Space) -> None:
    """Download a space until the number of its responses is known. The gate then holds the other requests."""
    instance.gate.hold()
    instance.offline.add(space)
    while not instance.gate.waiting:  # noqa: ASYNC110  # the gate has no event for waiting requests
        await asyncio.sleep(0.001)
    instance.gate.release(0)
    while instance.status_of(space).wanted == 0:  # the gate has no event for waiting requests
        instance.gate.release(instance.gate.waiting - 1)
        await asyncio.sleep(0.001)


async def test_another_instance_shows_progress_while_one_downloads(
    two_instances: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two_instances
    await begin_download(first, space)
    await second.wait_until(lambda: second.offline.all and second.status_of(space).wanted)
    assert second.status_of(space).state == "reading"
    first.gate.release()
    await second.wait_until(lambda: second.status_of(space).state == "kept")
    assert second.gate.requests == []


async def test_download_of_an_ended_instance_is_continued_by_another(
    two_instances: tuple[Instance, Instance], space: Space, gate: RequestGate
) -> None:
    first, second = two_instances

    async def cut(op: Any) -> Any:
        if isinstance(op, content.GetPage):
            raise NotSent("Nothing answers.")
        return await gate(op)

    first.gate._send = cut
    first.offline.add(space)
    await first.offline.wait_idle()
    await second.wait_until(lambda: second.offline.all)
    assert second.gate.requests == []
    first.cache.flush()
    await first.offline.close()
    await second.wait_until(lambda: second.status_of(space).state == "kept")
    fetched = {encode(op).url for op in first.gate.requests if not isinstance(op, content.GetPage)}
    again = {encode(op).url for op in second.gate.requests} & fetched
    assert {url for url in again if "/pages" in url or "reviews" in url or "files" in url} == set()
    assert take_requests(second.gate)["content.GetPage"] == 4


@pytest.mark.parametrize("by", [0, 1], ids=["the one that downloads", "the other"])
async def test_space_removed_by_one_instance_is_removed_in_both(
    by: int, two_instances: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two_instances
    first.offline.add(space)
    await first.offline.wait_idle()
    await second.wait_until(lambda: second.offline.all and second.status_of(space).state == "kept")
    two_instances[by].offline.remove(space.id)
    for each in two_instances:
        await each.wait_until(lambda each=each: not each.offline.all)  # type: ignore[misc]  # mypy cannot infer the type of the default
    first.cache.flush()
    second.cache.flush()
    assert first.cache.pinned_sizes(f"offline {space.id}") == {}
    assert first.state._path is not None
    with closing(StateDb(first.state._path.parent, "mia@test")) as later:
        assert later.get_value("offline") == []


async def test_space_removed_during_a_download_elsewhere_stays_removed(
    two_instances: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two_instances
    first.gate.hold()
    first.offline.add(space)
    await second.wait_until(lambda: second.offline.all)
    second.offline.remove(space.id)
    await first.wait_until(lambda: not first.offline.all)
    first.gate.release()
    await first.offline.wait_idle()
    first.cache.flush()
    assert first.cache.pinned_sizes(f"offline {space.id}") == {}
    await second.wait_until(lambda: not second.offline.all)


async def test_space_added_by_another_instance_is_downloaded_on_request(
    two_instances: tuple[Instance, Instance], space: Space, ask: Ask, clock: Clock
) -> None:
    first, second = two_instances
    other = await ask(spaces.Get(at=(await space_with(ask, more="# More\n\nMuch more.")).ref))
    first.offline.add(space)
    await first.offline.wait_idle()
    second.offline.add(other)
    await first.wait_until(lambda: first.offline.get(other.id) and first.status_of(other).state == "kept")
    await second.wait_until(lambda: second.status_of(other).state == "kept" and second.status_of(space).state == "kept")
    assert second.gate.requests == []
    clock.forward(minutes=1)
    first.gate.requests.clear()
    second.offline.add(space)
    assert second.status_of(space).state == "waiting"
    await first.wait_until(lambda: first.status_of(space).read_at == clock())
    await second.wait_until(lambda: second.status_of(space).read_at == clock())
    assert second.gate.requests == []


async def test_sync_requested_by_another_instance_during_a_download_follows_it(
    two_instances: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two_instances
    await begin_download(first, space)
    await second.wait_until(lambda: second.offline.all and second.status_of(space).wanted)
    first.gate.requests.clear()
    second.offline.add(space)
    await second.wait_until(lambda: second.status_of(space).state == "waiting")
    second.state.write_now(lambda db: None)
    first.gate.release()
    await first.wait_until(lambda: take_requests(first.gate)["spaces.Get"])
    await first.wait_until(lambda: first.status_of(space).state == "kept")
    await second.wait_until(lambda: second.status_of(space).state == "kept")
    assert second.gate.requests == []
