"""Reviews, updates, new change requests, review requests and status changes are sent once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from octavo.api import change_requests, content, reviews, spaces
from octavo.api.change_requests import ChangeRequest
from octavo.api.errors import ApiError, Conflict, Forbidden, Lost, NotFound, NotSent, Outcome, Trace, rejected
from octavo.api.operation import ChangeRequestRef, Operation, SpaceRef
from octavo.data.drafts import Drafts
from octavo.data.live import Live
from octavo.data.state_db import StateDb
from octavo.data.writes.change_request_kinds import MergeState
from octavo.data.writes.change_request_writes import create, request_reviews, review, save_details, toggle_draft, update
from octavo.data.writes.direct import SEARCH_INTERVAL, SEARCH_SECONDS, SendResult, finish_unfinished, unfinished_writes
from octavo.data.writes.outbox import Outbox
from octavo.documents.markdown_to_json import to_json_document
from tests.data.connections import RequestGate
from tests.server.refusing_platform import Platform
from tests.server.small_platform import Ask, Clock

Decision: TypeAlias = Callable[[], Awaitable[SendResult[Any]]]


async def edit(ask: Ask, at: ChangeRequestRef, page: str, markdown: str) -> None:
    change = content.UpdatePage(page=page, document=content.DocumentBody(markdown=markdown))
    await ask(content.Edit(at=at, changes=(change,)))


@pytest.fixture
async def at(ask: Ask, here: SpaceRef) -> ChangeRequestRef:
    """Create an open change request that edits `intro` and is outdated."""
    made = await ask(change_requests.Create(at=here, subject="Say more"))
    await edit(ask, made.ref(here), "intro", "# Intro\n\nHello, reader.")
    await ask(change_requests.Update(at=made.ref(here), status="open"))
    other = await ask(change_requests.Create(at=here, subject="Press more"))
    await edit(ask, other.ref(here), "usage", "# Usage\n\nPress two keys.")
    await ask(change_requests.Merge(at=other.ref(here)))
    return made.ref(here)


@pytest.fixture
async def seen(ask: Ask, at: ChangeRequestRef) -> ChangeRequest:
    return await ask(change_requests.Get(at=at))


@pytest.fixture
async def merge_state(ask: Ask, at: ChangeRequestRef, seen: ChangeRequest) -> MergeState:
    return MergeState(seen, (await ask(spaces.Get(at=at.space))).revision)


@pytest.fixture(params=["review", "update", "create", "request", "ready", "details"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def decide(
    kind: str, live: Live, at: ChangeRequestRef, seen: ChangeRequest, merge_state: MergeState, here: SpaceRef
) -> Decision:
    """Return a function that sends the decision for the state that was seen."""

    async def send_decision() -> SendResult[Any]:
        match kind:
            case "review":
                return await review(live, at, "approved", seen.revision, "Well said.", action="approve #1")
            case "update":
                return await update(live, at, merge_state)
            case "request":
                return await request_reviews(live, at, ["tom", "ada"])
            case "ready":
                return await toggle_draft(live, at, seen)
            case "details":
                return await save_details(
                    live, change_requests.Update(at=at, subject=NEW_SUBJECT, description=NEW_DESCRIPTION), seen
                )
            case _:
                return await create(live, here, "Say less")

    return send_decision


OPS: dict[str, type[Operation[Any]]] = {
    "review": reviews.Submit,
    "update": change_requests.UpdateFromMain,
    "create": change_requests.Create,
    "request": reviews.Request,
    "ready": change_requests.Update,
    "details": change_requests.Update,
}
NEW_SUBJECT, NEW_DESCRIPTION = "Say it\u200b at\tonce", to_json_document("Readers *ask* for it.")


async def count_decisions(ask: Ask, kind: str, at: ChangeRequestRef, seen: ChangeRequest) -> int:
    """Return how often the server has recorded the decision."""
    match kind:
        case "review":
            return len((await ask(reviews.List(at=at))).items)
        case "update":
            return (await ask(change_requests.Get(at=at))).revision != seen.revision
        case "request":
            return len((await ask(reviews.ListRequested(at=at))).items) // 2
        case "ready":
            return (await ask(change_requests.Get(at=at))).status == "draft"
        case "details":
            return (await ask(change_requests.Get(at=at))).description_text == "Readers ask for it."
        case _:
            drafts = await ask(change_requests.List(at=at.space, status="draft"))
            return [each.subject for each in drafts.items].count("Say less")


def count_requests(gate: RequestGate, kind: str) -> int:
    return sum(isinstance(op, OPS[kind]) for op in gate.writes)


async def test_decision_is_sent_once(
    kind: str, decide: Decision, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest, state: StateDb
) -> None:
    outcome = await decide()
    assert (outcome.kind, outcome.message) == ("done", "")
    assert outcome.result is not None
    assert (await count_decisions(ask, kind, at, seen), count_requests(gate, kind)) == (1, 1)
    assert unfinished_writes(state) == ()


async def test_lost_response_is_found_and_nothing_is_resent(
    kind: str, decide: Decision, live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    async def lose_response(op: Operation[Any]) -> Any:
        answer = await gate(op)
        if isinstance(op, OPS[kind]):
            raise Lost("The connection broke.")
        return answer

    live.send = lose_response
    outcome = await decide()
    assert (outcome.kind, outcome.message) == ("done", "")
    assert outcome.result is not None
    assert (await count_decisions(ask, kind, at, seen), count_requests(gate, kind)) == (1, 1)


async def test_lost_request_is_reported_after_a_minute(
    kind: str, decide: Decision, live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    async def lose_response(op: Operation[Any]) -> Any:
        if isinstance(op, OPS[kind]):
            raise Lost("The connection broke.")
        return await gate(op)

    live.send = lose_response
    outcome = await decide()
    assert outcome.kind == "unknown"
    assert ": The connection broke. After one minute, " in outcome.message
    assert await count_decisions(ask, kind, at, seen) == 0
    live.send = gate
    assert (await decide()).kind == "done", "the user may send the decision again"


async def test_conflict_is_reported_with_the_message_of_the_server(
    kind: str,
    decide: Decision,
    gate: RequestGate,
    platform: Platform,
    ask: Ask,
    at: ChangeRequestRef,
    seen: ChangeRequest,
) -> None:
    platform.refuse_next(OPS[kind], 409, "It is being edited.")
    outcome = await decide()
    assert outcome.kind == "refused"
    assert outcome.message.endswith(": It is being edited.")
    assert isinstance(outcome.error, Conflict)
    assert outcome.error.outcome is Outcome.REFUSED
    assert (await count_decisions(ask, kind, at, seen), count_requests(gate, kind)) == (0, 1)


async def test_decision_is_searched_again_if_the_search_after_a_conflict_fails(
    kind: str, decide: Decision, live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    """A proxy that sends a request twice returns the conflict of the second request."""

    async def send_twice(op: Operation[Any]) -> Any:
        response = await gate(op)
        if isinstance(op, OPS[kind]):
            gate.errors.append(Lost("The connection broke."))
            raise rejected("It has changed.", Trace(status=409))
        return response

    live.send = send_twice
    outcome = await decide()
    assert (outcome.kind, outcome.message) == ("done", "")
    assert (await count_decisions(ask, kind, at, seen), count_requests(gate, kind)) == (1, 1)


@pytest.mark.parametrize("error", [Forbidden, NotFound])
async def test_refused_check_is_the_error_of_the_decision(
    kind: str, decide: Decision, live: Live, gate: RequestGate, error: type[ApiError]
) -> None:
    gate.errors.extend(error("Ask an admin.", Trace(status=403)) for _ in range(2 if kind == "review" else 1))
    outcome = await decide()
    assert (outcome.kind, type(outcome.error), outcome.write_error) == ("refused", error, None)
    assert outcome.message.endswith(": Ask an admin.")
    assert live.has_draft_status, "the status was not sent"
    assert count_requests(gate, kind) == 0


async def test_offline_decision_is_refused_and_not_queued(
    kind: str, decide: Decision, live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    gate.errors.extend(NotSent("Can't reach the server.") for _ in range(2 if kind == "review" else 1))
    outcome = await decide()
    assert outcome.kind == "refused"
    assert outcome.message.endswith(": Can't reach the server.")
    assert live.outbox.entries == ()
    assert (await count_decisions(ask, kind, at, seen), count_requests(gate, kind)) == (0, 0)


async def test_two_key_presses_send_one_request(
    kind: str, decide: Decision, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    first, second = await asyncio.gather(decide(), decide())
    assert (first.kind, second.kind) == ("done", "done")
    assert (await count_decisions(ask, kind, at, seen), count_requests(gate, kind)) == (1, 1)


async def test_other_verdict_during_a_review_is_refused(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    approval, request = await asyncio.gather(
        review(live, at, "approved", seen.revision, action="approve #1"),
        review(live, at, "changes-requested", seen.revision, "Say why.", action="request changes on #1"),
    )
    assert (approval.kind, request.kind) == ("done", "refused")
    assert request.message.startswith("Could not request changes on #1: ")
    assert [each.status for each in (await ask(reviews.List(at=at))).items] == ["approved"]


async def test_change_request_edited_since_is_neither_reviewed_nor_updated(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest, merge_state: MergeState
) -> None:
    await edit(ask, at, "intro", "# Intro\n\nSomething else.")
    assert (await review(live, at, "approved", seen.revision, action="approve #1")).kind == "changed"
    outcome = await update(live, at, merge_state)
    edited = (
        "This change request has been edited since the checks were loaded. Review the checks again before you update."
    )
    assert (outcome.kind, outcome.message) == ("changed", edited)
    assert gate.writes == []


async def test_details_that_another_user_has_changed_are_not_overwritten(
    live: Live, at: ChangeRequestRef, seen: ChangeRequest, ask: Ask, gate: RequestGate
) -> None:
    await ask(change_requests.Update(at=at, description=to_json_document("Theirs.")))
    sent = await save_details(live, change_requests.Update(at=at, subject="Mine", description=NEW_DESCRIPTION), seen)
    reason = "details of #1 were not saved, because someone else changed the description."
    assert (sent.kind, sent.message) == ("changed", f"The {reason}")
    assert not gate.writes
    assert (await save_details(live, change_requests.Update(at=at, subject="Mine"), seen)).kind == "done"
    current = await ask(change_requests.Get(at=at))
    assert (current.subject, current.description_text) == ("Mine", "Theirs.")


async def test_update_for_an_older_main_is_refused_and_names_the_merges(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, here: SpaceRef, merge_state: MergeState
) -> None:
    other = await ask(change_requests.Create(at=here, subject="Press less"))
    await edit(ask, other.ref(here), "usage", "# Usage\n\nPress one key.")
    await ask(change_requests.Merge(at=other.ref(here)))
    outcome = await update(live, at, merge_state)
    main = f"Main has changed since the checks were loaded: #{other.number} Press less was merged. Review the checks again before you update."
    assert (outcome.kind, outcome.message) == ("changed", main)
    assert gate.writes == []


async def test_edit_during_a_review_is_reported(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    async def edit_before_review(op: Operation[Any]) -> Any:
        if isinstance(op, reviews.Submit):
            await edit(ask, at, "intro", "# Intro\n\nSomething else.")
        return await gate(op)

    live.send = edit_before_review
    outcome = await review(live, at, "approved", seen.revision, action="approve #1")
    assert outcome.kind == "done"
    assert "edited at the same time" in outcome.message


async def test_up_to_date_change_request_is_not_updated(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    before = await ask(change_requests.Get(at=at))
    await ask(change_requests.UpdateFromMain(at=at))
    outcome = await update(live, at, MergeState(before, None))
    assert (outcome.kind, outcome.message) == ("done", "#1 is already up to date with main.")
    assert gate.writes == []


async def test_requested_reviewer_is_not_requested_again(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef
) -> None:
    await ask(reviews.Request(at=at, users=("tom",)))
    outcome = await request_reviews(live, at, ["tom"])
    assert (outcome.kind, outcome.message) == ("done", "These reviews are already requested.")
    assert (await request_reviews(live, at, ["tom", "ada"])).kind == "changed"
    assert gate.writes == []


async def test_earlier_review_is_not_mistaken_for_the_lost_one(
    live: Live, gate: RequestGate, ask: Ask, at: ChangeRequestRef, seen: ChangeRequest
) -> None:
    await ask(reviews.Submit(at=at, status="approved"), "mia")

    async def lose_response(op: Operation[Any]) -> Any:
        if isinstance(op, reviews.Submit):
            raise Lost("The connection broke.")
        return await gate(op)

    live.send = lose_response
    assert (await review(live, at, "approved", seen.revision, "Again.", action="approve #1")).kind == "unknown"


async def test_canceled_decision_stays_in_progress(
    live: Live, state: StateDb, at: ChangeRequestRef, merge_state: MergeState, clock: Clock
) -> None:
    asked = asyncio.Event()

    async def never_respond(op: Operation[Any]) -> Any:
        asked.set()
        await asyncio.Event().wait()

    live.send = never_respond
    task = asyncio.create_task(update(live, at, merge_state))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    (begun,) = unfinished_writes(state)
    assert (begun.lock_name, begun.began_at) == (f"update {at.space_id}/{at.change_request_id}", clock())
    assert begun.attempt is not None
    assert (begun.attempt.op, begun.attempt.expected) == (change_requests.UpdateFromMain(at=at), merge_state.expected)


@pytest.mark.parametrize("arrives", [True, False])
async def test_canceled_decision_is_checked_at_the_next_start(
    arrives: bool, kind: str, decide: Decision, live: Live, gate: RequestGate, state: StateDb, ask: Ask
) -> None:
    asked = asyncio.Event()

    async def cancel_after_sending(op: Operation[Any]) -> Any:
        if not isinstance(op, OPS[kind]):
            return await gate(op)
        if arrives:
            await gate(op)
        asked.set()
        await asyncio.Event().wait()

    live.send = cancel_after_sending
    task = asyncio.ensure_future(decide())
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    live.send = gate
    (begun,) = unfinished_writes(state)
    found = await finish_unfinished(live, begun)
    assert found is not None
    assert (found.kind, found.message) == ("done" if arrives else "unknown", "")
    assert unfinished_writes(state) == ()
    assert count_requests(gate, kind) == arrives


async def test_claim_stored_by_an_older_version_has_no_attempt(live: Live, state: StateDb) -> None:
    now, claims = state.now().timestamp(), (("merge a/b", None), ("merge c/d", '{"method": "BREW"}'))
    rows = [(state.namespace, name, now, attempt) for name, attempt in claims]
    await state.write(lambda db: db.executemany("INSERT INTO once VALUES (?, ?, ?, ?)", rows))
    assert [each.attempt for each in unfinished_writes(state)] == [None, None]


@pytest.mark.parametrize("killed", ["during the check", "before it arrives", "after it arrives"])
async def test_older_draft_is_not_taken_for_one_created_after_a_crash(
    killed: str, live: Live, gate: RequestGate, ask: Ask, here: SpaceRef
) -> None:
    older = await ask(change_requests.Create(at=here, subject="Say less"), "mia")
    asked = asyncio.Event()

    async def cancel(op: Operation[Any]) -> Any:
        if isinstance(op, change_requests.List) and killed != "during the check":
            return await gate(op)
        if killed == "after it arrives":
            await gate(op)
        asked.set()
        await asyncio.Event().wait()

    live.send = cancel
    began_at = live.outbox.state.now()
    task = asyncio.ensure_future(create(live, here, "Say less"))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    live.send = gate
    sent = await create(live, here, "Say less")
    assert sent.result is not None
    assert (sent.kind, sent.result.id == older.id) == ("done", False)
    assert count_requests(gate, "create") == 1, "the draft must be created once"
    assert (live.outbox.state.now() - began_at).total_seconds() <= SEARCH_SECONDS + SEARCH_INTERVAL


@pytest.mark.parametrize("subject", ["Say\u200b less\tnow", "Schön"])
async def test_lost_draft_is_found_although_its_subject_is_sanitized(
    subject: str, live: Live, gate: RequestGate, here: SpaceRef
) -> None:
    async def lose_response(op: Operation[Any]) -> Any:
        answer = await gate(op)
        if isinstance(op, change_requests.Create):
            raise Lost("The connection broke.")
        return answer

    live.send = lose_response
    assert (await create(live, here, subject)).kind == "done"


@pytest.mark.parametrize("hours", [-5, 5])
async def test_lock_of_a_killed_write_expires_although_the_clock_was_changed(
    hours: int, live: Live, here: SpaceRef, state: StateDb, clock: Clock
) -> None:
    async def never_respond(op: Operation[Any]) -> Any:
        await asyncio.Event().wait()

    send, live.send = live.send, never_respond
    task = asyncio.ensure_future(create(live, here, "Say less"))
    while not unfinished_writes(state):  # noqa: ASYNC110  # no event marks the lock
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    live.send = send
    clock.forward(hours=hours)
    assert (await create(live, here, "Say less")).kind == "done"


async def test_write_that_another_instance_still_sends_is_not_reported(
    live: Live, gate: RequestGate, at: ChangeRequestRef, merge_state: MergeState, tmp_path: Path, clock: Clock
) -> None:
    waits = asyncio.Event()

    async def sleep(seconds: float) -> None:
        waits.set()
        await asyncio.sleep(0)

    own, other = (StateDb(tmp_path, "mia@test", now=clock, sleep=sleep) for _ in range(2))
    live.outbox.state = own
    gate.hold()
    sending = asyncio.ensure_future(update(live, at, merge_state))
    while not (begun := unfinished_writes(other)):  # noqa: ASYNC110  # no event marks the lock
        await asyncio.sleep(0)
    second = Live(gate, live.cache, Outbox(gate, other, Drafts(other)), now=clock)
    reporting = asyncio.ensure_future(finish_unfinished(second, begun[0]))
    await waits.wait()
    assert not gate.writes
    gate.release()
    assert (await sending).kind == "done"
    assert await reporting is None
    await second.close()
    own.close()
    other.close()
