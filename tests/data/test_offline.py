"""Spaces that are kept for offline: what is asked, what stays, and what is said of it."""

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
from octavo.api.urgency import urgency
from octavo.data.live import Live
from octavo.data.offline import Offline
from octavo.data.response_cache import ResponseCache
from octavo.data.state import State
from octavo.server.app import Platform
from tests.data.conftest import ByHand
from tests.data.sends import Gate
from tests.server.asking import Ask, Clock


@pytest.fixture
def shelf(tmp_path: Path, clock: Clock) -> Any:
    shelf = ResponseCache(tmp_path, "mia@test", now=clock)
    yield shelf
    shelf.close()


@pytest.fixture
async def offline(live: Live, state: State) -> AsyncIterator[Offline]:
    offline = Offline(live, state)
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
    """What was asked since this was last asked, by operation."""
    found = Counter(f"{type(op).__module__.rpartition('.')[2]}.{type(op).__name__}" for op in gate.asked)
    gate.asked.clear()
    return found


async def test_a_kept_space_is_read_whole(
    offline: Offline, live: Live, gate: Gate, shelf: ResponseCache, space: Space, outbox: ByHand, clock: Clock
) -> None:
    offline.keep(space)
    await offline.rested()
    kept = offline.of(space.id)
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


async def tree_of(live: Live, space: Space) -> content.PageTree:
    tree = live.peek(content.ListPages(at=space.ref)).value
    assert tree is not None
    return tree


async def test_only_what_moved_is_read_again(
    offline: Offline, gate: Gate, space: Space, ask: Ask, clock: Clock
) -> None:
    offline.keep(space)
    await offline.rested()
    asked(gate)
    offline.keep(space)
    await offline.rested()
    quiet = asked(gate)
    assert not quiet["content.GetPage"]
    assert not quiet["comments.ListReplies"]
    clock.forward(minutes=1)
    thread = next(each for each in (await ask(comments.List(at=space.ref))).items if not each.replies)
    await ask(comments.CreateReply(at=space.ref, comment_id=thread.id, body=Markdown(markdown="I do.")), "ada")
    offline.keep(space)
    await offline.rested()
    assert asked(gate) - quiet == Counter({"comments.ListReplies": 1})


async def test_what_is_kept_is_never_thrown_away_until_it_is_let_go(
    offline: Offline, live: Live, shelf: ResponseCache, space: Space, clock: Clock
) -> None:
    offline.keep(space)
    await offline.rested()
    clock.forward(days=200)
    tidy: Callable[..., None] = shelf._tidy
    shelf._most_bytes = 10
    shelf._writer.submit(tidy).result()
    assert shelf.get(content.ListPages(at=space.ref)) is not None
    assert len(shelf.pinned(f"offline {space.id}")) == (offline.of(space.id) or pytest.fail("it is kept")).of + 1
    offline.let_go(space.id)
    shelf.flush()
    assert shelf.get(content.ListPages(at=space.ref)) is None
    assert not shelf.pinned(f"offline {space.id}")
    assert offline.all == ()


async def test_a_page_that_cannot_be_read_is_named_with_its_cause_and_tried_again(
    offline: Offline, platform: Platform, space: Space
) -> None:
    platform.refuse_next(content.GetPage, 501, "This page is of another world.")
    offline.keep(space)
    await offline.rested()
    kept = offline.of(space.id)
    assert kept is not None
    assert [each.what for each in kept.failed] == ["the page Intro"]
    assert "of another world" in kept.failed[0].why
    assert kept.read == kept.of - 1
    offline.keep(space)
    await offline.rested()
    kept = offline.of(space.id)
    assert kept is not None
    assert kept.failed == ()
    assert kept.read == kept.of


async def test_it_goes_on_where_it_ended(offline: Offline, live: Live, gate: Gate, state: State, space: Space) -> None:
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
    offline.keep(space)
    await offline.rested()
    kept = offline.of(space.id)
    assert kept is not None
    assert (kept.state, "Nothing answers." in kept.why) == ("waiting", True)
    await offline.close()
    asked(gate)
    live.send = gate
    again = Offline(live, state)
    assert [each.id for each in again.all] == [space.id]
    again.begin()
    await again.rested()
    assert pages
    assert asked(gate)["content.GetPage"] == 4 - len(pages), "what was read is not read again"
    kept = again.of(space.id)
    assert kept is not None
    assert kept.state == "kept"
    await again.close()


@pytest.mark.parametrize("how", ["deleted", "hidden"])
async def test_a_space_one_may_no_longer_see_is_said_and_stays(
    offline: Offline, space: Space, ask: Ask, shelf: ResponseCache, platform: Platform, how: str
) -> None:
    offline.keep(space)
    await offline.rested()
    if how == "deleted":
        await ask(spaces.Delete(at=space.ref))
    else:
        platform.refuse_next(spaces.Get, 403, "You may not see this space.")
    offline.keep(space)
    await offline.rested()
    kept = offline.of(space.id)
    assert kept is not None
    assert kept.state == "lost"
    assert kept.why
    assert shelf.get(content.ListPages(at=space.ref)) is not None


async def test_nothing_is_asked_while_the_limits_run_low(live: Live, state: State, gate: Gate, space: Space) -> None:
    offline = Offline(live, state, low=lambda: 5.0)
    offline.begin()
    offline.keep(space)
    for _ in range(20):
        await asyncio.sleep(0)
    await asyncio.sleep(0.05)
    assert not gate.asked
    await offline.close()


async def test_what_anybody_waits_for_goes_before_all_of_it(
    outbox: ByHand, shelf: ResponseCache, state: State, gate: Gate, space: Space, clock: Clock
) -> None:
    waited_for: list[bool] = []

    async def send(op: Any) -> Any:
        waited_for.append(urgency()())
        return await gate(op)

    live = Live(send, shelf, outbox, now=clock)
    offline = Offline(live, state)
    offline.begin()
    offline.keep(space)
    await offline.rested()
    assert len(waited_for) > 20
    assert not any(waited_for)
    waited_for.clear()
    await offline.size(space.ref)
    assert waited_for == [True], "a person waits for that"
    await offline.close()
    await live.close()


async def test_its_size_is_said_before(offline: Offline, space: Space) -> None:
    size = await offline.size(space.ref)
    assert (size.pages, size.is_large) == (2, False)
    assert size.bytes > 0
