"""The outbox while the server refuses writes or the key."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import pairwise
from typing import TypeVar

import pytest
from pydantic import SecretStr

from octavo.api import change_requests, comments, reviews, users
from octavo.api.bodies import Markdown
from octavo.api.errors import ApiError, NotSent, RateLimited, Trace, Unauthorized
from octavo.api.operation import Operation, SpaceRef
from octavo.client.client import Client
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.response_cache import ResponseCache
from octavo.data.state_db import StateDb
from octavo.data.writes.change_request_writes import submit_review
from octavo.data.writes.delivery import ConnectionState
from octavo.data.writes.machine import NewWrite
from tests.data.background_requests import wait_idle
from tests.data.conftest import MIA, ManualOutbox
from tests.data.connections import RequestGate, add_write
from tests.data.snapshot_watcher import SnapshotWatcher
from tests.data.test_outbox import comment, deliver, texts
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock

T = TypeVar("T")


async def test_writes_waiting_for_the_key_are_sent_when_it_is_accepted(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    for words in ("One", "Two"):
        await add_write(outbox, comment(here, words), action="comment")
    gate.errors.append(Unauthorized("The key was revoked."))
    await deliver(outbox, clock)
    assert outbox.connection.needs_sign_in
    outbox.record_response()
    await outbox.send_due()
    assert len(gate.requests) == 1, "a server that takes the key for reads alone is not asked with each of them"
    clock.forward(seconds=30)
    outbox.record_response()
    await outbox.send_due()
    assert (outbox.connection.stop_reason, outbox.entries) == ("", ())
    assert await texts(ask, here) == ["One", "Two"]


def test_pause_ends_with_a_response_unless_the_server_refuses_all_requests(clock: Clock) -> None:
    connection = ConnectionState(clock, lambda: 1.0)
    for _ in range(5):
        connection.record_failure(NotSent("Can't reach the server."))
    connection.record_success()
    assert not connection.is_paused
    connection.record_failure(RateLimited("Too many requests.", Trace(retry_at=clock() + timedelta(seconds=50))))
    connection.record_success()
    assert connection.rate_limited_until is not None
    connection.record_failure(Unauthorized("The key was revoked."))
    connection.record_success()
    assert connection.needs_sign_in


@pytest.mark.parametrize("error", [NotSent("Can't reach the server."), RateLimited("Too many requests.")])
async def test_pause_ends_if_the_clock_is_set_back(
    error: ApiError, outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    await add_write(outbox, comment(here, "One"), action="comment")
    gate.errors.append(error)
    await deliver(outbox, clock)
    clock.forward(hours=-2)
    assert not outbox.connection.is_paused
    await outbox.send_due()
    clock.forward(seconds=5)
    await outbox.send_due()
    assert await texts(ask, here) == ["One"]


async def test_paused_outbox_shows_its_end_and_can_be_resumed_sooner(
    outbox: ManualOutbox, here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock
) -> None:
    for words in ("One", "Two"):
        await add_write(outbox, comment(here, words), action="comment")
    until = clock() + timedelta(hours=20)
    gate.errors.append(RateLimited("Too many requests.", Trace(retry_at=until)))
    await deliver(outbox, clock)
    assert outbox.connection.rate_limited_until == until
    assert outbox.connection.pause_reason == "Not sent yet. Too many requests."
    clock.forward(hours=1)
    await outbox.send_due()
    assert len(gate.requests) == 1
    await outbox.retry(outbox.entries[0].id)
    await outbox.send_due()
    assert outbox.connection.rate_limited_until is None
    assert await texts(ask, here) == ["One", "Two"]


async def test_refused_writes_are_retried_at_growing_intervals(
    here: SpaceRef, gate: RequestGate, ask: Ask, clock: Clock, state: StateDb
) -> None:
    refuses, sent = True, list[datetime]()

    async def send(op: Operation[T]) -> T:
        if refuses and isinstance(op, comments.Create):
            sent.append(clock())
            raise RateLimited("Too many requests.")
        return await gate(op)

    outbox = ManualOutbox(send, state, Drafts(state), jitter=lambda: 1.0)
    for words in ("One", "Two"):
        await add_write(outbox, comment(here, words), action="comment")
    for _ in range(600):
        clock.forward(seconds=1)
        await outbox.send_due()
    waits = [(after - before).total_seconds() for before, after in pairwise(sent)]
    assert waits == sorted(waits), "what is read before it is sent says nothing of whether it may be"
    assert waits[-1] > 60
    refuses = False
    clock.forward(seconds=61)
    await outbox.send_due()
    assert await texts(ask, here) == ["One", "Two"]
    await outbox.close()


async def _outbox_of(person: str, platform: Platform, state: StateDb) -> tuple[Client, ManualOutbox]:
    """Return a client and an outbox on the same disk with the key of `person`. The outbox does not know the user yet."""
    client = Client("http://octavo.test", SecretStr(f"key-{person}"), transport=platform)
    return client, ManualOutbox(client, state, Drafts(state), jitter=lambda: 0.0)


@pytest.mark.parametrize("account_is_known", [False, True])
async def test_writes_of_one_account_are_never_sent_by_another(
    outbox: ManualOutbox,
    here: SpaceRef,
    gate: RequestGate,
    ask: Ask,
    clock: Clock,
    platform: Platform,
    state: StateDb,
    account_is_known: bool,
) -> None:
    for words in ("One", "Two"):
        await add_write(outbox, comment(here, words), action="comment")
    gate.errors.append(Unauthorized("The key was revoked."))
    await deliver(outbox, clock)
    await outbox.add_pending_comments([NewWrite(comment(here, "For a review"), "comment")])
    await outbox.close()

    client, other = await _outbox_of("jun", platform, state)
    if account_is_known:
        other.set_account(MIA, is_confirmed=False)  # The account was recorded in an earlier session.
    await add_write(other, comment(here, "By Jun"), action="comment")
    await deliver(other, clock)
    clock.forward(hours=2)
    await other.send_due()
    assert await texts(ask, here) == ["By Jun"]
    waiting = [each.traits.text for each in other.entries_of_other_accounts]
    assert waiting == ["One", "Two", "For a review"]
    assert other.pending_comments(here) == ()
    assert other.other_account_reason(other.entries_of_other_accounts[0]) == (
        "Mia Lund made this change. Octavo will send it when Mia Lund signs in on this computer again."
    )
    undone = await other.undo_newest()
    assert undone is not None
    assert [each.traits.text for each in undone.undone] == []
    assert await other.undo_newest() is None, "what another wrote is not taken back"
    await other.retry(other.entries_of_other_accounts[0].id)
    await other.send_now(max_wait=0.1)
    await other.send_due()
    assert [each.traits.text for each in other.entries_of_other_accounts] == waiting
    await other.close()
    await client.aclose()

    client, again = await _outbox_of("mia", platform, state)
    await again.send_due()
    there = (await ask(comments.List(at=here, order="asc", format="markdown"))).items
    assert [(each.body.text, each.posted_by.id) for each in there] == [
        ("By Jun", "jun"),
        ("One", "mia"),
        ("Two", "mia"),
    ]
    assert [each.traits.text for each in again.pending_comments(here)] == ["For a review"]
    await again.close()
    await client.aclose()


async def test_unsent_review_of_one_account_does_not_concern_another(
    outbox: ManualOutbox, here: SpaceRef, ask: Ask, clock: Clock, platform: Platform, state: StateDb
) -> None:
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    await ask(change_requests.Update(at=made.ref(here), status="open"))
    at, verdict = made.ref(here), reviews.Submit(at=made.ref(here), status="approved")
    pending = comments.Create(at=at, body=Markdown(markdown="For a review"))
    await outbox.add_pending_comments([NewWrite(pending, "comment")])
    await outbox.submit_review(at, NewWrite(verdict, "approve"))
    await outbox.close()

    client, other = await _outbox_of("tom", platform, state)
    live = Live(client, ResponseCache(None, now=clock), other, now=clock)
    threads = SnapshotWatcher()
    live.watch(comments.List(at=at, format="markdown"), threads)
    await wait_idle(live)
    assert threads.texts == ["For a review"], "the account is not known yet"
    other.set_account(await client(users.Me()), is_confirmed=True)
    assert (threads.texts, other.own_entries) == ([], ())
    submitted = await submit_review(live, at, "approved", made.revision, action="approve")
    assert (submitted.kind, submitted.message) == ("done", "")
    await deliver(other, clock)
    assert [(each.reviewer.id, each.status) for each in (await ask(reviews.List(at=at))).items] == [("tom", "approved")]
    await live.close()
    await other.close()
    await client.aclose()
