"""When the poller runs, and which requests it sends."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from octavo.api import change_requests, comments, content, organizations, spaces, users
from octavo.api.bodies import Markdown
from octavo.api.errors import ApiError, NotSent, Trace, rejected
from octavo.api.operation import ChangeRequestRef, Operation, SpaceRef
from octavo.data.live import Live
from octavo.data.polling import Poller, RemoteChanges, adopt_fingerprints
from octavo.data.response_cache import ResponseCache
from octavo.data.sync_queue import Rank
from tests.data.background_requests import wait_idle
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate
from tests.data.snapshot_watcher import SnapshotWatcher
from tests.server.small_platform import ACME, Ask, Clock, space_with


class PollerRun:
    """A poller that follows the operations of a test and counts requests."""

    def __init__(self, gate: RequestGate, cache: ResponseCache, outbox: ManualOutbox, clock: Clock) -> None:
        self.gate, self.clock = gate, clock
        self.live = Live(gate, cache, outbox, now=clock, rate_limit_wait=self._low)
        self.visible: Sequence[Operation[Any]] = ()
        self.low_after: int | None = None
        """Number of requests after which the rate limit is nearly used up."""
        self.screens: dict[Operation[Any], SnapshotWatcher] = {}
        self.live.before_update.add(partial(adopt_fingerprints, self.live))
        self.poller = Poller(self.live, visible=lambda: self.visible, after_poll=self._no_inbox)

    async def _no_inbox(self) -> None:
        pass

    def _low(self) -> float:
        return 300.0 if self.low_after is not None and len(self.gate.requests) >= self.low_after else 0.0

    async def follow(self, *ops: Operation[Any], rank: Rank = Rank.NOW) -> None:
        for op in ops:
            self.screens[op] = SnapshotWatcher()
            self.live.watch(op, self.screens[op], rank=rank)
        await wait_idle(self.live)

    async def poll(self) -> tuple[RemoteChanges, list[Operation[Any]]]:
        """Poll once. Return the reported changes and the requests."""
        self.gate.requests.clear()
        self.clock.forward(seconds=30)
        assert self.poller.is_due
        news = await self.poller.run()
        return news, list(self.gate.requests)


SPACES = spaces.List(at=ACME, limit=1000)
OPEN = change_requests.ListOfOrganization(at=ACME, status="open", limit=100)


def threads(at: SpaceRef | ChangeRequestRef) -> comments.List:
    return comments.List(at=at, format="markdown")


def markdown(text: str) -> Markdown:
    return Markdown(markdown=text)


@pytest.fixture
async def poller_run(
    gate: RequestGate, cache: ResponseCache, outbox: ManualOutbox, clock: Clock
) -> AsyncIterator[PollerRun]:
    poller_run = PollerRun(gate, cache, outbox, clock)
    await poller_run.follow(SPACES, OPEN)
    yield poller_run
    await poller_run.live.close()


async def test_poll_requests_only_changed_lists(poller_run: PollerRun, ask: Ask, here: SpaceRef) -> None:
    places = [here, *[(await space_with(ask, f"Space {n}", intro="# Hello")).ref for n in range(12)]]
    await poller_run.follow(*(threads(each) for each in places), rank=Rank.AWAITED)
    await poller_run.poll()
    await ask(comments.Create(at=places[7], body=markdown("New")), "ada")
    news, asked = await poller_run.poll()
    assert asked[:2] in ([SPACES, OPEN], [OPEN, SPACES])
    assert asked[2] == threads(places[7]), "what moved first, then two in turn that nothing speaks for"
    assert len(asked) == 5
    assert news.counts == Counter(threads=1)
    assert poller_run.screens[threads(places[7])].texts == ["New"]


async def test_responses_are_current_although_lists_were_fetched_again_before_the_poll(
    poller_run: PollerRun, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    places = [here, *[(await space_with(ask, f"Space {n}", intro="# Hello")).ref for n in range(12)]]
    await poller_run.live.refresh(SPACES)
    await poller_run.follow(*(threads(each) for each in places), rank=Rank.AWAITED)
    clock.forward(seconds=10)
    await ask(comments.Create(at=places[7], body=markdown("New")), "ada")
    for op in (SPACES, OPEN):  # as after a write of the user
        await poller_run.live.refresh(op)
    asked = (await poller_run.poll())[1]
    assert (asked[2], len(asked)) == (threads(places[7]), 5), "the lists, a changed list, and two in turn"


async def test_lists_without_fingerprints_are_polled_in_turn(poller_run: PollerRun, ask: Ask, here: SpaceRef) -> None:
    places = [here, *[(await space_with(ask, f"Space {n}", intro="# Hello")).ref for n in range(5)]]
    await poller_run.follow(*(threads(each) for each in places), rank=Rank.AWAITED)
    await poller_run.poll()  # The lists do not know the spaces yet.
    seen = [op for _ in range(3) for op in (await poller_run.poll())[1] if isinstance(op, comments.List)]
    assert sorted(op.at.space_id for op in seen) == sorted(each.space_id for each in places)


async def test_account_is_polled_once_an_hour(poller_run: PollerRun, clock: Clock) -> None:
    account: list[Operation[Any]] = [users.Me(), organizations.List()]
    await poller_run.follow(*account)
    polls = []
    for _ in range(4):
        clock.forward(minutes=25)
        polls.append((await poller_run.poll())[1])
    assert [sum(op in account for op in asked) for asked in polls] == [0, 0, 2, 0]


async def test_visible_lists_are_polled_each_time_and_pages_when_changed(
    poller_run: PollerRun, ask: Ask, here: SpaceRef, clock: Clock
) -> None:
    page = content.GetPage(at=here, page_id="intro", format="markdown")
    said = await ask(comments.Create(at=here, body=markdown("Why?")), "ada")
    replies = comments.ListReplies(at=here, comment_id=said.id, format="markdown")
    await poller_run.follow(page, replies)
    poller_run.visible = [page, replies]
    await poller_run.poll()
    asked = (await poller_run.poll())[1]
    assert replies in asked
    assert page not in asked
    assert poller_run.live.current_as_of(page) == clock(), "the lists said that it is as it was"


async def test_poll_is_due_after_the_clock_was_set_back(poller_run: PollerRun, clock: Clock) -> None:
    await poller_run.poll()
    assert not poller_run.poller.is_due
    clock.forward(hours=-3)
    assert poller_run.poller.is_due
    await poller_run.poller.run()
    assert not poller_run.poller.is_due


async def test_poll_without_news_notifies_no_watcher(poller_run: PollerRun, here: SpaceRef) -> None:
    await poller_run.follow(threads(here))
    poller_run.visible = [threads(here)]
    await poller_run.poll()  # The lists do not know the space yet.
    shown = {op: len(screen.seen) for op, screen in poller_run.screens.items()}
    for _ in range(3):
        assert (await poller_run.poll())[0].counts == Counter()
    assert {op: len(screen.seen) for op, screen in poller_run.screens.items()} == shown


async def test_changes_of_other_users_are_reported_once(poller_run: PollerRun, ask: Ask, here: SpaceRef) -> None:
    said = await ask(comments.Create(at=here, body=markdown("Why?")), "ada")
    both = (threads(here), comments.List(at=here, format="markdown", status="open"))
    replies = comments.ListReplies(at=here, comment_id=said.id, format="markdown")
    await poller_run.follow(*both, replies)
    poller_run.visible = [*both, replies]
    poller_run.live.outbox.set_account(await ask(users.Me(), "mia"), is_confirmed=True)
    await poller_run.poll()
    await ask(comments.CreateReply(at=here, comment_id=said.id, body=markdown("Because.")), "ada")
    await ask(comments.CreateReply(at=here, comment_id=said.id, body=markdown("So.")), "tom")
    await ask(comments.Create(at=here, body=markdown("Another")), "tom")
    await ask(comments.Create(at=here, body=markdown("Mine")), "mia")
    assert (await poller_run.poll())[0].counts == Counter(threads=1, replies=2)
    assert (await poller_run.poll())[0].counts == Counter()


async def test_merge_is_reported_once_and_an_archive_is_not(poller_run: PollerRun, ask: Ask, here: SpaceRef) -> None:
    made = []
    for subject in ("Merged", "Archived"):
        one = await ask(change_requests.Create(at=here, subject=subject), "ada")
        await ask(change_requests.Update(at=one.ref(here), status="open"), "ada")
        made.append(one.ref(here))
    assert (await poller_run.poll())[0].counts == Counter(change_requests=2)
    await ask(change_requests.Merge(at=made[0]), "ada")
    await ask(change_requests.Update(at=made[1], status="archived"), "ada")
    assert (await poller_run.poll())[0].counts == Counter(merges=1)


async def test_many_merges_are_reported_in_several_polls(poller_run: PollerRun, ask: Ask, here: SpaceRef) -> None:
    requests = [await ask(change_requests.Create(at=here, subject=f"Change {number}"), "ada") for number in range(7)]
    for each in requests:
        await ask(change_requests.Update(at=each.ref(here), status="open"), "ada")
    await poller_run.poll()
    for each in requests:
        await ask(change_requests.Merge(at=each.ref(here)), "ada")
    assert [(await poller_run.poll())[0].counts for _ in range(3)] == [Counter(merges=5), Counter(merges=2), Counter()]


async def test_changes_before_a_failed_request_are_reported(poller_run: PollerRun, ask: Ask, here: SpaceRef) -> None:
    await poller_run.follow(change_requests.ListOfOrganization(at=ACME, status="draft", limit=100))
    merged = await ask(change_requests.Create(at=here, subject="One"))
    await ask(change_requests.Update(at=merged.ref(here), status="open"))
    draft = await ask(change_requests.Create(at=here, subject="Three"), "ada")
    await poller_run.poll()
    await ask(change_requests.Merge(at=merged.ref(here)))
    await ask(change_requests.Update(at=draft.ref(here), status="open"), "ada")
    created = await ask(change_requests.Create(at=here, subject="Two"), "ada")
    await ask(change_requests.Update(at=created.ref(here), status="open"), "ada")
    is_lost = False

    async def lose_after_the_change_requests(op: Operation[Any]) -> Any:
        nonlocal is_lost
        if is_lost:
            raise NotSent("Can't reach the server.")
        response = await poller_run.gate(op)
        is_lost = op == OPEN
        return response

    poller_run.live.send = lose_after_the_change_requests
    assert (await poller_run.poll())[0].counts == Counter(change_requests=1), "the draft that was opened is not new"
    poller_run.live.send = poller_run.gate
    poller_run.clock.forward(minutes=10)
    assert (await poller_run.poll())[0].counts == Counter(merges=1)


async def test_polls_become_less_frequent_without_key_presses(poller_run: PollerRun, clock: Clock) -> None:
    begin = clock()

    async def count_polls(until: timedelta) -> int:
        count = 0
        while clock() - begin < until:
            clock.forward(seconds=5)
            if poller_run.poller.is_due:
                await poller_run.poller.run()
                count += 1
        return count

    assert await count_polls(timedelta(minutes=2)) == 4, "each half a minute"
    assert await count_polls(timedelta(minutes=30)) == 14, "each two minutes"
    assert await count_polls(timedelta(minutes=90)) == 6, "each ten minutes"
    poller_run.poller.on_key_pressed()
    assert poller_run.poller.interval == timedelta(seconds=30)


async def test_hidden_app_does_not_poll_and_polls_when_shown(poller_run: PollerRun, clock: Clock) -> None:
    poller_run.live.syncer.set_hidden(True)
    clock.forward(hours=3)
    assert not poller_run.poller.is_due
    poller_run.live.syncer.set_hidden(False)
    poller_run.poller.on_key_pressed()
    assert poller_run.poller.is_due


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (NotSent("Can't reach the server."), [30, 60, 60, 60, 60, 60]),
        (rejected("Busy.", Trace(status=503)), [30, 60, 120, 240, 480, 600]),
    ],
    ids=["offline", "failing"],
)
async def test_failing_polls_try_one_request_at_growing_intervals(
    poller_run: PollerRun, gate: RequestGate, clock: Clock, error: ApiError, expected: list[int]
) -> None:
    poller_run.poller.on_key_pressed()
    gate.requests.clear()
    waits = []
    for _ in range(6):
        poller_run.poller.on_key_pressed()
        began = clock()
        while not poller_run.poller.is_due:
            clock.forward(seconds=5)
            poller_run.poller.on_key_pressed()
        waits.append((clock() - began).total_seconds())
        gate.errors.append(error)
        await poller_run.poller.run()
    assert waits == expected
    assert len(gate.requests) == 6
    assert poller_run.screens[SPACES].now.error is None, "what is on show is as good as it was"
    clock.forward(minutes=10)
    await poller_run.poller.run()
    poller_run.poller.on_key_pressed()
    assert poller_run.poller.interval == timedelta(seconds=30)


async def test_poll_waits_for_the_rate_limit(poller_run: PollerRun, clock: Clock) -> None:
    clock.forward(seconds=60)
    poller_run.low_after = 0
    assert not poller_run.poller.is_due
    poller_run.low_after = None
    assert poller_run.poller.is_due


@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_ignored_after_the_clock_was_set_back(
    poller_run: PollerRun, gate: RequestGate, clock: Clock, status: int
) -> None:
    await poller_run.follow(spaces.List(at=ACME))
    clock.forward(minutes=1)
    gate.errors.append(rejected("Please wait.", Trace(status=status, retry_at=clock() + timedelta(minutes=30))))
    await poller_run.poller.run()
    clock.forward(minutes=20)
    assert not poller_run.poller.is_due
    clock.forward(days=-2)
    assert poller_run.poller.is_due


async def test_poll_ends_at_its_share_of_the_rate_limit(
    poller_run: PollerRun, gate: RequestGate, ask: Ask, here: SpaceRef
) -> None:
    places = [here, *[(await space_with(ask, f"Space {n}", intro="# Hello")).ref for n in range(9)]]
    await poller_run.follow(*(threads(each) for each in places), rank=Rank.AWAITED)
    await poller_run.poll()
    for each in places:
        await ask(comments.Create(at=each, body=markdown("New")), "ada")
    gate.requests.clear()
    poller_run.clock.forward(seconds=30)
    poller_run.low_after = 5
    await poller_run.poller.run()
    assert len(gate.requests) < 9, "the requests that run end, and no other starts"
    poller_run.low_after = None
    moved = [op for op in (await poller_run.poll())[1] if isinstance(op, comments.List)]
    assert len(moved) >= 4, "the rest at the next look"
