"""A merge is sent once."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from octavo.api import change_requests, content, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import Lost, NotSent
from octavo.api.operation import ChangeRequestRef, Operation, SpaceRef
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.change_request_kinds import MergeState
from octavo.data.writes.change_request_writes import merge
from octavo.data.writes.direct import send_unchecked
from tests.data.background_requests import wait_idle
from tests.data.conftest import ManualOutbox
from tests.data.connections import RequestGate, refuse_to_save
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock


@pytest.fixture
def user() -> str:
    return "ada"


@pytest.fixture
async def request_(ask: Ask, here: SpaceRef) -> ChangeRequest:
    """An open change request with one edit of `intro`."""
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    await edit(ask, made.ref(here), "# Intro\n\nHello, reader.")
    return await ask(change_requests.Update(at=made.ref(here), status="open"))


async def edit(ask: Ask, at: ChangeRequestRef, markdown: str) -> None:
    change = content.UpdatePage(page="intro", document=content.DocumentBody(markdown=markdown))
    await ask(content.Edit(at=at, changes=(change,)))


@pytest.fixture
async def at(request_: ChangeRequest, here: SpaceRef, ask: Ask) -> ChangeRequestRef:
    return request_.ref(here)


async def current_state(ask: Ask, at: ChangeRequestRef) -> MergeState:
    """Return the state that merge checks would record now."""
    return MergeState(await ask(change_requests.Get(at=at)), (await ask(spaces.Get(at=at.space))).revision)


async def merge_other(ask: Ask, here: SpaceRef, subject: str) -> None:
    """Merge another change request, which edits another page."""
    made = await ask(change_requests.Create(at=here, subject=subject))
    change = content.UpdatePage(page="usage", document=content.DocumentBody(markdown=f"# Usage\n\n{subject}."))
    await ask(content.Edit(at=made.ref(here), changes=(change,)))
    await ask(change_requests.Merge(at=made.ref(here)))


def count_merges(gate: RequestGate) -> int:
    return sum(isinstance(op, change_requests.Merge) for op in gate.writes)


class SleepCounter:
    """A sleep function that returns immediately and adds up the seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    async def __call__(self, seconds: float) -> None:
        self.seconds += seconds
        await asyncio.sleep(0)


@pytest.fixture
async def live_losing_merges(
    gate: RequestGate, cache: ResponseCache, outbox: ManualOutbox, clock: Clock
) -> AsyncIterator[Live]:
    """Yield a Live that loses the response of every merge."""

    async def send(op: Operation[Any]) -> Any:
        answer = await gate(op)
        if isinstance(op, change_requests.Merge):
            raise Lost("The connection broke.")
        return answer

    live = Live(send, cache, outbox, now=clock)
    yield live
    await live.close()


async def test_merge_of_the_checked_state_is_sent_and_refreshed(live: Live, ask: Ask, at: ChangeRequestRef) -> None:
    seen: list[Any] = []
    live.watch(change_requests.Get(at=at), seen.append)
    live.watch(content.GetPage(at=at.space, page_id="intro", format="markdown"), seen.append)
    await wait_idle(live)
    outcome = await merge(live, at, await current_state(ask, at))
    await wait_idle(live)
    assert outcome.kind == "done"
    assert outcome.result == change_requests.MergeResult(
        revision=(await ask(change_requests.Get(at=at))).revision_merged, result="merge"
    )
    assert live.peek(change_requests.Get(at=at)).value.status == "merged"  # type: ignore[union-attr]  # the response was loaded
    page = live.peek(content.GetPage(at=at.space, page_id="intro", format="markdown")).value
    assert page
    assert "Hello, reader." in (page.markdown or "")


