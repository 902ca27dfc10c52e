"""The sync queue on asyncio: canceled callers, planners, passes and failures."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import timedelta
from typing import Any

import pytest

from octavo.api.errors import ApiError, Forbidden, Lost, NotSent, RateLimited, ServerError
from octavo.api.operation import Operation, SpaceRef
from octavo.api.spaces import Get, Space
from octavo.api.wire import encode
from octavo.data.response_cache import ResponseCache
from octavo.data.sync_queue import MAX_BACKGROUND, MAX_REQUESTS_BY_RANK, NeededResponse, Rank
from octavo.data.syncer import Syncer
from tests.data.background_requests import is_fetching, wait_fetched
from tests.data.conftest import run_sync
from tests.server.small_platform import START, Clock


def op(name: str) -> Get:
    return Get(at=SpaceRef(space_id=name))


def needed(name: str, owner: str, rank: Rank = Rank.INBOX, fingerprint: str = "1", **more: Any) -> NeededResponse:
    return NeededResponse(op(name), encode(op(name)).url, owner, rank, fingerprint, **more)


class SpaceServer:
    """Responds to reads of spaces. The title of a space names other spaces that planners then needed. Stores responses as Live does."""

    def __init__(self, cache: ResponseCache) -> None:
        self.cache = cache
        self.titles: dict[str, str] = {}
        self.versions: Counter[str] = Counter()
        """Number of writes to each space."""
        self.requests: list[str] = []
        self.errors: dict[str, Exception] = {}
        self.shown: list[tuple[str, str]] = []
        self.running: Counter[str] = Counter()
        self.most_running = 0
        self.held: set[str] = set()
        """Spaces whose response is held back."""
        self.gate = asyncio.Event()
        self.gate.set()
        self.delay: Callable[[], float] = lambda: 0.0

    async def read(self, op: Operation[Any], most: int) -> Space:
        name = op.at.space_id  # type: ignore[attr-defined]  # all operations read a space
        self.requests.append(name)
        self.running[name] += 1
        assert self.running[name] == 1, "one request for each response at a time"
        self.most_running = max(self.most_running, self.running.total())
        try:
            value = Space(id=name, title=self.titles.get(name, ""), comments=self.versions[name])
            await (asyncio.Event() if name in self.held else self.gate).wait()
            await asyncio.sleep(self.delay())
            if (error := self.errors.get(name)) is not None:
                raise error
            return value
        finally:
            self.running[name] -= 1

    def accept(self, op: Operation[Any], response: Space, again: bool) -> Space:
        self.cache.put(op, response)
        return response

    def fail(self, op: Operation[Any], error: ApiError) -> None:
        self.shown.append((op.at.space_id, str(error)))  # type: ignore[attr-defined]  # all operations read a space

    def syncer(self, clock: Clock, low: Callable[[], float] = lambda: 0.0) -> Syncer[Space]:
        return Syncer(self.cache, self.read, self.accept, self.fail, now=clock, rate_limit_wait=low)


class SpacePlanner:
    """A planner that needs some spaces, and the spaces that their titles name."""

    def __init__(self, *roots: str, owner: str = "planner", rank: Rank = Rank.INBOX) -> None:
        self.owner, self.rank = owner, rank
        self.fingerprints = dict.fromkeys(roots, "1")
        self.followed: list[str] = []

    def needed_responses(self) -> Iterable[NeededResponse]:
        for name, fingerprint in self.fingerprints.items():
            yield needed(name, self.owner, self.rank, fingerprint, needs_cached_value=True, label=f"the space {name}")

    def on_response(self, needed: NeededResponse, value: Space) -> Iterable[NeededResponse]:
        self.followed.append(value.id)
        for name in value.title.split():
            yield globals()["needed"](name.rstrip("+"), self.owner, self.rank, needs_cached_value=name.endswith("+"))


@pytest.fixture
def server(cache: ResponseCache) -> SpaceServer:
    return SpaceServer(cache)


@pytest.fixture
async def syncer(server: SpaceServer, clock: Clock) -> AsyncIterator[Syncer[Space]]:
    syncer = server.syncer(clock)
    yield syncer
    await syncer.close()


async def run_ready_tasks(number: int = 8) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


class TestCallers:
    """Callers share a request. Each caller can be canceled."""

    @pytest.mark.parametrize("seed", range(12))
    async def test_canceled_callers_leave_nothing_and_reads_see_earlier_writes(
        self, seed: int, server: SpaceServer, syncer: Syncer[Space]
    ) -> None:
        rng = random.Random(seed)
        names = [f"n{number}" for number in range(6)]
        server.delay = lambda: rng.choice([0, 0.001, 0.002])

        async def reader() -> int:
            name, patience = rng.choice(names), rng.choice([0, 0.0005, 0.002, None])
            await asyncio.sleep(rng.choice([0, 0.001, 0.002, 0.003]))
            if rng.random() < 0.3:
                server.versions[name] += 1
                syncer.mark_affected_stale(lambda other: other == op(name))
            least = server.versions[name]
            try:
                async with asyncio.timeout(patience):
                    value = await syncer.get(op(name), rng.choice([Rank.NOW, Rank.AWAITED, Rank.PREFETCH]))
            except TimeoutError:
                return 0
            assert least <= value.comments <= server.versions[name]
            return 1

        async def owner(name: str, rank: Rank) -> int:
            for _ in range(6):
                run_sync(syncer, name, [needed(each, name, rank) for each in rng.sample(names, rng.randint(0, 5))])
                await asyncio.sleep(rng.choice([0, 0.001]))
            syncer.drop(name)
            return 0

        async with asyncio.timeout(60):
            ranks = {"inbox": Rank.INBOX, "offline": Rank.OFFLINE, "poll": Rank.VISIBLE}
            readers, keepers = [reader() for _ in range(50)], [owner(*each) for each in ranks.items()]
            assert sum(await asyncio.gather(*readers, *keepers)) > 0
            await wait_fetched(syncer)
        await run_ready_tasks()
        assert not syncer.queue.requests
        assert not is_fetching(syncer)
        assert not any(syncer.queue.is_needed(encode(op(name)).url) for name in names)
        assert not server.running.total()

    async def test_last_caller_to_leave_cancels_the_request(self, server: SpaceServer, syncer: Syncer[Space]) -> None:
        server.gate.clear()
        callers = [asyncio.create_task(syncer.get(op("a"))) for _ in range(3)]
        await run_ready_tasks()
        for number, caller in enumerate(callers):
            assert server.running["a"] == 1, number
            caller.cancel()
            await run_ready_tasks()
        assert server.running["a"] == 0
        assert server.requests == ["a"]

    async def test_bug_is_raised_to_the_caller_and_shown(
        self, server: SpaceServer, syncer: Syncer[Space], clock: Clock
    ) -> None:
        server.errors["a"] = KeyError("a bug")
        reports: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: reports.append(context["exception"]))
        with pytest.raises(KeyError, match="a bug"):
            await syncer.get(op("a"))
        await run_ready_tasks()
        assert reports == [server.errors["a"]]
        assert server.shown == [("a", "Could not load the response. This is a bug in Octavo.")]
        del server.errors["a"]
        assert (await syncer.get(op("a"))).id == "a"

    async def test_end_of_the_session_ends_all_waiting(self, server: SpaceServer, syncer: Syncer[Space]) -> None:
        server.gate.clear()
        syncer.run(SpacePlanner("b"))
        waiting = [asyncio.create_task(each) for each in (syncer.get(op("a")), syncer.wait_idle("planner"))]
        await run_ready_tasks()
        await syncer.close()
        await asyncio.wait(waiting, timeout=5)
        assert waiting[0].cancelled()
        assert waiting[1].done()
        assert not server.running.total()
        assert server.shown == [], "no screen is told of an end that was asked for"
        with pytest.raises(NotSent, match="ended"):
            await syncer.get(op("a"))


class TestPlanners:
    """Planners say which responses they need. The Syncer fetches the outdated ones."""

    async def test_nested_responses_are_fetched_once_and_not_at_the_next_start(
        self, server: SpaceServer, syncer: Syncer[Space], clock: Clock
    ) -> None:
        server.titles = {"root": "a b branch+", "branch": "c d"}
        plan = SpacePlanner("root")
        syncer.run(plan)
        await syncer.wait_idle("planner")
        assert Counter(server.requests) == Counter(["root", "a", "b", "branch", "c", "d"])
        assert syncer.progress("planner") == (6, 0, 6)
        server.requests.clear()
        later = server.syncer(clock)
        again = SpacePlanner("root")
        later.run(again)
        await later.wait_idle("planner")
        assert server.requests == []
        assert again.followed == ["root", "branch"], "both are read from disk"
        assert later.progress("planner") == (6, 0, 0)
        await later.close()

    async def test_only_changed_and_wanted_responses_are_fetched(
        self, server: SpaceServer, syncer: Syncer[Space]
    ) -> None:
        server.titles = {"root": "a b"}
        plan = SpacePlanner("root")
        syncer.run(plan)
        await syncer.wait_idle("planner")
        server.requests.clear()
        server.titles["root"], plan.fingerprints["root"] = "b c", "2"
        syncer.run(plan)
        await syncer.wait_idle("planner")
        assert server.requests == ["root", "c"]
        assert syncer.progress("planner") == (3, 0, 2)
        server.held.add("d")
        server.titles["root"], plan.fingerprints["root"] = "d", "3"
        syncer.run(plan)
        await run_ready_tasks(20)
        assert server.running["d"] == 1
        server.titles["root"], plan.fingerprints["root"] = "e", "4"
        syncer.run(plan)
        await syncer.wait_idle("planner")
        assert server.running["d"] == 0, "the request that the new list leaves out is cancelled"
        assert syncer.progress("planner") == (2, 0, 3)

    async def test_response_missing_on_disk_is_fetched_again(
        self, server: SpaceServer, syncer: Syncer[Space], cache: ResponseCache
    ) -> None:
        cache.put_version(encode(op("root")).url, "1")
        syncer.run(SpacePlanner("root"))
        await syncer.wait_idle("planner")
        assert server.requests == ["root"]

    async def test_missing_response_is_fetched_once_over_two_passes(
        self, server: SpaceServer, syncer: Syncer[Space], cache: ResponseCache
    ) -> None:
        cache.put_version(encode(op("root")).url, "1")
        server.gate.clear()
        plan = SpacePlanner("root")
        syncer.run(plan)
        await syncer.wait_planned("planner")
        syncer.run(plan)
        await syncer.wait_planned("planner")
        server.gate.set()
        await syncer.wait_idle("planner")
        assert server.requests == ["root"]

    async def test_responses_are_read_from_disk_only_for_new_versions(
        self, server: SpaceServer, syncer: Syncer[Space], cache: ResponseCache, clock: Clock
    ) -> None:
        server.titles = {"root": "a"}
        plan = SpacePlanner("root")
        for retries_refused in (False, True):
            syncer.run(plan, retries_refused=retries_refused)
            await syncer.wait_idle("planner")
        assert (plan.followed, server.requests) == (["root", "a"], ["root", "a"]), "both were fetched in this run"
        clock.forward(seconds=1)
        cache.put(op("root"), Space(id="root", title="b"))
        cache.put_version(encode(op("root")).url, "1", requested_at=clock())
        syncer.run(plan)
        await syncer.wait_idle("planner")
        assert (plan.followed, server.requests) == (["root", "a", "root", "b"], ["root", "a", "b"])
        later = SpacePlanner("root")
        syncer.run(later)
        await syncer.wait_idle("planner")
        assert later.followed == ["root"], "a new planner has seen no response"

    async def test_second_want_for_a_response_counts(self, server: SpaceServer, syncer: Syncer[Space]) -> None:
        class WantsTwice(SpacePlanner):
            def needed_responses(self) -> Iterable[NeededResponse]:
                yield needed("a", "planner", fingerprint="1")
                yield needed("a", "planner", fingerprint="1", max_age=timedelta())

        for _ in range(2):
            syncer.run(WantsTwice())
            await syncer.wait_idle("planner")
        assert server.requests == ["a", "a"]

    async def test_progress_is_counted_up_to_a_rank(self, server: SpaceServer, syncer: Syncer[Space]) -> None:
        server.held |= {"later", "needed"}
        run_sync(
            syncer,
            "planner",
            [needed("needed", "planner"), needed("fine", "planner"), needed("later", "planner", Rank.LATER)],
        )
        await run_ready_tasks(20)
        assert syncer.progress("planner") == (3, 2, 3)
        assert syncer.progress("planner", Rank.PREFETCH) == (2, 1, 2)

    async def test_refusal_is_retried_by_a_refresh_and_failure_by_each_pass(
        self, server: SpaceServer, syncer: Syncer[Space]
    ) -> None:
        server.errors = {"secret": Forbidden("You need a role."), "slow": ServerError("The server failed.")}
        plan = SpacePlanner("secret", "slow", "fine")
        passes = ((False, ["fine", "secret", "slow"]), (False, ["slow"]), (True, ["secret", "slow"]))
        for retries_refused, asked in passes:
            server.requests.clear()
            syncer.run(plan, retries_refused=retries_refused)
            await syncer.wait_idle("planner")
            assert sorted(server.requests) == asked
            assert {(each.needed.label, each.cause) for each in syncer.failures("planner")} == {
                ("the space secret", "You need a role."),
                ("the space slow", "The server failed."),
            }
        server.errors.clear()
        syncer.run(plan, retries_refused=True)
        await syncer.wait_idle("planner")
        assert syncer.failures("planner") == ()

    async def test_unreachable_server_ends_the_wait_until_a_response(
        self, server: SpaceServer, syncer: Syncer[Space]
    ) -> None:
        names = [f"n{number}" for number in range(9)]
        server.errors = {name: NotSent("Can't reach the server.") for name in names}
        plan = SpacePlanner(*names)
        syncer.run(plan)
        await syncer.wait_idle("planner")
        assert len(server.requests) == MAX_BACKGROUND, "the others are not tried"
        assert [each.is_unreached for each in syncer.failures("planner")] == [True] * MAX_BACKGROUND
        server.errors.clear()
        await syncer.get(op("other"))
        await syncer.wait_idle("planner")
        assert syncer.progress("planner") == (9, 0, 9)
        assert syncer.failures("planner") == ()

    async def test_confirmed_write_ends_the_pause(self, server: SpaceServer, syncer: Syncer[Space]) -> None:
        server.errors = {"a": NotSent("Can't reach the server.")}
        syncer.run(SpacePlanner("a"))
        await syncer.wait_idle("planner")
        server.errors.clear()
        syncer.end_pause()
        await syncer.wait_idle("planner")
        assert server.requests == ["a", "a"]

    async def test_response_possibly_changed_by_a_write_is_fetched_again(
        self, server: SpaceServer, syncer: Syncer[Space], cache: ResponseCache
    ) -> None:
        server.gate.clear()
        plan = SpacePlanner("a")
        syncer.run(plan)
        await run_ready_tasks(12)
        syncer.mark_affected_stale(lambda other: other == op("a"))
        server.gate.set()
        await syncer.wait_idle("planner")
        assert server.requests == ["a", "a"]
        assert plan.followed == ["a"]
        assert cache.versions[encode(op("a")).url].fingerprint == "1"

    async def test_dropped_planner_leaves_no_request_and_no_follow_up(
        self, server: SpaceServer, syncer: Syncer[Space]
    ) -> None:
        server.gate.clear()
        plan, other = SpacePlanner("a", "b"), SpacePlanner("b", owner="other")
        syncer.run(plan)
        syncer.run(plan)
        syncer.run(other)
        await run_ready_tasks(12)
        syncer.drop("planner")
        await run_ready_tasks()
        assert server.running == {"a": 0, "b": 1}
        server.gate.set()
        await wait_fetched(syncer)
        assert (plan.followed, other.followed) == ([], ["b"])
        assert syncer.progress("planner") == (0, 0, 0)
        assert syncer.failures("planner") == ()

    async def test_two_planners_share_a_request_and_are_both_notified(
        self, server: SpaceServer, syncer: Syncer[Space]
    ) -> None:
        one, other, notified = SpacePlanner("a"), SpacePlanner("a", owner="other", rank=Rank.OFFLINE), Counter[str]()
        syncer.changed.add(lambda owner: notified.update([owner]))
        for plan in (one, other):
            syncer.run(plan)
        await wait_fetched(syncer)
        assert (server.requests, one.followed, other.followed) == (["a"], ["a"], ["a"])
        assert notified.keys() == {"planner", "other"}

    async def test_inbox_does_not_wait_for_low_priority_responses(
        self, server: SpaceServer, syncer: Syncer[Space]
    ) -> None:
        run_sync(syncer, "inbox", [needed("a", "inbox"), *(needed(f"t{n}", "inbox", Rank.LATER) for n in range(3))])
        await syncer.wait_idle("inbox", Rank.PREFETCH)
        assert server.requests[0] == "a"
        assert syncer.progress("inbox").missing_count >= 2
        assert not syncer.is_idle("inbox")

    @pytest.mark.parametrize(
        ("rank", "limit"), [(Rank.INBOX, MAX_BACKGROUND), (Rank.OFFLINE, MAX_REQUESTS_BY_RANK[Rank.OFFLINE])]
    )
    async def test_background_budget_does_not_delay_the_user(
        self, server: SpaceServer, syncer: Syncer[Space], rank: Rank, limit: int
    ) -> None:
        server.gate.clear()
        run_sync(syncer, "many", [needed(f"n{number}", "many", rank) for number in range(12)])
        await run_ready_tasks()
        assert server.running.total() == limit
        reading = [asyncio.create_task(syncer.get(op(f"page {n}"))) for n in range(3)]
        await run_ready_tasks()
        assert server.running.total() == limit + 3
        server.gate.set()
        await asyncio.gather(*reading)
        await syncer.wait_idle("many")
        assert len(server.requests) == 15

    async def test_background_stops_while_hidden_or_near_the_rate_limit(
        self, server: SpaceServer, clock: Clock
    ) -> None:
        seconds = [0.0]
        syncer = server.syncer(clock, low=lambda: seconds[0])
        syncer.set_hidden(True)
        run_sync(syncer, "inbox", [needed("a", "inbox", Rank.VISIBLE)])
        run_sync(syncer, "offline", [needed("b", "offline", Rank.OFFLINE)])
        await wait_fetched(syncer)
        assert server.requests == ["b"]
        seconds[0] = 0.01
        syncer.set_hidden(False)
        await run_ready_tasks()
        assert server.requests == ["b"]
        assert (await syncer.get(op("c"))).id == "c"
        seconds[0] = 0.0
        async with asyncio.timeout(60):
            while len(server.requests) < 3:  # noqa: ASYNC110  # no event marks the rate limit
                await asyncio.sleep(0.01)
        assert server.requests == ["b", "c", "a"]
        await syncer.close()

    async def test_pause_ends_by_itself(self, server: SpaceServer, syncer: Syncer[Space], clock: Clock) -> None:
        server.errors = {"a": RateLimited("Too many requests.")}
        run_sync(syncer, "inbox", [needed("a", "inbox", Rank.VISIBLE)])
        await wait_fetched(syncer)
        at = syncer.queue.wake_at(clock())
        assert at is not None
        assert at - clock() == timedelta(seconds=5)
        server.errors.clear()
        clock.forward(seconds=5)
        syncer.add(needed("b", "view", Rank.VISIBLE))
        await wait_fetched(syncer)
        assert sorted(server.requests) == ["a", "a", "b"]

    async def test_spaced_requests_start_by_themselves(self, server: SpaceServer) -> None:
        time = asyncio.get_running_loop().time
        now = lambda: START + timedelta(seconds=time())  # noqa: E731  # the real time of the loop, which tests may skip
        syncer = Syncer(server.cache, server.read, server.accept, server.fail, now=now)
        run_sync(syncer, "inbox", [needed(f"t{n}", "inbox", Rank.LATER) for n in range(3)])
        async with asyncio.timeout(60):
            await syncer.wait_idle("inbox")
        assert server.requests == ["t0", "t1", "t2"]
        await syncer.close()

    async def test_ten_thousand_unchanged_responses_do_not_block_the_loop(
        self, server: SpaceServer, syncer: Syncer[Space], cache: ResponseCache
    ) -> None:
        plan = SpacePlanner(*(f"n{number}" for number in range(10_000)))
        plan.needed_responses = lambda: (needed(name, "planner") for name in plan.fingerprints)  # type: ignore[method-assign]  # these spaces lead to no others
        for name in plan.fingerprints:
            cache.put_version(encode(op(name)).url, "1")
        turns = 0
        syncer.run(plan)
        while is_fetching(syncer):
            await asyncio.sleep(0)
            turns += 1
        assert turns > 20
        assert server.requests == []


async def test_failed_request_raises_for_each_caller(server: SpaceServer, syncer: Syncer[Space]) -> None:
    server.errors["a"] = Lost("The connection broke.")
    found = await asyncio.gather(*(syncer.get(op("a")) for _ in range(3)), return_exceptions=True)
    assert [str(each) for each in found] == ["The connection broke."] * 3
    assert server.requests == ["a"]
