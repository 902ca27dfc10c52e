"""The state machine of a write in the outbox: each step from each state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, get_args

import pytest

from octavo.api import comments
from octavo.api.bodies import Markdown
from octavo.api.errors import (
    ApiError,
    BadResponse,
    Forbidden,
    Lost,
    NotFound,
    NotSent,
    RateLimited,
    ServerError,
    TimedOut,
    TlsError,
    Trace,
    Unauthorized,
    rejected,
)
from octavo.api.operation import ChangeRequestRef, SpaceRef
from octavo.data.writes import machine as steps
from octavo.data.writes.machine import (
    MAX_BLOCKING_SEARCHES,
    MAX_OWN_FAILURES,
    MAX_WRITE_AGE,
    EntryState,
    Failure,
    OutboxEntry,
    WrongState,
    blocked_by,
    classify_failure,
    next_due,
    supersedes,
)
from octavo.data.writes.store import kind_of
from tests.server.small_platform import START

if TYPE_CHECKING:
    from octavo.data.writes.machine import DurableWrite

HERE = SpaceRef(space_id="docs")
LATER = START + timedelta(seconds=60)
OP = comments.Create(at=HERE, body=Markdown(markdown="Hello"))
NEW = OutboxEntry(id="e1", op=OP, traits=kind_of(OP).traits(OP), action="comment", created_at=START, requested_at=START)


def entry(state: EntryState, **changes: Any) -> OutboxEntry:
    """Return an entry in this state."""
    times: dict[str, Any] = {
        "held": {"held_until": START + timedelta(seconds=5)},
        "queued": {"due_at": START},
        "unknown": {"due_at": LATER, "may_arrive_until": LATER},
    }
    return replace(NEW, state=state, **{**times.get(state, {}), **changes})


def with_op(before: OutboxEntry, op: DurableWrite, **changes: Any) -> OutboxEntry:
    """Return the entry with another operation."""
    return replace(before, op=op, traits=kind_of(op).traits(op), **changes)


STEPS: dict[str, tuple[Callable[[OutboxEntry], OutboxEntry], dict[str, str]]] = {
    "released": (lambda each: steps.release(each, START), {"held": "queued"}),
    "submitted": (lambda each: steps.submit(each, "r1", START, LATER), {"pending": "held"}),
    "returned_to_review": (steps.return_to_review, {"held": "pending", "queued": "pending"}),
    "edited": (lambda each: steps.edit(each, OP, NEW.traits), {each: each for each in ("pending", "held", "queued")}),
    "undo_delay_restarted": (lambda each: steps.restart_undo_delay(each, LATER), {"held": "held"}),
    "held_for_user": (lambda each: steps.wait_for_user(each, "Old."), {"held": "held", "queued": "held"}),
    "started": (lambda each: steps.start(each, START), {"queued": "sending"}),
    "confirmed": (steps.confirm, {"queued": "done", "sending": "done", "unknown": "done"}),
    "postponed": (lambda each: steps.postpone(each, LATER, "No."), {"queued": "queued", "sending": "queued"}),
    "refused": (
        lambda each: steps.refuse(each, "No."),
        {"queued": "failed", "sending": "failed", "unknown": "failed"},
    ),
    "outcome_unknown": (lambda each: steps.mark_response_lost(each, START, LATER, "?"), {"sending": "unknown"}),
    "still_unknown": (lambda each: steps.schedule_search(each, LATER, "?"), {"unknown": "unknown"}),
    "not_found": (lambda each: steps.mark_not_found(each, START), {"unknown": "unknown"}),
    "retried": (
        lambda each: steps.retry(each, START),
        {"held": "queued", "queued": "queued", "unknown": "unknown", "failed": "queued"},
    ),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("state", get_args(EntryState))
def test_each_step_is_allowed_from_its_states_only(name: str, state: EntryState) -> None:
    step, leads = STEPS[name]
    if state in leads:
        assert step(entry(state)).state == leads[state]
    else:
        with pytest.raises(WrongState):
            step(entry(state))


def test_done_is_a_final_state() -> None:
    assert not any("done" in leads for _, leads in STEPS.values())


def test_creating_write_is_never_resent_without_the_user() -> None:
    settling = entry("unknown")
    absent = steps.mark_not_found(settling, LATER)
    assert (settling.needs_user, absent.state, absent.needs_user) == (False, "unknown", True)
    assert "may have been sent" in absent.reason
    assert absent.due_at
    assert absent.due_at > LATER, "it is looked for all the same"
    again = steps.retry(absent, LATER)
    assert (again.state, again.failed_searches) == ("queued", 1), "that it was lost once is remembered"
    assert not steps.mark_response_lost(steps.start(again, LATER), LATER, LATER, "?").needs_user


def test_idempotent_write_is_resent_automatically() -> None:
    wish = comments.Update(at=HERE, comment_id="c", resolved=True)
    absent = steps.mark_not_found(with_op(entry("unknown"), op=wish), LATER)
    assert (absent.state, absent.due_at, absent.needs_user) == ("queued", LATER, False)


def test_searches_become_rarer_and_end() -> None:
    lost, now, pauses = entry("unknown"), START, []
    while lost.due_at is not None:
        lost = steps.mark_not_found(lost, now)
        pauses.append(((lost.due_at or now) - now).total_seconds())
        now = lost.due_at or now
    assert pauses[:3] == [1, 2, 4]
    assert (max(pauses), now - START >= MAX_WRITE_AGE) == (300, True)
    assert lost.needs_user


def test_retry_is_due_after_the_first_request_can_arrive() -> None:
    assert steps.retry(entry("unknown"), START).due_at == LATER
    assert steps.retry(entry("unknown", due_at=None, may_arrive_until=None), LATER).due_at == LATER


def test_oldest_due_entry_comes_first() -> None:
    elsewhere = comments.Create(at=SpaceRef(space_id="other"), body=OP.body)
    early, late = entry("queued"), with_op(entry("queued"), id="e2", op=elsewhere)
    assert next_due((early, late), START) == early
    assert next_due((early, late), START, busy_keys={early.ordering_key}) == late
    assert next_due((replace(early, due_at=LATER), late), START) == late
    assert next_due((replace(early, due_at=LATER), late), START, is_paused=True) is None


@pytest.mark.parametrize("state", ["held", "queued", "sending", "unknown"])
@pytest.mark.parametrize("page", ["intro", "usage"])
def test_entry_in_progress_blocks_later_entries_of_its_space(state: EntryState, page: str) -> None:
    before, after = entry(state, due_at=LATER), with_op(entry("queued"), id="e2", op=_comment_on(page))
    assert next_due((before, after), START) is None
    assert blocked_by(after, (before, after)) == before
    elsewhere = with_op(after, op=comments.Create(at=SpaceRef(space_id="other"), body=OP.body))
    request = ChangeRequestRef(space_id="docs", change_request_id="c1")
    in_a_request = with_op(after, op=comments.Create(at=request, body=OP.body))
    assert next_due((before, elsewhere), START) == elsewhere
    assert next_due((before, in_a_request), START) == in_a_request


@pytest.mark.parametrize("state", ["pending", "held", "unknown", "failed"])
def test_entry_that_needs_the_user_blocks_no_other(state: EntryState) -> None:
    before = entry(state, held_until=None, due_at=None, may_arrive_until=None, failed_searches=MAX_BLOCKING_SEARCHES)
    after = replace(entry("queued"), id="e2")
    assert next_due((before, after), START) == after


def test_uncertain_entry_blocks_newer_entries_for_15_seconds() -> None:
    doubted, after = steps.mark_not_found(entry("unknown"), START), replace(entry("queued"), id="e2")
    now = START
    while next_due((doubted, after), now) != after:
        now = doubted.due_at or now
        assert next_due((doubted, after), now) == doubted
        doubted = steps.mark_not_found(doubted, now)
    assert (now - START).total_seconds() == 15
    again = steps.retry(doubted, now)
    assert next_due((again, after), now) == again
    lost = steps.mark_response_lost(steps.start(again, now), LATER, LATER, "?")
    assert next_due((lost, after), now) is None


def test_entry_behind_one_that_needs_the_user_blocks_no_other() -> None:
    asked = replace(entry("unknown", may_arrive_until=None, failed_searches=MAX_BLOCKING_SEARCHES), review="r")
    reply = with_op(entry("queued"), id="e2", op=_reply(asked.created_id))
    of_review = replace(entry("queued"), id="e3", review="r")
    after = replace(entry("queued"), id="e4")
    entries = (asked, reply, of_review, after)
    assert next_due(entries, START) == after
    assert [blocked_by(each, entries) for each in entries] == [None, asked, asked, None]


def test_failing_entry_blocks_only_its_thread() -> None:
    before = with_op(entry("queued"), op=comments.Update(at=HERE, comment_id="c", resolved=True))
    after, same = replace(entry("queued"), id="e2"), with_op(entry("queued"), id="e3", op=_reply("c"))
    for _ in range(MAX_OWN_FAILURES):
        assert next_due((before, after), START) in (before, None)
        before = steps.postpone(before, LATER, "No.", own_failure=True)
    assert next_due((before, after), START) == after
    assert next_due((before, same), START) is None
    lost = replace(before, state="unknown", own_failures=0, may_arrive_until=LATER)
    assert next_due((lost, after), START) == after
    assert next_due((lost, same), START) is None
    absent = steps.mark_not_found(lost, LATER)
    assert next_due((replace(absent, due_at=LATER), after), START) == after
    assert next_due((replace(absent, due_at=LATER), same), START) is None


def test_lost_entry_is_looked_up_before_an_earlier_queued_entry() -> None:
    before, lost = entry("queued", due_at=LATER), replace(entry("unknown"), id="e2", due_at=START)
    assert next_due((before, lost), START) == lost
    assert next_due((before, lost), START, busy_keys={lost.ordering_key}) is None


def test_resolve_and_reopen_before_sending_become_one_write() -> None:
    resolve, reopen = (
        with_op(entry("queued"), id=str(wish), op=comments.Update(at=HERE, comment_id="c", resolved=wish))
        for wish in (True, False)
    )
    assert supersedes(reopen, resolve)
    assert next_due((resolve, reopen), START) == reopen
    assert next_due((resolve,), START) == resolve
    for weak in ("held", "failed"):
        assert not supersedes(replace(reopen, state=weak), resolve)
    elsewhere = with_op(reopen, op=comments.Update(at=HERE, comment_id="other", resolved=False))
    assert next_due((resolve, elsewhere), START) == resolve


def test_reply_waits_for_its_thread_unless_the_thread_failed() -> None:
    thread = entry("unknown", due_at=LATER)
    reply = with_op(entry("queued"), id="e2", op=_reply(thread.created_id))
    doubted = replace(thread, may_arrive_until=None, failed_searches=MAX_BLOCKING_SEARCHES)
    for waiting in (thread, replace(thread, state="queued"), doubted):
        assert next_due((waiting, reply), START) is None
    assert next_due((replace(thread, state="failed"), reply), START) == reply
    assert next_due((reply,), START) == reply


@pytest.mark.parametrize(
    ("error", "of_write", "of_read"),
    [
        (NotSent("-"), "waiting", "waiting"),
        (TlsError("-"), "waiting", "waiting"),
        (RateLimited("-"), "waiting", "waiting"),
        (Unauthorized("-"), "waiting", "waiting"),
        (Forbidden("-"), "refused", "refused"),
        (NotFound("-"), "refused", "refused"),
        (rejected("-", Trace(status=413)), "refused", "refused"),
        (rejected("-", Trace(status=408)), "unknown", "waiting"),
        (rejected("-", Trace(status=409)), "unknown", "waiting"),
        (ServerError("-"), "unknown", "waiting"),
        (Lost("-"), "unknown", "waiting"),
        (TimedOut("-"), "unknown", "waiting"),
        (BadResponse("-"), "unknown", "waiting"),
    ],
)
def test_error_is_classified_for_writes(error: ApiError, of_write: Failure, of_read: Failure) -> None:
    assert classify_failure(error, was_sent=True) == of_write
    assert classify_failure(error, was_sent=False) == of_read


def _comment_on(page: str) -> comments.Create:
    return comments.Create(at=HERE, page=page, body=Markdown(markdown="Hello"))


def _reply(thread: str) -> comments.CreateReply:
    return comments.CreateReply(at=HERE, comment_id=thread, body=Markdown(markdown="And more"))