async def test_change_request_edited_after_the_checks_is_not_merged(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    checked = await current_state(ask, at)
    await edit(ask, at, "# Intro\n\nSomething else.")
    outcome = await merge(live, at, checked)
    edited = (
        "This change request has been edited since the checks were loaded. Review the checks again before you merge."
    )
    assert (outcome.kind, outcome.message) == ("changed", edited)
    assert count_merges(gate) == 0
    assert (await merge(live, at, await current_state(ask, at))).kind == "done"


async def test_merge_for_an_older_main_is_refused_and_names_the_merges(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, here: SpaceRef
) -> None:
    for subject in (
        "Press more",
        "Press less",
    ):  # For the second merge, the checks also know that the change request is outdated.
        checked = await current_state(ask, at)
        await merge_other(ask, here, subject)
        outcome = await merge(live, at, checked)
        number = (await ask(change_requests.List(at=here, status="merged"))).items[0].number
        main = f"Main has changed since the checks were loaded: #{number} {subject} was merged. Review the checks again before you merge."
        assert (outcome.kind, outcome.message) == ("changed", main)
    assert count_merges(gate) == 0
    assert (await merge(live, at, await current_state(ask, at))).kind == "done"


async def test_refused_merge_names_an_edit_and_a_newer_main(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, here: SpaceRef
) -> None:
    checked = await current_state(ask, at)
    await edit(ask, at, "# Intro\n\nSomething else.")
    await merge_other(ask, here, "Press more")
    outcome = await merge(live, at, checked)
    assert outcome.message.startswith(
        "This change request has been edited since the checks were loaded. Main has changed since the"
    )
    assert count_merges(gate) == 0


async def test_refused_merge_reports_a_changed_main_without_its_revision(
    live: Live, gate: RequestGate, platform: Platform, ask: Ask, at: ChangeRequestRef, here: SpaceRef
) -> None:
    checked = await current_state(ask, at)
    await merge_other(ask, here, "Press more")
    platform.refuse_next(content.Get, 403, "Revisions are not for you.")
    outcome = await merge(live, at, checked)
    assert outcome.message == "Main has changed since the checks were loaded. Review the checks again before you merge."
    assert count_merges(gate) == 0


async def test_merge_with_inconsistent_checks_is_refused(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, here: SpaceRef
) -> None:
    before = await current_state(ask, at)
    await merge_other(ask, here, "Press more")
    now = await current_state(ask, at)
    outcome = await merge(live, at, MergeState(before.change_request, now.main_revision))
    assert outcome.kind == "changed"
    assert outcome.message.startswith("Main has changed since the checks were loaded")
    assert count_merges(gate) == 0


async def test_change_request_and_main_are_read_right_before_the_merge(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    checked = await current_state(ask, at)
    gate.requests.clear()
    await merge(live, at, checked)
    kinds = [type(op) for op in gate.requests]
    last = kinds.index(change_requests.Merge)
    assert set(kinds[last - 2 : last]) == {change_requests.Get, spaces.Get}


async def test_two_key_presses_send_one_merge(live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef) -> None:
    seen = await current_state(ask, at)
    first, second = await asyncio.gather(merge(live, at, seen), merge(live, at, seen))
    assert (first.kind, second.kind) == ("done", "done")
    assert count_merges(gate) == 1


async def test_merge_with_a_lost_response_is_found_and_not_sent_again(
    live_losing_merges: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    outcome = await merge(live_losing_merges, at, await current_state(ask, at))
    assert outcome.kind == "done"
    assert outcome.result
    assert outcome.result.revision == (await ask(change_requests.Get(at=at))).revision_merged
    assert count_merges(gate) == 1


async def test_lost_merge_is_looked_up_for_a_minute(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    seen = await current_state(ask, at)

    async def send(op: Operation[Any]) -> Any:
        if isinstance(op, change_requests.Merge):
            gate.requests.append(op)
            raise Lost("The connection broke.")
        return await gate(op)

    live.send, live.outbox.state.sleep = send, (sleeps := SleepCounter())
    outcome = await merge(live, at, seen)
    assert (outcome.kind, sleeps.seconds) == ("unknown", 62.0)
    assert "Octavo did not retry" in outcome.message
    assert count_merges(gate) == 1
    live.send = gate
    assert (await merge(live, at, seen)).kind == "done", "the user may send the merge again"


async def test_refused_merge_is_reported_with_the_message_of_the_server(
    live: Live, platform: Platform, ask: Ask, at: ChangeRequestRef
) -> None:
    platform.refuse_next(change_requests.Merge, 403, "Your role may not merge.")
    outcome = await merge(live, at, await current_state(ask, at))
    assert (outcome.kind, outcome.message) == ("refused", "Could not merge #1: Your role may not merge.")
    platform.refuse_next(change_requests.Merge, 409, "It is being edited.")
    outcome = await merge(live, at, await current_state(ask, at))
    assert (outcome.kind, outcome.message) == ("refused", "Could not merge #1: It is being edited.")


async def test_offline_merge_is_refused_and_not_queued(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    seen = await current_state(ask, at)
    gate.errors.append(NotSent("Can't reach the server."))
    outcome = await merge(live, at, seen)
    assert (outcome.kind, outcome.message) == ("refused", "Could not merge #1: Can't reach the server.")
    assert live.outbox.entries == ()
    assert count_merges(gate) == 0


async def test_merge_of_a_merged_change_request_succeeds(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    checked = await current_state(ask, at)
    await ask(change_requests.Merge(at=at))
    assert (await merge(live, at, checked)).kind == "done"
    assert count_merges(gate) == 0


async def test_refused_merge_names_conflicts(live: Live, ask: Ask, here: SpaceRef, at: ChangeRequestRef) -> None:
    other = await ask(change_requests.Create(at=here, subject="Say less"))
    await edit(ask, other.ref(here), "# Intro\n\nBye.")
    await ask(change_requests.Merge(at=other.ref(here)))
    outcome = await merge(live, at, await current_state(ask, at))
    assert outcome.result
    assert outcome.result.result == "conflicts"


async def test_claim_of_an_ended_instance_expires(
    live: Live, gate: RequestGate, state: StateDb, ask: Ask, at: ChangeRequestRef, clock: Clock
) -> None:
    row = (state.namespace, f"merge {at.space_id}/{at.change_request_id}", clock().timestamp())
    await state.write(lambda db: db.execute("INSERT INTO once VALUES (?, ?, ?, NULL)", row))
    seen = await current_state(ask, at)
    assert (await merge(live, at, seen)).kind == "unknown"
    assert count_merges(gate) == 0
    clock.forward(seconds=181)
    assert (await merge(live, at, seen)).kind == "done"


async def test_outcome_is_reported_even_if_it_cannot_be_saved(
    live: Live, gate: RequestGate, state: StateDb, ask: Ask, at: ChangeRequestRef
) -> None:
    async def send(op: Operation[Any]) -> Any:
        if isinstance(op, change_requests.Merge):
            allow.append(refuse_to_save(state))
        return await gate(op)

    allow: list[Callable[[], None]] = []
    live.send = send
    outcome = await merge(live, at, await current_state(ask, at))
    assert (outcome.kind, outcome.message) == ("done", "")
    allow[0]()


async def test_search_for_a_lost_merge_ends_a_minute_after_its_request(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, clock: Clock
) -> None:
    seen, searches, searched_after = await current_state(ask, at), 0, list[int]()

    async def send(op: Operation[Any]) -> Any:
        nonlocal searches
        if isinstance(op, change_requests.Merge):
            gate.requests.append(op)
            clock.forward(seconds=25)
            raise Lost("The connection broke.")
        if count_merges(gate):  # Each search is slow.
            searches += 1
            clock.forward(seconds=10)
        return await gate(op)

    async def sleep(seconds: float) -> None:
        clock.forward(seconds=seconds)

    live.send, live.outbox.state.sleep = send, sleep
    outcome = await merge(live, at, seen, lambda: searched_after.append(count_merges(gate)))
    assert (outcome.kind, searches, searched_after) == ("unknown", 4, [1])


WARNING = "The change may have been made. Check the current state before you try again."


@pytest.mark.parametrize("write", ["in the table", "plain"])
@pytest.mark.parametrize("failure", ["error 500", "lost response"])
async def test_unknown_outcome_names_the_action_and_warns_once(
    live: Live, platform: Platform, gate: RequestGate, ask: Ask, at: ChangeRequestRef, write: str, failure: str
) -> None:
    live.outbox.state.sleep = SleepCounter()
    op: Operation[Any] = change_requests.Merge(at=at) if write == "in the table" else spaces.Duplicate(at=at.space)
    seen = await current_state(ask, at)
    if failure == "error 500":
        platform.refuse_next(type(op), 500, "The platform stumbled.")
        cause = "octavo.test reported an error (500): The platform stumbled."
    else:
        cause = "octavo.test did not respond within 10 s."

        async def lose_response(sent: Operation[Any]) -> Any:
            if sent == op:
                raise Lost(f"{cause} {WARNING}")
            return await gate(sent)

        live.send = lose_response  # type: ignore[assignment]  # loses the response of one operation
    if write == "plain":
        sent = await send_unchecked(live, op, "Could not duplicate Handbook")
        assert (sent.kind, sent.message) == ("unknown", f"Could not duplicate Handbook: {cause} {WARNING}")
    else:
        sent = await merge(live, at, seen)
        rest = "After one minute, the server has not merged #1. Octavo did not retry. Check the current state, then try again."
        assert (sent.kind, sent.message) == ("unknown", f"Could not merge #1: {cause} {rest}")


async def test_lost_merge_is_not_called_missing_if_the_server_could_not_be_asked(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    live.outbox.state.sleep = SleepCounter()
    seen, is_lost = await current_state(ask, at), False

    async def break_connection(op: Operation[Any]) -> Any:
        nonlocal is_lost
        is_lost = is_lost or isinstance(op, change_requests.Merge)
        if isinstance(op, change_requests.Merge):
            await gate(op)
            raise Lost("The connection broke.")
        if is_lost:
            raise NotSent("Can't reach the server.")
        return await gate(op)

    live.send = break_connection
    sent = await merge(live, at, seen)
    assert sent.message == (
        "Could not merge #1: The connection broke. Could not check the result: Can't reach the server. "
        "Octavo did not retry. Check the current state, then try again."
    )
