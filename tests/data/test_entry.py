"""The steps of an entry, all of them from all states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

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
from octavo.api.places import SpaceRef
from octavo.data import entry as steps
from octavo.data.driver import verdict
from octavo.data.entry import STATES, Entry, Misplaced, State, next_up, replaces
from tests.server.asking import START

HERE = SpaceRef(space_id="docs")
LATER = START + timedelta(seconds=60)
OP = comments.Create(at=HERE, body=Markdown(markdown="Hello"))
NEW = Entry(id="e1", op=OP, doing="comment", created_at=START, asked_at=START)


def entry(state: State, **changes: Any) -> Entry:
    """An entry as it is in this state."""
    times: dict[str, Any] = {"held": {"held_until": LATER}, "queued": {"due_at": START}, "unknown": {"due_at": LATER}}
    return replace(NEW, state=state, **{**times.get(state, {}), **changes})


STEPS: dict[str, tuple[Callable[[Entry], Entry], dict[str, str]]] = {
    "released": (lambda each: steps.released(each, START), {"held": "queued"}),
    "let_go": (lambda each: steps.let_go(each, "r1", START, LATER), {"gathered": "held"}),
    "gathered_again": (steps.gathered_again, {"held": "gathered", "queued": "gathered"}),
    "reworded": (lambda each: steps.reworded(each, OP), {"gathered": "gathered"}),
    "parked": (lambda each: steps.parked(each, "Old."), {"held": "held", "queued": "held"}),
    "started": (lambda each: steps.started(each, OP, START), {"queued": "sending"}),
    "confirmed": (steps.confirmed, {"queued": "done", "sending": "done", "unknown": "done"}),
    "postponed": (lambda each: steps.postponed(each, LATER, "No."), {"queued": "queued", "sending": "queued"}),
    "refused": (
        lambda each: steps.refused(each, "No."),
        {"queued": "failed", "sending": "failed", "unknown": "failed"},
    ),
    "lost": (lambda each: steps.lost(each, LATER, "?"), {"sending": "unknown"}),
    "unread": (lambda each: steps.unread(each, LATER, "?"), {"unknown": "unknown"}),
    "absent": (lambda each: steps.absent(each, START), {"unknown": "queued"}),
    "retried": (
        lambda each: steps.retried(each, START),
        {"gathered": "queued", "held": "queued", "queued": "queued", "unknown": "unknown", "failed": "queued"},
    ),
}


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.parametrize("state", STATES)
def test_each_step_leads_from_its_states_only(name: str, state: State) -> None:
    step, leads = STEPS[name]
    if state in leads:
        assert step(entry(state)).state == leads[state]
    else:
        with pytest.raises(Misplaced):
            step(entry(state))


def test_there_is_no_way_out_of_done() -> None:
    assert not any("done" in leads for _, leads in STEPS.values())


def test_after_two_rounds_a_person_is_asked() -> None:
    once = steps.absent(entry("unknown"), START)
    again = steps.lost(steps.started(once, OP, START), LATER, "?")
    twice = steps.absent(again, LATER)
    assert (once.state, twice.state, twice.asks) == ("queued", "unknown", True)
    assert "Retry" in twice.reason
    assert steps.absent(steps.retried(twice, LATER), LATER).state == "queued"


def test_a_retry_does_not_look_before_the_server_can_have_acted() -> None:
    assert steps.retried(entry("unknown"), START).due_at == LATER
    assert steps.retried(entry("unknown", due_at=None), LATER).due_at == LATER


def test_the_oldest_that_is_due_comes_first() -> None:
    early, late = entry("queued"), replace(entry("queued"), id="e2", op=_on("usage"))
    assert next_up((early, late), START) == early
    assert next_up((replace(early, due_at=LATER), late), START) == late
    assert next_up((replace(early, due_at=LATER), late), START, quiet=True) is None


@pytest.mark.parametrize("state", ["held", "queued", "sending", "unknown"])
def test_what_is_under_way_is_not_overtaken_on_its_target(state: State) -> None:
    before, after = entry(state, due_at=LATER), replace(entry("queued"), id="e2")
    assert next_up((before, after), START) is None
    assert next_up((before, replace(after, op=_on("usage"))), START) is not None


@pytest.mark.parametrize("state", ["held", "unknown", "failed"])
def test_what_waits_for_a_person_stands_in_nobodys_way(state: State) -> None:
    before, after = entry(state, held_until=None, due_at=None), replace(entry("queued"), id="e2")
    assert next_up((before, after), START) == after


def test_a_thread_resolved_and_reopened_before_it_left_is_asked_for_once() -> None:
    resolve, reopen = (
        replace(entry("queued"), id=str(wish), op=comments.Update(at=HERE, comment_id="c", resolved=wish))
        for wish in (True, False)
    )
    assert replaces(reopen, resolve)
    assert next_up((resolve, reopen), START) == reopen
    assert next_up((resolve,), START) == resolve
    for weak in ("held", "failed"):
        assert not replaces(replace(reopen, state=weak), resolve)
    elsewhere = replace(reopen, op=comments.Update(at=HERE, comment_id="other", resolved=False))
    assert next_up((resolve, elsewhere), START) == resolve


def test_a_reply_waits_for_its_thread_unless_that_failed() -> None:
    thread = entry("unknown", due_at=LATER)
    op = comments.CreateReply(at=HERE, comment_id=thread.pending_id, body=Markdown(markdown="And more"))
    reply = replace(entry("queued"), id="e2", op=op)
    for waiting in (thread, replace(thread, state="queued"), replace(thread, due_at=None)):
        assert next_up((waiting, reply), START) is None
    assert next_up((replace(thread, state="failed"), reply), START) == reply
    assert next_up((reply,), START) == reply


@pytest.mark.parametrize(
    ("error", "travelled", "asking"),
    [
        (NotSent("-"), "waits", "waits"),
        (TlsError("-"), "waits", "waits"),
        (RateLimited("-"), "waits", "waits"),
        (Unauthorized("-"), "waits", "waits"),
        (Forbidden("-"), "refused", "refused"),
        (NotFound("-"), "refused", "refused"),
        (rejected("-", Trace(status=413)), "refused", "refused"),
        (rejected("-", Trace(status=408)), "lost", "waits"),
        (rejected("-", Trace(status=409)), "lost", "waits"),
        (ServerError("-"), "lost", "waits"),
        (Lost("-"), "lost", "waits"),
        (TimedOut("-"), "lost", "waits"),
        (BadResponse("-"), "lost", "waits"),
    ],
)
def test_what_an_error_means_for_a_write(error: ApiError, travelled: str, asking: str) -> None:
    assert verdict(error, travelled=True) == travelled
    assert verdict(error, travelled=False) == asking


def _on(page: str) -> comments.Create:
    return comments.Create(at=HERE, page=page, body=Markdown(markdown="Hello"))
