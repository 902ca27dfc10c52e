"""Writes with lost or refused responses: repeatable writes finish without the user."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import Any

import pytest
from pydantic import SecretStr

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.errors import NotSent
from octavo.api.operation import Operation, SpaceRef
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.state_db import StateDb
from octavo.data.writes.machine import ExpectedState
from octavo.data.writes.outbox import Outbox
from tests.data.conftest import MIA, ManualOutbox
from tests.data.connections import RequestGate, add_write
from tests.data.test_killed_comments import TOXICS, serve_platform
from tests.data.test_lost_responses import LossyConnection
from tests.data.test_outbox import deliver, thread
from tests.fault_proxy import FaultProxy, Toxic
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock


def outbox_with(outbox: ManualOutbox, send: Any) -> ManualOutbox:
    """Return an outbox of the same user that sends with `send`."""
    return ManualOutbox(send, outbox.state, Drafts(outbox.state), me=MIA, jitter=lambda: 0.0)


async def current_comment(ask: Ask, here: SpaceRef, about: comments.Comment) -> comments.Comment:
    return await ask(comments.Get(at=here, comment_id=about.id, format="markdown"))


async def step_later(outbox: ManualOutbox, clock: Clock, *, times: int, seconds: float = 60) -> None:
    for _ in range(times):
        clock.forward(seconds=seconds)
        await outbox.send_due()


@pytest.mark.parametrize("times", [2, 3, 7])
async def test_idempotent_write_is_repeated_until_it_is_applied(
    times: int, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    changes: list[dict[str, Any]] = [
        {"resolved": True},
        {"added_reactions": ("1f389",)},
        {"body": Markdown(markdown="Is this *right*?")},
    ]
    again = outbox_with(outbox, line := LossyConnection(gate, applied=False, times=times))
    for change in changes:
        await add_write(again, comments.Update(at=here, comment_id=about.id, **change), action="write")
    await deliver(again, clock)
    asked = []
    for _ in range(4 * times + 3):
        await step_later(again, clock, times=1)
        asked += [each.action for each in again.entries if each.needs_user]
    there = await current_comment(ask, here, about)
    assert (again.entries, asked, len(line.writes)) == ((), [], times + 3)
    assert (there.body.text, there.is_open, len(there.reactions)) == ("Is this *right*?", False, 1)
    await again.close()


async def test_applied_write_with_a_lost_response_is_found_within_seconds(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    again = outbox_with(outbox, line := LossyConnection(gate, applied=True, times=1))
    await add_write(again, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread")
    await deliver(again, clock)
    assert [each.state for each in again.entries] == ["unknown"]
    await step_later(again, clock, times=1, seconds=1)
    assert (again.entries, len(line.writes)) == ((), 1)
    await ask(comments.Update(at=here, comment_id=about.id, resolved=False), "ada")
    await step_later(again, clock, times=3)
    assert (await current_comment(ask, here, about)).is_open, "what Ada did afterwards stays"
    await again.close()


@pytest.mark.parametrize("resolves", [True, False])
async def test_lost_resolve_is_not_repeated_after_a_reopen_by_another_user(
    resolves: bool, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    if not resolves:
        await ask(comments.Update(at=here, comment_id=about.id, resolved=True), "ada")
    clock.forward(seconds=60)
    again = outbox_with(outbox, line := LossyConnection(gate, applied=True, times=1))
    entry = await add_write(again, comments.Update(at=here, comment_id=about.id, resolved=resolves), action="write")
    await deliver(again, clock)
    clock.forward(seconds=0.5)
    if resolves:
        answer = comments.CreateReply(at=here, comment_id=about.id, body=Markdown(markdown="Not yet."))
        await ask(answer, "ada")
    await ask(comments.Update(at=here, comment_id=about.id, resolved=not resolves), "ada")
    await step_later(again, clock, times=5)
    [left] = again.entries
    assert (left.state, left.needs_user, len(line.writes)) == ("failed", True, 1)
    assert "someone else" in left.reason
    assert (await current_comment(ask, here, about)).is_open is resolves
    await again.retry(entry.id)
    await step_later(again, clock, times=1)
    assert again.entries == (), "a person said that it shall be so all the same"
    assert (await current_comment(ask, here, about)).is_open is not resolves
    await again.close()


@pytest.mark.parametrize("theirs", ["Version 2 of another window", "Version 1"])
async def test_lost_edit_is_not_repeated_over_another_edit(
    theirs: str, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    mine = await thread(ask, here, "Version 1", user="mia")
    again = outbox_with(outbox, line := LossyConnection(gate, applied=True, times=1))
    again.shown_state_of = lambda op: ExpectedState(text="Version 1")
    edit = comments.Update(at=here, comment_id=mine.id, body=Markdown(markdown="Version 2"))
    entry = await add_write(again, edit, action="edit the comment", draft_key="edit")
    await deliver(again, clock)
    clock.forward(seconds=0.5)
    await ask(comments.Update(at=here, comment_id=mine.id, body=Markdown(markdown=theirs)), "mia")
    await step_later(again, clock, times=5)
    [left] = again.entries
    assert (left.state, left.needs_user, len(line.writes)) == ("failed", True, 1)
    assert (await current_comment(ask, here, mine)).body.text == theirs
    assert Drafts(again.state).get("edit") == "Version 2"
    await again.retry(entry.id)
    await step_later(again, clock, times=1)
    assert (again.entries, (await current_comment(ask, here, mine)).body.text) == ((), "Version 2")
    await again.close()


async def test_lost_reaction_is_repeated_after_new_replies(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here)
    again = outbox_with(outbox, LossyConnection(gate, applied=False, times=1))
    await add_write(again, comments.Update(at=here, comment_id=about.id, added_reactions=("1f44d",)), action="react")
    await deliver(again, clock)
    await ask(comments.CreateReply(at=here, comment_id=about.id, body=Markdown(markdown="So?")), "tom")
    await step_later(again, clock, times=3)
    assert (again.entries, len((await current_comment(ask, here, about)).reactions)) == ((), 1)
    await again.close()


async def test_list_of_threads_is_not_used_after_the_clock_was_set_back(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    threads = [await thread(ask, here, f"Question {number}") for number in range(8)]
    for part in (threads[:4], threads[4:]):
        for each in part:
            op = comments.Update(at=here, comment_id=each.id, resolved=True)
            await add_write(outbox, op, action="resolve the thread")
        await deliver(outbox, clock)
        clock.forward(hours=-1)
    assert outbox.entries == ()
    assert sum(isinstance(op, comments.List) for op in gate.requests) == 2


async def test_new_replies_do_not_stop_a_queued_resolve(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = await thread(ask, here, user="mia")
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread")
    clock.forward(seconds=outbox.undo_seconds)
    await outbox.step()
    gate.errors.extend([NotSent("Can't reach the server.")] * 2)
    await outbox.send_due()
    await ask(comments.CreateReply(at=here, comment_id=about.id, body=Markdown(markdown="So?")), "tom")
    await step_later(outbox, clock, times=3)
    assert (outbox.entries, (await current_comment(ask, here, about)).is_open) == ((), False)


@pytest.mark.parametrize("status", [400, 403, 404])
async def test_permanently_refused_write_is_reported_and_dropped(
    status: int, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock, platform: Platform
) -> None:
    about = await thread(ask, here, user="mia")
    platform.refuse_next(comments.Update, status, "No.")
    await add_write(outbox, comments.Update(at=here, comment_id=about.id, resolved=True), action="resolve the thread")
    await deliver(outbox, clock)
    await step_later(outbox, clock, times=5)
    [left] = outbox.entries
    assert (left.state, left.needs_user, left.reason) == ("failed", False, "Could not resolve the thread: No.")
    assert len(gate.writes) == 1
    await step_later(outbox, clock, times=1, seconds=25 * 3600)
    assert outbox.entries == (), "nobody needs to know for ever"


async def test_text_of_a_permanently_refused_edit_is_kept(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock, drafts: Drafts
) -> None:
    mine = await thread(ask, here, "Version 1", user="mia")
    edit = comments.Update(at=here, comment_id=mine.id, body=Markdown(markdown="Version 2"))
    await add_write(outbox, edit, action="edit the comment", draft_key="edit")
    await ask(comments.Delete(at=here, comment_id=mine.id), "mia")
    await deliver(outbox, clock)
    await step_later(outbox, clock, times=2, seconds=25 * 3600)
    [left] = outbox.entries
    assert (left.state, left.needs_user, drafts.get("edit")) == ("failed", True, "Version 2")


async def test_lost_writes_are_repeated_when_the_connection_is_back(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    about = [await thread(ask, here, str(number), user="mia") for number in range(8)]
    lost = LossyConnection(gate, applied=False, times=1)
    again = outbox_with(outbox, lost)
    for each in about:
        await add_write(again, comments.Update(at=here, comment_id=each.id, resolved=True), action="resolve the thread")
    clock.forward(seconds=again.undo_seconds)
    for _ in range(9):
        await again.step()
    before = len(gate.requests)
    gate.errors.extend([NotSent("Can't reach the server.")] * 100)
    await step_later(again, clock, times=60)
    assert len(gate.requests) - before < 70, "searches become less frequent"
    assert not any(each.needs_user for each in again.entries)
    gate.errors.clear()
    await step_later(again, clock, times=4)
    assert again.entries == ()
    assert [(await current_comment(ask, here, each)).is_open for each in about] == [False] * 8
    await again.close()


class ReconnectingClient:
    """A client with a new connection for each operation, so that each operation meets its own fault."""

    def __init__(self, origin: str) -> None:
        self._origin = origin

    async def __call__(self, op: Operation[Any]) -> Any:
        client = Client(self._origin, SecretStr("key-mia"), deadline=0.3, rng=lambda: 0.02)
        try:
            return await client(op)
        finally:
            await client.aclose()


async def test_idempotent_writes_succeed_over_a_bad_connection(here: SpaceRef, ask: Ask, platform: Platform) -> None:
    chance = random.Random(12)
    about = [await thread(ask, here, str(number), user="mia") for number in range(3)]
    bad = 20

    def choose_fault() -> Toxic:
        nonlocal bad
        bad -= 1
        return chance.choice(TOXICS) if bad > 0 and chance.random() < 0.6 else Toxic()

    state = StateDb(None, "mia@line")
    async with serve_platform(platform) as port, FaultProxy("127.0.0.1", port, otherwise=choose_fault) as proxy:
        mine = Outbox(
            ReconnectingClient(proxy.origin),
            state,
            Drafts(state),
            me=MIA,
            undo_seconds=0.0,
            timeout=0.3,
            arrival_margin=0.8,
            jitter=lambda: 0.0,
        )
        asked: Counter[str] = Counter()
        settled = asyncio.Event()

        def check_entries() -> None:
            asked.update(each.reason for each in mine.entries if each.needs_user)
            if not mine.entries and len(added) == 3 * len(about):
                settled.set()

        added = []
        mine.changed.add(check_entries)
        for number, each in enumerate(about):
            where = {"at": here, "comment_id": each.id}
            for change in (
                {"resolved": True},
                {"added_reactions": ("1f44d",)},
                {"body": Markdown(markdown=f"Edited {number}")},
            ):
                added.append(await add_write(mine, comments.Update(**where, **change), action="write"))
        async with asyncio.timeout(60):
            check_entries()
            await settled.wait()
        await mine.close()
    state.close()
    assert asked == Counter()
    for number, each in enumerate(about):
        there = await current_comment(ask, here, each)
        assert (there.body.text, there.is_open, len(there.reactions)) == (f"Edited {number}", False, 1)
    assert proxy.log.count("ok") < len(proxy.log)
