"""Times of polls, and their requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, spaces, users
from octavo.api.bodies import Markdown
from octavo.api.errors import ApiError, NotSent, Trace, rejected
from octavo.api.operation import Operation
from octavo.api.places import ChangeRequestRef, SpaceRef
from octavo.data.live import Live
from octavo.data.polling import Poller, RemoteChanges
from octavo.data.response_cache import ResponseCache
from octavo.data.sync_queue import Rank
from tests.data.conftest import ByHand
from tests.data.screen import Screen
from tests.data.sends import Gate
from tests.server.asking import ACME, Ask, Clock, space_with


class Looker:
    """A poller that follows the operations of a test, and counts requests."""

    def __init__(self, gate: Gate, shelf: ResponseCache, outbox: ByHand, clock: Clock) -> None:
        self.gate, self.clock = gate, clock
        self.live = Live(gate, shelf, outbox, now=clock, rate_limit_wait=self._low)
        self.on_show: Sequence[Operation[Any]] = ()
        self.low_after: int | None = None
        """Requests after which the limits of the server run low."""
        self.screens: dict[Operation[Any], Screen] = {}
        self.poller = Poller(self.live, visible=lambda: self.on_show)

    def _low(self) -> float:
        return 300.0 if self.low_after is not None and len(self.gate.asked) >= self.low_after else 0.0

    async def follow(self, *ops: Operation[Any], rank: Rank = Rank.NOW) -> None:
        for op in ops:
            self.screens[op] = Screen()
            self.live.watch(op, self.screens[op], rank=rank)
        await self.live.wait_idle()

    async def look(self) -> tuple[RemoteChanges, list[Operation[Any]]]:
        """Poll once, and return the reported news and the requests."""
        self.gate.asked.clear()
        self.clock.forward(seconds=30)
        assert self.poller.is_due
        news = await self.poller.run()
        return news, list(self.gate.asked)


SPACES = spaces.List(at=ACME, limit=1000)
OPEN = change_requests.ListOfOrganization(at=ACME, status="open", limit=100)


def threads(at: SpaceRef | ChangeRequestRef) -> comments.List:
    return comments.List(at=at, format="markdown")


def says(text: str) -> Markdown:
    return Markdown(markdown=text)


@pytest.fixture
async def looker(gate: Gate, shelf: ResponseCache, outbox: ByHand, clock: Clock) -> AsyncIterator[Looker]:
    looker = Looker(gate, shelf, outbox, clock)
    await looker.follow(SPACES, OPEN)
    yield looker
    await looker.live.close()


async def test_poll_requests_only_changed_lists(looker: Looker, ask: Ask, here: SpaceRef) -> None:
    places = [here, *[(await space_with(ask, f"Space {n}", intro="# Hello")).ref for n in range(12)]]
    await looker.follow(*(threads(each) for each in places), rank=Rank.AWAITED)
    await looker.look()
    await ask(comments.Create(at=places[7], body=says("New")), "ada")
    news, asked = await looker.look()
    assert asked[:2] in ([SPACES, OPEN], [OPEN, SPACES])
    assert asked[2] == threads(places[7]), "what moved first, then two in turn that nothing speaks for"
    assert len(asked) == 5
    assert news == RemoteChanges(threads=1)
    assert looker.screens[threads(places[7])].texts == ["New"]


async def test_lists_without_stamps_are_polled_in_turn(looker: Looker, ask: Ask, here: SpaceRef) -> None:
    places = [here, *[(await space_with(ask, f"Space {n}", intro="# Hello")).ref for n in range(5)]]
    await looker.follow(*(threads(each) for each in places), rank=Rank.AWAITED)
    await looker.look()  # the spaces are new to the lists
    seen = [op for _ in range(3) for op in (await looker.look())[1] if isinstance(op, comments.List)]
    assert sorted(op.at.space_id for op in seen) == sorted(each.space_id for each in places)


async def test_visible_lists_are_polled_each_time_and_pages_when_changed(
    looker: Looker, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    page = content.GetPage(at=here, page_id="intro", format="markdown")
    said = await ask(comments.Create(at=here, body=says("Why?")), "ada")
    replies = comments.ListReplies(at=here, comment_id=said.id, format="markdown")
    await looker.follow(page, replies)
    looker.on_show = [page, replies]
    await looker.look()
    asked = (await looker.look())[1]
    assert replies in asked
    assert page not in asked
    assert looker.live.as_of(page) == clock(), "the lists said that it is as it was"


async def test_poll_without_news_notifies_no_watcher(looker: Looker, here: SpaceRef) -> None:
    await looker.follow(threads(here))
    looker.on_show = [threads(here)]
    await looker.look()  # the space is new to the lists
    shown = {op: len(screen.seen) for op, screen in looker.screens.items()}
    for _ in range(3):
        assert (await looker.look())[0] == RemoteChanges()
    assert {op: len(screen.seen) for op, screen in looker.screens.items()} == shown


async def test_changes_of_other_users_are_reported_once(looker: Looker, ask: Ask, here: SpaceRef) -> None:
    said = await ask(comments.Create(at=here, body=says("Why?")), "ada")
    both = (threads(here), comments.List(at=here, format="markdown", status="open"))
    replies = comments.ListReplies(at=here, comment_id=said.id, format="markdown")
    await looker.follow(*both, replies)
    looker.on_show = [*both, replies]
    looker.live.outbox.set_account(await ask(users.Me(), "mia"), asked=True)
    await looker.look()
    await ask(comments.CreateReply(at=here, comment_id=said.id, body=says("Because.")), "ada")
    await ask(comments.CreateReply(at=here, comment_id=said.id, body=says("So.")), "tom")
    await ask(comments.Create(at=here, body=says("Another")), "tom")
    await ask(comments.Create(at=here, body=says("Mine")), "mia")
    assert (await looker.look())[0] == RemoteChanges(threads=1, replies=2)
    assert (await looker.look())[0] == RemoteChanges()


async def test_merge_is_reported_once_and_an_archive_is_not(looker: Looker, ask: Ask, here: SpaceRef) -> None:
    made = []
    for subject in ("Merged", "Archived"):
        one = await ask(change_requests.Create(at=here, subject=subject), "ada")
        await ask(change_requests.Update(at=one.ref(here), status="open"), "ada")
        made.append(one.ref(here))
    assert (await looker.look())[0] == RemoteChanges(change_requests=2)
    await ask(change_requests.Merge(at=made[0]), "ada")
    await ask(change_requests.Update(at=made[1], status="archived"), "ada")
    assert (await looker.look())[0] == RemoteChanges(merges=1)


async def test_polls_become_rarer_without_keys(looker: Looker, clock: Clock) -> None:
    begin = clock()

    async def looks(until: timedelta) -> int:
        count = 0
        while clock() - begin < until:
            clock.forward(seconds=5)
            if looker.poller.is_due:
                await looker.poller.run()
                count += 1
        return count

    assert await looks(timedelta(minutes=2)) == 4, "each half a minute"
    assert await looks(timedelta(minutes=30)) == 14, "each two minutes"
    assert await looks(timedelta(minutes=90)) == 6, "each ten minutes"
    looker.poller.key_pressed()
    assert looker.poller.interval == timedelta(seconds=30)


async def test_hidden_app_does_not_poll_and_polls_when_shown(looker: Looker, clock: Clock) -> None:
    looker.poller.on_terminal_hidden()
    clock.forward(hours=3)
    assert not looker.poller.is_due
    looker.poller.on_terminal_shown()
    assert looker.poller.is_due


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotSent("Can't reach the server."), [30, 60, 60, 60, 60, 60]),
        (rejected("Busy.", Trace(status=503)), [30, 60, 120, 240, 480, 600]),
    ],
    ids=["offline", "failing"],
)
async def test_failing_polls_try_one_request_at_growing_intervals(
    looker: Looker, gate: Gate, clock: Clock, error: ApiError, expected: list[int]
) -> None:
    looker.poller.key_pressed()
    gate.asked.clear()
    waits = []
    for _ in range(6):
        looker.poller.key_pressed()
        began = clock()
        while not looker.poller.is_due:
            clock.forward(seconds=5)
            looker.poller.key_pressed()
        waits.append((clock() - began).total_seconds())
        gate.errors.append(error)
        await looker.poller.run()
    assert waits == expected
    assert len(gate.asked) == 6
    assert looker.screens[SPACES].now.error is None, "what is on show is as good as it was"
    clock.forward(minutes=10)
    await looker.poller.run()
    looker.poller.key_pressed()
    assert looker.poller.interval == timedelta(seconds=30)


async def test_poll_waits_for_the_rate_limit(looker: Looker, clock: Clock) -> None:
    clock.forward(seconds=60)
    looker.low_after = 0
    assert not looker.poller.is_due
    looker.low_after = None
    assert looker.poller.is_due


async def test_poll_ends_at_its_share_of_the_rate_limit(looker: Looker, gate: Gate, ask: Ask, here: SpaceRef) -> None:
    places = [here, *[(await space_with(ask, f"Space {n}", intro="# Hello")).ref for n in range(9)]]
    await looker.follow(*(threads(each) for each in places), rank=Rank.AWAITED)
    await looker.look()
    for each in places:
        await ask(comments.Create(at=each, body=says("New")), "ada")
    gate.asked.clear()
    looker.clock.forward(seconds=30)
    looker.low_after = 5
    await looker.poller.run()
    assert len(gate.asked) < 9, "the requests that run end, and no other starts"
    looker.low_after = None
    moved = [op for op in (await looker.look())[1] if isinstance(op, comments.List)]
    assert len(moved) >= 4, "the rest at the next look"
