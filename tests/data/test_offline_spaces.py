"""Spaces that are available offline: requests, stored copies and status."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, spaces
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent
from octavo.api.places import SpaceRef
from octavo.api.spaces import Space
from octavo.api.urgency import current_urgency
from octavo.api.wire import encode
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.offline_spaces import OfflineSpace, OfflineSpaces
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.server.app import Platform
from tests.data.conftest import MIA, ByHand
from tests.data.sends import Gate
from tests.server.asking import Ask, Clock, space_with


@pytest.fixture
def shelf(tmp_path: Path, clock: Clock) -> Any:
    shelf = ResponseCache(tmp_path, "mia@test", now=clock)
    yield shelf
    shelf.close()


@pytest.fixture
async def offline(live: Live, state: StateDb) -> AsyncIterator[OfflineSpaces]:
    offline = OfflineSpaces(live, state)
    offline.begin()
    yield offline
    await offline.close()


@pytest.fixture
async def space(here: SpaceRef, ask: Ask) -> Space:
    """Two pages, a thread with a reply and one without, and an open change request that changes a page."""
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


def asked(gate: Gate) -> Counter[str]:
    """Return the requests since the last call, by operation."""
    found = Counter(f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}" for op in gate.asked)
    gate.asked.clear()
    return found


async def test_offline_space_is_downloaded_completely(
    offline: OfflineSpaces, live: Live, gate: Gate, shelf: ResponseCache, space: Space, outbox: ByHand, clock: Clock
) -> None:
    offline.add(space)
    await offline.wait_idle()
    kept = offline.get(space.id)
    assert kept is not None
    assert (kept.state, kept.failed, kept.pages, kept.read_at) == ("kept", (), 2, clock())
    assert kept.read == kept.of
    assert kept.bytes > 1000
    counted = asked(gate)
    assert counted["content.GetPage"] == 4, "both pages, and both sides of the one that is changed"
    assert counted["comments.ListReplies"] == 1, "a thread says when it has none"
    shelf.flush()
    later = Live(gate, shelf, outbox, now=clock)
    page = (await tree_of(later, space)).pages[0]
    read = later.peek(
        content.GetPage(at=space.ref, page_id=page.id, format="markdown", dereferenced="reusable-contents")
    )
    assert read.value is not None
    assert "Hello" in (read.value.markdown or "")
    assert not asked(gate)


async def changed_to(offline: OfflineSpaces, space: Space, state: str) -> None:
    """Wait until a space is in this state."""
    changed = asyncio.Event()
    leave = offline.watch(changed.set)
    while (kept := offline.get(space.id)) is None or kept.state != state:
        await changed.wait()
        changed.clear()
    leave()


async def tree_of(live: Live, space: Space) -> content.PageTree:
    tree = live.peek(content.ListPages(at=space.ref)).value
    assert tree is not None
    return tree


async def test_only_changed_content_is_downloaded_again(
    offline: OfflineSpaces, gate: Gate, space: Space, ask: Ask, clock: Clock
) -> None:
    offline.add(space)
    await offline.wait_idle()
    asked(gate)
    offline.add(space)
    await offline.wait_idle()
    quiet = asked(gate)
    assert not quiet["content.GetPage"]
    assert not quiet["comments.ListReplies"]
    clock.forward(minutes=1)
    thread = next(each for each in (await ask(comments.List(at=space.ref))).items if not each.replies)
    await ask(comments.CreateReply(at=space.ref, comment_id=thread.id, body=Markdown(markdown="I do.")), "ada")
    offline.add(space)
    await offline.wait_idle()
    assert asked(gate) - quiet == Counter({"comments.ListReplies": 1})


async def test_later_rounds_keep_copies_of_unchanged_content(
    offline: OfflineSpaces, shelf: ResponseCache, space: Space
) -> None:
    offline.add(space)
    await offline.wait_idle()
    before = shelf.pinned_sizes(f"offline {space.id}")
    for _ in range(2):
        offline.add(space)
        await offline.wait_idle()
        shelf.flush()
        assert shelf.pinned_sizes(f"offline {space.id}") == before


async def test_offline_copies_are_never_evicted_until_removed(
    offline: OfflineSpaces, live: Live, shelf: ResponseCache, space: Space, clock: Clock
) -> None:
    offline.add(space)
    await offline.wait_idle()
    clock.forward(days=200)
    tidy: Callable[..., None] = shelf._evict
    shelf._most_bytes = 10
    shelf._writer.submit(tidy).result()
    assert shelf.get(content.ListPages(at=space.ref)) is not None
    assert len(shelf.pinned_sizes(f"offline {space.id}")) == (offline.get(space.id) or pytest.fail("it is kept")).of
    offline.remove(space.id)
    shelf.flush()
    assert shelf.get(content.ListPages(at=space.ref)) is None
    assert not shelf.pinned_sizes(f"offline {space.id}")
    assert offline.all == ()


async def test_failed_page_is_reported_with_its_cause_and_retried(
    offline: OfflineSpaces, platform: Platform, space: Space
) -> None:
    platform.refuse_next(content.GetPage, 501, "This page is of another world.")
    offline.add(space)
    await offline.wait_idle()
    kept = offline.get(space.id)
    assert kept is not None
    assert [each.what for each in kept.failed] == ["the page Intro"]
    assert "of another world" in kept.failed[0].why
    assert kept.read == kept.of - 1
    offline.add(space)
    await offline.wait_idle()
    kept = offline.get(space.id)
    assert kept is not None
    assert kept.failed == ()
    assert kept.read == kept.of


async def test_download_continues_where_it_ended(
    offline: OfflineSpaces,
    live: Live,
    gate: Gate,
    state: StateDb,
    space: Space,
    shelf: ResponseCache,
    outbox: ByHand,
    clock: Clock,
) -> None:
    pages: list[str] = []

    class Cut:
        async def __call__(self, op: Any) -> Any:
            if isinstance(op, content.GetPage) and pages:
                raise NotSent("Nothing answers.")
            answer = await gate(op)
            if isinstance(op, content.GetPage):
                pages.append(op.page_id)
            return answer

    live.send = Cut()
    offline.add(space)
    await offline.wait_idle()
    kept = offline.get(space.id)
    assert kept is not None
    assert (kept.state, "Nothing answers." in kept.why) == ("waiting", True)
    await offline.close()
    asked(gate)
    later = Live(gate, shelf, outbox, now=clock)
    again = OfflineSpaces(later, state)
    assert [each.id for each in again.all] == [space.id]
    again.begin()
    await again.wait_idle()
    assert pages
    assert asked(gate)["content.GetPage"] == 4 - len(pages), "what was read is not read again"
    kept = again.get(space.id)
    assert kept is not None
    assert kept.state == "kept"
    await again.close()
    await later.close()


@pytest.mark.parametrize("how", ["deleted", "hidden"])
async def test_space_without_access_is_reported_and_kept(
    offline: OfflineSpaces, space: Space, ask: Ask, shelf: ResponseCache, platform: Platform, how: str
) -> None:
    offline.add(space)
    await offline.wait_idle()
    if how == "deleted":
        await ask(spaces.Delete(at=space.ref))
    else:
        platform.refuse_next(spaces.Get, 403, "You may not see this space.")
    offline.add(space)
    await offline.wait_idle()
    kept = offline.get(space.id)
    assert kept is not None
    assert kept.state == "lost"
    assert kept.why
    assert shelf.get(content.ListPages(at=space.ref)) is not None


async def test_nothing_is_fetched_until_the_rate_limit_allows(
    outbox: ByHand, shelf: ResponseCache, state: StateDb, gate: Gate, space: Space, clock: Clock
) -> None:
    low = [0.05]
    live = Live(gate, shelf, outbox, now=clock, rate_limit_wait=lambda: low[0])
    offline = OfflineSpaces(live, state)
    offline.begin()
    offline.add(space)
    await offline.wait_idle()
    kept = offline.get(space.id)
    assert kept is not None
    assert (kept.state, kept.why) == ("waiting", "The server's rate limit is almost reached.")
    assert not gate.asked
    low[0] = 0.0
    await asyncio.wait_for(changed_to(offline, space, "kept"), 30)
    await offline.close()
    await live.close()


async def test_requests_of_the_user_go_before_the_download(
    outbox: ByHand, shelf: ResponseCache, state: StateDb, gate: Gate, space: Space, clock: Clock
) -> None:
    waited_for: list[bool] = []

    async def send(op: Any) -> Any:
        waited_for.append(current_urgency()())
        return await gate(op)

    live = Live(send, shelf, outbox, now=clock)
    offline = OfflineSpaces(live, state)
    offline.begin()
    offline.add(space)
    await offline.wait_idle()
    assert len(waited_for) > 20
    assert not any(waited_for)
    waited_for.clear()
    await offline.size(space.ref)
    assert waited_for == [True], "a person waits for that"
    await offline.close()
    await live.close()


async def test_size_is_known_before_the_download(offline: OfflineSpaces, space: Space) -> None:
    size = await offline.size(space.ref)
    assert (size.pages, size.is_large) == (2, False)
    assert size.bytes > 0


class Instance:
    """One of several instances of Octavo with the same profile, with its own connections to the same files."""

    def __init__(self, folder: Path, gate: Gate, clock: Clock) -> None:
        self.gate = Gate(gate)
        self.state = StateDb(folder, "mia@test", now=clock)
        self.shelf = ResponseCache(folder, "mia@test", now=clock)
        self.outbox = ByHand(self.gate, self.state, Drafts(self.state), me=MIA)
        self.live = Live(self.gate, self.shelf, self.outbox, now=clock)
        self.offline = OfflineSpaces(self.live, self.state)
        self.offline.begin()

    def kept(self, space: Space) -> OfflineSpace:
        """Return the status of a space that is available offline."""
        return self.offline.get(space.id) or pytest.fail("it is not here")

    async def sees(self, check: Callable[[], object]) -> None:
        """Look what others wrote, as the outbox does every second, until `check` is so."""
        async with asyncio.timeout(30):
            while not check():  # another instance causes no event here
                self.state.check_changed()
                await asyncio.sleep(0.005)

    async def close(self) -> None:
        await self.offline.close()
        await self.live.close()
        await self.outbox.close()
        self.shelf.close()
        self.state.close()


@pytest.fixture
async def two(
    tmp_path: Path, gate: Gate, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Instance, Instance]]:
    """Two instances, of which the first is asked first."""
    monkeypatch.setattr("octavo.data.offline_spaces.LOCK_CHECK_INTERVAL", 0.01)
    instances = Instance(tmp_path, gate, clock), Instance(tmp_path, gate, clock)
    yield instances
    for each in instances:
        await each.close()


async def test_two_instances_fetch_each_response_of_a_space_once(two: tuple[Instance, Instance], space: Space) -> None:
    first, second = two
    first.offline.add(space)
    second.offline.add(space)
    await first.offline.wait_idle()
    await second.sees(lambda: second.kept(space).state == "kept")
    assert second.gate.asked == []
    assert max(Counter(encode(op).url for op in first.gate.asked).values()) == 1
    assert second.kept(space) == first.kept(space)


async def test_space_downloaded_by_another_instance_is_taken_over(two: tuple[Instance, Instance], space: Space) -> None:
    first, second = two
    first.offline.add(space)
    await first.offline.wait_idle()
    second.offline.add(space)  # before it has seen what the first has done
    await second.sees(lambda: second.kept(space).state == "kept")
    assert second.gate.asked == []
    assert max(Counter(encode(op).url for op in first.gate.asked).values()) == 1


async def test_another_instance_shows_progress_while_one_downloads(
    two: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two
    first.gate.hold()
    first.offline.add(space)
    while not first.gate.waiting:  # noqa: ASYNC110  # nothing tells when a request is held
        await asyncio.sleep(0.001)
    first.gate.let_go(0)
    while first.kept(space).of == 0:  # as above
        first.gate.let_go(first.gate.waiting - 1)
        await asyncio.sleep(0.001)
    await second.sees(lambda: second.offline.all and second.kept(space).of)
    assert second.kept(space).state == "reading"
    first.gate.let_go()
    await second.sees(lambda: second.kept(space).state == "kept")
    assert second.gate.asked == []


async def test_another_instance_continues_the_download_of_an_ended_one(
    two: tuple[Instance, Instance], space: Space, gate: Gate
) -> None:
    first, second = two

    async def cut(op: Any) -> Any:
        if isinstance(op, content.GetPage):
            raise NotSent("Nothing answers.")
        return await gate(op)

    first.gate._send = cut
    first.offline.add(space)
    await first.offline.wait_idle()
    await second.sees(lambda: second.offline.all)
    assert second.gate.asked == []
    first.shelf.flush()
    await first.offline.close()
    await second.sees(lambda: second.kept(space).state == "kept")
    fetched = {encode(op).url for op in first.gate.asked if not isinstance(op, content.GetPage)}
    again = {encode(op).url for op in second.gate.asked} & fetched
    assert {url for url in again if "/pages" in url or "reviews" in url or "files" in url} == set()
    assert asked(second.gate)["content.GetPage"] == 4


@pytest.mark.parametrize("by", [0, 1], ids=["the one that downloads", "the other"])
async def test_space_that_one_instance_removes_is_gone_in_both(
    by: int, two: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two
    first.offline.add(space)
    await first.offline.wait_idle()
    await second.sees(lambda: second.offline.all and second.kept(space).state == "kept")
    two[by].offline.remove(space.id)
    for each in two:
        await each.sees(lambda each=each: not each.offline.all)  # type: ignore[misc]  # mypy infers no type for each=each
    first.shelf.flush()
    second.shelf.flush()
    assert first.shelf.pinned_sizes(f"offline {space.id}") == {}
    assert StateDb(first.state._path.parent, "mia@test").get_fact("offline") == []  # type: ignore[union-attr]  # it has a folder


async def test_space_removed_during_a_download_elsewhere_stays_removed(
    two: tuple[Instance, Instance], space: Space
) -> None:
    first, second = two
    first.gate.hold()
    first.offline.add(space)
    await second.sees(lambda: second.offline.all)
    second.offline.remove(space.id)
    await first.sees(lambda: not first.offline.all)
    first.gate.let_go()
    await first.offline.wait_idle()
    first.shelf.flush()
    assert first.shelf.pinned_sizes(f"offline {space.id}") == {}
    await second.sees(lambda: not second.offline.all)


async def test_space_added_by_another_instance_is_downloaded_on_request(
    two: tuple[Instance, Instance], space: Space, ask: Ask, clock: Clock
) -> None:
    first, second = two
    other = await ask(spaces.Get(at=(await space_with(ask, more="# More\n\nMuch more.")).ref))
    first.offline.add(space)
    await first.offline.wait_idle()
    second.offline.add(other)
    await first.sees(lambda: first.offline.get(other.id) and first.kept(other).state == "kept")
    await second.sees(lambda: second.kept(other).state == "kept" and second.kept(space).state == "kept")
    assert second.gate.asked == []
    clock.forward(minutes=1)
    first.gate.asked.clear()
    second.offline.add(space)
    assert second.kept(space).state == "waiting"
    await first.sees(lambda: first.kept(space).read_at == clock())
    await second.sees(lambda: second.kept(space).read_at == clock())
    assert second.gate.asked == []
